"""Sets: distinct elements of an array, and unions, intersections and differences of two.

All functions sort: equal elements become adjacent and form groups, and a mask over the sorted
elements selects the groups of the result. Their number is read from the data; under ``jit`` it is
given as ``size``.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from .. import dtypes
from .._api.jit import library_jit
from .._base.axes import canonical_axis
from .._base.tuples import NamedTuple
from ..errors import ConcretizationTypeError, explain
from ..lax import _functions as lax
from ._logic import isnan, where
from ._nonzero import known_value, nonzero
from ._promotion import as_operand, check_arraylike, convert, like, plain, promote_dtypes
from ._reduce import any, min
from ._shape import moveaxis, ravel, reshape
from ._sort import lexsort, searchsorted, sort

__all__ = ["intersect1d", "isin", "setdiff1d", "setxor1d", "union1d", "unique", "unique_all",
           "unique_counts", "unique_inverse", "unique_values"]


# -- distinct elements -----------------------------------------------------------------------------


def unique(ar, return_index=False, return_inverse=False, return_counts=False, axis=None, *,
           equal_nan=True, size=None, fill_value=None, sorted=True):
    """The distinct elements of ``ar`` in order, or its distinct slices along ``axis``.

    ``return_index`` adds the first position of each, ``return_inverse`` the positions that rebuild
    the array from them, and ``return_counts`` how often each occurs. Under ``jit`` their number
    must be given as ``size``: a longer result is cut off, a shorter one is filled with
    ``fill_value``, by default the least element. With ``equal_nan=False`` each NaN is distinct.

    >>> jnp.unique(jnp.array([3, 1, 2, 3, 1]), return_counts=True)
    (Array([1, 2, 3], dtype=int32), Array([2, 1, 2], dtype=int32))
    >>> jnp.unique(jnp.array([3, 1, 3]), size=3, fill_value=0)
    Array([1, 3, 0], dtype=int32)
    """
    x = as_operand("unique", ar)
    flat = ravel(x) if axis is None else x
    axis = 0 if axis is None else canonical_axis("unique", axis, x)
    flat = moveaxis(flat, axis, 0)
    groups = _unique_sorted_mask(flat, bool(equal_nan))
    size = _result_size("unique", x, groups.first, size)
    if size and not flat.shape[0] and fill_value is None:
        raise ValueError(explain("tanx.numpy.unique", "without elements, fill_value must be given.",
                                 f"array: {x.aval}", f"size:  {size}"))
    n = flat.shape[0]
    (starts,) = nonzero(groups.first, size=size + 1, fill_value=n)  # the last one marks the end
    found, ends = starts[:-1], starts[1:]
    kept = where(lax.lt(found, like(found, n)), found, 0)
    values = groups.elements[kept] if n else lax.full_like(flat, 0, shape=(size, *flat.shape[1:]))
    if fill_value is not None:
        fill = convert(fill_value, x.dtype)
        inside = lax.lt(found, like(found, n))
        values = where(reshape(inside, (size,) + (1,) * (flat.ndim - 1)), values, fill)
    results = [moveaxis(values, 0, axis)]
    if return_index:
        results.append(groups.order[kept] if n else kept)
    if return_inverse:
        inverse = lax.full_like(groups.order, 0).at[groups.order].set(
            _numbers(groups), unique_indices=True)
        results.append(reshape(inverse, x.shape) if flat.ndim == 1 and x.ndim != 1 else inverse)
    if return_counts:
        results.append(lax.sub(ends, found))
    return results[0] if len(results) == 1 else tuple(results)


class _Groups(NamedTuple):
    """Sorted elements or slices, and which of them start a group of equal ones."""

    elements: Any
    first: Any
    order: Any  # their positions in the array


@library_jit(name="_unique_sorted_mask", static_argnums=1)
def _unique_sorted_mask(x, equal_nan: bool):
    n, *rest = x.shape
    if x.dtype.kind == "c":  # a number with NaN in either part is NaN
        x = where(isnan(x), like(x, np.nan), x)
    rows = reshape(x, (n, int(np.prod(rest))))
    if rows.shape[1]:
        order = lexsort([rows[:, i] for i in reversed(range(rows.shape[1]))])
    else:
        order = lax.iota(dtypes.default_int(), n)
    elements = x[order]
    rows = rows[order]
    changes = lax.ne(rows[1:], rows[:-1])
    if equal_nan and dtypes.issubdtype(x.dtype, np.inexact):
        changes = changes & ~(isnan(rows[1:]) & isnan(rows[:-1]))
    first = lax.full((1 if n else 0,), True, np.dtype(bool))
    return _Groups(elements, lax.concatenate([first, any(changes, 1)], 0), order)


def _numbers(groups: _Groups):
    """For each sorted element, the number of its group."""
    count = lax.cumsum(convert(groups.first, dtypes.default_int()))
    return lax.sub(count, like(count, 1))


def _result_size(function: str, x, mask, size) -> int:
    """The number of elements of a result: the given ``size``, or else the number found."""
    if size is not None:
        size = operator.index(size)
        if size < 0:
            raise ValueError(explain(f"tanx.numpy.{function}", "size must not be negative.",
                                     f"size: {size}"))
        return size
    known = known_value(mask)
    if known is None:
        raise ConcretizationTypeError.of(
            f"tanx.numpy.{function}", "the number of elements of the result", x, "give size=....")
    return int(np.count_nonzero(known))


class UniqueAll(NamedTuple):
    """The result of :func:`unique_all`."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    """The result of :func:`unique_counts`."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """The result of :func:`unique_inverse`."""

    values: Any
    inverse_indices: Any


def unique_all(x, /, *, size=None, fill_value=None):
    """The distinct elements, their first positions, the inverse, and the counts; NaNs are distinct.

    >>> jnp.unique_all(jnp.array([3, 1, 3])).indices
    Array([1, 0], dtype=int32)
    """
    check_arraylike("unique_all", x)
    return UniqueAll(*unique(x, True, True, True, equal_nan=False, size=size,
                             fill_value=fill_value))


def unique_counts(x, /, *, size=None, fill_value=None):
    """The distinct elements and how often each occurs; all NaNs are distinct.

    >>> jnp.unique_counts(jnp.array([3, 1, 3])).counts
    Array([1, 2], dtype=int32)
    """
    check_arraylike("unique_counts", x)
    return UniqueCounts(*unique(x, return_counts=True, equal_nan=False, size=size,
                                fill_value=fill_value))


def unique_inverse(x, /, *, size=None, fill_value=None):
    """The distinct elements, and the positions that rebuild ``x`` from them; NaNs are distinct.

    >>> jnp.unique_inverse(jnp.array([3, 1, 3])).inverse_indices
    Array([1, 0, 1], dtype=int32)
    """
    check_arraylike("unique_inverse", x)
    return UniqueInverse(*unique(x, return_inverse=True, equal_nan=False, size=size,
                                 fill_value=fill_value))


def unique_values(x, /, *, size=None, fill_value=None):
    """The distinct elements; all NaNs are distinct.

    >>> jnp.unique_values(jnp.array([3, 1, 3]))
    Array([1, 3], dtype=int32)
    """
    check_arraylike("unique_values", x)
    return unique(x, equal_nan=False, size=size, fill_value=fill_value)


# -- two arrays ------------------------------------------------------------------------------------


class _Joined(NamedTuple):
    """The elements of two arrays as groups, and how many elements of each array a group holds."""

    groups: _Groups
    in_first: Any  # for each sorted element: how many of its group are from the first array
    in_second: Any
    sizes: tuple[int, int]


def _joined(function: str, ar1, ar2) -> _Joined:
    check_arraylike(function, ar1, ar2)
    x, y = promote_dtypes(ravel(ar1), ravel(ar2))
    n = x.shape[0]
    groups = _unique_sorted_mask(lax.concatenate([x, y], 0), False)
    numbers = _numbers(groups)
    of_first = convert(lax.lt(groups.order, like(groups.order, n)), numbers.dtype)

    of_second = lax.sub(lax.full_like(of_first, 1), of_first)

    def members(of):
        return lax.full_like(numbers, 0).at[numbers].add(of)[numbers]
    return _Joined(groups, members(of_first), members(of_second), (n, y.shape[0]))


def _selected(function: str, ar1, joined: _Joined, mask, size, fill_value):
    """Elements of the groups that a mask selects, their sorted positions, and whether they exist.

    Missing elements are ``fill_value``: by default the least one (NaN if there is a NaN), or zero
    if the array has no elements.
    """
    groups = joined.groups
    n = groups.first.shape[0]
    mask = groups.first & mask
    size = _result_size(function, ar1, mask, size)
    (places,) = nonzero(mask, size=size, fill_value=n)
    inside = lax.lt(places, like(places, n))
    places = where(inside, places, 0)
    values = (groups.elements[places] if n
              else lax.full_like(groups.elements, 0, shape=(size,)))
    if fill_value is None:
        least = min(where(inside, values, values[0])) if size else 0
        fill_value = where(inside[0], least, like(values, 0)) if size else 0
    return where(inside, values, convert(fill_value, values.dtype)), places, inside


def union1d(ar1, ar2, *, size=None, fill_value=None):
    """The distinct elements of two arrays together; see :func:`unique`.

    >>> jnp.union1d(jnp.array([3, 1]), jnp.array([2, 3]))
    Array([1, 2, 3], dtype=int32)
    """
    check_arraylike("union1d", ar1, ar2)
    both = lax.concatenate(promote_dtypes(ravel(ar1), ravel(ar2)), 0)
    return unique(both, size=size, fill_value=fill_value)


def intersect1d(ar1, ar2, assume_unique=False, return_indices=False, *, size=None,
                fill_value=None):
    """The distinct elements that are in both arrays, in order.

    ``return_indices`` adds the first position of each in both arrays. ``size`` and ``fill_value``
    are as in :func:`unique`; positions of missing elements are past the ends of the arrays.

    >>> jnp.intersect1d(jnp.array([5, 3, 1]), jnp.array([2, 3, 5]))
    Array([3, 5], dtype=int32)
    """
    joined = _joined("intersect1d", ar1, ar2)
    common = (joined.in_first > 0) & (joined.in_second > 0)
    values, places, inside = _selected("intersect1d", ar1, joined, common, size, fill_value)
    if not return_indices:
        return values
    # In a group, elements of the first array come first; the sort keeps the order within each
    # array.
    n, m = joined.sizes
    order = joined.groups.order
    first, second = places, places
    if n + m:
        first = order[places]
        second = order[places + joined.in_first[places]] - n
    return values, where(inside, first, n), where(inside, second, m)


def setdiff1d(ar1, ar2, assume_unique=False, *, size=None, fill_value=None):
    """The distinct elements of ``ar1`` that are not in ``ar2``, in order.

    With ``assume_unique``, the elements of ``ar1`` in their original order. If there are fewer than
    ``size``, the rest is ``fill_value``, by default zero.

    >>> jnp.setdiff1d(jnp.array([5, 3, 1]), jnp.array([2, 3]))
    Array([1, 5], dtype=int32)
    """
    check_arraylike("setdiff1d", ar1, ar2)
    x = ravel(ar1)
    fill_value = 0 if fill_value is None else fill_value
    if not assume_unique:
        joined = _joined("setdiff1d", x, ar2)
        only = (joined.in_first > 0) & (joined.in_second == 0)
        values, _, _ = _selected("setdiff1d", ar1, joined, only, size, fill_value)
        return convert(values, x.dtype)
    mask = isin(x, ar2, invert=True)
    size = _result_size("setdiff1d", ar1, mask, size)
    (places,) = nonzero(mask, size=size, fill_value=x.shape[0])
    return x.at[places].get(mode="fill", fill_value=fill_value)


def setxor1d(ar1, ar2, assume_unique=False, *, size=None, fill_value=None):
    """The distinct elements that are in one of two arrays but not in both, in order.

    ``size`` and ``fill_value`` are as in :func:`unique`.

    >>> jnp.setxor1d(jnp.array([5, 3, 1]), jnp.array([2, 3]))
    Array([1, 2, 5], dtype=int32)
    """
    joined = _joined("setxor1d", ar1, ar2)
    if assume_unique:
        only = joined.in_first + joined.in_second == 1
    else:
        only = (joined.in_first > 0) ^ (joined.in_second > 0)
    return _selected("setxor1d", ar1, joined, only, size, fill_value)[0]


_FEW = 256  # up to this many elements, comparing with all of them is faster than sorting


def isin(element, test_elements, assume_unique=False, invert=False, *, method="auto"):
    """For each element, whether it is among ``test_elements``; with ``invert``, whether it is not.

    ``method="compare_all"`` compares all pairs; the others sort ``test_elements`` and search.

    >>> jnp.isin(jnp.array([1, 2, 3]), jnp.array([3, 1]))
    Array([ True, False,  True], dtype=bool)
    """
    check_arraylike("isin", element, test_elements)
    element = plain(element)
    if method not in ("auto", "compare_all", "binary_search", "sort"):
        raise ValueError(explain(
            "tanx.numpy.isin", f"there is no method {method!r}.",
            "methods: 'auto', 'compare_all', 'binary_search', 'sort'"))
    return reshape(_in1d(element, test_elements, method, bool(invert)), np.shape(element))


@library_jit(name="_in1d", static_argnums=(2, 3))
def _in1d(element, test_elements, method: str, invert: bool):
    x, tests = promote_dtypes(element, test_elements)
    x, tests = ravel(x), ravel(tests)
    n = tests.shape[0]
    if not n or not x.shape[0]:
        return lax.full(x.shape, invert, np.dtype(bool))
    if method == "compare_all" or method == "auto" and n <= _FEW:
        equal = any(lax.eq(*_column_and_row(x, tests)), 1)
    else:
        tests = sort(tests)
        equal = lax.eq(x, tests[searchsorted(tests, x)])
    return lax.bitwise_not(equal) if invert else equal


def _column_and_row(x, y):
    """Two vectors as a column and a row."""
    return lax.expand_dims(x, (1,)), lax.expand_dims(y, (0,))
