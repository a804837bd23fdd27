"""The class BCOO, and conversions from and to dense arrays.

An array of this format has batch dimensions, then sparse ones, then dense ones. ``indices`` has
the shape ``batch + (nse, n_sparse)``, ``data`` has ``batch + (nse,) + dense``: each entry is a
block of the dense dimensions at an index in the sparse ones. Entries at equal indices are added.
Entries whose index is out of range are padding and ignored.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ... import numpy as jnp
from ...errors import explain
from ...tree_util import register_pytree_node_class
from ._base import JAXSparse, over_batch

__all__ = ["BCOO", "bcoo_extract", "bcoo_fromdense", "bcoo_sort_indices", "bcoo_sum_duplicates",
           "bcoo_todense"]


@register_pytree_node_class
class BCOO(JAXSparse):
    """A sparse array as entries with their indices, in batches.

    Args:
      args: The pair ``(data, indices)``.
      shape: The shape of the array.
      indices_sorted: Whether the indices of each batch are in order.
      unique_indices: Whether the indices of each batch are distinct.

    >>> from tanx.experimental.sparse import BCOO
    >>> x = BCOO.fromdense(jnp.array([[0.0, 1.0], [2.0, 0.0]]))
    >>> x, x.data, x.indices.tolist()
    (BCOO(float32[2, 2], nse=2), Array([1., 2.], dtype=float32), [[0, 1], [1, 0]])
    """

    data: Any
    indices: Any
    indices_sorted: bool
    unique_indices: bool
    _inner: tuple[int, ...]  # the shape without batch dimensions: vmap changes those

    n_batch = property(lambda self: self.indices.ndim - 2)
    n_sparse = property(lambda self: self.indices.shape[-1])
    n_dense = property(lambda self: self.data.ndim - 1 - self.n_batch)
    nse = property(lambda self: self.indices.shape[-2])

    def __init__(self, args, *, shape, indices_sorted=False, unique_indices=False):
        data, indices = map(jnp.asarray, args)
        shape = tuple(shape)
        self.data, self.indices = data, indices
        self.indices_sorted, self.unique_indices = indices_sorted, unique_indices
        n_batch = indices.ndim - 2
        self._inner = shape[max(n_batch, 0):]
        if n_batch < 0 or not _fits(data, indices, shape):
            columns = max(n_batch, 0) + indices.shape[-1] if indices.ndim else 0
            kind = AssertionError if columns > len(shape) else ValueError  # as in JAX
            raise kind(explain(
                "tanx.experimental.sparse.BCOO",
                "data must be batch + (nse,) + dense, and indices batch + (nse, n_sparse).",
                f"shape:   {shape}", f"data:    {data.shape}", f"indices: {indices.shape}"))
        if jnp.issubdtype(indices.dtype, np.inexact):
            raise AssertionError(explain(
                "tanx.experimental.sparse.BCOO", "indices must be integers.",
                f"indices: {indices.aval}"))
        if n_batch and self.shape != shape:  # the stored arrays have size 1 along a batch dimension
            self.indices = jnp.broadcast_to(indices, shape[:n_batch] + indices.shape[n_batch:])

    @property
    def shape(self):
        if self.indices.ndim < 2:
            raise ValueError(explain(
                "tanx.vmap", "a BCOO array can be mapped along batch dimensions only.",
                hint="BCOO.fromdense(x, n_batch=1) makes such a dimension."))
        n = self.n_batch
        return jnp.broadcast_shapes(self.data.shape[:n], self.indices.shape[:n]) + self._inner

    def tree_flatten(self):
        return (self.data, self.indices), (self._inner, self.indices_sorted, self.unique_indices)

    @classmethod
    def tree_unflatten(cls, aux_data, children):
        new = object.__new__(cls)
        new.data, new.indices = children
        new._inner, new.indices_sorted, new.unique_indices = aux_data
        return new

    @classmethod
    def fromdense(cls, mat, *, nse=None, index_dtype=np.int32, n_dense=0, n_batch=0):
        """The nonzero elements of a dense array; see :func:`bcoo_fromdense`."""
        return bcoo_fromdense(mat, nse=nse, index_dtype=index_dtype, n_dense=n_dense,
                              n_batch=n_batch)

    @classmethod
    def from_scipy_sparse(cls, mat, *, index_dtype=None, n_dense=0, n_batch=0):
        """Convert a matrix of ``scipy.sparse``."""
        if n_dense or n_batch:
            raise NotImplementedError(explain(
                "tanx.experimental.sparse.BCOO.from_scipy_sparse",
                "matrices of SciPy have neither batch nor dense dimensions.",
                hint="use update_layout."))
        mat = mat.tocoo()
        indices = np.column_stack((mat.row, mat.col)).astype(index_dtype or np.int32)
        return cls((mat.data, indices), shape=mat.shape)

    @classmethod
    def _empty(cls, shape, *, dtype=None, index_dtype="int32", n_dense=0, n_batch=0, nse=0):
        """An array that stores ``nse`` zeros out of range."""
        batch, sparse, dense = _cut(tuple(shape), n_batch, n_dense)
        indices = jnp.broadcast_to(jnp.array(sparse, index_dtype), (*batch, nse, len(sparse)))
        return cls((jnp.zeros((*batch, nse, *dense), dtype), indices), shape=shape,
                   indices_sorted=True, unique_indices=True)

    def todense(self):
        """The array with all its elements."""
        return bcoo_todense(self)

    def sort_indices(self):
        """The same array with indices in order."""
        return bcoo_sort_indices(self)

    def sum_duplicates(self, nse=None, remove_zeros=True):
        """The same array with one entry per index."""
        return _sum_duplicates(self, nse, remove_zeros)

    def update_layout(self, *, n_batch=None, n_dense=None, on_inefficient="error"):
        """The same array with other numbers of batch and dense dimensions."""
        from ._bcoo_layout import bcoo_update_layout
        return bcoo_update_layout(self, n_batch=n_batch, n_dense=n_dense,
                                  on_inefficient=on_inefficient)

    def transpose(self, axes=None):
        """The array with its dimensions in another order, within their groups."""
        from ._bcoo_layout import bcoo_transpose
        axes = tuple(range(self.ndim))[::-1] if axes is None else axes
        return bcoo_transpose(self, permutation=axes)

    def reshape(self, *args, **kwargs):
        """The array in another shape."""
        from ._bcoo_layout import bcoo_reshape
        shape = args[0] if len(args) == 1 and isinstance(args[0], tuple | list) else args
        unknown = [i for i, n in enumerate(shape) if n == -1]
        shape = tuple(self.size // -prod(shape) if i in unknown else n
                      for i, n in enumerate(shape))
        return bcoo_reshape(self, new_sizes=shape, **kwargs)

    def astype(self, *args, **kwargs):
        """The array with elements of another dtype."""
        return self.replaced(self.data.astype(*args, **kwargs))


def _fits(data, indices, shape) -> bool:
    """Whether the shapes of the stored arrays match each other and the array."""
    n_batch, n_sparse = indices.ndim - 2, indices.shape[-1]
    nse, dense = indices.shape[-2], shape[n_batch + n_sparse:]
    lead = zip(data.shape[:n_batch], indices.shape[:n_batch], shape)
    return (data.shape[n_batch:] == (nse, *dense) and len(shape) >= n_batch + n_sparse
            and all(n in (1, size) and m in (1, size) for n, m, size in lead))


def _cut(shape: tuple[int, ...], n_batch: int, n_dense: int):
    """Batch, sparse and dense dimensions."""
    end = len(shape) - n_dense
    return shape[:n_batch], shape[n_batch:end], shape[end:]


def columns(indices) -> tuple:
    """The indices of entries as one array per dimension, for indexing."""
    return tuple(indices[:, i] for i in range(indices.shape[1]))


def in_range(indices, sizes):
    """Which entries are not padding."""
    return jnp.all((indices >= 0) & (indices < jnp.array(sizes, indices.dtype)), axis=-1)


# -- dense arrays ----------------------------------------------------------------------------------


def bcoo_todense(mat: BCOO):
    """The dense array with the elements of a sparse one.

    >>> from tanx.experimental.sparse import BCOO, bcoo_todense
    >>> bcoo_todense(BCOO((jnp.ones(2), jnp.array([[1], [7]])), shape=(3,)))
    Array([0., 1., 0.], dtype=float32)
    """
    shape = mat.shape[mat.n_batch:]

    if mat.dtype == bool:  # entries are combined by or
        return bcoo_todense(mat.astype(np.int8)) != 0

    def dense(data, indices):
        if not indices.shape[1]:
            return data.sum(0).astype(data.dtype)
        return jnp.zeros(shape, data.dtype).at[columns(indices)].add(
            data, mode="drop", indices_are_sorted=mat.indices_sorted,
            unique_indices=mat.unique_indices)
    return over_batch(dense, mat.n_batch, mat.data, mat.indices)


def extracted(indices, arr, n_batch: int):
    """The elements of a dense array at ``indices``; 0 where they are out of range."""
    def of_one(indices, arr):
        rest = arr.shape[indices.shape[1]:]
        if not indices.shape[1]:
            return jnp.broadcast_to(arr, (indices.shape[0], *arr.shape))
        if not arr.size:
            return jnp.zeros((indices.shape[0], *rest), arr.dtype)
        return arr.at[columns(indices)].get(mode="fill", fill_value=0)
    return over_batch(of_one, n_batch, indices, arr)


def bcoo_extract(sparr: BCOO, arr, *, assume_unique=None) -> BCOO:
    """A sparse array with the indices of ``sparr`` and the elements of the dense ``arr``.

    If an index occurs twice, the first entry gets the element and others are 0; ``assume_unique``
    skips this check.

    >>> from tanx.experimental.sparse import BCOO, bcoo_extract
    >>> bcoo_extract(BCOO.fromdense(jnp.array([0.0, 1.0])), jnp.array([5.0, 6.0])).data
    Array([6.], dtype=float32)
    """
    arr = jnp.asarray(arr)
    if arr.shape != sparr.shape:
        raise ValueError(explain(
            "tanx.experimental.sparse.bcoo_extract", "both arrays must have the same shape.",
            f"sparse: {sparr.shape}", f"dense:  {arr.shape}"))
    data = extracted(sparr.indices, arr, sparr.n_batch)
    if not (sparr.unique_indices if assume_unique is None else assume_unique):
        first = over_batch(_is_first, sparr.n_batch, sparr.indices)
        data = jnp.where(jnp.reshape(first, first.shape + (1,) * sparr.n_dense), data, 0)
    return BCOO((data, sparr.indices), shape=sparr.shape, indices_sorted=sparr.indices_sorted,
                unique_indices=sparr.unique_indices)


def _order(indices):
    """The permutation that sorts indices."""
    return (jnp.lexsort(columns(indices)[::-1]) if indices.shape[1]
            else jnp.arange(indices.shape[0]))


def _is_new(indices):
    """Which of some sorted indices differ from the one before."""
    changed = jnp.any(indices[1:] != indices[:-1], axis=1)
    return jnp.concatenate([jnp.ones(min(1, indices.shape[0]), bool), changed])


def _is_first(indices):
    """Which entries are the first at their index."""
    order = _order(indices)
    return jnp.zeros(indices.shape[0], bool).at[order].set(_is_new(indices[order]))


def bcoo_fromdense(mat, *, nse=None, n_batch=0, n_dense=0, index_dtype=np.int32) -> BCOO:
    """The nonzero elements of a dense array, and their indices.

    Args:
      mat: A dense array.
      nse: The number of entries to store in each batch; by default as many as needed, which is not
        known under ``jit``.
      n_batch: The number of leading dimensions that are batch dimensions.
      n_dense: The number of trailing dimensions that are stored in full.
      index_dtype: The dtype of indices.

    >>> tanx.experimental.sparse.bcoo_fromdense(jnp.eye(2), nse=3).indices.tolist()
    [[0, 0], [1, 1], [2, 2]]
    """
    mat = jnp.asarray(mat)
    _, sparse, _ = _cut(mat.shape, n_batch, n_dense)
    filled = mat != 0
    filled = jnp.any(filled, tuple(range(mat.ndim - n_dense, mat.ndim))) if n_dense else filled
    if nse is None:
        counts = jnp.sum(filled, tuple(range(n_batch, n_batch + len(sparse))))
        nse = int(jnp.max(counts)) if counts.size else 0

    def places(filled):
        if not sparse:
            return jnp.zeros((nse, 0), index_dtype)
        found = jnp.nonzero(filled, size=nse, fill_value=tuple(sparse))
        return jnp.stack(found, axis=-1).astype(index_dtype)
    indices = over_batch(places, n_batch, filled)
    data = extracted(indices, mat, n_batch)
    if not sparse and nse > 1:  # there is one index for all entries
        data = jnp.where(jnp.reshape(jnp.arange(nse) == 0, (nse, *(1,) * n_dense)), data, 0)
    return BCOO((data, indices), shape=mat.shape, indices_sorted=True,
                unique_indices=bool(sparse) or nse <= 1)


# -- order and duplicates --------------------------------------------------------------------------


def bcoo_sort_indices(mat: BCOO) -> BCOO:
    """The same array with its indices in order.

    >>> from tanx.experimental.sparse import BCOO, bcoo_sort_indices
    >>> x = BCOO((jnp.array([1.0, 2.0]), jnp.array([[2], [0]])), shape=(3,))
    >>> bcoo_sort_indices(x).data
    Array([2., 1.], dtype=float32)
    """
    def ordered(data, indices):
        order = _order(indices)
        return data[order], indices[order]
    data, indices = over_batch(ordered, mat.n_batch, mat.data, mat.indices)
    return BCOO((data, indices), shape=mat.shape, indices_sorted=True,
                unique_indices=mat.unique_indices)


def bcoo_sum_duplicates(mat: BCOO, nse=None) -> BCOO:
    """The same array with one entry per index, in order; padding comes last.

    ``nse`` is the number of entries to store; by default as many as needed, which is not known
    under ``jit``.

    >>> from tanx.experimental.sparse import BCOO, bcoo_sum_duplicates
    >>> x = BCOO((jnp.array([1.0, 2.0]), jnp.array([[1], [1]])), shape=(3,))
    >>> bcoo_sum_duplicates(x).data
    Array([3.], dtype=float32)
    """
    return _sum_duplicates(mat, nse, False)


def _sum_duplicates(mat: BCOO, nse, remove_zeros: bool) -> BCOO:
    sizes = mat.shape[mat.n_batch:mat.n_batch + mat.n_sparse]
    limit = jnp.array(sizes, mat.indices.dtype)

    def numbered(data, indices):
        """Sorted entries, and for each the number of its index among the distinct ones."""
        counts = in_range(indices, sizes)
        if remove_zeros:
            counts &= jnp.any(data != 0, tuple(range(1, data.ndim)))
        indices = jnp.where(counts[:, None], indices, limit)
        order = _order(indices)
        indices = indices[order]
        number = jnp.cumsum(_is_new(indices)) - 1
        inside = counts[order]
        return data[order], indices, jnp.where(inside, number, indices.shape[0]), jnp.max(
            jnp.where(inside, number + 1, 0), initial=0)

    data, indices, numbers, counts = over_batch(numbered, mat.n_batch, mat.data, mat.indices)
    if nse is None:
        try:
            nse = int(jnp.max(counts, initial=0))
        except TypeError:
            raise ValueError(explain(
                "tanx.experimental.sparse.bcoo_sum_duplicates",
                "the number of distinct indices is not known while tracing.",
                hint="pass the number of entries to store as nse.")) from None

    def summed(data, indices, numbers):
        places = jnp.broadcast_to(limit, (nse, len(sizes))).at[numbers].set(indices, mode="drop")
        return jnp.zeros((nse, *data.shape[1:]), data.dtype).at[numbers].add(
            data, mode="drop"), places
    data, indices = over_batch(summed, mat.n_batch, data, indices, numbers)
    return BCOO((data, indices), shape=mat.shape, indices_sorted=True, unique_indices=True)
