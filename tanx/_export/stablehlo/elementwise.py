"""Primitives element by element: the expressions of ``lower`` rules as operations on arrays.

An expression describes one element of the result; here it is evaluated for all elements at once. An
index is an iota, a load at the indices of the result is the operand itself, any other load is a
gather, and a loop runs until it has ended for all elements.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from ..._loops.expr import Const, Expr, Fold, Index, Load, Op, Pick, Variable, While
from ..._loops.instructions import INDEX
from ..._loops.nest import Buffer, Nest, Store
from .block import Block, Type, Value
from .control import while_loop
from .instructions import instruction
from .special import EXPANDED

__all__ = ["by_elements", "by_stores"]

_COUNTER = Type((), INDEX)


def by_elements(block: Block, lower: Callable, outs: Sequence[Type], operands: Sequence[Value],
                params: Mapping[str, Any]) -> list[Value]:
    """Write the operations of a primitive whose ``lower`` is an expression for each element."""
    (shape,) = {out.shape for out in outs}
    at = tuple(Index(f"i{d}", n) for d, n in enumerate(shape))
    arrays = [Buffer(x.name, x.shape, x.dtype) for x in operands]
    made = lower(at, *arrays, **params)
    elements = _Elements(block, shape, {x.name: x for x in operands}, at)
    return [elements.value(e) for e in (made if isinstance(made, tuple | list) else (made,))]


def by_stores(block: Block, lower: Callable, outs: Sequence[Type], operands: Sequence[Value],
              params: Mapping[str, Any]) -> list[Value] | None:
    """As :func:`by_elements`, for statements that store each element once; None for others."""
    into = [Buffer(f"out{n}", out.shape, out.dtype, "output") for n, out in enumerate(outs)]
    arrays = [Buffer(x.name, x.shape, x.dtype) for x in operands]
    made: dict[Buffer, Value] = {}
    for statement in lower(into, *arrays, **params):
        match statement:
            case Nest(at, _, (Store(buffer, index, value, None, None),)) if (
                    index == at and buffer in into and buffer not in made):
                elements = _Elements(block, buffer.shape, {x.name: x for x in operands}, at)
                made[buffer] = elements.value(value)
            case _:
                return None
    return [made[buffer] for buffer in into]


class _Elements:
    """Expressions being written, and the arrays of the ones written so far.

    All arrays have the shape of the result. The body of a loop also uses the arrays around it.
    """

    def __init__(self, block: Block, shape: tuple[int, ...], operands: Mapping[str, Value],
                 at: tuple[Index, ...], outer: _Elements | None = None):
        self.block, self.shape, self.operands, self.at = block, shape, operands, at
        self.outer = outer
        self.known: dict[Any, Value] = {}
        self.loops: dict[Fold, list[Value]] = {}
        self.simpler: dict[Op, Expr] = {}

    def found(self, expr: Expr) -> Value | None:
        """The array of an expression that is already written."""
        scope: _Elements | None = self
        while scope is not None:
            if expr in scope.known:
                return scope.known[expr]
            scope = scope.outer
        return None

    def value(self, expr: Expr) -> Value:
        """The array of an expression, written after its parts."""
        stack = [expr]
        while stack:
            node = stack[-1]
            if self.found(node) is not None:
                stack.pop()
                continue
            parts, finish = self._parts(node)
            waiting = [part for part in parts if self.found(part) is None]
            if waiting:
                stack += reversed(waiting)
            else:
                self.known[node] = finish(*map(self.found, parts))
                stack.pop()
        found = self.found(expr)
        assert found is not None
        return found

    def _parts(self, node: Expr) -> tuple[Sequence[Expr], Any]:
        """The parts of an expression, and the function that computes its array from theirs."""
        match node:
            case Const():
                return (), lambda: self.block.constant(node.value, self._type(node))
            case Index():
                return (), lambda: self.block.iota(self._type(node), self.at.index(node))
            case Op() if node.name in EXPANDED:
                return (self._expanded(node),), lambda x: x
            case Op():
                return node.args, lambda *args: instruction(
                    self.block, node.name, self._type(node), *args, **dict(node.attrs))
            case Load():
                operand = self.operands[node.buffer.name]
                places = self._places(node)
                if places is not None:
                    return (), lambda: self._spread(operand, places)
                return node.index, lambda *index: self._gathered(operand, index)
            case Pick(fold=fold):
                return fold.init, lambda *init: self._loop(fold, init)[node.position]
        raise AssertionError(f"an expression without a form: {node!r}")

    def _expanded(self, node: Op) -> Expr:
        """The parts of an instruction; computed once, because loops have new states each time."""
        if node not in self.simpler:
            self.simpler[node] = EXPANDED[node.name](*node.args, **dict(node.attrs))
        return self.simpler[node]

    def _type(self, node: Expr) -> Type:
        return Type(self.shape, node.dtype)

    # -- loads -------------------------------------------------------------------------------------

    def _places(self, load: Load) -> list[int | None] | None:
        """For each dimension of an operand, the dimension of the result that it follows, if any."""
        places: list[int | None] = []
        for i, n in zip(load.index, load.buffer.shape):
            if i in self.at and self.shape[self.at.index(i)] == n:
                places.append(self.at.index(i))
            elif n == 1:
                places.append(None)
            else:
                return None
        kept = [p for p in places if p is not None]
        return places if kept == sorted(set(kept)) else None

    def _spread(self, x: Value, places: list[int | None]) -> Value:
        """An operand repeated along the dimensions of the result that it lacks."""
        kept = [p for p in places if p is not None]
        x = self.block.reshape(x, [n for n, p in zip(x.shape, places) if p is not None])
        return self.block.broadcast(x, self.shape, kept)

    def _gathered(self, x: Value, index: Sequence[Value]) -> Value:
        """The elements of an operand at computed indices."""
        block, rank = self.block, len(self.shape)
        if not prod(self.shape) or not prod(x.shape):
            return block.constant(0, Type(self.shape, x.dtype))
        columns = [block.reshape(i, (*self.shape, 1)) for i in index]
        numbers = ("#stablehlo.gather<collapsed_slice_dims = "
                   f"{list(range(x.ndim))}, start_index_map = {list(range(x.ndim))}, "
                   f"index_vector_dim = {rank}>")
        return block.generic(
            "gather", [x, block.concatenate(columns, rank)], [Type(self.shape, x.dtype)],
            {"dimension_numbers": numbers, "indices_are_sorted": "false",
             "slice_sizes": block.integers([1] * x.ndim)})[0]

    # -- loops -------------------------------------------------------------------------------------

    def _loop(self, fold: Fold, init: Sequence[Value]) -> list[Value]:
        """The last states of a loop of elements."""
        if fold not in self.loops:
            self.loops[fold] = (self._while(fold, init) if isinstance(fold, While)
                                else self._counted(fold, init))
        return self.loops[fold]

    def _inside(self, block: Block, states: Mapping[Variable, Value]) -> _Elements:
        inner = _Elements(block, self.shape, self.operands, self.at, self)
        inner.known.update(states)
        return inner

    def _while(self, loop: While, init: Sequence[Value]) -> list[Value]:
        """Steps while any element continues; elements that have ended keep their states."""

        def goes_on(block: Block, state: list[Value]) -> Value:
            return self._inside(block, dict(zip(loop.states, state))).value(loop.condition)

        def condition(block: Block, state: list[Value]) -> Value:
            return _any(block, goes_on(block, state))

        def step(block: Block, state: list[Value]) -> list[Value]:
            inner = self._inside(block, dict(zip(loop.states, state)))
            active = inner.value(loop.condition)
            return [block.select(active, inner.value(e), old)
                    for e, old in zip(loop.body, state)]

        return while_loop(self.block, list(init), condition, step)

    def _counted(self, fold: Fold, init: Sequence[Value]) -> list[Value]:
        """A loop over indices, the last one fastest."""
        extents = [i.extent for i in fold.indices]

        def condition(block: Block, state: list[Value]) -> Value:
            return block.compare("LT", state[0], block.constant(prod(extents), _COUNTER))

        def step(block: Block, state: list[Value]) -> list[Value]:
            number, *states = state
            indices: dict[Variable, Value] = {}
            for n, i in enumerate(fold.indices):
                below = block.constant(max(1, prod(extents[n + 1:])), _COUNTER)
                count = block.constant(max(1, i.extent), _COUNTER)
                place = block.same("remainder", block.same("divide", number, below), count)
                indices[i] = block.broadcast(place, self.shape)
            inner = self._inside(block, {**indices, **dict(zip(fold.states, states))})
            after = block.same("add", number, block.constant(1, _COUNTER))
            return [after, *(inner.value(e) for e in fold.next)]

        start = [self.block.constant(0, _COUNTER), *init]
        return while_loop(self.block, start, condition, step)[1:]


def _any(block: Block, x: Value) -> Value:
    """Whether any element holds."""
    no = block.constant(False, Type((), np.dtype(bool)))
    result = Type((), np.dtype(bool))
    return block.write(f"stablehlo.reduce({x} init: {no}) applies stablehlo.or across dimensions = "
                       f"{list(range(x.ndim))} : ({x.type}, {no.type}) -> {result}", result)[0]
