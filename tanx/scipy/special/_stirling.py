"""The gamma function in pieces, in float64, for the functions that use it."""

from __future__ import annotations

import math

import numpy as np

from ... import lax
from ... import numpy as jnp
from ._piecewise import piecewise
from ._tables import GAMMA, LOG_GAMMA, STIRLING, STIRLING_EARLY, STIRLING_LOG

__all__ = ["HALF_LOG_2PI", "early_rest", "gamma_by_steps", "gamma_of_real", "gamma_ratio",
           "log_gamma", "rough_ratio", "sign_of_gamma", "sine_of_turns", "stirling",
           "stirling_rest"]

HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


def sine_of_turns(x):
    """sin(πx), exact to rounding also near integers."""
    nearest = jnp.round(x)
    turn = jnp.where(jnp.round(0.5 * nearest) * 2 == nearest, math.pi, -math.pi)
    return jnp.sin(turn * (x - nearest))


def gamma_by_steps(x):
    """The gamma function from -0.5 to 10, by recurrence to its value between 2 and 3."""
    below = [x < k for k in range(3)]
    base, product, divisor = x, jnp.ones_like(x), jnp.ones_like(x)
    for k in reversed(range(3)):
        divisor = jnp.where(below[k], divisor * base, divisor)
        base = jnp.where(below[k], base + 1, base)
    for k in range(3, 10):
        base = jnp.where(x >= k, x - (k - 2), base)
        product = jnp.where(x >= k, product * (x - (k - 2)), product)
    return product * piecewise(GAMMA, base) / divisor


def stirling(x, rough: bool = False):
    """The gamma function from 10 on, as the product of two numbers, which overflow later.

    Rough powers have an error of about 1e-13, and take a seventh of the time of exact ones.
    """
    half = jnp.exp((0.5 * x - 0.25) * jnp.log(x)) if rough else x ** (0.5 * x - 0.25)
    return half, half * jnp.exp(-x) * (math.sqrt(2 * math.pi) * piecewise(STIRLING, 1 / x))


def gamma_of_real(x, rough: bool = False):
    """The gamma function: at 0 infinite, with the sign of 0, and at the other poles NaN."""
    left = x < 0.5
    # On the left the product of x, the values at x and at -x is -π / sin(πx).
    y = jnp.where(left, -x, x)
    low = y < 10
    steps = gamma_by_steps(jnp.clip(y, -0.5, 10))
    first, second = stirling(jnp.clip(y, 10, 200), rough)
    first, second = jnp.where(low, steps, first), jnp.where(low, 1, second)
    mirrored = math.pi / (-x * sine_of_turns(x)) / first / second
    value = jnp.where(left, mirrored, first * second)
    pole = jnp.where(x == 0, jnp.copysign(np.inf, x), np.nan)
    return jnp.where((x <= 0) & (jnp.floor(x) == x), pole, value)


def gamma_ratio(x, step):
    """gamma(x + step) / gamma(x), away from poles."""
    total = x + step
    # The rounding error of the sum, times the logarithmic derivative, roughly.
    lost = jnp.where(jnp.abs(x) > jnp.abs(step), step - (total - x), x - (total - step))
    slope = jnp.where(total > 2, jnp.log(jnp.maximum(total, 2)) - 0.5 / jnp.maximum(total, 2), 0)
    usual = (jnp.abs(x) < 150) & (jnp.abs(total) < 150)
    near = (gamma_of_real(jnp.where(usual, total, 1))
            / gamma_of_real(jnp.where(usual, x, 1)))
    near = near + lost * slope * near
    great = (x >= 10) & (total >= 10)
    start, end = jnp.where(great, x, 10), jnp.where(great, total, 10)
    change = jnp.where(great, step, 0)
    far = jnp.exp((start - 0.5) * jnp.log1p(change / start) + change * (jnp.log(end) - 1)
                  + (stirling_rest(end) - stirling_rest(start)))
    # Other numbers are rare, and computed only if there are some.
    other = lax.cond(jnp.all(usual | great), lambda x, total: jnp.zeros_like(x),
                     _ratio_by_logarithms, x, total)
    return jnp.where(usual, near, jnp.where(great, far, other))


def _ratio_by_logarithms(x, total):
    sign = sign_of_gamma(x) * sign_of_gamma(total)
    return sign * jnp.exp(log_gamma(total) - log_gamma(x))


def sign_of_gamma(x):
    """The sign of the gamma function: NaN at its poles, except that 0 has its own sign."""
    below = jnp.floor(x)
    odd = jnp.floor(below * 0.5) * 2 != below
    sign = jnp.where((x < 0) & odd, -1.0, 1.0).astype(x.dtype)
    sign = jnp.where(x == 0, jnp.copysign(sign, x), sign)
    return jnp.where(((x < 0) & (below == x)) | jnp.isnan(x), np.nan, sign)


def stirling_rest(x):
    """The error of Stirling's formula ``(x - 1/2) log(x) - x + log(2π)/2`` for the logarithm."""
    inverse = 1 / x
    return inverse * piecewise(STIRLING_LOG, inverse * inverse)


def early_rest(inverse):
    """:func:`stirling_rest` of a number of at least 3, given as its inverse, to ten digits."""
    return inverse * piecewise(STIRLING_EARLY, inverse * inverse)


def _rough_ratio_of_positive(x, step):
    """gamma(x + step) / gamma(x) to ten digits, for ``x > 0`` and ``x + step > 0``.

    Three steps of the recurrence lead to the range of Stirling's formula, whose large parts cancel
    algebraically: one formula for all numbers.
    """
    total = x + step
    start, end = x + 3, total + 3
    inverse = 1 / (start * end)
    exponent = ((start - 0.5) * jnp.log1p(step * (end * inverse)) + step * (jnp.log(end) - 1)
                + (early_rest(start * inverse) - early_rest(end * inverse)))
    steps = x * (x + 1) * (x + 2) / (total * (total + 1) * (total + 2))
    return steps * jnp.exp(exponent)


def rough_ratio(x, step):
    """gamma(x + step) / gamma(x) to ten digits, away from poles."""
    total = x + step
    left, ends_left = x < 0, total < 0
    # On the left gamma(x) is π / sin(πx) / gamma(1 - x). With both on the left, it is a ratio
    # again.
    ratio = _rough_ratio_of_positive(jnp.where(left & ends_left, 1 - total, x), step)
    sine, end_sine = sine_of_turns(jnp.where(left, x, 0.5)), sine_of_turns(
        jnp.where(ends_left, total, 0.5))
    product = _rough_product(jnp.where(left, 1 - x, x), jnp.where(ends_left, 1 - total, total))
    mixed = jnp.where(left, product * sine / math.pi, math.pi / (end_sine * product))
    return jnp.where(left == ends_left, ratio * (sine / end_sine), mixed)


def _rough_product(x, y):
    """gamma(x) * gamma(y) to ten digits, for positive numbers."""
    p, q = x + 3, y + 3
    inverse = 1 / (p * q)
    exponent = ((p - 0.5) * jnp.log(p) - p + (q - 0.5) * jnp.log(q) - q + 2 * HALF_LOG_2PI
                + early_rest(q * inverse) + early_rest(p * inverse))
    return jnp.exp(exponent) / (x * (x + 1) * (x + 2) * (y * (y + 1) * (y + 2)))


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
