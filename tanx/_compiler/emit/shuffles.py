"""Shuffles of several vectors at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .complex import Pair
from .values import Value

__all__ = ["by_turns", "dealt", "interleaved", "transposed"]


def transposed(rows: Sequence[Any]) -> list[Any]:
    """Transpose a square of vectors by swapping squares, from one element upwards."""
    if isinstance(rows[0], Pair):
        return [Pair(re, im) for re, im in zip(transposed([row.re for row in rows]),
                                               transposed([row.im for row in rows]))]
    vectors, size, square = list(rows), len(rows), 1
    while square < size:
        # In two rows of squares, swap those above the diagonal with those below it.
        upper = [n - square + size if n & square else n for n in range(size)]
        lower = [n + size if n & square else n + square for n in range(size)]
        for n in range(size):
            if not n & square:
                pair = vectors[n], vectors[n + square]
                vectors[n], vectors[n + square] = _mixed(*pair, upper), _mixed(*pair, lower)
        square *= 2
    return vectors


def _mixed(a: Value, b: Value, places: Sequence[int]) -> Value:
    """A vector of lanes of two, numbered from the first on to the second."""
    order = ", ".join([f"i32 {n}" for n in places])
    return a.writer.write(a.type, f"shufflevector {a!r}, {b!r}, <{len(places)} x i32> <{order}>")


def interleaved(a: Value, b: Value) -> Value:
    """Interleave the lanes of two vectors, as the parts of complex numbers are in memory."""
    width = a.type.lanes
    both = a.type.of(2 * width)
    if width == 1:
        start = Value(a.writer, "poison", both)
        return start.with_lane(0, a).with_lane(1, b)
    order = ", ".join([f"i32 {n + part * width}" for n in range(width) for part in (0, 1)])
    return a.writer.write(both, f"shufflevector {a!r}, {b!r}, <{2 * width} x i32> <{order}>")


def by_turns(vectors: Sequence[Value]) -> Value:
    """Interleave vectors: their first lanes, then the second ones, and so on."""
    if len(vectors) == 3:
        return _three_by_turns(*vectors)
    return vectors[0] if len(vectors) == 1 else interleaved(
        by_turns(vectors[::2]), by_turns(vectors[1::2]))


def dealt(vectors: Sequence[Value]) -> list[Value]:
    """The result of :func:`by_turns`, cut into vectors as long as its operands."""
    if len(vectors) == 1:
        return list(vectors)
    width = vectors[0].type.lanes
    if len(vectors) == 3:
        a, b, c = vectors
        return [_three_dealt(a, b, c, part * width) for part in range(3)]
    evens, odds = dealt(vectors[::2]), dealt(vectors[1::2])
    halves = [[n + part * width for n in range(start, start + width // 2) for part in (0, 1)]
              for start in (0, width // 2)]
    return [a.shuffled(order, b) for a, b in zip(evens, odds) for order in halves]


def _three_dealt(a: Value, b: Value, c: Value, start: int) -> Value:
    """As many interleaved lanes of three vectors as one has, from ``start`` on: two shuffles."""
    width = a.type.lanes
    places = [divmod(start + n, 3) for n in range(width)]
    pair = a.shuffled([lane + part * width if part < 2 else 0 for lane, part in places], b)
    return pair.shuffled([n if part < 2 else width + lane
                          for n, (lane, part) in enumerate(places)], c)


def _three_by_turns(a: Value, b: Value, c: Value) -> Value:
    """Interleave three vectors as a store instruction does it, if the processor has one."""
    width, write = a.type.lanes, a.writer.write
    every = ", ".join([f"i32 {n}" for n in range(2 * width)])
    pair, poison = a.type.of(2 * width), Value(a.writer, "poison", a.type)
    first, last = (write(pair, f"shufflevector {x!r}, {y!r}, <{2 * width} x i32> <{every}>")
                   for x, y in ((a, b), (c, poison)))
    order = ", ".join([f"i32 {n + part * width}" for n in range(width) for part in range(3)])
    return write(a.type.of(3 * width), f"shufflevector {first!r}, {last!r}, "
                                       f"<{3 * width} x i32> <{order}>")
