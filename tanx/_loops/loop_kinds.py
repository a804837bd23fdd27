"""Kinds of loops: how their iterations run.

Some kinds are names. Iterations of a ``parallel`` loop may run in any order, those of a
``sequential`` one run in order, and those over ``tasks`` in several threads. A ``joined`` loop and
the one right inside it are walked through as one loop. Of ``tiled`` loops, which are parallel, the
last two are computed by tiles of a product. The other kinds come with numbers: they are
what ``_compiler/schedule`` decides, and what code is written by.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["JOINED", "PARALLEL", "SEQUENTIAL", "TASKS", "TILED", "Crossing", "Kind", "Unrolled",
           "Vector", "in_order", "is_kind"]

PARALLEL = "parallel"
SEQUENTIAL = "sequential"
TASKS = "tasks"
JOINED = "joined"
TILED = "tiled"


@dataclass(frozen=True, slots=True)
class Vector:
    """Iterations in lanes: so many at a time, each in its element of vector registers.

    What whole steps leave is done in steps of fewer lanes, one after the other of ``rest``; a 1
    stands for iterations one by one. Without a rest, the last step overlaps the one before. Steps
    that are ``unrolled`` are all written out.

    >>> print(Vector(16), Vector(16, (8, 1)), Vector(4, unrolled=True))
    vector(16) vector(16, 8, 1) vector(4) unrolled
    """

    lanes: int
    rest: tuple[int, ...] = ()
    unrolled: bool = False

    def __str__(self) -> str:
        sizes = ", ".join(map(str, (self.lanes, *self.rest)))
        return f"vector({sizes})" + " unrolled" * self.unrolled


@dataclass(frozen=True, slots=True)
class Unrolled:
    """Iterations that are written out, so many at a time; what is left runs one by one.

    Of a parallel loop, all that they store is computed before any of it is stored.
    """

    count: int

    def __str__(self) -> str:
        return f"unrolled({self.count})"


@dataclass(frozen=True, slots=True)
class Crossing:
    """Iterations in order, inside of a loop in as many lanes, that store neighbours: so many are
    collected in registers, transposed, and stored as vectors."""

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
