"""The gamma function by its pieces, in float64, for the functions that are made of it."""

from __future__ import annotations

import math

from ... import numpy as jnp
from ._piecewise import piecewise
from ._tables import GAMMA, LOG_GAMMA, STIRLING, STIRLING_LOG

__all__ = ["gamma_by_steps", "log_gamma", "sine_of_turns", "stirling", "stirling_rest"]

HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


def sine_of_turns(x):
    """sin(πx), exact to rounding also next to whole numbers."""
    nearest = jnp.round(x)
    turn = jnp.where(jnp.round(0.5 * nearest) * 2 == nearest, math.pi, -math.pi)
    return jnp.sin(turn * (x - nearest))


def gamma_by_steps(x):
    """The gamma function from -0.5 to 10, by its value between 2 and 3."""
    below = [x < k for k in range(3)]
    base, product, divisor = x, jnp.ones_like(x), jnp.ones_like(x)
    for k in reversed(range(3)):
        divisor = jnp.where(below[k], divisor * base, divisor)
        base = jnp.where(below[k], base + 1, base)
    for k in range(3, 10):
        base = jnp.where(x >= k, x - (k - 2), base)
        product = jnp.where(x >= k, product * (x - (k - 2)), product)
    return product * piecewise(GAMMA, base) / divisor


def stirling(x):
    """The gamma function from 10 on, as the product of two numbers that overflow later."""
    half = x ** (0.5 * x - 0.25)
    return half, half * jnp.exp(-x) * (math.sqrt(2 * math.pi) * piecewise(STIRLING, 1 / x))


def stirling_rest(x):
    """What Stirling's formula ``(x - 1/2) log(x) - x + log(2π)/2`` leaves of the logarithm."""
    inverse = 1 / x
    return inverse * piecewise(STIRLING_LOG, inverse * inverse)


def log_gamma(x):
    """The logarithm of the absolute value of the gamma function."""
    # On the left the product of x, the values at x and at -x is -π / sin(πx).
    left = x < -0.5
    y = jnp.where(left, -x, x)
    zeros = (y > 0.5) & (y < 3)
    inner, outer = jnp.clip(y, 0.5, 3), jnp.maximum(y, 10)
    near = (inner - 1) * (inner - 2) * piecewise(LOG_GAMMA, inner)
    far = (outer - 0.5) * jnp.log(outer) - outer + HALF_LOG_2PI + stirling_rest(outer)
    steps = jnp.log(jnp.abs(gamma_by_steps(jnp.clip(y, -0.5, 10))))
    value = jnp.where(zeros, near, jnp.where(y < 10, steps, far))
    mirrored = jnp.log(math.pi / jnp.abs(x * sine_of_turns(x))) - value
    return jnp.where(jnp.isinf(x), jnp.inf, jnp.where(left, mirrored, value))
