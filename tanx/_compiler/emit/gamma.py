"""The incomplete gamma functions of float32 and float64, computed in float64, in lanes.

They use a series or a continued fraction, as quotients of sums that recurrences compute, so that no
step divides; where these converge slowly, next to a large parameter, Temme's expansion. SciPy's C
functions handle the limits of the domain.
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi

from .densities import deviation, gamma_weight
from .math import exp
from .special import erfc, from_scipy, in_float64
from .values import (
    F64,
    Value,
    absolute,
    constant,
    convert,
    copysign,
    fma,
    outlined,
    polynomial,
    repeat_until,
    select,
    sqrt,
    when_any,
)

__all__ = ["igamma", "igammac"]

_scipy_lower = from_scipy("gammainc", "The regularised lower incomplete gamma function of (a, x).")
_scipy_upper = from_scipy("gammaincc", "The regularised upper incomplete gamma function of (a, x).")
_ENOUGH = {32: 1e-12, 64: 1e-17}
"""A term of the series that is negligible."""
_UNSEEN_CHANGE = {32: 1e-11, 64: 4e-16}
"""A change of the fraction that is negligible. It is more than a rounding error: with less, some
lane never converges, and errors grow with the number of steps (to 1e-13 in eight lanes)."""
_LEAST = {32: 1e-3, 64: 0.1}
"""Parameters below which 1 minus the lower function cancels little."""
_MOST = 1e9
"""Parameters and arguments up to which it is computed here; SciPy handles the others."""
_SERIES_UP_TO = 1.5
"""Arguments up to which the series is used for any parameter, not the fraction."""
_TOGETHER = 8
"""Steps between tests for convergence."""
_LARGE = 1e60
"""Size from which numerators and denominators are scaled down, long before they overflow."""
_GREAT, _NEAR = 100.0, 0.3
"""The expansion is used for parameters above the first, and arguments whose relative distance from
the parameter is at most the second."""
_POWERS, _TERMS = 7, 20
"""How many powers of the parameter the expansion has, and powers of y in its first coefficient."""


def _steps(k: Value) -> list[Value]:
    """The numbers of the steps between tests."""
    first = convert(k, "sitofp", F64) * float(_TOGETHER)
    return [first + float(n + 1) for n in range(_TOGETHER)]


def _kept_small(by: Value, *values: Value) -> list[Value]:
    scale = select(absolute(by) > _LARGE, constant(by, 1 / _LARGE), 1.0)
    return [value * scale for value in values]


def _series(a: Value, x: Value, enough: float) -> Value:
    """The sum of x^n / ((a + 1) … (a + n)), as one fraction."""
    def step(k: Value, state: list[Value]) -> list[Value]:
        above, below, power = state
        for n in _steps(k):
            factor, power = a + n, power * x
            above, below = fma(above, factor, power), below * factor
        return _kept_small(above, above, below, power)

    def settled(above: Value, below: Value, power: Value) -> Value:
        return power <= above * enough

    above, below, _ = repeat_until(settled, 500, [constant(x, 1.0)] * 3, step)
    return above / below


def _fraction(a: Value, x: Value, enough: float) -> Value:
    """1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - 2 (2 - a) / (x + 5 - a - …)))"""
    start = x + 1.0 - a

    def step(k: Value, state: list[Value]) -> list[Value]:
        above, above_before, below, below_before = state
        for n in _steps(k):
            by, middle = n * (a - n), start + (n + n)
            above, above_before = fma(middle, above, by * above_before), above
            below, below_before = fma(middle, below, by * below_before), below
        return _kept_small(below, above, above_before, below, below_before)

    def settled(above: Value, above_before: Value, below: Value, below_before: Value) -> Value:
        new, old = above * below_before, above_before * below
        return absolute(new - old) <= absolute(new) * enough

    one, zero = constant(x, 1.0), constant(x, 0.0)
    above, _, below, _ = repeat_until(settled, 500, [one, zero, start, one], step)
    return above / below


def _expansion() -> list[tuple[float, ...]]:
    """Coefficients of the powers of 1 / a: polynomials of y, the deviation being y² / 2.

    The first is 1 / moved - 1 / y; from one follows the next (DLMF 8.12).
    """
    from fractions import Fraction  # late: takes 2 ms, and few programs need it
    moved = [Fraction(0), Fraction(1)]  # as a series of y
    for n in range(2, _TERMS + 3):
        total = sum((j * moved[j] * moved[n - j + 1] for j in range(2, n)), Fraction(0))
        moved.append((moved[n - 1] - total) / (n + 1))
    first = [(n + 2) * moved[n + 2] - (n == 0) for n in range(_TERMS + 1)]
    rows = [first]
    for _ in range(_POWERS - 1):
        row = rows[-1]
        rows.append([(n + 2) * row[n + 2] - row[1] * first[n] for n in range(len(row) - 2)])
    return [tuple(map(float, reversed(row))) for row in rows]


def _next_to_parameter(a: Value, x: Value, lower: bool) -> Value:
    """Either function by Temme's expansion."""
    moved = (x - a) / a
    exponent = a * deviation(moved)
    y = copysign(sqrt(exponent * 2.0 / a), moved)
    inverse, rest = 1.0 / a, constant(a, 0.0)
    for row in reversed(_expansion()):
        rest = fma(rest, inverse, polynomial(y, row))
    rest = rest * exp(-exponent) * sqrt(inverse * (0.5 / pi))
    root = copysign(sqrt(exponent), moved)
    return fma(erfc(-root), 0.5, -rest) if lower else fma(erfc(root), 0.5, rest)


def _incomplete(lower: bool, bits: int) -> Callable[[Value, Value], Value]:
    """Either function, in the precision of floats of ``bits`` bits."""
    enough, least = _ENOUGH[bits], 0.0 if lower else _LEAST[bits]

    def compute(a: Value, x: Value) -> Value:
        usual = (a > least) & (a < _MOST) & (x > 0.0) & (x < _MOST)
        near = (a > _GREAT) & (absolute(x - a) < a * _NEAR)
        given = (a, x)
        loops = usual & ~near
        a, x = select(loops, a, 1.0), select(loops, x, 1.0)
        above = (x > _SERIES_UP_TO) & (x > a)
        weight = gamma_weight(a, x)
        part = when_any(~above, weight, lambda: weight / a * _series(
            select(above, constant(a, 1.0), a), select(above, constant(x, 1.0), x), enough))
        part = when_any(above, part, lambda: weight * _fraction(
            select(above, a, 1.0), select(above, x, 2.0), _UNSEEN_CHANGE[bits]))
        result = select(above, 1.0 - part, part) if lower else select(above, part, 1.0 - part)
        result = when_any(near, result, lambda: outlined(
            "igamma.near" if lower else "igammac.near",
            lambda a, x: _next_to_parameter(a, x, lower), *given))
        return when_any(~(usual | near), result,
                        lambda: (_scipy_lower if lower else _scipy_upper)(*given))
    return compute


def igamma(a: Value, x: Value) -> Value:
    """The regularised lower incomplete gamma function."""
    bits = a.type.bits
    return in_float64(f"igamma{bits}", _incomplete(True, bits))(a, x)


def igammac(a: Value, x: Value) -> Value:
    """The regularised upper incomplete gamma function."""
    bits = a.type.bits
    return in_float64(f"igammac{bits}", _incomplete(False, bits))(a, x)
