"""Ways to write ``taylor`` rules: recurrences for the coefficients of a Taylor series.

The series of an operand is the list of its coefficients after the first, which is its value: those
of ``t, t**2, ..., t**K`` in ``x(t)``. :data:`zero_series` stands for an operand that does not
depend on ``t``. A rule gets the values and the series of all operands, and gives the value and the
series of the result.

Most primitives need no rule: ``y' = f'(x) x'`` says, order by order, what the series is, and
:mod:`tanx._transforms.taylor` reads that off the ``jvp`` rule. The rules here are for primitives
whose derivative contains the primitive itself, or two products, where that would repeat work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

__all__ = ["ZeroSeries", "bilinear", "oscillating", "power", "quotient", "raised", "riccati",
           "scaled", "zero_series"]


class ZeroSeries:
    """The series of what does not change."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "zero_series"


zero_series = ZeroSeries()

Series = Any
"""A list of coefficients, or :data:`zero_series`."""


def _total(terms: Sequence[Any]):
    from .arith import add
    return reduce(add, terms)


def scaled(factor: float, x):
    """``x`` times a number."""
    from .arith import mul
    from .families import like
    return x if factor == 1 else mul(like(x, factor), x)


def _convolved(xs: Sequence[Any], ys: Sequence[Any], k: int):
    """The coefficient ``k`` of the product of two series, written with their first ones."""
    from .arith import mul
    if xs is ys:  # each product of two different coefficients comes twice
        terms = [scaled(2, mul(xs[i], xs[k - i])) for i in range((k + 1) // 2)]
        return _total([*terms, mul(xs[k // 2], xs[k // 2])] if k % 2 == 0 else terms)
    return _total([mul(xs[i], ys[k - i]) for i in range(k + 1)])


def _velocity(xs: Sequence[Any]) -> list:
    """The coefficients of ``x'(t)``, of the series ``xs`` without its first coefficient."""
    return [scaled(j, x) for j, x in enumerate(xs, 1)]


def bilinear(self, primals, series, **params):
    """The rule of products: each coefficient of one factor meets each of the other."""
    (x, y), (xs, ys) = primals, series
    out = self.bind(x, y, **params)
    if xs is zero_series:
        return out, [self.bind(x, t, **params) for t in ys]
    if ys is zero_series:
        return out, [self.bind(t, y, **params) for t in xs]
    xs, ys = [x, *xs], [y, *ys]
    return out, [_total([self.bind(xs[i], ys[k - i], **params) for i in range(k + 1)])
                 for k in range(1, len(xs))]


def quotient(self, primals, series):
    """The rule of ``q = x / y``."""
    from .arith import mul, neg, sub
    (x, y), (xs, ys) = primals, series
    out = self.bind(x, y)
    if ys is zero_series:
        return out, [self.bind(t, y) for t in xs]
    found = [out]
    for k in range(1, len(ys) + 1):
        known = _total([mul(ys[j - 1], found[k - j]) for j in range(1, k + 1)])
        rest = neg(known) if xs is zero_series else sub(xs[k - 1], known)
        found.append(self.bind(rest, y))
    return out, found[1:]


def riccati(a: float, b: float, c: float) -> Callable:
    """The rule of functions with ``y' = (a + b y + c y**2) x'``."""
    def taylor(self, primals, series, **params):
        from .arith import add
        from .families import like
        (x,), (xs,) = primals, series
        out = self.bind(x, **params)
        moves, ys, slopes = _velocity(xs), [out], []
        for k in range(len(xs)):
            terms = ([scaled(b, ys[k])] if b else []) + (
                [scaled(c, _convolved(ys, ys, k))] if c else [])
            slope = _total(terms)
            slopes.append(add(slope, like(slope, a)) if a and k == 0 else slope)
            ys.append(scaled(1 / (k + 1), _convolved(slopes, moves, k)))
        return out, ys[1:]
    return taylor


def oscillating(slope: Callable, sign: int) -> Callable:
    """The rule of functions with ``y' = z x'`` and ``z' = ± y x'``; ``slope(x)`` is ``z``."""
    def taylor(self, primals, series, **params):
        (x,), (xs,) = primals, series
        moves = _velocity(xs)
        ys, zs = [self.bind(x, **params)], [slope(x)]
        for k in range(len(xs)):
            ahead = scaled(1 / (k + 1), _convolved(zs, moves, k))
            zs.append(scaled(sign / (k + 1), _convolved(ys, moves, k)))
            ys.append(ahead)
        return ys[0], ys[1:]
    return taylor


def power(exponent: float) -> Callable:
    """The rule of ``y = x**exponent``: from ``x y' = exponent y x'``."""
    def taylor(self, primals, series, **params):
        from .arith import div, mul
        (x,), (xs,) = primals, series
        ys = [self.bind(x, **params)]
        for k in range(1, len(xs) + 1):
            terms = [scaled((exponent * j - (k - j)) / k, mul(xs[j - 1], ys[k - j]))
                     for j in range(1, k + 1)]
            ys.append(div(_total(terms), x))
        return ys[0], ys[1:]
    return taylor


def raised(self, primals, series):
    """The rule of ``w = x**y`` where ``y`` moves: from ``w' = w (y log(x))'``.

    None where it does not: derivatives of fixed powers hold at 0, too.
    """
    from .arith import div, mul, sub
    from .transcendental import log
    (x, y), (xs, ys) = primals, series
    if ys is zero_series:
        return None
    count = len(ys)
    logs = [log(x)]
    for k in range(1, count + 1) if xs is not zero_series else ():
        known = [scaled(j / k, mul(logs[j], xs[k - j - 1])) for j in range(1, k)]
        logs.append(div(sub(xs[k - 1], _total(known)) if known else xs[k - 1], x))
    ys = [y, *ys]
    exponents = [_total([mul(ys[i], logs[k - i]) for i in range(k + 1) if k - i < len(logs)])
                 for k in range(1, count + 1)]
    moves, ws = _velocity(exponents), [self.bind(x, y)]
    for k in range(count):
        ws.append(scaled(1 / (k + 1), _convolved(ws, moves, k)))
    return ws[0], ws[1:]
