"""The gamma function of complex numbers, by Lanczos' approximation and reflection."""

from __future__ import annotations

import math

import numpy as np

from ... import lax
from ... import numpy as jnp
from ..._api.jit import library_jit
from ._operands import in_float64

__all__ = ["complex_gamma", "complex_loggamma"]

# Lanczos' approximation with g = 7; the published coefficients for nine terms.
_G = 7
_LANCZOS = (0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313,
            -176.61502916214059, 12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6,
            1.5056327351493116e-7)


@library_jit(name="gamma")
def complex_gamma(z):
    """The gamma function; NaN at its poles."""
    return lax.complex(*in_float64(_exponential)(z.real, z.imag))


@library_jit(name="loggamma")
def complex_loggamma(z):
    """The logarithm of the gamma function, continuous except across the negative axis."""
    return lax.complex(*in_float64(_loggamma)(z.real, z.imag))


def _exponential(x, y):
    real, imag = _loggamma(x, y)
    size = jnp.exp(real)
    return size * jnp.cos(imag), size * jnp.sin(imag)


def _loggamma(x, y):
    """Real and imaginary part, from those of the number."""
    above = jnp.abs(y)
    left = x < 0.5
    pole = (y == 0) & (x <= 0) & (jnp.floor(x) == x)
    a = jnp.where(left, 1 - jnp.where(pole, 0.25, x), x)
    real, imag = _lanczos(a, jnp.where(left, -above, above))
    sine_real, sine_imag = _log_sine(jnp.where(pole, 0.25, x), jnp.where(left, above, 1))
    real = jnp.where(left, math.log(math.pi) - sine_real - real, real)
    imag = jnp.where(left, -sine_imag - imag, imag)
    bad = pole | jnp.isnan(x) | jnp.isnan(y)
    real, imag = jnp.where(bad, np.nan, real), jnp.where(bad, np.nan, imag)
    return real, jnp.where(y < 0, -imag, imag)


def _lanczos(x, y):
    """The logarithm of the gamma function for x >= 0.5."""
    x = x - 1
    real, imag = jnp.full_like(x, _LANCZOS[0]), jnp.zeros_like(x)
    for k, c in enumerate(_LANCZOS[1:], 1):
        share = c / (jnp.square(x + k) + y * y)
        real, imag = real + share * (x + k), imag - share * y
    base = x + (_G + 0.5)
    size, angle = 0.5 * jnp.log(base * base + y * y), jnp.arctan2(y, base)
    return ((x + 0.5) * size - y * angle - base + 0.5 * math.log(2 * math.pi)
            + 0.5 * jnp.log(real * real + imag * imag),
            y * size + (x + 0.5) * angle - y + jnp.arctan2(imag, real))


def _log_sine(x, y):
    """log(sin(πz)) for y >= 0, continuous: log(1 - e^(2πiz)) - iπ(z - ½) - log(2)."""
    turn = math.pi * (x - lax.stop_gradient(jnp.round(x)))
    decay = jnp.exp(-2 * math.pi * y)
    # 1 - e^(2πiz), without cancellation near integers.
    real = -jnp.expm1(-2 * math.pi * y) + 2 * decay * jnp.square(jnp.sin(turn))
    imag = -decay * jnp.sin(2 * turn)
    return (0.5 * jnp.log(real * real + imag * imag) + math.pi * y - math.log(2),
            jnp.arctan2(imag, real) - math.pi * (x - 0.5))
