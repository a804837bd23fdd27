"""Arrays without operands: constants, and numbers counted along a dimension."""

from __future__ import annotations

import numpy as np

from .. import dtypes
from .._base.symbolic import Hook, as_value, index, is_symbolic
from .._core.explicit import requested, stated
from .._core.linear import never
from .._core.primitive import Kind, Primitive
from .._core.sharding import NamedSharding, Sharding
from .._core.types import ShapedArray, canonical_shape, described, typeof
from .._loops import build
from .._loops.names import SCRATCH
from ..errors import explain
from .annotations import beside
from .base import broadcast_in_dim
from .convert import cast, convert, wrapped
from .operands import NUMBER, letter
from .slicing import concatenate

__all__ = ["broadcasted_iota", "empty", "full", "full_like", "iota", "iota_p", "shape_as_value"]


class Iota(Primitive):
    """Counts 0, 1, 2 … along one dimension."""

    name = "iota"
    kind = Kind.LAYOUT
    sharding_parameter = "sharding"

    def infer(self, *, dtype, shape, dimension, sharding=None):
        if letter(dtype) not in NUMBER:
            raise TypeError(explain(
                "tanx.lax.iota", "dtype must be numeric.", f"dtype: {dtype}"))
        if not 0 <= dimension < len(shape):
            raise ValueError(explain(
                "tanx.lax.broadcasted_iota", "dimension must be one of the shape.",
                f"shape:     {shape}", f"dimension: {dimension}"))
        return ShapedArray(shape, dtype)

    def eval(self, *, dtype, shape, dimension, sharding=None):
        counted = cast(np.arange(shape[dimension]), dtype)
        if len(shape) == 1:
            return counted
        return np.broadcast_to(counted.reshape(-1, *(1,) * (len(shape) - dimension - 1)), shape)

    jvp = never("it has no operands")
    transpose = never("it has no operands")
    batch = never("it has no operands")

    def lower(self, at, *, dtype, shape, dimension, sharding=None):
        return build.convert(at[dimension], dtype)


class DimAsValue(Primitive):
    """A symbolic size as a number, which is known when the program runs."""

    name = "dim_as_value"
    kind = Kind.LAYOUT

    def infer(self, *, dim):
        return typeof(0)

    def eval(self, *, dim):
        if is_symbolic(dim):
            raise NotImplementedError(explain(
                "tanx.export",
                "a symbolic size has a value only in exported programs that are called.",
                f"size: {dim}"))
        return np.asarray(dim, typeof(0).dtype)

    jvp = never("it has no operands")
    transpose = never("it has no operands")
    batch = never("it has no operands")

    def lower(self, at, *, dim):
        return build.const(dim, typeof(0).dtype)


class Empty(Primitive):
    """An array whose values do not matter; they are zeros."""

    name = "empty"
    kind = Kind.LAYOUT
    sharding_parameter = "out_sharding"

    def infer(self, *, shape, dtype, out_sharding=None):
        return ShapedArray(shape, dtype)

    def eval(self, *, shape, dtype, out_sharding=None):
        return np.broadcast_to(np.zeros((), dtypes.stored(dtype)), shape)

    jvp = never("it has no operands")
    transpose = never("it has no operands")
    batch = never("it has no operands")

    def lower(self, at, *, shape, dtype, out_sharding=None):
        return build.const(0, dtypes.stored(dtype))


class Scratch(Empty):
    """Memory whose elements are written before they are read; compiled code does not clear it."""

    name = "scratch"

    def fill(self, into, *, shape, dtype):
        return [build.extern(SCRATCH, into, [])]


Hook.primitive = DimAsValue()
iota_p, empty_p, scratch_p = Iota(), Empty(), Scratch()


def full(shape, fill_value, dtype=None, *, sharding=None):
    """An array of ``shape`` with ``fill_value``, a scalar, everywhere.

    >>> lax.full((2, 3), 7, np.int32)
    Array([[7, 7, 7],
           [7, 7, 7]], dtype=int32)
    """
    shape = canonical_shape(shape, "tanx.lax.full")
    given = typeof(fill_value)
    if given.shape:
        raise TypeError(explain("tanx.lax.full", "fill_value must be a scalar.",
                                f"fill_value: {given}", f"shape:      {shape}"))
    if dtype is None:
        value = _filling(fill_value, given.dtype, given.weak_type)
    else:
        wanted = dtypes.requested_dtype(dtype, "tanx.lax.full")
        if (fill := _fill_rule(wanted)) is not None:
            return fill(shape, fill_value, wanted)
        value = _filling(fill_value, wanted)
    return _spread(value, shape, sharding)


def _fill_rule(dtype):
    """The function that fills arrays of an extended type, if its rules define one."""
    return getattr(dtype._rules, "full", None) if dtypes.is_extended(dtype) else None


def _spread(value, shape, sharding):
    """A scalar broadcast to a shape; a sharding without axes is ignored."""
    if isinstance(sharding, Sharding) and not isinstance(sharding, NamedSharding):
        sharding = None
    return broadcast_in_dim(value, shape, (), out_sharding=sharding)


def _filling(value, dtype: np.dtype, weak_type: bool = False):
    """A value to fill arrays with; integers wrap around."""
    return (wrapped if type(value) is int else convert)(value, dtype, weak_type)


def full_like(x, fill_value, dtype=None, shape=None, sharding=None):
    """An array with ``fill_value`` everywhere, of the shape and dtype of ``x`` unless given.

    The dtype of ``x`` itself is granted even where 64-bit types are not enabled.

    >>> lax.full_like(jnp.zeros(2), 7)
    Array([7., 7.], dtype=float32)
    """
    like = described(x)
    shape = like.shape if shape is None else canonical_shape(shape, "tanx.lax.full_like")
    if (fill := _fill_rule(like.dtype if dtype is None else dtype)) is not None:
        return fill(shape, fill_value, like.dtype if dtype is None else dtype)
    if dtype is None:
        value = _filling(fill_value, like.dtype, like.weak_type)
    else:
        value = _filling(fill_value, dtype if dtype is like.dtype else dtypes.requested_dtype(
            dtype, "tanx.lax.full_like"))
    if sharding is None and shape == like.shape:
        sharding = stated(like)
    return beside(_spread(value, shape, sharding), x)


def iota(dtype, size):
    """The numbers 0, 1, … ``size`` - 1.

    >>> lax.iota(np.int32, 4)
    Array([0, 1, 2, 3], dtype=int32)
    """
    return broadcasted_iota(dtype, (index(size),), 0)


def broadcasted_iota(dtype, shape, dimension, *, out_sharding=None):
    """Numbers counted along ``dimension`` and repeated along the others.

    >>> lax.broadcasted_iota(np.int32, (2, 3), 1)
    Array([[0, 1, 2],
           [0, 1, 2]], dtype=int32)
    """
    return iota_p.bind(dtype=dtypes.requested_dtype(dtype, "tanx.lax.broadcasted_iota"),
                       shape=canonical_shape(shape, "tanx.lax.broadcasted_iota"),
                       dimension=index(dimension), sharding=requested(
                           "tanx.lax.broadcasted_iota", out_sharding, len(shape)))


def scratch(shape, dtype):
    """Memory to be written before it is read, for use inside tanx: it is not cleared."""
    return scratch_p.bind(shape=tuple(shape), dtype=dtype)


def empty(shape, dtype, *, out_sharding=None):
    """An array whose values do not matter, to be filled later; they are zeros.

    >>> lax.empty((2, 3), jnp.float32).shape
    (2, 3)
    """
    return empty_p.bind(shape=canonical_shape(shape, "tanx.lax.empty"),
                        dtype=dtypes.requested_dtype(dtype, "tanx.lax.empty"),
                        out_sharding=requested("tanx.lax.empty", out_sharding, len(shape)))


def shape_as_value(shape):
    """A shape as an array of integers.

    >>> lax.shape_as_value((3, 4))
    Array([3, 4], dtype=int32)
    """
    dtype = dtypes.canonicalize_dtype(np.int64)
    sizes = [index(n) for n in shape]
    if any(map(is_symbolic, sizes)):
        return concatenate([broadcast_in_dim(convert(as_value(n), dtype), (1,), ())
                            for n in sizes], 0)
    return convert(np.array(sizes, np.int64), dtype)
