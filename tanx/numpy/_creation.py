"""Arrays from values, from files, of one value, and of evenly spaced numbers."""

from __future__ import annotations

import contextlib
import itertools
import math
import operator
from typing import Any

import numpy as np

from .. import dtypes
from .._api.jit import library_jit
from .._api.placement import device_put
from .._base.axes import canonical_axis
from .._base.symbolic import index, is_symbolic
from ..errors import explain
from ..lax import _functions as lax
from ._promotion import (
    Array,
    as_operand,
    beside,
    canonical_shape,
    check_arraylike,
    convert,
    promote_shapes,
    stated,
    type_like,
    typeof,
    wrapped,
)
from ._shape import broadcast_to, expand_dims, moveaxis, reshape
from ._transcendental import log10

__all__ = ["arange", "array", "asarray", "astype", "bartlett", "blackman", "copy", "empty",
           "empty_like", "from_dlpack", "frombuffer", "fromiter", "fromstring", "full",
           "full_like", "geomspace", "hamming", "hanning", "linspace", "logspace", "ones",
           "ones_like", "zeros", "zeros_like"]


# -- arrays from values ----------------------------------------------------------------------------


def array(object, dtype=None, *, copy=True, order="K", ndmin=0, device=None, out_sharding=None):
    """An array made of ``object``: a number, nested lists, another array, or a mixture of them.

    Lists may hold arrays and traced values; they are stacked. Without ``dtype``, the elements
    promote to a common one, and a single Python number gives a weakly typed array. With it, the
    elements may also be text and other objects that NumPy converts to numbers. ``ndmin`` adds
    leading dimensions until there are that many. ``order`` is accepted for compatibility with NumPy
    and must be ``"K"``: users cannot see the order of elements in memory.

    >>> jnp.array([[1, 2], [3, 4.5]])
    Array([[1. , 2. ],
           [3. , 4.5]], dtype=float32)
    """
    if order not in ("K", None):
        raise NotImplementedError(explain(
            "tanx.numpy.array", "arrays have no order in memory to choose.", f"order: {order!r}",
            hint="leave order out."))
    if dtype is not None:
        dtype = dtypes.requested_dtype(dtype, "tanx.numpy.array")
    x = _from_value(object, dtype, copy)
    if x.ndim < ndmin:
        x = lax.broadcast(x, (1,) * (ndmin - x.ndim))
    return placed(x, device, out_sharding)


def asarray(a, dtype=None, order=None, *, copy=None, device=None, out_sharding=None):
    """``a`` as an array: an array is returned unchanged, anything else goes through :func:`array`.

    >>> jnp.asarray((1, 2), dtype="float32")
    Array([1., 2.], dtype=float32)
    """
    if type(a) is Array and dtype is None and not copy and device is None is out_sharding:
        return a
    return array(a, dtype, copy=bool(copy), order=order, device=device, out_sharding=out_sharding)


def placed(x, device, out_sharding=None):
    """``x`` on the requested device."""
    where = device if out_sharding is None else out_sharding
    return x if where is None else device_put(x, where)


def _from_value(x, dtype, copy: bool):
    """``x`` as an array of ``dtype``, or of its own dtype if that is None."""
    if isinstance(x, Array):
        x = lax.copy_p.bind(x) if copy else x
        return x if dtype is None else _cast(x, dtype)
    if isinstance(x, list | tuple):
        return _from_list(x, dtype)
    if dtypes.is_python_scalar(x):
        weak = dtype is None and not isinstance(x, bool)
        dtype = dtypes.dtype(x, canonicalize=True) if dtype is None else dtype
        return convert(dtypes.stored_numbers(x, dtype), dtype, weak)
    if hasattr(x, "__jax_array__"):
        return _from_value(x.__jax_array__(), dtype, copy)
    if not isinstance(x, np.ndarray | np.generic):
        x = _from_elsewhere(x)
    if dtype is None:
        return convert(x, _element_type(x))
    return _cast(_numbers(x, dtype), dtype)


def _cast(x, dtype):
    """``x`` in ``dtype``; warns if imaginary parts are lost."""
    if dtypes.dtype(x).kind == "c" and dtype.kind != "c":
        return lax.convert_element_type(x, dtype)
    return convert(x, dtype)


def _from_elsewhere(x) -> np.ndarray:
    """The data of an object with ``__array__``, the buffer protocol or DLPack."""
    if hasattr(x, "__dlpack__") and not hasattr(x, "__array__"):
        return np.from_dlpack(x)
    return np.asarray(x)


def _numbers(x, dtype):
    """``x``, or numbers of ``dtype`` if its elements are text or objects that NumPy can convert."""
    try:
        _element_type(x)
    except TypeError:
        with contextlib.suppress(TypeError):
            return dtypes.stored_numbers(x, dtype)
        raise
    return x


def _element_type(x) -> np.dtype:
    """The dtype of an array with the elements of ``x``; raises if they have no common one."""
    if x.dtype == object and x.ndim == 0 and x.item() is None:
        raise _none()
    return dtypes.requested_dtype(dtypes.canonicalize_dtype(x.dtype), "tanx.numpy.array")


def _none() -> ValueError:
    return ValueError(explain("tanx.numpy.array", "None is not a value of an array."))


_PYTHON_NUMBERS = (complex, float, int, bool)  # the widest first


def _from_list(nested, dtype):
    """Nested sequences as one array; NumPy converts them unless they hold arrays of tanx."""
    leaves = _leaves(nested)
    types = set(map(type, leaves))
    if types.issubset(_PYTHON_NUMBERS):
        if dtype is None:
            dtype = dtypes.requested_dtype(next((t for t in _PYTHON_NUMBERS if t in types), float))
        return convert(_rectangular(nested, dtype), dtype)
    if type(None) in types:
        raise _none()
    read = (np.ndarray, np.generic) if dtype is None else (np.ndarray, np.generic, str, bytes)
    leaves = [x if dtypes.is_python_scalar(x) or isinstance(x, read)
              else _from_value(x, None, False) for x in leaves]
    if dtype is None:
        for x in leaves:
            if isinstance(x, np.ndarray | np.generic):
                _element_type(x)
        dtype = dtypes.canonicalize_dtype(dtypes.result_type(*leaves), True)
    if any(isinstance(x, Array) for x in leaves):
        return _stacked(nested, dtype)
    return convert(_rectangular(nested, dtype), dtype)


def _rectangular(nested, dtype) -> np.ndarray:
    """Nested lists as an array; replaces NumPy's error for ragged lists."""
    try:
        return dtypes.stored_numbers(nested, dtype)
    except ValueError as error:
        if "inhomogeneous" not in str(error):
            raise
        raise ValueError(explain(
            "tanx.numpy.array", "lists on one level must have one length.",
            f"list: {nested!r:.100}", hint="pad them to one length.")) from None


def _leaves(nested) -> list:
    """The items of nested lists and tuples, in order."""
    level = list(nested)
    while any(kind is list or kind is tuple for kind in set(map(type, level))):
        level = list(itertools.chain.from_iterable(
            x if isinstance(x, list | tuple) else (x,) for x in level))
    return level


def _stacked(nested, dtype):
    """Nested sequences of arrays and numbers, joined along a new dimension for each level."""
    if not isinstance(nested, list | tuple):
        return _from_value(nested, dtype, False)
    if not nested:
        return convert(np.zeros(0), dtype)
    parts = [lax.expand_dims(_stacked(x, dtype), (0,)) for x in nested]
    if len({part.shape for part in parts}) > 1:
        raise TypeError(explain(
            "tanx.numpy.array", "the items of a list must have one shape.",
            *(f"item {i}: {part.aval.update(shape=part.shape[1:])}"
              for i, part in enumerate(parts))))
    return lax.concatenate(parts, 0)


def copy(a, order=None):
    """A copy of ``a`` in new memory.

    >>> jnp.copy(jnp.array([1, 2]))
    Array([1, 2], dtype=int32)
    """
    check_arraylike("copy", a)
    return array(a, order=order)


def astype(x, dtype, /, *, copy=False, device=None):
    """``x`` with another dtype; None means the default float.

    >>> jnp.astype(jnp.array([0.5, -1.5]), int)
    Array([ 0, -1], dtype=int32)
    """
    check_arraylike("astype", x)
    dtype = dtypes.requested_dtype(dtype, "tanx.numpy.astype")
    return placed(_from_value(as_operand("astype", x), dtype, copy), device)


# -- arrays from buffers, text and files -----------------------------------------------------------


def from_dlpack(x, /, *, device=None, copy=None):
    """The array behind any object with DLPack support, such as a NumPy array or a CPU tensor.

    Memory is shared unless ``copy`` is true, the dtype must change, or elements are not aligned to
    their size; its owner should not write to it while the array is in use.

    >>> jnp.from_dlpack(np.array([1, 2], "int32"))
    Array([1, 2], dtype=int32)
    """
    if isinstance(x, Array):
        return array(x, copy=bool(copy), device=device)
    if not (hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__")):
        raise TypeError(explain(
            "tanx.numpy.from_dlpack", "needs an object with __dlpack__ and __dlpack_device__.",
            f"object: {x!r:.100}", hint="tanx.numpy.asarray takes lists and numbers."))
    data = np.from_dlpack(x)
    dtype = _element_type(data)
    if dtype == data.dtype and data.flags.aligned and not copy:
        return placed(Array(data), device)
    if copy is False:
        why = ("a change of dtype" if dtype != data.dtype
               else "memory that is not aligned to the size of an element")
        raise ValueError(explain(
            "tanx.numpy.from_dlpack", f"{why} needs a copy, and copy=False forbids it.",
            f"object: {typeof(data).update(dtype=data.dtype)}", f"dtype:  {dtype}"))
    return array(data, device=device)


def frombuffer(buffer, dtype=float, count=-1, offset=0):
    """The bytes of ``buffer`` read as elements of ``dtype``, ``count`` of them after ``offset``.

    >>> jnp.frombuffer(b"abc", dtype="uint8")
    Array([97, 98, 99], dtype=uint8)
    """
    return asarray(np.frombuffer(buffer, dtype, count, offset))


def fromiter(*args, **kwargs):
    """The items of an iterable, as an array; arguments as in :func:`numpy.fromiter`.

    Under a transformation the iterable is read while tracing.

    >>> jnp.fromiter((i * i for i in range(4)), int)
    Array([0, 1, 4, 9], dtype=int32)
    """
    return asarray(np.fromiter(*args, **kwargs))


def fromstring(string, dtype=float, count=-1, *, sep):
    """The numbers written in ``string``, with ``sep`` between them.

    >>> jnp.fromstring("1, 2, 3", dtype=int, sep=",")
    Array([1, 2, 3], dtype=int32)
    """
    return asarray(np.fromstring(string, dtype, count, sep=sep))


# -- arrays of one value ---------------------------------------------------------------------------


def zeros(shape, dtype=None, *, device=None, out_sharding=None):
    """An array of zeros; ``dtype`` is the default float unless given.

    >>> jnp.zeros((2, 3))
    Array([[0., 0., 0.],
           [0., 0., 0.]], dtype=float32)
    """
    return _constant("zeros", shape, 0, dtype, device, out_sharding)


def ones(shape, dtype=None, *, device=None, out_sharding=None):
    """An array of ones; ``dtype`` is the default float unless given.

    >>> jnp.ones(3, dtype=int)
    Array([1, 1, 1], dtype=int32)
    """
    return _constant("ones", shape, 1, dtype, device, out_sharding)


def _constant(function: str, shape, value: int, dtype, device, out_sharding):
    name = f"tanx.numpy.{function}"
    dtype = dtypes.requested_dtype(dtype, name)
    return _filled(canonical_shape(shape, name), value, dtype, False, device, out_sharding)


def _filled(shape, value, dtype, weak: bool, device, out_sharding):
    """``value`` broadcast to ``shape``."""
    if dtype == dtypes.float0:  # elements have no bytes: a NumPy array
        return np.zeros(shape, dtype)
    if isinstance(value, complex) and dtype.kind != "c":
        raise TypeError(explain("tanx.numpy.full", "a complex number does not fill real arrays.",
                                f"fill_value: {value}", f"dtype:      {dtype}"))
    value = (wrapped if type(value) is int else convert)(value, dtype, weak)
    x = broadcast_to(value, shape) if value.shape else lax.broadcast_in_dim(value, shape, ())
    return placed(x, device, out_sharding)


def empty(shape, dtype=None, *, device=None, out_sharding=None):
    """An array whose values do not matter; in tanx they are zeros.

    >>> jnp.empty(2).shape
    (2,)
    """
    name = "tanx.numpy.empty"
    x = lax.empty(canonical_shape(shape, name), dtypes.requested_dtype(dtype, name))
    return placed(x, device, out_sharding)


def full(shape, fill_value, dtype=None, *, device=None, out_sharding=None):
    """An array of ``fill_value``, a number or an array that broadcasts to ``shape``.

    Its dtype is that of ``fill_value`` unless given.

    >>> jnp.full((2, 2), jnp.array([1, 2]))
    Array([[1, 2],
           [1, 2]], dtype=int32)
    """
    check_arraylike("full", fill_value)
    shape = canonical_shape(shape, "tanx.numpy.full")
    dtype, weak = _dtype_like("full", typeof(fill_value), dtype)
    return _filled(shape, fill_value, dtype, weak, device, out_sharding)


def _dtype_like(function: str, like, dtype) -> tuple[np.dtype, bool]:
    """The requested dtype, or that of ``like``; and whether it is weak."""
    if dtype is None:
        return like.dtype, like.weak_type
    return dtypes.requested_dtype(dtype, f"tanx.numpy.{function}"), False


def _like(function: str, a, value, dtype, shape, device, out_sharding=None):
    check_arraylike(function, value)
    like = type_like(function, a)
    shape = like.shape if shape is None else canonical_shape(shape, f"tanx.numpy.{function}")
    dtype, weak = _dtype_like(function, like, dtype)
    if device is not None or out_sharding is not None:
        return _filled(shape, value, dtype, weak, device, out_sharding)
    sharding = stated(like) if shape == like.shape else None
    return beside(_filled(shape, value, dtype, weak, None, sharding), a)


def zeros_like(a, dtype=None, shape=None, *, device=None, out_sharding=None):
    """Zeros with the shape and dtype of ``a``, unless others are given.

    >>> jnp.zeros_like(jnp.array([1, 2]))
    Array([0, 0], dtype=int32)
    """
    return _like("zeros_like", a, 0, dtype, shape, device, out_sharding)


def ones_like(a, dtype=None, shape=None, *, device=None, out_sharding=None):
    """Ones with the shape and dtype of ``a``, unless others are given.

    >>> jnp.ones_like(jnp.array([1, 2]), dtype=bool)
    Array([ True,  True], dtype=bool)
    """
    return _like("ones_like", a, 1, dtype, shape, device, out_sharding)


def empty_like(prototype, dtype=None, shape=None, *, device=None):
    """As :func:`empty`, with the shape and dtype of ``prototype`` unless others are given.

    >>> jnp.empty_like(jnp.array([1, 2])).dtype
    dtype('int32')
    """
    like = type_like("empty_like", prototype)
    shape = like.shape if shape is None else canonical_shape(shape, "tanx.numpy.empty_like")
    x = (convert(lax.empty(shape, like.dtype), like.dtype, like.weak_type) if dtype is None else
         empty(shape, dtype))
    if device is not None:
        return placed(x, device)
    return beside(placed(x, None, stated(like) if shape == like.shape else None), prototype)


def full_like(a, fill_value, dtype=None, shape=None, *, device=None, out_sharding=None):
    """``fill_value`` everywhere, with the shape and dtype of ``a`` unless others are given.

    >>> jnp.full_like(jnp.zeros(2), 7)
    Array([7., 7.], dtype=float32)
    """
    return _like("full_like", a, fill_value, dtype, shape, device, out_sharding)


# -- evenly spaced numbers -------------------------------------------------------------------------


def arange(start, stop=None, step=None, dtype=None, *, device=None, out_sharding=None):
    """The numbers from ``start`` up to, but not including, ``stop``, in steps of ``step``.

    With one argument they start at 0. Their number must be known while tracing, so the arguments
    cannot depend on traced values.

    >>> jnp.arange(4), jnp.arange(1, 2, 0.25)
    (Array([0, 1, 2, 3], dtype=int32), Array([1.  , 1.25, 1.5 , 1.75], dtype=float32))
    """
    given = [x for x in (start, stop, step) if x is not None]
    dtype = (dtypes.canonicalize_dtype(dtypes.result_type(*given or [None])) if dtype is None
             else dtypes.requested_dtype(dtype, "tanx.numpy.arange"))
    if stop is None:
        start, stop = 0, start
    low, high = _number("start", start), _number("stop", stop)
    size: Any
    if step is None:
        size, by = math.ceil(high - low), None
    else:
        by = _number("step", step)
        size = (-((low - high) // by) if is_symbolic(high - low) else
                math.ceil((high - low) / by))
    x = lax.iota(dtype, max(0, size))
    if by is not None:
        x = lax.mul(convert(by, dtype), x)
    if by is not None or low != 0:
        x = lax.add(convert(low, dtype), x)
    return placed(x, device, out_sharding)


def _number(name: str, x) -> int | float:
    """An argument of ``arange`` as a Python number."""
    if type(x) is int or type(x) is float or is_symbolic(x):
        return x
    if np.ndim(x) if not hasattr(x, "ndim") else x.ndim:
        raise ValueError(explain(
            "tanx.numpy.arange", "the arguments are numbers, not arrays.",
            f"{name}: {typeof(x)}"))
    value = x.item() if hasattr(x, "item") else x
    if isinstance(value, complex):
        raise ValueError(explain(
            "tanx.numpy.arange", "the arguments must not be complex.", f"{name}: {value}"))
    return value


def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None):
    """``num`` evenly spaced numbers from ``start`` to ``stop``.

    ``endpoint=False`` leaves ``stop`` out. Arrays as ends give a new dimension at ``axis``. With
    ``retstep``, the spacing is a second result. Integer results are rounded down.

    >>> jnp.linspace(0, 1, 5)
    Array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """
    num = _count("linspace", num)
    dtype = _spaced_dtype("linspace", dtype, start, stop)
    result = _linspace(start, stop, num=num, endpoint=bool(endpoint), retstep=bool(retstep),
                       dtype=dtype, axis=operator.index(axis))
    return placed(result, device)


def _count(function: str, num) -> int:
    num = index(num)
    if num < 0:
        raise ValueError(explain(
            f"tanx.numpy.{function}", "the number of elements must not be negative.",
            f"num: {num}"))
    return num


def _spaced_dtype(function: str, dtype, start, stop) -> np.dtype:
    check_arraylike(function, start, stop)
    if dtype is None:
        return dtypes.to_inexact_dtype(dtypes.result_type(start, stop))
    return dtypes.requested_dtype(dtype, f"tanx.numpy.{function}")


@library_jit(static_argnames=("num", "endpoint", "retstep", "dtype", "axis"))
def _linspace(start, stop, *, num, endpoint, retstep, dtype, axis):
    inexact = dtypes.to_inexact_dtype(dtype)
    start, stop = convert(start, inexact), convert(stop, inexact)
    bounds = lax.broadcast_shapes(start.shape, stop.shape)
    axis = canonical_axis("linspace", axis, len(bounds) + 1)
    first, last = broadcast_to(start, bounds), broadcast_to(stop, bounds)
    pieces = num - 1 if endpoint else num
    step = convert(np.nan, inexact)
    if pieces > 0:
        step = lax.sub(*promote_shapes("linspace", stop, start))
    one = (*bounds[:axis], 1, *bounds[axis:])
    if num == 0:
        out = lax.empty((*bounds[:axis], 0, *bounds[axis:]), inexact)
    elif num == 1:
        out = reshape(first, one)
    else:
        # A weighted sum of both ends, not a sum of steps: this keeps both ends exact.
        parts = convert(pieces, inexact)
        step = lax.div(step, parts)
        real = inexact.type(0).real.dtype
        count = [1] * len(one)
        count[axis] = pieces
        at = reshape(lax.iota(real, pieces), count)
        share = convert(lax.div(at, convert(pieces, real)), inexact)
        out = lax.mul(reshape(first, one), lax.sub(convert(1, inexact), share))
        out = lax.add(out, lax.mul(lax.div(reshape(last, one), parts), convert(at, inexact)))
        if endpoint:
            out = lax.concatenate([out, expand_dims(last, axis)], axis)
    if dtypes.issubdtype(dtype, np.integer):
        out = lax.floor(out)
    out = convert(out, dtype)
    return (out, step) if retstep else out


def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    """``base`` raised to evenly spaced powers from ``start`` to ``stop``; see :func:`linspace`.

    >>> jnp.logspace(0, 3, 4, base=2)
    Array([1., 2., 4., 8.], dtype=float32)
    """
    check_arraylike("logspace", base)
    return _logspace(start, stop, base, num=_count("logspace", num), endpoint=bool(endpoint),
                     dtype=_spaced_dtype("logspace", dtype, start, stop), axis=axis)


@library_jit(static_argnames=("num", "endpoint", "dtype", "axis"))
def _logspace(start, stop, base, *, num, endpoint, dtype, axis):
    inexact = dtypes.to_inexact_dtype(dtype)
    exponents = linspace(convert(start, inexact), convert(stop, inexact), num, endpoint, axis=axis)
    powers = lax.pow(*promote_shapes("logspace", convert(base, inexact), exponents))
    return convert(powers, dtype)


def geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    """``num`` numbers from ``start`` to ``stop``, each the same multiple of the one before.

    >>> jnp.round(jnp.geomspace(1, 27, 4), 3)
    Array([ 1.,  3.,  9., 27.], dtype=float32)
    """
    return _geomspace(start, stop, num=_count("geomspace", num), endpoint=bool(endpoint),
                      dtype=_spaced_dtype("geomspace", dtype, start, stop), axis=axis)


@library_jit(static_argnames=("num", "endpoint", "dtype", "axis"))
def _geomspace(start, stop, *, num, endpoint, dtype, axis):
    inexact = dtypes.to_inexact_dtype(dtype)
    start, stop = convert(start, inexact), convert(stop, inexact)
    sign = lax.sign(start)
    first, last = (log10(lax.div(*promote_shapes("geomspace", end, sign)))
                   for end in (start, stop))
    sizes = logspace(first, last, num, endpoint)
    out = lax.mul(broadcast_to(sign, sizes.shape), sizes)
    return convert(moveaxis(out, 0, axis) if axis else out, dtype)


# -- windows ---------------------------------------------------------------------------------------


def _window(m, weights):
    """``weights(n, m)`` for the numbers ``n`` below ``m``; ones if there are fewer than two."""
    m = int(m)
    if m <= 1:
        return ones(m)
    return weights(lax.iota(dtypes.default_float(), m), m)


def bartlett(M):
    """The triangular window of ``M`` points.

    >>> jnp.bartlett(5)
    Array([0. , 0.5, 1. , 0.5, 0. ], dtype=float32)
    """
    return _window(M, lambda n, m: 1 - abs(2 * n + 1 - m) / (m - 1))


def blackman(M):
    """The Blackman window of ``M`` points: three terms of cosines.

    >>> jnp.round(jnp.blackman(5), 2)
    Array([-0.  ,  0.34,  1.  ,  0.34, -0.  ], dtype=float32)
    """
    return _window(M, lambda n, m: (
        0.42 - 0.5 * lax.cos(2 * np.pi * n / (m - 1)) + 0.08 * lax.cos(4 * np.pi * n / (m - 1))))


def hamming(M):
    """The Hamming window of ``M`` points: a raised cosine that does not quite reach zero.

    >>> jnp.round(jnp.hamming(3), 2)
    Array([0.08, 1.  , 0.08], dtype=float32)
    """
    return _window(M, lambda n, m: 0.54 - 0.46 * lax.cos(2 * np.pi * n / (m - 1)))


def hanning(M):
    """The Hann window of ``M`` points: a raised cosine.

    >>> jnp.hanning(5)
    Array([0. , 0.5, 1. , 0.5, 0. ], dtype=float32)
    """
    return _window(M, lambda n, m: 0.5 * (1 - lax.cos(2 * np.pi * n / (m - 1))))
