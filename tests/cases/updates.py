"""Rows for updates of matrices."""

import numpy as np

from tanx.lax import linalg
from tanx.numpy import eye, triu

from .case import Case, c, f

CASES = [
    *(Case("symmetric_product", lambda a, x: linalg.symmetric_product(a, x, alpha=2.0, beta=0.5),
           a, x) for a, x in ((f(3, 2), f(3, 3)), (f(2, 2, 4), f(2, 2, 2)), (c(2, 3), c(2, 2)),
                              (f(2, 0), f(2, 2)))),
    *(Case("cholesky_update", lambda r, w: linalg.cholesky_update(
        triu(r) + 4 * eye(r.shape[-1], dtype=r.dtype), w), r, w, grad=())
      for r, w in ((f(3, 3), f(3)), (f(2, 4, 4), f(2, 4)),
                   (f(1, 1, dtype=np.float32), f(1, dtype=np.float32)))),
]
