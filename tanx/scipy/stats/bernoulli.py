"""tanx.scipy.stats.bernoulli: one trial, 1 with probability ``p`` and 0 else."""

from ... import numpy as jnp
from ..._api.jit import library_jit
from ..._base.traceback import shown
from ..._base.window import publish
from ._support import operands, probability, times_log, times_log1p

__all__ = ["cdf", "logpmf", "pmf", "ppf"]


@library_jit
def logpmf(k, p, loc=0):
    """The logarithm of :func:`pmf`.

    >>> tanx.scipy.stats.bernoulli.logpmf(jnp.array([0, 1, 2]), 0.25)
    Array([-0.28768206, -1.3862944 ,        -inf], dtype=float32)
    """
    k, p, loc = operands("bernoulli.logpmf", k, p, loc)
    x = k - loc
    outside = (x < 0) | (x > 1)
    x = jnp.where(outside, 0, x)
    return jnp.where(outside, -jnp.inf, times_log(x, p) + times_log1p(1 - x, -p))


@library_jit
def pmf(k, p, loc=0):
    """The probability of ``k + loc``: ``p`` for 1 and ``1 - p`` for 0.

    >>> tanx.scipy.stats.bernoulli.pmf(jnp.array([0, 1, 2]), 0.25)
    Array([0.75, 0.25, 0.  ], dtype=float32)
    """
    return jnp.exp(logpmf(k, p, loc))


@library_jit
def cdf(k, p):
    """The probability of values up to ``k``.

    >>> tanx.scipy.stats.bernoulli.cdf(jnp.array([-1, 0, 1]), 0.25)
    Array([0.  , 0.75, 1.  ], dtype=float32)
    """
    k, p = operands("bernoulli.cdf", k, p)
    below = jnp.where(k < 0, 0, jnp.where(k < 1, 1 - p, 1))
    return jnp.where(jnp.isnan(k) | jnp.isnan(probability(p)), jnp.nan, below)


@library_jit
def ppf(q, p):
    """The least value up to which the probability is at least ``q``.

    >>> tanx.scipy.stats.bernoulli.ppf(jnp.array([0.5, 0.75, 0.9]), 0.25)
    Array([0., 0., 1.], dtype=float32)
    """
    q, p = operands("bernoulli.ppf", q, p)
    value = jnp.where(q <= 1 - p, jnp.zeros_like(q), jnp.ones_like(q))
    return jnp.where(jnp.isnan(probability(q) + probability(p)), jnp.nan, value)


publish(__name__, shown)
