"""Compressed rows: entries of each row in a stretch of one array, from ``indptr[i]`` on."""

from __future__ import annotations

from ... import numpy as jnp

__all__ = ["pointers", "row_numbers", "rows_product"]


def row_numbers(indptr, nse: int):
    """The row of each entry; as many as there are rows for those behind the last stretch."""
    return (jnp.searchsorted(indptr, jnp.arange(nse, dtype=indptr.dtype), side="right") - 1).astype(
        indptr.dtype)


def pointers(rows, count: int):
    """Where the stretch of each row begins, of rows in order; padding is behind the last."""
    ends = jnp.zeros(count + 1, rows.dtype).at[rows + 1].add(1, mode="drop")
    return jnp.cumsum(ends).astype(rows.dtype)


def rows_product(data, rows, columns, rhs, size: int, ordered: bool = False):
    """Sums of entries times rows of ``rhs``, which is a vector or a matrix."""
    dtype = jnp.promote_types(data.dtype, rhs.dtype)
    found = rhs.astype(dtype).at[columns].get(mode="fill", fill_value=0)
    data = data.astype(dtype)
    terms = (data if rhs.ndim == 1 else data[:, None]) * found
    out = jnp.zeros((size, *rhs.shape[1:]), dtype)
    return out.at[rows].add(terms, mode="drop", indices_are_sorted=ordered)
