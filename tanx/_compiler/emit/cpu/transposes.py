"""Nests that read along one loop and write along another: by square tiles in registers.

The loop along which stores are contiguous runs in lanes. A load that is contiguous along another
loop, the *crossing* one, would load one element per lane. Instead, a whole tile is loaded, a vector
for each lane, and transposed by shuffles; this gives, for each of as many iterations of the
crossing loop, the vector of all lanes. Tiles are processed in blocks, so that cache lines are used
completely, and pages of memory are found in the TLB.

Arrays larger than the caches need more: memory is fast only for long contiguous ranges, both to
read and to write. There, blocks are first transposed into a small buffer, and the statements then
run on it row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ...._loops.expr import Index, Load
from ...._loops.loop_kinds import Vector
from ...._loops.nest import Buffer, Statement, Store
from ...._loops.scheduled import TransposedTile
from ...schedule.lanes import Loop
from ..scopes import Lanes, Scope, Tile
from ..shuffles import transposed
from ..storage import memory_type
from ..values import Value, intrinsic
from .parts import Parts

__all__ = ["write_in_order", "write_tiles", "write_together"]


def write_tiles(parts: Parts, crossing: Loop, lane: Loop, nest: TransposedTile,
                scope: Scope) -> None:
    """Write a crossing loop and the one in lanes around statements that may run twice."""
    (_Blocks if nest.copied else _Tiles)(parts, crossing, lane, nest).write(scope)


class _Tiles:
    """The code of two loops in blocks, ``deep`` along the crossing one and ``long`` in lanes."""

    def __init__(self, parts: Parts, crossing: Loop, lane: Loop, nest: TransposedTile):
        self.parts, self.crossing, self.lane, self.body = parts, crossing, lane, nest.body
        self.size, self.writes = lane.width, parts.analysis.written(nest.body)
        self.deep, self.long, self.along = nest.deep, nest.long, nest.along
        self.unrolled = isinstance(lane.kind, Vector) and lane.kind.unrolled

    def write(self, scope: Scope) -> None:
        """Write both loops."""
        parts, writes = self.parts, self.writes
        _each_block(parts, scope, self.lane, self.long, writes, lambda a, left: _each_block(
            parts, a, self.crossing, self.deep, writes, lambda b, top: self.block(b, left, top)))

    def block(self, outer: Scope, left: Value, top: Value) -> None:
        """Write the tiles of a block, in the best order for the cache."""
        if self.along:
            self.in_lanes(outer, left, lambda a: self.steps(
                a, self.crossing, self.deep, top, self.tile))
        else:
            self.steps(outer, self.crossing, self.deep, top, lambda a, row: self.in_lanes(
                a, left, lambda b: self.tile(b, row)))

    def in_lanes(self, outer: Scope, left: Value, then: Callable[[Scope], None]) -> None:
        """Write the steps of a block in lanes."""
        lane = self.lane

        def start(inner: Scope, first: Value) -> None:
            inner.rename(lane)
            inner.lanes = Lanes(lane, first)
            inner.varying = frozenset((*lane.covers, lane.index))
            inner.values[inner.lanes] = first
            then(inner)
        self.steps(outer, lane, self.long, left, start)

    def steps(self, outer: Scope, loop: Loop, extent: int, base: Value,
              then: Callable[[Scope, Value], None]) -> None:
        """Write a loop over tiles, whose body gets the start of each; a short one in lanes is
        unrolled."""
        parts, writes, count = self.parts, self.writes, extent // self.size
        index = Index(f"step.{loop.index.name}", count)
        bound = (*loop.covers, loop.index) if loop is self.lane else ()

        def start(inner: Scope, _) -> list:
            then(inner, inner.values[index] * self.size + base)
            return []

        step = Loop(index, (index,), True)
        if loop is self.lane and self.unrolled:
            for n in range(count):
                parts.control.once(outer, step, n, [], start, bound, writes)
        else:
            parts.control.loop(outer, step, 0, count, [], start, writes=writes, bound=bound)

    def tile(self, outer: Scope, first: Value) -> None:
        """Write the iterations of a tile, unrolled."""
        parts, crossing = self.parts, self.crossing
        tile = Tile(crossing, first, self.size, outer, self.writes)
        outer.values[tile] = first
        for number in range(self.size):
            inner = outer.within((*crossing.covers, crossing.index), self.writes)
            inner.rename(crossing)
            inner.values[crossing.index] = parts.control.at(inner, lambda n=number: first + n)
            inner.tile = (tile, number)
            parts.statements.body(self.body, inner)
        _store_columns(parts, tile)


def _each_block(parts: Parts, outer: Scope, loop: Loop, step: int, writes: frozenset[Buffer],
                then: Callable[[Scope, Value], None]) -> None:
    """A loop over blocks of another one; the last block may overlap the one before."""
    index, last = Index(f"block.{loop.index.name}", -(-loop.extent // step)), loop.extent - step

    def start(inner: Scope, _) -> list:
        number = inner.values[index]
        if number.is_constant:
            place = parts.control.index(min(int(number.text) * step, last))
        else:
            place = number * step
            place = intrinsic("umin", place, last) if loop.extent % step else place
        then(inner, place)
        return []

    parts.control.loop(outer, Loop(index, (index,), True), 0, index.extent, [], start,
                       writes=writes)


class _Blocks:
    """Statements on blocks of a crossing loop and the one in lanes, with copies of loads."""

    def __init__(self, parts: Parts, crossing: Loop, lane: Loop, nest: TransposedTile):
        self.parts, self.crossing, self.lane, self.body = parts, crossing, lane, nest.body
        self.writes, self.deep, self.long = parts.analysis.written(nest.body), nest.deep, nest.long
        self.wide = replace(lane, width=nest.wide)
        self.rooms = {load: self.room(load) for load in nest.copied}

    def room(self, load: Load) -> str:
        return self.parts.control.allocate(
            f"[{self.deep * self.long} x {memory_type(load.dtype)}], align 64")

    def write(self, scope: Scope) -> None:
        """Write loops over blocks; the last ones may overlap those before."""
        def block(inner: Scope, left: Value, top: Value) -> None:
            for load, room in self.rooms.items():
                self.copy(load, room, inner, left, top)
            self.rows(inner, left, top)

        parts, writes = self.parts, self.writes
        _each_block(parts, scope, self.lane, self.long, writes, lambda a, left: _each_block(
            parts, a, self.crossing, self.deep, writes, lambda b, top: block(b, left, top)))

    def each(self, scope: Scope, count: int, then: Callable[[Scope, Value], None],
             bound: Sequence[Index] = ()) -> None:
        """A loop whose body gets the number of its step."""
        index = Index("step", count)

        def step(inner: Scope, _) -> list:
            then(inner, inner.values[index])
            return []

        self.parts.control.loop(scope, Loop(index, (index,), True), 0, count, [], step, bound=bound,
                                writes=self.writes)

    def copy(self, load: Load, room: str, scope: Scope, left: Value, top: Value) -> None:
        """Transpose the elements of a load in a block into its buffer, tile by tile."""
        parts, size, buffer = self.parts, self.lane.width, load.buffer
        further = parts.addresses.further
        type = memory_type(load.dtype).of(size)
        line = max(size, parts.writer.machine.line // load.dtype.itemsize)
        line = size if self.deep % line else line
        corner, stride = parts.addresses.in_block(load, self.crossing, self.lane, scope, top, left)

        def tiles(inner: Scope, across: Value, along: Value) -> None:
            """As many iterations of the crossing loop as a cache line has elements."""
            place = further(buffer, corner, across * (size * stride) + along * line)
            for start in range(0, line, size):
                rows = transposed([
                    parts.elements.plain(type, further(buffer, place, n * stride + start))
                    for n in range(size)])
                for n, row in enumerate(rows, start):
                    parts.elements.to_room(room, along * (line * self.long) + across * size
                                   + n * self.long, row)

        self.each(scope, self.long // size, lambda a, across: self.each(
            a, self.deep // line, lambda b, along: tiles(b, across, along)))

    def rows(self, scope: Scope, left: Value, top: Value) -> None:
        """The statements on a block, row by row."""
        parts, crossing, lane = self.parts, self.crossing, self.wide

        def in_lanes(inner: Scope, row: Value, step: Value) -> None:
            inner.rename(lane)
            first = step * lane.width + left
            inner.lanes = Lanes(lane, first)
            inner.varying = frozenset((*lane.covers, lane.index))
            inner.values[inner.lanes] = first
            place = row * self.long + step * lane.width
            inner.rooms = {load: (room, place) for load, room in self.rooms.items()}
            parts.statements.body(self.body, inner)

        def one_row(outer: Scope, row: Value) -> None:
            outer.rename(crossing)  # values that are the same in all lanes are computed here
            outer.values[crossing.index] = row + top
            self.each(outer, self.long // lane.width,
                      lambda inner, step: in_lanes(inner, row, step), (*lane.covers, lane.index))

        self.each(scope, self.deep, one_row, (*crossing.covers, crossing.index))


def write_in_order(parts: Parts, loop: Loop, body: Sequence[Statement], scope: Scope,
                   kept: Sequence[Load], states: Sequence[Any]) -> tuple[int, list[Any]]:
    """Write the whole tiles of such a loop; returns how many iterations, and the carried values."""
    size, writes = scope.lanes.width, parts.analysis.written(body)
    index = Index("tile", loop.extent // size)

    def step(outer: Scope, states: Sequence[Any]) -> list[Any]:
        tile = Tile(loop, outer.values[index] * size, size, outer, writes)
        outer.values[tile] = tile.first
        for number in range(size):
            inner = outer.within((*loop.covers, loop.index), writes)
            inner.rename(loop)
            inner.values[loop.index] = parts.control.at(inner, lambda n=number: tile.first + n)
            inner.tile, inner.carried = (tile, number), frozenset(kept)
            inner.values.update(zip(kept, states))
            parts.statements.body(body, inner)
            states = [inner.values[load] for load in kept]
        _store_columns(parts, tile)
        return list(states)

    states = parts.control.loop(scope, Loop(index, (index,), False), 0, index.extent, states, step,
                                writes=writes)
    return index.extent * size, states


def write_together(parts: Parts, loop: Loop, lane: Loop, body: Sequence[Statement], scope: Scope,
                   size: int) -> int:
    """Write stores in a loop around one that takes a single step in lanes, several iterations at a
    time; returns how many iterations are done. All values are computed before they are stored."""
    writes = parts.analysis.written(body)
    index = Index("tile", loop.extent // size)

    def step(outer: Scope, _) -> list[Any]:
        tile = Tile(loop, outer.values[index] * size, size, outer, writes)
        outer.values[tile] = tile.first
        made: list[tuple[Load, Any, Scope]] = []

        def compute(inner: Scope, _) -> list[Any]:
            for s in body:
                assert isinstance(s, Store)
                parts.prefetch.plan([s])
                made.append((Load(s.buffer, s.index), parts.expressions.value(s.value, inner),
                             inner))
            return []

        for number in range(size):
            inner = outer.within((*loop.covers, loop.index), writes)
            inner.rename(loop)
            inner.values[loop.index] = parts.control.at(inner, lambda n=number: tile.first + n)
            inner.tile = (tile, number)
            parts.control.loop(inner, lane, 0, 1, [], compute, writes=writes)
        for target, value, inner in made:
            parts.statements.put(target, value, inner)
        return []

    parts.control.loop(scope, Loop(index, (index,), True), 0, index.extent, [], step, writes=writes)
    return index.extent * size


def _store_columns(parts: Parts, tile: Tile) -> None:
    for target, columns in tile.columns.items():
        rows = parts.control.at(tile.scope, lambda c=columns: transposed(list(c.values())))
        parts.control.at(tile.scope, lambda t=target, r=rows: parts.access.write_tile(t, r, tile))
