"""tanx.scipy.stats.uniform: numbers from ``loc`` to ``loc + scale`` of equal density."""

from ... import numpy as jnp
from ..._api.jit import library_jit
from ..._base.traceback import shown
from ..._base.window import publish
from ._support import operands, probability, standard

__all__ = ["cdf", "logpdf", "pdf", "ppf"]


@library_jit
def logpdf(x, loc=0, scale=1):
    """The logarithm of :func:`pdf`.

    >>> tanx.scipy.stats.uniform.logpdf(jnp.array([-1., 0., 2.]), 0., 2.)
    Array([      -inf, -0.6931472, -0.6931472], dtype=float32)
    """
    x, loc, scale = operands("uniform.logpdf", x, loc, scale)
    outside = (x < loc) | (x > loc + scale)
    inside = jnp.where(jnp.isnan(x), jnp.nan, -jnp.log(scale))
    return jnp.where(outside, -jnp.inf, inside)


@library_jit
def pdf(x, loc=0, scale=1):
    """The density at ``x``.

    >>> tanx.scipy.stats.uniform.pdf(jnp.array([-1., 0., 2.]), 0., 2.)
    Array([0. , 0.5, 0.5], dtype=float32)
    """
    return jnp.exp(logpdf(x, loc, scale))


@library_jit
def cdf(x, loc=0, scale=1):
    """The probability of values up to ``x``.

    >>> tanx.scipy.stats.uniform.cdf(jnp.array([-1., 0.5, 3.]), 0., 2.)
    Array([0.  , 0.25, 1.  ], dtype=float32)
    """
    return jnp.clip(standard("uniform.cdf", x, loc, scale), 0, 1)


@library_jit
def ppf(q, loc=0, scale=1):
    """The value up to which the probability is ``q``.

    >>> tanx.scipy.stats.uniform.ppf(jnp.array([0., 0.25, 1.]), 0., 2.)
    Array([0. , 0.5, 2. ], dtype=float32)
    """
    q, loc, scale = operands("uniform.ppf", q, loc, scale)
    return loc + scale * probability(q)


publish(__name__, shown)
