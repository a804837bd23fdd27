"""Compressed rows: the entries of row ``i`` are contiguous and begin at ``indptr[i]``."""

from __future__ import annotations

import numpy as np

from ... import numpy as jnp
from ..._control.custom import SymbolicZero
from ..._control.custom_jvp import custom_jvp
from ..._ops.compressed import csr_matmat_p, csr_matvec_p

__all__ = ["compressed_product", "pointers", "row_numbers", "rows_product"]

_FEW = 4
"""Products with fewer columns than these are computed column by column. In one nest, rows rather
than columns would run in lanes: 1 column took 2.8 times as long, 2 took 3.3 times and 3 took 4 to 6
times, with rows of 10 entries (Cascade Lake)."""


def row_numbers(indptr, nse: int):
    """The row of each entry; the number of rows for entries after the last row."""
    ends = jnp.zeros(nse, indptr.dtype).at[indptr[1:]].add(1, mode="drop")
    return jnp.cumsum(ends).astype(indptr.dtype)


def pointers(rows, count: int):
    """The start of each row's entries, from sorted row numbers; padding comes after the last."""
    ends = jnp.zeros(count + 1, rows.dtype).at[rows + 1].add(1, mode="drop")
    return jnp.cumsum(ends).astype(rows.dtype)


def rows_product(data, rows, columns, rhs, size: int, ordered: bool = False, wrap: bool = True):
    """Sums of entries times rows of ``rhs``, which is a vector or a matrix.

    With ``wrap``, negative indices count from the end; otherwise they are ignored.
    """
    dtype = jnp.promote_types(data.dtype, rhs.dtype)
    found = rhs.astype(dtype).at[columns].get(mode="fill", fill_value=0,
                                              wrap_negative_indices=wrap)
    data = data.astype(dtype)
    terms = (data if rhs.ndim == 1 else data[:, None]) * found
    out = jnp.zeros((size, *rhs.shape[1:]), dtype)
    return out.at[rows].add(terms, mode="drop", indices_are_sorted=ordered,
                            wrap_negative_indices=wrap)


@custom_jvp
def _by_rows(data, indices, indptr, rhs):
    """The product, by a loop over the entries of each row."""
    if rhs.ndim == 1:
        return csr_matvec_p.bind(data, indices, indptr, rhs)
    if rhs.shape[1] < _FEW:
        return jnp.stack([csr_matvec_p.bind(data, indices, indptr, v) for v in rhs.T], 1)
    return csr_matmat_p.bind(data, indices, indptr, rhs)


def _slope(primals, tangents):
    """The derivative, by gather and scatter, because these can be transposed."""
    (data, indices, indptr, rhs), (moved, _, _, other) = primals, tangents
    rows, size = row_numbers(indptr, data.shape[0]), indptr.shape[0] - 1
    terms = [rows_product(d, rows, indices, r, size, ordered=True, wrap=False)
             for d, r in ((moved, rhs), (data, other))
             if type(d) is not SymbolicZero and type(r) is not SymbolicZero]
    return _by_rows(*primals), sum(terms[1:], terms[0])


_by_rows.defjvp(_slope, symbolic_zeros=True)


def compressed_product(data, indices, indptr, rhs):
    """A CSR matrix times a dense vector or matrix."""
    dtype = jnp.promote_types(data.dtype, rhs.dtype)
    if jnp.issubdtype(dtype, np.bool_) or not data.size or not rhs.size:
        return rows_product(data, row_numbers(indptr, data.shape[0]), indices, rhs,
                            indptr.shape[0] - 1, ordered=True, wrap=False)
    return _by_rows(data.astype(dtype), indices, indptr, rhs.astype(dtype))
