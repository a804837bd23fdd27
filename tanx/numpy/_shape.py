"""Reshaping, transposing, broadcasting; adding and removing dimensions."""

from __future__ import annotations

from math import prod

import numpy as np

from .._api.jit import library_jit
from .._base.axes import canonical_axes, canonical_axis, listed
from .._base.symbolic import index
from ..errors import explain
from ..lax import _functions as lax
from ._promotion import as_operand, canonical_shape, common_shape, plain

__all__ = ["atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays", "broadcast_shapes",
           "broadcast_to", "expand_dims", "matrix_transpose", "moveaxis", "ndim", "permute_dims",
           "ravel", "reshape", "rollaxis", "shape", "size", "squeeze", "swapaxes", "transpose"]


# -- axes ------------------------------------------------------------------------------------------


# -- reshaping -------------------------------------------------------------------------------------


def reshape(a, shape, order="C", *, copy=None, out_sharding=None):
    """``a`` in another shape with the same number of elements; a size of -1 is inferred.

    ``order="F"`` reads and writes the elements with the first index changing fastest.

    >>> jnp.reshape(jnp.arange(6), (2, -1))
    Array([[0, 1, 2],
           [3, 4, 5]], dtype=int32)
    """
    a = as_operand("reshape", a)
    old = a.shape
    new = _new_sizes(a, shape)
    if order == "C":
        return lax.reshape(a, new, out_sharding=out_sharding)
    if order == "F":
        backwards = lax.reshape(a, new[::-1], tuple(range(len(old)))[::-1])
        return lax.transpose(backwards, range(len(new))[::-1])
    raise _unknown_order("reshape", order)


def _unknown_order(function: str, order) -> Exception:
    if order in ("A", "K"):
        return NotImplementedError(explain(
            f"tanx.numpy.{function}", "arrays have no order in memory to follow.",
            f"order: {order!r}", hint="use order='C' or order='F'."))
    return ValueError(explain(f"tanx.numpy.{function}", "order must be 'C' or 'F'.",
                              f"order: {order!r}"))


def _new_sizes(a, shape) -> tuple[int, ...]:
    """The shape given to ``reshape``, with -1 replaced by the inferred size."""
    if type(shape) is not tuple:
        try:
            shape = tuple(shape)
        except TypeError:
            shape = (shape,)
    try:
        new = tuple([index(n) for n in shape])
    except TypeError:
        new = canonical_shape(shape, "tanx.numpy.reshape")
    size = prod(a.shape)
    if -1 in new:
        known = prod([n for n in new if n != -1])
        if new.count(-1) > 1:
            raise TypeError(explain("tanx.numpy.reshape", "only one size may be -1.",
                                    f"shape: {new}"))
        if known and size % known == 0:
            new = tuple([size // known if n == -1 else n for n in new])
    if prod(new) != size or any(n < 0 for n in new):
        raise TypeError(explain(
            "tanx.numpy.reshape", "the number of elements must stay the same.",
            f"array: {a.aval}, {size} elements",
            f"shape: {new}" + ("" if -1 in new else f", {prod(new)} elements")))
    return new


def ravel(a, order="C", *, out_sharding=None):
    """The elements of ``a`` in one dimension.

    >>> jnp.ravel(jnp.array([[1, 2], [3, 4]]), order="F")
    Array([1, 3, 2, 4], dtype=int32)
    """
    a = as_operand("ravel", a)
    if order == "K":
        raise _unknown_order("ravel", order)
    return reshape(a, (prod(a.shape),), order, out_sharding=out_sharding)


def squeeze(a, axis=None):
    """``a`` without its dimensions of size 1, or without only those in ``axis``.

    >>> jnp.squeeze(jnp.zeros((1, 3, 1)), axis=0).shape
    (3, 1)
    """
    a = as_operand("squeeze", a)
    if axis is None:
        dimensions = tuple([i for i, n in enumerate(a.shape) if n == 1])
    else:
        dimensions = canonical_axes("squeeze", axis, a)
        if any(a.shape[d] != 1 for d in dimensions):
            raise ValueError(explain(
                "tanx.numpy.squeeze", "only dimensions of size 1 can be dropped.",
                f"array: {a.aval}", f"axis:  {axis}"))
    return lax.squeeze(a, dimensions)


def expand_dims(a, axis):
    """``a`` with new dimensions of size 1, which are ``axis`` of the result.

    >>> jnp.expand_dims(jnp.zeros((2, 3)), (0, -1)).shape
    (1, 2, 3, 1)
    """
    a = as_operand("expand_dims", a)
    axes = listed(axis)
    return lax.expand_dims(a, canonical_axes("expand_dims", axes, a, len(axes)))


def broadcast_to(array, shape, *, out_sharding=None):
    """``array`` repeated to fill ``shape``, along new leading dimensions and those of size 1.

    >>> jnp.broadcast_to(jnp.arange(2), (3, 2))
    Array([[0, 1],
           [0, 1],
           [0, 1]], dtype=int32)
    """
    array = as_operand("broadcast_to", array)
    shape = canonical_shape(shape, "tanx.numpy.broadcast_to")
    old = array.shape
    if old == shape:
        return array
    lead = len(shape) - len(old)
    if lead < 0 or any(n != m and n != 1 for n, m in zip(old, shape[lead:])):
        raise ValueError(explain(
            "tanx.numpy.broadcast_to", "the array does not broadcast to the shape.",
            f"array: {array.aval}", f"shape: {shape}",
            hint="sizes must be equal or 1, counted from the last dimension."))
    return lax.broadcast_in_dim(array, shape, range(lead, len(shape)), out_sharding=out_sharding)


def broadcast_shapes(*shapes):
    """The shape that arrays of these shapes broadcast to; an integer is a shape of one dimension.

    >>> jnp.broadcast_shapes((2, 1), 3)
    (2, 3)
    """
    shapes = tuple(canonical_shape(shape, "tanx.numpy.broadcast_shapes") for shape in shapes)
    try:
        return common_shape(*shapes) if shapes else ()
    except ValueError:
        raise ValueError(explain(
            "tanx.numpy.broadcast_shapes", "Incompatible shapes for broadcasting.",
            f"shapes: {', '.join(map(str, shapes))}",
            hint="sizes must be equal or 1, counted from the last dimension.")) from None


def broadcast_arrays(*args):
    """``args`` broadcast to their common shape, as a tuple; dtypes stay.

    >>> [x.shape for x in jnp.broadcast_arrays(jnp.zeros((2, 1)), jnp.zeros(3))]
    [(2, 3), (2, 3)]
    """
    arrays = [as_operand("broadcast_arrays", x) for x in args]
    shape = broadcast_shapes(*[x.shape for x in arrays])
    return tuple([broadcast_to(x, shape) for x in arrays])


def _at_least(function, arrays, expanded):
    """One array with dimensions added, or several of them as a tuple."""
    if len(arrays) == 1:
        return expanded(as_operand(function.__name__, arrays[0]))
    return tuple([function(x) for x in arrays])


@library_jit
def atleast_1d(*arys):
    """``arys`` with at least one dimension each; a tuple unless only one is given.

    >>> jnp.atleast_1d(1.0)
    Array([1.], dtype=float32, weak_type=True)
    """
    return _at_least(atleast_1d, arys, lambda x: x if x.ndim else lax.expand_dims(x, (0,)))


@library_jit
def atleast_2d(*arys):
    """``arys`` with at least two dimensions each, new ones in front.

    >>> jnp.atleast_2d(jnp.array([1, 2]))
    Array([[1, 2]], dtype=int32)
    """
    return _at_least(atleast_2d, arys, lambda x: lax.broadcast_to_rank(x, max(2, x.ndim)))


@library_jit
def atleast_3d(*arys):
    """``arys`` with at least three dimensions each: vectors become (1, n, 1), matrices (m, n, 1).

    >>> jnp.atleast_3d(jnp.zeros(4)).shape
    (1, 4, 1)
    """
    new = [(0, 1, 2), (0, 2), (2,)]
    return _at_least(atleast_3d, arys,
                     lambda x: lax.expand_dims(x, new[x.ndim]) if x.ndim < 3 else x)


# -- transposing -----------------------------------------------------------------------------------


def transpose(a, axes=None):
    """``a`` with its dimensions in the order of ``axes``; by default, in reverse.

    >>> jnp.transpose(jnp.zeros((2, 3, 4)), (0, 2, 1)).shape
    (2, 4, 3)
    """
    a = as_operand("transpose", a)
    if axes is None:
        return lax.transpose(a, range(a.ndim)[::-1])
    permutation = [canonical_axis("transpose", axis, a) for axis in axes]
    if sorted(permutation) != list(range(a.ndim)):
        raise TypeError(explain(
            "tanx.numpy.transpose", "axes must hold each dimension once.",
            f"array: {a.aval}", f"axes:  {tuple(axes)}"))
    return lax.transpose(a, permutation)


def permute_dims(a, /, axes):
    """``a`` with its dimensions in the order of ``axes``; see :func:`transpose`.

    >>> jnp.permute_dims(jnp.zeros((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    return transpose(as_operand("permute_dims", a), axes)


def matrix_transpose(x, /):
    """``x``, a stack of matrices, with each of them transposed.

    >>> jnp.matrix_transpose(jnp.zeros((5, 2, 3))).shape
    (5, 3, 2)
    """
    x = as_operand("matrix_transpose", x)
    if x.ndim < 2:
        raise ValueError(explain("tanx.numpy.matrix_transpose", "needs at least two dimensions.",
                                 f"array: {x.aval}"))
    return swapaxes(x, -1, -2)


def swapaxes(a, axis1, axis2):
    """``a`` with two of its dimensions exchanged.

    >>> jnp.swapaxes(jnp.zeros((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    a = as_operand("swapaxes", a)
    axis1 = canonical_axis("swapaxes", axis1, a)
    axis2 = canonical_axis("swapaxes", axis2, a)
    permutation = list(range(a.ndim))
    permutation[axis1], permutation[axis2] = axis2, axis1
    return lax.transpose(a, permutation)


def moveaxis(a, source, destination):
    """``a`` with the dimensions ``source`` moved to ``destination``; the others keep their order.

    >>> jnp.moveaxis(jnp.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    a = as_operand("moveaxis", a)
    source = canonical_axes("moveaxis", source, a)
    destination = canonical_axes("moveaxis", destination, a)
    if len(source) != len(destination):
        raise ValueError(explain(
            "tanx.numpy.moveaxis", "source and destination must have the same length.",
            f"source:      {source}", f"destination: {destination}"))
    permutation = [i for i in range(a.ndim) if i not in source]
    for to, axis in sorted(zip(destination, source)):
        permutation.insert(to, axis)
    return lax.transpose(a, permutation)


@library_jit(static_argnames=("axis", "start"))
def rollaxis(a, axis, start=0):
    """``a`` with the dimension ``axis`` moved back until it is before ``start``.

    :func:`moveaxis` is easier to read.

    >>> jnp.rollaxis(jnp.zeros((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    a = as_operand("rollaxis", a)
    axis = canonical_axis("rollaxis", axis, a)
    if not -a.ndim <= start <= a.ndim:
        raise ValueError(explain(
            "tanx.numpy.rollaxis", "start is out of bounds.", f"array: {a.aval}",
            f"start: {start}", hint=f"it goes from {-a.ndim} to {a.ndim}."))
    start = start + a.ndim if start < 0 else start
    return moveaxis(a, axis, start - (start > axis))


# -- sizes -----------------------------------------------------------------------------------------


def ndim(a):
    """The number of dimensions of ``a``.

    >>> jnp.ndim(jnp.zeros((2, 3)))
    2
    """
    return len(shape(a))


def shape(a):
    """The shape of ``a``.

    >>> jnp.shape(1.0)
    ()
    """
    return a.shape if hasattr(a, "shape") else np.shape(plain(a))


def size(a, axis=None):
    """The number of elements of ``a``, or along ``axis``: one dimension or several.

    >>> jnp.size(jnp.zeros((2, 3)), 1)
    3
    """
    sizes = shape(a)
    return prod(sizes if axis is None
                else [sizes[d] for d in canonical_axes("size", axis, len(sizes))])
