"""Folds: loops inside of expressions, by the kinds of their loops."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from ..._loops.expr import Fold, While
from ..._loops.loop_kinds import SEQUENTIAL, Unrolled
from ..schedule.lanes import Loop, loops_of
from .control import Control
from .fold_steps import FoldSteps
from .lane_folds import LaneFolds
from .scalars import Scalar, whole
from .scopes import Scope
from .while_loops import WhileLoops

__all__ = ["Folds"]


class Folds:
    """Writes folds: step by step, in lanes, or unrolled."""

    def __init__(self, control: Control, steps: FoldSteps, in_lanes: LaneFolds, whiles: WhileLoops):
        self.control, self.steps, self.in_lanes, self.whiles = control, steps, in_lanes, whiles

    def fold(self, fold: Fold, scope: Scope) -> tuple[Scalar, ...]:
        """The final states of a fold."""
        if isinstance(fold, While):
            return self.whiles.write(fold, scope)
        states = [whole(scope.find(value), value.dtype) for value in fold.init]
        if not all(i.extent for i in fold.indices):
            return tuple(states)
        alone = not scope.varies(fold)
        loops = loops_of(fold.indices, fold.kinds or [SEQUENTIAL] * len(fold.indices), False)
        inner = scope.within((*fold.indices, *fold.states))
        inner.values.update({i: self.control.index(0) for i in fold.indices if i.extent == 1})
        if loops and loops[-1].width > 1:
            if fold.reducer:
                return (self.in_lanes.reduction(fold, fold.reducer, loops, inner, states[0]),)
            return self.in_lanes.search(fold, loops[-1], inner)
        if not alone:
            states = self.steps.spread_states(fold, states, inner)
        if all(isinstance(loop.kind, Unrolled) for loop in loops):
            return tuple(self.written_out(fold, loops, inner, states))
        return tuple(self.steps.around(loops, inner, states, fold, lambda s, values: (
            self.steps.step(fold, s, values))))

    def written_out(self, fold: Fold, loops: Sequence[Loop], scope: Scope,
                    states: Sequence[Scalar]) -> Sequence[Scalar]:
        """All steps of a short fold, unrolled."""
        for position in product(*(range(loop.extent) for loop in loops)):
            inner = scope.within((*fold.indices, *fold.states, *(loop.index for loop in loops)))
            for loop, k in zip(loops, position):
                self.control.bind(inner, loop, self.control.index(k))
            states = self.steps.step(fold, inner, states)
        return states
