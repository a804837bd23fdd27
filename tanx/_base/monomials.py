"""Products of powers, from which :mod:`tanx._base.symbolic` builds sizes. Plain data.

A size is a sum of terms: pairs of a monomial and its coefficient.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .tuples import NamedTuple

__all__ = ["ONE", "Factor", "Monomial", "Operation", "Term", "rank", "shown", "times", "without"]


class Operation(NamedTuple):
    """A factor that is not a variable: ``floordiv``, ``mod``, ``max`` or ``min`` of two sizes."""

    name: str
    first: Any
    second: Any

    def __str__(self) -> str:
        return f"{self.name}({self.first}, {self.second})"


Factor = str | Operation
Monomial = tuple[tuple[Factor, int], ...]
"""A product of powers, in the order of the factors; the empty one is 1."""

Term = tuple[Monomial, int]

ONE: Monomial = ()


def rank(term: Term) -> tuple:
    """The key by which the terms of a size are sorted."""
    names = [str(factor) for factor, power in term[0] for _ in range(power)]
    return len(names), names


def without(monomial: Monomial, divisor: Monomial) -> Monomial | None:
    """A product without the factors of another one; None if it does not contain them all."""
    powers = dict(monomial)
    for factor, power in divisor:
        powers[factor] = powers.get(factor, 0) - power
    if min(powers.values(), default=0) < 0:
        return None
    return tuple(item for item in powers.items() if item[1])


def times(a: Monomial, b: Monomial) -> Monomial:
    """The product of two products."""
    if not a or not b:
        return a or b
    powers = dict(a)
    for factor, power in b:
        powers[factor] = powers.get(factor, 0) + power
    return tuple(sorted(powers.items(), key=lambda item: str(item[0])))


def shown(terms: Iterable[Term]) -> str:
    """A sum of terms as text."""
    parts: list[str] = []
    for monomial, count in terms:
        sign = "- " if count < 0 else "+ " if parts else ""
        factors = [str(f) if power == 1 else f"{f}^{power}" for f, power in monomial]
        if abs(count) != 1 or not factors:
            factors.insert(0, str(abs(count)))
        parts.append(sign + "*".join(factors))
    return " ".join(parts)
