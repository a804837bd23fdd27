"""Reductions of columns, which lie across memory: which they are, and whether they are near.

How they run is told in ``emit/cpu/columns.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..._loops.expr import Const, Expr, Fold
from ..._loops.instructions import kind_of
from ..._loops.nest import Statement, Store
from ..._loops.traverse import expressions, folds, loads, walk, written
from ..nest_tools import is_search
from ..tuning import ColumnTuning
from .lanes import Loop, Planner, register_bits

__all__ = ["at_a_time", "columns", "separate", "side_by_side"]


def columns(planner: Planner, lane: Loop, body: Iterable[Statement]) -> list[Fold]:
    """The reductions in some stores if they are all of them long columns; else none."""
    values: list[Expr] = []
    for statement in body:
        if not isinstance(statement, Store) or statement.guard is not None or statement.combine:
            return []
        values.append(statement.value)
    found = [*folds(*values)]
    tuning = planner.machine.tuning.columns
    if not found or not all(_is_column(fold, found, tuning) for fold in found):
        return []
    many = 4 * lane.width <= lane.extent and all(
        _distance(fold, lane) >= planner.machine.tuning.columns.far for fold in found)
    return found if many or _are_few(planner, lane, found) else []


def _distance(fold: Fold, lane: Loop) -> int:
    """Bytes between rows of which a fold reads neighbours."""
    return max([node.place[0].get(fold.indices[0], 0) * node.dtype.itemsize
                for node in loads(*fold.body) if lane.stride(node.place[0]) == 1], default=0)


def _are_few(planner: Planner, lane: Loop, folds: Sequence[Fold]) -> bool:
    """Whether the results of all columns have room in registers, beside a row of each.

    Vectors that whole ones leave are no dearer then: they need no walk of their own through all
    rows (sums of 50 columns of 1000 rows, AVX-512: 3.5 us instead of 4.9).
    """
    longest = planner.machine.tuning.columns.long_columns
    return all(fold.reducer and fold.indices[0].extent <= longest
               and _distance(fold, lane) > 0 for fold in folds) and (
        -(-lane.extent // (vector := _vector(planner, lane, folds)).width)
        <= at_a_time(planner, vector, folds))


def _vector(planner: Planner, lane: Loop, folds: Sequence[Fold]) -> Loop:
    """The loop over columns in as few lanes as fill a vector."""
    bits = min(8 * node.dtype.itemsize for fold in folds for node in loads(*fold.body)
               if lane.stride(node.place[0]) == 1)
    return replace(lane, width=min(lane.width, planner.vector_bits // bits))


def at_a_time(planner: Planner, lane: Loop, folds: Sequence[Fold]) -> int:
    """How many steps of a loop in lanes have room for their results in registers."""
    needs = sum(register_bits(state.dtype) * (1 + (kind_of(state.dtype) == "c"))
                for fold in folds for state in fold.states) * lane.width
    held = int(planner.machine.tuning.columns.share * planner.registers)
    return max(1, held * planner.vector_bits // needs)


def side_by_side(planner: Planner, lane: Loop, folds: Sequence[Fold]) -> Loop | None:
    """The loop over columns in as few lanes as fill a vector, if columns are few, or all that they
    read is near.

    Then they go down a few vectors at a time: results stay in registers, and there are enough of
    them that additions need not wait.
    """
    reach = sum(fold.indices[0].extent * max(
        abs(node.place[0].get(fold.indices[0], 0)) * node.dtype.itemsize
        for node in loads(*fold.body)) for fold in folds)
    near = reach <= planner.machine.tuning.columns.near or _are_few(planner, lane, folds)
    return _vector(planner, lane, folds) if near else None


def separate(body: Iterable[Statement]) -> list[list[Statement]]:
    """Stores in parts of which none reads what it has stored itself."""
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
