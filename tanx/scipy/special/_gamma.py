"""The gamma function: its values, logarithm, derivatives, and integrals."""

from __future__ import annotations

import math
import operator

import numpy as np

from ... import dtypes, lax
from ... import numpy as jnp
from ..._api.jit import library_jit
from ..._control.custom_jvp import custom_jvp
from ...errors import explain
from ...numpy._promotion import typeof
from ._operands import in_float64, inexact_operands, real_operands
from ._stirling import gamma_by_steps, sine_of_turns, stirling

__all__ = ["digamma", "factorial", "gamma", "gammainc", "gammaincc", "gammaln", "gammasgn",
           "multigammaln", "polygamma"]


def gamma(x):
    """The gamma function, which is ``factorial(x - 1)`` for whole numbers.

    At 0 it is infinite, with the sign of 0, and at the other poles NaN.

    >>> tanx.scipy.special.gamma(jnp.array([0.5, 5.0]))
    Array([ 1.7724539, 24.       ], dtype=float32)
    """
    return _gamma(inexact_operands("gamma", x, weak=False))


@custom_jvp
@library_jit(name="gamma")
@in_float64
def _gamma(x):
    left = x < 0.5
    # On the left the product of x, the values at x and at -x is -π / sin(πx).
    y = jnp.where(left, -x, x)
    low = y < 10
    steps = gamma_by_steps(jnp.clip(y, -0.5, 10))
    first, second = stirling(jnp.clip(y, 10, 200))
    sine = -x * sine_of_turns(x)
    mirrored = jnp.where(low, math.pi / (sine * steps), math.pi / sine / first / second)
    value = jnp.where(left, mirrored, jnp.where(low, steps, first * second))
    pole = jnp.where(x == 0, jnp.copysign(np.inf, x), np.nan)
    return jnp.where((x <= 0) & (jnp.floor(x) == x), pole, value)


_gamma.defjvps(lambda dx, out, x: dx * out * lax.digamma(x))


def factorial(n, exact: bool = False):
    """``n!``, of real numbers ``gamma(n + 1)``, and 0 for negative ones.

    ``exact=True`` is refused, as integers of 64 bits end at 20!.

    >>> tanx.scipy.special.factorial(jnp.array([0, 5, 10]))
    Array([1.0000e+00, 1.2000e+02, 3.6288e+06], dtype=float32)
    """
    if exact:
        raise NotImplementedError(explain(
            "tanx.scipy.special.factorial", "exact=True would need integers of any size.",
            hint="math.factorial has them."))
    n = inexact_operands("factorial", n)
    return jnp.where(n < 0, 0, _gamma(n + 1)).astype(n.dtype)


def gammaln(x):
    """The logarithm of the absolute value of the gamma function.

    >>> tanx.scipy.special.gammaln(jnp.array([0.5, 5.0]))
    Array([0.5723649, 3.1780539], dtype=float32)
    """
    return lax.lgamma(inexact_operands("gammaln", x))


@library_jit
def gammasgn(x):
    """The sign of the gamma function: NaN at its poles, except that 0 has its own sign.

    >>> tanx.scipy.special.gammasgn(jnp.array([2.5, -0.5, -1.5]))
    Array([ 1., -1.,  1.], dtype=float32)
    """
    x = real_operands("gammasgn", x, weak=False)
    below = jnp.floor(x)
    odd = jnp.floor(below * 0.5) * 2 != below
    sign = jnp.where((x < 0) & odd, -1.0, 1.0).astype(x.dtype)
    sign = jnp.where(x == 0, jnp.copysign(sign, x), sign)
    return jnp.where(((x < 0) & (below == x)) | jnp.isnan(x), np.nan, sign)


def digamma(x):
    """The derivative of :func:`gammaln`.

    >>> tanx.scipy.special.digamma(jnp.array([1.0, 2.0]))
    Array([-0.5772157 ,  0.42278433], dtype=float32)
    """
    return lax.digamma(inexact_operands("digamma", x))


def polygamma(n, x):
    """The derivative of order ``n`` of :func:`digamma`.

    Args:
      n: Integers, at least 0.
      x: Real numbers.

    >>> tanx.scipy.special.polygamma(1, jnp.array([1.0, 2.0]))  # π²/6, π²/6 - 1
    Array([1.644934  , 0.64493406], dtype=float32)
    """
    if not dtypes.issubdtype(typeof(n).dtype, np.integer):
        raise ValueError(explain("tanx.scipy.special.polygamma", "the order must be an integer.",
                                 f"n: {typeof(n)}"))
    n, x = real_operands("polygamma", n, x)
    n, x = jnp.broadcast_arrays(n, x)
    return lax.polygamma(lax.stop_gradient(n), x)


def gammainc(a, x):
    """The regularised lower incomplete gamma function.

    The integral of ``t**(a - 1) * exp(-t)`` from 0 to ``x``, divided by ``gamma(a)``.

    >>> tanx.scipy.special.gammainc(1.0, jnp.array([0.5, 2.0]))  # 1 - exp(-x)
    Array([0.39346933, 0.86466473], dtype=float32)
    """
    return lax.igamma(*jnp.broadcast_arrays(*inexact_operands("gammainc", a, x)))


def gammaincc(a, x):
    """The regularised upper incomplete gamma function, ``1 - gammainc(a, x)`` without cancellation.

    >>> tanx.scipy.special.gammaincc(1.0, jnp.array([0.5, 20.0]))  # exp(-x)
    Array([6.0653067e-01, 2.0611537e-09], dtype=float32)
    """
    return lax.igammac(*jnp.broadcast_arrays(*inexact_operands("gammaincc", a, x)))


def multigammaln(a, d):
    """The logarithm of the multivariate gamma function of dimension ``d``.

    That is the sum of ``gammaln(a - k/2)`` over ``k < d``, plus ``d * (d - 1) / 4 * log(pi)``.

    >>> tanx.scipy.special.multigammaln(jnp.array([1.5, 4.0]), 2)
    Array([0.45158267, 3.5650978 ], dtype=float32)
    """
    d = _dimension(d)
    a = inexact_operands("multigammaln", a, weak=False)
    halves = jnp.arange(d, dtype=a.dtype) / 2
    return jnp.sum(lax.lgamma(a[..., None] - halves), axis=-1) + jnp.asarray(
        d * (d - 1) / 4 * math.log(math.pi), a.dtype)


def _dimension(d) -> int:
    try:
        return operator.index(d)
    except TypeError:
        return int(d)
