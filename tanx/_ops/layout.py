"""Layout primitives: results made of the operand's elements at other indices.

They only rewrite indices, so inside a compiled consumer they cost nothing.
"""

from __future__ import annotations


import numpy as np

from .._core.primitive import Kind, Primitive
from .._core.types import ShapedArray, canonical_shape, typeof
from ..errors import explain
from .derive import linear

__all__ = ["broadcast_in_dim", "broadcast_in_dim_p", "transpose", "transpose_p"]


class BroadcastInDim(Primitive):
    """Places the operand's dimensions among those of a larger shape and repeats along the rest."""

    name = "broadcast_in_dim"
    kind = Kind.LAYOUT

    def infer(self, x, *, shape, broadcast_dimensions, sharding=None):
        if len(broadcast_dimensions) != x.ndim or any(
                n not in (1, shape[d]) for n, d in zip(x.shape, broadcast_dimensions)):
            raise TypeError(explain(
                "tanx.lax.broadcast_in_dim",
                "each operand dimension must be 1 or equal the dimension it maps to.",
                f"operand:              {x}", f"shape:                {shape}",
                f"broadcast_dimensions: {broadcast_dimensions}"))
        return ShapedArray(shape, x.dtype, x.weak_type)

    def eval(self, x, *, shape, broadcast_dimensions, sharding=None):
        placed = [1] * len(shape)
        for n, d in zip(x.shape, broadcast_dimensions):
            placed[d] = n
        return np.broadcast_to(x.reshape(placed), shape)

    jvp = linear

    def transpose(self, ct, x, *, shape, broadcast_dimensions, sharding=None):
        from .reduce import reduce_sum
        kept = dict(zip(broadcast_dimensions, x.shape))
        repeated = [d for d in range(len(shape)) if kept.get(d, 0) != shape[d]]
        summed = reduce_sum(ct, repeated) if repeated else ct
        if summed.shape == x.shape:
            return [summed]
        ones = [i for i, (n, d) in enumerate(zip(x.shape, broadcast_dimensions)) if d in repeated]
        placed = [i for i in range(x.ndim) if i not in ones]
        return [broadcast_in_dim(summed, x.shape, placed)]

    def batch(self, args, dims, *, shape, broadcast_dimensions, sharding=None):
        (x,), (d,) = args, dims
        inner = list(broadcast_dimensions)
        inner = [i + 1 for i in inner[:d]] + [0] + [i + 1 for i in inner[d:]]
        return broadcast_in_dim(x, (x.shape[d], *shape), inner), 0

    def lower(self, at, x, *, shape, broadcast_dimensions, sharding=None):
        return x[[0 if n == 1 else at[d] for n, d in zip(x.shape, broadcast_dimensions)]]

    def show_params(self, params):
        dims = params["broadcast_dimensions"]
        return {"broadcast_dimensions": dims} if dims else {}


broadcast_in_dim_p = BroadcastInDim()


def broadcast_in_dim(operand, shape, broadcast_dimensions, *, out_sharding=None):
    """Broadcast ``operand`` to ``shape``, its dimension ``i`` going to ``broadcast_dimensions[i]``.

    >>> broadcast_in_dim(jnp.array([1, 2]), (2, 3), (0,))
    Array([[1, 1, 1],
           [2, 2, 2]], dtype=int32)
    """
    shape = canonical_shape(shape, "tanx.lax.broadcast_in_dim")
    if typeof(operand).shape == shape and tuple(broadcast_dimensions) == tuple(range(len(shape))):
        return operand
    return broadcast_in_dim_p.bind(operand, shape=shape, sharding=out_sharding,
                                   broadcast_dimensions=tuple(map(int, broadcast_dimensions)))


class Transpose(Primitive):
    """Permutes the dimensions."""

    name = "transpose"
    kind = Kind.LAYOUT

    def infer(self, x, *, permutation):
        if sorted(permutation) != list(range(x.ndim)):
            raise TypeError(explain(
                "tanx.lax.transpose", "permutation must hold each dimension once.",
                f"operand:     {x}", f"permutation: {permutation}"))
        return ShapedArray(tuple(x.shape[i] for i in permutation), x.dtype, x.weak_type)

    def eval(self, x, *, permutation):
        return np.transpose(x, permutation)

    jvp = linear

    def transpose(self, ct, x, *, permutation):
        return [transpose(ct, np.argsort(permutation))]

    def batch(self, args, dims, *, permutation):
        (x,), (d,) = args, dims
        return transpose(x, [d, *(i + (i >= d) for i in permutation)]), 0

    def lower(self, at, x, *, permutation):
        index = [at[0]] * len(permutation) if permutation else []
        for i, source in enumerate(permutation):
            index[source] = at[i]
        return x[index]


transpose_p = Transpose()


def transpose(operand, permutation):
    """Permute dimensions: dimension ``i`` of the result is ``permutation[i]`` of the operand.

    >>> transpose(jnp.zeros((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    permutation = tuple(map(int, permutation))
    if permutation == tuple(range(len(permutation))) and len(permutation) == typeof(operand).ndim:
        return operand
    return transpose_p.bind(operand, permutation=permutation)
