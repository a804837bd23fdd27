"""Diagonals and triangles of matrices: building and extracting them."""

from __future__ import annotations

import operator

from .. import dtypes
from .._api.jit import library_jit
from .._base.axes import canonical_axis
from .._base.symbolic import index
from ..errors import explain
from ..lax import _functions as lax
from ._creation import arange, placed, zeros_like
from ._logic import where
from ._math import power
from ._promotion import as_operand, broadcast_to_shape, canonical_shape, convert, stated, typeof
from ._shape import expand_dims, moveaxis, ravel

__all__ = ["diag", "diagflat", "diagonal", "eye", "identity", "trace", "tri", "tril", "triu",
           "vander"]


def _on_diagonal(shape: tuple[int, ...], k):
    """Which elements of a matrix are on its ``k``-th diagonal."""
    dtype = dtypes.default_int()
    row, column = lax.broadcasted_iota(dtype, shape, 0), lax.broadcasted_iota(dtype, shape, 1)
    return lax.eq(lax.add(row, convert(k, dtype)), column)


def _below_diagonal(shape: tuple[int, ...], k):
    """Which elements of a matrix are on its ``k``-th diagonal or below it."""
    dtype = dtypes.default_int()
    row = lax.add(lax.broadcasted_iota(dtype, shape, 0), convert(k, dtype))
    return lax.ge(row, lax.broadcasted_iota(dtype, shape, 1))


def eye(N, M=None, k=0, dtype=None, *, device=None):
    """The ``N`` by ``M`` matrix with ones on its ``k``-th diagonal and zeros elsewhere.

    >>> jnp.eye(2, 3, k=1)
    Array([[0., 1., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    dtype = dtypes.requested_dtype(dtype, "tanx.numpy.eye")
    try:
        shape: tuple[int, ...] = index(N), index(N if M is None else M)
    except TypeError:
        shape = canonical_shape((N, M), "tanx.numpy.eye")
    if any(size < 0 for size in shape):
        raise ValueError(explain("tanx.numpy.eye", "sizes must not be negative.",
                                 f"shape: {shape}"))
    return placed(convert(_on_diagonal(shape, k), dtype), device)


def identity(n, dtype=None):
    """The identity matrix of ``n`` rows.

    >>> jnp.identity(2, dtype=int)
    Array([[1, 0],
           [0, 1]], dtype=int32)
    """
    return eye(n, dtype=dtype)


def tri(N, M=None, k=0, dtype=None):
    """The ``N`` by ``M`` matrix with ones on and below its ``k``-th diagonal, zeros above.

    >>> jnp.tri(2, 3, k=1)
    Array([[1., 1., 0.],
           [1., 1., 1.]], dtype=float32)
    """
    dtype = dtypes.requested_dtype(dtype, "tanx.numpy.tri")
    shape = canonical_shape((N, N if M is None else M), "tanx.numpy.tri")
    return convert(_below_diagonal(shape, k), dtype)


def _matrices(function: str, m):
    """``m`` as an array; raises unless it has at least two dimensions."""
    m = as_operand(function, m)
    if m.ndim < 2:
        raise ValueError(explain(f"tanx.numpy.{function}", "needs at least two dimensions.",
                                 f"array: {m.aval}"))
    return m


@library_jit(static_argnames="k")
def tril(m, k=0):
    """``m``, a matrix or a stack of them, with zeros above its ``k``-th diagonal.

    >>> jnp.tril(jnp.ones((2, 3)))
    Array([[1., 0., 0.],
           [1., 1., 0.]], dtype=float32)
    """
    m = _matrices("tril", m)
    mask = broadcast_to_shape(_below_diagonal(m.shape[-2:], k), m.shape, stated(typeof(m)))
    return lax.select_n(mask, zeros_like(m), m)


@library_jit(static_argnames="k")
def triu(m, k=0):
    """``m``, a matrix or a stack of them, with zeros below its ``k``-th diagonal.

    >>> jnp.triu(jnp.ones((2, 3)), k=1)
    Array([[0., 1., 1.],
           [0., 0., 1.]], dtype=float32)
    """
    m = _matrices("triu", m)
    mask = broadcast_to_shape(_below_diagonal(m.shape[-2:], k - 1), m.shape, stated(typeof(m)))
    return lax.select_n(mask, m, zeros_like(m))


def diag(v, k=0):
    """The ``k``-th diagonal of a matrix, or the matrix that has the vector ``v`` there.

    >>> jnp.diag(jnp.array([1, 2]), k=1)
    Array([[0, 1, 0],
           [0, 0, 2],
           [0, 0, 0]], dtype=int32)
    """
    return _diag(as_operand("diag", v), operator.index(k))


@library_jit(static_argnums=1)
def _diag(v, k):
    if v.ndim == 2:
        return diagonal(v, offset=k)
    if v.ndim != 1:
        raise ValueError(explain("tanx.numpy.diag", "needs a vector or a matrix.",
                                 f"array: {v.aval}"))
    zero = convert(0, v.dtype, v.weak_type)
    rows = lax.pad(v, zero, [(max(0, -k), max(0, k), 0)])
    n = rows.shape[0]
    return where(_on_diagonal((n, n), k), expand_dims(rows, 1), zero)


def diagflat(v, k=0):
    """The matrix that has the elements of ``v`` on its ``k``-th diagonal.

    >>> jnp.diagflat(jnp.array([[1, 2]]))
    Array([[1, 0],
           [0, 2]], dtype=int32)
    """
    v = as_operand("diagflat", v)
    return diag(convert(ravel(v), v.dtype), k)


@library_jit(static_argnames=("offset", "axis1", "axis2"))
def diagonal(a, offset=0, axis1=0, axis2=1):
    """The elements whose indices along ``axis1`` and ``axis2`` are equal, as a new last dimension.

    The index along ``axis2`` is ``offset`` more than the one along ``axis1``.

    >>> jnp.diagonal(jnp.arange(6).reshape(2, 3), offset=1)
    Array([1, 5], dtype=int32)
    """
    a = as_operand("diagonal", a)
    a = _last_two("diagonal", a, axis1, axis2)
    rows, columns = a.shape[-2:]
    size = max(0, min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns))
    start = abs(offset)
    i, j = arange(size), arange(start, start + size)
    index = (..., i, j) if offset >= 0 else (..., j, i)
    return a.at[index].get(mode="promise_in_bounds")


def _last_two(function: str, a, axis1, axis2):
    """``a`` with two of its dimensions moved to the end."""
    if a.ndim < 2:
        raise ValueError(explain(f"tanx.numpy.{function}", "needs at least two dimensions.",
                                 f"array: {a.aval}"))
    axis1, axis2 = (canonical_axis(function, axis, a) for axis in (axis1, axis2))
    if axis1 == axis2:
        raise ValueError(explain(f"tanx.numpy.{function}", "axis1 and axis2 must differ.",
                                 f"array: {a.aval}", f"axes:  {axis1} and {axis2}"))
    return moveaxis(a, (axis1, axis2), (-2, -1))


@library_jit(static_argnames=("offset", "axis1", "axis2", "dtype", "out"))
def trace(a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    """The sum along a diagonal of two dimensions; see :func:`diagonal`.

    >>> jnp.trace(jnp.arange(9).reshape(3, 3))
    Array(12, dtype=int32)
    """
    a = as_operand("trace", a)
    if out is not None:
        raise NotImplementedError(explain(
            "tanx.numpy.trace", "arrays are immutable, so out is not supported.",
            hint="use the result."))
    a = _last_two("trace", a, axis1, axis2)
    kept = where(_on_diagonal(a.shape[-2:], offset), a, zeros_like(a))
    return kept.sum(axis=(-2, -1), dtype=dtype)


@library_jit(static_argnames=("N", "increasing"))
def vander(x, N=None, increasing=False):
    """The matrix of powers of ``x``, one row for each element and ``N`` columns.

    Powers decrease from left to right unless ``increasing``.

    >>> jnp.vander(jnp.array([2, 3]), 3)
    Array([[4, 2, 1],
           [9, 3, 1]], dtype=int32)
    """
    x = as_operand("vander", x)
    if x.ndim != 1:
        raise ValueError(explain("tanx.numpy.vander", "needs a vector.", f"array: {x.aval}"))
    n = x.shape[0] if N is None else operator.index(N)
    if n < 0:
        raise ValueError(explain("tanx.numpy.vander", "N must not be negative.", f"N: {n}"))
    exponents = lax.iota(x.dtype, n)
    if not increasing:
        exponents = lax.sub(convert(n - 1, x.dtype), exponents)
    return power(expand_dims(x, 1), expand_dims(exponents, 0))
