"""Rows for matrices in compressed sparse rows (CSR)."""

import ml_dtypes
import numpy as np

from tanx._core.array import Array
from tanx._ops.compressed import csr_matmat_p, csr_matvec_p

from .case import Case, f, i

ENDS = np.array([0, 2, 2, 5, 6], np.int32)
LONG = np.array([1, 20, 24, 24, 60], np.int64)  # most are added up several at a time
MANY = np.sort(np.random.default_rng(0).integers(0, 400, 137)).astype(np.int32)  # 2 blocks and 8
BLOCK = MANY[:65]
WRONG = np.array([-3, 2, -1, 5, 99], np.int32)  # negative ones are behind the last entry


def product(primitive, ends=ENDS):
    return lambda d, c, v: primitive.bind(d, c, Array(ends), v)


CASES = [
    *(Case("csr_matvec", product(csr_matvec_p), f(7, dtype=t), i(7, low=0, high=6), f(5, dtype=t),
           grad=()) for t in (np.float64, np.float32, ml_dtypes.bfloat16)),
    Case("csr_matvec", product(csr_matvec_p), i(7), i(7, low=0, high=5), i(5), grad=()),
    Case("csr_matvec", product(csr_matvec_p, np.zeros(4, np.int32)), f(3), i(3, low=0, high=2),
         f(2), grad=(), name="nothing"),
    *(Case("csr_matvec", product(csr_matvec_p, LONG), f(64, dtype=t),
           i(64, low=-1, high=11, dtype=np.int64), f(9, dtype=t), grad=(), name="long")
      for t in (np.float32, np.complex64)),
    *(Case("csr_matvec", product(csr_matvec_p, ends), f(400), i(400, low=-1, high=11), f(9),
           grad=(), name=name) for ends, name in ((MANY, "blocks"), (BLOCK, "one block"))),
    Case("csr_matvec", product(csr_matvec_p, WRONG), f(7), i(7, low=-2, high=6), f(5), grad=(),
         name="wrong"),
    Case("csr_matmat", product(csr_matmat_p, LONG), f(64), i(64, low=-1, high=11), f(9, 3),
         grad=(), name="long"),
    Case("csr_matmat", product(csr_matmat_p), f(7), i(7, low=0, high=6), f(5, 3), grad=()),
    Case("csr_matmat", product(csr_matmat_p), f(7, dtype=np.float16), i(7, low=-1, high=6),
         f(5, 1, dtype=np.float16), grad=(), name="half"),
]
