"""tanx.scipy.stats.multinomial: how often each of several results occurred in ``n`` trials."""

import numpy as np

from ... import dtypes
from ... import numpy as jnp
from ..._api.jit import library_jit
from ..._base.traceback import shown
from ..._base.window import publish
from ...errors import explain
from ...numpy._promotion import as_operand, typeof
from ._factorials import log_factorial
from ._support import times_log

__all__ = ["logpmf", "pmf"]


@library_jit
def logpmf(x, n, p):
    """The logarithm of :func:`pmf`.

    >>> tanx.scipy.stats.multinomial.logpmf(jnp.array([1, 2, 3]), 6, jnp.array([0.25, 0.25, 0.5]))
    Array(-2.14398, dtype=float32)
    """
    x, n, p = (as_operand("multinomial.logpmf", operand) for operand in (x, n, p))
    if not all(dtypes.issubdtype(count.dtype, np.integer) for count in (x, n)):
        raise ValueError(explain("tanx.scipy.stats.multinomial.logpmf",
                                 "x and n are numbers of trials: integers.",
                                 f"x: {typeof(x)}", f"n: {typeof(n)}"))
    p = p.astype(dtypes.to_inexact_dtype(p.dtype))
    outside = (x < 0).any(-1) | (x.sum(-1) != n)
    x = jnp.where(x < 0, 0, x).astype(p.dtype)
    inside = log_factorial(n.astype(p.dtype)) + (times_log(x, p) - log_factorial(x)).sum(-1)
    return jnp.where(outside, -jnp.inf, inside)


@library_jit
def pmf(x, n, p):
    """The probability of the counts ``x``, in the last axis, of results of probabilities ``p``.

    Counts that do not add up to ``n`` have probability 0.

    >>> tanx.scipy.stats.multinomial.pmf(jnp.array([1, 2, 3]), 6, jnp.array([0.25, 0.25, 0.5]))
    Array(0.11718751, dtype=float32)
    """
    return jnp.exp(logpmf(x, n, p))


publish(__name__, shown)
