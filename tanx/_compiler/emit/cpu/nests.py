"""Nests of loops, by the kinds of their loops and the forms that the schedule gave them.

If a loop runs in lanes, values that differ between lanes are vectors; all others stay scalars,
outside of the loop if possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...._loops.expr import Load
from ...._loops.loop_kinds import PARALLEL, Crossing, Unrolled, Vector
from ...._loops.nest import Nest, Statement, Store
from ...._loops.scheduled import Columns, Rows, ScanLine, TransposedTile, plain
from ...._loops.tiles import Tiled
from ...schedule.analysis import seen_as_bits
from ...schedule.kept_elements import elements_of
from ...schedule.lanes import Loop, loops_of
from ..scalars import Scalar
from ..scopes import Scope
from ..values import intrinsic
from .columns import write_columns, write_side_by_side
from .parts import Parts
from .products import write_within
from .rows import write_rows
from .scans import write_scan
from .transposes import write_in_order, write_tiles, write_together

__all__ = ["Nests"]


class Nests:
    """Writes nests of loops."""

    def __init__(self, parts: Parts):
        self.parts = parts
        self.control, self.analysis, self.statements = (
            parts.control, parts.analysis, parts.statements)

    def write(self, nest: Nest, scope: Scope) -> None:
        """Write a nest; one without iterations is empty."""
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
            # What is known of memory that a step writes holds only in the first step.
            for memory in writes:
                scope.forget(memory, self.analysis)
        inner = scope.within(nest.indices, writes)
        inner.values.update({i: self.control.index(0) for i in nest.indices if i.extent == 1})
        if isinstance(nest, ScanLine):
            write_scan(self.parts, nest, inner, self.nest_loop)
        else:
            self.loops(loops_of(nest.indices, nest.kinds), nest, inner)

    def moved_as_bits(self, nest: Nest) -> Nest:
        """The nest with integers in place of elements that are stored unchanged."""
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
        """Write a loop in steps as wide as its lanes, and then the remainder."""
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
        kept = elements_of(self.analysis, nest.kept, body) if not rest else []
        elements = [self.parts.expressions.value(load, scope) for load in kept]

        def step(inner: Scope, states: Sequence[Scalar]) -> list[Scalar]:
            if not rest and loop.width == 1:
                self.fetch_ahead(loop, body, inner)
            inner.carried = frozenset(kept)
            inner.values.update(zip(kept, states))
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
                                    polled=not set(nest.polled).isdisjoint(loop.covers))
        for load, element in zip(kept, elements):
            self.statements.put(load, element, scope)

    def fetch_ahead(self, loop: Loop, body: Sequence[Statement], inner: Scope) -> None:
        """Prefetch the elements that later steps of a loop store.

        This comes before the step itself: its addresses belong to another step, and are of no use
        to this one.
        """
        found = [p for store in body if isinstance(store, Store) for p in store.prefetched
                 if p.is_store and p.along in loop.covers]
        if not found:
            return
        later = inner.within((*loop.covers, loop.index), inner.writes)
        later.values[loop.index] = self.control.at(inner, lambda: intrinsic(
            "umin", inner.values[loop.index] + found[0].steps, loop.extent - 1))
        for prefetch in found:
            self.control.at(later, lambda p=prefetch: self.parts.prefetch.target(p.access, later))
