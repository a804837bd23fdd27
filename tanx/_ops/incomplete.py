"""The incomplete gamma and beta functions, and their derivatives by parameters."""

from __future__ import annotations

import numpy as np

from .. import dtypes
from .._core.linear import never
from .._core.types import typeof
from .._loops import build
from ..errors import explain
from .arith import add, mul, neg, sub
from .derive import partials
from .families import Elementwise
from .operands import FLOAT, like
from .shared_formulas import State, apply, constant, converted, equal, where, while_loop
from .special import Special, digamma, lgamma
from .transcendental import exp, log, log1p

__all__ = ["betainc", "igamma", "igamma_grad_a", "igamma_grad_a_p", "igamma_p", "igammac",
           "igammac_p", "random_gamma_grad", "random_gamma_grad_p",
           "regularized_incomplete_beta_p"]


# -- the incomplete gamma function -----------------------------------------------------------------


def _density(a, x):
    """The derivative of P(a, x) by x: x^(a - 1) e^(-x) / gamma(a)."""
    return exp(sub(add(neg(x), mul(sub(a, like(a, 1)), log(x))), lgamma(a)))


class Igamma(Special):
    """The regularised lower incomplete gamma function P(a, x)."""

    name, scipy_name = "igamma", "gammainc"
    jvp = partials(lambda t, out, a, x: mul(t, igamma_grad_a(a, x)),
                   lambda t, out, a, x: mul(t, _density(a, x)))


class Igammac(Special):
    """The regularised upper incomplete gamma function, 1 - P(a, x)."""

    name, scipy_name = "igammac", "gammaincc"
    jvp = partials(lambda t, out, a, x: mul(neg(t), igamma_grad_a(a, x)),
                   lambda t, out, a, x: mul(neg(t), _density(a, x)))


def _movement(a, x, eps: float):
    """-(dP/da) / (dP/dx) of the regularised lower incomplete gamma function P(a, x).

    Left of the mode by the power series of P and its derivative, right of it by the continued
    fraction of 1 - P and its derivative (as in Cephes).
    """
    dtype = x.dtype
    right = (x > dtype.type(1)) & (x > a)
    log_x = apply("log", x)
    # Each branch gets numbers in its range, whichever branch is chosen.
    safe_a, safe_x = where(right, constant(1, a), a), where(right, constant(1, x), x)
    total, moved = _series(safe_a, safe_x, eps)
    left_value = -(moved + total * (log_x - apply("digamma", a + dtype.type(1)))) * x / a
    safe_a, safe_x = where(right, a, constant(1, a)), where(right, x, constant(2, x))
    total, moved = _fraction(safe_a, safe_x, eps)
    right_value = (moved + total * (log_x - apply("digamma", a))) * x
    value = where(right, right_value, left_value)
    value = where(equal(x, dtype.type(0)), constant(0, value), value)
    bad = (x < dtype.type(0)) | (a <= dtype.type(0))
    return where(bad, constant(np.nan, value), value)


def _series(a, x, eps: float) -> State:
    """The sum of x**n / (a + 1) ... (a + n), and its derivative by a."""
    dtype = x.dtype

    def goes_on(s: State):
        return apply("abs", s[4]) > dtype.type(eps) * apply("abs", s[5])

    def step(s: State) -> State:
        n, x, term, total, slope, slopes = s
        n = n + dtype.type(1)
        slope = slope * (x / n) - term * x / (n * n)
        term = term * (x / n)
        return n, x, term, total + term, slope, slopes + slope

    zero, one = constant(0, x), constant(1, x)
    first = step((a, x, one, one, zero, zero))
    *_, total, _, slopes = while_loop(first, goes_on, step)
    return total, slopes


def _fraction(a, x, eps: float) -> State:
    """The continued fraction of the upper function, and its derivative by a."""
    dtype = x.dtype
    zero, one = constant(0, x), constant(1, x)
    y = one - a
    z = x + y + one
    p2, q2, p1, q1 = one, x, x + one, z * x
    value = p1 / q1
    dq1 = -x
    slope = (zero - value * dq1) / q1
    # n, y, z, the two last numerators and denominators, their derivatives, the value, its slope
    start = (zero, y, z, p2, q2, p1, q1, zero, zero, zero, dq1, value, slope, one)

    def goes_on(s: State):
        return (s[13] > dtype.type(eps)) & (s[0] < dtype.type(2000))

    def step(s: State) -> State:
        n, y, z, p2, q2, p1, q1, dp2, dq2, dp1, dq1, value, slope, _ = s
        n, y, z = n + dtype.type(1), y + dtype.type(1), z + dtype.type(2)
        yn = y * n
        p, q = p1 * z - p2 * yn, q1 * z - q2 * yn
        dp = dp1 * z - p1 - dp2 * yn + p2 * n
        dq = dq1 * z - q1 - dq2 * yn + q2 * n
        value = p / q
        new = (dp - value * dq) / q
        change = apply("abs", new - slope)
        shrink = where(apply("abs", p) > dtype.type(1 / eps), constant(eps, p), constant(1, p))
        return (n, y, z, p1 * shrink, q1 * shrink, p * shrink, q * shrink, dp1 * shrink,
                dq1 * shrink, dp * shrink, dq * shrink, value, new, change)

    end = while_loop(start, goes_on, step)
    return end[11], end[12]


class Moving(Elementwise):
    """A derivative by the parameter; narrow floats go through float32."""

    accepts = FLOAT

    def compute(self, a, x, eps: float):
        """The derivative to a relative error of ``eps``; of arrays or of expressions."""
        raise NotImplementedError

    def eval(self, a, x):
        a, x = np.broadcast_arrays(a, x)
        wide, eps = _precision(x.dtype)
        out = self.compute(a.astype(wide).ravel(), x.astype(wide).ravel(), eps)
        return out.reshape(x.shape).astype(x.dtype)

    def lower(self, at, a, x):
        a, x = self.elements(at, a, x)
        wide, eps = _precision(x.dtype)
        out = self.compute(build.convert(a, wide), build.convert(x, wide), eps)
        return build.convert(out, x.dtype)


def _precision(dtype: np.dtype) -> tuple[np.dtype, float]:
    """The dtype to compute in, and its relative error."""
    wide = np.dtype(np.float32) if dtype.itemsize < 4 else dtype
    return wide, float(dtypes.finfo(wide).eps)


class RandomGammaGrad(Moving):
    """The derivative of a sample of the gamma distribution by the parameter, at fixed quantile."""

    name = "random_gamma_grad"
    jvp = never("it is a derivative without a closed form of its own derivative")

    def compute(self, a, x, eps):
        return _movement(a, x, eps)


def _curvature(t, out, a, x):
    raise NotImplementedError(explain(
        "tanx.lax.igamma", "has no second derivative by its first operand.", f"a: {typeof(a)}",
        hint="hold it constant, as with tanx.lax.stop_gradient."))


class IgammaGradA(Moving):
    """The derivative of P(a, x) by a."""

    name = "igamma_grad_a"
    jvp = partials(_curvature, lambda t, out, a, x: mul(
        t, mul(_density(a, x), sub(log(x), digamma(a)))))

    def compute(self, a, x, eps):
        # In float64: the exponent of the density is the difference of large numbers.
        a, x = converted(a, np.float64), converted(x, np.float64)
        movement = _movement(a, x, eps)
        exponent = (a - 1.0) * apply("log", x) - x - apply("lgamma", a)
        return where(equal(x, 0.0), movement, -movement * apply("exp", exponent))


# -- the incomplete beta function ------------------------------------------------------------------


def _no_parameter(t, out, a, b, x):
    raise ValueError(explain(
        "tanx.lax.betainc", "has derivatives by its last operand only.",
        f"a: {typeof(a)}", f"b: {typeof(b)}",
        hint="hold the parameters constant, as with tanx.lax.stop_gradient."))


def _beta_density(t, out, a, b, x):
    """t times x^(a - 1) (1 - x)^(b - 1) / beta(a, b)"""
    log_beta = sub(add(lgamma(a), lgamma(b)), lgamma(add(a, b)))
    one = like(x, 1)
    log_power = add(mul(sub(b, one), log1p(neg(x))), mul(sub(a, one), log(x)))
    return mul(exp(sub(log_power, log_beta)), t)


class RegularizedIncompleteBeta(Special):
    """The regularised incomplete beta function I_x(a, b)."""

    name, scipy_name, instruction = "regularized_incomplete_beta", "betainc", "betainc"
    jvp = partials(_no_parameter, _no_parameter, _beta_density)

    @property
    def function(self):
        return "betainc"

    def infer(self, a, b, x):
        return super().infer(super().infer(a, b), x)

    def eval(self, *operands):
        out = super().eval(*(x.astype(np.float64) for x in operands))  # exact to rounding then
        return out.astype(operands[0].dtype)


igamma_p, igammac_p, igamma_grad_a_p = Igamma(), Igammac(), IgammaGradA()
random_gamma_grad_p = RandomGammaGrad()
regularized_incomplete_beta_p = RegularizedIncompleteBeta()


# -- functions of tanx.lax -------------------------------------------------------------------------


def igamma(a, x):
    """The regularised lower incomplete gamma function of ``a > 0`` and ``x >= 0``.

    >>> lax.igamma(1.0, 2.0)  # 1 - e^-2
    Array(0.8646647, dtype=float32, weak_type=True)
    """
    return igamma_p.bind(a, x)


def igammac(a, x):
    """``1 - igamma(a, x)``, exact to rounding also where it is small.

    >>> lax.igammac(1.0, 2.0)  # e^-2
    Array(0.13533528, dtype=float32, weak_type=True)
    """
    return igammac_p.bind(a, x)


def igamma_grad_a(a, x):
    """The derivative of :func:`igamma` by its first operand.

    >>> lax.igamma_grad_a(1.0, 2.0)
    Array(-0.22082542, dtype=float32, weak_type=True)
    """
    return igamma_grad_a_p.bind(a, x)


def betainc(a, b, x):
    """The regularised incomplete beta function of ``a, b > 0`` and ``x`` from 0 to 1.

    >>> lax.betainc(1.0, 2.0, 0.5)  # 1 - (1 - x)²
    Array(0.75, dtype=float32, weak_type=True)
    """
    return regularized_incomplete_beta_p.bind(a, b, x)


def random_gamma_grad(*args):
    """For ``(a, x)``: the derivative of samples ``x`` of the gamma distribution by ``a``.

    >>> lax.random_gamma_grad(1.0, 2.0)
    Array(1.6316915, dtype=float32, weak_type=True)
    """
    return random_gamma_grad_p.bind(*args)
