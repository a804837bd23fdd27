"""Reductions that ignore NaN."""

from __future__ import annotations

import numpy as np

from .. import dtypes
from .._api.jit import library_jit
from ..lax import _functions as lax
from ._logic import where as choose
from ._math import subtract
from ._promotion import as_operand, convert, like
from ._reduce import (
    all,
    argmax,
    argmin,
    bound,
    max,
    mean,
    min,
    prod,
    refuse_out,
    squared,
    sum,
    variance_dtypes,
)

__all__ = ["nanargmax", "nanargmin", "nanmax", "nanmean", "nanmin", "nanprod", "nanstd", "nansum",
           "nanvar"]

_STATIC = ("axis", "dtype", "keepdims", "out")


def has_nan(dtype: np.dtype) -> bool:
    """Whether NaN is among the values of ``dtype``."""
    return dtypes.issubdtype(dtype, np.inexact)


def without_nan(x, value):
    """``x`` with ``value``, a Python number, in place of NaN."""
    return choose(lax.ne(x, x), convert(value, x.dtype), x)


# -- sums and products -----------------------------------------------------------------------------


@library_jit(static_argnames=_STATIC)
def nansum(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=None):
    """The sum over ``axis``, with NaN as 0; the parameters are those of :func:`sum`.

    >>> jnp.nansum(jnp.array([1., jnp.nan, 2.]))
    Array(3., dtype=float32)
    """
    return _total("nansum", sum, 0, a, axis, dtype, out, keepdims, initial, where)


@library_jit(static_argnames=_STATIC)
def nanprod(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=None):
    """The product over ``axis``, with NaN as 1; the parameters are those of :func:`sum`.

    >>> jnp.nanprod(jnp.array([3., jnp.nan, 2.]))
    Array(6., dtype=float32)
    """
    return _total("nanprod", prod, 1, a, axis, dtype, out, keepdims, initial, where)


def _total(function, reduce, unit, a, axis, dtype, out, keepdims, initial, where):
    refuse_out(function, out)
    x = as_operand(function, a)
    x = without_nan(x, unit) if has_nan(x.dtype) else x
    return reduce(x, axis, dtype, None, keepdims, initial, where)


# -- extrema ---------------------------------------------------------------------------------------


@library_jit(static_argnames=("axis", "keepdims", "out"))
def nanmax(a, axis=None, out=None, keepdims=False, initial=None, where=None):
    """The greatest element over ``axis`` other than NaN; NaN where all elements are NaN.

    The parameters are those of :func:`max`.

    >>> jnp.nanmax(jnp.array([1., jnp.nan, 2.]))
    Array(2., dtype=float32)
    """
    return _extremum("nanmax", max, True, a, axis, out, keepdims, initial, where)


@library_jit(static_argnames=("axis", "keepdims", "out"))
def nanmin(a, axis=None, out=None, keepdims=False, initial=None, where=None):
    """The least element over ``axis`` other than NaN; NaN where all elements are NaN.

    The parameters are those of :func:`max`.

    >>> jnp.nanmin(jnp.array([1., jnp.nan, 2.]))
    Array(1., dtype=float32)
    """
    return _extremum("nanmin", min, False, a, axis, out, keepdims, initial, where)


def _extremum(function, reduce, is_max, a, axis, out, keepdims, initial, where):
    refuse_out(function, out)
    x = as_operand(function, a)
    if not has_nan(x.dtype):
        return reduce(x, axis, None, keepdims, initial, where)
    result = reduce(without_nan(x, bound(x.dtype, not is_max)), axis, None, keepdims, initial,
                    where)
    if initial is not None:
        return result
    none = all(lax.ne(x, x), axis, None, keepdims)
    return choose(none, convert(np.nan, result.dtype), result)


def nanargmax(a, axis=None, out=None, keepdims=None):
    """The position of the greatest element along ``axis`` other than NaN; -1 where all are NaN.

    >>> jnp.nanargmax(jnp.array([1., jnp.nan, 2.]))
    Array(2, dtype=int32)
    """
    refuse_out("nanargmax", out)
    return _nanargmax(as_operand("nanargmax", a), axis, keepdims)


def nanargmin(a, axis=None, out=None, keepdims=None):
    """The position of the least element along ``axis`` other than NaN; -1 where all are NaN.

    >>> jnp.nanargmin(jnp.array([1., jnp.nan, 2.]))
    Array(0, dtype=int32)
    """
    refuse_out("nanargmin", out)
    return _nanargmin(as_operand("nanargmin", a), axis, keepdims)


@library_jit(static_argnames=("axis", "keepdims"))
def _nanargmax(a, axis, keepdims):
    return _position(argmax, True, a, axis, keepdims)


@library_jit(static_argnames=("axis", "keepdims"))
def _nanargmin(a, axis, keepdims):
    return _position(argmin, False, a, axis, keepdims)


def _position(search, is_max, a, axis, keepdims):
    if not has_nan(a.dtype):
        return search(a, axis, None, keepdims)
    missing = lax.ne(a, a)
    found = search(choose(missing, bound(a.dtype, not is_max), a), axis, None, keepdims)
    return choose(all(missing, axis, None, bool(keepdims)), -1, found)


# -- means and variances ---------------------------------------------------------------------------


@library_jit(static_argnames=_STATIC)
def nanmean(a, axis=None, dtype=None, out=None, keepdims=False, where=None):
    """The mean over ``axis`` of elements other than NaN; parameters are those of :func:`mean`.

    >>> jnp.nanmean(jnp.array([1., jnp.nan, 2.]))
    Array(1.5, dtype=float32)
    """
    refuse_out("nanmean", out)
    x = as_operand("nanmean", a)
    if not has_nan(x.dtype):
        return mean(x, axis, dtype, None, keepdims, where=where)
    result = x.dtype if dtype is None else dtypes.requested_dtype(dtype, "tanx.numpy.nanmean")
    count = _present(x, axis, keepdims, where, result)
    total = nansum(x, axis, result, keepdims=keepdims, where=where)
    return lax.div(total, count)


def _present(x, axis, keepdims, where, dtype):
    """How many elements are not NaN."""
    present = convert(lax.bitwise_not(lax.ne(x, x)), dtypes.default_int())
    return sum(present, axis, dtype, None, keepdims, None, where)


@library_jit(static_argnames=_STATIC)
def nanvar(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, where=None, mean=None):
    """The variance over ``axis`` of elements other than NaN; parameters are those of :func:`var`.

    >>> jnp.nanvar(jnp.array([1., jnp.nan, 2.]))
    Array(0.25, dtype=float32)
    """
    refuse_out("nanvar", out)
    x = as_operand("nanvar", a)
    computed, result = variance_dtypes("nanvar", x.dtype, dtype)
    x = convert(x, computed)
    center = mean if mean is not None else nanmean(x, axis, computed, keepdims=True, where=where)
    squares = squared(choose(lax.ne(x, x), 0, subtract(x, center)))
    count = subtract(_present(x, axis, keepdims, where, dtypes.default_int()), ddof)
    none = lax.le(count, like(count, 0))
    total = choose(none, np.nan, sum(squares, axis, None, None, keepdims, None, where))
    return convert(lax.div(total, convert(choose(none, 1, count), total.dtype)), result)


@library_jit(static_argnames=_STATIC)
def nanstd(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, where=None, mean=None):
    """The standard deviation over ``axis`` of elements other than NaN; see :func:`nanvar`.

    >>> jnp.nanstd(jnp.array([1., jnp.nan, 2.]))
    Array(0.5, dtype=float32)
    """
    refuse_out("nanstd", out)
    return lax.sqrt(nanvar(as_operand("nanstd", a), axis, dtype, None, ddof, keepdims, where,
                           mean))
