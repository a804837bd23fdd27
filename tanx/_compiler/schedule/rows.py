"""Reductions along rows, several rows at a time: which they are, how many rows, how many lanes.

How they run is told in ``emit/cpu/rows.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from ml_dtypes import bfloat16

from ..._loops.expr import FOLDS, Fold, Op
from ..._loops.instructions import INDEX, kind_of
from ..._loops.nest import Statement, Store
from ..._loops.traverse import expressions, folds, loads, walk
from .lanes import Loop, Planner, register_bits

__all__ = ["as_rows", "rows_together", "with_finish_apart"]


_SIDE_BY_SIDE, _LONG_SIDE_BY_SIDE = 8, 4
"""Rows at a time, or as many as a vector has lanes if those are more, so that what is made of their
sums fills a vector (tanh of a 32 x 32 matrix times a vector, AVX-512: 190 ns with 16 rows, 320 with
8); and those of long ones, which come from far: fewer are foreseen."""
_LONG, _LONG_NARROW = 1 << 10, 1 << 14
"""Elements of a row up to which a sum needs no stretches to be exact enough, and those of narrow
numbers, which are long ones but worth it: what is shared is widened once."""
_SHORT = 512
"""Elements of a row up to which more than 8 are foreseen (1024 x 1024: 5 % slower with 16)."""
_LONG_VECTOR = 8
"""Lanes that make what whole vectors leave of a row worth vectors of fewer lanes."""
_MANY, _MUCH = 64, 48
"""Rows, and instructions on the sum of each, that are worth a loop of their own: the gradient of
logaddexp, of 1,000 rows of 20 numbers, takes 7.7 us so, where it took 14.5 (AVX-512)."""


def as_rows(planner: Planner, loop: Loop, body: Sequence[Statement]) -> dict[str, Any] | None:
    """How sums along rows are taken in a loop over rows: the fields of ``Rows``; None if they are
    no such sums."""
    found = _sums_of_rows(planner, loop, body)
    if not found:
        return None
    blocks: list[tuple[int, tuple[int, ...]]] = []
    left = loop.extent
    for together in (*_blocks_of_rows(planner, found[0]), 0):
        rows = together or left
        if left >= rows > 0:
            lanes = _lanes_along(planner, found[0], rows)
            blocks.append((rows, tuple(lane.width for lane in lanes)))
            left %= rows
    return {"blocks": tuple(blocks), "pairs": all(map(_reads_pairs, found))}


def _sums_of_rows(planner: Planner, loop: Loop, body: Iterable[Statement]) -> list[Fold]:
    """The sums in some stores if all of them are sums of rows that share a factor; else none."""
    found: list[Fold] = []
    for statement in body:
        if not isinstance(statement, Store) or statement.guard is not None or statement.combine:
            return []
        found += folds(statement.value)
    found = list(dict.fromkeys(found))
    fits = loop.width == 1 and loop.parallel and loop.extent >= _SIDE_BY_SIDE and 0 < len(
        found) <= 2 and all(_is_sum_of_row(planner, fold, loop, found[0]) for fold in found)
    return found if fits else []


def rows_together(planner: Planner, loop: Loop, body: Iterable[Statement]) -> int:
    """How many rows are added up at a time in a loop without lanes; 0 if it is not over rows."""
    found = _sums_of_rows(planner, loop, body)
    return _blocks_of_rows(planner, found[0])[0] if found else 0


def with_finish_apart(planner: Planner, loop: Loop, body: Sequence[Statement],
                      ) -> tuple[Sequence[Statement], Sequence[Statement]]:
    """The stores of a loop over rows up to the last sum, and those after it if they are much work.

    Those have a loop of their own then, with whole vectors and several at a time. No iteration of
    a parallel loop reads what another one stores, so the loop may be run in two parts.
    """
    count = 1 + max(n for n, s in enumerate(body) if any(e.holds & FOLDS for e in expressions(s)))
    work = sum(planner.analysis.length(e) for s in body[count:] for e in expressions(s))
    if loop.extent < _MANY or work < _MUCH:
        return body, ()
    return body[:count], body[count:]


def _blocks_of_rows(planner: Planner, fold: Fold) -> list[int]:
    """How many rows are added up at a time, and how many of those that are left."""
    if fold.indices[0].extent > _LONG:
        return [_LONG_SIDE_BY_SIDE]
    lanes = planner.vector_bits // register_bits(fold.states[0].dtype)
    if fold.indices[0].extent > _SHORT:
        return [_SIDE_BY_SIDE]
    return sorted({_SIDE_BY_SIDE, max(lanes, _SIDE_BY_SIDE)}, reverse=True)


def _is_sum_of_row(planner: Planner, fold: Fold, loop: Loop, first: Fold) -> bool:
    dtype = fold.states[0].dtype
    if fold.combine != "add" or kind_of(dtype) != "f" or len(fold.indices) != 1 or (
            fold.indices != first.indices) or any(e.holds & FOLDS for e in fold.body):
        return False
    read = list(loads(*fold.body))
    own = [load for load in read if not load.free.isdisjoint(loop.covers)]
    narrow = all(16 * load.dtype.itemsize <= register_bits(dtype) for load in read)
    return bool(own) and len(own) < len(read) and dtype == first.states[0].dtype and (
        fold.indices[0].extent <= (_LONG_NARROW if narrow else _LONG)
        and _lanes_along(planner, fold)[0].width > 1)


def _lanes_along(planner: Planner, fold: Fold, rows: int = _SIDE_BY_SIDE) -> list[Loop]:
    """The loop along so many rows: in as many lanes as memory fills a vector with, of few rows in
    more of them; in as many as there are in a vector; and without lanes."""
    (loop,) = planner.fold(fold, True) or [Loop(fold.indices[0], fold.indices, False)]
    bits = register_bits(fold.states[0].dtype)
    least = min([bits, *(8 * load.dtype.itemsize for load in loads(*fold.body)
                         if fold.indices[0] in load.free)])
    vector = planner.vector_bits
    widths = {1, *(min(loop.width, n) for n in (
        vector // least * max(1, _SIDE_BY_SIDE // rows), vector // bits))}
    if vector // bits >= _LONG_VECTOR:  # parts take what whole ones leave
        widths |= {n for n in (2, 4, 8) if n < min(loop.width, vector // bits) and loop.extent & n}
    return [replace(loop, width=width, whole=True) for width in sorted(widths, reverse=True)]


def _reads_pairs(fold: Fold) -> bool:
    """Whether a sum reads neighbours of bfloat16 along its row, and nothing else that differs: then
    it matters not which lanes they are in."""
    loop = Loop(fold.indices[0], fold.indices, False)
    return all(node.dtype == bfloat16 and loop.stride(node.place[0]) == 1
               for node in loads(*fold.body) if loop.index in node.free) and not any(
        arg.dtype == INDEX != node.dtype for node in walk(*fold.body) if isinstance(node, Op)
        for arg in node.args)
