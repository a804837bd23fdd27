"""The passes in order, from a jaxpr to a program with a plan of its memory.

Each pass is a pure function from one form to the next. With ``TANX_CHECK=1`` the form is checked
after each of them; ``TANX_DUMP=fuse,memory`` prints it after those named.

========= ======= =================================================================
name      form    what it does
========= ======= =================================================================
inline    jaxpr   replaces calls by their bodies
bodies    jaxpr   runs all passes on jaxprs in the bodies of loops and branches
decompose jaxpr   expresses primitives by others
simplify  jaxpr   folds constants, applies algebra, merges equal equations
lower     program one loop nest for each equation
transpose program products in the order in which they are read
fuse      program computes elements where they are read, merges nests
moments   program variances from groups of elements, which are read once
searches  program argmax and argmin, block by block
reuse     program overwrites dead arrays
split     program cuts loops to remove conditions on indices and divisions
contract  program matrix products in the form of tiles
bands     program products and what is computed from their rows, in bands of rows
tasks     program loops over tasks, for several threads
join      program joins adjacent loops over tasks
memory    plan    places in an arena, donated arguments
schedule  plan    how all loops run: vectors, tiles, rows, columns, transposes, scans
========= ======= =================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from math import inf
from typing import Any

from .._base.config import dump, enable_checks
from .._base.records import record
from .._core.check import check_jaxpr
from .._core.jaxpr import ClosedJaxpr
from .._core.recording import passed
from .._loops.check import check
from .._loops.check_schedule import check_schedule
from .._loops.names import FOURIER, LEAST_OF_LINES, MATRICES, SORT_LINES
from .._loops.nest import Buffer, Extern, Loop, Plan, Program, Statement
from .._loops.show import show, show_plan
from .._loops.traverse import programs_in
from .bodies import open_bodies
from .contraction import contract
from .cost import Cost, cost, costs, is_open
from .decompose import decompose
from .fuse import fuse
from .lower import Lowered, lower
from .lower_flow import Inside
from .machine import Machine, host
from .memory import check_plan, in_place, overwriting, plan, share
from .moments import in_one_pass
from .order import numbers_first, reads_first, without_invariants
from .schedule.bands import in_bands
from .schedule.merge_tasks import in_one_loop
from .schedule.statements import scheduled
from .schedule.tasks import in_tasks
from .schedule.tiles import is_tiled
from .searches import by_blocks
from .simplify import inline, simplify
from .split import split
from .transposed import stored_as_read

__all__ = ["Module", "Watch", "build", "inner", "jaxpr_passes"]

_OWN_CALLS = frozenset({FOURIER, LEAST_OF_LINES, MATRICES, SORT_LINES})
"""Library calls whose code is part of the program (``kernels``)."""


@record
class Module:
    """What code is generated from: a program with its memory for a machine, and its buffers.

    The first inputs of the program are for ``constants``, the others for the arguments in order.
    ``results`` are the buffers that hold the results: outputs of the program, or inputs where a
    result is an argument or a constant. A result has the type in ``out_avals``; its buffer may have
    another shape with the same elements in the same row-major order.
    """

    plan: Plan
    machine: Machine
    constants: tuple[Any, ...]
    results: tuple[Buffer, ...]
    in_avals: tuple[Any, ...]
    out_avals: tuple[Any, ...]

    @property
    def program(self) -> Program:
        return self.plan.program

    @cached_property
    def schedule(self) -> Plan:
        """The plan with the kinds of all loops.

        Code generation handles each statement separately, and equal ones once: it schedules only
        those (``schedule/statements.py``).
        """
        return scheduled(self.plan, self.machine)

    @cached_property
    def _costs(self) -> list[Cost]:
        """The cost of each statement."""
        return costs(self.program)

    @cached_property
    def cost(self) -> Cost:
        """Operations and bytes of one run; ``cost.analysis`` has them by name."""
        return sum(self._costs, Cost())

    @property
    def estimate(self) -> float:
        """Seconds that one run takes on one core, roughly; a lower bound if it is not known."""
        least = self.machine.tuning.flow.open if is_open(self.program) else 0.0
        return max(self.cost.seconds(self.machine.rates), least)

    @property
    def own_seconds(self) -> float:
        """Seconds that one run spends in code generated for it; infinity if it is not known.

        Tile kernels and library functions do not count: they exist already.
        """
        if is_open(self.program):
            return inf
        own = [(s, c) for s, c in zip(self.program.statements, self._costs) if not is_tiled(s)]
        seconds = sum((c for _, c in own), Cost()).seconds(self.machine.rates)
        return seconds + sum(_seconds_of_calls(statement, self.machine) for statement, _ in own)

    def __str__(self) -> str:
        return f"{show_plan(self.plan)}\nreturn {', '.join(b.name for b in self.results)}"


def _seconds_of_calls(statement: Statement, machine: Machine) -> float:
    """Seconds of library calls, such as sorts, whose code is part of the program."""
    if isinstance(statement, Extern):
        if statement.name not in _OWN_CALLS:
            return 0.0
        once = cost(Program((), (), (), (statement,))).seconds(machine.rates)
        tuning = machine.tuning
        return once * (tuning.fourier if statement.name == FOURIER else tuning.sort).passes
    steps = statement.count or 1 if isinstance(statement, Loop) else 1
    return steps * sum(_seconds_of_calls(inner, machine) for program in programs_in(statement)
                       for inner in program.statements)


def _bodies(closed: ClosedJaxpr, machine: Machine) -> ClosedJaxpr:
    return open_bodies(closed, partial(_smaller, machine=machine), machine.tuning.distribute)


jaxpr_passes: tuple[tuple[str, Callable[[ClosedJaxpr, Machine], ClosedJaxpr]], ...] = (
    ("inline", lambda closed, _: inline(closed)),
    ("bodies", _bodies),
    ("decompose", decompose),
    ("simplify", lambda closed, machine: simplify(closed, machine.tuning.simplify)))
"""From jaxpr to jaxpr."""


def _smaller(closed: ClosedJaxpr, machine: Machine) -> ClosedJaxpr:
    for name, jaxpr_pass in jaxpr_passes:
        closed = _inspected(name, jaxpr_pass(closed, machine), check_jaxpr, str)
    return closed


Watch = Callable[[str, Any], None]
"""Receives intermediate forms of the program: a name and the form."""


def _unwatched(name: str, form: Any) -> None:
    pass


def build(closed: ClosedJaxpr, donated: Sequence[bool] = (), machine: Machine | None = None,
          watch: Watch = _unwatched) -> Module:
    """Run all passes on a jaxpr; ``donated`` says which arguments may be overwritten.

    The program is planned for ``machine``, by default the host.

    ``watch`` receives what is needed to say which equations a kernel computes: the jaxpr after
    ``"simplify"``, the result of ``"lower"``, the program after ``"searches"``, whose buffers are
    still those of ``lower``, and the buffers that ``"reuse"`` replaced.

    >>> print(build(tanx.make_jaxpr(lambda x: 2 * jnp.exp(x) + 1)(1.0)))
    program(x0: f32[]) -> (y0: f32[])
    once:
        y0[] = 2.0:f32 * exp(x0[]) + 1.0:f32
    arena: 0 bytes
    return y0
    """
    machine = machine or host()
    tuning = machine.tuning
    smaller = _smaller(closed, machine)
    watch("simplify", smaller)
    lowered = _inspected("lower", lower(
        smaller, partial(inner, machine), tuning=tuning), _check_lowered, str)
    watch("lower", lowered)
    program, shared = _scheduled(lowered.program, _donated_buffers(lowered, donated), machine,
                                 watch=watch)
    memory = _inspected("memory", plan(
        program, shared, guests=True, tuning=tuning.memory), check_plan, show_plan)
    module = Module(memory, machine, lowered.constants, lowered.results, tuple(closed.in_avals),
                    tuple(closed.out_avals))
    if enable_checks.value or "schedule" in dump.value:
        _inspected("schedule", module.schedule, _check_schedule, show_plan)
    return module


def inner(machine: Machine, closed: ClosedJaxpr, overwriting: Mapping[int, int],
          constants: int | None = None) -> Inside:
    """A program inside of another; ``overwriting`` maps inputs to outputs.

    The first ``constants`` inputs of a loop are the same in each step; work that depends only on
    them is moved out.
    """
    lowered = _inspected("lower", lower(
        closed, partial(inner, machine), apart=True, tuning=machine.tuning), _check_lowered, str)
    program = lowered.program
    partners = {program.inputs[n]: program.outputs[m] for n, m in overwriting.items()}
    program, shared = _scheduled(program, list(partners), machine, partners)
    before: list[Statement] = []
    if constants is not None:
        program, before = without_invariants(program, constants)
    return Inside(_inspected("memory", plan(program, shared), check_plan, show_plan), machine,
                  before)


def _scheduled(program: Program, donated: Sequence[Buffer], machine: Machine,
               partners: Mapping[Buffer, Buffer] | None = None, watch: Watch = _unwatched,
               ) -> tuple[Program, dict[Buffer, Buffer]]:
    """All passes up to the plan; also which outputs take the memory of inputs."""
    tuning = machine.tuning
    program = _inspected("transpose", stored_as_read(program, tuning.fuse), check, show)
    program = _inspected("fuse", fuse(numbers_first(reads_first(program)), machine), check, show)
    program = _inspected("moments", in_one_pass(program, tuning.moments), check, show)
    program = _inspected("searches", by_blocks(program, tuning.searches), check, show)
    program, shared = share(program, donated, partners, tuning.memory)
    watch("searches", program)
    names = overwriting(program, shared)
    watch("reuse", names)
    program = _inspected("reuse", in_place(program, names), check, show)
    program = _inspected("split", split(
        program, 1 if partners is None else tuning.split.steps, tuning.split), check, show)
    program = _inspected("contract", contract(program, machine), check, show)
    program = _inspected("bands", in_bands(program, shared, machine), check, show)
    program = _inspected("tasks", in_tasks(program, machine), check, show)
    return _inspected("join", in_one_loop(program, shared, tuning.tasks.back), check, show), shared


def _inspected(name: str, form, checker: Callable, text: Callable[[Any], str]):
    """The result of a pass, checked and printed as requested."""
    passed(name)
    if enable_checks.value:
        checker(form)
    if dump.value and name in dump.value.replace(" ", "").split(","):
        print(f"-- after {name}\n{text(form)}")
    return form


def _check_schedule(plan: Plan) -> None:
    check(plan.program, plan.shared)
    check_schedule(plan.program, plan.shared)


def _check_lowered(lowered: Lowered) -> None:
    check(lowered.program)


def _donated_buffers(lowered: Lowered, donated: Sequence[bool]) -> list[Buffer]:
    """The inputs of donated arguments that are not themselves results."""
    arguments = lowered.program.inputs[len(lowered.constants):]
    return [b for b, given in zip(arguments, donated) if given and b not in lowered.results]
