"""tanx.scipy.integrate: integrals of sampled functions."""

from .. import numpy as jnp
from .._base.traceback import shown
from .._base.window import publish

__all__ = ["trapezoid"]


def trapezoid(y, x=None, dx=1.0, axis: int = -1):
    """The integral of ``y`` along ``axis`` by the trapezoidal rule.

    The values of ``y`` belong to the points ``x``, a vector along ``axis`` or an array of the shape
    of ``y``; without ``x`` points are ``dx`` apart.

    >>> tanx.scipy.integrate.trapezoid(jnp.array([0., 1., 4.]), x=jnp.array([0., 1., 2.]))
    Array(3., dtype=float32)
    """
    return jnp.trapezoid(y, x, dx, axis)


publish(__name__, shown)
