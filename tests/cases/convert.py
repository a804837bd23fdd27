"""Rows for casts, bitcasts, precision and identities."""

import ml_dtypes
import numpy as np

from tanx._ops import convert
from tanx.dtypes import primal_tangent_dtype

from .case import Case, b, c, f, i

BF16, INT4, UINT4 = ml_dtypes.bfloat16, ml_dtypes.int4, ml_dtypes.uint4
F8 = ml_dtypes.float8_e4m3fn
TAGGED = primal_tangent_dtype(np.float64, np.float64, name="tagged")


def to(dtype, *args, **options):
    return [Case("convert_element_type", lambda x: convert.convert_element_type(x, dtype), arg,
                 name=f"to_{np.dtype(dtype).name}", **options) for arg in args]


def bits(dtype, *args):
    return [Case("bitcast_convert_type", lambda x: convert.bitcast_convert_type(x, dtype), arg,
                 name=f"to_{np.dtype(dtype).name}", grad=()) for arg in args]


CASES = [
    *to(np.float32, f(3, 4), f(), f(0), i(4), b(4), f(3, dtype=BF16), f(3, dtype=F8),
        i(3, dtype=INT4)),
    *to(np.float64, f(3, dtype=np.float32), i(4, dtype=np.uint8, low=0)),
    *to(BF16, f(5), f(5, dtype=np.float32), i(5)), *to(np.float16, f(5)),
    *to(F8, f(5), modes="fwd"),
    *to(np.complex128, f(3), c(3, dtype=np.complex64), i(3)),
    *to(np.complex64, f(3, dtype=np.float32)),
    *to(np.int8, f(8, low=-300, high=300), i(8, low=-300, high=300), b(3), f(3, dtype=BF16)),
    *to(np.uint8, f(8, low=-300, high=300), i(8, low=-300, high=300)),
    *to(np.int32, f(8, low=-1e10, high=1e10), f(3, dtype=np.float32, low=-1e10, high=1e10)),
    *to(np.uint64, f(8, low=-1e20, high=1e20)), *to(np.int64, f(8, low=-1e20, high=1e20)),
    *to(INT4, f(8, low=-20, high=20), i(8, low=-20, high=20)),
    *to(UINT4, f(8, low=-20, high=20), i(8, low=-20, high=20)),
    *to(bool, f(4), i(4, low=0, high=2), c(2)),
    *bits(np.int32, f(3, 4, dtype=np.float32), f(dtype=np.float32), i(3, 2, dtype=np.int16),
          i(3, 4, dtype=np.uint8, low=0, high=256)),
    *bits(np.uint16, f(3, dtype=BF16), f(2, 3), i(3), f(2, dtype=np.float16)),
    *bits(np.float64, i(3, 2), f(2, 2, dtype=np.float32), f(3)),
    *bits(np.uint8, f(3, dtype=F8), i(3, dtype=np.int8)),
    *bits(UINT4, i(3, dtype=np.uint8, low=0, high=256), i(3, dtype=INT4)),
    *bits(np.uint8, i(3, 2, dtype=INT4)),
    *bits(np.complex128, c(3)),
    *(Case("reduce_precision", lambda x, e=e, m=m: convert.reduce_precision(x, e, m), arg,
           name=f"{e},{m}", grad=())
      for e, m in ((5, 10), (8, 7), (4, 3), (2, 1), (11, 52))
      for arg in (f(3, 4), f(), f(5, dtype=np.float32, low=-1e5, high=1e5), f(5, dtype=BF16))),
    *(Case(name, lambda x: convert.convert(convert.to_edtype_p.bind(x, edtype=TAGGED), x.dtype),
           arg) for name in ("to_edtype", "from_edtype") for arg in (f(3, 4), f(), f(0))),
    *(Case("stop_gradient", convert.stop_gradient, arg, grad=()) for arg in (f(3, 4), i(3), f())),
    *(Case("copy", convert.copy_p.bind, arg) for arg in (f(3, 4), i(3), f(), c(2))),
    Case("optimization_barrier", lambda x: convert.optimization_barrier(x), f(3, 4)),
    Case("optimization_barrier", lambda x, y: convert.optimization_barrier((x, y)), f(3), c(2, 2)),
    Case("optimization_barrier", lambda x, y: convert.optimization_barrier((x, y)), f(), i(2)),
]
