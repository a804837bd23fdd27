"""Gathers the facts about a call: traces the function, runs the passes, measures the kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from math import prod
from time import perf_counter
from types import MethodType
from typing import Any

import numpy as np

from .._api.arguments import check_callable
from .._api.jit import PjitFunction, jit
from .._api.jit_shardings import ShardedFunction
from .._api.misses import history
from .._base.collector import at_rest
from .._base.tuples import NamedTuple
from .._compiler.cost import Cost, cost, nbytes
from .._compiler.memory import lifetimes
from .._compiler.nest_tools import mentioned
from .._compiler.pipeline import build
from .._core.array import Array
from .._core.jaxpr import ClosedJaxpr
from .._core.naming import DebugInfo, debug_info
from .._core.refs import is_ref
from .._core.trace import EvalTrace, context
from .._core.types import typeof
from .._loops.nest import TASKS, Buffer, Extern, Loop, Nest, Own, Statement, Within
from .._loops.show import show_statement
from .._loops.traverse import written
from .._ops.base import as_array
from .._runtime.donation import takers
from .._transforms.discharge import discharge
from ..errors import explain
from ..version import __version__
from .facts import Equation, Facts, Kernel, Memory, Traced
from .listing import LARGE, Listing
from .measure import limits, timed
from .origins import origins

__all__ = ["Gathered", "gather", "jitted"]

_FUNCTION = 15
"""Operations for a function such as ``exp``: about those of its polynomial."""
_LONGEST = 6_000
"""Limit of characters of a kernel's text; longer ones, such as unrolled loops, are cut."""


def jitted(fun: Callable) -> tuple[PjitFunction, tuple]:
    """A function wrapped by ``jit``, and the arguments that come before those of a call."""
    check_callable("tanx.explain", fun)
    if isinstance(fun, MethodType) and isinstance(fun.__func__, PjitFunction | ShardedFunction):
        function, _ = jitted(fun.__func__)
        return function, (fun.__self__,)
    if isinstance(fun, ShardedFunction):
        return fun._function, ()
    return (fun if isinstance(fun, PjitFunction) else jit(fun)), ()


class Gathered(NamedTuple):
    """The facts about a call, and a function that returns the current ``traces``."""

    facts: Facts
    traces: Callable[[], tuple[Traced, ...]]


def gather(function: PjitFunction, args: tuple, kwargs: dict) -> Gathered:
    """The facts about a call with these arguments, which runs a few times."""
    if type(context.trace) is not EvalTrace:
        raise TypeError(explain(
            "tanx.explain", "a call can only be explained on concrete values.",
            f"function: {function._name}",
            hint="call tanx.explain outside of jit, grad, vmap and loops."))
    start = perf_counter()
    call, entry, captured = function._staged(args, kwargs)
    seconds = perf_counter() - start
    closed, operands = entry.closed, [*entry.refs, *captured, *call.leaves]
    donated = function._donated_leaves(call, args, kwargs)
    donated = donated and (*[False] * (len(operands) - len(call.leaves)), *donated)
    if entry.stateful:
        closed, written = discharge(closed)
        donated = tuple(i in written or i < len(donated) and donated[i]
                        for i in range(len(operands)))
        operands = [x._content if is_ref(x) else x for x in operands]
    with at_rest:  # programs and their texts are many small objects without cycles
        program = _Program(closed, donated, operands)
        kernels = program.kernels()
    debug = debug_info("jit", function._fun, args, kwargs, call.fixed, call.in_tree)
    plan, module = program.module.plan, program.module
    traces = partial(_traces, function, debug, call.in_tree, [typeof(x) for x in call.leaves])
    facts = Facts(
        function=function._name, defined=str(debug.source or ""),
        arguments=tuple((str(name), typeof(x).str_short(True))
                        for name, x in zip(debug.arg_names, call.leaves)),
        results=tuple(aval.str_short(True) for aval in closed.out_avals),
        lines=program.listing.lines, compiled=program.compiled, traced=program.traced,
        kernels=kernels, memory=program.memory, curve=program.curve, arena=plan.size,
        argument_bytes=sum(map(nbytes, plan.program.inputs[len(module.constants):])),
        result_bytes=sum(map(nbytes, plan.program.outputs)), donated=len(plan.shared),
        traces=traces(), trace_seconds=seconds, compile_seconds=program.compile_seconds,
        seconds=sum(program.seconds), runs=program.runs, limits=limits(), version=__version__)
    return Gathered(facts, traces)


class _Program:
    """A jaxpr compiled and measured, and the facts about it."""

    def __init__(self, closed: ClosedJaxpr, donated: Sequence[bool], operands: Sequence[Any]):
        taken, _ = takers(closed, donated)
        forms: dict[str, Any] = {}
        start = perf_counter()
        self.module = build(
            closed, tuple(i in taken for i in range(len(operands))) if taken else (),
            watch=forms.__setitem__)
        built = perf_counter() - start
        self.seconds, self.runs, assembled = timed(self.module, list(map(_data, operands)))
        self.compile_seconds = built + assembled
        self.statements = self.module.program.statements
        self.lives = lifetimes(self.module.program)
        self.origins = origins(forms["lower"], forms["searches"], forms["reuse"],
                               self.module.program)
        self.listing = Listing()
        self.small: ClosedJaxpr = forms["simplify"]
        self.compiled = self.listing.sections(self.small, self._kernels_of_equations())
        self.traced = self.listing.sections(closed, {})
        self.equations = [e for section in self.compiled for e in section.equations]
        self.memory, self.curve = self._memory()

    def _kernels_of_equations(self) -> dict[int, tuple[int, ...]]:
        found: dict[int, list[int]] = {}
        for number, origin in enumerate(self.origins):
            for equation in origin.equations:
                found.setdefault(equation, []).append(number)
        return {equation: tuple(kernels) for equation, kernels in found.items()}

    def kernels(self) -> tuple[Kernel, ...]:
        """The statements, with their cost and their time."""
        inside: list[list[int]] = [[] for _ in self.statements]
        for number, equation in enumerate(self.equations):
            for kernel in equation.kernels:
                inside[kernel].append(number)
        return tuple(self._kernel(n, tuple(inside[n])) for n in range(len(self.statements)))

    def _kernel(self, number: int, equations: tuple[int, ...]) -> Kernel:
        statement, origin = self.statements[number], self.origins[number]
        spent = cost(replace(self.module.program, statements=(statement,)))
        read, stored = self._traffic(number, spent)
        moved = read + stored
        machine = limits()
        doubles = any(b.dtype.itemsize == 8 and b.dtype.kind == "f" for b in written((statement,)))
        by_memory = moved / machine.bandwidth(moved)
        by_work = (spent.flops + _FUNCTION * spent.transcendentals) / (
            machine.double_flops if doubles else machine.flops)
        if origin.prepares is None:
            name = _name(statement, [self.equations[e] for e in equations])
        else:
            name = f"lay out for kernel {origin.prepares + 1}"
        bound = "memory" if by_memory >= by_work else "arithmetic"
        return Kernel(name, _cut(show_statement(statement)), equations, origin.prepares,
                      self._line(number), _tasks(statement), spent.flops, spent.transcendentals,
                      read, stored, self.seconds[number], max(by_memory, by_work), bound)

    def _traffic(self, number: int, spent: Cost) -> tuple[int, int]:
        """The least bytes that a kernel reads and writes.

        Arrays that it stores and reads again stay in cache; its private arrays never leave it.
        """
        made = written((self.statements[number],))
        read = sum(nbytes(b) for b in mentioned(self.statements[number])
                   if b not in made or self.lives[b][0] < number)
        stored = sum(nbytes(b) for b in made
                     if b.role == "output" or self.lives[b] != (number, number))
        return min(read, spent.bytes_read), min(stored, spent.bytes_written)

    def _memory(self) -> tuple[tuple[Memory, ...], tuple[int, ...]]:
        """The temporaries, largest first, and their live bytes at each kernel."""
        lives = self.lives
        places = {buffer: place for buffer, place in self.module.plan.offsets.items()
                  if not isinstance(place, Own)}  # buffers of tasks never exist as a whole
        curve = [0] * len(self.statements)
        for buffer in places:
            for number in range(lives[buffer][0], lives[buffer][1] + 1):
                curve[number] += nbytes(buffer)
        peak = max(range(len(curve)), key=curve.__getitem__, default=0)
        found = []
        for buffer, place in places.items():
            first, last = lives[buffer]
            host, start = (place.output.name, place.start) if isinstance(place, Within) else (
                "", place)
            found.append(Memory(buffer.name, _type(buffer), nbytes(buffer), start, host, first,
                                last, self._line(first), first <= peak <= last))
        return tuple(sorted(found, key=lambda m: -m.nbytes)), tuple(curve)

    def _line(self, kernel: int) -> int | None:
        """The source line of the longest part of a kernel, or of the last one."""
        origin = self.origins[kernel]
        while not origin.equations and origin.prepares is not None:
            origin = self.origins[origin.prepares]
        if not origin.equations:
            return None
        main = max(origin.equations, key=lambda n: (
            self.small.eqns[n].primitive.kind in LARGE, n))
        return self.listing.line(self.small.eqns[main].source_info)


def _data(x: Any) -> np.ndarray:
    x = as_array(x)
    return x._value if type(x) is Array else np.asarray(x)


def _type(buffer: Buffer) -> str:
    return repr(buffer).partition(": ")[2]


def _tasks(statement: Statement) -> int:
    """The number of tasks of a statement."""
    if isinstance(statement, Loop):
        return statement.tasks
    if not isinstance(statement, Nest):
        return 1
    return prod(i.extent for i, kind in zip(statement.indices, statement.kinds) if kind == TASKS)


def _name(statement: Statement, equations: Iterable[Equation]) -> str:
    """The name of a kernel: its operations, except the ones that only move elements."""
    if isinstance(statement, Extern):
        return statement.name
    equations = list(equations)
    counts: dict[str, int] = {}
    for equation in equations:
        if not equation.is_layout and equation.primitive not in _SMALL:
            counts[equation.primitive] = counts.get(equation.primitive, 0) + 1
    names = list(counts) or list(dict.fromkeys(e.primitive for e in equations))
    large = {e.primitive for e in equations if e.is_large}
    names.sort(key=lambda name: name not in large)
    return " ".join(names) or "copy"


_SMALL = ("convert_element_type", "copy", "select_n", "iota")


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"


def _traces(function: PjitFunction, debug: DebugInfo, tree, types: list) -> tuple[Traced, ...]:
    """The signatures of the traces of the function, and their reasons."""
    found = history(debug, tree, function._entries)
    this = max((n for n, (signature, _, _) in enumerate(found)
                if signature[0] == tree and list(signature[1]) == types), default=None)
    return tuple(Traced(text, tuple(reasons), n == this)
                 for n, (_, text, reasons) in enumerate(found))
