"""Parts of references: the elements of an index, and reading and writing them.
An index becomes an :class:`NDIndexer` with one entry per dimension: an integer, an array of
integers, or a slice. Indexers are pytrees whose leaves are the computed values, which become
operands of equations; the rest is in the structure, a parameter.

Known integers out of bounds are an error. Computed ones are moved inside, except for writes at
arrays of indices, which are dropped.
"""

from __future__ import annotations

import builtins
import dataclasses
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from .. import dtypes
from .._base.slices import Slice
from .._core.array import Array
from .._core.explicit import is_divided
from .._core.trace import Tracer
from .._core.types import is_arraylike, typeof
from ..errors import explain
from ..tree_util import register_pytree_node, tree_flatten, tree_unflatten
from .arith import add
from .base import broadcast_in_dim, reshape
from .bits import bitwise_or
from .compare import lt, select_n
from .convert import convert
from .dynamic import dynamic_slice, dynamic_update_slice
from .gather_geometry import GatherDimensionNumbers, GatherScatterMode
from .gather_scatter import ScatterDimensionNumbers, gather, scatter, scatter_add
from .layout import expand_dims, squeeze
from .operands import letter
from .slicing import concatenate, pad, slice

__all__ = ["NDIndexer", "added", "indexers_of", "part_type", "read", "written"]

_INDEX = np.dtype(np.int32)
_ALL = object()  # dimensions that an ellipsis covers


@dataclasses.dataclass(frozen=True, slots=True)
class NDIndexer:
    """The elements that an index selects from an array of a shape; one entry per dimension."""

    indices: tuple
    shape: tuple[int, ...]
    int_indexer_shape: tuple[int, ...]
    validate: bool = False

    def get_indexer_shape(self) -> tuple[int, ...]:
        """The shape of the part."""
        rest = [e.size for e in self.indices if isinstance(e, Slice)]
        at = self.array_position()
        return (*rest[:at], *self.int_indexer_shape, *rest[at:])

    def array_position(self) -> int:
        """The number of sliced dimensions in front of those of index arrays, as in NumPy."""
        whole = [d for d, e in enumerate(self.indices) if not isinstance(e, Slice)]
        if not whole or whole[-1] - whole[0] >= len(whole):
            return 0
        return whole[0]

    def sliced(self) -> NDIndexer:
        """The indexer of the slices alone: integers become whole dimensions."""
        return NDIndexer(tuple(e if isinstance(e, Slice) else Slice(0, n) for e, n
                               in zip(self.indices, self.shape)), self.shape, ())

    def part_type(self, aval):
        """The type of the part of a value of some type."""
        return aval.update(shape=self.get_indexer_shape())

    def taken(self, value):
        """The part of a value."""
        return _taken(value, self)

    def replaced(self, value, new):
        """A value with the part replaced."""
        return _replaced(value, self, new)

    def text(self, show: Callable[[Any], str]) -> str:
        """The indexer as jaxprs write it; ``show`` writes a leaf."""
        return f"[{','.join(_entry_text(e, n, show) for e, n in zip(self.indices, self.shape))}]"


def _entry_text(entry, size: int, show: Callable[[Any], str]) -> str:
    if not isinstance(entry, Slice):
        return show(entry)
    if not isinstance(entry.start, int):
        return f"{show(entry.start)}:{show(entry.start)}+{entry.size}"
    stop = entry.start + entry.size
    return f"{entry.start or ''}:{'' if stop == size else stop}"


def _flat_indexer(indexer: NDIndexer):
    leaves, tree = tree_flatten(indexer.indices)
    return leaves, (tree, indexer.shape, indexer.int_indexer_shape)


def _flat_slice(part: Slice):
    static = isinstance(part.start, int)
    return (None if static else part.start, None), (
        part.start if static else None, part.size, part.stride, part.from_end)


register_pytree_node(Slice, _flat_slice, lambda aux, children: Slice(
    children[0] if aux[0] is None else aux[0], *aux[1:]))
register_pytree_node(NDIndexer, _flat_indexer, lambda aux, leaves: NDIndexer(
    tree_unflatten(aux[0], leaves), aux[1], aux[2]))


# -- from an index to indexers ---------------------------------------------------------------------


def indexers_of(function: str, idx, shape: tuple[int, ...]) -> tuple[NDIndexer, ...]:
    """An index of an array of a shape as indexers; none if it selects the whole array."""
    entries = () if idx is None else idx if type(idx) is tuple else (idx,)
    if all(entry is Ellipsis for entry in entries[:1]) and len(entries) < 2:
        return ()
    dots = [i for i, e in enumerate(entries) if e is Ellipsis]
    if len(dots) > 1:
        raise ValueError(explain(function, "only one ellipsis is supported.", f"index: {idx}"))
    if len(entries) - len(dots) > len(shape):
        raise ValueError(explain(
            function, "the index is longer than the shape of the reference.",
            f"index: {_short(idx)}", f"shape: {shape}"))
    at = dots[0] if dots else len(entries)
    missing = len(shape) - (len(entries) - len(dots))
    entries = (*entries[:at], *[_ALL] * missing, *entries[at + 1:])
    found = tuple(_entry(function, e, n) for e, n in zip(entries, shape, strict=True))
    shapes = [typeof(e).shape for e in found if not isinstance(e, Slice | int)]
    try:
        joint = np.broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError(explain(
            function, "index arrays must broadcast to one shape.",
            f"shapes: {', '.join(map(str, shapes))}")) from None
    return (NDIndexer(found, shape, joint),)


def _entry(function: str, entry, size: int):
    """One entry of an index: an integer, an array of integers, or a :class:`Slice`."""
    if entry is _ALL:
        return Slice(0, size)
    if isinstance(entry, Slice):
        return entry
    if isinstance(entry, builtins.slice):
        return _known_slice(function, entry, size)
    if isinstance(entry, int | np.integer) and not isinstance(entry, bool):
        if not -size <= entry < size:
            raise ValueError(explain(function, "the index is out of bounds.", f"index: {entry}",
                                     f"size:  {size}"))
        return int(entry)
    if not is_arraylike(entry):
        raise ValueError(explain(
            function, "an index consists of integers, slices and arrays of integers.",
            f"given: {entry!r:.100} of type {type(entry).__name__}"))
    aval = typeof(entry)
    if not dtypes.issubdtype(aval.dtype, np.integer):
        raise IndexError(explain(
            function, "arrays used as indices must hold integers.", f"given: {aval}",
            hint="write tanx.numpy.where(mask, new, ref[...]) to all of the reference."
            if aval.dtype == bool else None))
    return entry


def _known_slice(function: str, entry, size: int) -> Slice:
    try:
        start, stop, stride = entry.indices(size)
    except TypeError:
        raise ValueError(explain(
            function, "the ends of a slice must be known while tracing.", f"slice: {entry}",
            hint="use tanx.ds(start, size).")) from None
    if stride < 1:
        raise ValueError(explain(function, "a slice must have a step of 1 or more.",
                                 f"slice: {entry}"))
    if start >= size and size:
        raise ValueError(explain(function, "the slice is out of bounds.", f"slice: {entry}",
                                 f"size:  {size}"))
    return Slice(start, max(0, -(-(stop - start) // stride)), stride)


def _short(idx) -> str:
    return f"{idx!r:.100}"


def part_type(aval, indexers: Sequence[NDIndexer]):
    """The type of the part that indexers select from a value of a type."""
    aval = aval.strip_weak_type()
    for indexer in indexers:
        aval = indexer.part_type(aval)
    return aval


# -- parts of values -------------------------------------------------------------------------------


def read(value, indexers: Sequence[NDIndexer]):
    """The part of a value that indexers select, each from the result of the one before."""
    for indexer in indexers:
        value = indexer.taken(value)
    return value


def written(value, indexers: Sequence[NDIndexer], new):
    """A value with the selected part replaced."""
    if not indexers:
        return new
    first, *rest = indexers
    if rest:
        new = written(first.taken(value), rest, new)
    return first.replaced(value, new)


def added(value, indexers: Sequence[NDIndexer], term):
    """A value with ``term`` added to a part of it; repeated indices add up."""
    if len(indexers) == 1 and indexers[0].int_indexer_shape:
        indexer = indexers[0]
        slices = indexer.sliced()
        part = _taken(value, slices)
        return _replaced(value, slices, _scattered(scatter_add, part, indexer, term))
    if len(indexers) == 1 and isinstance(indexers[0], NDIndexer):
        whole = _padded(value, indexers[0], term)
        if whole is not None:
            return add(value, whole)
    return written(value, indexers, total(read(value, indexers), term))


def _padded(value, indexer: NDIndexer, term):
    """What to add to the whole value, to add ``term`` to a large part of it at a known place.

    Compiled code then adds in one loop. Otherwise it computes the new part before it stores it, and
    elements with gaps one by one. None if the part is small, or starts at a computed place.
    """
    starts, spans, strides = _ranges(indexer)
    dtype = typeof(value).dtype
    if is_divided(typeof(value)) or not dtypes.issubdtype(dtype, np.number) or not all(
            type(n) is int for n in (*starts, *indexer.shape)):
        return None
    if 4 * prod(spans) < prod(indexer.shape) or (
            spans == list(indexer.shape) and not any(stride > 1 for stride in strides)):
        return None
    single = [d for d, e in enumerate(indexer.indices) if not isinstance(e, Slice)]
    # Negative zeros change nothing; other zeros would change the sign of negative ones.
    zero = {"f": -0.0, "c": complex(-0.0, -0.0)}.get(letter(dtype), 0)
    return pad(expand_dims(term, single) if single else term, np.asarray(zero, dtype), [
        (i, n - i - span, stride - 1)
        for i, n, span, stride in zip(starts, indexer.shape, spans, strides)])


def total(x, y):
    """A sum as references accumulate it: booleans are combined by or."""
    return bitwise_or(x, y) if typeof(x).dtype == bool else add(x, y)


def known(index) -> int | None:
    """A Python integer, or None if the index is computed."""
    if isinstance(index, Tracer):
        index = index.concrete()
        if index is None:
            return None
    return index if isinstance(index, int) else int(index)


def _taken(value, indexer: NDIndexer):
    if indexer.int_indexer_shape:
        return _gathered(_taken(value, indexer.sliced()), indexer)
    starts, spans, strides = _ranges(indexer)
    shape = indexer.shape
    if all(type(i) is int for i in starts):
        if spans != list(shape) or any(stride > 1 for stride in strides):
            limits = [i + n for i, n in zip(starts, spans)]
            value = slice(value, starts, limits, strides if max(strides) > 1 else None)
    else:
        value = dynamic_slice(value, starts, spans, allow_negative_indices=_from_end(indexer))
        if max(strides) > 1:
            value = slice(value, [0] * len(spans), spans, strides)
    single = [d for d, e in enumerate(indexer.indices) if not isinstance(e, Slice)]
    return squeeze(value, single) if single else value


def _replaced(value, indexer: NDIndexer, new):
    if indexer.int_indexer_shape:
        slices = indexer.sliced()
        part = _scattered(scatter, _taken(value, slices), indexer, new)
        return _replaced(value, slices, part)
    shape = indexer.shape
    starts, spans, strides = _ranges(indexer)
    for d, stride in enumerate(strides):
        if stride > 1:
            return _replaced_rows(value, indexer, new, d)
    single = [d for d, e in enumerate(indexer.indices) if not isinstance(e, Slice)]
    if single:
        new = expand_dims(new, single)
    if spans == list(shape):
        return new
    return dynamic_update_slice(value, new, starts, allow_negative_indices=_from_end(indexer))


def _from_end(indexer: NDIndexer) -> list[bool]:
    """Whether negative indices count from the end, for each dimension."""
    return [not isinstance(e, Slice) or e.from_end for e in indexer.indices]


def _ranges(indexer: NDIndexer) -> tuple[list, list[int], list[int]]:
    """The starts, limits and strides of the part in each dimension."""
    starts: list[Any] = []
    spans, strides = [], []
    for entry, size in zip(indexer.indices, indexer.shape):
        part = entry if isinstance(entry, Slice) else Slice(entry, 1)
        start = known(part.start)
        if start is None:
            starts.append(part.start)
        else:
            start += size if start < 0 and part.from_end else 0
            starts.append(min(max(start, 0), size - part.span))
        spans.append(part.span)
        strides.append(part.stride if part.size > 1 else 1)
    return starts, spans, strides


def _replaced_rows(value, indexer: NDIndexer, new, dim: int):
    """As :func:`_replaced`, for a slice along ``dim`` that skips elements."""
    part, size = indexer.indices[dim], indexer.shape[dim]
    rows = NDIndexer(tuple(part if d == dim else Slice(0, n) for d, n in enumerate(indexer.shape)),
                     indexer.shape, ())
    shape = tuple(part.size if d == dim else n for d, n in enumerate(indexer.shape))
    inner = NDIndexer(tuple(Slice(0, part.size) if d == dim else e
                            for d, e in enumerate(indexer.indices)), shape, ())
    start = known(part.start)
    places: Any = np.arange(part.size, dtype=_INDEX) * part.stride
    places = (places + (start + size if start < 0 else start) if start is not None
              else add(places, broadcast_in_dim(convert(part.start, _INDEX), places.shape, ())))
    window = tuple(d for d in range(len(shape)) if d != dim)
    return scatter(value, reshape(places, (part.size, 1)),
                   _replaced(_taken(value, rows), inner, new),
                   ScatterDimensionNumbers(window, (dim,), (dim,)), unique_indices=True)


def _index_columns(indexer: NDIndexer) -> tuple[list[int], Any, tuple[int, ...], tuple[int, ...]]:
    """Dimensions indexed by integers, the array of their indices, and the places of dimensions.

    These are the dimensions of the part that come from slices, and all of its dimensions.
    """
    joint = indexer.int_indexer_shape
    dims = [d for d, e in enumerate(indexer.indices) if not isinstance(e, Slice)]
    columns = []
    for d in dims:
        entry = indexer.indices[d]
        index = convert(np.asarray(entry, _INDEX) if isinstance(entry, int) else entry, _INDEX)
        index = select_n(lt(index, _constant(0, index)), index,
                         add(index, _constant(indexer.shape[d], index)))
        rank = typeof(index).ndim
        index = broadcast_in_dim(index, joint, range(len(joint) - rank, len(joint)))
        columns.append(expand_dims(index, (len(joint),)))
    at = indexer.array_position()
    rank = len(indexer.shape) - len(dims) + len(joint)
    window = tuple(d for d in range(rank) if not at <= d < at + len(joint))
    return dims, concatenate(columns, len(joint)), window, tuple(dims)


def _constant(value: int, like):
    return np.full(typeof(like).shape, value, _INDEX)


def _gathered(value, indexer: NDIndexer):
    """Elements at index arrays; slices are applied already."""
    dims, columns, window, collapsed = _index_columns(indexer)
    sizes = [1 if d in dims else n for d, n in enumerate(typeof(value).shape)]
    return gather(value, columns, GatherDimensionNumbers(window, collapsed, collapsed), sizes,
                  mode=GatherScatterMode.CLIP)


def _scattered(how: Callable, value, indexer: NDIndexer, new):
    """Elements at index arrays replaced or added to; slices are applied already."""
    _, columns, window, inserted = _index_columns(indexer)
    return how(value, columns, new, ScatterDimensionNumbers(window, inserted, inserted),
               mode=GatherScatterMode.FILL_OR_DROP)


# -- parts of memory -------------------------------------------------------------------------------


def place(indexers: Sequence[NDIndexer]) -> tuple | None:
    """An index of NumPy for the same elements, or None if it does not exist."""
    if len(indexers) > 1 or not all(isinstance(i, NDIndexer) for i in indexers):
        return None
    found: list[Any] = []
    for entry, size in zip(indexers[0].indices, indexers[0].shape) if indexers else ():
        if isinstance(entry, Slice):
            start = known(entry.start)
            if start is None or not 0 <= start <= size - entry.span:
                return None
            found.append(np.s_[start:start + entry.span:entry.stride])
            continue
        if isinstance(entry, Tracer):
            return None
        index = np.asarray(entry._value if type(entry) is Array else entry)
        if not np.all((index >= -size) & (index < size)):
            return None
        found.append(index if index.ndim else int(index))
    return tuple(found)
