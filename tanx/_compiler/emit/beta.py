"""The incomplete beta function of float32 and float64: a continued fraction in float64, in lanes.

SciPy's C function handles the cases where that converges slowly, and the limits of the domain.
"""

from __future__ import annotations

from functools import partial

from .densities import beta_weight
from .special import from_scipy, in_float64
from .values import F64, Value, absolute, convert, fma, repeat_until, select, when_any

__all__ = ["betainc"]

_scipy = from_scipy("betainc", "The regularised incomplete beta function of (a, b, x).")
_ENOUGH = {32: 1e-11, 64: 4e-16}
"""A change of the fraction that is negligible."""
_LEAST = {32: 1e-3, 64: 0.1}
"""Parameters below which the complement, 1 minus the function of the other side, cancels little."""
_MOST = 2e3
"""Parameters up to which it is computed here; SciPy handles the others."""


def _fraction(a: Value, b: Value, x: Value, enough: float) -> Value:
    """The continued fraction, two steps at a time, the last denominator being 1."""
    both = a + b

    def step(k: Value, state: list[Value]) -> list[Value]:
        above, below, value, _ = state
        m = convert(k, "sitofp", F64) + 1.0
        first, middle, last = (a - 1.0) + (m + m), a + (m + m), (a + 1.0) + (m + m)
        inverse = x / (first * middle * last)
        even, odd = m * (b - m) * last * inverse, -(a + m) * (both + m) * first * inverse
        above, below = fma(even, above, value), fma(even, below, 1.0)
        scale = 1.0 / (below + odd)
        return [above * scale, below * scale, fma(odd, value, above) * scale, value]

    def settled(above: Value, below: Value, value: Value, before: Value) -> Value:
        return absolute(value - before) <= absolute(value) * enough

    start = 1.0 / (1.0 - both * x / (a + 1.0))
    return repeat_until(settled, 400, [start] * 4, step)[2]


def _betainc(a: Value, b: Value, x: Value, bits: int) -> Value:
    least = _LEAST[bits]
    usual = (a > least) & (b > least) & (a < _MOST) & (b < _MOST) & (x > 0.0) & (x < 1.0)
    given = (a, b, x)
    a, b, x = (select(usual, v, c) for v, c in zip(given, (1.0, 1.0, 0.5)))
    turned = x * (a + b + 2.0) > a + 1.0
    rest = 1.0 - x
    p, q, y = select(turned, b, a), select(turned, a, b), select(turned, rest, x)
    part = beta_weight(a, b, x, rest) * _fraction(p, q, y, _ENOUGH[bits]) / p
    result = select(turned, 1.0 - part, part)
    return when_any(~usual, result, lambda: _scipy(*given))


def betainc(a: Value, b: Value, x: Value) -> Value:
    """The regularised incomplete beta function."""
    bits = a.type.bits
    return in_float64(f"betainc{bits}", partial(_betainc, bits=bits))(a, b, x)
