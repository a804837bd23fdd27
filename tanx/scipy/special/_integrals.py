"""Exponential, sine, cosine and Fresnel integrals, Dawson's integral, and the dilogarithm."""

from __future__ import annotations

import math

import numpy as np

from ... import lax
from ... import numpy as jnp
from ..._api.jit import library_jit
from ..._control.custom_jvp import custom_jvp
from ...errors import explain
from ...numpy._promotion import typeof
from ._operands import (
    at_least_float32,
    in_float64,
    inexact_operands,
    real_operands,
    single_or_double,
)
from ._piecewise import beyond, of_dtype, piecewise, split_square
from ._tables import (
    CI_NEAR,
    CI_ZERO,
    COSINE_AUXILIARY,
    DAWSON,
    DAWSON_FAR,
    DAWSON_NEAR,
    E1_FAR,
    E1_NEAR,
    EI,
    EI_FAR,
    EI_NEAR,
    EI_ZERO,
    FRESNEL_C_NEAR,
    FRESNEL_F,
    FRESNEL_G,
    FRESNEL_S_NEAR,
    SI_NEAR,
    SINE_AUXILIARY,
    SPENCE,
)

__all__ = ["dawsn", "exp1", "expi", "expn", "fresnel", "sici", "spence"]


# -- Dawson's integral -----------------------------------------------------------------------------


def dawsn(x):
    """Dawson's integral, ``exp(-x**2)`` times the integral of ``exp(t**2)`` from 0 to ``x``.

    >>> tanx.scipy.special.dawsn(jnp.array([0.0, 1.0, 10.0]))
    Array([0.        , 0.5380795 , 0.05025385], dtype=float32)
    """
    return _dawsn(real_operands("dawsn", x, weak=False))


@custom_jvp
@library_jit(name="dawsn")
@at_least_float32
def _dawsn(x):
    size = jnp.abs(x)
    inner, half = jnp.minimum(size, 2), 0.5 / jnp.maximum(size, 5)
    inverse = 4 * half * half
    near = inner * piecewise(DAWSON_NEAR, inner * inner)
    far = half + half * inverse * piecewise(DAWSON_FAR, inverse)
    middle = piecewise(DAWSON, jnp.clip(size, 2, 5))
    value = jnp.where(size < 2, near, jnp.where(size < 5, middle, far))
    return jnp.copysign(value, x)


@_dawsn.defjvp
def _dawsn_jvp(primals, tangents):
    (x,), (dx,) = primals, tangents
    out = _dawsn(x)
    return out, dx * _dawsn_slope(x, out)


@at_least_float32
def _dawsn_slope(x, out):
    """1 - 2x dawsn(x); for large ``x``, where that cancels, by a series."""
    size = jnp.abs(x)
    inverse = 1 / jnp.square(jnp.maximum(size, 5))
    near = 1 - 2 * jnp.where(size < 5, x, 0) * out
    return jnp.where(size < 5, near, -inverse * piecewise(DAWSON_FAR, inverse))


# -- exponential integrals -------------------------------------------------------------------------


def exp1(x):
    """The exponential integral E₁, the integral of ``exp(-t) / t`` from ``x`` to ``inf``.

    >>> tanx.scipy.special.exp1(jnp.array([0.0, 1.0, 10.0]))
    Array([          inf, 2.1938391e-01, 4.1569683e-06], dtype=float32)
    """
    return _exp1(real_operands("exp1", x, weak=False))


@custom_jvp
@library_jit(name="exp1")
@at_least_float32
def _exp1(x):
    value = _e1_of_positive(jnp.maximum(x, 0))
    return jnp.where(x < 0, np.nan, value)


_exp1.defjvps(lambda dx, out, x: -dx * jnp.where(x < 0, np.nan, jnp.exp(-x) / jnp.abs(x)))


def _e1_of_positive(x):
    inner, outer = jnp.minimum(x, 1), jnp.clip(x, 1, 1e4)
    near = piecewise(E1_NEAR, inner) - jnp.log(inner)
    far = beyond(E1_FAR, outer, 5.0, 1.0) * jnp.exp(-outer) / outer
    return jnp.where(x < 1, near, far)


def expi(x):
    """The exponential integral Ei, the integral of ``exp(t) / t`` from ``-inf`` to ``x``.

    >>> tanx.scipy.special.expi(jnp.array([-1.0, 0.0, 1.0]))
    Array([-0.21938391,        -inf,  1.895118  ], dtype=float32)
    """
    return _expi(real_operands("expi", x, weak=False))


@custom_jvp
@library_jit(name="expi")
@at_least_float32
def _expi(x):
    left = -_e1_of_positive(jnp.maximum(-x, 0))
    first, rest = of_dtype(EI_ZERO, x)
    inner = jnp.clip(x, 0, 4)
    near = _from_zero(inner, first, rest) + ((inner - first) - rest) * piecewise(EI_NEAR, inner)
    # exp(x) overflows before the function does.
    outer = jnp.clip(x, 4, 800)
    scaled = jnp.where(outer < 24, piecewise(EI, jnp.minimum(outer, 24)),
                       piecewise(EI_FAR, 1 / jnp.maximum(outer, 24)))
    half = jnp.exp(0.5 * outer)
    far = half * (half * (scaled / outer))
    return jnp.where(x < 0, left, jnp.where(x < 4, near, far))


_expi.defjvps(lambda dx, out, x: dx * jnp.exp(x) / x)


def _from_zero(x, first: float, rest: float):
    """log(x / (first + rest)), exact to rounding also where it is close to 0."""
    zero = first + rest
    away = (x - first) - rest
    close = jnp.abs(away) < 0.5 * zero
    return jnp.where(close, jnp.log1p(jnp.where(close, away, 0) / zero),
                     jnp.log(x) - math.log(zero))


def expn(n, x):
    """The exponential integral of order ``n``: of ``exp(-x * t) / t**n`` from 1 to ``inf``.

    Args:
      n: Integers, at least 0; fractions are dropped.
      x: Real numbers, at least 0.

    >>> tanx.scipy.special.expn(2, jnp.array([0.0, 1.0, 10.0]))
    Array([1.0000000e+00, 1.4849551e-01, 3.8302405e-06], dtype=float32)
    """
    n, x = jnp.broadcast_arrays(*real_operands("expn", n, x, weak=False))
    return _expn(n, x)


# The greatest x for the series, the number of its terms, and the depth of the fraction.
_EXPN = {32: (1.5, 15, 16), 64: (1.25, 20, 75)}


@custom_jvp
@library_jit(name="expn")
def _expn(n, x):
    return in_float64(_expn_to(*_EXPN[64 if x.dtype == np.float64 else 32]))(n, x)


def _expn_to(limit: float, terms: int, depth: int):
    """The function computed from ``terms`` terms."""
    def compute(n, x):
        n = jnp.trunc(n)
        outer = jnp.maximum(x, limit)
        order, bottom = n, outer + n + 2 * depth
        for k in range(depth, 0, -1):
            bottom = (outer + order + 2 * (k - 1)) - k * (order + (k - 1)) / bottom
        value = jnp.where(x > limit, jnp.exp(-outer) / bottom,
                          _expn_series(n, jnp.clip(x, 0, limit), terms))
        value = jnp.where(n == 0, jnp.exp(-x) / x, jnp.where(x == np.inf, 0, value))
        value = jnp.where(n == 1, _e1_of_positive(jnp.maximum(x, 0)), value)
        return jnp.where((n < 0) | (x < 0) | jnp.isnan(x), np.nan, value)
    return compute


def _expn_series(n, x, terms: int):
    """The power series; one of its terms has a logarithm."""
    total, logarithmic, power = jnp.zeros_like(x), jnp.zeros_like(x), jnp.ones_like(x)
    for m in range(terms):
        own = n == m + 1
        total = total - jnp.where(own, 0, power / jnp.where(own, 1, m + 1 - n))
        logarithmic = jnp.where(own, power, logarithmic)
        power = power * (x * (-1 / (m + 1)))
    safe = jnp.where(x > 0, x, 1)
    term = logarithmic * (lax.digamma(jnp.maximum(n, 1)) - jnp.log(safe))
    return total + jnp.where(x > 0, term, jnp.where(n == 1, np.inf, 0))


@_expn.defjvp
def _expn_jvp(primals, tangents):
    (n, x), (_, dx) = primals, tangents
    lowest = jnp.exp(-x) * (1 + 1 / x) / x
    return _expn(n, x), -dx * jnp.where(jnp.trunc(n) == 0, lowest, _expn(n - 1, x))


# -- sine and cosine integrals ---------------------------------------------------------------------


def sici(x):
    """The sine integral and the cosine integral.

    The integrals of ``sin(t) / t`` from 0 to ``x``, and ``cos(t) / t`` from ``inf`` to ``abs(x)``.

    >>> tanx.scipy.special.sici(jnp.array([0.0, 1.0]))
    (Array([0.        , 0.94608307], dtype=float32), Array([     -inf, 0.3374039], dtype=float32))
    """
    return _sici(real_operands("sici", x, weak=False))


@custom_jvp
@library_jit(name="sici")
@at_least_float32
def _sici(x):
    size = jnp.abs(x)
    inner, outer = jnp.minimum(size, 4), jnp.clip(size, 4, 1e9)
    square = inner * inner
    first, rest = of_dtype(CI_ZERO, x)
    distance = ((inner - first) - rest) * (inner + (first + rest))
    near_sine = inner * piecewise(SI_NEAR, square)
    near_cosine = _from_zero(inner, first, rest) + distance * piecewise(CI_NEAR, square)
    with_cosine = beyond(SINE_AUXILIARY, outer, 14.0, 4.0) / outer
    with_sine = beyond(COSINE_AUXILIARY, outer, 14.0, 4.0) / (outer * outer)
    angle = jnp.where(size < np.inf, size, 0)
    sine, cosine = jnp.sin(angle), jnp.cos(angle)
    far = jnp.where(size > 1e9, 1 / size, with_cosine)
    far_sine = math.pi / 2 - far * cosine - with_sine * sine
    far_cosine = far * sine - with_sine * jnp.where(size > 1e9, 0, cosine)
    si = jnp.where(size < 4, near_sine, far_sine)
    ci = jnp.where(size < 4, near_cosine, far_cosine)
    return jnp.copysign(si, x), jnp.where(x == -np.inf, np.nan, ci)


@_sici.defjvp
def _sici_jvp(primals, tangents):
    (x,), (dx,) = primals, tangents
    sine = jnp.where(x == 0, 1, jnp.sin(x) / jnp.where(x == 0, 1, x))
    return _sici(x), (dx * jnp.where(jnp.isinf(x), 0, sine), dx * jnp.cos(x) / x)


# -- Fresnel integrals -----------------------------------------------------------------------------


def fresnel(x):
    """The Fresnel integrals: of ``sin(pi/2 * t**2)`` and of ``cos(pi/2 * t**2)`` from 0 to ``x``.

    >>> tanx.scipy.special.fresnel(jnp.array([1.0, 2.0]))
    (Array([0.43825918, 0.34341568], dtype=float32), Array([0.7798934, 0.4882534], dtype=float32))
    """
    x = inexact_operands("fresnel", x, weak=False)
    if x.dtype.kind == "c":
        raise NotImplementedError(explain(
            "tanx.scipy.special.fresnel", "takes real numbers.", f"x: {typeof(x)}"))
    return _fresnel(x)


@custom_jvp
@library_jit(name="fresnel")
@at_least_float32
def _fresnel(x):
    size = jnp.abs(x)
    inner, outer = jnp.minimum(size, math.sqrt(3)), jnp.clip(size, math.sqrt(3), 1e9)
    square = inner * inner
    near_sine = inner * square * piecewise(FRESNEL_S_NEAR, square * square)
    near_cosine = inner * piecewise(FRESNEL_C_NEAR, square * square)
    square = outer * outer
    f = beyond(FRESNEL_F, square, 9.0, 3.0) / outer
    g = beyond(FRESNEL_G, square, 9.0, 3.0) / (outer * square)
    sine, cosine = _quarter_turns(outer)
    far_sine, far_cosine = 0.5 - (f * cosine + g * sine), 0.5 + (f * sine - g * cosine)
    near = size < math.sqrt(3)
    limit = jnp.where(size > 1e9, 0.5, np.nan)
    s = jnp.where(near, near_sine, jnp.where(size <= 1e9, far_sine, limit))
    c = jnp.where(near, near_cosine, jnp.where(size <= 1e9, far_cosine, limit))
    return jnp.copysign(s, x), jnp.copysign(c, x)


def _quarter_turns(x):
    """sin and cos of πx² / 2, from x² minus the nearest multiple of 4."""
    whole, rest = split_square(x)
    turns = (whole - 4 * jnp.round(0.25 * whole)) + rest
    # The nearest multiple of a right angle is subtracted.
    quarter = jnp.round(turns)
    angle = (math.pi / 2) * (((whole - 4 * jnp.round(0.25 * whole)) - quarter) + rest)
    sine, cosine = jnp.sin(angle), jnp.cos(angle)
    odd = jnp.abs(quarter) == 1
    low, high = jnp.where(odd, cosine, sine), jnp.where(odd, sine, cosine)
    sign = jnp.where(odd, quarter, jnp.where(quarter == 0, 1, -1))
    return low * sign, jnp.where(odd, -high * quarter, high * sign)


@_fresnel.defjvp
def _fresnel_jvp(primals, tangents):
    (x,), (dx,) = primals, tangents
    # Far away all floats are multiples of 4.
    sine, cosine = at_least_float32(_quarter_turns)(jnp.where(jnp.abs(x) > 1e9, 0 * x, x))
    return _fresnel(x), (dx * sine, dx * cosine)


# -- the dilogarithm -------------------------------------------------------------------------------


def spence(x):
    """Spence's function, the integral of ``log(t) / (1 - t)`` from 1 to ``x``.

    It is the dilogarithm of ``1 - x``, and NaN for negative numbers.

    >>> tanx.scipy.special.spence(jnp.array([0.0, 1.0, 2.0]))
    Array([ 1.644934,  0.      , -0.822467], dtype=float32)
    """
    return _spence(single_or_double("spence", jnp.asarray(x)))


@custom_jvp
@library_jit(name="spence")
def _spence(x):
    # From 1/2 to 2 a polynomial in the logarithm. Below, the values at x and 1 - x add up to
    # π²/6 - log(x) log(1 - x); above, the values at x and 1/x add up to -log(x)² / 2.
    above = x > 2
    y = jnp.where(above, 1 / x, x)
    below = y < 0.5
    logarithm = jnp.where(below, jnp.log1p(-y), jnp.log(y))
    near = -logarithm * piecewise(SPENCE, -jnp.clip(logarithm, -0.7, 0.7))
    some = jnp.where(y > 0, y, 1)
    value = jnp.where(below, (math.pi ** 2 / 6 - jnp.log(some) * logarithm) - near, near)
    value = jnp.where(above, -0.5 * jnp.square(jnp.log(x)) - value, value)
    return jnp.where(x < 0, np.nan, jnp.where(x == 1, 0, value))


@_spence.defjvp
def _spence_jvp(primals, tangents):
    (x,), (dx,) = primals, tangents
    one = x == 1
    return _spence(x), dx * jnp.where(one, -1, jnp.log(x) / jnp.where(one, 1, 1 - x))
