"""Operands of NumPy functions: arrays of one dtype and one rank.

Every elementwise function calls these, so the common cases come first: operands of one type, and
an array next to a Python number. This is the only file of the room that uses private rooms.
"""

from __future__ import annotations

import functools

import numpy as np

from .. import dtypes
from .._base import config
from .._base.symbolic import common_sizes
from .._core.array import Array
from .._core.explicit import Explicit, is_divided, joint_sharding, stated
from .._core.trace import Tracer, context
from .._core.types import canonical_shape, described, is_arraylike, typeof
from .._ops.annotations import beside
from .._ops.base import broadcast_in_dim
from .._ops.convert import convert, wrapped
from ..errors import explain, warn_user

__all__ = ["Array", "Explicit", "Tracer", "as_operand", "beside", "broadcast_to_shape",
           "canonical_shape", "check_arraylike", "common_shape", "convert", "gives_way", "inexact",
           "is_arraylike", "is_divided", "joint_sharding", "like", "numeric", "plain", "promote",
           "promote_dtypes", "promote_inexact", "promote_numeric", "promote_shapes", "refuse_out",
           "refuse_rank_promotion", "staging", "stated", "type_like", "typeof", "wrapped"]

_OPERANDS = frozenset((Array, bool, int, float, complex))
_WORD = 1 << 31


_OTHER_ROOMS = frozenset(("experimental", "image", "lax", "nn", "random", "scipy"))


def _public(function: str) -> str:
    """The public name of a function: in ``tanx.numpy``, unless it begins with another module."""
    room = function.partition(".")[0]
    return f"tanx.{function}" if room in _OTHER_ROOMS else f"tanx.numpy.{function}"


def check_arraylike(function: str, *args) -> None:
    """Check that operands are arrays or numbers; lists are not converted silently."""
    for i, x in enumerate(args):
        if type(x) not in _OPERANDS and not is_arraylike(x) and (
                not hasattr(type(x), "__jax_array__")):
            raise _not_an_array(function, x, i)


def _not_an_array(function: str, x, position: int) -> TypeError:
    if isinstance(x, np.ndarray | np.generic):
        return TypeError(explain(_public(function), "arrays hold booleans or numbers.",
                                 f"argument {position}: {x!r:.100}"))
    if isinstance(x, list | tuple):
        hint = "wrap it in tanx.numpy.array(...); lists are not converted implicitly."
    elif x is None:
        hint = "the argument is missing or None."
    else:
        hint = "convert it with tanx.numpy.array(...)."
    return TypeError(explain(
        _public(function),
        f"needs arrays or numbers, but argument {position} is a {type(x).__name__}.",
        f"argument {position}: {x!r:.100}", hint=hint))


def plain(x):
    """``x``, or the array that ``x`` represents."""
    return x.__jax_array__() if hasattr(type(x), "__jax_array__") else x


def type_like(function: str, x):
    """The type of ``x``, an array or any object with a shape and a dtype."""
    x = plain(x)
    if not (hasattr(x, "shape") and hasattr(x, "dtype")):
        check_arraylike(function, x)
    return described(x)


def refuse_out(function: str, out) -> None:
    """Raise if ``out`` is given: arrays are immutable."""
    if out is not None:
        raise NotImplementedError(explain(
            f"tanx.numpy.{function}", "out is not supported: arrays are immutable.",
            hint="use the value that is returned."))


def staging() -> bool:
    """Whether operations currently become equations rather than data."""
    return context.trace.staging


# -- operands of functions of one operand ----------------------------------------------------------


def as_operand(function: str, x):
    """``x`` as an array or a tracer; Python numbers become arrays of weak type."""
    if type(x) is Array or isinstance(x, Tracer):
        return x
    check_arraylike(function, x)
    x = plain(x)
    aval = typeof(x)
    return convert(x, aval.dtype, aval.weak_type)


def inexact(function: str, x):
    """``x`` as floating point or complex numbers."""
    if type(x) is Array and x.aval.dtype.kind in "fc":
        return x
    x = as_operand(function, x)
    aval = x.aval
    dtype = aval.dtype
    if dtype.kind in "fc" or dtypes.issubdtype(dtype, np.inexact):
        return x
    return convert(x, dtypes.to_inexact_dtype(dtype), aval.weak_type)


def numeric(function: str, x):
    """``x`` with bools as integers."""
    x = as_operand(function, x)
    return x if x.aval.dtype.kind != "b" else convert(x, dtypes.to_numeric_dtype(bool))


def like(x, value):
    """A scalar constant of the dtype of ``x``, for use with it.

    It is weakly typed only if ``x`` is a scalar: a constant makes the type of an array strong.
    """
    aval = x.aval
    if aval.dtype.kind == "V" and dtypes.is_extended(aval.dtype):
        raise dtypes.no_number(aval.dtype, "tanx.numpy.asarray", f"operand: {aval}")
    return convert(value, aval.dtype, aval.weak_type and not aval.shape)


def common_shape(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape to which all broadcast; raises ValueError if there is none."""
    longest = max(shapes, key=len)
    for shape in shapes:
        if shape and shape != longest:
            try:
                return np.broadcast_shapes(*shapes)
            except TypeError:  # symbolic sizes
                return common_sizes(*shapes)
    return longest


def broadcast_to_shape(x, shape: tuple[int, ...], out_sharding=None):
    """``x`` broadcast to ``shape``."""
    given = x.shape
    if given == shape and out_sharding is None:
        return x
    return broadcast_in_dim(x, shape, range(len(shape) - len(given), len(shape)),
                            out_sharding=out_sharding)


# -- operands of functions of several operands -----------------------------------------------------


def promote(function: str, x, y) -> tuple:
    """Operands of an elementwise function: one dtype, one rank."""
    if type(x) is Array and type(y) is Array and x.aval == y.aval:
        return x, y
    if _is_traceable(x):
        if _is_traceable(y):
            if x.aval == y.aval:
                return x, y
        elif gives_way(y, x):
            return x, convert(y, x.aval.dtype, x.aval.weak_type)
    elif _is_traceable(y) and gives_way(x, y):
        return convert(x, y.aval.dtype, y.aval.weak_type), y
    check_arraylike(function, x, y)
    _check_numbers(function, (x, y))
    return promote_shapes(function, *promote_dtypes(x, y))


def _is_traceable(x) -> bool:
    return type(x) is Array or isinstance(x, Tracer)


def gives_way(number, array) -> bool:
    """Whether ``number`` is a Python number that takes the dtype of ``array``."""
    aval = array.aval
    kind = aval.dtype.kind
    if type(number) is int:
        if kind not in "iufc" or kind in "fc" and not -_WORD <= number < _WORD:
            return False
    elif type(number) is not float or kind not in "fc":
        return False
    if aval.weak_type or aval.dtype.itemsize >= 8:
        return _stays(aval.dtype, aval.weak_type, config.enable_x64.value)
    return True


@functools.cache
def _stays(dtype: np.dtype, weak: bool, enable_x64: bool) -> bool:
    """Whether promotion with a Python number leaves a type unchanged.

    It changes if the array was created under another setting of ``enable_x64``.
    """
    if dtypes.canonicalize_dtype(dtype) != dtype:
        return False
    widest = {"i": np.int64, "f": np.float64, "c": np.complex128}.get(dtype.kind)
    return not weak or widest is None or dtypes.canonicalize_dtype(widest) == dtype


def _check_numbers(function: str, args) -> None:
    """Check that Python integers fit their own type, though they become floats next to floats."""
    for x in args:
        if type(x) is int and not -_WORD <= x < _WORD:
            limits = np.iinfo(dtypes.default_int())
            if not limits.min <= x <= limits.max:
                raise OverflowError(explain(
                    f"tanx.numpy.{function}", "a Python integer does not fit into "
                    f"{dtypes.default_int()}.", f"value: {x!r:.100}",
                    hint="write it as a float, or enable_x64."))


def promote_inexact(function: str, x, y) -> tuple:
    """As :func:`promote`, to floating point or complex numbers."""
    if type(x) is Array and x.aval.dtype.kind in "fc":
        return promote(function, x, y)
    check_arraylike(function, x, y)
    _check_numbers(function, (x, y))
    dtype, weak = dtypes.result_type(x, y, return_weak_type_flag=True)
    dtype = dtypes.to_inexact_dtype(dtype)
    return promote_shapes(function, convert(x, dtype, weak), convert(y, dtype, weak))


def promote_numeric(function: str, x, y) -> tuple:
    """As :func:`promote`, with bools as integers."""
    if type(x) is Array and x.aval.dtype.kind in "iufc":
        return promote(function, x, y)
    check_arraylike(function, x, y)
    _check_numbers(function, (x, y))
    dtype, weak = dtypes.result_type(x, y, return_weak_type_flag=True)
    dtype = dtypes.to_numeric_dtype(dtype)
    return promote_shapes(function, convert(x, dtype, weak), convert(y, dtype, weak))


def promote_dtypes(*args) -> list:
    """Operands converted to their common dtype."""
    dtype, weak = dtypes.result_type(*args, return_weak_type_flag=True)
    return [convert(x, dtype, weak) for x in args]


def promote_shapes(function: str, *args) -> tuple:
    """Operands of one rank, or scalars; new dimensions of size 1 are in front."""
    shapes = [x.shape if hasattr(x, "shape") else np.shape(x) for x in args]
    rank = len(max(shapes, key=len))
    try:
        common_shape(*shapes)
    except ValueError:
        raise _no_common_shape(function, rank, args, shapes) from None
    if all(len(shape) in (0, rank) for shape in shapes):
        return args
    if config.numpy_rank_promotion.value != "allow":
        refuse_rank_promotion(function, args)
    promoted = []
    for x, shape in zip(args, shapes, strict=True):
        if shape and len(shape) < rank:
            lead = rank - len(shape)
            x = broadcast_in_dim(x, (1,) * lead + shape, range(lead, rank))
        promoted.append(x)
    return tuple(promoted)


def _no_common_shape(function: str, rank: int, args, shapes) -> Exception:
    # As in JAX: the primitive refuses operands of one rank, jax.numpy refuses others before it.
    error = TypeError if all(len(shape) in (0, rank) for shape in shapes) else ValueError
    return error(explain(
        _public(function), "operands have incompatible shapes for broadcasting.",
        *(f"operand {i}: {typeof(x)}" for i, x in enumerate(args)),
        hint="sizes must be equal or 1, counted from the last dimension."))


def refuse_rank_promotion(function: str, args) -> None:
    """Raise or warn, as configured, if operands differ in their number of dimensions."""
    refused = config.numpy_rank_promotion.value == "raise"
    broken = "have" if not refused else "could not be broadcast together: they have"
    message = explain(
        _public(function), f"operands {broken} different numbers of dimensions.",
        *(f"operand {i}: {typeof(x)}" for i, x in enumerate(args)),
        hint="add dimensions with x[None], or set numpy_rank_promotion='allow'.")
    if refused:
        raise ValueError(message)
    warn_user(message)
