"""Turn loops with small bodies into nests: the statements of the body in one loop of one function.

Statements then share what a step computes, and elements that each step overwrites stay in
registers. A body with much work per step is better as a program of its own, with tiles and threads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod

from .._loops.build import const, nest, store, temp, unflatten_index
from .._loops.expr import Expr, Load, flatten_index, fresh_index
from .._loops.nest import (
    PARALLEL,
    SEQUENTIAL,
    TASKS,
    Buffer,
    Call,
    Loop,
    Nest,
    Program,
    Statement,
    Store,
)
from .._loops.traverse import statements_in
from .cost import cost, nbytes
from .machine import Machine
from .nest_tools import rename, replace_loads
from .schedule.tiles import is_tiled

__all__ = ["flattened"]


def flattened(loop: Loop, machine: Machine) -> list[Statement] | None:
    """The statements that replace a loop; None if it should stay as it is."""
    program = loop.body.program
    if not loop.count or not _is_simple(program, machine) or (
            not loop.carried and loop.count * sum(map(nbytes, program.temps))
            > machine.tuning.flatten.temporaries):
        return None
    flat = _Flat(loop)
    if not flat.fits(machine.tuning.flatten.copied):
        return None
    body = [flat.moved(statement) for statement in program.statements] + flat.copies
    if not loop.carried:
        body = [inner for statement in body for inner in _opened(statement)]
    return [Nest((flat.step,), (SEQUENTIAL if loop.carried else PARALLEL,), tuple(body))]


def _opened(statement: Statement) -> tuple[Statement, ...]:
    """The statements of a nest without loops, which then run in lanes of the surrounding loop.

    A branch between two functions of a number is an example: for a million lanes, each of which
    computes an exponential or not, this takes 0.5 ms instead of 21 (two x86-64 cores).
    """
    if isinstance(statement, Nest) and not statement.indices and all(
            isinstance(inner, Store) for inner in statement.body):
        return statement.body
    return (statement,)


def _is_simple(program: Program, machine: Machine) -> bool:
    """Whether a program consists of small nests."""
    tuning = machine.tuning.flatten
    if len(program.statements) > tuning.statements or (
            cost(program).seconds(machine.rates) > tuning.small):
        return False
    return not any(isinstance(s, Call) or isinstance(s, Nest) and TASKS in s.kinds
                   for s in statements_in(program.statements)) and not any(
        is_tiled(s) for s in program.statements)


class _Flat:
    """A loop that is being flattened: which buffers replace those of its body."""

    def __init__(self, loop: Loop):
        self.loop, program = loop, loop.body.program
        self.step = fresh_index(loop.count or 0, "s")
        row = (loop.count or 0) - 1 - self.step if loop.reverse else self.step
        _, constants, carries, read, filled = loop.parts
        first = len(constants)
        # Names of the body may also be used outside, so buffers of the body are renamed first.
        self.own: dict[Buffer, Buffer] = {b: temp(f"s.{b.name}", b.shape, b.dtype) for b in (
            *program.inputs, *program.outputs, *program.temps)}
        inputs, outputs = ([self.own[b] for b in buffers]
                           for buffers in (program.inputs, program.outputs))
        self.names: dict[Buffer, Buffer] = dict(zip(inputs, (*constants, *carries)))
        self.rows: dict[Buffer, Callable[[tuple[Expr, ...]], Load]] = {
            inner: _row(inner, array, row, skipped) for inner, array, skipped in (
                *zip(inputs[first + loop.carried:], read, loop.starts),
                *((inner, array, 0) for inner, array in zip(outputs[loop.carried:], filled)))}
        if not loop.carried:  # steps run in parallel, and must not share temporaries
            for t in program.temps:
                own = self.own[t]
                every = temp(f"{own.name}.all", (loop.count or 0, *t.shape), t.dtype)
                self.rows[own] = _row(own, every, self.step)
        self.copies: list[Statement] = []
        for inner, own, carry in zip(program.outputs, outputs, carries):
            if inner not in loop.body.shared:
                self.copies.append(_copy(carry, own))
            elif own.shape == carry.shape:
                self.names[own] = carry
            else:
                self.rows[own] = _row(own, carry, const(0))

    def fits(self, copied: int) -> bool:
        """Whether all carries are updated in place, or small enough to be copied."""
        program, carries = self.loop.body.program, self.loop.parts[2]
        return all(inner in self.loop.body.shared or nbytes(carry) <= copied
                   for inner, carry in zip(program.outputs, carries))

    def moved(self, statement: Statement) -> Statement:
        """A statement of the body, on the surrounding buffers."""
        statement = rename(statement, self.own)
        statement = replace_loads(statement, self.rows, lambda load: self.rows[load.buffer](
            load.index))
        return self.stored(rename(statement, self.names))

    def stored(self, statement: Statement) -> Statement:
        """The statement with its stores redirected to rows."""
        if isinstance(statement, Nest):
            return replace(statement, body=tuple(map(self.stored, statement.body)))
        if isinstance(statement, Store) and statement.buffer in self.rows:
            target = self.rows[statement.buffer](statement.index)
            return replace(statement, buffer=target.buffer, index=target.index)
        return statement


def _copy(carry: Buffer, inner: Buffer) -> Nest:
    """Store a carry; its shape may differ, with the elements in the same order."""
    element = _row(carry, inner, const(0))
    return nest(carry.shape, lambda at: [store(carry, at, element(at))])


def _row(inner: Buffer, array: Buffer, row: Expr, skipped: int = 0,
         ) -> Callable[[tuple[Expr, ...]], Load]:
    """Where an element of a row is in the array; shapes may differ, with the same element order."""
    size = prod(inner.shape)

    def element(index: tuple[Expr, ...]) -> Load:
        rows = array.shape and array.shape[1:] == inner.shape
        if rows and skipped % max(1, size) == 0:
            return Load(array, (row + skipped // max(1, size), *index))
        place = row * size + flatten_index(index, inner.shape) + skipped
        return Load(array, unflatten_index(place, array.shape))
    return element
