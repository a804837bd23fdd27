"""Owen's T function."""

from __future__ import annotations

import math

import numpy as np

from ... import lax
from ... import numpy as jnp
from ..._api.jit import library_jit
from ..._control.custom_jvp import custom_jvp
from ...numpy._promotion import convert
from ._normal import normal_density, normal_tail
from ._operands import real_operands

__all__ = ["owens_t"]

# Numbers of Gauss-Legendre points on half an interval, for float32 and float64, and the limit of
# h * a beyond which the integrand is 0.
_POINTS = {32: (10, 5.5), 64: (20, 8.6)}


def owens_t(h, a):
    """Owen's T: the probability of X > ``h`` and 0 < Y < ``a * X`` for standard normal X and Y.

    That is the integral of ``exp(-h**2 * (1 + t**2) / 2) / (1 + t**2)`` from 0 to ``a``, over 2π.

    >>> tanx.scipy.special.owens_t(jnp.array([0.0, 1.0]), 1.0)
    Array([0.125     , 0.06674188], dtype=float32)
    """
    h, a = real_operands("owens_t", h, a, weak=False)
    if h.dtype.itemsize < 4:
        h, a = (convert(v, np.dtype(np.float32)) for v in (h, a))
    return _owens_t(*jnp.broadcast_arrays(h, a))


@custom_jvp
@library_jit(name="owens_t")
def _owens_t(h, a):
    h, slope = jnp.abs(h), jnp.abs(a)
    above = slope > 1
    # T(h, a) + T(h a, 1 / a) is a sum of products of normal probabilities.
    product = jnp.where((slope == np.inf) & (h == 0), 0, jnp.where(slope == np.inf, np.inf,
                                                                   h * slope))
    t = _up_to_one(jnp.where(above, product, h), jnp.where(above, 1 / slope, slope))
    own = normal_tail(h)
    other = normal_tail(jnp.where(above, product, 0))
    # Products of tails if h is large, and of distances from 1/2 if it is small.
    small = lax.erf(h * math.sqrt(0.5)) * lax.erf(product * math.sqrt(0.5))
    joint = jnp.where(h < 0.7, 0.25 - 0.25 * small, 0.5 * (own + other) - own * other)
    value = jnp.where(above, joint - t, t)
    value = jnp.where(jnp.isnan(h) | jnp.isnan(a), np.nan, value)
    return jnp.where(a < 0, -value, value)


def _up_to_one(h, a):
    """The function for h >= 0 and a from 0 to 1, by quadrature."""
    count, limit = _POINTS[64 if h.dtype == np.float64 else 32]
    points, weights = np.polynomial.legendre.leggauss(2 * count)
    # Beyond the limit the integrand is 0 to rounding; the interval ends there.
    end = jnp.where(h * a > limit, limit / jnp.where(h > 0, h, 1), a)
    power = -0.5 * jnp.square(h * end)
    square = jnp.square(end)
    total = jnp.zeros_like(h)
    for t, weight in zip(points[count:] ** 2, weights[count:], strict=True):
        total = total + float(weight) * jnp.exp(power * float(t)) / (1 + square * float(t))
    scale = normal_density(h) * math.sqrt(0.5 / math.pi)
    return jnp.where(h == np.inf, 0, scale * end * total)


@_owens_t.defjvp
def _owens_t_jvp(primals, tangents):
    (h, a), (dh, da) = primals, tangents
    by_h = -0.5 * normal_density(h) * lax.erf(a * h * math.sqrt(0.5))
    by_a = jnp.exp(-0.5 * jnp.square(h) * (1 + a * a)) / (2 * math.pi * (1 + a * a))
    return _owens_t(h, a), dh * by_h + da * by_a
