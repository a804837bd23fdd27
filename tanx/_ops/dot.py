"""Products of matrices and their generalisation: sums of products over pairs of dimensions."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import cache, lru_cache
from math import prod

import numpy as np

from .. import dtypes
from .._base.tuples import NamedTuple
from .._core.explicit import requested, sharding_error, sharding_for
from .._core.linear import is_linear
from .._core.primitive import Kind, Primitive
from .._core.types import ShapedArray, typeof
from .._loops import build
from ..errors import explain
from .arith import bilinear
from .base import spread, transpose
from .convert import cast, convert
from .derive import partials
from .operands import ANY, accumulator, letter, refused
from .precision import PrecisionLike, canonical_precision

__all__ = ["DotDimensionNumbers", "batch_matmul", "dot", "dot_general", "dot_general_p"]

DotDimensionNumbers = tuple[tuple[Sequence[int], Sequence[int]],
                            tuple[Sequence[int], Sequence[int]]]
"""Which dimensions are summed over, then which are batches: each a pair, left and right."""


class DotGeneral(Primitive):
    """Sums products over the contracted dimensions, for each index of the batch dimensions.

    The dimensions of the result are those of the batch, then the other dimensions of the left
    operand, then those of the right one.
    """

    name = "dot_general"
    kind = Kind.CONTRACTION
    sharding_parameter = "out_sharding"

    def infer(self, x, y, *, dimension_numbers, precision, preferred_element_type, out_sharding):
        steps = plan(x.shape, x.dtype, y.shape, y.dtype, dimension_numbers, preferred_element_type)
        if x.weak_type and y.weak_type:
            return steps.out.update(weak_type=True)
        return steps.out

    def divided(self, x, y, *, dimension_numbers, **params):
        (cx, cy), (bx, by) = dimension_numbers
        if [x.entries[d] for d in bx] != [y.entries[d] for d in by]:
            raise sharding_error(self, "batch dimensions must be divided in the same way.", [x, y],
                                 hint="tanx.reshard one of the operands first.")
        if any(x.entries[i] is not None is not y.entries[j] for i, j in zip(cx, cy)):
            raise sharding_error(
                self, "summed dimensions are divided on both sides, so the division of the "
                "result is ambiguous.", [x, y],
                hint="out_sharding=tanx.P(...) decides it.")
        return (*(x.entries[d] for d in bx),
                *(x.entries[d] for d in kept_dimensions(x.ndim, bx, cx)),
                *(y.entries[d] for d in kept_dimensions(y.ndim, by, cy)))

    def eval(self, x, y, *, dimension_numbers, precision, preferred_element_type, out_sharding):
        steps = plan(x.shape, x.dtype, y.shape, y.dtype, dimension_numbers, preferred_element_type)
        if steps.is_plain and x.flags.c_contiguous and y.flags.c_contiguous:
            # Half the time if the matrices are small; the method takes half of `matmul` then.
            return x.dot(y) if x.ndim == 2 else np.matmul(x, y)
        total = matmul(_arrange(x, steps.lhs_order, steps.lhs_shape),
                       _arrange(y, steps.rhs_order, steps.rhs_shape), steps.dtype)
        if total.dtype != steps.out.dtype:
            total = cast(total, steps.out.dtype)
        return total if total.shape == steps.out.shape else total.reshape(steps.out.shape)

    jvp = partials(lambda t, out, x, y, **params: dot_general_p.bind(t, y, **params),
                   lambda t, out, x, y, **params: dot_general_p.bind(x, t, **params))
    taylor = bilinear

    def transpose(self, ct, x, y, *, dimension_numbers, precision, preferred_element_type,
                  out_sharding):
        """The cotangent, as the left operand, times the known operand."""
        (cx, cy), (bx, by) = dimension_numbers
        kept_x, kept_y = (kept_dimensions(v.ndim, b, c) for v, b, c in ((x, bx, cx), (y, by, cy)))
        batch = tuple(range(len(bx)))
        first = tuple(range(len(bx), len(bx) + len(kept_x)))
        second = tuple(range(len(bx) + len(kept_x), len(bx) + len(kept_x) + len(kept_y)))

        def product(target, known, summed, dims, target_dims):
            out = _bound("tanx.lax.dot_general", ct, known, ((summed, dims[1]), (batch, dims[0])),
                         precision, preferred_element_type,
                         sharding_for(target.aval, target_dims, ct, known))
            out = transpose(out, np.argsort(target_dims))
            return out if out.dtype == target.dtype else convert(out, target.dtype)

        # The free dimensions of the known operand are its contracted ones, in ascending order.
        if is_linear(x):
            order = [c for _, c in sorted(zip(cy, cx))]
            return [product(x, y, second, (by, kept_y), [*bx, *kept_x, *order]), None]
        order = [c for _, c in sorted(zip(cx, cy))]
        return [None, product(y, x, first, (bx, kept_x), [*by, *kept_y, *order])]

    def batch(self, args, dims, *, dimension_numbers, **params):
        """Two batched operands share a batch dimension; a single one has it as a free dimension."""
        (x, y), (dx, dy) = args, dims
        (cx, cy), (bx, by) = dimension_numbers
        if dx is not None:
            cx, bx = _shift(cx, dx), _shift(bx, dx)
        if dy is not None:
            cy, by = _shift(cy, dy), _shift(by, dy)
        if dx is not None and dy is not None:
            bx, by, out_dim = (dx, *bx), (dy, *by), 0
        elif dx is not None:
            out_dim = len(bx) + kept_dimensions(typeof(x).ndim, bx, cx).index(dx)
        else:
            out_dim = (typeof(x).ndim - len(cx)) + kept_dimensions(typeof(y).ndim, by, cy).index(dy)
        return self.bind(x, y, dimension_numbers=((cx, cy), (bx, by)), **params), out_dim

    def lower(self, at, x, y, *, dimension_numbers, preferred_element_type, **params):
        (cx, cy), (bx, by) = dimension_numbers
        steps = plan(x.shape, x.dtype, y.shape, y.dtype, dimension_numbers, preferred_element_type)
        dtype = steps.dtype
        split = x.ndim - len(cx)
        batch, of_x, of_y = at[:len(bx)], at[len(bx):split], at[split:]

        def element(k):
            a = x[spread(of_x, (*bx, *cx), (*batch, *k))]
            b = y[spread(of_y, (*by, *cy), (*batch, *k))]
            return build.op("and" if letter(dtype) == "b" else "mul",
                            build.convert(a, dtype), build.convert(b, dtype))

        combine = "or" if letter(dtype) == "b" else "add"
        total = build.reduce(combine, [x.shape[c] for c in cx], element)
        return build.convert(total, steps.out.dtype)

    def show_params(self, params):
        (cx, cy), (bx, by) = params["dimension_numbers"]
        shown = {k: v for k, v in params.items() if v is not None}
        return shown | {"dimension_numbers": ((list(cx), list(cy)), (list(bx), list(by)))}


dot_general_p: DotGeneral = DotGeneral()


# -- dtypes ----------------------------------------------------------------------------------------


@cache
def highest(a: np.dtype, b: np.dtype) -> np.dtype:
    """The dtype of a product: larger range, then precision, then width; signed before unsigned."""
    if a == b:
        return a

    def rank(dtype):
        kind = letter(dtype)
        bits = dtypes.itemsize_bits(dtype)
        if kind == "c":
            return 1, 0, 0, bits, True
        if kind == "f":
            info = dtypes.finfo(dtype)
            return 0, info.maxexp, info.nmant, bits, True
        return 0, -1, -1, 1 if kind == "b" else bits, kind == "i"

    return max(a, b, key=rank)


def _component_bits(dtype) -> int:
    kind = letter(dtype)
    return 1 if kind == "b" else dtypes.itemsize_bits(dtype) // (2 if kind == "c" else 1)


# -- dimensions ------------------------------------------------------------------------------------


class Plan(NamedTuple):
    """The steps that turn operands into batches of matrices; None for steps that are not needed."""

    lhs_order: tuple[int, ...] | None
    lhs_shape: tuple[int, ...] | None
    rhs_order: tuple[int, ...] | None
    rhs_shape: tuple[int, ...] | None
    out: ShapedArray
    dtype: np.dtype  # in which products are summed
    is_plain: bool  # whether nothing is to be done to operands and results


@lru_cache(maxsize=4096)
def plan(x_shape, x_dtype, y_shape, y_dtype, dimension_numbers, preferred) -> Plan:
    """Check the operands; returns the steps for them, and the type of the result.

    The left operand becomes batch, rows, terms; the right one batch, terms, columns.
    """
    x, y = ShapedArray(x_shape, x_dtype), ShapedArray(y_shape, y_dtype)
    for operand in (x, y):
        if letter(operand.dtype) not in ANY:
            raise refused("dot_general", operand, ANY)
    _check_dimensions(x, y, dimension_numbers)
    natural = highest(x_dtype, y_dtype)
    if preferred is not None and letter(natural) != "f" and (
            _component_bits(preferred) < _component_bits(natural)):
        raise TypeError(explain(
            "tanx.lax.dot_general",
            "preferred_element_type must not be narrower than the natural type of the result.",
            f"lhs: {x}", f"rhs: {y}", f"natural type:           {natural}",
            f"preferred_element_type: {preferred}"))
    (cx, cy), (bx, by) = dimension_numbers
    kept_x, kept_y = kept_dimensions(x.ndim, bx, cx), kept_dimensions(y.ndim, by, cy)
    batch = tuple(x_shape[d] for d in bx)
    rows, columns = tuple(x_shape[d] for d in kept_x), tuple(y_shape[d] for d in kept_y)
    terms = prod(x_shape[d] for d in cx)
    count = (prod(batch),) if batch else ()

    def steps(shape, order, matrices):
        return (None if order == tuple(range(len(order))) else order,
                None if tuple(shape[d] for d in order) == matrices else matrices)

    out = ShapedArray((*batch, *rows, *columns), preferred or natural)
    lhs_order, lhs_shape = steps(x_shape, (*bx, *kept_x, *cx), (*count, prod(rows), terms))
    rhs_order, rhs_shape = steps(y_shape, (*by, *cy, *kept_y), (*count, terms, prod(columns)))
    dtype = accumulator(highest(natural, out.dtype))
    is_plain = letter(dtype) in "fc" and x_dtype == y_dtype == dtype == out.dtype and (
        lhs_order is lhs_shape is rhs_order is rhs_shape is None) and (
        out.shape == (*count, prod(rows), prod(columns)))
    return Plan(lhs_order, lhs_shape, rhs_order, rhs_shape, out, dtype, is_plain)


def _arrange(x: np.ndarray, order, shape) -> np.ndarray:
    x = x if order is None else x.transpose(order)
    return x if shape is None else x.reshape(shape)


def kept_dimensions(rank: int, batch, contracted) -> tuple[int, ...]:
    """The dimensions of an operand that are neither batches nor summed over."""
    return tuple(d for d in range(rank) if d not in batch and d not in contracted)


def _shift(dims, inserted: int) -> tuple[int, ...]:
    return tuple(d + (d >= inserted) for d in dims)


def _check_dimensions(x: ShapedArray, y: ShapedArray, dimension_numbers) -> None:
    """Raise TypeError unless the dimensions exist, are distinct, and agree in size."""
    (cx, cy), (bx, by) = dimension_numbers

    def fail(rule):
        raise TypeError(explain("tanx.lax.dot_general", rule, f"lhs: {x}", f"rhs: {y}",
                                f"contracted: {tuple(cx)} with {tuple(cy)}",
                                f"batch:      {tuple(bx)} with {tuple(by)}"))

    for side, operand, dims in (("lhs", x, (*bx, *cx)), ("rhs", y, (*by, *cy))):
        if any(not 0 <= d < len(operand.shape) for d in dims):
            fail(f"dimension numbers must be dimensions of {side}, counted from 0.")
        if len(set(dims)) < len(dims):
            fail(f"a dimension of {side} can be contracted or a batch only once.")
    for what, dims_x, dims_y in (("contracted", cx, cy), ("batch", bx, by)):
        if [x.shape[d] for d in dims_x] != [y.shape[d] for d in dims_y]:
            fail(f"{what} dimensions must have the same sizes on both sides.")


# -- NumPy -----------------------------------------------------------------------------------------


def matmul(x: np.ndarray, y: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The product of matrices or batches of them, computed in ``dtype``.

    Integers of up to 16 bits are multiplied as floats, whose sums are exact below 2**53: the
    library is much faster on floats.
    """
    if letter(dtype) in "biu" and x.shape[-1] < 2**20 and (
            max(x.dtype.itemsize, y.dtype.itemsize) <= 2):
        out = np.matmul(_ready(x, _FLOAT64), _ready(y, _FLOAT64))
        return out != 0 if letter(dtype) == "b" else out.astype(np.int64).astype(dtype)
    return np.matmul(_ready(x, dtype), _ready(y, dtype))


_FLOAT64 = np.dtype(np.float64)


def _ready(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """``x`` in the dtype, with contiguous rows or columns, as the library needs."""
    if x.dtype != dtype:
        return x.astype(dtype)
    if x.size and dtype.itemsize not in x.strides[-2:]:
        return np.ascontiguousarray(x)
    return x


# -- functions -------------------------------------------------------------------------------------


def dot_general(lhs, rhs, dimension_numbers: DotDimensionNumbers,
                precision: PrecisionLike = None, preferred_element_type=None, *,
                out_sharding=None):
    """The sum of products over some dimensions, for each index of the others.

    ``dimension_numbers`` is ``((lhs_contracted, rhs_contracted), (lhs_batch, rhs_batch))``: the
    dimensions summed over, pair by pair, and the batch dimensions. The dimensions of the result are
    those of the batch, then the other dimensions of ``lhs``, then those of ``rhs``.
    ``preferred_element_type`` is the dtype of the result, and that of the sums if it is wider.

    >>> x, y = jnp.ones((5, 2, 3)), jnp.ones((5, 3, 4))
    >>> lax.dot_general(x, y, (((2,), (1,)), ((0,), (0,)))).shape
    (5, 2, 4)
    """
    return _dot("tanx.lax.dot_general", lhs, rhs, canonical_numbers(dimension_numbers), precision,
                preferred_element_type, out_sharding)


def dot(lhs, rhs, *, dimension_numbers: DotDimensionNumbers | None = None,
        precision: PrecisionLike = None, preferred_element_type=None, out_sharding=None):
    """The product of vectors and matrices; with ``dimension_numbers``, see :func:`dot_general`.

    >>> lax.dot(jnp.array([[1., 2.], [3., 4.]]), jnp.array([1., 10.]))
    Array([21., 43.], dtype=float32)
    """
    if dimension_numbers is not None:
        numbers = canonical_numbers(dimension_numbers)
    else:
        x, y = typeof(lhs), typeof(rhs)
        if not (1 <= x.ndim <= 2 and 1 <= y.ndim <= 2 and x.shape[-1] == y.shape[0]):
            raise ValueError(explain(
                "tanx.lax.dot", "takes vectors and matrices whose inner sizes agree.",
                f"lhs: {x}", f"rhs: {y}", hint="dimension_numbers selects dimensions to sum."))
        numbers = ((x.ndim - 1,), (0,)), ((), ())
    return _dot("tanx.lax.dot", lhs, rhs, numbers, precision, preferred_element_type, out_sharding)


def batch_matmul(lhs, rhs, precision: PrecisionLike = None):
    """The products of matrices in the last two dimensions, for each index of the others.

    >>> lax.batch_matmul(jnp.ones((5, 2, 3)), jnp.ones((5, 3, 4))).shape
    (5, 2, 4)
    """
    x, y = typeof(lhs), typeof(rhs)
    if x.ndim != y.ndim or x.ndim < 2:
        raise ValueError(explain(
            "tanx.lax.batch_matmul", "operands must have the same rank, of 2 or more.",
            f"lhs: {x}", f"rhs: {y}"))
    batch = tuple(range(x.ndim - 2))
    return _dot("tanx.lax.batch_matmul", lhs, rhs, (((x.ndim - 1,), (x.ndim - 2,)), (batch, batch)),
                precision, None, None)


def _dot(function, lhs, rhs, dimension_numbers, precision, preferred_element_type, out_sharding):
    if preferred_element_type is not None:
        preferred_element_type = dtypes.requested_dtype(preferred_element_type, function)
    return _bound(function, lhs, rhs, dimension_numbers, canonical_precision(precision, function),
                  preferred_element_type, out_sharding)


def _bound(function, lhs, rhs, dimension_numbers, precision, preferred_element_type, out_sharding):
    """The product, with a dtype that the result may have even where users cannot ask for it."""
    if out_sharding is not None:
        (contracted, _), (batch, _) = dimension_numbers
        rank = typeof(lhs).ndim + typeof(rhs).ndim - 2 * len(contracted) - len(batch)
        out_sharding = requested(function, out_sharding, rank)
    return dot_general_p.bind(
        lhs, rhs, dimension_numbers=dimension_numbers, precision=precision,
        preferred_element_type=preferred_element_type, out_sharding=out_sharding)


def canonical_numbers(dimension_numbers: DotDimensionNumbers):
    """Dimension numbers as nested tuples of Python ints."""
    try:
        return _canonical_numbers(dimension_numbers)
    except TypeError:  # lists, or no dimension numbers at all
        return _canonical_numbers.__wrapped__(dimension_numbers)


@lru_cache
def _canonical_numbers(dimension_numbers):
    (cx, cy), (bx, by) = dimension_numbers
    cx, cy, bx, by = (tuple(map(operator.index, dims)) for dims in (cx, cy, bx, by))
    return (cx, cy), (bx, by)
