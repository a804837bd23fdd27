"""The error function, its complement, and their inverses."""

from __future__ import annotations

import math

import numpy as np

from ... import lax
from ... import numpy as jnp
from ..._api.jit import library_jit
from ..._control.custom_jvp import custom_jvp
from ._faddeeva import faddeeva
from ._operands import at_least_float32, inexact_operands, real_operands
from ._piecewise import beyond, piecewise, split_square
from ._tables import ERFCX, QUANTILE_FAR, QUANTILE_NEAR

__all__ = ["erf", "erfc", "erfcinv", "erfcx", "erfinv"]


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


def erfcinv(y):
    """The number whose complement of the error function is ``y``.

    >>> tanx.scipy.special.erfcinv(jnp.array([1e-20, 0.5, 1.0]))
    Array([6.6015806, 0.4769363, 0.       ], dtype=float32)
    """
    return _erfcinv(real_operands("erfcinv", y, weak=False))


@custom_jvp
@library_jit(name="erfcinv")
@at_least_float32
def _erfcinv(y):
    return jnp.where(y == 1, 0, -math.sqrt(0.5) * quantile(0.5 * y))


_erfcinv.defjvps(lambda dy, out, y: dy * (-0.5 * math.sqrt(math.pi)) * jnp.exp(out * out))


def quantile(p):
    """The quantile of the standard normal distribution for the probability ``p``."""
    y = p - 0.5
    near = y * piecewise(QUANTILE_NEAR, y * y)
    least = jnp.minimum(p, 1 - p)
    square = -2 * jnp.log(least)
    far = jnp.sqrt(square) * piecewise(QUANTILE_FAR, 0.5 * jnp.log(square))
    far = jnp.where(least == 0, np.inf, far)
    return jnp.where(jnp.abs(y) < 0.36, near, jnp.where(y < 0, -far, far))


def erfcx(x):
    """``exp(x**2) * erfc(x)``, which does not underflow.

    >>> tanx.scipy.special.erfcx(jnp.array([-1.0, 0.0, 1e3]))
    Array([5.0089803e+00, 9.9999994e-01, 5.6418928e-04], dtype=float32)
    """
    x = inexact_operands("erfcx", x, weak=False)
    if x.dtype.kind == "c":
        return faddeeva(lax.complex(-x.imag, x.real))
    return _erfcx(x)


@custom_jvp
@library_jit(name="erfcx")
@at_least_float32
def _erfcx(x):
    value = erfcx_of_positive(jnp.minimum(jnp.abs(x), 1e30))
    value = jnp.where(jnp.abs(x) == np.inf, 0, value)
    whole, rest = split_square(jnp.clip(x, -30, 0))
    return jnp.where(x < 0, 2 * jnp.exp(whole) * jnp.exp(rest) - value, value)


@_erfcx.defjvp
def _erfcx_jvp(primals, tangents):
    (x,), (dx,) = primals, tangents
    out = _erfcx(x)
    return out, dx * _erfcx_slope(x, out)


@at_least_float32
def _erfcx_slope(x, out):
    """2x erfcx(x) - 2/√π; far away, where that cancels, by the asymptotic series."""
    far = jnp.maximum(x, 8)
    inverse = 1 / (far * far)
    series = lax.polynomial(inverse, [
        math.prod(range(1, 2 * k, 2)) * (-0.5) ** k for k in range(1, 26)])
    near = 2 * jnp.where(x < 8, x, 0) * out - 2 / math.sqrt(math.pi)
    return jnp.where(x < 8, near, inverse * series * (2 / math.sqrt(math.pi)))


def erfcx_of_positive(x):
    """``exp(x**2) * erfc(x)`` for ``x >= 0``."""
    return beyond(ERFCX, x, 3.0) / (2 * x + 1)
