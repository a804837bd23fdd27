"""tanx.scipy.stats.gumbel_l: Gumbel's distribution of minima, ``sf(x) = exp(-exp(x))``.

It is the distribution of maxima with the opposite sign.
"""

from ... import numpy as jnp
from ..._api.jit import library_jit
from ..._base.traceback import shown
from ..._base.window import publish
from . import gumbel_r
from ._support import operands, probability

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def _mirrored(name: str, other: str, x, loc, scale):
    """The function ``other`` of the distribution of maxima, at ``-x``."""
    x, loc, scale = operands(f"gumbel_l.{name}", x, loc, scale)
    return getattr(gumbel_r, other)(-x, -loc, scale)


@library_jit
def logpdf(x, loc=0, scale=1):
    """The logarithm of :func:`pdf`.

    >>> tanx.scipy.stats.gumbel_l.logpdf(jnp.array([-1., 0., 2.]))
    Array([-1.3678794, -1.       , -5.3890557], dtype=float32)
    """
    return _mirrored("logpdf", "logpdf", x, loc, scale)


@library_jit
def pdf(x, loc=0, scale=1):
    """The density at ``x``.

    >>> tanx.scipy.stats.gumbel_l.pdf(jnp.array([-1., 0., 2.]))
    Array([0.2546464 , 0.36787942, 0.00456628], dtype=float32)
    """
    return _mirrored("pdf", "pdf", x, loc, scale)


@library_jit
def cdf(x, loc=0, scale=1):
    """The probability of values up to ``x``.

    >>> tanx.scipy.stats.gumbel_l.cdf(jnp.array([-30., 0., 2.]))
    Array([9.3576229e-14, 6.3212055e-01, 9.9938202e-01], dtype=float32)
    """
    return _mirrored("cdf", "sf", x, loc, scale)


@library_jit
def logcdf(x, loc=0, scale=1):
    """The logarithm of :func:`cdf`.

    >>> tanx.scipy.stats.gumbel_l.logcdf(jnp.array([-1000., 0., 2.]))
    Array([-1.0000000e+03, -4.5867509e-01, -6.1817025e-04], dtype=float32)
    """
    return _mirrored("logcdf", "logsf", x, loc, scale)


@library_jit
def sf(x, loc=0, scale=1):
    """The probability of values beyond ``x``.

    >>> tanx.scipy.stats.gumbel_l.sf(jnp.array([-1., 0., 2.]))
    Array([6.9220066e-01, 3.6787942e-01, 6.1797921e-04], dtype=float32)
    """
    return _mirrored("sf", "cdf", x, loc, scale)


@library_jit
def logsf(x, loc=0, scale=1):
    """The logarithm of :func:`sf`.

    >>> tanx.scipy.stats.gumbel_l.logsf(jnp.array([-1., 0., 2.]))
    Array([-0.36787942, -1.        , -7.3890557 ], dtype=float32)
    """
    return _mirrored("logsf", "logcdf", x, loc, scale)


@library_jit
def ppf(p, loc=0, scale=1):
    """The value up to which the probability is ``p``.

    >>> tanx.scipy.stats.gumbel_l.ppf(jnp.array([0., 0.5, 1.]))
    Array([       -inf, -0.36651292,         inf], dtype=float32)
    """
    p, loc, scale = operands("gumbel_l.ppf", p, loc, scale)
    return loc + scale * jnp.log(-jnp.log1p(-probability(p)))


publish(__name__, shown)
