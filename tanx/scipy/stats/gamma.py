"""tanx.scipy.stats.gamma: the gamma distribution of shape ``a``, on positive numbers.

The density is ``x**(a - 1) * exp(-x)`` divided by its integral, the gamma function.
"""

from ... import lax
from ... import numpy as jnp
from ..._api.jit import library_jit
from ..._base.traceback import shown
from ..._base.window import publish
from ._support import log_share, operands, times_log

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


@library_jit
def logpdf(x, a, loc=0, scale=1):
    """The logarithm of :func:`pdf`.

    >>> tanx.scipy.stats.gamma.logpdf(jnp.array([-1., 1., 2.]), 2.)
    Array([      -inf, -1.       , -1.3068528], dtype=float32)
    """
    x, a, loc, scale = operands("gamma.logpdf", x, a, loc, scale)
    y = (x - loc) / scale
    outside = (y < 0) | (y == jnp.inf)
    y = jnp.where(outside, 1, y)
    inside = times_log(a - 1, y) - y - lax.lgamma(a) - jnp.log(scale)
    return jnp.where(outside, -jnp.inf, inside)


@library_jit
def pdf(x, a, loc=0, scale=1):
    """The density at ``x``.

    >>> tanx.scipy.stats.gamma.pdf(jnp.array([-1., 1., 2.]), 2.)
    Array([0.        , 0.36787942, 0.27067056], dtype=float32)
    """
    return jnp.exp(logpdf(x, a, loc, scale))


@library_jit
def cdf(x, a, loc=0, scale=1):
    """The probability of values up to ``x``.

    >>> tanx.scipy.stats.gamma.cdf(jnp.array([-1., 1., 2.]), 2.)
    Array([0.        , 0.26424113, 0.59399414], dtype=float32)
    """
    x, a, loc, scale = operands("gamma.cdf", x, a, loc, scale)
    return lax.igamma(*jnp.broadcast_arrays(a, jnp.maximum((x - loc) / scale, 0)))


@library_jit
def logcdf(x, a, loc=0, scale=1):
    """The logarithm of :func:`cdf`.

    >>> tanx.scipy.stats.gamma.logcdf(jnp.array([1., 2.]), 2.)
    Array([-1.3308933, -0.5208858], dtype=float32)
    """
    return log_share(cdf(x, a, loc, scale), sf(x, a, loc, scale))


@library_jit
def sf(x, a, loc=0, scale=1):
    """The probability of values beyond ``x``.

    >>> tanx.scipy.stats.gamma.sf(jnp.array([-1., 1., 2.]), 2.)
    Array([1.        , 0.7357589 , 0.40600586], dtype=float32)
    """
    x, a, loc, scale = operands("gamma.sf", x, a, loc, scale)
    return lax.igammac(*jnp.broadcast_arrays(a, jnp.maximum((x - loc) / scale, 0)))


@library_jit
def logsf(x, a, loc=0, scale=1):
    """The logarithm of :func:`sf`.

    >>> tanx.scipy.stats.gamma.logsf(jnp.array([1., 2.]), 2.)
    Array([-0.30685282, -0.9013877 ], dtype=float32)
    """
    return log_share(sf(x, a, loc, scale), cdf(x, a, loc, scale))


publish(__name__, shown)
