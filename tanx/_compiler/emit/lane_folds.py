"""Reductions and searches that run in lanes.

A reduction in lanes keeps a partial result in each of them and combines these at the end, so that
several additions are in flight at a time. ``argmax`` and ``argmin`` do the same with pairs of a
value and its position.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..._loops.expr import Const, Fold, op
from ..._loops.instructions import BOOL, kind_of
from ..._loops.traverse import rewrite
from ..nest_tools import as_op
from ..schedule.folds import IDEMPOTENT
from ..schedule.lanes import Loop
from .control import Control, Step
from .expressions import Expressions
from .fold_steps import FoldSteps, joint
from .operations import choose
from .scalars import Scalar, across_lanes, combined, whole
from .scopes import Scope
from .values import Value

__all__ = ["LaneFolds"]


class LaneFolds:
    """Writes folds whose own loop runs in lanes, and folds over some rows, in lanes of columns."""

    def __init__(self, control: Control, expressions: Expressions, steps: FoldSteps):
        self.control, self.expressions, self.steps = control, expressions, steps

    def reduction(self, fold: Fold, reducer: str, loops: Sequence[Loop], scope: Scope,
                  start: Scalar) -> Scalar:
        """A reduction whose innermost loop runs in lanes."""
        lane, dtype, write = loops[-1], fold.states[0].dtype, self.steps
        steps, left = divmod(lane.extent, lane.width)
        again = reducer in IDEMPOTENT
        neutral = start if again else write.neutral(fold)
        states = [write.spread(fold, neutral, lane.width),
                  *([neutral] if left and not again else [])]

        def innermost(inner: Scope, values: Sequence[Scalar]) -> list[Scalar]:
            (lanes,) = write.stretches(fold, lane, inner, values[:1], steps + (again and left > 0),
                                       lambda s, v: write.step(fold, s, v))
            rest = [] if len(values) == 1 else self.control.loop(
                inner, replace(lane, width=1), lane.extent - left, lane.extent, values[1:],
                lambda s, v: write.step(fold, s, v), bound=fold.states)
            return [lanes, *rest]

        total, *rest = write.around(loops[:-1], scope, states, fold, innermost)
        total = across_lanes(reducer, total, dtype)
        for other in rest if again else [*rest, start]:
            total = combined(reducer, total, other, dtype)
        return total

    def search(self, fold: Fold, lane: Loop, scope: Scope) -> tuple[Scalar, ...]:
        """``argmax`` or ``argmin`` in lanes: each lane starts with its first element."""
        first = scope.within((*fold.indices, *fold.states, lane.index))
        self.control.bind(first, lane, self.control.index(0))
        position = as_op(fold.body[1]).args[1]
        found = [self.expressions.value(as_op(choice).args[1], first).of(lane.width)
                 for choice in fold.body]
        step = self.better(fold)
        steps = -(-lane.extent // lane.width)
        if steps > 1:
            found = self.control.loop(scope, lane, 1, steps, found, step, bound=fold.states)
        best, place = found
        while (lanes := best.type.lanes) > 1:
            low, high = range(lanes // 2), range(lanes // 2, lanes)
            best, place = _better(fold, best.shuffled(low), place.shuffled(low),
                                  best.shuffled(high), place.shuffled(high))
        return best, whole(place, position.dtype)

    def better(self, fold: Fold) -> Step:
        """A step of a search that already has an element, so that it need not test for that."""
        is_first, value = op("eq", fold.indices[0], 0), self.expressions.value
        takes = rewrite(as_op(fold.body[0]).args[0],
                        lambda e: Const(False, BOOL) if e is is_first else None)

        def step(inner: Scope, values: Sequence[Scalar]) -> list[Scalar]:
            inner.values.update(zip(fold.states, values))
            return [choose(value(takes, inner), value(as_op(choice).args[1], inner), old)
                    for choice, old in zip(fold.body, values)]
        return step

    # -- columns -----------------------------------------------------------------------------------

    def rows(self, folds: Sequence[Fold], scope: Scope, start: Value, count: int,
             before: Sequence[Sequence[Scalar]]) -> list[list[Scalar]]:
        """The states of folds after ``count`` rows, given the states before them, if any.

        All folds have the same index, and share their loads.
        """
        (index,) = folds[0].indices
        states = [state for fold in folds for state in fold.states]
        inner = scope.within(states)
        inner.varying = inner.varying.union(states)
        found = [[self.steps.neutral(fold).of(scope.lanes.width)] if fold.reducer else list(own)
                 for fold, own in zip(folds, before)]

        def step(row: Scope, _) -> list[Scalar]:
            found[:] = [self.row(fold, row, own) for fold, own in zip(folds, found)]
            return []

        for n in range(count):
            self.control.once(inner, Loop(index, (index,), False), n, [], step, states, base=start)
        return [[joint(fold, own[0], new[0])] if fold.reducer and own else new
                for fold, own, new in zip(folds, before, found)]

    def row(self, fold: Fold, scope: Scope, states: Sequence[Scalar]) -> list[Scalar]:
        """The states of a fold after one more row; a search may have none before."""
        if fold.reducer:
            return self.steps.step(fold, scope, states)
        if states:
            return list(self.better(fold)(scope, states))
        value, width = self.expressions.value, scope.lanes.width
        return [whole(value(as_op(choice).args[1], scope), state.dtype).of(width)
                for choice, state in zip(fold.body, fold.states)]


def _better(fold: Fold, value: Value, position: Value, other: Value, place: Value,
            ) -> tuple[Scalar, Scalar]:
    """The better of two values, NaN above all; if they are equal, the one that comes first."""
    dtype = fold.states[0].dtype
    compare = lambda how, a, b: a.compare(how, b, kind_of(dtype) == "i")
    how = "gt" if fold.combine == "argmax" else "lt"
    takes, ties = compare(how, other, value), compare("eq", other, value)
    if kind_of(dtype) == "f":
        nan, was_nan = other.ne(other), value.ne(value)
        takes, ties = takes | (nan & ~was_nan), ties | (nan & was_nan)
    signed = kind_of(fold.states[1].dtype) == "i"
    takes = takes | (ties & place.compare("lt", position, signed))
    return choose(takes, other, value), choose(takes, place, position)
