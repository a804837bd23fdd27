"""Rows for scatter: windows, batching dimensions, updates out of bounds or at equal indices."""

import ml_dtypes
import numpy as np

from tanx._ops import arith, transcendental
from tanx._ops import gather_scatter as scatter

from .case import Case, b, c, f, i
from .gather import inner, out

BF16 = ml_dtypes.bfloat16


def put(function, window, inserted, start_map, batching=(), index_batching=(), **options):
    numbers = scatter.ScatterDimensionNumbers(window, inserted, start_map, batching,
                                              index_batching)
    return lambda x, index, u: function(x, index, u, numbers, **options)


def distinct(put_):
    """Scatter to distinct indices: index k becomes k plus three times its position."""
    def fun(x, index, u):
        steps = np.arange(index.shape[0], dtype=np.int64)[:, None] * 3
        return put_(x, arith.add(index, steps), u)
    return fun


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


PUT = [
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

CASES = PUT + APPLIED
