"""The limits of this machine, on all cores: plain loops that copy, read, write, and multiply.

A case that is bound by memory or by arithmetic is shown as a share of these.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from time import perf_counter
from typing import Any

import numpy as np

__all__ = ["best_seconds", "limits"]

MOVED = 1 << 26
"""Bytes of the array that is copied, read or written: far more than any cache holds."""

CHAINS, STEPS = 12, 1 << 20
"""Independent chains of fused multiply-adds (enough to fill the pipes, few enough for the registers
of any processor), and the length of each."""


def limits() -> dict[str, float]:
    """Bytes that are copied (read and written: both count), read, or written in a second by the
    best of some ways, and operations on f32 in a second (a fused multiply-add is two)."""
    source, target = np.ones(MOVED, np.uint8), np.ones(MOVED, np.uint8)
    cores, code = _cores(), _native()
    pieces = list(zip(np.split(target, 4 * cores), np.split(source, 4 * cores)))

    def bytes_per_second(name: str, *others: Callable) -> float:
        loop = code[name]
        ways = [lambda to, of: loop(to.ctypes.data, of.ctypes.data, of.size), *others]
        return MOVED / min(_best(way, pieces, threads) for way in ways
                           for threads in sorted({1, cores}))

    result, operations = np.zeros(64, np.float32), 2 * CHAINS * code["lanes"] * STEPS * cores
    return {
        "copy": 2 * bytes_per_second("copy", np.copyto),
        "read": bytes_per_second("read"),
        "write": bytes_per_second("write", lambda to, of: to.fill(1)),
        "peak": operations / _best(lambda: code["multiply"](result.ctypes.data), [()] * cores,
                                   cores)}


def best_seconds(machine: dict[str, float], read: int, written: int) -> float:
    """The time of plain loops that read and write these bytes: as much as possible is copied.

    >>> best_seconds({"copy": 10.0, "read": 6.0, "write": 8.0}, read=11, written=5)
    2.0
    """
    both = min(read, written)
    return (2 * both / machine["copy"] + (read - both) / machine["read"]
            + (written - both) / machine["write"])


def _cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _best(work: Callable, pieces: Sequence[tuple], threads: int, repeats: int = 5) -> float:
    """Seconds for all pieces, divided over threads."""
    if threads == 1:
        return min(_timed(lambda: [work(*piece) for piece in pieces]) for _ in range(repeats))
    with ThreadPoolExecutor(threads) as pool:
        run = lambda: list(pool.map(lambda piece: work(*piece), pieces))
        run()  # starts the threads
        return min(_timed(run) for _ in range(repeats))


def _timed(run: Callable) -> float:
    start = perf_counter()
    run()
    return perf_counter() - start


# -- native loops ----------------------------------------------------------------------------------

LOOP = """
define void @{name}(ptr %target, ptr %source, i64 %count) {{
entry:
  %seed = load {type}, ptr %source, align 4
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  {body}
  %next = add i64 %i, {step}
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  {end}
  ret void
}}
"""


def _loop(name: str, kind: str, step: int, body: list[str], end: Sequence[str] = ()) -> str:
    return LOOP.format(name=name, type=kind, step=step, body="\n  ".join(body),
                       end="\n  ".join(end))


def _sums(kind: str, count: int) -> tuple[list[str], list[str]]:
    """``count`` running sums ``%x0`` to ``%y0`` and so on, and their total in the target."""
    phis = [f"%x{k} = phi {kind} [%seed, %entry], [%y{k}, %loop]" for k in range(count)]
    total = [f"%s{k + 1} = fadd {kind} %{f's{k}' if k else 'y0'}, %y{k}" for k in range(count)]
    return phis, [*total, f"store {kind} %s{count}, ptr %target, align 4"]


def _memory_loops(lanes: int, unroll: int = 8) -> str:
    kind, size, each = f"<{lanes} x float>", lanes * 4, range(unroll)
    at = [f"%at{k} = add i64 %i, {k * size}" for k in each]
    loads = [line for k in each for line in (
        f"%from{k} = getelementptr i8, ptr %source, i64 %at{k}",
        f"%value{k} = load {kind}, ptr %from{k}, align 4")]
    to = [f"%to{k} = getelementptr i8, ptr %target, i64 %at{k}" for k in each]
    phis, total = _sums(kind, unroll)
    step = unroll * size
    return "".join([
        _loop("copy", kind, step, [*at, *loads, *to, *[
            f"store {kind} %value{k}, ptr %to{k}, align 4" for k in each]]),
        _loop("read", kind, step, [*phis, *at, *loads, *[
            f"%y{k} = fadd {kind} %x{k}, %value{k}" for k in each]], total),
        _loop("write", kind, step, [*at, *to, *[
            f"store {kind} %seed, ptr %to{k}, align 4" for k in each]])])


def _multiply_loop(lanes: int) -> str:
    kind, fma = f"<{lanes} x float>", f"@llvm.fma.v{lanes}f32"
    phis, total = _sums(kind, CHAINS)
    steps = [f"%y{k} = call {kind} {fma}({kind} %seed, {kind} %seed, {kind} %x{k})"
             for k in range(CHAINS)]
    return f"declare {kind} {fma}({kind}, {kind}, {kind})" + _loop(
        "multiply_loop", kind, 1, [*phis, *steps], total) + f"""
define void @multiply(ptr %result) {{
  call void @multiply_loop(ptr %result, ptr %result, i64 {STEPS})
  ret void
}}
"""


@cache
def _native() -> dict[str, Any]:
    """The loops as functions of addresses; the GIL is released while they run."""
    from llvmlite import binding as llvm
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features()
    lanes = 16 if features.get("avx512f") else 8 if features.get("avx2") else 4
    processor = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features.flatten(), opt=2, jit=True)
    linker = llvm.create_lljit_compiler(processor)
    library = llvm.JITLibraryBuilder().add_ir(_memory_loops(lanes) + _multiply_loop(lanes))
    address, size = ctypes.c_void_p, ctypes.c_int64
    types = {name: ctypes.CFUNCTYPE(None, address, address, size)
             for name in ("copy", "read", "write")} | {"multiply": ctypes.CFUNCTYPE(None, address)}
    for name in types:
        library.export_symbol(name)
    linked = library.link(linker, "machine")
    functions = {name: kind(linked[name]) for name, kind in types.items()}
    return {"lanes": lanes, "keep": (linker, linked), **functions}
