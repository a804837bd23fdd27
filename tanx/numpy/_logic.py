"""Comparisons, logic, tests of numbers, and choices between arrays."""

from __future__ import annotations

import numpy as np

from .. import dtypes
from .._api.batching import vmap
from .._api.jit import library_jit
from ..errors import explain
from ..lax import _functions as lax
from ._nonzero import nonzero
from ._promotion import (
    Explicit,
    as_operand,
    broadcast_to_shape,
    check_arraylike,
    common_shape,
    convert,
    is_arraylike,
    joint_sharding,
    like,
    plain,
    promote,
    promote_dtypes,
    promote_inexact,
    refuse_out,
    typeof,
)

__all__ = ["allclose", "array_equal", "array_equiv", "equal", "greater", "greater_equal",
           "isclose", "iscomplexobj", "isfinite", "isinf", "isnan", "isneginf", "isposinf",
           "isrealobj", "isscalar", "less", "less_equal", "logical_not", "not_equal", "piecewise",
           "select", "where"]


# -- comparisons -----------------------------------------------------------------------------------


def equal(x, y, /):
    """Whether elements are equal: ``x == y``. NaN equals nothing.

    >>> jnp.equal(jnp.array([1, 2]), 2)
    Array([False,  True], dtype=bool)
    """
    return lax.eq(*promote("equal", x, y))


def not_equal(x, y, /):
    """Whether elements differ: ``x != y``. NaN differs from everything.

    >>> jnp.not_equal(jnp.array([1, 2]), 2)
    Array([ True, False], dtype=bool)
    """
    return lax.ne(*promote("not_equal", x, y))


def less(x, y, /):
    """Whether ``x < y``; complex numbers are ordered by real part, then by imaginary part.

    >>> jnp.less(jnp.array([1, 2]), 2)
    Array([ True, False], dtype=bool)
    """
    return _ordered(lax.lt, *promote("less", x, y))


def less_equal(x, y, /):
    """Whether ``x <= y``; complex numbers are ordered by real part, then by imaginary part.

    >>> jnp.less_equal(jnp.array([1, 2]), 1)
    Array([ True, False], dtype=bool)
    """
    return _ordered(lax.le, *promote("less_equal", x, y))


def greater(x, y, /):
    """Whether ``x > y``; complex numbers are ordered by real part, then by imaginary part.

    >>> jnp.greater(jnp.array([1, 2]), 1)
    Array([False,  True], dtype=bool)
    """
    return _ordered(lax.gt, *promote("greater", x, y))


def greater_equal(x, y, /):
    """Whether ``x >= y``; complex numbers are ordered by real part, then by imaginary part.

    >>> jnp.greater_equal(jnp.array([1, 2]), 2)
    Array([False,  True], dtype=bool)
    """
    return _ordered(lax.ge, *promote("greater_equal", x, y))


def _ordered(compare, x, y):
    if x.dtype.kind != "c":
        return compare(x, y)
    tie = lax.eq(lax.real(x), lax.real(y))
    return lax.select(tie, compare(lax.imag(x), lax.imag(y)), compare(lax.real(x), lax.real(y)))


# -- logic -----------------------------------------------------------------------------------------


def as_bool(x):
    """``x`` as booleans: whether elements are nonzero."""
    return x if x.dtype.kind == "b" else lax.ne(x, like(x, 0))


def logical_and(x, y, /):
    """Whether both ``x`` and ``y`` are nonzero.

    >>> jnp.logical_and(jnp.array([0, 1, 2]), True)
    Array([False,  True,  True], dtype=bool)
    """
    return lax.bitwise_and(*map(as_bool, promote("logical_and", x, y)))


def logical_or(x, y, /):
    """Whether ``x`` or ``y`` is nonzero.

    >>> jnp.logical_or(jnp.array([0, 1, 2]), False)
    Array([False,  True,  True], dtype=bool)
    """
    return lax.bitwise_or(*map(as_bool, promote("logical_or", x, y)))


def logical_xor(x, y, /):
    """Whether exactly one of ``x`` and ``y`` is nonzero.

    >>> jnp.logical_xor(jnp.array([0, 1, 2]), True)
    Array([ True, False, False], dtype=bool)
    """
    return lax.bitwise_xor(*map(as_bool, promote("logical_xor", x, y)))


def logical_not(x, /):
    """Whether elements are zero.

    >>> jnp.logical_not(jnp.array([0, 1, 2]))
    Array([ True, False, False], dtype=bool)
    """
    return lax.bitwise_not(as_bool(as_operand("logical_not", x)))


# -- tests of numbers ------------------------------------------------------------------------------


def _is_inexact(x) -> bool:
    return dtypes.issubdtype(x.dtype, np.inexact)


def isnan(x, /):
    """Whether elements are NaN.

    >>> jnp.isnan(jnp.array([1.0, jnp.nan]))
    Array([False,  True], dtype=bool)
    """
    x = as_operand("isnan", x)
    return lax.ne(x, x)


def isfinite(x, /):
    """Whether elements are neither infinite nor NaN.

    >>> jnp.isfinite(jnp.array([1.0, jnp.nan, jnp.inf]))
    Array([ True, False, False], dtype=bool)
    """
    x = as_operand("isfinite", x)
    if not _is_inexact(x):
        return lax.full_like(x, True, dtype=bool)
    if x.dtype.kind == "c":
        return lax.bitwise_and(lax.is_finite(lax.real(x)), lax.is_finite(lax.imag(x)))
    return lax.is_finite(x)


@library_jit
def isinf(x, /):
    """Whether elements are infinite, of either sign.

    >>> jnp.isinf(jnp.array([1.0, jnp.nan, -jnp.inf]))
    Array([False, False,  True], dtype=bool)
    """
    x = as_operand("isinf", x)
    if not _is_inexact(x):
        return lax.full_like(x, False, dtype=bool)
    if x.dtype.kind == "c":
        real, imag = lax.real(x), lax.imag(x)
        return lax.bitwise_or(_is_infinite(real), _is_infinite(imag))
    return _is_infinite(x)


def _is_infinite(x):
    size = lax.abs(x)
    return lax.eq(size, convert(np.inf, size.dtype))


def isposinf(x, /, out=None):
    """Whether elements are positive infinity.

    >>> jnp.isposinf(jnp.array([1.0, jnp.inf, -jnp.inf]))
    Array([False,  True, False], dtype=bool)
    """
    return _is_one_infinity("isposinf", np.inf, x, out)


def isneginf(x, /, out=None):
    """Whether elements are negative infinity.

    >>> jnp.isneginf(jnp.array([1.0, jnp.inf, -jnp.inf]))
    Array([False, False,  True], dtype=bool)
    """
    return _is_one_infinity("isneginf", -np.inf, x, out)


def _is_one_infinity(function: str, infinity: float, x, out):
    refuse_out(function, out)
    x = as_operand(function, x)
    if x.dtype.kind == "c":
        raise ValueError(explain(
            f"tanx.numpy.{function}", "complex infinity has no sign.", f"operand: {x.aval}",
            hint="ask about real(x) or imag(x)."))
    if not _is_inexact(x):
        return lax.full_like(x, False, dtype=bool)
    return lax.eq(x, convert(infinity, x.dtype))


def isscalar(element):
    """Whether ``element`` is a number, a string, or an array of zero dimensions.

    NumPy returns False for all arrays; in tanx, scalars are arrays of zero dimensions.

    >>> jnp.isscalar(3.0), jnp.isscalar(jnp.array(3.0)), jnp.isscalar([3.0])
    (True, True, False)
    """
    if hasattr(element, "__jax_array__"):
        element = element.__jax_array__()
    return np.ndim(element) == 0 if is_arraylike(element) else np.isscalar(element)


def iscomplexobj(x):
    """Whether the dtype of ``x`` is complex, whatever its values are.

    >>> jnp.iscomplexobj(1j), jnp.iscomplexobj(jnp.array([1.0]))
    (True, False)
    """
    if is_arraylike(x):
        return dtypes.issubdtype(typeof(x).dtype, np.complexfloating)
    return np.iscomplexobj(x)


def isrealobj(x):
    """Whether the dtype of ``x`` is not complex.

    >>> jnp.isrealobj(1j), jnp.isrealobj(jnp.array([1.0]))
    (False, True)
    """
    return not iscomplexobj(x)


# -- equality up to a tolerance --------------------------------------------------------------------


@library_jit(static_argnames=("equal_nan",))
def isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether ``abs(a - b) <= atol + rtol * abs(b)``; equal infinities are close as well.

    With ``equal_nan`` NaN is close to NaN.

    >>> jnp.isclose(jnp.array([1.0, 2.0]), jnp.array([1.000001, 2.1]))
    Array([ True, False], dtype=bool)
    """
    check_arraylike("isclose", a, b, rtol, atol)
    if any(dtypes.is_extended(typeof(x).dtype) for x in (a, b)):
        return equal(a, b)
    x, y = promote_inexact("isclose", a, b)
    real = dtypes.to_floating_dtype(x.dtype)
    rtol, atol = convert(rtol, real), convert(atol, real)
    both_nan = lax.bitwise_and(lax.ne(x, x), lax.ne(y, y))
    finite = isfinite(y)
    distance, size = lax.abs(lax.sub(x, y)), lax.abs(y)
    allowed = lax.add(*promote("isclose", atol, lax.mul(*promote("isclose", rtol, size))))
    near = less_equal(distance, allowed)
    close = lax.bitwise_or(*promote("isclose", lax.eq(x, y), lax.bitwise_and(
        *promote("isclose", finite, near))))
    return lax.bitwise_or(*promote("isclose", close, both_nan)) if equal_nan else close


@library_jit(static_argnames=("equal_nan",))
def allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether all elements are close in the sense of :func:`isclose`.

    >>> jnp.allclose(jnp.array([1.0, 2.0]), jnp.array([1.000001, 2.0]))
    Array(True, dtype=bool)
    """
    return _all(isclose(a, b, rtol, atol, equal_nan))


def _all(x):
    return lax.reduce_and(x, range(x.ndim))


def _as_array(function: str, x):
    """``x`` unchanged if it is an array, else converted by NumPy."""
    x = plain(x)
    x = x if is_arraylike(x) else np.asarray(x)
    check_arraylike(function, x)
    return x


def array_equal(a1, a2, equal_nan=False):
    """Whether two arrays or array-likes have the same shape and elements.

    >>> jnp.array_equal(jnp.array([1, 2]), [1, 2]), jnp.array_equal(jnp.array([1, 2]), 1)
    (Array(True, dtype=bool), Array(False, dtype=bool))
    """
    x, y = _as_array("array_equal", a1), _as_array("array_equal", a2)
    if np.shape(x) != np.shape(y):
        return convert(False, np.dtype(bool))
    x, y = promote("array_equal", x, y)
    same = lax.eq(x, y)
    if equal_nan:
        same = lax.bitwise_or(same, lax.bitwise_and(lax.ne(x, x), lax.ne(y, y)))
    return _all(same)


def array_equiv(a1, a2):
    """Whether two arrays or array-likes have the same elements after broadcasting.

    >>> jnp.array_equiv(jnp.array([[1, 2], [1, 2]]), [1, 2])
    Array(True, dtype=bool)
    """
    x, y = _as_array("array_equiv", a1), _as_array("array_equiv", a2)
    try:
        common_shape(np.shape(x), np.shape(y))
    except ValueError:
        return convert(False, np.dtype(bool))
    return _all(lax.eq(*promote("array_equiv", x, y)))


# -- choices ---------------------------------------------------------------------------------------


def where(condition, x=None, y=None, /, *, size=None, fill_value=None):
    """Elements of ``x`` where ``condition`` holds, of ``y`` elsewhere.

    Both sides are computed. A NaN on the side not taken still spoils a gradient: replace the
    argument before the function that cannot take it, not only the result after it.
    With ``condition`` alone, the indices where it holds: ``nonzero(condition)``, which under
    ``jit`` needs their number as ``size``.

    >>> jnp.where(jnp.arange(4) < 2, 10, 20)
    Array([10, 10, 20, 20], dtype=int32, weak_type=True)
    """
    if x is None and y is None:
        check_arraylike("where", condition)
        return nonzero(condition, size=size, fill_value=fill_value)
    check_arraylike("where", condition, x, y)
    if size is not None or fill_value is not None:
        raise ValueError(explain(
            "tanx.numpy.where", "size and fill_value are allowed only without x and y.",
            hint="leave them out, or leave out x and y."))
    return _where(condition, x, y)


@library_jit(name="_where")
def _where(condition, x, y):
    condition = as_bool(as_operand("where", condition))
    x, y = promote_dtypes(x, y)
    if condition.shape == x.shape == y.shape and not Explicit.seen:
        return lax.select(condition, x, y)
    try:
        shape = common_shape(condition.shape, x.shape, y.shape)
    except ValueError:
        raise ValueError(explain(
            "tanx.numpy.where", "Incompatible shapes for broadcasting.",
            f"condition: {condition.aval}", f"x:         {x.aval}", f"y:         {y.aval}",
            hint="sizes must be equal or 1, counted from the last dimension.")) from None
    sharding = joint_sharding(shape, condition, x, y)
    if condition.shape:
        condition = broadcast_to_shape(condition, shape, sharding)
    x, y = (case if case.shape == shape else broadcast_to_shape(case, shape, sharding)
            for case in (x, y))
    return lax.select(condition, x, y)


def select(condlist, choicelist, default=0):
    """For each element the choice of the first condition that holds, or ``default`` if none does.

    >>> x = jnp.arange(6)
    >>> jnp.select([x < 2, x < 4], [x, 10 * x], -1)
    Array([ 0,  1, 20, 30, -1, -1], dtype=int32)
    """
    if len(condlist) != len(choicelist):
        raise ValueError(explain(
            "tanx.numpy.select", "there must be one choice for each condition.",
            f"conditions: {len(condlist)}", f"choices:    {len(choicelist)}"))
    if not len(condlist):
        raise ValueError(explain("tanx.numpy.select", "there must be at least one condition."))
    check_arraylike("select", *condlist, *choicelist, default)
    conditions = [as_bool(as_operand("select", c)) for c in condlist]
    default, *choices = promote_dtypes(default, *choicelist)
    shape = common_shape(*(x.shape for x in (*conditions, *choices, default)))
    conditions = [broadcast_to_shape(x, shape) for x in conditions]
    choices = [broadcast_to_shape(x, shape) for x in (default, *choices)]
    none = lax.full_like(conditions[0], False)
    first = lax.argmax(lax.stack([none, *conditions]), 0, np.int32)
    return lax.select_n(first, *choices)


def piecewise(x, condlist, funclist, *args, **kw):
    """For each element the function of the last condition that holds.

    ``funclist`` holds functions of ``(element, *args, **kw)``, or numbers. One more function than
    conditions is used where none holds; without it the result is 0 there. Functions are mapped over
    all of ``x``, but only the part that is taken has a gradient. The result has the dtype of ``x``.

    >>> jnp.piecewise(jnp.arange(-2.0, 3.0), [jnp.arange(-2, 3) < 0], [lambda x: -x, 7])
    Array([2., 1., 7., 7., 7.], dtype=float32)
    """
    x = as_operand("piecewise", x)
    functions = list(funclist)
    if len(functions) == len(condlist):
        functions.append(0)
    elif len(functions) != len(condlist) + 1:
        raise ValueError(explain(
            "tanx.numpy.piecewise", "there must be as many functions as conditions, or one more.",
            f"conditions: {len(condlist)}", f"functions:  {len(functions)}"))
    conditions = [as_operand("piecewise", _as_array("piecewise", c)) for c in condlist]
    conditions = [broadcast_to_shape(as_bool(c), x.shape) for c in conditions]
    # The last condition that holds wins, hence the reverse order; the default comes last.
    always = lax.full_like(x, True, dtype=bool)
    taken = lax.argmax(lax.stack([*reversed(conditions), always]), 0, np.int32)
    *functions, otherwise = functions
    return lax.select_n(taken, *(
        _piece(function, x, lax.eq(taken, like(taken, i)), args, kw)
        for i, function in enumerate([*reversed(functions), otherwise])))


def _piece(function, x, mine, args, kw):
    """``function`` of the elements of ``x``; the mask ``mine`` marks those that are used."""
    if not callable(function):
        return lax.full_like(x, function, dtype=x.dtype)
    # Elsewhere the argument is a constant, so that no gradient flows back through it.
    argument = lax.reshape(lax.select(mine, x, lax.stop_gradient(x)), (x.size,))
    piece = vmap(lambda element: function(element, *args, **kw))(argument)
    return lax.convert_element_type(lax.reshape(piece, x.shape), x.dtype)
