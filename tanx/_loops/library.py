"""Library calls that every target supports, and their meaning in NumPy.

They work on the lines of an array: its last dimension, or the one before if an element is a pair of
integers. Elements are unsigned integers. ``spare`` is scratch memory of a call; its first dimension
is tasks, each of which takes some of the lines.

- ``sorted, spare = sort_lines(x, bits, pairs)``: each line in the order of its keys, stably. The
  key of an element is in its highest ``bits``; the key of a pair is the second of the two.
- ``least, spare = least_of_lines(x)``: the least elements of each line, in ascending order and
  stably, as many as ``least`` holds; each as a uint64 with the element in the upper half and its
  position in the lower one.
- ``outputs = callback(inputs, call)``: the results of the Python function ``call`` on a list of
  arrays. It may have effects: such calls are kept, and stay in order.
- ``outputs = foreign(inputs, ...)``: the results of a user's C function; only the runtime can call
  it (see ``_runtime/foreign.py``). It may have effects and need not be thread-safe: such calls are
  kept, and stay in order. A call without effects whose results are not used was already dropped as
  an equation.
- ``out, spare = fourier(x, kind, length, outer, inner, scale)``: see ``fourier.py``.
- ``outputs = lapack(inputs, routine, count, args, copies, tasks)``: see ``lapack.py``.
- ``outputs = matrices(inputs, algorithm, options, rank, lanes, tasks)``: see ``small/lanes.py``.
- ``outputs = scratch()``: uninitialized arrays; nothing runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from .fourier import fourier
from .lapack import lapack
from .names import CALLBACK, FOURIER, LAPACK, LEAST_OF_LINES, MATRICES, SCRATCH, SORT_LINES
from .nest import Extern
from .small.lanes import matrices

__all__ = ["LIBRARY"]


def _sort_lines(call: Extern, x: np.ndarray) -> tuple[np.ndarray, ...]:
    params = dict(call.params)
    if params["pairs"]:
        order = np.argsort(x[..., 1], -1, kind="stable")
        result = np.take_along_axis(x, order[..., None], -2)
    else:
        keys = x >> x.dtype.type(8 * x.dtype.itemsize - params["bits"])
        result = np.take_along_axis(x, np.argsort(keys, -1, kind="stable"), -1)
    return result, np.zeros(call.outputs[1].shape, x.dtype)


def _least_of_lines(call: Extern, x: np.ndarray) -> tuple[np.ndarray, ...]:
    least, spare = call.outputs
    packed = x.astype(np.uint64) << np.uint64(32) | np.arange(x.shape[-1], dtype=np.uint64)
    return np.sort(packed, -1)[..., :least.shape[-1]], np.zeros(spare.shape, spare.dtype)


def _callback(call: Extern, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    return tuple(dict(call.params)["call"]([x.copy() for x in arrays]))


def _scratch(call: Extern) -> tuple[np.ndarray, ...]:
    return tuple(np.zeros(b.shape, b.dtype) for b in call.outputs)


LIBRARY: Mapping[str, Callable[..., tuple[np.ndarray, ...]]] = {
    SORT_LINES: _sort_lines, LEAST_OF_LINES: _least_of_lines, CALLBACK: _callback,
    FOURIER: fourier, LAPACK: lapack, MATRICES: matrices, SCRATCH: _scratch}
"""The functions by name; each takes the call and its input arrays."""
