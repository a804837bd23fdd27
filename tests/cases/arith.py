"""Rows for the arithmetic primitives."""

import ml_dtypes
import numpy as np

from tanx._ops import derive
from tanx.lax import _functions as lax

from .case import Case, b, c, f, i, pos

BF16, F16, INT4, UINT4 = ml_dtypes.bfloat16, np.float16, ml_dtypes.int4, ml_dtypes.uint4
EVEN = lax.RoundingMethod.TO_NEAREST_EVEN


def unary(name, *args, **options):
    return [Case(name, getattr(lax, name), arg, **options) for arg in args]


def binary(name, *pairs, **options):
    return [Case(name, getattr(lax, name), *pair, **options) for pair in pairs]


# Equal shapes, scalars on either side, dimensions of size 1, rank 0, empty, narrow and complex.
SHAPES = [(f(3, 4), f(3, 4)), (f(), f(3)), (f(3), f()), (f(3, 1), f(1, 4)), (f(), f()),
          (f(0, 2), f(0, 2)), (f(5, dtype=BF16), f(5, dtype=BF16)),
          (f(5, dtype=F16), f(5, dtype=F16))]
COMPLEX = [(c(3), c(3)), (c(), c(2, 2)), (c(3, dtype=np.complex64), c(dtype=np.complex64))]
INTEGERS = [(i(6), i(6)), (i(4, low=1, high=200, dtype=np.uint8), i(dtype=np.uint8, low=1)),
            (i(3, 1, dtype=np.int64), i(1, 3, dtype=np.int64)),
            (i(5, dtype=INT4, low=-7, high=8), i(5, dtype=INT4, low=-7, high=8)),
            (i(5, dtype=UINT4, low=0, high=16), i(5, dtype=UINT4, low=0, high=16))]

CASES = [
    *(Case("add_any", derive.add_any, *pair) for pair in
      ((f(3, 4), f(3, 4)), (f(), f()), (c(3), c(3)), (f(5, dtype=BF16), f(5, dtype=BF16)))),
    *binary("add", *SHAPES, *COMPLEX, *INTEGERS),
    *binary("sub", *SHAPES, *COMPLEX, *INTEGERS),
    *binary("mul", *SHAPES, *COMPLEX, *INTEGERS),
    Case("mul", lambda x, y: lax.mul(x, y, out_dtype=np.float64), f(3, dtype=np.float32),
         f(3, dtype=np.float32), name="out_dtype"),
    Case("mul", lambda x, y: lax.mul(x, y, out_dtype=np.int32), i(3, dtype=np.int8),
         i(dtype=np.int8), name="out_dtype"),
    *binary("div", *((x, pos(*y.shape, dtype=y.dtype)) for x, y in SHAPES), *COMPLEX, *INTEGERS),
    *binary("rem", *((x, pos(*y.shape, dtype=y.dtype)) for x, y in SHAPES), *INTEGERS),
    *binary("pow", *((pos(*x.shape, dtype=x.dtype), y) for x, y in SHAPES), *COMPLEX,
            (f(4), i(4)), (f(), i(3)), (f(3), i()), (f(3, 1), i(1, 3)),
            (pos(3, dtype=BF16), i(3)), (pos(3, dtype=np.float32), i(3, dtype=np.uint8, low=0)),
            (c(3), i(3))),
    *(Case("integer_pow", lambda x, y=y: lax.integer_pow(x, y), x, name=str(y))
      for y in (0, 1, 2, 3, 7, -1, -2, -5) for x in (f(4), c(2))),
    *(Case("integer_pow", lambda x, y=y: lax.integer_pow(x, y), x, name=str(y))
      for y in (0, 5) for x in (i(4), i(3, dtype=np.uint8, low=0), f(3, dtype=BF16), f(),
                                i(3, dtype=INT4))),
    *unary("neg", f(3, 4), f(), f(0), f(4, dtype=BF16), c(3), i(3), i(3, dtype=np.uint8, low=0),
           i(3, dtype=INT4)),
    *unary("sign", f(3, 4), f(), f(4, dtype=BF16), c(3), i(5), i(5, dtype=np.uint8, low=0),
           i(3, dtype=INT4)),
    *unary("abs", f(3, 4), f(), f(0), f(4, dtype=BF16), c(3), c(), i(5), i(3, dtype=INT4)),
    *binary("max", *SHAPES, *INTEGERS, (b(4), b(4))),
    *binary("max", (c(3), c(3)), grad=()),
    *binary("min", *SHAPES, *INTEGERS, (b(4), b(4))),
    *binary("min", (c(3), c(3)), grad=()),
    *binary("nextafter", (f(3, 4), f(3, 4)), (f(), f(3)), (f(3, dtype=np.float32),
            f(3, dtype=np.float32)), (f(3, dtype=BF16), f(3, dtype=BF16))),
    *unary("is_finite", f(3, 4), f(), f(4, dtype=BF16), grad=()),
    *unary("square", f(3, 4), f(), f(4, dtype=BF16), c(3), i(5), i(3, dtype=INT4)),
    *unary("one_minus_square", f(3, 4), f(), f(4, dtype=BF16), c(3)),
    *unary("sqrt", pos(3, 4), pos(), f(0), pos(4, dtype=BF16), pos(4, dtype=F16), c(3)),
    *unary("rsqrt", pos(3, 4), pos(), pos(4, dtype=BF16), c(3), pos(3, dtype=np.float32)),
    *unary("cbrt", f(3, 4), f(), f(4, dtype=BF16)),
    *unary("floor", f(3, 4), f(), f(4, dtype=BF16)),
    *unary("ceil", f(3, 4), f(), f(4, dtype=BF16)),
    *unary("round", f(3, 4), f(), f(4, dtype=BF16), f(4, dtype=F16)),
    Case("round", lambda x: lax.round(x, EVEN), f(3, 4), name="even"),
    Case("round", lambda x: lax.round(x, EVEN), f(3, dtype=BF16), name="even"),
    *binary("mulhi", (i(5, low=-2**31, high=2**31), i(5, low=-2**31, high=2**31)),
            (i(5, low=0, high=256, dtype=np.uint8), i(low=0, high=256, dtype=np.uint8)),
            (i(5, low=-2**62, high=2**62, dtype=np.int64), i(5, low=-2**62, high=2**62,
                                                             dtype=np.int64)),
            (i(5, low=0, high=2**62, dtype=np.uint64), i(5, low=0, high=2**62, dtype=np.uint64)),
            (i(5, low=-8, high=8, dtype=INT4), i(5, low=-8, high=8, dtype=INT4))),
    *unary("population_count", i(5), i(), i(5, dtype=np.uint8, low=0, high=256),
           i(5, dtype=np.int64, low=-2**62, high=2**62), i(5, dtype=INT4)),
    *unary("clz", i(5), i(), i(5, dtype=np.uint8, low=0, high=256), i(5, low=0, high=2**30),
           i(5, dtype=np.int64, low=0, high=2**62), i(5, dtype=INT4)),
    *unary("real", c(3, 4), c(), c(3, dtype=np.complex64)),
    *unary("imag", c(3, 4), c(), c(3, dtype=np.complex64)),
    *unary("conj", c(3, 4), c(), f(3), f(3, dtype=np.float32)),
    *binary("complex", (f(3, 4), f(3, 4)), (f(), f(3)), (f(3), f()), (f(3, 1), f(1, 3))),
]
