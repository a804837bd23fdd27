"""Bounds of symbolic sizes, for all values of their variables.

They use the terms of sizes, their scope with constraints on variables, and arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import Any

from .monomials import ONE, Monomial, Operation, without

__all__ = ["bounds"]

Dim = Any  # int or DimExpr


def bounds(size: Dim, known: tuple[Dim, ...] | None = None) -> tuple[float, float]:
    """The bounds of a size, for all values of its variables.

    >>> a, = tanx.export.symbolic_shape("a")
    >>> bounds(a), bounds(3 - a), bounds(a % 5)
    ((1, inf), (-inf, 2), (0, 4))
    """
    if not hasattr(size, "terms"):
        return size, size
    known = tuple(size.scope.positive) if known is None else known
    low, high = _interval(size, known)
    if low == -inf or high == inf:
        for narrower in (_without_quotients(size, known), _without_extremes(size, known)):
            low, high = max(low, narrower[0]), min(high, narrower[1])
    for i, positive in enumerate(known):
        if not (low == -inf or high == inf):
            break
        rest = known[:i] + known[i + 1:]
        low = max(low, _above(size, positive, rest))
        high = min(high, -_above(-size, positive, rest))
    return low, high


def _linear_operations(size: Dim) -> Iterable[tuple[Operation, int, Dim]]:
    """Operations that are terms of a sum, their factors, and the rest of the sum."""
    for monomial, count in size.terms:
        if len(monomial) == 1 and monomial[0][1] == 1 and isinstance(monomial[0][0], Operation):
            yield monomial[0][0], count, size - size.with_terms({monomial: count})


def _without_quotients(size: Dim, known: tuple[Dim, ...]) -> tuple[float, float]:
    """Bounds after replacing n * (e // n) by e, which is larger by less than n."""
    low, high = -inf, inf
    for quotient, count, rest in _linear_operations(size):
        divisor = quotient.second
        if quotient.name == "floordiv" and type(divisor) is int and divisor > 0 and (
                count % divisor == 0):
            times = count // divisor
            one, other = bounds(rest + times * quotient.first, known)
            less, more = _multiplied((0, divisor - 1), (-times, -times))
            low, high = max(low, one + less), min(high, other + more)
    return low, high


def _without_extremes(size: Dim, known: tuple[Dim, ...]) -> tuple[float, float]:
    """Bounds after replacing extrema by each of their operands, remainders by their ends."""
    low, high = -inf, inf
    for extreme, count, rest in _linear_operations(size):
        if extreme.name in ("max", "min"):
            (a, b), (c, d) = (bounds(rest + count * end, known) for end in extreme[1:])
            if (extreme.name == "max") == (count > 0):  # no less than with either one
                low, high = max(low, a, c), min(high, max(b, d))
            else:
                low, high = max(low, min(a, c)), min(high, b, d)
        elif extreme.name == "mod" and bounds(extreme.second, known)[0] > 0:
            # A remainder is from 0 up to the divisor.
            (a, b), (c, d) = (bounds(rest + count * end, known)
                              for end in (0, extreme.second - 1))
            low, high = max(low, min(a, c)), min(high, max(b, d))
    return low, high


def _above(size: Dim, positive: Dim, known: tuple[Dim, ...]) -> float:
    """A lower bound from another size that is 0 or more."""
    mine = dict(size.terms)
    found: float = -inf
    for monomial, count in positive.terms:
        if monomial and mine.get(monomial, 0) * count > 0:  # p size = m positive + rest
            m, p = abs(mine[monomial]), abs(count)
            rest = size * p - positive * m
            low = bounds(rest, known)[0]
            if low > -inf:
                found = max(found, -(-low // p))
    return found


def _interval(size: Dim, known: tuple[Dim, ...]) -> tuple[float, float]:
    """Bounds term by term, after factoring out common factors.

    Only ``known`` may be used here: with a constraint such as ``a >= mod(a, 3)``, the search for
    the bounds of ``a`` would not end.
    """
    shared = dict(size.terms[0][0])
    for monomial, _ in size.terms[1:]:
        powers = dict(monomial)
        shared = {f: min(p, powers.get(f, 0)) for f, p in shared.items() if powers.get(f, 0)}
    if shared and len(size.terms) > 1:
        common = tuple(sorted(shared.items(), key=lambda item: str(item[0])))
        inner = size.with_terms({without(m, common) or ONE: count for m, count in size.terms})
        return _multiplied(_interval_of(common, size.scope, known), bounds(inner, known))
    low: float = 0
    high: float = 0
    for monomial, count in size.terms:
        one, other = _multiplied(_interval_of(monomial, size.scope, known), (count, count))
        low, high = low + one, high + other
    return low, high


def _interval_of(monomial: Monomial, scope: Any,
                 known: tuple[Dim, ...]) -> tuple[float, float]:
    found: tuple[float, float] = (1, 1)
    for factor, power in monomial:
        each = (scope.range_of(factor) if isinstance(factor, str) else _interval_of_operation(
            factor, known))
        for _ in range(power):
            found = _multiplied(found, each)
    return found


def _multiplied(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    products = [0 if 0 in (x, y) else x * y for x in a for y in b]
    return min(products), max(products)


def _interval_of_operation(operation: Operation,
                           known: tuple[Dim, ...]) -> tuple[float, float]:
    (low, high), (least_, most) = (bounds(size, known) for size in operation[1:])
    if operation.name == "max":
        return max(low, least_), max(high, most)
    if operation.name == "min":
        return min(low, least_), min(high, most)
    if operation.name == "mod":
        if least_ > 0:
            return 0, min(most - 1, high) if low >= 0 else most - 1
        return (least_ + 1, 0) if most < 0 else (-inf, inf)
    if least_ <= 0:
        return -inf, inf
    ends = [_quotient(x, y) for x in (low, high) for y in (least_, most)]
    return min(ends), max(ends)


def _quotient(x: float, y: float) -> float:
    if y == inf:
        return 0 if x >= 0 else -1 if x > -inf else -inf
    return x if x in (inf, -inf) else x // y
