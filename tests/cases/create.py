"""Rows for constants and iota."""

import ml_dtypes
import numpy as np

from tanx._base.symbolic import Hook
from tanx._ops import create

from .case import Case

CASES = [
    *(Case("iota", lambda t=t: create.iota(t, 5), name=np.dtype(t).name) for t in
      (np.int32, np.uint8, np.float32, np.float64, np.complex64, ml_dtypes.bfloat16,
       ml_dtypes.int4)),
    *(Case("iota", lambda s=s, d=d: create.broadcasted_iota(np.int32, s, d), name=f"{s},{d}")
      for s, d in (((3, 4), 0), ((3, 4), 1), ((2, 3, 4), 1), ((0,), 0), ((3, 0), 0))),
    Case("iota", lambda: create.iota(np.int8, 300), name="wraps"),
    Case("dim_as_value", lambda: Hook.primitive.bind(dim=5)),
    Case("empty", lambda: create.empty((2, 3), np.float32)),
    Case("scratch", lambda: create.scratch((2, 3), np.dtype(np.float32)), lower=False),
]
