"""Layout: operations that move elements and do not change them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..._ops.base import broadcast_in_dim, reshape
from ..._ops.slicing import concatenate, slice_in_dim
from .block import Block, Type, Value
from .rules import expansion, missing, rule
from .text import listed

__all__ = ["as_index"]


@rule("broadcast_in_dim")
def _broadcast_in_dim(block: Block, out: Type, x: Value, *, shape, broadcast_dimensions, **_):
    return block.broadcast(x, shape, broadcast_dimensions)


@rule("reshape")
def _reshape(block: Block, out: Type, x: Value, *, new_sizes, dimensions, **_):
    return block.reshape(x if dimensions is None else block.transpose(x, dimensions), new_sizes)


@rule("squeeze")
def _squeeze(block: Block, out: Type, x: Value, **_):
    return block.reshape(x, out.shape)


@rule("transpose")
def _transpose(block: Block, out: Type, x: Value, *, permutation):
    return block.transpose(x, permutation)


@rule("rev")
def _rev(block: Block, out: Type, x: Value, *, dimensions):
    return block.write(f"stablehlo.reverse {x}, dims = {listed(dimensions)} : {out}", out)[0]


@rule("slice")
def _slice(block: Block, out: Type, x: Value, *, start_indices, limit_indices, strides):
    return block.slice(x, start_indices, limit_indices, strides)


@rule("pad")
def _pad(block: Block, out: Type, x: Value, value: Value, *, padding_config):
    return block.pad(x, value, padding_config)


@rule("concatenate")
def _concatenate(block: Block, out: Type, *parts: Value, dimension):
    return block.concatenate(parts, dimension)


@rule("iota")
def _iota(block: Block, out: Type, *, dimension, **_):
    if out.dtype == bool:  # XLA has no iota of booleans
        numbers = block.iota(out.of(np.int32), dimension)
        return block.compare("NE", numbers, block.constant(0, numbers.type))
    return block.iota(out, dimension)


@rule("empty", "scratch")
def _empty(block: Block, out: Type, **_):
    """Arbitrary values."""
    return block.constant(0, out)


@rule("bitcast_convert_type")
def _bitcast(block: Block, out: Type, x: Value, **_):
    return x if x.type == out else block.apply("bitcast_convert", [x], out)


@expansion("split")
def _split(x, *, sizes, axis):
    ends = np.cumsum([0, *sizes]).tolist()
    return [slice_in_dim(x, start, stop, axis=axis) for start, stop in zip(ends, ends[1:])]


@expansion("unstack")
def _unstack(x, *, axis):
    shape = x.shape[:axis] + x.shape[axis + 1:]
    return [reshape(slice_in_dim(x, n, n + 1, axis=axis), shape) for n in range(x.shape[axis])]


@expansion("stack")
def _stack(*parts, axis):
    shape = list(parts[0].shape)
    shape.insert(axis, 1)
    return concatenate([reshape(x, shape) for x in parts], axis)


@expansion("tile")
def _tile(x, *, reps):
    """By a new dimension for repetitions in front of each dimension."""
    shape = [n for pair in zip(reps, x.shape) for n in pair]
    wide = broadcast_in_dim(x, shape, [2 * d + 1 for d in range(x.ndim)])
    return reshape(wide, [n * r for n, r in zip(x.shape, reps)])


@rule("rng_uniform")
def _rng_uniform(block: Block, out: Type, low: Value, high: Value, *, shape):
    """Numbers of the other compiler's generator, without a key."""
    if low.shape or high.shape:
        raise missing("rng_uniform", "StableHLO draws between two numbers, not between arrays.")
    sizes = block.constant(np.array(shape, np.int64))
    return block.apply("rng", [low, high, sizes], out, ", distribution = UNIFORM")


# -- places read from data -------------------------------------------------------------------------


def as_index(block: Block, x: Value) -> Value:
    """Integers as int64; values too large for that stay too large."""
    if x.dtype == np.uint64:
        x = block.same("minimum", x, block.constant(np.iinfo(np.int64).max, x.type))
    return block.convert(x, np.int64)


@rule("dynamic_slice")
def _dynamic_slice(block: Block, out: Type, x: Value, *starts: Value, slice_sizes):
    return block.apply("dynamic_slice", [x, *(as_index(block, i) for i in starts)], out,
                       f", sizes = {listed(slice_sizes)}")


@rule("dynamic_update_slice")
def _dynamic_update_slice(block: Block, out: Type, x: Value, update: Value, *starts: Value):
    return block.apply("dynamic_update_slice",
                       [x, update, *(as_index(block, i) for i in starts)], out)


# -- marks -----------------------------------------------------------------------------------------


@rule("optimization_barrier")
def _barrier(block: Block, outs: Sequence[Type], *operands: Value):
    if not operands:
        return []
    types = ", ".join(str(x.type) for x in operands)
    return block.write(f"stablehlo.optimization_barrier {', '.join(map(str, operands))} : {types}",
                       *outs)


@rule("device_put")
def _device_put(block: Block, outs: Sequence[Type], *operands: Value, **_):
    """The other compiler decides where values are."""
    return list(operands)


@rule("dce_sink")
def _sink(block: Block, outs: Sequence[Type], *operands: Value, **_):
    return []


@rule("create_token", "after_all")
def _token(block: Block, out: Type, *tokens: Value):
    return block.constant(0, out)
