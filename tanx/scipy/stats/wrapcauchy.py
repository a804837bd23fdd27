"""tanx.scipy.stats.wrapcauchy: a Cauchy distribution wound around the circle, from 0 to ``2 * pi``.

The parameter ``c`` is between 0 and 1; the closer to 1, the closer angles are to 0.
"""

from math import log, pi

from ... import numpy as jnp
from ..._api.jit import library_jit
from ..._base.traceback import shown
from ..._base.window import publish
from ._support import operands

__all__ = ["logpdf", "pdf"]


@library_jit
def logpdf(x, c):
    """The logarithm of :func:`pdf`.

    >>> tanx.scipy.stats.wrapcauchy.logpdf(jnp.array([-1., 0., 3.]), 0.5)
    Array([      -inf, -0.7392647, -2.9320316], dtype=float32)
    """
    x, c = operands("wrapcauchy.logpdf", x, c)
    # 1 + c**2 - 2 * c * cos(x), without cancellation where c is close to 1 and x to 0.
    apart = jnp.square(1 - c) + 4 * c * jnp.square(jnp.sin(0.5 * x))
    inside = jnp.log1p(-c * c) - log(2 * pi) - jnp.log(apart)
    outside = (x < 0) | (x > 2 * pi)
    wrong = (c <= 0) | (c >= 1)
    return jnp.where(wrong, jnp.nan, jnp.where(outside, -jnp.inf, inside))


@library_jit
def pdf(x, c):
    """The density at the angle ``x``.

    >>> tanx.scipy.stats.wrapcauchy.pdf(jnp.array([-1., 0., 3.]), 0.5)
    Array([0.        , 0.47746485, 0.05328866], dtype=float32)
    """
    return jnp.exp(logpdf(x, c))


publish(__name__, shown)
