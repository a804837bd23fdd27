"""Rounding, and the parts of floating-point numbers: sign, exponent, neighbours."""

from __future__ import annotations

import operator

import numpy as np

from .. import dtypes
from .._api.jit import library_jit
from ..errors import explain
from ..lax import _functions as lax
from ._logic import where
from ._math import is_dtype, refuse_complex
from ._promotion import (
    as_operand,
    convert,
    inexact,
    like,
    promote_inexact,
    promote_shapes,
    refuse_out,
)

__all__ = ["around", "ceil", "copysign", "floor", "frexp", "ldexp", "modf", "nextafter", "rint",
           "round", "signbit", "spacing", "trunc"]

_INT32, _FLOAT32 = np.dtype(np.int32), np.dtype(np.float32)
_EVEN = lax.RoundingMethod.TO_NEAREST_EVEN


# -- rounding --------------------------------------------------------------------------------------


def _is_whole(x) -> bool:
    """Whether numbers of the dtype of ``x`` are integers, booleans included."""
    return x.dtype.kind == "b" or is_dtype(x, np.integer)


def floor(x, /):
    """The greatest integer not above ``x``; integers as they are.

    >>> jnp.floor(jnp.array([1.5, -1.5]))
    Array([ 1., -2.], dtype=float32)
    """
    x = as_operand("floor", x)
    return x if _is_whole(x) else lax.floor(x)


def ceil(x, /):
    """The least integer not below ``x``; integers as they are.

    >>> jnp.ceil(jnp.array([1.5, -1.5]))
    Array([ 2., -1.], dtype=float32)
    """
    x = as_operand("ceil", x)
    return x if _is_whole(x) else lax.ceil(x)


@library_jit
def trunc(x):
    """``x`` without its fraction: rounded towards zero; integers as they are.

    >>> jnp.trunc(jnp.array([1.5, -1.5]))
    Array([ 1., -1.], dtype=float32)
    """
    x = as_operand("trunc", x)
    refuse_complex("trunc", x)
    return x if _is_whole(x) else where(lax.lt(x, like(x, 0)), lax.ceil(x), lax.floor(x))


@library_jit
def rint(x, /):
    """The nearest integer, in floating point; halves go to the even neighbour.

    >>> jnp.rint(jnp.array([1.5, 2.5]))
    Array([2., 2.], dtype=float32)
    """
    x = as_operand("rint", x)
    if _is_whole(x):
        return convert(x, dtypes.default_float())
    if x.dtype.kind == "c":
        return lax.complex(rint(lax.real(x)), rint(lax.imag(x)))
    return lax.round(x, _EVEN)


@library_jit(static_argnames=("decimals",))
def round(a, decimals=0, out=None):
    """``a`` rounded to ``decimals`` places; halves go to the even neighbour.

    Negative ``decimals`` round to tens, hundreds and so on, in floating point only.

    >>> jnp.round(jnp.array([0.126, 2.5]), 2)
    Array([0.13, 2.5 ], dtype=float32)
    """
    x = as_operand("round", a)
    decimals = operator.index(decimals)
    refuse_out("round", out)
    if _is_whole(x):
        if decimals < 0:
            raise NotImplementedError(explain(
                "tanx.numpy.round", "integers are not rounded to tens and hundreds.",
                f"operand:  {x.aval}", f"decimals: {decimals}",
                hint="convert to floating point first, or use x // 10 * 10."))
        return x
    if x.dtype.kind == "c":
        return lax.complex(_round(lax.real(x), decimals), _round(lax.imag(x), decimals))
    return _round(x, decimals)


def _round(x, decimals: int):
    if decimals == 0:
        return lax.round(x, _EVEN)
    # Narrow floats would overflow when scaled, or lose the digits to round.
    wide = x if x.dtype.itemsize >= 4 else convert(x, _FLOAT32, x.weak_type)
    factor = like(wide, 10.0**decimals)
    rounded = lax.div(lax.round(lax.mul(wide, factor), _EVEN), factor)
    return convert(rounded, x.dtype, rounded.weak_type)


@library_jit(static_argnames=("decimals",))
def around(a, decimals=0, out=None):
    """``a`` rounded to ``decimals`` places: another name of :func:`round`.

    >>> jnp.around(2.567, 1)
    Array(2.6, dtype=float32, weak_type=True)
    """
    return round(a, decimals, out)


# -- parts of floating-point numbers ---------------------------------------------------------------


@library_jit
def modf(x, /, out=None):
    """The fraction and the whole part of ``x``, both with its sign.

    >>> jnp.modf(jnp.array([1.5, -2.25]))
    (Array([ 0.5 , -0.25], dtype=float32), Array([ 1., -2.], dtype=float32))
    """
    refuse_out("modf", out)
    x = inexact("modf", x)
    refuse_complex("modf", x)
    whole = where(lax.ge(x, like(x, 0)), lax.floor(x), lax.ceil(x))
    return lax.sub(x, whole), whole


def _bits(dtype: np.dtype) -> tuple[np.dtype, int, int]:
    """The integers that hold floats of a dtype, the bits of their mantissa, and their bias."""
    limits = dtypes.finfo(dtype)
    return np.dtype(f"int{limits.bits}"), limits.nmant, limits.maxexp - 1


def _power_of_two(exponent, dtype: np.dtype):
    """2 raised to whole numbers within the range of normal floats, exactly."""
    integer, mantissa, bias = _bits(dtype)
    biased = lax.add(convert(exponent, integer), convert(bias, integer))
    return lax.bitcast_convert_type(lax.shift_left(biased, convert(mantissa, integer)), dtype)


def _split(x) -> tuple:
    """``x`` as a mantissa between 1 and 2 times a power of two; the exponent is an int32.

    The mantissa is computed by multiplication, so that it has a derivative. Zeros, infinities and
    NaN are unchanged, with the exponent 0.
    """
    integer, mantissa, bias = _bits(x.dtype)
    tiny = lax.lt(lax.abs(x), like(x, dtypes.finfo(x.dtype).smallest_normal))
    lift = lax.mul(convert(tiny, _INT32), convert(mantissa + 1, _INT32))
    normal = lax.mul(x, _power_of_two(lift, x.dtype))
    bits = lax.bitcast_convert_type(lax.abs(normal), integer)
    biased = lax.shift_right_logical(bits, convert(mantissa, integer))
    exponent = lax.sub(convert(biased, _INT32), convert(bias, _INT32))
    ordinary = lax.bitwise_and(lax.is_finite(x), lax.ne(x, like(x, 0)))
    exponent = lax.mul(convert(ordinary, _INT32), exponent)
    scaled = where(ordinary, _scale(normal, lax.neg(exponent)), x)
    return scaled, lax.sub(exponent, lax.mul(convert(ordinary, _INT32), lift))


def _scale(x, exponent):
    """Normal ``x`` times a power of two that may be just beyond the range, in two steps."""
    half = lax.shift_right_arithmetic(exponent, like(exponent, 1))
    first = lax.mul(x, _power_of_two(half, x.dtype))
    return lax.mul(first, _power_of_two(lax.sub(exponent, half), x.dtype))


def _strong(x):
    return convert(x, x.dtype)


@library_jit
def frexp(x, /):
    """``x`` as a mantissa, at least one half and below 1, and the exponent of a power of two.

    >>> jnp.frexp(jnp.array([3.0, 0.5]))
    (Array([0.75, 0.5 ], dtype=float32), Array([2, 0], dtype=int32))
    """
    x = _strong(inexact("frexp", x))
    refuse_complex("frexp", x)
    wide = x if x.dtype.itemsize >= 4 else convert(x, _FLOAT32)
    mantissa, exponent = _split(wide)
    ordinary = lax.bitwise_and(lax.is_finite(wide), lax.ne(wide, like(wide, 0)))
    mantissa = where(ordinary, lax.mul(mantissa, like(mantissa, 0.5)), mantissa)
    return convert(mantissa, x.dtype), lax.add(exponent, convert(ordinary, _INT32))


@library_jit
def ldexp(x1, x2, /):
    """``x1`` times 2 raised to the integers ``x2``: the inverse of :func:`frexp`.

    >>> jnp.ldexp(jnp.array([0.75, 0.5]), jnp.array([2, 0]))
    Array([3. , 0.5], dtype=float32)
    """
    x, n = _strong(inexact("ldexp", x1)), as_operand("ldexp", x2)
    refuse_complex("ldexp", x, error=ValueError)
    if not _is_whole(n):
        raise ValueError(explain(
            "tanx.numpy.ldexp", "exponents must be integers.", f"x1: {x.aval}", f"x2: {n.aval}",
            hint="x1 * exp2(x2) takes any exponent."))
    x, n = promote_shapes("ldexp", x, n)
    wide = x if x.dtype.itemsize >= 4 else convert(x, _FLOAT32)
    _, mantissa_bits, bias = _bits(wide.dtype)
    mantissa, exponent = _split(wide)
    total = lax.add(exponent, _within(n, 2 * (bias + mantissa_bits)))
    # Rounding happens once, in the last step: until then the number is normal, hence exact.
    inner = lax.clamp(like(total, 1 - bias), total, like(total, bias))
    outer = lax.clamp(like(total, 1 - bias), lax.sub(total, inner), like(total, bias))
    out = lax.mul(lax.mul(mantissa, _power_of_two(inner, wide.dtype)),
                  _power_of_two(outer, wide.dtype))
    return convert(out, x.dtype)


def _within(n, reach: int):
    """Integers as int32, clipped to ``reach``: beyond it every result is zero or infinite."""
    n = n if n.dtype.itemsize >= 4 else convert(n, _INT32)
    n = lax.min(n, like(n, reach))
    n = n if is_dtype(n, np.unsignedinteger) else lax.max(n, like(n, -reach))
    return convert(n, _INT32)


@library_jit
def signbit(x, /):
    """Whether the sign bit is set, also for -0.0 and NaN.

    >>> jnp.signbit(jnp.array([1.0, -0.0]))
    Array([False,  True], dtype=bool)
    """
    x = as_operand("signbit", x)
    refuse_complex("signbit", x, error=ValueError)
    if x.dtype.kind == "b":
        return lax.full_like(x, False)
    if _is_whole(x):
        return lax.lt(x, convert(0, x.dtype))
    integer = np.dtype(f"int{dtypes.itemsize_bits(x.dtype)}")
    bits = lax.bitcast_convert_type(x, integer)
    negative = lax.shift_right_arithmetic(bits, convert(dtypes.itemsize_bits(integer) - 1, integer))
    return lax.convert_element_type(negative, bool)


@library_jit
def copysign(x1, x2, /):
    """The absolute value of ``x1`` with the sign of ``x2``.

    >>> jnp.copysign(jnp.array([1.0, -2.0]), -0.0)
    Array([-1., -2.], dtype=float32)
    """
    x, y = promote_inexact("copysign", x1, x2)
    refuse_complex("copysign", x, y)
    return where(signbit(y), lax.neg(lax.abs(x)), lax.abs(x))


def nextafter(x, y, /):
    """The next floating-point number after ``x`` in the direction of ``y``.

    >>> jnp.nextafter(1.0, 2.0) - 1.0
    Array(1.1920929e-07, dtype=float32, weak_type=True)
    """
    return lax.nextafter(*promote_inexact("nextafter", x, y))


def spacing(x, /):
    """The distance from ``x`` to its neighbour away from zero, with the sign of ``x``.

    >>> jnp.spacing(jnp.array([1.0, -1.0]))
    Array([ 1.1920929e-07, -1.1920929e-07], dtype=float32)
    """
    x = inexact("spacing", x)
    refuse_complex("spacing", x, error=ValueError)
    x = _strong(x)
    step = lax.sub(lax.nextafter(x, copysign(like(x, np.inf), x)), x)
    least = like(x, dtypes.finfo(x.dtype).smallest_subnormal)
    return where(lax.eq(step, like(x, 0)), copysign(least, x), step)
