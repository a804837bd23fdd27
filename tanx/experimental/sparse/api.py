"""tanx.experimental.sparse.api: functions of sparse arrays of any format."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import numpy as jnp
from ..._base.traceback import shown
from ..._base.window import publish
from ...errors import explain
from ...tree_util import tree_map
from ._base import JAXSparse
from ._bcoo import BCOO
from .bcsr import BCSR
from .coo import COO
from .csr import CSC, CSR

__all__ = ["empty", "eye", "todense"]

_FORMATS: dict[str, Any] = {"bcoo": BCOO, "bcsr": BCSR, "coo": COO, "csr": CSR, "csc": CSC}


def todense(arr):
    """Convert the sparse arrays of a pytree to dense ones; dense arrays stay as they are.

    >>> from tanx.experimental import sparse
    >>> sparse.todense((sparse.eye(2), jnp.ones(1)))
    (Array([[1., 0.],
           [0., 1.]], dtype=float32), Array([1.], dtype=float32))
    """
    def dense(x):
        return x.todense() if isinstance(x, JAXSparse) else jnp.asarray(x)
    return tree_map(dense, arr, is_leaf=lambda x: isinstance(x, JAXSparse))


def _format(function: str, name: str):
    if name not in _FORMATS:
        raise ValueError(explain(f"tanx.experimental.sparse.{function}", "there is no such format.",
                                 f"sparse_format: {name!r}", f"formats: {', '.join(_FORMATS)}"))
    return _FORMATS[name]


def empty(shape, dtype=None, index_dtype="int32", sparse_format="bcoo", **kwds):
    """A sparse array that stores nothing.

    Args:
      shape: The shape of the array.
      dtype: The dtype of elements; float32 by default.
      index_dtype: The dtype of indices.
      sparse_format: ``"bcoo"``, ``"bcsr"``, ``"coo"``, ``"csr"`` or ``"csc"``.
      kwds: Further options of the format, such as ``nse``, ``n_batch`` and ``n_dense``.

    >>> tanx.experimental.sparse.empty((2, 3))
    BCOO(float32[2, 3], nse=0)
    """
    return _format("empty", sparse_format)._empty(shape, dtype=jnp.result_type(dtype or float),
                                                  index_dtype=index_dtype, **kwds)


def eye(N, M=None, k=0, dtype=None, index_dtype="int32", sparse_format="bcoo", **kwds):
    """A matrix with ones on a diagonal.

    Args:
      N: The number of rows.
      M: The number of columns; by default that of rows.
      k: The diagonal; positive ones are above the main one.
      dtype: The dtype of elements; float32 by default.
      index_dtype: The dtype of indices.
      sparse_format: ``"bcoo"``, ``"bcsr"``, ``"coo"``, ``"csr"`` or ``"csc"``.
      kwds: ``n_batch`` and ``n_dense``, if the format takes them.

    >>> tanx.experimental.sparse.eye(2, 3, k=1).todense()
    Array([[0., 1., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    kind = _format("eye", sparse_format)
    M = N if M is None else M
    count = max(0, min(N, M - k) if k >= 0 else min(N + k, M))
    first = np.arange(count)
    places = np.column_stack((first + max(0, -k), first + max(0, k))).astype(index_dtype)
    ones = jnp.ones(count, jnp.result_type(dtype or float))
    mat = BCOO((ones, places), shape=(N, M), indices_sorted=True, unique_indices=True)
    if kind is BCOO:
        n_batch, n_dense = kwds.pop("n_batch", 0), kwds.pop("n_dense", 0)
        if n_batch or n_dense:
            return BCOO.fromdense(mat.todense(), n_batch=n_batch, n_dense=n_dense, **kwds)
        return mat
    if kind is BCSR and not any(kwds.values()):
        return BCSR.from_bcoo(mat)
    return kind.fromdense(mat.todense(), index_dtype=index_dtype, **kwds)


publish(__name__, shown)
