"""Products with logarithms: entropies, divergences and power transformations."""

from __future__ import annotations

import math

import numpy as np

from ... import lax
from ... import numpy as jnp
from ..._api.jit import library_jit
from ..._control.custom_jvp import custom_jvp
from ._operands import inexact_operands, real_operands

__all__ = ["boxcox", "boxcox1p", "entr", "kl_div", "rel_entr", "xlog1py", "xlogy"]


def xlogy(x, y):
    """``x * log(y)``, which is 0 where ``x`` is 0 and ``y`` is not NaN.

    >>> tanx.scipy.special.xlogy(jnp.array([0.0, 2.0]), jnp.array([0.0, 3.0]))
    Array([0.       , 2.1972246], dtype=float32)
    """
    return _xlogy(*inexact_operands("xlogy", x, y))


@custom_jvp
@library_jit
def _xlogy(x, y):
    nothing = (x == 0) & (y == y)
    return jnp.where(nothing, jnp.zeros_like(x), x * jnp.log(jnp.where(nothing, 1, y)))


@_xlogy.defjvp
def _xlogy_jvp(primals, tangents):
    (x, y), (dx, dy) = primals, tangents
    return _xlogy(x, y), dx * jnp.log(y) + dy * _ratio(x, y)


def xlog1py(x, y):
    """``x * log(1 + y)``, which is 0 where ``x`` is 0 and ``y`` is not NaN.

    >>> tanx.scipy.special.xlog1py(jnp.array([0.0, 2.0]), jnp.array([-1.0, 1e-5]))
    Array([0.00000e+00, 1.99999e-05], dtype=float32)
    """
    return _xlog1py(*inexact_operands("xlog1py", x, y))


@custom_jvp
@library_jit
def _xlog1py(x, y):
    nothing = (x == 0) & (y == y)
    return jnp.where(nothing, jnp.zeros_like(x), x * jnp.log1p(jnp.where(nothing, 0, y)))


@_xlog1py.defjvp
def _xlog1py_jvp(primals, tangents):
    (x, y), (dx, dy) = primals, tangents
    return _xlog1py(x, y), dx * jnp.log1p(y) + dy * _ratio(x, 1 + y)


@custom_jvp
def _ratio(x, y):
    """``x / y``, which is 0 where ``x`` is 0."""
    nothing = x == 0
    return jnp.where(nothing, jnp.zeros_like(x), x / jnp.where(nothing, 1, y))


@_ratio.defjvp
def _ratio_jvp(primals, tangents):
    (x, y), (dx, dy) = primals, tangents
    out = _ratio(x, y)
    return out, (dx - out * dy) / y


@library_jit
def entr(x):
    """The entropy ``-x * log(x)``, which is 0 at 0 and ``-inf`` below.

    >>> tanx.scipy.special.entr(jnp.array([0.0, 0.5, 1.0]))
    Array([-0.       ,  0.3465736, -0.       ], dtype=float32)
    """
    return _entr(real_operands("entr", x))


@custom_jvp
def _entr(x):
    return lax.select(x < 0, lax.full_like(x, -np.inf), -_xlogy(x, x))


@_entr.defjvp
def _entr_jvp(primals, tangents):
    (x,), (dx,) = primals, tangents
    return _entr(x), dx * (-1 - jnp.log(x))  # the product rule would give NaN at infinity


@library_jit
def rel_entr(p, q):
    """The relative entropy ``p * log(p / q)``: 0 where ``p`` is 0, and ``inf`` outside its domain.

    >>> tanx.scipy.special.rel_entr(jnp.array([0.0, 0.5]), jnp.array([0.5, 0.25]))
    Array([0.       , 0.3465736], dtype=float32)
    """
    return _rel_entr(*jnp.broadcast_arrays(*real_operands("rel_entr", p, q)))


@custom_jvp
def _rel_entr(p, q):
    inside, edge = (p > 0) & (q > 0), (p == 0) & (q >= 0)
    value = jnp.where(inside, p * _log_ratio(*_inside(p, q)), jnp.where(edge, 0, np.inf))
    return jnp.where(jnp.isnan(p) | jnp.isnan(q), p + q, value)


@_rel_entr.defjvp
def _rel_entr_jvp(primals, tangents):
    (p, q), (dp, dq) = primals, tangents
    safe_p, safe_q = _inside(p, q)
    outside = jnp.where(jnp.isnan(p) | jnp.isnan(q), np.nan, 0)
    slopes = (jnp.where((p > 0) & (q > 0), slope, outside).astype(p.dtype)
              for slope in (1 + _log_ratio(safe_p, safe_q), -safe_p / safe_q))
    return _rel_entr(p, q), sum(slope * d for slope, d in zip(slopes, (dp, dq)))


def _inside(p, q):
    """The operands where both are positive, and ones elsewhere, with finite derivatives."""
    inside = (p > 0) & (q > 0)
    return jnp.where(inside, p, 1), jnp.where(inside, q, 1)


def _log_ratio(p, q):
    """``log(p / q)`` of positive numbers, accurate also where the quotient is close to 1."""
    near = (p < 2 * q) & (q < 2 * p)
    apart = jnp.log(jnp.where(near, 1, p)) - jnp.log(jnp.where(near, 1, q))
    return jnp.where(near, jnp.log1p((p - q) / jnp.where(near, q, 1)), apart)


@library_jit
def kl_div(p, q):
    """A term of the Kullback-Leibler divergence, ``rel_entr(p, q) - p + q``.

    It is ``q`` where ``p`` is 0, and ``inf`` outside its domain.

    >>> tanx.scipy.special.kl_div(jnp.array([0.0, 0.5]), jnp.array([0.5, 0.25]))
    Array([0.5       , 0.09657359], dtype=float32)
    """
    p, q = jnp.broadcast_arrays(*real_operands("kl_div", p, q))
    inside, edge = (p > 0) & (q > 0), (p == 0) & (q >= 0)
    return jnp.where(inside | jnp.isnan(p) | jnp.isnan(q), _rel_entr(p, q) - p + q,
                     jnp.where(edge, q, np.inf))


def boxcox(x, lmbda):
    """The Box-Cox transformation ``(x**lmbda - 1) / lmbda``, which is ``log(x)`` for 0.

    >>> tanx.scipy.special.boxcox(jnp.array([0.5, 2.0]), 2.0)
    Array([-0.375,  1.5  ], dtype=float32)
    """
    x, lmbda = jnp.broadcast_arrays(*inexact_operands("boxcox", x, lmbda))
    return _power_less_one(jnp.log(x), lmbda)


def boxcox1p(x, lmbda):
    """The Box-Cox transformation of ``1 + x``.

    >>> tanx.scipy.special.boxcox1p(jnp.array([1e-5, 1.0]), 2.0)
    Array([1.000005e-05, 1.500000e+00], dtype=float32)
    """
    x, lmbda = jnp.broadcast_arrays(*inexact_operands("boxcox1p", x, lmbda))
    return _power_less_one(jnp.log1p(x), lmbda)


@custom_jvp
@library_jit
def _power_less_one(logarithm, power):
    """``expm1(power * logarithm) / power``, and the logarithm itself for the power 0."""
    some = power != 0
    safe = jnp.where(some, power, 1)
    return jnp.where(some, jnp.expm1(safe * logarithm) / safe, logarithm)


@_power_less_one.defjvp
def _power_less_one_jvp(primals, tangents):
    (logarithm, power), (dlogarithm, dpower) = primals, tangents
    out = _power_less_one(logarithm, power)
    u = power * logarithm
    # (e^u (u - 1) + 1) / u² is the sum of u^k / (k! (k + 2)).
    near = jnp.abs(u) < 0.5
    series = lax.polynomial(jnp.where(near, u, 0), [
        1 / (math.factorial(k) * (k + 2)) for k in range(14)])
    far = jnp.where(near, 1, u)
    slope = jnp.where(near, series, (jnp.exp(far) * (far - 1) + 1) / (far * far))
    return out, dlogarithm * jnp.exp(u) + dpower * slope * logarithm * logarithm
