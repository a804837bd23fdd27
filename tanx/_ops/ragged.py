"""Products of matrices whose rows are divided into groups, and products of scaled blocks.

A *ragged* dimension of the left operand is divided into consecutive groups of given sizes. If it is
a dimension of rows, each group of rows is multiplied by a separate matrix (a mixture of experts);
if it is summed over, each group has a separate sum.
"""

from __future__ import annotations

import operator
from functools import lru_cache
from math import prod

import numpy as np

from .. import dtypes
from .._base.records import record
from .._base.tuples import NamedTuple
from .._core.linear import is_linear
from .._core.primitive import Kind, Primitive, parameter
from .._core.types import ShapedArray, typeof
from .._loops import build
from ..errors import explain
from .arith import mul
from .base import batch_size, broadcast_in_dim, materialize, reshape, spread, transpose
from .convert import cast, convert
from .derive import partials
from .dot import canonical_numbers, dot_general, kept_dimensions, matmul, plan
from .operands import letter
from .precision import canonical_precision

__all__ = ["RaggedDotDimensionNumbers", "ragged_dot", "ragged_dot_general", "scaled_dot"]


@parameter
@record
class RaggedDotDimensionNumbers:
    """Which dimensions are summed over, which are batches, and which one is divided into groups.

    ``dot_dimension_numbers`` are those of :func:`dot_general`, ``lhs_ragged_dimensions`` is the
    dimension of the left operand that is divided into groups, and ``rhs_group_dimensions`` the
    dimension of the right operand with one entry per group, if there is one.
    """

    dot_dimension_numbers: tuple
    lhs_ragged_dimensions: tuple[int, ...]
    rhs_group_dimensions: tuple[int, ...]

    def __post_init__(self):
        numbers = canonical_numbers(self.dot_dimension_numbers)
        object.__setattr__(self, "dot_dimension_numbers", numbers)
        for name in ("lhs_ragged_dimensions", "rhs_group_dimensions"):
            object.__setattr__(self, name, tuple(map(operator.index, getattr(self, name))))


class Layout(NamedTuple):
    """The dimensions of two operands and the result, by role.

    Indices of the result are those of the batch, then the other dimensions of the left operand and
    of the right one; if groups have separate sums, the group is in front of them.
    """

    summing: bool  # whether the ragged dimension is summed over
    ragged: int
    groups: tuple[int, ...]  # the dimension of the right operand with one entry per group
    contracted: tuple[tuple[int, ...], tuple[int, ...]]  # the ragged dimension first, if it is one
    batch: tuple[tuple[int, ...], tuple[int, ...]]
    kept: tuple[tuple[int, ...], tuple[int, ...]]
    before: int  # how many kept dimensions of the left operand come before the ragged one
    out: ShapedArray
    dtype: np.dtype  # in which products are summed


@lru_cache(maxsize=1024)
def layout(x: ShapedArray, y: ShapedArray, sizes: ShapedArray, numbers: RaggedDotDimensionNumbers,
           preferred) -> Layout:
    """Check the operands of a ragged product; their layout and the type of the result."""
    (cx, cy), (bx, by) = numbers.dot_dimension_numbers

    def fail(rule):
        raise TypeError(explain("tanx.lax.ragged_dot_general", rule, f"lhs: {x}", f"rhs: {y}",
                                f"group_sizes: {sizes}", f"dimension numbers: {numbers}"))

    if len(numbers.lhs_ragged_dimensions) != 1:
        fail("exactly one dimension of lhs must be ragged.")
    (ragged,) = numbers.lhs_ragged_dimensions
    summing = ragged in cx
    if len(numbers.rhs_group_dimensions) != (0 if summing or ragged in bx else 1):
        fail("rhs has one group dimension unless the ragged dimension is summed over or batched.")
    if {*numbers.rhs_group_dimensions} & {*cy, *by}:
        fail("the group dimension of rhs must be neither summed over nor batched.")
    if letter(sizes.dtype) not in "iu" or not sizes.shape:
        fail("group_sizes must be integers, one for each group.")
    groups, count = numbers.rhs_group_dimensions, sizes.shape[-1]
    if any(y.shape[g] != count for g in groups):
        fail("the group dimension of rhs must have an entry for each group.")
    bare = y.update(shape=[n for d, n in enumerate(y.shape) if d not in groups])
    inner = ((cx, _without(groups, cy)), (bx, _without(groups, by)))
    steps = plan(x.shape, x.dtype, bare.shape, bare.dtype, inner, preferred)
    kept_x = kept_dimensions(x.ndim, bx, cx)
    kept_y = kept_dimensions(y.ndim, by, (*cy, *groups))
    if summing:
        order = sorted(range(len(cx)), key=lambda i: cx[i] != ragged)
        cx, cy = tuple(cx[i] for i in order), tuple(cy[i] for i in order)
    before = 0 if summing else kept_x.index(ragged)
    leading = tuple(x.shape[d] for d in (*bx, *kept_x[:before]))
    if sizes.shape[:-1] not in ((), leading):
        fail("group_sizes has one dimension, or also the dimensions before the ragged one.")
    out = steps.out.update(shape=(count, *steps.out.shape)) if summing else steps.out
    return Layout(summing, ragged, groups, (cx, cy), (bx, by), (kept_x, kept_y), before, out,
                  steps.dtype)


def _without(removed, dims) -> tuple[int, ...]:
    return tuple(d - sum(d > r for r in removed) for d in dims)


class RaggedDotGeneral(Primitive):
    """A product of matrices in which one dimension of the left operand is divided into groups."""

    name = "ragged_dot_general"
    kind = Kind.REDUCTION

    def infer(self, x, y, sizes, *, ragged_dot_dimension_numbers, preferred_element_type, **params):
        return layout(x.update(weak_type=False), y.update(weak_type=False), sizes,
                      ragged_dot_dimension_numbers, preferred_element_type).out

    def eval(self, x, y, sizes, *, ragged_dot_dimension_numbers, preferred_element_type, **params):
        it = layout(*map(_type, (x, y, sizes)), ragged_dot_dimension_numbers,
                    preferred_element_type)
        total = _sums_of_groups(it, x, y, sizes) if it.summing else _rows_of_groups(it, x, y, sizes)
        return cast(total, it.out.dtype).reshape(it.out.shape)

    jvp = partials(lambda t, out, x, y, s, **params: ragged_dot_general_p.bind(t, y, s, **params),
                   lambda t, out, x, y, s, **params: ragged_dot_general_p.bind(x, t, s, **params),
                   None)

    def transpose(self, ct, x, y, sizes, *, ragged_dot_dimension_numbers, preferred_element_type,
                  **params):
        it = layout(*map(_type, (x, y, sizes)), ragged_dot_dimension_numbers,
                    preferred_element_type)
        rule = _transpose_sums if it.summing else _transpose_rows
        target = x if is_linear(x) else y
        out, dims = rule(it, ct, x, y, sizes, is_linear(x),
                         preferred_element_type=preferred_element_type, **params)
        out = transpose(out, np.argsort(dims))
        out = out if out.dtype == target.dtype else convert(out, target.dtype)
        return [out, None, None] if is_linear(x) else [None, out, None]

    def batch(self, args, dims, *, ragged_dot_dimension_numbers, **params):
        """Operands get a batch dimension in front; group sizes only if they differ."""
        numbers, size = ragged_dot_dimension_numbers, batch_size(args, dims)
        (ragged,) = numbers.lhs_ragged_dimensions
        (cx, cy), (bx, by) = numbers.dot_dimension_numbers
        x, y = (materialize(v, d, size) for v, d in zip(args[:2], dims))
        sizes, shape = args[2], typeof(x).shape[1:]
        if dims[2] is not None or typeof(sizes).ndim > 1:
            sizes = materialize(sizes, dims[2], size)
        if dims[2] is not None and typeof(sizes).ndim == 2:
            rows = () if ragged in cx else kept_dimensions(ragged, bx, cx)
            leading = [shape[d] for d in (*bx, *rows)]
            sizes = broadcast_in_dim(sizes, (size, *leading, typeof(sizes).shape[-1]),
                                     (0, 1 + len(leading)))
        cx, cy, bx, by, groups = (tuple(d + 1 for d in dims) for dims in (
            cx, cy, bx, by, numbers.rhs_group_dimensions))
        numbers = RaggedDotDimensionNumbers(((cx, cy), ((0, *bx), (0, *by))), (ragged + 1,), groups)
        return (self.bind(x, y, sizes, ragged_dot_dimension_numbers=numbers, **params),
                int(ragged + 1 in cx))

    def lower(self, at, x, y, sizes, *, ragged_dot_dimension_numbers, preferred_element_type,
              **params):
        it = layout(*map(_type, (x, y, sizes)), ragged_dot_dimension_numbers,
                    preferred_element_type)
        (cx, cy), (bx, by), (kept_x, _) = it.contracted, it.batch, it.kept
        own, rest = (at[:1], at[1:]) if it.summing else ((), at)
        batch, of_x, of_y = (rest[:len(bx)], rest[len(bx):len(bx) + len(kept_x)],
                             rest[len(bx) + len(kept_x):])
        leading = (*batch, *of_x[:it.before]) if sizes.ndim > 1 else ()
        count = sizes.shape[-1]

        def size(g):
            return build.as_index(sizes[(*leading, g)])

        if it.summing:
            start = build.reduce("add", count, lambda g: build.select(
                g[0] < own[0], size(g[0]), build.const(0)))
            stop = start + size(own[0])
            own = ()
        else:
            row = of_x[it.before]
            _, group = build.fold(count, (build.const(0), build.const(0)), lambda g, state: (
                state[0] + size(g[0]),
                state[1] + build.as_index(state[0] + size(g[0]) <= row)))
            own = (build.clamp_index(group, count),)

        def element(k):
            a = x[spread(of_x, (*bx, *cx), (*batch, *k))]
            b = y[spread(of_y, (*by, *cy, *it.groups), (*batch, *k, *own))]
            product = build.convert(a, it.dtype) * build.convert(b, it.dtype)
            if not it.summing:
                return product
            inside = (k[0] >= start) & (k[0] < stop)
            return build.select(inside, product, build.const(0, it.dtype))

        total = build.convert(build.reduce("add", [x.shape[c] for c in cx], element), it.out.dtype)
        if it.summing:
            return total
        return build.select(group < count, total, build.const(0, it.out.dtype))


def _type(x) -> ShapedArray:
    return ShapedArray(x.shape, x.dtype)


def _bounds(sizes: np.ndarray, lines: int) -> np.ndarray:
    """Where groups begin and end, for each of ``lines`` lines."""
    ends = np.cumsum(sizes.reshape(-1, sizes.shape[-1]), 1, dtype=np.int64)
    ends = np.concatenate([np.zeros((len(ends), 1), np.int64), ends], 1)
    return np.broadcast_to(ends, (lines, ends.shape[1]))


def _arranged(x: np.ndarray, *groups) -> np.ndarray:
    """The operand with groups of dimensions merged, in the order given."""
    order = [d for dims in groups for d in dims]
    return x.transpose(order).reshape([prod(x.shape[d] for d in dims) for dims in groups])


def _rows_of_groups(it: Layout, x, y, sizes) -> np.ndarray:
    """Rows times the matrix of their group; zero after the last group."""
    (cx, cy), (bx, by), (kept_x, kept_y) = it.contracted, it.batch, it.kept
    x = _arranged(x, (*bx, *kept_x[:it.before]), (it.ragged,), kept_x[it.before + 1:], cx)
    y = _arranged(y, by, it.groups, cy, kept_y)
    out = np.zeros((*x.shape[:3], y.shape[-1]), it.dtype)
    per_batch = max(len(x) // max(len(y), 1), 1)
    for line, ends in enumerate(_bounds(sizes, len(x))):
        for g, (start, stop) in enumerate(zip(ends, ends[1:])):
            rows = x[line, start:stop]
            count, width, terms = rows.shape
            product = matmul(rows.reshape(count * width, terms), y[line // per_batch, g], it.dtype)
            out[line, start:stop] = product.reshape(count, width, out.shape[-1])
    return out


def _sums_of_groups(it: Layout, x, y, sizes) -> np.ndarray:
    """The sum of products within each group."""
    (cx, cy), (bx, by), (kept_x, kept_y) = it.contracted, it.batch, it.kept
    x = _arranged(x, bx, kept_x, cx[:1], cx[1:])
    y = _arranged(y, by, cy[:1], cy[1:], kept_y)
    out = np.zeros((sizes.shape[-1], len(x), x.shape[1], y.shape[-1]), it.dtype)
    for line, ends in enumerate(_bounds(sizes, len(x))):
        for g, (start, stop) in enumerate(zip(ends, ends[1:])):
            left, right = x[line, :, start:stop], y[line, start:stop]
            terms = prod(left.shape[1:])
            out[g, line] = matmul(left.reshape(len(left), terms),
                                  right.reshape(terms, right.shape[-1]), it.dtype)
    return out


def _transpose_rows(it: Layout, ct, x, y, sizes, of_lhs: bool, **params):
    """The cotangent of an operand, and the correspondence of its dimensions to the result's."""
    (cx, cy), (bx, by), (kept_x, kept_y) = it.contracted, it.batch, it.kept
    batch, mine, other = _places(it)
    if of_lhs:
        numbers = RaggedDotDimensionNumbers(((other, kept_y), (batch, by)),
                                            (len(bx) + it.before,), it.groups)
        out = ragged_dot_general_p.bind(ct, y, sizes, ragged_dot_dimension_numbers=numbers,
                                        **params)
        order = [c for _, c in sorted(zip(cy, cx))]
        return out, [*bx, *kept_x, *order]
    # If rows have further leading dimensions, their groups share one matrix.
    numbers = RaggedDotDimensionNumbers(((kept_x, mine), (bx, batch)), (it.ragged,), ())
    sizes = _flat_sizes(it, sizes)
    out = ragged_dot_general_p.bind(x, ct, sizes, ragged_dot_dimension_numbers=numbers, **params)
    order = [c for _, c in sorted(zip(cx, cy))]
    return out, [*it.groups, *by, *order, *kept_y]


def _flat_sizes(it: Layout, sizes):
    if typeof(sizes).ndim > 1 and it.before:
        raise NotImplementedError(explain(
            "tanx.lax.ragged_dot_general", "has no derivative by rhs if group sizes differ "
            "along dimensions of lhs that are not batches.", f"group_sizes: {typeof(sizes)}"))
    return sizes


def _transpose_sums(it: Layout, ct, x, y, sizes, of_lhs: bool, **params):
    """As :func:`_transpose_rows`: terms of the known operand become rows in groups."""
    (cx, cy), (bx, by), (kept_x, kept_y) = it.contracted, it.batch, it.kept
    if len(cx) > 1 and typeof(sizes).ndim > 1:
        raise NotImplementedError(explain(
            "tanx.lax.ragged_dot_general", "has no derivative if group sizes differ along "
            "batches and several dimensions are summed over.", f"group_sizes: {typeof(sizes)}"))
    batch, mine, other = (tuple(d + 1 for d in dims) for dims in _places(it))
    known, kept, dims, ragged = (y, kept_y, by, cy[0]) if of_lhs else (x, kept_x, bx, cx[0])
    numbers = RaggedDotDimensionNumbers(
        ((kept, other if of_lhs else mine), (dims, batch)), (ragged,), (0,))
    out = ragged_dot_general_p.bind(known, ct, sizes, ragged_dot_dimension_numbers=numbers,
                                    **params)
    if of_lhs:
        return out, [*bx, *(c for _, c in sorted(zip(cy, cx))), *kept_x]
    return out, [*by, *(c for _, c in sorted(zip(cx, cy))), *kept_y]


def _places(it: Layout):
    """The dimensions of the product: of the batch, of the left and of the right operand."""
    ends = np.cumsum([0, len(it.batch[0]), len(it.kept[0]), len(it.kept[1])])
    return [tuple(range(a, b)) for a, b in zip(ends, ends[1:])]


ragged_dot_general_p: RaggedDotGeneral = RaggedDotGeneral()


def ragged_dot_general(lhs, rhs, group_sizes, ragged_dot_dimension_numbers, precision=None,
                       preferred_element_type=None, group_offset=None, out_sharding=None):
    """A product of matrices in which one dimension of ``lhs`` is divided into groups.

    The ragged dimension is divided into consecutive groups of ``group_sizes``. If the product keeps
    it, ``rhs`` has a matrix for each group, along its group dimension. If it is summed over, each
    group is summed separately and the result has a first dimension of groups. If it is a batch
    dimension, the product is that of :func:`dot_general`.

    >>> numbers = lax.RaggedDotDimensionNumbers((((1,), (0,)), ((), ())), (1,), ())
    >>> lax.ragged_dot_general(jnp.ones((1, 5)), jnp.ones((5, 1)), jnp.array([2, 3]), numbers)
    Array([[[2.]],
    <BLANKLINE>
           [[3.]]], dtype=float32)
    """
    name = "tanx.lax.ragged_dot_general"
    if group_offset is not None:
        raise NotImplementedError(explain(name, "group_offset is not supported."))
    numbers = ragged_dot_dimension_numbers
    if set(numbers.lhs_ragged_dimensions) <= set(numbers.dot_dimension_numbers[1][0]) and (
            not numbers.rhs_group_dimensions and numbers.lhs_ragged_dimensions):
        return dot_general(lhs, rhs, numbers.dot_dimension_numbers, precision,
                           preferred_element_type, out_sharding=out_sharding)
    if preferred_element_type is not None:
        preferred_element_type = dtypes.requested_dtype(preferred_element_type, name)
    return ragged_dot_general_p.bind(
        lhs, rhs, group_sizes, ragged_dot_dimension_numbers=numbers, group_offset=None,
        precision=canonical_precision(precision, name),
        preferred_element_type=preferred_element_type, out_sharding=out_sharding)


def ragged_dot(lhs, rhs, group_sizes, precision=None, preferred_element_type=None,
               group_offset=None, out_sharding=None):
    """Rows of ``lhs``, group after group, times the matrix of their group in ``rhs``.

    ``lhs`` is ``(rows, terms)``, ``rhs`` is ``(groups, terms, columns)``. Rows after the last group
    give zeros.

    >>> matrices = jnp.array([[[1.]], [[10.]]])
    >>> lax.ragged_dot(jnp.ones((3, 1)), matrices, jnp.array([1, 2]))
    Array([[ 1.],
           [10.],
           [10.]], dtype=float32)
    """
    numbers = RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))
    return ragged_dot_general(lhs, rhs, group_sizes, numbers, precision, preferred_element_type,
                              group_offset, out_sharding)


def scaled_dot(lhs, rhs, *, lhs_scale=None, rhs_scale=None, dimension_numbers=None,
               preferred_element_type=None):
    """A product of matrices whose elements are scaled block by block.

    A scale has the rank of its operand: one number for each block of neighbours along the
    dimensions summed over. The result is bfloat16 unless ``preferred_element_type`` says otherwise.

    >>> x = jnp.ones((1, 4))
    >>> lax.scaled_dot(x, x.T, lhs_scale=jnp.array([[1., 10.]]))
    Array([[22]], dtype=bfloat16)
    """
    name = "tanx.lax.scaled_dot"
    rank = typeof(lhs).ndim
    if dimension_numbers is None:
        batch = tuple(range(rank - 2))
        dimension_numbers = ((rank - 1,), (rank - 2,)), (batch, batch)
    numbers = canonical_numbers(dimension_numbers)
    dtype = dtypes.requested_dtype(
        dtypes.bfloat16 if preferred_element_type is None else preferred_element_type, name)
    lhs = _scaled(name, "lhs", lhs, lhs_scale, numbers[0][0], dtype)
    rhs = _scaled(name, "rhs", rhs, rhs_scale, numbers[0][1], dtype)
    return dot_general(lhs, rhs, numbers, preferred_element_type=dtype)


def _scaled(name: str, side: str, x, scale, contracted, dtype):
    """The operand in ``dtype``, each block multiplied by its scale."""
    x = convert(x, dtype)
    if scale is None:
        return x
    shape, scales = typeof(x).shape, typeof(scale).shape
    if len(shape) != len(scales) or any(
            n % max(m, 1) if d in contracted else n != m
            for d, (n, m) in enumerate(zip(shape, scales))):
        raise TypeError(explain(
            name, "a scale has the sizes of its operand, or divisors of those summed over.",
            f"{side}:       {typeof(x)}", f"{side}_scale: {typeof(scale)}"))
    blocks = [part for n, m in zip(shape, scales) for part in (m, n // max(m, 1))]
    spread_out = broadcast_in_dim(convert(scale, dtype), blocks, range(0, 2 * len(shape), 2))
    return mul(x, reshape(spread_out, shape))
