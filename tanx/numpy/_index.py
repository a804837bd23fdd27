"""Indexing: ``x[…]``, from what the user wrote to slices and gathers.

Integers and slices known while tracing make a slice. Any other index is brought into one form, a
:class:`Plan`: which windows of the array are read or written, where they start, and how the
dimensions of the result are ordered. Single computed positions make a dynamic slice of it;
everything else is a gather, or for ``x.at[…]`` (:mod:`tanx.numpy._at`) a scatter.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .. import dtypes, lax
from ..errors import NonConcreteBooleanIndexError, explain
from ._promotion import Tracer, convert, is_arraylike, typeof

__all__: list[str] = []  # what users see of this file are operators


@dataclass(frozen=True, slots=True)  # no tuple, for a tuple is an index of several axes
class Slice:
    """A slice of fixed size that may start anywhere; made by :func:`ds`."""

    start: Any
    size: int
    stride: int = 1


def ds(start, size: int | None = None, stride: int | None = None) -> Slice | slice:
    """A slice of ``size`` elements from ``start`` on, which may be computed.

    With one argument, the first ``start`` elements.

    >>> tanx.jit(lambda x, i: x[tanx.ds(i, 2)])(jnp.arange(5), 1)
    Array([1, 2], dtype=int32)
    """
    if size is None:
        return slice(0, operator.index(start))
    return Slice(start, operator.index(size), 1 if stride is None else operator.index(stride))


class Window(NamedTuple):
    """A run of elements along an axis: where it starts (an int or a scalar), how long it is."""

    axis: int
    start: Any
    size: int
    step: int = 1  # 1 or -1


class Point(NamedTuple):
    """One position along an axis, or an array of them."""

    axis: int
    index: Any
    strided: bool = False  # the positions of a slice with a step: a dimension of their own


class Entry(NamedTuple):
    """Dimensions of the result: of a window, of a stride, of all arrays of indices, or a new one."""

    kind: str  # "window", "stride", "arrays", "new"
    size: int = 1


class Plan(NamedTuple):
    """An index in its one form."""

    windows: list[Window]
    points: list[Point]
    entries: list[Entry]  # in the order of the result
    batch: tuple[int, ...]  # the common shape of the arrays of indices

    @property
    def scalar(self) -> bool:
        """Whether every position is single: no arrays of indices, no strides."""
        return all(e.kind in ("window", "new") for e in self.entries)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the result."""
        sizes: list[int] = []
        for entry in self.entries:
            sizes += self.batch if entry.kind == "arrays" else [entry.size]
        return tuple(sizes)

    @property
    def new_dims(self) -> list[int]:
        """Which dimensions of the result are new."""
        return self._dims("new")

    def _dims(self, kind: str) -> list[int]:
        dims, at = [], 0
        for entry in self.entries:
            if entry.kind == kind:
                dims.append(at)
            at += len(self.batch) if entry.kind == "arrays" else 1
        return dims

    @property
    def window_dims(self) -> tuple[int, ...]:
        """Where the dimensions of windows are in the result, new ones aside."""
        return tuple(self._replace(entries=[e for e in self.entries if e.kind != "new"])
                     ._dims("window"))

    @property
    def reversed_dims(self) -> list[int]:
        """Which dimensions of the result, new ones aside, run backwards."""
        return [d for d, w in zip(self.window_dims, self.windows) if w.step < 0]


# -- from what the user wrote to a plan ------------------------------------------------------------


def parse(shape: tuple[int, ...], items: Sequence, wrap: bool = True) -> Plan:
    """The plan of an index, given by one item for each axis and None for new ones."""
    entries: list[Entry] = []
    windows: list[Window] = []
    points: list[Point] = []
    advanced: list[int] = []  # positions, among the items, of integers and arrays
    block = 0  # where in ``entries`` the dimensions of the arrays go
    axis = 0
    for position, item in enumerate(items):
        if item is None:
            entries.append(Entry("new"))
            continue
        if isinstance(item, slice | Slice):
            _add_slice(item, axis, shape[axis], entries, windows, points)
        else:
            if not advanced:
                block = len(entries)
            advanced.append(position)
            points.append(Point(axis, _from_end(item, shape[axis]) if wrap else item))
        axis += 1
    arrays = [p.index for p in points if not p.strided and np.ndim(p.index)]
    batch = _broadcast([a.shape for a in arrays])
    if arrays:
        contiguous = advanced[-1] - advanced[0] == len(advanced) - 1
        entries.insert(block if contiguous else 0, Entry("arrays"))
    return Plan(windows, points, entries, batch)


def _add_slice(item, axis: int, n: int, entries, windows, points) -> None:
    if isinstance(item, Slice):
        start, size, step = item.start, item.size, item.stride
        if step != 1:
            steps = np.arange(size, dtype=np.int32) * np.int32(step)
            start = lax.add(convert(start, steps.dtype), steps)
    else:
        start, size, step = static_slice(item, n, axis)
        if step == -1 or size <= 1:
            start = start + 1 - size if size and step < 0 else start
        elif step != 1:
            start = np.arange(size, dtype=np.int32) * np.int32(step) + np.int32(start)
    if np.ndim(start):
        points.append(Point(axis, start, strided=True))
        entries.append(Entry("stride", size))
    else:
        windows.append(Window(axis, start, size, -1 if step < 0 else 1))
        entries.append(Entry("window", size))


def static_slice(item: slice, n: int, axis: int) -> tuple[int, int, int]:
    """Start, length and step of a slice; an error where they are not known."""
    try:
        bounds = [None if x is None else operator.index(x)
                  for x in (item.start, item.stop, item.step)]
    except TypeError as error:
        raise IndexError(explain(
            "x[start:stop:step]", "the bounds of a slice must be integers known while tracing.",
            f"slice: {_text(item)} along axis {axis}",
            hint="with a fixed size, write x[tanx.ds(start, size)] or tanx.lax.dynamic_slice; "
                 "else mask with tanx.numpy.where.")) from error
    if bounds[2] == 0:
        raise ValueError(explain("x[start:stop:step]", "the step of a slice must not be zero."))
    start, stop, step = slice(*bounds).indices(n)
    return start, len(range(start, stop, step)), step


def _text(item: slice) -> str:
    parts = ["" if x is None else str(typeof(x)) if is_arraylike(x) else repr(x)
             for x in (item.start, item.stop, item.step)]
    return ":".join(parts[:2] if item.step is None else parts)


def items_of(shape: tuple[int, ...], index) -> list:
    """One item for each axis, and None for new ones; ellipses and masks written out."""
    if isinstance(index, list):
        raise _ambiguous(index)
    parts = index if isinstance(index, tuple) else (index,)
    dots = [i for i, item in enumerate(parts) if item is Ellipsis]
    if len(dots) > 1:
        raise IndexError(explain("x[...]", "an index may hold one ellipsis only."))
    used = sum(map(_consumed, parts))
    if used > len(shape):
        raise IndexError(explain(
            "x[...]", f"too many indices: the array has {len(shape)} dimensions, and {used} are "
            "indexed.", f"shape: {shape}"))
    rest = (slice(None),) * (len(shape) - used)
    place = dots[0] if dots else len(parts)
    items: list = []
    axis = 0
    for item in (*parts[:place], *rest, *parts[place + len(dots):]):
        items += _checked(item, axis, shape)
        axis += _consumed(item)
    return items


def _consumed(item) -> int:
    """How many axes an item speaks of."""
    if item is None or item is Ellipsis:
        return 0
    return item.ndim if getattr(item, "dtype", None) == np.bool_ else 1


def _checked(item, axis: int, shape: tuple[int, ...]) -> list:
    """An item as the user wrote it, as items of the forms that plans know."""
    if item is None or isinstance(item, slice | Slice):
        return [item]
    if isinstance(item, int | np.integer):
        return [int(item)]
    if isinstance(item, str):
        raise TypeError(explain("x[...]", "strings do not index arrays.", f"index: {item!r}"))
    if isinstance(item, list | tuple):
        raise _ambiguous(item)
    if not is_arraylike(item):
        raise TypeError(explain(
            "x[...]", f"a {type(item).__name__} does not index arrays.", f"index: {item!r:.100}"))
    aval = typeof(item)
    if aval.dtype == np.bool_:
        return _positions(item, axis, shape)
    if not dtypes.issubdtype(aval.dtype, np.integer):
        raise TypeError(explain(
            "x[...]", "indices must be integers or booleans.", f"index: {aval}",
            hint="use i.astype(int)."))
    return [item]


def _ambiguous(item) -> TypeError:
    return TypeError(explain(
        "x[...]", f"a {type(item).__name__} as an index is ambiguous.", f"index: {item!r:.100}",
        hint="write x[tanx.numpy.array([...])] to take several elements, or x[i, j] for two axes."))


def _positions(mask, axis: int, shape: tuple[int, ...]) -> list:
    """A mask as arrays of positions; its values must be known."""
    aval = typeof(mask)
    if isinstance(mask, Tracer):
        known = mask.concrete()
        if known is None:
            raise NonConcreteBooleanIndexError(mask)
        mask = known
    check_mask(aval, axis, shape)
    return [positions.astype(np.int32) for positions in np.nonzero(np.asarray(mask))]


def check_mask(aval, axis: int, shape: tuple[int, ...]) -> None:
    """A mask must fit the axes that it speaks of."""
    expected = shape[axis:axis + aval.ndim]
    if aval.shape != expected:
        raise IndexError(explain(
            "x[mask]", "a mask must have the shape of the axes that it indexes.",
            f"mask: {aval}", f"axes: {expected}, from axis {axis} of shape {shape}"))


def _from_end(i, n: int):
    """Negative indices counted from the end."""
    if isinstance(i, int):
        return i + n if i < 0 else i
    if isinstance(i, np.ndarray):
        return np.where(i < 0, i + n, i) if i.dtype.kind == "i" else i
    aval = typeof(i)
    if not dtypes.issubdtype(aval.dtype, np.signedinteger):
        return i
    if aval.dtype.itemsize < 4:
        i = convert(i, np.dtype(np.int32))
    zero, size = (convert(v, typeof(i).dtype, aval.weak_type) for v in (0, n))
    return lax.select_n(lax.lt(i, zero), i, lax.add(i, size))


def _broadcast(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise IndexError(explain(
            "x[...]", "arrays of indices must broadcast with each other.",
            f"shapes: {', '.join(map(str, shapes))}")) from None


# -- reading ---------------------------------------------------------------------------------------


def getitem(x, index):
    """``x[index]``."""
    x, items = resolve(x, index)
    if all(map(_is_static, items)):
        return _sliced(x, items)
    if not any(np.ndim(i) for i in items if not isinstance(i, slice | Slice)):
        starts = [i.start if isinstance(i, Slice) else i for i in items if i is not None]
        unit = all(_step(i) == 1 for i in items)
        if unit and all(isinstance(i, slice) or not np.ndim(i) for i in starts):
            return _dynamically_sliced(x, items)
    return gather(x, parse(x.shape, items))


def get(x, index, *, mode=None, fill_value=None, indices_are_sorted=False, unique_indices=False,
        wrap=True):
    """``x[index]`` with options: what to do outside of the array, and promises."""
    if mode is None and fill_value is None and wrap:
        return getitem(x, index)
    x, items = resolve(x, index)
    if mode is None and fill_value is not None:
        mode = "fill"
    return gather(x, parse(x.shape, items, wrap), mode, fill_value, indices_are_sorted,
                  unique_indices)


def resolve(x, index):
    """The array and the items of an index; booleans without dimensions become new axes."""
    parts = index if isinstance(index, tuple) else (index,)
    if not any(_is_bool(item) for item in parts):
        return x, items_of(x.shape, index)
    resolved: list = []
    for i, item in enumerate(parts):
        if not _is_bool(item):
            resolved.append(item)
            continue
        before = sum(map(_consumed, parts[:i]))
        if Ellipsis in [p for p in parts[:i] if p is Ellipsis]:
            before = x.ndim - sum(_consumed(p) for p in parts[i:] if not _is_bool(p))
        x = lax.expand_dims(x, (before,))
        resolved.append(np.zeros(int(bool(item)), np.int32))
    return x, items_of(x.shape, tuple(resolved))


def _is_bool(item) -> bool:
    return isinstance(item, bool | np.bool_) or (
        getattr(item, "dtype", None) == np.bool_ and not np.ndim(item))


def _is_static(item) -> bool:
    return item is None or isinstance(item, int | slice)


def _step(item) -> int:
    if isinstance(item, Slice):
        return item.stride
    if isinstance(item, slice) and item.step is not None:
        return operator.index(item.step)
    return 1


def _sliced(x, items):
    """Integers and slices, all known: one slice, then what is to be turned, dropped or added."""
    starts, limits, strides, turned, dropped, new = [], [], [], [], [], []
    axis = kept = 0
    shape = x.shape
    for item in items:
        if item is None:
            new.append(kept)
            kept += 1
            continue
        n = shape[axis]
        if isinstance(item, slice):
            start, size, step = static_slice(item, n, axis)
            if step < 0:
                turned.append(axis)
                start, step = start + (size - 1) * step if size else start, -step
            starts.append(start)
            limits.append(start + (size - 1) * step + 1 if size else start)
            strides.append(step if size > 1 else 1)
            kept += 1
        else:
            i = min(max(item + n if item < 0 else item, 0), max(n - 1, 0))
            if not n:
                raise IndexError(explain(
                    "x[i]", "an axis of size zero has no elements.", f"array: {typeof(x)}"))
            starts.append(i)
            limits.append(i + 1)
            strides.append(1)
            dropped.append(axis)
        axis += 1
    if tuple(limits) != shape or any(starts) or any(s != 1 for s in strides):
        x = lax.slice(x, starts, limits, strides if any(s != 1 for s in strides) else None)
    return _arranged(x, turned, dropped, new)


def _arranged(x, turned, dropped, new):
    """Reverse, drop, then add dimensions."""
    if turned:
        x = lax.rev(x, turned)
    if dropped:
        x = lax.squeeze(x, dropped)
    return lax.expand_dims(x, new) if new else x


def _dynamically_sliced(x, items):
    """Single positions, some of them computed, and whole or contiguous slices."""
    starts, sizes, dropped, new = [], [], [], []
    axis = kept = 0
    for item in items:
        if item is None:
            new.append(kept)
            kept += 1
            continue
        if isinstance(item, slice):
            start, size, _ = static_slice(item, x.shape[axis], axis)
            kept += 1
        elif isinstance(item, Slice):
            start, size = item.start, item.size
            kept += 1
        else:
            start, size = item, 1
            dropped.append(axis)
        starts.append(start)
        sizes.append(size)
        axis += 1
    return _arranged(lax.dynamic_slice(x, starts, sizes), [], dropped, new)


# -- plans as gathers and scatters -----------------------------------------------------------------


class Geometry(NamedTuple):
    """A plan in terms of gather and scatter."""

    indices: Any
    window_dims: tuple[int, ...]
    collapsed: tuple[int, ...]
    index_map: tuple[int, ...]
    sizes: tuple[int, ...]


def geometry(shape: tuple[int, ...], plan: Plan) -> Geometry:
    """The array of indices of a plan, and how its dimensions belong to those of the array."""
    outer: list[int] = []  # the dimensions of the array of indices, but for the last
    block = 0
    strides = []
    for entry in plan.entries:
        if entry.kind == "arrays":
            block = len(outer)
            outer += plan.batch
        elif entry.kind == "stride":
            strides.append(len(outer))
            outer.append(entry.size)
    sizes = [1] * len(shape)
    parts: dict[int, tuple[Any, list[int]]] = {}  # by axis: an index, and the dimensions it spans
    next_stride = iter(strides)
    for point in plan.points:
        rank = np.ndim(point.index)
        first = next(next_stride) if point.strided else block + len(plan.batch) - rank
        parts[point.axis] = (point.index, list(range(first, first + rank)))
    for window in plan.windows:
        sizes[window.axis] = window.size
        if not (isinstance(window.start, int) and window.start == 0
                and window.size == shape[window.axis]):
            parts[window.axis] = (window.start, [])
    axes = sorted(parts)
    return Geometry(_index_array([parts[a] for a in axes], tuple(outer)), plan.window_dims,
                    tuple(p.axis for p in plan.points), tuple(axes), tuple(sizes))


def _index_array(parts, outer: tuple[int, ...]):
    """Indices side by side along a last dimension; known ones are put together at once."""
    given = [typeof(i).dtype for i, _ in parts if not isinstance(i, int)]
    wide = any(d.itemsize > 4 or d == np.uint32 for d in given)
    dtype = dtypes.canonicalize_dtype(np.dtype(np.int64 if wide else np.int32))
    if not parts:
        return np.zeros((*outer, 0), dtype)
    columns = [lax.broadcast_in_dim(convert(i, dtype), (*outer, 1), dims) for i, dims in parts]
    return columns[0] if len(columns) == 1 else lax.concatenate(columns, len(outer))


def gather(x, plan: Plan, mode=None, fill_value=None, indices_are_sorted=False,
           unique_indices=False):
    """Read an array by a plan."""
    geo = geometry(x.shape, plan)
    numbers = lax.GatherDimensionNumbers(geo.window_dims, geo.collapsed, geo.index_map)
    out = lax.gather(x, geo.indices, numbers, geo.sizes, mode=mode, fill_value=fill_value,
                     indices_are_sorted=indices_are_sorted or plan.scalar,
                     unique_indices=unique_indices or plan.scalar)
    return _arranged(out, plan.reversed_dims, [], plan.new_dims)
