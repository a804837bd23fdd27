"""Nests with special forms: decisions that the kinds of their loops do not express.

Each of them means the same as the plain nest; the interpreter may run it as such. The fields are
decisions of ``_compiler/schedule``, from which ``_compiler/emit`` generates code.
"""

from __future__ import annotations

from .._base.records import record
from .expr import Load
from .loop_kinds import Vector
from .nest import Nest, Statement

__all__ = ["Columns", "Rows", "ScanLine", "TransposedTile", "plain"]


@record(slots=True)
class Columns(Nest):
    """Reductions of columns, whose elements are not adjacent in memory; the last loop, in lanes, is
    over columns.

    ``vectors`` steps in lanes go from row to row together. Their results are in registers, or in a
    small buffer if ``rows`` says how many rows are added to them at a time. In registers, at least
    ``at_once`` results are in progress, by alternating between rows if there are fewer columns.
    Long code after the reductions gets a separate loop, ``after`` them.
    """

    vectors: int = 1
    rows: int = 0
    at_once: int = 1
    after: bool = False

    @property
    def note(self) -> str:
        how = f"{self.rows} rows at a time" if self.rows else "in registers"
        return f"columns({self.vectors} vectors, {how})"


@record(slots=True)
class Rows(Nest):
    """Sums along rows, whose last loop is over rows: several rows are summed at a time.

    Each of ``blocks`` is a number of rows, and the lanes of vectors along them, in decreasing order
    for the remainders. A block repeats as long as there are enough rows left. Sums that read only
    bfloat16 are in ``pairs``: even positions of a row come before odd ones.
    """

    blocks: tuple[tuple[int, tuple[int, ...]], ...] = ()
    pairs: bool = False

    @property
    def note(self) -> str:
        blocks = ", ".join(f"{rows} in vectors({', '.join(map(str, lanes))})"
                           for rows, lanes in self.blocks)
        return f"rows({blocks}{', in pairs' * self.pairs})"


@record(slots=True)
class TransposedTile(Nest):
    """Two last loops: one along which loads are contiguous and one, in lanes, along which stores
    are.

    As many iterations of both as there are lanes form a tile, which is transposed in registers.
    Tiles are processed in blocks of ``deep`` iterations of the first loop and ``long`` ones of the
    second; the last blocks overlap others. In a block, tiles go ``along`` the lanes first, or down.
    Loads that are ``copied`` are transposed, block by block, into a small buffer, and the
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


@record(slots=True)
class ScanLine(Nest):
    """A loop that combines an element with others step by step, in vectors of ``lanes``.

    If memory is contiguous along the loop, a vector is a range of its iterations: a prefix sum
    within the vector, to which the state is added; ``backwards`` if it runs from the end. Otherwise
    vectors are along the inner loop, and ``rows`` of them are processed together.
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
    """The nest with its plain loops, without the special form."""
    return Nest(nest.indices, nest.kinds, nest.body if body is None else body, nest.rest, nest.kept,
                nest.polled)
