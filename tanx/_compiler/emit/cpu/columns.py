"""Reductions of columns, whose elements are not adjacent in memory: row by row, not by columns.

Columns in lanes are reduced together. Going down a few of them at a time would load a few bytes of
each cache line, and of each page if rows are long. Instead, the results of all columns are kept in
a small buffer, and a block of rows is added to them before the next one is read: memory is read in
order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ...._loops.expr import Expr, Fold, Index
from ...._loops.instructions import kind_of
from ...._loops.loop_kinds import Vector
from ...._loops.nest import Nest, Statement, Store
from ...._loops.scheduled import Columns
from ...._loops.traverse import folds, loads, substitution
from ...schedule.columns import over_rows
from ...schedule.lanes import Loop
from ..complex import Pair
from ..fold_steps import joint
from ..scalars import Scalar, flat
from ..scopes import Scope
from ..storage import part_dtype, register_type
from ..values import Value, type_of
from .parts import Parts
from .rows import steps_together

__all__ = ["write_columns", "write_side_by_side"]


def write_columns(parts: Parts, lane: Loop, nest: Columns, scope: Scope, steps: int) -> None:
    """Write the first steps of a loop in lanes over stores with such reductions.

    Columns are processed in blocks, if their results do not fit in the buffer.
    """
    size = nest.vectors
    blocks, left = divmod(steps, size)
    index = Index("columns", blocks)

    def block(inner: Scope, _) -> list:
        _Columns(parts, lane, nest, size).write(inner, inner.values[index] * size)
        return []

    parts.control.loop(scope, Loop(index, (index,), True), 0, blocks, [], block,
                       bound=(*lane.covers, lane.index), writes=parts.analysis.written(nest.body))
    if left:
        _Columns(parts, lane, nest, left).write(scope, parts.control.index(steps - left))


def write_side_by_side(parts: Parts, lane: Loop, nest: Columns, scope: Scope) -> None:
    """Write a loop in lanes over stores with such reductions, whose results are in registers.

    Steps are processed in groups of similar size. The remainder of whole steps is part of the last
    group: a step that overlaps, or some in fewer lanes.
    """
    assert isinstance(lane.kind, Vector)
    steps, left = divmod(lane.extent, lane.width)
    steps += left > 0 and not lane.kind.rest
    size = nest.vectors
    groups = -(-steps // size)
    index = Index("columns", groups - 1)
    whole = replace(lane, whole=True)

    def group(inner: Scope, _) -> list:
        start = inner.values[index] * size
        _Group(parts, nest, [(whole, start + n) for n in range(size)]).write(inner)
        return []

    if groups > 1:
        parts.control.loop(scope, Loop(index, (index,), True), 0, groups - 1, [], group,
                           bound=(*lane.covers, lane.index),
                           writes=parts.analysis.written(nest.body))
    last = [(lane, parts.control.index(n)) for n in range((groups - 1) * size, steps)]
    done = steps * lane.width
    for width in lane.kind.rest:
        last.append((replace(whole, width=width), parts.control.index(done // width)))
        done += width
    _Group(parts, nest, last).write(scope)


def _folds_in(nest: Nest) -> list[Fold]:
    """The reductions in the stores of a nest."""
    return [*folds(*(s.value for s in nest.body if isinstance(s, Store)))]


def _onto(rows: Index, found: Sequence[Fold]) -> Callable[[Expr], Expr]:
    """Expressions with the index of rows that all reductions have."""
    return substitution({fold.indices[0]: rows for fold in found})


class _Group:
    """Steps of a loop in lanes, each with its number: all of them go from row to row together.

    Results are in registers, and used there; long code goes through memory. If there are few
    results, rows are added to several copies in turn, which hides the latency of additions.
    """

    def __init__(self, parts: Parts, nest: Columns, steps: Sequence[tuple[Loop, Value]]):
        self.parts, self.nest, self.body, self.steps = parts, nest, nest.body, steps
        self.folds = _folds_in(nest)
        (self.rows,) = self.folds[0].indices
        self.along = [over_rows(fold, self.rows) for fold in self.folds]
        # A search starts with the first element.
        self.has_first = any(not fold.reducer for fold in self.folds)

    def vectors(self, outer: Scope) -> list[Scope]:
        found = []
        for lane, number in self.steps:
            found.append(outer.within((*lane.covers, lane.index)))
            self.parts.control.bind(found[-1], lane, number)
        return found

    def row(self, outer: Scope, values: Sequence[Scalar]) -> list[Scalar]:
        """The results with one more row; the next ones in turn come first."""
        left, after = list(values), list[Scalar]()
        for (lane, _), inner in zip(self.steps, self.vectors(outer)):
            for fold in self.along:
                before = ([left.pop(0) for _ in fold.states] if values else
                          self.initial(fold, lane, inner))
                after += self.parts.lane_folds.row(fold, inner, before)
        return [*left, *after]

    def initial(self, fold: Fold, lane: Loop, scope: Scope) -> list[Scalar]:
        """The result of a reduction before the first row; a search has none."""
        return [self.parts.expressions.value(fold.init[0], scope).of(lane.width)] if (
            fold.reducer) else []

    def start(self, scope: Scope) -> list[Scalar]:
        """The results before the first row, for all turns."""
        if self.has_first:
            return []
        count = len(self.steps) * len(self.folds)
        at_once = max(self.nest.at_once, count)
        turns = next(n for n in (4, 2, 1) if n * count <= at_once)
        first = [value for lane, _ in self.steps for fold in self.along
                 for value in self.initial(fold, lane, scope)]
        return first + (turns - 1) * [self.parts.fold_steps.neutral(fold).of(lane.width)
                                      for lane, _ in self.steps for fold in self.along]

    def joined(self, found: list[Scalar]) -> list[Scalar]:
        """The results of all turns, combined."""
        count = len(self.steps) * sum(len(fold.states) for fold in self.folds)
        while len(found) > count:
            half = len(found) // 2
            found = [joint(self.folds[n % len(self.folds)], a, b)
                     for n, (a, b) in enumerate(zip(found[:half], found[half:]))]
        return found

    def write(self, scope: Scope) -> None:
        """Write all rows, and the code after the reductions."""
        self.parts.prefetch.plan(self.body, _onto(self.rows, self.folds))
        found = self.start(scope)
        loop = Loop(self.rows, (self.rows,), False)
        states = [state for fold in self.along for state in fold.states]
        for steps in (range(self.has_first), range(self.has_first, self.rows.extent)):
            found = steps_together(self.parts, scope, loop, steps, found, self.row, states)
        found = self.joined(found)
        lane, start = self.steps[0]
        alike = [step for step in self.steps if step[0].width == lane.width]
        done = 0
        if len(alike) > 1 and self.nest.after:
            done = len(alike)
            count = done * sum(len(fold.states) for fold in self.folds)
            _finish_in_a_loop(self.parts, lane, self.folds, self.body, scope, start,
                              found[:count])
            del found[:count]
        for inner in self.vectors(scope)[done:]:
            for fold in self.folds:
                inner.values[fold] = tuple(found.pop(0) for _ in fold.states)
            self.parts.statements.body(self.body, inner)


def _finish_in_a_loop(parts: Parts, lane: Loop, folds: Sequence[Fold], body: Sequence[Statement],
                      scope: Scope, start: Value, found: Sequence[Scalar]) -> None:
    """Write the code after the reductions, for one step in lanes after the other."""
    count = len(found) // sum(len(fold.states) for fold in folds)
    rooms = {fold: [_Room(parts, state.dtype, count, lane.width) for state in fold.states]
             for fold in folds}
    left = iter(found)
    for n in range(count):
        for fold in folds:
            for room in rooms[fold]:
                room.put(parts.control.index(n), next(left))

    def finish(inner: Scope, number: Value) -> None:
        for fold, own in rooms.items():
            inner.values[fold] = tuple(room.get(number) for room in own)
        parts.statements.body(body, inner)

    _each(parts, lane, body, scope, start, count, finish)


def _each(parts: Parts, lane: Loop, body: Sequence[Statement], outer: Scope, start: Value,
          count: int, write: Callable[[Scope, Value], None]) -> None:
    """A loop in lanes whose body gets the number of its step, counted from the first one."""
    index = Index("column", count)

    def step(inner: Scope, _) -> list:
        parts.control.bind(inner, lane, start + inner.values[index])
        write(inner, inner.values[index])
        return []

    parts.control.loop(outer, Loop(index, (index,), True), 0, count, [], step,
                       bound=(*lane.covers, lane.index), writes=parts.analysis.written(body))


class _Columns:
    """So many steps of a loop in lanes over stores with reductions of columns."""

    def __init__(self, parts: Parts, lane: Loop, nest: Columns, steps: int):
        self.parts, self.lane, self.body, self.steps = parts, lane, nest.body, steps
        found, self.count = _folds_in(nest), nest.rows
        self.rooms = {fold: [_Room(parts, state.dtype, steps, lane.width)
                             for state in fold.states] for fold in found}
        (self.rows,) = found[0].indices
        self.folds = [over_rows(fold, self.rows) for fold in found]
        self.change = _onto(self.rows, found)
        # Values that are the same in all rows have a separate buffer, to avoid cache conflicts.
        again = dict.fromkeys(load for fold in self.folds for load in loads(*fold.body)
                              if self.rows not in load.free and not load.free.isdisjoint(
                                  lane.covers))
        self.kept = {load: _Room(parts, load.dtype, steps, lane.width) for load in again}

    def write(self, scope: Scope, start: Value) -> None:
        """Write the steps from one on: block by block of rows, and the code after the
        reductions."""
        blocks, left = divmod(self.rows.extent, self.count)
        assert blocks > (not left), "the loop over blocks has at least one step after the first"
        block = Index("block", blocks)

        def next_block(inner: Scope, _) -> list:
            self.add(inner, start, inner.values[block] * self.count + left, self.count, first=False)
            return []

        def keep(inner: Scope, number: Value) -> None:
            for load, room in self.kept.items():
                room.put(number, self.parts.expressions.value(load, inner))

        def finish(inner: Scope, number: Value) -> None:
            for fold, own in self.rooms.items():
                inner.values[fold] = tuple(room.get(number) for room in own)
            self.parts.statements.body(self.body, inner)

        if self.kept:
            self.each(scope, start, keep)
        self.add(scope, start, self.parts.control.index(0), left or self.count, first=True)
        self.parts.control.loop(scope, Loop(block, (block,), False), 0 if left else 1, blocks, [],
                                next_block)
        self.each(scope, start, finish)

    def each(self, outer: Scope, start: Value, write: Callable[[Scope, Value], None]) -> None:
        """Write something for each of the steps."""
        _each(self.parts, self.lane, self.body, outer, start, self.steps, write)

    def add(self, outer: Scope, start: Value, row: Value, count: int, first: bool) -> None:
        """Add some rows to the results so far, if any."""
        def columns(inner: Scope, number: Value) -> None:
            self.parts.prefetch.plan(self.body, self.change)
            inner.values.update({load: room.get(number) for load, room in self.kept.items()})
            before = [[] if first else [room.get(number) for room in own]
                      for own in self.rooms.values()]
            after = self.parts.lane_folds.rows(self.folds, inner, row, count, before)
            for own, states in zip(self.rooms.values(), after):
                for room, state in zip(own, states):
                    room.put(number, state)
        self.each(outer, start, columns)


class _Room:
    """Memory on the stack for the states of a reduction, a vector for each step in lanes."""

    def __init__(self, parts: Parts, dtype: np.dtype, steps: int, width: int):
        self.writer, self.count = parts.writer, 2 if kind_of(dtype) == "c" else 1
        self.type = register_type(part_dtype(dtype)).of(width)
        size = (steps + 1) * self.count  # one more, so that buffers do not share cache sets
        self.name = parts.control.allocate(f"[{size} x {self.type}]")

    def places(self, number: Value) -> list[Value]:
        return [self.writer.write(
            type_of("ptr"), f"getelementptr [{self.count} x {self.type}], "
            f"ptr {self.name}, i64 {number.text}, i64 {part}") for part in range(self.count)]

    def get(self, number: Value) -> Scalar:
        found = [self.writer.write(self.type, f"load {self.type}, {place!r}")
                 for place in self.places(number)]
        return Pair(*found) if self.count == 2 else found[0]

    def put(self, number: Value, value: Scalar) -> None:
        for part, place in zip(flat(value), self.places(number)):
            self.writer.place.lines.append(f"store {part!r}, {place!r}")
