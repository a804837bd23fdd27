"""Rows for selection in windows."""

import ml_dtypes
import numpy as np

from tanx._core.stage import stage
from tanx._core.types import ShapedArray
from tanx._ops import compare, magnitude, pooling
from tanx._ops.window_geometry import Window

from .case import Case, f, i

BF16 = ml_dtypes.bfloat16

# (shape, dimensions, strides, padding)
WINDOWS = [
    ((8,), (2,), (2,), ((0, 0),)),
    ((4, 6), (2, 2), (2, 2), ((0, 0), (0, 0))),
    ((5, 6), (3, 3), (2, 2), ((1, 1), (0, 1))),
    ((7,), (2,), (3,), ((0, 0),)),
    ((5, 4), (2, 3), (1, 2), ((1, 0), (0, 2))),
    ((6,), (3,), (1,), ((-1, 1),)),
    ((2, 4, 4, 2), (1, 2, 2, 1), (1, 2, 2, 1), ((0, 0),) * 4),
    ((9, 9), (5, 5), (1, 2), ((2, 2), (2, 2))),
    ((3,), (2,), (1,), ((3, 2),)),
    ((2,), (3,), (1,), ((0, 0),)),
    ((0, 2), (1, 2), (1, 1), ((0, 0), (0, 0))),
]
DILATED = [((4, 5), Window((3, 2), (1, 2), ((1, 2), (0, 1)), (2, 1), (1, 2))),
           ((6,), Window((2,), (1,), ((0, 0),), (1,), (3,)))]
SELECT = {"ge": compare.ge_p, "le": compare.le_p}


def gathered(name, window):
    return lambda t, x: pooling.select_and_gather_add(t, x, SELECT[name], window)


def scattered(name, window):
    return lambda s, x: pooling.select_and_scatter_add(s, x, SELECT[name], window)


def combined(window):
    """Windows select their least element; it gets the maximum of the values scattered to it."""
    def fun(x, source):
        jaxprs = [stage(lambda *pair, op=op: [op(*pair)], [ShapedArray((), x.dtype)] * 2)[0]
                  for op in (compare.le, magnitude.max)]
        return pooling.select_and_scatter_p.bind(
            x, source, x.dtype.type(-9), select_jaxpr=jaxprs[0], select_consts=(),
            scatter_jaxpr=jaxprs[1], scatter_consts=(), **dict(list(window._asdict().items())[:3]))
    return fun


def distinct(*shape, dtype=np.float64):
    return f(*shape, dtype=dtype, distinct=True)


CASES = [
    *(Case("select_and_gather_add", gathered(name, window), f(*shape), distinct(*shape), grad=(0,),
           name=f"{name}, {tuple(window)}")
      for name in SELECT
      for shape, window in (*((s, Window.undilated(*w)) for s, *w in WINDOWS), *DILATED)),
    *(Case("select_and_scatter_add", scattered(name, window), f(*window.shape(shape)),
           distinct(*shape), grad=(0,), name=f"{name}, {tuple(window)}")
      for name in SELECT for shape, window in ((s, Window.undilated(*w)) for s, *w in WINDOWS)),
    *(Case("select_and_scatter_add", scattered("ge", Window.undilated(*WINDOWS[k][1:])),
           type(f())(Window.undilated(*WINDOWS[k][1:]).shape(WINDOWS[k][0]), np.dtype(dtype)),
           distinct(*WINDOWS[k][0], dtype=dtype), grad=(0,), name=str(k))
      for k in (1, 2) for dtype in (BF16, np.float16, np.float32)),
    *(Case("select_and_gather_add", gathered("ge", Window.undilated(*WINDOWS[2][1:])),
           f(5, 6, dtype=dtype), distinct(5, 6, dtype=dtype), grad=(0,))
      for dtype in (BF16, np.float32)),
    Case("select_and_scatter_add", scattered("ge", Window.undilated(*WINDOWS[1][1:])), i(2, 3),
         distinct(4, 6)),
    *(Case("select_and_scatter", combined(window), distinct(*shape), f(*window.shape(shape)),
           grad=(), name=str(tuple(window)))
      for shape, window in ((s, Window.undilated(*w)) for s, *w in WINDOWS)),
]
