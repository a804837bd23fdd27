"""tanx.scipy.stats.chi2: the sum of the squares of ``df`` standard normal variables.

It is a gamma distribution, of shape ``df / 2`` and scale 2.
"""

from ... import numpy as jnp
from ..._api.jit import library_jit
from ..._base.traceback import shown
from ..._base.window import publish
from . import gamma
from ._support import operands

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


def _of_gamma(name: str, x, df, loc, scale):
    """The function of this name of the gamma distribution."""
    x, df, loc, scale = operands(f"chi2.{name}", x, df, loc, scale)
    return getattr(gamma, name)(x, df / 2, loc, 2 * scale)


@library_jit
def logpdf(x, df, loc=0, scale=1):
    """The logarithm of :func:`pdf`.

    >>> tanx.scipy.stats.chi2.logpdf(jnp.array([-1., 0., 2.]), 2)
    Array([      -inf, -0.6931472, -1.6931472], dtype=float32)
    """
    return _of_gamma("logpdf", x, df, loc, scale)


@library_jit
def pdf(x, df, loc=0, scale=1):
    """The density at ``x``.

    >>> tanx.scipy.stats.chi2.pdf(jnp.array([-1., 0., 2.]), 2)
    Array([0.        , 0.5       , 0.18393971], dtype=float32)
    """
    return jnp.exp(logpdf(x, df, loc, scale))


@library_jit
def cdf(x, df, loc=0, scale=1):
    """The probability of values up to ``x``.

    >>> tanx.scipy.stats.chi2.cdf(jnp.array([-1., 0., 2.]), 2)
    Array([0.        , 0.        , 0.63212055], dtype=float32)
    """
    return _of_gamma("cdf", x, df, loc, scale)


@library_jit
def logcdf(x, df, loc=0, scale=1):
    """The logarithm of :func:`cdf`.

    >>> tanx.scipy.stats.chi2.logcdf(jnp.array([1., 2.]), 2)
    Array([-0.93275213, -0.45867515], dtype=float32)
    """
    return _of_gamma("logcdf", x, df, loc, scale)


@library_jit
def sf(x, df, loc=0, scale=1):
    """The probability of values beyond ``x``.

    >>> tanx.scipy.stats.chi2.sf(jnp.array([-1., 0., 2.]), 2)
    Array([1.        , 1.        , 0.36787945], dtype=float32)
    """
    return _of_gamma("sf", x, df, loc, scale)


@library_jit
def logsf(x, df, loc=0, scale=1):
    """The logarithm of :func:`sf`.

    >>> tanx.scipy.stats.chi2.logsf(jnp.array([-1., 0., 2.]), 2)
    Array([ 0.,  0., -1.], dtype=float32)
    """
    return _of_gamma("logsf", x, df, loc, scale)


publish(__name__, shown)
