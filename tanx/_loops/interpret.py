"""Runs programs in NumPy: the oracle for fusion and scheduling, so clarity comes before speed.

The lanes of parallel loops run in lockstep as axes of NumPy arrays; in a schedule, as many at a
time as it says (``steps.py``), and tiles likewise. An inner loop puts its axis in *front*, so that
values of outer loops broadcast against its own without reshaping. Sequential loops run in Python. A
reduction becomes another axis, then a tree of combinations; any other fold runs step by step. A
lane is dead in the arm of a ``select`` that it does not take, in steps of a ``while`` that it has
left, and in stores whose guard does not hold; loads of a dead lane are ignored. A mistake that
``memory.py`` finds in a live lane is an error that names the access.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from math import prod

import numpy as np

from .expr import Const, Expr, Fold, Index, Load, Node, Op, Pick, While
from .instructions import apply
from .library import LIBRARY
from .loop_kinds import TASKS, in_order
from .memory import Memory
from .nest import (
    Branch,
    Call,
    Extern,
    Loop,
    Nest,
    Plan,
    Program,
    Statement,
    Store,
)
from .steps import LoopOf, loops_in, steps_of
from .traverse import children, walk, written

__all__ = ["run"]

_CHUNK = 1 << 20
"""Elements of a reduction that are in memory at a time."""


def run(program: Program, *inputs, externs: Mapping[str, Callable] | None = None) -> tuple:
    """Run a program on arrays and return a tuple of its outputs.

    ``externs`` has the functions that ``Extern`` statements name; each takes the input arrays and
    the parameters, and returns an array or a tuple of them (a primitive's ``eval`` will do).
    """
    return _run(Plan(program), inputs, externs or {})


def _run(plan: Plan, inputs: Sequence, externs: Mapping[str, Callable]) -> tuple:
    program = plan.program
    if len(inputs) != len(program.inputs):
        raise TypeError(f"the program takes {len(program.inputs)} inputs, got {len(inputs)}.")
    memory = Memory(program, [np.reshape(x, b.shape) for x, b in zip(inputs, program.inputs)])
    for output, given in plan.shared.items():
        memory.put(output, memory.take(given))
    _Runner(memory, externs).statements(program.statements, _Scope())
    return tuple(memory.take(buffer) for buffer in program.outputs)


class _Scope:
    """Values of variables and expressions in the lanes of the surrounding loops.

    A scope binds variables (``bound``), or narrows the live lanes (``live``; None means all), or
    does neither and is the outermost one of a statement, where loaded values expire.
    """

    def __init__(self, parent: _Scope | None = None, values: Mapping | None = None,
                 lanes: tuple[int, ...] | None = None, live: np.ndarray | None = None):
        self.parent = parent
        self.bound = frozenset(values or ())
        self.values: dict[Node, object] = dict(values or {})
        self.lanes: tuple[int, ...] = lanes if lanes is not None else parent.lanes if parent else ()
        self.live: np.ndarray | None = live if live is not None else parent.live if parent else None
        self.arms: dict[tuple[Expr, bool], _Scope] = {}

    def find(self, node: Node):
        """The value if it is known here or in an outer scope, where at least as many lanes are
        live."""
        scope: _Scope | None = self
        while scope is not None:
            if node in scope.values:
                return scope.values[node]
            scope = scope.parent
        return None

    def home(self, node: Node) -> _Scope:
        """The outermost scope with the same live lanes that binds what the node needs."""
        scope = self
        while scope.parent and scope.bound and scope.bound.isdisjoint(node.free):
            scope = scope.parent
        return scope

    def where(self, condition: Expr, value: np.ndarray, holds: bool) -> _Scope:
        """The scope of the live lanes in which a condition holds, or does not."""
        key = (condition, holds)
        if key not in self.arms:
            live = value if holds else ~value
            self.arms[key] = _Scope(self, live=live if self.live is None else live & self.live)
        return self.arms[key]


class _Runner:
    def __init__(self, memory: Memory, externs: Mapping[str, Callable]):
        self.memory = memory
        self.externs = externs

    # -- statements --------------------------------------------------------------------------------

    def statements(self, statements: Iterable[Statement], scope: _Scope) -> None:
        for statement in statements:
            if isinstance(statement, Nest):
                self.loops(statement, loops_in(statement), statement.body, scope)
            elif isinstance(statement, Store):
                self.store(statement, _Scope(scope))
            else:
                results = (self.repeated(statement) if isinstance(statement, Loop) else
                           self.branch(statement) if isinstance(statement, Branch) else
                           self.call(statement))
                for buffer, result in zip(statement.outputs, results, strict=True):
                    self.memory.put(buffer, np.asarray(result))

    def loops(self, nest: Nest, left: Sequence[LoopOf], body, scope: _Scope) -> None:
        """Run a body in the remaining loops of a nest: all iterations of a parallel one at once, or
        as many at a time as the schedule says."""
        if not left:
            self.statements(body, scope)
            return
        if in_order(left[0].kind):
            for number in range(left[0].extent):
                self.loops(nest, left[1:], body, _Scope(scope, left[0].values(np.asarray(number))))
            return
        count, steps = steps_of(nest, left)
        extents = [loop.extent for loop in left[:count]]
        apart = left[0].kind == TASKS
        if 0 in extents:
            return
        with self.memory.parallel(np.asarray(0), written(body), apart=apart) as meeting:
            for step in steps:
                inner = _lanes(scope, left[:count], step.places)
                numbers = np.ravel_multi_index(np.meshgrid(*step.places, indexing="ij"), extents)
                meeting.numbers = numbers.reshape(*numbers.shape, *(1 for _ in scope.lanes))
                self.loops(nest, left[count:], nest.rest or body if step.single else body, inner)

    def store(self, store: Store, scope: _Scope) -> None:
        if store.guard is not None:
            scope = scope.where(store.guard, self.value(store.guard, scope), True)
        index = [self.value(i, scope) for i in store.index]
        self.memory.store(store, index, self.value(store.value, scope), scope.live, scope.lanes)

    def call(self, statement: Extern) -> Sequence[np.ndarray]:
        """The results of a library function."""
        arrays = [self.memory.take(buffer) for buffer in statement.inputs]
        if statement.name in self.externs:
            results = self.externs[statement.name](*arrays, **dict(statement.params))
        elif statement.name in LIBRARY:
            results = LIBRARY[statement.name](statement, *arrays)
        else:
            raise NotImplementedError(f"no function was given for the extern {statement.name!r}.")
        return results if isinstance(results, (tuple, list)) else (results,)

    def repeated(self, loop: Loop) -> Sequence[np.ndarray]:
        """The results of a loop."""
        tests, constants, carries, read = [
            [self.memory.take(b) for b in part] for part in loop.parts[:4]]
        filled = [np.zeros(b.shape, b.dtype) for b in loop.parts[4]]
        rows = loop.body.program.inputs[len(constants) + len(carries):]
        read = [x.reshape(-1)[first:first + (loop.count or 0) * prod(row.shape)]
                for x, first, row in zip(read, loop.starts, rows, strict=True)]
        step = 0
        while step != loop.count:
            if loop.condition is not None and not _run(
                    loop.condition, [*tests, *carries], self.externs)[0]:
                break
            row = -1 - step if loop.reverse else step
            results = _run(loop.body, [*constants, *carries, *(
                x.reshape(loop.count or 1, -1)[row] for x in read)], self.externs)
            carries = [x.reshape(c.shape) for x, c in zip(results, carries)]
            for array, result in zip(filled, results[loop.carried:], strict=True):
                array[row] = result.reshape(array.shape[1:])
            step += 1
        return *carries, *filled, _room(loop)

    def branch(self, branch: Branch) -> Sequence[np.ndarray]:
        """The results of the selected branch."""
        choice, *given = [self.memory.take(b) for b in branch.inputs]
        number = int(choice) if 0 <= choice < len(branch.bodies) else -1
        body = branch.bodies[number]
        return *_run(body, given, self.externs), _room(branch)

    # -- expressions -------------------------------------------------------------------------------

    def value(self, expr: Expr, scope: _Scope) -> np.ndarray:
        """The value of an expression in the lanes of a scope, in as few axes as it needs."""
        for node in walk(expr, into=lambda n: () if scope.find(n) is not None else _strict(n)):
            if scope.find(node) is None:
                home = scope.home(node)
                home.values[node] = self.evaluate(node, home)
        return scope.find(expr)

    def evaluate(self, node: Node, scope: _Scope):
        """One node whose strict parts are known."""
        if isinstance(node, Const):
            return np.asarray(node.value).astype(node.dtype)
        if isinstance(node, Load):
            return self.memory.load(node, [scope.find(i) for i in node.index], scope.live)
        if isinstance(node, Pick):
            return scope.find(node.fold)[node.position]
        if isinstance(node, While):
            return self.unfinished(node, scope)
        if isinstance(node, Fold):
            return (self.reduction(node, node.reducer, scope) if node.reducer else
                    self.fold(node, scope))
        if isinstance(node, Op):
            if node.name == "select":
                return self.select(node, scope)
            args = [scope.find(arg) for arg in node.args]
            return apply(node.name, args, node.dtype, dict(node.attrs))
        raise NameError(f"{node!r} is used outside of its loop.")

    def select(self, node: Op, scope: _Scope) -> np.ndarray:
        condition, *arms = node.args
        value = scope.find(condition)
        results = []
        for arm, holds in zip(arms, (True, False)):
            inner = scope.where(condition, value, holds)
            taken = np.any(inner.live)
            results.append(self.value(arm, inner) if taken else np.zeros((), node.dtype))
        return np.where(value, *results)

    def reduction(self, fold: Fold, reducer: str, scope: _Scope) -> tuple[np.ndarray]:
        extents = [i.extent for i in fold.indices]
        total, step = prod(extents), max(1, _CHUNK // max(1, prod(scope.lanes)))
        result = scope.find(fold.init[0])
        for start in range(0, total, step):
            stop = min(start + step, total)
            axis = (-1,) + (1,) * len(scope.lanes)
            values = np.unravel_index(np.arange(start, stop), extents) if extents else ()
            inner = _Scope(scope, {i: v.reshape(axis) for i, v in zip(fold.indices, values)},
                           (stop - start, *scope.lanes))
            element = self.value(fold.body[0], inner)
            if element.ndim < len(axis):
                element = element.reshape((1,) * (len(axis) - element.ndim) + element.shape)
            element = np.broadcast_to(element, (stop - start, *element.shape[1:]))
            part = _tree(reducer, element)
            result = apply(reducer, [result, part], part.dtype)
        return (result,)

    def fold(self, fold: Fold, scope: _Scope) -> tuple[np.ndarray, ...]:
        states = tuple(scope.find(value) for value in fold.init)
        for step in product(*(range(i.extent) for i in fold.indices)):
            values = dict(zip(fold.indices, map(np.asarray, step)))
            inner = _Scope(scope, values | dict(zip(fold.states, states)))
            states = tuple(self.value(expr, inner) for expr in fold.body)
        return states

    def unfinished(self, loop: While, scope: _Scope) -> tuple[np.ndarray, ...]:
        states = tuple(scope.find(value) for value in loop.init)
        while True:
            inner = _Scope(scope, dict(zip(loop.states, states)))
            holds = self.value(loop.condition, inner)
            step = inner.where(loop.condition, holds, True)
            active = np.asarray(step.live)
            if not active.any():
                return states
            states = tuple(np.where(active, self.value(expr, step), old)
                           for expr, old in zip(loop.body, states))


def _room(call: Call) -> np.ndarray:
    """Uninitialized private memory of a statement."""
    return np.zeros(call.outputs[-1].shape, call.outputs[-1].dtype)


def _lanes(scope: _Scope, loops: Sequence[LoopOf], places: Sequence[np.ndarray]) -> _Scope:
    """The scope inside parallel loops, in some of their iterations: one more axis for each loop, in
    front."""
    values: dict[Index, np.ndarray] = {}
    for axis, (loop, place) in enumerate(zip(loops, places)):
        shape = [1] * (len(loops) + len(scope.lanes))
        shape[axis] = len(place)
        values.update(loop.values(place.reshape(shape)))
    return _Scope(scope, values, (*map(len, places), *scope.lanes))


def _tree(name: str, elements: np.ndarray) -> np.ndarray:
    """Combine along the first axis by repeated halving."""
    while len(elements) > 1:
        half = len(elements) // 2
        pairs = apply(name, [elements[:half], elements[half:2 * half]], elements.dtype)
        elements = np.concatenate([pairs, elements[2 * half:]])
    return elements[0]


def _strict(node: Node) -> tuple[Node, ...]:
    """The parts that are always evaluated: not the arms of a select, nor the body of a fold."""
    if isinstance(node, Op) and node.name == "select":
        return node.args[:1]
    return node.init if isinstance(node, Fold) else children(node)
