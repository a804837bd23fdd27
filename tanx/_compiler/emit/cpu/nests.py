"""Nests of loops, by the kinds of their loops and the forms that the schedule gave them.

Loops may run in lanes: then values that differ between lanes are vectors, and all others stay
scalars, outside of the loop where they can.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import prod

from ...._loops.expr import Load
from ...._loops.loop_kinds import PARALLEL, Crossing, Unrolled, Vector
from ...._loops.nest import Buffer, Nest, Statement, Store
from ...._loops.scheduled import Columns, Rows, ScanLine, TransposedTile, plain
from ...._loops.tiles import Tiled
from ...._loops.traverse import expressions, loads
from ...schedule.analysis import QUICK, seen_as_bits
from ...schedule.lanes import Loop, loops_of
from ..scalars import Scalar
from ..scopes import Ahead, Scope
from ..values import intrinsic
from .columns import write_columns, write_side_by_side
from .parts import Parts
from .products import write_within
from .rows import write_rows
from .scans import write_scan
from .transposes import write_in_order, write_tiles, write_together

__all__ = ["Nests"]

_SCATTERED_BYTES = 1 << 19
"""Size of memory that is too large for all of it to be near the processor."""
_STEPS_AHEAD = 16
"""How many steps before it is updated an element is asked for."""
_LONG = 1 << 14
"""Steps of a loop, each of which waits for the one before, that may take too long to sit out."""


class Nests:
    """Writes nests of loops."""

    def __init__(self, parts: Parts):
        self.parts = parts
        self.control, self.analysis, self.statements = (
            parts.control, parts.analysis, parts.statements)

    def write(self, nest: Nest, scope: Scope) -> None:
        """Write a nest; one without iterations is nothing."""
        if not all(index.extent for index in nest.indices):
            return
        if isinstance(nest, Tiled):
            write_within(nest, self.parts, scope)
            for memory in self.analysis.written(nest.body):
                scope.forget(memory, self.analysis)
            return
        nest = self.moved_as_bits(nest)
        writes = self.analysis.written(nest.body)
        if any(index.extent > 1 for index in nest.indices):
            # What is known of memory that a step writes holds in the first step only.
            for memory in writes:
                scope.forget(memory, self.analysis)
        inner = scope.within(nest.indices, writes)
        inner.values.update({i: self.control.index(0) for i in nest.indices if i.extent == 1})
        if isinstance(nest, ScanLine):
            write_scan(self.parts, nest, inner, self.nest_loop)
        else:
            self.loops(loops_of(nest.indices, nest.kinds), nest, inner)

    def moved_as_bits(self, nest: Nest) -> Nest:
        """The nest with integers in place of elements that are stored as they were loaded."""
        body, pointers = self.analysis.moved_as_bits(nest.body), self.parts.addresses.pointers
        for old, new in zip(nest.body, body):
            if new is not old and isinstance(old, Store) and isinstance(old.value, Load):
                for buffer in (old.buffer, old.value.buffer):
                    pointers[seen_as_bits(buffer)] = pointers[buffer]
        return replace(nest, body=body)

    def loops(self, loops: Sequence[Loop], nest: Nest, scope: Scope) -> None:
        """Write loops of a nest around its body."""
        if not loops:
            self.statements.body(nest.body, scope)
            return
        loop, rest = loops[0], loops[1:]
        if isinstance(nest, TransposedTile) and len(rest) == 1:
            write_tiles(self.parts, loop, rest[0], nest, scope)
        elif isinstance(nest, Rows) and not rest:
            write_rows(self.parts, loop, nest, scope)
        elif isinstance(nest, Columns) and not rest and not nest.rows:
            write_side_by_side(self.parts, loop, nest, scope)
        else:
            self.vectors(loop, rest, nest, scope)

    def vectors(self, loop: Loop, rest: Sequence[Loop], nest: Nest, scope: Scope) -> None:
        """Write a loop in steps as wide as its lanes, and then what these leave."""
        steps, left = divmod(loop.extent, loop.width)
        narrower = loop.kind.rest if isinstance(loop.kind, Vector) else ()
        if isinstance(nest, Columns) and not rest:
            write_columns(self.parts, loop, nest, scope, steps + (left > 0 and not narrower))
        else:
            self.nest_loop(loop, rest, nest, scope, 0, steps + (left > 0 and not narrower))
        done = loop.extent - left
        for width in narrower:
            first, last = done // width, loop.extent // width
            body = nest.rest if width == 1 and nest.rest else nest.body
            self.nest_loop(replace(loop, width=width, kind=PARALLEL), rest, plain(nest, body),
                           scope, first, last)
            done = last * width

    def nest_loop(self, loop: Loop, rest: Sequence[Loop], nest: Nest, scope: Scope,
                  first: int, last: int) -> None:
        """Write one loop of a nest, in steps from ``first`` up to ``last``."""
        body, kind, control = nest.body, loop.kind, self.control
        kept = self.kept_elements(loop, body) if not rest and not loop.parallel else []
        elements = [self.parts.expressions.value(load, scope) for load in kept]

        def step(inner: Scope, states: Sequence[Scalar]) -> list[Scalar]:
            if not rest and loop.width == 1:
                self.fetch_ahead(loop, body, inner)
            inner.carried = frozenset(kept)
            inner.values.update(zip(kept, states))
            inner.outer = Ahead(loop, rest[0].extent) if rest else (
                Ahead(loop) if loop.width == 1 else scope.outer)
            self.loops(rest, nest, inner)
            return [inner.values[load] for load in kept]

        if isinstance(kind, Crossing) and scope.lanes is not None:
            first, elements = write_in_order(self.parts, loop, body, scope, kept, elements)
        elif isinstance(kind, Unrolled):
            first = write_together(self.parts, loop, rest[0], body, scope, kind.count)
        writes = self.analysis.written(body)
        if isinstance(kind, Vector) and kind.unrolled and not rest:
            for n in range(first, last):
                control.once(scope, loop, n, elements, step, writes=writes)
        elif first < last:
            elements = control.loop(scope, loop, first, last, elements, step, writes=writes,
                                    polled=not loop.parallel and loop.extent >= _LONG)
        for load, element in zip(kept, elements):
            self.statements.put(load, element, scope)

    def fetch_ahead(self, loop: Loop, body: Sequence[Statement], inner: Scope) -> None:
        """Prefetch the elements that later steps update, where only data tell which those are.

        They are far apart in a large buffer, and each would be waited for. It is written before
        the step itself: what it computes belongs to another step, and is of no use to this one.
        """
        stores = [s for s in body if isinstance(s, Store) and self.is_scattered(s, loop)]
        if not stores or loop.extent < 2 * _STEPS_AHEAD:
            return
        later = inner.within((*loop.covers, loop.index), inner.writes)
        later.values[loop.index] = self.control.at(inner, lambda: intrinsic(
            "umin", inner.values[loop.index] + _STEPS_AHEAD, loop.extent - 1))
        for store in stores:
            self.control.at(later, lambda s=store: self.parts.prefetch.target(
                Load(s.buffer, s.index), later))

    def is_scattered(self, store: Store, loop: Loop) -> bool:
        """Whether steps of a loop store far apart, at places that are soon computed."""
        target = Load(store.buffer, store.index)
        reached = prod([size for size, place in zip(store.buffer.shape, store.index)
                        if not place.free.isdisjoint(loop.covers)])
        return reached * store.buffer.dtype.itemsize >= _SCATTERED_BYTES and (
            loop.stride(self.analysis.offset(target)[0]) is None
            and all(self.analysis.is_safe(place) and self.analysis.length(place) < QUICK
                    for place in store.index))

    def kept_elements(self, loop: Loop, body: Iterable[Statement]) -> list[Load]:
        """Elements that each step of a loop overwrites, and that it can keep in registers."""
        found: dict[Buffer, Load | None] = {}
        for statement in body:
            if not isinstance(statement, Store):
                return []
            target = Load(statement.buffer, statement.index)
            touched = [target, *loads(*expressions(statement))]
            for load in touched:
                memory = self.analysis.memory(load.buffer)
                fits = found.setdefault(memory, load) is load and (
                    load.free.isdisjoint(loop.covers) and statement.guard is None)
                found[memory] = load if fits else None
        writes = self.analysis.written(body)
        return [load for memory, load in found.items() if load is not None and memory in writes]
