"""Loops and branches as statements: equations whose primitives have a ``flow``.

They run separate programs, each with its own plan. A carry is copied into the buffer of the result
and updated there; the copy is dropped if the initial value is dead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from .._base.tuples import NamedTuple
from .._core.flow import Choice, Flow, ForLoop, WhileLoop
from .._core.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn
from .._loops import build
from .._loops.build import Operand
from .._loops.nest import Branch, Buffer, Loop, Plan, Statement
from .._loops.traverse import has_effects, written
from .cost import cost, nbytes
from .flatten import flattened
from .flow_memory import room_of_branch, room_of_loop
from .machine import Machine
from .nest_tools import elements, rename
from .tuning import FlowTuning

__all__ = ["Inner", "Inside", "Source", "statements_of"]


class Inside(NamedTuple):
    """The plan of a body for a machine, and statements to run before the loop on its constants.

    Inputs of the program with the names of temporaries that those statements fill come after the
    other constants.
    """

    plan: Plan
    machine: Machine
    before: Sequence[Statement] = ()


class Inner(Protocol):
    """Makes the plan of a body. It gets the inputs that outputs should overwrite, by number, and
    for a loop how many of the first inputs are the same in each step."""

    def __call__(self, closed: ClosedJaxpr, overwriting: Mapping[int, int],
                 constants: int | None = None, /) -> Inside: ...


_Array = Buffer | Operand


class Source(NamedTuple):
    """The array that an operand is a view of, and how many rows are skipped."""

    array: _Array
    skipped: int = 0


def statements_of(flow: Flow, into: Sequence[Buffer], operands: Sequence[_Array],
                  sources: Sequence[Source], inner: Inner, tuning: FlowTuning) -> list[Statement]:
    """The statements of a loop or branch; operands may be read from the arrays they are views
    of."""
    match flow:
        case ForLoop():
            return _for_loop(flow, into, operands, sources, inner, tuning)
        case WhileLoop():
            return _while_loop(flow, into, operands, inner)
        case Choice():
            return _choice(flow, into, operands, sources, inner, tuning)


class _Writer:
    """The statements of one equation."""

    def __init__(self) -> None:
        self.statements: list[Statement] = []

    def copy(self, target: Buffer, x: _Array) -> None:
        self.statements.append(elements(target.shape, lambda at: [build.store(target, at, x[at])]))

    def stored(self, operands: Sequence[_Array]) -> list[Buffer]:
        """Operands as buffers; literals get one."""
        found = []
        for x in operands:
            if not isinstance(x, Buffer):
                number, x = x, build.temp(f"n{len(self.statements)}", x.shape, x.dtype)
                self.copy(x, number)
            found.append(x)
        return found

    def constants(self, inside: Inside, given: Sequence[_Array]) -> list[Buffer]:
        """The constants of a body: those that are given, and those computed before the loop."""
        stored = self.stored(given)
        inputs = inside.plan.program.inputs
        names = dict(zip(inputs, stored))
        made = written(inside.before)
        number = len(self.statements)
        names.update((b, build.temp(f"{b.name}.{number}", b.shape, b.dtype)) for b in made)
        self.statements += [rename(s, names) for s in inside.before]
        by_name = {b.name: names[b] for b in made}
        return stored + [by_name[b.name] for b in inputs[len(stored):] if b.name in by_name]


def _room(size: int) -> Buffer:
    return build.temp("room", (size,), np.uint8)


def _for_loop(flow: ForLoop, into: Sequence[Buffer], operands: Sequence[_Array],
              sources: Sequence[Source], inner: Inner, tuning: FlowTuning) -> list[Statement]:
    write = _Writer()
    first, carried = flow.constants, flow.carries
    given, init, _ = flow.split(operands)
    *_, stacks = flow.split(sources)  # only the rows of their shapes matter
    inside = inner(flow.body, {first + n: n for n in range(carried)}, first)
    body, constants = inside.plan, write.constants(inside, given)
    rows = write.stored([source.array for source in stacks])
    carries = into[:carried]
    for target, x in zip(carries, init):
        write.copy(target, x)
    in_order = carried or has_effects(*body.program.statements)
    tasks = 1 if in_order else _tasks(body, flow.length, inside.machine)
    room = room_of_loop(body, None, carried, tasks)
    loop = Loop((*into, _room(room.size)), (*constants, *carries, *rows), body, carried,
                rows=len(rows), count=flow.length, reverse=flow.reverse, tasks=tasks,
                skipped=tuple(source.skipped for source in stacks))
    write.statements += flattened(loop, inside.machine) or [loop]
    return write.statements


def _tasks(body: Plan, length: int, machine: Machine) -> int:
    """How many tasks a loop with independent steps is worth."""
    tuning = machine.tuning.flow
    wanted = int(cost(body.program).seconds(machine.rates) * length / tuning.grain)
    room = tuning.arenas // max(1, body.size)
    tasks = max(1, min(tuning.tasks, wanted, length, room))
    return -(-length // -(-length // tasks)) if length else 1  # none without steps


def _while_loop(flow: WhileLoop, into: Sequence[Buffer], operands: Sequence[_Array],
                inner: Inner) -> list[Statement]:
    write = _Writer()
    for_condition, for_body, init = flow.split(operands)
    first = flow.body_constants
    inside = inner(flow.body, {first + n: n for n in range(len(into))}, first)
    asked = inner(flow.condition, {}, flow.condition_constants)
    body, condition = inside.plan, asked.plan
    tests = write.constants(asked, for_condition)
    constants = write.constants(inside, for_body)
    for target, x in zip(into, init, strict=True):
        write.copy(target, x)
    room = room_of_loop(body, condition, len(into), 1)
    write.statements.append(Loop(
        (*into, _room(room.size)), (*tests, *constants, *into), body, len(into), condition,
        len(tests)))
    return write.statements


def _choice(flow: Choice, into: Sequence[Buffer], operands: Sequence[_Array],
            sources: Sequence[Source], inner: Inner, tuning: FlowTuning) -> list[Statement]:
    write = _Writer()
    pairs = _changed_in_place([b.jaxpr for b in flow.branches], into, tuning)
    order = [*(n for n in range(len(operands) - 1) if n not in pairs), *pairs]
    results = [*pairs.values(), *(n for n in range(len(into)) if n not in pairs.values())]
    plain = len(order) - len(pairs)
    bodies = tuple(inner(_rearranged(b, order, results), {
        plain + n: n for n in range(len(pairs))}).plan for b in flow.branches)
    given = write.stored([sources[0].array, *(sources[1 + n].array for n in order[:plain])])
    carries = [into[n] for n in pairs.values()]
    for target, n in zip(carries, pairs):
        write.copy(target, operands[1 + n])
    room = room_of_branch(bodies, len(pairs))
    write.statements.append(Branch(
        (*(into[n] for n in results), _room(room.size)), (*given, *carries), bodies, len(pairs)))
    return write.statements


def _changed_in_place(branches: Sequence[Jaxpr], into: Sequence[Buffer], tuning: FlowTuning,
                      ) -> dict[int, int]:
    """The numbers of operands that are large results in which a branch updates some elements."""
    pairs: dict[int, int] = {}
    for number, target in enumerate(into):
        if nbytes(target) < tuning.in_place:
            continue
        for branch in branches:
            source = _origin(branch, branch.outvars[number])
            found = next((n for n, v in enumerate(branch.invars) if v is source), None)
            if found is not None and found not in pairs and all(
                    b.invars[found].aval.shape == target.shape for b in branches):
                pairs[found] = number
                break
    return pairs


def _origin(jaxpr: Jaxpr, atom: Atom) -> Atom:
    """The original array of a chain of updated copies."""
    makers: dict[Atom, JaxprEqn] = {v: eqn for eqn in jaxpr.eqns for v in eqn.outvars}
    while atom in makers and makers[atom].primitive.update_operand is not None:
        atom = makers[atom].invars[0]
    return atom


def _rearranged(closed: ClosedJaxpr, order: Sequence[int], results: Sequence[int]) -> ClosedJaxpr:
    jaxpr = closed.jaxpr
    return ClosedJaxpr(jaxpr.replace(invars=[jaxpr.invars[n] for n in order],
                                     outvars=[jaxpr.outvars[n] for n in results]), closed.consts)
