"""The functions of the runtime's library that programs may call, by name."""

from __future__ import annotations

from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from .._loops import lapack
from .._loops.names import CALLBACK, LAPACK
from .callbacks import callback
from .load import Library
from .machine import permanent

if TYPE_CHECKING:
    from .._loops.nest import Extern

__all__ = ["LIBRARIES"]


@cache
def _each_matrix() -> int:
    """The address of the native loop over matrices."""
    def text() -> str:
        from . import lapack_native
        from .native import translate
        return translate((lapack_native,), ("each_matrix",))
    return permanent("routines of LAPACK", text, tidy=True)["each_matrix"]


def _lapack(call: Extern) -> tuple[int, int, Any]:
    """A routine of BLAS or LAPACK, called without Python; see ``lapack_native.py``."""
    params = dict(call.params)
    buffers, results = (*call.outputs, *call.inputs), len(call.outputs)
    words = [params["count"], lapack.address(params["routine"]), len(params["copies"])]
    for out, given in params["copies"]:
        words += [out, results + given, prod(buffers[out].shape) * buffers[out].dtype.itemsize]
    cells = []
    for arg in params["args"]:
        if isinstance(arg, tuple):
            number, step = arg
            words += [number, step * buffers[number].dtype.itemsize]
        else:
            cells.append(lapack.cell(arg, buffers[0].dtype))
            words += [-1, cells[-1].ctypes.data]
    words += [-1, 1] * (lapack.MOST - len(params["args"]))
    job = np.array(words, np.int64)
    return _each_matrix(), job.ctypes.data, (job, cells)


LIBRARIES: dict[str, Library] = {CALLBACK: callback, LAPACK: _lapack}
