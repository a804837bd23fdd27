"""Reductions: sums, products, extrema and logic along dimensions; positions; users' reducers."""

from __future__ import annotations

import operator
from math import prod

import numpy as np

from .. import dtypes
from .._core.jaxpr import ClosedJaxpr, jaxpr_as_fun
from .._core.linear import expansion, never
from .._core.primitive import Kind, Primitive
from .._core.trace import Tracer
from .._core.types import ShapedArray, typeof
from .._loops import build
from ..errors import explain
from ..tree_util import tree_flatten, tree_unflatten
from . import magnitude, scalars
from .arith import add, div, mul
from .base import (
    Reduction,
    batch_size,
    broadcast_in_dim,
    materialize,
    reduce_sum,
    reduced,
    reduced_shape,
    reshape,
    spread,
)
from .bits import bitwise_and, bitwise_or, bitwise_xor
from .compare import eq
from .convert import convert
from .create import full_like
from .extremes import maximum, minimum
from .layout import squeeze
from .operands import ANY, BOOL_INT, NUMBER, identity, letter, like, refused
from .slicing import concatenate, pad, slice_in_dim

__all__ = ["argmax", "argmax_p", "argmin", "argmin_p", "reduce", "reduce_and", "reduce_and_p",
           "reduce_max", "reduce_max_p", "reduce_min", "reduce_min_p", "reduce_or", "reduce_or_p",
           "reduce_p", "reduce_prod", "reduce_prod_p", "reduce_xor", "reduce_xor_p"]


class ReduceProd(Reduction):
    """The product along dimensions."""

    name = "reduce_prod"
    accepts = NUMBER
    combine = "mul"
    ufunc = np.multiply
    wide = True
    transpose = never("a product is not linear")

    @expansion
    def jvp(self, x, *, axes):
        """By products of halves, recursively: without division, so that zeros are no problem."""
        x = _flatten_to_front(x, axes)
        size = x.shape[0]
        if not size:
            return full_like(x, 1, x.dtype, x.shape[1:])
        while size > 1:
            half = size - size // 2
            left, right = slice_in_dim(x, 0, half), slice_in_dim(x, half, size)
            if size % 2:
                right = pad(right, like(x, 1), [(0, 1, 0)] + [(0, 0, 0)] * (x.ndim - 1))
            x, size = mul(left, right), half
        return squeeze(x, (0,))


def _flatten_to_front(x, axes):
    """The operand with the dimensions ``axes`` merged into one, in front."""
    shape = typeof(x).shape
    kept = [d for d in range(len(shape)) if d not in axes]
    return reshape(x, [prod(shape[a] for a in axes), *(shape[d] for d in kept)], (*axes, *kept))


class Extremum(Reduction):
    """Base of the greatest and the least element."""

    transpose = never("an extremum is not linear")

    def jvp(self, primals, tangents, *, axes, out_sharding):
        """Tied elements share the tangent equally: the result must not depend on their order."""
        (x,), (dx,) = primals, tangents
        out = self.bind(x, axes=axes, out_sharding=out_sharding)
        kept = [1 if d in axes else n for d, n in enumerate(typeof(x).shape)]
        hit = convert(eq(x, reshape(out, kept)), typeof(dx).dtype)
        count = reduce_sum(hit, axes)
        return out, div(reduce_sum(mul(dx, hit), axes), count)


class ReduceMax(Extremum):
    """The greatest element along dimensions; NaN if there is one."""

    name = "reduce_max"
    combine = "max"
    ufunc = maximum


class ReduceMin(Extremum):
    """The least element along dimensions; NaN if there is one."""

    name = "reduce_min"
    combine = "min"
    ufunc = minimum


class Logical(Reduction):
    """Base of reductions of bits."""

    accepts = BOOL_INT
    keeps_weak_type = False
    jvp = never("its operands are integers")
    transpose = never("its operands are integers")


class ReduceAnd(Logical):
    """The bits that are set in all elements along dimensions."""

    name = "reduce_and"
    combine = "and"
    ufunc = np.bitwise_and


class ReduceOr(Logical):
    """The bits that are set in any element along dimensions."""

    name = "reduce_or"
    combine = "or"
    ufunc = np.bitwise_or


class ReduceXor(Logical):
    """The bits that are set in an odd number of elements along dimensions."""

    name = "reduce_xor"
    combine = "xor"
    ufunc = np.bitwise_xor


class ArgExtremum(Primitive):
    """The position of an extremum along one dimension: that of the first NaN, else of the first."""

    kind = Kind.REDUCTION
    which: str
    accepts = ANY - {"c"}
    jvp = never("positions are integers")
    transpose = never("positions are integers")

    def infer(self, x, *, axes, index_dtype):
        name = f"tanx.lax.{self.name}"
        if letter(x.dtype) not in self.accepts:
            raise refused(self.name, x, self.accepts)
        if letter(index_dtype) not in "iu":
            raise TypeError(explain(
                name, "index_dtype must be an integer type.", f"index_dtype: {index_dtype}"))
        shape = reduced_shape(self.name, x, axes)
        if not x.shape[axes[0]]:
            raise ValueError(explain(
                name, "the dimension searched must not be empty.", f"operand: {x}",
                f"axis:    {axes[0]}"))
        return ShapedArray(shape, index_dtype)

    def divided(self, x, *, axes, index_dtype):
        return tuple(e for d, e in enumerate(x.entries) if d not in axes)

    def eval(self, x, *, axes, index_dtype):
        return getattr(x, self.name)(axes[0]).astype(index_dtype)

    def batch(self, args, dims, *, axes, index_dtype):
        (x,), (d,), (axis,) = args, dims, axes
        axis += axis >= d
        return self.bind(x, axes=(axis,), index_dtype=index_dtype), d - (axis < d)

    def lower(self, at, x, *, axes, index_dtype):
        extent = x.shape[axes[0]]
        return build.arg_reduce(self.which, extent, lambda k: x[spread(at, axes, k)],
                                index_dtype)[1]


class ArgMax(ArgExtremum):
    """The position of the greatest element."""

    name = "argmax"
    which = "max"


class ArgMin(ArgExtremum):
    """The position of the least element."""

    name = "argmin"
    which = "min"


class Reduce(Primitive):
    """Combines elements by the user's function, several operands together.

    The function is associative; elements are combined in order, neighbours first. The initial
    values are used once, before all elements.
    """

    name = "reduce"
    kind = Kind.REDUCTION
    multiple_results = True
    transpose = never("a reducer is not linear in general")

    def written(self, params):
        """Without the Python function, which the jaxpr replaces."""
        return self.name, {key: value for key, value in params.items() if key != "computation"}

    def restored(self, params):
        return {"computation": jaxpr_as_fun(params["jaxpr"]), **params}

    def infer(self, *types, jaxpr, dimensions, **params):
        operands, inits = halves(types)
        facts = [f"operand {i}: {x}, initial value: {init}"
                 for i, (x, init) in enumerate(zip(operands, inits))]
        if any(x.shape != operands[0].shape for x in operands) or any(v.shape for v in inits):
            raise ValueError(explain(
                "tanx.lax.reduce", "operands must have equal shapes, initial values be scalars.",
                *facts))
        if any(x.dtype != init.dtype for x, init in zip(operands, inits)):
            raise TypeError(explain(
                "tanx.lax.reduce", "initial values must have their operands' dtypes.", *facts))
        shape = reduced_shape("reduce", operands[0], dimensions)
        return [ShapedArray(shape, x.dtype, x.weak_type and init.weak_type)
                for x, init in zip(operands, inits)]

    def divided(self, *types, jaxpr, dimensions, **params):
        operands, _ = halves(types)
        return [tuple(e for d, e in enumerate(x.entries) if d not in dimensions)
                for x in operands]

    def eval(self, *arrays, jaxpr, dimensions, **params):
        operands, inits = halves(arrays)
        whole = operands[0].shape
        shape = [n for d, n in enumerate(whole) if d not in dimensions]
        size, ends = prod(whole[d] for d in dimensions), range(-len(dimensions), 0)
        operands = [np.moveaxis(x, dimensions, ends).reshape(*shape, size) for x in operands]
        while size > 1:
            even = size // 2 * 2
            pairs = scalars.evaluate(jaxpr, *(x[..., start:even:2] for start in (0, 1)
                                              for x in operands))
            operands = [np.concatenate([y, x[..., even:]], -1) for x, y in zip(operands, pairs)]
            size -= size // 2
        starts = [np.broadcast_to(init, shape) for init in inits]
        if not size:
            return starts
        return scalars.evaluate(jaxpr, *starts, *(x[..., 0] for x in operands))

    @expansion
    def jvp(self, *args, jaxpr, dimensions, **params):
        operands, inits = halves(args)
        return _reduce_by_pairs(jaxpr, operands, inits, dimensions)

    def batch(self, args, dims, *, jaxpr, dimensions, **params):
        count = len(args) // 2
        size = batch_size(args, dims)
        operands = [materialize(x, d, size) for x, d in zip(args[:count], dims)]
        inits, shifted = args[count:], tuple(d + 1 for d in dimensions)
        if all(d is None for d in dims[count:]):
            outs = self.bind(*operands, *inits, jaxpr=jaxpr, dimensions=shifted, **params)
        else:
            inits = [materialize(x, d, size) for x, d in zip(inits, dims[count:])]
            outs = _reduce_by_pairs(jaxpr, operands, inits, shifted)
        return outs, [0] * count

    def lower(self, at, *args, jaxpr, dimensions, **params):
        operands, inits = halves(args)
        return build.fold(
            [operands[0].shape[d] for d in dimensions], [v[()] for v in inits],
            lambda k, state: scalars.lower(
                jaxpr, *state, *(x[spread(at, dimensions, k)] for x in operands)))


def halves(items):
    """The operands of a reduction by a function, and their initial values."""
    middle = len(items) // 2
    return items[:middle], items[middle:]


def _reduce_by_pairs(jaxpr: ClosedJaxpr, operands, inits, dimensions) -> list:
    """A user's reduction in primitives; initial values have leading dimensions of the result."""
    operands = [_flatten_to_front(x, dimensions) for x in operands]
    size, *shape = operands[0].shape
    while size > 1:
        even = size // 2 * 2
        pairs = scalars.apply(jaxpr, *(slice_in_dim(x, start, even, 2) for start in (0, 1)
                                       for x in operands))
        operands = [concatenate([y, slice_in_dim(x, even, size)], 0) if size % 2 else y
                    for x, y in zip(operands, pairs)]
        size -= size // 2
    starts = [broadcast_in_dim(v, shape, range(typeof(v).ndim)) for v in inits]
    return scalars.apply(jaxpr, *starts, *(squeeze(x, (0,)) for x in operands)) if size else starts


reduce_p = Reduce()
reduce_prod_p = ReduceProd()
reduce_max_p, reduce_min_p = ReduceMax(), ReduceMin()
reduce_and_p, reduce_or_p, reduce_xor_p = ReduceAnd(), ReduceOr(), ReduceXor()
argmax_p, argmin_p = ArgMax(), ArgMin()


def reduce(operands, init_values, computation, dimensions, out_sharding=None):
    """Combine elements over ``dimensions`` and initial values by an associative function.

    ``operands`` is an array or a tree of arrays of one shape, and ``init_values`` a tree of scalars
    of the same structure. ``computation`` takes two such trees of scalars, and returns one. The
    functions ``lax.add``, ``mul``, ``max``, ``min`` and those of bits, with their neutral elements
    as initial values, become the reductions of their names.

    >>> lax.reduce(jnp.array([1, 2, 3]), 10, lambda x, y: x + y, (0,))
    Array(16, dtype=int32)
    """
    flat, tree = tree_flatten(operands)
    inits, init_tree = tree_flatten(init_values)
    if tree != init_tree:
        raise ValueError(explain(
            "tanx.lax.reduce", "init_values must have the tree structure of operands.",
            f"operands:    {tree}", f"init_values: {init_tree}"))
    if not flat:
        raise ValueError(explain("tanx.lax.reduce", "needs at least one operand."))
    axes = tuple(map(operator.index, dimensions))
    if len(flat) == 1:
        named = _NAMED.get(
            named_combiner(computation, typeof(flat[0]).dtype, inits[0]) or "")
        if named is not None:
            return tree_unflatten(tree, [named(flat[0], axes)])
    jaxpr = staged_combiner("tanx.lax.reduce", computation, tree, [typeof(x).dtype for x in flat])
    outs = reduce_p.bind(*flat, *inits, computation=computation, jaxpr=jaxpr, dimensions=axes)
    return tree_unflatten(tree, outs)


def staged_combiner(function: str, computation, tree, types) -> ClosedJaxpr:
    """A user's function of two trees of scalars as a jaxpr, for the public ``function``."""
    def combine(*elements):
        result = computation(*(tree_unflatten(tree, half) for half in halves(elements)))
        leaves, result_tree = tree_flatten(result)
        if result_tree != tree or [typeof(x).update(weak_type=False) for x in leaves] != [
                ShapedArray((), dtype) for dtype in types]:
            raise TypeError(explain(
                function, "the computation must return scalars like those it takes.",
                f"takes: {', '.join(str(ShapedArray((), t)) for t in types)}",
                f"gives: {', '.join(str(typeof(x)) for x in leaves)}"))
        return leaves

    return scalars.stage_scalars(function, combine, types * 2)


_COMBINERS = {add: "add", mul: "mul", magnitude.max: "max", magnitude.min: "min",
              bitwise_and: "and", bitwise_or: "or", bitwise_xor: "xor"}
"""The reducers of functions of ``tanx.lax``."""


def named_combiner(computation, dtype, init) -> str | None:
    """The reducer of a function of ``tanx.lax`` that starts from its identity."""
    name = _COMBINERS.get(getattr(computation, "__wrapped__", computation))
    value = init.concrete() if isinstance(init, Tracer) else init
    if name is None or value is None or typeof(value).shape:
        return None
    neutral = np.asarray(identity(name, dtype), dtype)
    beyond = {"max": -np.inf, "min": np.inf}.get(name, neutral)  # for integers, too
    return name if np.asarray(value) in (neutral, beyond) else None


def reduce_prod(operand, axes):
    """The product over the dimensions ``axes``.

    >>> lax.reduce_prod(jnp.array([[1, 2], [3, 4]]), (0,))
    Array([3, 8], dtype=int32)
    """
    return reduce_prod_p.bind(operand, axes=tuple(map(operator.index, axes)))


def reduce_max(operand, axes, *, out_sharding=None):
    """The greatest element over the dimensions ``axes``; NaN if there is one.

    >>> lax.reduce_max(jnp.array([[1, 5], [3, 4]]), (0,))
    Array([3, 5], dtype=int32)
    """
    return reduced(reduce_max_p, operand, axes, out_sharding)


def reduce_min(operand, axes, *, out_sharding=None):
    """The least element over the dimensions ``axes``; NaN if there is one.

    >>> lax.reduce_min(jnp.array([[1, 5], [3, 4]]), (0,))
    Array([1, 4], dtype=int32)
    """
    return reduced(reduce_min_p, operand, axes, out_sharding)


def reduce_and(operand, axes):
    """The conjunction, bit by bit, over the dimensions ``axes``.

    >>> lax.reduce_and(jnp.array([[True, False], [True, True]]), (0,))
    Array([ True, False], dtype=bool)
    """
    return reduce_and_p.bind(operand, axes=tuple(map(operator.index, axes)))


def reduce_or(operand, axes):
    """The disjunction, bit by bit, over the dimensions ``axes``.

    >>> lax.reduce_or(jnp.array([4, 2, 1]), (0,))
    Array(7, dtype=int32)
    """
    return reduce_or_p.bind(operand, axes=tuple(map(operator.index, axes)))


def reduce_xor(operand, axes):
    """The exclusive disjunction, bit by bit, over the dimensions ``axes``.

    >>> lax.reduce_xor(jnp.array([7, 2, 1]), (0,))
    Array(4, dtype=int32)
    """
    return reduce_xor_p.bind(operand, axes=tuple(map(operator.index, axes)))


def argmax(operand, axis, index_dtype):
    """The position along ``axis`` of the greatest element, the first of equals; NaN is greatest.

    >>> lax.argmax(jnp.array([[1, 5], [3, 4]]), 0, np.int32)
    Array([1, 0], dtype=int32)
    """
    return _arg_extremum(argmax_p, operand, axis, index_dtype)


def argmin(operand, axis, index_dtype):
    """The position along ``axis`` of the least element, the first of equals; NaN is least.

    >>> lax.argmin(jnp.array([[1, 5], [3, 4]]), 0, np.int32)
    Array([0, 1], dtype=int32)
    """
    return _arg_extremum(argmin_p, operand, axis, index_dtype)


def _arg_extremum(primitive, operand, axis, index_dtype):
    dtype = dtypes.requested_dtype(index_dtype, f"tanx.lax.{primitive.name}")
    return primitive.bind(operand, axes=(operator.index(axis),), index_dtype=dtype)


_NAMED = {"add": reduce_sum, "mul": reduce_prod, "max": reduce_max, "min": reduce_min,
          "and": reduce_and, "or": reduce_or, "xor": reduce_xor}
