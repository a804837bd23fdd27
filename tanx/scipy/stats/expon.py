"""tanx.scipy.stats.expon: the exponential distribution, of density ``exp(-x)`` from 0 up."""

from ... import numpy as jnp
from ..._api.jit import library_jit
from ..._base.traceback import shown
from ..._base.window import publish
from ...nn import log1mexp
from ._support import operands, probability, standard

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


@library_jit
def logpdf(x, loc=0, scale=1):
    """The logarithm of :func:`pdf`.

    >>> tanx.scipy.stats.expon.logpdf(jnp.array([-1., 0., 2.]))
    Array([-inf,  -0.,  -2.], dtype=float32)
    """
    x, loc, scale = operands("expon.logpdf", x, loc, scale)
    y = (x - loc) / scale
    return jnp.where(y < 0, -jnp.inf, -y - jnp.log(scale))


@library_jit
def pdf(x, loc=0, scale=1):
    """The density at ``x``.

    >>> tanx.scipy.stats.expon.pdf(jnp.array([-1., 0., 2.]))
    Array([0.        , 1.        , 0.13533528], dtype=float32)
    """
    return jnp.exp(logpdf(x, loc, scale))


@library_jit
def cdf(x, loc=0, scale=1):
    """The probability of values up to ``x``.

    >>> tanx.scipy.stats.expon.cdf(jnp.array([-1., 1e-9, 2.]))
    Array([0.0000000e+00, 9.9999997e-10, 8.6466473e-01], dtype=float32)
    """
    return -jnp.expm1(-_above(standard("expon.cdf", x, loc, scale)))


@library_jit
def logcdf(x, loc=0, scale=1):
    """The logarithm of :func:`cdf`.

    >>> tanx.scipy.stats.expon.logcdf(jnp.array([-1., 1e-9, 20.]))
    Array([          -inf, -2.0723267e+01, -2.0611537e-09], dtype=float32)
    """
    y = standard("expon.logcdf", x, loc, scale)
    outside = y <= 0
    return jnp.where(outside, -jnp.inf, log1mexp(jnp.where(outside, 1, y)))


@library_jit
def sf(x, loc=0, scale=1):
    """The probability of values beyond ``x``.

    >>> tanx.scipy.stats.expon.sf(jnp.array([-1., 0., 2.]))
    Array([1.        , 1.        , 0.13533528], dtype=float32)
    """
    return jnp.exp(logsf(x, loc, scale))


@library_jit
def logsf(x, loc=0, scale=1):
    """The logarithm of :func:`sf`.

    >>> tanx.scipy.stats.expon.logsf(jnp.array([-1., 0., 2.]))
    Array([ 0.,  0., -2.], dtype=float32)
    """
    return 0 - _above(standard("expon.logsf", x, loc, scale))


@library_jit
def ppf(q, loc=0, scale=1):
    """The value up to which the probability is ``q``.

    >>> tanx.scipy.stats.expon.ppf(jnp.array([0., 0.5, 1.]))
    Array([0.       , 0.6931472,       inf], dtype=float32)
    """
    q, loc, scale = operands("expon.ppf", q, loc, scale)
    return loc - scale * jnp.log1p(-probability(q))


def _above(y):
    """``y`` where it is in the support, and 0 else."""
    return jnp.where(y < 0, 0, y)


publish(__name__, shown)
