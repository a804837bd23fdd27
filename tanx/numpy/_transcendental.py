"""Elementwise functions: exponentials and logarithms, trigonometric and hyperbolic functions."""

from __future__ import annotations

import math

import numpy as np

from .._api.jit import library_jit
from .._control.custom_jvp import custom_jvp
from ..lax import _functions as lax
from ._logic import where
from ._math import renamed
from ._promotion import convert, inexact, like, promote_inexact

__all__ = ["acos", "acosh", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2",
           "arctanh", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "deg2rad",
           "degrees", "exp", "exp2", "expm1", "log", "log10", "log1p", "log2", "rad2deg", "radians",
           "sin", "sinc", "sinh", "tan", "tanh"]


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
    """``exp(x) - 1``, accurate also for small ``x``.

    >>> jnp.expm1(1e-7)
    Array(1.e-07, dtype=float32, weak_type=True)
    """
    return lax.expm1(inexact("expm1", x))


def log(x, /):
    """The natural logarithm; NaN for negative real numbers.

    >>> jnp.log(1)
    Array(0., dtype=float32, weak_type=True)
    """
    return lax.log(inexact("log", x))


def log1p(x, /):
    """``log(1 + x)``, accurate also for small ``x``.

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
    """``x`` times a real factor; complex numbers part by part, so that infinities give no NaN."""
    if x.dtype.kind != "c":
        return lax.mul(x, convert(factor, x.dtype))
    real, imag = lax.real(x), lax.imag(x)
    return lax.complex(_scaled(real, factor), _scaled(imag, factor))


def _logarithm_of_sum(name: str, raised, unit: float):
    """The function ``log(b**x + b**y)``, given ``b**x`` as ``raised`` and ``log(e)`` as ``unit``.

    It is the greater operand, plus ``log(1 + b**(lesser - greater))``.
    """
    def scaled(x):
        return x if unit == 1 else lax.mul(like(x, unit), x)

    @custom_jvp
    def function(x, y):
        greater = lax.max(x, y)
        if x.dtype.kind != "c":
            apart = lax.sub(x, y)
            # The difference of equal infinities is NaN, although they are equal.
            equal, sum = lax.ne(apart, apart), lax.add(x, y)
            gain = scaled(lax.log1p(raised(lax.neg(lax.abs(apart)))))
            return lax.select(equal, sum, lax.add(greater, gain))
        below = lax.sub(lax.add(x, y), lax.mul(greater, like(greater, 2)))
        whole = lax.add(greater, scaled(lax.log1p(raised(below))))
        return lax.complex(lax.real(whole), _wrapped(lax.imag(whole), math.pi * unit))

    def share(x, out):
        """The share of ``x`` in the sum: the derivative; 1 if ``x`` is infinite, as in JAX."""
        finite = (lax.select(lax.eq(z, like(z, np.inf)), lax.full_like(z, 0), z) for z in (x, out))
        return raised(lax.sub(*finite))

    @function.defjvp
    def rule(primals, tangents):
        (x, y), (dx, dy) = primals, tangents
        out = function(x, y)
        return out, lax.add(lax.mul(dx, share(x, out)), lax.mul(dy, share(y, out)))

    function.fun.__name__, rule.__name__ = name, f"_{name}_jvp"
    return function


def _wrapped(x, half: float):
    """Angles modulo ``2 * half``, between ``-half`` and ``half``."""
    turn = like(x, 2 * half)
    rest = lax.rem(lax.add(x, like(x, half)), turn)
    rest = lax.select(lax.lt(rest, like(x, 0)), lax.add(rest, turn), rest)
    return lax.sub(rest, like(x, half))


_logaddexp = _logarithm_of_sum("logaddexp", lax.exp, 1.0)
_logaddexp2 = _logarithm_of_sum("logaddexp2", lax.exp2, 1 / math.log(2))


def logaddexp(x, y, /):
    """``log(exp(x) + exp(y))``, without intermediate overflow.

    >>> jnp.logaddexp(1000.0, 0.0)
    Array(1000., dtype=float32, weak_type=True)
    """
    return _logaddexp(*promote_inexact("logaddexp", x, y))


def logaddexp2(x, y, /):
    """``log2(2**x + 2**y)``, without intermediate overflow.

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
    """The number, not below zero, whose hyperbolic cosine is ``x``; NaN for real ``x`` below 1.

    >>> jnp.arccosh(1)
    Array(0., dtype=float32, weak_type=True)
    """
    out = lax.acosh(inexact("arccosh", x))
    if out.dtype.kind != "c":
        return out
    part = lax.real(out)
    return where(lax.lt(part, like(part, 0)), lax.neg(out), out)


def arctanh(x, /):
    """The number whose hyperbolic tangent is ``x``; NaN for real ``x`` outside of -1 to 1.

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
    """``sin(y) / y`` where ``square`` is y², by ``count`` terms of its series."""
    terms = [(-1) ** k / math.factorial(2 * k + 1) for k in range(count)]
    total = lax.full_like(square, terms[-1])
    for term in reversed(terms[:-1]):
        total = lax.add(like(square, term), lax.mul(square, total))
    return total


def _real_sinc(x):
    """``sinc`` of real numbers, by a short series around the nearest integer."""
    nearest = lax.stop_gradient(lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN))
    zero, two = like(x, 0), like(x, 2)
    # At infinity the distance would be NaN; the limit is 0.
    rest = where(lax.eq(lax.abs(x), like(x, np.inf)), zero, lax.sub(x, nearest))
    terms = 7 if x.dtype.itemsize < 8 else 12
    lobe = _sinc_series(lax.mul(like(x, math.pi**2), lax.square(rest)), terms)
    central, odd = lax.eq(nearest, zero), lax.ne(lax.rem(nearest, two), zero)
    outer = lax.div(lax.mul(rest, lobe), where(central, like(x, 1), x))
    outer = where(odd, lax.neg(outer), outer)
    # Exactly at an integer: positive zero, with an unchanged derivative.
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


# -- the same functions under other names ----------------------------------------------------------

degrees, radians = renamed(rad2deg, "degrees"), renamed(deg2rad, "radians")
acos, acosh = renamed(arccos, "acos"), renamed(arccosh, "acosh")
asin, asinh = renamed(arcsin, "asin"), renamed(arcsinh, "asinh")
atan, atanh, atan2 = (renamed(f, name) for f, name in (
    (arctan, "atan"), (arctanh, "atanh"), (arctan2, "atan2")))
