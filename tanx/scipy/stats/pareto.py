"""tanx.scipy.stats.pareto: Pareto's distribution, ``sf(x) = x**-b`` from 1 up."""

from ... import numpy as jnp
from ..._api.jit import library_jit
from ..._base.traceback import shown
from ..._base.window import publish
from ...nn import log1mexp
from ._support import operands, probability

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


@library_jit
def logpdf(x, b, loc=0, scale=1):
    """The logarithm of :func:`pdf`.

    >>> tanx.scipy.stats.pareto.logpdf(jnp.array([0.5, 1., 2.]), 2.)
    Array([      -inf,  0.6931472, -1.3862944], dtype=float32)
    """
    x, b, loc, scale = operands("pareto.logpdf", x, b, loc, scale)
    y = (x - loc) / scale
    outside = y < 1
    inside = jnp.log(b / scale) - (b + 1) * jnp.log(jnp.where(outside, 1, y))
    return jnp.where(outside, -jnp.inf, inside)


@library_jit
def pdf(x, b, loc=0, scale=1):
    """The density at ``x``.

    >>> tanx.scipy.stats.pareto.pdf(jnp.array([0.5, 1., 2.]), 2.)
    Array([0.  , 2.  , 0.25], dtype=float32)
    """
    return jnp.exp(logpdf(x, b, loc, scale))


@library_jit
def cdf(x, b, loc=0, scale=1):
    """The probability of values up to ``x``.

    >>> tanx.scipy.stats.pareto.cdf(jnp.array([0.5, 1., 2.]), 2.)
    Array([0.  , 0.  , 0.75], dtype=float32)
    """
    return -jnp.expm1(logsf(x, b, loc, scale))


@library_jit
def logcdf(x, b, loc=0, scale=1):
    """The logarithm of :func:`cdf`.

    >>> tanx.scipy.stats.pareto.logcdf(jnp.array([1.5, 2., 1e6]), 2.)
    Array([-5.8778661e-01, -2.8768206e-01, -9.9999967e-13], dtype=float32)
    """
    rate = -logsf(x, b, loc, scale)
    outside = rate <= 0
    return jnp.where(outside, -jnp.inf, log1mexp(jnp.where(outside, 1, rate)))


@library_jit
def sf(x, b, loc=0, scale=1):
    """The probability of values beyond ``x``.

    >>> tanx.scipy.stats.pareto.sf(jnp.array([0.5, 1., 2.]), 2.)
    Array([1.  , 1.  , 0.25], dtype=float32)
    """
    return jnp.exp(logsf(x, b, loc, scale))


@library_jit
def logsf(x, b, loc=0, scale=1):
    """The logarithm of :func:`sf`.

    >>> tanx.scipy.stats.pareto.logsf(jnp.array([0.5, 1., 2.]), 2.)
    Array([-0.       , -0.       , -1.3862944], dtype=float32)
    """
    x, b, loc, scale = operands("pareto.logsf", x, b, loc, scale)
    y = (x - loc) / scale
    return -b * jnp.log(jnp.where(y < 1, 1, y))


@library_jit
def ppf(q, b, loc=0, scale=1):
    """The value up to which the probability is ``q``.

    >>> tanx.scipy.stats.pareto.ppf(jnp.array([0., 0.75, 1.]), 2.)
    Array([ 1.,  2., inf], dtype=float32)
    """
    q, b, loc, scale = operands("pareto.ppf", q, b, loc, scale)
    return loc + scale * jnp.exp(-jnp.log1p(-probability(q)) / b)


publish(__name__, shown)
