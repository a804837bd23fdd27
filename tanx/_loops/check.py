"""Checks programs after each pass: the first place where a compiler bug shows.

It checks types, scopes and the use of buffers. Interval arithmetic, which knows the loops' extents
and the surrounding conditions, decides whether an access is in range; accesses that it can neither
prove nor refute are returned, for the interpreter to test.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import prod
from typing import NoReturn

from tanx.errors import explain

from .expr import Expr, Facts, Fold, Index, Load, Node, Op, Pick, State, While, bounds, facts_of
from .instructions import BOOL, INDEX, REDUCERS, result_dtype, short_name
from .loop_kinds import TASKS, in_order, is_kind
from .nest import GLOBAL, Branch, Buffer, Loop, Nest, Program, Statement, Store
from .show import show_expr, show_statement
from .steps import loops_in
from .traverse import children, expressions, statements_in, walk, written

__all__ = ["ProgramError", "check", "fail"]


class ProgramError(Exception):
    """A program of loop nests breaks a rule of the form: a mistake in tanx, never in a user's code.

    It is raised by the checks that run between the passes of the compiler when ``TANX_CHECK=1``.
    """


def check(program: Program, filled: Iterable[Buffer] = ()) -> tuple[Load | Store, ...]:
    """Raise :class:`ProgramError` if the program is wrong; return accesses not proved in range.

    Outputs may be ``filled`` from the beginning: those that are the memory of inputs.
    """
    _Checker(program, filled).program()
    return tuple(_Ranges(program).find())


def fail(rule: str, where: Statement | None = None, *facts: str) -> NoReturn:
    """Raise the error for a rule that a statement breaks."""
    if isinstance(where, Nest):
        facts = (f"loop: {show_statement(replace(where, body=(), rest=()))}", *facts)
    elif where is not None:
        facts = (f"statement: {show_statement(where)}", *facts)
    raise ProgramError(explain("tanx._loops.check", rule, *facts))


class _Checker:
    """Types, scopes, and the use of buffers."""

    def __init__(self, program: Program, filled: Iterable[Buffer]):
        self.whole = program
        self.declared = set(program.buffers.values())
        self.defined = {*program.inputs, *filled}

    def program(self) -> None:
        every = (*self.whole.inputs, *self.whole.outputs, *self.whole.temps)
        names = Counter(b.name for b in every)
        for buffer in every:
            if names[buffer.name] > 1:
                fail("buffers must have distinct names.", None, f"twice: {buffer!r}")
        for role in ("input", "output", "temp"):
            for buffer in getattr(self.whole, role + "s"):
                if buffer.space != GLOBAL:
                    fail("buffers of a program are in global memory.", None, f"buffer: {buffer!r}",
                         f"space:  {buffer.space}")
                if buffer.role != role:
                    fail(f"{role}s must have that role.", None, f"buffer: {buffer!r}",
                          f"role:   {buffer.role}")
        for statement in self.whole.statements:
            self.statement(statement, frozenset(), ())
        for buffer in self.whole.outputs:
            if buffer not in self.defined:
                fail("every output must be written.", None, f"output: {buffer!r}")

    def statement(self, statement: Statement, scope: frozenset, parallel: tuple) -> None:
        if isinstance(statement, Nest):
            self.nest(statement, scope, parallel)
        elif isinstance(statement, Store):
            self.store(statement, scope, parallel)
            self.defined.add(statement.buffer)
        else:
            for buffer in statement.inputs:
                self.readable(buffer, statement)
            for buffer in statement.outputs:
                self.writable(buffer, statement)
                self.defined.add(buffer)
            if isinstance(statement, Loop):
                self.loop(statement)
            elif isinstance(statement, Branch):
                for body in statement.bodies:
                    self.fits(statement, statement.inputs[1:], body.program.inputs)
                    self.fits(statement, statement.outputs[:-1], body.program.outputs)

    def loop(self, loop: Loop) -> None:
        tests, constants, carries, read, filled = loop.parts
        body = loop.body.program
        if (loop.count is None) != (loop.condition is not None):
            fail("a loop must have either a count or a condition.", loop)
        if loop.tasks > 1 and (loop.carried or loop.count is None):
            fail("a loop over tasks must have a count and no carries.", loop)
        if carries != loop.outputs[:loop.carried]:
            fail("the carries of a loop must be its first outputs.", loop)
        fixed = len(constants) + len(carries)
        self.fits(loop, (*constants, *carries), body.inputs[:fixed])
        self.fits(loop, carries, body.outputs[:len(carries)])
        rows = (*body.inputs[fixed:], *body.outputs[len(carries):])
        places = (*loop.starts, *(None for _ in filled))
        for array, row, first in zip((*read, *filled), rows, places, strict=True):
            needed, size = (loop.count or 0) * prod(row.shape), prod(array.shape)
            fits = size == needed if first is None else 0 <= first <= size - needed
            if not fits or array.dtype != row.dtype:
                fail("an array that is accessed by rows must have one row for each step.", loop,
                      f"array: {array!r}", f"row:   {row!r}")
        if loop.condition is not None:
            self.fits(loop, (*tests, *carries), loop.condition.program.inputs)

    def fits(self, statement: Statement, given: Sequence[Buffer], wanted: Sequence[Buffer],
             ) -> None:
        """Check that buffers have as many elements as a program needs, whatever the shape."""
        if [(prod(b.shape), b.dtype) for b in given] != [(prod(b.shape), b.dtype) for b in wanted]:
            fail("arguments of an inner program must have the sizes and dtypes of its inputs.",
                  statement,
                  f"given:  {list(given)}", f"wanted: {list(wanted)}")

    def nest(self, nest: Nest, scope: frozenset, parallel: tuple) -> None:
        if len(nest.kinds) != len(nest.indices) or not all(map(is_kind, nest.kinds)):
            fail("each index of a nest has a kind of loop.", None, f"kinds: {nest.kinds}")
        tasks = nest.kinds.count(TASKS)
        if tasks and (scope or TASKS in nest.kinds[tasks:]):
            fail("loops over tasks must be outermost.", nest)
        if len({*nest.indices}) < len(nest.indices) or not scope.isdisjoint(nest.indices):
            fail("an index must not be bound twice.", nest)
        if any(i.extent < 0 for i in nest.indices):
            fail("an extent must not be negative.", nest)
        # A later iteration may read what an earlier one stores; only the interpreter can check
        # that.
        plain = [s for s in statements_in(nest.body) if getattr(s, "combine", None) is None]
        self.defined.update(written(s for s in plain if not isinstance(s, Nest)))
        parallel += tuple(i for loop in loops_in(nest) if not in_order(loop.kind)
                          for i in loop.indices)
        for statement in (*nest.body, *nest.rest):
            self.statement(statement, scope.union(nest.indices), parallel)

    def store(self, store: Store, scope: frozenset, parallel: tuple) -> None:
        self.writable(store.buffer, store)
        self.access(store, store)
        if store.value.dtype != store.buffer.dtype:
            fail("a store must have the dtype of its buffer.", store,
                  f"buffer: {store.buffer!r}", f"value:  {short_name(store.value.dtype)}")
        if store.guard is not None and store.guard.dtype != BOOL:
            fail("a guard must be bool.", store, f"guard: {short_name(store.guard.dtype)}")
        if store.combine is None:
            named = frozenset().union(*(e.free for e in store.index))
            alone = [i for i in parallel if i.extent > 1 and i not in named]
            if alone and store.guard is None and 0 not in store.buffer.shape:
                fail("iterations of a parallel loop must not store the same element.", store,
                      f"not in its index: {alone[0]!r} in {alone[0].extent}")
        elif store.combine not in REDUCERS:
            fail("a store combines by a reducer.", store, f"reducers: {', '.join(REDUCERS)}")
        else:
            self.readable(store.buffer, store)
            self.instruction(store.combine, (store.value, store.value), store)
        roots = expressions(store)
        for variable in frozenset().union(*(e.free for e in roots)) - scope:
            fail("a variable is used outside of its loop.", store, f"variable: {variable!r}")
        self.expressions(roots, scope, store)

    def readable(self, buffer: Buffer, statement: Statement) -> None:
        self.known(buffer, statement)
        if buffer not in self.defined:
            fail("a buffer must be written before it is read.", statement, f"buffer: {buffer!r}")

    def writable(self, buffer: Buffer, statement: Statement) -> None:
        self.known(buffer, statement)
        if buffer.role == "input":
            fail("an input must not be written.", statement, f"buffer: {buffer!r}")

    def known(self, buffer: Buffer, statement: Statement) -> None:
        if buffer not in self.declared:
            fail("a buffer must belong to the program.", statement, f"buffer: {buffer!r}")

    # -- expressions -------------------------------------------------------------------------------

    def expressions(self, roots: Iterable[Expr], scope: frozenset, where: Store) -> None:
        bound: dict[Node, frozenset] = {}
        for node in walk(*roots):
            inside = frozenset().union(*(bound[child] for child in children(node)))
            if isinstance(node, Load):
                self.readable(node.buffer, where)
                self.access(node, where)
            elif isinstance(node, Op):
                self.operation(node, where)
            elif isinstance(node, Pick) and not 0 <= node.position < len(node.fold.states):
                fail("a fold has no such state.", where, f"position: {node.position}")
            elif isinstance(node, Fold):
                self.fold(node, scope | inside, where)
                inside = inside.union(node.indices, node.states)
            bound[node] = inside

    def access(self, access: Load | Store, where: Store) -> None:
        if len(access.index) != access.buffer.ndim:
            fail("an access has one index for each dimension.", where,
                  f"buffer:  {access.buffer!r}", f"indices: {len(access.index)}")
        for i in access.index:
            if i.dtype != INDEX:
                fail("an index must be int64.", where,
                      f"index: {show_expr(i)} of {short_name(i.dtype)}")

    def operation(self, node: Op, where: Store) -> None:
        if self.instruction(node.name, node.args, where, node.attrs) != node.dtype:
            fail("an instruction must have the dtype that follows from its operands.", where,
                  f"instruction: {show_expr(node)} of {short_name(node.dtype)}")

    def instruction(self, name: str, args: tuple[Expr, ...], where: Store, attrs: tuple = ()):
        try:
            return result_dtype(name, tuple(a.dtype for a in args), attrs)
        except TypeError as error:
            fail(str(error), where)

    def fold(self, fold: Fold, scope: frozenset, where: Store) -> None:
        own = frozenset((*fold.indices, *fold.states))
        if len(own) < len(fold.indices) + len(fold.states) or not own.isdisjoint(scope):
            fail("a variable must not be bound twice.", where)
        if not (all(isinstance(i, Index) and i.extent >= 0 for i in fold.indices)
                and all(isinstance(s, State) for s in fold.states)):
            fail("a fold binds indices and states.", where)
        if fold.reducer:
            if len(fold.states) != 1 or fold.states[0] in fold.body[0].free:
                fail("a reduction must have one state, which its body does not use.", where)
        elif fold.combine not in (None, "argmax", "argmin"):
            fail("there is no such reduction.", where, f"combine: {fold.combine}")
        if isinstance(fold, While) and fold.condition.dtype != BOOL:
            fail("the condition of a loop must be bool.", where,
                  f"condition: {short_name(fold.condition.dtype)}")
        types = [[e.dtype for e in part] for part in (fold.states, fold.init, fold.body)]
        if not types[0] == types[1] == types[2]:
            texts = ["(" + ", ".join(map(short_name, part)) + ")" for part in types]
            fail("start and step of a fold must have the dtypes of its states.", where,
                  f"states: {texts[0]}", f"start:  {texts[1]}", f"step:   {texts[2]}")


class _Ranges:
    """Whether accesses are in range. One that is always outside and always reached is an error."""

    def __init__(self, program: Program):
        self.whole = program

    def find(self, statements: Iterable[Statement] | None = None) -> Iterable[Load | Store]:
        """The accesses that could not be proved, in program order."""
        for statement in self.whole.statements if statements is None else statements:
            if isinstance(statement, Store):
                yield from self.store(statement)
            elif isinstance(statement, Nest) and all(i.extent for i in statement.indices):
                yield from self.find((*statement.body, *statement.rest))

    def store(self, store: Store) -> Iterable[Load | Store]:
        sure = store.guard is None
        facts: Facts = {} if store.guard is None else facts_of(store.guard)
        if not self.proved(store, facts, sure):
            yield store
        known: dict[Node, tuple[Facts, bool]] = {}
        for root in expressions(store):
            _meet(known, root, *(({}, True) if root is store.guard else (facts, sure)))
        # Parents come first, so that all paths to a node are known before it is visited.
        for node in reversed(list(walk(*expressions(store)))):
            facts, sure = known[node]
            if isinstance(node, Load) and not self.proved(node, facts, sure):
                yield node
            for child, (more, always) in _ways(node):
                _meet(known, child, _both(facts, more), sure and always)

    def proved(self, access: Load | Store, facts: Facts, sure: bool) -> bool:
        proved = True
        for axis, (i, n) in enumerate(zip(access.index, access.buffer.shape)):
            low, high = bounds(i, facts)
            if low > high:
                return True
            if sure and (high < 0 or low >= n):
                text = show_expr(access) if isinstance(access, Load) else show_statement(access)
                fail("an access must be in range.", None, f"access: {text}",
                      f"index {axis}: from {low} to {high}", f"buffer: {access.buffer!r}")
            proved = proved and 0 <= low and high < n
        return proved


def _ways(node: Node) -> list[tuple[Node, tuple[Facts, bool]]]:
    """The children of a node, each with the facts that hold there and whether it is always
    reached."""
    if isinstance(node, Op) and node.name == "select":
        condition, yes, no = node.args
        return [(condition, ({}, True)), (yes, (facts_of(condition), False)),
                (no, (facts_of(condition, False), False))]
    if isinstance(node, Fold):
        always = [*node.init]
        runs = all(i.extent for i in node.indices)
        facts: Facts = {}
        if isinstance(node, While):
            always.append(node.condition)
            runs, facts = False, facts_of(node.condition)
        return [*((e, ({}, True)) for e in always), *((e, (facts, runs)) for e in node.body)]
    return [(child, ({}, True)) for child in children(node)]


def _both(a: Facts, b: Facts) -> Facts:
    """The conjunction of two facts."""
    if not a or not b:
        return a or b
    merged = dict(a)
    for expr, (low, high) in b.items():
        known = merged.get(expr, (low, high))
        merged[expr] = (max(low, known[0]), min(high, known[1]))
    return merged


def _meet(known: dict[Node, tuple[Facts, bool]], node: Node, facts: Facts, sure: bool) -> None:
    """Add another path to a node: only facts that hold on all paths are known there."""
    if node not in known:
        known[node] = facts, sure
        return
    others, was_sure = known[node]
    hull = {expr: (min(facts[expr][0], ends[0]), max(facts[expr][1], ends[1]))
            for expr, ends in others.items() if expr in facts}
    known[node] = hull, sure or was_sure
