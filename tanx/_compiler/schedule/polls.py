"""Which loops check whether the program should stop.

Ctrl-C, or an error in another thread, sets a flag. A loop that may run for long reads it after each
step and leaves when it is set. Loops whose iterations are independent do not: their statements are
split into tasks, and the runtime reads the flag between tasks. What remains is

* loops in order with many steps: ``polled`` of a nest names them;
* loops with a condition, except for those that are known to end soon: these are ``brief``.

Loops that run whole programs (``Loop`` statements) always check.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from ..._loops.expr import WHILES, Const, Expr, Facts, Node, Op, Pick, While, bounds
from ..._loops.instructions import kind_of
from ..._loops.loop_kinds import in_order
from ..._loops.nest import Nest, Statement
from ..._loops.scheduled import ScanLine
from ..._loops.steps import loops_in
from ..._loops.traverse import facts_at, map_expressions, rewrite, walk
from ..tuning import PollTuning
from .analysis import Analysis

__all__ = ["with_brief_loops", "with_polls"]


def with_brief_loops(statement: Statement, analysis: Analysis, tuning: PollTuning) -> Statement:
    """The statement with ``brief`` set on those loops with a condition that end soon."""
    return map_expressions(statement, _marker(analysis, tuning))


def _marker(analysis: Analysis, tuning: PollTuning) -> Callable[[Expr], Expr]:
    def marked(node: Expr, known: Mapping[Node, Facts]) -> Expr | None:
        if not isinstance(node, Pick) or not isinstance(node.fold, While):
            return None
        loop = node.fold
        if loop.brief or not _ends_soon(loop, known.get(loop, {}), analysis, tuning):
            return None
        return Pick(While(loop.init, loop.states, loop.condition, loop.body, brief=True),
                    node.position)

    def change(root: Expr) -> Expr:
        if not root.holds & WHILES:
            return root
        known = facts_at(root)
        return rewrite(root, lambda node: marked(node, known))
    return change


def _ends_soon(loop: While, known: Facts, analysis: Analysis, tuning: PollTuning) -> bool:
    """Whether a loop counts up to a bound that is small enough, by what is known around it."""
    asked = loop.condition
    if not isinstance(asked, Op) or asked.name != "lt" or asked.args[0] not in loop.states or (
            set(loop.states) & set(walk(asked.args[1]))):
        return False
    counter = loop.states.index(asked.args[0])
    step = loop.body[counter] - asked.args[0]
    if kind_of(step.dtype) not in "iu" or not isinstance(step, Const) or step.value < 1:
        return False
    steps = bounds(asked.args[1], known)[1] - bounds(loop.init[counter], known)[0]
    length = sum(analysis.length(part) for part in loop.body)
    return steps * max(length, 1) < tuning.soon


def with_polls(statement: Statement, tuning: PollTuning) -> Statement:
    """The statement, whose loops have their kinds, with ``polled`` set on its nests."""
    if not isinstance(statement, Nest):
        return statement
    polled = tuple(loop.indices[-1] for loop in loops_in(statement)
                   if in_order(loop.kind) and _steps(statement, loop.extent) >= tuning.long)
    return replace(statement, polled=polled,
                   body=tuple(with_polls(s, tuning) for s in statement.body),
                   rest=tuple(with_polls(s, tuning) for s in statement.rest))


def _steps(nest: Nest, extent: int) -> int:
    """How many steps a loop in order takes; a scan takes several iterations in a step."""
    return extent // (nest.rows or nest.lanes) if isinstance(nest, ScanLine) else extent
