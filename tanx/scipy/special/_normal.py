"""The normal distribution function, its logarithm and its inverse."""

from __future__ import annotations

import math

import numpy as np

from ... import lax
from ... import numpy as jnp
from ..._api.jit import library_jit
from ..._control.custom_jvp import custom_jvp
from ..._ops.probability import ndtr_p
from ...errors import explain
from ._error import erfcx_of_positive, quantile
from ._operands import single_or_double
from ._piecewise import split_square

__all__ = ["log_ndtr", "ndtr", "ndtri"]

_ROOT_HALF = math.sqrt(0.5)


def normal_density(x):
    """The density of the normal distribution."""
    return _power(jnp.clip(x, -40, 40)) * (1 / math.sqrt(2 * math.pi))


def _power(x):
    """``exp(-x**2 / 2)``, to rounding."""
    whole, rest = split_square(x)
    power, small = jnp.exp(-0.5 * whole), -0.5 * rest
    # Up to x = 40, the low part of the square is below 0.8 in float32; the power is 0 from 0.05 on.
    return power + power * (small * lax.polynomial(small, [1, 1 / 2, 1 / 6, 1 / 24]))


def _near(x):
    """``ndtr(x)`` for numbers from -1 to 1, by its power series."""
    return 0.5 + x * lax.polynomial(x * x, [
        (-0.5) ** k / (math.factorial(k) * (2 * k + 1)) / math.sqrt(2 * math.pi)
        for k in range(16 if x.dtype == np.float64 else 8)])


def _tail(x):
    """``ndtr(-x) / density(x)`` for ``x >= 0``."""
    return math.sqrt(math.pi / 2) * erfcx_of_positive(x * _ROOT_HALF)


def normal_tail(x):
    """``ndtr(-x)``"""
    return _ndtr(-x)


def ndtr(x):
    """The probability that a standard normal number is below ``x``.

    >>> tanx.scipy.special.ndtr(jnp.array([-1.0, 0.0, 2.0]))
    Array([0.15865524, 0.5       , 0.97724986], dtype=float32)
    """
    return _ndtr(single_or_double("ndtr", jnp.asarray(x)))


@custom_jvp
@library_jit(name="ndtr")
def _ndtr(x):
    return ndtr_p.bind(x)


_ndtr.defjvps(lambda dx, out, x: dx * normal_density(x))


def log_ndtr(x, series_order: int = 3):
    """The logarithm of :func:`ndtr`, exact to rounding also where that is close to 0 or to 1.

    ``series_order`` is JAX's, for a series that is not used here: it is checked, but has no effect.

    >>> tanx.scipy.special.log_ndtr(jnp.array([-100.0, 0.0, 10.0]))
    Array([-5.0055244e+03, -6.9314718e-01, -7.6198536e-24], dtype=float32)
    """
    if not isinstance(series_order, int):
        raise TypeError(explain("tanx.scipy.special.log_ndtr", "series_order must be an integer.",
                                f"series_order: {series_order!r}"))
    if not 0 <= series_order <= 30:
        raise ValueError(explain(
            "tanx.scipy.special.log_ndtr", "series_order must be from 0 to 30.",
            f"series_order: {series_order}"))
    return _log_ndtr(single_or_double("log_ndtr", jnp.asarray(x)))


@custom_jvp
@library_jit(name="log_ndtr")
def _log_ndtr(x):
    # The tail is density * factor. On the left the result is the sum of both logarithms, on the
    # right the logarithm of 1 - tail. One logarithm serves both.
    low, size = x < 0, jnp.abs(x)
    near, far = size < 1, jnp.minimum(size, 1e30)  # at infinity the factor would be inf / inf
    factor = 0.5 * erfcx_of_positive(far * _ROOT_HALF)
    # Subnormal numbers are slow: none is made where the result is 0.
    limit = 38.6 if x.dtype == np.float64 else 14.2
    tail = jnp.where(size > limit, 0, _power(jnp.minimum(size, limit)) * factor)
    tail = jnp.where(near, _near(jnp.where(near, -size, 0)), tail)
    share = jnp.where(low, jnp.where(near, tail, factor), 1 - tail)
    logarithm = jnp.log(share)
    # The rounding error of 1 - tail becomes a correction factor.
    over = 1 - share
    right = jnp.where(over == 0, -tail, logarithm * (tail / jnp.where(over == 0, 1, over)))
    return jnp.where(low, logarithm - jnp.where(near, 0, 0.5 * x * x), right)


@_log_ndtr.defjvp
def _log_ndtr_jvp(primals, tangents):
    (x,), (dx,) = primals, tangents
    left = 1 / _tail(jnp.abs(jnp.minimum(x, 0)))
    return _log_ndtr(x), dx * jnp.where(x < 0, left, normal_density(x) / _ndtr(x))


def ndtri(p):
    """The inverse of :func:`ndtr`: the standard normal quantile for the probability ``p``.

    >>> tanx.scipy.special.ndtri(jnp.array([0.025, 0.5, 0.84134475]))
    Array([-1.9599639,  0.       ,  1.0000001], dtype=float32)
    """
    return _ndtri(single_or_double("ndtri", p))


@custom_jvp
@library_jit(name="ndtri")
def _ndtri(p):
    return quantile(p)


_ndtri.defjvps(lambda dx, out, p: dx / normal_density(out))
