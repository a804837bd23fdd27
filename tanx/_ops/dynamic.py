"""Slices at computed places: reading and replacing them."""

from __future__ import annotations

import builtins
import operator
from math import prod

import numpy as np

from .. import dtypes
from .._base.axes import canonical_axis
from .._base.slices import Slice
from .._core.array import Array
from .._core.explicit import like_operand, same_entries
from .._core.linear import is_linear, linear_in
from .._core.primitive import Kind, Primitive
from .._core.trace import Tracer
from .._core.types import ShapedArray, canonical_shape, is_arraylike, typeof
from .._loops import build, instructions
from ..errors import explain
from .arith import add
from .base import batch_size, broadcast_in_dim, materialize
from .compare import lt, select_n
from .convert import convert
from .derive import zeros_of
from .gather_geometry import GatherDimensionNumbers, GatherScatterMode
from .gather_scatter import ScatterDimensionNumbers, gather_p, scatter_p
from .layout import expand_dims, same_dtype, squeeze, unstack
from .operands import letter, like
from .slicing import concatenate, own

__all__ = ["dynamic_index_in_dim", "dynamic_slice", "dynamic_slice_in_dim", "dynamic_slice_p",
           "dynamic_update_index_in_dim", "dynamic_update_slice", "dynamic_update_slice_in_dim",
           "dynamic_update_slice_p"]


def _check_starts(function: str, x, starts) -> None:
    """Check the types of start indices: one integer scalar per dimension, all of one dtype."""
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


def _batched_index(starts, dims):
    """Start indices, some of them batched, as one array with the batch in front; and its axis."""
    size = batch_size(starts, dims)
    columns = [broadcast_in_dim(i, (size, 1), () if d is None else (0,))
               for i, d in zip(starts, dims)]
    return concatenate(columns, 1), 0


def _known_or_traced(function: str, operand, start_indices) -> list:
    """Start indices as Python integers if they are known, else as tracers."""
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
            f"operand:       {typeof(operand)}",
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
    negative = lt(index, like(index, 0))
    return select_n(negative, index, add(convert(index, own), own.type(n)))


def _clamped_starts(starts, shape, sizes) -> list:
    """As :func:`_clamped`, for starts that compiled code computes."""
    clamped = []
    for i, n, size in zip(starts, shape, sizes):
        high = min(n - size, instructions.value_range(i.dtype)[1])
        clamped.append(build.const(0) if n == size else build.as_index(build.op(
            "clamp", build.const(0, i.dtype), i[()], build.const(high, i.dtype))))
    return clamped


class DynamicSlice(Primitive):
    """A part of known size at a computed place; it is moved inside if it would reach outside."""

    name = "dynamic_slice"
    kind = Kind.GATHER

    def infer(self, x, *starts, slice_sizes):
        _check_starts("tanx.lax.dynamic_slice", x, starts)
        if len(slice_sizes) != x.ndim or any(m > n for m, n in zip(slice_sizes, x.shape)):
            raise TypeError(explain(
                "tanx.lax.dynamic_slice", "slice_sizes must not exceed the operand's sizes.",
                f"operand:     {x}", f"slice_sizes: {slice_sizes}"))
        return ShapedArray(slice_sizes, x.dtype, x.weak_type)

    divided = like_operand

    def eval(self, x, *starts, slice_sizes):
        return own(x[tuple(_clamped(starts, x.shape, slice_sizes))])

    jvp = linear_in(0)

    def transpose(self, ct, x, *starts, slice_sizes):
        zeros = zeros_of(x.aval.strip_weak_type())
        return [dynamic_update_slice_p.bind(zeros, ct, *starts), *([None] * len(starts))]

    def transpose_into(self, refs, ct, x, *starts, slice_sizes):
        refs[0].addupdate(ct, tuple([
            Slice(0, size) if size == n else Slice(i, size, from_end=False)
            for i, n, size in zip(starts, x.shape, slice_sizes)]))
        return [None] * len(refs)

    def batch(self, args, dims, *, slice_sizes):
        (x, *starts), (d, *start_dims) = args, dims
        if all(s is None for s in start_dims):
            starts.insert(d, like(starts[0], 0) if starts else np.int32(0))
            sizes = (*slice_sizes[:d], x.shape[d], *slice_sizes[d:])
            return dynamic_slice_p.bind(x, *starts, slice_sizes=sizes), d
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


dynamic_slice_p = DynamicSlice()


def dynamic_slice(operand, start_indices, slice_sizes, *, allow_negative_indices=True):
    """The part of shape ``slice_sizes`` at ``start_indices``, which may be computed.

    ``start_indices`` is a sequence of scalars or an array of one dimension. Negative ones count
    from the end, unless ``allow_negative_indices`` is False (for all, or a sequence). A part that
    would reach outside of the operand is moved inside.

    >>> lax.dynamic_slice(jnp.arange(8), (-2,), (3,))
    Array([5, 6, 7], dtype=int32)
    """
    sizes = canonical_shape(slice_sizes, "tanx.lax.dynamic_slice")
    starts = _starts("tanx.lax.dynamic_slice", operand, start_indices, allow_negative_indices)
    return dynamic_slice_p.bind(operand, *starts, slice_sizes=sizes)


def _starts(function: str, operand, start_indices, allow_negative) -> list:
    """Start indices as operands of one dtype; negative ones count from the end.

    Indices known while tracing become constants, so they need no equations.
    """
    shape = typeof(operand).shape
    starts = _known_or_traced(function, operand, start_indices)
    if len(starts) != len(shape):
        raise ValueError(explain(
            function, "there must be a start index for each dimension.",
            f"operand: {typeof(operand)}", f"start_indices: {len(starts)} of them"))
    wide = dtypes.canonicalize_dtype(np.dtype("int64"))
    dtype = next((typeof(i).dtype for i in starts if type(i) is not int), wide)
    longest = max([n for n in shape if type(n) is int], default=0)
    if longest > instructions.value_range(dtype)[1]:
        if longest > instructions.value_range(wide)[1]:
            wide = np.dtype(np.int64)  # also without x64: narrower types do not reach the end
        dtype = wide
        starts = [i if type(i) is int else convert(i, dtype) for i in starts]
    if isinstance(allow_negative, bool):
        allow_negative = [allow_negative] * len(starts)
    return [_from_end(i, n, dtype, bool(allowed))
            for i, n, allowed in zip(starts, shape, allow_negative, strict=True)]


def _along(operand, start_index, axis: int) -> list:
    """Start indices that are zero except along one axis."""
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
    """The operand with a part replaced, at a computed place."""

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

    def divided(self, x, update, *starts):
        return same_entries(self, [x, update], "operand and update must have the same sharding.")

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
        """Copy all and overwrite the part, if it is small; reused memory needs no copy."""
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
    """``operand`` with the part from ``start_index`` on along ``axis`` replaced.

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
