"""Bessel functions."""

from __future__ import annotations

import functools
import math
import operator

from ... import lax
from ... import numpy as jnp
from ..._api.jit import library_jit
from ..._control.custom_jvp import custom_jvp
from ...numpy._bessel import i0_impl, i1_impl
from ._operands import in_float64, inexact_operands, real_operands
from ._piecewise import piecewise
from ._tables import BESSEL_P0, BESSEL_P1, BESSEL_Q0, BESSEL_Q1

__all__ = ["bessel_jn", "i0", "i0e", "i1", "i1e"]


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


# -- of the first kind -----------------------------------------------------------------------------


def bessel_jn(z, *, v, n_iter=50):
    """The Bessel functions of the first kind of the orders 0 to ``v``, along a new first axis.

    Args:
      z: Real numbers.
      v: The greatest order.
      n_iter: The order at which the recurrence starts. It starts higher if needed.

    >>> tanx.scipy.special.bessel_jn(jnp.array([0.0, 1.0, 100.0]), v=1)
    Array([[ 1.        ,  0.7651977 ,  0.01998585],
           [ 0.        ,  0.44005057, -0.07714535]], dtype=float32)
    """
    v, n_iter = operator.index(v), operator.index(n_iter)
    z = jnp.asarray(z)
    if z.dtype.kind == "c":
        lax.rem(z, z)  # raises
    z = real_operands("bessel_jn", z, weak=False)
    if v < 0:
        return jnp.zeros((0, *z.shape), z.dtype)
    return jnp.stack(_bessel_jn(v, n_iter, z))


@functools.partial(custom_jvp, nondiff_argnums=(0, 1))
def _bessel_jn(v, n_iter, z):
    return _orders(z, v=v, start=2 * (max(n_iter, v + 40) // 2))


@_bessel_jn.defjvp
def _bessel_jn_jvp(v, n_iter, primals, tangents):
    (z,), (dz,) = primals, tangents
    values = _bessel_jn(v + 1, n_iter, z)
    slopes = [-values[1], *(0.5 * (values[k - 1] - values[k + 1]) for k in range(1, v + 1))]
    return values[:v + 1], tuple(dz * s for s in slopes)


@library_jit(name="bessel_jn", static_argnames=("v", "start"))
def _orders(z, *, v, start):
    return in_float64(functools.partial(_orders_in_float64, v=v, start=start))(z)


def _orders_in_float64(z, *, v, start):
    """Power series up to 1; backward recurrence up to 25 and above ``z``; else forward."""
    size = jnp.abs(z)
    small = _by_series(jnp.minimum(size, 1), v)
    backward = _backward(jnp.clip(size, 1, max(start - 20, 26)), v, start)
    forward = _forward(jnp.maximum(size, 25), v)
    out = []
    for k in range(v + 1):
        value = jnp.where(size < 1, small[k], jnp.where(
            size < max(k, 25), backward[k], forward[k]))
        out.append(jnp.where((z < 0) if k % 2 else False, -value, value))
    return tuple(out)


def _by_series(z, v):
    quarter = -0.25 * z * z
    power = jnp.ones_like(z)
    out = []
    for n in range(v + 1):
        out.append(power * lax.polynomial(quarter, [
            math.factorial(n) / (math.factorial(k) * math.factorial(n + k)) for k in range(9)]))
        power = power * (z * (0.5 / (n + 1)))
    return out


def _backward(z, v, start):
    """The recurrence from a high order down, scaled so that J(0) + 2 J(2) + 2 J(4) … is 1."""
    inverse = 2 / z
    after, now, total = jnp.zeros_like(z), jnp.full_like(z, 1e-300), jnp.zeros_like(z)
    out = []
    for n in range(start, -1, -1):
        if n <= v:
            out.append(now)
        if n % 2 == 0:
            total = total + (now if n == 0 else 2 * now)
        after, now = now, n * inverse * now - after
    return [value / total for value in reversed(out)]


def _forward(z, v):
    """The recurrence from the orders 0 and 1, by their asymptotic expansions."""
    inverse = 1 / z
    square, scale = inverse * inverse, jnp.sqrt(inverse * (1 / math.pi))
    sine, cosine = jnp.sin(z), jnp.cos(z)
    plus, minus = sine + cosine, sine - cosine
    before = scale * (piecewise(BESSEL_P0, square) * plus
                      - piecewise(BESSEL_Q0, square) * inverse * minus)
    now = scale * (piecewise(BESSEL_P1, square) * minus
                   + piecewise(BESSEL_Q1, square) * inverse * plus)
    out = [before, now]
    for n in range(1, v):
        before, now = now, (2 * n) * inverse * now - before
        out.append(now)
    return out
