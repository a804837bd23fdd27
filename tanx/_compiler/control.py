"""Loops and branches as statements: the equations of ``scan``, ``while`` and ``cond``.

What they run are programs of their own, with a plan of their own. A carry is copied into the
result's buffer and changed there; the copy goes away if nobody needs the first value any more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from .._core.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn
from .._loops import build
from .._loops.build import Operand
from .._loops.library import has_effects
from .._loops.nest import Branch, Buffer, Loop, Plan, Statement
from .._loops.traverse import written
from .codegen.control import room_of_branch, room_of_loop
from .cost import cost, nbytes
from .flatten import flattened
from .stages import elements, rename

__all__ = ["LOWERED", "Inner", "Inside"]


class Inside(NamedTuple):
    """The plan of a body, and statements to be run before on its constants.

    Inputs of the program that have the names of temporaries which those statements fill come behind
    the other constants.
    """

    plan: Plan
    before: Sequence[Statement] = ()


class Inner(Protocol):
    """Makes the plan of a body, given which inputs its outputs should overwrite, by numbers, and of
    a loop how many of its first inputs are the same in each step."""

    def __call__(self, closed: ClosedJaxpr, overwriting: Mapping[int, int],
                 constants: int | None = None, /) -> Inside: ...

_GRAIN = 3e-5
"""Seconds that a task should take at least."""
_TASKS = 64
"""Tasks of a loop at most."""
_ARENAS = 1 << 26
"""Bytes that the arenas of the tasks of a loop may take together."""
_WORTH = 1024
"""Bytes from which on an array is worth being changed where it is by a branch."""

_Array = Buffer | Operand


class _Writer:
    """The statements of one equation."""

    def __init__(self) -> None:
        self.statements: list[Statement] = []

    def copy(self, target: Buffer, x: _Array) -> None:
        self.statements.append(elements(target.shape, lambda at: [build.store(target, at, x[at])]))

    def stored(self, operands: Sequence[_Array]) -> list[Buffer]:
        """Operands as buffers; numbers get one."""
        found = []
        for x in operands:
            if not isinstance(x, Buffer):
                number, x = x, build.temp(f"n{len(self.statements)}", x.shape, x.dtype)
                self.copy(x, number)
            found.append(x)
        return found

    def constants(self, inside: Inside, given: Sequence[_Array]) -> list[Buffer]:
        """The constants of a body: what is given, and what is made of it before the loop."""
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


def _scan(into: Sequence[Buffer], operands: Sequence[_Array], views: Sequence[_Array],
          inner: Inner, *, jaxpr: ClosedJaxpr, length: int, num_consts: int, num_carry: int,
          reverse: bool, skipped: Sequence[int], **params: Any) -> list[Statement]:
    write = _Writer()
    inside = inner(jaxpr, {num_consts + n: n for n in range(num_carry)}, num_consts)
    body, constants = inside.plan, write.constants(inside, operands[:num_consts])
    rows = write.stored(views[num_consts + num_carry:])  # the shape does not matter to rows
    carries = into[:num_carry]
    for target, x in zip(carries, operands[num_consts:]):
        write.copy(target, x)
    in_order = num_carry or has_effects(*body.program.statements)
    tasks = 1 if in_order else _tasks(body, length)
    room = room_of_loop(body, None, num_carry, tasks)
    loop = Loop((*into, _room(room.size)), (*constants, *carries, *rows), body, num_carry,
                rows=len(rows), count=length, reverse=reverse, tasks=tasks,
                skipped=tuple(skipped[num_consts + num_carry:]))
    write.statements += flattened(loop) or [loop]
    return write.statements


def _tasks(body: Plan, length: int) -> int:
    """How many tasks a loop is worth whose steps are apart."""
    wanted = int(cost(body.program).seconds * length / _GRAIN)
    room = _ARENAS // max(1, body.size)
    tasks = max(1, min(_TASKS, wanted, length, room))
    return -(-length // -(-length // tasks)) if length else 1  # none without steps


def _while(into: Sequence[Buffer], operands: Sequence[_Array], views: Sequence[_Array],
           inner: Inner, *, cond_jaxpr: ClosedJaxpr, cond_nconsts: int, body_jaxpr: ClosedJaxpr,
           body_nconsts: int, **params: Any) -> list[Statement]:
    write = _Writer()
    inside = inner(body_jaxpr, {body_nconsts + n: n for n in range(len(into))}, body_nconsts)
    asked = inner(cond_jaxpr, {}, cond_nconsts)
    body, condition = inside.plan, asked.plan
    tests = write.constants(asked, operands[:cond_nconsts])
    constants = write.constants(inside, operands[cond_nconsts:cond_nconsts + body_nconsts])
    for target, x in zip(into, operands[cond_nconsts + body_nconsts:], strict=True):
        write.copy(target, x)
    room = room_of_loop(body, condition, len(into), 1)
    write.statements.append(Loop(
        (*into, _room(room.size)), (*tests, *constants, *into), body, len(into), condition,
        len(tests)))
    return write.statements


def _cond(into: Sequence[Buffer], operands: Sequence[_Array], views: Sequence[_Array],
          inner: Inner, *, branches: tuple[ClosedJaxpr, ...], **params: Any) -> list[Statement]:
    write = _Writer()
    pairs = _changed_in_place([b.jaxpr for b in branches], into)
    order = [*(n for n in range(len(operands) - 1) if n not in pairs), *pairs]
    results = [*pairs.values(), *(n for n in range(len(into)) if n not in pairs.values())]
    plain = len(order) - len(pairs)
    bodies = tuple(inner(_rearranged(b, order, results), {
        plain + n: n for n in range(len(pairs))}).plan for b in branches)
    given = write.stored([views[0], *(views[1 + n] for n in order[:plain])])
    carries = [into[n] for n in pairs.values()]
    for target, n in zip(carries, pairs):
        write.copy(target, operands[1 + n])
    room = room_of_branch(bodies, len(pairs))
    write.statements.append(Branch(
        (*(into[n] for n in results), _room(room.size)), (*given, *carries), bodies, len(pairs)))
    return write.statements


def _changed_in_place(branches: Sequence[Jaxpr], into: Sequence[Buffer]) -> dict[int, int]:
    """Operands that are large results, but for elements that a branch changes: their numbers."""
    pairs: dict[int, int] = {}
    for number, target in enumerate(into):
        if nbytes(target) < _WORTH:
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
    """The array of which an array is a changed copy, going back as far as that is so."""
    makers: dict[Atom, JaxprEqn] = {v: eqn for eqn in jaxpr.eqns for v in eqn.outvars}
    while atom in makers and (makers[atom].primitive.name.startswith("scatter")
                              or makers[atom].primitive.name == "dynamic_update_slice"):
        atom = makers[atom].invars[0]
    return atom


def _rearranged(closed: ClosedJaxpr, order: Sequence[int], results: Sequence[int]) -> ClosedJaxpr:
    jaxpr = closed.jaxpr
    return ClosedJaxpr(jaxpr.replace(invars=[jaxpr.invars[n] for n in order],
                                     outvars=[jaxpr.outvars[n] for n in results]), closed.consts)


LOWERED: dict[str, Callable[..., list[Statement]]] = {
    "scan": _scan, "while": _while, "cond": _cond}
"""The statements of equations by the names of their primitives.

They take the results' buffers, the operands, and these as the arrays of which they are views.
"""
