"""Gather and scatter: the correspondence of dimensions of operand, indices and result.

An index array of shape ``(*batch, K)`` holds, for each batch position, where a window starts in
``K`` dimensions of the operand. :class:`Geometry` computes which dimensions correspond, for reading
windows and for writing them.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from .._base.symbolic import is_symbolic
from .._base.tuples import NamedTuple
from .._core.primitive import parameter
from .._loops import build, instructions
from ..errors import explain
from .slicing import own

__all__ = ["GatherDimensionNumbers", "GatherScatterMode"]


@parameter
class GatherScatterMode(enum.Enum):
    """How to treat windows that exceed the operand.

    ``CLIP`` moves them inside. ``FILL_OR_DROP`` reads a fill value and writes nothing; with
    ``ONE_HOT`` the fill value is zero, as in a product with one-hot vectors. With
    ``PROMISE_IN_BOUNDS`` the caller promises that all windows are inside; otherwise reads are moved
    and writes dropped.
    """

    CLIP = enum.auto()
    FILL_OR_DROP = enum.auto()
    PROMISE_IN_BOUNDS = enum.auto()
    ONE_HOT = enum.auto()

    @staticmethod
    def from_any(s: str | GatherScatterMode | None) -> GatherScatterMode:
        """The mode by any of its names; None means ``FILL_OR_DROP``.

        >>> lax.GatherScatterMode.from_any("drop")
        <GatherScatterMode.FILL_OR_DROP: 2>
        """
        if isinstance(s, GatherScatterMode):
            return s
        mode = _MODES.get(s)
        if mode is None:
            raise ValueError(explain(
                "tanx.lax.GatherScatterMode", f"there is no mode {s!r}.",
                f"modes: {', '.join(repr(name) for name in _MODES if name)}"))
        return mode


_MODES = {None: GatherScatterMode.FILL_OR_DROP, "clip": GatherScatterMode.CLIP,
          "fill": GatherScatterMode.FILL_OR_DROP, "drop": GatherScatterMode.FILL_OR_DROP,
          "promise_in_bounds": GatherScatterMode.PROMISE_IN_BOUNDS,
          "one_hot": GatherScatterMode.ONE_HOT}


@parameter
class GatherDimensionNumbers(NamedTuple):
    """Which dimensions of operand, indices and result correspond.

    ``offset_dims`` are the dimensions of the result that run inside a window; the others are those
    of the indices, in order. ``collapsed_slice_dims`` are dimensions of the operand along which a
    window has size 1 and that the result lacks. ``start_index_map[k]`` is the dimension of the
    operand that the k-th component of an index refers to. ``operand_batching_dims`` of the operand
    correspond to ``start_indices_batching_dims`` of the indices.
    """

    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    start_indices_batching_dims: tuple[int, ...] = ()


class Geometry(NamedTuple):
    """The dimension numbers of a gather, resolved for given shapes."""

    shape: tuple[int, ...]            # of the result
    batch_dims: tuple[int, ...]       # of the result, those of the indices
    offset_dims: tuple[int, ...]      # of the result, those inside a window
    window_dims: tuple[int, ...]      # of the operand, one for each offset dimension
    starts: tuple[int | None, ...]    # for each operand dimension, the component of its index
    batching: tuple[int | None, ...]  # for each operand dimension, the batch dimension beside it
    lead: int                         # all operand dimensions from here on are read whole
    to_result: tuple[int, ...]        # from batch, then window dimensions to those of the result
    room: np.ndarray                  # for each component, the last place where a window fits
    taken: int | None                 # the only dimension not read whole, if numpy.take applies


class Mismatch(Exception):
    """Dimension numbers that do not match shapes; holds the broken rule."""


@lru_cache(maxsize=4096)
def geometry(operand: tuple[int, ...], indices: tuple[int, ...], numbers: GatherDimensionNumbers,
             sizes: tuple[int, ...]) -> Geometry:
    """Check dimension numbers against the shapes of operand, indices and window."""
    for rule in _broken_rules(operand, indices, numbers, sizes):
        raise Mismatch(rule)
    batch = indices[:-1]
    absent = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    window_dims = tuple(d for d in range(len(operand)) if d not in absent)
    rank = len(batch) + len(window_dims)
    batch_dims = tuple(p for p in range(rank) if p not in numbers.offset_dims)
    shape = [0] * rank
    for p, n in zip(batch_dims + numbers.offset_dims, [*batch, *(sizes[d] for d in window_dims)]):
        shape[p] = n
    starts: list[int | None] = [None] * len(operand)
    batching: list[int | None] = [None] * len(operand)
    for k, d in enumerate(numbers.start_index_map):
        starts[d] = k
    for d, b in zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims):
        batching[d] = b
    lead = len(operand)
    while lead and lead - 1 not in absent and sizes[lead - 1] == operand[lead - 1]:
        lead -= 1
    return Geometry(tuple(shape), batch_dims, numbers.offset_dims, window_dims, tuple(starts),
                    tuple(batching), lead,
                    tuple(np.argsort(batch_dims + numbers.offset_dims).tolist()),
                    np.array([_known(operand[d] - sizes[d]) for d in numbers.start_index_map],
                             np.int64),
                    _taken(operand, numbers, sizes))


def divided_windows(operand, indices, geo: Geometry, sizes: tuple[int, ...]) -> tuple | None:
    """The division of windows of an operand type, for a type of indices; None if ambiguous.

    Operands may be divided along dimensions that windows read whole, and along batches.
    """
    entries: list = [None] * len(geo.shape)
    for d, entry in enumerate(operand.entries):
        batch = geo.batching[d]
        if batch is not None:
            beside = indices.entries[batch]
            if entry is not None is not beside and entry != beside:
                return None
            entries[geo.batch_dims[batch]] = beside if entry is None else entry
        elif entry is not None:
            if d not in geo.window_dims or sizes[d] != operand.shape[d]:
                return None
            entries[geo.offset_dims[geo.window_dims.index(d)]] = entry
    batches = {b for b in geo.batching if b is not None}
    if any(e is not None for b, e in enumerate(indices.entries) if b not in batches):
        return None
    return tuple(entries)


def _known(n) -> int:
    """A size for computations; for a symbolic size they never take place."""
    return 0 if is_symbolic(n) else n


def _taken(operand, numbers: GatherDimensionNumbers, sizes) -> int | None:
    """The dimension along which whole slices are read, if that is all a gather does."""
    (*others, d) = numbers.start_index_map or (None,)
    if others or numbers.collapsed_slice_dims != (d,) or numbers.operand_batching_dims:
        return None
    return d if all(m == n for i, (m, n) in enumerate(zip(sizes, operand)) if i != d) else None


def _broken_rules(operand, indices, numbers: GatherDimensionNumbers, sizes) -> Iterator[str]:
    """The rules that dimension numbers break; later ones rely on earlier ones."""
    offset, collapsed, start_map, batching, index_batching = numbers
    rank, batch_rank = len(operand), len(indices) - 1

    def axes(values, limit, name) -> Iterator[str]:
        if len(set(values)) < len(values) or not all(0 <= d < limit for d in values):
            yield f"{name} must be distinct and below {limit}."

    if batch_rank < 0:
        yield "indices must have a last dimension that holds the components of an index."
    if len(start_map) != indices[-1]:
        yield f"indices must have one component for each of {len(start_map)} mapped dimensions."
    yield from axes(start_map, rank, "operand dimensions that indices map to")
    yield from axes(collapsed + batching, rank, "collapsed and batching dimensions of the operand")
    yield from axes(index_batching, batch_rank, "batching dimensions of the indices")
    if set(start_map) & set(batching):
        yield "indices must not map to batching dimensions of the operand."
    if len(batching) != len(index_batching) or any(
            operand[d] != indices[b] for d, b in zip(batching, index_batching)):
        yield "batching dimensions of operand and indices must have the same sizes."
    if len(sizes) != rank or any(not 0 <= m <= n for m, n in zip(sizes, operand)):
        yield "a window must have a size for each dimension of the operand and fit into it."
    if any(sizes[d] > 1 for d in collapsed + batching) or any(sizes[d] != 1 for d in collapsed):
        yield "windows must have size 1 along collapsed and batching dimensions."
    if len(offset) != rank - len(collapsed) - len(batching):
        yield "there must be an offset dimension for each dimension that a window keeps."
    yield from axes(offset, batch_rank + len(offset), "offset dimensions")
    if list(offset) != sorted(offset) or list(collapsed) != sorted(collapsed):
        yield "offset and collapsed dimensions must be sorted."


def as_int64(indices: np.ndarray) -> np.ndarray:
    """Indices as signed integers; indices that are too large stay too large."""
    if indices.dtype == np.uint64:
        indices = np.minimum(indices, np.uint64(2**63 - 1))
    return indices.astype(np.int64, copy=False)


def inside(indices: np.ndarray, geo: Geometry) -> np.ndarray | None:
    """For each batch position, whether its window lies inside the operand; None if all do."""
    valid = (indices >= 0) & (indices <= geo.room)
    return None if valid.all() else np.all(valid, axis=-1)


def clipped(indices: np.ndarray, geo: Geometry) -> np.ndarray:
    """Indices with all windows moved inside the operand."""
    return np.minimum(np.maximum(indices, 0), geo.room)


def positions(indices: np.ndarray, geo: Geometry, operand, sizes,
              only: np.ndarray | None = None) -> list[np.ndarray]:
    """Index arrays for the leading operand dimensions, of shape batch + leading window.

    With ``only``, a mask over the batch, the batch is the list of positions where it holds.
    """
    batch = indices.shape[:-1]
    window = [d for d in geo.window_dims if d < geo.lead]
    result = []
    for d in range(geo.lead):
        k, b = geo.starts[d], geo.batching[d]
        if b is not None:
            place = np.arange(operand[d]).reshape([-1 if p == b else 1 for p in range(len(batch))])
        elif k is not None:
            place = indices[..., k]
        else:
            place = np.zeros((1,) * len(batch), np.int64)
        if only is not None:
            place = np.broadcast_to(place, batch)[only]
        if window:
            place = place.reshape(place.shape + (1,) * len(window))
            if d in window and sizes[d] != 1:
                place = place + np.arange(sizes[d]).reshape([-1 if w == d else 1 for w in window])
        result.append(place)
    return result


def take_windows(x: np.ndarray, indices: np.ndarray, geo: Geometry, sizes) -> np.ndarray:
    """The windows with batch dimensions in front; all of them lie inside."""
    if geo.taken is not None and x.size:
        d, batch_rank = geo.taken, indices.ndim - 1
        if not x.flags.c_contiguous:  # numpy.take would copy all of it first
            return np.moveaxis(x, d, 0)[indices[..., 0]]
        taken = x.take(indices[..., 0], axis=d, mode="clip")
        return np.moveaxis(taken, range(d, d + batch_rank), range(batch_rank)) if d else taken
    windows = own(x[tuple(positions(indices, geo, x.shape, sizes))])
    shape = tuple([geo.shape[p] for p in geo.batch_dims + geo.offset_dims])
    # If no component varies with the batch, all windows are the same.
    return windows if windows.shape == shape else np.broadcast_to(windows, shape)


def window_index(at, operand, indices, geo: Geometry, sizes, clip: bool):
    """The operand's index for an index ``at`` of the result, and whether its window is inside.

    With ``clip`` the window is moved inside, so the second is None.
    """
    batch = [at[p] for p in geo.batch_dims]
    offset = dict(zip(geo.window_dims, [at[p] for p in geo.offset_dims]))
    index, valid = [], []
    for d, (n, size) in enumerate(zip(operand.shape, sizes)):
        k, b = geo.starts[d], geo.batching[d]
        place = batch[b] if b is not None else build.const(0)
        if k is not None:
            start = indices[[*batch, k]]
            if clip:
                high = min(n - size, instructions.value_range(start.dtype)[1])
                place = build.as_index(build.op("clamp", build.const(0, start.dtype), start,
                                                build.const(high, start.dtype)))
            else:
                place = build.as_index(start)
                valid.append((place >= 0) & (place <= n - size))
        index.append(place + offset[d] if d in offset else place)
    return index, None if clip else build.all_of(*valid)
