"""What this machine can do at best: bytes copied and operations done in a second, on all cores.

A case that is bound by memory or by arithmetic is shown as a share of these.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from time import perf_counter

import numpy as np

__all__ = ["bandwidth", "peak"]

COPIED = 1 << 26
"""Bytes of the array that is copied: far more than any cache holds."""

CHAINS, STEPS = 12, 1 << 20
"""Independent chains of fused multiply-adds (enough to fill the pipes, few enough for the registers
of any processor), and the length of each."""


def bandwidth() -> float:
    """Bytes read and written in a second by the best of some ways to copy a large array."""
    source, target = np.ones(COPIED, np.uint8), np.ones(COPIED, np.uint8)
    parts = 4 * _cores()
    pieces = list(zip(np.split(source, parts), np.split(target, parts)))

    copy = _native()["copy"]
    ways = [lambda piece: copy(piece[1].ctypes.data, piece[0].ctypes.data, piece[0].size),
            lambda piece: np.copyto(piece[1], piece[0])]
    return 2 * COPIED / min(_best(way, pieces, threads) for way in ways
                            for threads in sorted({1, _cores()}))


def peak() -> float:
    """Operations on f32 in a second, a fused multiply-add counting as two."""
    code, cores = _native(), _cores()
    result = np.zeros(64, np.float32)
    operations = 2 * CHAINS * code["lanes"] * STEPS * cores
    return operations / _best(lambda _: code["multiply"](result.ctypes.data), range(cores), cores)


def _cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _best(work: Callable, pieces, threads: int, repeats: int = 5) -> float:
    """Seconds for all pieces, spread over threads."""
    if threads == 1:
        return min(_timed(lambda: [work(piece) for piece in pieces]) for _ in range(repeats))
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, pieces))  # starts the threads
        return min(_timed(lambda: list(pool.map(work, pieces))) for _ in range(repeats))


def _timed(run: Callable) -> float:
    start = perf_counter()
    run()
    return perf_counter() - start


# -- native loops ----------------------------------------------------------------------------------

COPY = """
define void @copy(ptr %target, ptr %source, i64 %bytes) {{
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  {moves}
  %next = add i64 %i, {step}
  %more = icmp ult i64 %next, %bytes
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""

MULTIPLY = """
declare {type} {fma}({type}, {type}, {type})
define void @multiply(ptr %result) {{
entry:
  %seed = load {type}, ptr %result, align 4
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  {phis}
  {steps}
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, {count}
  br i1 %more, label %loop, label %done
done:
  {sums}
  store {type} %s{last}, ptr %result, align 4
  ret void
}}
"""


def _copy_text(lanes: int, unroll: int = 4) -> str:
    kind, moves = f"<{lanes} x float>", []
    for k in range(unroll):
        moves += [f"%at{k} = add i64 %i, {k * lanes * 4}",
                  f"%from{k} = getelementptr i8, ptr %source, i64 %at{k}",
                  f"%to{k} = getelementptr i8, ptr %target, i64 %at{k}",
                  f"%value{k} = load {kind}, ptr %from{k}, align 4"]
    moves += [f"store {kind} %value{k}, ptr %to{k}, align 4" for k in range(unroll)]
    return COPY.format(moves="\n  ".join(moves), step=unroll * lanes * 4)


def _multiply_text(lanes: int) -> str:
    kind, chains = f"<{lanes} x float>", range(CHAINS)
    name = f"@llvm.fma.v{lanes}f32"
    phis = [f"%x{k} = phi {kind} [%seed, %entry], [%y{k}, %loop]" for k in chains]
    steps = [f"%y{k} = call {kind} {name}({kind} %seed, {kind} %seed, {kind} %x{k})"
             for k in chains]
    sums = [f"%s0 = fadd {kind} %y0, %y0"]
    sums += [f"%s{k} = fadd {kind} %s{k - 1}, %y{k}" for k in chains[1:]]
    return MULTIPLY.format(type=kind, phis="\n  ".join(phis), steps="\n  ".join(steps),
                           count=STEPS, sums="\n  ".join(sums), last=CHAINS - 1, fma=name)


@cache
def _native() -> dict:
    """The loops as functions of addresses; the GIL is released while they run."""
    from llvmlite import binding as llvm
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features()
    lanes = 16 if features.get("avx512f") else 8 if features.get("avx2") else 4
    processor = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features.flatten(), opt=2, jit=True)
    linker = llvm.create_lljit_compiler(processor)
    library = llvm.JITLibraryBuilder().add_ir(_copy_text(lanes) + _multiply_text(lanes))
    linked = library.export_symbol("copy").export_symbol("multiply").link(linker, "machine")
    pointer = ctypes.c_void_p
    return {
        "lanes": lanes, "keep": (linker, linked),
        "copy": ctypes.CFUNCTYPE(None, pointer, pointer, ctypes.c_int64)(linked["copy"]),
        "multiply": ctypes.CFUNCTYPE(None, pointer)(linked["multiply"])}
