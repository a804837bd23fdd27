"""Join consecutive loops over tasks: a task continues with what it has just computed.

Between two loops over tasks all threads wait for each other, and the arrays that the second one
reads have left the nearest caches. If no task of the second loop accesses what a different task of
the first writes, and vice versa, its tasks can run right after those of the same number. ::

    for t in 64 tasks, i in 16, j in 4096 sequential:    for t in 64 tasks:
        s[t * 16 + i] = …                                    for i in 16, j in 4096 sequential:
        y[t * 16 + i, j] = s[t * 16 + i]                         s[t * 16 + i] = …
    for t in 64 tasks, i in 16, j in 4096 parallel:              y[t * 16 + i, j] = s[t * 16 + i]
        z[t * 16 + i, j] = exp(y[t * 16 + i, j])             for i in 16, j in 4096 parallel:
                                                                 z[t * 16 + i, j] = …

Statements between the two move before or after both, if possible.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ..._loops.expr import Expr, Index, bounds, linear_form
from ..._loops.nest import TASKS, Buffer, Call, Nest, Program, Statement, Store
from ..._loops.traverse import (
    expressions,
    has_effects,
    loads,
    map_expressions,
    statements_in,
    substitution,
    written,
)
from ..nest_tools import mentioned

__all__ = ["conflict", "in_one_loop"]


def in_one_loop(program: Program, shared: Mapping[Buffer, Buffer], back: int = 6) -> Program:
    """Join loops over tasks with one of the ``back`` statements before them.

    ``shared`` maps buffers to others whose memory they are.
    """
    joiner = _Joiner(shared)
    order: list[Statement] = []
    for statement in program.statements:
        joined = isinstance(statement, Nest) and any(
            joiner.join(order, n, statement)
            for n in reversed(range(max(0, len(order) - back), len(order))))
        if not joined:
            order.append(statement)
    return replace(program, statements=tuple(order))


def conflict(a: Statement, b: Statement, shared: Mapping[Buffer, Buffer]) -> bool:
    """Whether the order of two statements matters."""
    if has_effects(a) or has_effects(b):
        return True
    (writes, touches), (others, seen) = ((_memory(written((s,)), shared),
                                          _memory(mentioned(s), shared)) for s in (a, b))
    return not (writes.isdisjoint(seen) and others.isdisjoint(touches))


def _memory(buffers: Iterable[Buffer], shared: Mapping[Buffer, Buffer]) -> set[Buffer]:
    return {shared.get(buffer, buffer) for buffer in buffers}


class _Joiner:
    def __init__(self, shared: Mapping[Buffer, Buffer]):
        self.shared = shared

    def join(self, order: list[Statement], place: int, later: Nest) -> bool:
        """Append a loop to each task of an earlier one, if that changes nothing."""
        earlier = order[place]
        if not isinstance(earlier, Nest) or not self.are_apart(earlier, later):
            return False
        first: list[Statement] = []
        behind: list[Statement] = []
        for other in order[place + 1:]:
            waits = any(conflict(other, one, self.shared) for one in (earlier, *behind))
            (behind if waits else first).append(other)
        if any(conflict(later, one, self.shared) for one in behind):
            return False
        order[place:] = [*first, _joined(earlier, later), *behind]
        return True

    def are_apart(self, earlier: Nest, later: Nest) -> bool:
        """Whether tasks of one loop read what the other's tasks of the same number write, and are
        independent of those of other numbers."""
        if not all(nest.kinds.count(TASKS) == 1 and not any(
                isinstance(inner, Call) for inner in statements_in(nest.body))
                for nest in (earlier, later)) or (
                earlier.indices[0].extent != later.indices[0].extent):
            return False
        made, changed = (_memory(written(nest.body), self.shared) for nest in (earlier, later))
        if made.isdisjoint(_memory(mentioned(later), self.shared)):
            return False
        places: dict[Buffer, list[tuple[Index, Buffer, tuple[Expr, ...]]]] = {}
        for nest in (earlier, later):
            for buffer, index in _accesses(nest):
                places.setdefault(self.shared.get(buffer, buffer), []).append(
                    (nest.indices[0], buffer, index))
        return all(_is_own(found) for memory, found in places.items() if memory in made | changed)


def _accesses(nest: Nest) -> Iterator[tuple[Buffer, tuple[Expr, ...]]]:
    """The accesses of a nest."""
    for inner in statements_in(nest.body):
        if isinstance(inner, Store):
            yield inner.buffer, inner.index
        for load in loads(*expressions(inner)):
            yield load.buffer, load.index


def _is_own(places: Sequence[tuple[Index, Buffer, tuple[Expr, ...]]]) -> bool:
    """Whether tasks access disjoint parts, along some dimension."""
    if len({buffer.shape for _, buffer, _ in places}) > 1:
        return False
    for along in zip(*(index for _, _, index in places)):
        sizes = {linear_form(at)[0].get(task, 0) for (task, _, _), at in zip(places, along)}
        size = sizes.pop()
        if not sizes and size > 0 and all(
                0 <= low and high < size for (task, _, _), at in zip(places, along)
                for low, high in [bounds(at - task * size)]):
            return True
    return False


def _joined(earlier: Nest, later: Nest) -> Nest:
    """One loop over tasks, each of which runs a task of both."""
    (task,) = earlier.indices[:1]
    change = substitution({later.indices[0]: task})
    body = (*_of_task(earlier), *(map_expressions(s, change) for s in _of_task(later)))
    return Nest((task,), (TASKS,), body)


def _of_task(nest: Nest) -> tuple[Statement, ...]:
    """The statements of one task."""
    inner = nest.indices[1:]
    return (Nest(inner, nest.kinds[1:], nest.body),) if inner else nest.body
