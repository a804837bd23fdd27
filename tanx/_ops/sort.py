"""Sorting by one key or several, and the greatest elements; ``order.py`` is the compiled form.

The order is that of numbers: NaN comes last, whatever its sign, and -0.0 equals 0.0; complex
numbers are ordered by real part, then imaginary part. :func:`top_k` uses the total order of floats
instead, in which NaN is greatest and -0.0 comes before 0.0.
"""

from __future__ import annotations

import operator
from math import log

import numpy as np

from .._base import symbolic
from .._base.axes import canonical_axis
from .._base.symbolic import definitely
from .._core.explicit import whole
from .._core.linear import Zero, never
from .._core.primitive import Kind, Primitive
from .._core.types import ShapedArray, typeof
from ..errors import explain
from .base import batch_together, broadcast_in_dim, reshape
from .compare import total_order_key
from .create import broadcasted_iota
from .derive import zeros_of
from .gather_geometry import GatherDimensionNumbers, GatherScatterMode
from .gather_scatter import gather
from .operands import ANY, accumulator, letter, refused

__all__ = ["approx_max_k", "approx_min_k", "approx_top_k_p", "sort", "sort_key_val", "sort_p",
           "top_k", "top_k_p"]

_INT32 = np.dtype(np.int32)
_SMALL = 4096
"""Below this many elements a stable sort by NumPy is fast enough."""


class Sort(Primitive):
    """Sorts operands together along a dimension, by the first ``num_keys`` of them."""

    name = "sort"
    kind = Kind.STATEMENT
    multiple_results = True
    transpose = never("an order is not linear")

    def infer(self, *types, dimension, is_stable, num_keys):
        if any(t.shape != types[0].shape for t in types):
            raise TypeError(explain(
                "tanx.lax.sort", "operands must have equal shapes.",
                *(f"operand {i}: {t}" for i, t in enumerate(types))))
        for t in types[:num_keys]:
            if letter(t.dtype) not in ANY:
                raise refused("sort", t, ANY)
        return list(types)

    def divided(self, *types, dimension, is_stable, num_keys):
        whole(self, types, [dimension], "the dimension that is sorted must not be divided.")
        return [t.entries for t in types]

    def eval(self, *arrays, dimension, is_stable, num_keys):
        if len(arrays) == 1:
            return [sorted_values(arrays[0], dimension)]
        order = stable_order([v for x in arrays[:num_keys] for v in _keys(x)], dimension)
        return [_along(x, order, dimension) for x in arrays]

    def jvp(self, primals, tangents, *, dimension, is_stable, num_keys):
        """Tangents move with their elements: positions are sorted too."""
        shape = typeof(primals[0]).shape
        positions = broadcasted_iota(np.uint32, shape, dimension)
        *outs, order = self.bind(*primals, positions, dimension=dimension, is_stable=is_stable,
                                 num_keys=num_keys)
        if any(type(t) is not Zero for t in tangents):
            order = broadcast_in_dim(order, (*shape, 1), range(len(shape)))
        return outs, [Zero.tangent_of(y) if type(t) is Zero else _take(t, order, dimension)
                      for y, t in zip(outs, tangents)]

    def batch(self, args, dims, *, dimension, is_stable, num_keys):
        args, d = batch_together(args, dims)
        outs = self.bind(*args, dimension=dimension + (dimension >= d), is_stable=is_stable,
                         num_keys=num_keys)
        return outs, [d] * len(outs)

    def lower(self, into, *operands, dimension, is_stable, num_keys):
        from .order import sort_statements  # late: it loads the loops, for compiled code only
        return sort_statements(into, operands, dimension, num_keys)


class Selection(Primitive):
    """The first elements along a dimension in the total order, and their positions.

    A subclass defines ``choice``: the dimension, the number of elements, and whether the greatest
    come first; ``along`` is its parameter for the dimension.
    """

    kind = Kind.STATEMENT
    multiple_results = True
    along: str
    transpose = never("an order is not linear")

    def choice(self, shape, **params) -> tuple[int, int, bool]:
        """The dimension, the number of elements, and whether the greatest come first."""
        raise NotImplementedError(f"{type(self).__name__}.choice")

    def infer(self, x, **params):
        if letter(x.dtype) not in ANY:
            raise refused(self.name, x, ANY)
        axis, count, _ = self.choice(x.shape, **params)
        shape = (*x.shape[:axis], count, *x.shape[axis + 1:])
        return [ShapedArray(shape, x.dtype, x.weak_type), ShapedArray(shape, _INT32)]

    def divided(self, x, **params):
        axis, _, _ = self.choice(x.shape, **params)
        whole(self, [x], [axis], "the dimension that is searched must not be divided.")
        return [x.entries, x.entries]

    def eval(self, x, **params):
        axis, count, descending = self.choice(x.shape, **params)
        key = total_order_key(_integers(x))
        order = first_in_order(~key if descending else key, count, axis)
        return [_along(x, order, axis), order.astype(np.int32)]

    def jvp(self, primals, tangents, **params):
        (x,), (dx,) = primals, tangents
        axis, _, _ = self.choice(typeof(x).shape, **params)
        values, order = self.bind(x, **params)
        place = reshape(order, (*typeof(order).shape, 1))
        return [values, order], [_take(dx, place, axis), Zero.tangent_of(order)]

    def batch(self, args, dims, **params):
        (x,), (d,) = args, dims
        shape = typeof(x).shape
        axis, _, _ = self.choice(shape[:d] + shape[d + 1:], **params)
        return self.bind(x, **params | {self.along: axis + (axis >= d)}), [d, d]

    def lower(self, into, x, **params):
        axis, _, descending = self.choice(x.shape, **params)
        from .order import top_statements  # late, as above
        return top_statements(into, x, axis, descending)


class TopK(Selection):
    """The greatest elements along a dimension, greatest first, and their positions."""

    name = "top_k"
    along = "axis"

    def choice(self, shape, *, k, axis, is_stable):
        return axis, k, True

    def infer(self, x, *, k, axis, is_stable):
        if letter(x.dtype) == "c":
            raise ValueError(explain(
                "tanx.lax.top_k", "complex numbers have no greatest elements.", f"operand: {x}"))
        if not 0 <= k <= x.shape[axis]:
            raise ValueError(explain(
                "tanx.lax.top_k", "k must not be negative, nor exceed the size of the dimension.",
                f"operand: {x}", f"axis:    {axis}", f"k:       {k}"))
        if definitely(lambda: x.shape[axis] > np.iinfo(_INT32).max):
            raise ValueError(explain(
                "tanx.lax.top_k", "positions are int32, which is too small for the last element.",
                f"operand: {x}", f"axis:    {axis}"))
        return super().infer(x, k=k, axis=axis, is_stable=is_stable)


class ApproxTopK(Selection):
    """The greatest or least elements along a dimension, exactly; JAX's may miss some of them."""

    name = "approx_top_k"
    along = "reduction_dimension"

    def choice(self, shape, *, k, reduction_dimension, recall_target, is_max_k,
               reduction_input_size_override, aggregate_to_topk):
        size = shape[reduction_dimension]
        if not aggregate_to_topk:
            k = _candidates(size, len(shape), k, recall_target)
        return reduction_dimension % len(shape), k, is_max_k

    def infer(self, x, *, k, reduction_dimension, **params):
        name = "tanx.lax.approx_max_k" if params["is_max_k"] else "tanx.lax.approx_min_k"
        if letter(x.dtype) != "f":
            raise ValueError(explain(name, "the operand must be floating point.", f"operand: {x}"))
        axis = canonical_axis(name, reduction_dimension, x)
        if not 0 < k <= x.shape[axis]:
            raise ValueError(explain(
                name, "k must be positive and not exceed the size of the dimension.",
                f"operand: {x}", f"k:       {k}"))
        return super().infer(x, k=k, reduction_dimension=axis, **params)


def _candidates(size: int, rank: int, k: int, recall: float) -> int:
    """How many candidates are kept for a later selection, by the rule of JAX's accelerators.

    The dimension is folded in half, by whole tiles, as long as the expected share of the ``k`` best
    elements that do not coincide is at least ``recall``.
    """
    tile = 1024 if rank == 1 else 128
    tiles = -(-size // tile)
    if k == 1:
        halvings = (tiles - 1).bit_length()
    elif recall < 1:
        halvings = max(size // max(int((1 - k) / log(recall)), tile), 1).bit_length() - 1
    else:
        halvings = 0
    return tile * -(-tiles // 2**halvings) if halvings else size


approx_top_k_p = ApproxTopK()
sort_p, top_k_p = Sort(), TopK()


# -- NumPy -----------------------------------------------------------------------------------------


def sorted_values(x: np.ndarray, axis: int) -> np.ndarray:
    """A sorted array; elements that compare equal but differ in bits keep their order."""
    kind = letter(x.dtype)
    wide = _integers(x) if kind in "iu" else x.astype(accumulator(x.dtype), copy=False)
    if kind == "c":
        return _along(x, stable_order(_keys(x), axis), axis)
    # A stable sort differs from the faster one only for zeros of both signs; small arrays skip the
    # test.
    stable = kind == "f" and (x.size < _SMALL or np.any((wide == 0) & np.signbit(wide)))
    return np.sort(wide, axis, kind="stable" if stable else None).astype(x.dtype, copy=False)


def stable_order(keys: list[np.ndarray], axis: int) -> np.ndarray:
    """The positions that sort keys along an axis; the first key is the most important.

    A single key of up to 32 bits is sorted together with its position as one integer, which is
    several times faster than an indirect sort.
    """
    (key, *rest) = keys
    if rest or key.dtype.itemsize > 4 or key.shape[axis] > 2**31:
        return np.lexsort(keys[::-1], axis)
    return first_in_order(_order_key(key), None, axis)


def first_in_order(key: np.ndarray, count: int | None, axis: int) -> np.ndarray:
    """The positions of the ``count`` least integers along an axis, in order; None for all."""
    size = key.shape[axis]
    first = (slice(None),) * axis + (slice(0, count),)
    if key.dtype.itemsize > 4 or key.size < _SMALL:
        return np.argsort(key, axis, kind="stable")[first]
    along = [1] * key.ndim
    along[axis] = size
    lowest = np.iinfo(key.dtype).min
    packed = (key.astype(np.int64) - 2**31 - lowest << 32) | np.arange(size).reshape(along)
    if count is not None and count < size // 8:
        packed = np.partition(packed, count, axis)[first]
    packed.sort(axis)
    return packed[first] & 0xFFFFFFFF


def _along(x: np.ndarray, order: np.ndarray, axis: int) -> np.ndarray:
    return x[order] if x.ndim == 1 else np.take_along_axis(x, order, axis)


def _integers(x: np.ndarray) -> np.ndarray:
    """Booleans and integers narrower than a byte as bytes; others unchanged."""
    return x.astype(np.int8) if letter(x.dtype) in "biu" and x.dtype.name not in _PLAIN else x


_PLAIN = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}


def _keys(x: np.ndarray) -> list[np.ndarray]:
    """Arrays whose NumPy order is the required order of ``x``."""
    kind = letter(x.dtype)
    if kind == "c":
        return [x.real, x.imag]
    return [x.astype(accumulator(x.dtype), copy=False) if kind == "f" else _integers(x)]


def _order_key(x: np.ndarray) -> np.ndarray:
    """Integers in the order of numbers: equal for both zeros, and the greatest for all NaNs."""
    if letter(x.dtype) != "f":
        return x
    return total_order_key(np.where(np.isnan(x), np.nan, x + 0).astype(x.dtype, copy=False))


# -- functions -------------------------------------------------------------------------------------


def _take(x, order, axis: int):
    """The elements of ``x`` at positions along an axis; ``order`` has an extra dimension of 1."""
    aval = typeof(x)
    if 0 in aval.shape:  # a gather needs elements to choose from
        return zeros_of(aval.update(shape=typeof(order).shape[:-1]))
    rank = aval.ndim
    others = tuple(d for d in range(rank) if d != axis)
    numbers = GatherDimensionNumbers(
        offset_dims=(), collapsed_slice_dims=(axis,), start_index_map=(axis,),
        operand_batching_dims=others, start_indices_batching_dims=others)
    return gather(x, order, numbers, (1,) * rank, mode=GatherScatterMode.PROMISE_IN_BOUNDS)


def sort(operand, dimension=-1, is_stable=True, num_keys=1):
    """Sort along ``dimension``, ascending; several operands are sorted together.

    In a sequence of operands, the first ``num_keys`` are the keys, most important first; all have
    one shape, and the result is a tuple. NaN comes last. The sort is stable, whatever
    ``is_stable``.

    >>> lax.sort(jnp.array([3, 1, 2]))
    Array([1, 2, 3], dtype=int32)
    >>> lax.sort((jnp.array([3, 1, 2]), jnp.array([0, 1, 2])))
    (Array([1, 2, 3], dtype=int32), Array([1, 2, 0], dtype=int32))
    """
    several = isinstance(operand, (tuple, list))
    operands = tuple(operand) if several else (operand,)
    if not operands:
        raise TypeError(explain("tanx.lax.sort", "needs at least one operand."))
    if not 1 <= num_keys <= len(operands):
        raise ValueError(explain(
            "tanx.lax.sort", "num_keys must be from 1 to the number of operands.",
            f"num_keys: {num_keys}", f"operands: {len(operands)}"))
    axis = canonical_axis("tanx.lax.sort", dimension, typeof(operands[0]))
    outs = sort_p.bind(*operands, dimension=axis, is_stable=bool(is_stable), num_keys=num_keys)
    return tuple(outs) if several else outs[0]


def sort_key_val(keys, values, dimension=-1, is_stable=True):
    """Sort ``keys`` along ``dimension``, and ``values`` in the same order.

    >>> lax.sort_key_val(jnp.array([3, 1]), jnp.array([10., 20.]))
    (Array([1, 3], dtype=int32), Array([20., 10.], dtype=float32))
    """
    return sort((keys, values), dimension, is_stable, 1)


def top_k(operand, k, *, axis=-1, is_stable=True):
    """The ``k`` greatest elements along ``axis``, greatest first, and their positions.

    Equal elements keep their order. NaN is greater than all numbers.

    >>> lax.top_k(jnp.array([3., 5., 4.]), 2)
    [Array([5., 4.], dtype=float32), Array([1, 2], dtype=int32)]
    """
    axis = canonical_axis("tanx.lax.top_k", axis, typeof(operand))
    return top_k_p.bind(operand, k=symbolic.index(k), axis=axis, is_stable=bool(is_stable))


def approx_max_k(operand, k, reduction_dimension=-1, recall_target=0.95,
                 reduction_input_size_override=-1, aggregate_to_topk=True):
    """The ``k`` greatest elements along a dimension, greatest first, and their positions.

    On some accelerators JAX returns an approximation, with the share ``recall_target`` of them;
    here the result is exact. With ``aggregate_to_topk=False`` more candidates than ``k`` are
    returned, for a selection across several devices.

    >>> lax.approx_max_k(jnp.array([3., 5., 4.]), 2)
    [Array([5., 4.], dtype=float32), Array([1, 2], dtype=int32)]
    """
    return _approx_top_k(operand, k, reduction_dimension, recall_target, True,
                         reduction_input_size_override, aggregate_to_topk)


def approx_min_k(operand, k, reduction_dimension=-1, recall_target=0.95,
                 reduction_input_size_override=-1, aggregate_to_topk=True):
    """The ``k`` least elements along a dimension, least first; see :func:`approx_max_k`.

    >>> lax.approx_min_k(jnp.array([3., 5., 4.]), 2)
    [Array([3., 4.], dtype=float32), Array([0, 2], dtype=int32)]
    """
    return _approx_top_k(operand, k, reduction_dimension, recall_target, False,
                         reduction_input_size_override, aggregate_to_topk)


def _approx_top_k(operand, k, dimension, recall, is_max_k, whole, aggregate):
    return approx_top_k_p.bind(
        operand, k=operator.index(k), reduction_dimension=operator.index(dimension),
        recall_target=float(recall), is_max_k=is_max_k,
        reduction_input_size_override=operator.index(whole), aggregate_to_topk=bool(aggregate))
