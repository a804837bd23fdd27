"""Reductions of columns, whose elements are not adjacent in memory: which, and how many together.

``emit/cpu/columns.py`` describes the code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from ..._loops.expr import Const, Expr, Fold, Index
from ..._loops.instructions import kind_of
from ..._loops.loop_kinds import Vector
from ..._loops.nest import Statement, Store
from ..._loops.traverse import (
    children,
    expressions,
    loads,
    substitution,
    walk,
    written,
)
from ..nest_tools import is_search
from ..tuning import ColumnTuning
from .lanes import Loop, Planner, register_bits

__all__ = ["as_columns", "columns", "over_rows", "separate"]


def as_columns(planner: Planner, lane: Loop, body: Sequence[Statement], left: tuple[int, ...],
               ) -> tuple[Vector, dict[str, Any]] | None:
    """How the loop in lanes over stores with reductions of columns runs: its kind, and the fields
    of ``Columns``; None for other nests.

    ``left`` is how the loop handles the remainder of whole steps, if it is not changed.
    """
    found = columns(planner, lane, body)
    if not found:
        return None
    tuning, near = planner.machine.tuning.columns, _side_by_side(planner, lane, found)
    loop = near or lane
    whole, over = divmod(loop.extent, loop.width)
    overlaps = over > 0 and planner.analysis.repeatable(body)
    steps = whole + overlaps
    if near is None:
        most = max(1, tuning.room // (lane.width * sum(
            state.dtype.itemsize for fold in found for state in fold.states)))
        rows = max(1, tuning.rows // _lines(found))
        return Vector(lane.width, left), {"vectors": -(-steps // -(-steps // most)), "rows": rows}
    groups = -(-steps // _at_a_time(planner, loop, found))
    rest = () if overlaps else tuple(
        loop.width >> n for n in range(1, loop.width.bit_length()) if over & loop.width >> n)
    return Vector(loop.width, rest), {
        "vectors": -(-steps // groups), "at_once": tuning.at_once,
        "after": _length_after(planner, body) >= tuning.long}


def over_rows(fold: Fold, index: Index) -> Fold:
    """A fold over another index of the same extent."""
    if fold.indices[0] is index:
        return fold
    change = substitution({fold.indices[0]: index})
    return Fold((index,), fold.init, fold.states, [change(e) for e in fold.body], fold.combine)


def _lines(folds: Sequence[Fold]) -> int:
    """How many lines of memory are read for one row of the reductions."""
    (rows,) = folds[0].indices
    found = {load for fold in folds for load in loads(*over_rows(fold, rows).body)
             if rows in load.free}
    return max(Counter(load.buffer for load in found).values())


def _length_after(planner: Planner, body: Sequence[Statement]) -> int:
    """The length of the code that comes after the reductions."""
    roots = [root for statement in body for root in expressions(statement)]
    return sum(planner.analysis.own_length(node) for node in walk(
        *roots, into=lambda node: () if isinstance(node, Fold) else children(node)))


def columns(planner: Planner, lane: Loop, body: Iterable[Statement]) -> list[Fold]:
    """The reductions in some stores if all of them are long columns; otherwise none."""
    values: list[Expr] = []
    for statement in body:
        if not isinstance(statement, Store) or statement.guard is not None or statement.combine:
            return []
        values.append(statement.value)
    found = planner.analysis.folds_of_all(*values)
    tuning = planner.machine.tuning.columns
    if not found or not all(_is_column(fold, found, tuning) for fold in found):
        return []
    many = 4 * lane.width <= lane.extent and all(
        _distance(fold, lane) >= planner.machine.tuning.columns.far for fold in found)
    return found if many or _are_few(planner, lane, found) else []


def _distance(fold: Fold, lane: Loop) -> int:
    """Bytes between rows of which a fold reads adjacent elements."""
    return max([node.place[0].get(fold.indices[0], 0) * node.dtype.itemsize
                for node in loads(*fold.body) if lane.stride(node.place[0]) == 1], default=0)


def _are_few(planner: Planner, lane: Loop, folds: Sequence[Fold]) -> bool:
    """Whether the results of all columns fit in registers, together with a row of each.

    Then partial vectors cost no more: they need no separate pass over all rows (sums of 50 columns
    of 1000 rows, AVX-512: 3.5 us instead of 4.9).
    """
    longest = planner.machine.tuning.columns.long_columns
    return all(fold.reducer and fold.indices[0].extent <= longest
               and _distance(fold, lane) > 0 for fold in folds) and (
        -(-lane.extent // (vector := _vector(planner, lane, folds)).width)
        <= _at_a_time(planner, vector, folds))


def _vector(planner: Planner, lane: Loop, folds: Sequence[Fold]) -> Loop:
    """The loop over columns in as few lanes as fill a vector; real and imaginary parts have vectors
    of their own."""
    bits = min(8 * node.dtype.itemsize >> (kind_of(node.dtype) == "c")
               for fold in folds for node in loads(*fold.body) if lane.stride(node.place[0]) == 1)
    return replace(lane, width=min(lane.width, planner.vector_bits // bits))


def _at_a_time(planner: Planner, lane: Loop, folds: Sequence[Fold]) -> int:
    """How many steps of a loop in lanes have their results in registers."""
    needs = sum(register_bits(state.dtype) * (1 + (kind_of(state.dtype) == "c"))
                for fold in folds for state in fold.states) * lane.width
    held = int(planner.machine.tuning.columns.share * planner.registers)
    return max(1, held * planner.vector_bits // needs)


def _side_by_side(planner: Planner, lane: Loop, folds: Sequence[Fold]) -> Loop | None:
    """The loop over columns in as few lanes as fill a vector, if columns are few, or everything
    that they read is in the cache.

    Then a few vectors go down at a time: results stay in registers, and there are enough of them to
    hide the latency of additions.
    """
    reach = sum(fold.indices[0].extent * max(
        abs(node.place[0].get(fold.indices[0], 0)) * node.dtype.itemsize
        for node in loads(*fold.body)) for fold in folds)
    near = reach <= planner.machine.tuning.columns.near or _are_few(planner, lane, folds)
    return _vector(planner, lane, folds) if near else None


def separate(body: Iterable[Statement]) -> list[list[Statement]]:
    """Stores in parts, none of which reads what it has stored itself."""
    parts: list[list[Statement]] = []
    targets: set[str] = set()
    for statement in body:
        reads = {load.buffer.name for load in loads(*expressions(statement))}
        if not parts or not reads.isdisjoint(targets):
            parts.append([])
            targets.clear()
        parts[-1].append(statement)
        targets.update(buffer.name for buffer in written([statement]))
    return parts


def _is_column(fold: Fold, others: Sequence[Fold], tuning: ColumnTuning) -> bool:
    extents = [i.extent for i in fold.indices]
    if len(extents) != 1 or not (fold.reducer or fold.combine and is_search(fold)) or any(
            [i.extent for i in other.indices] != extents for other in others):
        return False
    return (extents[0] >= tuning.many and isinstance(fold.init[0], Const)
            and all(register_bits(state.dtype) >= 8 for state in fold.states)
            and not any(isinstance(node, Fold) for node in walk(*fold.body)))
