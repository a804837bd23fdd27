"""Times of kernels, and the limits of the machine.

A program gets a second entry point with a call between its statements that stores the time. The
call takes about 30 ns; the code of the kernels is the same.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from math import inf
from time import perf_counter
from typing import Any

import numpy as np

from .._compiler.machine import host
from .._compiler.pipeline import Module
from .._loops.names import CALLBACK, SCRATCH
from .._loops.nest import Extern
from .._runtime import stop
from .._runtime.callbacks import run_watched
from .._runtime.host import empty, run
from .._runtime.libraries import LIBRARIES
from .._runtime.load import ClockedCode
from .._runtime.machine_code import permanent
from .._runtime.threads import get_num_threads
from .facts import Limits

__all__ = ["Timed", "limits", "timed"]

_FEWEST, _MOST, _BUDGET = 3, 20, 0.25
"""The least and the greatest number of runs, and the seconds after which no further one begins."""


class Timed:
    """A module with clocks between its statements."""

    def __init__(self, module: Module):
        self.module, plan = module, module.plan
        self.code = ClockedCode(module.program, plan.offsets, plan.shared, LIBRARIES)
        self.calls_python = any(e.name == CALLBACK for e in self.code.externs.values())
        # Statements that only request memory are not run.
        self.runs = np.array([not isinstance(s, Extern) or s.name != SCRATCH
                              for s in module.program.statements], bool)

    def run(self, operands: Sequence[np.ndarray]) -> np.ndarray:
        """Seconds of each statement in one run. The operands are not changed."""
        plan = self.module.plan
        inputs = dict(zip(plan.program.inputs, map(_contiguous, (
            *self.module.constants, *operands)), strict=True))
        for given in plan.shared.values():
            copy = empty(inputs[given].shape, inputs[given].dtype)
            np.copyto(copy, inputs[given])
            inputs[given] = copy
        memory = [*inputs.values(), *(inputs[plan.shared[b]] if b in plan.shared else empty(
            b.shape, b.dtype) for b in plan.program.outputs)]
        call: Callable = run
        arguments: tuple[Any, ...] = (self.code.address, plan.size, *memory)
        if self.calls_python:
            call, arguments = run_watched, (run, *arguments)
        call(*arguments)
        if stop.words.failing:
            stop.settle()
        stamps, seconds = self.code.stamps, np.zeros(len(self.runs))
        seconds[self.runs] = np.diff((stamps - stamps[0]) @ np.array([1.0, 1e-9]))
        return seconds


def _contiguous(x: Any) -> np.ndarray:
    data = np.asarray(x)
    if data.dtype.itemsize == 0:  # gradients of integers: programs have flags in their place
        return np.zeros(data.shape, np.bool_)
    return np.ascontiguousarray(data).reshape(data.shape)


def timed(module: Module, operands: Sequence[np.ndarray]) -> tuple[list[float], int, float]:
    """The least seconds of each statement, the number of runs, and the seconds to compile.

    The first run, with cold caches and pages, does not count.
    """
    start = perf_counter()
    program = Timed(module)
    compiled = perf_counter() - start
    program.run(operands)
    least = np.full(len(module.program.statements), inf)
    start, runs = perf_counter(), 0
    while runs < _FEWEST or runs < _MOST and perf_counter() - start < _BUDGET:
        least = np.minimum(least, program.run(operands))
        runs += 1
    return [max(0.0, float(s)) for s in least], runs, compiled


# -- limits of the machine -------------------------------------------------------------------------

_IN_CACHE, _IN_LAST_CACHE, _IN_MEMORY = 1 << 18, 1 << 22, 1 << 25
"""Bytes of the copies that measure bandwidth: in a core's caches, in the last-level cache, in
memory. The bandwidth holds for kernels that access twice as much (the copy and its source)."""
_STEPS, _SUMS = 1 << 18, 12
"""Steps of a loop that multiplies and adds, and the number of its independent vectors."""


@cache
def limits() -> Limits:
    """The best performance of this machine: products and sums in registers, bytes of a plain copy.

    Measured once per process, in about 0.2 s, with all threads that compiled code uses.
    """
    threads = get_num_threads()
    single, double = map(_arithmetic, ("float", "double"), (threads, threads))
    own = threads * 2 * _IN_CACHE / _least(_copy(_IN_CACHE, 1))
    shared, memory = (2 * n / min(_least(_copy(n, 1)), _least(_copy(n, threads)))
                      for n in (_IN_LAST_CACHE, _IN_MEMORY))
    return Limits(threads, single, double, (
        (2 * threads * _IN_CACHE, max(own, shared, memory)),
        (2 * _IN_LAST_CACHE, max(shared, memory)), (1 << 62, memory)))


def _least(work: Callable[[], Any], budget: float = 0.02) -> float:
    """The least seconds of ``work``, after a first run that does not count.

    It runs 3 to 20 times, and not again after ``budget`` seconds.
    """
    work()
    times: list[float] = []
    while len(times) < 3 or len(times) < 20 and sum(times) < budget:
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return min(times)


def _arithmetic(kind: str, threads: int) -> float:
    """Operations per second, in all threads, of a loop that multiplies and adds vectors."""
    lanes = max(128, host().vector_bits) // (32 if kind == "float" else 64)
    made = permanent(f"products and sums of {lanes} {kind}", lambda: _sums_text(kind, lanes))
    function = ctypes.CFUNCTYPE(None, ctypes.c_int64)(made["tanx_sums"])
    with ThreadPoolExecutor(threads) as pool:
        seconds = _least(lambda: list(pool.map(function, [_STEPS] * threads)))
    return threads * _STEPS * _SUMS * 2 * lanes / seconds


def _sums_text(kind: str, lanes: int) -> str:
    """The text of that loop; it stores its results, so that LLVM does not drop it."""
    vector, name = f"<{lanes} x {kind}>", f"v{lanes}f{32 if kind == 'float' else 64}"
    sums = range(_SUMS)
    return "\n".join([
        f"declare {vector} @llvm.fma.{name}({vector}, {vector}, {vector})",
        "define void @tanx_sums(i64 %steps) {", "entry:", f"  %room = alloca {vector}",
        "  br label %loop", "loop:",
        "  %i = phi i64 [ 0, %entry ], [ %next, %loop ]",
        *(f"  %s{n} = phi {vector} [ zeroinitializer, %entry ], [ %t{n}, %loop ]" for n in sums),
        *(f"  %t{n} = call {vector} @llvm.fma.{name}({vector} %s{n}, {vector} %s{n}, "
          f"{vector} %s{n})" for n in sums),
        "  %next = add i64 %i, 1", "  %more = icmp slt i64 %next, %steps",
        "  br i1 %more, label %loop, label %done", "done:",
        *(f"  store volatile {vector} %t{n}, ptr %room" for n in sums),
        "  ret void", "}"])


def _copy(nbytes: int, threads: int) -> Callable[[], Any]:
    """A function that copies ``nbytes``, in several threads."""
    arrays = target, source = np.ones(nbytes, np.uint8), np.ones(nbytes, np.uint8)
    to, since, each = target.ctypes.data, source.ctypes.data, nbytes // threads
    move = ctypes.memmove  # lets other threads run
    if threads == 1:
        return lambda: (arrays, move(to, since, nbytes))
    pool = ThreadPoolExecutor(threads)
    starts = [n * each for n in range(threads)]
    return lambda: (arrays, list(pool.map(lambda n: move(to + n, since + n, each), starts)))
