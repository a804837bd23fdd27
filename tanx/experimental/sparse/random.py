"""tanx.experimental.sparse.random: random sparse arrays."""

from __future__ import annotations

import operator
from math import prod

import numpy as np

from ... import numpy as jnp
from ... import random
from ..._api.batching import vmap
from ..._base.traceback import shown
from ..._base.window import publish
from ...dtypes import canonicalize_dtype
from ...errors import explain
from ._bcoo import BCOO

__all__ = ["random_bcoo"]


def random_bcoo(key, shape, *, dtype=jnp.float_,  # type: ignore[attr-defined]
                indices_dtype=None, nse=0.2, n_batch=0, n_dense=0, unique_indices=True,
                sorted_indices=False, generator=random.uniform, **kwds):
    """A sparse array with random entries at random indices.

    Args:
      key: A random key.
      shape: The shape of the array.
      dtype: The dtype of entries.
      indices_dtype: The dtype of indices; int32 by default.
      nse: The number of entries in each batch, or the fraction of all elements if below 1.
      n_batch: The number of leading dimensions that are batch dimensions.
      n_dense: The number of trailing dimensions that are stored in full.
      unique_indices: Whether the indices of each batch are distinct.
      sorted_indices: Whether indices are in order.
      generator: A function of a key, a shape and a dtype that returns entries.
      kwds: More arguments of ``generator``.

    >>> tanx.experimental.sparse.random_bcoo(tanx.random.key(0), (10, 10), nse=0.1)
    BCOO(float32[10, 10], nse=10)
    """
    shape = tuple(map(operator.index, shape))
    end = len(shape) - n_dense
    if n_batch < 0 or n_dense < 0 or n_batch > end:
        raise ValueError(explain("tanx.experimental.sparse.random_bcoo",
                                 "n_batch and n_dense must not exceed the number of dimensions.",
                                 f"shape: {shape}", f"n_batch: {n_batch}", f"n_dense: {n_dense}"))
    batch, sparse, dense = shape[:n_batch], shape[n_batch:end], shape[end:]
    size = prod(sparse)
    count = int(np.ceil(nse * size)) if 0 < nse < 1 else operator.index(nse)
    if not 0 <= count <= size:
        raise ValueError(explain("tanx.experimental.sparse.random_bcoo",
                                 "nse must not exceed the size of the sparse dimensions.",
                                 f"nse: {count}", f"size: {size}"))
    data_key, index_key = random.split(key)
    index_dtype = indices_dtype or np.int32

    def places(key):
        flat = random.choice(key, size, (count,), replace=not unique_indices)
        return jnp.stack(jnp.unravel_index(flat, sparse), -1).astype(index_dtype) if sparse else (
            jnp.zeros((count, 0), index_dtype))
    keys = random.split(index_key, prod(batch)) if batch else index_key
    indices = (vmap(places)(keys).reshape(*batch, count, len(sparse)) if batch else places(keys))
    data = generator(data_key, shape=(*batch, count, *dense), dtype=canonicalize_dtype(dtype),
                     **kwds)
    mat = BCOO((data, indices), shape=shape, unique_indices=unique_indices)
    return mat.sort_indices() if sorted_indices else mat


publish(__name__, shown)
