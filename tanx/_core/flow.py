"""Control flow: a common description of the loops and branches of equations.

A primitive for loops or branches describes a use by its rule ``flow``, independent of the names of
its parameters; ``with_flow`` returns the parameters of a use with other bodies.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._base.tuples import NamedTuple
from .jaxpr import ClosedJaxpr

__all__ = ["Choice", "Flow", "ForLoop", "WhileLoop"]


class ForLoop(NamedTuple):
    """``length`` steps, along the rows of arrays.

    Operands are constants, carries, and arrays of which each step takes one row, the last one first
    if ``reverse``. Results are the carries, and arrays of which each step computes a row.
    """

    body: ClosedJaxpr
    length: int
    constants: int
    carries: int
    reverse: bool

    def split(self, operands: Sequence) -> tuple[list, list, list]:
        """Operands as constants, carries and arrays of rows."""
        return _cut(operands, self.constants, self.carries)


class WhileLoop(NamedTuple):
    """Steps while a condition on the carries holds, tested before each step.

    Operands are constants of the condition, constants of the body, and carries.
    """

    condition: ClosedJaxpr
    condition_constants: int
    body: ClosedJaxpr
    body_constants: int

    def split(self, operands: Sequence) -> tuple[list, list, list]:
        """Operands as constants of the condition, constants of the body, and carries."""
        return _cut(operands, self.condition_constants, self.body_constants)


class Choice(NamedTuple):
    """One of some branches: the first operand is its number, the others are its operands."""

    branches: tuple[ClosedJaxpr, ...]


Flow = ForLoop | WhileLoop | Choice


def _cut(items: Sequence, first: int, second: int) -> tuple[list, list, list]:
    """The first items, the second items, and the rest."""
    return list(items[:first]), list(items[first:first + second]), list(items[first + second:])
