"""Elementwise functions: arithmetic, powers, trigonometry, order, complex parts, bits.

``add``, ``multiply`` and kin are plain functions here; :mod:`._ufunc` makes objects with
``reduce`` and ``at`` of them. Rounding is in :mod:`._rounding`.
"""

from __future__ import annotations

import builtins
import math
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

__all__ = ["abs", "absolute", "acos", "acosh", "angle", "arccos", "arccosh", "arcsin", "arcsinh",
           "arctan", "arctan2", "arctanh", "asin", "asinh", "atan", "atan2", "atanh",
           "bitwise_count", "bitwise_invert", "bitwise_left_shift", "bitwise_not",
           "bitwise_right_shift", "cbrt", "clip", "conj", "conjugate", "cos", "cosh", "deg2rad",
           "degrees", "divide", "divmod", "exp", "exp2", "expm1", "fabs", "float_power",
           "floor_divide", "fmax", "fmin", "fmod", "heaviside", "hypot", "imag", "invert",
           "iscomplex", "isreal", "left_shift", "log", "log10", "log1p", "log2", "mod",
           "nan_to_num", "positive", "pow", "power", "rad2deg", "radians", "real", "reciprocal",
           "remainder", "right_shift", "sign", "sin", "sinc", "sinh", "sqrt", "square", "tan",
           "tanh", "true_divide", "unwrap"]


def _renamed(function, name: str):
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
    """Operands of ``function`` must not be complex."""
    if any(x.dtype.kind == "c" for x in args):
        raise error(explain(
            f"tanx.numpy.{function}", "does not take complex operands.",
            *(f"operand {i}: {x.aval}" for i, x in enumerate(args)),
            hint="take their parts or sizes first: real(x), imag(x), abs(x)."))


# -- arithmetic ------------------------------------------------------------------------------------


def add(x, y, /):
    """The sum ``x + y``; of booleans, whether either holds.

    >>> jnp.add(jnp.array([1, 2]), 10)
    Array([11, 12], dtype=int32)
    """
    x, y = promote("add", x, y)
    return lax.add(x, y) if x.aval.dtype.kind != "b" else lax.bitwise_or(x, y)


def subtract(x, y, /):
    """The difference ``x - y``. Booleans have none: use ``logical_xor``.

    >>> jnp.subtract(jnp.array([1, 2]), 10)
    Array([-9, -8], dtype=int32)
    """
    return lax.sub(*promote("subtract", x, y))


def multiply(x, y, /):
    """The product ``x * y``; of booleans, whether both hold.

    >>> jnp.multiply(jnp.array([1, 2]), 10)
    Array([10, 20], dtype=int32)
    """
    x, y = promote("multiply", x, y)
    return lax.mul(x, y) if x.aval.dtype.kind != "b" else lax.bitwise_and(x, y)


def divide(x1, x2, /):
    """The quotient ``x1 / x2``, in floating point also of integers.

    >>> jnp.divide(jnp.array([1, 2]), 4)
    Array([0.25, 0.5 ], dtype=float32)
    """
    return lax.div(*promote_inexact("divide", x1, x2))


def negative(x, /):
    """The negative ``-x``. Booleans have none: use ``logical_not``.

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

    Integers divided by zero give numbers without meaning rather than an error.

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
    """What ``x1 // x2`` leaves, with the sign of ``x2``: ``x1 % x2``.

    Of an integer divided by zero it is 0, of a float NaN.

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
    """What the quotient rounded towards zero leaves, with the sign of ``x1``.

    >>> jnp.fmod(jnp.array([-7, 7]), 3)
    Array([-1,  1], dtype=int32)
    """
    x, y = promote_numeric("fmod", x1, x2)
    refuse_complex("fmod", x, y)
    return lax.rem(x, _safe_divisor(y))


def _safe_divisor(y):
    """1 in place of integers that are zero: they leave nothing."""
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
    """The quotient of what is left without the remainder is exact; both move to the side of y."""
    rest = lax.rem(x, y)
    quotient = lax.div(where(lax.eq(y, like(y, 0)), x, lax.sub(x, rest)), y)
    astray = lax.bitwise_and(lax.ne(rest, like(x, 0)), lax.ne(lax.sign(y), lax.sign(rest)))
    rest = lax.select(astray, lax.add(rest, y), rest)
    quotient = lax.select(astray, subtract(quotient, 1), quotient)
    return lax.round(quotient), rest


def absolute(x, /):
    """The distance of ``x`` from zero: ``abs(x)``.

    >>> jnp.absolute(jnp.array([-3, 4])), jnp.absolute(3 + 4j)
    (Array([3, 4], dtype=int32), Array(5., dtype=float32, weak_type=True))
    """
    x = as_operand("absolute", x)
    return x if x.dtype.kind == "b" or is_dtype(x, np.unsignedinteger) else lax.abs(x)


def fabs(x, /):
    """The distance of real ``x`` from zero, in floating point also of integers.

    >>> jnp.fabs(jnp.array([-3, 4]))
    Array([3., 4.], dtype=float32)
    """
    x = inexact("fabs", x)
    refuse_complex("fabs", x)
    return lax.abs(x)


def sign(x, /):
    """-1, 0 or 1 by the sign of ``x``; of complex numbers, ``x / abs(x)``.

    >>> jnp.sign(jnp.array([-3, 0, 4]))
    Array([-1,  0,  1], dtype=int32)
    """
    return lax.sign(as_operand("sign", x))


@library_jit
def heaviside(x1, x2, /):
    """The step: 0 below zero, 1 above, and ``x2`` where ``x1`` is zero.

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

    A scalar integer known while tracing means repeated multiplication, and must not be negative
    for integers ``x1``. Other negative powers of integers have no meaning: use floating point.

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
    if is_dtype(exponent, np.integer):  # stays whole, for the sake of the derivative at 0
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
    """By squaring, over six bits of the exponent: what needs more bits overflows."""
    zero, one = convert(0, base.dtype), convert(1, base.dtype)
    result = where(lax.bitwise_and(lax.eq(base, zero), lax.ne(exponent, zero)), zero, one)
    for bit in range(6):
        if bit:
            base = lax.mul(base, base)
            exponent = lax.shift_right_logical(exponent, one)
        result = where(lax.bitwise_and(exponent, one), lax.mul(result, base), result)
    return result


def float_power(x, y, /):
    """``x`` raised to ``y``, in floating point also of integers.

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
    """The square root; NaN of negative real numbers.

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
    """``1 / x``, in floating point also of integers.

    >>> jnp.reciprocal(jnp.array([2, 4]))
    Array([0.5 , 0.25], dtype=float32)
    """
    return lax.integer_pow(inexact("reciprocal", x), -1)


@library_jit
def hypot(x1, x2, /):
    """The length of the vector with the components ``x1`` and ``x2``, without overflow between.

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


# -- exponentials and logarithms -------------------------------------------------------------------


def exp(x, /):
    """e raised to ``x``.

    >>> jnp.exp(0)
    Array(1., dtype=float32, weak_type=True)
    """
    return lax.exp(inexact("exp", x))


def exp2(x, /):
    """2 raised to ``x``.

    >>> jnp.exp2(jnp.array([3, -1]))
    Array([8. , 0.5], dtype=float32)
    """
    return lax.exp2(inexact("exp2", x))


def expm1(x, /):
    """``exp(x) - 1``, exact also for small ``x``.

    >>> jnp.expm1(1e-7)
    Array(1.e-07, dtype=float32, weak_type=True)
    """
    return lax.expm1(inexact("expm1", x))


def log(x, /):
    """The natural logarithm; NaN of negative real numbers.

    >>> jnp.log(1)
    Array(0., dtype=float32, weak_type=True)
    """
    return lax.log(inexact("log", x))


def log1p(x, /):
    """``log(1 + x)``, exact also for small ``x``.

    >>> jnp.log1p(1e-7)
    Array(1.e-07, dtype=float32, weak_type=True)
    """
    return lax.log1p(inexact("log1p", x))


def log2(x, /):
    """The logarithm to the base 2.

    >>> jnp.log2(jnp.array([8, 0.5]))
    Array([ 3., -1.], dtype=float32)
    """
    return lax.log2(inexact("log2", x))


def log10(x, /):
    """The logarithm to the base 10.

    >>> jnp.log10(jnp.array([1.0, 100.0]))
    Array([0., 2.], dtype=float32)
    """
    return _scaled(lax.log(inexact("log10", x)), 1 / math.log(10))


def _scaled(x, factor: float):
    """``x`` times a real factor; complex numbers by their parts, lest infinities make NaN."""
    if x.dtype.kind != "c":
        return lax.mul(x, convert(factor, x.dtype))
    real, imag = lax.real(x), lax.imag(x)
    return lax.complex(_scaled(real, factor), _scaled(imag, factor))


def _logarithm_of_sum(name: str, raised, unit: float):
    """The function ``log(b**x + b**y)``, given ``b**x`` as ``raised`` and ``log(e)`` as ``unit``.

    It is the greater operand, plus the logarithm of what the lesser adds to it.
    """
    def scaled(x):
        return x if unit == 1 else lax.mul(like(x, unit), x)

    @custom_jvp
    def function(x, y):
        greater = lax.max(x, y)
        if x.dtype.kind != "c":
            apart = lax.sub(x, y)
            # Equal infinities are not apart, although their difference is NaN.
            equal, sum = lax.ne(apart, apart), lax.add(x, y)
            gain = scaled(lax.log1p(raised(lax.neg(lax.abs(apart)))))
            return lax.select(equal, sum, lax.add(greater, gain))
        below = lax.sub(lax.add(x, y), lax.mul(greater, like(greater, 2)))
        whole = lax.add(greater, scaled(lax.log1p(raised(below))))
        return lax.complex(lax.real(whole), _wrapped(lax.imag(whole), math.pi * unit))

    @function.defjvp
    def rule(primals, tangents):
        """Each operand has the share of the sum that comes from it."""
        (x, y), (dx, dy) = primals, tangents
        apart = where(lax.eq(x, y), like(x, 0), lax.sub(x, y))
        apart = lax.mul(like(apart, 1 / unit), apart)
        share, rest = lax.logistic(apart), lax.logistic(lax.neg(apart))
        return function(x, y), lax.add(lax.mul(dx, share), lax.mul(dy, rest))

    function.fun.__name__, rule.__name__ = name, f"_{name}_jvp"
    return function


def _wrapped(x, half: float):
    """Angles moved by whole turns of ``2 * half`` to between ``-half`` and ``half``."""
    turn = like(x, 2 * half)
    rest = lax.rem(lax.add(x, like(x, half)), turn)
    rest = lax.select(lax.lt(rest, like(x, 0)), lax.add(rest, turn), rest)
    return lax.sub(rest, like(x, half))


_logaddexp = _logarithm_of_sum("logaddexp", lax.exp, 1.0)
_logaddexp2 = _logarithm_of_sum("logaddexp2", lax.exp2, 1 / math.log(2))


def logaddexp(x, y, /):
    """``log(exp(x) + exp(y))``, without overflow between.

    >>> jnp.logaddexp(1000.0, 0.0)
    Array(1000., dtype=float32, weak_type=True)
    """
    return _logaddexp(*promote_inexact("logaddexp", x, y))


def logaddexp2(x, y, /):
    """``log2(2**x + 2**y)``, without overflow between.

    >>> jnp.logaddexp2(1000.0, 1000.0)
    Array(1001., dtype=float32, weak_type=True)
    """
    return _logaddexp2(*promote_inexact("logaddexp2", x, y))


# -- trigonometry ----------------------------------------------------------------------------------


def sin(x, /):
    """The sine of ``x`` in radians.

    >>> jnp.sin(0)
    Array(0., dtype=float32, weak_type=True)
    """
    return lax.sin(inexact("sin", x))


def cos(x, /):
    """The cosine of ``x`` in radians.

    >>> jnp.cos(0)
    Array(1., dtype=float32, weak_type=True)
    """
    return lax.cos(inexact("cos", x))


def tan(x, /):
    """The tangent of ``x`` in radians.

    >>> jnp.tan(0)
    Array(0., dtype=float32, weak_type=True)
    """
    return lax.tan(inexact("tan", x))


def arcsin(x, /):
    """The angle, between -π/2 and π/2, whose sine is ``x``.

    >>> jnp.arcsin(0)
    Array(0., dtype=float32, weak_type=True)
    """
    return lax.asin(inexact("arcsin", x))


def arccos(x, /):
    """The angle, between 0 and π, whose cosine is ``x``.

    >>> jnp.arccos(1)
    Array(0., dtype=float32, weak_type=True)
    """
    return lax.acos(inexact("arccos", x))


def arctan(x, /):
    """The angle, between -π/2 and π/2, whose tangent is ``x``.

    >>> jnp.arctan(0)
    Array(0., dtype=float32, weak_type=True)
    """
    return lax.atan(inexact("arctan", x))


def arctan2(x1, x2, /):
    """The angle of the point at ``x2`` along the first axis and ``x1`` along the second.

    >>> jnp.arctan2(jnp.array([0.0, 1.0]), -1.0)
    Array([3.1415927, 2.3561945], dtype=float32)
    """
    return lax.atan2(*promote_inexact("arctan2", x1, x2))


def sinh(x, /):
    """The hyperbolic sine.

    >>> jnp.sinh(0)
    Array(0., dtype=float32, weak_type=True)
    """
    return lax.sinh(inexact("sinh", x))


def cosh(x, /):
    """The hyperbolic cosine.

    >>> jnp.cosh(0)
    Array(1., dtype=float32, weak_type=True)
    """
    return lax.cosh(inexact("cosh", x))


def tanh(x, /):
    """The hyperbolic tangent.

    >>> jnp.tanh(0)
    Array(0., dtype=float32, weak_type=True)
    """
    return lax.tanh(inexact("tanh", x))


def arcsinh(x, /):
    """The number whose hyperbolic sine is ``x``.

    >>> jnp.arcsinh(0)
    Array(0., dtype=float32, weak_type=True)
    """
    return lax.asinh(inexact("arcsinh", x))


@library_jit
def arccosh(x, /):
    """The number, not below zero, whose hyperbolic cosine is ``x``; NaN of real ``x`` below 1.

    >>> jnp.arccosh(1)
    Array(0., dtype=float32, weak_type=True)
    """
    out = lax.acosh(inexact("arccosh", x))
    if out.dtype.kind != "c":
        return out
    part = lax.real(out)
    return where(lax.lt(part, like(part, 0)), lax.neg(out), out)


def arctanh(x, /):
    """The number whose hyperbolic tangent is ``x``; NaN of real ``x`` outside of -1 to 1.

    >>> jnp.arctanh(0)
    Array(0., dtype=float32, weak_type=True)
    """
    return lax.atanh(inexact("arctanh", x))


def deg2rad(x, /):
    """Degrees as radians.

    >>> jnp.deg2rad(180)
    Array(3.1415927, dtype=float32, weak_type=True)
    """
    x = inexact("deg2rad", x)
    return lax.mul(x, like(x, math.pi / 180))


def rad2deg(x, /):
    """Radians as degrees.

    >>> jnp.rad2deg(jnp.pi)
    Array(180., dtype=float32, weak_type=True)
    """
    x = inexact("rad2deg", x)
    return lax.mul(x, like(x, 180 / math.pi))


@library_jit
def sinc(x, /):
    """``sin(πx) / πx``, which is 1 at zero; exactly 0 at the other integers.

    >>> jnp.sinc(jnp.array([0.0, 0.5, 1.0]))
    Array([1.       , 0.6366198, 0.       ], dtype=float32)
    """
    x = inexact("sinc", x)
    if x.dtype.kind == "c":
        return _complex_sinc(x)
    if x.dtype.itemsize < 4:  # the series needs more digits than narrow floats have
        return convert(_real_sinc(convert(x, np.dtype(np.float32))), x.dtype)
    return _real_sinc(x)


def _sinc_series(square, count: int):
    """``sin(y) / y`` where ``square`` is y², by so many terms of its series."""
    terms = [(-1) ** k / math.factorial(2 * k + 1) for k in range(count)]
    total = lax.full_like(square, terms[-1])
    for term in reversed(terms[:-1]):
        total = lax.add(like(square, term), lax.mul(square, total))
    return total


def _real_sinc(x):
    """By the distance to the nearest integer, where the sine is small and the series short."""
    nearest = lax.stop_gradient(lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN))
    zero, two = like(x, 0), like(x, 2)
    # At infinity the distance would be NaN; the limit is 0.
    rest = where(lax.eq(lax.abs(x), like(x, np.inf)), zero, lax.sub(x, nearest))
    terms = 7 if x.dtype.itemsize < 8 else 12
    lobe = _sinc_series(lax.mul(like(x, math.pi**2), lax.square(rest)), terms)
    central, odd = lax.eq(nearest, zero), lax.ne(lax.rem(nearest, two), zero)
    outer = lax.div(lax.mul(rest, lobe), where(central, like(x, 1), x))
    outer = where(odd, lax.neg(outer), outer)
    # Exactly at an integer: zero without a sign, the slope staying as it is.
    outer = where(lax.eq(rest, zero), lax.sub(outer, lax.stop_gradient(outer)), outer)
    return where(central, lobe, outer)


def _complex_sinc(x):
    size, zero, one = lax.abs(lax.real(x)), like(x, 0), like(x, 1)
    # Along the real axis the limit is 0, where the sine would be NaN.
    vanishes = lax.bitwise_and(lax.eq(size, like(size, np.inf)), lax.is_finite(lax.imag(x)))
    angle = where(vanishes, one, lax.mul(like(x, math.pi), x))
    near = lax.lt(lax.abs(angle), like(size, 1))
    far = where(near, one, angle)
    series = _sinc_series(lax.square(where(near, angle, zero)), 12)
    return where(vanishes, zero, where(near, series, lax.div(lax.sin(far), far)))


# -- order -----------------------------------------------------------------------------------------


def maximum(x, y, /):
    """The greater of ``x`` and ``y``; NaN where either is.

    >>> jnp.maximum(jnp.array([1, 5]), 3)
    Array([3, 5], dtype=int32)
    """
    return lax.max(*promote("maximum", x, y))


def minimum(x, y, /):
    """The lesser of ``x`` and ``y``; NaN where either is.

    >>> jnp.minimum(jnp.array([1, 5]), 3)
    Array([1, 3], dtype=int32)
    """
    return lax.min(*promote("minimum", x, y))


@library_jit
def fmax(x1, x2):
    """The greater of ``x1`` and ``x2``; NaN only where both are.

    >>> jnp.fmax(jnp.array([1.0, jnp.nan]), 0.5)
    Array([1. , 0.5], dtype=float32)
    """
    x, y = promote("fmax", x1, x2)
    return where(lax.bitwise_or(greater(x, y), lax.ne(y, y)), x, y)


@library_jit
def fmin(x1, x2):
    """The lesser of ``x1`` and ``x2``; NaN only where both are.

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
    """``x`` with NaN and infinities replaced, the latter by the largest numbers unless given.

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


# -- complex numbers -------------------------------------------------------------------------------


def real(val, /):
    """The real part; real numbers as they are.

    >>> jnp.real(jnp.array([1 + 2j]))
    Array([1.], dtype=float32)
    """
    val = as_operand("real", val)
    return lax.real(val) if val.dtype.kind == "c" else val


def imag(val, /):
    """The imaginary part; zeros of real numbers.

    >>> jnp.imag(jnp.array([1 + 2j]))
    Array([2.], dtype=float32)
    """
    val = as_operand("imag", val)
    return lax.imag(val) if val.dtype.kind == "c" else lax.full_like(val, 0)


def conjugate(x, /):
    """The complex conjugate; real numbers as they are.

    >>> jnp.conjugate(jnp.array([1 + 2j]))
    Array([1.-2.j], dtype=complex64)
    """
    x = as_operand("conjugate", x)
    return lax.conj(x) if x.dtype.kind == "c" else x


@library_jit(static_argnames=("deg",))
def angle(z, deg=False):
    """The angle of complex numbers, in radians or, with ``deg``, in degrees.

    >>> jnp.angle(jnp.array([1 + 1j, -1]), deg=True)
    Array([ 45., 180.], dtype=float32)
    """
    z = as_operand("angle", z)
    if z.dtype.kind == "c":
        part = lax.real(z)
        out = lax.atan2(lax.imag(z), part)
    else:
        z = z if is_dtype(z, np.inexact) else convert(z, dtypes.default_float())
        out = arctan2(lax.full_like(z, 0, z.dtype), z)
    return rad2deg(out) if deg else out


@library_jit(static_argnames=("axis",))
def unwrap(p, discont=None, axis=-1, period=2 * math.pi):
    """Angles along ``axis`` without jumps: whole periods are added where steps are too large.

    A step is too large from ``discont`` on, which is half a period unless given.

    >>> jnp.unwrap(jnp.array([0, 3, 7, 10]), period=6)
    Array([0, 3, 1, 4], dtype=int32)
    """
    p = as_operand("unwrap", p)
    refuse_complex("unwrap", p, error=ValueError)
    if not p.ndim:
        raise IndexError(explain("tanx.numpy.unwrap", "there is no axis to go along.",
                                 f"operand: {p.aval}"))
    p, period = promote("unwrap", p, period)
    axis %= p.ndim
    before, after = (lax.slice_in_dim(p, start, start + builtins.max(p.shape[axis] - 1, 0),
                                      axis=axis) for start in (0, 1))
    step = lax.sub(after, before)
    half = floor_divide(period, 2) if is_dtype(p, np.integer) else divide(period, 2)
    small = lax.sub(remainder(lax.add(step, half), period), half)
    upwards = lax.bitwise_and(lax.eq(small, lax.neg(half)), lax.gt(step, like(step, 0)))
    limit = divide(period, 2) if discont is None else discont
    change = where(less(absolute(step), limit), like(step, 0),
                   lax.sub(where(upwards, half, small), step))
    first = lax.slice_in_dim(p, 0, 1 if p.shape[axis] else 0, axis=axis)
    moved = lax.add(after, lax.cumsum(change, axis))
    return lax.concatenate([convert(x, p.dtype) for x in (first, moved)], axis)


@library_jit
def isreal(x):
    """Whether the imaginary part is zero.

    >>> jnp.isreal(jnp.array([1, 1j]))
    Array([ True, False], dtype=bool)
    """
    part = imag(x)
    return lax.eq(part, like(part, 0))


@library_jit
def iscomplex(x):
    """Whether the imaginary part is other than zero.

    >>> jnp.iscomplex(jnp.array([1, 1j]))
    Array([False,  True], dtype=bool)
    """
    part = imag(x)
    return lax.ne(part, like(part, 0))


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
    """The bits set in one of ``x`` and ``y`` only: ``x ^ y``.

    >>> jnp.bitwise_xor(jnp.array([6, 5]), 3)
    Array([5, 6], dtype=int32)
    """
    return lax.bitwise_xor(*promote("bitwise_xor", x, y))


def invert(x, /):
    """All bits flipped; of booleans, the opposite: ``~x``.

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

true_divide = _renamed(divide, "true_divide")
abs = _renamed(absolute, "abs")
mod = _renamed(remainder, "mod")
pow = _renamed(power, "pow")
conj = _renamed(conjugate, "conj")
degrees, radians = _renamed(rad2deg, "degrees"), _renamed(deg2rad, "radians")
acos, acosh = _renamed(arccos, "acos"), _renamed(arccosh, "acosh")
asin, asinh = _renamed(arcsin, "asin"), _renamed(arcsinh, "asinh")
atan, atanh, atan2 = (_renamed(f, name) for f, name in (
    (arctan, "atan"), (arctanh, "atanh"), (arctan2, "atan2")))
bitwise_not, bitwise_invert = _renamed(invert, "bitwise_not"), _renamed(invert, "bitwise_invert")
bitwise_left_shift = _renamed(left_shift, "bitwise_left_shift")
bitwise_right_shift = _renamed(right_shift, "bitwise_right_shift")
