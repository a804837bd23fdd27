"""Statements: stores, guarded or combined with memory, and statements that other parts write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ...._loops.expr import Load
from ...._loops.nest import Extern, Nest, Statement, Store
from ...schedule.analysis import Analysis
from ..conditions import Conditions
from ..control import Control
from ..expressions import Expressions
from ..operations import apply
from ..scalars import Scalar, across_lanes, whole
from ..scopes import Scope
from .access import Access
from .library_calls import LibraryCalls

__all__ = ["Statements"]


class Statements:
    """Writes statements into scopes; an emitter sets what writes ``nest``."""

    nest: Callable[[Nest, Scope], None]

    def __init__(self, control: Control, expressions: Expressions, conditions: Conditions,
                 access: Access, calls: LibraryCalls, analysis: Analysis):
        self.control, self.expressions, self.conditions = control, expressions, conditions
        self.access, self.calls, self.analysis = access, calls, analysis

    def write(self, statement: Statement, scope: Scope) -> None:
        """Write a statement."""
        if isinstance(statement, Store):
            self.store(statement, scope)
        elif isinstance(statement, Extern):
            self.calls.write(statement, scope)
        elif isinstance(statement, Nest):
            self.nest(statement, scope)

    def body(self, body: Sequence[Statement], scope: Scope) -> None:
        """Write statements, inside of all loops around them."""
        if self.fill(body, scope):
            return
        for statement in body:
            self.write(statement, scope)

    def store(self, store: Store, scope: Scope) -> None:
        """Write a store: if the guard holds, and combined with the stored element."""
        self.access.prefetch.plan([store])
        if store.guard is not None:
            self.conditions.when(store.guard, scope, lambda arm: self.store(
                replace(store, guard=None), arm))
            return
        value_of = self.expressions.value
        target, value = Load(store.buffer, store.index), value_of(store.value, scope)
        combine = store.combine
        if combine is not None:
            if scope.lanes is not None and not scope.varies(target) and scope.varies(store.value):
                value = across_lanes(combine, value, store.value.dtype)
            dtypes = (store.value.dtype,) * 2
            value = self.control.at(scope, lambda: apply(
                combine, (value_of(target, scope), value), dtypes, dtypes[0], {}))
        self.put(target, value, scope)

    def put(self, target: Load, value: Scalar, scope: Scope) -> None:
        """Store a value, and remember it as the value of a load from there."""
        at = self.control.at
        if target not in scope.carried:
            at(scope, lambda: self.access.write(target, whole(value, target.dtype), scope))
        else:
            width = scope.lanes.width if scope.varies(target) else 1
            value = at(scope, lambda: whole(value, target.dtype).of(width))
        scope.forget(self.analysis.memory(target.buffer), self.analysis)
        scope.values[target] = value

    def fill(self, body: Sequence[Statement], scope: Scope) -> bool:
        """Write interleaved stores together, if they fill each other's gaps."""
        stores = [s for s in body if isinstance(s, Store) and s.guard is None and s.combine is None]
        targets = [Load(store.buffer, store.index) for store in stores]
        if len(stores) < len(body) or not self.analysis.repeatable(body) or (
                not self.access.fills_gaps(targets, scope)):
            return False
        self.access.prefetch.plan(stores)
        values = [self.expressions.value(store.value, scope) for store in stores]
        self.control.at(scope, lambda: self.access.write_filled(
            targets[0], [whole(value, targets[0].dtype) for value in values], scope))
        scope.forget(self.analysis.memory(targets[0].buffer), self.analysis)
        return True
