"""Plans: indices in terms of gather and scatter.

An index is split into *forms*, static facts about each of its items, and *values*, which may be
computed. Forms give a :class:`Plan`, computed once for each shape: the dimensions of the result,
and how they relate to those of the array. Values give the array of indices of a gather, or for
``x.at[…]`` of a scatter.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from .. import dtypes
from .._base.tuples import NamedTuple
from ..errors import explain
from ..lax import _functions as lax
from ._promotion import Array, common_shape, convert, staging, typeof

__all__ = ["NEW", "Form", "Plan", "index_array", "index_dtype", "plan_of"]


class Form(NamedTuple):
    """The static facts about an item of an index.

    A ``"window"`` is a run of elements, and its value is where it starts; the value of a
    ``"stride"`` is its positions, which form a separate dimension; an ``"index"`` is one position
    or an array of them. ``"new"`` is a new axis and has no value.
    """

    kind: str
    shape: tuple[int, ...] = ()
    whole: bool = False  # a window of all elements along its axis
    turned: bool = False  # a window or a stride that runs backwards


NEW = Form("new", (1,))


class Part(NamedTuple):
    """A component of the array of indices: its axis, and the dimensions along which it varies."""

    axis: int
    dims: tuple[int, ...] = ()
    spread: tuple[int, ...] = ()  # the shape in which NumPy broadcasts it to all dimensions
    size: int | None = None  # of the axis, if positions along it may count from the end


class Plan(NamedTuple):
    """The effect of an index on arrays of one shape."""

    shape: tuple[int, ...]  # of the result
    new: tuple[int, ...]  # dimensions of the result that are new
    turned: tuple[int, ...]  # dimensions that run backwards, new ones not counted
    single: bool  # no arrays of indices, so no element occurs twice
    parts: tuple[Part, ...]  # the components of the array of indices
    outer: tuple[int, ...]  # the other dimensions of the array of indices
    dropped: tuple[int, ...]  # axes of the array that windows lack
    sizes: tuple[int, ...]  # the shape of a window, with those axes
    extents: tuple[int, ...]  # the shape of the array
    reading: lax.GatherDimensionNumbers
    writing: lax.ScatterDimensionNumbers


@lru_cache(maxsize=4096)
def plan_of(shape: tuple[int, ...], forms: tuple[Form, ...]) -> Plan:
    """The plan for arrays of a shape and an index whose items have these forms."""
    entries, points, batch, together = _arranged(shape, forms)
    result: list[int] = []
    outer: list[int] = []
    sizes = [1] * len(shape)
    new: list[int] = []
    turned, window_dims, parts, strides = [], [], [], []
    first = 0  # where in ``outer`` the dimensions of arrays of indices are
    for form, axis in entries:
        dim = len(result) - len(new)
        if form.kind == "new":
            new.append(len(result))
        elif form.kind == "window":
            window_dims.append(dim)
            sizes[axis] = form.shape[0]
            if not form.whole:
                parts.append(Part(axis))
        elif form.kind == "stride":
            strides.append((axis, len(outer), form.shape, None))
            outer += form.shape
        else:
            first = len(outer)
            outer += batch
        if form.turned:
            turned.append(dim)
        result += form.shape
    chosen = [(axis, first + len(batch) - len(s), s, shape[axis]) for axis, s in points]
    for axis, place, s, size in (*chosen, *strides):
        after = len(outer) - place - len(s)
        parts.append(Part(axis, tuple(range(place, place + len(s))),
                          s + (1,) * after if s else (), size))
    # If the dimensions of index arrays come first, so do their components.
    front = () if together else tuple(axis for axis, _ in points)
    parts.sort(key=lambda part: (part.axis not in front, part.axis))
    dropped = tuple(sorted(axis for axis, *_ in (*chosen, *strides)))
    numbers = (tuple(window_dims), dropped, tuple(part.axis for part in parts))
    return Plan(tuple(result), tuple(new), tuple(turned), not any(s for _, s in points),
                tuple(parts), tuple(outer), dropped, tuple(sizes), shape,
                lax.GatherDimensionNumbers(*numbers), lax.ScatterDimensionNumbers(*numbers))


def _arranged(shape: tuple[int, ...], forms: tuple[Form, ...]):
    """Dimensions of the result with their axes; positions by axis; adjacency of index arrays.

    As in NumPy, adjacent arrays of indices (single positions count as such) leave their dimensions
    in that place; others leave them in front.
    """
    entries: list[tuple[Form, int]] = []
    points: list[tuple[int, tuple[int, ...]]] = []
    places: list[int] = []
    block = axis = 0
    for place, form in enumerate(forms):
        if form.kind != "index":
            entries.append((form, axis))
        else:
            block = block if points else len(entries)
            points.append((axis, form.shape))
            places.append(place)
            if not form.shape and not shape[axis]:
                raise IndexError(explain(
                    "x[...]", f"axis {axis} has size zero, so it has no elements to index.",
                    f"shape: {shape}"))
        axis += form.kind != "new"
    if not any(s for _, s in points):
        return entries, points, (), True
    batch = _common_shape([s for _, s in points])
    together = places[-1] - places[0] == len(places) - 1
    entries.insert(block if together else 0, (Form("arrays", batch), axis))
    return entries, points, batch, together


def _common_shape(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    try:
        return common_shape(*shapes)
    except ValueError:
        raise ValueError(explain(
            "x[...]", "arrays of indices must broadcast with each other.",
            f"shapes: {', '.join(map(str, shapes))}")) from None


# -- values ----------------------------------------------------------------------------------------

_INT32, _INT64 = np.iinfo(np.int32), np.iinfo(np.int64)


def is_long(size: int, limit: int = _INT32.max) -> bool:
    """Whether positions along an axis exceed ``limit``; symbolic sizes are assumed not to."""
    return type(size) is int and size > limit


def index_dtype(size: int) -> np.dtype:
    """The dtype of positions along an axis: int64 if int32 is too narrow, with or without x64."""
    return np.dtype(np.int64 if is_long(size) else np.int32)


def _is_wide(column) -> bool:
    """Whether known positions need more than 32 bits."""
    return column > _INT32.max if type(column) is int else column.dtype.itemsize > 4


def index_array(plan: Plan, values: Sequence[Any], wrap: bool = True):
    """The array of indices, from the values of an index by axis.

    Values are integers, ranges and NumPy arrays if they are known, else traced or computed arrays.
    With ``wrap``, negative positions count from the end.
    """
    chosen = [values[part.axis] for part in plan.parts]
    if staging() or not all(type(value) in (int, range, np.ndarray) for value in chosen):
        return _staged_index(plan, chosen, wrap)
    columns = [_known(value, part, wrap, plan.extents) for value, part in zip(chosen, plan.parts)]
    if len(columns) == 1 and plan.outer:
        return Array(columns[0].reshape(*plan.outer, 1))
    wide = any(_is_wide(column) for column in columns)
    out = np.empty((*plan.outer, len(columns)), np.int64 if wide else np.int32)
    for k, (column, part) in enumerate(zip(columns, plan.parts)):
        out[..., k] = column.reshape(part.spread) if part.spread else column
    return Array(out)


def _known(i, part: Part, wrap: bool, extents: tuple[int, ...]):
    """Known positions along an axis."""
    size, extent = part.size, extents[part.axis]
    if type(i) is range:
        return np.arange(i.start, i.stop, i.step, dtype=index_dtype(max(i, default=0)))
    if type(i) is int:
        i = i + size if wrap and size is not None and i < 0 else i
        limits = _INT64 if is_long(extent) else _INT32
        return min(max(i, limits.min), limits.max)
    if i.dtype.itemsize < 4 or i.dtype.itemsize == 4 and is_long(extent):
        i = i.astype(index_dtype(extent))
    if wrap and size is not None and i.dtype.kind == "i":
        negative = i < 0
        if negative.any():
            i = np.where(negative, i + size, i)
    if i.dtype == np.int32 or size is None:
        return i
    # Positions outside may be too large for an index dtype; any other position outside does as
    # well.
    i = np.minimum(i, size) if i.dtype.kind == "u" else np.minimum(np.maximum(i, -1), size)
    return i if is_long(size) else i.astype(np.int32)


def _staged_index(plan: Plan, chosen: list, wrap: bool):
    columns = [_known(i, part, wrap, plan.extents) if type(i) in (int, np.ndarray)
               else _counted(i) if type(i) is range
               else _from_end(i, part.size) if wrap and part.size is not None
               else i for i, part in zip(chosen, plan.parts)]
    given = [typeof(i).dtype for i in columns if type(i) is not int]
    wide = any(d.itemsize > 4 or d == np.uint32 for d in given)
    dtype = dtypes.canonicalize_dtype(np.dtype(np.int64 if wide else np.int32))
    if any(is_long(plan.extents[part.axis]) for part in plan.parts):
        dtype = np.dtype(np.int64)
    if not columns:
        return np.zeros((*plan.outer, 0), dtype)
    columns = [lax.broadcast_in_dim(convert(i, dtype), (*plan.outer, 1), part.dims)
               for i, part in zip(columns, plan.parts)]
    return columns[0] if len(columns) == 1 else lax.concatenate(columns, len(plan.outer))


def _counted(positions: range):
    """Positions as an iota, which compiled code folds into its loop counter."""
    count = lax.iota(index_dtype(max(positions, default=0)), len(positions))
    step, start = (convert(v, count.dtype) for v in (positions.step, positions.start))
    return lax.add(start, lax.mul(step, count))


def _from_end(i, size: int):
    """Computed positions along an axis, negative ones counted from the end."""
    dtype = typeof(i).dtype
    if not dtypes.issubdtype(dtype, np.signedinteger):
        return i
    if is_long(size, np.iinfo(dtype).max):
        i = convert(i, max(dtypes.default_int(), index_dtype(size)))
    zero, size = (convert(v, i.dtype, i.weak_type) for v in (0, size))
    return lax.select_n(lax.lt(i, zero), i, lax.add(i, size))
