"""Rows for products with groups."""

import ml_dtypes
import numpy as np

from tanx._ops import ragged as lax

from .case import Case, f, i


def general(numbers, ragged, group=()):
    numbers = lax.RaggedDotDimensionNumbers(numbers, (ragged,), group)
    return lambda x, y, sizes: lax.ragged_dot_general(x, y, sizes, numbers)


def groups(*shape):
    return i(*shape, low=0, high=3)


CASES = [
    *(Case("ragged_dot_general", lax.ragged_dot, *args)
      for args in ((f(6, 4), f(3, 4, 2), groups(3)), (f(4, 2), f(1, 2, 3), groups(1)),
                   (f(0, 4), f(3, 4, 2), i(3, low=0, high=1)),
                   (f(6, 4, dtype=np.float32), f(3, 4, 2, dtype=ml_dtypes.bfloat16), groups(3)),
                   (i(6, 4), i(3, 4, 2), groups(3)))),
    Case("ragged_dot_general", general((((2,), (2,)), ((0,), (0,))), 1, (1,)),
         f(2, 6, 4), f(2, 3, 4, 5), groups(2, 3), name="batch"),
    Case("ragged_dot_general", general((((2,), (2,)), ((0,), (0,))), 1, (1,)),
         f(2, 6, 4), f(2, 3, 4, 5), groups(3), name="batch of equal groups"),
    Case("ragged_dot_general", general((((0,), (1,)), ((), ())), 2, (2,)),
         f(4, 2, 6), f(5, 4, 3), groups(3), name="rows of rows"),
    Case("ragged_dot_general", general((((0,), (1,)), ((), ())), 2, (2,)),
         f(4, 2, 6), f(5, 4, 3), groups(2, 3), grad=(0,), name="rows of rows with their groups"),
    Case("ragged_dot_general", general((((1,), (0,)), ((), ())), 1), f(4, 6), f(6, 2), groups(3),
         name="sums"),
    Case("ragged_dot_general", general((((1, 2), (0, 2)), ((), ())), 2),
         f(4, 2, 6), f(2, 3, 6), groups(3), name="sums over two"),
    Case("ragged_dot_general", general((((2,), (1,)), ((0,), (0,))), 2),
         f(2, 4, 6), f(2, 6, 3), groups(2, 3), name="sums in a batch"),
]
