"""Rows for matrices in compressed sparse rows (CSR)."""

import ml_dtypes
import numpy as np

from tanx._core.array import Array
from tanx._ops.compressed import csr_matmat_p, csr_matvec_p

from .case import Case, f, i

ENDS = np.array([0, 2, 2, 5, 6], np.int32)
LONG = np.array([1, 20, 24, 24, 60], np.int64)
STEPS = np.array([0, 4, 7, 7, 13, 22, 27, 29, 29, 30], np.int32)  # rows end anywhere in a step
MANY = np.sort(np.random.default_rng(0).integers(0, 400, 137)).astype(np.int32)  # 2 blocks and 8
BLOCK = MANY[:65]
WRONG = np.array([-3, 2, -1, 5, 99], np.int32)  # negative ones are behind the last entry


def product(primitive, ends=ENDS):
    return lambda d, c, v: primitive.bind(d, c, Array(ends), v)


def steps(count, dtype=np.float64, index=np.int32, size=9):
    """Rows of 0 to 9 entries, of which ``count`` exist; some columns are out of range."""
    low = 0 if np.dtype(index).kind == "u" else -3
    return Case("csr_matvec", product(csr_matvec_p, STEPS), f(count, dtype=dtype),
                i(count, low=low, high=size + 3, dtype=index), f(size, dtype=dtype), grad=(),
                name=f"{count} in steps")


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
    # The last steps: complete, with missing entries, after a row that would end past them; none.
    *(steps(count) for count in (34, 33, 32, 31, 30, 29, 28, 27, 26, 5, 4, 3, 1)),
    *(steps(31, dtype, index) for dtype, index in (
        (np.float32, np.int64), (np.float16, np.int8), (ml_dtypes.bfloat16, np.uint8),
        (np.complex64, np.int16), (np.complex128, np.uint32), (np.float32, np.uint64))),
    steps(31, size=1), steps(31, size=100, index=np.int8),
    *(Case("csr_matvec", product(csr_matvec_p, STEPS), i(31, dtype=dtype), i(31, low=-2, high=9),
           i(7, dtype=dtype), grad=(), name="integers in steps")
      for dtype in (np.int8, np.int32, np.int64)),
    Case("csr_matmat", product(csr_matmat_p, LONG), f(64), i(64, low=-1, high=11), f(9, 3),
         grad=(), name="long"),
    Case("csr_matmat", product(csr_matmat_p), f(7), i(7, low=0, high=6), f(5, 3), grad=()),
    Case("csr_matmat", product(csr_matmat_p), f(7, dtype=np.float16), i(7, low=-1, high=6),
         f(5, 1, dtype=np.float16), grad=(), name="half"),
]
