"""Elementwise functions: arithmetic, powers, order, bits.

``add``, ``multiply`` and similar are plain functions here; :mod:`._ufunc` turns them into objects
with ``reduce`` and ``at``. Rounding is in :mod:`._rounding`, exponentials and trigonometry in
:mod:`._transcendental`, parts of complex numbers in :mod:`._complex`.
"""

from __future__ import annotations

from types import FunctionType

import numpy as np

from .. import dtypes
from .._api.jit import library_jit
from .._control.custom_jvp import custom_jvp
from ..errors import explain
from ..lax import _functions as lax
from ._logic import greater, less, where
from ._promotion import (
    Array,
    as_operand,
    convert,
    inexact,
    like,
    numeric,
    promote,
    promote_inexact,
    promote_numeric,
    promote_shapes,
)

__all__ = ["abs", "absolute", "bitwise_count", "bitwise_invert", "bitwise_left_shift",
           "bitwise_not", "bitwise_right_shift", "cbrt", "clip", "divide", "divmod", "fabs",
           "float_power", "floor_divide", "fmax", "fmin", "fmod", "heaviside", "hypot", "invert",
           "left_shift", "mod", "nan_to_num", "positive", "pow", "power", "reciprocal",
           "remainder", "right_shift", "sign", "sqrt", "square", "true_divide"]


def renamed(function, name: str):
    """A copy of ``function`` under another name; unlike a wrapper it costs no second call."""
    copy = FunctionType(function.__code__, function.__globals__, name, function.__defaults__,
                        function.__closure__)
    copy.__dict__.update(function.__dict__)
    copy.__doc__ = function.__doc__
    copy.__qualname__ = name
    return copy


def is_dtype(x, group: type) -> bool:
    """Whether the dtype of ``x`` belongs to a group such as ``np.integer``."""
    return dtypes.issubdtype(x.dtype, group)


def refuse_complex(function: str, *args, error=TypeError) -> None:
    """Raise if an operand of ``function`` is complex."""
    if any(x.dtype.kind == "c" for x in args):
        raise error(explain(
            f"tanx.numpy.{function}", "does not take complex operands.",
            *(f"operand {i}: {x.aval}" for i, x in enumerate(args)),
            hint="convert to real numbers first: real(x), imag(x), abs(x)."))


# -- arithmetic ------------------------------------------------------------------------------------


def add(x, y, /):
    """The sum ``x + y``; for booleans, whether either holds.

    >>> jnp.add(jnp.array([1, 2]), 10)
    Array([11, 12], dtype=int32)
    """
    x, y = promote("add", x, y)
    return lax.add(x, y) if x.aval.dtype.kind != "b" else lax.bitwise_or(x, y)


def subtract(x, y, /):
    """The difference ``x - y``; not for booleans: use ``logical_xor``.

    >>> jnp.subtract(jnp.array([1, 2]), 10)
    Array([-9, -8], dtype=int32)
    """
    return lax.sub(*promote("subtract", x, y))


def multiply(x, y, /):
    """The product ``x * y``; for booleans, whether both hold.

    >>> jnp.multiply(jnp.array([1, 2]), 10)
    Array([10, 20], dtype=int32)
    """
    x, y = promote("multiply", x, y)
    return lax.mul(x, y) if x.aval.dtype.kind != "b" else lax.bitwise_and(x, y)


def divide(x1, x2, /):
    """The quotient ``x1 / x2``, in floating point also for integers.

    >>> jnp.divide(jnp.array([1, 2]), 4)
    Array([0.25, 0.5 ], dtype=float32)
    """
    return lax.div(*promote_inexact("divide", x1, x2))


def negative(x, /):
    """The negative ``-x``; not for booleans: use ``logical_not``.

    >>> jnp.negative(jnp.array([1, -2]))
    Array([-1,  2], dtype=int32)
    """
    return lax.neg(as_operand("negative", x))


def positive(x, /):
    """``x`` as it is: ``+x``.

    >>> jnp.positive(jnp.array([1, -2]))
    Array([ 1, -2], dtype=int32)
    """
    return as_operand("positive", x)


@library_jit
def floor_divide(x1, x2, /):
    """The greatest integer not above the quotient: ``x1 // x2``.

    Integers divided by zero give meaningless numbers rather than an error.

    >>> jnp.floor_divide(jnp.array([-7, 7]), 2)
    Array([-4,  3], dtype=int32)
    """
    x, y = promote_numeric("floor_divide", x1, x2)
    refuse_complex("floor_divide", x, y)
    if is_dtype(x, np.unsignedinteger):
        return lax.div(x, y)
    if not is_dtype(x, np.integer):
        return _float_divmod(x, y)[0]
    quotient = lax.div(x, y)
    differ = lax.ne(lax.sign(x), lax.sign(y))
    rounded_up = lax.bitwise_and(differ, lax.ne(lax.rem(x, y), like(x, 0)))
    return where(rounded_up, subtract(quotient, 1), quotient)


@library_jit
def remainder(x1, x2, /):
    """The remainder of ``x1 // x2``, with the sign of ``x2``: ``x1 % x2``.

    Division by zero gives 0 for integers and NaN for floats.

    >>> jnp.remainder(jnp.array([-7, 7]), 3)
    Array([2, 1], dtype=int32)
    """
    x, y = promote_numeric("remainder", x1, x2)
    refuse_complex("remainder", x, y)
    y = _safe_divisor(y)
    rest, zero = lax.rem(x, y), like(x, 0)
    inexact = lax.ne(rest, zero)
    astray = lax.bitwise_and(lax.ne(lax.lt(rest, zero), lax.lt(y, zero)), inexact)
    return lax.select(astray, lax.add(rest, y), rest)


@library_jit
def fmod(x1, x2, /):
    """The remainder of the quotient rounded towards zero, with the sign of ``x1``.

    >>> jnp.fmod(jnp.array([-7, 7]), 3)
    Array([-1,  1], dtype=int32)
    """
    x, y = promote_numeric("fmod", x1, x2)
    refuse_complex("fmod", x, y)
    return lax.rem(x, _safe_divisor(y))


def _safe_divisor(y):
    """``y`` with 1 in place of integer zeros: the remainder by 1 is 0."""
    return where(lax.eq(y, like(y, 0)), lax.full_like(y, 1), y) if is_dtype(y, np.integer) else y


@library_jit
def divmod(x1, x2, /):
    """``(x1 // x2, x1 % x2)``, computed together.

    >>> jnp.divmod(jnp.array([-7, 7]), 3)
    (Array([-3,  2], dtype=int32), Array([2, 1], dtype=int32))
    """
    x, y = promote_numeric("divmod", x1, x2)
    refuse_complex("divmod", x, y)
    if is_dtype(x, np.integer):
        return floor_divide(x, y), remainder(x, y)
    return _float_divmod(x, y)


def _float_divmod(x, y) -> tuple:
    """Quotient and remainder; subtracting the remainder first makes the division exact."""
    rest = lax.rem(x, y)
    quotient = lax.div(where(lax.eq(y, like(y, 0)), x, lax.sub(x, rest)), y)
    astray = lax.bitwise_and(lax.ne(rest, like(x, 0)), lax.ne(lax.sign(y), lax.sign(rest)))
    rest = lax.select(astray, lax.add(rest, y), rest)
    quotient = lax.select(astray, subtract(quotient, 1), quotient)
    return lax.round(quotient), rest


def absolute(x, /):
    """The absolute value: ``abs(x)``.

    >>> jnp.absolute(jnp.array([-3, 4])), jnp.absolute(3 + 4j)
    (Array([3, 4], dtype=int32), Array(5., dtype=float32, weak_type=True))
    """
    x = as_operand("absolute", x)
    return x if x.dtype.kind == "b" or is_dtype(x, np.unsignedinteger) else lax.abs(x)


def fabs(x, /):
    """The absolute value of real ``x``, in floating point also for integers.

    >>> jnp.fabs(jnp.array([-3, 4]))
    Array([3., 4.], dtype=float32)
    """
    x = inexact("fabs", x)
    refuse_complex("fabs", x)
    return lax.abs(x)


def sign(x, /):
    """-1, 0 or 1 by the sign of ``x``; for complex numbers, ``x / abs(x)``.

    >>> jnp.sign(jnp.array([-3, 0, 4]))
    Array([-1,  0,  1], dtype=int32)
    """
    return lax.sign(as_operand("sign", x))


@library_jit
def heaviside(x1, x2, /):
    """The step function of ``x1``: 0 below zero, 1 above, and ``x2`` at zero.

    >>> jnp.heaviside(jnp.array([-1.0, 0.0, 2.0]), 0.5)
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    x, y = promote_inexact("heaviside", x1, x2)
    zero = like(x, 0)
    below, above = lax.lt(x, zero), lax.gt(x, zero)
    return where(below, zero, where(above, like(x, 1), where(lax.ne(x, x), x, y)))


# -- powers and roots ------------------------------------------------------------------------------


def power(x1, x2, /):
    """``x1`` raised to ``x2``: ``x1 ** x2``.

    A scalar integer known while tracing means repeated multiplication; it must not be negative if
    ``x1`` holds integers. Other negative powers of integers are meaningless: use floating point.

    >>> jnp.power(jnp.array([1, 2, 3]), 2)
    Array([1, 4, 9], dtype=int32)
    """
    known = _known_integer(x2)
    if known is not None:
        return lax.integer_pow(numeric("power", x1), known)
    x, y = promote_numeric("power", x1, x2)
    if is_dtype(x, np.integer):
        return _integer_power(x, y)
    exponent = as_operand("power", x2)
    if is_dtype(exponent, np.integer):  # stays an integer: the derivative at 0 depends on it
        _, y = promote_shapes("power", x, exponent)
    return lax.pow(x, y)


def _known_integer(x) -> int | None:
    if type(x) is int:
        return x
    if isinstance(x, bool | np.integer):
        return int(x)
    if (type(x) is Array or isinstance(x, np.ndarray)) and not x.shape and x.dtype.kind in "iu":
        return int(x)
    return None


def _integer_power(base, exponent):
    """Powers by squaring, over six bits of the exponent: larger exponents overflow anyway."""
    zero, one = convert(0, base.dtype), convert(1, base.dtype)
    result = where(lax.bitwise_and(lax.eq(base, zero), lax.ne(exponent, zero)), zero, one)
    for bit in range(6):
        if bit:
            base = lax.mul(base, base)
            exponent = lax.shift_right_logical(exponent, one)
        result = where(lax.bitwise_and(exponent, one), lax.mul(result, base), result)
    return result


def float_power(x, y, /):
    """``x`` raised to ``y``, in floating point also for integers.

    >>> jnp.float_power(jnp.array([1, 2]), -1)
    Array([1. , 0.5], dtype=float32)
    """
    return lax.pow(*promote_inexact("float_power", x, y))


def square(x, /):
    """The square ``x * x``.

    >>> jnp.square(jnp.array([2, -3]))
    Array([4, 9], dtype=int32)
    """
    return lax.square(numeric("square", x))


def sqrt(x, /):
    """The square root; NaN for negative real numbers.

    >>> jnp.sqrt(jnp.array([4, 9]))
    Array([2., 3.], dtype=float32)
    """
    return lax.sqrt(inexact("sqrt", x))


def cbrt(x, /):
    """The cube root, also of negative numbers.

    >>> jnp.cbrt(jnp.array([8.0, -27.0]))
    Array([ 2., -3.], dtype=float32)
    """
    return lax.cbrt(inexact("cbrt", x))


def reciprocal(x, /):
    """``1 / x``, in floating point also for integers.

    >>> jnp.reciprocal(jnp.array([2, 4]))
    Array([0.5 , 0.25], dtype=float32)
    """
    return lax.integer_pow(inexact("reciprocal", x), -1)


@library_jit
def hypot(x1, x2, /):
    """The length of the vector with components ``x1`` and ``x2``, without intermediate overflow.

    >>> jnp.hypot(3e30, 4e30)
    Array(5.e+30, dtype=float32, weak_type=True)
    """
    x, y = promote_inexact("hypot", x1, x2)
    refuse_complex("hypot", x, y, error=ValueError)
    return _hypot(x, y)


@custom_jvp
def _hypot(x, y):
    a, b = lax.abs(x), lax.abs(y)
    largest, least = lax.max(a, b), lax.min(a, b)
    nowhere = lax.eq(largest, like(largest, 0))
    ratio = lax.div(least, where(nowhere, lax.full_like(largest, 1), largest))
    length = lax.mul(largest, lax.sqrt(add(1, lax.square(ratio))))
    infinity = like(largest, np.inf)
    far = lax.bitwise_or(lax.eq(a, infinity), lax.eq(b, infinity))
    return where(far, np.inf, length)


@_hypot.defjvp
def _hypot_jvp(primals, tangents):
    (x, y), (dx, dy) = primals, tangents
    length = _hypot(x, y)
    return length, lax.add(lax.mul(dx, lax.div(x, length)), lax.mul(dy, lax.div(y, length)))


# -- order -----------------------------------------------------------------------------------------


def maximum(x, y, /):
    """The greater of ``x`` and ``y``; NaN where either is NaN.

    >>> jnp.maximum(jnp.array([1, 5]), 3)
    Array([3, 5], dtype=int32)
    """
    return lax.max(*promote("maximum", x, y))


def minimum(x, y, /):
    """The lesser of ``x`` and ``y``; NaN where either is NaN.

    >>> jnp.minimum(jnp.array([1, 5]), 3)
    Array([1, 3], dtype=int32)
    """
    return lax.min(*promote("minimum", x, y))


@library_jit
def fmax(x1, x2):
    """The greater of ``x1`` and ``x2``; NaN only where both are NaN.

    >>> jnp.fmax(jnp.array([1.0, jnp.nan]), 0.5)
    Array([1. , 0.5], dtype=float32)
    """
    x, y = promote("fmax", x1, x2)
    return where(lax.bitwise_or(greater(x, y), lax.ne(y, y)), x, y)


@library_jit
def fmin(x1, x2):
    """The lesser of ``x1`` and ``x2``; NaN only where both are NaN.

    >>> jnp.fmin(jnp.array([1.0, jnp.nan]), 0.5)
    Array([0.5, 0.5], dtype=float32)
    """
    x, y = promote("fmin", x1, x2)
    return where(lax.bitwise_or(less(x, y), lax.ne(y, y)), x, y)


@library_jit
def clip(arr=None, /, min=None, max=None):
    """``arr`` kept between ``min`` and ``max``, either of which may be missing.

    Where ``min`` exceeds ``max``, the result is ``max``.

    >>> jnp.clip(jnp.arange(5), 1, 3)
    Array([1, 1, 2, 3, 3], dtype=int32)
    """
    if arr is None:
        raise ValueError(explain("tanx.numpy.clip", "there is no array to clip.",
                                 hint="pass it as the first argument."))
    arr = as_operand("clip", arr)
    bounds = [as_operand("clip", bound) for bound in (min, max) if bound is not None]
    refuse_complex("clip", arr, *bounds, error=ValueError)
    if min is not None:
        arr = maximum(min, arr)
    if max is not None:
        arr = minimum(max, arr)
    return arr


@library_jit
def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    """``x`` with NaN and infinities replaced; infinities by default with the largest numbers.

    ``copy`` has no effect: arrays are immutable.

    >>> jnp.nan_to_num(jnp.array([1.0, jnp.nan, jnp.inf]), posinf=9.0)
    Array([1., 0., 9.], dtype=float32)
    """
    x = as_operand("nan_to_num", x)
    if not is_dtype(x, np.inexact):
        return x
    if x.dtype.kind == "c":
        return lax.complex(nan_to_num(lax.real(x), nan=nan, posinf=posinf, neginf=neginf),
                           nan_to_num(lax.imag(x), nan=nan, posinf=posinf, neginf=neginf))
    limits = dtypes.finfo(x.dtype)
    posinf = limits.max if posinf is None else posinf
    neginf = limits.min if neginf is None else neginf
    x = where(lax.ne(x, x), convert(nan, x.dtype), x)
    x = where(lax.eq(x, like(x, np.inf)), convert(posinf, x.dtype), x)
    return where(lax.eq(x, like(x, -np.inf)), convert(neginf, x.dtype), x)


# -- bits ------------------------------------------------------------------------------------------


def bitwise_and(x, y, /):
    """The bits set in both ``x`` and ``y``: ``x & y``.

    >>> jnp.bitwise_and(jnp.array([6, 5]), 3)
    Array([2, 1], dtype=int32)
    """
    return lax.bitwise_and(*promote("bitwise_and", x, y))


def bitwise_or(x, y, /):
    """The bits set in ``x`` or ``y``: ``x | y``.

    >>> jnp.bitwise_or(jnp.array([6, 5]), 3)
    Array([7, 7], dtype=int32)
    """
    return lax.bitwise_or(*promote("bitwise_or", x, y))


def bitwise_xor(x, y, /):
    """The bits set in exactly one of ``x`` and ``y``: ``x ^ y``.

    >>> jnp.bitwise_xor(jnp.array([6, 5]), 3)
    Array([5, 6], dtype=int32)
    """
    return lax.bitwise_xor(*promote("bitwise_xor", x, y))


def invert(x, /):
    """All bits flipped: ``~x``; for booleans, their negation.

    >>> jnp.invert(jnp.array([0, 5]))
    Array([-1, -6], dtype=int32)
    """
    return lax.bitwise_not(as_operand("invert", x))


def left_shift(x, y, /):
    """The bits of ``x`` moved up by ``y`` places: ``x << y``.

    >>> jnp.left_shift(jnp.array([1, 5]), 2)
    Array([ 4, 20], dtype=int32)
    """
    return lax.shift_left(*promote_numeric("left_shift", x, y))


def right_shift(x1, x2, /):
    """The bits of ``x1`` moved down by ``x2`` places, keeping the sign: ``x1 >> x2``.

    >>> jnp.right_shift(jnp.array([20, -20]), 2)
    Array([ 5, -5], dtype=int32)
    """
    x, y = promote_numeric("right_shift", x1, x2)
    return (lax.shift_right_logical if is_dtype(x, np.unsignedinteger)
            else lax.shift_right_arithmetic)(x, y)


@library_jit
def bitwise_count(x, /):
    """How many bits are set in each integer, in the absolute value of negative ones.

    >>> jnp.bitwise_count(jnp.array([7, -8]))
    Array([3, 1], dtype=uint8)
    """
    x = numeric("bitwise_count", x)
    return lax.convert_element_type(lax.population_count(absolute(x)), np.uint8)


# -- the same functions under other names ----------------------------------------------------------

true_divide = renamed(divide, "true_divide")
abs = renamed(absolute, "abs")
mod = renamed(remainder, "mod")
pow = renamed(power, "pow")
bitwise_not, bitwise_invert = renamed(invert, "bitwise_not"), renamed(invert, "bitwise_invert")
bitwise_left_shift = renamed(left_shift, "bitwise_left_shift")
bitwise_right_shift = renamed(right_shift, "bitwise_right_shift")
