"""Reductions: sums, extrema, means and logic along dimensions, and positions of extrema.

Results are never weakly typed. Sums of narrow floats are kept in float32, and so are means.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from math import prod as product
from typing import Any

import ml_dtypes
import numpy as np

from .. import dtypes
from .._api.jit import jit, library_jit
from .._base.axes import canonical_axes, canonical_axis
from .._base.tuples import NamedTuple
from ..errors import explain
from ..lax import _functions as lax
from ._logic import where as choose
from ._math import subtract
from ._promotion import (
    as_operand,
    broadcast_to_shape,
    check_arraylike,
    convert,
    like,
    numeric,
    staging,
    typeof,
)
from ._shape import ravel

__all__ = ["all", "amax", "amin", "any", "argmax", "argmin", "count_nonzero", "max", "mean", "min",
           "minmax", "prod", "ptp", "std", "sum", "var"]


# -- shared by reductions --------------------------------------------------------------------------


def refuse_out(function: str, out) -> None:
    """Raise if ``out`` is given: arrays are immutable."""
    if out is not None:
        raise NotImplementedError(explain(
            f"tanx.numpy.{function}", "arrays are immutable, so out is not supported.",
            hint="use the result."))


_ALL_AXES = [tuple(range(ndim)) for ndim in range(65)]  # NumPy's limit


def reduced_axes(function: str, axis, x) -> tuple[int, ...]:
    """The dimensions of ``x`` that ``axis`` names; all of them if it is None."""
    return _ALL_AXES[x.ndim] if axis is None else canonical_axes(function, axis, x)


def keep_reduced(x, shape: tuple[int, ...], axes: tuple[int, ...]):
    """``x``, a reduction over ``axes`` of an array of ``shape``, with axes of size 1 for them."""
    kept = [d for d in range(len(shape)) if d not in axes]
    return lax.broadcast_in_dim(x, [shape[d] if d in kept else 1 for d in range(len(shape))], kept)


def masked(function: str, x, where, value):
    """``x`` with ``value``, a Python number, where the mask ``where`` does not hold."""
    check_arraylike(function, where)
    kind = typeof(where)
    if kind.dtype != bool:
        raise ValueError(explain(f"tanx.numpy.{function}", "where must hold booleans.",
                                 f"where: {kind}", hint="compare, as in where=mask != 0."))
    result = choose(where, x, convert(value, x.dtype))
    if result.shape != x.shape:
        raise ValueError(explain(f"tanx.numpy.{function}", "where must broadcast to the array.",
                                 f"array: {typeof(x)}", f"where: {kind}"))
    return result


class Monoid(NamedTuple):
    """An operation: as a reduction, as a function of two arrays, and its neutral element."""

    reduce: Callable
    combine: Callable
    unit: Any


_SUM = Monoid(lax.reduce_sum, lax.add, 0)
_PROD = Monoid(lax.reduce_prod, lax.mul, 1)
_MAX = Monoid(lax.reduce_max, lax.max, None)  # depends on the dtype, see ``bound``
_MIN = Monoid(lax.reduce_min, lax.min, None)
_OR = Monoid(lax.reduce_or, lax.bitwise_or, False)
_AND = Monoid(lax.reduce_and, lax.bitwise_and, True)


def reduced(function: str, monoid: Monoid, x, axis, keepdims, initial=None, where=None):
    """The reduction of ``x`` over ``axis``, in its own dtype."""
    if where is not None:
        x = masked(function, x, where, monoid.unit)
    shape = x.aval.shape
    axes = reduced_axes(function, axis, x)
    result = monoid.reduce(x, axes)
    if initial is not None:
        check_arraylike(function, initial)
        if typeof(initial).shape:
            raise ValueError(explain(f"tanx.numpy.{function}", "initial must be a scalar.",
                                     f"initial: {typeof(initial)}"))
        result = monoid.combine(convert(initial, x.dtype), result)
    return keep_reduced(result, shape, axes) if keepdims else result


_NARROW_FLOATS = {np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)}
_FLOAT32 = np.dtype(np.float32)


def accumulator(dtype: np.dtype) -> np.dtype:
    """The dtype in which numbers of ``dtype`` are summed."""
    return _FLOAT32 if dtype in _NARROW_FLOATS else dtype


# -- sums and products -----------------------------------------------------------------------------


def _total(function, monoid, logical, a, axis, dtype, out, keepdims, initial, where,
           promote_integers):
    """``sum`` or ``prod``; ``logical`` is the reduction to use for booleans."""
    refuse_out(function, out)
    x = as_operand(function, a)
    if dtype is None:
        result = total_dtype(x.aval.dtype, promote_integers)
        computed = accumulator(result)
    else:
        result = computed = dtypes.requested_dtype(dtype, f"tanx.numpy.{function}")
        if result.kind == "b":
            monoid = logical
        else:
            x = numeric(function, x)
    total = _reduced_in(computed, function, monoid, x, axis, keepdims, initial, where)
    return convert(total, result)


# From this number of bytes on, converting an array costs more than compiling a program that needs
# no copy: 20 to 40 ms on x86-64.
_LARGE_COPY = 1 << 26


def _reduced_in(dtype: np.dtype, function: str, monoid: Monoid, x, axis, keepdims, initial, where):
    """The reduction of ``x`` converted to ``dtype``, without a large copy in eager code."""
    if x.dtype.itemsize < dtype.itemsize and x.size * dtype.itemsize >= _LARGE_COPY and (
            not staging()):
        return _as_one_program(x, initial, where, dtype=dtype, function=function, monoid=monoid,
                               axis=static_axis(axis), keepdims=bool(keepdims))
    return reduced(function, monoid, cast(x, dtype), axis, keepdims, initial, where)


@functools.partial(jit, static_argnames=("dtype", "function", "monoid", "axis", "keepdims"))
def _as_one_program(x, initial, where, *, dtype, function, monoid, axis, keepdims):
    return reduced(function, monoid, cast(x, dtype), axis, keepdims, initial, where)


def cast(x, dtype: np.dtype):
    """``x`` in the requested dtype; warns if imaginary parts are lost."""
    return lax.convert_element_type(x, dtype) if x.dtype.kind == "c" else convert(x, dtype)


def total_dtype(dtype: np.dtype, promote_integers: bool) -> np.dtype:
    """The dtype of a sum: narrow integers become the default integer; so does int64 without x64."""
    kind = dtype.kind
    if kind == "b":
        return dtypes.default_int()
    if promote_integers and kind not in "fc" and dtypes.issubdtype(dtype, np.integer):
        signed = dtypes.issubdtype(dtype, np.signedinteger)
        return dtypes.default_int() if signed else dtypes.default_uint()
    return dtypes.canonicalize_dtype(dtype, allow_extended_dtype=True)


def sum(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=None,
        promote_integers=True):
    """The sum over ``axis``: one dimension, a tuple of them, or all.

    Integers narrower than int32 (int64 with ``enable_x64``) are summed in that, unless
    ``promote_integers=False`` or ``dtype`` says otherwise. ``keepdims`` leaves the dimensions
    summed over with size 1, ``initial`` is added, and only elements where ``where`` holds count.

    >>> jnp.sum(jnp.array([[1, 2], [3, 4]]), axis=0)
    Array([4, 6], dtype=int32)
    """
    return _total("sum", _SUM, _OR, a, axis, dtype, out, keepdims, initial, where,
                  promote_integers)


def prod(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=None,
         promote_integers=True):
    """The product over ``axis``; the parameters are those of :func:`sum`.

    >>> jnp.prod(jnp.array([[1, 2], [3, 4]]), axis=1)
    Array([ 2, 12], dtype=int32)
    """
    return _total("prod", _PROD, _AND, a, axis, dtype, out, keepdims, initial, where,
                  promote_integers)


def mean(a, axis=None, dtype=None, out=None, keepdims=False, *, where=None):
    """The arithmetic mean over ``axis``; a float for integers.

    With ``where``, the mean of the elements where it holds. The mean of no elements is NaN.

    >>> jnp.mean(jnp.array([[1, 2], [3, 5]]), axis=1)
    Array([1.5, 4. ], dtype=float32)
    """
    refuse_out("mean", out)
    x = numeric("mean", a)
    if dtype is None:
        result = dtypes.canonicalize_dtype(dtypes.to_inexact_dtype(x.dtype))
        computed = accumulator(result)
    else:
        result = computed = dtypes.requested_dtype(dtype, "tanx.numpy.mean")
    count = convert(_count("mean", x, axis, computed, keepdims, where), computed)
    total = _reduced_in(computed, "mean", _SUM, x, axis, keepdims, None, where)
    return convert(lax.div(total, count), result)


def _count(function: str, x, axis, dtype, keepdims, where):
    """How many elements of ``x`` count: an integer, or with a mask an array."""
    if where is None:
        return product([x.shape[d] for d in reduced_axes(function, axis, x)])
    check_arraylike(function, where)
    mask = broadcast_to_shape(as_operand(function, where), x.shape)
    numbers = convert(convert(mask, dtypes.default_int()), dtype)
    return reduced(function, _SUM, numbers, axis, keepdims)


@library_jit(static_argnames=("axis", "keepdims"))
def count_nonzero(a, axis=None, keepdims=False):
    """How many elements over ``axis`` are nonzero.

    >>> jnp.count_nonzero(jnp.array([[1, 0], [2, 3]]), axis=0)
    Array([2, 1], dtype=int32)
    """
    x = as_operand("count_nonzero", a)
    axes = reduced_axes("count_nonzero", axis, x)
    hits = convert(lax.ne(x, like(x, 0)), dtypes.default_int())
    return reduced("count_nonzero", _SUM, hits, axes, keepdims)


# -- variance --------------------------------------------------------------------------------------


def var(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=None, mean=None,
        correction=None):
    """The variance over ``axis``: the mean of squares of distances from the mean.

    The sum of squares is divided by the number of elements less ``ddof``, also called
    ``correction``; if that is not positive, the variance is NaN. ``mean`` gives the mean if it is
    known already, with reduced dimensions of size 1. ``where`` is a mask of the elements to count.

    >>> jnp.var(jnp.array([1., 2., 3., 4.]), ddof=1)
    Array(1.6666666, dtype=float32)
    """
    refuse_out("var", out)
    x = as_operand("var", a)
    return _var(x, mean, _correction("var", ddof, correction), where,
                axis=static_axis(axis), dtype=dtype, keepdims=keepdims)


def std(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=None, mean=None,
        correction=None):
    """The standard deviation over ``axis``, the root of the variance; see :func:`var`.

    >>> jnp.std(jnp.array([1., 2., 3., 4.]))
    Array(1.118034, dtype=float32)
    """
    refuse_out("std", out)
    x = as_operand("std", a)
    if dtype is not None and not dtypes.issubdtype(dtype, np.inexact):
        raise ValueError(explain("tanx.numpy.std", "dtype must be a floating point type.",
                                 f"dtype: {np.dtype(dtype)}"))
    return _std(x, mean, _correction("std", ddof, correction), where,
                axis=static_axis(axis), dtype=dtype, keepdims=keepdims)


def _correction(function: str, ddof, correction):
    if correction is None:
        return ddof
    if isinstance(ddof, int) and ddof == 0:
        return correction
    raise ValueError(explain(
        f"tanx.numpy.{function}", "ddof and correction are the same parameter.",
        f"ddof:       {ddof}", f"correction: {correction}", hint="pass one of them."))


def static_axis(axis):
    """``axis`` as a hashable value."""
    return tuple(axis) if isinstance(axis, list | np.ndarray) else axis


def variance_dtypes(function: str, given: np.dtype, dtype) -> tuple[np.dtype, np.dtype]:
    """The dtypes in which a variance is computed and returned."""
    if dtype is None:
        computed = dtypes.canonicalize_dtype(dtypes.to_inexact_dtype(given))
        return accumulator(computed), dtypes.to_floating_dtype(computed)
    result = dtypes.requested_dtype(dtype, f"tanx.numpy.{function}")
    if given.kind == "c" != result.kind:
        raise ValueError(explain(
            f"tanx.numpy.{function}", "of complex numbers, dtype must be a complex one.",
            f"array: {given}", f"dtype: {result}"))
    if not dtypes.issubdtype(result, np.inexact):
        return result, result
    return accumulator(dtypes.promote_types(dtypes.to_inexact_dtype(given), result)), result


def squared(x):
    """``abs(x) ** 2``, a real number."""
    return lax.real(lax.mul(x, lax.conj(x))) if x.dtype.kind == "c" else lax.square(x)


@library_jit(static_argnames=("axis", "dtype", "keepdims"))
def _var(a, center, ddof, where, *, axis, dtype, keepdims):
    computed, result = variance_dtypes("var", a.dtype, dtype)
    a = convert(a, computed)
    if center is None:
        center = mean(a, axis, computed, None, True, where=where)
    squares = squared(subtract(a, center))
    real = squares.dtype
    count = _count("var", a, axis, real, keepdims, where)
    if isinstance(count, int) and isinstance(ddof, int | float) and count > ddof:
        total = reduced("var", _SUM, squares, axis, keepdims)
        return convert(lax.div(total, convert(count - ddof, real)), result)
    count = lax.sub(convert(count, real), convert(ddof, real))
    total = reduced("var", _SUM, squares, axis, keepdims, None, where)
    variance = convert(lax.div(total, count), result)
    return choose(lax.gt(count, like(count, 0)), variance, np.nan)


@library_jit(static_argnames=("axis", "dtype", "keepdims"))
def _std(a, center, ddof, where, **options):
    return lax.sqrt(_var(a, center, ddof, where, **options))


# -- extrema ---------------------------------------------------------------------------------------


def bound(dtype: np.dtype, greatest: bool):
    """The greatest or the least value of ``dtype``."""
    if dtype.kind == "b":
        return greatest
    if dtypes.issubdtype(dtype, np.integer):
        limits = dtypes.iinfo(dtype)
        return limits.max if greatest else limits.min
    if not np.isinf(np.array(np.inf, dtype)):  # some of the narrowest floats have no infinity
        return float(dtypes.finfo(dtype).max if greatest else dtypes.finfo(dtype).min)
    return np.inf if greatest else -np.inf


def _extremum(function, monoid, is_max, a, axis, out, keepdims, initial, where):
    refuse_out(function, out)
    x = as_operand(function, a)
    x = convert(x, dtypes.canonicalize_dtype(x.dtype, allow_extended_dtype=True))
    if initial is None:
        if where is not None:
            raise ValueError(explain(
                f"tanx.numpy.{function}", "where may leave no elements, so initial must be given.",
                hint="give initial=... the value for no elements."))
        if 0 in x.shape and 0 in [x.shape[d] for d in reduced_axes(function, axis, x)]:
            raise ValueError(explain(
                f"tanx.numpy.{function}", "an empty array has no extremum.",
                f"array: {typeof(x)}", f"axis:  {axis}",
                hint="give initial=... the value for no elements."))
    if where is not None:
        monoid = monoid._replace(unit=bound(x.dtype, not is_max))
    return reduced(function, monoid, x, axis, keepdims, initial, where)


def max(a, axis=None, out=None, keepdims=False, initial=None, where=None):
    """The greatest element over ``axis``; NaN if any element is NaN.

    ``initial`` is a further candidate; it is needed for arrays without elements and with ``where``,
    a mask of the elements to count.

    >>> jnp.max(jnp.array([[1, 5], [3, 4]]), axis=0)
    Array([3, 5], dtype=int32)
    """
    return _extremum("max", _MAX, True, a, axis, out, keepdims, initial, where)


def min(a, axis=None, out=None, keepdims=False, initial=None, where=None):
    """The least element over ``axis``; the parameters are those of :func:`max`.

    >>> jnp.min(jnp.array([[1, 5], [3, 4]]), axis=1)
    Array([1, 3], dtype=int32)
    """
    return _extremum("min", _MIN, False, a, axis, out, keepdims, initial, where)


amax = max
amin = min


def ptp(a, axis=None, out=None, keepdims=False):
    """The greatest element over ``axis`` minus the least one.

    >>> jnp.ptp(jnp.array([[1, 5], [3, 4]]), axis=1)
    Array([4, 1], dtype=int32)
    """
    refuse_out("ptp", out)
    return _ptp(as_operand("ptp", a), axis=static_axis(axis), keepdims=keepdims)


@library_jit(static_argnames=("axis", "keepdims"))
def _ptp(a, *, axis, keepdims):
    return lax.sub(max(a, axis, None, keepdims), min(a, axis, None, keepdims))


def minmax(a, axis=None, out=None, keepdims=False, initial=None, where=None):
    """The least and the greatest element over ``axis``.

    ``initial`` is one value for both, or a pair; the other parameters are those of :func:`max`.

    >>> jnp.minmax(jnp.array([3, 1, 2]))
    (Array(1, dtype=int32), Array(3, dtype=int32))
    """
    first, last = initial if isinstance(initial, tuple | list) else (initial, initial)
    least = min(a, axis, out, keepdims, first, where)
    return least, max(a, axis, out, keepdims, last, where)


def argmax(a, axis=None, out=None, keepdims=None):
    """The position of the greatest element along ``axis``, or in the flattened array.

    Of equal elements the first counts, and NaN counts as greatest.

    >>> jnp.argmax(jnp.array([[1, 5], [3, 4]]), axis=0)
    Array([1, 0], dtype=int32)
    """
    return _position("argmax", lax.argmax, a, axis, out, keepdims)


def argmin(a, axis=None, out=None, keepdims=None):
    """The position of the least element along ``axis``, or in the flattened array.

    Of equal elements the first counts, and NaN counts as least.

    >>> jnp.argmin(jnp.array([[1, 5], [3, 4]]), axis=1)
    Array([0, 0], dtype=int32)
    """
    return _position("argmin", lax.argmin, a, axis, out, keepdims)


def _position(function, search, a, axis, out, keepdims):
    refuse_out(function, out)
    x = as_operand(function, a)
    shape = x.shape
    if axis is None:
        x = ravel(x)
        searched, axes = 0, tuple(range(len(shape)))
    else:
        searched = canonical_axis(function, axis, x)
        axes = (searched,)
    if not x.shape[searched]:
        raise ValueError(explain(f"tanx.numpy.{function}", "an empty array has no extremum.",
                                 f"array: {typeof(a)}", f"axis:  {axis}"))
    position = search(x, searched, dtypes.default_int())
    return keep_reduced(position, shape, axes) if keepdims else position


# -- logic -----------------------------------------------------------------------------------------


def _logical(function, monoid, a, axis, out, keepdims, where):
    refuse_out(function, out)
    x = as_operand(function, a)
    axes = reduced_axes(function, axis, x)
    return reduced(function, monoid, convert(x, np.dtype(bool)), axes, keepdims, None, where)


def all(a, axis=None, out=None, keepdims=False, *, where=None):
    """Whether all elements over ``axis`` are nonzero; true if there are no elements.

    >>> jnp.all(jnp.array([[True, False], [True, True]]), axis=1)
    Array([False,  True], dtype=bool)
    """
    return _logical("all", _AND, a, axis, out, keepdims, where)


def any(a, axis=None, out=None, keepdims=False, *, where=None):
    """Whether any element over ``axis`` is nonzero; false if there are no elements.

    >>> jnp.any(jnp.array([[True, False], [False, False]]), axis=1)
    Array([ True, False], dtype=bool)
    """
    return _logical("any", _OR, a, axis, out, keepdims, where)
