"""Layout primitives: results made of the operand's elements at other indices.

They only rewrite indices, so inside a compiled consumer they cost nothing. Eagerly they return
NumPy views where NumPy has one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod

import numpy as np

from .._base.axes import canonical_axes, canonical_axis
from .._core.explicit import like_operand, same_entries, whole
from .._core.linear import instantiate, linear
from .._core.primitive import Kind, Primitive
from .._core.types import ShapedArray, aval_method, canonical_shape, typeof
from .._loops import build
from ..errors import explain
from .base import (
    as_array,
    batch_size,
    broadcast_in_dim,
    materialize,
    operand_type,
    reduce_sum,
    reshape,
    to_front,
)

__all__ = ["broadcast", "broadcast_like", "broadcast_shapes", "broadcast_to_rank", "collapse",
           "expand_dims", "rev", "rev_p", "squeeze", "squeeze_p", "stack", "stack_p", "tile",
           "tile_p", "unstack", "unstack_p"]


# Up to this many operands, compiled code selects the operand at each element of the result.
_CHOSEN = 16


def same_dtype(function: str, types: Sequence[ShapedArray]) -> None:
    """Check that operands to be joined have one dtype."""
    if any(t.dtype != types[0].dtype for t in types):
        raise TypeError(explain(
            function, "operands must have the same dtype.",
            *(f"operand {i}: {t}" for i, t in enumerate(types)),
            hint="tanx.numpy's functions promote; or use x.astype(...)."))


def broadcast(operand, sizes, *, out_sharding=None):
    """Repeat ``operand`` along new leading dimensions of the given ``sizes``.

    >>> lax.broadcast(jnp.array([1, 2]), (3,)).shape
    (3, 2)
    """
    shape = operand_type("broadcast", operand).shape
    sizes = canonical_shape(sizes, "tanx.lax.broadcast")
    return broadcast_in_dim(operand, sizes + shape, range(len(sizes), len(sizes) + len(shape)),
                            out_sharding=out_sharding)


ShapedArray.broadcast = aval_method(broadcast)  # type: ignore[attr-defined]


def broadcast_to_rank(x, rank):
    """Add leading dimensions of size 1 until ``x`` has ``rank`` dimensions.

    >>> lax.broadcast_to_rank(jnp.zeros((2, 3)), 4).shape
    (1, 1, 2, 3)
    """
    return broadcast(x, (1,) * (rank - operand_type("broadcast_to_rank", x).ndim))


def broadcast_like(arr, like_arr):
    """Broadcast ``arr`` to the shape of ``like_arr`` by NumPy's rule; the dtype stays.

    >>> lax.broadcast_like(jnp.zeros(3), jnp.zeros((2, 3))).shape
    (2, 3)
    """
    x, like = operand_type("broadcast_like", arr), operand_type("broadcast_like", like_arr)
    lead = like.ndim - x.ndim
    if lead < 0 or any(n not in (1, m) for n, m in zip(x.shape, like.shape[lead:])):
        raise ValueError(explain(
            "tanx.lax.broadcast_like", "the array does not broadcast to the requested shape.",
            f"arr:      {x}", f"like_arr: {like}"))
    return broadcast_in_dim(arr, like.shape, range(lead, like.ndim))


def broadcast_shapes(*shapes):
    """The shape that arrays of these shapes broadcast to by NumPy's rule.

    >>> lax.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    shapes = tuple(canonical_shape(shape, "tanx.lax.broadcast_shapes") for shape in shapes)
    result = []
    for position in range(1, 1 + max(map(len, shapes), default=0)):
        sizes = {shape[-position] for shape in shapes if len(shape) >= position} - {1}
        if len(sizes) > 1:
            raise ValueError(explain(
                "tanx.lax.broadcast_shapes", "Incompatible shapes for broadcasting.",
                f"shapes: {', '.join(map(str, shapes))}",
                hint="sizes must be equal or 1, counted from the last dimension."))
        result.append(sizes.pop() if sizes else 1)
    return tuple(reversed(result))


def collapse(operand, start_dimension, stop_dimension=None):
    """Merge dimensions ``start_dimension`` up to, not including, ``stop_dimension`` into one.

    >>> lax.collapse(jnp.zeros((2, 3, 4)), 1).shape
    (2, 12)
    """
    shape = operand_type("collapse", operand).shape
    start, stop, _ = slice(start_dimension, stop_dimension).indices(len(shape))
    if start > stop:
        raise ValueError(explain(
            "tanx.lax.collapse", "start_dimension must not come after stop_dimension.",
            f"operand:    {typeof(operand)}", f"dimensions: {start_dimension} to {stop_dimension}"))
    return reshape(operand, (*shape[:start], prod(shape[start:stop]), *shape[stop:]))


class Rev(Primitive):
    """Reverses the order of elements along some dimensions."""

    name = "rev"
    kind = Kind.LAYOUT

    def infer(self, x, *, dimensions):
        if len(set(dimensions)) < len(dimensions) or not set(dimensions) <= set(range(x.ndim)):
            raise TypeError(explain(
                "tanx.lax.rev", "dimensions must be distinct axes of the operand.",
                f"operand:    {x}", f"dimensions: {dimensions}",
                hint="tanx.numpy.flip takes negative axes."))
        return x

    divided = like_operand

    def eval(self, x, *, dimensions):
        return np.flip(x, dimensions)

    jvp = linear

    def transpose(self, ct, x, *, dimensions):
        return [rev(ct, dimensions)]

    def batch(self, args, dims, *, dimensions):
        (x,), (d,) = args, dims
        return rev(x, [i + (i >= d) for i in dimensions]), d

    def lower(self, at, x, *, dimensions):
        return x[[n - 1 - i if axis in dimensions else i
                  for axis, (n, i) in enumerate(zip(x.shape, at))]]


rev_p = Rev()


def rev(operand, dimensions):
    """Reverse the order of elements along ``dimensions``; see :func:`tanx.numpy.flip`.

    >>> lax.rev(jnp.arange(3), (0,))
    Array([2, 1, 0], dtype=int32)
    """
    return rev_p.bind(operand, dimensions=tuple(map(int, dimensions)))


@lru_cache(maxsize=4096)
def _squeezed(x: ShapedArray, dimensions: tuple[int, ...]) -> ShapedArray:
    """The type without some dimensions; cached, because eager calls repeat."""
    if any(x.shape[d] != 1 for d in dimensions):
        raise ValueError(explain(
            "tanx.lax.squeeze", "only dimensions of size 1 can be dropped.",
            f"operand:    {x}", f"dimensions: {dimensions}"))
    return x.update(shape=tuple([n for i, n in enumerate(x.shape) if i not in dimensions]))


class Squeeze(Primitive):
    """Drops dimensions of size 1."""

    name = "squeeze"
    kind = Kind.LAYOUT

    def infer(self, x, *, dimensions):
        return _squeezed(x, dimensions)

    def divided(self, x, *, dimensions):
        return tuple(e for d, e in enumerate(x.entries) if d not in dimensions)

    def eval(self, x, *, dimensions):
        return x.squeeze(dimensions)

    jvp = linear

    def transpose(self, ct, x, *, dimensions):
        return [expand_dims(ct, dimensions)]

    def batch(self, args, dims, *, dimensions):
        return squeeze(to_front(args[0], dims[0]), [d + 1 for d in dimensions]), 0

    def lower(self, at, x, *, dimensions):
        rest = iter(at)
        return x[[0 if d in dimensions else next(rest) for d in range(x.ndim)]]

    def is_view(self, *, dimensions):
        return True


squeeze_p = Squeeze()


def squeeze(array, dimensions):
    """Drop ``dimensions``, each of size 1.

    >>> lax.squeeze(jnp.zeros((1, 3, 1)), (0, -1)).shape
    (3,)
    """
    dimensions = canonical_axes("tanx.lax.squeeze", dimensions, operand_type("squeeze", array))
    return squeeze_p.bind(array, dimensions=dimensions) if dimensions else as_array(array)


def expand_dims(array, dimensions):
    """Insert dimensions of size 1, which are ``dimensions`` of the result.

    >>> lax.expand_dims(jnp.zeros(3), (0, 2)).shape
    (1, 3, 1)
    """
    aval = operand_type("expand_dims", array)
    shape = list(aval.shape)
    rank = len(shape) + len(dimensions)
    inserted = canonical_axes("tanx.lax.expand_dims", dimensions, aval, len(dimensions))
    for d in sorted(inserted):
        shape.insert(d, 1)
    return broadcast_in_dim(array, shape, [d for d in range(rank) if d not in inserted])


class Tile(Primitive):
    """Repeats the whole operand along each dimension."""

    name = "tile"
    kind = Kind.LAYOUT

    def infer(self, x, *, reps):
        if len(reps) != x.ndim:
            raise TypeError(explain(
                "tanx.lax.tile", "reps must hold a number for each dimension of the operand.",
                f"operand: {x}", f"reps:    {reps}", hint="tanx.numpy.tile adds dimensions."))
        return ShapedArray(tuple([n * r for n, r in zip(x.shape, reps)]), x.dtype, x.weak_type)

    def divided(self, x, *, reps):
        whole(self, [x], [d for d, n in enumerate(reps) if n != 1],
              "a dimension that is repeated must not be divided.")
        return x.entries

    def eval(self, x, *, reps):
        return np.tile(x, reps)

    jvp = linear

    def transpose(self, ct, x, *, reps):
        split = [m for pair in zip(reps, x.shape) for m in pair]
        return [reduce_sum(reshape(ct, split), range(0, len(split), 2))]

    def batch(self, args, dims, *, reps):
        (x,), (d,) = args, dims
        return tile(x, (*reps[:d], 1, *reps[d:])), d

    def lower(self, at, x, *, reps):
        # Nothing is read along an empty dimension.
        return x[[i % n if n else i for n, i in zip(x.shape, at)]]


tile_p = Tile()


def tile(operand, reps):
    """Repeat ``operand`` ``reps[i]`` times along dimension ``i``, one copy after another.

    >>> lax.tile(jnp.array([1, 2]), (2,))
    Array([1, 2, 1, 2], dtype=int32)
    """
    return tile_p.bind(operand, reps=canonical_shape(reps, "tanx.lax.tile"))


class Stack(Primitive):
    """Joins operands of one shape along a new dimension."""

    name = "stack"
    kind = Kind.LAYOUT

    def infer(self, *types, axis):
        same_dtype("tanx.lax.stack", types)
        first = types[0]
        if any(t.shape != first.shape for t in types):
            raise ValueError(explain(
                "tanx.lax.stack", "operands must have the same shape.",
                *(f"operand {i}: {t}" for i, t in enumerate(types))))
        shape = (*first.shape[:axis], len(types), *first.shape[axis:])
        return ShapedArray(shape, first.dtype, all(t.weak_type for t in types))

    def divided(self, *types, axis):
        entries = same_entries(self, types, "operands must be divided in the same way.")
        return (*entries[:axis], None, *entries[axis:])

    def eval(self, *xs, axis):
        return np.stack(xs, axis)

    jvp = linear

    def transpose(self, ct, *xs, axis):
        return unstack(ct, axis)

    def batch(self, args, dims, *, axis):
        d = dims[0] if len(set(dims)) == 1 else 0
        size = batch_size(args, dims)
        xs = [materialize(x, dim, size, d) for x, dim in zip(args, dims)]
        return stack(xs, axis + (axis > d)), d + (axis <= d)

    def lower(self, at, *xs, axis):
        at = list(at)
        position = at.pop(axis)
        return choose(position, [1] * len(xs), lambda k, _: xs[k][at])

    def fill(self, into, *xs, axis):
        return fill_by_parts(into, xs, lambda n, k: (*k[:axis], n, *k[axis:]))


def choose(position, sizes: Sequence[int], element):
    """``element(k, offset)`` for the ``k``-th of consecutive segments, which contains ``position``.

    Found by bisection, so that joining many operands takes few comparisons.
    """
    offsets = np.concatenate([[0], np.cumsum(sizes)]).tolist()

    def between(low: int, high: int):
        if high - low == 1:
            return element(low, position - offsets[low])
        middle = (low + high) // 2
        return build.select(position < offsets[middle], between(low, middle), between(middle, high))
    return between(0, len(sizes))


def fill_by_parts(into, operands, place):
    """Store operands one after another, element ``k`` of the ``n``-th at ``place(n, k)``.

    None if they are few: then ``choose`` is used.
    """
    if len(operands) <= _CHOSEN:
        return None
    (out,) = into
    return [build.nest(x.shape, lambda k, n=n, x=x: [build.store(out, place(n, k), x[k])])
            for n, x in enumerate(operands)]


stack_p = Stack()


def stack(operands, axis=0):
    """Join arrays of one shape and dtype along a new dimension at ``axis``.

    >>> lax.stack([jnp.array([1, 2]), jnp.array([3, 4])], axis=1)
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    operands = list(operands)
    if not operands:
        raise ValueError(explain("tanx.lax.stack", "there must be at least one operand."))
    axis = canonical_axis("tanx.lax.stack", axis, operand_type("stack", operands[0]), 1)
    return stack_p.bind(*operands, axis=axis)


class Unstack(Primitive):
    """Splits a dimension: one result for each index along it."""

    name = "unstack"
    kind = Kind.LAYOUT
    multiple_results = True

    def infer(self, x, *, axis):
        piece = ShapedArray(x.shape[:axis] + x.shape[axis + 1:], x.dtype, x.weak_type)
        return [piece] * x.shape[axis]

    def divided(self, x, *, axis):
        return [x.entries[:axis] + x.entries[axis + 1:]] * x.shape[axis]

    def eval(self, x, *, axis):
        # Copies: a kept piece must not keep the whole array alive.
        return [piece.copy() for piece in np.moveaxis(x, axis, 0)]

    jvp = linear

    def transpose(self, cts, x, *, axis):
        return [stack([instantiate(ct) for ct in cts], axis)]

    def batch(self, args, dims, *, axis):
        (x,), (d,) = args, dims
        pieces = unstack(x, axis + (axis >= d))
        return pieces, [d - (axis < d)] * len(pieces)

    def lower(self, at, x, *, axis):
        return tuple(x[[*at[:axis], k, *at[axis:]]] for k in range(x.shape[axis]))


unstack_p = Unstack()


def unstack(x, axis=0):
    """The slices of ``x`` along ``axis``, without that dimension, as a tuple.

    >>> lax.unstack(jnp.array([[1, 2], [3, 4]]), axis=1)
    (Array([1, 3], dtype=int32), Array([2, 4], dtype=int32))
    """
    aval = operand_type("unstack", x)
    axis = canonical_axis("tanx.lax.unstack", axis, aval)
    if not aval.shape[axis]:
        return ()  # no equation without results
    return tuple(unstack_p.bind(x, axis=axis))
