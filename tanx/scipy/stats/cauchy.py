"""tanx.scipy.stats.cauchy: the Cauchy distribution, of density ``1 / (pi * (1 + x**2))``."""

from math import log, pi

from ... import lax
from ... import numpy as jnp
from ..._api.jit import library_jit
from ..._base.traceback import shown
from ..._base.window import publish
from ..._control.custom_jvp import custom_jvp
from ._support import log1p_square, operands, probability, standard

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


@library_jit
def logpdf(x, loc=0, scale=1):
    """The logarithm of :func:`pdf`.

    >>> tanx.scipy.stats.cauchy.logpdf(jnp.array([0., 1., 1e30]))
    Array([  -1.1447299,   -1.837877 , -139.29984  ], dtype=float32)
    """
    x, loc, scale = operands("cauchy.logpdf", x, loc, scale)
    return -log(pi) - jnp.log(scale) - log1p_square((x - loc) / scale)


@library_jit
def pdf(x, loc=0, scale=1):
    """The density at ``x``.

    >>> tanx.scipy.stats.cauchy.pdf(jnp.array([0., 1., 2.]))
    Array([0.31830993, 0.15915497, 0.06366198], dtype=float32)
    """
    return jnp.exp(logpdf(x, loc, scale))


@library_jit
def cdf(x, loc=0, scale=1):
    """The probability of values up to ``x``.

    >>> tanx.scipy.stats.cauchy.cdf(jnp.array([-1e10, 0., 1.]))
    Array([3.183099e-11, 5.000000e-01, 7.500000e-01], dtype=float32)
    """
    return _beyond(-standard("cauchy.cdf", x, loc, scale))


@library_jit
def sf(x, loc=0, scale=1):
    """The probability of values beyond ``x``.

    >>> tanx.scipy.stats.cauchy.sf(jnp.array([0., 1., 1e10]))
    Array([5.0000000e-01, 2.4999999e-01, 3.1830989e-11], dtype=float32)
    """
    return _beyond(standard("cauchy.sf", x, loc, scale))


@library_jit
def logcdf(x, loc=0, scale=1):
    """The logarithm of :func:`cdf`.

    >>> tanx.scipy.stats.cauchy.logcdf(jnp.array([-1e10, 0., 1e10]))
    Array([-2.4170582e+01, -6.9314718e-01, -3.1830989e-11], dtype=float32)
    """
    return _log_beyond(-standard("cauchy.logcdf", x, loc, scale))


@library_jit
def logsf(x, loc=0, scale=1):
    """The logarithm of :func:`sf`.

    >>> tanx.scipy.stats.cauchy.logsf(jnp.array([-1e10, 0., 1e10]))
    Array([-3.1830989e-11, -6.9314718e-01, -2.4170582e+01], dtype=float32)
    """
    return _log_beyond(standard("cauchy.logsf", x, loc, scale))


@library_jit
def ppf(q, loc=0, scale=1):
    """The value up to which the probability is ``q``.

    >>> tanx.scipy.stats.cauchy.ppf(jnp.array([1e-10, 0.5, 0.75]))
    Array([-3.1830986e+09,  0.0000000e+00,  1.0000000e+00], dtype=float32)
    """
    q, loc, scale = operands("cauchy.ppf", q, loc, scale)
    return loc + scale * _quantile(probability(q))


@library_jit
def isf(q, loc=0, scale=1):
    """The value beyond which the probability is ``q``.

    >>> tanx.scipy.stats.cauchy.isf(jnp.array([1e-10, 0.5, 0.75]))
    Array([ 3.1830986e+09,  0.0000000e+00, -1.0000000e+00], dtype=float32)
    """
    q, loc, scale = operands("cauchy.isf", q, loc, scale)
    return loc - scale * _quantile(probability(q))


_ARC = {4: (0.3183098813356403, -0.10610246795012744, 0.06363848621733854, -0.04521161944717303,
            0.03387119522640456, -0.023887004155957868, 0.013589228512473838,
            -0.005114855594805548, 0.0009071596639350163),
        8: (0.31830988618379064, -0.10610329539458982, 0.06366197723579146, -0.04547284083082029,
            0.03536776361397738, -0.028937235504667102, 0.024485057285794674, -0.0212179826950119,
            0.018707525152157244, -0.016675090056348492, 0.014872354243985758,
            -0.01301593749653266, 0.010825314812218323, -0.00819684497012515,
            0.005380722320142799, -0.002906268279543428, 0.0012182158063011464,
            -0.0003671959242066896, 7.024657814904833e-05, -6.372080462985397e-06)}
"""Polynomials in s² for ``arctan(s) / (pi * s)`` up to s = 1, by the bytes of a float: relative
errors of 2e-8 and 3e-17."""


@custom_jvp
def _beyond(y):
    """The angle whose cotangent is ``y``, as a share of half a turn; accurate for small shares.

    With arctan it would need two divisions. Three ranges with shorter polynomials took a third more
    time, for the choices among them (a million values of float32 on one core with AVX-512).
    """
    great = jnp.abs(y) > 1
    slope = jnp.where(great, 1, -y) / jnp.where(great, y, 1)
    part = slope * lax.polynomial(slope * slope, _ARC[max(4, y.dtype.itemsize)])
    return part + jnp.where(great, (y < 0).astype(y.dtype), 0.5)


@_beyond.defjvp
def _beyond_jvp(primals, tangents):
    (y,), (dy,) = primals, tangents
    return _beyond(y), dy * (-1 / pi) / (1 + jnp.square(y))


def _log_beyond(y):
    """The logarithm of :func:`_beyond`: one for both sides, because two take twice the time.

    If the share is close to 1, the rounding error of 1 - rest is added back.
    """
    rest, low = _beyond(jnp.abs(y)), y < 0
    share = jnp.where(low, 1 - rest, rest)
    return jnp.log(share) - jnp.where(low, ((share - 1) + rest) / share, 0)


def _quantile(q):
    """The tangent in the middle, and the cotangent of the share beyond in the tails."""
    middle = jnp.abs(q - 0.5) < 0.25
    share = jnp.where(q < 0.5, q, -(1 - q))  # minus zero for 1
    tail = -1 / jnp.tan(pi * jnp.where(middle, 0.25, share))
    return jnp.where(middle, jnp.tan(pi * jnp.where(middle, q - 0.5, 0)), tail)


publish(__name__, shown)
