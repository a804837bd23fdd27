"""Bessel functions."""

from __future__ import annotations

from ... import lax
from ...numpy._bessel import i0_impl, i1_impl
from ._operands import inexact_operands, real_operands

__all__ = ["i0", "i0e", "i1", "i1e"]


def i0(x):
    """The modified Bessel function of order 0.

    >>> tanx.scipy.special.i0(jnp.array([0.0, 1.0]))
    Array([1.      , 1.266066], dtype=float32)
    """
    return i0_impl(real_operands("i0", x))


def i0e(x):
    """``exp(-abs(x)) * i0(x)``, which does not overflow.

    >>> tanx.scipy.special.i0e(jnp.array([0.0, 100.0]))
    Array([1.        , 0.03994438], dtype=float32)
    """
    return lax.bessel_i0e(inexact_operands("i0e", x))


def i1(x):
    """The modified Bessel function of order 1.

    >>> tanx.scipy.special.i1(jnp.array([0.0, 1.0]))
    Array([0.        , 0.56515914], dtype=float32)
    """
    return i1_impl(real_operands("i1", x))


def i1e(x):
    """``exp(-abs(x)) * i1(x)``, which does not overflow.

    >>> tanx.scipy.special.i1e(jnp.array([0.0, 100.0]))
    Array([0.        , 0.03974415], dtype=float32)
    """
    return lax.bessel_i1e(inexact_operands("i1e", x))
