"""Slicing primitives: parts at static and at computed places, padding, joining and splitting.

Static forms check their bounds. The dynamic forms take computed start indices: a negative one
counts from the end, and a window that would reach outside is moved inside.
"""

from __future__ import annotations

import builtins
import operator
from functools import lru_cache

import numpy as np

from .._base import symbolic
from .._base.axes import canonical_axis
from .._base.slices import ds
from .._core.explicit import like_operand, same_entries
from .._core.linear import instantiate, is_linear, linear
from .._core.primitive import Kind, Primitive
from .._core.types import ShapedArray, typeof
from .._loops import build
from ..errors import explain
from .arith import sub
from .base import as_array, batch_size, broadcast_in_dim, materialize, reduce_sum
from .compare import select_n
from .layout import choose, fill_by_parts, same_dtype, squeeze
from .operands import like

__all__ = ["concatenate", "concatenate_p", "index_in_dim", "pad", "pad_p", "slice", "slice_in_dim",
           "slice_p", "split", "split_p"]


def own(piece: np.ndarray) -> np.ndarray:
    """A view, or a copy of it if it is so small that it should not keep the whole array alive."""
    whole = piece.base
    if type(whole) is np.ndarray and 2 * piece.nbytes < whole.nbytes:
        return piece.copy()
    return piece


# -- static slices ---------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def _part(x: ShapedArray, start_indices, limit_indices, strides) -> ShapedArray:
    """The type of a part; cached, because eager calls repeat."""
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
    """A part as NumPy slices."""
    return tuple(map(builtins.slice, start_indices, limit_indices,
                     strides or (None,) * len(start_indices)))


class Slice(Primitive):
    """A part at places known while tracing, possibly with strides."""

    name = "slice"
    kind = Kind.LAYOUT

    def infer(self, x, *, start_indices, limit_indices, strides):
        return _part(x, start_indices, limit_indices, strides)

    divided = like_operand

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

    def transpose_into(self, refs, ct, x, *, start_indices, limit_indices, strides):
        if any(map(symbolic.is_symbolic, (*x.shape, *start_indices, *limit_indices))):
            return None  # indexers have known sizes
        steps = (1,) * x.ndim if strides is None else strides
        refs[0].addupdate(ct, tuple(map(ds, start_indices, typeof(ct).shape, steps)))
        return [None]

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


# -- padding ---------------------------------------------------------------------------------------


class Pad(Primitive):
    """Adds a value before, after and between the elements; negative padding removes elements."""

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
                "dimension, with between >= 0.", *facts))
        shape = tuple([before + after + n + inner * max(n - 1, 0)
                       for n, (before, after, inner) in zip(x.shape, padding_config)])
        if any(n < 0 for n in shape):
            raise ValueError(explain(
                "tanx.lax.pad", "negative padding removes more elements than the dimension has.",
                *facts))
        return ShapedArray(shape, x.dtype, x.weak_type and padding_value.weak_type)

    divided = like_operand

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
        x = materialize(x, d, batch_size(args, dims))
        config = ((0, 0, 0), *padding_config)
        padded = pad(x, like(x, 0), config)
        inside = pad(broadcast_in_dim(np.True_, typeof(x).shape, ()), np.False_, config)
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
    and after remove elements.

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

    def divided(self, *types, dimension):
        return same_entries(self, types, "operands must be divided in the same way.")

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
        xs = tuple(x for x in xs if x.shape[dimension]) or xs[:1]
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
    """Splits a dimension into consecutive parts."""

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

    def divided(self, x, *, sizes, axis):
        return [x.entries] * len(sizes)

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
    """Consecutive parts of the given ``sizes`` along ``axis``, as a list.

    >>> lax.split(jnp.arange(4), (1, 3))
    [Array([0], dtype=int32), Array([1, 2, 3], dtype=int32)]
    """
    axis = canonical_axis("tanx.lax.split", axis, typeof(operand))
    return split_p.bind(operand, sizes=tuple(map(symbolic.index, sizes)), axis=axis)
