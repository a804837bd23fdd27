"""What comes before a product of matrices: operands that are computed while they are copied.

Large products copy their operands into panels (``contraction.py``). An operand that is made element
by element, as ``relu(x)`` or what becomes of narrow integers and their scale, need not be stored
for that: its elements are computed on the way into the panels. Whether an operand is copied is not
guessed but tried, for there are many ways to multiply matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from .._loops.expr import Expr, Index, Load
from .._loops.nest import Nest, Program, Statement
from .._loops.traverse import children, walk, written
from .codegen.target import Target
from .codegen.tiles import lanes_of, tiling
from .contraction import contract
from .stages import is_affine

__all__ = ["evaluations", "is_plain"]

_VECTORS = 2
"""Vectors that are computed at a time, as a rule."""


def evaluations(stored: Statement, computed: Statement, target: Target) -> int | None:
    """How many elements of an operand a product computes if it is not stored; None if not worth it.

    ``stored`` is the product that loads the operand, ``computed`` the one with what it is made from
    in its place. It is worth it if the operand is copied in any case.
    """
    before, after = (_copies(statement, target) for statement in (stored, computed))
    if before is None or after is None or _elements(after) > _elements(before):
        return None
    return _elements([copy for copy in after if copy not in before], target)


def is_plain(value: Expr) -> bool:
    """Whether a value is made of elements at equal distances, and of nothing else that differs."""
    return all(is_affine(node.place) if isinstance(node, Load) else not isinstance(node, Index)
               for node in walk(value, into=lambda n: () if isinstance(n, Load) else children(n)))


def _copies(product: Statement, target: Target) -> list[Nest] | None:
    """The copies that a product by tiles makes; None if there are none, or if it is not by tiles.
    """
    *steps, last = contract(Program((), (), (), (product,)), target).statements
    copies = [s for s in steps if isinstance(s, Nest) and tiling(s, target) is None]
    return copies if copies and (len(copies) < len(steps) or tiling(last, target)) else None


def _elements(copies: Sequence[Nest], target: Target | None = None) -> int:
    """The elements that are copied; with a target, those that are computed in whole vectors."""
    total = 0
    for copy in copies:
        *outer, inner = [i.extent for i in copy.indices]
        if target is not None:
            lanes = _VECTORS * max(lanes_of(b.dtype, target) for b in written(copy.body))
            inner = -(-inner // lanes) * lanes
        total += prod(outer) * inner
    return total
