"""Memory of loops and branches: arenas of the inner programs, and second buffers of carries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate

from .._base.records import record
from .._loops.nest import Plan
from .abi import ALIGNMENT
from .cost import nbytes

__all__ = ["Room", "room_of_branch", "room_of_loop"]


@record
class Room:
    """Private memory of a statement: arenas of its programs, then second buffers of carries."""

    arena: int
    places: Mapping[int, int]  # offset of the second buffer of a carry, by its number
    size: int


def room_of_loop(body: Plan, condition: Plan | None, carried: int, tasks: int) -> Room:
    """The private memory of a loop; each task has its own arena."""
    arena = max(_rounded(body.size), 0 if condition is None else _rounded(condition.size))
    return _room(arena, tasks * arena, [body], carried)


def room_of_branch(bodies: Sequence[Plan], carried: int) -> Room:
    """The private memory of a branch; only one program runs, so they share it."""
    arena = max(_rounded(body.size) for body in bodies)
    return _room(arena, arena, bodies, carried)


def _room(arena: int, start: int, bodies: Sequence[Plan], carried: int) -> Room:
    doubled = {n: _rounded(nbytes(bodies[0].program.outputs[n])) for n in range(carried)
               if any(body.program.outputs[n] not in body.shared for body in bodies)}
    ends = list(accumulate(doubled.values(), initial=start))
    return Room(arena, dict(zip(doubled, ends)), ends[-1])


def _rounded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
