"""Loops with a condition, inside of expressions: in lanes, each lane ends separately."""

from __future__ import annotations

from ..._loops.expr import While
from .control import Control
from .expressions import Expressions
from .fold_steps import FoldSteps
from .operations import choose
from .polling import poll
from .scalars import Scalar, flat, from_registers, in_registers, renamed, whole
from .scopes import Scope
from .values import any_lane, as_mask

__all__ = ["WhileLoops"]


class WhileLoops:
    """Writes loops that run while a condition holds."""

    def __init__(self, control: Control, expressions: Expressions, steps: FoldSteps):
        self.control, self.expressions, self.steps = control, expressions, steps
        self.writer, self.analysis = control.writer, expressions.analysis

    def write(self, loop: While, scope: Scope) -> tuple[Scalar, ...]:
        """The final states of a loop.

        In lanes it runs until the last of them has finished; the others keep their states.
        """
        writer, place, at = self.writer, scope.place, self.control.at
        head, again, done = map(writer.fresh, ("loop", "again", "done"))
        asking = Scope(scope, head, bound=loop.states)
        start = self.steps.spread_states(loop, [whole(scope.find(value), value.dtype)
                                                for value in loop.init], asking)
        given = [in_registers(state, state) for state in start]
        inside = [renamed(writer, state) for state in given]
        states = at(asking, lambda: [from_registers(value, state)
                                     for value, state in zip(inside, start)])
        asking.values.update(zip(loop.states, states))
        holds = self.expressions.value(loop.condition, asking)
        in_lanes = holds.type.lanes > 1
        if in_lanes and scope.mask is not None:
            holds = at(asking, lambda: holds & scope.mask)
        elif holds.is_mask:
            holds = at(asking, lambda: as_mask(holds.spread(holds.mask_bits)))
        step = asking.arm(writer.fresh("step"), {})
        step.mask = holds if in_lanes else scope.mask

        def write() -> list[Scalar]:
            after = [whole(self.expressions.value(expr, step), expr.dtype).of(
                flat(state)[0].type.lanes) for expr, state in zip(loop.body, states)]
            if in_lanes:
                after = [new if new is old else choose(holds, new, old)
                         for new, old in zip(after, states)]
            return [in_registers(value, state) for value, state in zip(after, start)]

        kept = at(step, write)
        more = at(asking, lambda: any_lane(holds))
        phis = [f"{a.text} = phi {a.type.text} [ {b.text}, %{place.block} ], "
                f"[ {c.text}, %{again} ]" for old, first, new in zip(inside, given, kept)
                for a, b, c in zip(flat(old), flat(first), flat(new))]
        ending, look = ([f"br label %{again}"], "") if loop.brief else poll(writer, again, done)
        place.lines += [f"br label %{head}", f"{head}:", *phis, *asking.lines,
                        f"br {more!r}, label %{step.label}, label %{done}",
                        f"{step.label}:", *step.lines, *ending, f"{again}:", f"br label %{head}"]
        place.start(done)
        # A stopped program returns the states of its last step, so that no register has to hold
        # those before it.
        last = [renamed(writer, state) for state in given]
        place.lines += [f"{a.text} = phi {a.type.text} [ {b.text}, %{asking.block} ]"
                        + (f", [ {c.text}, %{look} ]" if look else "")
                        for end, old, new in zip(last, inside, kept)
                        for a, b, c in zip(flat(end), flat(old), flat(new))]
        return tuple(at(scope, lambda: [from_registers(value, state)
                                        for value, state in zip(last, start)]))
