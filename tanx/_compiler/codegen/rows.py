"""Reductions along rows, several rows at a time: what they have in common is read once.

A matrix times a vector sums ``x[i, k] * v[k]`` over ``k`` for each row ``i``. One row at a time,
every element of the vector is loaded for each element of the matrix. With a few rows side by side
it is loaded once for all of them, and the additions of one row need not wait for those of another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._loops.expr import FOLDS, Fold, Index, Op, State
from ..._loops.instructions import INDEX, kind_of
from ..._loops.nest import Statement, Store
from ..._loops.traverse import expressions, folds, loads, walk
from .access import Scalar
from .lanes import Loop
from .operations import number
from .scopes import Scope
from .storage import BFLOAT, register_type
from .values import Value

if TYPE_CHECKING:
    from .llvm import Kernel

__all__ = ["rows_together", "steps_together", "sums_of_rows", "with_finish_apart",
           "write_rows"]

_SIDE_BY_SIDE, _LONG_SIDE_BY_SIDE = 8, 4
"""Rows at a time, or as many as a vector has lanes if those are more, so that what is made of their
sums fills a vector (tanh of a 32 x 32 matrix times a vector, AVX-512: 190 ns with 16 rows, 320 with
8); and those of long ones, which come from far: fewer are foreseen."""
_LONG, _LONG_NARROW = 1 << 10, 1 << 14
"""Elements of a row up to which a sum needs no stretches to be exact enough, and those of narrow
numbers, which are long ones but worth it: what is shared is widened once."""
_SHORT = 512
"""Elements of a row up to which more than 8 are foreseen (1024 x 1024: 5 % slower with 16)."""
_LONG_VECTOR = 8
"""Lanes that make what whole vectors leave of a row worth vectors of fewer lanes."""
_TOGETHER = 4
"""Vectors of each row that are added before jumping back."""

_MANY, _MUCH = 64, 48
"""Rows, and instructions on the sum of each, that are worth a loop of their own: the gradient of
logaddexp, of 1,000 rows of 20 numbers, takes 7.7 us so, where it took 14.5 (AVX-512)."""


def sums_of_rows(kernel: Kernel, loop: Loop, body: Iterable[Statement]) -> list[Fold]:
    """The sums in some stores if all of them are sums of rows that share a factor; else none."""
    found: list[Fold] = []
    for statement in body:
        if not isinstance(statement, Store) or statement.guard is not None or statement.combine:
            return []
        found += folds(statement.value)
    found = list(dict.fromkeys(found))
    fits = loop.width == 1 and loop.parallel and loop.extent >= _SIDE_BY_SIDE and 0 < len(
        found) <= 2 and all(_is_sum_of_row(kernel, fold, loop, found[0]) for fold in found)
    return found if fits else []


def rows_together(kernel: Kernel, loop: Loop, body: Iterable[Statement]) -> int:
    """How many rows are added up at a time in a loop without lanes; 0 if it is not over rows."""
    found = sums_of_rows(kernel, loop, body)
    return _together(kernel, found[0])[0] if found else 0


def with_finish_apart(kernel: Kernel, loop: Loop, body: Sequence[Statement],
                      ) -> tuple[Sequence[Statement], Sequence[Statement]]:
    """The stores of a loop over rows up to the last sum, and those after it if they are much work.

    Those have a loop of their own then, with whole vectors and several at a time. No iteration of
    a parallel loop reads what another one stores, so the loop may be run in two parts.
    """
    count = 1 + max(n for n, s in enumerate(body) if any(e.holds & FOLDS for e in expressions(s)))
    work = sum(kernel.analysis.length(e) for s in body[count:] for e in expressions(s))
    if loop.extent < _MANY or work < _MUCH:
        return body, ()
    return body[:count], body[count:]


def _together(kernel: Kernel, fold: Fold) -> list[int]:
    """How many rows are added up at a time, and how many of those that are left."""
    if fold.indices[0].extent > _LONG:
        return [_LONG_SIDE_BY_SIDE]
    lanes = kernel.planner.vector_bits // register_type(fold.states[0].dtype).bits
    if fold.indices[0].extent > _SHORT:
        return [_SIDE_BY_SIDE]
    return sorted({_SIDE_BY_SIDE, max(lanes, _SIDE_BY_SIDE)}, reverse=True)


def _is_sum_of_row(kernel: Kernel, fold: Fold, loop: Loop, first: Fold) -> bool:
    dtype = fold.states[0].dtype
    if fold.combine != "add" or kind_of(dtype) != "f" or len(fold.indices) != 1 or (
            fold.indices != first.indices) or any(e.holds & FOLDS for e in fold.body):
        return False
    read = list(loads(*fold.body))
    own = [load for load in read if not load.free.isdisjoint(loop.covers)]
    narrow = all(16 * load.dtype.itemsize <= register_type(dtype).bits for load in read)
    return bool(own) and len(own) < len(read) and dtype == first.states[0].dtype and (
        fold.indices[0].extent <= (_LONG_NARROW if narrow else _LONG)
        and _lanes(kernel, fold)[0].width > 1)


def _lanes(kernel: Kernel, fold: Fold, rows: int = _SIDE_BY_SIDE) -> list[Loop]:
    """The loop along so many rows: in as many lanes as memory fills a vector with, of few rows in
    more of them; in as many as there are in a vector; and without lanes."""
    (loop,) = kernel.planner.fold(fold, True) or [Loop(fold.indices[0], fold.indices, False)]
    bits = register_type(fold.states[0].dtype).bits
    least = min([bits, *(8 * load.dtype.itemsize for load in loads(*fold.body)
                         if fold.indices[0] in load.free)])
    vector = kernel.planner.vector_bits
    widths = {1, *(min(loop.width, n) for n in (
        vector // least * max(1, _SIDE_BY_SIDE // rows), vector // bits))}
    if vector // bits >= _LONG_VECTOR:  # parts take what whole ones leave
        widths |= {n for n in (2, 4, 8) if n < min(loop.width, vector // bits) and loop.extent & n}
    return [replace(loop, width=width, whole=True) for width in sorted(widths, reverse=True)]


def _reads_pairs(fold: Fold) -> bool:
    """Whether a sum reads neighbours of bfloat16 along its row, and nothing else that differs: then
    it matters not which lanes they are in."""
    loop = Loop(fold.indices[0], fold.indices, False)
    return all(node.dtype == BFLOAT and loop.stride(node.place[0]) == 1
               for node in loads(*fold.body) if loop.index in node.free) and not any(
        arg.dtype == INDEX != node.dtype for node in walk(*fold.body) if isinstance(node, Op)
        for arg in node.args)


def write_rows(kernel: Kernel, loop: Loop, folds: Sequence[Fold], body: Sequence[Statement],
               scope: Scope) -> None:
    """Write a loop over rows in blocks of several, and what is left as a smaller one."""
    done = 0
    for together in _together(kernel, folds[0]):
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
    paired = all(map(_reads_pairs, folds))
    lanes = [replace(lane, paired=paired and lane.width >= 4)
             for lane in _lanes(kernel, folds[0], together)]
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
