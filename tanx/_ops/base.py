"""Operations for every rule: ``broadcast_in_dim``, ``reshape``, ``transpose``, ``reduce_sum``.

Broadcasting and summing are each other's transpose, so the two cannot live in files that import one
another in turn; batching rules move axes with ``transpose``. The other files of this room build on
this one and import it at the top, never inside a function.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from math import prod
from operator import methodcaller

import numpy as np

from .._base.config import allow_f16_reductions
from .._base.flags import strict
from .._core.array import Array
from .._core.explicit import (
    Explicit,
    requested,
    sharding_error,
    sharding_for,
    sharding_of_lanes,
)
from .._core.high import MappingSpec
from .._core.linear import linear
from .._core.primitive import Kind, Primitive
from .._core.refs import Reference, no_array
from .._core.spec import names_of
from .._core.trace import context
from .._core.transfers import watch_transfer
from .._core.types import (
    ShapedArray,
    canonical_shape,
    high_classes,
    is_arraylike,
    not_arraylike,
    typeof,
    value_rules,
)
from .._loops import build
from ..dtypes import float0, stored_numbers
from ..errors import explain
from .extremes import Extreme
from .operands import ANY, NUMBER, NUMPY_FLOATS, accumulator, identity, letter, refused

__all__ = ["broadcast_in_dim", "broadcast_in_dim_p", "reduce_sum", "reduce_sum_p", "reshape",
           "reshape_p", "transpose", "transpose_p"]

# Below this many elements NumPy copies them faster than it makes a broadcast view.
_SMALL = 4096


def as_array(x):
    """The operand as an array, for functions that have nothing to change."""
    if isinstance(x, Array):
        return x
    if isinstance(x, Reference):
        raise no_array("tanx.numpy.asarray", x.aval)
    aval = typeof(x)
    if aval.is_high:
        return x
    if strict.value:
        watch_transfer(aval)
    if type(x) in value_rules:
        x = value_rules[type(x)](x)
    if aval.dtype == float0:
        return x  # elements have no bytes: a NumPy array
    if context.trace.staging and type(x) is np.ndarray and aval.shape and x.dtype == aval.dtype:
        return context.trace.captured(x)
    value = stored_numbers(x, aval.dtype)
    if aval.shape:
        return Array(value, aval.weak_type, aval)
    return context.trace.literal(value, aval, x if type(x) is float else None)


@lru_cache(maxsize=4096)
def _broadcasted(x: ShapedArray, shape: tuple[int, ...], broadcast_dimensions) -> ShapedArray:
    """The type in a larger shape; cached, because eager calls repeat."""
    if (len(broadcast_dimensions) != x.ndim
            or len(set(broadcast_dimensions)) != x.ndim
            or any(not 0 <= d < len(shape) or n not in (1, shape[d])
                   for n, d in zip(x.shape, broadcast_dimensions))):
        raise TypeError(explain(
            "tanx.lax.broadcast_in_dim",
            "operand dimensions must be 1 or equal the distinct ones they map to.",
            f"operand:              {x}", f"shape:                {shape}",
            f"broadcast_dimensions: {broadcast_dimensions}"))
    return x.update(shape=shape)


class BroadcastInDim(Primitive):
    """Places the operand's dimensions among those of a larger shape and repeats along the rest."""

    name = "broadcast_in_dim"
    kind = Kind.LAYOUT
    sharding_parameter = "sharding"

    def infer(self, x, *, shape, broadcast_dimensions, sharding=None):
        return _broadcasted(x, shape, broadcast_dimensions)

    def divided(self, x, *, shape, broadcast_dimensions, sharding=None):
        entries = [None] * len(shape)
        for d, entry in zip(broadcast_dimensions, x.entries):
            entries[d] = entry
        return tuple(entries)

    def prepared(self, x, *, shape, broadcast_dimensions, sharding=None):
        is_reshape = x.size == prod(shape) and list(broadcast_dimensions) == sorted(
            broadcast_dimensions)
        return methodcaller("reshape", shape) if is_reshape else None

    def eval(self, x, *, shape, broadcast_dimensions, sharding=None):
        if list(broadcast_dimensions) != sorted(broadcast_dimensions):
            x = np.transpose(x, np.argsort(broadcast_dimensions))
        placed = [1] * len(shape)
        for n, d in zip(x.shape, sorted(broadcast_dimensions)):
            placed[d] = n
        x = x.reshape(placed)
        if x.shape == shape:
            return x
        if prod(shape) > _SMALL:
            return np.broadcast_to(x, shape)
        out = np.empty(shape, x.dtype)
        out[...] = x
        return out

    jvp = linear

    def transpose(self, ct, x, *, shape, broadcast_dimensions, sharding=None):
        kept = [d for n, d in zip(x.shape, broadcast_dimensions) if n != 1]
        repeated = [d for d in range(len(shape)) if d not in kept]
        summed = reduce_sum(ct, repeated) if repeated else ct
        placed = [i for i, n in enumerate(x.shape) if n != 1]
        if kept != sorted(kept):
            summed = transpose(summed, np.argsort(np.argsort(kept)))
        return [broadcast_in_dim(summed, x.shape, placed)]

    def batch(self, args, dims, *, shape, broadcast_dimensions, sharding=None):
        x = to_front(args[0], dims[0])
        return broadcast_in_dim(x, (typeof(x).shape[0], *shape),
                                (0, *(d + 1 for d in broadcast_dimensions))), 0

    def lower(self, at, x, *, shape, broadcast_dimensions, sharding=None):
        return x[[0 if n == 1 else at[d] for n, d in zip(x.shape, broadcast_dimensions)]]

    def show_params(self, params):
        dims = params["broadcast_dimensions"]
        return {"broadcast_dimensions": dims} if dims else {}


broadcast_in_dim_p = BroadcastInDim()


def broadcast_in_dim(operand, shape, broadcast_dimensions, *, out_sharding=None):
    """Broadcast ``operand`` to ``shape``; its dimension ``i`` becomes ``broadcast_dimensions[i]``.

    >>> lax.broadcast_in_dim(jnp.array([1, 2]), (2, 3), (0,))
    Array([[1, 1, 1],
           [2, 2, 2]], dtype=int32)
    """
    shape = canonical_shape(shape, "tanx.lax.broadcast_in_dim")
    broadcast_dimensions = tuple(map(int, broadcast_dimensions))
    if (out_sharding is None and broadcast_dimensions == tuple(range(len(shape)))
            and operand_type("broadcast_in_dim", operand).shape == shape):
        return as_array(operand)
    return broadcast_in_dim_p.bind(operand, shape=shape, broadcast_dimensions=broadcast_dimensions,
                                   sharding=requested("tanx.lax.broadcast_in_dim", out_sharding,
                                                      len(shape)))


def operand_type(function: str, x) -> ShapedArray:
    """The type of an operand, or an error that names the function it was passed to."""
    if not is_arraylike(x):
        raise not_arraylike(f"tanx.lax.{function}", x, 0)
    return typeof(x)


class Reshape(Primitive):
    """Reads the elements in row-major order into another shape."""

    name = "reshape"
    kind = Kind.LAYOUT
    sharding_parameter = "sharding"

    def infer(self, x, *, new_sizes, dimensions, sharding=None):
        if dimensions is not None and sorted(dimensions) != list(range(x.ndim)):
            raise TypeError(explain(
                "tanx.lax.reshape", "dimensions must hold each dimension of the operand once.",
                f"operand:    {x}", f"dimensions: {dimensions}"))
        if prod(new_sizes) != x.size:
            raise TypeError(explain(
                "tanx.lax.reshape", "the number of elements must stay the same.",
                f"operand:   {x}, {x.size} elements",
                f"new_sizes: {new_sizes}, {prod(new_sizes)} elements"))
        return ShapedArray(new_sizes, x.dtype, x.weak_type)

    def divided(self, x, *, new_sizes, dimensions, sharding=None):
        """The division of the result: runs of dimensions are merged or split, but not both."""
        sources = [d for d in range(x.ndim) if x.shape[d] != 1]
        targets = [p for p, n in enumerate(new_sizes) if n != 1]
        entries: list = [None] * len(new_sizes)
        old, new = [x.shape[d] for d in sources], [new_sizes[p] for p in targets]
        runs = [(sources[i], targets[j]) for i, j in _matching_runs(old, new)]
        divided = [x.entries[d] is not None for d in sources]
        if dimensions is not None or any(divided) and (0 in old or not (
                all(len(i) == 1 for i, _ in runs) or all(len(j) == 1 for _, j in runs))):
            raise self._undecided(x, new_sizes)
        for i, j in runs:
            names = [x.entries[d] for d in i]
            given = [e for e in names if e is not None]
            if names[:len(given)] != given or len(given) > 1 and len(given) < len(names):
                raise self._undecided(x, new_sizes)
            if given:
                entries[j[0]] = tuple(n for e in given for n in names_of(e))
        return tuple(entries)

    def _undecided(self, x, new_sizes) -> Exception:
        return sharding_error(
            self, "it is ambiguous how dimensions of the result are divided.", [x],
            f"new_sizes: {new_sizes}", hint="out_sharding=tanx.P(...) decides it.")

    def eval(self, x, *, new_sizes, dimensions, sharding=None):
        return (x if dimensions is None else x.transpose(dimensions)).reshape(new_sizes)

    jvp = linear

    def transpose(self, ct, x, *, new_sizes, dimensions, sharding=None):
        if dimensions is None:
            return [reshape(ct, x.shape, out_sharding=sharding_for(x.aval, None, ct))]
        return [transpose(reshape(ct, [x.shape[d] for d in dimensions]), np.argsort(dimensions))]

    def batch(self, args, dims, *, new_sizes, dimensions, sharding=None):
        x = to_front(args[0], dims[0])
        if dimensions is not None:
            dimensions = (0, *(d + 1 for d in dimensions))
        return reshape(x, (typeof(x).shape[0], *new_sizes), dimensions), 0

    def lower(self, at, x, *, new_sizes, dimensions, sharding=None):
        dimensions = range(x.ndim) if dimensions is None else dimensions
        sources = [d for d in dimensions if x.shape[d] != 1]
        targets = [p for p, n in enumerate(new_sizes) if n != 1]
        old, new = [x.shape[d] for d in sources], [new_sizes[p] for p in targets]
        index: list[build.Expr] = [build.const(0)] * x.ndim
        for i, j in _matching_runs(old, new):
            flat = build.flatten_index([at[p] for p in targets[j]], new[j])
            for d, place in zip(sources[i], build.unflatten_index(flat, old[i])):
                index[d] = place
        return x[index]

    def is_view(self, *, new_sizes, dimensions, sharding=None):
        return dimensions is None


def _matching_runs(old: Sequence[int], new: Sequence[int]) -> Iterator[tuple[slice, slice]]:
    """The shortest runs of dimensions with the same number of elements in both shapes.

    Index arithmetic happens only within a run, so dimensions that a reshape does not change stay
    simple. No size is 1.
    """
    if 0 in old:
        return
    i = j = 0
    while i < len(old):
        i0, j0 = i, j
        i, j = i + 1, j + 1
        while prod(old[i0:i]) != prod(new[j0:j]):
            if prod(old[i0:i]) < prod(new[j0:j]):
                i += 1
            else:
                j += 1
        yield slice(i0, i), slice(j0, j)


reshape_p = Reshape()


def reshape(operand, new_sizes, dimensions=None, *, out_sharding=None):
    """Give ``operand`` the shape ``new_sizes``, reading its elements in row-major order.

    With ``dimensions``, a permutation, the elements are read in the order of ``transpose(operand,
    dimensions)``. Sizes must be explicit; :func:`tanx.numpy.reshape` takes -1.

    >>> lax.reshape(jnp.arange(4), (2, 2), dimensions=(0,))
    Array([[0, 1],
           [2, 3]], dtype=int32)
    """
    new_sizes = canonical_shape(new_sizes, "tanx.lax.reshape")
    aval = operand_type("reshape", operand)
    if dimensions is not None:
        dimensions = tuple(map(int, dimensions))
        if dimensions == tuple(range(aval.ndim)):
            dimensions = None
    if dimensions is None and aval.shape == new_sizes and out_sharding is None:
        return as_array(operand)
    return reshape_p.bind(operand, new_sizes=new_sizes, dimensions=dimensions,
                          sharding=requested("tanx.lax.reshape", out_sharding, len(new_sizes)))


class Transpose(Primitive):
    """Permutes the dimensions."""

    name = "transpose"
    kind = Kind.LAYOUT

    def infer(self, x, *, permutation):
        if sorted(permutation) != list(range(x.ndim)):
            raise TypeError(explain(
                "tanx.lax.transpose", "permutation must hold each dimension once.",
                f"operand:     {x}", f"permutation: {permutation}"))
        return ShapedArray(tuple([x.shape[i] for i in permutation]), x.dtype, x.weak_type)

    def divided(self, x, *, permutation):
        return tuple(x.entries[i] for i in permutation)

    def eval(self, x, *, permutation):
        return x.transpose(permutation)

    jvp = linear

    def transpose(self, ct, x, *, permutation):
        return [transpose(ct, np.argsort(permutation))]

    def batch(self, args, dims, *, permutation):
        (x,), (d,) = args, dims
        return transpose(x, [d, *(i + (i >= d) for i in permutation)]), 0

    def lower(self, at, x, *, permutation):
        return x[[at[permutation.index(d)] for d in range(x.ndim)]]


transpose_p = Transpose()


def transpose(operand, permutation):
    """Permute dimensions: dimension ``i`` of the result is ``permutation[i]`` of the operand.

    >>> lax.transpose(jnp.zeros((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    permutation = tuple(map(int, permutation))
    if (permutation == tuple(range(len(permutation)))
            and len(permutation) == operand_type("transpose", operand).ndim):
        return as_array(operand)
    return transpose_p.bind(operand, permutation=permutation)


# -- sums ------------------------------------------------------------------------------------------


class Reduction(Primitive):
    """Combines the elements along some dimensions, which the result lacks.

    A subclass states ``name``, ``accepts``, ``combine`` (one of the loops' reducers), ``ufunc``
    (its NumPy name), and its derivative. ``wide`` asks for narrow floats to be combined in float32.
    """

    kind = Kind.REDUCTION
    accepts = ANY
    combine: str
    ufunc: np.ufunc | Extreme
    wide = False
    keeps_weak_type = True

    def infer(self, x, *, axes, **params):
        return _reduced(self, x.shape, x.dtype, x.weak_type, axes)

    def divided(self, x, *, axes, **params):
        return tuple(e for d, e in enumerate(x.entries) if d not in axes)

    def eval(self, x, *, axes, **params):
        dtype = x.dtype
        if not x.size:
            shape = [n for d, n in enumerate(x.shape) if d not in axes]
            return np.full(shape, identity(self.combine, dtype), dtype)
        out = self.ufunc.reduce(x, axis=axes, dtype=accumulator(dtype) if self.wide else None)
        return out if out.dtype == dtype else out.astype(dtype)

    def prepared(self, x, *, axes, **params):
        return partial(self.ufunc.reduce, axis=axes) if (
            x.size and x.dtype in NUMPY_FLOATS) else None

    def batch(self, args, dims, *, axes, **params):
        (x,), (d,) = args, dims
        shifted = tuple(a + (a >= d) for a in axes)
        return self.bind(x, axes=shifted, **params), d - sum(a < d for a in shifted)

    def lower(self, at, x, *, axes, **params):
        dtype = accumulator(x.dtype) if self.wide else x.dtype
        total = build.reduce(self.combine, [x.shape[a] for a in axes],
                             lambda k: build.convert(x[spread(at, axes, k)], dtype),
                             identity(self.combine, dtype))
        return build.convert(total, x.dtype)


@lru_cache(maxsize=4096)
def _reduced(primitive: Reduction, shape, dtype, weak_type, axes) -> ShapedArray:
    """The type of a reduction; cached, because eager calls repeat."""
    x = ShapedArray(shape, dtype, weak_type)
    if letter(dtype) not in primitive.accepts:
        raise refused(primitive.name, x, primitive.accepts)
    return ShapedArray(reduced_shape(primitive.name, x, axes), dtype,
                       weak_type and primitive.keeps_weak_type)


def reduced_shape(name: str, x: ShapedArray, axes) -> tuple[int, ...]:
    """The shape without some dimensions, after checking that those are distinct and exist."""
    if axes and (min(axes) < 0 or max(axes) >= len(x.shape) or len(set(axes)) < len(axes)):
        raise ValueError(explain(
            f"tanx.lax.{name}", "axes must be distinct dimensions of the operand.",
            f"operand: {x}", f"axes:    {axes}",
            hint="tanx.numpy's functions take negative axes."))
    return tuple([n for d, n in enumerate(x.shape) if d not in axes])


def spread(at, axes, inner) -> list:
    """An index made of ``inner`` at the positions ``axes`` and of ``at`` at the others."""
    placed, rest = dict(zip(axes, inner)), iter(at)
    return [placed[d] if d in placed else next(rest) for d in range(len(at) + len(axes))]


class ReduceSum(Reduction):
    """The sum along dimensions."""

    name = "reduce_sum"
    accepts = NUMBER
    combine = "add"
    ufunc = np.add
    wide = True
    jvp = linear

    def infer(self, x, *, axes, **params):
        if strict.value and not allow_f16_reductions.value and (
                letter(x.dtype) == "f" and x.dtype.itemsize == 2
                and any(x.shape[a] != 1 for a in axes)):
            raise ValueError(explain(
                "tanx.lax.reduce_sum", "sums of 16-bit floats are not allowed.", f"operand: {x}",
                hint="tanx.config.jax_allow_f16_reductions allows them; or sum in float32."))
        return super().infer(x, axes=axes, **params)

    def prepared(self, x, *, axes, **params):
        in_blocks = axes and axes[-1] < x.ndim - 1 and prod(x.shape[a] for a in axes) >= _MANY
        return None if in_blocks else super().prepared(x, axes=axes, **params)

    def eval(self, x, *, axes, **params):
        if x.dtype.char in "fdFD" and axes and axes[-1] < x.ndim - 1 and x.flags.c_contiguous and (
                axes == tuple(range(axes[0], axes[-1] + 1))):
            rows = prod(x.shape[a] for a in axes)
            if rows >= _MANY:
                return _by_blocks(x, axes, rows)
        return super().eval(x, axes=axes, **params)

    def transpose(self, ct, x, *, axes, out_sharding):
        return [broadcast_in_dim(ct, x.shape, [d for d in range(x.ndim) if d not in axes])]


_BLOCK = 64
"""Rows per block: rows of a block are added one by one, then the sums of blocks."""
_MANY = 512
"""From this many rows on, blocks are worth their 10 us: fewer rows lose at most a digit."""


def _by_blocks(x, axes, rows: int):
    """The sum of many rows, by blocks.

    NumPy adds rows one by one, which loses digits: the mean of 10,000 rows of float32 loses its
    last three, where compiled code loses one.
    """
    before, after = x.shape[:axes[0]], x.shape[axes[-1] + 1:]
    whole = rows - rows % _BLOCK
    x = x.reshape(prod(before), rows, prod(after))
    total = np.add.reduce(x[:, :whole].reshape(len(x), whole // _BLOCK, _BLOCK, x.shape[2]), axis=2)
    if whole < rows:
        last = np.add.reduce(x[:, whole:], axis=1, keepdims=True)
        total = np.concatenate([total, last], axis=1)
    if total.shape[1] >= _MANY:
        return _by_blocks(total, (1,), total.shape[1]).reshape(before + after)
    return np.add.reduce(total, axis=1).reshape(before + after)


reduce_sum_p = ReduceSum()


def reduce_sum(operand, axes, *, out_sharding=None):
    """The sum over the dimensions ``axes``.

    >>> lax.reduce_sum(jnp.array([[1, 2], [3, 4]]), (0,))
    Array([4, 6], dtype=int32)
    """
    return reduced(reduce_sum_p, operand, axes, out_sharding)


def reduced(primitive, operand, axes, out_sharding):
    """A reduction, with the requested sharding."""
    out = primitive.bind(operand, axes=tuple(map(operator.index, axes)), out_sharding=None)
    if out_sharding is None:
        return out
    shape = typeof(out).shape
    return broadcast_in_dim(out, shape, range(len(shape)), out_sharding=out_sharding)


# -- batch axes ------------------------------------------------------------------------------------


def in_front(dim):
    """The place of a batch axis that was moved to the front; high types define their own."""
    return dim if dim is None or isinstance(dim, MappingSpec) else 0


def move_axis(x, source: int, destination: int):
    """Move one axis, keeping the order of the others."""
    if source == destination or isinstance(source, MappingSpec):
        return x
    order = [i for i in range(typeof(x).ndim) if i != source]
    order.insert(destination, source)
    return transpose(x, order)


def to_front(x, dim: int | None):
    """The operand with its batch axis first; unchanged if it has none."""
    return x if dim is None else move_axis(x, dim, 0)


def batch_size(args, dims) -> int:
    """The size of the batch axis."""
    return next(typeof(x).shape[d] for x, d in zip(args, dims) if d is not None)


def materialize(x, dim: int | None, size: int, position: int = 0):
    """The operand with a batch axis at ``position``, repeated along it if it had none."""
    if dim is not None:
        return move_axis(x, dim, position)
    if high_classes and typeof(x).is_high:
        raise NotImplementedError(explain(
            "tanx.vmap", "a value of a high type cannot be repeated for all lanes of a batch.",
            f"type: {typeof(x)}", hint="map it as an input, or make it inside of the loop."))
    shape = list(typeof(x).shape)
    shape.insert(position, size)
    sharding = sharding_of_lanes(typeof(x), position) if Explicit.seen else None
    return broadcast_in_dim(x, shape, [i for i in range(len(shape)) if i != position],
                            out_sharding=sharding)


def batch_together(args, dims):
    """All operands with a batch axis at one position, and that position."""
    position = next(d for d in dims if d is not None)
    size = batch_size(args, dims)
    return [materialize(x, d, size, position) for x, d in zip(args, dims)], position
