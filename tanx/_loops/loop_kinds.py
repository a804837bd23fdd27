"""Kinds of loops: how their iterations run.

Some kinds are names. Iterations of a ``parallel`` loop may run in any order, those of a
``sequential`` one run in order, and those over ``tasks`` in several threads. A ``joined`` loop and
the one right inside it run as one loop. The last two of ``tiled`` loops, which are parallel, are
computed by tiles of a product. The other kinds have numbers: ``_compiler/schedule`` decides them,
and code is generated from them.
"""

from __future__ import annotations

from .._base.records import record

__all__ = ["JOINED", "PARALLEL", "SEQUENTIAL", "TASKS", "TILED", "Crossing", "Kind", "Unrolled",
           "Vector", "in_order", "is_kind"]

PARALLEL = "parallel"
SEQUENTIAL = "sequential"
TASKS = "tasks"
JOINED = "joined"
TILED = "tiled"


@record(slots=True)
class Vector:
    """Iterations in lanes: so many at a time, each in its element of vector registers.

    The remainder of whole steps runs in steps of fewer lanes, those of ``rest`` one after the
    other; 1 stands for iterations one by one. Without a rest, the last step overlaps the one
    before. Steps that are ``unrolled`` are all written out.

    >>> print(Vector(16), Vector(16, (8, 1)), Vector(4, unrolled=True))
    vector(16) vector(16, 8, 1) vector(4) unrolled
    """

    lanes: int
    rest: tuple[int, ...] = ()
    unrolled: bool = False

    def __str__(self) -> str:
        sizes = ", ".join(map(str, (self.lanes, *self.rest)))
        return f"vector({sizes})" + " unrolled" * self.unrolled


@record(slots=True)
class Unrolled:
    """Iterations that are written out, so many at a time; the remainder runs one by one.

    In a parallel loop, all values are computed before any of them is stored. A fold that is
    ``packed`` tests eight adjacent bytes and combines the results into bits: one word in registers.
    """

    count: int
    packed: bool = False

    def __str__(self) -> str:
        return f"unrolled({self.count})" + " packed" * self.packed


@record(slots=True)
class Crossing:
    """Iterations in order, inside of a loop in as many lanes, that store adjacent elements: so many
    are collected in registers, transposed, and stored as vectors."""

    count: int

    def __str__(self) -> str:
        return f"sequential transposed({self.count})"


Kind = str | Vector | Unrolled | Crossing


def is_kind(kind: object) -> bool:
    """Whether something is a kind of loop."""
    return kind in (PARALLEL, SEQUENTIAL, TASKS, JOINED, TILED) or isinstance(
        kind, (Vector, Unrolled, Crossing))


def in_order(kind: Kind) -> bool:
    """Whether iterations of a loop depend on those before them."""
    return kind == SEQUENTIAL or isinstance(kind, Crossing)
