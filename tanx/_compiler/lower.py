"""Jaxprs to loop nests: one for each equation, by the ``lower`` rules of primitives.

Every variable gets its own buffer; ``fuse`` decides which of them are stored. This pass knows no
primitive: those whose results are better stored by statements than computed element by element say
so by ``fill``, those that move nothing by ``is_view``. Only the compile time depends on the length
of the jaxpr.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

import numpy as np

from .. import dtypes
from .._base.records import record
from .._core.flow import Flow, ForLoop
from .._core.jaxpr import Atom, ClosedJaxpr, JaxprEqn, Literal, Var
from .._core.primitive import Kind
from .._loops import build
from .._loops.build import Operand
from .._loops.nest import Buffer, Nest, Program, Statement
from .._loops.show import show
from .._ops.slicing import slice_p
from . import register_loops as registers
from .lower_flow import Inner, Source, statements_of
from .nest_tools import elements, rename
from .tuning import USUAL, Tuning

__all__ = ["Lowered", "lower"]

_BOOL = np.dtype(np.bool_)


@record
class Lowered:
    """A program, and which buffers hold a function's arguments and results.

    The first inputs of the program are for ``constants``, the others for the arguments in order.
    ``results`` are the buffers that hold the function's results: outputs of the program, or inputs
    where a result is an argument or a constant. The shape of a result may differ from that of its
    buffer, with the elements in the same row-major order. ``owners`` has, for each statement, the
    number of its equation; a statement that only copies a result has none.
    """

    program: Program
    constants: tuple[Any, ...]
    results: tuple[Buffer, ...]
    owners: tuple[int | None, ...] = ()

    def __str__(self) -> str:
        returned = ", ".join(b.name for b in self.results)
        return f"{show(self.program)}\nreturn {returned}"


def lower(closed: ClosedJaxpr, inner: Inner | None = None, apart: bool = False,
          tuning: Tuning = USUAL) -> Lowered:
    """The program of a jaxpr without calls: one nest, or the statements, of each equation.

    ``inner`` plans the bodies of loops and branches. With ``apart``, each result has its own
    output, in order, as the body of a loop or branch needs.
    """
    return _Lowering(closed, inner, apart, tuning).run()


class _Lowering:
    def __init__(self, closed: ClosedJaxpr, inner: Inner | None, apart: bool, tuning: Tuning):
        self.jaxpr, self.inner, self.apart, self.tuning = closed.jaxpr, inner, apart, tuning
        self.constants = list(closed.consts)
        self.buffers: dict[Var, Buffer] = {}
        self.names: dict[Atom, Atom] = {}  # variables that are aliases of others
        self.inputs: list[Buffer] = []
        self.temps: list[Buffer] = []
        self.outputs: list[Buffer] = []
        self.statements: list[Statement] = []
        self.owners: list[int | None] = []
        self.sources = _sources(self.jaxpr.eqns)
        self.stretches = _stretches(self.jaxpr.eqns)
        self.read = {a for eqn in self.jaxpr.eqns for a in eqn.invars}.union(self.jaxpr.outvars)

    def run(self) -> Lowered:
        returned: list[Atom | None] = [self.sources.get(a, a) for a in self.jaxpr.outvars]
        if self.apart:
            returned = self.own_outputs(returned)
        literals = list(dict.fromkeys(a for a in returned if isinstance(a, Literal)))
        wanted = {atom for atom in returned if isinstance(atom, Var)}
        self.bind(self.jaxpr.constvars, "c", "input", self.inputs)
        held = {atom: Buffer(f"c{len(self.inputs) + n}", atom.aval.shape, _stored(atom))
                for n, atom in enumerate(literals)}
        self.inputs.extend(held.values())
        self.constants.extend(np.asarray(atom.val, _stored(atom)) for atom in literals)
        self.bind(self.jaxpr.invars, "x", "input", self.inputs)
        for number, eqn in enumerate(self.jaxpr.eqns):
            if _is_view(eqn) and all(v.aval.shape == a.aval.shape
                                     for v, a in zip(eqn.outvars, eqn.invars)):
                self.names.update((v, self.names.get(a, a))
                                  for v, a in zip(eqn.outvars, eqn.invars))
                continue
            for var in eqn.outvars:
                if var in wanted:
                    self.bind([var], "y", "output", self.outputs)
                else:
                    self.bind([var], "t", "temp", self.temps)
            self.equation(eqn)
            self.owners += [number] * (len(self.statements) - len(self.owners))
        results = tuple(self.buffers[atom] if isinstance(atom, Var) else
                        self.copied(self.jaxpr.outvars[n]) if atom is None else held[atom]
                        for n, atom in enumerate(returned))
        outputs = results if self.apart else tuple(self.outputs)
        program = Program(tuple(self.inputs), outputs, tuple(self.temps),
                          tuple(self.statements))
        copies = [None] * (len(self.statements) - len(self.owners))
        return Lowered(program, tuple(self.constants), results, (*self.owners, *copies))

    def own_outputs(self, returned: Sequence[Atom | None]) -> list[Atom | None]:
        """Results, with None for those that are duplicates or that no equation computes."""
        made = {v for eqn in self.jaxpr.eqns for v in eqn.outvars}
        first: dict[Atom | None, int] = {}
        for n, atom in enumerate(returned):
            if atom in made:
                first.setdefault(atom, n)
        return [atom if first.get(atom) == n else None for n, atom in enumerate(returned)]

    def copied(self, atom: Atom) -> Buffer:
        """An output for a result that must be copied."""
        out = Buffer(f"y{len(self.outputs)}", atom.aval.shape, _stored(atom), "output")
        self.outputs.append(out)
        x = self.operand(atom)
        self.statements.append(elements(out.shape, lambda at: [build.store(out, at, x[at])]))
        return out

    def bind(self, variables: Iterable[Var], prefix: str, role: str, into: list[Buffer]) -> None:
        """Assign buffers to variables."""
        start = len(self.constants) if prefix == "x" else 0
        for var in variables:
            buffer = Buffer(f"{prefix}{len(into) - start}", var.aval.shape, _stored(var), role)
            self.buffers[var] = buffer
            into.append(buffer)

    def operand(self, atom: Atom) -> Buffer | Operand:
        atom = self.names.get(atom, atom)
        if isinstance(atom, Literal):
            value = build.const(np.asarray(atom.val), _stored(atom))
            return Operand((), _stored(atom), lambda at: value)
        return self.buffers[atom]

    def equation(self, eqn: JaxprEqn) -> None:
        """Append the statements of an equation."""
        primitive, params = eqn.primitive, eqn.params
        into = [self.buffers[v] for v in eqn.outvars]
        operands = [self.operand(a) for a in eqn.invars]
        if primitive.kind is Kind.CALL and (flow := primitive.flow(params)) is not None:
            return self.control(eqn, flow, into, operands)
        if primitive.names_line:
            params = {**params, "line": str(eqn.source_info)}
        rule = primitive.lower if primitive.kind in (Kind.STATEMENT, Kind.CALL) else primitive.fill
        statements = None if rule is None else rule(into, *operands, **params)
        if statements is None:
            self.statements += _element_nests(eqn, into, operands)
        else:
            self.append(statements, {*into, *operands})

    def control(self, eqn: JaxprEqn, flow: Flow, into: list[Buffer],
                operands: list[Buffer | Operand]) -> None:
        """Append the statements of a loop or branch."""
        wanted = [b if v in self.read else None for v, b in zip(eqn.outvars, into)]
        statements = registers.statements(eqn, operands, wanted, self.tuning.registers)
        given = {*into, *operands}
        if statements is None:
            by_rows = isinstance(flow, ForLoop)  # rows are read one by one, from anywhere
            found = [self.stretches.get(a, (a, 0)) if by_rows else (self.sources.get(a, a), 0)
                     for a in eqn.invars]
            sources = [Source(self.operand(a), skipped) for a, skipped in found]
            assert self.inner is not None  # given wherever there are loops or branches
            statements = statements_of(flow, into, operands, sources, self.inner,
                                       self.tuning.flow)
            given.update(source.array for source in sources)
        self.append(statements, given)

    def append(self, statements: Sequence[Statement], given: set) -> None:
        """Append the statements that a rule returned.

        Its temporaries may have any names, so they are renamed.
        """
        names = {}
        for temp in build.temporaries(statements):
            if temp not in given:
                names[temp] = Buffer(f"t{len(self.temps)}", temp.shape, temp.dtype, "temp")
                self.temps.append(names[temp])
        self.statements += [rename(s, names) for s in statements] if names else statements


def _stored(atom: Atom) -> np.dtype:
    """The dtype of a variable in memory; bool for values without data."""
    return _BOOL if atom.aval.dtype == dtypes.float0 else dtypes.stored(atom.aval.dtype)


def _element_nests(eqn: JaxprEqn, into: Sequence[Buffer], operands: Sequence) -> list[Nest]:
    """The nests of an expression rule; results of one fold stay together."""
    def values(at):
        out = eqn.primitive.lower(at, *operands, **eqn.params)
        return list(out) if eqn.primitive.multiple_results else [out]

    if eqn.primitive.kind is Kind.REDUCTION or len(into) == 1:
        return [elements(into[0].shape, lambda at: [
            build.store(b, at, v) for b, v in zip(into, values(at), strict=True)])]
    return [elements(b.shape, lambda at, n=n, b=b: [build.store(b, at, values(at)[n])])
            for n, b in enumerate(into)]


# -- views -----------------------------------------------------------------------------------------


def _is_view(eqn: JaxprEqn) -> bool:
    rule = eqn.primitive.is_view
    return rule is not None and rule(**eqn.params)


def _stretches(eqns: Iterable[JaxprEqn]) -> dict[Atom, tuple[Atom, int]]:
    """For views and contiguous slices, the array that holds their elements, and the offset in
    it."""
    found: dict[Atom, tuple[Atom, int]] = {}
    for eqn in eqns:
        skipped = 0 if _is_view(eqn) else _skipped(eqn)
        if skipped is None:
            continue
        for v, a in zip(eqn.outvars, eqn.invars):
            source, before = found.get(a, (a, 0))
            found[v] = source, before + skipped
    return found


def _skipped(eqn: JaxprEqn) -> int | None:
    """The offset of a slice that is contiguous in memory; None for anything else."""
    if eqn.primitive is not slice_p or not eqn.invars[0].aval.shape:
        return None
    shape, params = eqn.invars[0].aval.shape, eqn.params
    whole = all(start == 0 and stop == n for start, stop, n in zip(
        params["start_indices"][1:], params["limit_indices"][1:], shape[1:]))
    if not whole or any(step != 1 for step in params["strides"] or ()):
        return None
    return params["start_indices"][0] * prod(shape[1:])


def _sources(eqns: Iterable[JaxprEqn]) -> dict[Atom, Atom]:
    """For each view, the array that holds its elements in the same order and is not a view."""
    sources: dict[Atom, Atom] = {}
    for eqn in eqns:
        if _is_view(eqn):
            sources.update((v, sources.get(a, a)) for v, a in zip(eqn.outvars, eqn.invars))
    return sources
