"""Expressions: each node is computed once, in the outermost scope where it can be.

Loads, folds and choices are written by parts of an emitter that need expressions themselves, so the
emitter sets these. All other nodes are the same on every target.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._loops.expr import Const, Expr, Fold, Index, Load, Node, Op, Pick
from ..._loops.instructions import INDEX
from ..._loops.traverse import walk
from ..schedule.analysis import Analysis, span
from .control import Control
from .operations import Reciprocal, apply, has_reciprocals, number
from .scalars import Scalar, flat, is_small
from .scopes import Scope
from .values import Value, integer, lane_numbers, resized

__all__ = ["Expressions"]


class Expressions:
    """Evaluates expressions in scopes."""

    load: Callable[[Load, Scope], Scalar]
    fold: Callable[[Fold, Scope], tuple[Scalar, ...]]
    choice: Callable[[Op, Scope], Scalar]
    """Writes a select whose arms are long, or must not be evaluated unless they are taken."""

    def __init__(self, control: Control, analysis: Analysis):
        self.control, self.analysis = control, analysis
        self.writer = control.writer

    def value(self, expr: Expr, scope: Scope) -> Any:
        """The value of an expression, computed in the outermost scope possible."""
        found = scope.find(expr)
        if found is not None:
            return found
        self.analysis.learn(expr)
        parts, find = self.analysis.parts, scope.find
        for node in walk(expr, into=lambda n: () if find(n) is not None else parts(n)):
            if find(node) is None:
                home = scope.home(node, self.analysis)
                if home is not scope:  # results of loops may be known on this path only
                    home = max([home, *(scope.locate(part)[0] for part in parts(node))],
                               key=lambda s: s.depth)
                home.values[node] = self.control.at(
                    home, lambda: self.evaluate(node, home))  # noqa: B023
        return find(expr)

    def evaluate(self, node: Node, scope: Scope) -> Any:
        """One node whose parts are known."""
        if isinstance(node, Op):
            return self.operation(node, scope)
        if isinstance(node, Load):
            return self.load(node, scope)
        if isinstance(node, Const):
            return number(self.writer, node.value, node.dtype)
        if isinstance(node, Pick):
            return scope.find(node.fold)[node.position]
        if isinstance(node, Fold):
            return self.fold(node, scope)
        if isinstance(node, Index) and scope.lanes and node is scope.lanes.loop.index:
            bits = 32 if is_small(node) else 64
            numbers = lane_numbers(self.writer, integer(bits, scope.lanes.width))
            return resized(scope.lanes.first, bits) + numbers
        raise NameError(f"{node!r} is used outside of its loop.")

    def operation(self, node: Op, scope: Scope) -> Any:
        """An instruction on known operands."""
        if node.name == "select" and not self.analysis.is_quick(node):
            return self.choice(node, scope)
        if inside := span(node):  # as unsigned numbers, negative ones are large
            return scope.find(inside[0]).compare("lt", inside[1], signed=False)
        args = [scope.find(arg) for arg in node.args]
        dtypes = [arg.dtype for arg in node.args]
        if node.name == "div" and has_reciprocals(node.dtype):
            args = [args[0], self.divisor(node.args[1], scope)]
        if node.dtype == INDEX or INDEX in dtypes:
            return self.index_operation(node, args, dtypes)
        return apply(node.name, args, dtypes, node.dtype, dict(node.attrs))

    def index_operation(self, node: Op, args: Sequence[Value], dtypes: Sequence[np.dtype]) -> Any:
        """An instruction on int64, in 32 bits per lane if all numbers are small."""
        narrow = any(flat(arg)[0].type.lanes > 1 for arg in args) and all(
            is_small(expr) for expr in (node, *node.args) if expr.dtype == INDEX)
        small = np.dtype(np.int32) if narrow else INDEX
        given = [resized(arg, 32 if narrow else 64) if dtype == INDEX else arg
                 for arg, dtype in zip(args, dtypes)]
        return apply(node.name, given, [small if d == INDEX else d for d in dtypes],
                     small if node.dtype == INDEX else node.dtype, dict(node.attrs))

    def divisor(self, expr: Expr, scope: Scope) -> Value | Reciprocal:
        """A divisor: if it is the same in all lanes, it is inverted once, outside of the loop."""
        home, value = scope.locate(expr)
        if scope.lanes is None or value.type.lanes > 1 or home.depth >= scope.depth:
            return value
        return self.control.known(home, (Reciprocal, value.text), lambda: Reciprocal.of(value))
