"""The gamma function, the error function and Bessel functions, in elementary functions.

All are computed in float64, whatever the dtype, by one formula for each range: a series or a
continued fraction that runs until it converges. That is compact rather than fast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log, pi, sqrt

import numpy as np

from ..._loops.build import const, convert, eq, ne, op, select, while_loop
from ..._loops.expr import Expr

__all__ = ["FUNCTIONS"]

_DOUBLE = np.dtype(np.float64)
_EPS = float(np.finfo(_DOUBLE).eps)
_TINY = 1e-300
_STEPS = 20_000
"""Limit of steps of a series, which only NaN reaches."""

_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
"""Bernoulli numbers of even order, from the second on."""


def _fn(name: str) -> Callable[..., Expr]:
    return lambda *args: op(name, *args)


_abs, _sqrt, _log, _log1p, _exp = map(_fn, ("abs", "sqrt", "log", "log1p", "exp"))
_sin, _cos, _floor, _pow = map(_fn, ("sin", "cos", "floor", "pow"))


def _const(value: float) -> Expr:
    return const(value, _DOUBLE)


def _in_double(function: Callable[..., Expr]) -> Callable[..., Expr]:
    """A function of float64 extended to any float."""
    def converted(*args: Expr, **_) -> Expr:
        return convert(function(*(convert(x, _DOUBLE) for x in args)), args[0].dtype)
    return converted


def _polynomial(x: Expr, coefficients: Sequence[float]) -> Expr:
    """A polynomial; the constant term comes last."""
    total = _const(coefficients[0])
    for c in coefficients[1:]:
        total = total * x + c
    return total


# -- the gamma function ----------------------------------------------------------------------------

_LANCZOS = (
    0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313,
    -176.61502916214059, 12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6,
    1.5056327351493116e-7)
"""Coefficients for g = 7, by Godfrey."""


def _zeta_less_one(k: int) -> float:
    """The sum of n^-k from n = 2 on: the first terms, and the rest by Euler and Maclaurin."""
    far = 200
    rest = far / (k - 1) + 1 / 2 + k / (12 * far) - k * (k + 1) * (k + 2) / (720 * far ** 3)
    return sum(n ** -k for n in range(2, far)) + rest * far ** -k


_EULER = 0.57721566490153286
_NEAR_TWO = (*((-1) ** k * _zeta_less_one(k) / k for k in range(28, 1, -1)), 1 - _EULER, 0.0)
"""The power series of log gamma(2 + z)."""


def _log_gamma_right(x: Expr) -> Expr:
    """log gamma(x) for x of at least ½: by a power series around 1 and 2, where it has zeros."""
    z = x - 1
    total = _const(_LANCZOS[0])
    for n, c in enumerate(_LANCZOS[1:], 1):
        total = total + c / (z + n)
    t = z + 7.5
    far = (z + 0.5) * _log(t) - t + _log(total) + log(2 * pi) / 2
    around_one = x < 1.5
    small = select(around_one, z, z - 1)
    near = _polynomial(small, _NEAR_TWO)
    return select(x < 2.5, select(around_one, near - _log1p(small), near), far)


def _sine_of_pi(x: Expr) -> Expr:
    """sin(πx), exact at integers."""
    whole = op("round_even", x)
    odd = ne(whole - 2 * _floor(whole / 2), _const(0))
    value = _sin((x - whole) * pi)
    return select(odd, -value, value)


def _lgamma(x: Expr) -> Expr:
    left = x < 0.5
    right = _log_gamma_right(select(left, 1 - x, x))
    mirrored = log(pi) - _log(_abs(_sine_of_pi(x))) - right
    value = select(left, mirrored, right)
    return select(eq(_abs(x), _const(np.inf)), np.inf, value)


def _digamma(x: Expr) -> Expr:
    """By Stirling's series after a recurrence to large arguments; on the left by reflection."""
    left = x < 0.5
    z = select(left, 1 - x, x)
    far, below = while_loop(
        [z, _const(0)], lambda s: s[0] < 10, lambda s: [s[0] + 1, s[1] - 1 / s[0]])
    inverse = 1 / (far * far)
    terms = [b / (2 * n) for n, b in enumerate(_BERNOULLI, 1)]
    series = _polynomial(inverse, (*reversed(terms), 0))
    right = below + _log(far) - 1 / (2 * far) - series
    around = x - op("round_even", x)
    mirrored = right - pi * _cos(pi * around) / _sin(pi * around)
    value = select(left, mirrored, right)
    pole = left & eq(x, _floor(x))
    return select(eq(x, _const(0)), -np.inf, select(pole, np.nan, value))


def _zeta(x: Expr, q: Expr) -> Expr:
    """The first terms, and the rest of the sum by Euler and Maclaurin."""
    first = 10
    total = _const(0)
    for k in range(first):
        total = total + _pow(q + k, -x)
    far = q + first
    total = total + _pow(far, 1 - x) / (x - 1) + _pow(far, -x) / 2
    factor, power = x, _pow(far, -x - 1)
    for n, b in enumerate(_BERNOULLI, 1):
        total = total + b / _factorial(2 * n) * factor * power
        factor = factor * (x + (2 * n - 1)) * (x + 2 * n)
        power = power / (far * far)
    whole = eq(q, _floor(q))
    pole = select(whole, _const(np.inf), select(eq(x, _floor(x)), total, np.nan))
    value = select(q <= 0, pole, total)
    return select(x < 1, np.nan, select(eq(x, _const(1)), np.inf, value))


def _factorial(n: int) -> float:
    return float(np.prod(np.arange(1, n + 1, dtype=float)))


def _polygamma(m: Expr, x: Expr) -> Expr:
    odd = ne(m - 2 * _floor(m / 2), _const(0))
    size = _exp(_lgamma(m + 1)) * _zeta(m + 1, x)
    value = select(eq(m, _const(0)), _digamma(x), select(odd, size, -size))
    return select((m < 0) | ne(m, _floor(m)), np.nan, value)


# -- the incomplete gamma function, and the error function -----------------------------------------


def _lower_series(a: Expr, x: Expr) -> Expr:
    """The sum of x^n / (a (a + 1) ... (a + n))."""
    first = 1 / a

    def goes_on(s):
        return (_abs(s[1]) > _abs(s[2]) * (_EPS / 4)) & (s[0] < a + _STEPS)

    def step(s):
        n, term, total = s
        n = n + 1
        term = term * (x / n)
        return n, term, total + term
    return while_loop([a, first, first], goes_on, step)[2]


def _upper_fraction(a: Expr, x: Expr) -> Expr:
    """The continued fraction of the upper function without its power, by Lentz' method."""
    b = x + 1 - a
    d = 1 / b

    def goes_on(s):
        return (_abs(s[4] - 1) > _EPS) & (s[0] < _STEPS)

    def step(s):
        n, c, d, value, _ = s
        n = n + 1
        factor, b = -n * (n - a), x + 2 * n + 1 - a
        d, c = _away(factor * d + b), _away(b + factor / c)
        d = 1 / d
        return n, c, d, value * (d * c), d * c
    return while_loop([_const(0), _const(1 / _TINY), d, d, _const(0)], goes_on, step)[3]


def _away(x: Expr) -> Expr:
    """A number with zero replaced by a tiny one, to divide by."""
    return select(_abs(x) < _TINY, _TINY, x)


def _parts(a: Expr, x: Expr) -> tuple[Expr, Expr]:
    """The lower and the upper function for a > 0 and x >= 0; the smaller one is computed."""
    left = x < a + 1
    power = _exp(a * _log(x) - x - _lgamma(a))
    lower = power * _lower_series(a, select(left, x, 1))
    upper = power * _upper_fraction(select(left, 1, a), select(left, 3, x))
    return select(left, lower, 1 - upper), select(left, 1 - lower, upper)


def _incomplete(which: int) -> Callable[[Expr, Expr], Expr]:
    ends = (0, 1) if which == 0 else (1, 0)

    def function(a: Expr, x: Expr) -> Expr:
        inside = (a > 0) & (x > 0) & (a < np.inf) & (x < np.inf)
        value = _parts(select(inside, a, 1), select(inside, x, 1))[which]
        at_edge = select(eq(x, _const(0)) | (a > x), _const(ends[0]), _const(ends[1]))
        wrong = (x < 0) | (a < 0) | ne(a, a) | ne(x, x) | (
            eq(a, x) & (eq(a, _const(np.inf)) | eq(a, _const(0))))
        return select(inside, value, select(wrong, np.nan, at_edge))
    return function


def _erf(x: Expr) -> Expr:
    """The lower function of ½ and x², with the sign of x."""
    size = _abs(x)
    value = select(size < 6, _half(size)[0], 1)
    return select(eq(x, _const(0)) | ne(x, x), x, select(x < 0, -value, value))


def _erfc(x: Expr) -> Expr:
    size = _abs(x)
    lower, upper = _half(size)
    lower, upper = select(size < 6, lower, 1), select(size < 28, upper, 0)
    value = select(x < 0, lower + 1, upper)
    return select(eq(x, _const(0)), 1, select(ne(x, x), x, value))


def _half(size: Expr) -> tuple[Expr, Expr]:
    """erf and erfc of a positive number; arbitrary for other numbers."""
    inside = (size > 0) & (size < 28)
    x = select(inside, size, 1)
    square = x * x
    left = square < 1.5
    power = x * _exp(-square) / sqrt(pi)
    lower = power * _lower_series(_const(0.5), select(left, square, 1))
    upper = power * _upper_fraction(_const(0.5), select(left, 3, square))
    return select(left, lower, 1 - upper), select(left, 1 - lower, upper)


def _erf_inv(x: Expr) -> Expr:
    """Winitzki's approximation and Halley's steps, on erfc where erf is close to 1."""
    size = _abs(x)
    inside = (size > 0) & (size < 1)
    y = select(inside, size, 0.5)
    rest = _log1p(-y * y)
    middle = 2 / (pi * 0.147) + rest / 2
    root = _sqrt(middle * middle - rest / 0.147)
    z = _sqrt(select(middle > 0, -rest / (0.147 * (root + middle)), root - middle))
    for _ in range(3):
        lower, upper = _half(z)
        error = select(y < 0.5, lower - y, (1 - y) - upper)
        slope = 2 / sqrt(pi) * _exp(-z * z)
        newton = error / slope
        z = z - newton / (1 + z * newton)
    value = select(inside, z, select(eq(size, _const(1)), _const(np.inf), _const(np.nan)))
    return select(eq(x, _const(0)), x, select(x < 0, -value, value))


# -- the incomplete beta function ------------------------------------------------------------------


def _beta_fraction(a: Expr, b: Expr, x: Expr) -> Expr:
    """The continued fraction of the function without its power, by Lentz' method."""
    d = 1 / _away(1 - (a + b) * x / (a + 1))

    def goes_on(s):
        return (_abs(s[4] - 1) > _EPS) & (s[0] < _STEPS)

    def step(s):
        n, c, d, value, _ = s
        n = n + 1
        even = n * (b - n) * x / ((a + 2 * n - 1) * (a + 2 * n))
        odd = -(a + n) * (a + b + n) * x / ((a + 2 * n) * (a + 2 * n + 1))
        for factor in (even, odd):
            d, c = 1 / _away(1 + factor * d), _away(1 + factor / c)
            value, last = value * (d * c), d * c
        return n, c, d, value, last
    return while_loop([_const(0), _const(1), d, d, _const(0)], goes_on, step)[3]


def _betainc(a: Expr, b: Expr, x: Expr) -> Expr:
    """The fraction of the function or of its mirror image, whichever converges faster."""
    inside = (a > 0) & (b > 0) & (x > 0) & (x < 1)
    a, b, z = (select(inside, v, other) for v, other in ((a, 1), (b, 1), (x, 0.5)))
    mirrored = z > (a + 1) / (a + b + 2)
    p, q = select(mirrored, b, a), select(mirrored, a, b)
    y = select(mirrored, 1 - z, z)
    log_beta = _lgamma(a) + _lgamma(b) - _lgamma(a + b)
    power = _exp(a * _log(z) + b * _log1p(-z) - log_beta)
    value = power * _beta_fraction(p, q, y) / p
    value = select(mirrored, 1 - value, value)
    edge = select(eq(x, _const(0)), _const(0), select(eq(x, _const(1)), _const(1), np.nan))
    return select(inside, value, edge)


# -- Bessel functions ------------------------------------------------------------------------------

_SERIES_TO = 30.0
"""Up to this number the power series is summed; its terms are positive, so nothing cancels."""


def _bessel(order: int) -> Callable[[Expr], Expr]:
    def function(x: Expr) -> Expr:
        size = _abs(x)
        near = size < _SERIES_TO
        quarter = select(near, size * size / 4, 1)

        def goes_on(s):
            return s[1] > s[2] * (_EPS / 4)

        def step(s):
            n, term, total = s
            n = n + 1
            term = term * quarter / (n * (n + order))
            return n, term, total + term
        first = _const(1)
        total = while_loop([_const(0), first, first], goes_on, step)[2]
        series = _exp(-size) * total * (size / 2 if order else 1)
        far = select(near, _SERIES_TO, size)
        expansion, term = _const(1), _const(1)
        for n in range(1, 25):
            term = term * ((2 * n - 1) ** 2 - 4 * order * order) / (8 * n * far)
            expansion = expansion + term
        value = select(near, series, expansion / _sqrt(2 * pi * far))
        value = select(ne(x, x), x, value)
        return select(x < 0, -value, value) if order else value
    return function


# -- probabilities ---------------------------------------------------------------------------------


def _ndtr(x: Expr) -> Expr:
    return _erfc(x * -sqrt(0.5)) / 2


def _logit(x: Expr) -> Expr:
    """By ``log1p`` of the odds less 1 where they are close to 1."""
    near = _abs(x - 0.5) < 0.25
    odds = _log1p((x * 2 - 1) / (1 - x))
    return select(near, odds, _log(x) - _log1p(-x))


_OF_DOUBLE: dict[str, Callable[..., Expr]] = {
    "lgamma": _lgamma, "digamma": _digamma, "zeta": _zeta, "polygamma": _polygamma,
    "igamma": _incomplete(0), "igammac": _incomplete(1), "erf": _erf, "erfc": _erfc,
    "erf_inv": _erf_inv, "betainc": _betainc, "bessel_i0e": _bessel(0), "bessel_i1e": _bessel(1),
    "ndtr": _ndtr, "logit": _logit}

FUNCTIONS = {name: _in_double(function) for name, function in _OF_DOUBLE.items()}
"""By name of the instruction."""
