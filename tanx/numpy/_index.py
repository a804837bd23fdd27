"""Indexing: ``x[…]``, from the user's index to slices and gathers.

An index of integers and slices that are known while tracing is a slice, possibly followed by a
reversal and by dimensions dropped and added; these steps are computed once for each shape. Single
computed positions make a dynamic slice; everything else is a gather by a :mod:`plan <._plan>`.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from .. import dtypes
from .._base.config import check_static_indices
from .._base.flags import strict
from .._base.slices import Slice
from .._base.symbolic import is_symbolic, largest, least, slice_indices
from ..errors import NonConcreteBooleanIndexError, OutOfBoundsError, explain
from ..lax import _functions as lax
from ._bounds import check_plan, watched
from ._creation import asarray
from ._plan import NEW, Form, Plan, index_array, index_dtype, plan_of
from ._promotion import Array, Explicit, Tracer, convert, is_arraylike, staging, typeof

__all__: list[str] = []  # users see this file as operators


# -- reading ---------------------------------------------------------------------------------------


def getitem(x, index, clip=False):
    """``x[index]``; ``clip`` says that positions may be out of bounds."""
    key = (index,) if type(index) is int else _fixed(index)
    if key is None:
        if _is_rows(x, index):
            return gather(x, *_rows(x, index))
        x, items = items_of(x, index)
        key = _fixed(items)
        if key is None:
            return _read(x, *taken_apart(x.shape, items))
    checked = strict.value and not clip and (check_static_indices.value or watched())
    for primitive, params in _steps(x.shape, key, checked):
        x = primitive.bind(x, **params)
    return x


_STRATEGIES = ("auto", "static_slice", "dynamic_slice", "gather")


def get(x, index, *, mode=None, fill_value=None, indices_are_sorted=False, unique_indices=False,
        wrap=True, strategy="auto"):
    """``x[index]`` with options: the mode outside of the array, promises, and the strategy."""
    if strategy not in _STRATEGIES:
        raise ValueError(explain(
            "x.at[...].get", f"there is no strategy {strategy!r}.",
            f"strategies: {', '.join(map(repr, _STRATEGIES))}"))
    if mode is not None:
        mode = lax.GatherScatterMode.from_any(mode)
    # Slices that reach outside are moved inside, which is what these modes mean.
    moved = mode in (None, lax.GatherScatterMode.CLIP, lax.GatherScatterMode.PROMISE_IN_BOUNDS)
    if moved and wrap and strategy in ("auto", "static_slice") and _fixed(index) is not None:
        return getitem(x, index, mode is lax.GatherScatterMode.CLIP)
    x, plan, values = planned(x, index)
    if strategy == "static_slice" or strategy == "dynamic_slice" and not _is_window(plan):
        raise TypeError(explain(
            "x.at[...].get", f"the index is not a {strategy.replace('_', ' ')}.",
            f"array: {typeof(x)}", hint="leave the choice to strategy='auto'."))
    if moved and strategy != "gather":
        return _read(x, plan, values, wrap, mode, indices_are_sorted, unique_indices)
    return gather(x, plan, values, wrap, mode, fill_value, indices_are_sorted, unique_indices)


def _read(x, plan: Plan, values: Sequence, wrap=True, mode=None, indices_are_sorted=False,
          unique_indices=False):
    """Read an array by a plan, as a dynamic slice if it is one."""
    if not _is_window(plan):
        return gather(x, plan, values, wrap, mode, None, indices_are_sorted, unique_indices)
    given = {typeof(v).dtype for v in values if type(v) is not int}
    if len(given) > 1:
        wide = any(d.itemsize > 4 for d in given)
        dtype = dtypes.canonicalize_dtype(np.dtype(np.int64 if wide else np.int32))
        values = [v if type(v) is int else convert(v, dtype) for v in values]
    if watched(mode):
        check_plan(x, plan, values, wrap)
    piece = lax.dynamic_slice(x, values, plan.sizes, allow_negative_indices=wrap)
    if plan.dropped:
        piece = lax.squeeze(piece, plan.dropped)
    return _finished(piece, plan)


def _is_window(plan: Plan) -> bool:
    """Whether a plan reads one window."""
    return not plan.outer and plan.single


def gather(x, plan: Plan, values: Sequence, wrap=True, mode=None, fill_value=None,
           indices_are_sorted=False, unique_indices=False):
    """Read an array by a plan; ``mode`` and ``fill_value`` apply to positions outside of it."""
    if watched(mode):
        check_plan(x, plan, values, wrap)
    indices = index_array(plan, values, wrap)
    if 0 in plan.shape:
        return lax.full_like(x, 0, shape=plan.shape)
    if 0 in x.shape:
        raise IndexError(explain(
            "x[...]", "an array without elements has nothing to index.", f"array: {typeof(x)}"))
    piece = lax.gather(x, indices, plan.reading, plan.sizes, mode=mode, fill_value=fill_value,
                       indices_are_sorted=indices_are_sorted or plan.single,
                       unique_indices=unique_indices or plan.single)
    return _finished(piece, plan) if plan.turned or plan.new else piece


def _finished(x, plan: Plan):
    """The elements that were read, with reversed and new axes."""
    if plan.turned:
        x = lax.rev(x, plan.turned)
    return lax.expand_dims(x, plan.new) if plan.new else x


# -- indices that are known ------------------------------------------------------------------------


def _fixed(index) -> tuple | None:
    """A key for a known index: its integers, slices and new axes; None for any other."""
    key: list = []
    for item in index if type(index) is tuple else (index,):
        kind = type(item)
        if kind is slice:
            start, stop, step = bounds = item.start, item.stop, item.step
            if not ((start is None or type(start) is int or is_symbolic(start))
                    and (stop is None or type(stop) is int or is_symbolic(stop))
                    and (step is None or type(step) is int)):
                return None
            key.append(bounds)
        elif kind is int or item is None or item is Ellipsis or (
                kind is Slice and type(item.start) is int):
            key.append(item)
        else:
            return None
    return tuple(key)


@lru_cache(maxsize=8192)
def _steps(shape: tuple[int, ...], key: tuple, checked: bool) -> tuple:
    """How to index an array of a shape with a known index: primitives with their parameters.

    If ``checked``, a position out of bounds is an error.
    """
    starts: list[int] = []
    limits, strides, turned, dropped, new = [], [], [], [], []
    kept: list[int] = []  # the shape of the result
    for item in _spread(key, sum(i is not None and i is not Ellipsis for i in key), shape,
                        (None, None, None)):
        axis = len(starts)
        if item is None:
            new.append(len(kept))
            kept.append(1)
            continue
        if type(item) is int:
            start, size, step = _inside(item, shape[axis], axis, shape, checked), 1, 1
            dropped.append(axis)
        else:
            start, size, step = _bounds(item, shape[axis], axis, checked)
            kept.append(size)
        if step < 0:
            turned.append(axis)
            start, step = (start + (size - 1) * step if size != 0 else start), -step
        starts.append(start)
        limits.append(largest(start, start + (size - 1) * step + 1) if size != 0 else start)
        strides.append(step if size not in (0, 1) else 1)
    steps: list = []
    strided = any(step != 1 for step in strides)
    if tuple(limits) != shape or any(start != 0 for start in starts) or strided:
        steps.append((lax.slice_p, dict(
            start_indices=tuple(starts), limit_indices=tuple(limits),
            strides=tuple(strides) if strided else None)))
    if turned:
        steps.append((lax.rev_p, dict(dimensions=tuple(turned))))
    if dropped:
        steps.append((lax.squeeze_p, dict(dimensions=tuple(dropped))))
    if new:
        steps.append((lax.broadcast_in_dim_p, dict(
            shape=tuple(kept), sharding=None,
            broadcast_dimensions=tuple(d for d in range(len(kept)) if d not in new))))
    return tuple(steps)


def _spread(parts: Sequence, used: int, shape: tuple[int, ...], whole) -> list:
    """The parts of an index with whole slices for the axes that it does not mention."""
    dots = [i for i, item in enumerate(parts) if item is Ellipsis]
    if len(dots) > 1:
        raise IndexError(explain("x[...]", "an index may hold one ellipsis only."))
    if used > len(shape):
        raise IndexError(explain(
            "x[...]", f"too many indices: the array has {len(shape)} dimensions, and {used} are "
            "indexed.", f"shape: {shape}"))
    place = dots[0] if dots else len(parts)
    return [*parts[:place], *[whole] * (len(shape) - used), *parts[place + len(dots):]]


def _inside(i: int, n: int, axis: int, shape: tuple[int, ...], checked: bool) -> int:
    """A position counted from the front, moved inside where it is out of bounds."""
    if not n:
        raise IndexError(explain(
            "x[...]", f"axis {axis} has size zero, so it has no elements to index.",
            f"shape: {shape}"))
    if checked and not -n <= i < n:
        raise OutOfBoundsError(explain(
            "x[...]", f"index {i} is out of bounds for axis {axis}, which has size {n}.",
            f"shape: {shape}", hint="tanx.config.jax_check_static_indices or tanx_debug_bounds is "
            "on; without it the index is moved inside."))
    return least(largest(i + n if i < 0 else i, 0), n - 1)


def _bounds(item: tuple | Slice, n: int, axis: int, checked: bool = False) -> tuple[int, int, int]:
    """Start, length and step of a slice that is known."""
    if isinstance(item, tuple):
        if item[2] == 0:
            raise ValueError(explain("x[start:stop:step]", "the step of a slice must not be zero."))
        start, stop, step = slice_indices(slice(*item), n)
        if is_symbolic(start) or is_symbolic(stop):
            return start, largest(0, (stop - start + step - (1 if step > 0 else -1)) // step), step
        # A reversed slice of an empty axis starts at -1.
        return max(start, 0), len(range(start, stop, step)), step
    if item.span > n:
        raise TypeError(explain(
            "tanx.ds", "a slice of fixed size must fit into the array.", f"slice: {item}",
            f"size:  {n}, of axis {axis}"))
    start = item.start + n if item.start < 0 else item.start
    if checked and not 0 <= start <= n - item.span:
        raise OutOfBoundsError(explain(
            "tanx.ds", f"{item.size} elements from {item.start} on are out of bounds for axis "
            f"{axis}, which has size {n}.", f"slice: {item}"))
    return min(max(start, 0), n - item.span), item.size, item.stride


# -- from the user's index to items ----------------------------------------------------------------


def items_of(x, index) -> tuple[Any, tuple]:
    """The array, and one item of the index for each of its axes; None for new ones.

    Items are integers, slices and arrays of integers; these are NumPy arrays if they are known and
    may be used now. A boolean without dimensions is an index into an axis of size 1 that it adds.
    """
    if isinstance(index, Sequence) and not isinstance(index, tuple | str):
        raise TypeError(explain(
            "x[...]", f"a {type(index).__name__} as an index is ambiguous.",
            f"index: {index!r:.100}",
            hint="write x[tanx.numpy.array([...])] to take several elements, or x[i, j] for two "
                 "axes."))
    parts = list(map(_checked, index if isinstance(index, tuple) else (index,)))
    shape = x.shape
    parts = _spread(parts, sum(map(_consumed, parts)), shape, slice(None))
    items: list = []
    added: list[int] = []
    axis = 0
    for part in parts:
        if _is_mask(part):
            items += _positions(part, axis, shape)
            if not np.ndim(part):
                added.append(axis + len(added))
        else:
            items.append(part)
        axis += _consumed(part)
    return lax.expand_dims(x, added) if added else x, tuple(items)


def _checked(item):
    """An item of the user's index, converted to one of the forms that this file handles."""
    if item is None or item is Ellipsis or type(item) is int:
        return item
    if isinstance(item, slice):
        return slice(*(_bound(bound, item) for bound in (item.start, item.stop, item.step)))
    if isinstance(item, Slice):
        start = _checked(item.start)
        if type(start) is not int and not (isinstance(start, Tracer) and not start.shape):
            raise TypeError(explain("tanx.ds", "a slice starts at one integer.", f"slice: {item}"))
        return Slice(start, item.size, item.stride)
    if isinstance(item, list | tuple):
        item = asarray(item, np.int32 if not item else None)
    if not is_arraylike(item):
        error = TypeError if isinstance(item, str) else IndexError
        raise error(explain(
            "x[...]", f"a {type(item).__name__} does not index arrays.", f"index: {item!r:.100}",
            hint="indices are integers, slices, None, ..., and arrays of integers or booleans."))
    aval = typeof(item)
    if aval.dtype == np.bool_:
        return item if aval.shape or isinstance(item, Tracer) else np.bool_(item)
    if not dtypes.issubdtype(aval.dtype, np.integer):
        raise TypeError(explain(
            "x[...]", "indices must be integers or booleans.", f"index: {aval}",
            hint="use i.astype(int)."))
    if isinstance(item, Tracer):
        return item
    if not aval.shape:
        return int(item)
    return item if staging() and type(item) is Array else np.asarray(item)


def _bound(bound, item: slice):
    """A bound of a slice, which must be known."""
    if bound is None or type(bound) is int:
        return bound
    traced = isinstance(bound, Tracer) and bound.concrete() is None
    try:
        return operator.index(bound)
    except TypeError:
        raise (IndexError if traced else TypeError)(explain(
            "x[start:stop:step]", "the bounds of a slice must be integers known while tracing.",
            f"slice: {_text(item)}",
            hint="with a fixed size, write x[tanx.ds(start, size)] or tanx.lax.dynamic_slice; "
                 "else mask with tanx.numpy.where.")) from None


def _text(item: slice) -> str:
    parts = ["" if x is None else str(typeof(x)) if hasattr(x, "dtype") else repr(x)
             for x in (item.start, item.stop, item.step)]
    return ":".join(parts[:2] if item.step is None else parts)


def _is_mask(item) -> bool:
    return getattr(item, "dtype", None) == np.bool_


def _consumed(item) -> int:
    """How many axes an item indexes."""
    if item is None or item is Ellipsis:
        return 0
    return item.ndim if _is_mask(item) else 1


def _positions(mask, axis: int, shape: tuple[int, ...]) -> list[np.ndarray]:
    """A mask as arrays of positions; its values must be known."""
    aval = typeof(mask)
    check_mask(aval, axis, shape)
    if isinstance(mask, Tracer):
        known = mask.concrete()
        if known is None:
            raise NonConcreteBooleanIndexError(mask)
        mask = known
    mask = np.asarray(mask)
    # A mask without dimensions is an index into an axis of size 1.
    found = mask.nonzero() if aval.shape else (np.zeros(int(mask)),)
    return [positions.astype(index_dtype(n)) for positions, n in zip(found, aval.shape or (1,))]


def check_mask(aval, axis: int, shape: tuple[int, ...]) -> None:
    """Check that a mask fits the axes that it indexes; a size of 0, which selects nothing, fits."""
    expected = shape[axis:axis + aval.ndim]
    if len(expected) != aval.ndim or any(n not in (m, 0) for n, m in zip(aval.shape, expected)):
        raise IndexError(explain(
            "x[mask]", "a mask must have the shape of the axes that it indexes.",
            f"mask: {aval}", f"axes: {expected}, from axis {axis} of shape {shape}"))


# -- from items to plans ---------------------------------------------------------------------------


def located(x, index, wrap: bool, mode=None) -> tuple[Any, Plan, Any]:
    """The array, the plan of an index into it, and the array of indices."""
    checked = watched(mode)
    key = (index,) if type(index) is int else _fixed(index)
    if key is not None and not staging() and not checked:
        return x, *_fixed_indices(x.shape, key, wrap)
    x, plan, values = planned(x, index)
    if checked:
        check_plan(x, plan, values, wrap)
    return x, plan, index_array(plan, values, wrap)


@lru_cache(maxsize=8192)
def _fixed_indices(shape: tuple[int, ...], key: tuple, wrap: bool) -> tuple[Plan, Any]:
    plan, values = _fixed_plan(shape, key)
    return plan, index_array(plan, values, wrap)


def planned(x, index) -> tuple[Any, Plan, Sequence]:
    """The array, the plan of an index into it, and its values by axis."""
    key = (index,) if type(index) is int else _fixed(index)
    if key is not None:
        return x, *_fixed_plan(x.shape, key)
    if _is_rows(x, index):
        return x, *_rows(x, index)
    x, items = items_of(x, index)
    return x, *taken_apart(x.shape, items)


@lru_cache(maxsize=8192)
def _fixed_plan(shape: tuple[int, ...], key: tuple) -> tuple[Plan, Sequence]:
    """The plan and the values of a known index."""
    used = sum(item is not None and item is not Ellipsis for item in key)
    items = _spread(key, used, shape, (None, None, None))
    return taken_apart(shape, [slice(*item) if type(item) is tuple else item for item in items])


def _is_rows(x, index) -> bool:
    """Whether an index is one array of positions along the first axis, known right now."""
    return (type(index) in (Array, np.ndarray) and index.dtype.kind in "iu" and index.ndim > 0
            and x.ndim > 0 and not staging() and not Explicit.seen)


def _rows(x, index) -> tuple[Plan, Sequence]:
    """The plan and the values of an array of rows: the most common index with computed values."""
    return _rows_plan(x.shape, index.shape), (np.asarray(index),)


@lru_cache(maxsize=4096)
def _rows_plan(shape: tuple[int, ...], index_shape: tuple[int, ...]) -> Plan:
    return plan_of(shape, (Form("index", index_shape), *(Form("window", (n,), True)
                                                         for n in shape[1:])))


def taken_apart(shape: tuple[int, ...], items: Sequence) -> tuple[Plan, Sequence]:
    """The plan and the values of an index, given by an item for each axis and for each new one."""
    forms: list[Form] = []
    values: list = []
    for item in items:
        if item is None:
            forms.append(NEW)
            continue
        if type(item) is slice:
            form, value = _window(item, shape[len(values)])
        elif type(item) is Slice:
            form, value = _fixed_size(item, shape[len(values)])
        else:
            form, value = Form("index", np.shape(item)), item
        forms.append(form)
        values.append(value)
    return plan_of(shape, tuple(forms)), values


def _window(item: slice, n: int) -> tuple[Form, Any]:
    """The form and the value of a slice whose bounds are known."""
    start, size, step = _bounds((item.start, item.stop, item.step), n, 0)
    turned = step < 0 and size not in (0, 1)
    if turned:
        start, step = start + (size - 1) * step, -step
    if step == 1 or size in (0, 1):
        return Form("window", (size,), start == 0 and size == n, turned), start
    return Form("stride", (size,), False, turned), range(start, start + size * step, step)


def _fixed_size(item: Slice, n: int) -> tuple[Form, Any]:
    """The form and the value of a slice that may start anywhere."""
    start, size, step = item.start, item.size, item.stride
    if step == 1:
        return Form("window", (size,)), start
    if type(start) is int:
        return Form("stride", (size,)), range(start, start + size * step, step)
    count = lax.iota(index_dtype(n), size)
    steps = lax.mul(convert(step, count.dtype), count)
    return Form("stride", (size,)), lax.add(convert(start, count.dtype), steps)
