"""Rows for cumulative reductions."""

import ml_dtypes
import numpy as np

from tanx._ops import cumulative as lax

from .case import Case, c, f, i

NAMES = ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp")


def along(name, axis=0, reverse=False):
    return lambda x: getattr(lax, name)(x, axis, reverse)


CASES = [
    *(Case(name, along(name, axis, reverse), f(*shape, distinct=True), name=f"{axis}, {reverse}")
      for name in NAMES
      for shape, axis, reverse in (((5,), 0, False), ((3, 4), 0, True), ((3, 4), 1, False),
                                   ((2, 7, 3), 1, True), ((1,), 0, False), ((0, 3), 0, False),
                                   ((3, 0), 0, True))),
    *(Case(name, along(name), f(6, dtype=dtype, distinct=True))
      for name in NAMES for dtype in (ml_dtypes.bfloat16, np.float16, np.float32)),
    *(Case(name, along(name, 1), i(3, 4, dtype=dtype))
      for name in NAMES[:4] for dtype in (np.int32, np.int8)),
    *(Case(name, along(name), c(5)) for name in ("cumsum", "cumprod", "cumlogsumexp")),
]
