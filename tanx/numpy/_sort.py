"""Sorting, partitioning, the greatest elements, and searching in sorted arrays.

Numbers are in ascending order with NaN last; complex numbers by real part, then by imaginary part.
"""

from __future__ import annotations

import functools
import operator

import numpy as np

from .. import dtypes
from .._api.jit import library_jit
from .._base.axes import canonical_axis
from ..errors import explain
from ..lax import _functions as lax
from ._creation import asarray
from ._logic import where as choose
from ._plan import index_dtype
from ._promotion import as_operand, convert, like, promote_dtypes, stated, typeof
from ._reduce import sum
from ._shape import ravel

__all__ = ["argpartition", "argsort", "digitize", "lexsort", "partition", "searchsorted", "sort",
           "sort_complex", "top_k"]

_INT32 = np.dtype(np.int32)
_ORDER = ("axis", "kind", "order", "stable", "descending")


# -- order -----------------------------------------------------------------------------------------


@library_jit(static_argnames=_ORDER)
def sort(a, axis=-1, *, kind=None, order=None, stable=True, descending=False):
    """``a`` sorted along ``axis``; with ``axis=None``, flattened first.

    ``descending`` puts the greatest first, and NaN before it.

    >>> jnp.sort(jnp.array([3, 1, 2]), descending=True)
    Array([3, 2, 1], dtype=int32)
    """
    x, axis = _sorted_axis("sort", a, axis, kind, order)
    result = lax.sort(x, dimension=axis, is_stable=stable)
    return lax.rev(result, (axis,)) if descending else result


@library_jit(static_argnames=(*_ORDER, "dtype"))
def argsort(a, axis=-1, *, kind=None, order=None, stable=True, descending=False, dtype=None):
    """The positions that sort ``a`` along ``axis``; see :func:`sort`.

    Equal elements keep their order, also with ``descending``, unless ``stable=False``.

    >>> jnp.argsort(jnp.array([3, 1, 2]))
    Array([1, 2, 0], dtype=int32)
    """
    x, axis = _sorted_axis("argsort", a, axis, kind, order)
    dtype = dtypes.default_int() if dtype is None else dtypes.requested_dtype(
        dtype, "tanx.numpy.argsort")
    positions = lax.broadcasted_iota(dtype, x.shape, axis, out_sharding=stated(typeof(x)))
    # Reversed before and after sorting, equal elements keep their order.
    if descending and stable:
        x, positions = lax.rev(x, (axis,)), lax.rev(positions, (axis,))
    _, result = lax.sort((x, positions), dimension=axis, is_stable=stable, num_keys=1)
    return lax.rev(result, (axis,)) if descending else result


def _sorted_axis(function, a, axis, kind, order):
    x = as_operand(function, a)
    if kind is not None or order is not None:
        raise TypeError(explain(
            f"tanx.numpy.{function}", "kind and order are not supported.",
            f"kind:  {kind!r}", f"order: {order!r}",
            hint="use stable=True or stable=False; arrays have no fields to sort by."))
    if axis is None:
        x, axis = ravel(x), 0
    return x, canonical_axis(function, axis, x)


@library_jit(static_argnames=("axis", "batch_size"))
def lexsort(keys, axis=-1, *, batch_size=16):
    """The positions that sort by several keys: by the last one, ties by the one before it.

    ``keys`` is a sequence of arrays of one shape, or an array of keys along its first dimension.
    ``batch_size`` is for compatibility with JAX and has no effect.

    >>> jnp.lexsort((jnp.array([3, 1, 2]), jnp.array([0, 1, 0])))
    Array([2, 0, 1], dtype=int32)
    """
    if not isinstance(keys, tuple | list):
        keys = as_operand("lexsort", keys)
        keys = lax.unstack(keys) if keys.shape else ()
    keys = [as_operand("lexsort", key) for key in keys]
    if not keys:
        raise TypeError(explain("tanx.numpy.lexsort", "there must be at least one key."))
    if any(key.shape != keys[0].shape for key in keys):
        raise ValueError(explain(
            "tanx.numpy.lexsort", "keys must have one shape.",
            *(f"key {i}: {typeof(key)}" for i, key in enumerate(keys))))
    if not keys[0].shape:
        return convert(0, dtypes.default_int())
    axis = canonical_axis("lexsort", axis, keys[0])
    positions = lax.broadcasted_iota(dtypes.default_int(), keys[0].shape, axis)
    return lax.sort((*keys[::-1], positions), dimension=axis, num_keys=len(keys))[-1]


@library_jit
def sort_complex(a):
    """``a`` sorted along its last dimension, as complex numbers.

    >>> jnp.sort_complex(jnp.array([2, 1j, 1]))
    Array([0.+1.j, 1.+0.j, 2.+0.j], dtype=complex64)
    """
    x = as_operand("sort_complex", a)
    x = lax.sort(x, dimension=canonical_axis("sort_complex", -1, x))
    return convert(x, dtypes.to_complex_dtype(x.dtype))


# -- partial order ---------------------------------------------------------------------------------


@library_jit(static_argnames=("kth", "axis"))
def partition(a, kth, axis=-1):
    """``a`` with the element at ``kth`` in its sorted place, lesser before and greater after it.

    Elements before it are in ascending order, elements after it in descending order.

    >>> jnp.partition(jnp.array([5, 3, 4, 1, 2]), 2)
    Array([1, 2, 3, 5, 4], dtype=int32)
    """
    x, place, axis = _partitioned("partition", a, kth, axis)
    lower, upper = _parted(lax.sort(x, dimension=axis), place, axis)
    return lax.concatenate([lower, lax.rev(upper, (axis,))], axis)


@library_jit(static_argnames=("kth", "axis"))
def argpartition(a, kth, axis=-1):
    """The positions that put the element at ``kth`` in its sorted place; see :func:`partition`.

    After ``kth``, the positions themselves are in ascending order.

    >>> jnp.argpartition(jnp.array([5, 3, 4, 1, 2]), 2)
    Array([3, 4, 1, 0, 2], dtype=int32)
    """
    x, place, axis = _partitioned("argpartition", a, kth, axis)
    positions = lax.broadcasted_iota(_INT32, x.shape, axis)
    _, order = lax.sort((x, positions), dimension=axis, num_keys=1)
    lower, upper = _parted(order, place, axis)
    return lax.concatenate([lower, lax.sort(upper, dimension=axis)], axis)


def _partitioned(function, a, kth, axis):
    """The array, the place counted from the front, and the axis."""
    x = as_operand(function, a)
    if x.dtype.kind == "c":
        raise NotImplementedError(explain(
            f"tanx.numpy.{function}", "complex numbers are not partitioned.",
            f"array: {typeof(x)}", hint="use tanx.numpy.sort."))
    axis = canonical_axis(function, axis, x)
    size, place = x.shape[axis], operator.index(kth)
    if not -size <= place < size:
        raise ValueError(explain(
            f"tanx.numpy.{function}", "kth is out of bounds.", f"array: {typeof(x)}",
            f"axis:  {axis}", f"kth:   {kth}"))
    return x, place % size, axis


def _parted(x, place: int, axis: int):
    """The elements up to ``place``, and those after it."""
    return (lax.slice_in_dim(x, 0, place + 1, axis=axis),
            lax.slice_in_dim(x, place + 1, None, axis=axis))


@library_jit(static_argnums=1, static_argnames=("axis", "mode", "sorted"))
def top_k(a, k, /, *, axis=-1, mode="largest", sorted=True):
    """The ``k`` greatest elements along ``axis``, greatest first, and their positions.

    With ``mode="smallest"`` the least ones, least first. They are in order even if ``sorted`` is
    false.

    >>> jnp.top_k(jnp.array([3., 5., 4.]), 2)
    [Array([5., 4.], dtype=float32), Array([1, 2], dtype=int32)]
    """
    x = as_operand("top_k", a)
    axis = canonical_axis("top_k", axis, x)
    k = operator.index(k)
    if not 0 <= k <= x.shape[axis] or x.dtype.kind == "c":
        raise ValueError(explain(
            "tanx.numpy.top_k", "takes real numbers, and at least k of them.",
            f"array: {typeof(x)}", f"axis:  {axis}", f"k:     {k}"))
    if mode == "largest":
        return lax.top_k(x, k, axis=axis)
    if mode != "smallest":
        raise ValueError(explain("tanx.numpy.top_k", "mode is 'largest' or 'smallest'.",
                                 f"mode: {mode!r}"))
    turned = lax.neg if dtypes.issubdtype(x.dtype, np.inexact) else lax.bitwise_not
    values, positions = lax.top_k(turned(x), k, axis=axis)
    return turned(values), positions


# -- places in sorted arrays -----------------------------------------------------------------------


_FEW = 16  # up to this many elements, comparing all is faster than a binary search
_SIDES = ("left", "right")
_METHODS = ("scan", "scan_unrolled", "sort", "compare_all")


@library_jit(static_argnames=("side", "method"))
def searchsorted(a, v, side="left", sorter=None, *, method="scan"):
    """The places at which to put ``v`` into the sorted vector ``a``, so that it stays sorted.

    The place is before equal elements, or after them with ``side="right"``. If ``a`` is not sorted,
    ``sorter`` holds the positions that sort it. ``method="compare_all"`` compares all pairs; the
    others are a binary search, unless ``a`` is short.

    >>> jnp.searchsorted(jnp.array([1., 2., 2., 3.]), jnp.array([2., 2.5]))
    Array([1, 3], dtype=int32)
    """
    a, v = as_operand("searchsorted", a), as_operand("searchsorted", v)
    if a.ndim != 1:
        raise ValueError(explain("tanx.numpy.searchsorted", "a must be a vector.",
                                 f"a: {typeof(a)}", hint="use tanx.vmap for several."))
    for name, value, known in (("side", side, _SIDES), ("method", method, _METHODS)):
        if value not in known:
            raise ValueError(explain(
                "tanx.numpy.searchsorted", f"{name} must be one of {', '.join(map(repr, known))}.",
                f"{name}: {value!r}"))
    a = a if sorter is None else a[sorter]
    a, v = promote_dtypes(a, v)
    a, v = convert(a, a.dtype), convert(v, v.dtype)

    def passed(elements, values):
        """Whether the place is after the element."""
        if side == "left":
            return _before(elements, values)
        return lax.bitwise_not(_before(values, elements))

    if method == "compare_all" or a.shape[0] <= _FEW:
        a = a if method == "compare_all" else _as_bisected(a)
        values = lax.broadcast_in_dim(v, (*v.shape, a.shape[0]), range(v.ndim))
        return sum(passed(lax.broadcast_in_dim(a, values.shape, (v.ndim,)), values), -1,
                   _count_dtype(a))
    return _bisect(a, v, passed)


def _count_dtype(a) -> np.dtype:
    return dtypes.canonicalize_dtype(index_dtype(a.shape[0]))


def _bisect(a, v, passed):
    """How many elements of ``a`` are passed, by binary search."""
    size = a.shape[0]
    low, high = (lax.full(v.shape, n, _count_dtype(a)) for n in (0, size))
    numbers = lax.GatherDimensionNumbers(
        offset_dims=(), collapsed_slice_dims=(0,), start_index_map=(0,))
    for _ in range(size.bit_length()):
        middle = lax.add(low, lax.shift_right_logical(lax.sub(high, low), like(low, 1)))
        elements = lax.gather(a, lax.expand_dims(middle, (v.ndim,)), numbers, (1,),
                              mode="promise_in_bounds")
        behind = passed(elements, v)
        low, high = lax.select(behind, middle, low), lax.select(behind, high, middle)
    return high


def _as_bisected(a):
    """A sorted vector for which counting passed elements gives what :func:`_bisect` finds in ``a``.

    That is ``a`` itself if it is sorted. Else, for example with a NaN in the middle, a search that
    goes left of an element passes no element right of it, whatever their values.
    """
    places = np.arange(a.shape[0])
    for pivots in _pivots(a.shape[0]):
        bounds = a[pivots]
        crossed = lax.select(asarray(places > pivots), _before(a, bounds), _before(bounds, a))
        a = lax.select(crossed, bounds, a)
    return a


@functools.cache
def _pivots(size: int) -> list[np.ndarray]:
    """For each step of a search: by element, the pivot on the path to that element.

    The pivot of an element that was reached in an earlier step is the element itself.
    """
    steps = []
    places = np.arange(size)
    low, high, reached = np.zeros(size, int), np.full(size, size), np.zeros(size, bool)
    while not reached.all():
        middle = np.where(reached, places, (low + high) // 2)
        steps.append(middle)
        low, high = np.where(places > middle, middle, low), np.where(places < middle, middle, high)
        reached |= places == middle
    return steps[:-1]  # in the last step every element is reached


def _before(x, y):
    """Whether ``x`` is sorted before ``y``; NaN is after all numbers."""
    if x.dtype.kind == "c":
        a, b = lax.real(x), lax.real(y)
        both_nan = lax.bitwise_and(lax.ne(a, a), lax.ne(b, b))
        tie = lax.bitwise_or(lax.eq(a, b), both_nan)
        return lax.select(tie, _before(lax.imag(x), lax.imag(y)), _before(a, b))
    if not dtypes.issubdtype(x.dtype, np.inexact):
        return lax.lt(x, y)
    return lax.bitwise_or(lax.lt(x, y), lax.bitwise_and(lax.ne(y, y), lax.eq(x, x)))


@library_jit(static_argnames=("right", "method"))
def digitize(x, bins, right=False, *, method=None):
    """The number of the bin that each element of ``x`` falls into, given the edges ``bins``.

    Edges ascend or descend; bin ``i`` reaches from edge ``i - 1`` to edge ``i``, and includes the
    lower edge, or with ``right`` the upper one. ``method`` is that of :func:`searchsorted`.

    >>> jnp.digitize(jnp.array([0.5, 2., 7.]), jnp.array([1., 2., 3.]))
    Array([0, 2, 3], dtype=int32)
    """
    x, bins = as_operand("digitize", x), as_operand("digitize", bins)
    if bins.ndim != 1:
        raise ValueError(explain("tanx.numpy.digitize", "bins must be a vector.",
                                 f"bins: {typeof(bins)}"))
    if not bins.shape[0]:
        return lax.full(x.shape, 0, _INT32)
    side, method = "left" if right else "right", method or "scan"
    ascending = lax.ge(bins[-1], bins[0])
    forwards = searchsorted(bins, x, side, method=method)
    backwards = searchsorted(lax.rev(bins, (0,)), x, side, method=method)
    return choose(ascending, forwards, lax.sub(like(backwards, bins.shape[0]), backwards))
