"""Arrays put together and taken apart: joined, split, repeated, rolled, turned."""

from __future__ import annotations

import itertools
import operator
from math import prod

import numpy as np

from .. import dtypes
from .._api.batching import vmap
from .._api.jit import library_jit
from .._api.meshes import by_out_sharding
from .._base.axes import canonical_axes, canonical_axis, listed
from ..errors import ConcretizationTypeError, ShardingTypeError, explain
from ..lax import _functions as lax
from ._creation import zeros
from ._math import remainder
from ._plan import index_dtype
from ._promotion import (
    Array,
    Explicit,
    Tracer,
    as_operand,
    canonical_shape,
    check_arraylike,
    convert,
    like,
    plain,
    promote_dtypes,
    typeof,
)
from ._shape import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    broadcast_to,
    expand_dims,
    matrix_transpose,
    moveaxis,
    ravel,
    reshape,
    swapaxes,
)

__all__ = ["append", "array_split", "block", "column_stack", "concat", "concatenate", "dsplit",
           "dstack", "flip", "fliplr", "flipud", "hsplit", "hstack", "repeat", "resize", "roll",
           "rot90", "split", "stack", "tile", "unstack", "vsplit", "vstack"]


# -- joining ---------------------------------------------------------------------------------------


def _operands(function: str, arrays, dtype) -> list:
    """Arrays to be joined, in one dtype."""
    if not isinstance(arrays, list | tuple):
        arrays = [] if isinstance(arrays, Array) and not arrays.ndim else list(arrays)
    if not arrays:
        raise ValueError(explain(f"tanx.numpy.{function}", "there must be at least one array."))
    if dtype is None and _alike(arrays):
        return arrays
    check_arraylike(function, *arrays)
    if dtype is None:
        return promote_dtypes(*arrays)
    dtype = dtypes.requested_dtype(dtype, f"tanx.numpy.{function}")
    return [lax.convert_element_type(x, dtype) for x in arrays]


def _alike(arrays) -> bool:
    """Whether all are arrays of one dtype, so that nothing needs promotion; the common case."""
    first = arrays[0]
    if type(first) is not Array:
        return False
    dtype, weak = first.aval.dtype, first.aval.weak_type
    return all(type(x) is Array and x.aval.dtype == dtype and x.aval.weak_type == weak
               for x in arrays)


def concatenate(arrays, axis=0, dtype=None):
    """``arrays`` joined along an existing dimension; with ``axis=None`` they are flattened first.

    An array in place of a list means the slices along its first dimension.

    >>> jnp.concatenate([jnp.array([1, 2]), jnp.array([3.5])])
    Array([1. , 2. , 3.5], dtype=float32)
    """
    if isinstance(arrays, Array) and arrays.ndim > 1 and axis is not None:
        return _joined_slices(arrays, axis, dtype)
    operands = _operands("concatenate", arrays, dtype)
    if axis is None:
        return lax.concatenate([ravel(x) for x in operands], 0)
    shape = operands[0].shape
    if not shape:
        raise ValueError(explain(
            "tanx.numpy.concatenate", "zero-dimensional arrays cannot be joined.",
            *(f"array {i}: {typeof(x)}" for i, x in enumerate(operands)),
            hint="tanx.numpy.stack makes a dimension."))
    axis = canonical_axis("concatenate", axis, operands[0])
    rest = shape[:axis], shape[axis + 1:]
    if any((x.shape[:axis], x.shape[axis + 1:]) != rest for x in operands):
        raise TypeError(explain(
            "tanx.numpy.concatenate", "shapes must agree in all dimensions but the one joined.",
            *(f"array {i}: {typeof(x)}" for i, x in enumerate(operands)), f"axis:    {axis}",
            hint="x[None] adds a dimension; tanx.numpy.stack joins along a new one."
            if len({x.ndim for x in operands}) > 1 else "pad or slice them to one size."))
    return lax.concatenate(operands, axis)


def _joined_slices(arrays, axis, dtype):
    """The slices along the first dimension, one after another along ``axis``."""
    axis = canonical_axis("concatenate", axis, arrays, -1)
    moved = moveaxis(arrays, 0, axis)
    shape = list(moved.shape)
    shape[axis:axis + 2] = [shape[axis] * shape[axis + 1]]
    joined = reshape(moved, shape)
    return joined if dtype is None else convert(
        joined, dtypes.requested_dtype(dtype, "tanx.numpy.concatenate"))


def concat(arrays, /, *, axis=0):
    """``arrays`` joined along an existing dimension; see :func:`concatenate`.

    >>> jnp.concat([jnp.arange(2), jnp.arange(3)])
    Array([0, 1, 0, 1, 2], dtype=int32)
    """
    return concatenate(arrays, axis)


def stack(arrays, axis=0, out=None, dtype=None):
    """``arrays`` of one shape joined along a new dimension, which is ``axis`` of the result.

    >>> jnp.stack([jnp.array([1, 2]), jnp.array([3, 4])], axis=1)
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    if out is not None:
        raise NotImplementedError(explain(
            "tanx.numpy.stack", "arrays are immutable, so out is not supported.",
            hint="use the result."))
    if isinstance(arrays, Array) and arrays.ndim:
        axis = canonical_axis("stack", axis, arrays)
        return concatenate(expand_dims(arrays, axis + 1), axis, dtype)
    operands = _operands("stack", arrays, dtype)
    shape = operands[0].shape
    if any(x.shape != shape for x in operands):
        raise ValueError(explain(
            "tanx.numpy.stack", "arrays must have the same shape.",
            *(f"array {i}: {typeof(x)}" for i, x in enumerate(operands)),
            hint="tanx.numpy.concatenate joins along an existing axis."))
    return lax.stack(operands, canonical_axis("stack", axis, operands[0], 1))

# -- joining by rows, columns and layers -----------------------------------------------------------


def _each(function: str, reshaped, arrays):
    """``reshaped`` of each of the arrays to be joined, or of each slice of one array."""
    if isinstance(arrays, Array):
        return vmap(reshaped)(arrays)
    arrays = list(arrays)
    check_arraylike(function, *arrays)
    return [reshaped(x) for x in arrays]


def hstack(tup, dtype=None):
    """Arrays joined side by side: along the second dimension; vectors along their only dimension.

    >>> jnp.hstack([jnp.array([[1], [2]]), jnp.array([[3], [4]])])
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    arrays = _each("hstack", atleast_1d, tup)
    rank = arrays.ndim - 1 if isinstance(arrays, Array) else arrays[0].ndim if arrays else 1
    return concatenate(arrays, 0 if rank == 1 else 1, dtype)


def vstack(tup, dtype=None):
    """Arrays joined one below the other: along the first dimension; vectors count as rows.

    >>> jnp.vstack([jnp.array([1, 2]), jnp.array([3, 4])])
    Array([[1, 2],
           [3, 4]], dtype=int32)
    """
    return concatenate(_each("vstack", atleast_2d, tup), 0, dtype)


def dstack(tup, dtype=None):
    """Arrays joined one behind the other: along the third dimension.

    >>> jnp.dstack([jnp.array([1, 2]), jnp.array([3, 4])])
    Array([[[1, 3],
            [2, 4]]], dtype=int32)
    """
    return concatenate(_each("dstack", atleast_3d, tup), 2, dtype)


def column_stack(tup):
    """Arrays joined side by side; vectors count as columns.

    >>> jnp.column_stack([jnp.array([1, 2]), jnp.array([3, 4])])
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    return concatenate(_each("column_stack", _columns, tup), 1)


def _columns(x):
    return matrix_transpose(atleast_2d(x)) if typeof(plain(x)).ndim < 2 else x


@library_jit
def block(arrays):
    """Arrays assembled as nested lists show: the innermost side by side, and so on outwards.

    >>> jnp.block([[jnp.ones((2, 2)), jnp.zeros((2, 1))], [jnp.arange(3)]])
    Array([[1., 1., 0.],
           [1., 1., 0.],
           [0., 1., 2.]], dtype=float32)
    """
    return _block(arrays)[0]


def _block(nested):
    """The joined array, and how deep the lists are."""
    if isinstance(nested, tuple):
        raise ValueError(explain("tanx.numpy.block", "takes nested lists, not tuples.",
                                 f"given: a tuple of {len(nested)}"))
    if not isinstance(nested, list):
        return as_operand("block", nested), 0
    parts = [_block(x) for x in nested]
    depths = {depth for _, depth in parts}
    if len(depths) != 1:
        raise ValueError(explain(
            "tanx.numpy.block", "lists must not be empty, and all equally deep.",
            f"depths: {[depth for _, depth in parts]}"))
    depth = depths.pop() + 1
    rank = max(depth, *(x.ndim for x, _ in parts))
    return concatenate([lax.broadcast_to_rank(x, rank) for x, _ in parts], -depth), depth


@library_jit(static_argnames="axis")
def append(arr, values, axis=None):
    """``arr`` with ``values`` appended along ``axis``; without ``axis``, both are flattened first.

    >>> jnp.append(jnp.array([1, 2]), 3)
    Array([1, 2, 3], dtype=int32)
    """
    if axis is None:
        return concatenate([ravel(arr), ravel(values)])
    return concatenate([arr, values], axis)


# -- splitting -------------------------------------------------------------------------------------


def _split(function: str, ary, sections, axis, uneven: bool = False) -> list:
    ary = as_operand(function, ary)
    axis = canonical_axis(function, axis, ary)
    n = ary.shape[axis]
    if np.ndim(sections):
        ends = [0, *(max(0, min(n, i + n if i < 0 else i)) for i in map(operator.index, sections)),
                n]
        sizes = [stop - start for start, stop in itertools.pairwise(ends)]
        if min(sizes) < 0:
            raise ValueError(explain(f"tanx.numpy.{function}", "indices must not decrease.",
                                     f"indices: {tuple(map(int, sections))}"))
        return lax.split(ary, sizes, axis)
    count = operator.index(sections)
    if count <= 0 or n % count and not uneven:
        raise ValueError(explain(
            f"tanx.numpy.{function}", "the dimension does not divide into equal sections.",
            f"array:    {ary.aval}", f"axis:     {axis}", f"sections: {count}",
            hint="tanx.numpy.array_split allows sections that differ by one."))
    return lax.split(ary, [n // count + (i < n % count) for i in range(count)], axis)


def split(ary, indices_or_sections, axis=0):
    """``ary`` cut along ``axis``: into a number of equal sections, or at the given indices.

    >>> jnp.split(jnp.arange(5), [1, 3])
    [Array([0], dtype=int32), Array([1, 2], dtype=int32), Array([3, 4], dtype=int32)]
    """
    return _split("split", ary, indices_or_sections, axis)


def array_split(ary, indices_or_sections, axis=0):
    """As :func:`split`, with sections that may differ in size by one.

    >>> jnp.array_split(jnp.arange(3), 2)
    [Array([0, 1], dtype=int32), Array([2], dtype=int32)]
    """
    return _split("array_split", ary, indices_or_sections, axis, uneven=True)


def hsplit(ary, indices_or_sections):
    """``ary`` cut along its second dimension, or a vector along its only one; see :func:`split`.

    >>> [x.shape for x in jnp.hsplit(jnp.zeros((2, 4)), 2)]
    [(2, 2), (2, 2)]
    """
    return _split("hsplit", ary, indices_or_sections, 0 if np.ndim(ary) == 1 else 1)


def vsplit(ary, indices_or_sections):
    """``ary`` cut along its first dimension; see :func:`split`.

    >>> [x.shape for x in jnp.vsplit(jnp.zeros((4, 2)), 2)]
    [(2, 2), (2, 2)]
    """
    return _split("vsplit", ary, indices_or_sections, 0)


def dsplit(ary, indices_or_sections):
    """``ary`` cut along its third dimension; see :func:`split`.

    >>> [x.shape for x in jnp.dsplit(jnp.zeros((1, 2, 4)), 2)]
    [(1, 2, 2), (1, 2, 2)]
    """
    return _split("dsplit", ary, indices_or_sections, 2)


def unstack(x, /, *, axis=0):
    """The slices of ``x`` along ``axis``, without that dimension, as a tuple.

    >>> jnp.unstack(jnp.array([[1, 2], [3, 4]]))
    (Array([1, 2], dtype=int32), Array([3, 4], dtype=int32))
    """
    x = as_operand("unstack", x)
    return lax.unstack(x, canonical_axis("unstack", axis, x))


# -- repeating -------------------------------------------------------------------------------------


def tile(A, reps):
    """``A`` repeated as a whole, ``reps`` times along each dimension counted from the last.

    >>> jnp.tile(jnp.array([1, 2]), (2, 2))
    Array([[1, 2, 1, 2],
           [1, 2, 1, 2]], dtype=int32)
    """
    A = as_operand("tile", A)
    reps = canonical_shape(reps, "tanx.numpy.tile")
    reps = (1,) * (A.ndim - len(reps)) + reps
    return lax.tile(lax.broadcast_to_rank(A, len(reps)), reps)


@by_out_sharding
def repeat(a, repeats, axis=None, *, total_repeat_length=None, out_sharding=None):
    """Each element of ``a`` along ``axis`` repeated; ``repeats`` is a number, or one per element.

    Without ``axis``, ``a`` is flattened first. The length of the result must be known while
    tracing. If ``repeats`` is traced, give ``total_repeat_length``: a longer result is cut off, a
    shorter one is filled with the last element.

    >>> jnp.repeat(jnp.array([1, 2]), jnp.array([1, 3]))
    Array([1, 2, 2, 2], dtype=int32)
    """
    a = as_operand("repeat", a)
    check_arraylike("repeat", repeats)
    if axis is None or not a.ndim:
        a, axis = ravel(a), 0
    axis = canonical_axis("repeat", axis, a)
    if Explicit.seen and typeof(a).entries[axis] is not None:
        raise ValueError(explain(
            "tanx.numpy.repeat", "a dimension that is repeated must not be divided, unless "
            "out_sharding is given.", f"array: {a.aval}", f"axis:  {axis}"))
    n = a.shape[axis]
    if total_repeat_length is not None:
        positions = _repeated(repeats, n, operator.index(total_repeat_length))
        return pick(a, positions, axis)
    if np.size(repeats) == 1:
        count = _repeats_known(repeats).item()
        sizes = canonical_shape((*a.shape[:axis + 1], count, *a.shape[axis + 1:]),
                                "tanx.numpy.repeat")
        copies = lax.broadcast_in_dim(a, sizes, [d for d in range(len(sizes)) if d != axis + 1])
        return lax.collapse(copies, axis, axis + 2)
    counts = _repeats_known(repeats).ravel()
    if len(counts) != n:
        raise ValueError(explain(
            "tanx.numpy.repeat", "repeats must be one number or one for each element.",
            f"array:   {a.aval}", f"axis:    {axis}", f"repeats: {typeof(repeats)}"))
    return pick(a, np.repeat(np.arange(n), counts), axis) if n else a


def _repeats_known(repeats) -> np.ndarray:
    if isinstance(repeats, Tracer) and repeats.concrete() is None:
        raise ConcretizationTypeError.of(
            "tanx.numpy.repeat", "the length of the result", repeats,
            "give total_repeat_length=....")
    return np.asarray(repeats)


def _repeated(repeats, n: int, total: int):
    """The index of the element at each of the ``total`` places of the result."""
    ends = lax.cumsum(broadcast_to(ravel(as_operand("repeat", repeats)), (n,)))
    begins = zeros(total, ends.dtype).at[ends].add(1, mode="drop")
    return lax.min(lax.cumsum(begins), convert(n - 1, ends.dtype))


def pick(a, indices, axis: int):
    """The slices of ``a`` along ``axis`` at ``indices``, which must be within bounds."""
    return a.at[(slice(None),) * axis + (indices,)].get(
        mode="promise_in_bounds", wrap_negative_indices=False)


@library_jit(static_argnames="new_shape")
def resize(a, new_shape):
    """``a`` in another shape, cut off or repeated as needed.

    >>> jnp.resize(jnp.array([1, 2, 3]), (2, 2))
    Array([[1, 2],
           [3, 1]], dtype=int32)
    """
    a = ravel(as_operand("resize", a))
    shape = new_shape if isinstance(new_shape, tuple) else (new_shape,)
    if any(n < 0 for n in shape):
        raise ValueError(explain("tanx.numpy.resize", "sizes must not be negative.",
                                 f"new_shape: {new_shape}"))
    shape = canonical_shape(shape, "tanx.numpy.resize")
    size = prod(shape)
    if not a.size:
        return broadcast_to(convert(0, a.dtype, a.weak_type), shape)
    enough = lax.tile(a, [-(-size // a.size)])
    return reshape(lax.slice(enough, (0,), (size,)), shape)


# -- rolling and turning ---------------------------------------------------------------------------


def roll(a, shift, axis=None):
    """``a`` with its elements moved on by ``shift`` along ``axis``, from the end to the front.

    For several axes, ``shift`` is one number, or one per axis. Without ``axis``, ``a`` is flattened
    first and reshaped afterwards.

    >>> jnp.roll(jnp.arange(5), 2)
    Array([3, 4, 0, 1, 2], dtype=int32)
    """
    a = as_operand("roll", a)
    if axis is None:
        return reshape(roll(ravel(a), shift, 0), a.shape)
    axes = tuple([canonical_axis("roll", d, a) for d in listed(axis)])
    if Explicit.seen and any(typeof(a).entries[d] is not None for d in axes):
        raise ShardingTypeError(explain(
            "tanx.numpy.roll", "a dimension along which elements move must not be divided.",
            f"array: {a.aval}", f"axis:  {axis}", hint="tanx.reshard makes it whole."))
    if np.ndim(shift) > 1:
        raise ValueError(explain("tanx.numpy.roll", "shift must be a number or a vector of them.",
                                 f"shift: {typeof(shift)}"))
    traced = isinstance(shift, Array)
    if not traced:
        shift = tuple([int(s) for s in listed(shift)])
    count = shift.size if traced else len(shift)
    if len(axes) == 1:
        axes *= count
    elif count not in (1, len(axes)):
        raise ValueError(explain(
            "tanx.numpy.roll", "shift and axis must have one length, or one of them a single item.",
            f"shift: {typeof(shift) if traced else shift}", f"axis:  {axis}"))
    if traced:
        return _roll_dynamic(a, shift, axes)
    return _roll_static(a, shift * len(axes) if count == 1 else shift, axes)


@library_jit(static_argnums=(1, 2))
def _roll_static(a, shifts, axes):
    for shift, axis in zip(shifts, axes):
        n = a.shape[axis]
        if n:
            start = -shift % n
            a = lax.concatenate([lax.slice_in_dim(a, start, n, axis=axis),
                                 lax.slice_in_dim(a, 0, start, axis=axis)], axis)
    return a


@library_jit(static_argnums=2)
def _roll_dynamic(a, shift, axes):
    longest = index_dtype(2 * max(a.shape, default=0))  # narrower types cannot hold the sizes
    for by, axis in zip(lax.unstack(broadcast_to(shift, (len(axes),))), axes):
        n = a.shape[axis]
        if n:
            wide = by.dtype.kind in "iu" and by.dtype.itemsize >= longest.itemsize
            by = by if wide else convert(by, longest)
            by = remainder(by, like(by, n))
            a = lax.dynamic_slice_in_dim(lax.concatenate([a, a], axis), n - by, n, axis)
    return a


def flip(m, axis=None):
    """``m`` with its elements reversed along ``axis``: one axis, several, or all by default.

    >>> jnp.flip(jnp.array([[1, 2], [3, 4]]), 0)
    Array([[3, 4],
           [1, 2]], dtype=int32)
    """
    m = as_operand("flip", m)
    return _flip(m, tuple(range(m.ndim)) if axis is None else canonical_axes("flip", axis, m))


@library_jit(static_argnums=1)
def _flip(m, axes):
    return lax.rev(m, axes)


def fliplr(m):
    """``m`` with its elements reversed along the second dimension.

    >>> jnp.fliplr(jnp.array([[1, 2], [3, 4]]))
    Array([[2, 1],
           [4, 3]], dtype=int32)
    """
    m = as_operand("fliplr", m)
    return _flip(m, canonical_axes("fliplr", 1, m))


def flipud(m):
    """``m`` with its elements reversed along the first dimension.

    >>> jnp.flipud(jnp.array([[1, 2], [3, 4]]))
    Array([[3, 4],
           [1, 2]], dtype=int32)
    """
    m = as_operand("flipud", m)
    return _flip(m, canonical_axes("flipud", 0, m))


@library_jit(static_argnames=("k", "axes"))
def rot90(m, k=1, axes=(0, 1)):
    """``m`` rotated by ``k`` right angles, from the first of ``axes`` towards the second.

    >>> jnp.rot90(jnp.array([[1, 2], [3, 4]]))
    Array([[2, 4],
           [1, 3]], dtype=int32)
    """
    m = as_operand("rot90", m)
    if m.ndim < 2 or len(axes) != 2:
        raise ValueError(explain("tanx.numpy.rot90", "needs two axes of at least two dimensions.",
                                 f"array: {m.aval}", f"axes:  {tuple(axes)}"))
    first, second = canonical_axes("rot90", axes, m)
    k %= 4
    if k == 0:
        return m
    if k == 2:
        return flip(flip(m, first), second)
    if k == 1:
        return swapaxes(flip(m, second), first, second)
    return flip(swapaxes(m, first, second), second)
