"""Rows for gather and scatter: each mode, windows, batching dimensions, indices that stick out."""

import ml_dtypes
import numpy as np

from tanx._ops import arith, gather, scatter, transcendental

from .case import Case, b, c, f, i

BF16 = ml_dtypes.bfloat16
MODES = ["clip", "fill", "one_hot"]


def take(offset, collapsed, start_map, sizes, batching=(), index_batching=(), **options):
    # Differences of NaN, the usual fill value, say nothing.
    options = {"fill_value": 1} | options
    numbers = gather.GatherDimensionNumbers(offset, collapsed, start_map, batching, index_batching)
    return lambda x, index: gather.gather(x, index, numbers, sizes, **options)


def put(function, window, inserted, start_map, batching=(), index_batching=(), **options):
    numbers = scatter.ScatterDimensionNumbers(window, inserted, start_map, batching,
                                              index_batching)
    return lambda x, index, u: function(x, index, u, numbers, **options)


def distinct(put_):
    """Scatter to places that are all different: index k becomes k plus three times its position."""
    def fun(x, index, u):
        steps = np.arange(index.shape[0], dtype=np.int64)[:, None] * 3
        return put_(x, arith.add(index, steps), u)
    return fun


def out(*shape, low=-3, high=8, dtype=np.int64):
    """Indices of which some lie outside."""
    return i(*shape, low=low, high=high, dtype=dtype)


def inner(*shape, high, dtype=np.int64):
    """Indices that lie inside."""
    return i(*shape, low=0, high=high, dtype=dtype)


GATHERS = [
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


def everywhere(name, function, *more):
    """The rows that all scatters share."""
    return [
        Case(name, put(function, (1,), (0,), (0,)), f(5, 3), out(2, 1), f(2, 3), name="rows"),
        Case(name, put(function, (0,), (1,), (1,), mode="clip"), f(4, 3), out(2, 1), f(4, 2),
             name="columns"),
        Case(name, put(function, (), (0,), (0,)), f(6), out(5, 1), f(5), name="points"),
        Case(name, put(function, (1,), (), (0,)), f(6), out(3, 1), f(3, 2), name="windows"),
        Case(name, put(function, (0, 1), (), (0, 1), mode="clip"), f(3, 4), out(2), f(2, 2),
             name="one-window"),
        Case(name, put(function, (), (1,), (1,), (0,), (0,)), f(3, 4), out(3, 1), f(3),
             name="batching"),
        Case(name, put(function, (), (0,), (0,)), f(6), out(0, 1), f(0), name="no-updates"),
        Case(name, put(function, (1,), (0,), (0,)), f(3, 0), out(2, 1), f(2, 0), name="empty"),
        Case(name, put(function, (), (), ()), f(), out(0), f(), name="rank-0"),
        Case(name, put(function, (), (0,), (0,)), i(6), out(5, 1), i(5)),
        Case(name, put(function, (), (0,), (0,)), f(6, dtype=BF16), out(3, 1), f(3, dtype=BF16)),
        *more]


def without_updates(rows):
    """Differentiate by the operand only."""
    for case in rows:
        case.grad = tuple(k for k in case.grad if k == 0)
    return rows


FIRST = [
    *everywhere("scatter", scatter.scatter,
                Case("scatter", put(scatter.scatter, (), (0,), (0,)), f(3), out(8, 1, high=4),
                     f(8), name="meeting"),
                Case("scatter", put(scatter.scatter, (), (0,), (0,)), b(6), out(5, 1), b(5)),
                Case("scatter", distinct(put(scatter.scatter, (1,), (0,), (0,), mode="clip",
                                             unique_indices=True)),
                     f(9, 2), inner(3, 1, high=3), f(3, 2), name="unique")),
    *everywhere("scatter-add", scatter.scatter_add,
                Case("scatter-add", put(scatter.scatter_add, (), (0,), (0,)), f(3),
                     out(8, 1, high=4), f(8), name="meeting"),
                Case("scatter-add", put(scatter.scatter_add, (0,), (0,), (0,)), c(3, 2),
                     out(4, 1), c(2, 4)),
                Case("scatter-add", distinct(put(scatter.scatter_add, (1,), (0,), (0,),
                                                 unique_indices=True)),
                     f(9, 2), inner(3, 1, high=3), f(3, 2), name="unique")),
    *everywhere("scatter-sub", scatter.scatter_sub),
    *without_updates(everywhere("scatter-mul", scatter.scatter_mul)),
    Case("scatter-mul", distinct(put(scatter.scatter_mul, (1,), (0,), (0,), unique_indices=True)),
         f(9, 2), inner(3, 1, high=3), f(3, 2), name="unique"),
    *everywhere("scatter-min", scatter.scatter_min),
    *everywhere("scatter-max", scatter.scatter_max,
                Case("scatter-max", put(scatter.scatter_max, (), (0,), (0,)), b(6), out(5, 1),
                     b(5))),
]


def apply(function, shape, **options):
    numbers = scatter.ScatterDimensionNumbers((), (0,), (0,))
    return lambda x, index: scatter.scatter_apply(x, index, function, numbers, update_shape=shape,
                                                  **options)


APPLIED = [
    Case("scatter", apply(transcendental.sin, (6,)), f(4), out(6, 1), grad=(), name="apply"),
    Case("scatter", apply(lambda x: arith.add(arith.mul(x, x), 1.0), (3,), mode="clip"), f(4),
         out(3, 1), grad=(), name="apply-clip"),
    Case("scatter", apply(lambda x: np.float64(2.0), (3,)), f(4), out(3, 1), grad=(),
         name="apply-constant"),
]

CASES = GATHERS + FIRST + APPLIED
