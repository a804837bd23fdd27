"""The steps of folds, for loops of any kind."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..._loops.expr import Fold, Index, Load, Op, State
from ..._loops.instructions import identity
from ..._loops.traverse import walk
from ..schedule.folds import differing_states
from ..schedule.lanes import Loop
from .control import Control, Step
from .expressions import Expressions
from .operations import multiply_add, number
from .scalars import Scalar, combined, flat, whole
from .scopes import Scope
from .storage import register_type
from .values import Value

__all__ = ["FoldSteps", "joint"]


def joint(fold: Fold, a: Scalar, b: Scalar) -> Scalar:
    """Combine two partial results of a reduction."""
    return combined(fold.reducer or "", a, b, fold.states[0].dtype)


class FoldSteps:
    """Writes steps of folds, and loops around them."""

    def __init__(self, control: Control, expressions: Expressions):
        self.control, self.expressions, self.writer = control, expressions, control.writer

    def step(self, fold: Fold, scope: Scope, states: Sequence[Scalar]) -> list[Scalar]:
        """The states after one step."""
        value = self.expressions.value
        scope.values.update(zip(fold.states, states))
        if fold.reducer:
            return [self.reduced(fold, fold.reducer, scope, states[0])]
        values = [whole(value(expr, scope), expr.dtype) for expr in fold.body]
        return [value.of(flat(state)[0].type.lanes) for value, state in zip(values, states)]

    def reduced(self, fold: Fold, reducer: str, scope: Scope, state: Scalar) -> Scalar:
        """Combine a state and an element; a product is added by a fused multiply-add if that is as
        fast."""
        element, dtype = fold.body[0], fold.states[0].dtype
        value = self.expressions.value
        if reducer == "add" and isinstance(element, Op) and element.name in ("mul", "square"):
            factors = [whole(value(arg, scope), dtype) for arg in element.args]
            return multiply_add(factors[0], factors[-1], state, dtype)
        return combined(reducer, state, whole(value(element, scope), dtype), dtype)

    def neutral(self, fold: Fold) -> Scalar:
        """The neutral element of a reduction."""
        dtype = fold.states[0].dtype
        return number(self.writer, np.asarray(identity(fold.reducer or "", dtype)).astype(
            dtype)[()].item(), dtype)

    # -- states in lanes ---------------------------------------------------------------------------

    def spread_states(self, fold: Fold, states: Sequence[Scalar], inner: Scope) -> list[Scalar]:
        """The initial states of a fold, in lanes if they will differ between lanes.

        The scope of its steps records which ones differ.
        """
        differ = differing_states(fold, inner.varying)
        inner.varying = inner.varying.union(differ)
        return [self.spread(fold, value, inner.lanes.width) if state in differ else value
                for state, value in zip(fold.states, states)]

    def spread(self, fold: Fold, state: Scalar, width: int) -> Scalar:
        """A state in lanes; a mask is held in integers as wide as what it is computed from."""
        value = state.of(width)
        if isinstance(value, Value) and value.is_mask:
            value = Value(self.writer, value.text, value.type)
            value.mask_bits = max([8, *(register_type(node.dtype).bits for node in walk(*fold.parts)
                                        if isinstance(node, (Load, State)))])
        return value

    # -- loops -------------------------------------------------------------------------------------

    def around(self, loops: Sequence[Loop], scope: Scope, states: Sequence[Scalar], fold: Fold,
               body: Step) -> Sequence[Scalar]:
        """Loops around the body of a fold, or around its loop in lanes."""
        if not loops:
            return body(scope, states)
        return self.stretches(
            fold, loops[0], scope, states, loops[0].extent,
            lambda inner, values: self.around(loops[1:], inner, values, fold, body))

    def stretches(self, fold: Fold, loop: Loop, scope: Scope, states: Sequence[Scalar], steps: int,
                  step: Step) -> list[Scalar]:
        """The steps of a loop of a fold. A long sum adds partial sums of some steps each, which
        keeps rounding errors small."""
        dtype, done, found, length = fold.states[0].dtype, 0, list(states), fold.stretch

        def stretch(inner: Scope, values: Sequence[Scalar]) -> list[Scalar]:
            base = inner.values[block.index] * length
            parts = [self.neutral(fold).of(flat(value)[0].type.lanes) for value in values]
            parts = self.control.loop(inner, loop, 0, length, parts, step, bound=fold.states,
                                      base=base)
            return [combined("add", value, part, dtype) for value, part in zip(values, parts)]

        if length and steps >= 2 * length:
            blocks = steps // length
            index = Index("block", blocks)
            block = Loop(index, (index,), False)
            found = self.control.loop(scope, block, 0, blocks, found, stretch, bound=fold.states)
            done = blocks * length
        if done < steps:
            found = self.control.loop(scope, loop, done, steps, found, step, bound=fold.states)
        return found
