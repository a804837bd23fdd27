"""What comes before a product of matrices: operands that are computed while they are copied.

Large products copy their operands into panels (``contraction.py``); of products with few rows or
columns, tasks compute the part of an operand that they are about to use (``schedule/tiles.py``). An
operand that is made element by element, as ``relu(x)`` or what becomes of narrow integers and their
scale, need not be stored before that. Which way a product goes is not guessed but tried, for there
are many ways to multiply matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from .._loops.expr import Expr, Index, Load
from .._loops.nest import Nest, Program, Statement
from .._loops.traverse import children, walk, written
from .contraction import contract
from .machine import Machine
from .nest_tools import is_affine
from .schedule.tiles import is_tiled, lanes_of, tiling

__all__ = ["evaluations", "is_plain"]


def evaluations(stored: Statement, computed: Statement, machine: Machine) -> int | None:
    """How many elements of an operand a product computes if it is not stored; None if not worth it.

    ``stored`` is the product that loads the operand, ``computed`` the one with what it is made from
    in its place. It is worth it if that takes no more copies: the operand is copied in any case, or
    tasks compute what they need of it.
    """
    before, after = (contract(Program((), (), (), (statement,)), machine).statements
                     for statement in (stored, computed))
    tilings = [found for step in after if is_tiled(step)
               and (found := tiling(step, machine)) is not None]
    if not tilings or _copied(after, machine) > _copied(before, machine):
        return None
    new = [step for step in after if step not in before]
    return _copied(new, machine, in_vectors=True) + sum(found.computed for found in tilings)


def is_plain(value: Expr) -> bool:
    """Whether a value is made of elements at equal distances, and of nothing else that differs."""
    return all(is_affine(node.place) if isinstance(node, Load) else not isinstance(node, Index)
               for node in walk(value, into=lambda n: () if isinstance(n, Load) else children(n)))


def _copied(steps: Sequence[Statement], machine: Machine, in_vectors: bool = False) -> int:
    """How many elements some steps of a product copy; or compute, which they do in vectors."""
    total = 0
    for step in steps:
        if isinstance(step, Nest) and not is_tiled(step):
            *outer, inner = [i.extent for i in step.indices]
            if in_vectors:
                lanes = machine.tuning.fuse.vectors * max(
                    lanes_of(b.dtype, machine) for b in written(step.body))
                inner = -(-inner // lanes) * lanes
            total += prod(outer) * inner
    return total
