"""The error function, its complement, and their inverses."""

from __future__ import annotations

from ... import lax
from ._operands import inexact_operands
from ._piecewise import beyond
from ._tables import ERFCX

__all__ = ["erf", "erfc", "erfinv"]


def erf(x):
    """The error function, the integral of ``2 / sqrt(pi) * exp(-t**2)`` from 0 to ``x``.

    >>> tanx.scipy.special.erf(jnp.array([0.0, 1.0]))
    Array([0.       , 0.8427008], dtype=float32)
    """
    return lax.erf(inexact_operands("erf", x))


def erfc(x):
    """``1 - erf(x)``, exact to rounding also where it is small.

    >>> tanx.scipy.special.erfc(jnp.array([0.0, 5.0]))
    Array([1.0000000e+00, 1.5374598e-12], dtype=float32)
    """
    return lax.erfc(inexact_operands("erfc", x))


def erfinv(x):
    """The number whose error function is ``x``.

    >>> tanx.scipy.special.erfinv(jnp.array([0.0, 0.5, 1.0]))
    Array([0.        , 0.47693628,        inf], dtype=float32)
    """
    return lax.erf_inv(inexact_operands("erfinv", x))


def erfcx_of_positive(x):
    """``exp(x**2) * erfc(x)`` for ``x >= 0``."""
    return beyond(ERFCX, x, 3.0) / (2 * x + 1)
