"""tanx.scipy.stats.logistic: the logistic distribution, ``cdf(x) = 1 / (1 + exp(-x))``."""

from ... import lax
from ... import numpy as jnp
from ..._api.jit import library_jit
from ..._base.traceback import shown
from ..._base.window import publish
from ..special import logit
from ._support import operands, standard

__all__ = ["cdf", "isf", "logpdf", "pdf", "ppf", "sf"]


@library_jit
def logpdf(x, loc=0, scale=1):
    """The logarithm of :func:`pdf`.

    >>> tanx.scipy.stats.logistic.logpdf(jnp.array([-1., 0., 100.]))
    Array([  -1.6265233,   -1.3862944, -100.       ], dtype=float32)
    """
    x, loc, scale = operands("logistic.logpdf", x, loc, scale)
    y = jnp.abs((x - loc) / scale)
    return -y - 2 * jnp.log1p(jnp.exp(-y)) - jnp.log(scale)


@library_jit
def pdf(x, loc=0, scale=1):
    """The density at ``x``.

    >>> tanx.scipy.stats.logistic.pdf(jnp.array([-1., 0., 2.]))
    Array([0.19661196, 0.25      , 0.10499359], dtype=float32)
    """
    return jnp.exp(logpdf(x, loc, scale))


@library_jit
def cdf(x, loc=0, scale=1):
    """The probability of values up to ``x``.

    >>> tanx.scipy.stats.logistic.cdf(jnp.array([-50., 0., 2.]))
    Array([1.9287499e-22, 5.0000000e-01, 8.8079703e-01], dtype=float32)
    """
    return lax.logistic(standard("logistic.cdf", x, loc, scale))


@library_jit
def sf(x, loc=0, scale=1):
    """The probability of values beyond ``x``.

    >>> tanx.scipy.stats.logistic.sf(jnp.array([-1., 0., 50.]))
    Array([7.3105860e-01, 5.0000000e-01, 1.9287499e-22], dtype=float32)
    """
    return lax.logistic(-standard("logistic.sf", x, loc, scale))


@library_jit
def ppf(x, loc=0, scale=1):
    """The value up to which the probability is ``x``.

    >>> tanx.scipy.stats.logistic.ppf(jnp.array([0.25, 0.5, 1.]))
    Array([-1.0986123,  0.       ,        inf], dtype=float32)
    """
    x, loc, scale = operands("logistic.ppf", x, loc, scale)
    return loc + scale * logit(x)


@library_jit
def isf(x, loc=0, scale=1):
    """The value beyond which the probability is ``x``.

    >>> tanx.scipy.stats.logistic.isf(jnp.array([0.25, 0.5, 1.]))
    Array([1.0986123, 0.       ,      -inf], dtype=float32)
    """
    x, loc, scale = operands("logistic.isf", x, loc, scale)
    return loc - scale * logit(x)


publish(__name__, shown)
