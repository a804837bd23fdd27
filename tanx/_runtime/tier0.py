"""Tier 0: a whole jaxpr run by the ``eval`` rules of its primitives, without compiling anything.

The jaxpr is flattened once into a list of steps over numbered slots: calls are inlined, constants
and literals are in their slots, and each step knows which slots are dead after it. Running it
avoids what eager execution pays for each operation: types, dispatch, wrapping.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np

from .._core.array import Array
from .._core.jaxpr import ClosedJaxpr, Literal, cached_by_jaxpr
from .._core.primitive import Kind
from .._core.rewrite import inline_calls
from ..dtypes import float0
from .availability import no_native
from .donation import given_away, takers, warn_of_unusable
from .memory import check_rank

__all__ = ["Interpreted", "Program", "interpreted", "program_of"]


# Results of steps that depend on no argument are kept if they have no more elements than this.
KEPT_ELEMENTS = 1 << 14


class Program:
    """A jaxpr as steps over slots. ``runnable`` is False if it contains calls without a body.

    ``known`` are arguments that are the same in all runs, by their positions.
    """

    __slots__ = ("steps", "slots", "outputs", "count", "runnable")

    def __init__(self, closed: ClosedJaxpr, known: Mapping[int, np.ndarray] | None = None):
        inlined = inline_calls(closed, _body)
        jaxpr = inlined.jaxpr
        self.runnable = all(e.primitive.kind is not Kind.CALL for e in jaxpr.eqns)
        self.count = len(jaxpr.invars)
        self.slots: list = [None] * self.count + [x._value if type(x) is Array else x
                                                  for x in inlined.consts]
        for i, value in (known or {}).items():
            self.slots[i] = value
        position: dict = {v: i for i, v in enumerate((*jaxpr.invars, *jaxpr.constvars))}

        def slot(atom) -> int:
            if type(atom) is Literal:
                self.slots.append(np.asarray(atom.val))
                return len(self.slots) - 1
            if atom not in position:
                position[atom] = len(self.slots)
                self.slots.append(None)
            return position[atom]

        self.steps: list = []
        for eqn, last in zip(jaxpr.eqns, jaxpr.last_uses(), strict=True):
            ins = tuple(map(slot, eqn.invars))
            if self.runnable and self._fold(eqn, ins, slot):
                continue
            if (taken := self._taken(eqn, ins)) is not None and eqn.invars[taken] in last:
                position[eqn.outvars[0]] = ins[taken]
                continue
            several = eqn.primitive.multiple_results
            out = tuple(map(slot, eqn.outvars)) if several else slot(eqn.outvars[0])
            dead = tuple(i for i in map(slot, last) if self.slots[i] is None)
            self.steps.append((_rule(eqn), _taking(ins), out, dead))
        self.outputs = [(slot(v), v.aval) for v in jaxpr.outvars]

    def _fold(self, eqn, ins: tuple[int, ...], slot) -> bool:
        """Run a step now if it depends on no argument and its result is small."""
        if eqn.primitive.multiple_results or eqn.effects or any(
                self.slots[i] is None for i in ins) or eqn.outvars[0].aval.size > KEPT_ELEMENTS:
            return False
        values = [self.slots[i] for i in ins]
        with np.errstate(all="ignore"):
            self.slots[slot(eqn.outvars[0])] = np.asarray(eqn.primitive.eval(*values, **eqn.params))
        return True

    def _taken(self, eqn, ins: tuple[int, ...]) -> int | None:
        """The number of the operand that a choice selects, if it is known."""
        which = getattr(eqn.primitive, "taken", None)
        first = self.slots[ins[0]] if ins else None
        return None if which is None or first is None or first.ndim else (
            which(first, len(ins) - 1))

    def run(self, operands: list) -> list:
        """The results, given the arguments; NumPy may warn."""
        values = self.slots.copy()
        values[:self.count] = [x._value if type(x) is Array else x for x in operands]
        for function, operands_in, out, dead in self.steps:
            result = function(*operands_in(values))
            if type(out) is int:
                values[out] = result if type(result) is np.ndarray else np.asarray(result)
            else:
                for i, y in zip(out, result, strict=True):
                    values[i] = y._value if type(y) is Array else np.asarray(y)
            for i in dead:
                values[i] = None
        return [operands[i] if i < self.count and type(operands[i]) is Array
                else values[i] if aval.dtype == float0  # NumPy's, as derivatives are
                else Array(values[i], False, aval) for i, aval in self.outputs]


def _rule(eqn) -> Callable:
    """The function that computes an equation's results from NumPy arrays."""
    primitive, types = eqn.primitive, [a.aval for a in eqn.invars]
    if primitive.prepared is not None and (
            prepared := primitive.prepared(*types, **eqn.params)) is not None:
        return prepared
    rule = partial(primitive.eval, **eqn.params) if eqn.params else primitive.eval
    if primitive.kind is not Kind.CALL:
        return rule
    several = primitive.multiple_results

    def call(*operands):
        """Calls run functions, which must see that keys are keys."""
        outs = rule(*(Array(x, False, t) for x, t in zip(operands, types)))
        return [_data(y) for y in outs] if several else _data(outs)
    return call


def _data(x) -> np.ndarray:
    return x._value if type(x) is Array else np.asarray(x)


def _taking(places: tuple[int, ...]) -> Callable[[list], Sequence]:
    """A function that takes the values at some positions of a list, in C."""
    if len(places) > 1:
        return itemgetter(*places)
    return itemgetter(slice(places[0], places[0] + 1) if places else slice(0))


def _body(eqn) -> ClosedJaxpr | None:
    """The jaxpr that a call runs on its operands."""
    return eqn.primitive.body([a.aval for a in eqn.invars], eqn.params)


program_of = cached_by_jaxpr(Program)


class Interpreted:
    """A function that tier 0 runs, instead of an executable; see ``executable.py``."""

    def __init__(self, closed: ClosedJaxpr, donated: tuple[bool, ...] = ()):
        self.closed, self.program = closed, program_of(closed)
        for aval in closed.out_avals:
            check_rank("tanx.jit", aval)
        self.taken, unusable = takers(closed, donated)
        if unusable:
            warn_of_unusable(unusable)

    def run(self, operands: Sequence[Array | np.ndarray]) -> list[Array]:
        """The results, given the arguments. Data of NumPy arrays is copied."""
        given = given_away(operands, self.taken)
        values = [x if type(x) is Array else np.array(x) for x in operands]
        results: list[Any] = self.program.run(values)
        for i in given:
            array = operands[i]
            assert isinstance(array, Array)  # NumPy's arrays are never given away
            kept = Array(array._value, False, array.aval)
            results = [kept if result is array else result for result in results]
            array.delete()
        return results

    @property
    def cost(self):
        """Operations and bytes of one run of the compiled code, if there were any."""
        from .._compiler.pipeline import build
        return build(self.closed).cost

    def __getattr__(self, name: str):
        """Attributes that only executables have, such as the size of their code."""
        if name in ("arena_size", "code", "constants", "overwritten"):
            raise no_native("tanx.stages.Compiled", "this function was made without it")
        raise AttributeError(name)


interpreted = cached_by_jaxpr(Interpreted)
