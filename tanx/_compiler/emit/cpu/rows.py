"""Reductions along rows, several rows at a time: shared operands are read once.

A matrix times a vector sums ``x[i, k] * v[k]`` over ``k`` for each row ``i``. One row at a time,
every element of the vector is loaded for each element of the matrix. With several rows together it
is loaded once for all of them, and the additions of one row do not depend on those of another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...._loops.expr import Index, State
from ...._loops.nest import Store
from ...._loops.scheduled import Rows
from ...._loops.traverse import folds as folds_in
from ...schedule.lanes import Loop
from ..fold_steps import joint
from ..operations import number
from ..scalars import Scalar, across_lanes
from ..scopes import Scope
from ..values import Value
from .parts import Parts

__all__ = ["steps_together", "write_rows"]

def write_rows(parts: Parts, loop: Loop, nest: Rows, scope: Scope) -> None:
    """Write a loop over rows in blocks of several, and the remainder as a smaller block."""
    done = 0
    for together, lanes in nest.blocks:
        blocks = (loop.extent - done) // together
        _write_blocks(parts, loop, nest, scope, done, blocks, together, lanes)
        done += blocks * together


def _write_blocks(parts: Parts, loop: Loop, nest: Rows, scope: Scope, first: int, blocks: int,
                  together: int, widths: Sequence[int]) -> None:
    """Write blocks of ``together`` rows each, beginning with ``first``."""
    index, body = Index("rows", blocks), nest.body
    folds = list(dict.fromkeys(fold for s in body if isinstance(s, Store)
                               for fold in folds_in(s.value)))
    dtype = folds[0].states[0].dtype
    lanes = [Loop(folds[0].indices[0], folds[0].indices, False, width, whole=True,
                  paired=nest.pairs and width >= 4) for width in widths]
    own = (*loop.covers, loop.index)
    bound = [state for fold in folds for state in fold.states]

    def row(outer: Scope, base: Value, number: int) -> Scope:
        inner = outer.within(own)
        parts.control.bind(inner, loop, base + number)
        return inner

    def block(outer: Scope, _) -> list[Scalar]:
        base = outer.values[index] * together + first
        parts.prefetch.plan(body)

        def add(inner: Scope, states: Sequence[Scalar]) -> list[Scalar]:
            rows = [row(inner, base, n) for n in range(together)]
            pairs = zip(states, [(scope, fold) for scope in rows for fold in folds])
            return [parts.fold_steps.step(fold, scope, [state])[0]
                    for state, (scope, fold) in pairs]

        totals = _totals(parts, outer, lanes, dtype, together * len(folds), add, bound)
        if together in (2, 4, 8, 16):  # the code after the sums runs in lanes
            inner = outer.within(own)
            parts.control.bind(inner, replace(loop, width=together, whole=True),
                               outer.values[index] + first // together)
            finish(inner, [_sums(parts, totals[n::len(folds)], dtype) for n in range(len(folds))])
            return []
        totals = [across_lanes("add", value, dtype) for value in totals]
        for n in range(together):
            finish(row(outer, base, n), totals[n * len(folds):(n + 1) * len(folds)])
        return []

    def finish(inner: Scope, totals: Sequence[Any]) -> None:
        for fold, total in zip(folds, totals):
            start = parts.expressions.value(fold.init[0], inner).of(total.type.lanes)
            inner.values[fold] = (joint(fold, total, start),)
        parts.statements.body(body, inner)

    parts.control.loop(scope, Loop(index, (index,), True), 0, blocks, [], block, bound=own,
                       writes=parts.analysis.written(body))


def _sums(parts: Parts, totals: Sequence[Any], dtype: np.dtype) -> Value:
    """The sums of the lanes of vectors, as the lanes of one vector: adjacent lanes are added.

    ``a`` and ``b`` become ``a0+a1 a2+a3 b0+b1 b2+b3``, and so on.
    """
    if totals[0].type.lanes % len(totals) == 0:
        totals = [across_lanes("add", value, dtype, len(totals)) for value in totals]
    lanes = totals[0].type.lanes
    if lanes == 1 or len(totals) % lanes:
        numbers = [across_lanes("add", value, dtype) for value in totals]
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
    """Lanes of two vectors; those of the second are numbered after the first."""
    numbers = ", ".join(f"i32 {n}" for n in lanes)
    return a.writer.write(a.type.of(len(lanes)),
                          f"shufflevector {a!r}, {b!r}, <{len(lanes)} x i32> <{numbers}>")


def _totals(parts: Parts, scope: Scope, lanes: Sequence[Loop], dtype: np.dtype, count: int,
            add: Callable[[Scope, Sequence[Scalar]], list[Scalar]], bound: Sequence[State],
            ) -> list[Scalar]:
    """Sum along rows: first the remainders of whole vectors, in increasing lanes, then whole
    vectors.

    Lanes that are added start from zero, which is free. In the other order, lanes would have to be
    summed for each row (1000 x 50 by 50, AVX-512: 4.2 us instead of 6.1).
    """
    pieces: list[tuple[Loop, range]] = []
    done = 0
    for lane in lanes:
        pieces.append((lane, range(done // lane.width, lane.extent // lane.width)))
        done = lane.extent // lane.width * lane.width
    totals: list[Scalar] = []
    for lane, steps in reversed([piece for piece in pieces if piece[1]]):
        totals = [_widened(value, lane.width) for value in totals] or [
            number(parts.writer, 0.0, dtype).of(lane.width)] * count
        totals = steps_together(parts, scope, lane, steps, totals, add, bound)
    return [_widened(value, lanes[0].width) for value in totals]


def _widened(value: Any, lanes: int) -> Value:
    """A number or a vector with zeros in more lanes."""
    own = value.type.lanes
    if own == lanes:
        return value
    if own == 1:
        return Value(value.writer, "zeroinitializer", value.type.of(lanes)).with_lane(0, value)
    zeros = Value(value.writer, "zeroinitializer", value.type)
    return _shuffle(value, zeros, [min(n, own) for n in range(lanes)])


def steps_together(parts: Parts, scope: Scope, lane: Loop, steps: range, states: list[Scalar],
                   add: Callable[[Scope, Sequence[Scalar]], list[Scalar]], bound: Sequence[State],
                   ) -> list[Scalar]:
    """Steps of a loop that carries states, a few of them unrolled at a time."""
    together = parts.writer.machine.tuning.rows.vectors
    blocks = len(steps) // together
    index = Index("steps", blocks)

    def written_out(outer: Scope, numbers: range, found: list[Scalar], base: Value | None = None,
                    ) -> list[Scalar]:
        for n in numbers:
            found = parts.control.once(outer, lane, n, found, add, bound, base=base)
        return found

    def block(outer: Scope, found: Sequence[Scalar]) -> list[Scalar]:
        return written_out(outer, steps[:together], list(found), outer.values[index] * together)

    if blocks:
        states = parts.control.loop(scope, Loop(index, (index,), False), 0, blocks, states, block,
                                    bound=bound)
    return written_out(scope, steps[blocks * together:], states)
