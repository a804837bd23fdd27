"""``associative_scan``: all running combinations of a sequence, in logarithmically many steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import tree_util
from .._base.axes import canonical_axis
from .._core.trace import context
from .._core.types import ShapedArray, typeof
from .._ops.arith import add
from .._ops.bits import bitwise_or
from .._ops.layout import rev
from .._ops.slicing import concatenate, pad, slice
from ..errors import explain
from .custom import flat_leaves

__all__ = ["associative_scan"]

_FUNCTION = "tanx.lax.associative_scan"


def associative_scan(fn: Callable, elems, reverse: bool = False, axis: int = 0):
    """Combine elements along an axis from the first up to each, with an associative ``fn``.

    ``fn(a, b)`` combines two pytrees of arrays of the structure of ``elems``, element by element
    along ``axis``. Because it is associative, neighbours are combined in parallel: there are about
    ``2 * log2(n)`` calls, on arrays of half the length, a quarter, and so on.

    >>> associative_scan(jnp.multiply, jnp.arange(1, 6))
    Array([  1,   2,   6,  24, 120], dtype=int32)
    >>> associative_scan(jnp.maximum, jnp.array([1, 4, 2]), reverse=True)
    Array([4, 4, 2], dtype=int32)
    """
    if not callable(fn):
        raise TypeError(explain(_FUNCTION, "needs a function.", f"given: {fn!r:.100}"))
    leaves, tree = flat_leaves(_FUNCTION, elems)
    if not leaves:
        return elems
    axis = canonical_axis(_FUNCTION, axis, leaves[0])
    _check_lengths(elems, leaves, axis)

    def combine(first: Sequence[Any], second: Sequence[Any]) -> list[Any]:
        result = fn(tree_util.tree_unflatten(tree, first), tree_util.tree_unflatten(tree, second))
        outs, out_tree = flat_leaves(f"{_FUNCTION}: result of fn", result)
        _check_result(tree, out_tree, [typeof(x) for x in first], [typeof(x) for x in outs])
        return outs

    if reverse:
        leaves = [rev(x, (axis,)) for x in leaves]
    outs = _prefixes(combine, leaves, axis)
    if reverse:
        outs = [rev(x, (axis,)) for x in outs]
    return tree_util.tree_unflatten(tree, outs)


def _prefixes(combine: Callable, elems: list, axis: int) -> list:
    """Combine pairs of neighbours, solve the problem of half the size, and fill in the rest."""
    n = elems[0].shape[axis]
    if n < 2:
        return elems
    pairs = combine([_every(x, axis, 0, n - 1, 2) for x in elems],
                    [_every(x, axis, 1, n, 2) for x in elems])
    odd = _prefixes(combine, pairs, axis)
    before = [_every(x, axis, 0, n // 2 - 1, 1) for x in odd] if n % 2 == 0 else odd
    even = combine(before, [_every(x, axis, 2, n, 2) for x in elems])
    even = [concatenate([_every(x, axis, 0, 1, 1), y], axis) for x, y in zip(elems, even)]
    return [_interleave(a, b, axis) for a, b in zip(even, odd)]


def _every(x, axis: int, start: int, stop: int, stride: int):
    starts, stops, strides = [0] * x.ndim, list(x.shape), [1] * x.ndim
    starts[axis], stops[axis], strides[axis] = start, stop, stride
    return slice(x, starts, stops, strides)


def _interleave(even, odd, axis: int):
    """Interleave the elements of two arrays: each is dilated with zeros, and the two are added."""
    longer = even.shape[axis] - odd.shape[axis]
    dtype = typeof(even).dtype
    zero = context.trace.literal(np.zeros((), dtype), ShapedArray((), dtype))

    def spread(x, low: int, high: int):
        return pad(x, zero, [(low, high, 1) if i == axis else (0, 0, 0) for i in range(x.ndim)])

    join = bitwise_or if dtype == np.bool_ else add
    return join(spread(even, 0, 1 - longer), spread(odd, 1, longer))


def _check_lengths(elems, leaves, axis: int) -> None:
    sizes = {x.shape[axis] if axis < x.ndim else None for x in leaves}
    if len(sizes) > 1:
        paths = [path for path, _ in tree_util.tree_flatten_with_path(elems)[0]]
        raise ValueError(explain(
            _FUNCTION, f"all arrays must have the same size along axis {axis}.",
            *(f"elems{tree_util.keystr(path)}: {typeof(x)}" for path, x in zip(paths, leaves))))


def _check_result(tree, out_tree, given: list[ShapedArray], found: list[ShapedArray]) -> None:
    if tree != out_tree:
        raise TypeError(explain(
            _FUNCTION, "fn must return a pytree of the structure that it takes.",
            f"takes: {tree}", f"gives: {out_tree}"))
    wrong = [(a, b) for a, b in zip(given, found) if a.shape != b.shape or a.dtype != b.dtype]
    if wrong:
        raise TypeError(explain(
            _FUNCTION, "fn must return arrays of the shapes and dtypes that it takes.",
            *(f"takes {a}, gives {b}" for a, b in wrong),
            hint="it is called with many elements at once, along the axis of the scan."))
