"""Updates of matrices by products, and polar factors; written as in ``linalg.py``."""

from __future__ import annotations

from math import prod

import numpy as np

from .._core.linear import expansion, never
from .._core.types import typeof
from .._loops import build
from .._loops.lapack import Each, Routine, prefix
from ..errors import explain
from .arith import add, mul
from .batched_matrices import adjoint, matrix_product, matrix_type, square_type, swapped, tril
from .create import full
from .eigen import svd, times_columns
from .linalg import Factorization, by_rows, in_memory, qr_p
from .operands import letter, like

__all__ = ["cholesky_update", "cholesky_update_p", "qdwh", "symmetric_product",
           "symmetric_product_p"]


class SymmetricProduct(Factorization):
    """``alpha * a @ a.T + beta * c``."""

    name = "symmetric_product"
    transpose = never("the product is quadratic")

    def infer(self, a, c, *, alpha, beta):
        *lead, n, _ = matrix_type("symmetric_product", a).shape
        if a.dtype != c.dtype or c.shape != (*lead, n, n):
            raise ValueError(explain(
                "tanx.lax.linalg.symmetric_product",
                "c_matrix must be square, with the rows and the dtype of a_matrix.",
                f"a_matrix: {a}", f"c_matrix: {c}"))
        return c.update(weak_type=False)

    def routine(self, a, alpha: float, beta: float) -> Routine:
        """In column-major order ``a`` is transposed, and so is the result."""
        *lead, n, k = a.shape
        return Routine(
            f"{prefix(a.dtype)}gemm", prod(lead),
            ("T", "N", n, n, k, alpha, Each(1, n * k), max(k, 1), Each(1, n * k), max(k, 1), beta,
             Each(0, n * n), max(n, 1)), (((*lead, n, n), a.dtype),), ((0, 1),))

    def eval(self, a, c, **params):
        return self.routine(a, **params).run(a, c)[0]

    @expansion
    def jvp(self, a, c, *, alpha, beta):
        return add(mul(matrix_product(a, swapped(a)), like(a, alpha)), mul(c, like(c, beta)))

    def lower(self, into, a, c, **params):
        filled_a, a = in_memory("a", a)
        filled_c, c = in_memory("c", c)
        call, _ = self.routine(a, **params).call("made", [a, c], into)
        return [*filled_a, *filled_c, call]


class CholeskyUpdate(Factorization):
    """The upper factor of ``r.T @ r + outer(w, w)``: that of ``r`` with ``w`` as one more row."""

    name = "cholesky_update"
    jvp = never("differentiate cholesky instead")

    def infer(self, r, w):
        *lead, n, _ = square_type("cholesky_update", r).shape
        if letter(r.dtype) != "f" or r.dtype != w.dtype or w.shape != (*lead, n):
            raise ValueError(explain(
                "tanx.lax.linalg.cholesky_update",
                "takes real matrices, and vectors of their size and dtype.",
                f"r_matrix: {r}", f"w_vector: {w}"))
        return r.update(weak_type=False)

    def eval(self, r, w):
        rows = by_rows(np.concatenate([r, w[..., None, :]], -2))
        made = by_rows(qr_p.routine(rows, False).run(rows)[0])[..., :-1, :]
        signs = np.where(np.diagonal(made, axis1=-2, axis2=-1) < 0, -1, 1).astype(r.dtype)
        return np.triu(made * signs[..., None])

    def lower(self, into, r, w):
        *lead, n, _ = r.shape
        rows = build.temp("rows", (*lead, n, n + 1), r.dtype)
        call, (made, *_) = qr_p.routine(rows, False).call("made", [rows])

        def row(k):
            *batch, j, i = k
            return build.select(i < n, r[(*batch, build.clamp_index(i, n), j)], w[(*batch, j)])

        def factor(k):
            *batch, i, j = k
            value: build.Expr = made[(*batch, j, i)]
            value = build.select(made[(*batch, i, i)] < 0, -value, value)
            return build.select(i <= j, value, 0)
        return [build.nest(rows.shape, lambda k: [build.store(rows, k, row(k))]), call,
                build.nest(into[0].shape, lambda k: [build.store(into[0], k, factor(k))])]


symmetric_product_p, cholesky_update_p = SymmetricProduct(), CholeskyUpdate()


def symmetric_product(a_matrix, c_matrix, *, alpha: float = 1.0, beta: float = 0.0,
                      symmetrize_output: bool = False):
    """``alpha * a @ a.T + beta * c``, for a symmetric ``c``.

    ``symmetrize_output`` copies the lower triangle to the upper one.

    >>> lax.linalg.symmetric_product(jnp.array([[1., 2.]]), jnp.array([[3.]]), beta=2.0)
    Array([[11.]], dtype=float32)
    """
    out = symmetric_product_p.bind(a_matrix, c_matrix, alpha=float(alpha), beta=float(beta))
    return add(tril(out), swapped(tril(out, strictly=True))) if symmetrize_output else out


def cholesky_update(r_matrix, w_vector):
    """The upper triangular factor of ``r.T @ r + outer(w, w)``, with a positive diagonal.

    >>> lax.linalg.cholesky_update(jnp.array([[3.]]), jnp.array([4.]))
    Array([[5.]], dtype=float32)
    """
    return cholesky_update_p.bind(r_matrix, w_vector)


def qdwh(x, *, is_hermitian: bool = False, max_iterations: int | None = None,
         eps: float | None = None, dynamic_shape: tuple[int, int] | None = None):
    """The polar factors of ``x = u @ h``: an orthogonal and a positive semidefinite matrix.

    They come from singular values, without iterations: ``is_hermitian``, ``max_iterations`` and
    ``eps`` have no effect. Two more results are the number of iterations, 0, and whether they
    converged. ``x`` has at least as many rows as columns.

    >>> u, h, _, _ = lax.linalg.qdwh(jnp.array([[-2.]]))
    >>> h
    Array([[2.]], dtype=float32)
    """
    *_, m, n = matrix_type("qdwh", typeof(x)).shape
    if m < n or dynamic_shape is not None:
        raise NotImplementedError(explain(
            "tanx.lax.linalg.qdwh", "takes whole matrices with at least as many rows as columns.",
            f"operand: {typeof(x)}", f"dynamic_shape: {dynamic_shape}"))
    u, s, vt = svd(x, full_matrices=False)
    v = adjoint(vt)
    return (matrix_product(u, vt), matrix_product(times_columns(v, s), vt), full((), 0, np.int32),
            full((), True, np.bool_))
