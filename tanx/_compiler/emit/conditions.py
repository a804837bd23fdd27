"""Conditional code: jumps into an arm and past it."""

from __future__ import annotations

from collections.abc import Callable

from ..._loops.expr import Expr
from ..schedule.analysis import asks_for_bounds, turning_index
from .control import Control
from .expressions import Expressions
from .scopes import Scope
from .values import I64, Value, convert

__all__ = ["Conditions"]

_LIKELY = ', !prof !{!"branch_weights", i32 1000, i32 1}'
"""Appended to a branch whose first target is nearly always taken: it is laid out without jumps."""


class Conditions:
    """Writes code that runs if a condition holds."""

    def __init__(self, control: Control, expressions: Expressions):
        self.control, self.expressions = control, expressions
        self.writer, self.analysis = control.writer, expressions.analysis

    def when(self, condition: Value | Expr, scope: Scope, write: Callable[[Scope], None]) -> None:
        """Write code that runs if a condition holds."""
        arm, after = Scope(scope, self.writer.fresh("then"), conditional=True), (
            self.writer.fresh("after"))
        enter = self.entrance(condition, scope, arm)
        self.control.at(arm, lambda: write(arm))
        scope.place.lines += [*enter(after), f"{arm.label}:", *arm.lines, f"br label %{after}"]
        scope.place.start(after)

    def entrance(self, condition: Value | Expr, scope: Scope, arm: Scope) -> Callable[
            [str], list[str]]:
        """Test a condition; the returned function writes the jump to an arm, or to the given label.

        A negative index counts from the end of an array, but few indices are negative: the test
        whether an index is in range as it is comes first, with one jump instead of two. (A
        processor has 48 jumps in flight: with 5 for each entry, a product with 100,000 sparse rows
        of 3 entries takes 1.4 of SciPy's time, with 3 it takes 0.95; Cascade Lake.)
        """
        if isinstance(condition, Value):
            return lambda other: [f"br {condition!r}, label %{arm.label}, label %{other}"]
        index, at, value = turning_index(condition), self.control.at, self.expressions.value
        if index is None or scope.home(condition, self.analysis) is not scope or (
                number := value(index.number, scope)).type.lanes > 1:
            asked, likely = value(condition, scope), asks_for_bounds(condition)
            return lambda other: [
                f"br {asked!r}, label %{arm.label}, label %{other}" + _LIKELY * likely]
        aside = Scope(scope, self.writer.fresh("aside"), conditional=True)
        place = Value(self.writer, f"%{self.writer.fresh('place')}", I64, arm)
        arm.values[index.place] = place
        inside, start = at(scope, lambda: (
            number.compare("lt", index.size, signed=False), convert(number, "zext", I64)))
        turned = at(aside, lambda: convert(number + index.shift, "zext", I64))
        also = at(aside, lambda: turned.compare("lt", index.size, signed=False))

        def enter(other: str) -> list[str]:
            arm.lines.insert(0, f"{place.text} = phi i64 [ {start.text}, %{scope.place.block} ], "
                                f"[ {turned.text}, %{aside.block} ]")
            return [f"br {inside!r}, label %{arm.label}, label %{aside.label}{_LIKELY}",
                    f"{aside.label}:", *aside.lines,
                    f"br {also!r}, label %{arm.label}, label %{other}"]
        return enter
