"""Slicing primitives: parts at static and at computed places, padding, joining and splitting.

Static forms check their bounds. The dynamic forms take start indices that are read from data: a
negative one counts from the end, and a window that would stick out is moved inside.
"""

from __future__ import annotations

import builtins
import operator
from functools import lru_cache
from math import prod

import numpy as np

from .. import dtypes
from .._base import symbolic
from .._base.axes import canonical_axis
from .._core.array import Array
from .._core.linear import is_linear
from .._core.primitive import Kind, Primitive
from .._core.trace import Tracer
from .._core.types import ShapedArray, canonical_shape, is_arraylike, typeof
from .._loops import build, instructions
from ..errors import explain
from .batching import batch_size, materialize
from .derive import instantiate, linear, linear_in, zeros_of
from .families import letter, like
from .layout import (
    as_array,
    broadcast_in_dim,
    choose,
    expand_dims,
    fill_by_parts,
    same_dtype,
    squeeze,
    unstack,
)

__all__ = ["concatenate", "concatenate_p", "dynamic_index_in_dim", "dynamic_slice",
           "dynamic_slice_in_dim", "dynamic_slice_p", "dynamic_update_index_in_dim",
           "dynamic_update_slice", "dynamic_update_slice_in_dim", "dynamic_update_slice_p",
           "index_in_dim", "pad", "pad_p", "slice", "slice_in_dim", "slice_p", "split", "split_p"]


def own(piece: np.ndarray) -> np.ndarray:
    """A view as it is, unless it is so small a part that it should not keep its whole alive."""
    whole = piece.base
    if type(whole) is np.ndarray and 2 * piece.nbytes < whole.nbytes:
        return piece.copy()
    return piece


# -- static slices ---------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def _part(x: ShapedArray, start_indices, limit_indices, strides) -> ShapedArray:
    """The type of a part; remembered, for eager calls ask again and again."""
    steps = (1,) * x.ndim if strides is None else strides

    def fail(rule):
        raise TypeError(explain(
            "tanx.lax.slice", rule, f"operand:       {x}", f"start_indices: {start_indices}",
            f"limit_indices: {limit_indices}", f"strides:       {strides}",
            hint="Python's x[a:b] takes negative and overlong slices."))
    if not (len(start_indices) == len(limit_indices) == len(steps) == x.ndim):
        fail("there must be a start, a limit and a stride for each dimension.")
    for n, start, limit, step in zip(x.shape, start_indices, limit_indices, steps):
        if not 0 <= start <= limit <= n:
            fail("0 <= start <= limit <= size must hold in each dimension.")
        if step < 1:
            fail("strides must be positive.")
    return x.update(shape=tuple([(limit - start + step - 1) // step for start, limit, step
                                 in zip(start_indices, limit_indices, steps)]))


@lru_cache(maxsize=4096)
def _slices(start_indices, limit_indices, strides) -> tuple[builtins.slice, ...]:
    """A part as NumPy writes it."""
    return tuple(map(builtins.slice, start_indices, limit_indices,
                     strides or (None,) * len(start_indices)))


class Slice(Primitive):
    """A part at places known while tracing, possibly with strides."""

    name = "slice"
    kind = Kind.LAYOUT

    def infer(self, x, *, start_indices, limit_indices, strides):
        return _part(x, start_indices, limit_indices, strides)

    def eval(self, x, *, start_indices, limit_indices, strides):
        return own(x[_slices(start_indices, limit_indices, strides)])

    jvp = linear

    def transpose(self, ct, x, *, start_indices, limit_indices, strides):
        steps = (1,) * x.ndim if strides is None else strides
        config = []
        for n, start, limit, step, kept in zip(x.shape, start_indices, limit_indices, steps,
                                               typeof(ct).shape):
            end = limit if strides is None else start + (1 + (kept - 1) * step if kept else 0)
            config.append((start, n - end, step - 1))
        return [pad(ct, like(ct, 0), config)]

    def batch(self, args, dims, *, start_indices, limit_indices, strides):
        (x,), (d,) = args, dims

        def insert(values, value):
            return (*values[:d], value, *values[d:])
        return slice(x, insert(start_indices, 0), insert(limit_indices, x.shape[d]),
                     None if strides is None else insert(strides, 1)), d

    def lower(self, at, x, *, start_indices, limit_indices, strides):
        steps = (1,) * x.ndim if strides is None else strides
        return x[[i * step + start for i, start, step in zip(at, start_indices, steps)]]


slice_p = Slice()


def slice(operand, start_indices, limit_indices, strides=None):
    """The elements from ``start_indices`` up to ``limit_indices`` in steps of ``strides``.

    >>> lax.slice(jnp.arange(8), (1,), (7,), (2,))
    Array([1, 3, 5], dtype=int32)
    """
    return slice_p.bind(
        operand, start_indices=tuple(map(symbolic.index, start_indices)),
        limit_indices=tuple(map(symbolic.index, limit_indices)),
        strides=None if strides is None else tuple(map(operator.index, strides)))


def slice_in_dim(operand, start_index, limit_index, stride=1, axis=0):
    """A slice along one axis; ``None`` and negative indices mean what they mean in Python.

    >>> lax.slice_in_dim(jnp.arange(8), -3, None)
    Array([5, 6, 7], dtype=int32)
    """
    aval = typeof(operand)
    axis = canonical_axis("tanx.lax.slice_in_dim", axis, aval)
    shape = aval.shape
    n = shape[axis]

    def place(index, default):
        index = default if index is None else symbolic.index(index)
        return index + n if index < 0 else index
    starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
    starts[axis], limits[axis] = place(start_index, 0), place(limit_index, n)
    strides[axis] = operator.index(stride)
    return slice(operand, starts, limits, strides)


def index_in_dim(operand, index, axis=0, keepdims=True):
    """The slice at one ``index`` along ``axis``, which is dropped unless ``keepdims``.

    >>> lax.index_in_dim(jnp.arange(8), -1, keepdims=False)
    Array(7, dtype=int32)
    """
    aval = typeof(operand)
    axis = canonical_axis("tanx.lax.index_in_dim", axis, aval)
    index, n = operator.index(index), aval.shape[axis]
    if not -n <= index < n:
        raise IndexError(explain(
            "tanx.lax.index_in_dim", "the index is out of bounds.", f"operand: {aval}",
            f"index:   {index} along axis {axis} of size {n}"))
    piece = slice_in_dim(operand, index % n, index % n + 1, 1, axis)
    return piece if keepdims else squeeze(piece, (axis,))


# -- dynamic slices --------------------------------------------------------------------------------


def _check_starts(function: str, x, starts) -> None:
    """Check the types of start indices: one integer scalar a dimension, all of one dtype."""
    if any(t.shape for t in starts):
        rule = "start indices must be scalars."
    elif any(letter(t.dtype) not in "iu" or t.dtype != starts[0].dtype for t in starts):
        rule = "start indices must be integers of one dtype."
    elif len(starts) != x.ndim:
        rule = "there must be a start index for each dimension."
    else:
        return
    raise TypeError(explain(function, rule, f"operand:       {x}",
                            f"start_indices: {', '.join(map(str, starts))}"))


def _clamped(starts, shape, sizes) -> list[builtins.slice]:
    """The window of given ``sizes`` at known starts, moved inside ``shape``."""
    window = []
    for i, n, size in zip(starts, shape, sizes):
        start = min(max(int(i), 0), n - size)
        window.append(builtins.slice(start, start + size))
    return window


def _clamped_starts(starts, shape, sizes) -> list:
    """The same for starts to be read from data when compiled code runs."""
    clamped = []
    for i, n, size in zip(starts, shape, sizes):
        high = min(n - size, instructions.value_range(i.dtype)[1])
        clamped.append(build.const(0) if n == size else build.as_index(build.op(
            "clamp", build.const(0, i.dtype), i[()], build.const(high, i.dtype))))
    return clamped


class DynamicSlice(Primitive):
    """A part of known size at a place read from data; it is moved inside where it sticks out."""

    name = "dynamic_slice"
    kind = Kind.GATHER

    def infer(self, x, *starts, slice_sizes):
        _check_starts("tanx.lax.dynamic_slice", x, starts)
        if len(slice_sizes) != x.ndim or any(m > n for m, n in zip(slice_sizes, x.shape)):
            raise TypeError(explain(
                "tanx.lax.dynamic_slice", "slice_sizes must not exceed the operand's sizes.",
                f"operand:     {x}", f"slice_sizes: {slice_sizes}"))
        return ShapedArray(slice_sizes, x.dtype, x.weak_type)

    def eval(self, x, *starts, slice_sizes):
        return own(x[tuple(_clamped(starts, x.shape, slice_sizes))])

    jvp = linear_in(0)

    def transpose(self, ct, x, *starts, slice_sizes):
        zeros = zeros_of(x.aval.strip_weak_type())
        return [dynamic_update_slice_p.bind(zeros, ct, *starts), *([None] * len(starts))]

    def batch(self, args, dims, *, slice_sizes):
        (x, *starts), (d, *start_dims) = args, dims
        if all(s is None for s in start_dims):
            starts.insert(d, like(starts[0], 0) if starts else np.int32(0))
            sizes = (*slice_sizes[:d], x.shape[d], *slice_sizes[d:])
            return dynamic_slice_p.bind(x, *starts, slice_sizes=sizes), d
        from .gather import GatherDimensionNumbers, GatherScatterMode, gather_p
        rank = len(slice_sizes)
        numbers = GatherDimensionNumbers(tuple(range(rank)), (), tuple(range(rank)))
        index, index_dim = _batched_index(starts, start_dims)
        return gather_p.batch(
            (x, index), (d, index_dim), dimension_numbers=numbers, slice_sizes=slice_sizes,
            unique_indices=True, indices_are_sorted=True, mode=GatherScatterMode.CLIP,
            fill_value=None)

    def lower(self, at, x, *starts, slice_sizes):
        clamped = _clamped_starts(starts, x.shape, slice_sizes)
        return x[[start + i for start, i in zip(clamped, at)]]


def _batched_index(starts, dims):
    """Start indices, some of them batched, as one array with the batch in front; and its axis."""
    size = batch_size(starts, dims)
    columns = [broadcast_in_dim(i, (size, 1), () if d is None else (0,))
               for i, d in zip(starts, dims)]
    return concatenate(columns, 1), 0


dynamic_slice_p = DynamicSlice()


def dynamic_slice(operand, start_indices, slice_sizes, *, allow_negative_indices=True):
    """The part of shape ``slice_sizes`` at ``start_indices``, which may be computed.

    ``start_indices`` is a sequence of scalars or an array of one dimension. Negative ones count
    from the end, unless ``allow_negative_indices`` is False (for all, or a sequence). A part that
    would stick out of the operand is moved inside.

    >>> lax.dynamic_slice(jnp.arange(8), (-2,), (3,))
    Array([5, 6, 7], dtype=int32)
    """
    sizes = canonical_shape(slice_sizes, "tanx.lax.dynamic_slice")
    starts = _starts("tanx.lax.dynamic_slice", operand, start_indices, allow_negative_indices)
    return dynamic_slice_p.bind(operand, *starts, slice_sizes=sizes)


def _starts(function: str, operand, start_indices, allow_negative) -> list:
    """Start indices as operands of one dtype, the negative ones counted from the end.

    Those known while tracing become constants, so they cost no equations.
    """
    shape = typeof(operand).shape
    starts = _known_or_traced(function, start_indices)
    if len(starts) != len(shape):
        raise ValueError(explain(
            function, "there must be a start index for each dimension.",
            f"operand: {typeof(operand)}", f"start_indices: {len(starts)} of them"))
    wide = dtypes.canonicalize_dtype(np.dtype("int64"))
    dtype = next((typeof(i).dtype for i in starts if type(i) is not int), wide)
    longest = max([n for n in shape if type(n) is int], default=0)
    if longest > instructions.value_range(dtype)[1]:
        from .convert import convert
        if longest > instructions.value_range(wide)[1]:
            wide = np.dtype(np.int64)  # without x64 too: no other reaches the end
        dtype = wide
        starts = [i if type(i) is int else convert(i, dtype) for i in starts]
    if isinstance(allow_negative, bool):
        allow_negative = [allow_negative] * len(starts)
    return [_from_end(i, n, dtype, bool(allowed))
            for i, n, allowed in zip(starts, shape, allow_negative, strict=True)]


def _known_or_traced(function: str, start_indices) -> list:
    """Start indices as Python integers where they are known and as tracers where not."""
    if isinstance(start_indices, Array | np.ndarray):
        if typeof(start_indices).ndim != 1:
            raise ValueError(explain(function, "start indices must be a sequence of scalars.",
                                     f"start_indices: {typeof(start_indices)}"))
        known = not isinstance(start_indices, Tracer)
        start_indices = np.asarray(start_indices) if known else unstack(start_indices)
    starts, given = list(start_indices), set()
    for position, i in enumerate(starts):
        if type(i) is int:
            continue
        aval = typeof(i) if is_arraylike(i) else None
        if aval is None or aval.shape or letter(aval.dtype) not in "iu":
            raise TypeError(explain(function, "start indices must be integer scalars.",
                                    f"start index {position}: {repr(i) if aval is None else aval}"))
        given.add(aval.dtype)
        if not isinstance(i, Tracer):
            starts[position] = operator.index(i)
    if len(given) > 1:
        raise TypeError(explain(
            function, "start indices must be integers of one dtype.",
            f"start_indices: {', '.join(str(typeof(i)) for i in start_indices)}"))
    return starts


def _from_end(index, n: int, dtype, allowed: bool):
    if type(index) is int:
        index = index + n if allowed and index < 0 else index
        low, high = instructions.value_range(dtype)
        return dtype.type(min(max(index, low), high))
    own = typeof(index).dtype
    if not allowed or letter(own) != "i":
        return index
    from .arith import add
    from .compare import lt, select_n
    from .convert import convert
    negative = lt(index, like(index, 0))
    return select_n(negative, index, add(convert(index, own), own.type(n)))


def _along(operand, start_index, axis: int) -> list:
    """Start indices that are zero but for one axis."""
    starts: list = [0] * typeof(operand).ndim
    starts[axis] = start_index
    return starts


def dynamic_slice_in_dim(operand, start_index, slice_size, axis=0, *, allow_negative_indices=True):
    """``slice_size`` elements along one ``axis`` from ``start_index`` on; see ``dynamic_slice``.

    >>> lax.dynamic_slice_in_dim(jnp.arange(8), 2, 3)
    Array([2, 3, 4], dtype=int32)
    """
    shape = list(typeof(operand).shape)
    axis = canonical_axis("tanx.lax.dynamic_slice_in_dim", axis, typeof(operand))
    shape[axis] = operator.index(slice_size)
    return dynamic_slice(operand, _along(operand, start_index, axis), shape,
                         allow_negative_indices=allow_negative_indices)


def dynamic_index_in_dim(operand, index, axis=0, keepdims=True, *, allow_negative_indices=True):
    """The slice at one ``index``, which may be computed, along ``axis``.

    >>> lax.dynamic_index_in_dim(jnp.arange(8), 3, keepdims=False)
    Array(3, dtype=int32)
    """
    piece = dynamic_slice_in_dim(operand, index, 1, axis,
                                 allow_negative_indices=allow_negative_indices)
    return piece if keepdims else squeeze(piece, (axis,))


class DynamicUpdateSlice(Primitive):
    """The operand with a part replaced, at a place read from data."""

    name = "dynamic_update_slice"
    kind = Kind.GATHER
    update_operand = 1

    def infer(self, x, update, *starts):
        function = "tanx.lax.dynamic_update_slice"
        same_dtype(function, (x, update))
        if update.ndim != x.ndim or any(m > n for m, n in zip(update.shape, x.shape)):
            raise TypeError(explain(
                function, "the update must have the rank of the operand and fit into it.",
                f"operand: {x}", f"update:  {update}"))
        _check_starts(function, x, starts)
        return x.strip_weak_type()

    def eval(self, x, update, *starts):
        out = np.array(x)
        out[tuple(_clamped(starts, x.shape, update.shape))] = update
        return out

    jvp = linear_in(0, 1)

    def transpose(self, ct, x, update, *starts):
        to_x = to_update = None
        if is_linear(x):
            zeros = zeros_of(typeof(update).strip_weak_type())
            to_x = dynamic_update_slice_p.bind(ct, zeros, *starts)
        if is_linear(update):
            to_update = dynamic_slice_p.bind(ct, *starts, slice_sizes=update.shape)
        return [to_x, to_update, *([None] * len(starts))]

    def batch(self, args, dims):
        (x, update, *starts), (xd, ud, *start_dims) = args, dims
        size = batch_size(args, dims)
        if all(s is None for s in start_dims):
            starts.insert(0, like(starts[0], 0) if starts else np.int32(0))
            return dynamic_update_slice_p.bind(
                materialize(x, xd, size), materialize(update, ud, size), *starts), 0
        from .gather import GatherScatterMode
        from .scatter import ScatterDimensionNumbers, scatter_p
        rank = len(starts)
        numbers = ScatterDimensionNumbers(tuple(range(rank)), (), tuple(range(rank)))
        index, index_dim = _batched_index(starts, start_dims)
        return scatter_p.batch(
            (x, index, update), (xd, index_dim, ud), dimension_numbers=numbers,
            indices_are_sorted=True, unique_indices=True, mode=GatherScatterMode.CLIP,
            update_jaxpr=None, update_consts=())

    def lower(self, at, x, update, *starts):
        clamped = _clamped_starts(starts, x.shape, update.shape)
        return build.load_guarded(update, [i - start for i, start in zip(at, clamped)], x[at])

    def fill(self, into, x, update, *starts):
        """Copy all and overwrite a part, if that is small; memory that is reused needs no copy."""
        (out,) = into
        if 2 * prod(update.shape) > prod(x.shape):
            return None
        clamped = _clamped_starts(starts, x.shape, update.shape)
        return [build.copy(out, x), build.nest(update.shape, lambda k: [
            build.store(out, [start + i for start, i in zip(clamped, k)], update[k])])]


dynamic_update_slice_p = DynamicUpdateSlice()


def dynamic_update_slice(operand, update, start_indices, *, allow_negative_indices=True):
    """``operand`` with the part at ``start_indices`` replaced by ``update``.

    Start indices mean what they mean in :func:`dynamic_slice`.

    >>> lax.dynamic_update_slice(jnp.zeros(5), jnp.ones(2), (-1,))
    Array([0., 0., 0., 1., 1.], dtype=float32)
    """
    starts = _starts("tanx.lax.dynamic_update_slice", operand, start_indices,
                     allow_negative_indices)
    return dynamic_update_slice_p.bind(operand, update, *starts)


def dynamic_update_slice_in_dim(operand, update, start_index, axis, *,
                                allow_negative_indices=True):
    """``operand`` with a part replaced that starts at ``start_index`` along ``axis``.

    >>> lax.dynamic_update_slice_in_dim(jnp.zeros(5), jnp.ones(2), 1, axis=0)
    Array([0., 1., 1., 0., 0.], dtype=float32)
    """
    axis = canonical_axis("tanx.lax.dynamic_update_slice_in_dim", axis, typeof(operand))
    return dynamic_update_slice(operand, update, _along(operand, start_index, axis),
                                allow_negative_indices=allow_negative_indices)


def dynamic_update_index_in_dim(operand, update, index, axis, *, allow_negative_indices=True):
    """``operand`` with the slice at one ``index`` along ``axis`` replaced.

    ``update`` has size 1 along ``axis``, or lacks it.

    >>> lax.dynamic_update_index_in_dim(jnp.zeros(5), 1.0, 3, axis=0)
    Array([0., 0., 0., 1., 0.], dtype=float32)
    """
    axis = canonical_axis("tanx.lax.dynamic_update_index_in_dim", axis, typeof(operand))
    if typeof(update).ndim != typeof(operand).ndim:
        update = expand_dims(update, (axis,))
    return dynamic_update_slice_in_dim(operand, update, index, axis,
                                       allow_negative_indices=allow_negative_indices)


# -- padding ---------------------------------------------------------------------------------------


class Pad(Primitive):
    """Adds a value before, after and between the elements; takes elements away where negative."""

    name = "pad"
    kind = Kind.LAYOUT

    def infer(self, x, padding_value, *, padding_config):
        facts = [f"operand:        {x}", f"padding_value:  {padding_value}",
                 f"padding_config: {padding_config}"]
        if x.dtype != padding_value.dtype:
            raise TypeError(explain("tanx.lax.pad", "operands must have the same dtype.", *facts))
        if padding_value.shape:
            raise ValueError(explain("tanx.lax.pad", "the padding value must be a scalar.", *facts))
        if len(padding_config) != x.ndim or any(inner < 0 for _, _, inner in padding_config):
            raise ValueError(explain(
                "tanx.lax.pad", "padding_config must hold (before, after, between) for each "
                "dimension, between not being negative.", *facts))
        shape = tuple([before + after + n + inner * max(n - 1, 0)
                       for n, (before, after, inner) in zip(x.shape, padding_config)])
        if any(n < 0 for n in shape):
            raise ValueError(explain(
                "tanx.lax.pad", "negative padding takes away more than there is.", *facts))
        return ShapedArray(shape, x.dtype, x.weak_type and padding_value.weak_type)

    def eval(self, x, padding_value, *, padding_config):
        shape = [before + after + n + inner * max(n - 1, 0)
                 for n, (before, after, inner) in zip(x.shape, padding_config)]
        out = np.empty(shape, x.dtype)
        out[...] = padding_value
        targets, sources = [], []
        for n, m, (before, _, inner) in zip(x.shape, shape, padding_config):
            step = inner + 1
            first = max(0, -(before // step))           # the first element not cut off in front
            last = min(n, (m - 1 - before) // step + 1)  # and the one after the last
            sources.append(builtins.slice(first, max(first, last)))
            start = before + first * step
            targets.append(builtins.slice(start, start + max(0, last - first) * step, step))
        out[tuple(targets)] = x[tuple(sources)]
        return out

    jvp = linear

    def transpose(self, ct, x, padding_value, *, padding_config):
        from .arith import sub
        from .reduce import reduce_sum
        to_x = pad(ct, like(ct, 0), [(-before, -after, 0) for before, after, _ in padding_config])
        if any(inner for _, _, inner in padding_config):
            shape = typeof(to_x).shape
            to_x = slice(to_x, [0] * len(shape), shape, [inner + 1 for *_, inner in padding_config])
        if not is_linear(padding_value):
            return [to_x, None]
        axes = range(typeof(ct).ndim)
        to_value = sub(reduce_sum(ct, axes), reduce_sum(to_x, axes))
        return [to_x if is_linear(x) else None, to_value]

    def batch(self, args, dims, *, padding_config):
        (x, value), (d, value_dim) = args, dims
        if value_dim is None:
            return pad(x, value, (*padding_config[:d], (0, 0, 0), *padding_config[d:])), d
        from .compare import select_n
        from .create import full
        x = materialize(x, d, batch_size(args, dims))
        config = ((0, 0, 0), *padding_config)
        padded = pad(x, like(x, 0), config)
        inside = pad(full(typeof(x).shape, True, np.bool_), np.False_, config)
        outside = broadcast_in_dim(value, typeof(padded).shape, (0,))
        return select_n(inside, outside, padded), 0

    def lower(self, at, x, padding_value, *, padding_config):
        index, between = [], []
        for i, (before, _, inner) in zip(at, padding_config):
            index.append((i - before) // (inner + 1))
            if inner:
                between.append(build.eq((i - before) % (inner + 1), 0))
        inside = build.all_of(build.in_range(index, x.shape), *between)
        return build.select(inside, x[index], padding_value[()])


pad_p = Pad()


def pad(operand, padding_value, padding_config):
    """Add ``padding_value`` around and between the elements of ``operand``.

    ``padding_config`` holds (before, after, between) for each dimension; negative numbers before
    and after take elements away.

    >>> lax.pad(jnp.array([1, 2, 3]), 0, [(1, -1, 1)])
    Array([0, 1, 0, 2, 0], dtype=int32)
    """
    config = tuple(tuple(map(operator.index, amounts)) for amounts in padding_config)
    return pad_p.bind(operand, padding_value, padding_config=config)


# -- joining and splitting -------------------------------------------------------------------------


class Concatenate(Primitive):
    """Joins operands along an existing dimension."""

    name = "concatenate"
    kind = Kind.LAYOUT

    def infer(self, *types, dimension):
        same_dtype("tanx.lax.concatenate", types)
        shape = types[0].shape
        if not 0 <= dimension < len(shape) or any(
                t.ndim != len(shape) or any(n != m for d, (n, m) in enumerate(zip(t.shape, shape))
                                            if d != dimension) for t in types):
            raise TypeError(explain(
                "tanx.lax.concatenate", "shapes must agree in all dimensions but the one joined.",
                *(f"operand {i}: {t}" for i, t in enumerate(types)), f"dimension: {dimension}"))
        joined = (*shape[:dimension], sum([t.shape[dimension] for t in types]),
                  *shape[dimension + 1:])
        return ShapedArray(joined, types[0].dtype, all(t.weak_type for t in types))

    def eval(self, *xs, dimension):
        return np.concatenate(xs, dimension)

    jvp = linear

    def transpose(self, ct, *xs, dimension):
        pieces = split(ct, [x.shape[dimension] for x in xs], dimension)
        return [piece if is_linear(x) else None for piece, x in zip(pieces, xs)]

    def batch(self, args, dims, *, dimension):
        size = batch_size(args, dims)
        xs = [materialize(x, d, size) for x, d in zip(args, dims)]
        return concatenate(xs, dimension + 1), 0

    def lower(self, at, *xs, dimension):
        xs = [x for x in xs if x.shape[dimension]] or xs[:1]
        return choose(at[dimension], [x.shape[dimension] for x in xs], lambda k, i: xs[k][
            [*at[:dimension], i, *at[dimension + 1:]]])

    def fill(self, into, *xs, dimension):
        starts = np.cumsum([0, *(x.shape[dimension] for x in xs)]).tolist()
        return fill_by_parts(into, xs, lambda n, k: (
            *k[:dimension], k[dimension] + starts[n], *k[dimension + 1:]))


concatenate_p = Concatenate()


def concatenate(operands, dimension):
    """Join arrays of one dtype along ``dimension``; other sizes must agree.

    >>> lax.concatenate([jnp.array([1, 2]), jnp.array([3])], 0)
    Array([1, 2, 3], dtype=int32)
    """
    operands = list(operands)
    if not operands:
        raise ValueError(explain("tanx.lax.concatenate", "there must be at least one operand."))
    if len(operands) == 1:
        return as_array(operands[0])
    return concatenate_p.bind(*operands, dimension=operator.index(dimension))


class Split(Primitive):
    """Takes consecutive stretches along a dimension apart."""

    name = "split"
    kind = Kind.STATEMENT
    multiple_results = True

    def infer(self, x, *, sizes, axis):
        if any(n < 0 for n in sizes) or sum(sizes) != x.shape[axis]:
            raise ValueError(explain(
                "tanx.lax.split", "sizes must add up to the size of the axis.", f"operand: {x}",
                f"sizes:   {sizes}", f"axis:    {axis}"))
        return [ShapedArray((*x.shape[:axis], n, *x.shape[axis + 1:]), x.dtype, x.weak_type)
                for n in sizes]

    def eval(self, x, *, sizes, axis):
        return [own(piece) for piece in np.split(x, np.cumsum(sizes)[:-1], axis)]

    jvp = linear

    def transpose(self, cts, x, *, sizes, axis):
        return [concatenate([instantiate(ct) for ct in cts], axis)]

    def batch(self, args, dims, *, sizes, axis):
        (x,), (d,) = args, dims
        return split(x, sizes, axis + (axis >= d)), [d] * len(sizes)

    def lower(self, into, x, *, sizes, axis):
        offsets = np.cumsum([0, *sizes]).tolist()
        return [build.nest(out.shape, lambda k, out=out, offset=offset: [build.store(
            out, k, x[[*k[:axis], k[axis] + offset, *k[axis + 1:]]])])
            for out, offset in zip(into, offsets)]


split_p = Split()


def split(operand, sizes, axis=0):
    """Consecutive stretches of the given ``sizes`` along ``axis``, as a list.

    >>> lax.split(jnp.arange(4), (1, 3))
    [Array([0], dtype=int32), Array([1, 2, 3], dtype=int32)]
    """
    axis = canonical_axis("tanx.lax.split", axis, typeof(operand))
    return split_p.bind(operand, sizes=tuple(map(symbolic.index, sizes)), axis=axis)
