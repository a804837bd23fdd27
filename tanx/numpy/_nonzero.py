"""Positions of nonzero elements.

Their number depends on the data. Under ``jit`` the size of the result must be given: a longer list
of positions is cut off, a shorter one is filled.
"""

from __future__ import annotations

import operator
from math import prod

import numpy as np

from .. import dtypes
from ..errors import ConcretizationTypeError, explain
from ..lax import _functions as lax
from ._promotion import Array, Explicit, as_operand, broadcast_to_shape, convert, is_divided
from ._shape import atleast_1d, ravel

__all__ = ["argwhere", "flatnonzero", "nonzero"]


def nonzero(a, *, size=None, fill_value=None):
    """The positions of the elements that are not zero: a tuple, one array for each dimension.

    ``size`` is the length of these arrays; under ``jit`` it must be given. If fewer elements are
    found, the rest is ``fill_value``, a number or one for each dimension, zero by default.

    >>> jnp.nonzero(jnp.array([[1, 0], [0, 5]]))
    (Array([0, 1], dtype=int32), Array([0, 1], dtype=int32))
    >>> jnp.nonzero(jnp.array([0, 3, 0, 4]), size=3, fill_value=-1)
    (Array([ 1,  3, -1], dtype=int32),)
    """
    x = as_operand("nonzero", a)
    if not x.ndim:
        raise ValueError(explain(
            "tanx.numpy.nonzero", "the array must have at least one dimension.",
            f"array: {x.aval}", hint="use tanx.numpy.atleast_1d(a).nonzero()."))
    if Explicit.seen and is_divided(x.aval):
        raise ValueError(explain(
            "tanx.numpy.nonzero", "the array must not be divided over a mesh.",
            f"array: {x.aval}", hint="tanx.reshard makes it whole."))
    if size is not None:
        size = operator.index(size)
        if size < 0:
            raise ValueError(explain("tanx.numpy.nonzero", "size must not be negative.",
                                     f"size: {size}"))
    elif (known := known_value(x)) is not None:
        size = int(np.count_nonzero(known))
    else:
        raise ConcretizationTypeError.of(
            "tanx.numpy.nonzero", "the number of elements found", x, "give size=....")
    found, positions = _found(x, size)
    fills = _fills(fill_value, x.ndim)
    return tuple(_filled(found, p, fill) for p, fill in zip(positions, fills))


def known_value(x) -> np.ndarray | None:
    """The data of an array or of a tracer, or None if it is not known."""
    data = x if type(x) is Array else x.concrete()
    return None if data is None else np.asarray(data)


def _found(x, size: int):
    """The number of positions found, at most ``size``, and the positions in each dimension."""
    dtype = dtypes.default_int()
    if type(x) is Array:
        where = [i[:size] for i in np.asarray(x).nonzero()]
        pad = (0, size - len(where[0]))
        return len(where[0]), [Array(np.pad(i.astype(dtype), pad)) for i in where]
    n = prod(x.shape)
    mask = lax.reshape(lax.ne(x, lax.full_like(x, 0)), (n,))
    count = lax.cumsum(convert(mask, dtype))
    # A nonzero element is written to its rank among them; zeros are written past the end.
    rank = lax.select(mask, lax.sub(count, lax.full_like(count, 1)), lax.full_like(count, size))
    flat = lax.full((size,), 0, dtype).at[rank].set(lax.iota(dtype, n), unique_indices=True)
    total = lax.reduce_sum(convert(mask, dtype), (0,))
    return total, _unraveled(flat, x.shape)


def _unraveled(flat, shape: tuple[int, ...]) -> list:
    """Flat positions as positions in each dimension."""
    positions = []
    for n in reversed(shape):
        size = lax.full_like(flat, max(n, 1))
        positions.append(lax.rem(flat, size))
        flat = lax.div(flat, size)
    return positions[::-1]


def _fills(fill_value, rank: int) -> tuple:
    if isinstance(fill_value, tuple):
        if len(fill_value) != rank:
            raise ValueError(explain(
                "tanx.numpy.nonzero", "fill_value must hold a number for each dimension.",
                f"fill_value: {fill_value}", f"dimensions: {rank}"))
        return fill_value
    if np.ndim(fill_value):
        raise ValueError(explain(
            "tanx.numpy.nonzero", "fill_value must be a number, or a tuple of them.",
            f"fill_value: {fill_value!r:.100}"))
    return (0 if fill_value is None else fill_value,) * rank


def _filled(found, positions, fill):
    (size,) = positions.shape
    if isinstance(found, int) and found == size:
        return positions
    dtype = dtypes.result_type(positions, fill)
    inside = lax.lt(lax.iota(np.int32, size), convert(found, np.dtype(np.int32)))
    return lax.select(inside, convert(positions, dtype),
                      broadcast_to_shape(convert(fill, dtype), (size,)))


def flatnonzero(a, *, size=None, fill_value=None):
    """The positions of the elements that are not zero in the flattened array; see :func:`nonzero`.

    >>> jnp.flatnonzero(jnp.array([[1, 0], [0, 5]]))
    Array([0, 3], dtype=int32)
    """
    return nonzero(ravel(a), size=size, fill_value=fill_value)[0]


def argwhere(a, *, size=None, fill_value=None):
    """The positions of the elements that are not zero, a row for each; see :func:`nonzero`.

    >>> jnp.argwhere(jnp.array([[1, 0], [0, 5]]))
    Array([[0, 0],
           [1, 1]], dtype=int32)
    """
    x = as_operand("argwhere", a)
    columns = nonzero(atleast_1d(x), size=size, fill_value=fill_value)
    rows = lax.stack(columns, 1)
    return rows if x.ndim else rows[:, :0]
