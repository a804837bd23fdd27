"""How the loops of a statement run: decisions for code generation, as data that prints.

``lanes.py`` chooses the loop that runs in vectors; ``columns.py``, ``rows.py``, ``transposes.py``
and ``scans.py`` recognize nests with special forms; ``folds.py`` handles the loops inside of
expressions. This file combines them: a statement becomes equivalent ones, whose loops have kinds
that say how they run (``_loops/loop_kinds.py``, ``_loops/scheduled.py``). ::

    for i in 64, j in 100 parallel:           for i in 64 parallel, j in 100 vector(32):
        y[i, j] = x[i, j] - m[i]                  y[i, j] = x[i, j] - m[i]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..._loops.expr import FOLDS, Index, Load
from ..._loops.loop_kinds import (
    JOINED,
    PARALLEL,
    SEQUENTIAL,
    TASKS,
    Crossing,
    Kind,
    Unrolled,
    Vector,
)
from ..._loops.nest import Nest, Plan, Statement, Store
from ..._loops.scheduled import Columns, Rows, ScanLine, TransposedTile
from ..._loops.tiles import Operand, Tiled, Tiling
from ..._loops.traverse import expressions, loads, with_programs
from ..machine import Machine
from .analysis import Analysis
from .columns import as_columns, columns, separate
from .folds import Folds
from .kept_elements import kept_buffers
from .lanes import Loop, Planner
from .polls import with_brief_loops, with_polls
from .prefetch import with_prefetches
from .residues import by_residues
from .rows import as_rows, rows_together, with_finish_apart
from .scans import as_scan
from .tiles import is_tiled, tiling
from .transposes import as_transposed, crosses_in_order

__all__ = ["in_kinds", "scheduled"]


def scheduled(plan: Plan, machine: Machine) -> Plan:
    """The program of a plan, including inner programs, with kinds of loops."""
    program = plan.program
    statements = [with_programs(part, lambda inner: scheduled(inner, machine))
                  for statement in program.statements
                  for part in in_kinds(statement, Analysis(dict(plan.shared),
                                                           machine.tuning.choices), machine)]
    return replace(plan, program=replace(program, statements=tuple(statements)))


def in_kinds(statement: Statement, analysis: Analysis, machine: Machine) -> list[Statement]:
    """The statements that replace one."""
    scheduler, tuning = _Scheduler(analysis, machine), machine.tuning
    statement = with_brief_loops(statement, analysis, tuning.polls)
    return [with_polls(with_prefetches(part, analysis, machine), tuning.polls)
            for part in scheduler.statement(statement)]


class _Scheduler:
    """Decides about the loops of one statement."""

    def __init__(self, analysis: Analysis, machine: Machine):
        self.analysis, self.planner = analysis, Planner(analysis, machine)
        self.folds = Folds(self.planner)
        # The indices of loops over tasks around a statement, if it may be a product: products are
        # at the top level, or directly in tasks.
        self.tasks: frozenset[Index] | None = frozenset()

    def statement(self, statement: Statement) -> list[Statement]:
        """The statements that replace one."""
        if isinstance(statement, Store):
            return [self.folds.store(statement, ())]
        if not isinstance(statement, Nest) or not all(i.extent for i in statement.indices):
            return [statement]
        tasks = statement.kinds.count(TASKS)
        if tasks:
            around, kinds = statement.indices[:tasks], statement.kinds[:tasks]
            self.tasks = frozenset(around)
            return _within(around, kinds, self.statement(Nest(
                statement.indices[tasks:], statement.kinds[tasks:], statement.body)))
        if is_tiled(statement):
            tiles = None if self.tasks is None else tiling(
                statement, self.planner.machine, self.tasks)
            if tiles is not None:
                return [self.product(statement, tiles)]
            statement = replace(statement, kinds=(PARALLEL,) * len(statement.kinds))
        self.tasks = self.tasks or None
        return [part for nest in by_residues(
            statement, self.planner.tuning.residues) for part in self.nest(nest)]

    def product(self, nest: Nest, tiles: Tiling) -> Tiled:
        """A nest by tiles; the loops that compute its operands get kinds, too."""
        def with_kinds(operand: Operand) -> Operand:
            room = operand.room
            return operand if room is None else replace(operand, room=replace(room, fill=tuple(
                part for one in room.fill if isinstance(one, Nest) for part in self.nest(one))))

        size = tiles.tile.columns
        lanes = 1 if tiles.result is not None else min(
            self.planner.width(tiles.stores, tiles.column), size & -size)
        tiles = replace(tiles, left=with_kinds(tiles.left), right=with_kinds(tiles.right))
        return Tiled(nest.indices, nest.kinds, nest.body, tiling=tiles, lanes=lanes)

    def nest(self, nest: Nest) -> list[Statement]:
        """The statements that replace a nest without loops over tasks."""
        nest = _with_stores(nest)
        seen = replace(nest, body=self.analysis.moved_as_bits(nest.body))
        if SEQUENTIAL in nest.kinds and (fields := as_scan(self.planner, seen)) is not None:
            return [self.scan(nest, seen, fields)]
        loops = self.planner.nest(seen, self.analysis.repeatable(seen.body),
                                  lambda loop: rows_together(self.planner, loop, seen.body))
        return self.loops(nest, seen.body, loops)

    def loops(self, nest: Nest, seen: Sequence[Statement], loops: Sequence[Loop],
              ) -> list[Statement]:
        """A nest in the planned loops; ``seen`` is its body as it accesses memory."""
        body = nest.body
        if not loops:
            return [self.run(Nest, nest, body, (), ())]
        *outer, last = loops
        kinds = [self.kind(loop, loops[n + 1:], seen, None) for n, loop in enumerate(outer)]
        lane = next((loop for loop in outer if loop.width > 1), None)
        if outer and outer[-1].crossing:
            kind, fields = as_transposed(self.planner, outer[-1], last, seen)
            return [self.run(TransposedTile, nest, body, loops, (*kinds[:-1], PARALLEL, kind),
                             **fields)]
        if last.width > 1 and last.parallel:
            parts = separate(seen)
            if len(parts) > 1 and any(columns(self.planner, last, part) for part in parts):
                return self.in_parts(nest, parts, loops, kinds)
            left = self.left_over(last, seen)
            found = as_columns(self.planner, last, seen, left)
            if found:
                kind, fields = found
                return [self.run(Columns, nest, body, loops, (*kinds, kind), **fields)]
        if lane is None and (how := as_rows(self.planner, last, seen)) is not None:
            return self.rows(nest, seen, loops, kinds, how)
        return [self.run(Nest, nest, body, loops, (*kinds, self.kind(last, (), seen, lane)))]

    def in_parts(self, nest: Nest, parts: Sequence[Sequence[Statement]], loops: Sequence[Loop],
                 kinds: Sequence[Kind]) -> list[Statement]:
        """A nest whose last loop is split, one for each part of its body."""
        found: list[Statement] = []
        done = 0
        for part in parts:
            body = nest.body[done:done + len(part)]
            done += len(part)
            inner = Nest(loops[-1].covers, (PARALLEL,) * len(loops[-1].covers), body)
            found += self.loops(inner, part, loops[-1:])
        return _within(*_spread(nest, loops[:-1], kinds, loops[-1].covers), found)

    def rows(self, nest: Nest, seen: Sequence[Statement], loops: Sequence[Loop],
             kinds: Sequence[Kind], fields: Mapping[str, Any]) -> list[Statement]:
        """Sums along rows, and the code after them if it gets its own loop."""
        last = loops[-1]
        count = len(with_finish_apart(self.planner, last, seen)[0])
        if count == len(seen):
            return [self.run(Rows, nest, nest.body, loops, (*kinds, PARALLEL), **fields)]
        parallel = (PARALLEL,) * len(last.covers)
        sums = self.run(Rows, Nest(last.covers, parallel, nest.body[:count]), nest.body[:count],
                        loops[-1:], (PARALLEL,), **fields)
        finish = self.nest(Nest(last.covers, parallel, nest.body[count:]))
        return _within(*_spread(nest, loops[:-1], kinds, last.covers), [sums, *finish])

    def scan(self, nest: Nest, seen: Nest, fields: Mapping[str, Any]) -> Statement:
        """A scan in vectors."""
        kinds = nest.kinds
        index = nest.indices[-1]
        if fields.get("rows"):
            lane = Loop(index, (index,), True, fields["lanes"], whole=True)
            kind = Vector(lane.width, self.left_over(lane, seen.body),
                          self.is_short(lane, seen.body, lane.extent // lane.width))
            kinds = (*kinds[:-1], kind)
        body, rest = self.bodies(nest.body, (index,), one_by_one=True)
        kept = () if fields.get("rows") else kept_buffers(self.analysis, (index,), nest.body)
        return ScanLine(nest.indices, kinds, body, rest, kept, **fields)

    def run(self, form: type[Nest], nest: Nest, body: Sequence[Statement], loops: Sequence[Loop],
            kinds: Sequence[Kind], **fields: Any) -> Nest:
        """A nest whose loops have these kinds."""
        varying: tuple[Index, ...] = ()
        one_by_one = False
        for loop, kind in zip(loops, kinds):
            if isinstance(kind, Vector):
                varying, one_by_one = loop.covers, 1 in kind.rest
        indices, every = _spread(nest, loops, kinds, ())
        if form is Rows:  # it defines how its sums run
            return form(indices, every, tuple(body), **fields)
        found, rest = self.bodies(body, varying, one_by_one)
        kept = kept_buffers(self.analysis, loops[-1].covers, body) if loops and (
            not loops[-1].parallel) else ()
        return form(indices, every, found, rest, kept, **fields)

    def bodies(self, body: Sequence[Statement], varying: Iterable[Index], one_by_one: bool,
               ) -> tuple[tuple[Statement, ...], tuple[Statement, ...]]:
        """Statements inside of lanes, and the statements for iterations one by one, if these occur
        and differ."""
        found = self.inside(body, varying)
        rest = self.inside(body, ()) if one_by_one and any(
            e.holds & FOLDS for s in body for e in expressions(s)) else found
        return found, () if rest == found else rest

    def inside(self, body: Sequence[Statement], varying: Iterable[Index]) -> tuple[Statement, ...]:
        return tuple(part for s in body for part in (
            [self.folds.store(s, varying)] if isinstance(s, Store) else self.statement(s)))

    # -- kinds -------------------------------------------------------------------------------------

    def kind(self, loop: Loop, rest: Sequence[Loop], body: Sequence[Statement],
             lane: Loop | None) -> Kind:
        """How a loop runs around others, or inside of one in lanes."""
        if loop.width > 1:
            left = self.left_over(loop, body)
            steps = loop.extent // loop.width + (not left and loop.extent % loop.width > 0)
            return Vector(loop.width, left, not rest and self.is_short(loop, body, steps))
        if not rest and lane is not None and crosses_in_order(self.planner, loop, body, lane):
            return Crossing(lane.width)
        if self.is_brief(loop, rest, body):
            return Unrolled(self.planner.tuning.together)
        return PARALLEL if loop.parallel else SEQUENTIAL

    def left_over(self, loop: Loop, body: Sequence[Statement]) -> tuple[int, ...]:
        """The lanes for the remainder of whole steps; empty if the last step overlaps.

        Sums use vectors of fewer lanes first: they walk through columns of memory, and a single
        column takes as long as a vector of them.
        """
        left = loop.extent % loop.width
        if not left or self.analysis.repeatable(body):
            return ()
        found, width, tuning = list[int](), loop.width, self.planner.tuning
        sums = any(e.holds & FOLDS for s in body for e in expressions(s))
        while sums and self.planner.vector_bits >= tuning.long_vectors and width > tuning.few_lanes:
            width //= 2
            if left >= width:
                found.append(width)
                left %= width
        return (*found, 1) if left else tuple(found)

    def is_short(self, loop: Loop, body: Sequence[Statement], steps: int) -> bool:
        """Whether a loop in lanes has so few steps, of so few instructions, that it should be
        written out."""
        tuning = self.planner.tuning
        return loop.parallel and steps <= tuning.together // 2 and all(
            isinstance(s, Store) and s.guard is None and s.combine is None for s in body) and sum(
            self.analysis.length(s.value) for s in body if isinstance(s, Store)) <= tuning.moves

    def is_brief(self, loop: Loop, rest: Sequence[Loop], body: Sequence[Statement]) -> bool:
        """Whether each iteration of a loop stores vectors of adjacent elements after few
        instructions, so that loop overhead would dominate."""
        tuning = self.planner.tuning
        if len(rest) != 1 or not rest[0].width == rest[0].extent > 1 == loop.width or not (
                loop.parallel and loop.extent >= tuning.together) or not (
                self.analysis.repeatable(body)):
            return False
        return all(isinstance(s, Store) and s.guard is None and s.combine is None
                   and self.analysis.length(s.value) <= tuning.moves
                   and all(rest[0].stride(access.place[0]) in (0, 1) for access in (
                       Load(s.buffer, s.index), *loads(*expressions(s)))) for s in body)


def _with_stores(nest: Nest) -> Nest:
    """A nest whose body has the stores of nests without loops in place of these.

    Only if all of the body are stores then: such a nest may run in lanes.
    """
    body = [part for s in nest.body for part in (
        s.body if isinstance(s, Nest) and not s.indices else (s,))]
    if len(body) > len(nest.body) and all(isinstance(s, Store) for s in body):
        return replace(nest, body=tuple(body))
    return nest


def _spread(nest: Nest, loops: Sequence[Loop], kinds: Sequence[Kind], without: Sequence[Index],
            ) -> tuple[tuple[Index, ...], tuple[Kind, ...]]:
    """The indices of loops and their kinds, with loops of one iteration in front."""
    found: dict[Index, Kind] = {i: kind for i, kind in zip(nest.indices, nest.kinds)
                                if i.extent == 1 and i not in without}
    for loop, kind in zip(loops, kinds, strict=True):
        found |= dict.fromkeys(loop.covers[:-1], JOINED)
        found[loop.covers[-1]] = kind
    return tuple(found), tuple(found.values())


def _within(indices: tuple[Index, ...], kinds: tuple[Kind, ...], body: Sequence[Statement],
            ) -> list[Statement]:
    """Statements inside of loops; a single nest absorbs them."""
    if not indices:
        return list(body)
    inner = body[0]
    if len(body) == 1 and isinstance(inner, Nest) and not isinstance(inner, Tiled):
        return [replace(inner, indices=(*indices, *inner.indices),
                        kinds=(*kinds, *inner.kinds))]
    return [Nest(indices, kinds, tuple(body))]
