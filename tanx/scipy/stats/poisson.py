"""tanx.scipy.stats.poisson: the number of events where ``mu`` are expected."""

from math import e, pi

import numpy as np

from ... import lax
from ... import numpy as jnp
from ..._api.jit import library_jit
from ..._base.traceback import shown
from ..._base.window import publish
from ._factorials import log_factorial
from ._support import operands, times_log

__all__ = ["cdf", "entropy", "logpmf", "pmf"]


@library_jit
def logpmf(k, mu, loc=0):
    """The logarithm of :func:`pmf`.

    >>> tanx.scipy.stats.poisson.logpmf(jnp.array([-1, 0, 2]), 2.)
    Array([      -inf, -2.       , -1.3068528], dtype=float32)
    """
    k, mu, loc = operands("poisson.logpmf", k, mu, loc)
    y = k - loc
    outside = (y < 0) | (y != jnp.floor(y)) & ~jnp.isnan(y) | (y == jnp.inf)
    y = jnp.where(outside, 0, y)
    return jnp.where(outside, -jnp.inf, times_log(y, mu) - log_factorial(y) - mu)


@library_jit
def pmf(k, mu, loc=0):
    """The probability of ``k + loc`` events.

    >>> tanx.scipy.stats.poisson.pmf(jnp.array([-1, 0, 2]), 2.)
    Array([0.        , 0.13533528, 0.27067056], dtype=float32)
    """
    return jnp.exp(logpmf(k, mu, loc))


@library_jit
def cdf(k, mu, loc=0):
    """The probability of no more than ``k + loc`` events.

    >>> tanx.scipy.stats.poisson.cdf(jnp.array([-1, 0, 2]), 2.)
    Array([0.        , 0.13533528, 0.6766764 ], dtype=float32)
    """
    k, mu, loc = operands("poisson.cdf", k, mu, loc)
    y = jnp.floor(k - loc)
    outside = y < 0
    inside = lax.igammac(*jnp.broadcast_arrays(jnp.where(outside, 0, y) + 1, mu))
    return jnp.where(outside, 0, inside)


@library_jit
def entropy(mu, loc=0):
    """The entropy ``-sum(pmf(k) * logpmf(k))``, in nats.

    >>> tanx.scipy.stats.poisson.entropy(jnp.array([0., 1., 1e6]))
    Array([-0.       ,  1.3048421,  8.326694 ], dtype=float32)
    """
    mu, loc = operands("poisson.entropy", mu, loc)
    wide = mu.dtype.itemsize > 4
    few = 40 if wide else 10
    far = mu > few
    near = _summed(jnp.where(far, 1, mu), 160 if wide else 50)
    large = jnp.where(far, mu, 100)
    series = jnp.polyval(jnp.asarray(_SERIES, mu.dtype), 1 / large)
    out = jnp.where(far, 0.5 * jnp.log(2 * pi * e * large) - series, near)
    return jnp.broadcast_to(jnp.where(mu < 0, jnp.nan, out), jnp.broadcast_shapes(
        mu.shape, loc.shape))


# The entropy is that of a normal variable minus an expansion in 1 / mu. Its coefficients, highest
# power first: three are from Evans and Boersma (1988), the others were found in the same way from
# sums of 120 digits.
_SERIES = (378351 / 176, 3250433 / 11880, 57281 / 1440, 33953 / 5040, 1375 / 1008, 863 / 2520,
           9 / 80, 19 / 360, 1 / 24, 1 / 12, 0)


def _summed(mu, terms: int):
    """The entropy as the sum of the first terms of its definition."""
    k = np.arange(terms)
    factorials = np.cumsum(np.log(np.maximum(k, 1)))
    log_p = times_log(jnp.asarray(k, mu.dtype), mu[..., None]) - mu[..., None] - jnp.asarray(
        factorials, mu.dtype)
    impossible = log_p == -jnp.inf
    return -jnp.where(impossible, 0, jnp.exp(log_p) * jnp.where(impossible, 0, log_p)).sum(-1)


publish(__name__, shown)
