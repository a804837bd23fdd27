"""Rows for eigenvalues and singular values."""

import numpy as np

from tanx import lax
from tanx.lax import linalg
from tanx.numpy import matmul

from .case import Case, c, f


def apart(x):
    """Numbers that are the same for vectors times any factor of absolute value 1."""
    return x * lax.conj(x[..., :1, :]) if x.dtype.kind == "c" else x


def eigh(**options):
    def run(x):
        vectors, values = linalg.eigh(x, **options)
        return apart(vectors), values
    return run


def product(x):
    """The polar factor: vectors whose common factor is free, multiplied."""
    u, s, vt = linalg.svd(x, full_matrices=False)
    return matmul(u, vt), s


CASES = [
    *(Case("eigh", eigh(), arg)
      for arg in (f(3, 3), f(2, 4, 4), c(3, 3), f(1, 1), f(0, 0), f(3, 3, dtype=np.float32))),
    Case("eigh", eigh(lower=False, symmetrize_input=False), f(3, 3), name="upper", grad=()),
    Case("eigh", eigh(subset_by_index=(1, 3)), f(4, 4), name="some"),
    *(Case("svd", product, arg)
      for arg in (f(3, 3), f(4, 2), f(2, 4), f(2, 3, 3), c(3, 3), c(4, 2), c(2, 4), f(0, 2))),
    *(Case("svd", lambda x: linalg.svd(x, compute_uv=False), arg, name="values")
      for arg in (f(3, 3), f(2, 4, 2), c(2, 4), f(2, 0), f(3, 4, dtype=np.float32))),
    *(Case("svd", lambda x: linalg.svd(x), arg, name="full", grad=())
      for arg in (f(3, 3), f(4, 2), f(2, 4), c(2, 3))),
    Case("svd", lambda x: linalg.svd(x, full_matrices=False), f(4, 2), name="reduced"),
    *(Case("eig", lambda x: linalg.eig(x, compute_left_eigenvectors=False,
                                       compute_right_eigenvectors=False), arg, name="values")
      for arg in (f(4, 4), f(2, 3, 3), c(3, 3), f(0, 0))),
    *(Case("eig", lambda x: linalg.eig(x), arg, grad=(), rtol=1e-4)
      for arg in (f(5, 5), f(2, 4, 4), c(3, 3), f(4, 4, dtype=np.float32))),
    *(Case("eig", lambda x: linalg.eig(x, enable_eigvec_derivs=True), arg, name="with vectors")
      for arg in (f(5, 5), f(2, 3, 3), c(3, 3))),
]
