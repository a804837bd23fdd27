"""Programs as modules of LLVM code for a machine, and modules as object code.

Each statement of a program becomes a function, and equal ones share a function; the entry point
loads the addresses of the buffers and calls them in order, those with loops over tasks through the
runtime's threads. Vectors are explicit in the code, so that LLVM's own optimizer would find little:
it only selects and schedules instructions.
"""

from __future__ import annotations

import ctypes
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from functools import cache
from math import prod
from typing import Any

from ...._base.records import record
from ...._loops.instructions import short_name
from ...._loops.names import SCRATCH
from ...._loops.nest import (
    TASKS,
    Branch,
    Buffer,
    Extern,
    Loop,
    Nest,
    Own,
    Place,
    Plan,
    Program,
    Statement,
    Within,
)
from ...._loops.tiles import Tiled
from ...abi import ALIGNMENT, ENTRY, NO_ROOM, PARALLEL, SLOT, TILE
from ...machine import Machine
from ...nest_tools import fingerprint, windows
from ...schedule.analysis import Analysis
from ...schedule.statements import in_kinds
from ..values import I64, Value, Writer, type_of
from .flow import write_branch, write_loop
from .kernel import bind_task, make_parts
from .parts import Parts
from .products import write_task

__all__ = ["Generated", "assemble", "exchangeable", "generate", "instructions"]

_JUMPS_WITHIN_32_BYTES = ("cascadelake", "skylake", "skylake-avx512")
"""Processors that decode code again each time if a jump in it crosses or ends at a 32-byte boundary
(Intel's erratum SKX102): a loop over the entries of a sparse matrix takes 1.24 of SciPy's time
there and 0.9 if jumps are moved apart (Cascade Lake)."""


@cache
def _llvm():
    """LLVM's library, which is slow to load."""
    from llvmlite import binding
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding


@record
class Generated:
    """A module: its text, the external functions it needs, and library calls by symbol.

    The entry point takes the address of an array that holds the addresses of the inputs and
    outputs, and then those of the temporaries, or of the arena that contains them. It loads
    ``addresses``, and then runs the lines of each statement; ``heads`` declares the functions that
    they call.
    """

    text: str
    symbols: tuple[str, ...]
    externs: Mapping[str, Extern] = field(default_factory=dict)
    addresses: tuple[str, ...] = ()
    calls: tuple[tuple[str, ...], ...] = ()
    heads: tuple[str, ...] = ()


def generate(program: Program, machine: Machine, offsets: Mapping[Buffer, Place] | None = None,
             shared: Mapping[Buffer, Buffer] | None = None) -> Generated:
    """Write a program as a module.

    ``offsets`` places temporaries in an arena, or in outputs that are written later; without it,
    each has its own address. ``shared`` maps outputs to the inputs whose memory they share.
    """
    module = _Module(machine)
    unit = _Unit(module, Plan(program, dict(offsets or {}), shared=dict(shared or {})),
                 arena=offsets is not None)
    return module.generated(*unit.lines())


def exchangeable(text: str) -> str:
    """A module whose entry point jumps to the address in a slot: at first, to its own code."""
    inner = f"{ENTRY}.first"
    return "\n".join([
        text.replace(f"define void @{ENTRY}(", f"define internal void @{inner}(", 1),
        f"@{SLOT} = dso_local global ptr @{inner}", f"define void @{ENTRY}(ptr %buffers) {{",
        f"%code = load ptr, ptr @{SLOT}", "tail call void %code(ptr %buffers)", "ret void", "}",
        ""])


class _Module:
    """State that the functions of a module share."""

    def __init__(self, machine: Machine):
        self.machine = machine
        # It collects the declarations and helpers that they need.
        self.writer = Writer(machine=machine)
        self.functions: dict[str, str] = {}  # names by texts
        self.tasks: dict[tuple, tuple[str, int]] = {}  # names and tasks by fingerprints
        self.programs: dict[Plan, str] = {}  # names of inner programs
        self.externs: dict[str, Extern] = {}

    def generated(self, addresses: Sequence[str], calls: Sequence[Sequence[str]]) -> Generated:
        """The module, given the parts of its entry point."""
        functions = [f"define internal void @{name}{text}" for text, name in self.functions.items()]
        declared = self.writer.declared
        text = "\n".join([_function(f"define void @{ENTRY}", addresses, calls), *functions,
                          *self.writer.helpers.values(), *declared.values(), ""])
        heads = [f"declare void @{name}{text.partition(' {')[0]}"
                 for text, name in self.functions.items()]
        return Generated(text, tuple(name for name in declared if not name.startswith("llvm.")),
                         self.externs, tuple(addresses), tuple(map(tuple, calls)),
                         (*heads, *(declared[name] for name in (PARALLEL,) if name in declared)))

    def named(self, hint: str, text: str) -> str:
        """The name of the function with that text."""
        return self.functions.setdefault(text, f"{hint}{len(self.functions)}")

    def inner(self, plan: Plan) -> str:
        """The name of the function that runs an inner program."""
        if plan not in self.programs:
            self.programs[plan] = self.named("program", _function("", *_Unit(self, plan).lines()))
        return self.programs[plan]

    def symbol(self, call: Extern) -> str:
        """The symbol of a library call; calls that differ only in their buffers share one."""
        types = [f"{short_name(b.dtype)}{list(b.shape)}" for b in (*call.outputs, *call.inputs)]
        key = f"{call.name}({', '.join(types)}, {call.params})"
        for symbol, other in self.externs.items():
            same = [f"{short_name(b.dtype)}{list(b.shape)}"
                    for b in (*other.outputs, *other.inputs)]
            if key == f"{other.name}({', '.join(same)}, {other.params})":
                return symbol
        symbol = f"extern{len(self.externs)}"
        self.externs[symbol] = call
        return symbol


class _Unit:
    """Writes the functions of one program, the whole one or an inner one."""

    def __init__(self, module: _Module, plan: Plan, arena: bool = True):
        self.module, self.program = module, plan.program
        self.offsets = plan.offsets if arena else None
        self.shared = dict(plan.shared)
        self.parts: dict[Buffer, tuple[Buffer, int]] = {}  # what buffers are parts of, and where
        self.numbers = {buffer: n for n, buffer in enumerate((
            *self.program.inputs, *self.program.outputs, *self.program.temps))}

    def lines(self) -> tuple[list[str], list[list[str]]]:
        """The function that runs the program: lines that load addresses, and those of each
        statement."""
        statements = [s for s in self.program.statements
                      if not isinstance(s, Extern) or s.name != SCRATCH]
        forms = []
        for n, statement in enumerate(statements):
            if len(statements) > 1:
                statements[n] = self.windows(statement)
            form, mentioned = fingerprint(statements[n])
            used = [b for b in mentioned if self.part_of_task(b) is None]
            memory = [self.shared.get(b, b) for b in used]
            forms.append(((form, *map(mentioned.index, used), *map(memory.index, memory)), used))
        times = Counter(key for key, _ in forms)
        passed = dict.fromkeys(b for key, used in forms if times[key] > 1 for b in used)
        calls = [[self.shared_call(statement, key, used)] if times[key] > 1
                 else self.own_call(statement, used)
                 for statement, (key, used) in zip(statements, forms)]
        return self.addresses(passed), calls

    def part_of_task(self, buffer: Buffer) -> Own | None:
        """The part of a buffer for which each task has memory, or None."""
        place = (self.offsets or {}).get(buffer)
        return place if isinstance(place, Own) else None

    def addresses(self, buffers: Iterable[Buffer]) -> list[str]:
        """Lines that load the addresses of buffers."""
        lines: dict[str, None] = {}

        def load(name: str, number: int) -> None:
            lines[f"%at.{name} = getelementptr ptr, ptr %buffers, i64 {number}"] = None
            lines[f"%{name} = load ptr, ptr %at.{name}"] = None

        def find(buffer: Buffer) -> None:
            number = self.numbers[buffer]
            if buffer in self.parts:
                whole, start = self.parts[buffer]
                find(whole)
                base, place = f"b{self.numbers[whole]}", start * buffer.dtype.itemsize
            elif self.offsets is not None and buffer.role == "temp":
                found = self.offsets[buffer]
                assert not isinstance(found, Own)
                if isinstance(found, Within):
                    find(found.output)
                    base, place = f"b{self.numbers[found.output]}", found.start
                else:
                    load("arena", len(self.program.inputs) + len(self.program.outputs))
                    base, place = "arena", found
            else:
                load(f"b{number}", number)
                return
            lines[f"%b{number} = getelementptr i8, ptr %{base}, i64 {place}"] = None

        for buffer in buffers:
            find(buffer)
        return list(lines)

    def windows(self, statement: Statement) -> Statement:
        """The statement on parts of buffers, which are registered."""
        statement, parts = windows(statement)
        for part, (whole, start) in parts.items():
            self.parts[part] = whole, start
            self.shared[part] = self.shared.get(whole, whole)
            self.numbers.setdefault(part, len(self.numbers))
        return statement

    def own_call(self, statement: Statement, used: Sequence[Buffer]) -> list[str]:
        """Call a function used by only one statement.

        If it is the only statement of the program, its code is written in place.
        """
        tasks, lines = self.body(statement, {b: f"%b{self.numbers[b]}" for b in used})
        lines = [*self.addresses(used), *lines]
        if tasks < 2 and len(self.program.statements) == 1:
            return ["%task = add i64 0, 0", *lines]
        return [self.run(self.named("nest", ["(ptr %buffers, i64 %task) {", "entry:", *lines]),
                         tasks)]

    def shared_call(self, statement: Statement, key: tuple, used: Sequence[Buffer]) -> str:
        """Call the shared function for equal statements on different buffers."""
        if key not in self.module.tasks:
            pointers = {buffer: f"%p{n}" for n, buffer in enumerate(used)}
            tasks, lines = self.body(statement, pointers)
            params = [f"ptr noalias {name}" if self.alone(buffer, used) else f"ptr {name}"
                      for buffer, name in pointers.items()]
            self.module.tasks[key] = self.named("nest", [
                f"({', '.join([*params, 'i64 %task'])}) {{", "entry:", *lines]), tasks
        name, tasks = self.module.tasks[key]
        args = ", ".join([f"ptr %b{self.numbers[b]}" for b in used])
        if tasks < 2:
            return f"call void @{name}({args}, i64 0)"
        return self.run(self.named("task", [
            "(ptr %buffers, i64 %task) {", *self.addresses(used),
            f"call void @{name}({args}, i64 %task)"]), tasks)

    def run(self, name: str, tasks: int) -> str:
        """Run all tasks, given the function for one of them."""
        if tasks < 2:
            return f"call void @{name}(ptr %buffers, i64 0)"
        self.module.writer.declared[PARALLEL] = f"declare void @{PARALLEL}(ptr, ptr, i64)"
        return f"call void @{PARALLEL}(ptr @{name}, ptr %buffers, i64 {tasks})"

    def body(self, statement: Statement, pointers: Mapping[Buffer, str]) -> tuple[int, list[str]]:
        """How many tasks a statement has, and the code of one of them: its number is ``%task``."""
        writer = Writer(self.module.writer)
        if isinstance(statement, Loop):
            return statement.tasks, write_loop(statement, pointers, writer, self.module.inner)
        if isinstance(statement, Branch):
            return 1, write_branch(statement, pointers, writer, self.module.inner)
        machine = self.module.machine
        analysis = Analysis(dict(self.shared), machine.tuning.choices)
        pieces = in_kinds(statement, analysis, machine)
        parts = make_parts(writer, pointers, analysis, self.module.symbol)
        first = pieces[0]
        if isinstance(first, Tiled):
            write_task(first, parts)
            return first.tiling.tasks, parts.top.lines
        extents, rooms = _task_extents(first), list[str]()
        if extents and isinstance(first, Nest):
            bind_task(parts, first.indices[:len(extents)], Value(writer, "%task", I64))
            rooms = self.make_room(first, parts)
            pieces = [replace(first, indices=first.indices[len(extents):],
                              kinds=first.kinds[len(extents):])]
        for piece in pieces:
            parts.statements.write(piece, parts.top)
        parts.top.lines += [f"call void @free(ptr {room})" for room in rooms]
        return prod(extents), parts.top.lines

    def make_room(self, statement: Nest, parts: Parts) -> list[str]:
        """Allocate memory for a task's parts of temporaries, with addresses such that elements have
        the same indices as in the whole; returns the blocks to free.

        The C library caches such memory for each thread. Stacks may be too small for it.
        """
        writer, rooms = parts.writer, list[str]()
        for buffer in fingerprint(statement)[1]:
            part = self.part_of_task(buffer)
            if part is not None:
                size = -(-part.size * buffer.dtype.itemsize // ALIGNMENT) * ALIGNMENT
                room = writer.write(type_of("ptr"), (
                    f"call ptr @aligned_alloc(i64 {ALIGNMENT}, i64 {size})")).text
                self.check_room(room, size, rooms, parts)
                rooms.append(room)
                start = parts.expressions.value(part.start, parts.top) * -buffer.dtype.itemsize
                parts.addresses.pointers[buffer] = writer.write(
                    type_of("ptr"), f"getelementptr i8, ptr {rooms[-1]}, {start!r}").text
        if rooms:
            writer.declared["aligned_alloc"] = "declare ptr @aligned_alloc(i64, i64)"
            writer.declared["free"] = "declare void @free(ptr)"
            writer.declared[NO_ROOM] = f"declare void @{NO_ROOM}(i64)"
        return rooms

    def check_room(self, room: str, size: int, rooms: Sequence[str], parts: Parts) -> None:
        """Fail the program and end the task if there is no memory; ``rooms`` are freed."""
        writer, place = parts.writer, parts.top
        none, some = writer.fresh("none"), writer.fresh("some")
        missing = writer.write(type_of("i1"), f"icmp eq ptr {room}, null").text
        place.lines += [f"br i1 {missing}, label %{none}, label %{some}", f"{none}:",
                        f"call void @{NO_ROOM}(i64 {size})",
                        *(f"call void @free(ptr {other})" for other in rooms), "ret void"]
        place.start(some)

    def alone(self, buffer: Buffer, used: Sequence[Buffer]) -> bool:
        """Whether no other buffer of a statement is the same memory."""
        memory = self.shared.get(buffer, buffer)
        return all(self.shared.get(other, other) is not memory for other in used
                   if other is not buffer)

    def named(self, hint: str, lines: Sequence[str]) -> str:
        """The name of the function with these lines."""
        return self.module.named(hint, "\n".join([*lines, "ret void", "}"]))


def _function(head: str, addresses: Sequence[str], calls: Iterable[Sequence[str]]) -> str:
    """The text of a function that runs a program, from its parts."""
    lines = [f"{head}(ptr %buffers) {{", "entry:", *addresses]
    return "\n".join([*lines, *(line for call in calls for line in call), "ret void", "}"])


def _task_extents(statement: Statement) -> list[int]:
    """How many tasks there are in each of the loops over tasks."""
    if not isinstance(statement, Nest):
        return []
    return [i.extent for i, kind in zip(statement.indices, statement.kinds) if kind == TASKS]


# -- object code -----------------------------------------------------------------------------------

_generators = threading.local()


def _generator(machine: Machine, level: int = 2):
    """LLVM's code generator for a machine: one per thread, since threads cannot share it."""
    known = _generators.__dict__.setdefault("known", {})
    if (machine, level) not in known:
        known[machine, level] = _target(machine.triple).create_target_machine(
            cpu=machine.cpu, features=machine.features, opt=level, reloc="pic", codemodel="small",
            jit=True)
    return known[machine, level]


def _target(triple: str):
    """LLVM's description of a kind of processor, not necessarily that of this process."""
    llvm = _llvm()
    try:
        return llvm.Target.from_triple(triple)
    except RuntimeError:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        return llvm.Target.from_triple(triple)


def assemble(text: str, machine: Machine, verify: bool = False, tidy: bool = False,
             quick: bool = False) -> bytes:
    """The object code of a module; ``verify`` lets LLVM check the module first.

    ``tidy`` promotes variables to registers and inlines functions that ask for it: for code that
    was written without such care. ``quick`` takes a third of the time; the code then runs about
    three times as long, and gives the same bits.
    """
    if quick:
        with _parsed(text, machine) as module:
            if verify:
                module.verify()
            return _object_code(_generator(machine, 0), module)
    with _parsed(text, machine) as module, _settings(text, machine):
        if verify:
            module.verify()
        if tidy:
            _tidy(module, _generator(machine))
        return _object_code(_generator(machine), module)


def _object_code(generator, module) -> bytes:
    """As ``generator.emit_object(module)``, but other threads may use LLVM in the meantime.

    No two threads share a module or a generator, and LLVM requires no more; its wrapper admits one
    thread at a time, however long that takes.
    """
    ffi = _llvm().ffi
    with ffi.OutputString() as error:
        made = _emit()(generator, module, 1, error)
        if not made:
            raise RuntimeError(str(error))
    try:
        return ctypes.string_at(ffi.lib.LLVMPY_GetBufferStart(made),
                                ffi.lib.LLVMPY_GetBufferSize(made))
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(made)


@cache
def _emit():
    """LLVM's function that emits code, as exported by the library."""
    ffi = _llvm().ffi
    wrapped = ffi.lib.LLVMPY_TargetMachineEmitToMemory
    function = ctypes.CDLL(ffi.lib._name).LLVMPY_TargetMachineEmitToMemory
    function.argtypes, function.restype = wrapped.argtypes, wrapped.restype
    return function


def _tidy(module, generator) -> None:
    llvm = _llvm()
    builder = llvm.create_pass_builder(generator, llvm.create_pipeline_tuning_options())
    each = llvm.create_new_function_pass_manager()
    each.add_sroa_pass()
    each.add_simplify_cfg_pass()
    for function in module.functions:
        if not function.is_declaration:
            each.run(function, builder)
    whole = llvm.create_new_module_pass_manager()
    whole.add_always_inliner_pass()
    whole.add_global_dead_code_eliminate_pass()
    whole.run(module, builder)


def instructions(text: str, machine: Machine) -> str:
    """The result of :func:`assemble`, as readable text."""
    with _parsed(text, machine) as module, _settings(text, machine):
        return _generator(machine).emit_assembly(module)


@contextmanager
def _parsed(text: str, machine: Machine) -> Iterator[Any]:
    """A module parsed by LLVM."""
    llvm = _llvm()
    with llvm.create_context() as context, llvm.parse_assembly(text, context) as module:
        module.triple = machine.triple
        yield module


@contextmanager
def _settings(text: str, machine: Machine) -> Iterator[None]:
    """Settings under which LLVM compiles a module faster, and the code is no slower.

    Addresses are already built loop by loop, so strength reduction finds next to nothing. In the
    order in which it is written, code does not run out of 32 registers, nor code without products
    out of fewer: register pressure need not be tracked. (All cases of ``benchmarks`` run as fast
    with these, on Neoverse N1 and with AVX-512. For other ARM processors LLVM reorders more:
    without tracking, a loop of tanh and exp has 52 accesses to the stack for Neoverse V1, with it
    8.) Settings belong to the process, where others may use LLVM: they are restored.
    """
    changed = [("-disable-lsr", 1, 0)]
    if f'define void @"{TILE}' in text:
        changed.append(("-enable-misched", 0, 1))  # kernels are written in a good order
    elif machine.vector_bits >= 512 or machine.cpu == "neoverse-n1" or "@llvm.fm" not in text:
        changed.append(("-misched-regpressure", 0, 1))
    if machine.cpu in _JUMPS_WITHIN_32_BYTES:
        changed.append(("-x86-branches-within-32B-boundaries", 1, 0))
    for name, value, _ in changed:
        _llvm().set_option("tanx", f"{name}={value}")
    try:
        yield
    finally:
        for name, _, usual in changed:
            _llvm().set_option("tanx", f"{name}={usual}")
