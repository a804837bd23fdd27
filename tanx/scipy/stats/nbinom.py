"""tanx.scipy.stats.nbinom: the number of failures before success ``n``, each of probability ``p``.

``n`` may be any positive number.
"""

from ... import numpy as jnp
from ..._api.jit import library_jit
from ..._base.traceback import shown
from ..._base.window import publish
from ._factorials import log_beta
from ._support import operands, times_log, times_log1p

__all__ = ["logpmf", "pmf"]


@library_jit
def logpmf(k, n, p, loc=0):
    """The logarithm of :func:`pmf`.

    >>> tanx.scipy.stats.nbinom.logpmf(jnp.array([-1, 0, 2]), 2, 0.5)
    Array([      -inf, -1.3862944, -1.6739764], dtype=float32)
    """
    k, n, p, loc = operands("nbinom.logpmf", k, n, p, loc)
    y = k - loc
    outside = (y < 0) | (y == jnp.inf)
    y = jnp.where(outside, 0, y)
    ways = -jnp.log(n + y) - log_beta(n, y + 1)
    return jnp.where(outside, -jnp.inf, ways + times_log(n, p) + times_log1p(y, -p))


@library_jit
def pmf(k, n, p, loc=0):
    """The probability of ``k + loc`` failures.

    >>> tanx.scipy.stats.nbinom.pmf(jnp.array([-1, 0, 2]), 2, 0.5)
    Array([0.    , 0.25  , 0.1875], dtype=float32)
    """
    return jnp.exp(logpmf(k, n, p, loc))


publish(__name__, shown)
