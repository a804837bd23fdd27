"""tanx.experimental.sparse.csr: matrices in compressed rows or columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import numpy as jnp
from ..._base.traceback import shown
from ..._base.window import publish
from ..._ops.compressed import csr_matmat_p, csr_matvec_p
from ...tree_util import register_pytree_node_class
from ._bcoo import BCOO
from ._rows import compressed_product, pointers, row_numbers, rows_product
from .coo import Matrix, _check_axes, entries_of

__all__ = ["CSC", "CSR", "csr_fromdense", "csr_matmat", "csr_matmat_p", "csr_matvec",
           "csr_matvec_p", "csr_todense"]


class _Compressed(Matrix):
    """Entries sorted by one dimension; ``indptr`` has the range of each row or column."""

    data: Any
    indices: Any
    indptr: Any
    _by_rows: bool
    nse = property(lambda self: self.data.size)

    def __init__(self, args, *, shape):
        self.data, self.indices, self.indptr = map(jnp.asarray, args)
        self.shape = tuple(shape)

    def tree_flatten(self):
        return (self.data, self.indices, self.indptr), (self.shape,)

    @classmethod
    def tree_unflatten(cls, aux_data, children):
        new = object.__new__(cls)
        new.data, new.indices, new.indptr = children
        (new.shape,) = aux_data
        return new

    @classmethod
    def fromdense(cls, mat, *, nse=None, index_dtype=np.int32):
        """The nonzero elements of a dense matrix."""
        mat = jnp.asarray(mat)
        turned = mat if cls._by_rows else mat.T
        data, lines, others, counted = entries_of(turned, nse, index_dtype)
        count = turned.shape[0]
        return cls((data, others, pointers(jnp.where(counted, lines, count), count)),
                   shape=mat.shape)

    @classmethod
    def _empty(cls, shape, *, dtype=None, index_dtype="int32"):
        count = shape[0 if cls._by_rows else 1]
        return cls((jnp.zeros(0, dtype), jnp.zeros(0, index_dtype),
                    jnp.zeros(count + 1, index_dtype)), shape=shape)

    def _places(self):
        """Rows and columns of entries."""
        lines = row_numbers(self.indptr, self.nse)
        return (lines, self.indices) if self._by_rows else (self.indices, lines)

    def to_bcoo(self) -> BCOO:
        """The same matrix in the format BCOO."""
        return BCOO((self.data, jnp.stack(self._places(), -1)), shape=self.shape)

    def product(self, other, transpose: bool = False):
        if self._by_rows != transpose:
            return compressed_product(self.data, self.indices, self.indptr, other)
        rows, columns = self._places()
        if transpose:
            rows, columns = columns, rows
        return rows_product(self.data, rows, columns, other, self.shape[1 if transpose else 0],
                            wrap=False)


@register_pytree_node_class
class CSR(_Compressed):
    """A matrix in compressed rows: row ``i`` has the entries ``indptr[i]`` to ``indptr[i + 1]``.

    Args:
      args: ``(data, indices, indptr)``; ``indices`` are columns.
      shape: The shape of the matrix.

    >>> from tanx.experimental.sparse import CSR
    >>> CSR.fromdense(jnp.array([[0.0, 1.0], [2.0, 3.0]])).indptr
    Array([0, 1, 3], dtype=int32)
    """

    _by_rows = True

    def transpose(self, axes=None):
        """The transposed matrix, in compressed columns."""
        _check_axes(axes)
        return CSC((self.data, self.indices, self.indptr), shape=self.shape[::-1])


@register_pytree_node_class
class CSC(_Compressed):
    """A matrix in compressed columns; ``indices`` are rows.

    Args:
      args: ``(data, indices, indptr)``.
      shape: The shape of the matrix.

    >>> from tanx.experimental.sparse import CSC
    >>> CSC.fromdense(jnp.array([[0.0, 1.0], [2.0, 3.0]])).data
    Array([2., 1., 3.], dtype=float32)
    """

    _by_rows = False

    def transpose(self, axes=None):
        """The transposed matrix, in compressed rows."""
        _check_axes(axes)
        return CSR((self.data, self.indices, self.indptr), shape=self.shape[::-1])


def csr_fromdense(mat, *, nse=None, index_dtype=np.int32) -> CSR:
    """The nonzero elements of a dense matrix, in compressed rows.

    >>> tanx.experimental.sparse.csr_fromdense(jnp.eye(2)).indices
    Array([0, 1], dtype=int32)
    """
    return CSR.fromdense(mat, nse=nse, index_dtype=index_dtype)


def csr_todense(mat: CSR):
    """The dense matrix with the elements of a sparse one.

    >>> from tanx.experimental.sparse import CSR, csr_todense
    >>> csr_todense(CSR((jnp.ones(1), jnp.array([1]), jnp.array([0, 1])), shape=(1, 2)))
    Array([[0., 1.]], dtype=float32)
    """
    return mat.todense()


def csr_matvec(mat: CSR, v, transpose=False):
    """A sparse matrix, or its transpose, times a vector.

    >>> from tanx.experimental.sparse import CSR, csr_matvec
    >>> csr_matvec(CSR.fromdense(jnp.eye(2)), jnp.array([1.0, 2.0]))
    Array([1., 2.], dtype=float32)
    """
    return mat.product(jnp.asarray(v), transpose)


def csr_matmat(mat: CSR, B, *, transpose=False):
    """A sparse matrix, or its transpose, times a dense matrix.

    >>> from tanx.experimental.sparse import CSR, csr_matmat
    >>> csr_matmat(CSR.fromdense(jnp.eye(2)), jnp.ones((2, 1)))
    Array([[1.],
           [1.]], dtype=float32)
    """
    return mat.product(jnp.asarray(B), transpose)


publish(__name__, shown)
