"""Intervals: bounds for the values of integer expressions.

The interval of an expression follows from those of its parts, and is cached with it. Facts, which
conditions provide, narrow it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from ..instructions import INDEX, kind_of, value_range
from .nodes import Const, Expr, Index, Linear, Op, linear_form, plus, sum_of

__all__ = ["Facts", "Interval", "bounds", "facts_of"]

Interval = tuple[int, int]
Facts = Mapping[Expr, Interval]


def bounds(expr: Expr, facts: Facts | None = None) -> Interval:
    """An interval that contains the value of an integer expression; empty if first is greater.

    ``facts`` narrow the intervals of expressions that occur inside; see :func:`facts_of`.

    >>> i = Index("i", 8)
    >>> bounds(3 * i + 1), bounds(7 - i), bounds(i % 3)
    ((1, 22), (0, 7), (0, 2))
    """
    return _clipped(_ends(expr, facts), expr.dtype)


def _clipped(ends: Interval, dtype: np.dtype) -> Interval:
    """The interval, or that of the dtype where values may have wrapped around."""
    limits = value_range(dtype)
    return ends if limits[0] <= ends[0] and ends[1] <= limits[1] else limits


class _Slots:
    """Intervals of expressions without facts, cached with the expressions."""

    def __contains__(self, expr: Expr) -> bool:
        return hasattr(expr, "_ends")

    def __getitem__(self, expr: Expr) -> Interval:
        return expr._ends

    def __setitem__(self, expr: Expr, ends: Interval) -> None:
        object.__setattr__(expr, "_ends", ends)


_slots = _Slots()


def _ends(root: Expr, facts: Facts | None = None, known=None) -> Interval:
    """The interval of an integer; for int64, that of its linear form without wrapping."""
    known = known if known is not None else {} if facts else _slots
    stack = [] if root in known else [root]
    while stack:
        expr = stack[-1]
        unknown = [part for part in _parts(expr) if part not in known]
        if unknown:
            stack += unknown
        else:
            stack.pop()
            known[expr] = _ends_of(expr, facts or {}, known)
    return known[root]


def _parts(expr: Expr) -> Iterable[Expr]:
    """The integers whose intervals determine that of another one."""
    if expr.dtype == INDEX and (terms := linear_form(expr)[0]) != {expr: 1}:
        return terms
    if isinstance(expr, Op) and expr.name in _BOUNDS and kind_of(expr.args[-1].dtype) in "biu":
        return expr.args
    return ()


def _ends_of(expr: Expr, facts: Facts, known) -> Interval:
    """The interval of an integer whose parts are known."""
    if isinstance(expr, Const):
        return int(expr.value), int(expr.value)
    if expr.dtype == INDEX and (form := linear_form(expr))[0] != {expr: 1}:
        return sum_ends(form, facts, known)
    low, high = (0, expr.extent - 1) if isinstance(expr, Index) else value_range(expr.dtype)
    parts = [_clipped(known[part], part.dtype) for part in _parts(expr)]
    if isinstance(expr, Op) and parts:
        low, high = _clipped(_BOUNDS[expr.name](*parts), expr.dtype)
    fact = facts.get(expr, (low, high))
    return max(low, fact[0]), min(high, fact[1])


def sum_ends(form: Linear, facts: Facts | None = None, known=None) -> Interval:
    """The interval of a linear form in unbounded integers."""
    terms, constant = form
    low = high = 0
    for atom, factor in terms.items():
        ends = _ends(atom, facts, known)
        if ends[0] > ends[1]:
            return 0, -1
        low += min(factor * ends[0], factor * ends[1])
        high += max(factor * ends[0], factor * ends[1])
    if facts and terms:
        key, sign = _fact_key(terms)
        fact = facts.get(key)
        if fact is not None:
            ends = fact if sign > 0 else (-fact[1], -fact[0])
            low, high = max(low, ends[0]), min(high, ends[1])
    return low + constant, high + constant


def _fact_key(terms: Mapping[Expr, int]) -> tuple[Expr, int]:
    """The sum of terms without a constant, and the sign that makes its first factor positive."""
    sign = 1 if next(iter(terms.values())) > 0 else -1
    return sum_of({t: sign * f for t, f in terms.items()}, 0), sign


def _corners(f, a: Interval, b: Interval) -> Interval:
    values = [f(x, y) for x in a for y in b]
    return min(values), max(values)


_EVERYTHING = (-(2**64), 2**64)  # fits no dtype, so that it is clipped to all of that
_BOUNDS: dict[str, Callable[..., Interval]] = {
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "sub": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "mul": lambda a, b: _corners(lambda x, y: x * y, a, b),
    "neg": lambda a: (-a[1], -a[0]),
    "max": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    "min": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    "clamp": lambda lo, x, hi: (min(max(x[0], lo[0]), hi[0]), min(max(x[1], lo[1]), hi[1])),
    "floor_div": lambda a, b: _corners(lambda x, y: x // y, a, b) if b[0] > 0 else _EVERYTHING,
    "floor_mod": lambda a, b: (0, b[1] - 1) if b[0] > 0 else _EVERYTHING,
    "select": lambda c, a, b: (min(a[0], b[0]), max(a[1], b[1])),
    "convert": lambda a: a,
}


def facts_of(condition: Expr, holds: bool = True) -> dict[Expr, Interval]:
    """The bounds of int64 expressions that follow when a condition holds (or does not).

    Conjunctions of comparisons are understood; other conditions give no facts.

    >>> i = Index("i", 8)
    >>> facts_of((i - 2 >= 0) & (i < 5)), facts_of(i < 5, False)
    ({i: (2, 4)}, {i: (5, 7)})
    """
    facts: dict[Expr, Interval] = {}
    if not isinstance(condition, Op):
        return facts
    name, args = condition.name, condition.args
    if name == "not":
        return facts_of(args[0], not holds)
    if name == ("and" if holds else "or"):
        for arg in args:
            for expr, ends in facts_of(arg, holds).items():
                other = facts.get(expr, ends)
                facts[expr] = max(ends[0], other[0]), min(ends[1], other[1])
        return facts
    if not holds:
        name = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "ne": "eq"}.get(name, "")
    if name in ("lt", "le", "gt", "ge", "eq") and args[0].dtype == INDEX:
        difference = plus(linear_form(args[0]), linear_form(args[1]), -1)
        if difference[0] and all(exact(a) for a in args):
            key, sign = _fact_key(difference[0])
            low, high = sum_ends((difference[0], 0))
            zero = -difference[1]
            low = max(low, zero + (name == "gt")) if name in ("gt", "ge", "eq") else low
            high = min(high, zero - (name == "lt")) if name in ("lt", "le", "eq") else high
            facts[key] = (low, high) if sign > 0 else (-high, -low)
    return facts


def exact(expr: Expr) -> bool:
    """Whether the linear form of an int64 provably does not wrap around."""
    return fits(_ends(expr))


def fits(ends: Interval) -> bool:
    """Whether an interval is within int64."""
    return -2**63 <= ends[0] and ends[1] < 2**63
