"""tanx.scipy.stats.betabinom: the number of successes in ``n`` trials of unknown probability.

That probability is itself random, and has a beta distribution with the parameters ``a`` and ``b``.
"""

from ... import numpy as jnp
from ..._api.jit import library_jit
from ..._base.traceback import shown
from ..._base.window import publish
from ._factorials import log_beta
from ._support import operands

__all__ = ["logpmf", "pmf"]


@library_jit
def logpmf(k, n, a, b, loc=0):
    """The logarithm of :func:`pmf`.

    >>> tanx.scipy.stats.betabinom.logpmf(jnp.array([0, 1, 3]), 2, 1., 1.)
    Array([-1.0986123, -1.0986123,       -inf], dtype=float32)
    """
    k, n, a, b, loc = operands("betabinom.logpmf", k, n, a, b, loc)
    y = jnp.floor(k - loc)
    outside = (y < 0) | (y > n)
    y = jnp.where(outside, 0, y)
    ways = -jnp.log1p(n) - log_beta(n - y + 1, y + 1)
    inside = ways + log_beta(y + a, n - y + b) - log_beta(a, b)
    wrong = (n < 0) | (a <= 0) | (b <= 0)
    return jnp.where(wrong, jnp.nan, jnp.where(outside, -jnp.inf, inside))


@library_jit
def pmf(k, n, a, b, loc=0):
    """The probability of ``k + loc`` successes.

    >>> tanx.scipy.stats.betabinom.pmf(jnp.array([0, 1, 3]), 2, 1., 1.)
    Array([0.33333334, 0.33333334, 0.        ], dtype=float32)
    """
    return jnp.exp(logpmf(k, n, a, b, loc))


publish(__name__, shown)
