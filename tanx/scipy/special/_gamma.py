"""The gamma function: its values, logarithm, derivatives, and integrals."""

from __future__ import annotations

import math
import operator

import numpy as np

from ... import dtypes, lax
from ... import numpy as jnp
from ..._api.autodiff import jvp
from ..._api.jit import library_jit
from ..._control.custom import SymbolicZero
from ..._control.custom_jvp import custom_jvp
from ...errors import explain
from ...numpy._promotion import typeof
from ._complex_gamma import complex_gamma, complex_loggamma
from ._operands import at_least_float32, in_float64, inexact_operands, real_operands
from ._stirling import (
    gamma_of_real,
    gamma_ratio,
    rough_ratio,
    sign_of_gamma,
    sine_of_turns,
)

__all__ = ["digamma", "factorial", "gamma", "gammainc", "gammaincc", "gammaln", "gammasgn",
           "loggamma", "multigammaln", "poch", "polygamma", "zeta"]


def gamma(x):
    """The gamma function, which is ``factorial(x - 1)`` for integers.

    At 0 it is infinite, with the sign of 0, and at the other poles NaN.

    >>> tanx.scipy.special.gamma(jnp.array([0.5, 5.0]))
    Array([ 1.7724539, 24.       ], dtype=float32)
    """
    x = inexact_operands("gamma", x, weak=False)
    return _gamma(x) if x.dtype.kind != "c" else complex_gamma(x)


def loggamma(x):
    """The logarithm of the gamma function; NaN for negative real numbers.

    For complex numbers it is the branch that is real on the positive axis and has its cut along the
    negative one.

    >>> tanx.scipy.special.loggamma(jnp.array([0.5, 1.0 + 1.0j]))
    Array([ 0.5723649+0.j        , -0.6509232-0.30164033j], dtype=complex64)
    """
    x = inexact_operands("loggamma", x)
    if x.dtype.kind == "c":
        return complex_loggamma(lax.convert_element_type(x, x.dtype))
    return lax.select(x < 0, lax.full_like(x, np.nan), lax.lgamma(x))


@custom_jvp
@library_jit(name="gamma")
@in_float64
def _gamma(x):
    return gamma_of_real(x)


_gamma.defjvps(lambda dx, out, x: dx * out * lax.digamma(x))


def poch(z, m):
    """The Pochhammer symbol ``gamma(z + m) / gamma(z)``; ``z * (z + 1) * …`` for integer ``m``.

    >>> tanx.scipy.special.poch(jnp.array([2.0, 0.5]), 3.0)
    Array([24.   ,  1.875], dtype=float32)
    """
    return _poch(*jnp.broadcast_arrays(*real_operands("poch", z, m, weak=False)))


@custom_jvp
@library_jit(name="poch")
@in_float64(rough=True)
def _poch(z, m, *, rough):
    ratio = rough_ratio if rough else gamma_ratio
    total = z + m
    pole, end = (z <= 0) & (jnp.floor(z) == z), (total <= 0) & (jnp.floor(total) == total)
    # Between two poles the symbol is a product of negative numbers.
    turned = pole & end
    sign = jnp.where(turned & (jnp.floor(0.5 * m) * 2 != m), -1, 1)
    value = sign * ratio(jnp.where(turned, 1 - total, z), m)
    value = jnp.where(pole & ~end, 0, jnp.where(end & ~pole, np.inf, value))
    value = jnp.where(m == -1, 1 / (z - 1), jnp.where(m == 1, z, value))
    return jnp.where(m == 0, 1, value)


@_poch.defjvp
def _poch_jvp(primals, tangents):
    (z, m), (dz, dm) = primals, tangents
    out, end = _poch(z, m), lax.digamma(z + m)
    return out, out * (dz * (end - lax.digamma(z)) + dm * end)


def factorial(n, exact: bool = False):
    """``n!``, which is ``gamma(n + 1)`` for real numbers, and 0 for negative ones.

    ``exact=True`` is refused: 64-bit integers end at 20!.

    >>> tanx.scipy.special.factorial(jnp.array([0, 5, 10]))
    Array([1.0000e+00, 1.2000e+02, 3.6288e+06], dtype=float32)
    """
    if exact:
        raise NotImplementedError(explain(
            "tanx.scipy.special.factorial", "exact=True would need integers of any size.",
            hint="math.factorial computes them."))
    n = inexact_operands("factorial", n)
    if n.dtype.kind == "c":
        lax.lgamma(n)  # raises
    return _factorial(n)


@at_least_float32
def _factorial(n):
    return lax.select(n < 0, lax.full_like(n, 0), _gamma(n + 1))


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
    return sign_of_gamma(real_operands("gammasgn", x, weak=False))


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
    x, halves = a[..., None], jnp.arange(d, dtype=a.dtype) / 2
    return jnp.sum(lax.lgamma(x - jnp.expand_dims(halves, range(a.ndim))), axis=-1) + jnp.asarray(
        d * (d - 1) / 4 * math.log(math.pi), a.dtype)


def _dimension(d) -> int:
    try:
        return operator.index(d)
    except TypeError:
        return int(d)


def zeta(x, q=None):
    """The Hurwitz zeta function, the sum of ``(q + k)**-x`` over ``k = 0, 1, 2, …``

    Args:
      x: Real numbers above 1.
      q: Real numbers. Without it, this is Riemann's zeta function, also for ``x`` below 1.

    >>> tanx.scipy.special.zeta(2.0, jnp.array([1.0, 2.0]))  # π²/6, π²/6 - 1
    Array([1.644934  , 0.64493406], dtype=float32)
    >>> tanx.scipy.special.zeta(jnp.array([2.0, 0.0, -1.0]))
    Array([ 1.644934  , -0.5       , -0.08333334], dtype=float32)
    """
    if q is None:
        return _riemann(real_operands("zeta", x))
    return _hurwitz(*jnp.broadcast_arrays(*inexact_operands("zeta", x, q)))


@custom_jvp
def _hurwitz(x, q):
    return lax.zeta(x, q)


def _hurwitz_jvp(primals, tangents):
    """Separate derivatives by x and q: the one by x may be infinite where it is not needed."""
    (x, q), (dx, dq) = primals, tangents
    terms = []
    if type(dx) is not SymbolicZero:
        terms.append(jvp(lambda x: in_float64(_euler_maclaurin)(x, q), (x,), (dx,))[1])
    if type(dq) is not SymbolicZero:
        terms.append(-dq * x * _hurwitz(x + 1, q))
    return _hurwitz(x, q), sum(terms[1:], terms[0])


_hurwitz.defjvp(_hurwitz_jvp, symbolic_zeros=True)


# B(2k) / (2k)! for k from 1.
_BERNOULLI = (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000,
              1 / 74724249600, -3617 / 10670622842880000, 43867 / 5109094217170944000)


def _euler_maclaurin(x, q):
    """The zeta function for q > 0: a sum, and the formula of Euler and Maclaurin for the rest."""
    total = sum((q + k) ** -x for k in range(12))
    end = q + 12
    power = end ** -x
    total = total + power * (end / (x - 1) + 0.5)
    factor, ratio = x, power / end
    for k, c in enumerate(_BERNOULLI):
        total = total + c * factor * ratio
        factor, ratio = factor * (x + (2 * k + 1)) * (x + (2 * k + 2)), ratio / (end * end)
    return total


@library_jit(name="zeta")
@in_float64
def _riemann(x):
    left = x < 0
    y = jnp.where(left, 1 - x, x)
    safe = jnp.where(y == 1, 2, y)
    right = jnp.where(safe < 60, _euler_maclaurin(jnp.minimum(safe, 60), 1.0), 1.0)
    # On the left by reflection; sin(πx / 2) is 0 for even numbers.
    sine = sine_of_turns(0.5 * jnp.where(left, x, 0))
    power = (2 * math.pi) ** jnp.where(left, 0.5 * x, 0)
    mirrored = 2 * power * sine * gamma_of_real(jnp.where(left, y, 1)) * right * power
    value = jnp.where(left, mirrored / (2 * math.pi), right)
    return jnp.where(x == 1, np.inf, jnp.where(jnp.isnan(x), np.nan, value))
