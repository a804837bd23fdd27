"""Systems of equations with general or special matrices; determinants and inverses."""

from __future__ import annotations

from functools import partial

import numpy as np

from ... import lax
from ... import numpy as jnp
from ..._api.jit import library_jit
from ..._control.custom_jvp import custom_jvp
from ...errors import warn_user
from ...numpy._promotion import common_shape, inexact, typeof
from ._factor import cho_factor
from ._operands import (
    adjoint,
    alike,
    along_diagonal,
    as_complex,
    error,
    identity_like,
    matrices,
    product,
)

__all__ = ["cho_solve", "det", "inv", "lu_solve", "solve", "solve_sylvester", "solve_triangular"]


def inv(a, overwrite_a: bool = False, check_finite: bool = True):
    """The inverse matrices; see :func:`tanx.numpy.linalg.inv`.

    >>> tanx.scipy.linalg.inv(jnp.array([[2., 0.], [0., 4.]]))
    Array([[0.5 , 0.  ],
           [0.  , 0.25]], dtype=float32)
    """
    return jnp.linalg.inv(matrices("inv", a, square=True))


def det(a, overwrite_a: bool = False, check_finite: bool = True):
    """The determinants; see :func:`tanx.numpy.linalg.det`.

    >>> tanx.scipy.linalg.det(jnp.array([[1., 2.], [3., 4.]]))
    Array(-2., dtype=float32)
    """
    return jnp.linalg.det(a)


def _system(function: str, a, b, vectors: bool = False):
    """Both sides of systems, of one dtype and batch; and whether ``b`` holds one vector for each.

    A ``b`` of several dimensions holds vectors only if ``vectors`` says so.
    """
    a, b = matrices(function, a, square=True), inexact(f"scipy.linalg.{function}", b)
    a, b = alike(function, a, b)
    n, is_vector = a.shape[-1], vectors or b.ndim == 1
    if not is_vector and a.ndim == b.ndim + 1 and b.shape[-2] != n == b.shape[-1]:
        warn_user(f"tanx.scipy.linalg.{function}: a batch of vectors in b is better written "
                  "b[..., None]: a b of two dimensions is one matrix.", FutureWarning)
        is_vector = True
    if b.ndim == 0 or b.shape[-1 if is_vector else -2] != n:
        raise error(function, "b must be a vector, or matrices, with as many rows as a.",
                    f"a: {typeof(a)}", f"b: {typeof(b)}")
    columns = b[..., None] if is_vector else b
    lead = common_shape(a.shape[:-2], columns.shape[:-2])
    return (jnp.broadcast_to(a, (*lead, n, n)),
            jnp.broadcast_to(columns, (*lead, *columns.shape[-2:])), is_vector)


@library_jit(static_argnames=("lower", "overwrite_a", "overwrite_b", "debug", "check_finite",
                              "assume_a"))
def solve(a, b, lower: bool = False, overwrite_a: bool = False, overwrite_b: bool = False,
          debug: bool = False, check_finite: bool = True, assume_a: str = "gen"):
    """``x`` such that ``a @ x = b``; ``b`` is a vector or holds matrices.

    ``assume_a`` promises that ``a`` is symmetric ``"sym"``, Hermitian ``"her"`` or positive
    definite ``"pos"``; the last is solved by :func:`cho_factor` of one triangle, the lower one if
    ``lower``. If ``a`` is singular, the result has NaN and infinity.

    >>> a = jnp.array([[4., 2.], [2., 5.]])
    >>> tanx.scipy.linalg.solve(a, jnp.array([8., 12.]), assume_a="pos")
    Array([1., 2.], dtype=float32)
    """
    if assume_a not in ("gen", "sym", "her", "pos"):
        raise error("solve", "there is no such property.", f"assume_a: {assume_a!r}",
                    "known: 'gen', 'sym', 'her', 'pos'")
    if assume_a != "pos":
        return jnp.linalg.solve(matrices("solve", a, square=True), b)
    a, b, is_vector = _system("solve", a, b, vectors=0 < jnp.ndim(b) == jnp.ndim(a) - 1)
    x = _solved_positive(a, b, lower)
    return x[..., 0] if is_vector else x


@partial(custom_jvp, nondiff_argnums=(2,))
def _solved_positive(a, b, lower: bool):
    return _by_cholesky(cho_factor(a, lower)[0], b, lower)


@_solved_positive.defjvp
def _moved_solution(lower: bool, primals, tangents):
    """The derivative, from the factor used for the solution."""
    (a, b), (da, db) = primals, tangents
    factor = cho_factor(a, lower)[0]
    x = _by_cholesky(factor, b, lower)
    return x, _by_cholesky(factor, db - product(da, x), lower)


def cho_solve(c_and_lower, b, overwrite_b: bool = False, check_finite: bool = True):
    """Solve ``a @ x = b``, given the result of :func:`cho_factor` for ``a``.

    >>> factor = tanx.scipy.linalg.cho_factor(jnp.array([[4., 2.], [2., 5.]]))
    >>> tanx.scipy.linalg.cho_solve(factor, jnp.array([8., 12.]))
    Array([1., 2.], dtype=float32)
    """
    c, lower = c_and_lower
    return _cho_solve(c, b, bool(lower))


@library_jit(static_argnames=("lower",))
def _cho_solve(c, b, lower: bool):
    c, b, is_vector = _system("cho_solve", c, b)
    x = _by_cholesky(c, b, lower)
    return x[..., 0] if is_vector else x


def _by_cholesky(factor, b, lower: bool):
    for adjoint_first in ((False, True) if lower else (True, False)):
        b = lax.linalg.triangular_solve(
            factor, b, left_side=True, lower=lower, transpose_a=adjoint_first,
            conjugate_a=adjoint_first)
    return b


@library_jit(static_argnames=("trans", "overwrite_b", "check_finite"))
def lu_solve(lu_and_piv, b, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True):
    """Solve ``a @ x = b``, given the result of :func:`lu_factor` for ``a``.

    ``trans`` is 0, or 1 for the transpose of ``a``, or 2 for its adjoint.

    >>> factors = tanx.scipy.linalg.lu_factor(jnp.array([[1., 2.], [4., 4.]]))
    >>> tanx.scipy.linalg.lu_solve(factors, jnp.array([5., 12.]))
    Array([1., 2.], dtype=float32)
    """
    if trans not in (0, 1, 2):
        raise error("lu_solve", "trans must be 0, 1 or 2.", f"trans: {trans!r}")
    both, pivots = lu_and_piv
    both, b, is_vector = _system("lu_solve", both, b)
    n = both.shape[-1]
    order = lax.linalg.lu_pivots_to_permutation(
        jnp.broadcast_to(pivots, both.shape[:-1]), n)[..., None]
    options = dict(left_side=True, transpose_a=trans > 0, conjugate_a=trans == 2)
    steps = (dict(lower=True, unit_diagonal=True), dict(lower=False))
    x = b
    if not trans and b.size:
        x = jnp.take_along_axis(x, order, -2)
    for step in reversed(steps) if trans else steps:
        x = lax.linalg.triangular_solve(both, x, **options, **step)
    if trans and b.size:
        x = jnp.take_along_axis(x, jnp.argsort(order, axis=-2), -2)
    return x[..., 0] if is_vector else x


_TRANSPOSED = {0: (False, False), "N": (False, False), 1: (True, False), "T": (True, False),
               2: (True, True), "C": (True, True)}


@library_jit(static_argnames=("trans", "lower", "unit_diagonal", "overwrite_b", "debug",
                              "check_finite"))
def solve_triangular(a, b, trans: int | str = 0, lower: bool = False, unit_diagonal: bool = False,
                     overwrite_b: bool = False, debug=None, check_finite: bool = True):
    """Solve ``a @ x = b`` for triangular matrices; only one triangle of ``a`` is read.

    ``trans`` is 0 or ``"N"``, 1 or ``"T"`` for the transpose of ``a``, 2 or ``"C"`` for its
    adjoint. With ``unit_diagonal``, the diagonal is taken as ones.

    >>> a = jnp.array([[2., 0.], [1., 4.]])
    >>> tanx.scipy.linalg.solve_triangular(a, jnp.array([2., 9.]), lower=True)
    Array([1., 2.], dtype=float32)
    """
    if trans not in _TRANSPOSED:
        raise error("solve_triangular", "there is no such trans.", f"trans: {trans!r}",
                    "known: 0 or 'N', 1 or 'T', 2 or 'C'")
    transpose, conjugate = _TRANSPOSED[trans]
    a, b, is_vector = _system("solve_triangular", a, b)
    x = lax.linalg.triangular_solve(a, b, left_side=True, lower=lower, transpose_a=transpose,
                                    conjugate_a=conjugate, unit_diagonal=unit_diagonal)
    return x[..., 0] if is_vector else x


# -- Sylvester -------------------------------------------------------------------------------------


def solve_sylvester(A, B, C, *, method: str = "schur", tol: float = 1e-8):
    """``X`` such that ``A @ X + X @ B = C``.

    ``method`` is ``"schur"`` (Bartels and Stewart 1972), or ``"eigen"``, which is faster, but less
    accurate if eigenvectors are nearly parallel. NaN if the sum of an eigenvalue of ``A`` and one
    of ``B`` is less than ``tol``.

    >>> a, b = jnp.array([[1., 1.], [0., 2.]]), jnp.array([[3.]])
    >>> tanx.scipy.linalg.solve_sylvester(a, b, jnp.array([[5.], [5.]]))
    Array([[1.],
           [1.]], dtype=float32)
    """
    A, B, C = alike("solve_sylvester", A, B, C)
    A = matrices("solve_sylvester", A, square=True, name="A")
    B = matrices("solve_sylvester", B, name="B")
    C = matrices("solve_sylvester", C, name="C")
    if method not in _SYLVESTER:
        raise error("solve_sylvester", "there is no such method.", f"method: {method!r}",
                    "known: 'schur', 'eigen'")
    m, n = A.shape[-1], B.shape[-1]
    if B.shape[-2] != n or C.shape[-2:] != (m, n):
        raise error("solve_sylvester", "A and B must be square; C must have the rows of A and the "
                    "columns of B.", f"A: {typeof(A)}", f"B: {typeof(B)}", f"C: {typeof(C)}")
    return _sylvester(A, B, C, tol, method)


@library_jit(static_argnames=("method",))
def _sylvester(a, b, c, tol, method: str):
    lead = common_shape(*(x.shape[:-2] for x in (a, b, c)))
    a, b, c = (jnp.broadcast_to(x, (*lead, *x.shape[-2:])) for x in (a, b, c))
    at, bt = jnp.matrix_transpose(a), jnp.matrix_transpose(b)
    by_method = _SYLVESTER[method]
    return lax.custom_linear_solve(
        lambda x: product(a, x) + product(x, b), c, lambda _, c: by_method(a, b, c, tol),
        lambda _, c: by_method(at, bt, c, tol))


def _checked(x, values, others, tol, dtype):
    """A solution in ``dtype``; NaN if two eigenvalues nearly cancel."""
    sums = jnp.abs(values[..., :, None] + others[..., None, :])
    least = sums.min((-2, -1), initial=np.inf)[..., None, None]
    x = x if np.dtype(dtype).kind == "c" else x.real
    return jnp.where(least < tol, jnp.nan, x.astype(dtype))


def _by_schur(a, b, c, tol):
    """The solution for triangular matrices: each column is a triangular system."""
    (r, u), (s, v) = (lax.linalg.schur(as_complex(x)) for x in (a, b))
    f = product(product(adjoint(u), as_complex(c)), v)
    eye = identity_like(r)

    def column(k, y):
        weights = lax.dynamic_index_in_dim(s, k, -1)
        right = lax.dynamic_index_in_dim(f, k, -1) - product(y, weights)
        shift = lax.dynamic_index_in_dim(weights, k, -2)
        found = lax.linalg.triangular_solve(r + shift * eye, right, left_side=True)
        return lax.dynamic_update_slice_in_dim(y, found, k, -1)

    y = lax.fori_loop(0, b.shape[-1], column, jnp.zeros_like(f)) if f.size else f
    return _checked(product(product(u, y), adjoint(v)), along_diagonal(r), along_diagonal(s), tol,
                    c.dtype)


def _by_eigenvectors(a, b, c, tol):
    (w, p), (z, q) = (jnp.linalg.eig(x) for x in (a, b))
    inner = product(jnp.linalg.solve(p, as_complex(c)), q)
    inner = inner / (w[..., :, None] + z[..., None, :])
    x = jnp.matrix_transpose(jnp.linalg.solve(
        jnp.matrix_transpose(q), jnp.matrix_transpose(product(p, inner))))
    return _checked(x, w, z, tol, c.dtype)


_SYLVESTER = {"schur": _by_schur, "eigen": _by_eigenvectors}
