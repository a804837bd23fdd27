"""Helpers for ``taylor`` rules: recurrences for the coefficients of a Taylor series.
The series of an operand is the list of its coefficients of ``t, t**2, ..., t**K`` in ``x(t)``,
without its value, the first coefficient. ``zero_series`` is the series of an operand that does not
depend on ``t``. A rule takes the values and the series of all operands, and returns the value and
the series of the result.

Most primitives need no rule: ``y' = f'(x) x'`` determines the series, order by order, and
:mod:`tanx._transforms.taylor` derives it from the ``jvp`` rule. The rules here are for primitives
whose derivative contains the primitive itself, or two products, where that would repeat work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .arith import add, div, mul, total
from .operands import like

__all__ = ["oscillating", "power", "riccati", "scaled"]


def scaled(factor: float, x):
    """``x`` times a number."""
    return x if factor == 1 else mul(like(x, factor), x)


def convolved(xs: Sequence[Any], ys: Sequence[Any], k: int):
    """The coefficient ``k`` of the product of two series, given with their first coefficients."""
    return total([mul(xs[i], ys[k - i]) for i in range(k + 1)])


def squared(factor: float, xs: Sequence[Any], k: int):
    """The coefficient ``k`` of the square of a series, times a number."""
    # Each product of two different coefficients occurs twice.
    terms = [scaled(2 * factor, mul(xs[i], xs[k - i])) for i in range((k + 1) // 2)]
    middle = [scaled(factor, mul(xs[k // 2], xs[k // 2]))] if k % 2 == 0 else []
    return total([*terms, *middle])


def velocity(xs: Sequence[Any]) -> list:
    """The coefficients of ``x'(t)``, from the series ``xs`` without its first coefficient."""
    return [scaled(j, x) for j, x in enumerate(xs, 1)]


def riccati(a: float, b: float, c: float) -> Callable:
    """The rule of functions with ``y' = (a + b y + c y**2) x'``."""
    def taylor(self, primals, series, **params):
        (x,), (xs,) = primals, series
        out = self.bind(x, **params)
        moves, ys, slopes = velocity(xs), [out], []
        for k in range(len(xs)):
            terms = ([scaled(b, ys[k])] if b else []) + (
                [squared(c, ys, k)] if c else [])
            slope = total(terms)
            slopes.append(add(slope, like(slope, a)) if a and k == 0 else slope)
            ys.append(scaled(1 / (k + 1), convolved(slopes, moves, k)))
        return out, ys[1:]
    return taylor


def oscillating(slope: Callable, sign: int) -> Callable:
    """The rule of functions with ``y' = z x'`` and ``z' = ± y x'``; ``slope(x)`` is ``z``."""
    def taylor(self, primals, series, **params):
        (x,), (xs,) = primals, series
        moves = velocity(xs)
        ys, zs = [self.bind(x, **params)], [slope(x)]
        for k in range(len(xs)):
            ahead = scaled(1 / (k + 1), convolved(zs, moves, k))
            zs.append(scaled(sign / (k + 1), convolved(ys, moves, k)))
            ys.append(ahead)
        return ys[0], ys[1:]
    return taylor


def power(exponent: float) -> Callable:
    """The rule of ``y = x**exponent``: from ``x y' = exponent y x'``."""
    def taylor(self, primals, series, **params):
        (x,), (xs,) = primals, series
        ys = [self.bind(x, **params)]
        for k in range(1, len(xs) + 1):
            terms = [scaled((exponent * j - (k - j)) / k, mul(xs[j - 1], ys[k - j]))
                     for j in range(1, k + 1)]
            ys.append(div(total(terms), x))
        return ys[0], ys[1:]
    return taylor
