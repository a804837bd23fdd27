"""Library calls that every target knows, and what they mean, in NumPy.

They work on the lines of an array: its last dimension, or the one before where an element is a pair
of integers. Elements are unsigned integers. ``spare`` is room that a call may use as it likes; its
first dimension is that of tasks, each of which takes some of the lines.

- ``sorted, spare = sort_lines(x, bits, pairs)``: each line in the order of its keys, stably. The
  key of an element is in its highest ``bits``; the key of a pair is the second of the two.
- ``least, spare = least_of_lines(x)``: the least elements of each line, least first and of equals
  the first first, as many as there is room for in ``least``; each as a uint64 with the element in
  the upper half and its position in the lower one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from .nest import Extern

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


LIBRARY: Mapping[str, Callable[..., tuple[np.ndarray, ...]]] = {
    "sort_lines": _sort_lines, "least_of_lines": _least_of_lines}
"""The functions by name; each takes the call and its input arrays."""
