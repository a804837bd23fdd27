"""Simplification: each rule takes the operands of an instruction, and returns one or None.

Index arithmetic (int64 and bool) is simplified as it is built, so that a layout rule may be written
naively and still print as ``x[i, 7 - j]``. Rules about ``//``, ``%`` and comparisons apply only
where intervals prove that nothing wraps around.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from math import gcd

import numpy as np

from ..instructions import BOOL, INDEX, kind_of, value_range
from .intervals import Interval, bounds, exact, fits, sum_ends
from .nodes import SIMPLIFY, Const, Expr, Op, const, linear_form, op, plus, rejoin, sum_of

__all__: list[str] = []


@lru_cache(maxsize=2)
def _bool(value: bool) -> Const:
    return Const(value, BOOL)


def _ring(times: int):
    def simplify(a: Expr, b: Expr) -> Expr | None:
        if a.dtype != INDEX:
            return None
        return sum_of(*rejoin(plus(linear_form(a), linear_form(b), times)))
    return simplify


def _simplify_neg(a: Expr) -> Expr | None:
    return sum_of(*plus(({}, 0), linear_form(a), -1)) if a.dtype == INDEX else None


def _simplify_mul(a: Expr, b: Expr) -> Expr | None:
    if a.dtype != INDEX:
        return None
    if isinstance(a, Const):
        a, b = b, a
    return sum_of(*plus(({}, 0), linear_form(a), b.value)) if isinstance(b, Const) else None


def _divisor(x: Expr, divisor: Expr) -> int | None:
    """The divisor of an index; None if the rules do not apply."""
    if x.dtype == INDEX and isinstance(divisor, Const) and divisor.value > 0 and exact(x):
        return divisor.value
    return None


def _simplify_floor_div(x: Expr, divisor: Expr) -> Expr | None:
    c = _divisor(x, divisor)
    if c is None:
        return None
    terms, constant = linear_form(x)
    low, high = bounds(x)
    if low // c == high // c:
        return const(low // c)
    if any(f % c == 0 for f in terms.values()) or constant // c:
        part, left = _split(terms, constant, c)
        return part + left // c if exact(left) else None
    for g in _divisors(terms, c):
        part, left = _split(terms, constant, g)
        if bounds(left)[0] >= 0 and bounds(left)[1] < g:
            return part // (c // g)
    if isinstance(x, Op) and x.name == "floor_div" and isinstance(x.args[1], Const):
        product = x.args[1].value * c
        return x.args[0] // product if 0 < product < 2**63 else None
    return None


def _simplify_floor_mod(x: Expr, divisor: Expr) -> Expr | None:
    c = _divisor(x, divisor)
    if c is None:
        return None
    terms, constant = linear_form(x)
    low, high = bounds(x)
    if low // c == high // c:
        return sum_of(terms, constant - c * (low // c))
    if any(f % c == 0 for f in terms.values()) or constant // c:
        left = _split(terms, constant, c)[1]
        return left % c if exact(left) else None
    for g in _divisors(terms, c):
        part, left = _split(terms, constant, g)
        if bounds(left)[0] >= 0 and bounds(left)[1] < g:
            return part % (c // g) * g + left
    if isinstance(x, Op) and x.name == "floor_mod" and isinstance(x.args[1], Const):
        return x.args[0] % c if x.args[1].value % c == 0 else None
    return None


def _divisors(terms: Mapping[Expr, int], c: int) -> list[int]:
    """Common divisors, above 1, of ``c`` and a factor: greatest first."""
    return sorted({gcd(f, c) for f in terms.values()} - {1}, reverse=True)


def _split(terms: Mapping[Expr, int], constant: int, g: int) -> tuple[Expr, Expr]:
    """A sum as ``part * g + left``, where ``part`` has the terms that are multiples of ``g``."""
    return (sum_of({t: f // g for t, f in terms.items() if f % g == 0}, constant // g),
            sum_of({t: f for t, f in terms.items() if f % g}, constant % g))


def _sign_of(a: Expr, b: Expr) -> Interval | None:
    """An interval of ``a - b`` for integers; int64 must not wrap."""
    if a.dtype is INDEX and type(a) is Const and type(b) is Const:
        return a.value - b.value, a.value - b.value
    if a.dtype != INDEX and kind_of(a.dtype) in "iu":
        (low, high), (least, most) = bounds(a), bounds(b)
        return low - most, high - least
    if a.dtype != INDEX or not (exact(a) and exact(b)):
        return None
    return sum_ends(plus(linear_form(a), linear_form(b), -1))


def _comparison(name: str, true_when, false_when):
    def simplify(a: Expr, b: Expr) -> Expr | None:
        ends = _sign_of(a, b)
        if ends is None:
            return None
        if true_when(*ends) or false_when(*ends):
            return _bool(true_when(*ends))
        if a.dtype != INDEX:
            return _asked(name, a, b)
        terms, offset = linear_form(a)
        factor = gcd(*terms.values())
        if terms and isinstance(b, Const) and (offset or factor > 1):
            return _divided(name, terms, b.value - offset, factor)
        return None
    return simplify


def _divided(name: str, terms: Mapping[Expr, int], limit: int, factor: int) -> Expr | None:
    """A comparison of a sum with a number, both divided by the divisor of the sum."""
    bare = sum_of({t: f // factor for t, f in terms.items()}, 0)
    if not exact(bare) or not fits((limit, limit)):
        return None
    if name in ("eq", "ne") and limit % factor:
        return Const(name == "ne", BOOL)
    up = name in ("lt", "ge")  # x * 2 < 5 where x < 3, and x * 2 <= 5 where x <= 2
    return Op(name, (bare, const(-(-limit // factor) if up else limit // factor)), BOOL)


def _asked(name: str, a: Expr, b: Expr) -> Expr | None:
    """The bool behind a comparison of its number with 0 or 1."""
    if name in ("eq", "ne") and isinstance(a, Op) and a.name == "convert" and isinstance(
            b, Const) and b.value in (0, 1) and a.args[0].dtype == BOOL:
        return a.args[0] if (b.value == 1) is (name == "eq") else op("not", a.args[0])
    return None


def _simplify_max(a: Expr, b: Expr) -> Expr | None:
    ends = _sign_of(a, b)
    return None if ends is None else a if ends[0] >= 0 else b if ends[1] <= 0 else None


def _simplify_min(a: Expr, b: Expr) -> Expr | None:
    ends = _sign_of(a, b)
    return None if ends is None else a if ends[1] <= 0 else b if ends[0] >= 0 else None


def _simplify_clamp(low: Expr, x: Expr, high: Expr) -> Expr | None:
    below, above = _sign_of(x, low), _sign_of(high, x)
    return x if below and above and below[0] >= 0 and above[0] >= 0 else None


def _logic(absorbing: bool):
    def simplify(a: Expr, b: Expr) -> Expr | None:
        if a.dtype != BOOL:
            return None
        for this, other in ((a, b), (b, a)):
            if isinstance(this, Const):
                return this if this.value is absorbing else other
        return a if a == b else None
    return simplify


def _simplify_not(a: Expr) -> Expr | None:
    return Const(not a.value, BOOL) if a.dtype == BOOL and isinstance(a, Const) else None


def _simplify_select(condition: Expr, a: Expr, b: Expr) -> Expr | None:
    if isinstance(condition, Const):
        return a if condition.value else b
    if isinstance(condition, Op) and condition.name == "not":
        return op("select", condition.args[0], b, a)
    return a if a == b else None


def _simplify_convert(x: Expr, *, dtype: np.dtype) -> Expr | None:
    if x.dtype == dtype:
        return x
    if isinstance(x, Const) and x.dtype in (INDEX, BOOL):
        return Const(np.asarray(x.value, x.dtype).astype(dtype), dtype)
    if isinstance(x, Op) and x.name == "convert" and x.args[0].dtype == dtype:
        inner, outer = kind_of(dtype), kind_of(x.dtype)
        if inner in "biu" and outer in "iu":
            (a, b), (c, d) = bounds(x.args[0]), value_range(x.dtype)
            return x.args[0] if c <= a and b <= d else None
    return None


SIMPLIFY.update({
    "add": _ring(1), "sub": _ring(-1), "neg": _simplify_neg, "mul": _simplify_mul,
    "floor_div": _simplify_floor_div, "floor_mod": _simplify_floor_mod,
    "lt": _comparison("lt", lambda a, b: b < 0, lambda a, b: a >= 0),
    "le": _comparison("le", lambda a, b: b <= 0, lambda a, b: a > 0),
    "gt": _comparison("gt", lambda a, b: a > 0, lambda a, b: b <= 0),
    "ge": _comparison("ge", lambda a, b: a >= 0, lambda a, b: b < 0),
    "eq": _comparison("eq", lambda a, b: a == b == 0, lambda a, b: a > 0 or b < 0),
    "ne": _comparison("ne", lambda a, b: a > 0 or b < 0, lambda a, b: a == b == 0),
    "max": _simplify_max, "min": _simplify_min, "clamp": _simplify_clamp,
    "and": _logic(False), "or": _logic(True), "not": _simplify_not,
    "select": _simplify_select, "convert": _simplify_convert,
})
