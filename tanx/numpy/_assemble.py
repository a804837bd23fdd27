"""Arrays put together and taken apart: joined, split, repeated, rolled, padded, edited."""

from __future__ import annotations

import operator

from .. import dtypes, lax
from ..errors import explain
from ._promotion import Array, check_arraylike, convert, promote_dtypes, typeof
from ._shape import canonical_axis, expand_dims, moveaxis, ravel, reshape

__all__ = ["concat", "concatenate", "stack"]


# -- joining ---------------------------------------------------------------------------------------


def _operands(function: str, arrays, dtype) -> list:
    """Arrays to be joined, in one dtype."""
    if not isinstance(arrays, list | tuple):
        arrays = [] if isinstance(arrays, Array) and not arrays.ndim else list(arrays)
    if not arrays:
        raise ValueError(explain(f"tanx.numpy.{function}", "there must be at least one array."))
    check_arraylike(function, *arrays)
    if dtype is None:
        return promote_dtypes(*arrays)
    dtype = dtypes.requested_dtype(dtype, f"tanx.numpy.{function}")
    return [convert(x, dtype) for x in arrays]


def concatenate(arrays, axis=0, dtype=None):
    """``arrays`` joined along a dimension that they have; along ``axis=None``, flattened first.

    An array in place of a list stands for the slices along its first dimension.

    >>> jnp.concatenate([jnp.array([1, 2]), jnp.array([3.5])])
    Array([1. , 2. , 3.5], dtype=float32)
    """
    if isinstance(arrays, Array) and arrays.ndim > 1 and axis is not None:
        return _joined_slices(arrays, axis, dtype)
    operands = _operands("concatenate", arrays, dtype)
    if axis is None:
        return lax.concatenate([ravel(x) for x in operands], 0)
    shape = operands[0].shape
    if not shape:
        raise ValueError(explain(
            "tanx.numpy.concatenate", "arrays of no dimensions cannot be joined.",
            *(f"array {i}: {typeof(x)}" for i, x in enumerate(operands)),
            hint="tanx.numpy.stack makes a dimension."))
    axis = canonical_axis("concatenate", axis, len(shape))
    rest = shape[:axis], shape[axis + 1:]
    if any((x.shape[:axis], x.shape[axis + 1:]) != rest for x in operands):
        raise TypeError(explain(
            "tanx.numpy.concatenate", "shapes must agree in all dimensions but the one joined.",
            *(f"array {i}: {typeof(x)}" for i, x in enumerate(operands)), f"axis:    {axis}"))
    return lax.concatenate(operands, axis)


def _joined_slices(arrays, axis, dtype):
    """The slices along the first dimension, one after another along ``axis``."""
    axis = canonical_axis("concatenate", axis, arrays.ndim - 1)
    moved = moveaxis(arrays, 0, axis)
    shape = list(moved.shape)
    shape[axis:axis + 2] = [shape[axis] * shape[axis + 1]]
    joined = reshape(moved, shape)
    return joined if dtype is None else convert(
        joined, dtypes.requested_dtype(dtype, "tanx.numpy.concatenate"))


def concat(arrays, /, *, axis=0):
    """``arrays`` joined along a dimension that they have; see :func:`concatenate`.

    >>> jnp.concat([jnp.arange(2), jnp.arange(3)])
    Array([0, 1, 0, 1, 2], dtype=int32)
    """
    return concatenate(arrays, axis)


def stack(arrays, axis=0, out=None, dtype=None):
    """``arrays`` of one shape joined along a new dimension, which stands at ``axis``.

    >>> jnp.stack([jnp.array([1, 2]), jnp.array([3, 4])], axis=1)
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    if out is not None:
        raise NotImplementedError(explain(
            "tanx.numpy.stack", "arrays are immutable, so there is no out.",
            hint="use the result."))
    if isinstance(arrays, Array) and arrays.ndim:
        axis = canonical_axis("stack", axis, arrays.ndim)
        return concatenate(expand_dims(arrays, axis + 1), axis, dtype)
    operands = _operands("stack", arrays, dtype)
    shape = operands[0].shape
    if any(x.shape != shape for x in operands):
        raise ValueError(explain(
            "tanx.numpy.stack", "arrays must have the same shape.",
            *(f"array {i}: {typeof(x)}" for i, x in enumerate(operands))))
    return lax.stack(operands, canonical_axis("stack", axis, len(shape) + 1))
