"""Folds: loops that carry values, and reductions that run in lanes.

A reduction in lanes keeps a partial result in each of them and combines these in the end, so that
several additions are under way at a time. Long sums are added up in stretches, which keeps errors
small. ``argmax`` and ``argmin`` do the same with pairs of a value and its position.

A loop with a condition runs in lanes as well, each of which ends by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from ...._loops.expr import Const, Fold, Index, Load, Op, State, While, bounds, op
from ...._loops.instructions import BOOL, INDEX, identity, kind_of
from ...._loops.loop_kinds import SEQUENTIAL, Unrolled
from ...._loops.nest import Buffer
from ...._loops.traverse import rewrite, walk
from ...nest_tools import as_op
from ...schedule.folds import IDEMPOTENT, differing_states
from ...schedule.lanes import Loop, loops_of
from ..complex import Pair
from ..operations import apply, choose, multiply_add, number
from ..polling import poll
from ..storage import register_type
from ..values import Value, Writer, any_lane, as_mask, resized
from .access import Memory, Scalar
from .scopes import Ahead, Scope

__all__ = ["Folds", "flat", "from_registers", "in_registers", "mapped", "renamed",
           "whole"]

_SOON = 1 << 28
"""Instructions, a tenth of a second: loops that surely end sooner are not polled. The loop over the
entries of a sparse row takes 0.6 to 0.7 of the time without (Cascade Lake)."""


def whole(value: Any, dtype: np.dtype) -> Any:
    """A value in the width of its dtype: in lanes, an int64 may have 32 bits until it is kept."""
    return resized(value, 64) if dtype == INDEX else value


def flat(value: Scalar) -> list[Value]:
    """The parts of a number: two of a complex one, else one."""
    return [value.re, value.im] if isinstance(value, Pair) else [value]


def mapped(change: Callable[[Value], Value], value: Scalar) -> Scalar:
    """A number whose parts are changed."""
    parts = [change(part) for part in flat(value)]
    return Pair(*parts) if isinstance(value, Pair) else parts[0]


def _is_mask(value: Scalar) -> bool:
    return isinstance(value, Value) and value.is_mask


def in_registers(value: Any, like: Any) -> Scalar:
    """A value as a loop carries it: a mask as integers."""
    return value.spread(like.mask_bits) if _is_mask(like) else value


def from_registers(value: Any, like: Any) -> Scalar:
    """A value that a loop carries, as it is used."""
    return as_mask(value) if _is_mask(like) else value


def renamed(writer: Writer, value: Scalar) -> Scalar:
    """A fresh name for a value of the same type."""
    return mapped(lambda part: Value(writer, writer.fresh("%s"), part.type), value)


class Folds(Memory):
    """Writes folds; see ``kernel.py`` for what it is part of."""

    def loop(self, scope: Scope, loop: Loop, first: int, last: int | Value,
             states: Sequence[Scalar],
             body: Callable[[Scope, Sequence[Scalar]], Sequence[Scalar]], bound: Iterable = (),
             writes: frozenset[Buffer] = frozenset(), base: Value | None = None,
             polled: bool = False) -> list[Scalar]:
        """Write a loop; see ``kernel.py``."""
        raise NotImplementedError

    def once(self, scope: Scope, loop: Loop, number: int, states: Sequence[Scalar], body,
             bound: Iterable, writes: frozenset[Buffer], base: Value | None) -> list[Scalar]:
        """Write a loop of a single step; see ``kernel.py``."""
        raise NotImplementedError

    def bind(self, inner: Scope, loop: Loop, counter: Value) -> None:
        """Make the index of a loop known inside it."""
        raise NotImplementedError

    def at(self, scope: Scope, write: Callable[[], Any]) -> Any:
        """Write code into a scope."""
        before, self.writer.place = self.writer.place, scope.place
        result = write()
        self.writer.place = before
        return result

    def fold(self, fold: Fold, scope: Scope) -> tuple[Scalar, ...]:
        """What a fold carries last."""
        if isinstance(fold, While):
            return self.repeated(fold, scope)
        states = [whole(scope.find(value), value.dtype) for value in fold.init]
        if not all(i.extent for i in fold.indices):
            return tuple(states)
        alone = not scope.varies(fold)
        loops = loops_of(fold.indices, fold.kinds or [SEQUENTIAL] * len(fold.indices), False)
        inner = scope.within((*fold.indices, *fold.states))
        inner.values.update({i: self.index(0) for i in fold.indices if i.extent == 1})
        if loops and loops[-1].width > 1:
            if fold.reducer:
                return (self.reduction(fold, fold.reducer, loops, inner, states[0]),)
            return self.search(fold, loops[-1], inner)
        if not alone:
            states = self.spread_states(fold, states, inner)
        if all(isinstance(loop.kind, Unrolled) for loop in loops):
            return tuple(self.written_out(fold, loops, inner, states))
        return tuple(self.around(loops, inner, states, fold, lambda s, values: self.step(
            fold, s, values)))

    def repeated(self, loop: While, scope: Scope) -> tuple[Scalar, ...]:
        """What a loop carries last that goes on as long as a condition holds.

        In lanes it goes on until the last of them has finished; the others keep their states.
        """
        writer, place = self.writer, scope.place
        head, again, done = map(writer.fresh, ("loop", "again", "done"))
        asking = Scope(scope, head, bound=loop.states)
        start = self.spread_states(loop, [whole(scope.find(value), value.dtype)
                                          for value in loop.init], asking)
        given = [in_registers(state, state) for state in start]
        inside = [renamed(writer, state) for state in given]
        states = self.at(asking, lambda: [from_registers(value, state)
                                          for value, state in zip(inside, start)])
        asking.values.update(zip(loop.states, states))
        holds = self.value(loop.condition, asking)
        in_lanes = holds.type.lanes > 1
        if in_lanes and scope.mask is not None:
            holds = self.at(asking, lambda: holds & scope.mask)
        elif holds.is_mask:
            holds = self.at(asking, lambda: as_mask(holds.spread(holds.mask_bits)))
        step = asking.arm(writer.fresh("step"), {})
        step.mask = holds if in_lanes else scope.mask

        def write() -> list[Scalar]:
            after = [whole(self.value(expr, step), expr.dtype).of(flat(state)[0].type.lanes)
                     for expr, state in zip(loop.body, states)]
            if in_lanes:
                after = [new if new is old else choose(holds, new, old)
                         for new, old in zip(after, states)]
            return [in_registers(value, state) for value, state in zip(after, start)]

        kept = self.at(step, write)
        more = self.at(asking, lambda: any_lane(holds))
        phis = [f"{a.text} = phi {a.type.text} [ {b.text}, %{place.block} ], "
                f"[ {c.text}, %{again} ]" for old, first, new in zip(inside, given, kept)
                for a, b, c in zip(flat(old), flat(first), flat(new))]
        polled = not self._ends_soon(loop)
        ending, look = poll(writer, again, done) if polled else ([f"br label %{again}"], "")
        place.lines += [f"br label %{head}", f"{head}:", *phis, *asking.lines,
                        f"br {more!r}, label %{step.label}, label %{done}",
                        f"{step.label}:", *step.lines, *ending, f"{again}:", f"br label %{head}"]
        place.start(done)
        # A program that is stopped gives what is at hand, so that no step keeps what was before it.
        last = [renamed(writer, state) for state in given]
        place.lines += [f"{a.text} = phi {a.type.text} [ {b.text}, %{asking.block} ]"
                        + (f", [ {c.text}, %{look} ]" if polled else "")
                        for end, old, new in zip(last, inside, kept)
                        for a, b, c in zip(flat(end), flat(old), flat(new))]
        return tuple(self.at(scope, lambda: [from_registers(value, state)
                                             for value, state in zip(last, start)]))

    def _ends_soon(self, loop: While) -> bool:
        """Whether a loop counts up to a bound that is surely near: no one has to stop it."""
        asked = loop.condition
        if not isinstance(asked, Op) or asked.name != "lt" or asked.args[0] not in loop.states or (
                set(loop.states) & set(walk(asked.args[1]))):
            return False
        counter = loop.states.index(asked.args[0])
        step = loop.body[counter] - asked.args[0]
        if kind_of(step.dtype) not in "iu" or not isinstance(step, Const) or step.value < 1:
            return False
        steps = bounds(asked.args[1])[1] - bounds(loop.init[counter])[0]
        length = sum(self.analysis.length(part) for part in loop.body)
        return steps * max(length, 1) < _SOON

    def spread_states(self, fold: Fold, states: Sequence[Scalar], inner: Scope) -> list[Scalar]:
        """The states of a fold before its first step, in lanes where they come to differ.

        Those that do are made known to the scope of its steps.
        """
        differ = differing_states(fold, inner.varying)
        inner.varying = inner.varying.union(differ)
        return [self.spread_out(fold, value, inner.lanes.width) if state in differ else value
                for state, value in zip(fold.states, states)]

    def spread_out(self, fold: Fold, state: Scalar, width: int) -> Scalar:
        """A state in lanes; a mask is held in integers as wide as what it is made from."""
        value = state.of(width)
        if isinstance(value, Value) and value.is_mask:
            value = Value(self.writer, value.text, value.type)
            value.mask_bits = max([8, *(register_type(node.dtype).bits for node in walk(*fold.parts)
                                        if isinstance(node, (Load, State)))])
        return value

    def rows(self, folds: Sequence[Fold], scope: Scope, start: Value, count: int,
             before: Sequence[Sequence[Scalar]]) -> list[list[Scalar]]:
        """What some elements come to in reductions, or searches, that run in lanes themselves, with
        what those before them came to if there were any. All have the same index, and what they
        read is read once for all of them."""
        (index,) = folds[0].indices
        states = [state for fold in folds for state in fold.states]
        inner = scope.within(states)
        inner.varying = inner.varying.union(states)
        found = [[self.neutral(fold).of(scope.lanes.width)] if fold.reducer else list(own)
                 for fold, own in zip(folds, before)]

        def step(row: Scope, _) -> list[Scalar]:
            found[:] = [self.row(fold, row, own) for fold, own in zip(folds, found)]
            return []

        for n in range(count):
            self.once(inner, Loop(index, (index,), False), n, [], step, states, frozenset(), start)
        return [[self.joint(fold, own[0], new[0])] if fold.reducer and own else new
                for fold, own, new in zip(folds, before, found)]

    def row(self, fold: Fold, scope: Scope, states: Sequence[Scalar]) -> list[Scalar]:
        """What the next element makes of a reduction, or of a search that may have none before."""
        if fold.reducer:
            return self.step(fold, scope, states)
        if states:
            return self.better(fold)(scope, states)
        return [whole(self.value(as_op(choice).args[1], scope), state.dtype).of(scope.lanes.width)
                for choice, state in zip(fold.body, fold.states)]

    def neutral(self, fold: Fold) -> Scalar:
        """What a reduction makes nothing of."""
        dtype = fold.states[0].dtype
        return number(self.writer, np.asarray(identity(fold.reducer or "", dtype)).astype(
            dtype)[()].item(), dtype)

    def joint(self, fold: Fold, a: Scalar, b: Scalar) -> Scalar:
        """Two parts of a reduction, combined."""
        return _combine(fold.reducer or "", a, b, fold.states[0].dtype)

    def around(self, loops: Sequence[Loop], scope: Scope, states: Sequence[Scalar], fold: Fold,
               body: Callable[[Scope, Sequence[Scalar]], Sequence[Scalar]],
               stretch: int = 0) -> Sequence[Scalar]:
        """Loops around the body of a fold, or around one in lanes of so many iterations."""
        if not loops:
            return body(scope, states)

        def step(inner: Scope, values: Sequence[Scalar]) -> Sequence[Scalar]:
            if loops[0].width == 1:
                inner.outer = Ahead(loops[0], stretch)
            return self.around(loops[1:], inner, values, fold, body, stretch)

        return self.stretches(fold, loops[0], scope, states, loops[0].extent, step)

    def stretches(self, fold: Fold, loop: Loop, scope: Scope, states: Sequence[Scalar], steps: int,
                  step: Callable[[Scope, Sequence[Scalar]], Sequence[Scalar]]) -> list[Scalar]:
        """The steps of a loop of a fold; those of a long sum in stretches of their own."""
        dtype, done, found = fold.states[0].dtype, 0, list(states)
        length = self.machine.tuning.folds.stretch

        def stretch(inner: Scope, values: Sequence[Scalar]) -> list[Scalar]:
            base = inner.values[block.index] * length
            parts = [self.neutral(fold).of(flat(value)[0].type.lanes) for value in values]
            parts = self.loop(inner, loop, 0, length, parts, step, bound=fold.states, base=base)
            return [_combine("add", value, part, dtype) for value, part in zip(values, parts)]

        if fold.reducer == "add" and kind_of(dtype) in "fc" and steps >= 2 * length:
            blocks = steps // length
            index = Index("block", blocks)
            block = Loop(index, (index,), False)
            found = self.loop(scope, block, 0, blocks, found, stretch, bound=fold.states)
            done = blocks * length
        if done < steps:
            found = self.loop(scope, loop, done, steps, found, step, bound=fold.states)
        return found

    def written_out(self, fold: Fold, loops: Sequence[Loop], scope: Scope,
                    states: Sequence[Scalar]) -> Sequence[Scalar]:
        """All steps of a short fold, one after the other."""
        for position in product(*(range(loop.extent) for loop in loops)):
            inner = scope.within((*fold.indices, *fold.states, *(loop.index for loop in loops)))
            for loop, k in zip(loops, position):
                self.bind(inner, loop, self.index(k))
            states = self.step(fold, inner, states)
        return states

    def step(self, fold: Fold, scope: Scope, states: Sequence[Scalar]) -> list[Scalar]:
        """What the states become in one step."""
        scope.values.update(zip(fold.states, states))
        if fold.reducer:
            return [self.combined(fold, fold.reducer, scope, states[0])]
        values = [whole(self.value(expr, scope), expr.dtype) for expr in fold.body]
        return [value.of(flat(state)[0].type.lanes) for value, state in zip(values, states)]

    def combined(self, fold: Fold, reducer: str, scope: Scope, state: Scalar) -> Scalar:
        """A state and an element; products are added with one rounding where that is as quick."""
        element, dtype = fold.body[0], fold.states[0].dtype
        if reducer == "add" and isinstance(element, Op) and element.name in ("mul", "square"):
            factors = [whole(self.value(arg, scope), dtype) for arg in element.args]
            return multiply_add(factors[0], factors[-1], state, dtype)
        return _combine(reducer, state, whole(self.value(element, scope), dtype), dtype)

    # -- in lanes ----------------------------------------------------------------------------------

    def reduction(self, fold: Fold, reducer: str, loops: Sequence[Loop], scope: Scope,
                  start: Scalar) -> Scalar:
        """A reduction whose innermost loop runs in lanes."""
        lane, dtype = loops[-1], fold.states[0].dtype
        steps, left = divmod(lane.extent, lane.width)
        again = reducer in IDEMPOTENT
        neutral = start if again else self.neutral(fold)
        states = [self.spread_out(fold, neutral, lane.width),
                  *([neutral] if left and not again else [])]

        def innermost(inner: Scope, values: Sequence[Scalar]) -> list[Scalar]:
            (lanes,) = self.stretches(fold, lane, inner, values[:1], steps + (again and left > 0),
                                      lambda s, v: self.step(fold, s, v))
            rest = [] if len(values) == 1 else self.loop(
                inner, replace(lane, width=1), lane.extent - left, lane.extent, values[1:],
                lambda s, v: self.step(fold, s, v), bound=fold.states)
            return [lanes, *rest]

        total, *rest = self.around(loops[:-1], scope, states, fold, innermost, lane.extent)
        total = self.across_lanes(reducer, total, dtype)
        for other in rest if again else [*rest, start]:
            total = _combine(reducer, total, other, dtype)
        return total

    def across_lanes(self, reducer: str, value: Scalar, dtype: np.dtype, left: int = 1) -> Scalar:
        """The combination of all lanes, by halves, until so many are left."""
        if isinstance(value, Value) and value.is_mask and reducer in ("or", "and"):
            return any_lane(value) if reducer == "or" else ~any_lane(~value)
        while (lanes := flat(value)[0].type.lanes) > left:
            low, high = (_shuffled(value, half) for half in (range(lanes // 2),
                                                             range(lanes // 2, lanes)))
            value = _combine(reducer, low, high, dtype)
        return value

    def search(self, fold: Fold, lane: Loop, scope: Scope) -> tuple[Scalar, ...]:
        """``argmax`` or ``argmin`` in lanes: each takes its first element, then better ones."""
        first = scope.within((*fold.indices, *fold.states, lane.index))
        self.bind(first, lane, self.index(0))
        position = as_op(fold.body[1]).args[1]
        found = [self.value(as_op(choice).args[1], first).of(lane.width) for choice in fold.body]
        step = self.better(fold)
        steps = -(-lane.extent // lane.width)
        if steps > 1:
            found = self.loop(scope, lane, 1, steps, found, step, bound=fold.states)
        best, place = found
        while (lanes := best.type.lanes) > 1:
            low, high = range(lanes // 2), range(lanes // 2, lanes)
            best, place = _better(fold, best.shuffled(low), place.shuffled(low),
                                  best.shuffled(high), place.shuffled(high))
        return best, whole(place, position.dtype)

    def better(self, fold: Fold) -> Callable[[Scope, Sequence[Scalar]], list[Scalar]]:
        """A step of a search that has an element: it need not ask whether it does."""
        is_first = op("eq", fold.indices[0], 0)
        takes = rewrite(as_op(fold.body[0]).args[0],
                        lambda e: Const(False, BOOL) if e is is_first else None)

        def step(inner: Scope, values: Sequence[Scalar]) -> list[Scalar]:
            inner.values.update(zip(fold.states, values))
            return [choose(self.value(takes, inner), self.value(as_op(choice).args[1], inner), old)
                    for choice, old in zip(fold.body, values)]
        return step


def _combine(reducer: str, a: Scalar, b: Scalar, dtype: np.dtype) -> Scalar:
    return apply(reducer, (a, b), (dtype, dtype), dtype, {})


def _shuffled(value: Scalar, lanes: Sequence[int]) -> Scalar:
    parts = [part.shuffled(lanes) for part in flat(value)]
    return Pair(*parts) if isinstance(value, Pair) else parts[0]


def _better(fold: Fold, value: Value, position: Value, other: Value, place: Value,
            ) -> tuple[Scalar, Scalar]:
    """The better of two values, NaN above all; of equals, the one that comes first."""
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
