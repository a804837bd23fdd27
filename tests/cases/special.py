"""Rows for special functions."""

import ml_dtypes
import numpy as np

from tanx._ops import incomplete, polynomial, probability, special

from .case import Case, f, i, pos

BF16 = ml_dtypes.bfloat16
DOMAINS = {"erf": (-3, 3), "erfc": (-3, 3), "erf_inv": (-0.9, 0.9), "lgamma": (0.2, 5),
           "digamma": (0.2, 5), "bessel_i0e": (0.2, 9), "bessel_i1e": (-9, 9)}
UNIT = dict(low=0.1, high=0.9)

CASES = [
    *(Case(name, getattr(special, name), arg) for name, (low, high) in DOMAINS.items()
      for arg in (f(3, 4, low=low, high=high), f(low=low, high=high), f(0, low=low, high=high),
                  f(5, low=low, high=high, dtype=np.float32),
                  f(5, low=low, high=high, dtype=BF16))),
    *(Case("ndtr", probability.ndtr_p.bind, f(*shape, low=-3, high=3, dtype=t), grad=())
      for shape, t in (((3, 4), np.float64), ((), np.float64), ((0,), np.float64),
                       ((5,), np.float32), ((5,), BF16))),
    *(Case("logit", probability.logit_p.bind, f(*shape, dtype=t, **UNIT))
      for shape, t in (((3, 4), np.float64), ((), np.float64), ((0,), np.float64),
                       ((5,), np.float32), ((5,), BF16))),
    *(Case("polygamma", lambda x, m=m: special.polygamma(np.full(x.shape, m, x.dtype), x), arg,
           name=str(m))
      for m in (0.0, 1.0, 2.0) for arg in (pos(3), pos(), pos(3, dtype=np.float32))),
    Case("polygamma", special.polygamma, f(3, low=1, high=1), pos(3), grad=(1,)),
    *(Case("zeta", special.zeta, *pair, grad=()) for pair in
      ((f(3, low=1.5, high=4), pos(3)), (f(low=1.5, high=4), pos(3)),
       (f(3, low=1.5, high=4, dtype=BF16), pos(3, dtype=BF16)))),
    *(Case(name, getattr(incomplete, name), pos(*shape, high=4, dtype=t),
           pos(6, high=9, dtype=t), grad=() if name == "random_gamma_grad" else (1,),
           rtol=1e-5 if t is np.float64 else 1e-4)
      for name in ("igamma", "igammac", "igamma_grad_a", "random_gamma_grad")
      for shape, t in (((6,), np.float64), ((), np.float64), ((6,), np.float32), ((6,), BF16))),
    *(Case(name, getattr(incomplete, name), pos(5), pos(5), grad=(0, 1))
      for name in ("igamma", "igammac")),
    *(Case("regularized_incomplete_beta", incomplete.betainc, pos(*shape, dtype=t), pos(dtype=t),
           f(4, dtype=t, **UNIT), grad=(2,))
      for shape, t in (((4,), np.float64), ((), np.float64), ((4,), np.float32), ((4,), BF16))),
]

CASES += [
    *(Case("polynomial", lambda x, *c: polynomial.polynomial(x, c), x, *[f(dtype=t)] * n,
           name=str(n))
      for n in (1, 4) for t in (np.float64, np.float32, BF16) for x in (f(3, dtype=t),
                                                                        f(dtype=t))),
    Case("polynomial", lambda x, *c: polynomial.polynomial(x, c), f(3), f(3), f(3), name="arrays"),
    Case("polynomial", lambda x, *c: polynomial.polynomial(x, c), i(3), i(), i(), grad=()),
]
