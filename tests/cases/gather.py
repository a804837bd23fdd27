"""Rows for gather: each mode, windows, batching dimensions, windows out of bounds."""

import ml_dtypes
import numpy as np

from tanx._ops.gather_geometry import GatherDimensionNumbers
from tanx._ops.gather_scatter import gather

from .case import Case, b, c, f, i

BF16 = ml_dtypes.bfloat16
MODES = ["clip", "fill", "one_hot"]


def take(offset, collapsed, start_map, sizes, batching=(), index_batching=(), **options):
    # Differences of NaN, the usual fill value, say nothing.
    options = {"fill_value": 1} | options
    numbers = GatherDimensionNumbers(offset, collapsed, start_map, batching, index_batching)
    return lambda x, index: gather(x, index, numbers, sizes, **options)


def out(*shape, low=-3, high=8, dtype=np.int64):
    """Indices; some are out of bounds."""
    return i(*shape, low=low, high=high, dtype=dtype)


def inner(*shape, high, dtype=np.int64):
    """Indices within bounds."""
    return i(*shape, low=0, high=high, dtype=dtype)


CASES = [
    *(Case("gather", take((1,), (0,), (0,), (1, 3), mode=mode), f(5, 3), out(4, 1), name=mode)
      for mode in MODES),
    *(Case("gather", take((1, 2), (), (0, 1), (2, 2), mode=mode), f(4, 5), out(3, 2), name=mode)
      for mode in MODES),
    Case("gather", take((1, 2), (), (0, 1), (2, 2), mode="promise_in_bounds"), f(4, 5),
         inner(3, 2, high=3), name="promise"),
    Case("gather", take((0,), (1,), (1,), (4, 1)), f(4, 5), inner(3, 1, high=5), name="columns"),
    Case("gather", take((0, 3), (1,), (1,), (2, 1, 3)), f(2, 4, 3), inner(2, 2, 1, high=4),
         name="middle"),
    Case("gather", take((), (0, 1), (1, 0), (1, 1)), f(4, 4), inner(6, 2, high=4), name="points"),
    Case("gather", take((0,), (0,), (0,), (1, 3)), f(5, 3), inner(1, high=5), name="one-row"),
    Case("gather", take((), (), (), ()), f(), inner(2, 0, high=1), name="rank-0"),
    Case("gather", take((1,), (), (), (3,)), f(3), inner(2, 0, high=1), name="no-components"),
    Case("gather", take((1,), (0,), (0,), (1, 2), mode="fill"), f(5, 3), out(4, 1),
         name="narrow"),
    Case("gather", take((1,), (0,), (0,), (1, 3)), f(5, 3), inner(0, 1, high=1), name="empty"),
    Case("gather", take((1, 2), (), (0,), (0, 3)), f(0, 3), inner(2, 1, high=1),
         name="empty-operand"),
    Case("gather", take((), (1,), (1,), (1, 1), (0,), (0,), mode="fill"), f(3, 4),
         out(3, 1, high=6), name="batching"),
    Case("gather", take((1,), (1,), (1,), (1, 1, 2), (0,), (1,)), f(3, 4, 2),
         inner(2, 3, 1, high=4), name="batching-second"),
    Case("gather", take((0,), (0,), (0,), (1, 3), mode="fill", fill_value=-7), f(5, 3),
         out(4, 1), name="fill-value"),
    Case("gather", take((1,), (0,), (0,), (1, 3), mode="clip", unique_indices=True,
                        indices_are_sorted=True), f(5, 3), inner(1, 1, high=5), name="promises"),
    *(Case("gather", take((), (0,), (0,), (1,), mode="fill"), arg, out(4, 1))
      for arg in (c(5), f(5, dtype=BF16), i(5), i(5, low=0, dtype=np.uint8), b(5))),
    *(Case("gather", take((), (0,), (0,), (1,), mode=mode), f(5), out(4, 1, low=low, dtype=dtype),
           name=mode)
      for mode in ("clip", "fill") for low, dtype in ((-3, np.int8), (0, np.uint8),
                                                       (0, np.uint64))),
]
