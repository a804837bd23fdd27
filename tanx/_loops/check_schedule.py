"""Checks schedules: whether loops may run as their kinds say.

Each rule is an assumption of code generation. The interpreter, which follows the kinds too, tests
the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod

from .check import fail
from .expr import Fold, Index, Load, Node
from .loop_kinds import JOINED, SEQUENTIAL, TILED, Crossing, Unrolled, Vector, in_order
from .nest import SHARED, Buffer, Nest, Program, Statement, Store
from .scheduled import Columns, Rows, ScanLine, TransposedTile
from .steps import LoopOf, loops_in
from .tiles import Tiled
from .traverse import children, expressions, folds, loads, programs_in, statements_in, walk, written

__all__ = ["check_schedule"]


def check_schedule(program: Program, shared: Mapping[Buffer, Buffer] | None = None) -> None:
    """Raise ``ProgramError`` unless the loops of a program may run as their kinds say.

    ``shared`` maps buffers to others whose memory they share.
    """
    for statement in statements_in(program.statements):
        if isinstance(statement, Nest):
            _Rules(statement, shared or {}).check()
        elif isinstance(statement, Store):
            for fold in folds(*expressions(statement)):
                _check_fold(fold, statement)
        for inner in programs_in(statement):
            check_schedule(inner)


class _Rules:
    """The rules for one nest."""

    def __init__(self, nest: Nest, shared: Mapping[Buffer, Buffer]):
        self.nest, self.shared = nest, shared
        self.loops = loops_in(nest)
        self.lanes = [loop for loop in self.loops if isinstance(loop.kind, Vector)]

    def check(self) -> None:
        nest = self.nest
        if nest.kinds[-1:] == (JOINED,):
            fail("a joined loop must have another loop inside.", nest)
        if len(self.lanes) > 1:
            fail("only one loop of a nest may run in lanes.", nest)
        self.registers()
        self.polls()
        self.prefetches()
        for loop in self.loops:
            self.joined(loop)
            if isinstance(loop.kind, Vector):
                self.vector(loop, loop.kind)
            elif isinstance(loop.kind, Crossing):
                self.crossing(loop.kind)
            elif isinstance(loop.kind, Unrolled) and not self.is_repeatable():
                fail("unrolled iterations must not read elements that they store.", nest)
        self.form()

    def stores(self) -> list[Store]:
        return [s for s in statements_in((*self.nest.body, *self.nest.rest))
                if isinstance(s, Store)]

    def memory(self, buffer: Buffer) -> Buffer:
        return self.shared.get(buffer, buffer)

    def is_repeatable(self) -> bool:
        """Whether statements may run twice with the same effect."""
        stores = self.stores()
        reads = {self.memory(load.buffer) for s in stores for load in loads(*expressions(s))}
        return not any(s.combine for s in stores) and reads.isdisjoint(
            self.memory(b) for b in written(self.nest.body))

    def registers(self) -> None:
        """The last loop uses only one element of a buffer in registers."""
        kept = {self.memory(buffer) for buffer in self.nest.kept}
        used = {self.memory(buffer): set[Load]() for buffer in self.nest.kept}
        for store in self.stores() if kept else ():
            for access in (Load(store.buffer, store.index), *loads(*expressions(store))):
                if self.memory(access.buffer) in kept:
                    used[self.memory(access.buffer)].add(access)
        if any(len(found) != 1 for found in used.values()) or any(
                not access.free.isdisjoint(self.loops[-1].indices)
                for found in used.values() for access in found):
            fail("a loop may keep only one element of a buffer in a register.", self.nest)

    def polls(self) -> None:
        """Only loops in order check between steps whether to stop."""
        if not set(self.nest.polled) <= {
                loop.indices[-1] for loop in self.loops if in_order(loop.kind)}:
            fail("only sequential loops may be polled.", self.nest)

    def prefetches(self) -> None:
        """Prefetched elements are used, in a loop that has so many steps."""
        for store in [s for s in self.nest.body if isinstance(s, Store) and s.prefetched]:
            used = {Load(store.buffer, store.index), *loads(*expressions(store))}
            if any(p.access not in used or p.steps < 1 for p in store.prefetched):
                fail("a prefetched element must be used some steps later.", store)

    def joined(self, loop: LoopOf) -> None:
        """All accesses step through joined loops like through one."""
        indices = [i for i in loop.indices if i.extent > 1]
        if len(indices) < 2:
            return
        places = [load.place[0] for s in self.stores()
                  for load in (Load(s.buffer, s.index), *loads(*expressions(s)))]
        direct = _used_directly(e for s in self.stores() for e in _values(s))
        apart = any(not isinstance(atom, Index) and not atom.free.isdisjoint(indices)
                    for terms in places for atom in terms)
        steps = all(terms.get(a, 0) == terms.get(b, 0) * b.extent for terms in places
                    for a, b in zip(indices, indices[1:]))
        if apart or not steps or not direct.isdisjoint(indices):
            fail("joined loops must access memory like one loop.", self.nest)

    def vector(self, loop: LoopOf, kind: Vector) -> None:
        nest = self.nest
        if not all(isinstance(s, Store) for s in (*nest.body, *nest.rest)):
            fail("only stores may run in lanes.", nest)
        if not 2 <= kind.lanes <= loop.extent or kind.lanes & kind.lanes - 1:
            fail("the number of lanes must be a power of two, at most that of iterations.", nest,
                 f"lanes:      {kind.lanes}", f"iterations: {loop.extent}")
        left = loop.extent % kind.lanes
        for width in kind.rest:
            left %= width
        if kind.rest and left:
            fail("the remainder of a loop in lanes must run in fewer lanes, or one by one.", nest)
        if loop.extent % kind.lanes and not kind.rest and not self.is_repeatable():
            fail("overlapping steps in lanes must not read elements that they store.", nest)
        for store in self.stores():
            if store.guard is not None and not store.guard.free.isdisjoint(loop.indices):
                fail("a guard must be the same in all lanes.", store)

    def crossing(self, kind: Crossing) -> None:
        around = self.lanes and self.lanes[0].kind
        if not isinstance(around, Vector) or around.lanes != kind.count:
            fail("a transposed loop must be inside a loop with as many lanes.", self.nest)

    def form(self) -> None:
        """The fields of nests with special forms."""
        nest = self.nest
        if isinstance(nest, TransposedTile):
            lanes = nest.kinds[-1]
            sizes = [loop.extent for loop in self.loops[-2:]]
            if not isinstance(lanes, Vector) or len(sizes) < 2 or any(
                    block % lanes.lanes or not 0 < block <= size
                    for block, size in zip((nest.deep, nest.long), sizes)):
                fail("blocks must consist of whole tiles, at most all of them.", nest)
            if not self.is_repeatable():
                fail("overlapping tiles must not read elements that they store.", nest)
        elif isinstance(nest, Rows):
            left = self.loops[-1].extent
            for rows, _ in nest.blocks:
                left %= rows
            if left:
                fail("every row must be in a block.", nest)
        elif isinstance(nest, Columns):
            if not isinstance(nest.kinds[-1], Vector) or nest.vectors < 1:
                fail("columns must run in lanes.", nest)
        elif isinstance(nest, ScanLine):
            if nest.kinds[-2 if nest.rows else -1] != SEQUENTIAL:
                fail("a scan must run along a sequential loop.", nest)
        elif isinstance(nest, Tiled):
            how = nest.tiling
            if set(nest.kinds) != {TILED} or min(how.block, how.chunk, how.group, how.depth) < 1:
                fail("tiles need loops of that kind, and positive sizes.", nest)
            for room in nest.rooms:
                if room.buffer.space != SHARED:
                    fail("operands that a task computes must be in shared memory.", nest)
                for inner in statements_in(room.fill):
                    if isinstance(inner, Nest):
                        _Rules(inner, self.shared).check()


def _check_fold(fold: Fold, where: Statement) -> None:
    """How the loops of a fold run."""
    kinds = [k for k in fold.kinds if isinstance(k, (Vector, Unrolled))]
    if len(fold.kinds) not in (0, len(fold.indices)) or fold.kinds[-1:] == (JOINED,):
        fail("either every index of a fold must have a kind, or none.", where)
    if fold.stretch and (fold.reducer != "add" or fold.stretch < 2):
        fail("only sums may have partial sums.", where)
    if any(isinstance(k, Unrolled) and k.packed for k in kinds) and (
            fold.combine != "or" or [i.extent for i in fold.indices] != [8]):
        fail("only the bits of eight bytes may be packed.", where)
    vectors = [k for k in kinds if isinstance(k, Vector)]
    if len(vectors) > 1 or vectors and fold.combine is None:
        fail("one loop of a reduction may run in lanes.", where)
    if vectors and vectors[0].lanes > prod(i.extent for i in fold.indices):
        fail("a reduction must not have more lanes than elements.", where)


def _values(store: Store) -> Iterable[Node]:
    yield store.value
    if store.guard is not None:
        yield store.guard


def _used_directly(roots: Iterable[Node]) -> set[Index]:
    """Indices that are used for more than addresses."""
    def into(node: Node) -> tuple[Node, ...]:
        if isinstance(node, Load):
            return tuple(atom for atom in node.place[0] if not isinstance(atom, Index))
        return children(node)
    return {node for node in walk(*roots, into=into) if isinstance(node, Index)}
