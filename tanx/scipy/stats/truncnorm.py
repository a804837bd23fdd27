"""tanx.scipy.stats.truncnorm: a normal distribution restricted to values from ``a`` to ``b``.

Both borders are those of the standard normal distribution, before ``loc`` and ``scale``.
"""

from ... import numpy as jnp
from ..._api.jit import library_jit
from ..._base.traceback import shown
from ..._base.window import publish
from ...nn import log1mexp
from ..special import log_ndtr
from . import norm
from ._support import operands

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


@library_jit
def logpdf(x, a, b, loc=0, scale=1):
    """The logarithm of :func:`pdf`.

    >>> tanx.scipy.stats.truncnorm.logpdf(jnp.array([20.5, 21., 30.]), 20., 22.)
    Array([ -7.1267853, -17.501785 ,        -inf], dtype=float32)
    """
    x, a, b, loc, scale = operands("truncnorm.logpdf", x, a, b, loc, scale)
    y = (x - loc) / scale
    outside = (y < a) | (y > b)
    y = jnp.where(outside, 0, y)
    inside = norm.logpdf(y) - jnp.log(scale) - _log_between(a, b)
    return jnp.where(a < b, jnp.where(outside, -jnp.inf, inside), jnp.nan)


@library_jit
def pdf(x, a, b, loc=0, scale=1):
    """The density at ``x``.

    >>> tanx.scipy.stats.truncnorm.pdf(jnp.array([-2., 0., 1.]), -1., 1.)
    Array([0.        , 0.58436865, 0.35443744], dtype=float32)
    """
    return jnp.exp(logpdf(x, a, b, loc, scale))


@library_jit
def logcdf(x, a, b, loc=0, scale=1):
    """The logarithm of :func:`cdf`.

    >>> tanx.scipy.stats.truncnorm.logcdf(jnp.array([-0.5, 0., 1.]), -1., 1.)
    Array([-1.51619  , -0.6931473,  0.       ], dtype=float32)
    """
    x, a, b, loc, scale = operands("truncnorm.logcdf", x, a, b, loc, scale)
    y = (x - loc) / scale
    none, all_of_it = y <= a, y >= b
    y = jnp.where(none | all_of_it, b, y)
    total, below, above = _log_between(a, b), _log_between(a, y), _log_between(y, b)
    most = below > above
    inside = jnp.where(most, jnp.log1p(-jnp.exp(jnp.where(most, above, -jnp.inf) - total)),
                       below - total)
    known = jnp.where(none, -jnp.inf, jnp.where(all_of_it, 0, inside))
    return jnp.where(a < b, known, jnp.nan)


@library_jit
def cdf(x, a, b, loc=0, scale=1):
    """The probability of values up to ``x``.

    >>> tanx.scipy.stats.truncnorm.cdf(jnp.array([-1., 0., 1.]), -1., 1.)
    Array([0.        , 0.49999997, 1.        ], dtype=float32)
    """
    return jnp.exp(logcdf(x, a, b, loc, scale))


@library_jit
def logsf(x, a, b, loc=0, scale=1):
    """The logarithm of :func:`sf`.

    >>> tanx.scipy.stats.truncnorm.logsf(jnp.array([-1., 0., 0.5]), -1., 1.)
    Array([ 0.       , -0.6931473, -1.51619  ], dtype=float32)
    """
    x, a, b, loc, scale = operands("truncnorm.logsf", x, a, b, loc, scale)
    return logcdf(-x, -b, -a, -loc, scale)


@library_jit
def sf(x, a, b, loc=0, scale=1):
    """The probability of values beyond ``x``.

    >>> tanx.scipy.stats.truncnorm.sf(jnp.array([-1., 0., 1.]), -1., 1.)
    Array([1.        , 0.49999997, 0.        ], dtype=float32)
    """
    return jnp.exp(logsf(x, a, b, loc, scale))


def _log_between(a, b):
    """The logarithm of the probability of a normal variable between ``a`` and ``b``.

    An interval above 0 is mirrored, so that the result is the difference of two small tails; an
    interval around 0 is 1 minus two tails.
    """
    above, middle = a > 0, (a <= 0) & (b >= 0)
    low = jnp.where(middle, -2, jnp.where(above, -b, a))
    high = jnp.where(middle, -1, jnp.where(above, -a, b))
    upper = log_ndtr(high)
    tails = norm.cdf(jnp.where(middle, a, -1)) + norm.sf(jnp.where(middle, b, 1))
    apart = upper - log_ndtr(low)
    one_side = upper + log1mexp(jnp.where(apart <= 0, 1, apart))
    return jnp.where(middle, jnp.log1p(-tails), jnp.where(apart <= 0, -jnp.inf, one_side))


publish(__name__, shown)
