"""Reductions of columns, which lie across memory: which they are, and whether they are near.

How they run is told in ``emit/cpu/columns.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..._loops.expr import Const, Expr, Fold, Load
from ..._loops.nest import Statement, Store
from ..._loops.traverse import expressions, folds, loads, walk, written
from ..nest_tools import is_search
from .lanes import Loop, Planner, register_bits

__all__ = ["columns", "separate", "side_by_side"]


_MANY = 16
"""Rows, those of several blocks, that make them worthwhile."""
_FAR = 256
"""Bytes from row to row that make blocks worthwhile."""
_NEAR = 5 << 15
"""Bytes that stay near the processor."""


def columns(lane: Loop, body: Iterable[Statement]) -> list[Fold]:
    """The reductions in some stores if they are all of them long columns; else none."""
    values: list[Expr] = []
    for statement in body:
        if not isinstance(statement, Store) or statement.guard is not None or statement.combine:
            return []
        values.append(statement.value)
    found = [*folds(*values)]
    return found if found and all(_is_column(fold, lane, found) for fold in found) else []


def side_by_side(planner: Planner, lane: Loop, folds: Sequence[Fold]) -> Loop | None:
    """The loop over columns in as few lanes as fill a vector, if all that they read is near.

    Then they go down a few vectors at a time: results stay in registers, and there are enough of
    them that additions need not wait.
    """
    reach = sum(fold.indices[0].extent * max(
        abs(node.place[0].get(fold.indices[0], 0)) * node.dtype.itemsize
        for node in loads(*fold.body)) for fold in folds)
    bits = min(8 * node.dtype.itemsize for fold in folds for node in loads(*fold.body)
               if lane.stride(node.place[0]) == 1)
    width = min(lane.width, planner.vector_bits // bits)
    return replace(lane, width=width) if reach <= _NEAR else None


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


def _is_column(fold: Fold, lane: Loop, others: Sequence[Fold]) -> bool:
    extents = [i.extent for i in fold.indices]
    if len(extents) != 1 or not (fold.reducer or fold.combine and is_search(fold)) or any(
            [i.extent for i in other.indices] != extents for other in others):
        return False
    inside = list(walk(*fold.body))
    strides = [(lane.stride(node.place[0]), node.place[0].get(fold.indices[0], 0)
                * node.dtype.itemsize) for node in inside if isinstance(node, Load)]
    return (extents[0] >= _MANY and isinstance(fold.init[0], Const)
            and all(register_bits(state.dtype) >= 8 for state in fold.states)
            and not any(isinstance(node, Fold) for node in inside)
            and 4 * lane.width <= lane.extent
            and any(along == 1 and down >= _FAR for along, down in strides))
