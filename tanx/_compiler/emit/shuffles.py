"""Shuffles of several vectors at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .complex import Pair
from .values import Value

__all__ = ["transposed"]



def transposed(rows: Sequence[Any]) -> list[Any]:
    """The columns of a square, of which smaller squares change places, from one element upwards."""
    if isinstance(rows[0], Pair):
        return [Pair(re, im) for re, im in zip(transposed([row.re for row in rows]),
                                               transposed([row.im for row in rows]))]
    vectors, size, square = list(rows), len(rows), 1
    while square < size:
        # Of two rows of squares, those above the diagonal go down, and those below it up.
        upper = [n - square + size if n & square else n for n in range(size)]
        lower = [n + size if n & square else n + square for n in range(size)]
        for n in range(size):
            if not n & square:
                pair = vectors[n], vectors[n + square]
                vectors[n], vectors[n + square] = _mixed(*pair, upper), _mixed(*pair, lower)
        square *= 2
    return vectors


def _mixed(a: Value, b: Value, places: Sequence[int]) -> Value:
    """A vector of lanes of two, which are counted on from the one to the other."""
    order = ", ".join([f"i32 {n}" for n in places])
    return a.writer.write(a.type, f"shufflevector {a!r}, {b!r}, <{len(places)} x i32> <{order}>")
