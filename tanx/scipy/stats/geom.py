"""tanx.scipy.stats.geom: the number of trials of probability ``p`` up to the first success."""

from ... import numpy as jnp
from ..._api.jit import library_jit
from ..._base.traceback import shown
from ..._base.window import publish
from ._support import operands, times_log1p

__all__ = ["logpmf", "pmf"]


@library_jit
def logpmf(k, p, loc=0):
    """The logarithm of :func:`pmf`.

    >>> tanx.scipy.stats.geom.logpmf(jnp.array([0, 1, 3]), 0.5)
    Array([      -inf, -0.6931472, -2.0794415], dtype=float32)
    """
    k, p, loc = operands("geom.logpmf", k, p, loc)
    y = k - loc
    outside = (y <= 0) | (y == jnp.inf)
    y = jnp.where(outside, 1, y)
    return jnp.where(outside, -jnp.inf, jnp.log(p) + times_log1p(y - 1, -p))


@library_jit
def pmf(k, p, loc=0):
    """The probability that trial ``k + loc`` is the first success.

    >>> tanx.scipy.stats.geom.pmf(jnp.array([0, 1, 3]), 0.5)
    Array([0.   , 0.5  , 0.125], dtype=float32)
    """
    return jnp.exp(logpmf(k, p, loc))


publish(__name__, shown)
