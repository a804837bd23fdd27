"""The Faddeeva function, the error function of complex numbers in another form."""

from __future__ import annotations

import math

import numpy as np

from ... import lax
from ... import numpy as jnp
from ..._api.jit import library_jit
from ..._control.custom_jvp import custom_jvp
from ...numpy._promotion import convert
from ._integrals import dawsn
from ._operands import in_float64, inexact_operands
from ._piecewise import split_square

__all__ = ["wofz"]

# Points of the trapezoidal rule on each side, and their distance.
_POINTS = 12
_STEP = math.sqrt(math.pi / _POINTS)


def wofz(z):
    """The Faddeeva function, ``exp(-z**2) * erfc(-1j * z)``, of complex numbers.

    >>> tanx.scipy.special.wofz(jnp.array([0.0, 1.0 + 1.0j]))
    Array([1.       +0.j        , 0.3047442+0.20821893j], dtype=complex64)
    """
    z = inexact_operands("wofz", z, weak=False)
    if z.dtype.kind != "c":
        z = convert(z, np.dtype(np.float64 if z.dtype == np.float64 else np.float32))
        return lax.complex(_power(z, jnp.zeros_like(z)), 2 / math.sqrt(math.pi) * dawsn(z))
    return faddeeva(z)


@custom_jvp
@library_jit(name="wofz")
def faddeeva(z):
    """The Faddeeva function of complex numbers."""
    return lax.complex(*in_float64(_faddeeva)(z.real, z.imag))


@faddeeva.defjvp
def _faddeeva_jvp(primals, tangents):
    (z,), (dz,) = primals, tangents
    out = faddeeva(z)
    return out, dz * (-2 * z * out + 2j / math.sqrt(math.pi))


def _faddeeva(real, imag):
    x, y = jnp.abs(real), jnp.abs(imag)
    # 2 exp(-z²), which is part of the residue, and of w(z) = 2 exp(-z²) - w(-z) below the line.
    size, angle = 2 * _power(x, y), 2 * x * y
    cosine, sine = size * jnp.cos(angle), -size * jnp.sin(angle)
    u, v = _first_quadrant(x, y, cosine, sine)
    below = imag < 0
    u = jnp.where(below, cosine - u, u)
    v = jnp.where(below & (angle != 0), v - sine, v)
    bad = jnp.isnan(real) | jnp.isnan(imag)
    return (jnp.where(bad, np.nan, u),
            jnp.where(bad, np.nan, jnp.where(real < 0, -v, v)))


def _power(x, y):
    """exp(y² - x²), to rounding."""
    bound = 1e150 if x.dtype == np.float64 else 1e18
    (a, b), (c, d) = (split_square(jnp.clip(t, -bound, bound)) for t in (x, y))
    return jnp.exp(jnp.clip(c - a, -800, 800)) * jnp.exp(d - b)


def _first_quadrant(x, y, cosine, sine):
    """The trapezoidal rule, and the residue of the pole if it lies next to the line.

    The rule of Matta and Reichel, with the choice between points at multiples of the step and
    midway between them of Al Azah and Chandler-Wilde: the pole is never close to a point.
    """
    far = jnp.maximum(x, y) > 1e7
    x, y, given = jnp.where(far, 1, x), jnp.where(far, 1, y), (x, y)
    place = x / _STEP - jnp.floor(x / _STEP)
    multiples = (y < x) & (place >= 0.25) & (place <= 0.75)
    real, imag = (x - y) * (x + y), 2 * x * y
    # The sum of weight / (z² - point²), as real and imaginary parts.
    total_real = total_imag = jnp.zeros_like(x)
    for k in range(_POINTS):
        points = (k + 1) * _STEP, (k + 0.5) * _STEP
        square = jnp.where(multiples, points[0] ** 2, points[1] ** 2)
        weight = jnp.where(multiples, math.exp(-points[0] ** 2), math.exp(-points[1] ** 2))
        over = real - square
        share = weight / (over * over + imag * imag)
        total_real, total_imag = total_real + share * over, total_imag - share * imag
    # At multiples, the point 0 counts half: ½ / z².
    size = jnp.where(multiples, jnp.square(x * x + y * y), 1)
    total_real = total_real + jnp.where(multiples, 0.5 * real / size, 0)
    total_imag = total_imag - jnp.where(multiples, 0.5 * imag / size, 0)
    scale = 2 * _STEP / math.pi
    u = -scale * (x * total_imag + y * total_real)
    v = scale * (x * total_real - y * total_imag)
    real, imag = _residue(x, y, multiples)
    extra_u, extra_v = cosine * real - sine * imag, cosine * imag + sine * real
    near = y < jnp.maximum(x, math.pi / _STEP)
    return _or_far(*given, far, jnp.where(near, u + extra_u, u), jnp.where(near, v + extra_v, v))


def _residue(x, y, multiples):
    """1 / (1 ± exp(-2πi z / step))"""
    decay = jnp.exp(-2 * math.pi / _STEP * y)
    turn = 2 * math.pi / _STEP * x
    sign = jnp.where(multiples, -1, 1)
    # Of the fraction d e^(iθ) / (d e^(iθ) ± 1), real and imaginary parts.
    cosine = sign * jnp.cos(turn)
    bottom = jnp.square(decay + cosine) + jnp.square(jnp.sin(turn))
    return decay * (decay + cosine) / bottom, decay * sign * jnp.sin(turn) / bottom


def _or_far(x, y, far, u, v):
    """Far away, i / (√π z)."""
    great = jnp.maximum(jnp.maximum(x, y), 1)
    a, b = x / great, y / great
    a, b = jnp.where(x == great, 1, a), jnp.where(y == great, 1, b)
    scale = jnp.where(great == np.inf, 0, 1 / (math.sqrt(math.pi) * great)) / (a * a + b * b)
    return jnp.where(far, b * scale, u), jnp.where(far, a * scale, v)
