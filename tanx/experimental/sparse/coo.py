"""tanx.experimental.sparse.coo: matrices as entries with their rows and columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import numpy as jnp
from ..._base.traceback import shown
from ..._base.window import publish
from ...errors import explain
from ...tree_util import register_pytree_node_class
from ._base import JAXSparse
from ._bcoo import BCOO
from ._rows import rows_product

__all__ = ["COO", "coo_fromdense", "coo_matmat", "coo_matvec", "coo_todense"]


class Matrix(JAXSparse):
    """Base of matrices without batch dimensions: products, and operations that convert to BCOO."""

    def to_bcoo(self) -> BCOO:
        raise NotImplementedError(f"{type(self).__name__}.to_bcoo")

    def product(self, other, transpose: bool = False):
        """The matrix, or its transpose, times a dense vector or matrix."""
        raise NotImplementedError(f"{type(self).__name__}.product")

    def todense(self):
        """The matrix with all its elements."""
        return self.to_bcoo().todense()

    def sum(self, *args, **kwargs):
        """The sum of all elements, or along axes."""
        return self.to_bcoo().sum(*args, **kwargs)

    def __matmul__(self, other):
        if isinstance(other, JAXSparse):
            raise NotImplementedError(explain(
                f"{type(self).__name__} @ {type(other).__name__}",
                "takes a dense vector or matrix.", hint="BCOO arrays can be multiplied."))
        other = jnp.asarray(other)
        if other.ndim not in (1, 2) or other.shape[0] != self.shape[1]:
            raise ValueError(explain(
                f"{type(self).__name__} @ array", "inner dimensions must agree.",
                f"matrix: {self.shape}", f"array:  {other.shape}"))
        return self.product(other)

    def _unsupported(self, *_):
        raise NotImplementedError(explain(
            type(self).__name__, "does not support this operation.",
            hint="BCOO arrays have all operators; x.todense() is a dense one."))

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _unsupported
    __neg__ = __abs__ = __pow__ = __getitem__ = __rmatmul__ = _unsupported


@register_pytree_node_class
class COO(Matrix):
    """A matrix as entries with their rows and columns.

    Args:
      args: ``(data, row, col)``.
      shape: The shape of the matrix.
      rows_sorted: Whether rows are in order.
      cols_sorted: Whether columns are in order.

    >>> from tanx.experimental.sparse import COO
    >>> COO.fromdense(jnp.eye(2)) @ jnp.array([1.0, 2.0])
    Array([1., 2.], dtype=float32)
    """

    data: Any
    row: Any
    col: Any
    nse = property(lambda self: self.data.size)

    def __init__(self, args, *, shape, rows_sorted=False, cols_sorted=False):
        self.data, self.row, self.col = map(jnp.asarray, args)
        self.shape = tuple(shape)
        self._rows_sorted, self._cols_sorted = rows_sorted, cols_sorted

    def tree_flatten(self):
        return (self.data, self.row, self.col), (
            self.shape, self._rows_sorted, self._cols_sorted)

    @classmethod
    def tree_unflatten(cls, aux_data, children):
        new = object.__new__(cls)
        new.data, new.row, new.col = children
        new.shape, new._rows_sorted, new._cols_sorted = aux_data
        return new

    @classmethod
    def fromdense(cls, mat, *, nse=None, index_dtype=np.int32):
        """The nonzero elements of a dense matrix."""
        return coo_fromdense(mat, nse=nse, index_dtype=index_dtype)

    @classmethod
    def _empty(cls, shape, *, dtype=None, index_dtype="int32"):
        nothing = jnp.zeros(0, index_dtype)
        return cls((jnp.zeros(0, dtype), nothing, nothing), shape=shape, rows_sorted=True)

    def to_bcoo(self) -> BCOO:
        """The same matrix in the format BCOO."""
        return BCOO((self.data, jnp.stack([self.row, self.col], -1)), shape=self.shape,
                    indices_sorted=self._rows_sorted and self._cols_sorted)

    def transpose(self, axes=None):
        """The transposed matrix."""
        _check_axes(axes)
        return COO((self.data, self.col, self.row), shape=self.shape[::-1],
                   rows_sorted=self._cols_sorted, cols_sorted=self._rows_sorted)

    def product(self, other, transpose: bool = False):
        rows, columns = (self.col, self.row) if transpose else (self.row, self.col)
        return rows_product(self.data, rows, columns, other, self.shape[1 if transpose else 0],
                            self._cols_sorted if transpose else self._rows_sorted)


def _check_axes(axes) -> None:
    if axes is not None and tuple(axes) != (1, 0):
        raise NotImplementedError(explain("transpose of a sparse matrix", "axes must be (1, 0).",
                                          f"axes: {axes}"))


def entries_of(mat, nse, index_dtype):
    """The nonzero elements of a dense matrix, their rows and their columns; padded by zeros."""
    mat = jnp.asarray(mat)
    if mat.ndim != 2:
        raise ValueError(explain("tanx.experimental.sparse", "takes a matrix.",
                                 f"shape: {mat.shape}"))
    nse = int((mat != 0).sum()) if nse is None else nse
    row, col = jnp.nonzero(mat, size=nse, fill_value=0)
    counted = jnp.arange(nse) < (mat != 0).sum()
    return (jnp.where(counted, mat[row, col], 0), row.astype(index_dtype),
            col.astype(index_dtype), counted)


def coo_fromdense(mat, *, nse=None, index_dtype=np.int32) -> COO:
    """The nonzero elements of a dense matrix, with their rows and columns.

    >>> tanx.experimental.sparse.coo_fromdense(jnp.eye(2)).row
    Array([0, 1], dtype=int32)
    """
    data, row, col, _ = entries_of(mat, nse, index_dtype)
    return COO((data, row, col), shape=jnp.shape(mat), rows_sorted=True)


def coo_todense(mat: COO):
    """The dense matrix with the elements of a sparse one.

    >>> from tanx.experimental.sparse import COO, coo_todense
    >>> coo_todense(COO((jnp.ones(1), jnp.array([0]), jnp.array([1])), shape=(1, 2)))
    Array([[0., 1.]], dtype=float32)
    """
    return mat.todense()


def coo_matvec(mat: COO, v, transpose=False):
    """A sparse matrix, or its transpose, times a vector.

    >>> from tanx.experimental.sparse import COO, coo_matvec
    >>> coo_matvec(COO.fromdense(jnp.eye(2)), jnp.array([1.0, 2.0]))
    Array([1., 2.], dtype=float32)
    """
    return mat.product(jnp.asarray(v), transpose)


def coo_matmat(mat: COO, B, *, transpose=False):
    """A sparse matrix, or its transpose, times a dense matrix.

    >>> from tanx.experimental.sparse import COO, coo_matmat
    >>> coo_matmat(COO.fromdense(jnp.eye(2)), jnp.ones((2, 1)))
    Array([[1.],
           [1.]], dtype=float32)
    """
    return mat.product(jnp.asarray(B), transpose)


publish(__name__, shown)
