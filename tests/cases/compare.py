"""Rows for comparisons, choices and operations on lax."""

import ml_dtypes
import numpy as np

from tanx._ops import compare
from tanx.lax import _functions as lax

from .case import Case, b, c, f, i

BF16, INT4, UINT4 = ml_dtypes.bfloat16, ml_dtypes.int4, ml_dtypes.uint4

FLOATS = [(f(3, 4), f(3, 4)), (f(), f(3)), (f(3, 1), f(1, 4)), (f(), f()), (f(0), f(0)),
          (f(5, dtype=BF16), f(5, dtype=BF16))]
INTEGERS = [(i(6), i(6)), (i(4, low=0, high=256, dtype=np.uint8), i(dtype=np.uint8, low=0)),
            (i(3, 1, dtype=np.int64), i(1, 3, dtype=np.int64)),
            (i(8, dtype=INT4, low=-8, high=8), i(8, dtype=INT4, low=-8, high=8)),
            (i(8, dtype=UINT4, low=0, high=16), i(8, dtype=UINT4, low=0, high=16))]
BOOLS = [(b(4), b(4)), (b(), b(3))]
SHIFTS = [(i(6, low=-2**31, high=2**31), i(6, low=0, high=40)), (i(low=-99, high=99), i(5)),
          (i(6, low=0, high=256, dtype=np.uint8), i(6, low=0, high=10, dtype=np.uint8)),
          (i(5, low=-2**62, high=2**62, dtype=np.int64), i(5, low=0, high=64, dtype=np.int64)),
          (i(8, low=-8, high=8, dtype=INT4), i(8, low=0, high=6, dtype=INT4)),
          (i(8, low=0, high=16, dtype=UINT4), i(8, low=0, high=6, dtype=UINT4))]


def binary(name, *pairs, **options):
    function = getattr(lax, name, None) or getattr(lax, f"bitwise_{name}")
    return [Case(name, function, *pair, **options) for pair in pairs]


CASES = [
    *(row for name in ("eq", "ne") for row in
      binary(name, *FLOATS, *INTEGERS, *BOOLS, (c(3), c(3)), grad=())),
    *(row for name in ("lt", "le", "gt", "ge") for row in
      binary(name, *FLOATS, *INTEGERS, *BOOLS, grad=())),
    *(Case(name, getattr(compare, f"{name}_p").bind, *pair, grad=())
      for name in ("eq_to", "lt_to", "le_to") for pair in (*FLOATS, *INTEGERS[:2])),
    *(row for name in ("and", "or", "xor") for row in binary(name, *INTEGERS, *BOOLS)),
    *(Case("not", lax.bitwise_not, arg) for arg in
      (i(5), i(), b(4), i(3, dtype=np.uint8, low=0), i(5, dtype=INT4), i(5, dtype=UINT4, low=0))),
    *(row for name in ("shift_left", "shift_right_logical", "shift_right_arithmetic")
      for row in binary(name, *SHIFTS)),
    *(Case("select_n", compare.select_n, *args) for args in (
        (b(3, 4), f(3, 4), f(3, 4)), (b(), f(3), f(3)), (b(), f(), f()), (b(0), f(0), f(0)),
        (b(3), f(3)), (i(6, low=-1, high=4), f(6), f(6), f(6)), (i(low=0, high=2), c(3), c(3)),
        (i(5, low=0, high=3, dtype=np.uint8), i(5), i(5), i(5)),
        (b(5), f(5, dtype=BF16), f(5, dtype=BF16)), (b(5), b(5), b(5)))),
    Case("select_n", compare.select, b(2, 3), f(2, 3), f(2, 3), name="select"),
    *(Case("clamp", compare.clamp, *args) for args in (
        (f(3, 4, low=-1, high=0), f(3, 4), f(3, 4, low=0, high=1)),
        (f(low=-1, high=0), f(5), f(low=0, high=1)), (f(5, low=-1, high=0), f(5), f(low=0, high=1)),
        (f(low=-1, high=0), f(), f(low=0, high=1)), (i(), i(6), i()), (b(4), b(4), b(4)),
        (f(5, low=-1, high=0, dtype=BF16), f(5, dtype=BF16), f(5, low=0, high=1, dtype=BF16)))),
]
