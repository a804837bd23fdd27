"""Arrays that calls name: ``f32_2x3`` is an array of that dtype and shape, with fixed values.

A name is ``<dtype>``, or ``<dtype>_<kind><shape><letter>`` with all parts after the dtype optional:
``i8`` is a scalar, ``f32_0`` is empty, ``f32_pos3`` is positive, ``f32_unit3`` is inside (-1, 1),
``f32_edge`` holds the special values of the dtype, ``f32_nan2x3`` has some NaNs, ``i32_idx4`` are
small indices, ``f32_3b`` has values other than ``f32_3``. ``np_f32_3`` is the same as a NumPy
array, and ``w_f32`` an array of weak type. Values are multiples of 1/8, which every dtype holds
exactly.
"""

from __future__ import annotations

import itertools
import re
import zlib
from functools import cache

import ml_dtypes
import numpy as np

__all__ = ["DTYPES", "NAME", "names_in", "value"]

DTYPES = {
    "b1": bool, "i8": np.int8, "i16": np.int16, "i32": np.int32, "u8": np.uint8, "u32": np.uint32,
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "c64": np.complex64,
}
NAME = re.compile(r"\b(np_|w_)?(b1|i8|i16|i32|u8|u32|f16|bf16|f32|c64)"
                  r"(?:_(pos|unit|edge|nan|idx)?(\d+(?:x\d+)*)?([a-d])?)?\b")

EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 3.25, -7.5, 1e-30, 1e30, np.inf, -np.inf, np.nan]


def names_in(text: str) -> list[str]:
    """The names of operands in ``text``, in order, each once."""
    return list(dict.fromkeys(match[0] for match in NAME.finditer(text)))


@cache
def value(name: str, batch: int | None = None) -> np.ndarray:
    """The data of an operand; with ``batch``, that many different ones, stacked."""
    _, letters, kind, sizes, _ = NAME.fullmatch(name).groups()
    shape = tuple(int(n) for n in sizes.split("x")) if sizes else ()
    if batch is not None:
        shape = (batch, *shape)
    dtype = np.dtype(DTYPES[letters])
    random = np.random.default_rng(zlib.crc32(name.encode()))
    if kind == "edge":
        edges = _edges(dtype)
        return edges if batch is None else np.stack([edges[::-1], *[edges] * (batch - 1)])
    if kind == "idx":
        return random.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "bui":
        low, high = {"b": (0, 2), "u": (0, 9), "i": (-5, 6)}[dtype.kind]
        return random.integers(max(low, 1) if kind == "pos" else low, high, shape).astype(dtype)
    eighths = {"pos": (1, 25), "unit": (-7, 8)}.get(kind, (-24, 25))
    data = random.integers(*eighths, shape) / 8
    if dtype.kind == "c":
        data = data + 1j * random.integers(-24, 25, shape) / 8
    if kind == "nan":
        data = np.where(random.random(shape) < 0.4, np.nan, data)
    return data.astype(dtype)


def _edges(dtype: np.dtype) -> np.ndarray:
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "ui":
        info = np.iinfo(dtype)
        return np.array([0, 1, 2, 3, 7, info.min, info.min + 1, info.max - 1, info.max], dtype)
    with np.errstate(over="ignore", under="ignore"):
        if dtype.kind == "c":
            pairs = itertools.product((0.0, -0.0, 1.5, -2.0), (0.0, -0.0, 1.0))
            pairs = [*pairs, (np.inf, 1.0), (-np.inf, 0.0), (0.0, np.nan)]
            return np.array([complex(*pair) for pair in pairs], dtype)
        return np.array(EDGES, dtype)
