"""Which loops run in which order, and which one runs in vectors.

A *lane* is one iteration of a loop that runs together with adjacent ones, each in its element of
vector registers. The loop in lanes is the one that makes most memory accesses contiguous: a loop of
a parallel nest, or of a reduction inside it. Adjacent loops that access memory like one loop are
merged first, so that a tensor is as good as a vector.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from itertools import takewhile
from math import prod

import numpy as np

from ..._base.records import record
from ..._loops.expr import Const, Expr, Fold, Index, Load, Node, Op, State
from ..._loops.instructions import BOOL, INDEX, kind_of, width
from ..._loops.loop_kinds import JOINED, PARALLEL, Kind, Vector, in_order
from ..._loops.nest import Nest, Store
from ..._loops.traverse import children, walk
from ..machine import Machine
from ..tuning import LaneTuning
from .analysis import Analysis, Terms, offset

__all__ = ["Loop", "NEAR", "Planner", "WORD", "crosses", "loops_of",
           "register_bits"]

NEAR, WORD = 4, 8
"""Strides up to which elements are loaded together with those in between, and the stride of bytes
that are loaded as words."""


@cache
def register_bits(dtype: np.dtype) -> int:
    """The bits of a number of a dtype in a register; of a complex number, those of one part."""
    kind = kind_of(dtype)
    if kind == "b":
        return 1
    if kind in "iu":
        return width(dtype)
    return 64 if dtype.itemsize == (16 if kind == "c" else 8) else 32


@record
class Loop:
    """A loop of the generated code: its index, the indices of the program it represents, its lanes.

    The indices are those of merged loops, outermost first; usually there is one. A ``crossing``
    loop is processed in tiles together with the one in lanes, which follows it (``transposes.py``).
    Steps of a ``whole`` loop in lanes never overlap; otherwise the last one may. A ``paired`` loop,
    which reads only bfloat16, takes even positions before odd ones. ``kind`` is the decision of the
    schedule.
    """

    index: Index
    covers: tuple[Index, ...]
    parallel: bool
    width: int = 1
    crossing: bool = False
    whole: bool = False
    paired: bool = False
    kind: Kind = PARALLEL

    @property
    def extent(self) -> int:
        return self.index.extent

    def stride(self, terms: Terms) -> int | None:
        """Distance in memory between adjacent iterations; None if it is not constant."""
        for atom in terms:
            if not isinstance(atom, Index) and not atom.free.isdisjoint(self.covers):
                return None
        return terms.get(self.covers[-1], 0)


def loops_of(indices: Iterable[Index], kinds: Iterable[Kind], parallel: bool = True) -> list[Loop]:
    """Loops by their kinds, outermost first; loops of one iteration are dropped.

    Loops of a fold are not ``parallel``, and the one in lanes is innermost.
    """
    found: list[Loop] = []
    covers: tuple[Index, ...] = ()
    for index, kind in zip(indices, kinds):
        if index.extent == 1:
            continue
        covers += (index,)
        if kind != JOINED:
            merged = index if len(covers) == 1 else Index(
                "_".join(i.name for i in covers), prod([i.extent for i in covers]))
            found.append(Loop(merged, covers, parallel and not in_order(kind),
                              kind.lanes if isinstance(kind, Vector) else 1, kind=kind))
            covers = ()
    return found if parallel else sorted(found, key=lambda loop: loop.width > 1)


class _Inventory:
    """What some expressions compute and access: which loops each part depends on, and where."""

    def __init__(self, analysis: Analysis):
        self.analysis = analysis
        self.memory: list[tuple[Terms, frozenset[Index], bool]] = []
        self.work: list[tuple[int, frozenset[Index]]] = []
        self.direct: set[Index] = set()  # indices used for more than addresses
        self.folds: list[Fold] = []
        self.roots: list[Node] = []
        self.filled = 0  # the stride of interleaved stores
        self.bits = 8
        self.items: list[tuple[int, frozenset[Index]]] = []  # bits of loaded and stored elements
        self.plain = 0  # instructions on integers
        self._steps: dict[State, frozenset[Index]] = {}

    @property
    def length(self) -> int:
        return len(self.memory) + sum([length for length, _ in self.work])

    def gathered(self, loop: Loop) -> int:
        """How many loads read from computed positions in a loop."""
        return sum([loads and loop.stride(terms) is None and not variables.isdisjoint(loop.covers)
                    for terms, variables, loads in self.memory])

    def add(self, *roots: Node) -> None:
        """Add expressions and all their parts."""
        self.roots += roots
        stack, seen = list(roots), set()
        while stack:
            node = stack.pop()
            if node not in seen:
                seen.add(node)
                stack += self._visit(node)

    def add_store(self, store: Store) -> None:
        """Add a statement."""
        terms = offset(store.buffer, store.index)[0]
        self._touch(terms, store.value, store.value.free.union(*[i.free for i in store.index]),
                    loads=False)
        self.add(store.value, *_opaque(terms), *(() if store.guard is None else (store.guard,)))

    def _visit(self, node: Node) -> Iterable[Node]:
        if isinstance(node, Index):
            self.direct.add(node)
        elif isinstance(node, Load):
            terms = self.analysis.offset(node)[0]
            self._touch(terms, node, node.free, loads=True)
            return _opaque(terms)
        elif isinstance(node, Fold):
            self.folds.append(node)
            steps = self._indices(node.free).union(node.indices)
            self._steps.update(dict.fromkeys(node.states, steps))
        elif isinstance(node, Op) and (length := self.analysis.own_length(node)):
            self.work.append((length, self._indices(node.free)))
            self.plain += length * (kind_of(node.dtype) in "iu")
            self._widen(node)
        return children(node)

    def _touch(self, terms: Terms, value: Expr, free: Iterable, loads: bool) -> None:
        self.memory.append((terms, self._indices(free), loads))
        self.items.append((8 * value.dtype.itemsize, self.memory[-1][1]))
        self._widen(value)

    def _indices(self, free: Iterable) -> frozenset[Index]:
        """The loops in each of whose steps a value is different."""
        found: set[Index] = set()
        for variable in free:
            if isinstance(variable, State):
                found |= self._steps.get(variable, frozenset())
            else:
                found.add(variable)
        return frozenset(found)

    def _widen(self, value: Expr) -> None:
        """Values as wide as this one are in lanes, unless all lanes have the same value."""
        if value.dtype not in (BOOL, INDEX) and value.free:
            self.bits = max(self.bits, register_bits(value.dtype))


def _chain(roots: Sequence[Node], loop: Loop) -> tuple[int, int, int]:
    """For code in lanes: the length of the longest dependency chain, how many values are alive at a
    time, and how many scalars besides."""
    order = [n for n in walk(*roots) if isinstance(n, (Op, Load)) and (
        not n.free.isdisjoint(loop.covers) and n.dtype != INDEX)]
    place = {node: n for n, node in enumerate(order)}
    last = {child: place[node] for node in order for child in children(node) if child in place}
    depth: dict[Node, int] = {}
    ends = Counter(last.values())
    now = most = 0
    for n, node in enumerate(order):
        depth[node] = 1 + max([depth[c] for c in children(node) if c in place], default=0)
        now += 1
        most = max(most, now)
        now -= ends[n]
    numbers = {child for node in order for child in children(node) if isinstance(child, Const)}
    return max(depth.values(), default=0), most, len(numbers)


def _opaque(terms: Terms) -> list[Expr]:
    return [atom for atom in terms if not isinstance(atom, Index)]


class Planner:
    """Decides about loops for a machine, by the number and width of its vector registers."""

    def __init__(self, analysis: Analysis, machine: Machine):
        self.analysis, self.machine, self.tuning = analysis, machine, machine.tuning.lanes
        self.vector_bits, self.registers = machine.vector_bits, machine.vector_registers

    def nest(self, nest: Nest, repeatable: bool,
             rows_together: Callable[[Loop], int] = lambda loop: 0) -> list[Loop]:
        """The loops of a nest, outermost first; loops of one iteration are dropped.

        A ``repeatable`` body may run twice, which allows all tiles to be as large as the first.
        ``rows_together`` says how many rows ``rows.py`` would process at a time in a loop without
        lanes; code after their sums runs in that many lanes.
        """
        loops = [Loop(i, (i,), kind == PARALLEL) for i, kind in zip(nest.indices, nest.kinds)
                 if i.extent > 1]
        stores = [s for s in nest.body if isinstance(s, Store)]
        if len(stores) < len(nest.body):
            return loops
        found = _Inventory(self.analysis)
        for store in stores:
            found.add_store(store)
        found.filled = _filled(stores)
        loops = _merged(loops, found)
        inner = self._inner(found)
        allowed = [loop for loop in loops if loop.parallel
                   and all(_in_step(store, loop) for store in stores)]
        pairs: list[tuple[Loop | None, Loop | None]] = [(lane, None) for lane in (None, *allowed)]
        if repeatable and not found.folds:
            pairs += self._crossings(allowed, found)
        rows = rows_together(loops[-1]) if loops and found.folds else 0
        finish = (loops[-1], min(rows, self._lanes(found))) if rows else None
        best, crossing = min(pairs, key=lambda pair: self._price(
            pair[0], inner, found, pair[1], _passed(loops, pair[0]),
            finish if pair[0] is None else None))
        if best is None:
            return loops
        if crossing is not None:
            return [*(loop for loop in loops if loop not in (best, crossing)),
                    replace(crossing, crossing=True), replace(best, width=self._lanes(found))]
        width = self._width(found, best)
        if found.length <= self.tuning.move and any(
               crosses(terms, best, loop) for loop in loops if not loop.parallel
               for terms, _, loads in found.memory if not loads):
            width = min(width, max(2, self.vector_bits // 32))
        return _with_lanes(loops, best, replace(best, width=width)) if width > 1 else loops

    def _crossings(self, loops: Sequence[Loop], found: _Inventory) -> list[tuple[Loop, Loop]]:
        """Pairs of loops, the first to run in lanes, such that some load crosses between them."""
        lanes = self._lanes(found)
        loops = [loop for loop in loops if loop.extent >= lanes > 1]
        if lanes * found.length > self.tuning.tile:
            return []
        return [(lane, loop) for lane in loops for loop in loops if loop is not lane and any(
            crosses(terms, lane, loop) for terms, _, loads in found.memory if loads)]

    def width(self, stores: Iterable[Store], index: Index) -> int:
        """How many lanes a loop over stores has; 1 if none."""
        found = _Inventory(self.analysis)
        for store in stores:
            found.add_store(store)
        return self._width(found, Loop(index, (index,), True))

    def fold(self, fold: Fold, alone: bool) -> list[Loop]:
        """The loops of a fold; one may have lanes if the fold is not in lanes itself."""
        loops = [Loop(i, (i,), False) for i in fold.indices if i.extent > 1]
        found = _Inventory(self.analysis)
        found.add(*fold.body)
        loops = _merged(loops, found)
        if not alone or fold.combine is None or fold.reducer is None and len(loops) > 1:
            return loops
        inner = self._inner(found)
        best = min([None, *loops], key=lambda lane: self._price(lane, inner, found))
        if best is None:
            return loops
        width = self._width(found, best)
        return [*(loop for loop in loops if loop is not best), replace(best, width=width)]

    def _inner(self, found: _Inventory) -> list[Loop]:
        """Loops of inner reductions, which may have lanes instead."""
        return [Loop(i, (i,), False) for fold in found.folds if fold.combine for i in fold.indices
                if i.extent >= self._lanes(found)]

    def _vectors_of_chain(self, found: _Inventory, loop: Loop) -> int:
        """How many vectors hide the latency of a long dependency chain.

        Some values may be spilled: that overlaps with the chain. Where there are 16 registers and
        most operations depend on the one before, it may be more: a chain of 50 products and sums
        for 100,000 floats, of which 9 values are alive at a time, takes 235 us with four vectors
        and 373 with two (Cascade Lake limited to AVX2, two cores).
        """
        depth, values, numbers = _chain(found.roots, loop)
        if depth < self.tuning.deep or found.length > self.tuning.written_out:
            return 1
        spilled = 16 if self.registers == 16 and 2 * depth >= found.length else 0
        return (8 if 8 * values + numbers <= self.registers else
                4 if 4 * values + numbers <= 2 * self.registers + spilled else 1)

    def _lanes(self, found: _Inventory) -> int:
        """How many lanes fill one vector."""
        return max(1, self.vector_bits // found.bits)

    def _price(self, lane: Loop | None, inner: Sequence[Loop], found: _Inventory,
               crossing: Loop | None = None, passed: Sequence[Loop] = (),
               finish: tuple[Loop, int] | None = None) -> float:
        """Estimated time if this loop has lanes, or an inner one where this one does not count.

        It runs inside of the loops ``passed``: what depends on it is computed in each of their
        steps. What depends on no sum, but on ``finish``, has as many lanes as that says.
        """
        lanes = self._lanes(found)
        rows, few = finish or (None, 1)
        # Few lanes of a short loop are not worth as much as those of a long sum.
        short = lanes if lane is None or not any(
            loop.extent >= self.tuning.sum * lanes for loop in inner) else min(lanes, lane.extent)
        summed = frozenset(i for fold in found.folds for i in fold.indices)
        outer = () if lane is None else (lane,)

        def finishes(variables: frozenset[Index]) -> bool:
            return rows is not None and not variables.isdisjoint(rows.covers) and (
                variables.isdisjoint(summed))

        total = 0.0
        for terms, variables, loads in found.memory:
            if loads and crossing is not None and crosses(terms, lane, crossing):
                total += self.tuning.transpose / lanes * prod([i.extent for i in variables])
                continue
            usable = ([loop for loop in outer if not variables.isdisjoint(loop.covers)]
                      or [loop for loop in inner if not variables.isdisjoint(loop.covers)])
            wide = short if lane in usable else lanes
            if not usable and rows is not None and finishes(variables):
                usable, wide = [rows], few
            strides = [loop.stride(terms) for loop in usable]
            if not loads:
                strides = [1 if stride == found.filled else stride for stride in strides]
            total += min([_access_price(stride, wide, loads, self.tuning) for stride in strides],
                         default=1.0) * prod([i.extent for i in variables])
        for length, variables in found.work:
            vector = any(not variables.isdisjoint(loop.covers) for loop in (*outer, *inner))
            wide = lanes if lane is None or variables.isdisjoint(lane.covers) else short
            again = [loop.extent for loop in passed if lane is not None
                     and not variables.isdisjoint(lane.covers)
                     and variables.isdisjoint(loop.covers)]
            total += length * prod([i.extent for i in variables] + again) / (
                wide if vector else few if finishes(variables) else 1)
        return total

    def _width(self, found: _Inventory, loop: Loop) -> int:
        """How many lanes, a power of two: several vectors of them if code is short.

        If numbers in memory are half as wide as in registers, as for bfloat16, vectors of memory
        count: rounding after each step adds latency, which more vectors hide. Integers need few
        registers and have dependency chains, so they count a third. Without an instruction that
        gathers, each lane of a gathered vector takes an address and a load.
        """
        collecting = 0 if self.machine.has_masks else 2 * self._lanes(found) * found.gathered(loop)
        length = found.length - found.plain * 2 // 3 + collecting
        vectors = 4 if length <= self.tuning.short else 2 if length <= self.tuning.long else 1
        narrow = all(2 * bits <= found.bits for bits, variables in found.items
                     if not variables.isdisjoint(loop.covers))
        if narrow and found.length <= self.tuning.brief and (
                loop.parallel or len(found.work) >= self.tuning.rounded):
            vectors = 8
        if loop.parallel and not found.folds and 2 * collecting < found.length and max(
                [length for length, _ in found.work], default=0) < self.tuning.special:
            vectors = max(vectors, self._vectors_of_chain(found, loop))
        if found.bits == WORD and any(loads and loop.stride(terms) == WORD
                                      for terms, _, loads in found.memory):
            vectors = 1  # eight vectors of words, which must stay in registers
        lanes = self._lanes(found) * vectors
        while lanes > loop.extent:
            lanes //= 2
        return lanes


def _access_price(stride: int | None, lanes: int, loads: bool, tuning: LaneTuning) -> float:
    if stride in (0, 1, -1):
        return (tuning.reverse if stride == -1 else 1.0) / lanes
    if loads and stride is not None and 1 < stride <= NEAR:
        return (stride + 1) / lanes
    return tuning.gather


def _filled(stores: Sequence[Store]) -> int:
    """How many stores write adjacent elements, interleaved; 0 if they do not."""
    found = [offset(store.buffer, store.index) for store in stores]
    terms, first = found[0]
    return len(stores) if len(stores) > 1 and len({store.buffer for store in stores}) == 1 and (
        found == [(terms, first + n) for n in range(len(stores))]) else 0


def crosses(terms: Terms, lane: Loop | None, crossing: Loop) -> bool:
    """Whether an access is contiguous along the crossing loop, and not along the lanes."""
    return lane is not None and crossing.stride(terms) == 1 and (
        lane.stride(terms) not in (None, 0, 1, -1))


def _in_step(store: Store, loop: Loop) -> bool:
    """Whether the iterations of a loop can store in lanes."""
    if store.guard is not None and not store.guard.free.isdisjoint(loop.covers):
        return False
    terms = offset(store.buffer, store.index)[0]
    return store.combine is None or loop.stride(terms) is not None


def _merged(loops: Iterable[Loop], found: _Inventory) -> list[Loop]:
    """Merge adjacent loops where all accesses step through memory like one loop."""
    result: list[Loop] = []
    for loop in loops:
        if result and _walk_as_one(result[-1], loop, found):
            outer = result.pop()
            index = Index(f"{outer.index.name}_{loop.index.name}", outer.extent * loop.extent)
            loop = Loop(index, outer.covers + loop.covers, loop.parallel)
        result.append(loop)
    return result


def _walk_as_one(outer: Loop, inner: Loop, found: _Inventory) -> bool:
    if outer.parallel != inner.parallel or not found.direct.isdisjoint(outer.covers + inner.covers):
        return False
    for terms, _, _ in found.memory:
        far, near = outer.stride(terms), inner.stride(terms)
        if far is None or near is None or far != near * inner.extent:
            return False
    return True


def _with_lanes(loops: Sequence[Loop], lane: Loop, wide: Loop) -> list[Loop]:
    """The loops, with the one in lanes moved inwards past parallel loops."""
    place, passed = list(loops).index(lane), _passed(loops, lane)
    return [*loops[:place], *passed, wide, *loops[place + 1 + len(passed):]]


def _passed(loops: Sequence[Loop], lane: Loop | None) -> list[Loop]:
    """The parallel loops right inside of one in lanes, which it is moved past."""
    inside = [] if lane is None else loops[list(loops).index(lane) + 1:]
    return list(takewhile(lambda loop: loop.parallel, inside))
