"""Operands of matrix products that are computed while they are copied.

Large products copy their operands into panels (``contraction.py``); in products with few rows or
columns, tasks compute the part of an operand that they use next (``schedule/tiles.py``). An operand
that is computed element by element, such as ``relu(x)`` or scaled narrow integers, need not be
stored first. There are many ways to multiply matrices, so this pass does not predict which one a
product takes, but tries it.
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

    ``stored`` is the product that loads the operand, ``computed`` the one with the operand's
    expression inlined. It is worth it if that needs no more copies: either the operand is copied
    anyway, or tasks compute what they need of it.
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
    """Whether a value is computed from loads at constant distances, and otherwise from
    constants."""
    return all(is_affine(node.place) if isinstance(node, Load) else not isinstance(node, Index)
               for node in walk(value, into=lambda n: () if isinstance(n, Load) else children(n)))


def _copied(steps: Sequence[Statement], machine: Machine, in_vectors: bool = False) -> int:
    """How many elements the steps of a product copy, or compute in whole vectors."""
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
