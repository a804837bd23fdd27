"""Rows for products of matrices."""

import ml_dtypes
import numpy as np

from tanx._ops import dot as lax

from .case import Case, b, c, f, i

BF16 = ml_dtypes.bfloat16
MATRICES = (((1,), (0,)), ((), ()))


def general(numbers, **options):
    return lambda x, y: lax.dot_general(x, y, numbers, **options)


CASES = [
    *(Case("dot_general", lax.dot, x, y)
      for x, y in ((f(2, 3), f(3, 4)), (f(2, 3), f(3)), (f(3), f(3, 4)), (f(3), f(3)),
                   (f(1, 3), f(3, 1)), (f(2, 0), f(0, 3)), (f(0, 2), f(2, 3)))),
    Case("dot_general", lax.batch_matmul, f(5, 2, 3), f(5, 3, 4)),
    *(Case("dot_general", general(numbers), x, y, name=str(numbers))
      for x, y, numbers in (
          (f(2, 3), f(4), (((), ()), ((), ()))),
          (f(), f(), (((), ()), ((), ()))),
          (f(3, 2), f(4, 3), (((0,), (1,)), ((), ()))),
          (f(2, 3, 4, 5), f(4, 6, 3, 2), (((1, 2), (2, 0)), ((0,), (3,)))),
          (f(2, 3, 4, 5), f(4, 6, 3, 2), (((2,), (0,)), ((1, 0), (2, 3)))),
          (f(3, 4), f(3, 4), (((), ()), ((0, 1), (0, 1)))))),
    *(Case("dot_general", lax.dot, x, y)
      for x, y in ((f(2, 3, dtype=BF16), f(3, 4, dtype=BF16)),
                   (f(2, 3, dtype=np.float16), f(3, 4, dtype=np.float16)),
                   (f(2, 3, dtype=np.float32), f(3, 4, dtype=np.float32)),
                   (f(2, 3, dtype=np.float32), f(3, 4, dtype=BF16)),
                   (c(2, 3), c(3, 4)), (f(2, 3), c(3, 4)), (i(2, 3), i(3, 4)), (b(2, 3), b(3, 4)),
                   (i(2, 3, dtype=np.int8), i(3, 4, low=0, dtype=np.uint8)))),
    *(Case("dot_general", general(MATRICES, preferred_element_type=dtype), x, y,
           name=f"to {np.dtype(dtype)}")
      for x, y, dtype in ((f(2, 3, dtype=BF16), f(3, 4, dtype=BF16), np.float32),
                          (f(2, 3, dtype=np.float32), f(3, 4, dtype=np.float32), np.float64),
                          (i(2, 3, dtype=np.int8), i(3, 4, dtype=np.int8), np.int32))),
    Case("dot_general", general(MATRICES, precision="highest"), f(2, 3), f(3, 4), name="precise"),
]
