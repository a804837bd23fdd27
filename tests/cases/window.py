"""Rows for reductions of windows."""

import ml_dtypes
import numpy as np

from tanx._ops import arith, compare, magnitude
from tanx._ops import window as lax
from tanx._ops.operands import identity

from .case import Case, b, c, f, i

BF16 = ml_dtypes.bfloat16
NAMED = {"sum": (arith.add, "add"), "max": (magnitude.max, "max"), "min": (magnitude.min, "min")}

PADDING_ALONE = ((3, 2),)  # windows without elements, whose extrema are infinite

# (shape, dimensions, strides, padding, base dilation, window dilation)
WINDOWS = [
    ((7,), (3,), (1,), "VALID", (1,), (1,)),
    ((8,), (2,), (2,), "VALID", (1,), (1,)),
    ((4, 6), (2, 2), (2, 2), "VALID", (1, 1), (1, 1)),
    ((5, 6), (3, 3), (2, 2), "SAME", (1, 1), (1, 1)),
    ((5, 4), (2, 3), (1, 2), ((1, 0), (0, 2)), (1, 1), (1, 1)),
    ((6, 5), (2, 2), (1, 1), ((-1, 1), (0, -1)), (1, 1), (1, 1)),
    ((4, 5), (3, 2), (1, 2), ((1, 2), (0, 1)), (2, 1), (1, 2)),
    ((7,), (2,), (3,), "VALID", (1,), (1,)),
    ((3, 2), (1, 1), (1, 1), "VALID", (1, 1), (1, 1)),
    ((2,), (3,), (1,), "VALID", (1,), (1,)),
    ((3,), (2,), (1,), PADDING_ALONE, (1,), (1,)),
    ((2, 4, 4, 2), (1, 2, 2, 1), (1, 2, 2, 1), "VALID", (1,) * 4, (1,) * 4),
    ((40,), (21,), (1,), "SAME", (1,), (1,)),
    ((40,), (19,), (2,), "VALID", (1,), (1,)),
    ((90,), (9,), (1,), "VALID", (1,), (5,)),
    ((30,), (12,), (10,), "VALID", (1,), (1,)),
]


def over(name, *window):
    """A reduction by a function that has a special primitive."""
    computation, combine = NAMED[name]
    return lambda x: lax.reduce_window(
        x, np.asarray(identity(combine, x.dtype), x.dtype)[()], computation, *window)


def smaller_with_place(a, b):
    """The minimum and its index."""
    (x, i), (y, j) = a, b
    return compare.select(compare.le(x, y), x, y), compare.select(compare.le(x, y), i, j)


CASES = [
    *(Case(f"reduce_window_{name}", over(name, *window), f(*shape, distinct=True), name=str(window),
           grad=() if name != "sum" and window[2] == PADDING_ALONE else None)
      for name in NAMED for shape, *window in WINDOWS),
    *(Case(f"reduce_window_{name}", over(name, (2, 2), (1, 2), "SAME"), arg)
      for name in NAMED
      for arg in (f(5, 6, dtype=BF16, distinct=True), f(5, 6, dtype=np.float16, distinct=True),
                  f(5, 6, dtype=np.float32, distinct=True), i(5, 6), i(5, 6, dtype=np.int8),
                  i(5, 6, low=0, high=200, dtype=np.uint8), f(0, 3), f(3, 0))),
    Case("reduce_window_sum", over("sum", (2, 2), (1, 2), "SAME"), c(5, 6)),
    *(Case(f"reduce_window_{name}", over(name, (2, 2), (1, 2), "SAME"), b(5, 6))
      for name in ("max", "min")),
    *(Case("reduce_window", lambda x, window=window: lax.reduce_window(
        x, x.dtype.type(2), lambda x, y: arith.mul(x, y), *window), f(*shape), name=str(window))
      for shape, *window in WINDOWS[:12]),
    Case("reduce_window", lambda x, start: lax.reduce_window(
        x, start, lambda a, b: arith.mul(a, b), (2,), None, ((1, 0),)), f(5), f(), name="start"),
    Case("reduce_window", lambda x, at: lax.reduce_window(
        (x, at), (np.float64(9), np.int32(-1)), smaller_with_place, (1, 3), (1, 2), "SAME"),
        f(3, 6, distinct=True), i(3, 6), name="two operands"),
    *(Case("reduce_window", lambda x: lax.reduce_window(
        x, x.dtype.type(1), lambda x, y: arith.mul(x, y), (2,), None, ((1, 1),)), arg)
      for arg in (f(5, dtype=np.float32), i(5), c(4), f(0))),
]
