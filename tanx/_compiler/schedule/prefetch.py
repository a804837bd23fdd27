"""Which accesses are prefetched, and how far ahead: those that the hardware does not prefetch.

The hardware prefetches long contiguous ranges, and what follows them. Three kinds of accesses
remain: contiguous loads in lanes, where the next iteration of a surrounding loop continues
elsewhere in an array that is not in a near cache; stores at indices read from data, each of which
would miss; and long ranges that a fold reads faster than the hardware prefetches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from ..._base.tuples import NamedTuple
from ..._loops.expr import LOADS, Fold, Load, Node
from ..._loops.loop_kinds import PARALLEL, SEQUENTIAL, TASKS, Crossing, Unrolled
from ..._loops.nest import Buffer, Nest, Prefetch, Statement, Store
from ..._loops.scheduled import Columns, Rows, ScanLine, TransposedTile
from ..._loops.tiles import Operand, Tiled
from ..._loops.traverse import children, expressions, loads, statements_in
from ..machine import Machine
from .analysis import Analysis, Terms
from .lanes import Loop, loops_of

__all__ = ["with_prefetches"]


class _Ahead(NamedTuple):
    """A loop for whose later iterations elements are prefetched.

    They read contiguous ranges of so many elements, or what loops ``inside`` access; so many
    iterations run ``together``. Memory that a statement reads ``again`` is not read by those after
    it.
    """

    loop: Loop
    stretch: int = 0
    together: int = 1
    again: frozenset[Buffer] = frozenset()
    inside: tuple[Loop, ...] = ()


class _Inside(NamedTuple):
    """A loop around statements, what is prefetched inside it, and the memory written in it."""

    loop: Loop
    ahead: _Ahead | None
    writes: frozenset[Buffer] = frozenset()


class _Place(NamedTuple):
    """Where statements are: in which loops, and in lanes of which loop, whose steps are those of a
    fold ``in_order``."""

    around: tuple[_Inside, ...] = ()
    lane: Loop | None = None
    in_order: bool = False

    @property
    def ahead(self) -> _Ahead | None:
        return self.around[-1].ahead if self.around else None

    def within(self, loop: Loop, ahead: _Ahead | None,
               writes: frozenset[Buffer] = frozenset()) -> _Place:
        return self._replace(around=(*self.around, _Inside(loop, ahead, writes)))

    def reading(self, again: frozenset[Buffer]) -> _Place:
        """The place of a statement that reads some memory again."""
        if self.ahead is None:
            return self
        *around, last = self.around
        return self._replace(around=(*around, last._replace(ahead=self.ahead._replace(
            again=again))))


def with_prefetches(statement: Statement, analysis: Analysis, machine: Machine) -> Statement:
    """The statement, whose loops have their kinds, with its prefetches."""
    if not isinstance(statement, Nest) or not _touches_far_memory(statement, machine):
        return statement
    return _Prefetches(analysis, machine).nest(statement, _Place())


def _scattered(machine: Machine) -> int:
    """Bytes of a buffer from which scattered stores are prefetched."""
    tuning = machine.tuning.access
    return tuning.scattered_on_arm if machine.is_arm else tuning.scattered


def _touches_far_memory(nest: Nest, machine: Machine) -> bool:
    """Whether a nest accesses a buffer so large that prefetching can pay."""
    least = min(machine.tuning.access.far, _scattered(machine))
    bodies = [nest.body, *(room.fill for room in (nest.rooms if isinstance(nest, Tiled) else ()))]
    return any(_nbytes(access) >= least for body in bodies for s in statements_in(body)
               if isinstance(s, Store) for access in (Load(s.buffer, s.index),
                                                      *loads(*expressions(s))))


def _nbytes(access: Load) -> int:
    return prod(access.buffer.shape) * access.dtype.itemsize


class _Prefetches:
    """Decides for the statements of one nest."""

    def __init__(self, analysis: Analysis, machine: Machine):
        self.analysis, self.line, self.tuning = analysis, machine.line, machine.tuning.access
        self.scattered = _scattered(machine)

    # -- statements --------------------------------------------------------------------------------

    def nest(self, nest: Nest, place: _Place) -> Nest:
        """A nest with its prefetches."""
        if isinstance(nest, Tiled):
            return self.product(nest, place)
        tasks = nest.kinds.count(TASKS)
        loops = loops_of(nest.indices[tasks:], nest.kinds[tasks:])
        if isinstance(nest, ScanLine):
            loops, inner = [], self.scan(nest, place)
        else:
            inner = self.inside(nest, loops, place)
        scattered = loops[-1] if type(nest) is Nest and loops and (
            loops[-1].kind in (PARALLEL, SEQUENTIAL)) else None
        return replace(nest, body=self.body(nest, nest.body, inner, scattered),
                       rest=self.body(nest, nest.rest, inner, scattered))

    def product(self, nest: Tiled, place: _Place) -> Tiled:
        """A product, with prefetches where operands are computed and sums are used."""
        def filled(operand: Operand) -> Operand:
            room = operand.room
            return operand if room is None else replace(operand, room=replace(
                room, fill=self.body(nest, room.fill, place, None)))

        tiling = nest.tiling
        lane = Loop(tiling.column, (tiling.column,), True, nest.lanes)
        inside = place._replace(lane=lane)
        stores = tuple(replace(store, prefetched=tuple(self.loads(nest, store, inside)))
                       for store in tiling.stores)
        return replace(nest, tiling=replace(
            tiling, left=filled(tiling.left), right=filled(tiling.right), stores=stores))

    def scan(self, nest: ScanLine, place: _Place) -> _Place:
        """Inside of a scan: across vectors, several rows are processed together."""
        if not nest.rows:
            along = nest.indices[-1]
            return place._replace(lane=Loop(along, (along,), False, nest.lanes))
        row, lane = (Loop(i, (i,), False) for i in nest.indices[-2:])
        inner = place.within(row, _Ahead(row, lane.extent, nest.rows))
        return inner._replace(lane=replace(lane, width=nest.lanes))

    def inside(self, nest: Nest, loops: Sequence[Loop], place: _Place) -> _Place:
        """Inside of all loops of a nest."""
        writes = self.analysis.written(nest.body)
        # The last loops of these forms are written in blocks.
        blocks = 2 if isinstance(nest, TransposedTile) else int(isinstance(nest, (Rows, Columns)))
        for n, loop in enumerate(loops):
            ahead, rest = place.ahead, loops[n + 1:]
            if n >= len(loops) - blocks:
                if isinstance(nest, TransposedTile) and nest.copied and len(rest) == 1:
                    ahead = _Ahead(loop, nest.long)
            elif isinstance(loop.kind, (Unrolled, Crossing)):
                pass
            elif rest:
                ahead = _Ahead(loop, inside=tuple(rest))
            elif loop.width == 1:
                ahead = _Ahead(loop)
            place = place.within(loop, ahead, writes)
            place = place._replace(lane=loop) if loop.width > 1 else place
        return place

    def body(self, nest: Nest, body: Sequence[Statement], place: _Place, scattered: Loop | None,
             ) -> tuple[Statement, ...]:
        """Statements with their prefetches."""
        found: list[Statement] = []
        for n, statement in enumerate(body):
            here = place
            if place.ahead is not None and len(body) > 1:
                here = place.reading(self.read_again(body, n))
            if isinstance(statement, Nest):
                found.append(self.nest(statement, here))
            elif isinstance(statement, Store):
                found.append(replace(statement, prefetched=(
                    *self.loads(nest, statement, here), *self.target(statement, scattered))))
            else:
                found.append(statement)
        return tuple(found)

    def read_again(self, body: Sequence[Statement], number: int) -> frozenset[Buffer]:
        """The memory that a statement reads after others, and before none that reads it too."""
        before, here, after = (
            {self.analysis.memory(load.buffer) for inner in statements_in(statements)
             for load in loads(*expressions(inner))}
            for statements in (body[:number], body[number:number + 1], body[number + 1:]))
        return frozenset((before & here) - after)

    # -- stores ------------------------------------------------------------------------------------

    def target(self, store: Store, loop: Loop | None) -> list[Prefetch]:
        """The store itself, if steps of a loop store far apart, at addresses that are cheap to
        compute."""
        if loop is None or loop.extent < 2 * self.tuning.steps:
            return []
        access = Load(store.buffer, store.index)
        reached = prod([size for size, place in zip(store.buffer.shape, store.index)
                        if not place.free.isdisjoint(loop.covers)])
        if reached * store.buffer.dtype.itemsize < self.scattered or (
                loop.stride(access.place[0]) is not None) or not all(
                self.analysis.is_safe(place) and self.analysis.length(place) < self.analysis.quick
                for place in store.index):
            return []
        return [Prefetch(access, loop.covers[-1], self.tuning.steps, is_store=True)]

    # -- loads -------------------------------------------------------------------------------------

    def loads(self, nest: Nest, store: Store, place: _Place) -> list[Prefetch]:
        """The loads of a store that are prefetched."""
        found: dict[Load, Prefetch] = {}
        copied = nest.copied if isinstance(nest, TransposedTile) else ()
        seen: set[tuple[Node, _Place]] = set()
        left: list[tuple[Node, _Place]] = [(root, place) for root in expressions(store)]
        while left:
            node, where = left.pop()
            if (node, where) in seen or not node.holds & LOADS:
                continue
            seen.add((node, where))
            if isinstance(node, Load) and node not in copied:
                decision = self.load(node, self.home(node, where))
                if decision is not None:
                    found.setdefault(node, decision)
            inner = self.in_fold(nest, node, where) if isinstance(node, Fold) else where
            outside = node.init if isinstance(node, Fold) else ()
            left += [(part, where if part in outside else inner) for part in children(node)]
        return list(found.values())

    def in_fold(self, nest: Nest, fold: Fold, place: _Place) -> _Place:
        """Inside of the loops of a fold, which is computed as far out as possible."""
        if not fold.indices or not all(i.extent for i in fold.indices):
            return place
        kinds = fold.kinds or (SEQUENTIAL,) * len(fold.indices)
        loops = loops_of(fold.indices, kinds, False)
        if isinstance(nest, Rows):
            return place._replace(lane=replace(loops[-1], width=2)) if loops else place
        if isinstance(nest, Columns) and nest.rows and place.lane is not None:
            row = Loop(fold.indices[0], fold.indices[:1], False)
            return place.within(row, _Ahead(row, nest.vectors * place.lane.width, nest.rows))
        if isinstance(nest, Columns):
            return place
        if not loops or loops[-1].width == 1:
            if all(isinstance(loop.kind, Unrolled) for loop in loops):
                return place
            return place.within(loops[-1], None) if loops else place
        place = self.home(fold, place)
        if len(loops) > 1:
            place = place.within(loops[-2], _Ahead(loops[-2], loops[-1].extent))
        return place.within(loops[-1], place.ahead)._replace(lane=loops[-1], in_order=True)

    def home(self, node: Node, place: _Place) -> _Place:
        """Where a node is computed: inside of the last loop that it depends on."""
        around, reads = list(place.around), self.analysis.reads(node)
        while around and node.free.isdisjoint(around[-1].loop.covers) and (
                around[-1].writes.isdisjoint(reads)):
            around.pop()
        return place._replace(around=tuple(around))

    def load(self, load: Load, place: _Place) -> Prefetch | None:
        """Whether a contiguous load is prefetched, and how far ahead."""
        ahead, lane = place.ahead, place.lane
        if lane is None or _nbytes(load) < self.tuning.far:
            return None
        terms, item = load.place[0], load.dtype.itemsize
        if lane.stride(terms) != 1 or any(
                not atom.free.isdisjoint(lane.covers) and atom not in lane.covers
                for atom in terms):
            return None
        along = lane.covers[-1]
        if place.in_order and lane.extent * item >= self.tuning.foreseen and terms.get(along) == 1:
            return Prefetch(load, along, self.tuning.in_order // item, first=True)
        if ahead is None:
            return None
        index = ahead.loop.covers[-1]
        stretch = _reached(terms, ahead.inside) if ahead.inside else ahead.stretch
        steps = self.steps(ahead, terms.get(index, 0) * item, stretch * item,
                           self.analysis.memory(load.buffer) in ahead.again)
        return Prefetch(load, index, steps) if steps and terms.get(index) else None

    def steps(self, ahead: _Ahead, apart: int, stretch: int, again: bool) -> int:
        """How many steps of a loop ahead elements are prefetched; steps are ``apart`` bytes apart.

        The hardware prefetches a long range, and what follows on it or a little after it. Memory
        that this step reads ``again`` is in the cache, so the next step's is prefetched: memory is
        idle meanwhile. Rows that are processed together, if they are far apart, would evict each
        other from the cache.
        """
        tuning = self.tuning
        if again:
            return 1 if tuning.ahead <= apart <= tuning.near else 0
        foreseen = abs(apart) < stretch or (
            ahead.together == 1 and abs(apart) <= stretch + 4 * self.line)
        if foreseen or not self.line <= stretch <= tuning.foreseen or (
                ahead.together > 1 and abs(apart) >= tuning.near):
            return 0
        return min(max(ahead.together, -(-tuning.ahead // stretch)), ahead.loop.extent // 2)


def _reached(terms: Terms, loops: Sequence[Loop]) -> int:
    """Elements of the range that loops cover, each of which skips at most half."""
    reached = 1
    for loop in reversed(loops):
        stride = loop.stride(terms)
        if stride is None or not 0 <= stride <= 2 * reached:
            break
        reached = max(reached, stride * loop.extent)
    return reached
