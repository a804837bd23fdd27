"""tanx.scipy.stats.binom: the number of successes in ``n`` trials of probability ``p``."""

from ... import numpy as jnp
from ..._api.jit import library_jit
from ..._base.traceback import shown
from ..._base.window import publish
from ._factorials import log_choose
from ._support import operands, times_log, times_log1p

__all__ = ["logpmf", "pmf"]


@library_jit
def logpmf(k, n, p, loc=0):
    """The logarithm of :func:`pmf`.

    >>> tanx.scipy.stats.binom.logpmf(jnp.array([0, 1, 3]), 2, 0.5)
    Array([-1.3862944, -0.6931472,       -inf], dtype=float32)
    """
    k, n, p, loc = operands("binom.logpmf", k, n, p, loc)
    y = k - loc
    outside = (y < 0) | (y > n)
    y = jnp.where(outside, 0, y)
    inside = log_choose(n, y) + times_log(y, p) + times_log1p(n - y, -p)
    return jnp.where(outside, -jnp.inf, inside)


@library_jit
def pmf(k, n, p, loc=0):
    """The probability of ``k + loc`` successes.

    >>> tanx.scipy.stats.binom.pmf(jnp.array([0, 1, 3]), 2, 0.5)
    Array([0.25, 0.5 , 0.  ], dtype=float32)
    """
    return jnp.exp(logpmf(k, n, p, loc))


publish(__name__, shown)
