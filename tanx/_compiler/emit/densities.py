"""The weights of the gamma and beta distributions, in float64: powers over gamma functions.

Logarithms of these are differences of large numbers, which cancel where the densities are large.
Therefore they are written as deviations from the middle (Loader 2000), and the error of Stirling's
formula. It holds from 8 on; the recurrence raises smaller parameters to that.
"""

from __future__ import annotations

from math import pi

from .math import exp, log
from .values import Value, absolute, fma, polynomial, select, sqrt

__all__ = ["beta_weight", "deviation", "gamma_weight"]

_LIFTED = 8.0
"""By how much small parameters are raised: to where Stirling's formula holds."""
_STIRLING = (-0.029550653594771242, 0.00641025641025641, -0.0019175269175269176,
             0.0008417508417508417, -0.0005952380952380953, 0.0007936507936507937,
             -0.002777777777777778, 0.08333333333333333)
"""B(2k) / (2k (2k - 1)) from k = 8 down to 1."""
_ARTANH = tuple(2 / (2 * k + 3) for k in reversed(range(17)))
"""2 (artanh(s) / s - 1) / s², of s²."""


def deviation(moved: Value) -> Value:
    """``moved - log(1 + moved)`` up to a half: about half of the square."""
    s = moved / (moved + 2.0)
    square = s * s
    return s * fma(-square, polynomial(square, _ARTANH), moved)


def _deviation(moved: Value, logarithm: Value) -> Value:
    """The same for all numbers, given the logarithm."""
    return select(absolute(moved) < 0.5, deviation(moved), moved - logarithm)


def _stirling(z: Value) -> Value:
    """The logarithm of gamma(z) divided by Stirling's formula, from 8 on."""
    inverse = 1.0 / z
    return polynomial(inverse * inverse, _STIRLING) * inverse


def _lift(z: Value) -> tuple[Value, Value, Value]:
    """Whether a parameter is small; the parameter, or 8 more; z (z + 1) … (z + 7), or 1."""
    low = z < _LIFTED
    return low, select(low, z + _LIFTED, z), select(low, _rising(z), 1.0)


def _rising(z: Value) -> Value:
    t = z * (z + 7.0)
    return (t * (t + 6.0)) * ((t + 10.0) * (t + 12.0))


def _eighth(x: Value) -> Value:
    x = x * x
    x = x * x
    return x * x


def gamma_weight(a: Value, x: Value) -> Value:
    """``x^a e^-x / gamma(a)`` for ``a > 0`` and ``x > 0``."""
    low, z, product = _lift(a)
    logarithm, beyond = log(x / z), x - z
    exponent = select(low, fma(a, logarithm, -beyond), -z * _deviation(beyond / z, logarithm))
    lifted = select(low, product / _eighth(z), 1.0)
    return exp(exponent - _stirling(z)) * sqrt(z * (0.5 / pi)) * lifted


def beta_weight(a: Value, b: Value, x: Value, y: Value) -> Value:
    """``x^a y^b / beta(a, b)`` for ``a > 0`` and ``b > 0``, where ``x + y`` is 1."""
    (low_a, p, above_a), (low_b, q, above_b) = _lift(a), _lift(b)
    both, total = a + b, p + q
    beyond = fma(x, q, -(y * p))
    exponent = _stirling(total) - _stirling(p) - _stirling(q)
    scale = sqrt(p * q / (total * (2.0 * pi)))
    for low, given, z, part, off, above in ((low_a, a, p, x, beyond, above_a),
                                            (low_b, b, q, y, -beyond, above_b)):
        share = total / z
        logarithm = log(part * share)
        exponent = exponent + select(low, given * logarithm,
                                     off - z * _deviation(off / z, logarithm))
        scale = scale * select(low, above * _eighth(share), 1.0)
    below = select(low_a | low_b, _rising(both), 1.0) * select(
        low_a & low_b, _rising(both + _LIFTED), 1.0)
    return exp(exponent) * scale / below
