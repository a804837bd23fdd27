"""Elements that a loop keeps in registers: those that each iteration overwrites."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..._loops.expr import Index, Load
from ..._loops.nest import Buffer, Statement, Store
from ..._loops.traverse import expressions, loads
from .analysis import Analysis

__all__ = ["elements_of", "kept_buffers"]


def kept_buffers(analysis: Analysis, indices: Sequence[Index], body: Sequence[Statement],
                 ) -> tuple[Buffer, ...]:
    """Buffers of which a loop over some indices accesses only one element.

    An element that is also moved as bits stays in memory: it would have two types.
    """
    found: dict[Buffer, Load | None] = {}
    for statement in analysis.moved_as_bits(body):
        if not isinstance(statement, Store):
            return ()
        for load in (Load(statement.buffer, statement.index), *loads(*expressions(statement))):
            memory = analysis.memory(load.buffer)
            fits = found.setdefault(memory, load) is load and (
                load.free.isdisjoint(indices) and statement.guard is None)
            found[memory] = load if fits else None
    stored = {analysis.memory(s.buffer): s.buffer for s in body if isinstance(s, Store)}
    return tuple(stored[memory] for memory, load in found.items()
                 if load is not None and memory in stored)


def elements_of(analysis: Analysis, kept: Sequence[Buffer], body: Iterable[Statement],
                ) -> list[Load]:
    """The element that statements store in each of some buffers."""
    targets = {analysis.memory(s.buffer): Load(s.buffer, s.index) for s in body
               if isinstance(s, Store)}
    return [targets[analysis.memory(buffer)] for buffer in kept]
