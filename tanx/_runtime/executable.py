"""Executables: a compiled function with its constants and its memory, ready to run on buffers.

A :class:`Recipe` says how to run one, as plain data. It is cached on disk by the text of the jaxpr,
so that another process goes from the jaxpr to the code without any pass in between.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import astuple
from functools import cache
from itertools import accumulate
from math import inf, prod
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base.collector import at_rest
from .._base.config import async_dispatch, dump, log_compiles, optimization_level, quick_code
from .._base.flags import trace_key
from .._base.logger import verbose
from .._base.monitoring import (
    BACKEND,
    CACHE_HITS,
    CACHE_MISSES,
    CACHE_REQUESTS,
    LOWERING,
    RETRIEVAL,
    SAVED,
    TASKS,
    record_event,
    record_event_duration_secs,
    timed,
)
from .._base.tuples import NamedTuple
from .._core.array import Array
from .._core.buffer import may_overwrite
from .._core.explicit import bare_jaxpr
from .._core.jaxpr import Atom, ClosedJaxpr, Jaxpr, Var, cached_by_jaxpr
from .._core.origins import places
from .._core.recording import current, passed, span
from .._core.serial import Serial, for_caches
from .._core.source import SourceInfo
from .._core.types import ShapedArray
from .._loops.names import CALLBACK, FOREIGN
from ..dtypes import float0
from ..errors import OutOfMemoryError
from . import disk_cache, stop
from .background import DONE, Work, pending_array, queue_of_thread
from .callbacks import run_watched
from .donation import given_away, takers, warn_of_unusable
from .host import empty, kept_bytes, make_place, retried, run
from .ledger import Row, bytes_of, ledger
from .libraries import LIBRARIES
from .load import Code, code, compile_program
from .memory import HEAVY, check_rank, out_of_memory, room_for
from .reports import report

if TYPE_CHECKING:
    from .._compiler.cost import Cost
    from .._loops.nest import Buffer, Extern

__all__ = ["LONG", "Executable", "executable_of"]

LONG = 1e-2
"""Seconds on one core from which work goes to the background. After such work Python finds the
caches cold, and takes 0.1 to 0.2 ms to hand it over and to clean up."""

SHORT = 5e-3
"""Seconds of a run below which a program stays in the foreground from then on, whatever its
estimate: that counts on a hundred steps of a loop whose condition is computed. A sparse product of
1.5 ms takes 1.8 ms by way of the background (Cascade Lake, one core)."""

_Type = tuple[tuple[int, ...], str]


class Recipe(NamedTuple):
    """How to run a program: the key of its code, and what to pass to it.

    Buffers are numbered: constants, arguments, outputs. A constant is one of those of the jaxpr, by
    number, or a type with its offset in the data that comes with the recipe.
    """

    code: str
    constants: tuple[int | tuple[_Type, int], ...]
    outputs: tuple[_Type, ...]
    overwritten: tuple[int | None, ...]  # the buffer whose memory each output takes
    results: tuple[int, ...]
    arena_size: int
    seconds: float
    cost: tuple[int, int, int, int]
    externs: tuple[tuple[str, str, tuple[_Type, ...], tuple[_Type, ...], Any], ...]
    compiled_in: float  # seconds


class Executable:
    """The machine code of a jaxpr. ``donated`` says which arguments it may overwrite."""

    def __init__(self, closed: ClosedJaxpr, donated: tuple[bool, ...] = ()):
        self.out_avals = tuple(closed.out_avals)
        self.arity = len(closed.in_avals)
        for aval in self.out_avals:
            check_rank("tanx.jit", aval)
        self.name, self.origin = _function(closed.jaxpr), places()
        self.origins = _origins(closed.jaxpr)
        self.taken, unusable = takers(closed, donated)
        if unusable:
            warn_of_unusable(unusable)
        donated = tuple(i in self.taken for i in range(self.arity)) if self.taken else ()
        start = perf_counter()
        program = bare_jaxpr(closed)
        # Untracked by the collector: programs are many small objects without cycles.
        with at_rest, span(f"compile {self.name}", "compile", closed.in_avals):
            text = None if dump.value or disk_cache.directory() is None else for_caches(program)
            name = None if text is None else text.key()
            key = None if name is None else disk_cache.key_of(
                "executable", name, repr(donated).encode(), repr(trace_key()).encode())
            if key is not None:
                _announce_request()
            if text is None or key is None or not self._find(text, key):
                self._compile(program, donated, text, key)
        seconds = perf_counter() - start
        if log_compiles.value or verbose():
            what = "loaded from disk" if self.used else "compiled"
            report(what, self.name, closed.in_avals, seconds)
        debug = closed.jaxpr.debug_info
        ledger.add(closed, Row(
            self.name, debug and debug.source, tuple(closed.in_avals),
            bytes_of(closed, self.code.nbytes, self.constants), seconds, self.used))

    def _find(self, text: Serial, key: str) -> bool:
        """Load what another process has stored; whether there was something."""
        start = perf_counter()
        found = disk_cache.read(key)
        if found is None:
            return False
        recipe, data = Recipe(*found[0]), found[1]
        ready = code(recipe.code, {e[0]: _extern(*e[1:]) for e in recipe.externs}, LIBRARIES)
        if ready is not None:
            self._prepare(recipe, ready, [
                _data(text.constants[c]) if isinstance(c, int) else _constant(data, *c)
                for c in recipe.constants])
            self.used = True  # in that process
            self._announce_hit(recipe, perf_counter() - start)
        return ready is not None

    def _announce_hit(self, recipe: Recipe, seconds: float) -> None:
        """Tell listeners what came from disk and how long it took."""
        with timed(BACKEND, f"jit({self.name})", seconds):
            record_event(CACHE_HITS)
            record_event_duration_secs(SAVED, recipe.compiled_in - seconds)
            record_event_duration_secs(RETRIEVAL, seconds)
        passed("load from disk")

    def _compile(self, closed: ClosedJaxpr, donated: tuple[bool, ...], text: Serial | None,
                 key: str | None) -> None:
        from .._compiler.pipeline import build
        start = perf_counter()
        with timed(LOWERING, f"jit({self.name})"):
            module = build(closed, donated)
        plan, program = module.plan, module.program
        with timed(BACKEND, f"jit({self.name})"):
            if key is not None:
                record_event(CACHE_MISSES)
            ready = compile_program(program, offsets=plan.offsets, shared=plan.shared,
                                    libraries=LIBRARIES, seconds=_care(module.own_seconds))
        places = {b: n for n, b in enumerate((*program.inputs, *program.outputs))}
        constants = list(map(_data, module.constants))
        numbers = {id(c): n for n, c in enumerate(text.constants)} if text else {}
        stored = [_data(c) for c in module.constants if id(c) not in numbers]
        starts = accumulate([c.nbytes for c in stored], initial=0)
        recipe = Recipe(
            ready.key,
            tuple(numbers[id(c)] if id(c) in numbers else (_type(data), next(starts))
                  for c, data in zip(module.constants, constants)),
            tuple(map(_type, program.outputs)),
            tuple(places[plan.shared[b]] if b in plan.shared else None for b in program.outputs),
            tuple(places[b] for b in module.results), plan.size, module.estimate,
            astuple(module.cost),
            tuple((symbol, e.name, tuple(map(_type, e.outputs)), tuple(map(_type, e.inputs)),
                   e.params) for symbol, e in ready.externs.items()),
            perf_counter() - start)
        self._prepare(recipe, ready, constants)
        if key and disk_cache.is_plain(tuple(recipe)):
            disk_cache.write(key, tuple(recipe), b"".join(c.tobytes() for c in stored),
                             recipe.compiled_in)

    def _prepare(self, recipe: Recipe, ready: Code, constants: list[np.ndarray]) -> None:
        self.recipe, self.code, self.used = recipe, ready, False
        self.constants = list(map(_as_buffer, constants))
        self.results = list(zip(recipe.results, self.out_avals, strict=True))
        # For each output its shape and dtype, and the input that it overwrites, if any.
        shapes = {place: aval.shape for place, aval in self.results}
        inputs = len(self.constants) + self.arity
        self.outputs = [(shapes.get(inputs + n, shape), np.dtype(name))
                        for n, (shape, name) in enumerate(recipe.outputs)]
        self.overwritten = recipe.overwritten
        self.arena_size = recipe.arena_size
        self.calls_python = any(e[1] == CALLBACK for e in recipe.externs)
        self.calls_foreign = any(e[1] == FOREIGN for e in recipe.externs)
        self.without_data = any(aval.dtype == float0 for aval in self.out_avals)
        self.long = recipe.seconds >= LONG and not self.calls_python
        self.latest: ctypes.Array | None = None  # the state of its last run in the background
        self.nbytes = sum(prod(shape) * dtype.itemsize for shape, dtype in self.outputs)
        self.heavy = self.nbytes + self.arena_size >= HEAVY

    @property
    def cost(self) -> Cost:
        """Operations and bytes of one run."""
        from .._compiler.cost import Cost
        return Cost(*self.recipe.cost)

    def run(self, operands: Sequence[Array | np.ndarray]) -> list[Array]:
        """The results, given the arguments. Long work continues in the background.

        So does work that depends on it, unless it calls Python: that runs here and now, in the
        order of the calls. Results are arrays in any case.
        """
        given = given_away(operands, self.taken)  # first: every reference to the data counts
        if self.used and optimization_level.value not in _QUICK_LEVELS:
            self.code.improve()
        self.used = True
        parents: list[Work] = []
        data = [x._data if type(x) is Array and x._data is not None else
                x._value if type(x) is Array and self.calls_python else _operand(x, parents)
                for x in operands]
        background = bool(parents) or self.is_long() and async_dispatch.value
        if background:  # the caller may write to its NumPy arrays before they are read
            data = [d if type(x) is Array else d.copy() for x, d in zip(operands, data)]
        try:
            memory = retried(lambda: self._memory(data, operands, given))
        except MemoryError as error:
            raise self._refused(error) from None
        work = None
        if background:
            make_place(self.arena_size)
            work = queue_of_thread().submit(self.code, self.arena_size, memory, parents,
                                            self.nbytes)
            self.latest = work.state if self.long else None  # the work holds its thread's queue
            if current.recorder is not None:
                current.recorder.add_background(self.name, work.source, work)
        elif current.recorder is not None:
            with span(self.name, "execute"):
                self._run_now(memory)
        else:
            self._run_now(memory)
        if stop.words.failing:
            stop.settle()
        results = [self._result(place, aval, memory, operands, given, work)
                   for place, aval in self.results]
        for i in given:
            operands[i].delete()  # type: ignore[union-attr]
        return results

    def is_long(self) -> bool:
        """Whether runs go to the background: by the estimate, until one has shown to be short."""
        latest = self.latest
        if latest is not None and latest[0] == DONE:
            _, begin, end = latest
            self.long, self.latest = end - begin >= SHORT * 1e9, None
        return self.long

    def _memory(self, data: list[np.ndarray], operands: Sequence,
                given: frozenset[int]) -> list[np.ndarray]:
        """The memory that the program reads and writes: constants, arguments, outputs."""
        if self.heavy and not room_for(self.nbytes + self.arena_size, kept_bytes):
            raise self._refused()
        memory = [*self.constants, *map(_as_buffer, data)]
        for (shape, dtype), place in zip(self.outputs, self.overwritten):
            if place is None:
                memory.append(empty(shape, dtype))
            else:
                i = place - len(self.constants)
                if i not in given or not may_overwrite(memory[place]):
                    memory[place] = _copy(operands[i])
                memory.append(memory[place])
        return memory

    def _run_now(self, memory: list[np.ndarray]) -> None:
        if self.calls_python:
            run_watched(run, self.code.address, self.arena_size, *memory)
            return
        try:  # the program does not begin without its temporaries
            retried(lambda: run(self.code.address, self.arena_size, *memory))
        except MemoryError as error:
            raise self._refused(error) from None

    def _refused(self, error: MemoryError | None = None) -> OutOfMemoryError:
        """The error if there is no memory for a run; ``error`` if that says so already."""
        if isinstance(error, OutOfMemoryError):
            return error
        return out_of_memory(f"tanx.jit of {self.name}",
                             list(zip(self.out_avals, self.origins)), self.arena_size)

    def _result(self, place: int, aval: ShapedArray, memory: list[np.ndarray], operands: Sequence,
                given: frozenset[int], work: Work | None) -> Any:
        """The array for a result, which may be an output, an argument or a constant."""
        if aval.dtype == float0:  # programs have flags in its place; NumPy's, as derivatives are
            return np.zeros(aval.shape, float0)
        data = memory[place]
        i = place - len(self.constants)
        if 0 <= i < len(operands) and i not in given:
            if type(operands[i]) is not Array:
                data = np.array(operands[i])
            elif operands[i].aval == aval:
                return operands[i]
        if data.shape != aval.shape:
            data = data.reshape(aval.shape)
        if work is None or i < 0:
            return Array(data, False, aval)
        return pending_array(work, data, aval)


@cache
def _announce_use() -> None:
    record_event(TASKS)  # once a process


def _announce_request() -> None:
    """Tell listeners that a program is looked up in the disk cache."""
    _announce_use()
    record_event(CACHE_REQUESTS)


_QUICK_LEVELS = ("O0", "O1")
"""Levels of optimisation at which code is compiled quickly, and never improved."""


def _care(seconds: float) -> float:
    """Seconds of a run, as a measure of how much optimization the code is worth."""
    if optimization_level.value in _QUICK_LEVELS:
        return 0.0
    return seconds if quick_code.value and optimization_level.value == "UNKNOWN" else inf


def _function(jaxpr: Jaxpr) -> str:
    """The name of a program in messages: its function, or else its only operation."""
    if jaxpr.debug_info is not None:
        return jaxpr.debug_info.function
    return jaxpr.eqns[0].primitive.name if len(jaxpr.eqns) == 1 else "a program"


def _origins(jaxpr: Jaxpr) -> list[SourceInfo | None]:
    """Where large results are made; None for small results and for results that are arguments."""
    large = {v for v in jaxpr.outvars if type(v) is Var and v.aval.size * 8 >= HEAVY}
    made: dict[Atom, SourceInfo | None] = {}
    if large:
        made.update((v, eqn.source_info) for eqn in jaxpr.eqns for v in eqn.outvars if v in large)
    return [made.get(v) for v in jaxpr.outvars]


def _operand(x: Array | np.ndarray, parents: list[Work]) -> np.ndarray:
    """The data of an argument; if it is pending, the work is added to ``parents``."""
    if not isinstance(x, Array):
        return x
    buffers = x._held
    work = buffers[0].ready if len(buffers) == 1 else None
    if type(work) is Work and work.queue is queue_of_thread():
        assert buffers[0].view is not None  # queues of threads write memory of the host
        parents.append(work)
        return buffers[0].view
    return x._value


def _copy(x: Array | np.ndarray) -> np.ndarray:
    """The data of an argument in allocator memory that has no other owner."""
    data = x._value if type(x) is Array else x
    copy = empty(data.shape, data.dtype)
    np.copyto(copy, data)
    return copy


def _data(constant) -> np.ndarray:
    return constant._value if type(constant) is Array else np.asarray(constant)


def _as_buffer(data: np.ndarray) -> np.ndarray:
    """The data in the form that code expects: contiguous, and bools if there is no data."""
    if data.dtype.itemsize == 0:
        return np.zeros(max(1, prod(data.shape)), np.bool_)
    return data if data.flags.c_contiguous else np.ascontiguousarray(data)


def _type(array) -> _Type:
    return tuple(array.shape), _name(array.dtype)


@cache
def _name(dtype: np.dtype) -> str:
    return dtype.name


def _constant(data: bytes, kind: _Type, start: int) -> np.ndarray:
    """A constant that was computed while compiling."""
    shape, name = kind
    dtype = np.dtype(name)
    return np.frombuffer(data, dtype, prod(shape), start).reshape(shape).copy()  # aligned


def _extern(name: str, outputs, inputs, params) -> Extern:
    """A library call for the runtime; its buffers have no names any more."""
    from .._loops.nest import Buffer, Extern  # late: most programs have none

    def buffers(types) -> tuple[Buffer, ...]:
        return tuple(Buffer("", shape, dtype) for shape, dtype in types)
    return Extern(buffers(outputs), buffers(inputs), name, params)


executable_of = cached_by_jaxpr(Executable)
