"""Rows for slices, padding, joining and splitting."""

import ml_dtypes
import numpy as np

from tanx._ops import dynamic, slicing

from .case import Case, b, c, f, i

BF16, INT4 = ml_dtypes.bfloat16, ml_dtypes.int4


def part(start, limit, strides=None):
    return lambda x: slicing.slice(x, start, limit, strides)


def window(*sizes):
    return lambda x, *starts: dynamic.dynamic_slice(x, starts, sizes)


def update(x, u, *starts):
    return dynamic.dynamic_update_slice(x, u, starts)


def padded(*config):
    return lambda x, value: slicing.pad(x, value, config)


def joined(dimension):
    return lambda *xs: slicing.concatenate(xs, dimension)


def at(low=-9, high=10, dtype=np.int32):
    """A start index, often out of bounds."""
    return i(low=low, high=high, dtype=dtype)


CASES = [
    Case("slice", part((1,), (4,)), f(6)),
    Case("slice", part((0, 1), (3, 5)), f(4, 6)),
    Case("slice", part((0, 1), (3, 6), (1, 2)), f(4, 6), name="strides"),
    Case("slice", part((1, 0), (4, 5), (3, 3)), f(4, 6), name="strides"),
    Case("slice", part((2, 1), (2, 5)), f(4, 6), name="nothing"),
    Case("slice", part((2,), (2,), (2,)), f(4), name="nothing-by-strides"),
    Case("slice", part((0,), (4,)), f(4), name="all"),
    Case("slice", part((), ()), f(), name="rank-0"),
    Case("slice", part((1,), (3,)), c(4)),
    Case("slice", part((1,), (3,), (1,)), f(4, dtype=BF16)),
    Case("slice", part((1,), (3,)), b(4)),

    Case("dynamic_slice", window(2), f(6), at()),
    Case("dynamic_slice", window(2, 3), f(4, 6), at(), at()),
    Case("dynamic_slice", window(4, 1), f(4, 6), at(dtype=np.int8), at(dtype=np.int8)),
    Case("dynamic_slice", window(3), f(6), at(0, 250, np.uint8)),
    Case("dynamic_slice", window(2, 0), f(4, 6), at(), at(), name="nothing"),
    Case("dynamic_slice", window(), f(), name="rank-0"),
    Case("dynamic_slice", window(2), c(6), at(dtype=np.int64)),
    Case("dynamic_slice", window(2), i(6), at()),

    Case("dynamic_update_slice", update, f(6), f(2), at()),
    Case("dynamic_update_slice", update, f(4, 6), f(2, 3), at(), at()),
    Case("dynamic_update_slice", update, f(4, 6), f(4, 6), at(), at(), name="all"),
    Case("dynamic_update_slice", update, f(4, 6), f(0, 6), at(), at(), name="nothing"),
    Case("dynamic_update_slice", update, f(), f(), name="rank-0"),
    Case("dynamic_update_slice", update, f(6), f(2), at(0, 250, np.uint32)),
    Case("dynamic_update_slice", update, c(6), c(2), at(dtype=np.int64)),
    Case("dynamic_update_slice", update, b(6), b(2), at()),

    Case("pad", padded((1, 2, 0), (0, 0, 1)), f(3, 4), f()),
    Case("pad", padded((-1, 2, 0), (0, -3, 2)), f(4, 6), f(), name="negative"),
    Case("pad", padded((-4, -2, 2)), f(5), f(), name="negative-interior"),
    Case("pad", padded((-2, -2, 0)), f(4), f(), name="nothing-left"),
    Case("pad", padded((0, 0, 0)), f(4), f(), name="none"),
    Case("pad", padded((1, 1, 3)), f(0), f(), name="empty"),
    Case("pad", padded(), f(), f(), name="rank-0"),
    Case("pad", padded((1, 0, 1)), c(3), c()),
    Case("pad", padded((1, 0, 1)), f(3, dtype=BF16), f(dtype=BF16)),
    Case("pad", padded((1, 0, 1)), i(3, dtype=INT4), i(dtype=INT4)),
    Case("pad", padded((1, 0, 1)), b(3), b()),

    Case("concatenate", joined(0), f(2), f(3)),
    Case("concatenate", joined(1), f(2, 1), f(2, 3), f(2, 2), f(2, 1)),
    Case("concatenate", joined(0), f(0, 2), f(3, 2), f(0, 2), name="empty"),
    Case("concatenate", joined(0), f(0), f(0), name="all-empty"),
    Case("concatenate", joined(2), c(1, 2, 3), c(1, 2, 1)),
    Case("concatenate", joined(0), f(2, dtype=BF16), f(1, dtype=BF16)),
    Case("concatenate", joined(0), b(2), b(1)),

    Case("split", lambda x: slicing.split(x, (1, 3, 2), 0), f(6)),
    Case("split", lambda x: slicing.split(x, (2, 0, 1), 1), f(2, 3), name="empty-piece"),
    Case("split", lambda x: slicing.split(x, (3,), -1), f(2, 3), name="single"),
    Case("split", lambda x: slicing.split(x, (1, 2), 1), c(2, 3, 2)),
    Case("split", lambda x: slicing.split(x, (1, 2), 0), i(3)),
]
