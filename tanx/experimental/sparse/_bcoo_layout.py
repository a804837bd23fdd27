"""Transpose, reshape, slice, concatenate and reduce BCOO arrays."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from math import prod

import numpy as np

from ... import lax
from ... import numpy as jnp
from ..._api.batching import vmap
from ...errors import explain
from ._base import over_batch
from ._bcoo import BCOO, in_range
from .util import SparseEfficiencyError, SparseEfficiencyWarning

__all__ = ["bcoo_broadcast_in_dim", "bcoo_concatenate", "bcoo_dynamic_slice", "bcoo_gather",
           "bcoo_reduce_sum", "bcoo_reshape", "bcoo_rev", "bcoo_slice", "bcoo_squeeze",
           "bcoo_transpose", "bcoo_update_layout"]


def _name(function: str) -> str:
    return f"tanx.experimental.sparse.{function}"


def _parts(mat: BCOO) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Batch, sparse and dense sizes."""
    b, s = mat.n_batch, mat.n_batch + mat.n_sparse
    return mat.shape[:b], mat.shape[b:s], mat.shape[s:]


def _whole(mat: BCOO):
    """Data and indices, broadcast to all batch dimensions."""
    batch, _, _ = _parts(mat)
    n = mat.n_batch
    return (jnp.broadcast_to(mat.data, batch + mat.data.shape[n:]),
            jnp.broadcast_to(mat.indices, batch + mat.indices.shape[n:]))


def bcoo_transpose(mat: BCOO, *, permutation: Sequence[int]) -> BCOO:
    """The array with its dimensions in another order, each within its group.

    >>> from tanx.experimental.sparse import BCOO, bcoo_transpose
    >>> bcoo_transpose(BCOO.fromdense(jnp.eye(2, 3)), permutation=(1, 0))
    BCOO(float32[3, 2], nse=2)
    """
    permutation = tuple(int(p) % mat.ndim for p in permutation)
    b, s = mat.n_batch, mat.n_batch + mat.n_sparse
    batch, sparse, dense = permutation[:b], permutation[b:s], permutation[s:]
    if sorted(permutation) != list(range(mat.ndim)):
        raise TypeError(explain(_name("bcoo_transpose"), "must name each dimension once.",
                                 f"permutation: {permutation}", f"array: {mat}"))
    if not (set(batch) == set(range(b)) and set(sparse) == set(range(b, s))):
        raise NotImplementedError(explain(
            _name("bcoo_transpose"), "batch, sparse and dense dimensions stay in their groups.",
            f"permutation: {permutation}", f"array: {mat}",
            hint="update_layout turns other dimensions into sparse ones."))
    data = mat.data.transpose(*batch, b, *(d - s + b + 1 for d in dense))
    indices = mat.indices.transpose(*batch, b, b + 1)[..., np.array([d - b for d in sparse], int)]
    shape = tuple(mat.shape[p] for p in permutation)
    return BCOO((data, indices), shape=shape, unique_indices=mat.unique_indices,
                indices_sorted=mat.indices_sorted and sparse == tuple(sorted(sparse)))


def bcoo_reduce_sum(mat: BCOO, *, axes: Sequence[int]) -> BCOO:
    """The sum along some dimensions.

    >>> from tanx.experimental.sparse import BCOO, bcoo_reduce_sum
    >>> bcoo_reduce_sum(BCOO.fromdense(jnp.ones((2, 3))), axes=(0,)).todense()
    Array([2., 2., 2.], dtype=float32)
    """
    axes = sorted({int(a) % mat.ndim for a in axes})
    b, s = mat.n_batch, mat.n_batch + mat.n_sparse
    data, indices = (mat.data, mat.indices) if all(a >= b for a in axes) else _whole(mat)
    sizes = _parts(mat)[1]
    valid = in_range(indices, sizes) if sizes else None
    if valid is not None and any(b <= a < s for a in axes):  # padding stays padding
        data = jnp.where(jnp.reshape(valid, valid.shape + (1,) * mat.n_dense), data, 0)
    data = data.sum(tuple(a - s + b + 1 for a in axes if a >= s)).astype(mat.dtype)
    indices = indices[..., np.array([k for k in range(mat.n_sparse) if k + b not in axes], int)]
    gone = [a for a in axes if a < b]
    left = [a for a in range(b) if a not in gone]
    if gone:  # the elements along summed batch dimensions become entries
        nse = prod(mat.shape[a] for a in gone) * mat.nse
        lead = tuple(mat.shape[a] for a in left)
        data = data.transpose(*left, *gone, *range(b, data.ndim))
        data = data.reshape(*lead, nse, *data.shape[b + 1:])
        indices = indices.transpose(*left, *gone, b, b + 1).reshape(*lead, nse, -1 if indices.size
                                                                    else indices.shape[-1])
    shape = tuple(n for i, n in enumerate(mat.shape) if i not in axes)
    return BCOO((data, indices), shape=shape)


def bcoo_squeeze(arr: BCOO, *, dimensions: Sequence[int]) -> BCOO:
    """The array without some dimensions of size 1.

    >>> from tanx.experimental.sparse import BCOO, bcoo_squeeze
    >>> bcoo_squeeze(BCOO.fromdense(jnp.ones((1, 3))), dimensions=(0,))
    BCOO(float32[3], nse=3)
    """
    axes = {int(d) % arr.ndim for d in dimensions}
    if any(arr.shape[a] != 1 for a in axes):
        raise ValueError(explain(_name("bcoo_squeeze"), "dimensions must have size 1.",
                                 f"dimensions: {sorted(axes)}", f"array: {arr}"))
    data, indices = _whole(arr)
    b, s = arr.n_batch, arr.n_batch + arr.n_sparse
    if any(b <= a < s for a in axes):
        valid = in_range(indices, _parts(arr)[1])
        data = jnp.where(jnp.reshape(valid, valid.shape + (1,) * arr.n_dense), data, 0)
    kept = np.array([k for k in range(arr.n_sparse) if k + b not in axes], int)
    lead = [n for i, n in enumerate(arr.shape[:b]) if i not in axes]
    data = data.reshape(*lead, arr.nse, *(arr.shape[i] for i in range(s, arr.ndim)
                                          if i not in axes))
    indices = indices[..., kept].reshape(*lead, arr.nse, len(kept))
    return BCOO((data, indices), shape=tuple(n for i, n in enumerate(arr.shape) if i not in axes),
                indices_sorted=arr.indices_sorted, unique_indices=arr.unique_indices)


def bcoo_rev(operand: BCOO, dimensions: Sequence[int]) -> BCOO:
    """The array with the order of elements reversed along some dimensions.

    >>> from tanx.experimental.sparse import BCOO, bcoo_rev
    >>> bcoo_rev(BCOO.fromdense(jnp.array([0.0, 1.0, 2.0])), (0,)).todense()
    Array([2., 1., 0.], dtype=float32)
    """
    axes = [int(d) % operand.ndim for d in dimensions]
    data, indices = _whole(operand)
    b, s = operand.n_batch, operand.n_batch + operand.n_sparse
    data = jnp.flip(data, [a if a < b else a - s + b + 1 for a in axes if not b <= a < s])
    indices = jnp.flip(indices, [a for a in axes if a < b])
    for a in (a for a in axes if b <= a < s):
        column, size = indices[..., a - b], operand.shape[a]
        indices = indices.at[..., a - b].set(
            jnp.where((column >= 0) & (column < size), size - 1 - column, column))
    return BCOO((data, indices), shape=operand.shape, unique_indices=operand.unique_indices)


# -- other shapes ----------------------------------------------------------------------------------


def _boundary(sizes: Sequence[int], count: int) -> int | None:
    """The number of leading sizes with the product ``count``, or None."""
    for n in range(len(sizes) + 1):
        if prod(sizes[:n]) == count:
            return n
    return None


def bcoo_reshape(mat: BCOO, *, new_sizes: Sequence[int], dimensions=None, sharding=None) -> BCOO:
    """The array in another shape; batch and dense dimensions stay separate if possible.

    >>> from tanx.experimental.sparse import BCOO, bcoo_reshape
    >>> bcoo_reshape(BCOO.fromdense(jnp.eye(2)), new_sizes=(4,)).indices.tolist()
    [[0], [3]]
    """
    if dimensions is not None:
        mat = bcoo_transpose(mat, permutation=dimensions)
    new = tuple(int(n) for n in new_sizes)
    if prod(new) != mat.size:
        raise TypeError(explain(_name("bcoo_reshape"), "the number of elements must stay the same.",
                                f"array: {mat}", f"new_sizes: {new}"))
    batch, sparse, dense = _parts(mat)
    first = _boundary(new, prod(batch))
    last = _boundary(new[::-1], prod(dense))
    if not batch:
        first = 0
    if not dense:
        last = 0
    if first is None or last is None or first + last > len(new) or (
            prod(new[first:len(new) - last]) != prod(sparse)):
        return bcoo_reshape(bcoo_update_layout(mat, n_batch=0, n_dense=0), new_sizes=new)
    data, indices = _whole(mat)
    lead, inner, rest = new[:first], new[first:len(new) - last], new[len(new) - last:]
    valid = in_range(indices, sparse)
    place = jnp.zeros(indices.shape[:-1], indices.dtype)
    for k, size in enumerate(sparse):
        place = place * size + indices[..., k]
    cells = []
    for size in reversed(inner):
        cells.append(jnp.where(valid, place % max(size, 1), size))
        place = place // max(size, 1)
    stacked = (jnp.stack(cells[::-1], -1) if cells
               else jnp.zeros((*valid.shape, 0), indices.dtype))
    data = jnp.where(jnp.reshape(valid, valid.shape + (1,) * len(dense)), data, 0)
    return BCOO((data.reshape(*lead, mat.nse, *rest),
                 stacked.reshape(*lead, mat.nse, len(inner))), shape=new,
                indices_sorted=mat.indices_sorted, unique_indices=mat.unique_indices)


def bcoo_broadcast_in_dim(mat: BCOO, *, shape: Sequence[int], broadcast_dimensions: Sequence[int],
                          sharding=None) -> BCOO:
    """The array repeated along new dimensions, and along those of size 1.

    >>> from tanx.experimental.sparse import BCOO, bcoo_broadcast_in_dim
    >>> x = BCOO.fromdense(jnp.array([1.0, 0.0]))
    >>> bcoo_broadcast_in_dim(x, shape=(3, 2), broadcast_dimensions=(1,))
    BCOO(float32[3, 2], nse=1, n_batch=1)
    """
    shape, places = tuple(map(int, shape)), tuple(map(int, broadcast_dimensions))
    if len(places) != mat.ndim or any(mat.shape[i] not in (1, shape[p])
                                      for i, p in enumerate(places)):
        raise ValueError(explain(_name("bcoo_broadcast_in_dim"),
                                 "each dimension must have its size in the result, or 1.",
                                 f"array: {mat}", f"shape: {shape}", f"dimensions: {places}"))
    b, s = mat.n_batch, mat.n_batch + mat.n_sparse
    inner = places[b:s]
    start = min(inner, default=len(shape) - mat.n_dense)
    stop = max(inner, default=start - 1) + 1
    data, indices = _whole(mat)
    # Batch and dense dimensions first, as in dense arrays.
    lead = places[:b]
    data = lax.broadcast_in_dim(
        data, (*shape[:start], mat.nse, *shape[stop:]),
        (*lead, start, *(p - stop + start + 1 for p in places[s:])))
    indices = lax.broadcast_in_dim(indices, (*shape[:start], mat.nse, mat.n_sparse),
                                   (*lead, start, start + 1))
    columns: list = []
    nse = mat.nse
    for p in range(start, stop):
        column = indices[..., inner.index(p)] if p in inner else None
        repeated = column is None or mat.shape[b + inner.index(p)] != shape[p]
        if repeated:  # an entry is repeated for each index along the dimension
            size = shape[p]
            data = jnp.repeat(data, size, axis=start)
            indices = jnp.repeat(indices, size, axis=start)
            columns = [jnp.repeat(c, size, axis=start) for c in columns]
            own = jnp.tile(jnp.arange(size, dtype=indices.dtype), nse)
            valid = True if column is None else jnp.repeat(column, size, axis=start) < 1
            columns.append(jnp.where(valid, jnp.broadcast_to(own, indices.shape[:-1]), size))
            nse *= size
        else:
            columns.append(indices[..., inner.index(p)])
    stacked = jnp.stack(columns, -1) if columns else indices
    return BCOO((data, stacked), shape=shape, unique_indices=mat.unique_indices)


def bcoo_update_layout(mat: BCOO, *, n_batch=None, n_dense=None, on_inefficient="error") -> BCOO:
    """The same array with other numbers of batch and dense dimensions.

    Args:
      mat: A sparse array.
      n_batch: The number of leading dimensions that are batch dimensions; by default unchanged.
      n_dense: The number of trailing dimensions that are stored in full; by default unchanged.
      on_inefficient: ``"error"``, ``"warn"`` or None: what to do if zeros will be stored.

    >>> from tanx.experimental.sparse import BCOO, bcoo_update_layout
    >>> bcoo_update_layout(BCOO.fromdense(jnp.eye(2), n_batch=1), n_batch=0)
    BCOO(float32[2, 2], nse=2)
    """
    n_batch = mat.n_batch if n_batch is None else int(n_batch)
    n_dense = mat.n_dense if n_dense is None else int(n_dense)
    if n_batch < 0 or n_dense < 0 or n_batch + n_dense > mat.ndim:
        raise ValueError(explain(_name("bcoo_update_layout"),
                                 "n_batch and n_dense must not exceed the number of dimensions.",
                                 f"array: {mat}", f"n_batch: {n_batch}", f"n_dense: {n_dense}"))
    for what, old, new in (("n_batch", mat.n_batch, n_batch), ("n_dense", mat.n_dense, n_dense)):
        if new > old and on_inefficient is not None:
            message = explain(
                _name("bcoo_update_layout"), f"a larger {what} stores zeros.",
                f"array: {mat}", f"{what}: {new}", hint="on_inefficient=None allows it.")
            if on_inefficient == "error":
                raise SparseEfficiencyError(message)
            warnings.warn(message, SparseEfficiencyWarning, stacklevel=3)
    data, indices = _whole(mat)
    shape, b = mat.shape, mat.n_batch
    while mat.n_dense > n_dense and data.ndim - 1 - b > n_dense:
        data, indices = over_batch(_dense_to_sparse, b, data, indices)
    while b > n_batch:
        data, indices = over_batch(_batch_to_sparse, b - 1, data, indices)
        b -= 1
    while data.ndim - 1 - b < n_dense:
        size = shape[b + indices.shape[-1] - 1]
        data, indices = over_batch(lambda d, i, size=size: _sparse_to_dense(d, i, size), b, data,
                                   indices)
    while b < n_batch:
        size = shape[b]
        data, indices = over_batch(lambda d, i, size=size: _sparse_to_batch(d, i, size), b, data,
                                   indices)
        b += 1
    return BCOO((data, indices), shape=shape)


def _dense_to_sparse(data, indices):
    """The first dense dimension as the last sparse one."""
    nse, size = data.shape[:2]
    own = jnp.tile(jnp.arange(size, dtype=indices.dtype), nse)
    return data.reshape(nse * size, *data.shape[2:]), jnp.concatenate(
        [jnp.repeat(indices, size, axis=0), own[:, None]], axis=1)


def _batch_to_sparse(data, indices):
    """The batch dimension as the first sparse one."""
    count, nse = data.shape[:2]
    own = jnp.repeat(jnp.arange(count, dtype=indices.dtype), nse)
    return data.reshape(count * nse, *data.shape[2:]), jnp.concatenate(
        [own[:, None], indices.reshape(count * nse, indices.shape[2])], axis=1)


def _sparse_to_dense(data, indices, size: int):
    """The last sparse dimension as the first dense one."""
    there = indices[:, -1:] == jnp.arange(size, dtype=indices.dtype)
    there = there.reshape(*there.shape, *(1,) * (data.ndim - 1))
    return jnp.where(there, data[:, None], 0), indices[:, :-1]


def _sparse_to_batch(data, indices, size: int):
    """The first sparse dimension as a batch dimension."""
    there = indices[:, 0] == jnp.arange(size, dtype=indices.dtype)[:, None]
    there = there.reshape(*there.shape, *(1,) * (data.ndim - 1))
    return (jnp.where(there, data, 0),
            jnp.broadcast_to(indices[:, 1:], (size, *indices[:, 1:].shape)))


# -- parts -----------------------------------------------------------------------------------------


def bcoo_slice(mat: BCOO, *, start_indices: Sequence[int], limit_indices: Sequence[int],
               strides: Sequence[int] | None = None) -> BCOO:
    """A part of the array, as by :func:`tanx.lax.slice`.

    >>> from tanx.experimental.sparse import BCOO, bcoo_slice
    >>> x = BCOO.fromdense(jnp.array([1.0, 0.0, 3.0, 4.0]))
    >>> bcoo_slice(x, start_indices=(1,), limit_indices=(4,)).todense()
    Array([0., 3., 4.], dtype=float32)
    """
    strides = strides or [1] * mat.ndim
    sizes = [max(0, -((start - stop) // step))
             for start, stop, step in zip(start_indices, limit_indices, strides, strict=True)]
    return _window(mat, list(start_indices), sizes, list(strides))


def bcoo_dynamic_slice(mat: BCOO, start_indices: Sequence, slice_sizes: Sequence[int]) -> BCOO:
    """A part of the array of fixed size, from start indices that may be traced.

    >>> from tanx.experimental.sparse import BCOO, bcoo_dynamic_slice
    >>> bcoo_dynamic_slice(BCOO.fromdense(jnp.array([1.0, 0.0, 3.0])), (5,), (2,)).todense()
    Array([0., 3.], dtype=float32)
    """
    given = [jnp.asarray(start) for start in start_indices]
    starts = [jnp.clip(jnp.where(start < 0, start + n, start), 0, n - size)
              for start, n, size in zip(given, mat.shape, slice_sizes, strict=True)]
    return _window(mat, starts, list(slice_sizes), [1] * mat.ndim)


def _window(mat: BCOO, starts: list, sizes: list[int], strides: list[int]) -> BCOO:
    data, indices = _whole(mat)
    b, s = mat.n_batch, mat.n_batch + mat.n_sparse

    def cut(x, axis: int, dim: int):
        if isinstance(starts[dim], int):
            stop = starts[dim] + (sizes[dim] - 1) * strides[dim] + 1 if sizes[dim] else starts[dim]
            return lax.slice_in_dim(x, starts[dim], stop, strides[dim], axis)
        return lax.dynamic_slice_in_dim(x, starts[dim], sizes[dim], axis)
    for dim in range(b):
        data, indices = cut(data, dim, dim), cut(indices, dim, dim)
    for dim in range(s, mat.ndim):
        data = cut(data, dim - s + b + 1, dim)
    inner = sizes[b:s]
    if mat.n_sparse and (inner != list(_parts(mat)[1])):
        first = jnp.stack([jnp.asarray(x, indices.dtype) for x in starts[b:s]])
        steps = jnp.array(strides[b:s], indices.dtype)
        moved = indices - first
        kept = jnp.all((moved >= 0) & (moved % steps == 0) & (
            moved // steps < jnp.array(inner, indices.dtype)), -1) & in_range(
                indices, _parts(mat)[1])
        indices = jnp.where(kept[..., None], moved // steps, jnp.array(inner, indices.dtype))
        data = jnp.where(jnp.reshape(kept, kept.shape + (1,) * mat.n_dense), data, 0)
    out = BCOO((data, indices), shape=tuple(sizes), unique_indices=mat.unique_indices)
    room = prod(inner)
    return out.sum_duplicates(room, remove_zeros=False) if room < mat.nse else out


def bcoo_gather(operand: BCOO, start_indices, dimension_numbers, slice_sizes, *,
                unique_indices=False, indices_are_sorted=False, mode=None,
                fill_value=None) -> BCOO:
    """Slices of a sparse array, as by :func:`tanx.lax.gather`.

    Slices that would be partly out of bounds are moved inside, in every ``mode``. Several
    slices are batches of the result; their dimensions come first.

    >>> from tanx.experimental.sparse import BCOO
    >>> x = BCOO.fromdense(jnp.eye(3))
    >>> x[jnp.array([1, 1])]
    BCOO(float32[2, 3], nse=3, n_batch=1)
    >>> x[:, jnp.array([0, 2])].todense()
    Array([[1., 0.],
           [0., 0.],
           [0., 1.]], dtype=float32)
    """
    start_indices = jnp.asarray(start_indices)
    if dimension_numbers.operand_batching_dims:
        raise NotImplementedError(explain(
            _name("bcoo_gather"), "takes no batch dimensions of both operands.",
            f"dimension_numbers: {dimension_numbers}",
            hint="x.todense() can be indexed in any way."))

    def one(place):
        starts: list = [0] * operand.ndim
        for k, dim in enumerate(dimension_numbers.start_index_map):
            starts[dim] = place[k]
        out = bcoo_dynamic_slice(operand, starts, slice_sizes)
        return bcoo_squeeze(out, dimensions=dimension_numbers.collapsed_slice_dims)
    lead = start_indices.ndim - 1
    for _ in range(lead):
        one = vmap(one)
    out = one(start_indices)
    offset = dimension_numbers.offset_dims
    order = [*(d for d in range(out.ndim) if d not in offset), *offset]
    if order == list(range(out.ndim)):
        return out
    return bcoo_transpose(bcoo_update_layout(out, n_batch=0, on_inefficient=None),
                          permutation=tuple(order.index(d) for d in range(out.ndim)))


def bcoo_concatenate(operands: Sequence[BCOO], *, dimension: int) -> BCOO:
    """Concatenate sparse arrays along a dimension.

    >>> from tanx.experimental.sparse import BCOO, bcoo_concatenate
    >>> x = BCOO.fromdense(jnp.eye(2))
    >>> bcoo_concatenate([x, x], dimension=0)
    BCOO(float32[4, 2], nse=4)
    """
    operands = list(operands)
    first = operands[0]
    dimension = int(dimension)
    shapes = {x.shape[:dimension] + x.shape[dimension + 1:] for x in operands}
    if len(shapes) != 1 or len({(x.n_batch, x.n_dense) for x in operands}) != 1:
        kind = TypeError if len(shapes) != 1 else ValueError
        raise kind(explain(
            _name("bcoo_concatenate"), "arrays must agree in all but one dimension and in layout.",
            *(f"array: {x}" for x in operands)))
    b, s = first.n_batch, first.n_batch + first.n_sparse
    if dimension >= s:
        return bcoo_concatenate([bcoo_update_layout(x, n_dense=x.ndim - dimension - 1)
                                 for x in operands], dimension=dimension)
    total = sum(x.shape[dimension] for x in operands)
    shape = (*first.shape[:dimension], total, *first.shape[dimension + 1:])
    if dimension < b:
        nse = max(x.nse for x in operands)
        parts = [_padded(x, nse) for x in operands]
        data, indices = (jnp.concatenate(xs, dimension) for xs in zip(*parts))
        return BCOO((data, indices), shape=shape)
    column, start, datas, places = dimension - b, 0, [], []
    for x in operands:
        data, indices = _whole(x)
        own = indices[..., column]
        size = x.shape[dimension]
        moved = jnp.where((own >= 0) & (own < size), own + start, total)
        datas.append(data)
        places.append(indices.at[..., column].set(moved))
        start += size
    return BCOO((jnp.concatenate(datas, b), jnp.concatenate(places, b)), shape=shape)


def _padded(mat: BCOO, nse: int):
    """Data and indices with ``nse`` entries."""
    (data, indices), (_, sizes, _), n_batch = _whole(mat), _parts(mat), mat.n_batch
    more = nse - data.shape[n_batch]
    lead = data.shape[:n_batch]
    limit = jnp.broadcast_to(jnp.array(sizes, indices.dtype), (*lead, more, len(sizes)))
    zeros = jnp.zeros((*lead, more, *data.shape[n_batch + 1:]), data.dtype)
    return (jnp.concatenate([data, zeros], n_batch), jnp.concatenate([indices, limit], n_batch))
