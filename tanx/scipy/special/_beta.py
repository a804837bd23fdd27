"""The beta function, its integral, and binomial coefficients."""

from __future__ import annotations

import math

import numpy as np

from ... import dtypes, lax
from ... import numpy as jnp
from ..._api.jit import library_jit
from ..._control.custom_jvp import custom_jvp
from ._operands import in_float64, inexact_operands, real_operands
from ._stirling import (
    HALF_LOG_2PI,
    early_rest,
    gamma_of_positive,
    log_gamma,
    sign_of_gamma,
    stirling_rest,
)

__all__ = ["beta", "betainc", "betaln", "comb"]


def betaln(a, b):
    """The logarithm of the absolute value of the beta function.

    >>> tanx.scipy.special.betaln(jnp.array([2.0, 0.5]), 3.0)  # log(1/12), log(16/15)
    Array([-2.4849067 ,  0.06453852], dtype=float32)
    """
    a, b = inexact_operands("betaln", a, b)
    if not dtypes.issubdtype(a.dtype, np.floating):
        lax.lgamma(a)  # raises
    return _betaln(*jnp.broadcast_arrays(a, b))


@custom_jvp
@library_jit(name="betaln")
@in_float64(rough=True)
def _betaln(a, b, *, rough):
    return _unless_negative(
        _rough_logarithm if rough else _logarithm,
        lambda a, b: log_gamma(a) + log_gamma(b) - log_gamma(a + b), a, b)


def _unless_negative(usual, general, a, b):
    """``usual(a, b)`` for positive numbers, and ``general(a, b)`` for others.

    Others are rare, and ``general`` is computed only for arrays that contain some.
    """
    return lax.cond(
        jnp.any(jnp.minimum(a, b) <= 0),
        lambda a, b: jnp.where(jnp.minimum(a, b) <= 0, general(a, b), usual(a, b)), usual, a, b)


def _rough_logarithm(a, b):
    """The logarithm for positive numbers, to ten digits.

    Three steps of the recurrence lead to the range of Stirling's formula, whose large parts cancel
    algebraically: one formula for all numbers, with two divisions.
    """
    a, b = jnp.minimum(a, b), jnp.maximum(a, b)
    both = a + b
    p, q, total = a + 3, b + 3, both + 6
    inverse = 1 / (p * q * total)
    share = p * p * q * inverse  # p / total
    ratio = _six_steps(both) / (a * (a + 1) * (a + 2) * (b * (b + 1) * (b + 2)))
    value = (p * jnp.log(share) + q * jnp.log1p(-share)
             + jnp.log(ratio * (total * jnp.sqrt(inverse))) + HALF_LOG_2PI
             + (early_rest(q * total * inverse) + early_rest(p * total * inverse)
                - early_rest(p * q * inverse)))
    return jnp.where(b == np.inf, -np.inf, value)


def _six_steps(x):
    return x * (x + 1) * (x + 2) * ((x + 3) * (x + 4) * (x + 5))


def _logarithm(a, b):
    """The logarithm for positive numbers."""
    return _log_and_quotient(a, b)[0]


def _log_and_quotient(a, b):
    """The logarithm for positive numbers, and the function itself for two numbers below 10."""
    p, q = jnp.minimum(a, b), jnp.maximum(a, b)
    small, large = q < 10, p >= 10
    # Two numbers below 10: the logarithm of a quotient of gamma functions. Else Stirling's formula,
    # whose large parts cancel algebraically.
    low, total = jnp.minimum(p, 10), p + jnp.maximum(q, 10)
    quotient = _beta_of_small(low, jnp.minimum(q, 10))
    p_above, q_above = jnp.maximum(p, 10), jnp.maximum(q, 10)
    rest = stirling_rest(q_above) - stirling_rest(total)
    share = jnp.log1p(-p / total)
    even = (HALF_LOG_2PI + stirling_rest(p_above) + rest - 0.5 * jnp.log(q_above)
            + (p_above - 0.5) * jnp.log(p_above / total) + q_above * share)
    # Next to its zeros, which have p < 1, the logarithms nearly cancel.
    divisor = jnp.minimum(low, 1)
    uneven = (log_gamma(jnp.where(low < 1, low + 1, low)) - _log_of_power(divisor, total, low)
              + (rest + (low + (q_above - 0.5) * share)))
    value = jnp.where(small, jnp.log(quotient), jnp.where(large, even, uneven))
    return jnp.where(q == np.inf, -np.inf, value), quotient


def _log_of_power(factor, base, exponent):
    """``log(factor * base**exponent)``, where the two logarithms may nearly cancel.

    Powers of 2 are factored out; their logarithms are added without rounding.
    """
    mantissa, halvings = _mantissa(factor)
    remainder, doublings = _mantissa(base)
    high = lax.reduce_precision(exponent, 11, 26)  # times an exponent of 2 it is exact
    twos = (halvings + high * doublings) + (exponent - high) * doublings
    return twos * math.log(2) + (jnp.log(mantissa) + exponent * jnp.log(remainder))


def _mantissa(x):
    """``x`` as a number from 0.71 to 1.42 and the power of 2 that it is multiplied by."""
    mantissa, power = jnp.frexp(x)
    low = mantissa < math.sqrt(0.5)
    return jnp.where(low, 2 * mantissa, mantissa), (power - low).astype(x.dtype)


def _beta_of_small(p, q):
    """The beta function of numbers from 0 to 10."""
    both = p + q
    # The rounding error of the sum, times the logarithmic derivative, roughly.
    larger = jnp.maximum(p, q)
    lost = jnp.minimum(p, q) - (both - larger)
    moved = lost * (jnp.log(both) - 0.5 / both)
    quotient = gamma_of_positive(p) * (gamma_of_positive(q) / gamma_of_positive(both))
    return quotient - jnp.where(larger < 1, 0, moved) * quotient


@_betaln.defjvp
def _betaln_jvp(primals, tangents):
    (a, b), (da, db) = primals, tangents
    whole = lax.digamma(a + b)
    return _betaln(a, b), da * (lax.digamma(a) - whole) + db * (lax.digamma(b) - whole)


def beta(a, b):
    """The beta function, ``gamma(a) * gamma(b) / gamma(a + b)``.

    >>> tanx.scipy.special.beta(jnp.array([2.0, 0.5]), 3.0)
    Array([0.08333334, 1.0666667 ], dtype=float32)
    """
    return _beta(*jnp.broadcast_arrays(*real_operands("beta", a, b, weak=False)))


@custom_jvp
@library_jit(name="beta")
@in_float64(rough=True)
def _beta(a, b, *, rough):
    def general(a, b):
        sign = sign_of_gamma(a) * sign_of_gamma(b) * sign_of_gamma(a + b)
        return sign * jnp.exp(log_gamma(a) + log_gamma(b) - log_gamma(a + b))
    return _unless_negative(_rough_beta if rough else _beta_of_positive, general, a, b)


def _rough_beta(a, b):
    return jnp.exp(_rough_logarithm(a, b))


def _beta_of_positive(a, b):
    logarithm, quotient = _log_and_quotient(a, b)
    return jnp.where(jnp.maximum(a, b) < 10, quotient, jnp.exp(logarithm))


@_beta.defjvp
def _beta_jvp(primals, tangents):
    (a, b), (da, db) = primals, tangents
    out, whole = _beta(a, b), lax.digamma(a + b)
    return out, out * (da * (lax.digamma(a) - whole) + db * (lax.digamma(b) - whole))


def betainc(a, b, x):
    """The regularised incomplete beta function.

    The integral of ``t**(a - 1) * (1 - t)**(b - 1)`` from 0 to ``x``, divided by ``beta(a, b)``.

    >>> tanx.scipy.special.betainc(1.0, 2.0, jnp.array([0.5, 1.0]))  # 1 - (1 - x)²
    Array([0.75, 1.  ], dtype=float32)
    """
    return lax.betainc(*jnp.broadcast_arrays(*real_operands("betainc", a, b, x)))


def comb(N, k, *, repetition: bool = False):
    """The number of ways to choose ``k`` of ``N`` things, 0 if there is no way.

    With ``repetition``, a thing may be chosen more than once.

    >>> tanx.scipy.special.comb(jnp.array([5, 10, 3]), jnp.array([2, 5, 4]))
    Array([ 10., 252.,   0.], dtype=float32)
    """
    N, k = jnp.broadcast_arrays(*inexact_operands("comb", N, k))
    if not dtypes.issubdtype(N.dtype, np.floating):
        lax.lgamma(N)  # raises
    if repetition:
        return jnp.where((N == 0) & (k == 0), 1, _comb(N + k - 1, k))
    return _comb(N, k)


@custom_jvp
@library_jit(name="comb")
@in_float64(rough=True)
def _comb(N, k, *, rough):
    some = (N >= 0) & (k >= 0) & (k <= N)
    chosen, rest = jnp.where(some, k, 0), jnp.where(some, N - k, 0)
    function = _rough_beta if rough else _beta_of_positive
    value = 1 / ((chosen + rest + 1) * function(chosen + 1, rest + 1))
    # Integers have integer results; rounding makes them exact while they are small enough.
    whole = (jnp.floor(N) == N) & (jnp.floor(k) == k) & (value < 2.0 ** 44)
    value = jnp.where(whole, jnp.round(value), value)
    return jnp.where(some, value, jnp.where(jnp.isnan(N) | jnp.isnan(k), np.nan, 0))


@_comb.defjvp
def _comb_jvp(primals, tangents):
    (N, k), (dN, dk) = primals, tangents
    out = _comb(N, k)
    some = out != 0
    N, k = jnp.where(some, N, 1), jnp.where(some, k, 1)
    rest = lax.digamma(N - k + 1)
    return out, out * (dN * (lax.digamma(N + 1) - rest) + dk * (rest - lax.digamma(k + 1)))
