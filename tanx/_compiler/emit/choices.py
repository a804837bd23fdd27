"""Choices: selects whose arms are long, or must not be evaluated unless they are taken.

A choice by a scalar is a branch. In lanes, each arm is computed for the lanes that take it, and a
long one only if some lane does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ..._loops.expr import Expr, Fold, Op
from ..._loops.traverse import walk
from .conditions import Conditions
from .control import Control
from .expressions import Expressions
from .operations import choose
from .scalars import Scalar, alike, fitted, flat, poison
from .scopes import Scope, Way
from .values import Value, any_lane

__all__ = ["Choices"]

_NOWHERE: Way = ()


class Choices:
    """Writes choices as branches, or in lanes."""

    def __init__(self, control: Control, expressions: Expressions, conditions: Conditions):
        self.control, self.expressions, self.conditions = control, expressions, conditions
        self.writer, self.analysis = control.writer, expressions.analysis
        self.dear: int = self.writer.machine.tuning.choices.dear

    def choice(self, node: Op, scope: Scope) -> Scalar:
        """The value of a select whose condition is known."""
        condition = scope.find(node.args[0])
        if condition.type.lanes > 1:
            return self.in_lanes(node, scope)
        if all(self.is_quick(arm, scope) for arm in node.args[1:]):
            return choose(condition, *alike([self.expressions.value(arm, scope)
                                             for arm in node.args[1:]]))
        return self.branch(node, scope)

    def is_quick(self, arm: Expr, scope: Scope) -> bool:
        """Whether an arm may always be evaluated, and needs few new instructions."""
        return self.analysis.is_safe(arm) and self.length_left(arm, scope) < self.analysis.quick

    def length_left(self, expr: Expr, scope: Scope) -> int:
        """The length of the code that is still missing, as far as it matters."""
        parts, find, length = self.analysis.parts, scope.find, 0
        for node in walk(expr, into=lambda n: () if find(n) is not None else parts(n)):
            if find(node) is None:
                length += self.dear if isinstance(node, Fold) else self.analysis.own_length(node)
                if length >= self.dear:
                    break
        return length

    def is_chained(self, node: Expr, scope: Scope) -> bool:
        """Whether the second arm of a choice is itself one, to be written with it."""
        return isinstance(node, Op) and node.name == "select" and scope.find(node) is None and (
            not self.analysis.is_quick(node) and not self.analysis.shared(node))

    def branch(self, node: Op, scope: Scope) -> Scalar:
        """A choice by scalars: conditions are tested in order, and one arm executed."""
        writer, join, value_of = self.writer, self.writer.fresh("join"), self.expressions.value
        results: list[tuple[Scalar, Scope, Way]] = []
        ends: list[tuple[Scope, Callable[[], list[str]]]] = []
        here, way = scope, _NOWHERE
        last: Any = node

        def leave() -> list[str]:
            return [f"br label %{join}"]
        while last is node or self.is_chained(last, here):
            if value_of(last.args[0], here).type.lanes > 1:
                break
            taken, other = (*way, (last.args[0], True)), (*way, (last.args[0], False))
            yes = here.arm(writer.fresh("then"), scope.found_on(taken))
            no = here.arm(writer.fresh("else"), scope.found_on(other))
            enter = self.conditions.entrance(last.args[0], here, yes)
            results.append((value_of(last.args[1], yes), yes, taken))
            ends += [(here, partial(enter, no.label)), (yes, leave)]
            here, way, last = no, other, last.args[2]
        results.append((value_of(last, here), here, way))
        ends.append((here, leave))
        types = [flat(value)[0].type for value, _, _ in results]
        width, bits = max(t.lanes for t in types), max(t.bits for t in types)
        ways = [(self.control.at(arm, lambda v=value: fitted(v, bits).of(width)), arm)
                for value, arm, _ in results]
        place = scope.place
        place.lines += ends[0][1]()
        for arm, end in ends[1:]:
            place.lines += [f"{arm.label}:", *arm.lines, *end()]
        place.start(join)
        blocks = [arm.block for _, arm in ways]
        chosen = self.control.joined([(value, arm.block) for value, arm in ways])
        for _, arm, way in results:
            self.remember(scope, way, arm, blocks)
        return chosen

    def remember(self, scope: Scope, way: Way, arm: Scope, blocks: Sequence[str]) -> None:
        """Let other arms under the same conditions reuse the results of loops in this one.

        The paths join at the current position of ``scope``; each ends in one of ``blocks``.
        """
        def join(value: Scalar) -> Scalar:
            return self.control.joined([
                (value if block == arm.block else poison(value), block) for block in blocks])

        found = scope.found.setdefault(way, {})
        loops = [node for node in arm.values if isinstance(node, Fold) and node not in found]
        found.update({node: tuple(map(join, arm.values[node])) for node in loops})

    def in_lanes(self, node: Op, scope: Scope) -> Scalar:
        """A choice in lanes: all arms are computed, each for its lanes."""
        chosen: list[tuple[Value, Scalar]] = []
        mask, here, way = scope.mask, scope, _NOWHERE
        last: Any = node
        while last is node or self.is_chained(last, here):
            condition = self.expressions.value(last.args[0], here)
            yes, no = condition, ~condition
            if mask is not None:
                yes, no = yes & mask, no & mask
            chosen.append((condition, self.arm(last.args[1], yes, scope,
                                               (*way, (last.args[0], True)))))
            way = (*way, (last.args[0], False))
            mask, here, last = no, scope.beside(no), last.args[2]
        result = self.arm(last, mask, scope, way)
        for condition, value in reversed(chosen):
            result = choose(condition, *alike([value, result]))
        return result

    def arm(self, expr: Expr, mask: Value, scope: Scope, way: Way) -> Scalar:
        """The value of an arm in the lanes that need it; a long one is skipped if no lane does."""
        beside = scope.beside(mask)
        beside.values.update(scope.found_on(way))
        if mask.type.lanes == 1 or self.length_left(expr, beside) < self.dear:
            return self.expressions.value(expr, beside)
        writer, place, width = self.writer, scope.place, mask.type.lanes
        some = scope.arm(writer.fresh("some"), beside.values)
        some.mask = mask
        value = self.control.at(some, lambda: self.expressions.value(expr, some).of(width))
        after, before = writer.fresh("after"), place.block
        place.lines += [f"br {any_lane(mask)!r}, label %{some.label}, label %{after}",
                        f"{some.label}:", *some.lines, f"br label %{after}"]
        place.start(after)
        result = self.control.joined([(value, some.block), (poison(value), before)])
        self.remember(scope, way, some, [some.block, before])
        return result
