"""Special functions: the error function, gamma functions, Bessel functions."""

from __future__ import annotations

from math import pi, sqrt

import numpy as np

from .. import dtypes
from .._core.linear import never
from .._core.types import typeof
from ..errors import explain
from .arith import add, mul, neg, reciprocal, sub
from .compare import clamp, gt, select
from .create import full_like
from .derive import partials
from .families import Elementwise, by_own_loop
from .magnitude import abs, sign
from .operands import FLOAT, like, widened
from .roots import square
from .transcendental import exp

__all__ = ["bessel_i0e", "bessel_i0e_p", "bessel_i1e", "bessel_i1e_p", "digamma", "digamma_p",
           "erf", "erf_inv", "erf_inv_p", "erf_p", "erfc", "erfc_p", "lgamma", "lgamma_p",
           "polygamma", "polygamma_p", "zeta", "zeta_p"]


class Special(Elementwise):
    """A function of real numbers that SciPy computes; narrow floats go through float32."""

    accepts = FLOAT
    scipy_name: str

    def eval(self, *operands, **params):
        out = by_own_loop(self.name, *operands) if self.own_loop else None
        if out is not None:
            return out
        import scipy.special  # late: slower to import than all of tanx
        compute = getattr(scipy.special, self.scipy_name)
        out = np.asarray(compute(*map(widened, operands)))
        return out.astype(operands[0].dtype, copy=False)


# -- the error function ----------------------------------------------------------------------------


def _bell(x):
    """e^(-x²), whose value and derivatives are 0 for large x, also at infinity."""
    return exp(neg(square(clamp(like(x, -28), x, like(x, 28)))))


class Erf(Special):
    """The error function."""

    name = scipy_name = "erf"
    own_loop = True
    jvp = partials(lambda t, out, x: mul(like(x, 2 / sqrt(pi)), mul(t, _bell(x))))


class Erfc(Special):
    """1 - erf(x), exact to rounding where erf(x) is close to 1."""

    name = scipy_name = "erfc"
    own_loop = True
    jvp = partials(lambda t, out, x, accuracy: mul(like(x, -2 / sqrt(pi)), mul(t, _bell(x))))

    def show_params(self, params):
        return {name: value for name, value in params.items() if value is not None}


class ErfInv(Special):
    """The inverse of the error function."""

    name, scipy_name = "erf_inv", "erfinv"
    own_loop = True

    def eval(self, x):
        return np.copysign(super().eval(x), x)  # SciPy drops the sign of -0.0

    jvp = partials(lambda t, out, x: mul(like(x, sqrt(pi) / 2), mul(t, exp(square(out)))))


# -- the gamma function ----------------------------------------------------------------------------


class Lgamma(Special):
    """The logarithm of the absolute value of the gamma function."""

    name, scipy_name = "lgamma", "gammaln"
    own_loop = True
    jvp = partials(lambda t, out, x: mul(t, digamma(x)))

    def eval(self, x):
        return np.where(np.isinf(x), np.abs(x), super().eval(x))  # SciPy has -inf at -inf


class Digamma(Special):
    """The derivative of the logarithm of the gamma function."""

    name, scipy_name = "digamma", "digamma"
    own_loop = True
    jvp = partials(lambda t, out, x: mul(t, polygamma(like(x, 1), x)))

    def eval(self, x):
        return super().eval(np.where(x == 0, np.zeros_like(x), x))  # -inf also at -0.0


class Zeta(Special):
    """The Hurwitz zeta function: the sum of (q + k)^-x over k = 0, 1, 2 …"""

    name = scipy_name = "zeta"
    jvp = never("its derivatives have no closed form among the primitives")


def _no_order(t, out, m, x):
    raise ValueError(explain(
        "tanx.lax.polygamma", "has no derivative by its order.", f"m: {typeof(m)}",
        hint="hold the order constant, as with tanx.lax.stop_gradient."))


class Polygamma(Special):
    """The derivative of an integer order of digamma; order 0 is digamma itself."""

    name = "polygamma"
    jvp = partials(_no_order, lambda t, out, m, x: mul(t, polygamma(add(m, like(m, 1)), x)))

    def eval(self, m, x):
        from scipy import special
        order, at = widened(m), widened(x)
        sign = np.where(order % 2 == 1, 1, -1)
        higher = sign * special.gamma(order + 1) * special.zeta(order + 1, at)
        out = np.where(order == 0, digamma_p.eval(at), higher)
        return np.where((order == np.floor(order)) & (order >= 0), out, np.nan).astype(x.dtype)


# -- modified Bessel functions, scaled by e^-|x| ---------------------------------------------------


class BesselI0e(Special):
    """e^-|x| times the modified Bessel function of order 0."""

    name, scipy_name = "bessel_i0e", "i0e"
    jvp = partials(lambda t, out, x: mul(t, sub(bessel_i1e(x), mul(sign(x), out))))


def _slope_of_i1e(t, out, x):
    """i0e(x) - i1e(x) (sign(x) + 1/x), which is ½ at zero."""
    eps = float(dtypes.finfo(typeof(x).dtype).eps)
    away = gt(abs(x), like(x, eps))
    safe = select(away, x, full_like(x, eps))
    slope = sub(bessel_i0e(safe), mul(out, add(sign(safe), reciprocal(safe))))
    return mul(t, select(away, slope, full_like(x, 0.5)))


class BesselI1e(Special):
    """e^-|x| times the modified Bessel function of order 1."""

    name, scipy_name = "bessel_i1e", "i1e"
    jvp = partials(_slope_of_i1e)

    def eval(self, x):
        return np.copysign(super().eval(x), x)  # SciPy drops the sign of -0.0


erf_p, erfc_p, erf_inv_p = Erf(), Erfc(), ErfInv()
lgamma_p, digamma_p, zeta_p, polygamma_p = Lgamma(), Digamma(), Zeta(), Polygamma()
bessel_i0e_p, bessel_i1e_p = BesselI0e(), BesselI1e()


# -- functions of tanx.lax -------------------------------------------------------------------------


def erf(x):
    """The error function, the integral of 2/√π e^(-t²) from 0 to ``x``.

    >>> lax.erf(jnp.array([0.0, 1.0]))
    Array([0.       , 0.8427008], dtype=float32)
    """
    return erf_p.bind(x)


def erfc(x, *, accuracy=None):
    """``1 - erf(x)``, exact to rounding also where it is small.

    >>> lax.erfc(1.0)
    Array(0.1572992, dtype=float32, weak_type=True)
    """
    return erfc_p.bind(x, accuracy=accuracy)


def erf_inv(x):
    """The number whose error function is ``x``.

    >>> lax.erf_inv(0.5)
    Array(0.47693628, dtype=float32, weak_type=True)
    """
    return erf_inv_p.bind(x)


def lgamma(x):
    """The logarithm of the absolute value of the gamma function.

    >>> lax.lgamma(5.0)
    Array(3.1780539, dtype=float32, weak_type=True)
    """
    return lgamma_p.bind(x)


def digamma(x):
    """The derivative of :func:`lgamma`.

    >>> lax.digamma(1.0)
    Array(-0.5772157, dtype=float32, weak_type=True)
    """
    return digamma_p.bind(x)


def polygamma(m, x):
    """The derivative of order ``m`` of :func:`digamma`; ``m`` holds integers.

    >>> lax.polygamma(1.0, 1.0)  # π² / 6
    Array(1.644934, dtype=float32, weak_type=True)
    """
    return polygamma_p.bind(m, x)


def zeta(x, q):
    """The Hurwitz zeta function, the sum of ``(q + k)**-x`` over ``k = 0, 1, 2, …``.

    >>> lax.zeta(2.0, 1.0)
    Array(1.644934, dtype=float32, weak_type=True)
    """
    return zeta_p.bind(x, q)


def bessel_i0e(x):
    """The modified Bessel function of order 0, times ``e^-|x|``.

    >>> lax.bessel_i0e(1.0)
    Array(0.4657596, dtype=float32, weak_type=True)
    """
    return bessel_i0e_p.bind(x)


def bessel_i1e(x):
    """The modified Bessel function of order 1, times ``e^-|x|``.

    >>> lax.bessel_i1e(1.0)
    Array(0.20791042, dtype=float32, weak_type=True)
    """
    return bessel_i1e_p.bind(x)
