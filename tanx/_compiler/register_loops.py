"""Loops and branches whose values fit into registers, as nests.

If the elements of a loop's carries do not depend on each other, or are few, the loop is an
expression (``per_element.py``), and ordinary nests store its results: they are fused, and run in
lanes and in threads like any others. A loop that stores a row in each step becomes a sequential
nest::

    for i in 64 parallel:                        # the initial carries
        s0[i] = x0[i]
    for i in 64 parallel, k in 100 sequential:   # s0[i] stays in a register during the loop
        y1[k, i] = s0[i]
        s0[i] = s0[i] * 0.5:f32 + x1[k, i]

A loop without carries is a parallel loop around its body, which is lowered equation by equation
in that loop.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count, product
from math import prod
from typing import Any

from .._base.records import record
from .._core.flow import Choice, Flow, ForLoop, WhileLoop
from .._core.jaxpr import Atom, Jaxpr, JaxprEqn, Literal, jaxprs_in_params
from .._core.primitive import Kind
from .._loops import build
from .._loops.expr import Expr, Index, Load, Op, State, Variable
from .._loops.nest import PARALLEL, SEQUENTIAL, Buffer, Nest, Program, Statement, Store
from .._loops.traverse import substitute, walk
from ..dtypes import stored
from .bodies import is_control
from .cost import STEPS, cost
from .moving_reads import reads_move
from .nest_tools import find_loads, index_of, loops_of
from .per_element import (
    Around,
    Array,
    Inexpressible,
    Key,
    Recurrence,
    Steps,
    apart,
    choice_of,
    for_loop_of,
    number,
    results_of,
    row,
    while_loop_of,
)
from .tuning import RegisterTuning

__all__ = ["statements"]

_DEPTH = 20_000
"""Recursion depth for building the expressions of long bodies."""

At = tuple[Expr, ...]
Into = Sequence[Buffer | None]


def statements(eqn: JaxprEqn, operands: Sequence[Array], into: Into, tuning: RegisterTuning,
               ) -> list[Statement] | None:
    """The statements of a loop or branch in registers; None if it does not fit in registers.

    Unused results have no buffer in ``into``.
    """
    if eqn.effects or any(0 in out.shape for out in into if out is not None):
        return None
    flow = eqn.primitive.flow(eqn.params)
    if not isinstance(flow, Choice) and reads_move(
            flow, [out is not None for out in into], tuning.apart, tuning.long):
        return None
    with _deep_calls():
        try:
            lowering = _Lowering((), tuning)
            lowering.equation(eqn, operands, into)
        except (Inexpressible, RecursionError):
            return None
    spent = cost(Program((), (), (), tuple(lowering.statements)))
    effort = spent.flops + 10 * spent.transcendentals
    return lowering.statements if effort <= tuning.repeats * _effort(eqn) + tuning.little else None


@contextmanager
def _deep_calls() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _DEPTH))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _effort(eqn: JaxprEqn) -> float:
    """Roughly how many operations an equation takes."""
    inner = [sum(map(_effort, jaxpr.eqns)) for jaxpr in jaxprs_in_params(eqn.params)]
    if is_control(eqn):
        return _steps(eqn.primitive.flow(eqn.params)) * sum(inner)
    if eqn.primitive.name == "scratch":
        return 0
    changed = eqn.primitive.update_operand
    touched = [*eqn.outvars] if changed is None else [eqn.invars[changed]]  # in place, in a loop
    if eqn.primitive.kind not in (Kind.LAYOUT, Kind.GATHER) and changed is None:
        touched += eqn.invars
    return sum(inner) + max((prod(a.aval.shape) for a in touched), default=0)


def _steps(flow: Flow) -> int:
    """Roughly how often a body runs."""
    match flow:
        case ForLoop():
            return flow.length
        case WhileLoop():
            return STEPS
        case Choice():
            return 1


@record(frozen=False)
class _Group:
    """Elements to be stored in parallel loops of the same extents: after a loop, or in each
    step."""

    extents: tuple[int, ...]
    last: list[tuple[Key, Buffer]]
    each: list[tuple[Key, Buffer]]

    def take_apart(self, chosen: Iterable[Expr], split: dict[int, set[int]], depth: int,
                   tuning: RegisterTuning) -> bool:
        """Record the dimensions of rows along which elements are ``chosen``; whether there are any.

        The dimensions of a row come after ``depth`` others.
        """
        found = False
        along = frozenset().union(*(i.free for i in chosen))
        for (n, at), out in self.each:
            more = {d for d, i in enumerate(at)
                    if i in along and isinstance(i, Index) and i.extent <= tuning.apart}
            if not more <= split[n]:
                split[n] = apart(out.shape[depth:], more | split[n], tuning.lanes)
                found = True
        return found


class _Lowering:
    """Statements in parallel loops of extents ``axes``, which are leading dimensions of buffers."""

    def __init__(self, axes: tuple[int, ...], tuning: RegisterTuning):
        self.axes, self.tuning = axes, tuning
        self.place = index_of(axes)
        self.statements: list[Statement] = []

    @property
    def outer(self) -> Around:
        return Around(frozenset(loops_of(self.axes)), self.tuning)

    def equation(self, eqn: JaxprEqn, operands: Sequence[Array], into: Into) -> None:
        """Append the statements of a loop or branch on operands without the axes."""
        used = [out is not None for out in into]
        match eqn.primitive.flow(eqn.params):
            case Choice() as flow:
                self.branches(flow, operands, into)
            case WhileLoop() as flow:
                self.loop(while_loop_of(flow, operands, used, self.outer), into)
            case ForLoop(carries=0) as flow:
                self.mapped(flow, operands, into)
            case ForLoop(carries=carried) as flow:
                loop = for_loop_of(flow, operands, used, self.outer)
                self.loop(loop, into[:carried], into[carried:], flow.reverse)
                self.refuse_long_rows(flow.split(operands)[2], into[carried:])

    def refuse_long_rows(self, read: Sequence[Array], filled: Into) -> None:
        for x in (*read, *filter(None, filled)):
            size = prod(x.shape) * x.dtype.itemsize
            if not self.axes and size > self.tuning.rows_bytes and (
                    size // max(1, x.shape[0]) > self.tuning.row_bytes):
                raise Inexpressible

    # -- elements ----------------------------------------------------------------------------------

    def index(self, shape: Sequence[int], split: set[int]) -> Iterator[At]:
        """The indices of an array's elements, if some of its dimensions are taken apart."""
        whole = iter(index_of((*self.axes, *self.whole(shape, split)))[len(self.axes):])
        at = [None if d in split else next(whole) for d in range(len(shape))]
        for fixed in product(*(range(shape[d]) for d in sorted(split))):
            places = iter(fixed)
            yield tuple(build.const(next(places)) if i is None else i for i in at)

    def whole(self, shape: Sequence[int], split: set[int]) -> tuple[int, ...]:
        """The extents of the dimensions of an array that are not taken apart."""
        return tuple(n for d, n in enumerate(shape) if d not in split)

    def nest(self, extents: tuple[int, ...], stores: Sequence[Store]) -> None:
        """Append a parallel nest."""
        loops = loops_of((*self.axes, *extents))
        self.statements.append(Nest(loops, (PARALLEL,) * len(loops), tuple(stores)))

    def store(self, out: Buffer, at: At, value: Expr) -> Store:
        return build.store(out, (*self.place, *at), value)

    def branches(self, flow: Choice, operands: Sequence[Array], into: Into) -> None:
        arrays = choice_of(flow, operands, self.outer)
        wanted = [(out, x) for out, x in zip(into, arrays) if out is not None]
        if not self.axes and sum(prod(x.shape) for _, x in wanted) > self.tuning.apart:
            raise Inexpressible  # all elements take the same branch
        groups: dict[tuple[int, ...], list[Store]] = {}
        for out, x in wanted:
            stores = groups.setdefault(x.shape, [])
            stores += [self.store(out, at, x[at]) for at in self.index(x.shape, set())]
        for shape, stores in groups.items():
            self.nest(shape, stores)

    # -- loops -------------------------------------------------------------------------------------

    def loop(self, loop: Recurrence, into: Into, filled: Into = (), reverse: bool = False) -> None:
        """Store the final carries of a loop, and the rows that it fills step by step."""
        for group, steps in self.groups(loop, into, filled):
            if group.each:
                self.sequence(group, steps, reverse)
                continue
            loop.add(steps)
            self.nest(group.extents, [self.store(out, at, loop.element(n, at))
                                      for (n, at), out in group.last])

    def groups(self, loop: Recurrence, into: Into, filled: Into) -> list[tuple[_Group, Steps]]:
        """The elements to be stored, grouped by the loops around them, with their expressions.

        It takes a few attempts to find out which arrays must be taken apart.
        """
        depth = len(self.axes) + 1
        split = {n: apart(out.shape[depth:], (), self.tuning.lanes)
                 for n, out in enumerate(filled) if out is not None}
        while True:
            made = []
            for group in self.grouped(loop, into, filled, split):
                loop.chained.clear()
                steps = loop.steps([key for key, _ in group.last], [key for key, _ in group.each])
                if steps is None or group.take_apart(
                        loop.chained | _compared(steps.rows), split, depth, self.tuning):
                    break
                made.append((group, steps))
            else:
                return [(group, loop.settled(steps)) for group, steps in made]

    def grouped(self, loop: Recurrence, into: Into, filled: Into,
                split: Mapping[int, set[int]]) -> Iterable[_Group]:
        """The elements in groups, with rows taken apart along some dimensions."""
        groups: dict[tuple[int, ...], _Group] = {}

        def add(n: int, out: Buffer, shape: Sequence[int], split: set[int], row: bool) -> None:
            if 0 in shape:
                raise Inexpressible  # there is no element to carry
            extents = self.whole(shape, split)
            group = groups.setdefault(extents, _Group(extents, [], []))
            (group.each if row else group.last).extend(
                ((n, at), out) for at in self.index(shape, split))

        for n, out in enumerate(into):
            if out is not None:
                add(n, out, loop.init[n].shape, loop.split[n], False)
        for n, out in enumerate(filled):
            if out is not None:
                add(n, out, out.shape[len(self.axes) + 1:], split[n], True)
        return groups.values()

    def sequence(self, group: _Group, steps: Steps, reverse: bool) -> None:
        """The nests of a loop that stores rows."""
        extents = group.extents
        shape = (*self.axes, *extents)
        loops, place, k = loops_of(shape), index_of(shape), steps.index
        assert k is not None
        room = {state: _temp(shape, state.dtype)[place] for state in steps.states.values()}
        moved: dict[Variable, Expr] = dict(room.items())
        self.nest(extents, [Store(room[state].buffer, place, init)
                            for state, init in zip(room, steps.init)])
        at_row = k.extent - 1 - k if reverse else k
        body = [build.store(out, (*self.place, at_row, *at), substitute(value, moved))
                for ((_, at), out), value in zip(group.each, steps.rows)]
        body += _updates(room, [substitute(e, moved) for e in steps.next])
        self.statements.append(Nest((*loops, k), (PARALLEL,) * len(loops) + (SEQUENTIAL,),
                                    tuple(body)))
        final = {key: room[state] for key, state in steps.states.items()}
        final |= {key: value for key, (_, value) in steps.counters.items()}
        if group.last:
            self.nest(extents, [self.store(out, key[1], final[key]) for key, out in group.last])

    # -- loops without carries ---------------------------------------------------------------------

    def mapped(self, flow: ForLoop, operands: Sequence[Array], into: Into) -> None:
        """The body of a loop without carries, for all of its steps at once."""
        inside = _Lowering((*self.axes, flow.length), self.tuning)
        step = inside.place[-1]
        constants, _, arrays = flow.split(operands)
        rows = [row(x, (step,)) for x in arrays]
        inside.body(flow.body.jaxpr, [*constants, *rows], into)
        self.statements += inside.statements

    def body(self, jaxpr: Jaxpr, operands: Sequence[Array], into: Into) -> None:
        """Append the statements of all equations of a jaxpr."""
        if jaxpr.constvars:
            raise Inexpressible
        arrays: dict[Atom, Array] = dict(zip(jaxpr.invars, operands, strict=True))
        read = {a for eqn in jaxpr.eqns for a in eqn.invars}
        targets: dict[Atom, Buffer] = {}
        made = {v for eqn in jaxpr.eqns for v in eqn.outvars}
        for atom, out in zip(jaxpr.outvars, into):
            if out is not None and atom in made:
                targets.setdefault(atom, out)
        for eqn in jaxpr.eqns:
            given = [number(a) if isinstance(a, Literal) else arrays[a] for a in eqn.invars]
            outs = [targets.get(v) or (self.temp(v) if v in read else None) for v in eqn.outvars]
            arrays.update((v, row(out, self.place)) for v, out in zip(eqn.outvars, outs) if out)
            self.one(eqn, given, outs)
        for atom, out in zip(jaxpr.outvars, into):
            if out is not None and targets.get(atom) is not out:
                x = number(atom) if isinstance(atom, Literal) else arrays[atom]
                self.copy(out, x)

    def one(self, eqn: JaxprEqn, operands: Sequence[Array], into: Into) -> None:
        """Append the statements of an equation in a body."""
        if is_control(eqn):
            return self.equation(eqn, operands, into)
        if eqn.primitive.kind is Kind.CONTRACTION and _effort(eqn) > self.tuning.product:
            raise Inexpressible
        for x, out in zip(results_of(eqn, operands, self.tuning), into):
            if out is not None:
                self.copy(out, x)
        return None

    def copy(self, out: Buffer, x: Array) -> None:
        self.nest(x.shape, [self.store(out, at, x[at]) for at in self.index(x.shape, set())])

    def temp(self, var: Atom) -> Buffer:
        """Memory for a variable in all iterations of the loops."""
        shape = (*self.axes, *var.aval.shape)
        if prod(shape) > self.tuning.room:
            raise Inexpressible
        return _temp(shape, stored(var.aval.dtype))


def _compared(values: Iterable[Expr]) -> set[Expr]:
    """The indices whose value decides which array an element comes from, as in a concatenation."""
    return {part for node in walk(*values) if isinstance(node, Op) and node.name in ("lt", "eq")
            for part in node.args if isinstance(part, Index)}


_serial = count()


def _temp(shape: Sequence[int], dtype: Any) -> Buffer:
    """A buffer with a unique name."""
    return build.temp(f"m{next(_serial)}", shape, dtype)


def _updates(room: Mapping[State, Load], after: Sequence[Expr]) -> list[Store]:
    """Stores that replace all states as if at once, though they run one after the other."""
    left = dict(zip(room.values(), after))
    reads = {load: {*find_loads([value])} for load, value in left.items()}
    stores: list[Store] = []
    while left:
        # Overwrite a state that no other one reads; if there is none, save one to a temporary.
        ready = next((load for load in left if not any(
            load in reads[other] for other in left if other is not load)), None)
        if ready is not None:
            stores.append(Store(ready.buffer, ready.index, left.pop(ready)))
            continue
        waiting = max(left, key=lambda load: len(reads[load]))
        held = Load(_temp(waiting.buffer.shape, waiting.dtype), waiting.index)
        stores.append(Store(held.buffer, held.index, left[waiting]))
        left[waiting], reads[waiting] = held, set()
    return stores
