"""tanx.scipy.stats.gennorm: the generalised normal distribution, of density ``exp(-|x|**beta)``.

It is Laplace's distribution for ``beta`` 1 and a normal one for 2.
"""

from ... import lax
from ... import numpy as jnp
from ..._api.jit import library_jit
from ..._base.traceback import shown
from ..._base.window import publish
from ._support import operands

__all__ = ["cdf", "logpdf", "pdf"]


@library_jit
def logpdf(x, beta):
    """The logarithm of :func:`pdf`.

    >>> tanx.scipy.stats.gennorm.logpdf(jnp.array([-1., 0., 2.]), 2.)
    Array([-1.5723649, -0.5723649, -4.572365 ], dtype=float32)
    """
    x, beta = operands("gennorm.logpdf", x, beta)
    return jnp.log(0.5 * beta) - lax.lgamma(1 / beta) - _power(x, beta)


@library_jit
def pdf(x, beta):
    """The density at ``x``.

    >>> tanx.scipy.stats.gennorm.pdf(jnp.array([-1., 0., 2.]), 2.)
    Array([0.20755374, 0.5641896 , 0.01033349], dtype=float32)
    """
    return jnp.exp(logpdf(x, beta))


@library_jit
def cdf(x, beta):
    """The probability of values up to ``x``.

    >>> tanx.scipy.stats.gennorm.cdf(jnp.array([-1., 0., 2.]), 2.)
    Array([0.0786496, 0.5      , 0.9976611], dtype=float32)
    """
    x, beta = operands("gennorm.cdf", x, beta)
    tail = 0.5 * lax.igammac(*jnp.broadcast_arrays(1 / beta, _power(x, beta)))
    return jnp.where(x > 0, 1 - tail, tail)


def _power(x, beta):
    """``|x|**beta``, whose derivatives at 0 are 0."""
    middle = x == 0
    return jnp.where(middle, 0, jnp.abs(jnp.where(middle, 1, x)) ** beta)


publish(__name__, shown)
