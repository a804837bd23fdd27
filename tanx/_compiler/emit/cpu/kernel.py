"""The function of a statement: the parts that write it, and the indices of its task."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

from ...._loops.build import unflatten_index
from ...._loops.expr import Index
from ...._loops.nest import Buffer, Extern
from ...schedule.analysis import Analysis
from ..values import Value, Writer
from .nests import Nests
from .parts import Parts

__all__ = ["bind_task", "make_parts"]


def make_parts(writer: Writer, pointers: Mapping[Buffer, str], analysis: Analysis,
               symbol: Callable[[Extern], str]) -> Parts:
    """The parts that write one function; see :class:`~.parts.Parts`."""
    parts = Parts(writer, pointers, analysis, symbol)
    parts.statements.nest = Nests(parts).write
    return parts


def bind_task(parts: Parts, indices: Sequence[Index], number: Value) -> None:
    """Define the indices of loops over tasks, of which the function runs one iteration."""
    extents = [index.extent for index in indices]
    task, top = Index("task", prod(extents)), parts.top
    top.values[task] = number
    for index, place in zip(indices, unflatten_index(task, extents)):
        top.values[index] = parts.expressions.value(place, top)
