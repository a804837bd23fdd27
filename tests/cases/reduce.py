"""Rows for reductions."""

import ml_dtypes
import numpy as np

from tanx._ops import arith, base, compare, slicing
from tanx.lax import _functions as lax

from .case import Case, b, c, f, i

BF16 = ml_dtypes.bfloat16


def over(name, *axes):
    return lambda x: getattr(lax, name)(x, axes)


def smaller_with_index(a, b):
    """The minimum and its index: a reducer of two operands, with a choice."""
    (x, i), (y, j) = a, b
    return compare.select(compare.le(x, y), x, y), compare.select(compare.le(x, y), i, j)


def through_an_array(x, y):
    """A product that goes through an array of two elements, and so is not elementwise."""
    both = slicing.concatenate([base.reshape(x, (1,)), base.reshape(y, (1,))], 0)
    return lax.reduce_prod(both, (0,))


def by(fun, init, *dimensions):
    return lambda x: lax.reduce(x, np.asarray(init, x.dtype)[()], fun, dimensions)


CASES = [
    *(Case("reduce", by(lambda x, y: arith.mul(x, y), 2, *dimensions), arg, name=str(dimensions))
      for arg, dimensions in ((f(5), (0,)), (f(3, 4), (1,)), (f(2, 3, 2), (2, 0)), (f(2, 3), ()),
                              (f(), ()), (f(4, 1), (1,)), (i(6), (0,)), (f(0, 3), (1,)),
                              (f(6, dtype=np.float32), (0,)), (c(3), (0,)))),
    Case("reduce", by(lambda x, y: arith.mul(x, y), 2, 0), f(0, 3), grad=(), name="empty"),
    Case("reduce", by(through_an_array, 1, 1), f(2, 5), name="not elementwise"),
    Case("reduce", lambda x, start: lax.reduce(x, start, lambda a, b: arith.mul(a, b), (0,)),
         f(5), f(), name="start"),
    Case("reduce", lambda x, at: lax.reduce((x, at), (np.float64(9), np.int32(-1)),
                                            smaller_with_index, (1,)),
         f(3, 5, distinct=True), i(3, 5), name="two operands"),
    *(Case(name, over(name, *axes), f(*shape, distinct=True), name=str(axes))
      for name in ("reduce_sum", "reduce_prod", "reduce_max", "reduce_min")
      for shape, axes in (((3, 4), (0,)), ((3, 4), (1,)), ((2, 3, 4), (2, 0)), ((2, 3), ()),
                          ((5,), (0,)), ((), ()), ((3, 1), (1,)), ((0, 3), (1,)))),
    *(Case(name, over(name, 0), f(0, 3), grad=(), name="empty")
      for name in ("reduce_sum", "reduce_prod", "reduce_max", "reduce_min")),
    *(Case(name, over(name, 1), arg)
      for name in ("reduce_sum", "reduce_prod", "reduce_max", "reduce_min")
      for arg in (f(3, 4, dtype=BF16, distinct=True), f(3, 4, dtype=np.float16, distinct=True),
                  f(3, 4, dtype=np.float32, distinct=True), i(3, 4), i(3, 4, dtype=np.int8))),
    *(Case(name, over(name, 0), c(3, 4)) for name in ("reduce_sum", "reduce_prod")),
    *(Case(name, over(name, 0), c(3, 4), grad=()) for name in ("reduce_max", "reduce_min")),
    *(Case(name, over(name, 1), b(3, 4)) for name in ("reduce_max", "reduce_min")),
    *(Case(name, over(name, *axes), arg, name=str(axes))
      for name in ("reduce_and", "reduce_or", "reduce_xor")
      for arg, axes in ((b(3, 4), (0,)), (i(3, 4), (0, 1)), (b(), ()), (i(2, 0), (1,)),
                        (i(3, 4, low=0, high=200, dtype=np.uint8), (1,)))),
    *(Case(name, lambda x, name=name, axis=axis, dtype=dtype: getattr(lax, name)(x, axis, dtype),
           arg, name=f"{axis}, {np.dtype(dtype)}")
      for name in ("argmax", "argmin")
      for arg, axis, dtype in (
          (f(3, 4), 0, np.int32), (f(3, 4), 1, np.int64), (i(3, 4), 1, np.int8),
          (b(3, 4), 0, np.int32), (f(3, 4, dtype=BF16), 1, np.uint8), (f(2, 3, 4), 1, np.int32),
          (f(0, 3), 1, np.int32), (f(3, 1), 1, np.int32))),
]
