"""Which iterations of a nest run together, and in which order: the meaning of its kinds of loops.

The interpreter follows it. So a schedule that repeats iterations which must run once, or reorders
dependent ones, gives wrong results there, without any generated code.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

import numpy as np

from .._base.tuples import NamedTuple
from .expr import Index
from .loop_kinds import JOINED, Kind, Unrolled, Vector
from .nest import Nest
from .scheduled import Rows, TransposedTile
from .tiles import Tiled

__all__ = ["LoopOf", "Step", "loops_in", "steps_of"]


class LoopOf(NamedTuple):
    """A loop: the indices that are joined in it, and its kind."""

    indices: tuple[Index, ...]
    kind: Kind

    @property
    def extent(self) -> int:
        return prod(i.extent for i in self.indices)

    def values(self, numbers: np.ndarray) -> dict[Index, np.ndarray]:
        """The indices in iterations of these numbers."""
        found, left = {}, numbers
        for index in reversed(self.indices[1:]):
            left, found[index] = np.divmod(left, index.extent)
        return found | {self.indices[0]: left}


class Step(NamedTuple):
    """Iterations of one or more loops that run at once; ``single`` if in one lane each."""

    places: tuple[np.ndarray, ...]
    single: bool = False


def loops_in(nest: Nest) -> list[LoopOf]:
    """The loops of a nest, outermost first."""
    found: list[LoopOf] = []
    joined: tuple[Index, ...] = ()
    for index, kind in zip(nest.indices, nest.kinds):
        joined += (index,)
        if kind != JOINED:
            found.append(LoopOf(joined, kind))
            joined = ()
    return found


def steps_of(nest: Nest, left: Sequence[LoopOf]) -> tuple[int, Iterator[Step]]:
    """How many of the remaining loops run together, and their steps in order.

    The first of them must not be a loop in order.
    """
    if isinstance(nest, (TransposedTile, Tiled)) and len(left) == 2:
        return 2, _tiles(nest, *left)
    if isinstance(nest, Rows) and len(left) == 1:
        return 1, _rows(nest, left[0].extent)
    kind = left[0].kind
    if isinstance(kind, Vector):
        return 1, _vectors(kind, left[0].extent)
    if isinstance(kind, Unrolled):
        return 1, (Step((place,)) for place in _pieces(left[0].extent, kind.count, 1))
    own = 2 if isinstance(nest, (TransposedTile, Tiled)) else 1 if isinstance(nest, Rows) else 0
    alike = [loop.kind == kind for loop in left[:len(left) - own]]
    count = alike.index(False) if False in alike else len(alike)
    return count, iter([Step(tuple(np.arange(loop.extent) for loop in left[:count]))])


def _pieces(extent: int, size: int, rest: int = 0) -> Iterator[np.ndarray]:
    """So many iterations at a time; the remainder by ``rest``, or in a piece that overlaps."""
    whole = extent // size * size
    yield from np.arange(whole).reshape(-1, size)
    if rest:
        yield from (np.arange(first, min(first + rest, extent))
                    for first in range(whole, extent, rest))
    elif whole < extent:
        yield np.arange(max(extent - size, 0), extent)


def _vectors(kind: Vector, extent: int) -> Iterator[Step]:
    """The steps of a loop in lanes."""
    done = 0
    for lanes in (kind.lanes, *kind.rest):
        steps = (extent - done) // lanes
        yield from (Step((done + place,), lanes == 1)
                    for place in np.arange(steps * lanes).reshape(-1, lanes))
        done += steps * lanes
    if done < extent:
        yield Step((np.arange(extent - kind.lanes, extent),))


def _rows(nest: Rows, extent: int) -> Iterator[Step]:
    """The blocks of a loop over rows."""
    done = 0
    for rows, _ in nest.blocks:
        count = (extent - done) // rows
        yield from (Step((done + place,)) for place in np.arange(count * rows).reshape(-1, rows))
        done += count * rows


def _tiles(nest: TransposedTile | Tiled, first: LoopOf, second: LoopOf) -> Iterator[Step]:
    """Units of a product; or the tiles of blocks, of which the last ones overlap others."""
    if isinstance(nest, Tiled):
        for columns, rows in product(_pieces(second.extent, nest.tiling.block, nest.tiling.block),
                                     _pieces(first.extent, nest.tiling.chunk, nest.tiling.chunk)):
            yield Step((rows, columns))
        return
    assert isinstance(second.kind, Vector)
    lanes = second.kind.lanes
    small = nest.wide or lanes, 1 if nest.copied else lanes
    for right, down in product(_pieces(second.extent, nest.long),
                               _pieces(first.extent, nest.deep)):
        for columns, rows in product(*map(_pieces, map(len, (right, down)), small)):
            yield Step((down[rows], right[columns]))
