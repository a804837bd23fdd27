"""Sums of products by tiles: the data of the schedule.

A tile is a block of the result that stays in registers while a kernel processes all terms of its
sums. ``_compiler/schedule/tiles.py`` decides about sizes, and ``_compiler/emit/cpu/products.py``
generates code from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from itertools import product
from math import ceil, prod
from operator import mul
from typing import Literal

from .._base.records import record
from .expr import Expr, Index, State
from .nest import Buffer, Nest, Statement, Store

__all__ = ["Form", "Operand", "Room", "Tile", "Tiled", "Tiling"]

Form = Literal["k", "m"]
"""Whether terms or rows of the left operand are adjacent in memory."""


@record
class Tile:
    """A kernel: how it reads the left operand, and its rows and vectors of columns."""

    form: Form
    rows: int
    vectors: int
    lanes: int

    @property
    def columns(self) -> int:
        return self.vectors * self.lanes


@record
class Room:
    """Private memory of a task for the part of an operand that it needs next, which it computes.

    Statements ``fill`` the ``buffer`` from the row (or column) ``first`` and the term ``start`` on.
    """

    buffer: Buffer
    fill: tuple[Statement, ...]
    first: Index
    start: Index


@record
class Operand:
    """Where the elements of an operand are: distances in numbers of the size of a sum, which may
    consist of several elements of the buffer.

    ``along`` is the distance of adjacent rows (or columns), ``across`` that in the other loop. In
    panels of ``panel`` rows or columns, all terms come before those of the next panel; ``along`` is
    then the distance of panels, inside of which rows or columns are adjacent. ``runs`` are the
    distances in the loops over runs of terms. Rows that are not at constant distances begin at
    ``place``. An operand that is not stored ``is_computed`` on the way, in a ``room`` that is then
    its buffer; others may be copied there.
    """

    buffer: Buffer
    first: int
    outer: Mapping[Index, int]
    along: int
    across: int
    panel: int = 0
    runs: tuple[int, ...] = ()
    place: Expr | None = None
    is_computed: bool = False
    room: Room | None = None


@record
class Tiling:
    """How a nest is computed by tiles: its loops, its operands, and the sizes of its pieces.

    The instruction ``times`` multiplies. ``stores`` use each sum, as ``total``; if they only store
    it, ``result`` says where. The work is cut into units of ``chunk`` rows and ``block`` columns; a
    task has ``group`` of them. If there are more terms than ``depth``, so many are added at a time.
    Terms may come in ``runs``, one for each step of these loops.
    """

    outer: tuple[Index, ...]
    row: Index
    column: Index
    term: Index
    left: Operand
    right: Operand
    total: State
    stores: tuple[Store, ...]
    tile: Tile
    result: Operand | None
    block: int = 1
    chunk: int = 1
    group: int = 1
    depth: int = 1
    times: str = "mul"
    runs: tuple[Index, ...] = ()

    @property
    def in_runs(self) -> bool:
        """Whether the kernels must support runs of terms, and rows at arbitrary addresses."""
        return bool(self.runs) or self.left.place is not None

    @property
    def passes(self) -> int:
        """In how many passes terms are added: of those in runs, a step of the first loop at a
        time."""
        terms = self.term.extent * prod(i.extent for i in self.runs)
        return ceil(terms / self.depth)

    @property
    def starts(self) -> list[tuple[int, int]]:
        """Where runs of terms of one pass begin, in the left operand and in the right one."""
        first = int(self.passes > 1)
        return [(sum(map(mul, at, self.left.runs[first:])),
                 sum(map(mul, at, self.right.runs[first:])))
                for at in product(*(range(i.extent) for i in self.runs[first:]))]

    @property
    def pieces(self) -> tuple[int, ...]:
        """How many units there are along each outer loop, the columns, and the rows."""
        return (*(i.extent for i in self.outer), ceil(self.column.extent / self.block),
                ceil(self.row.extent / self.chunk))

    @property
    def units(self) -> int:
        return prod(self.pieces)

    @property
    def tasks(self) -> int:
        return ceil(self.units / self.group)

    @property
    def computed(self) -> int:
        """How many elements of operands are computed on the way."""
        rooms = [operand.room for operand in (self.left, self.right) if operand.room is not None]
        return sum(self.units * self.passes * prod(room.buffer.shape) for room in rooms)


@record(slots=True)
class Tiled(Nest):
    """A nest that is computed by tiles; at the top level of a program it has its own tasks.

    The code after the sums runs in vectors of ``lanes``.
    """

    tiling: Tiling = field(kw_only=True)
    lanes: int = 1

    @property
    def rooms(self) -> tuple[Room, ...]:
        """The rooms of operands that are computed, or copied, on the way."""
        return tuple(operand.room for operand in (self.tiling.left, self.tiling.right)
                     if operand.room is not None)

    @property
    def note(self) -> str:
        how = self.tiling
        rows, columns = min(how.chunk, how.row.extent), min(how.block, how.column.extent)
        tile = f"tiles({how.tile.rows} x {how.tile.columns})"
        units = f"in {how.units} units({rows} x {columns} x {how.depth})"
        after = "" if how.result else f", then vector({self.lanes})"
        return f"{tile} {units} and {how.tasks} tasks{after}"
