"""tanx.ops: reductions of segments, which are given by a number for each element."""

from __future__ import annotations

from typing import Any

from . import dtypes
from . import numpy as jnp
from ._base.traceback import shown
from ._base.window import publish
from .errors import explain

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]


def _combined(function: str, method: str, identity, data, segment_ids, num_segments,
              indices_are_sorted, unique_indices, bucket_size, mode):
    """Scatter into an array of the neutral element of the reduction."""
    data, ids = jnp.asarray(data), jnp.asarray(segment_ids)
    first, rest = data.shape[:ids.ndim], data.shape[ids.ndim:]
    if first != ids.shape and all(size == 1 for size in first):
        data, first = jnp.broadcast_to(data, (*ids.shape, *rest)), ids.shape
    if first != ids.shape:
        raise ValueError(explain(
            f"tanx.ops.{function}", "there must be a number for each of the first elements.",
            f"data:        {data.shape}", f"segment_ids: {ids.shape}"))
    if num_segments is None:
        num_segments = int(jnp.max(ids)) + 1 if ids.size else 0
    num_segments = int(num_segments)
    if num_segments < 0:
        raise ValueError(explain(f"tanx.ops.{function}", "num_segments must not be negative.",
                                 f"num_segments: {num_segments}"))
    start = jnp.full((num_segments, *rest), identity(data.dtype), data.dtype)
    options = {"indices_are_sorted": indices_are_sorted, "unique_indices": unique_indices,
               "mode": mode, "wrap_negative_indices": False}
    if bucket_size is None:
        return getattr(start.at[ids], method)(data, **options)
    parts = [getattr(start.at[ids[i:i + bucket_size]], method)(data[i:i + bucket_size], **options)
             for i in range(0, max(1, ids.shape[0]), bucket_size)]
    combine: Any = {"add": jnp.sum, "multiply": jnp.prod, "max": jnp.max, "min": jnp.min}[method]
    return combine(jnp.stack(parts), axis=0).astype(data.dtype)


def segment_sum(data, segment_ids, num_segments=None, indices_are_sorted=False,
                unique_indices=False, bucket_size=None, mode=None, out_sharding=None):
    """The sum of the elements of each segment.

    Args:
      data: An array; a scalar, or a single element, counts for each number.
      segment_ids: Numbers of segments, one for each element along the first dimensions of ``data``.
        Those out of range drop their element, negative ones too.
      num_segments: How many segments there are, a Python integer; by default one more than the
        greatest number, which must then be known.
      indices_are_sorted: A promise that the numbers are in ascending order.
      unique_indices: A promise that no number occurs twice.
      bucket_size: The number of elements per partial sum; partial sums reduce rounding errors.
      mode: What happens to numbers out of range, as in ``x.at[]``.
      out_sharding: How the result is laid out over devices.

    >>> tanx.ops.segment_sum(jnp.array([1.0, 2.0, 3.0]), jnp.array([0, 0, 1]))
    Array([3., 3.], dtype=float32)
    """
    return _combined("segment_sum", "add", lambda dtype: 0, data, segment_ids, num_segments,
                     indices_are_sorted, unique_indices, bucket_size, mode)


def segment_prod(data, segment_ids, num_segments=None, indices_are_sorted=False,
                 unique_indices=False, bucket_size=None, mode=None, out_sharding=None):
    """The product of the elements of each segment; arguments as those of :func:`segment_sum`.

    >>> tanx.ops.segment_prod(jnp.array([2.0, 3.0, 4.0]), jnp.array([0, 0, 2]), 3)
    Array([6., 1., 4.], dtype=float32)
    """
    return _combined("segment_prod", "multiply", lambda dtype: 1, data, segment_ids, num_segments,
                     indices_are_sorted, unique_indices, bucket_size, mode)


def segment_max(data, segment_ids, num_segments=None, indices_are_sorted=False,
                unique_indices=False, bucket_size=None, mode=None, out_sharding=None):
    """The greatest element of each segment; arguments as those of :func:`segment_sum`.

    Segments without elements have the least value of the dtype.

    >>> tanx.ops.segment_max(jnp.array([1.0, 2.0, 3.0]), jnp.array([0, 0, 1]))
    Array([2., 3.], dtype=float32)
    """
    return _combined("segment_max", "max", lambda dtype: _bound(dtype, least=True), data,
                     segment_ids, num_segments, indices_are_sorted, unique_indices, bucket_size,
                     mode)


def segment_min(data, segment_ids, num_segments=None, indices_are_sorted=False,
                unique_indices=False, bucket_size=None, mode=None, out_sharding=None):
    """The least element of each segment; arguments as those of :func:`segment_sum`.

    Segments without elements have the greatest value of the dtype.

    >>> tanx.ops.segment_min(jnp.array([1.0, 2.0, 3.0]), jnp.array([0, 0, 1]))
    Array([1., 3.], dtype=float32)
    """
    return _combined("segment_min", "min", lambda dtype: _bound(dtype, least=False), data,
                     segment_ids, num_segments, indices_are_sorted, unique_indices, bucket_size,
                     mode)


def _bound(dtype, least: bool):
    """The least or the greatest value of a dtype."""
    if dtypes.issubdtype(dtype, jnp.inexact):
        return -jnp.inf if least else jnp.inf
    if dtype.kind == "b":
        return not least
    info = dtypes.iinfo(dtype)
    return info.min if least else info.max


publish(__name__, shown)
