"""tanx.numpy.linalg: NumPy's linear algebra, on matrices in the last two dimensions.

The factorisations are those of ``tanx.lax.linalg``; functions have a derivative if the
factorisation that they use has one.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from .. import dtypes
from .._api.jit import library_jit
from .._base.axes import canonical_axis
from .._base.traceback import shown
from .._base.tuples import NamedTuple
from .._base.window import publish
from .._control.custom_jvp import custom_jvp
from ..errors import explain
from ..lax import _functions as lax
from ..lax import linalg as factor
from . import _contract as contract
from ._complex import conj
from ._creation import zeros
from ._logic import isnan, where
from ._lookup import take_along_axis
from ._math import absolute, power
from ._matrices import diagonal as _diagonal
from ._matrices import eye, triu
from ._matrices import trace as _trace
from ._promotion import as_operand, broadcast_to_shape, common_shape, convert, inexact, typeof
from ._reduce import amax, amin
from ._reduce import any as any_of
from ._reduce import prod as product_of
from ._reduce import sum as sum_of
from ._shape import expand_dims, matrix_transpose, moveaxis, ravel
from ._sort import argsort
from ._transcendental import log

__all__ = ["cholesky", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh",
           "inv", "lstsq", "matmul", "matrix_norm", "matrix_power", "matrix_rank",
           "matrix_transpose", "multi_dot", "norm", "outer", "pinv", "qr", "slogdet", "solve",
           "svd", "svdvals", "tensordot", "tensorinv", "tensorsolve", "trace", "vecdot",
           "vector_norm"]


class EigResult(NamedTuple):
    """Eigenvalues and eigenvectors."""

    eigenvalues: Any
    eigenvectors: Any


class EighResult(NamedTuple):
    """Eigenvalues and eigenvectors of Hermitian matrices."""

    eigenvalues: Any
    eigenvectors: Any


class QRResult(NamedTuple):
    """An orthogonal and an upper triangular factor."""

    Q: Any
    R: Any


class SlogdetResult(NamedTuple):
    """The sign of a determinant, and the logarithm of its absolute value."""

    sign: Any
    logabsdet: Any


class SVDResult(NamedTuple):
    """Left vectors, singular values, right vectors."""

    U: Any
    S: Any
    Vh: Any


def _error(function: str, rule: str, *facts: str, kind: type[Exception] = ValueError, hint=""):
    return kind(explain(f"tanx.numpy.linalg.{function}", rule, *facts, hint=hint or None))


def _matrices(function: str, x, square: bool = False, kind: type[Exception] = ValueError):
    """An operand as floats or complex numbers; raises unless it has at least two dimensions."""
    x = inexact(f"linalg.{function}", x)
    if x.ndim < 2:
        raise _error(function, "needs at least two dimensions.", f"array: {typeof(x)}",
                     kind=kind)
    if square and x.shape[-1] != x.shape[-2]:
        raise _error(function, "matrices must be square.", f"array: {typeof(x)}")
    return x


def _adjoint(x):
    return matrix_transpose(conj(x) if x.dtype.kind == "c" else x)


def _eye_like(x):
    return broadcast_to_shape(eye(*x.shape[-2:], dtype=x.dtype), x.shape)


# -- factorisations --------------------------------------------------------------------------------


@library_jit(static_argnames=("upper", "symmetrize_input"))
def cholesky(a, *, upper: bool = False, symmetrize_input: bool = True):
    """The triangular factors of positive definite matrices: ``a = L @ L.mH``, or upper ones.

    NaN if a matrix is not positive definite.

    >>> jnp.linalg.cholesky(jnp.array([[4., 2.], [2., 5.]]))
    Array([[2., 0.],
           [1., 2.]], dtype=float32)
    """
    a = _matrices("cholesky", a, square=True)
    lower = factor.cholesky(a, symmetrize_input=symmetrize_input)
    return _adjoint(lower) if upper else lower


def qr(a, mode: str = "reduced"):
    """The orthogonal factor ``Q`` and the upper triangular factor ``R`` of ``a``.

    ``mode`` is ``"reduced"``, ``"complete"`` for a square ``Q``, or ``"r"`` for ``R`` alone;
    ``"raw"`` gives the reflections that make up ``Q``, transposed, and their factors, as LAPACK
    does.

    >>> jnp.abs(jnp.linalg.qr(jnp.array([[0., 2.], [3., 4.]])).R)
    Array([[3., 4.],
           [0., 2.]], dtype=float32)
    """
    a = _matrices("qr", a)
    if mode == "raw":
        reflections, factors = factor.geqrf(a)
        return QRResult(reflections.mT, factors)
    if mode not in ("reduced", "complete", "full", "r"):
        raise _error("qr", "there is no such mode.", f"mode: {mode!r}",
                     "known: 'reduced', 'complete', 'r', 'raw'")
    q, r = factor.qr(a, full_matrices=mode in ("complete", "full"))
    return r if mode == "r" else QRResult(q, r)


def svd(a, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False,
        subset_by_index: tuple[int, int] | None = None):
    """Left vectors ``U``, singular values ``S`` in descending order, right vectors ``Vh``.

    ``full_matrices`` makes the matrices of vectors square; without ``compute_uv`` only the values
    are returned. ``hermitian`` promises that ``a`` is Hermitian; ``subset_by_index`` selects a
    range of values.

    >>> jnp.linalg.svd(jnp.array([[3., 0.], [0., 4.]])).S
    Array([4., 3.], dtype=float32)
    """
    a = _matrices("svd", a, hermitian, TypeError)
    if not hermitian:
        out = factor.svd(a, full_matrices=full_matrices, compute_uv=compute_uv,
                         subset_by_index=subset_by_index)
        return SVDResult(*out) if compute_uv else out
    v, w = factor.eigh(a)
    order = argsort(absolute(w), axis=-1, descending=True)
    w = take_along_axis(w, order, -1)
    v = take_along_axis(v, expand_dims(order, -2), -1)
    first, last = subset_by_index or (0, w.shape[-1])
    w, v = w[..., first:last], v[..., first:last]
    if not compute_uv:
        return absolute(w)
    signs = expand_dims(convert(where(w < 0, -1, 1), v.dtype), -2)
    return SVDResult(v, absolute(w), _adjoint(v * signs))


def svdvals(x, /):
    """The singular values of matrices, in descending order.

    >>> jnp.linalg.svdvals(jnp.array([[3., 0.], [0., 4.]]))
    Array([4., 3.], dtype=float32)
    """
    return svd(x, compute_uv=False)


def eigh(a, UPLO: str | None = None, symmetrize_input: bool = True):
    """The ascending ``eigenvalues`` and the ``eigenvectors``, in columns, of Hermitian matrices.

    ``UPLO`` is ``"L"`` or ``"U"``, for the triangle that is read; it matters only if
    ``symmetrize_input`` is False.

    >>> jnp.linalg.eigh(jnp.array([[2., 1.], [1., 2.]])).eigenvalues
    Array([1., 3.], dtype=float32)
    """
    a = _matrices("eigh", a, square=True)
    if UPLO not in (None, "L", "U"):
        raise _error("eigh", "UPLO must be 'L' or 'U'.", f"UPLO: {UPLO!r}")
    v, w = factor.eigh(a, lower=UPLO != "U", symmetrize_input=symmetrize_input)
    return EighResult(w, v)


def eigvalsh(a, UPLO: str | None = "L", *, symmetrize_input: bool = True):
    """The eigenvalues of Hermitian matrices, ascending; see :func:`eigh`.

    >>> jnp.linalg.eigvalsh(jnp.array([[2., 1.], [1., 2.]]))
    Array([1., 3.], dtype=float32)
    """
    return eigh(a, UPLO, symmetrize_input).eigenvalues


def eig(a):
    """The complex ``eigenvalues`` and the ``eigenvectors``, in columns, of square matrices.

    >>> jnp.linalg.eig(jnp.array([[2., 0.], [0., 3.]])).eigenvalues
    Array([2.+0.j, 3.+0.j], dtype=complex64)
    """
    a = _matrices("eig", a, square=True)
    return EigResult(*factor.eig(a, compute_left_eigenvectors=False))


def eigvals(a):
    """The complex eigenvalues of square matrices.

    >>> jnp.linalg.eigvals(jnp.array([[2., 0.], [0., 3.]]))
    Array([2.+0.j, 3.+0.j], dtype=complex64)
    """
    a = _matrices("eigvals", a, square=True)
    return factor.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]


# -- systems of equations --------------------------------------------------------------------------


@library_jit
def solve(a, b):
    """``x`` such that ``a @ x = b``, for square matrices; ``b`` is a vector or holds matrices.

    >>> jnp.linalg.solve(jnp.array([[2., 0.], [0., 4.]]), jnp.array([2., 8.]))
    Array([1., 2.], dtype=float32)
    """
    a, b = _matrices("solve", a, square=True), inexact("linalg.solve", b)
    if b.ndim == 0 or b.shape[max(b.ndim - 2, 0)] != a.shape[-1]:
        raise _error("solve", "b must be a vector, or matrices, with as many rows as a.",
                     f"a: {typeof(a)}", f"b: {typeof(b)}", hint="of vectors, b[..., None] makes "
                     "matrices of one column.")
    dtype = dtypes.result_type(a, b)
    is_vector = b.ndim == 1
    columns = expand_dims(b, 1) if is_vector else b
    lead = common_shape(a.shape[:-2], columns.shape[:-2])
    a = broadcast_to_shape(convert(a, dtype), (*lead, *a.shape[-2:]))
    columns = broadcast_to_shape(convert(columns, dtype), (*lead, *columns.shape[-2:]))
    x = _solved(a, columns)
    return x[..., 0] if is_vector else x


@custom_jvp
def _solved(a, b):
    """``solve`` for operands of one dtype and batch."""
    return _solved_by(factor.lu(a), b)


@_solved.defjvp
def _moved_solution(primals, tangents):
    """The derivative, from the factors used for the solution."""
    (a, b), (da, db) = primals, tangents
    factors = factor.lu(a)
    x = _solved_by(factors, b)
    return x, _solved_by(factors, db - contract.matmul(da, x, precision="highest"))


def _solved_by(factors, b):
    """The solution of a system, given the factors of its matrices."""
    both, _, order = factors
    b = take_along_axis(b, expand_dims(order, -1), -2) if b.size else b
    x = factor.triangular_solve(both, b, left_side=True, lower=True, unit_diagonal=True)
    return factor.triangular_solve(both, x, left_side=True)


@library_jit
def inv(a):
    """The inverse matrices.

    >>> jnp.linalg.inv(jnp.array([[2., 0.], [0., 4.]]))
    Array([[0.5 , 0.  ],
           [0.  , 0.25]], dtype=float32)
    """
    a = _matrices("inv", a, square=True)
    return _solved(a, _eye_like(a))


@library_jit(static_argnames=("hermitian",))
def pinv(a, rtol=None, hermitian: bool = False, *, rcond=None):
    """The pseudoinverses of Moore and Penrose.

    Singular values of at most ``rtol`` times the greatest count as zero; the default is ten times
    the larger size times the precision of the dtype. ``rcond`` is an older name of ``rtol``.

    >>> jnp.linalg.pinv(jnp.array([[2.], [0.]]))
    Array([[0.5, 0. ]], dtype=float32)
    """
    if rtol is not None and rcond is not None:
        raise ValueError(explain("tanx.numpy.linalg.pinv", "takes rtol or rcond, not both."))
    a = _matrices("pinv", a)
    rtol = rcond if rtol is None else rtol
    if rtol is None:
        rtol = 10.0 * max(a.shape[-2:]) * float(dtypes.finfo(a.dtype).eps)
    return _pinv(a, rtol, hermitian)


@partial(custom_jvp, nondiff_argnums=(2,))
def _pinv(a, rtol, hermitian):
    if not a.size:
        return zeros((*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype)
    if hermitian:  # values in any order, of any sign
        s, u = eigh(a)
        v, size = u, absolute(s)
        greatest = size.max(-1, keepdims=True)
    else:
        u, s, vh = svd(a, full_matrices=False)
        v, size, greatest = _adjoint(vh), s, s[..., :1]
    least = broadcast_to_shape(convert(rtol, s.dtype), s.shape[:-1])
    kept = size > expand_dims(least, -1) * greatest
    inverse = where(kept, 1 / where(kept, s, 1), 0)
    return contract.matmul(v * expand_dims(convert(inverse, a.dtype), -2), _adjoint(u))


@_pinv.defjvp
def _moved_pinv(hermitian, primals, tangents):
    """Golub and Pereyra (1973): valid for equal singular values, if the rank is constant."""
    (a, rtol), da = primals, tangents[0]
    da = (da + _adjoint(da)) / 2 if hermitian else da
    p = _pinv(a, rtol, hermitian)
    back, da_adjoint, p_adjoint = contract.matmul(p, da), _adjoint(da), _adjoint(p)
    rows = da_adjoint - contract.matmul(contract.matmul(da_adjoint, a), p)
    columns = contract.matmul(da_adjoint, p_adjoint)
    columns = columns - contract.matmul(p, contract.matmul(a, columns))
    return p, (contract.matmul(contract.matmul(p, p_adjoint), rows) - contract.matmul(back, p)
               + contract.matmul(columns, p))


def lstsq(a, b, rcond=None, *, numpy_resid: bool = False):
    """``x`` that minimises the length of ``b - a @ x``; the residuals, rank, and singular values.

    Singular values of at most ``rcond`` times the greatest count as zero. With ``numpy_resid``, the
    residuals are empty where NumPy's are, which cannot be traced.

    >>> x, residuals, rank, s = jnp.linalg.lstsq(jnp.array([[1.], [1.]]), jnp.array([1., 3.]))
    >>> x
    Array([2.], dtype=float32)
    """
    a, b = _matrices("lstsq", a), inexact("linalg.lstsq", b)
    if a.ndim != 2 or b.ndim not in (1, 2) or a.shape[0] != b.shape[0]:
        raise _error("lstsq", "a must be a matrix, and b have as many rows.", f"a: {typeof(a)}",
                     f"b: {typeof(b)}")
    dtype = dtypes.result_type(a, b)
    a, b = convert(a, dtype), convert(b, dtype)
    columns = expand_dims(b, 1) if b.ndim == 1 else b
    m, n = a.shape
    if rcond is None:
        rcond = float(dtypes.finfo(dtype).eps) * max(m, n)
    u, s, vh = svd(a, full_matrices=False)
    kept = s > rcond * s[:1]
    rank = sum_of(kept)
    inverse = expand_dims(convert(where(kept, 1 / where(kept, s, 1), 0), dtype), -1)
    x = contract.matmul(_adjoint(vh), inverse * contract.matmul(_adjoint(u), columns))
    if numpy_resid and (int(rank) < n or m <= n):
        residuals = zeros((0,), s.dtype)
    else:
        residuals = sum_of(_squares(columns - contract.matmul(a, x)), axis=0)
    return x[:, 0] if b.ndim == 1 else x, residuals, rank, s


# -- determinants and powers -----------------------------------------------------------------------


@library_jit
def det(a):
    """The determinants.

    >>> jnp.linalg.det(jnp.array([[1., 2.], [3., 4.]]))
    Array(-2., dtype=float32)
    """
    a = _matrices("det", a, square=True)
    if a.shape[-1] > 3:
        factors, _, order = factor.lu(a)
        return _parity(order, a.dtype) * product_of(_diagonal(factors, axis1=-2, axis2=-1), axis=-1)
    return _small_det(a)


def _small_det(a):
    """The determinants of small matrices, by expansion along the first row; exact if singular."""
    n = a.shape[-1]
    if n == 0:
        return broadcast_to_shape(convert(1, a.dtype), a.shape[:-2])
    if n == 1:
        return a[..., 0, 0]
    total = None
    for j in range(n):
        columns = [k for k in range(n) if k != j]
        rest = lax.concatenate([a[..., 1:, k:k + 1] for k in columns], a.ndim - 1)
        term = (-1) ** j * a[..., 0, j] * _small_det(rest)
        total = term if total is None else total + term
    return total


def _parity(order, dtype):
    """1 for even permutations and -1 for odd ones."""
    n = order.shape[-1]
    before = expand_dims(order, -1) > expand_dims(order, -2)
    inversions = sum_of(triu(convert(before, np.dtype(np.int32)), 1), axis=(-2, -1))
    return convert(1 - 2 * (inversions % 2), dtype) if n else convert(inversions + 1, dtype)


@library_jit(static_argnames=("method",))
def slogdet(a, *, method: str | None = None):
    """The ``sign`` of determinants, and the logarithm of their absolute value ``logabsdet``.

    ``method`` is ``"lu"`` or ``"qr"``, the factorisation that is used. The sign of a complex
    determinant is a number of absolute value 1; that of a singular matrix is 0.

    >>> jnp.linalg.slogdet(jnp.array([[2., 0.], [0., -4.]])).sign
    Array(-1., dtype=float32)
    """
    a = _matrices("slogdet", a, square=True)
    if method not in (None, "lu", "qr"):
        raise _error("slogdet", "there is no such method.", f"method: {method!r}",
                     "known: 'lu', 'qr'")
    if method == "qr":
        q, r = factor.qr(a)
        return SlogdetResult(*_slogdet_of(_diagonal(r, axis1=-2, axis2=-1), det(q)))
    return SlogdetResult(*_slogdet(a))


@custom_jvp
def _slogdet(a):
    return _slogdet_by(factor.lu(a))


@_slogdet.defjvp
def _moved_slogdet(primals, tangents):
    """The derivative of the logarithm of a determinant is the trace of ``inv(a) @ da``."""
    (a,), (da,) = primals, tangents
    factors = factor.lu(a)
    sign, size = _slogdet_by(factors)
    step = trace(_solved_by(factors, da))
    if a.dtype.kind != "c":
        return (sign, size), (zeros(sign.shape, sign.dtype), step)
    return (sign, size), (sign * (step - convert(lax.real(step), a.dtype)), lax.real(step))


def _slogdet_by(factors):
    both, _, order = factors
    return _slogdet_of(_diagonal(both, axis1=-2, axis2=-1), _parity(order, both.dtype))


def _slogdet_of(values, sign):
    """The sign and logarithm of a product along the last dimension, times a sign."""
    size = absolute(values)
    sign = sign * product_of(lax.sign(values), axis=-1)
    return sign, sum_of(log(size), axis=-1)


@library_jit(static_argnames=("n",))
def matrix_power(a, n: int):
    """The ``n``-th power of square matrices; negative powers are powers of the inverse.

    >>> jnp.linalg.matrix_power(jnp.array([[1, 1], [0, 1]]), 5)
    Array([[1, 5],
           [0, 1]], dtype=int32)
    """
    a = as_operand("linalg.matrix_power", a)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise _error("matrix_power", "matrices must be square.", f"array: {typeof(a)}",
                     kind=TypeError)
    try:
        n = operator.index(n)
    except TypeError:
        raise _error("matrix_power", "the power must be an integer.", f"n: {n!r}",
                     kind=TypeError) from None
    if n == 0:
        return _eye_like(a)
    if n < 0:
        a, n = inv(a), -n
    result = None
    while n:
        if n % 2:
            result = a if result is None else contract.matmul(result, a)
        n //= 2
        a = contract.matmul(a, a) if n else a
    return result


# -- norms -----------------------------------------------------------------------------------------


def _squares(x):
    return lax.real(x * conj(x)) if x.dtype.kind == "c" else x * x


def _vector_norm(x, ord, axis: tuple[int, ...], keepdims: bool):
    if ord is None or ord == 2:
        return lax.sqrt(sum_of(_squares(x), axis=axis, keepdims=keepdims))
    size = absolute(x)
    if ord in (np.inf, -np.inf):
        return (amax if ord > 0 else amin)(size, axis=axis, keepdims=keepdims,
                                           initial=0 if ord > 0 else None)
    if ord == 0:
        return sum_of(convert(x != 0, size.dtype), axis=axis, keepdims=keepdims)
    if ord == 1:
        return sum_of(size, axis=axis, keepdims=keepdims)
    if isinstance(ord, str):
        raise _error("norm", "vectors have no such norm.", f"ord: {ord!r}")
    ord = convert(ord, size.dtype)
    return power(sum_of(power(size, ord), axis=axis, keepdims=keepdims), 1 / ord)


def _matrix_norm(x, ord, rows: int, columns: int, keepdims: bool):
    both = (rows, columns)
    if ord is None or ord in ("f", "fro"):
        return lax.sqrt(sum_of(_squares(x), axis=both, keepdims=keepdims))
    if ord in (1, -1, np.inf, -np.inf):
        summed, other = (rows, columns) if abs(ord) == 1 else (columns, rows)
        sums = sum_of(absolute(x), axis=summed, keepdims=True)
        out = (amax if ord > 0 else amin)(sums, axis=other, keepdims=True,
                                          initial=0 if ord > 0 else None)
    elif ord in (2, -2, "nuc"):
        s = svdvals(moveaxis(x, both, (-2, -1)))
        out = (sum_of(s, axis=-1) if ord == "nuc" else amin(s, axis=-1) if ord < 0 else
               amax(s, axis=-1, initial=0))
        out = expand_dims(out, both)
    else:
        raise _error("norm", "matrices have no such norm.", f"ord: {ord!r}",
                     "known: None, 'fro', 'nuc', 1, -1, 2, -2, inf, -inf")
    return out if keepdims else lax.squeeze(out, both)


@library_jit(static_argnames=("ord", "axis", "keepdims"))
def norm(x, ord=None, axis=None, keepdims: bool = False):
    """The norm of a vector, along one ``axis``, or of a matrix, over two of them.

    For vectors, ``ord`` is any number, 2 by default; for matrices it is ``"fro"`` (the default),
    ``"nuc"``, or one of 1, -1, 2, -2, inf and -inf. Without ``axis`` and ``ord``, all elements
    count as one vector.

    >>> jnp.linalg.norm(jnp.array([3., 4.]))
    Array(5., dtype=float32)
    """
    x = inexact("linalg.norm", x)
    if axis is None:
        axes = tuple(range(x.ndim))
        if ord is None:
            return _vector_norm(x, None, axes, keepdims)
        if x.ndim not in (1, 2):
            raise _error("norm", "without axis, an array with an ord must be a vector or a matrix.",
                         f"x: {typeof(x)}", f"ord: {ord!r}")
    else:
        given = axis if isinstance(axis, tuple | list) else (axis,)
        axes = tuple(canonical_axis("linalg.norm", d, x) for d in given)
    if len(axes) == 1:
        return _vector_norm(x, ord, axes, keepdims)
    if len(axes) == 2 and axes[0] != axes[1]:
        return _matrix_norm(x, ord, *axes, keepdims)
    raise _error("norm", "axis must be one dimension, or two different ones.", f"x: {typeof(x)}",
                 f"axis: {axis}")


@library_jit(static_argnames=("keepdims", "ord"))
def matrix_norm(x, /, *, keepdims: bool = False, ord="fro"):
    """The norms of matrices in the last two dimensions; see :func:`norm`.

    >>> jnp.linalg.matrix_norm(jnp.array([[3., 0.], [0., 4.]]))
    Array(5., dtype=float32)
    """
    return norm(_matrices("matrix_norm", x), ord, (-2, -1), keepdims)


@library_jit(static_argnames=("axis", "keepdims", "ord"))
def vector_norm(x, /, *, axis=None, keepdims: bool = False, ord=2):
    """The norms of vectors along ``axis``, which may be several; all elements by default.

    >>> jnp.linalg.vector_norm(jnp.array([[3., 0.], [0., 4.]]))
    Array(5., dtype=float32)
    """
    x = inexact("linalg.vector_norm", x)
    given = range(x.ndim) if axis is None else axis if isinstance(axis, tuple | list) else (axis,)
    axes = tuple(canonical_axis("linalg.vector_norm", d, x) for d in given)
    return _vector_norm(x, ord, axes, keepdims)


@library_jit(static_argnames=("p",))
def cond(x, p=None):
    """The condition numbers of matrices: the norm times the norm of the inverse.

    ``p`` is the ``ord`` of :func:`norm`; by default it is 2, the ratio of singular values.

    >>> jnp.linalg.cond(jnp.array([[2., 0.], [0., 4.]]))
    Array(2., dtype=float32)
    """
    x = _matrices("cond", x)
    if 0 in x.shape[-2:]:
        raise _error("cond", "matrices must have elements.", f"array: {typeof(x)}")
    if p in (None, 2, -2):
        s = svdvals(x)
        least, greatest = s[..., -1], s[..., 0]
        ratio = least / greatest if p == -2 else greatest / least
    else:
        x = _matrices("cond", x, square=True)
        ratio = norm(x, p, (-2, -1)) * norm(inv(x), p, (-2, -1))
    unknown = isnan(ratio) & ~any_of(isnan(x), (-2, -1))  # the matrix is singular, and holds no NaN
    return where(unknown, np.inf, ratio)


@library_jit(static_argnames=("hermitian",))
def matrix_rank(M, rtol=None, *, hermitian: bool = False, tol=None):
    """How many singular values are more than ``rtol`` times the greatest, or more than ``tol``.

    >>> jnp.linalg.matrix_rank(jnp.array([[1., 2.], [2., 4.]]))
    Array(1, dtype=int32)
    """
    if rtol is not None and tol is not None:
        raise ValueError(explain("tanx.numpy.linalg.matrix_rank", "takes rtol or tol, not both."))
    M = inexact("linalg.matrix_rank", M)
    if M.ndim < 2:
        return convert((M != 0).any(), np.dtype(np.int32))
    s = svd(M, compute_uv=False, hermitian=hermitian)
    if tol is None:
        if rtol is None:
            rtol = float(dtypes.finfo(M.dtype).eps) * max(M.shape[-2:])
        tol = amax(s, axis=-1, initial=0) * rtol
    return sum_of(s > expand_dims(convert(tol, s.dtype), -1), axis=-1)


# -- products --------------------------------------------------------------------------------------


def multi_dot(arrays: Sequence, *, precision=None):
    """The product of several matrices, in the order of multiplications that costs the least.

    The first and the last may be vectors.

    >>> jnp.linalg.multi_dot([jnp.ones((2, 3)), jnp.ones((3, 4)), jnp.ones(4)])
    Array([12., 12.], dtype=float32)
    """
    chain = [as_operand("linalg.multi_dot", x) for x in arrays]
    if len(chain) < 2 or any(x.ndim != 2 for x in chain[1:-1]) or any(
            x.ndim not in (1, 2) for x in chain):
        raise _error("multi_dot", "takes at least two arrays: matrices, and vectors at the ends.",
                     *(f"array {n}: {typeof(x)}" for n, x in enumerate(chain)))
    sizes = [1 if chain[0].ndim == 1 else chain[0].shape[0], *(x.shape[0] for x in chain[1:]),
             1 if chain[-1].ndim == 1 else chain[-1].shape[-1]]
    best: dict[tuple[int, int], tuple[int, Any]] = {(i, i): (0, None) for i in range(len(chain))}
    for length in range(1, len(chain)):
        for i in range(len(chain) - length):
            j = i + length
            best[i, j] = min((best[i, k][0] + best[k + 1, j][0]
                              + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j))

    def multiplied(i: int, j: int):
        if i == j:
            return chain[i]
        k = best[i, j][1]
        return contract.matmul(multiplied(i, k), multiplied(k + 1, j), precision=precision)
    return multiplied(0, len(chain) - 1)


def matmul(x1, x2, /, *, precision=None, preferred_element_type=None):
    """The products of matrices; see :func:`tanx.numpy.matmul`.

    >>> jnp.linalg.matmul(jnp.ones((2, 3)), jnp.ones((3, 4))).shape
    (2, 4)
    """
    return contract.matmul(x1, x2, precision=precision,
                           preferred_element_type=preferred_element_type)


def vecdot(x1, x2, /, *, axis: int = -1, precision=None, preferred_element_type=None):
    """The sums of ``conj(x1) * x2`` along an axis; see :func:`tanx.numpy.vecdot`.

    >>> jnp.linalg.vecdot(jnp.array([1., 2.]), jnp.array([3., 4.]))
    Array(11., dtype=float32)
    """
    return contract.vecdot(x1, x2, axis=axis, precision=precision,
                           preferred_element_type=preferred_element_type)


def tensordot(x1, x2, /, *, axes=2, precision=None, preferred_element_type=None,
              out_sharding=None):
    """The sums of products over several dimensions; see :func:`tanx.numpy.tensordot`.

    >>> jnp.linalg.tensordot(jnp.ones((2, 3)), jnp.ones((3, 4)), axes=1).shape
    (2, 4)
    """
    return contract.tensordot(x1, x2, axes, precision=precision,
                              preferred_element_type=preferred_element_type,
                              out_sharding=out_sharding)


def cross(x1, x2, /, *, axis: int = -1):
    """The cross products of vectors of three components along ``axis``.

    >>> jnp.linalg.cross(jnp.array([1, 0, 0]), jnp.array([0, 1, 0]))
    Array([0, 0, 1], dtype=int32)
    """
    x1, x2 = as_operand("linalg.cross", x1), as_operand("linalg.cross", x2)
    if any(x.shape[canonical_axis("linalg.cross", axis, x)] != 3 for x in (x1, x2)):
        raise _error("cross", "vectors must have three components.",
                     f"x1: {typeof(x1)}", f"x2: {typeof(x2)}")
    return contract.cross(x1, x2, axis=axis)


def outer(x1, x2, /):
    """The products of each element of one vector with each of another.

    >>> jnp.linalg.outer(jnp.array([1, 2]), jnp.array([1, 2]))
    Array([[1, 2],
           [2, 4]], dtype=int32)
    """
    x1, x2 = as_operand("linalg.outer", x1), as_operand("linalg.outer", x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise _error("outer", "takes vectors.", f"x1: {typeof(x1)}", f"x2: {typeof(x2)}")
    return contract.outer(x1, x2)


def diagonal(x, /, *, offset: int = 0):
    """The diagonals of matrices in the last two dimensions.

    >>> jnp.linalg.diagonal(jnp.array([[1, 2], [3, 4]]))
    Array([1, 4], dtype=int32)
    """
    return _diagonal(x, offset, axis1=-2, axis2=-1)


def trace(x, /, *, offset: int = 0, dtype=None):
    """The sums of the diagonals of matrices in the last two dimensions.

    >>> jnp.linalg.trace(jnp.array([[1, 2], [3, 4]]))
    Array(5, dtype=int32)
    """
    return _trace(x, offset, axis1=-2, axis2=-1, dtype=dtype)


def tensorinv(a, ind: int = 2):
    """The inverse of ``tensordot(a, x, ind)``; the first ``ind`` dimensions are rows.

    >>> jnp.linalg.tensorinv(jnp.eye(6).reshape(2, 3, 6), ind=2).shape
    (6, 2, 3)
    """
    a = inexact("linalg.tensorinv", a)
    ind = operator.index(ind)
    rows, columns = prod(a.shape[:ind]), prod(a.shape[ind:])
    if ind <= 0 or rows != columns:
        raise _error("tensorinv", "the first dimensions must have the same number of elements as "
                     "the others.", f"a: {typeof(a)}", f"ind: {ind}")
    return inv(lax.reshape(a, (rows, columns))).reshape(*a.shape[ind:], *a.shape[:ind])


def tensorsolve(a, b, axes: Sequence[int] | None = None):
    """``x`` such that ``tensordot(a, x, x.ndim) = b``; ``axes`` of ``a`` are moved to its end.

    >>> jnp.linalg.tensorsolve(jnp.eye(6).reshape(2, 3, 6), jnp.ones((2, 3))).shape
    (6,)
    """
    a, b = inexact("linalg.tensorsolve", a), inexact("linalg.tensorsolve", b)
    if axes is not None:
        a = moveaxis(a, tuple(axes), tuple(range(a.ndim - len(axes), a.ndim)))
    shape = a.shape[b.ndim:]
    if prod(shape) != b.size or a.shape[:b.ndim] != b.shape:
        raise _error("tensorsolve", "the first dimensions of a must be those of b, and the others "
                     "must have the same number of elements.", f"a: {typeof(a)}", f"b: {typeof(b)}")
    return solve(lax.reshape(a, (b.size, b.size)), ravel(b)).reshape(shape)


publish(__name__, shown)
