"""Functions that StableHLO lacks, as expressions of those that it has.

Each takes expressions of loop nests and gives one.
"""

from __future__ import annotations

from collections.abc import Callable

from ..._loops.build import const, op
from ..._loops.expr import Expr

__all__ = ["EXPANDED"]


def _square(x: Expr) -> Expr:
    return x * x


def _one_minus_square(x: Expr) -> Expr:
    one = const(1, x.dtype)
    return (one - x) * (one + x)


def _integer_pow(x: Expr, y: int) -> Expr:
    """Products of squares."""
    result, square, n = None, x, abs(y)
    while n:
        if n % 2:
            result = square if result is None else result * square
        n //= 2
        square = square * square if n else square
    one = const(1, x.dtype)
    if result is None:
        return one
    return op("div", one, result) if y < 0 else result


EXPANDED: dict[str, Callable[..., Expr]] = {
    "square": _square, "one_minus_square": _one_minus_square, "integer_pow": _integer_pow,
}
"""By name of the instruction."""
