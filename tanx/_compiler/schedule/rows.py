"""Reductions along rows, several rows at a time: which nests, how many rows, how many lanes.

``emit/cpu/rows.py`` describes the code.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from ml_dtypes import bfloat16

from ..._loops.expr import FOLDS, Expr, Fold, Op
from ..._loops.instructions import INDEX, kind_of
from ..._loops.nest import Statement, Store
from ..._loops.traverse import expressions, loads, walk
from .lanes import Loop, Planner, register_bits

__all__ = ["as_rows", "rows_together", "with_finish_apart"]


def as_rows(planner: Planner, loop: Loop, body: Sequence[Statement]) -> dict[str, Any] | None:
    """How sums along rows run in a loop over rows: the fields of ``Rows``; None for other nests."""
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
    """The sums in some stores if all of them are sums of rows that share a factor; otherwise
    none."""
    values: list[Expr] = []
    for statement in body:
        if not isinstance(statement, Store) or statement.guard is not None or statement.combine:
            return []
        values.append(statement.value)
    found = planner.analysis.folds_of_all(*values)
    many = loop.extent >= planner.machine.tuning.rows.together
    fits = loop.width == 1 and loop.parallel and many and 0 < len(found) <= 2 and all(
        _is_sum_of_row(planner, fold, loop, found[0]) for fold in found)
    return found if fits else []


def rows_together(planner: Planner, loop: Loop, body: Iterable[Statement]) -> int:
    """How many rows are summed at a time in a loop without lanes; 0 if it is not over rows."""
    found = _sums_of_rows(planner, loop, body)
    return _blocks_of_rows(planner, found[0])[0] if found else 0


def with_finish_apart(planner: Planner, loop: Loop, body: Sequence[Statement],
                      ) -> tuple[Sequence[Statement], Sequence[Statement]]:
    """The stores of a loop over rows up to the last sum, and those after it if they are much work.

    The latter then get their own loop, with several whole vectors at a time. No iteration of a
    parallel loop reads what another one stores, so the loop may run in two parts.
    """
    count = 1 + max(n for n, s in enumerate(body) if any(e.holds & FOLDS for e in expressions(s)))
    work = sum(planner.analysis.length(e) for s in body[count:] for e in expressions(s))
    tuning = planner.machine.tuning.rows
    if loop.extent < tuning.many or work < tuning.much:
        return body, ()
    return body[:count], body[count:]


def _blocks_of_rows(planner: Planner, fold: Fold) -> list[int]:
    """How many rows are summed at a time, and how many of the remainder."""
    tuning = planner.machine.tuning.rows
    if fold.indices[0].extent > tuning.long:
        return [tuning.long_together]
    lanes = planner.vector_bits // register_bits(fold.states[0].dtype)
    if fold.indices[0].extent > tuning.short:
        return [tuning.together]
    return sorted({tuning.together, max(lanes, tuning.together)}, reverse=True)


def _is_sum_of_row(planner: Planner, fold: Fold, loop: Loop, first: Fold) -> bool:
    dtype, tuning = fold.states[0].dtype, planner.machine.tuning.rows
    if fold.combine != "add" or kind_of(dtype) != "f" or len(fold.indices) != 1 or (
            fold.indices != first.indices) or any(e.holds & FOLDS for e in fold.body):
        return False
    read = list(loads(*fold.body))
    own = [load for load in read if not load.free.isdisjoint(loop.covers)]
    narrow = all(16 * load.dtype.itemsize <= register_bits(dtype) for load in read)
    return bool(own) and len(own) < len(read) and dtype == first.states[0].dtype and (
        fold.indices[0].extent <= (tuning.long_narrow if narrow else tuning.long)
        and _lanes_along(planner, fold, tuning.together)[0].width > 1)


def _lanes_along(planner: Planner, fold: Fold, rows: int) -> list[Loop]:
    """The loop along so many rows: in as many lanes as fill a vector in memory (more if there are
    few rows), in as many as fill a register, and without lanes."""
    (loop,) = planner.fold(fold, True) or [Loop(fold.indices[0], fold.indices, False)]
    bits, tuning = register_bits(fold.states[0].dtype), planner.machine.tuning.rows
    least = min([bits, *(8 * load.dtype.itemsize for load in loads(*fold.body)
                         if fold.indices[0] in load.free)])
    vector = planner.vector_bits
    widths = {1, *(min(loop.width, n) for n in (
        vector // least * max(1, tuning.together // rows), vector // bits))}
    if vector // bits >= tuning.long_vector:  # partial vectors handle the remainder
        widths |= {n for n in (2, 4, 8) if n < min(loop.width, vector // bits) and loop.extent & n}
    return [replace(loop, width=width, whole=True) for width in sorted(widths, reverse=True)]


def _reads_pairs(fold: Fold) -> bool:
    """Whether the only operand of a sum that varies along its row is contiguous bfloat16: then
    lanes may be permuted."""
    loop = Loop(fold.indices[0], fold.indices, False)
    return all(node.dtype == bfloat16 and loop.stride(node.place[0]) == 1
               for node in loads(*fold.body) if loop.index in node.free) and not any(
        arg.dtype == INDEX != node.dtype for node in walk(*fold.body) if isinstance(node, Op)
        for arg in node.args)
