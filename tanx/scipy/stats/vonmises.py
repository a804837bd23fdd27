"""tanx.scipy.stats.vonmises: angles around 0, of density ``exp(kappa * cos(x))``."""

from math import log, pi

from ... import lax
from ... import numpy as jnp
from ..._api.jit import library_jit
from ..._base.traceback import shown
from ..._base.window import publish
from ._support import operands

__all__ = ["logpdf", "pdf"]


@library_jit
def logpdf(x, kappa):
    """The logarithm of :func:`pdf`.

    >>> tanx.scipy.stats.vonmises.logpdf(jnp.array([0., 1., 3.]), 1000.)
    Array([    2.5348141,  -457.16293  , -1987.4578   ], dtype=float32)
    """
    x, kappa = operands("vonmises.logpdf", x, kappa)
    # cos(x) - 1, without losing its digits where x is small.
    fall = -2 * jnp.square(jnp.sin(0.5 * x))
    inside = kappa * fall - log(2 * pi) - jnp.log(lax.bessel_i0e(kappa))
    return jnp.where(kappa < 0, jnp.nan, inside)


@library_jit
def pdf(x, kappa):
    """The density at the angle ``x`` on a circle; whole turns make no difference.

    >>> tanx.scipy.stats.vonmises.pdf(jnp.array([0., 1., 2.]), 1.)
    Array([0.3417105 , 0.21578148, 0.08291509], dtype=float32)
    """
    return jnp.exp(logpdf(x, kappa))


publish(__name__, shown)
