"""The functions of the runtime's library that programs may call, by name."""

from __future__ import annotations

import ctypes
import os
from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from .._forever import forever
from .._loops import lapack
from .._loops.names import CALLBACK, LAPACK
from .callbacks import callback
from .factor import own_routine
from .load import Library
from .machine import permanent
from .threads import parallel_address

if TYPE_CHECKING:
    from .._loops.nest import Buffer, Extern

__all__ = ["LIBRARIES"]

_SMALL = 1 << 15
"""Elements of a matrix up to which a second thread gains nothing, in any routine."""


@cache
def _loops() -> dict[str, int]:
    """The addresses of the native loops over matrices."""
    def text() -> str:
        from . import lapack_native
        from .native import translate
        return translate((lapack_native,), ("each_matrix", "some_matrices"))
    return permanent("routines of LAPACK", text, {"tanx_parallel": parallel_address()}, tidy=True)


def _lapack(call: Extern) -> tuple[int, int, Any]:
    """A routine of BLAS or LAPACK, called without Python; see ``lapack_native.py``."""
    params = dict(call.params)
    buffers, results = (*call.outputs, *call.inputs), len(call.outputs)
    count, tasks, loops = params["count"], params["tasks"], _loops()
    own = own_routine(params["routine"], params["args"]) if count == 1 else None
    largest = max([prod(b.shape) for b in call.inputs], default=0) // max(count, 1)
    alone = own is None and (tasks > 1 or largest <= _SMALL)
    words = [count, own or lapack.address(params["routine"]), len(params["copies"]), tasks,
             -(-count // tasks), loops["some_matrices"], _threads() if alone else 0]
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
    job = np.array(words, np.int64)
    return loops["each_matrix"], job.ctypes.data, (job, cells)


@cache
def _threads() -> int:
    """The address of what it takes to hold the library's threads; 0 where there is none."""
    functions = lapack.thread_functions()
    if functions is None:
        return 0
    words = forever((ctypes.c_int64 * 20)())
    words[18], words[19] = functions

    def forked() -> None:
        """In a new process, where nobody holds anything."""
        if words[16]:
            ctypes.CFUNCTYPE(None, ctypes.c_int)(functions[1])(words[17] & 0x7FFFFFFF)
        words[:17] = [0] * 17

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=forked)
    return ctypes.addressof(words)


def _nbytes(buffer: Buffer) -> int:
    return prod(buffer.shape) * buffer.dtype.itemsize


LIBRARIES: dict[str, Library] = {CALLBACK: callback, LAPACK: _lapack}
