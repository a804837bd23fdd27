"""The sizes of the arguments of a call, held against those that a program was exported for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..._core.jaxpr import ClosedJaxpr
from ..._core.types import ShapedArray, typeof

if TYPE_CHECKING:
    from .exported import Exported

__all__ = ["Sizes"]


class Sizes:
    """What the sizes of arguments may be."""

    def __init__(self, in_avals: Sequence[ShapedArray]):
        self.in_avals = in_avals

    def check(self, exported: Exported, leaves: Sequence) -> None:
        """An error where arguments have sizes that the program is not for."""
        for i, (x, aval) in enumerate(zip(leaves, self.in_avals)):
            given = typeof(x)
            if given.shape != aval.shape:
                raise exported._mismatch("was called with an argument of another shape.", i, given)

    def specialised(self, closed: ClosedJaxpr, leaves: Sequence) -> ClosedJaxpr:
        """The program for the sizes of some arguments."""
        return closed
