"""Rows for sorting."""

import ml_dtypes
import numpy as np

from tanx._ops import sort as lax

from .case import Case, b, c, f, i

BF16 = ml_dtypes.bfloat16

CASES = [
    *(Case("sort", lambda x, d=dimension: lax.sort(x, d), f(*shape, distinct=True),
           name=str(dimension))
      for shape, dimension in (((5,), 0), ((3, 4), 0), ((3, 4), 1), ((2, 7, 3), 1), ((1,), 0),
                               ((0,), 0), ((3, 0), 0), ((16,), 0))),
    *(Case("sort", lax.sort, arg)
      for arg in (i(9), i(9, dtype=np.int8), i(9, low=0, dtype=np.uint8), b(5), c(5),
                  f(7, dtype=np.float32, distinct=True), f(7, dtype=BF16, distinct=True))),
    Case("sort", lambda x, y: lax.sort((x, y)), i(9, low=0, high=3), f(9), name="values go along"),
    Case("sort", lambda x, y: lax.sort((x, y), num_keys=2), i(9, low=0, high=3),
         f(9, distinct=True), name="two keys"),
    Case("sort", lambda x, y: lax.sort((x, y), 0, num_keys=2), f(4, 3, distinct=True), i(4, 3),
         name="two keys along 0"),
    Case("sort", lambda x, y: lax.sort((x, y), is_stable=False), f(5, distinct=True), f(5),
         name="unstable"),
    *(Case("top_k", lambda x, k=k, axis=axis: lax.top_k(x, k, axis=axis), arg, name=f"{k}, {axis}")
      for arg, k, axis in ((f(5, distinct=True), 2, -1), (f(3, 4, distinct=True), 4, 1),
                           (f(5, 2, distinct=True), 3, 0), (f(5, distinct=True), 0, 0),
                           (i(9, low=0, high=3), 5, 0),
                           (i(9, low=0, high=250, dtype=np.uint8), 5, 0),
                           (f(9, dtype=np.float32, distinct=True), 1, 0),
                           (f(9, dtype=BF16, distinct=True), 3, 0))),
    *(Case("approx_top_k", fun, arg)
      for fun, arg in ((lambda x: lax.approx_max_k(x, 2), f(5, distinct=True)),
                       (lambda x: lax.approx_min_k(x, 3, 0), f(4, 2, distinct=True)),
                       (lambda x: lax.approx_max_k(x, 1, aggregate_to_topk=False),
                        f(3, 4, dtype=np.float32, distinct=True)))),
]
