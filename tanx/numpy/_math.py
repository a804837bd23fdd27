"""Elementwise functions: arithmetic, powers, rounding, trigonometry, parts of complex numbers.

``add``, ``multiply`` and kin are plain functions here; :mod:`._ufunc` makes objects with
``reduce`` and ``at`` of them.
"""

from __future__ import annotations

import operator

import numpy as np

from .. import dtypes, lax
from .._api.jit import library_jit
from ..errors import explain
from ._logic import where
from ._promotion import as_operand, inexact, like, numeric, promote, promote_inexact, promote_numeric

__all__ = ["abs", "absolute", "ceil", "conj", "conjugate", "cos", "cosh", "divide",
           "divmod", "exp", "exp2", "expm1", "float_power", "floor", "floor_divide", "imag",
           "invert", "left_shift", "log", "log1p", "log2", "mod", "positive", "pow", "power",
           "real", "reciprocal", "remainder", "right_shift", "round", "sign", "sin", "sinh",
           "sqrt", "square", "tan", "tanh", "true_divide"]


def _real_only(function: str, *args, error=TypeError) -> None:
    """Operands of ``function`` must not be complex."""
    if any(x.dtype.kind == "c" for x in args):
        raise error(explain(
            f"tanx.numpy.{function}", "does not take complex operands.",
            *(f"operand {i}: {x.aval}" for i, x in enumerate(args)),
            hint="take their parts or sizes first: real(x), imag(x), abs(x)."))


# -- arithmetic ------------------------------------------------------------------------------------


def add(x, y, /):
    """The sum ``x + y``; of booleans, whether either holds."""
    x, y = promote("add", x, y)
    return lax.add(x, y) if x.dtype.kind != "b" else lax.bitwise_or(x, y)


def subtract(x, y, /):
    """The difference ``x - y``. Booleans have none: use ``logical_xor``."""
    return lax.sub(*promote("subtract", x, y))


def multiply(x, y, /):
    """The product ``x * y``; of booleans, whether both hold."""
    x, y = promote("multiply", x, y)
    return lax.mul(x, y) if x.dtype.kind != "b" else lax.bitwise_and(x, y)


def divide(x1, x2, /):
    """The quotient ``x1 / x2``, in floating point also of integers."""
    return lax.div(*promote_inexact("divide", x1, x2))


true_divide = divide


def negative(x, /):
    """The negative ``-x``."""
    return lax.neg(as_operand("negative", x))


def positive(x, /):
    """``x`` as it is: ``+x``."""
    return as_operand("positive", x)


@library_jit
def floor_divide(x1, x2, /):
    """The greatest integer not above the quotient: ``x1 // x2``.

    Division of an integer by zero gives -2, or -1 where ``x1`` is zero or unsigned; there is no error.

    >>> jnp.floor_divide(jnp.array([-7, 7]), 2)
    Array([-4,  3], dtype=int32)
    """
    x, y = promote_numeric("floor_divide", x1, x2)
    _real_only("floor_divide", x, y)
    if dtypes.issubdtype(x.dtype, np.unsignedinteger):
        return lax.div(x, y)
    if dtypes.issubdtype(x.dtype, np.integer):
        quotient = lax.div(x, y)
        rounded_up = lax.bitwise_and(lax.ne(lax.sign(x), lax.sign(y)),
                                     lax.ne(lax.rem(x, y), like(x, 0)))
        return where(rounded_up, lax.sub(quotient, like(x, 1)), quotient)
    return _float_divmod(x, y)[0]


@library_jit
def remainder(x1, x2, /):
    """The remainder of ``x1 // x2``, with the sign of ``x2``: ``x1 % x2``.

    Of an integer divided by zero it is 0, of a float NaN.

    >>> jnp.remainder(-7, 3)
    Array(2, dtype=int32, weak_type=True)
    """
    x, y = promote_numeric("remainder", x1, x2)
    _real_only("remainder", x, y)
    if dtypes.issubdtype(x.dtype, np.integer):
        y = where(lax.eq(y, like(y, 0)), lax.full_like(y, 1), y)
    rest = lax.rem(x, y)
    zero = like(x, 0)
    wrong_side = lax.bitwise_and(lax.ne(lax.lt(rest, zero), lax.lt(y, zero)), lax.ne(rest, zero))
    return lax.select(wrong_side, lax.add(rest, y), rest)


mod = remainder


@library_jit
def divmod(x1, x2, /):
    """``(x1 // x2, x1 % x2)``, computed together."""
    x, y = promote_numeric("divmod", x1, x2)
    _real_only("divmod", x, y)
    if dtypes.issubdtype(x.dtype, np.integer):
        return floor_divide(x, y), remainder(x, y)
    return _float_divmod(x, y)


def _float_divmod(x, y) -> tuple:
    """The exact quotient of what is left without the remainder, both moved to the side of ``y``."""
    rest = lax.rem(x, y)
    quotient = lax.div(where(lax.eq(y, like(y, 0)), x, lax.sub(x, rest)), y)
    wrong_side = lax.bitwise_and(lax.ne(rest, like(x, 0)), lax.ne(lax.sign(y), lax.sign(rest)))
    rest = lax.select(wrong_side, lax.add(rest, y), rest)
    quotient = lax.select(wrong_side, lax.sub(quotient, like(x, 1)), quotient)
    return lax.round(quotient), rest


def sign(x, /):
    """-1, 0 or 1 by the sign of ``x``; of complex numbers, ``x / abs(x)``."""
    return lax.sign(as_operand("sign", x))


def absolute(x, /):
    """The distance of ``x`` from zero: ``abs(x)``."""
    x = as_operand("absolute", x)
    return lax.abs(x) if not dtypes.issubdtype(x.dtype, np.unsignedinteger) and x.dtype.kind != "b" else x


abs = absolute


# -- powers and roots ------------------------------------------------------------------------------


def power(x1, x2, /):
    """``x1`` raised to ``x2``: ``x1 ** x2``.

    A Python integer as exponent means repeated multiplication. Integers cannot be raised to
    negative powers known while tracing; others give 0.

    >>> jnp.power(jnp.array([1, 2, 3]), 2)
    Array([1, 4, 9], dtype=int32)
    """
    if type(x2) is int:
        return lax.integer_pow(numeric("power", x1), x2)
    x, y = promote_numeric("power", x1, x2)
    if dtypes.issubdtype(x.dtype, np.inexact):
        return lax.pow(x, y)
    return _integer_power(x, y)


pow = power


def _integer_power(base, exponent):
    """By squaring, for exponents of six bits: larger ones overflow anyway, but for bases 0, ±1."""
    zero, one = like(base, 0), like(base, 1)
    result = where(lax.bitwise_and(lax.eq(base, zero), lax.ne(exponent, zero)), zero, one)
    for _ in range(6):
        result = where(lax.bitwise_and(exponent, one), lax.mul(result, base), result)
        base = lax.mul(base, base)
        exponent = lax.shift_right_logical(exponent, one)
    return result


def float_power(x, y, /):
    """``x`` raised to ``y``, in floating point also of integers."""
    return lax.pow(*promote_inexact("float_power", x, y))


def square(x, /):
    """The square ``x * x``."""
    return lax.square(numeric("square", x))


def sqrt(x, /):
    """The square root; NaN of negative real numbers."""
    return lax.sqrt(inexact("sqrt", x))


def reciprocal(x, /):
    """``1 / x``, in floating point also of integers."""
    return lax.integer_pow(inexact("reciprocal", x), -1)


# -- exponentials and logarithms -------------------------------------------------------------------


def exp(x, /):
    """e raised to ``x``."""
    return lax.exp(inexact("exp", x))


def exp2(x, /):
    """2 raised to ``x``."""
    return lax.exp2(inexact("exp2", x))


def expm1(x, /):
    """``exp(x) - 1``, exact also for small ``x``."""
    return lax.expm1(inexact("expm1", x))


def log(x, /):
    """The natural logarithm; NaN of negative real numbers."""
    return lax.log(inexact("log", x))


def log1p(x, /):
    """``log(1 + x)``, exact also for small ``x``."""
    return lax.log1p(inexact("log1p", x))


def log2(x, /):
    """The logarithm to the base 2."""
    return lax.log2(inexact("log2", x))


# -- trigonometry ----------------------------------------------------------------------------------


def sin(x, /):
    """The sine of ``x`` in radians."""
    return lax.sin(inexact("sin", x))


def cos(x, /):
    """The cosine of ``x`` in radians."""
    return lax.cos(inexact("cos", x))


def tan(x, /):
    """The tangent of ``x`` in radians."""
    return lax.tan(inexact("tan", x))


def sinh(x, /):
    """The hyperbolic sine."""
    return lax.sinh(inexact("sinh", x))


def cosh(x, /):
    """The hyperbolic cosine."""
    return lax.cosh(inexact("cosh", x))


def tanh(x, /):
    """The hyperbolic tangent."""
    return lax.tanh(inexact("tanh", x))


# -- order -----------------------------------------------------------------------------------------


def maximum(x, y, /):
    """The greater of ``x`` and ``y``; NaN where either is."""
    return lax.max(*promote("maximum", x, y))


def minimum(x, y, /):
    """The lesser of ``x`` and ``y``; NaN where either is."""
    return lax.min(*promote("minimum", x, y))


# -- rounding --------------------------------------------------------------------------------------


def floor(x, /):
    """The greatest integer not above ``x``; integers as they are."""
    x = as_operand("floor", x)
    return x if dtypes.issubdtype(x.dtype, np.integer) else lax.floor(inexact("floor", x))


def ceil(x, /):
    """The least integer not below ``x``; integers as they are."""
    x = as_operand("ceil", x)
    return x if dtypes.issubdtype(x.dtype, np.integer) else lax.ceil(inexact("ceil", x))


@library_jit(static_argnames=("decimals",))
def round(a, decimals=0, out=None):
    """``a`` rounded to so many ``decimals``; halves go to the even neighbour.

    >>> jnp.round(jnp.array([0.125, 2.5]), 2)
    Array([0.12, 2.5 ], dtype=float32)
    """
    x = as_operand("round", a)
    decimals = operator.index(decimals)
    return lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)


# -- complex numbers -------------------------------------------------------------------------------


def real(val, /):
    """The real part; real numbers as they are."""
    val = as_operand("real", val)
    return lax.real(val) if val.dtype.kind == "c" else val


def imag(val, /):
    """The imaginary part; zeros of real numbers."""
    val = as_operand("imag", val)
    return lax.imag(val) if val.dtype.kind == "c" else lax.full_like(val, 0)


def conj(x, /):
    """The complex conjugate; real numbers as they are."""
    x = as_operand("conjugate", x)
    return lax.conj(x) if x.dtype.kind == "c" else x


conjugate = conj


# -- bits ------------------------------------------------------------------------------------------


def bitwise_and(x, y, /):
    """The bits set in both ``x`` and ``y``: ``x & y``."""
    return lax.bitwise_and(*promote("bitwise_and", x, y))


def bitwise_or(x, y, /):
    """The bits set in ``x`` or ``y``: ``x | y``."""
    return lax.bitwise_or(*promote("bitwise_or", x, y))


def bitwise_xor(x, y, /):
    """The bits set in one of ``x`` and ``y`` only: ``x ^ y``."""
    return lax.bitwise_xor(*promote("bitwise_xor", x, y))


def invert(x, /):
    """All bits flipped; of booleans, the opposite: ``~x``."""
    return lax.bitwise_not(as_operand("invert", x))


def left_shift(x, y, /):
    """The bits of ``x`` moved up by ``y`` places: ``x << y``."""
    return lax.shift_left(*promote_numeric("left_shift", x, y))


def right_shift(x1, x2, /):
    """The bits of ``x1`` moved down by ``x2`` places, keeping the sign: ``x1 >> x2``."""
    x, y = promote_numeric("right_shift", x1, x2)
    if dtypes.issubdtype(x.dtype, np.unsignedinteger):
        return lax.shift_right_logical(x, y)
    return lax.shift_right_arithmetic(x, y)
