"""tanx.scipy.stats.laplace: Laplace's distribution, of density ``exp(-|x|) / 2``."""

from math import log

from ... import numpy as jnp
from ..._api.jit import library_jit
from ..._base.traceback import shown
from ..._base.window import publish
from ._support import operands, standard

__all__ = ["cdf", "logpdf", "pdf"]


@library_jit
def logpdf(x, loc=0, scale=1):
    """The logarithm of :func:`pdf`.

    >>> tanx.scipy.stats.laplace.logpdf(jnp.array([-1., 0., 2.]))
    Array([-1.6931472, -0.6931472, -2.6931472], dtype=float32)
    """
    x, loc, scale = operands("laplace.logpdf", x, loc, scale)
    return -log(2) - jnp.log(scale) - jnp.abs((x - loc) / scale)


@library_jit
def pdf(x, loc=0, scale=1):
    """The density at ``x``.

    >>> tanx.scipy.stats.laplace.pdf(jnp.array([-1., 0., 2.]))
    Array([0.18393971, 0.5       , 0.06766764], dtype=float32)
    """
    return jnp.exp(logpdf(x, loc, scale))


@library_jit
def cdf(x, loc=0, scale=1):
    """The probability of values up to ``x``.

    >>> tanx.scipy.stats.laplace.cdf(jnp.array([-1., 0., 2.]))
    Array([0.18393971, 0.5       , 0.93233234], dtype=float32)
    """
    y = standard("laplace.cdf", x, loc, scale)
    low = y < 0
    tail = 0.5 * jnp.exp(jnp.where(low, y, -y))
    return jnp.where(low, tail, 1 - tail)


publish(__name__, shown)
