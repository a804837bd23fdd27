"""tanx.scipy.stats.gumbel_r: Gumbel's distribution of maxima, ``cdf(x) = exp(-exp(-x))``."""

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

    >>> tanx.scipy.stats.gumbel_r.logpdf(jnp.array([-1., 0., 2.]))
    Array([-1.718282 , -1.       , -2.1353352], dtype=float32)
    """
    x, loc, scale = operands("gumbel_r.logpdf", x, loc, scale)
    y = (x - loc) / scale
    outside = y == -jnp.inf
    y = jnp.where(outside, 0, y)
    return jnp.where(outside, -jnp.inf, -y - jnp.exp(-y) - jnp.log(scale))


@library_jit
def pdf(x, loc=0, scale=1):
    """The density at ``x``.

    >>> tanx.scipy.stats.gumbel_r.pdf(jnp.array([-1., 0., 2.]))
    Array([0.17937404, 0.36787942, 0.11820496], dtype=float32)
    """
    return jnp.exp(logpdf(x, loc, scale))


@library_jit
def cdf(x, loc=0, scale=1):
    """The probability of values up to ``x``.

    >>> tanx.scipy.stats.gumbel_r.cdf(jnp.array([-1., 0., 2.]))
    Array([0.06598803, 0.36787942, 0.87342304], dtype=float32)
    """
    return jnp.exp(logcdf(x, loc, scale))


@library_jit
def logcdf(x, loc=0, scale=1):
    """The logarithm of :func:`cdf`.

    >>> tanx.scipy.stats.gumbel_r.logcdf(jnp.array([-1., 0., 2.]))
    Array([-2.718282  , -1.        , -0.13533528], dtype=float32)
    """
    return -jnp.exp(-standard("gumbel_r.logcdf", x, loc, scale))


@library_jit
def sf(x, loc=0, scale=1):
    """The probability of values beyond ``x``.

    >>> tanx.scipy.stats.gumbel_r.sf(jnp.array([-1., 0., 30.]))
    Array([9.3401200e-01, 6.3212055e-01, 9.3576229e-14], dtype=float32)
    """
    return -jnp.expm1(logcdf(x, loc, scale))


@library_jit
def logsf(x, loc=0, scale=1):
    """The logarithm of :func:`sf`.

    >>> tanx.scipy.stats.gumbel_r.logsf(jnp.array([-1., 0., 1000.]))
    Array([-6.826602e-02, -4.586751e-01, -1.000000e+03], dtype=float32)
    """
    return log_of_tail(-standard("gumbel_r.logsf", x, loc, scale))


@library_jit
def ppf(p, loc=0, scale=1):
    """The value up to which the probability is ``p``.

    >>> tanx.scipy.stats.gumbel_r.ppf(jnp.array([0., 0.5, 1.]))
    Array([      -inf, 0.36651292,        inf], dtype=float32)
    """
    p, loc, scale = operands("gumbel_r.ppf", p, loc, scale)
    return loc - scale * jnp.log(-jnp.log(probability(p)))


def log_of_tail(y):
    """``log(1 - exp(-exp(y)))``, which tends to ``y`` for small ``y``."""
    far = y < -18  # half of exp(y) squared is then below the rounding of y in float64
    rate = jnp.exp(y)
    return jnp.where(far, y - rate / 2, log1mexp(jnp.where(far, 1, rate)))


publish(__name__, shown)
