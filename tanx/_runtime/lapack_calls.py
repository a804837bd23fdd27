"""Calls of BLAS and LAPACK from compiled code, without Python; see ``lapack_native.py``."""

from __future__ import annotations

import ctypes
import os
from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base.forever import forever
from .._loops import lapack
from . import host, stop
from . import lapack_native as lapack_words
from .factor import own_routine
from .machine_code import permanent
from .threads import get_num_threads, parallel_address, when_resized

if TYPE_CHECKING:
    from .._loops.nest import Buffer, Extern

__all__ = ["bind"]

_SMALL = 1 << 15
"""Elements of a matrix up to which a second thread gains nothing, in any routine."""

_NARROW, _SHORT = 128, 1 << 18
"""The shorter side of a matrix up to which that holds as well, and its elements at most: singular
values of 1000 x 50 take 0.85 ms on one thread and 1.8 to 2.0 on 2 to 16, least squares of 1000 x
100 take 2.9 ms and 6.1 to 7.1 (Emerald Rapids, 16 cores)."""


@cache
def _loops() -> dict[str, int]:
    """The addresses of the native loops over matrices."""
    def text() -> str:
        from .native import translate
        return translate((lapack_words,), ("behind", "cap", "each_matrix", "some_matrices"))
    symbols = {"tanx_parallel": parallel_address(), **stop.addresses(),
               **{name: host.address(name) for name in ("tanx_alloc", "tanx_free")}}
    symbols["tanx_behind"] = ctypes.addressof(_behind)
    made = permanent("routines of LAPACK", text, symbols, tidy=True)
    lapack.freeze_at_exit(lambda: [t for t in _behind[lapack_words.LOCK // 8:] if t])
    _keep_few_threads(made["cap"])
    return made


def _keep_few_threads(cap: int) -> None:
    """Limit the library to as many threads as programs have: it does not know all limits."""
    words = _threads()
    if not words:
        return
    usual = ctypes.CFUNCTYPE(ctypes.c_int)((lapack.thread_functions() or (0,))[0])()
    function = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)(cap)
    if get_num_threads() < usual:
        function(words, get_num_threads())
    when_resized(lambda threads: function(words, min(usual, threads)))


_behind = forever((ctypes.c_int64 * (lapack_words.LOCK // 8 + lapack_words.SLOTS))())
"""The threads that run abandoned routines, and a lock."""


_jobs: dict[bytes, Any] = {}
"""The data of background threads: the process keeps it, since a thread may be abandoned."""


def bind(call: Extern) -> tuple[int, int, Any]:
    """A function that calls a routine for each matrix, its argument, and what must stay alive."""
    params = dict(call.params)
    buffers, results = (*call.outputs, *call.inputs), len(call.outputs)
    count, tasks, loops = params["count"], params["tasks"], _loops()
    own = own_routine(params["routine"], params["args"]) if count == 1 else None
    largest = max([prod(b.shape) for b in call.inputs], default=0) // max(count, 1)
    narrow = largest <= _SHORT and all(min(b.shape[-2:], default=0) <= _NARROW for b in call.inputs)
    alone = own is None and (tasks > 1 or largest <= _SMALL or narrow)
    words = [count, own or lapack.address(params["routine"]), len(params["copies"]), tasks,
             -(-count // tasks), loops["some_matrices"], _threads() if alone else 0]
    sizes = list(map(_nbytes, buffers))
    apart = lapack.takes_long(params["routine"], count, largest)
    words += [loops["behind"] if apart else 0, _block(sizes), len(buffers), results, 0]
    for out, given in params["copies"]:
        words += [out, results + given, _nbytes(buffers[out])]
    cells = []
    for arg in params["args"]:
        if isinstance(arg, tuple):
            number, step = arg
            words += [number, step * buffers[number].dtype.itemsize,
                      0 if step or number >= results else _nbytes(buffers[number]) // tasks]
        else:
            cells.append(lapack.cell(arg, buffers[0].dtype))
            words += [-1, cells[-1].ctypes.data, 0]
    words += [-1, 1, 0] * (lapack.MOST - len(params["args"]))
    words[lapack_words.SIZES // 8] = 8 * len(words)
    job = np.array(words + sizes, np.int64)
    kept = (job, cells)
    if apart:
        kept = _jobs.setdefault(repr((call.params, sizes)).encode(), kept)
    return loops["each_matrix"], kept[0].ctypes.data, kept


def _block(sizes: list[int]) -> int:
    """Bytes of memory for copies of buffers of these sizes, with the header."""
    return lapack_words.ADDRESSES + 8 * len(sizes) + 64 + sum((n + 63) & -64 for n in sizes)


@cache
def _threads() -> int:
    """The address of the record that limits the library's threads; 0 if it has none."""
    functions = lapack.thread_functions()
    if functions is None:
        return 0
    words = forever((ctypes.c_int64 * 20)())
    words[18], words[19] = functions

    def forked() -> None:
        """In a new process, where no thread holds anything."""
        if words[16]:
            ctypes.CFUNCTYPE(None, ctypes.c_int)(functions[1])(words[17] & 0x7FFFFFFF)
        words[:17] = [0] * 17

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=forked)
    return ctypes.addressof(words)


def _nbytes(buffer: Buffer) -> int:
    return prod(buffer.shape) * buffer.dtype.itemsize
