"""tanx.experimental.sparse.linalg: sparse systems, and eigenvalues at the end of a spectrum."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ... import lax
from ... import numpy as jnp
from ..._base.traceback import shown
from ..._base.window import publish
from ..._control.callback import pure_callback
from ..._control.solve import custom_linear_solve
from ..._core.types import ShapeDtypeStruct
from ...errors import explain
from ._base import JAXSparse
from ._rows import row_numbers, rows_product

__all__ = ["lobpcg_standard", "spsolve"]


def spsolve(data, indices, indptr, b, tol=1e-6, reorder=1):
    """Solve a sparse system ``A x = b`` by SuperLU; ``A`` is in compressed rows.

    The factorisation runs on the host. Derivatives with respect to ``data`` and ``b`` are those of
    the solution.

    Args:
      data: Entries of ``A``.
      indices: Their columns.
      indptr: The start of each row's entries.
      b: The right side, a vector.
      tol: Not used: the factorisation is exact up to rounding.
      reorder: 0 keeps the order of columns; other values choose one with less fill-in.

    >>> from tanx.experimental.sparse.linalg import spsolve
    >>> spsolve(jnp.array([2.0, 4.0]), jnp.array([0, 1]), jnp.array([0, 1, 2]), jnp.ones(2))
    Array([0.5 , 0.25], dtype=float32)
    """
    data, indices, indptr, b = map(jnp.asarray, (data, indices, indptr, b))
    if b.ndim != 1 or indptr.shape != (b.shape[0] + 1,):
        raise ValueError(explain("tanx.experimental.sparse.linalg.spsolve",
                                 "b must be a vector with one element per row.",
                                 f"b: {b.shape}", f"indptr: {indptr.shape}"))
    dtype = jnp.result_type(data, b)
    data, b = data.astype(dtype), b.astype(dtype)
    rows, size = row_numbers(indptr, data.shape[0]), b.shape[0]

    def matvec(x):
        return rows_product(data, rows, indices, x, size, ordered=True)

    def solver(turned: bool):
        def run(data, indices, indptr, b):
            from scipy.sparse import csr_matrix
            from scipy.sparse.linalg import splu
            a = csr_matrix((np.asarray(data), np.asarray(indices), np.asarray(indptr)),
                           shape=(len(b), len(b)))
            a = a.T.tocsc() if turned else a.tocsc()
            found = splu(a, permc_spec="COLAMD" if reorder else "NATURAL").solve(np.asarray(b))
            return np.asarray(found, b.dtype)

        def solve(_, b):
            return pure_callback(run, ShapeDtypeStruct(b.shape, b.dtype), lax.stop_gradient(data),
                                 indices, indptr, b, vmap_method="sequential")
        return solve
    return custom_linear_solve(matvec, b, solver(False), transpose_solve=solver(True))


def lobpcg_standard(A, X, m=100, tol=None):
    """The greatest eigenvalues of a symmetric matrix, and their vectors, by LOBPCG (Knyazev, 2001).

    Each step finds the best vectors in the space that the current ones, their residuals and the
    last directions span.

    Args:
      A: A symmetric matrix, dense or sparse, or a function that multiplies it by a matrix.
      X: The first guess, a matrix with one column per eigenvalue; five times the number of columns
        must be less than the number of rows.
      m: The maximum number of steps.
      tol: Stop at this residual relative to the eigenvalue; by default the precision.

    Returns:
      Eigenvalues in descending order, vectors as columns, and the number of steps.

    >>> from tanx.experimental.sparse.linalg import lobpcg_standard
    >>> values, _, _ = lobpcg_standard(jnp.diag(jnp.arange(1.0, 21.0)),
    ...                                tanx.random.normal(tanx.random.key(0), (20, 2)))
    >>> values.round(2)
    Array([20., 19.], dtype=float32)
    """
    X = jnp.asarray(X)
    if X.ndim != 2 or X.shape[1] * 5 >= X.shape[0]:
        raise ValueError(explain(
            "tanx.experimental.sparse.linalg.lobpcg_standard",
            "five times the number of columns of X must be less than the number of rows.",
            f"X: {X.shape}", hint="tanx.numpy.linalg.eigh finds all eigenvalues."))
    if not callable(A) and A.shape != (X.shape[0], X.shape[0]):
        raise ValueError(explain("tanx.experimental.sparse.linalg.lobpcg_standard",
                                 "A must be square, with as many rows as X.",
                                 f"A: {A.shape}", f"X: {X.shape}"))
    apply: Callable = A if callable(A) and not isinstance(A, JAXSparse) else lambda v: A @ v
    count = X.shape[1]
    limit = jnp.finfo(X.dtype).eps if tol is None else tol

    def best(space):
        """The Ritz pairs of the greatest values in a space with orthonormal columns."""
        values, vectors = jnp.linalg.eigh(space.T @ apply(space))
        return values[::-1][:count], vectors[:, ::-1][:, :count]

    def orthonormal(*parts):
        """A basis of all columns; linearly dependent columns become zero."""
        u, s, _ = jnp.linalg.svd(jnp.concatenate(parts, 1), full_matrices=False)
        scale = jnp.finfo(X.dtype).eps * s[0] * u.shape[0]
        return jnp.where((s > scale)[None], u, 0)

    def normed(v):
        size = jnp.linalg.norm(v, axis=0, keepdims=True)
        return jnp.where(size > 0, v / jnp.where(size > 0, size, 1), 0)

    def step(state):
        n, _, x, p, values, _ = state
        r = apply(x) - values[None] * x
        r = normed(r - x @ (x.T @ r))
        space = orthonormal(x, r, p)
        values, y = best(space)
        new = space @ y
        moved = normed(new - x @ (x.T @ new))
        error = jnp.linalg.norm(apply(new) - values[None] * new, axis=0)
        size = jnp.linalg.norm(apply(new), axis=0) + jnp.abs(values)
        done = jnp.all(error <= limit * 10 * size)
        return n + 1, done, new, moved, values, error

    start = jnp.linalg.qr(X)[0]
    values, y = best(start)
    x = start @ y
    init = (0, jnp.asarray(False), x, jnp.zeros_like(x), values, jnp.zeros_like(values))
    n, _, x, _, values, _ = lax.while_loop(lambda s: (s[0] < m) & ~s[1], step, init)
    return values, x, jnp.asarray(n)


publish(__name__, shown)
