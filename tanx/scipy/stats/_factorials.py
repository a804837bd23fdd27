"""Logarithms of factorials, and of quotients of gamma functions."""

from __future__ import annotations

from ... import lax
from ... import numpy as jnp

__all__ = ["log_beta", "log_choose", "log_factorial", "log_half_step"]


def log_factorial(n):
    """``log(n!)``."""
    return lax.lgamma(n + 1)


def log_choose(n, k):
    """The logarithm of the number of ways to choose ``k`` of ``n``."""
    return log_factorial(n) - log_factorial(k) - log_factorial(n - k)


def log_beta(a, b):
    """The logarithm of the beta function."""
    return lax.lgamma(a) + lax.lgamma(b) - lax.lgamma(a + b)


# Coefficients of the expansion in odd powers of 1 / z, highest first.
_HALF_STEP = (691 / 180224, -31 / 18432, 17 / 14336, -1 / 640, 1 / 192, -1 / 8)


def log_half_step(z):
    """``log(gamma(z + 1/2) / gamma(z)) - log(z) / 2``, which tends to 0.

    For large ``z`` by a series: the difference of logarithms of gamma functions would cancel.
    """
    far = z > (12 if z.dtype.itemsize > 4 else 4)
    inverse = 1 / jnp.where(far, z, 16)
    series = 0.0
    for coefficient in _HALF_STEP:
        series = series * inverse * inverse + coefficient
    series = series * inverse
    near = jnp.where(far, 1, z)
    return jnp.where(far, series, lax.lgamma(near + 0.5) - lax.lgamma(near) - 0.5 * jnp.log(near))
