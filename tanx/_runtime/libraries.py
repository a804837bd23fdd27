"""The functions of the runtime's library that programs may call, by name."""

from __future__ import annotations

from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

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
    words = [count, own or lapack.address(params["routine"]), len(params["copies"]), tasks,
             -(-count // tasks), loops["some_matrices"]]
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


def _nbytes(buffer: Buffer) -> int:
    return prod(buffer.shape) * buffer.dtype.itemsize


LIBRARIES: dict[str, Library] = {CALLBACK: callback, LAPACK: _lapack}
