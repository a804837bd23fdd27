"""Nests that have a form of their own: what their kinds of loops do not tell.

Each of them does what the nest says that it is; the interpreter may run it as such. The fields are
decisions of ``_compiler/schedule``, which code is written by (``_compiler/emit``).
"""

from __future__ import annotations

from dataclasses import dataclass

from .expr import Load
from .loop_kinds import Vector
from .nest import Nest, Statement

__all__ = ["Columns", "Rows", "ScanLine", "TransposedTile", "plain"]


@dataclass(frozen=True, slots=True)
class Columns(Nest):
    """Reductions of columns that lie across memory, whose last loop, in lanes, is over columns.

    So many steps in lanes, ``vectors``, go from row to row together. Their results are in
    registers, or in memory nearby if ``rows`` says how many rows are added to them at a time. In
    registers, at least ``at_once`` results are under way, by turns of rows where columns are fewer.
    What is made of results has a loop ``after`` them if it is long.
    """

    vectors: int = 1
    rows: int = 0
    at_once: int = 1
    after: bool = False

    @property
    def note(self) -> str:
        how = f"{self.rows} rows at a time" if self.rows else "in registers"
        return f"columns({self.vectors} vectors, {how})"


@dataclass(frozen=True, slots=True)
class Rows(Nest):
    """Sums along rows, whose last loop is over rows: several of them are added up at a time.

    Each of ``blocks`` says how many rows, in vectors of how many lanes along them: first of the
    most, and what these leave in fewer. A block is taken as often as there are rows left for it.
    Sums that read bfloat16 only are in ``pairs``: even places of a row come before odd ones.
    """

    blocks: tuple[tuple[int, tuple[int, ...]], ...] = ()
    pairs: bool = False

    @property
    def note(self) -> str:
        blocks = ", ".join(f"{rows} in vectors({', '.join(map(str, lanes))})"
                           for rows, lanes in self.blocks)
        return f"rows({blocks}{', in pairs' * self.pairs})"


@dataclass(frozen=True, slots=True)
class TransposedTile(Nest):
    """Two last loops, one that reads neighbours and one, in lanes, that stores them.

    As many iterations of both as there are lanes are a tile, which is transposed in registers.
    Tiles are walked in blocks of ``deep`` iterations of the first loop and ``long`` ones of the
    second; the last blocks overlap others. In a block, tiles follow each other ``along`` the lanes,
    or down. Loads that are ``copied`` are transposed, block by block, into memory nearby, and the
    statements then run on it in vectors of ``wide`` lanes.
    """

    deep: int = 1
    long: int = 1
    along: bool = False
    copied: tuple[Load, ...] = ()
    wide: int = 0

    @property
    def note(self) -> str:
        lane = self.kinds[-1]
        lanes = lane.lanes if isinstance(lane, Vector) else 1
        names = ", ".join(dict.fromkeys(load.buffer.name for load in self.copied))
        return (f"transposed({lanes} x {lanes}) in blocks({self.deep} x {self.long})"
                + (f" of copies of {names} in vectors({self.wide})" if self.copied else ""))


@dataclass(frozen=True, slots=True)
class ScanLine(Nest):
    """A loop that keeps combining an element with others, in vectors of ``lanes``.

    Where it goes along neighbours in memory, a vector is a stretch of the loop, which is combined
    in itself and then with what came before; ``backwards`` if it goes from the end. Otherwise
    vectors are neighbours of the loop inside it, and ``rows`` of them are gone through together.
    """

    lanes: int = 1
    backwards: bool = False
    rows: int = 0

    @property
    def note(self) -> str:
        if self.rows:
            return f"scan across vectors({self.lanes}), {self.rows} rows at a time"
        return f"scan along vectors({self.lanes}){' backwards' * self.backwards}"


def plain(nest: Nest, body: tuple[Statement, ...] | None = None) -> Nest:
    """The nest in its loops, without the form that it has of its own."""
    return Nest(nest.indices, nest.kinds, nest.body if body is None else body, nest.rest, nest.kept,
                nest.polled)
