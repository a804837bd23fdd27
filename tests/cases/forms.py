"""Rows for forms of matrices and tridiagonal systems."""

import numpy as np

from tanx._ops.matrix_forms import eigh_tridiagonal_p
from tanx.lax import linalg

from .case import Case, c, f, pos


def symmetric(x):
    return x + x.swapaxes(-1, -2).conj()


def solve(dl, d, du, b):
    return linalg.tridiagonal_solve(dl, d + 6, du, b)


CASES = [
    *(Case("hessenberg", linalg.hessenberg, arg, grad=())
      for arg in (f(4, 4), f(2, 3, 3), c(3, 3), f(1, 1))),
    *(Case("tridiagonal", lambda x, lower=lower: linalg.tridiagonal(symmetric(x), lower=lower), arg,
           grad=(), name=f"{lower:d}")
      for arg in (f(4, 4), f(2, 3, 3), c(3, 3), f(1, 1)) for lower in (True, False)),
    *(Case("schur", lambda x, v=v: linalg.schur(x, compute_schur_vectors=v), arg, grad=(),
           name=f"{v:d}")
      for arg in (f(4, 4), f(2, 3, 3), c(3, 3)) for v in (True, False)),
    *(Case("ormqr", lambda a, t, x, left=left, transpose=transpose: linalg.ormqr(
        a, t, x, left=left, transpose=transpose), a, t, x, grad=(), name=f"{left:d}{transpose:d}")
      for left, transpose, a, t, x in (
          (True, False, f(4, 3), f(3), f(4, 2)), (False, True, f(2, 4, 3), f(2, 2), f(2, 5, 4)),
          (True, True, c(3, 3), c(3), c(3, 4)))),
    *(Case("tridiagonal_solve", solve, *[pos(*arg.shape[:-1], dtype=arg.dtype)] * 3, arg)
      for arg in (f(4, 2), f(2, 3, 1))),
    Case("tridiagonal_solve", solve, *[c(3)] * 3, c(3, 2)),
    *(Case("eigh_tridiagonal", lambda d, e, v=v: eigh_tridiagonal_p.bind(d, e, vectors=v),
           f(*lead, n, dtype=dtype, distinct=True), pos(*lead, n - 1, dtype=dtype), name=f"{v:d}")
      for lead, n, dtype in (((), 4, float), ((2,), 3, float), ((), 1, float), ((), 5, np.float32))
      for v in (True, False)),
]
