"""Matrix products and the statements that use their rows, a band of rows at a time.

The scores of attention are a matrix product; a softmax of their rows is multiplied by another
matrix. Statement by statement, all scores go to memory and back several times. If each row that
statements compute depends only on the same row of what the statements before them computed, a task
can do all of it for a few rows while these are in the second-level cache. ::

    for i in 512, j in 512 parallel:          for c in 8 tasks:
        s[i, j] = add(k in 64: …)                 for i in 64, j in 512 parallel:
    for i in 512 parallel:                            s[c * 64 + i, j] = add(k in 64: …)
        m[i] = max(k in 512: s[i, k])             for i in 64 parallel:
    for i in 512, j in 64 parallel:                   m[c * 64 + i] = max(k in 512: …)
        y[i, j] = add(k in 512: …)                for i in 64, j in 64 parallel:
                                                      y[c * 64 + i, j] = add(k in 512: …)

Unrelated statements in between move before or after the band. An array that no other statement
reads stays private to a task and never reaches memory (``memory.py``). A band may also begin with
the copies of windows that a convolution in matrix registers multiplies. Attention of 512 tokens, 8
heads of 64, takes 3.2 ms this way instead of 3.6 on two cores with AVX-512, that of 1024 tokens
11.7 instead of 13.2, and its gradient 47 instead of 57.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod

from ml_dtypes import bfloat16

from ..._loops.expr import Expr, Index, Variable, fresh_index
from ..._loops.loop_kinds import TILED
from ..._loops.nest import PARALLEL, TASKS, Buffer, Call, Nest, Program, Statement, Store
from ..._loops.tiles import Tiling
from ..._loops.traverse import expressions, loads, map_expressions, statements_in, substitution
from ..cost import nbytes
from ..machine import Machine
from ..matrix_registers import SIZE
from .merge_tasks import conflict
from .tiles import final_stores, in_matrix_registers, is_tiled, tiling

__all__ = ["in_bands"]


def in_bands(program: Program, shared: Mapping[Buffer, Buffer], machine: Machine) -> Program:
    """Join products with statements that use their rows; ``shared`` maps buffers to others whose
    memory they share."""
    left, ahead = list(program.statements), machine.tuning.bands.ahead
    order: list[Statement] = []
    while left:
        first = left.pop(0)
        band = _Band.of(first, left[:ahead], shared, machine)
        if band is None:
            order.append(first)
            continue
        before, behind = band.grow(left[:ahead])
        found = band.statements()
        if found:
            order += [*before, *found]
            left[:ahead] = behind
        else:
            order.append(first)
    return replace(program, statements=tuple(order))


class _Band:
    """Statements over the same rows, the first of which is a product.

    The first loops of each, as many as there are ``extents``, are over rows, and so are the first
    dimensions of all arrays that they write.
    """

    def __init__(self, first: Nest, extents: tuple[int, ...], shared: Mapping[Buffer, Buffer],
                 machine: Machine):
        self.extents, self.shared, self.machine = extents, shared, machine
        self.members: list[Nest] = [first]

    @classmethod
    def of(cls, first: Statement, others: Sequence[Statement], shared: Mapping[Buffer, Buffer],
           machine: Machine) -> _Band | None:
        """The band that begins with a product whose result exceeds the second-level cache, or with
        copies of rows for matrix registers; None if neither does."""
        if not isinstance(first, Nest):
            return None
        product = first if is_tiled(first) else _product_of_copies(first, others, machine)
        least = 2 * machine.caches[1] if product is first else machine.tuning.bands.copied
        if product is None or sum(
                nbytes(store.buffer) for store in final_stores(first.body)) <= least:
            return None
        band = cls(first, tuple(i.extent for i in product.indices[:-1]), shared, machine)
        return band if band.fits(first) else None

    def grow(self, others: Sequence[Statement]) -> tuple[list[Statement], list[Statement]]:
        """Add statements as far as possible; returns those that come before the band, and after
        it."""
        before: list[Statement] = []
        behind: list[Statement] = []
        for other in others:
            if any(conflict(other, one, self.shared) for one in behind):
                behind.append(other)
            elif not any(conflict(other, member, self.shared) for member in self.members):
                before.append(other)
            elif isinstance(other, Nest) and self.fits(other):
                self.members.append(other)
            else:
                behind.append(other)
        return before, behind

    def fits(self, nest: Nest) -> bool:
        """Whether a nest is over the rows, and accesses no other rows of an array that it or
        another member writes, unless nothing else accesses that."""
        if any(kind not in (PARALLEL, TILED) for kind in nest.kinds) or any(
                isinstance(inner, Call) for inner in statements_in(nest.body)) or (
                tuple(i.extent for i in nest.indices[:len(self.extents)]) != self.extents):
            return False
        tiles = tiling(nest, self.machine) if is_tiled(nest) else None
        if tiles is not None and not self.is_small(tiles):
            return False
        places = [(member, *access) for member in (*self.members, nest)
                  for access in _accesses(member)]
        changed = {self.shared.get(buffer, buffer) for _, buffer, _, writes in places if writes}
        times = Counter(self.shared.get(buffer, buffer) for _, buffer, _, _ in places)
        shapes: dict[Buffer, tuple[int, ...]] = {}
        for member, buffer, index, _ in places:
            memory = self.shared.get(buffer, buffer)
            if memory in changed and times[memory] > 1 and not (
                    _is_own(member, buffer, index, len(self.extents))
                    and shapes.setdefault(memory, buffer.shape) == buffer.shape):
                return False
        return True

    def is_small(self, tiles: Tiling) -> bool:
        """Whether a right operand stays in the second-level cache without a copy: tasks that copied
        it would do so for each band. Where rows are copied, it may be larger: bands then save the
        memory for all rows."""
        size = tiles.column.extent * prod(i.extent for i in (*tiles.runs, tiles.term))
        return tiles.right.room is None and (
            size * tiles.total.dtype.itemsize <= self.machine.caches[1] // 2
            or not is_tiled(self.members[0]))

    # -- in bands ----------------------------------------------------------------------------------

    def statements(self) -> list[Statement]:
        """The loop over bands; empty if bands do not pay."""
        size = self.rows()
        if len(self.members) < 2 or not size:
            return []
        *outer, rows = self.extents
        around = [fresh_index(extent, "i") for extent in outer]
        band = fresh_index(rows // size, "c")
        tasks = (*around, band)
        body = [self.cut(member, around, band * size, size) for member in self.members]
        if any(is_tiled(old) != (tiling(new, self.machine, frozenset(tasks)) is not None)
               for old, new in zip(self.members, body)):
            return []
        return [Nest(tasks, (TASKS,) * len(tasks), tuple(body))]

    def rows(self) -> int:
        """Rows of a band, a divisor of all rows: as many as fit in a task's memory; 0 if those are
        too few."""
        tuning = self.machine.tuning.bands
        *outer, rows = self.extents
        made = {store.buffer for member in self.members for store in statements_in(member.body)
                if isinstance(store, Store)}
        each = max(nbytes(buffer) for buffer in made) // prod(self.extents)
        unit = SIZE if any(_in_registers(member, self.machine) for member in self.members) else 1
        least = max(tuning.least, 2 * SIZE) if unit > 1 else tuning.least
        most = min(tuning.rows, tuning.bytes // max(each, 1))
        if not is_tiled(self.members[0]):
            most = max(most, least)  # the memory for all rows would be worse
        size = next((n for n in range(most, least - 1, -1)
                     if rows % n == 0 and n % unit == 0), 0)
        return size if size and prod(outer) * rows // size >= tuning.tasks else 0

    def cut(self, member: Nest, around: Sequence[Index], start: Expr | int, size: int) -> Nest:
        """A member of the band, for some of the rows."""
        count = len(self.extents)
        *outer, row = member.indices[:count]
        place = fresh_index(size, "r")
        moved: dict[Variable, Expr] = {**dict(zip(outer, around)), row: place + start}
        change = substitution(moved)
        return Nest((place, *member.indices[count:]), member.kinds[count - 1:],
                    tuple(map_expressions(s, change) for s in member.body))


def _product_of_copies(copy: Nest, others: Sequence[Statement], machine: Machine) -> Nest | None:
    """The product in matrix registers whose left operand a nest stores, or None.

    Only windows are copied as narrow numbers, and only they take more memory than the operand did.
    """
    made = {store.buffer for store in final_stores(copy.body) if store.buffer.dtype == bfloat16}
    for other in others if made else ():
        if _in_registers(other, machine):
            tiles = tiling(other, machine)
            if tiles is not None and tiles.left.buffer in made:
                return other if isinstance(other, Nest) else None
    return None


def _in_registers(statement: Statement, machine: Machine) -> bool:
    """Whether a statement is a product in matrix registers."""
    tiles = tiling(statement, machine) if is_tiled(statement) else None
    return tiles is not None and in_matrix_registers(tiles.tile, tiles.times, machine)


def _is_own(nest: Nest, buffer: Buffer, index: Sequence[Expr], count: int) -> bool:
    """Whether an index is in the current row of the first loops of a nest; dimensions of one
    element do not matter."""
    places = [place for place, extent in zip(index, buffer.shape) if extent > 1]
    return len(places) >= count and all(a is b for a, b in zip(places, nest.indices[:count]))


def _accesses(nest: Nest) -> Iterator[tuple[Buffer, tuple[Expr, ...], bool]]:
    """The accesses of a nest: buffer, index, and whether it writes."""
    for inner in statements_in(nest.body):
        if isinstance(inner, Store):
            yield inner.buffer, inner.index, True
        for load in loads(*expressions(inner)):
            yield load.buffer, load.index, False
