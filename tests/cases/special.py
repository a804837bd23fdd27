"""Rows for special functions."""

import ml_dtypes
import numpy as np

from tanx._ops import special

from .case import Case, f, pos

BF16 = ml_dtypes.bfloat16
DOMAINS = {"erf": (-3, 3), "erfc": (-3, 3), "erf_inv": (-0.9, 0.9), "lgamma": (0.2, 5),
           "digamma": (0.2, 5)}

CASES = [
    *(Case(name, getattr(special, name), arg) for name, (low, high) in DOMAINS.items()
      for arg in (f(3, 4, low=low, high=high), f(low=low, high=high), f(0, low=low, high=high),
                  f(5, low=low, high=high, dtype=np.float32),
                  f(5, low=low, high=high, dtype=BF16))),
    *(Case("polygamma", lambda x, m=m: special.polygamma(np.full(x.shape, m, x.dtype), x), arg,
           name=str(m))
      for m in (0.0, 1.0, 2.0) for arg in (pos(3), pos(), pos(3, dtype=np.float32))),
    Case("polygamma", special.polygamma, f(3, low=1, high=1), pos(3), grad=(1,)),
    *(Case("zeta", special.zeta, *pair, grad=()) for pair in
      ((f(3, low=1.5, high=4), pos(3)), (f(low=1.5, high=4), pos(3)),
       (f(3, low=1.5, high=4, dtype=BF16), pos(3, dtype=BF16)))),
]
