"""tanx.experimental.sparse.bcsr: matrices in compressed rows, in batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import numpy as jnp
from ..._base.traceback import shown
from ..._base.window import publish
from ...errors import explain
from ...tree_util import register_pytree_node_class
from ._base import JAXSparse, over_batch
from ._bcoo import BCOO, bcoo_fromdense, extracted
from ._bcoo_layout import bcoo_broadcast_in_dim, bcoo_concatenate
from ._bcoo_product import bcoo_dot_general
from ._rows import compressed_product, pointers, row_numbers

__all__ = ["BCSR", "bcsr_broadcast_in_dim", "bcsr_concatenate", "bcsr_dot_general", "bcsr_extract",
           "bcsr_fromdense", "bcsr_sum_duplicates", "bcsr_todense"]


@register_pytree_node_class
class BCSR(JAXSparse):
    """Batches of matrices in compressed rows; an entry may be a block.

    Args:
      args: ``(data, indices, indptr)``, of shapes ``batch + (nse,) + dense``, ``batch + (nse,)``
        and ``batch + (rows + 1,)``.
      shape: ``batch + (rows, columns) + dense``.
      indices_sorted: Whether the columns of each row are in order.
      unique_indices: Whether the columns of each row are distinct.

    >>> from tanx.experimental.sparse import BCSR
    >>> x = BCSR.fromdense(jnp.array([[0.0, 1.0], [2.0, 3.0]]))
    >>> x, x.indptr
    (BCSR(float32[2, 2], nse=3), Array([0, 1, 3], dtype=int32))
    """

    data: Any
    indices: Any
    indptr: Any

    n_batch = property(lambda self: self.indptr.ndim - 1)
    n_sparse = 2
    n_dense = property(lambda self: self.data.ndim - 1 - self.n_batch)
    nse = property(lambda self: self.indices.shape[-1])

    def __init__(self, args, *, shape, indices_sorted=False, unique_indices=False):
        self.data, self.indices, self.indptr = map(jnp.asarray, args)
        self.indices_sorted, self.unique_indices = indices_sorted, unique_indices
        shape, n = tuple(shape), self.indptr.ndim - 1
        self._inner = shape[n:]
        if (len(shape) < n + 2 or self.indptr.shape[-1] != shape[n] + 1
                or self.data.shape[n:] != (*self.indices.shape[-1:], *shape[n + 2:])):
            raise ValueError(explain(
                "tanx.experimental.sparse.BCSR", "the stored arrays do not match the shape.",
                f"shape: {shape}", f"data: {self.data.shape}", f"indices: {self.indices.shape}",
                f"indptr: {self.indptr.shape}"))

    @property
    def shape(self):
        n = self.n_batch
        return jnp.broadcast_shapes(self.data.shape[:n], self.indices.shape[:n],
                                    self.indptr.shape[:n]) + self._inner

    def tree_flatten(self):
        return (self.data, self.indices, self.indptr), (
            self._inner, self.indices_sorted, self.unique_indices)

    @classmethod
    def tree_unflatten(cls, aux_data, children):
        new = object.__new__(cls)
        new.data, new.indices, new.indptr = children
        new._inner, new.indices_sorted, new.unique_indices = aux_data
        return new

    @classmethod
    def fromdense(cls, mat, *, nse=None, index_dtype=np.int32, n_dense=0, n_batch=0):
        """The nonzero elements of a dense array."""
        return bcsr_fromdense(mat, nse=nse, index_dtype=index_dtype, n_dense=n_dense,
                              n_batch=n_batch)

    @classmethod
    def from_bcoo(cls, arr: BCOO) -> BCSR:
        """Convert a BCOO array with two sparse dimensions."""
        if arr.n_sparse != 2:
            raise NotImplementedError(explain(
                "tanx.experimental.sparse.BCSR.from_bcoo", "takes two sparse dimensions.",
                f"array: {arr}"))
        arr = arr if arr.indices_sorted else arr.sort_indices()
        rows, columns = arr.shape[arr.n_batch:arr.n_batch + 2]

        def ends(indices):
            inside = (indices[:, 0] < rows) & (indices[:, 1] < columns)
            return pointers(jnp.where(inside, indices[:, 0], rows), rows)
        indptr = over_batch(ends, arr.n_batch, arr.indices)
        return cls((arr.data, arr.indices[..., 1], indptr), shape=arr.shape, indices_sorted=True,
                   unique_indices=arr.unique_indices)

    @classmethod
    def from_scipy_sparse(cls, mat, *, index_dtype=None, n_dense=0, n_batch=0):
        """Convert a matrix of ``scipy.sparse``."""
        if n_dense or n_batch:
            raise NotImplementedError(explain(
                "tanx.experimental.sparse.BCSR.from_scipy_sparse",
                "matrices of SciPy have neither batch nor dense dimensions."))
        mat, dtype = mat.tocsr(), index_dtype or np.int32
        return cls((mat.data, mat.indices.astype(dtype), mat.indptr.astype(dtype)),
                   shape=mat.shape)

    @classmethod
    def _empty(cls, shape, *, dtype=None, index_dtype="int32", n_dense=0, n_batch=0, nse=0):
        return cls.from_bcoo(BCOO._empty(shape, dtype=dtype, index_dtype=index_dtype,
                                         n_dense=n_dense, n_batch=n_batch, nse=nse))

    def to_bcoo(self) -> BCOO:
        """The same array in the format BCOO."""
        rows = over_batch(lambda p: row_numbers(p, self.nse), self.n_batch, self.indptr)
        rows, columns = jnp.broadcast_arrays(rows.astype(self.indices.dtype), self.indices)
        return BCOO((self.data, jnp.stack([rows, columns], -1)), shape=self.shape,
                    indices_sorted=self.indices_sorted, unique_indices=self.unique_indices)

    def todense(self):
        """The array with all its elements."""
        return bcsr_todense(self)

    def __matmul__(self, other):
        simple = not self.n_batch and not self.n_dense and not isinstance(other, JAXSparse)
        if simple and jnp.ndim(other) in (1, 2) and jnp.shape(other)[0] == self.shape[1]:
            return compressed_product(self.data, self.indices, self.indptr, jnp.asarray(other))
        return super().__matmul__(other)

    def transpose(self, *args, **kwargs):
        """Raises: the transpose of compressed rows would be compressed columns."""
        raise NotImplementedError(explain(
            "tanx.experimental.sparse.BCSR.transpose", "the transpose would be stored by columns.",
            hint="x.to_bcoo() can be transposed."))

    def sum_duplicates(self, nse=None, remove_zeros=True):
        """The same array with one entry per index."""
        return BCSR.from_bcoo(self.to_bcoo().sum_duplicates(nse, remove_zeros))


def bcsr_fromdense(mat, *, nse=None, n_batch=0, n_dense=0, index_dtype=np.int32) -> BCSR:
    """The nonzero elements of a dense array, in compressed rows.

    Args:
      mat: A dense array of two dimensions besides those of batches and blocks.
      nse: The number of entries to store in each batch; by default as many as needed.
      n_batch: The number of leading dimensions that are batch dimensions.
      n_dense: The number of trailing dimensions that are stored in full.
      index_dtype: The dtype of indices.

    >>> tanx.experimental.sparse.bcsr_fromdense(jnp.eye(2)).indices
    Array([0, 1], dtype=int32)
    """
    mat = jnp.asarray(mat)
    if mat.ndim - n_batch - n_dense != 2:
        raise ValueError(explain(
            "tanx.experimental.sparse.bcsr_fromdense", "takes two sparse dimensions.",
            f"shape: {mat.shape}", f"n_batch: {n_batch}", f"n_dense: {n_dense}"))
    return BCSR.from_bcoo(bcoo_fromdense(mat, nse=nse, n_batch=n_batch, n_dense=n_dense,
                                         index_dtype=index_dtype))


def bcsr_todense(mat: BCSR):
    """The dense array with the elements of a sparse one.

    >>> from tanx.experimental.sparse import BCSR, bcsr_todense
    >>> bcsr_todense(BCSR((jnp.ones(1), jnp.array([1]), jnp.array([0, 1])), shape=(1, 2)))
    Array([[0., 1.]], dtype=float32)
    """
    return mat.to_bcoo().todense()


def bcsr_extract(indices, indptr, mat):
    """The elements of a dense array at indices in compressed rows.

    >>> from tanx.experimental.sparse import bcsr_extract
    >>> bcsr_extract(jnp.array([1]), jnp.array([0, 1]), jnp.array([[5.0, 6.0]]))
    Array([6.], dtype=float32)
    """
    mat, n = jnp.asarray(mat), indptr.ndim - 1
    rows = over_batch(lambda p: row_numbers(p, indices.shape[-1]), n, indptr)
    rows, columns = jnp.broadcast_arrays(rows.astype(indices.dtype), indices)
    return extracted(jnp.stack([rows, columns], -1), mat, n)


def bcsr_sum_duplicates(mat: BCSR, nse=None) -> BCSR:
    """The same array with one entry per index.

    >>> from tanx.experimental.sparse import BCSR, bcsr_sum_duplicates
    >>> x = BCSR((jnp.ones(2), jnp.array([1, 1]), jnp.array([0, 2])), shape=(1, 2))
    >>> bcsr_sum_duplicates(x).data
    Array([2.], dtype=float32)
    """
    return mat.sum_duplicates(nse, remove_zeros=False)


def bcsr_broadcast_in_dim(mat: BCSR, *, shape: Sequence[int], broadcast_dimensions: Sequence[int],
                          sharding=None) -> BCSR:
    """The array repeated along new dimensions, which become batch or dense dimensions.

    >>> from tanx.experimental.sparse import bcsr_broadcast_in_dim, bcsr_fromdense
    >>> bcsr_broadcast_in_dim(bcsr_fromdense(jnp.eye(2)), shape=(3, 2, 2),
    ...                       broadcast_dimensions=(1, 2))
    BCSR(float32[3, 2, 2], nse=2, n_batch=1)
    """
    return BCSR.from_bcoo(bcoo_broadcast_in_dim(mat.to_bcoo(), shape=shape,
                                                broadcast_dimensions=broadcast_dimensions))


def bcsr_concatenate(operands: Sequence[BCSR], *, dimension: int) -> BCSR:
    """Concatenate sparse arrays along a dimension.

    >>> from tanx.experimental.sparse import bcsr_concatenate, bcsr_fromdense
    >>> x = bcsr_fromdense(jnp.eye(2))
    >>> bcsr_concatenate([x, x], dimension=1)
    BCSR(float32[2, 4], nse=4)
    """
    return BCSR.from_bcoo(bcoo_concatenate([x.to_bcoo() for x in operands], dimension=dimension))


def bcsr_dot_general(lhs, rhs, *, dimension_numbers, precision=None, preferred_element_type=None,
                     out_sharding=None):
    """A contraction, as by :func:`tanx.lax.dot_general`, of a sparse and a dense array.

    >>> from tanx.experimental.sparse import bcsr_dot_general, bcsr_fromdense
    >>> bcsr_dot_general(bcsr_fromdense(jnp.eye(2)), jnp.array([1.0, 2.0]),
    ...                  dimension_numbers=(((1,), (0,)), ((), ())))
    Array([1., 2.], dtype=float32)
    """
    (lc, rc), (lb, _) = dimension_numbers
    simple = isinstance(lhs, BCSR) and not lhs.n_batch and not lhs.n_dense and not lb
    if simple and tuple(lc) == (1,) and jnp.ndim(rhs) in (1, 2):
        other = jnp.moveaxis(jnp.asarray(rhs), rc[0], 0)
        out = compressed_product(lhs.data, lhs.indices, lhs.indptr, other)
        return out if preferred_element_type is None else out.astype(preferred_element_type)
    lhs, rhs = (x.to_bcoo() if isinstance(x, BCSR) else x for x in (lhs, rhs))
    return bcoo_dot_general(lhs, rhs, dimension_numbers=dimension_numbers, precision=precision,
                            preferred_element_type=preferred_element_type)


publish(__name__, shown)
