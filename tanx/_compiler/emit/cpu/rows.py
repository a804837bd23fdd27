"""Reductions along rows, several rows at a time: what they have in common is read once.

A matrix times a vector sums ``x[i, k] * v[k]`` over ``k`` for each row ``i``. One row at a time,
every element of the vector is loaded for each element of the matrix. With a few rows side by side
it is loaded once for all of them, and the additions of one row need not wait for those of another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...._loops.expr import Fold, Index, State
from ...._loops.nest import Statement
from ...schedule.lanes import Loop
from ...schedule.rows import blocks_of_rows, lanes_along, reads_pairs
from ..operations import number
from ..values import Value
from .access import Scalar
from .scopes import Scope

if TYPE_CHECKING:
    from .kernel import Kernel

__all__ = ["steps_together", "write_rows"]

_TOGETHER = 4
"""Vectors of each row that are added before jumping back."""



def write_rows(kernel: Kernel, loop: Loop, folds: Sequence[Fold], body: Sequence[Statement],
               scope: Scope) -> None:
    """Write a loop over rows in blocks of several, and what is left as a smaller one."""
    done = 0
    for together in blocks_of_rows(kernel.planner, folds[0]):
        blocks = (loop.extent - done) // together
        if blocks:
            _write_blocks(kernel, loop, folds, body, scope, done, blocks, together)
        done += blocks * together
    if done < loop.extent:
        _write_blocks(kernel, loop, folds, body, scope, done, 1, loop.extent - done)


def _write_blocks(kernel: Kernel, loop: Loop, folds: Sequence[Fold], body: Sequence[Statement],
                  scope: Scope, first: int, blocks: int, together: int) -> None:
    """Write blocks of so many rows, from the first one on."""
    index = Index("rows", blocks)
    dtype = folds[0].states[0].dtype
    paired = all(map(reads_pairs, folds))
    lanes = [replace(lane, paired=paired and lane.width >= 4)
             for lane in lanes_along(kernel.planner, folds[0], together)]
    own = (*loop.covers, loop.index)
    bound = [state for fold in folds for state in fold.states]

    def row(outer: Scope, base: Value, number: int) -> Scope:
        inner = outer.within(own)
        kernel.bind(inner, loop, base + number)
        return inner

    def block(outer: Scope, _) -> list[Scalar]:
        base = outer.values[index] * together + first

        def add(inner: Scope, states: Sequence[Scalar]) -> list[Scalar]:
            rows = [row(inner, base, n) for n in range(together)]
            pairs = zip(states, [(scope, fold) for scope in rows for fold in folds])
            return [kernel.step(fold, scope, [state])[0] for state, (scope, fold) in pairs]

        totals = _totals(kernel, outer, lanes, dtype, together * len(folds), add, bound)
        if together in (2, 4, 8, 16):  # what is made of the sums is made in lanes
            inner = outer.within(own)
            kernel.bind(inner, replace(loop, width=together, whole=True),
                        outer.values[index] + first // together)
            finish(inner, [_sums(kernel, totals[n::len(folds)], dtype) for n in range(len(folds))])
            return []
        totals = [kernel.across_lanes("add", value, dtype) for value in totals]
        for n in range(together):
            finish(row(outer, base, n), totals[n * len(folds):(n + 1) * len(folds)])
        return []

    def finish(inner: Scope, totals: Sequence[Any]) -> None:
        for fold, total in zip(folds, totals):
            start = kernel.value(fold.init[0], inner).of(total.type.lanes)
            inner.values[fold] = (kernel.joint(fold, total, start),)
        kernel.loops((), body, inner)

    kernel.loop(scope, Loop(index, (index,), True), 0, blocks, [], block, bound=own,
                writes=kernel.written(body))


def _sums(kernel: Kernel, totals: Sequence[Any], dtype: np.dtype) -> Value:
    """The sums of the lanes of vectors, as the lanes of one: neighbours are added in all at once.

    Of ``a`` and ``b`` become ``a0+a1 a2+a3 b0+b1 b2+b3``, and so on.
    """
    lanes = totals[0].type.lanes
    if lanes == 1 or len(totals) % lanes:
        numbers = [kernel.across_lanes("add", value, dtype) for value in totals]
        vector: Any = numbers[0].of(len(numbers))
        for n, value in enumerate(numbers[1:], 1):
            vector = vector.with_lane(n, value)
        return vector
    while lanes > 1:
        totals = [_shuffle(a, b, range(0, 2 * width, 2)) + _shuffle(a, b, range(1, 2 * width, 2))
                  for a, b in zip(totals[::2], totals[1::2]) for width in [a.type.lanes]]
        lanes //= 2
    while len(totals) > 1:
        totals = [_shuffle(a, b, range(2 * a.type.lanes))
                  for a, b in zip(totals[::2], totals[1::2])]
    return totals[0]


def _shuffle(a: Value, b: Value, lanes: Sequence[int]) -> Value:
    """Lanes of two vectors, those of the second numbered on."""
    numbers = ", ".join(f"i32 {n}" for n in lanes)
    return a.writer.write(a.type.of(len(lanes)),
                          f"shufflevector {a!r}, {b!r}, <{len(lanes)} x i32> <{numbers}>")


def _totals(kernel: Kernel, scope: Scope, lanes: Sequence[Loop], dtype: np.dtype, count: int,
            add: Callable[[Scope, Sequence[Scalar]], list[Scalar]], bound: Sequence[State],
            ) -> list[Scalar]:
    """Add up along rows in vectors, then without lanes, until nothing is left of the rows."""
    totals: list[Scalar] = [number(kernel.writer, 0.0, dtype).of(lanes[0].width)] * count
    done = 0
    for lane in lanes:
        first, last = done // lane.width, lane.extent // lane.width
        if first < last:
            totals = [kernel.across_lanes("add", value, dtype, lane.width) for value in totals]
            totals = steps_together(kernel, scope, lane, range(first, last), totals, add, bound)
            done = last * lane.width
    return totals


def steps_together(kernel: Kernel, scope: Scope, lane: Loop, steps: range, states: list[Scalar],
           add: Callable[[Scope, Sequence[Scalar]], list[Scalar]], bound: Sequence[State],
           ) -> list[Scalar]:
    """Steps of a loop that carries states, a few of them written out at a time."""
    blocks = len(steps) // _TOGETHER
    index = Index("steps", blocks)

    def written_out(outer: Scope, numbers: range, found: list[Scalar], base: Value | None = None,
                    ) -> list[Scalar]:
        for n in numbers:
            found = kernel.once(outer, lane, n, found, add, bound, frozenset(), base)
        return found

    def block(outer: Scope, found: Sequence[Scalar]) -> list[Scalar]:
        return written_out(outer, steps[:_TOGETHER], list(found),
                           outer.values[index] * _TOGETHER)

    if blocks:
        states = kernel.loop(scope, Loop(index, (index,), False), 0, blocks, states, block,
                             bound=bound)
    return written_out(scope, steps[blocks * _TOGETHER:], states)
