"""tanx.scipy.stats.beta: the beta distribution, of numbers from 0 to 1.

The density is ``x**(a - 1) * (1 - x)**(b - 1)`` divided by its integral, the beta function.
"""

from ... import lax
from ... import numpy as jnp
from ..._api.jit import library_jit
from ..._base.traceback import shown
from ..._base.window import publish
from ._factorials import log_beta
from ._support import log_share, operands, times_log, times_log1p

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


@library_jit
def logpdf(x, a, b, loc=0, scale=1):
    """The logarithm of :func:`pdf`.

    >>> tanx.scipy.stats.beta.logpdf(jnp.array([0.25, 0.5, 2.]), 2., 1.)
    Array([-0.6931472,  0.       ,       -inf], dtype=float32)
    """
    x, a, b, loc, scale = operands("beta.logpdf", x, a, b, loc, scale)
    y = (x - loc) / scale
    outside = (y < 0) | (y > 1)
    y = jnp.where(outside, 0.5, y)
    inside = times_log(a - 1, y) + times_log1p(b - 1, -y) - log_beta(a, b) - jnp.log(scale)
    valid = (a > 0) & (b > 0) & (scale > 0)
    return jnp.where(valid, jnp.where(outside, -jnp.inf, inside), jnp.nan)


@library_jit
def pdf(x, a, b, loc=0, scale=1):
    """The density at ``x``.

    >>> tanx.scipy.stats.beta.pdf(jnp.array([0.25, 0.5, 2.]), 2., 1.)
    Array([0.5, 1. , 0. ], dtype=float32)
    """
    return jnp.exp(logpdf(x, a, b, loc, scale))


@library_jit
def cdf(x, a, b, loc=0, scale=1):
    """The probability of values up to ``x``.

    >>> tanx.scipy.stats.beta.cdf(jnp.array([0.25, 0.5, 2.]), 2., 1.)
    Array([0.0625, 0.25  , 1.    ], dtype=float32)
    """
    x, a, b, loc, scale = operands("beta.cdf", x, a, b, loc, scale)
    return lax.betainc(*jnp.broadcast_arrays(a, b, jnp.clip((x - loc) / scale, 0, 1)))


@library_jit
def logcdf(x, a, b, loc=0, scale=1):
    """The logarithm of :func:`cdf`.

    >>> tanx.scipy.stats.beta.logcdf(jnp.array([0.25, 0.5, 2.]), 2., 1.)
    Array([-2.7725887, -1.3862944,  0.       ], dtype=float32)
    """
    return log_share(cdf(x, a, b, loc, scale), sf(x, a, b, loc, scale))


@library_jit
def sf(x, a, b, loc=0, scale=1):
    """The probability of values beyond ``x``.

    >>> tanx.scipy.stats.beta.sf(jnp.array([0.25, 0.5, 2.]), 1., 2.)
    Array([0.5625, 0.25  , 0.    ], dtype=float32)
    """
    x, a, b, loc, scale = operands("beta.sf", x, a, b, loc, scale)
    x, a, b, rest = jnp.broadcast_arrays(
        jnp.clip((x - loc) / scale, 0, 1), a, b, jnp.clip((scale + loc - x) / scale, 0, 1))
    # So close to 0 that 1 - x has lost half of the digits of x.
    near = x < jnp.sqrt(jnp.finfo(x.dtype).eps)
    found = lax.betainc(jnp.where(near, a, b), jnp.where(near, b, a), jnp.where(near, x, rest))
    return jnp.where(near, 1 - found, found)


@library_jit
def logsf(x, a, b, loc=0, scale=1):
    """The logarithm of :func:`sf`.

    >>> tanx.scipy.stats.beta.logsf(jnp.array([0.25, 0.5, 2.]), 1., 2.)
    Array([-0.5753642, -1.3862944,       -inf], dtype=float32)
    """
    return log_share(sf(x, a, b, loc, scale), cdf(x, a, b, loc, scale))


publish(__name__, shown)
