"""Rows for factorisations of matrices."""

import numpy as np

from tanx import lax
from tanx.lax import linalg
from tanx.numpy import eye, matmul, matrix_transpose

from .case import Case, c, f, i


def positive(x):
    """A positive definite matrix."""
    return matmul(x, matrix_transpose(lax.conj(x) if x.dtype.kind == "c" else x)) + eye(
        x.shape[-2], dtype=x.dtype)


def solve(**options):
    return lambda a, b: linalg.triangular_solve(a + 4 * eye(a.shape[-1], dtype=a.dtype), b,
                                                **options)


CASES = [
    *(Case("cholesky", lambda x: linalg.cholesky(positive(x)), arg)
      for arg in (f(3, 3), f(2, 4, 4), c(3, 3), f(0, 0), f(0, 2, 2), f(3, 3, dtype=np.float32))),
    Case("cholesky", lambda x: linalg.cholesky(positive(x), symmetrize_input=False), f(3, 3),
         name="as it is"),
    *(Case("triangular_solve", solve(left_side=left, lower=lower, transpose_a=transpose,
                                     conjugate_a=conjugate, unit_diagonal=unit), a, b,
           name=f"{left:d}{lower:d}{transpose:d}{conjugate:d}{unit:d}")
      for left, lower, transpose, conjugate, unit, a, b in (
          (True, True, False, False, False, f(3, 3), f(3, 2)),
          (True, False, True, False, True, f(2, 3, 3), f(2, 3, 2)),
          (False, True, False, False, True, f(3, 3), f(2, 3)),
          (False, False, True, False, False, f(3, 3), f(2, 3)),
          (True, True, True, True, False, c(3, 3), c(3, 1)),
          (False, False, False, True, False, c(3, 3), c(2, 3)),
          (True, True, False, False, False, f(3, 3), f(3)),
          (True, True, False, False, False, f(0, 0), f(0, 2)))),
    *(Case("lu", lambda x: linalg.lu(x), arg)
      for arg in (f(3, 3), f(4, 2), f(2, 4), f(2, 3, 3), c(3, 3), f(0, 2), f(2, 0),
                  f(3, 3, dtype=np.float32))),
    *(Case("lu_pivots_to_permutation", lambda p: linalg.lu_pivots_to_permutation(p, 5), arg)
      for arg in (i(3, low=2, high=5), i(2, 4, low=3, high=5), i(0))),
    *(Case("qr", lambda x, full=full: linalg.qr(x, full_matrices=full), arg, name=f"{full:d}",
           grad=() if full and arg.shape[-2] > arg.shape[-1] else None)  # what fills q is open
      for arg in (f(3, 3), f(4, 2), f(2, 4), f(2, 3, 3), c(4, 3), f(0, 2), f(2, 0))
      for full in (True, False)),
    Case("qr", lambda x: linalg.qr(x), f(4, 3), name="one vector fills q"),
    *(Case("qr", lambda x: linalg.qr(x, pivoting=True), arg, name="pivoting",
           grad=() if arg.shape[-2] > arg.shape[-1] else None)
      for arg in (f(3, 3), f(2, 4, 3), c(3, 4))),
    *(Case("geqrf", linalg.geqrf, arg, grad=())
      for arg in (f(3, 3), f(2, 4, 3), f(2, 4), c(4, 3), f(0, 2), f(2, 0))),
    *(Case("householder_product", linalg.householder_product, a, taus, grad=())
      for a, taus in ((f(4, 3), f(3)), (f(2, 4, 3), f(2, 2)), (c(3, 3), c(3)))),
]
