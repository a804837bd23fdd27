"""Nests that read along one loop and write along another.

``emit/cpu/transposes.py`` describes the code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from ..._loops.expr import Expr, Index, Load
from ..._loops.instructions import kind_of
from ..._loops.loop_kinds import Vector
from ..._loops.nest import Statement, Store
from ..._loops.traverse import expressions, loads, statements_in
from .analysis import Analysis
from .lanes import Loop, Planner, crosses

__all__ = ["as_transposed", "crosses_in_order"]


def as_transposed(planner: Planner, crossing: Loop, lane: Loop, body: Sequence[Statement],
                  ) -> tuple[Vector, dict[str, Any]]:
    """How a crossing loop and the one in lanes run: the kind of the latter, and the fields of
    ``TransposedTile``.

    Cache lines are written one after the other, while those that are read stay in the cache. If
    some loads are contiguous along the lanes, that would be too many, and lines are read completely
    instead.
    """
    size, tuning = lane.width, planner.machine.tuning.transposes
    far = _far_loads(planner, crossing, lane, body)
    if far:
        item, wide = max(load.dtype.itemsize for load in far), size
        while wide < tuning.vectors * size and 2 * wide <= lane.extent:
            wide *= 2
        deep = _even_blocks(crossing.extent, tuning.read // max(item, 4), size)
        long = _even_blocks(lane.extent, max(wide, tuning.room // (deep * item)), wide)
        return Vector(size), {"deep": deep, "long": long, "copied": tuple(far), "wide": wide}
    length = sum(planner.analysis.length(s.value) for s in statements_in(body)
                 if isinstance(s, Store))
    along = any(lane.stride(load.place[0]) == 1 for statement in statements_in(body)
                for load in loads(*expressions(statement)))
    line = max(size, 8 * planner.machine.line // (planner.vector_bits // size))
    long = _even_blocks(lane.extent, tuning.long if along else line, size)
    return Vector(size, unrolled=long * length <= tuning.written_out), {
        "deep": _even_blocks(crossing.extent, line, size), "long": long, "along": along}


def _far_loads(planner: Planner, crossing: Loop, lane: Loop, body: Sequence[Statement],
               ) -> list[Load]:
    """The loads that cross between two loops, if they are of large arrays and few enough."""
    writes = planner.analysis.written(body)
    every = dict.fromkeys(load for statement in statements_in(body)
                          for load in loads(*expressions(statement)))
    found = [load for load in every if planner.analysis.memory(load.buffer) not in writes
             and _crosses_safely(planner.analysis, load, crossing, lane)]
    tuning = planner.machine.tuning.transposes

    def is_far(load: Load) -> bool:
        item = load.dtype.itemsize
        apart, rows = (lane.stride(load.place[0]) or 0) * item, max(1, planner.machine.line // item)
        # Rows map to the same few cache sets.
        thrown_out = rows * (apart & -apart) > tuning.cache
        return kind_of(load.dtype) != "c" and prod(load.buffer.shape) * item >= (
            2 * tuning.cache if thrown_out else tuning.far)

    return found if 0 < len(found) <= tuning.rooms and all(map(is_far, found)) else []


def _crosses_safely(analysis: Analysis, load: Load, crossing: Loop, lane: Loop) -> bool:
    """Whether a load is contiguous along one loop, and strided along another one."""
    terms = _merged(analysis.offset(load)[0], crossing, lane)
    ours = {crossing.index, *crossing.covers, lane.index, *lane.covers}
    return terms.get(crossing.index) == 1 and abs(terms.get(lane.index, 0)) > 1 and (
        analysis.is_safe(load)
        and all(isinstance(atom, Index) or atom.free.isdisjoint(ours) for atom in terms))


def _merged(terms: Mapping[Expr, int], *loops: Loop) -> Mapping[Expr, int]:
    """Terms in the indices of merged loops."""
    names: dict[Expr, Expr | None] = {}
    for loop in loops:
        names |= {**dict.fromkeys(loop.covers[:-1]), loop.covers[-1]: loop.index}
    renamed = ((names.get(atom, atom), factor) for atom, factor in terms.items())
    return {atom: factor for atom, factor in renamed if atom is not None}


def crosses_in_order(planner: Planner, loop: Loop, body: Sequence[Statement],
                     lane: Loop | None) -> bool:
    """Whether stores in an ordered loop, inside one in lanes, are contiguous along it."""
    if lane is None or loop.parallel or not 1 < lane.width <= loop.extent:
        return False
    length = sum(planner.analysis.length(s.value) for s in body if isinstance(s, Store))
    if length * lane.width > planner.machine.tuning.transposes.written_out:
        return False
    reads = {load.buffer.name for s in body for load in loads(*expressions(s))}
    return all(isinstance(s, Store) and s.guard is None and s.combine is None
               for s in body) and any(
        crosses(Load(s.buffer, s.index).place[0], lane, loop) and s.buffer.name not in reads
        for s in body if isinstance(s, Store))


def _even_blocks(extent: int, most: int, size: int) -> int:
    """The length of blocks, in whole tiles, that cover a loop with little overlap."""
    count = -(-extent // most)
    return min(-(-extent // (count * size)), extent // size) * size
