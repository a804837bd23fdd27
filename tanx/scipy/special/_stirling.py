"""The gamma function in pieces, in float64, for the functions that use it."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from ... import lax
from ... import numpy as jnp
from ._piecewise import piecewise
from ._tables import (
    ARTANH,
    LOG_GAMMA,
    SINE_OF_TURNS,
    STIRLING_EARLY,
    STIRLING_FROM_3,
    STIRLING_LOG,
)

__all__ = ["HALF_LOG_2PI", "early_rest", "gamma_of_positive", "gamma_of_real", "gamma_ratio",
           "log_gamma", "rough_ratio", "sign_of_gamma", "sine_of_turns", "stirling_rest"]

HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


def sine_of_turns(x):
    """sin(πx), exact to rounding also near integers."""
    nearest = jnp.round(x)
    return jnp.where(_is_odd(nearest), -1, 1) * _sine_of_part(x - nearest)


def _sine_of_part(x):
    """sin(πx) for ``x`` from -1/2 to 1/2."""
    return x * piecewise(SINE_OF_TURNS, x * x)


def _is_odd(whole):
    return jnp.round(0.5 * whole) * 2 != whole


# -- the gamma function ----------------------------------------------------------------------------

_LAST = 171
"""The last integer whose gamma function is a float64."""


def _rest_from_3(inverse):
    """:func:`stirling_rest` of a number of at least 3, given as its inverse."""
    return inverse * piecewise(STIRLING_FROM_3, inverse * inverse)


@cache
def _at_integers() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The gamma function, the logarithm and :func:`stirling_rest` of integers from 3 on."""
    integers = range(3, _LAST + 1)
    (low, high, coefficients), = STIRLING_FROM_3[64]
    inverse = 1 / np.arange(3.0, _LAST + 1)
    t = (inverse * inverse - (low + high) / 2) * (2 / (high - low))
    return (np.array([float(math.factorial(n - 1)) for n in integers]),
            np.array([math.log(n) for n in integers]),
            inverse * np.polynomial.polynomial.polyval(t, coefficients))


def _from_nearest(y):
    """The gamma function of ``y`` from 3 on, of ``y + 3`` below that; times a scale, for y >= 0.

    The scale, which is returned too, is 1 except for large numbers, where the product does not
    overflow for a while. For ``z = n + f`` with an integer ``n``, Stirling's formula for both says

        gamma(z) = gamma(n) exp(f log(n) + (z - 1/2) log(z / n) - f + rest(z) - rest(n))

    The logarithm is ``2 artanh(s)`` with ``s = f / (n + z)``, and its first term ``2 s`` makes with
    ``-f`` the number ``s (f - 1)``: apart from ``f log(n)``, which is at most 2.6, all terms are
    small, and their rounding errors are negligible.
    """
    nearest = jnp.minimum(jnp.round(y), _LAST)
    f = jnp.minimum(y, 200) - nearest
    n = nearest + jnp.where(y < 3, 3, 0)
    gamma_n, log_n, rest_n = (jnp.take(table, n.astype(np.int32) - 3, mode="clip")
                              for table in _at_integers())
    z = n + f
    both = n + z
    inverse = 1 / (z * both)
    s = f * z * inverse
    small = (s * (f - 1) + (2 * z - 1) * (s * (s * s)) * piecewise(ARTANH, s * s)
             + (_rest_from_3(both * inverse) - rest_n))
    scale = jnp.where(y > 100, 2.0 ** -128, 1)
    return gamma_n * (jnp.exp(f * log_n + small) * scale), scale


def _two_steps(y):
    """``(y + 1) (y + 2)``, which gamma(y + 3) is divided by to make gamma(y + 1)."""
    return y * y + (3 * y + 2)


def gamma_of_positive(y):
    """The gamma function for ``y >= 0``; infinite at 0, with the sign of 0."""
    value, scale = _from_nearest(y)
    return value / jnp.where(y < 3, y * _two_steps(y), scale)


def gamma_of_real(x):
    """The gamma function: at 0 infinite, with the sign of 0, and at the other poles NaN."""
    left = x < 0
    # On the left the product of x, the values at x and at -x is -π / sin(πx).
    y = jnp.where(left, -x, x)
    value, scale = _from_nearest(y)
    low, steps, nearest = y < 3, _two_steps(y), jnp.round(y)
    part = y - nearest
    sine = jnp.where(_is_odd(nearest), 1, -1) * _sine_of_part(part)
    mirrored = math.pi * jnp.where(low, steps, scale) / (jnp.where(low, sine, y * sine) * value)
    found = jnp.where(left, mirrored, value / jnp.where(low, y * steps, scale))
    return jnp.where(left & (part == 0), np.nan, found)


# -- ratios and logarithms -------------------------------------------------------------------------


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
    steps = jnp.log(jnp.abs(gamma_of_real(jnp.clip(y, -0.5, 10))))
    value = jnp.where(zeros, near, jnp.where(y < 10, steps, far))
    mirrored = jnp.log(math.pi / jnp.abs(x * sine_of_turns(x))) - value
    return jnp.where(jnp.isinf(x), jnp.inf, jnp.where(left, mirrored, value))
