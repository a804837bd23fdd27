"""Factorisations under SciPy's names: Cholesky, LU, QR, singular and eigenvalues, polar."""

from __future__ import annotations

import numpy as np

from ... import lax
from ... import numpy as jnp
from ..._api.jit import library_jit
from ..._control.custom_jvp import custom_jvp
from ...numpy._promotion import common_shape, typeof
from ._operands import adjoint, alike, error, matrices, product

__all__ = ["cho_factor", "cholesky", "eigh", "lu", "lu_factor", "polar", "qr", "qr_multiply",
           "svd"]


# -- Cholesky and LU -------------------------------------------------------------------------------


def cholesky(a, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True):
    """The triangular factor of positive definite matrices: upper ``u.mH @ u``, or lower.

    Only that triangle of ``a`` is read. NaN if a matrix is not positive definite. ``overwrite_a``
    and ``check_finite`` have no effect.

    >>> tanx.scipy.linalg.cholesky(jnp.array([[4., 2.], [2., 5.]]))
    Array([[2., 1.],
           [0., 2.]], dtype=float32)
    """
    return _cholesky(matrices("cholesky", jnp.asarray(a), square=True), bool(lower))


def cho_factor(a, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True):
    """The argument of :func:`cho_solve`: the factor of :func:`cholesky`, and ``lower``.

    >>> c, lower = tanx.scipy.linalg.cho_factor(jnp.array([[4., 2.], [2., 5.]]))
    >>> tanx.scipy.linalg.cho_solve((c, lower), jnp.array([8., 12.]))
    Array([1., 2.], dtype=float32)
    """
    return _cholesky(matrices("cho_factor", jnp.asarray(a), square=True), bool(lower)), lower


@library_jit(static_argnames=("lower",))
def _cholesky(a, lower: bool):
    factor = lax.linalg.cholesky(a if lower else adjoint(a), symmetrize_input=False)
    return factor if lower else adjoint(factor)


def lu_factor(a, overwrite_a: bool = False, check_finite: bool = True):
    """The argument of :func:`lu_solve`: both triangular factors in one matrix, and the pivots.

    Row ``i`` was exchanged with row ``pivots[i]``, in turn.

    >>> both, pivots = tanx.scipy.linalg.lu_factor(jnp.array([[1., 2.], [4., 4.]]))
    >>> both
    Array([[4.  , 4.  ],
           [0.25, 1.  ]], dtype=float32)
    >>> pivots
    Array([1, 1], dtype=int32)
    """
    both, pivots, _ = lax.linalg.lu(matrices("lu_factor", jnp.asarray(a), too_few=TypeError))
    return both, pivots


@library_jit(static_argnames=("permute_l", "overwrite_a", "check_finite"))
def lu(a, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True):
    """A permutation, a lower triangular factor with ones on its diagonal, and an upper one.

    ``a = p @ l @ u``; with ``permute_l`` there are two results, ``p @ l`` and ``u``.

    >>> p, l, u = tanx.scipy.linalg.lu(jnp.array([[1., 2.], [4., 4.]]))
    >>> l
    Array([[1.  , 0.  ],
           [0.25, 1.  ]], dtype=float32)
    >>> u
    Array([[4., 4.],
           [0., 1.]], dtype=float32)
    """
    a = matrices("lu", jnp.asarray(a))
    both, _, order = lax.linalg.lu(a)
    m, n = a.shape[-2:]
    k = min(m, n)
    lower = jnp.tril(both, -1)[..., :k] + jnp.eye(m, k, dtype=a.dtype)
    upper = jnp.triu(both)[..., :k, :]
    if permute_l:
        back = jnp.argsort(order, axis=-1)[..., None]
        return jnp.take_along_axis(lower, back, -2) if lower.size else lower, upper
    permutation = order[..., None, :] == jnp.arange(m, dtype=order.dtype)[:, None]
    return permutation.astype(np.dtype(a.dtype.char.lower())), lower, upper


# -- QR --------------------------------------------------------------------------------------------


def qr(a, overwrite_a: bool = False, lwork=None, mode: str = "full", pivoting: bool = False,
       check_finite: bool = True):
    """An orthogonal and an upper triangular factor; with ``pivoting``, the columns' order too.

    ``mode`` is ``"full"`` for a square ``q``, ``"economic"`` for one with ``min(a.shape)`` columns,
    or ``"r"`` for no ``q``. With ``pivoting``, ``a[:, order] = q @ r`` and the diagonal of ``r``
    descends. ``lwork`` has no effect.

    >>> q, r = tanx.scipy.linalg.qr(jnp.array([[0., 2.], [3., 4.]]))
    >>> jnp.abs(r)
    Array([[3., 4.],
           [0., 2.]], dtype=float32)
    """
    a = matrices("qr", jnp.asarray(a), too_few=TypeError)
    if mode not in ("full", "economic", "r"):
        raise error("qr", "there is no such mode.", f"mode:  {mode!r}",
                    "known: 'full', 'economic', 'r'")
    q, *rest = lax.linalg.qr(a, pivoting=pivoting, full_matrices=mode != "economic")
    return tuple(rest) if mode == "r" else (q, *rest)


@library_jit(static_argnames=("mode", "pivoting", "conjugate", "overwrite_a", "overwrite_c"))
def qr_multiply(a, c, mode: str = "right", pivoting: bool = False, conjugate: bool = False,
                overwrite_a: bool = False, overwrite_c: bool = False):
    """The product of ``c`` with the orthogonal factor of ``a``, and the triangular factor.

    That is ``c @ q``, or ``q @ c`` if ``mode`` is ``"left"``; ``q`` is the economic factor, or its
    conjugate with ``conjugate``. ``c`` may be a vector. With ``pivoting``, the order of columns is
    a third result.

    >>> product, r = tanx.scipy.linalg.qr_multiply(jnp.array([[0., 2.], [3., 4.]]), jnp.eye(2))
    >>> jnp.abs(product)
    Array([[0., 1.],
           [1., 0.]], dtype=float32)
    """
    a, c = alike("qr_multiply", a, c)
    a = matrices("qr_multiply", a)
    if mode not in ("left", "right"):
        raise error("qr_multiply", "there is no such mode.", f"mode: {mode!r}",
                    "known: 'left', 'right'")
    m, k = a.shape[-2], min(a.shape[-2:])
    is_vector, wanted = c.ndim == 1, k if mode == "left" else m
    side = -1 if is_vector or mode == "right" else -2
    if c.ndim == 0 or c.shape[side] != wanted:
        raise error("qr_multiply", f"along axis {side}, c must have {wanted} elements.",
                    f"a: {typeof(a)}", f"c: {typeof(c)}", f"mode: {mode!r}")
    q, r, *order = lax.linalg.qr(a, pivoting=pivoting, full_matrices=False)
    q = jnp.conj(q) if conjugate else q
    if mode == "left":
        out = product(q, c[:, None] if is_vector else c)
    else:
        out = product(c[None, :] if is_vector else c, q)
    return (out.ravel() if is_vector else out, r, *order)


# -- values and vectors ----------------------------------------------------------------------------


def svd(a, full_matrices: bool = True, compute_uv: bool = True, overwrite_a: bool = False,
        check_finite: bool = True, lapack_driver: str = "gesdd"):
    """Left vectors, singular values in descending order, and right vectors: ``(u * s) @ vh``.

    ``full_matrices`` makes the matrices of vectors square; without ``compute_uv`` only the values
    are returned. ``lapack_driver`` has no effect.

    >>> u, s, vh = tanx.scipy.linalg.svd(jnp.array([[3., 0.], [0., 4.]]))
    >>> s
    Array([4., 3.], dtype=float32)
    """
    return lax.linalg.svd(matrices("svd", jnp.asarray(a), too_few=TypeError),
                          full_matrices=full_matrices, compute_uv=compute_uv)


@library_jit(static_argnames=("lower", "eigvals_only", "overwrite_a", "overwrite_b", "turbo",
                              "eigvals", "type", "check_finite"))
def eigh(a, b=None, lower: bool = True, eigvals_only: bool = False, overwrite_a: bool = False,
         overwrite_b: bool = False, turbo: bool = True, eigvals: None = None, type: int = 1,
         check_finite: bool = True):
    """The ascending eigenvalues, and the eigenvectors in columns, of Hermitian matrices.

    With a positive definite ``b``, ``type`` selects the equation: ``a @ v = w * b @ v``
    (1), ``a @ b @ v = w * v`` (2) or ``b @ a @ v = w * v`` (3); then ``v.mH @ b @ v``, or with
    ``inv(b)`` for type 3, is the identity. If ``b`` is not positive definite, results are NaN.
    Both are made Hermitian first, so ``lower`` has no effect.

    >>> w, v = tanx.scipy.linalg.eigh(jnp.array([[2., 1.], [1., 2.]]))
    >>> w
    Array([1., 3.], dtype=float32)
    """
    a = matrices("eigh", jnp.asarray(a), square=True)
    if eigvals is not None:
        raise error("eigh", "computes all eigenvalues; subsets are not supported.",
                    f"eigvals: {eigvals}", kind=NotImplementedError,
                    hint="take a slice of the results.")
    if type not in (1, 2, 3):
        raise error("eigh", "type must be 1, 2 or 3.", f"type: {type}")
    if b is None:
        v, w = lax.linalg.eigh(a, lower=lower)
        return w if eigvals_only else (w, v)
    a, b = alike("eigh", a, matrices("eigh", b, square=True, name="b"))
    if a.shape[-1] != b.shape[-1]:
        raise error("eigh", "a and b must have the same size.", f"a: {typeof(a)}",
                    f"b: {typeof(b)}")
    lead = common_shape(a.shape[:-2], b.shape[:-2])
    a, b = (jnp.broadcast_to(x, (*lead, *x.shape[-2:])) for x in (a, b))
    factor = lax.linalg.cholesky(b)
    v, w = lax.linalg.eigh(_congruent(a, factor, inverse=type == 1))
    if eigvals_only:
        return w
    if type == 3:
        return w, product(factor, v)
    return w, lax.linalg.triangular_solve(factor, v, left_side=True, lower=True, transpose_a=True,
                                          conjugate_a=True)


def _congruent(a, factor, inverse: bool):
    """``inv(l) @ a @ inv(l.mH)``, or ``l.mH @ a @ l``, for a lower triangular ``l``."""
    a = (a + adjoint(a)) / 2
    if not inverse:
        return product(adjoint(factor), product(a, factor))
    inner = lax.linalg.triangular_solve(factor, a, lower=True, transpose_a=True, conjugate_a=True)
    return lax.linalg.triangular_solve(factor, inner, left_side=True, lower=True)


# -- polar -----------------------------------------------------------------------------------------


def polar(a, side: str = "right", *, method: str = "qdwh", eps: float | None = None,
          max_iterations: int | None = None):
    """A matrix with orthonormal columns, or rows, and a positive semidefinite one: ``a = u @ p``.

    With ``side="left"`` it is ``a = p @ u``. Both methods, ``"qdwh"`` and ``"svd"``, use singular
    values here, so ``eps`` and ``max_iterations`` have no effect. Derivatives exist if the rank is
    full; singular values may be equal.

    >>> u, p = tanx.scipy.linalg.polar(jnp.array([[0., -2.], [3., 0.]]))
    >>> p
    Array([[3., 0.],
           [0., 2.]], dtype=float32)
    """
    a = matrices("polar", a)
    if side not in ("right", "left"):
        raise error("polar", "there is no such side.", f"side: {side!r}", "known: 'right', 'left'")
    if method not in ("qdwh", "svd"):
        raise error("polar", "there is no such method.", f"method: {method!r}",
                    "known: 'qdwh', 'svd'")
    return _polar_of(a, side == "right")


@library_jit(static_argnames=("right",))
def _polar_of(a, right: bool):
    """The polar factors; those of a wide matrix follow from those of its adjoint."""
    is_tall = a.shape[-2] >= a.shape[-1]
    u, p = _polar(a if is_tall else adjoint(a))
    u = u if is_tall else adjoint(u)
    if right != is_tall:  # the other factor is a rotated copy
        p = product(product(u, p), adjoint(u)) if is_tall else product(product(adjoint(u), p), u)
    return u, p


@custom_jvp
def _polar(a):
    """``a = u @ p``, for matrices with at least as many rows as columns."""
    u, s, vh = lax.linalg.svd(a, full_matrices=False)
    p = product(adjoint(vh) * s[..., None, :].astype(a.dtype), vh)
    return product(u, vh), (p + adjoint(p)) / 2


@_polar.defjvp
def _moved_polar(primals, tangents):
    """``du = u @ turn`` within the columns, where ``p @ turn + turn @ p = u.mH @ da - da.mH @ u``.

    It divides only by sums of singular values, so that equal ones are no problem.
    """
    (a,), (da,) = primals, tangents
    u, p = _polar(a)
    inner = product(adjoint(u), da)
    turn = _between_positive(p, inner - adjoint(inner))
    du = product(u, turn)
    if a.shape[-2] > a.shape[-1]:
        outside = da - product(u, inner)
        du = du + adjoint(jnp.linalg.solve(p, adjoint(outside)))
    return (u, p), (du, inner - product(turn, p))


def _between_positive(p, c):
    """``x`` with ``p @ x + x @ p = c``, for a positive definite ``p``."""
    def solve(p, c):
        v, w = lax.linalg.eigh(p)
        sums = (w[..., :, None] + w[..., None, :]).astype(c.dtype)
        inner = product(product(adjoint(v), c), v) / sums
        return product(product(v, inner), adjoint(v))

    transposed = jnp.matrix_transpose(p)
    return lax.custom_linear_solve(
        lambda x: product(p, x) + product(x, p), c, lambda _, c: solve(p, c),
        lambda _, c: solve(transposed, c))
