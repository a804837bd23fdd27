"""Slices inserted, deleted and trimmed; functions applied along dimensions."""

from __future__ import annotations

import operator

import numpy as np

from .. import dtypes
from .._api.batching import vmap
from .._base.axes import canonical_axes, canonical_axis
from ..errors import ConcretizationTypeError, explain
from ..lax import _functions as lax
from ._assemble import concatenate, pick
from ._creation import arange, asarray
from ._logic import where
from ._promotion import Tracer, as_operand, broadcast_to_shape, check_arraylike, convert, typeof
from ._shape import expand_dims, moveaxis, ravel

__all__ = ["apply_along_axis", "apply_over_axes", "delete", "insert", "trim_zeros"]


# -- inserting and deleting ------------------------------------------------------------------------


def _along(function: str, arr, axis):
    """The array and the axis to edit; without an axis, the flattened array."""
    arr = as_operand(function, arr)
    if axis is None:
        return ravel(arr), 0
    return arr, canonical_axis(function, axis, arr)


def _cut(arr, axis: int, stop: int, start: int) -> list:
    """The part before ``stop`` along ``axis``, and the part from ``start`` on."""
    outer = (slice(None),) * axis
    return [arr[(*outer, slice(None, stop))], arr[(*outer, slice(start, None))]]


def insert(arr, obj, values, axis=None):
    """``arr`` with ``values`` inserted along ``axis`` before the indices ``obj``.

    ``obj`` is an integer, a slice or a vector of integers, which may be traced; indices out of
    bounds count as the nearest end. Without ``axis``, ``arr`` is flattened first.

    >>> jnp.insert(jnp.array([1, 2, 3]), jnp.array([0, 2]), 9)
    Array([9, 1, 2, 9, 3], dtype=int32)
    """
    arr, axis = _along("insert", arr, axis)
    n = arr.shape[axis]
    if isinstance(obj, slice):
        obj = np.arange(*obj.indices(n))
    check_arraylike("insert", obj, values)
    aval = typeof(obj)
    if aval.ndim > 1 or not dtypes.issubdtype(aval.dtype, np.integer):
        raise ValueError(explain(
            "tanx.numpy.insert", "obj must be an integer, a slice, or a vector of integers.",
            f"obj: {aval}"))
    values = convert(values, arr.dtype, arr.weak_type)
    values = lax.broadcast_to_rank(values, max(arr.ndim, values.ndim))
    if not aval.ndim:
        values = moveaxis(values, 0, axis)
    count = values.shape[axis] if aval.size == 1 else aval.size
    values = broadcast_to_shape(values, (*arr.shape[:axis], count, *arr.shape[axis + 1:]))
    if not aval.ndim and not isinstance(obj, Tracer):
        at = operator.index(obj)
        at = max(0, min(n, at + n if at < 0 else at))
        before, after = _cut(arr, axis, at, at)
        return concatenate([before, values, after], axis)
    at = _within(asarray(obj), n, n)
    # Inserted values come first, so a stable sort puts each before the element at its index.
    places = concatenate([broadcast_to_shape(at, (count,)), arange(n, dtype=at.dtype)])
    _, order = lax.sort([places, arange(count + n)], num_keys=1)
    return pick(concatenate([values, arr], axis), order, axis)


def _within(index, n: int, last: int):
    """Indices counted from the front, clipped to 0 … ``last``."""
    index = where(index < 0, index + n, index)
    return lax.clamp(convert(0, index.dtype), index, convert(last, index.dtype))


def delete(arr, obj, axis=None, *, assume_unique_indices=False):
    """``arr`` without the slices at ``obj`` along ``axis``; without ``axis``, flattened first.

    ``obj`` is an integer, a slice, a vector of integers or a mask. How many different indices it
    holds must be known while tracing: a traced vector works with ``assume_unique_indices``, which
    promises that no two are equal.

    >>> jnp.delete(jnp.array([1, 2, 3, 4]), jnp.array([0, 2]))
    Array([2, 4], dtype=int32)
    """
    arr, axis = _along("delete", arr, axis)
    n = arr.shape[axis]
    if isinstance(obj, slice):
        obj = np.arange(*obj.indices(n))
    check_arraylike("delete", obj)
    aval = typeof(obj)
    if aval.dtype == bool and aval.shape != (n,) or not (
            aval.dtype == bool or dtypes.issubdtype(aval.dtype, np.integer)):
        raise ValueError(explain(
            "tanx.numpy.delete", "obj must hold integers, or be a mask as long as the axis.",
            f"array: {arr.aval}", f"axis:  {axis}", f"obj:   {aval}"))
    if isinstance(obj, Tracer) and obj.concrete() is None:
        if aval.dtype == bool or aval.ndim and not assume_unique_indices:
            raise ConcretizationTypeError.of(
                "tanx.numpy.delete", "the number of slices left", obj,
                "give integers that differ, with assume_unique_indices=True.")
        return pick(arr, _left_over(ravel(obj), n), axis)
    index = np.asarray(obj)
    if index.dtype != bool and ((index < -n) | (index >= n)).any():
        # As in JAX: a single index is checked like an axis.
        raise (IndexError if index.ndim else ValueError)(explain(
            "tanx.numpy.delete", "an index is out of bounds.", f"array: {arr.aval}",
            f"axis:  {axis}", f"obj:   {index.tolist()}"))
    if not index.ndim:
        at = int(index) % n
        return concatenate(_cut(arr, axis, at, at + 1), axis)
    kept = np.ones(n, bool)
    kept[index] = False
    return pick(arr, np.flatnonzero(kept), axis)


def _left_over(index, n: int):
    """The numbers below ``n`` that are not in ``index``; its elements must differ."""
    index = lax.sort(_within(index, n, n - 1))
    found = arange(n - index.size, dtype=index.dtype)
    # The i-th remaining number is i plus the number of deleted ones before it.
    before = expand_dims(found, 0) >= expand_dims(index - arange(index.size), 1)
    return found + before.sum(0, dtype=index.dtype)


def trim_zeros(filt, trim="fb", axis=None):
    """``filt`` without zeros at its front (``trim="f"``), back (``"b"``) or both (``"fb"``).

    In several dimensions, slices of zeros are removed. The values must be known while tracing.

    >>> jnp.trim_zeros(jnp.array([0, 0, 1, 0, 2, 0]))
    Array([1, 0, 2], dtype=int32)
    """
    filt = as_operand("trim_zeros", filt)
    axes = range(filt.ndim) if axis is None else canonical_axes("trim_zeros", axis, filt)
    found = np.nonzero(np.asarray(filt))
    start, limit = [0] * filt.ndim, list(filt.shape)
    for d in axes:
        first, last = (found[d].min(), found[d].max()) if found[d].size else (limit[d], -1)
        if "f" in trim.lower():
            start[d] = int(first)
        if "b" in trim.lower():
            limit[d] = max(start[d], int(last) + 1)
    return lax.slice(filt, start, limit)


# -- functions along dimensions --------------------------------------------------------------------


def apply_along_axis(func1d, axis, arr, *args, **kwargs):
    """``func1d(vector, *args, **kwargs)`` of each vector of ``arr`` along ``axis``.

    The dimensions of its result replace ``axis``. The function is mapped with
    :func:`tanx.vmap`.

    >>> jnp.apply_along_axis(jnp.sum, 0, jnp.array([[1, 2], [3, 4]]))
    Array([4, 6], dtype=int32)
    """
    arr = as_operand("apply_along_axis", arr)
    axis = canonical_axis("apply_along_axis", axis, arr)
    mapped = lambda vector: func1d(vector, *args, **kwargs)
    for behind in range(1, arr.ndim - axis):
        mapped = vmap(mapped, in_axes=behind, out_axes=-1)
    for _ in range(axis):
        mapped = vmap(mapped)
    return mapped(arr)


def apply_over_axes(func, a, axes):
    """``func(a, axis)`` applied for each of ``axes`` in turn, to the result of the one before.

    A dimension that the function removes is added again with size 1.

    >>> jnp.apply_over_axes(jnp.sum, jnp.ones((2, 3, 4)), (0, 2))
    Array([[[8.],
            [8.],
            [8.]]], dtype=float32)
    """
    a = as_operand("apply_over_axes", a)
    for axis in canonical_axes("apply_over_axes", axes, a):
        result = func(a, axis)
        if result.ndim == a.ndim - 1:
            result = expand_dims(result, axis)
        if result.ndim != a.ndim:
            raise ValueError(explain(
                "tanx.numpy.apply_over_axes", "the function must keep the dimensions of its "
                "operand, or remove the given one.",
                f"operand: {a.aval}", f"axis:    {axis}", f"result:  {typeof(result)}"))
        a = result
    return a
