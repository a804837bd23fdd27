"""tanx.scipy.stats.t: Student's distribution with ``df`` degrees of freedom.

The density is ``(1 + x**2 / df) ** (-(df + 1) / 2)`` divided by its integral; for many degrees of
freedom it tends to that of a normal distribution.
"""

from math import log, pi

from ... import numpy as jnp
from ..._api.jit import library_jit
from ..._base.traceback import shown
from ..._base.window import publish
from ._factorials import log_half_step
from ._support import log1p_square, operands

__all__ = ["logpdf", "pdf"]


@library_jit
def logpdf(x, df, loc=0, scale=1):
    """The logarithm of :func:`pdf`.

    >>> tanx.scipy.stats.t.logpdf(jnp.array([0., 1., 1e30]), 3.)
    Array([  -1.0008888,   -1.5762529, -275.11386  ], dtype=float32)
    """
    x, df, loc, scale = operands("t.logpdf", x, df, loc, scale)
    y = (x - loc) / scale
    normal = df == jnp.inf
    finite = jnp.where(normal, 1, df)
    decay = 0.5 * (finite + 1) * log1p_square(y / jnp.sqrt(finite))
    constant = log_half_step(0.5 * df) - 0.5 * log(2 * pi) - jnp.log(scale)
    return constant - jnp.where(normal, 0.5 * y * y, decay)


@library_jit
def pdf(x, df, loc=0, scale=1):
    """The density at ``x``.

    >>> tanx.scipy.stats.t.pdf(jnp.array([0., 1., 2.]), 3.)
    Array([0.36755258, 0.20674834, 0.06750967], dtype=float32)
    """
    return jnp.exp(logpdf(x, df, loc, scale))


publish(__name__, shown)
