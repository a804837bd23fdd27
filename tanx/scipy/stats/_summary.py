"""Statistics of data: the most frequent value, ranks, and the error of a mean."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes, lax
from ... import numpy as jnp
from ..._api.jit import library_jit
from ..._base.axes import canonical_axis
from ..._base.tuples import NamedTuple
from ...errors import explain
from ...numpy._promotion import as_operand

__all__ = ["mode", "rankdata", "sem"]


class ModeResult(NamedTuple):
    """The most frequent values, and how often they occur."""

    mode: Any
    count: Any


def _check_policy(function: str, policy) -> None:
    """Raise unless NaN is propagated: what is computed cannot depend on values."""
    if policy not in ("propagate", "omit", "raise"):
        raise ValueError(explain(f"tanx.scipy.stats.{function}",
                                 "nan_policy must be 'propagate', 'omit' or 'raise'.",
                                 f"nan_policy: {policy!r}"))
    if policy != "propagate":
        raise NotImplementedError(explain(
            f"tanx.scipy.stats.{function}", "NaN is treated like other values.",
            f"nan_policy: {policy!r}", hint="look for NaN with tanx.numpy.isnan first."))


def _along(function: str, a, axis) -> tuple[Any, int | None]:
    """The array with ``axis`` last, and the number of that axis; None for all axes."""
    a = as_operand(function, a)
    if axis is None or not a.ndim:
        return a.reshape(-1), None
    axis = canonical_axis(f"scipy.stats.{function}", axis, a)
    return jnp.moveaxis(a, axis, -1), axis


# -- mode ------------------------------------------------------------------------------------------


def mode(a, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False):
    """The most frequent value along ``axis``, and how often it occurs; the least of several.

    ``axis=None`` means all axes. NaN is a value, greater than all others; ``nan_policy`` other
    than ``"propagate"`` is not implemented.

    >>> tanx.scipy.stats.mode(jnp.array([3, 1, 3, 2, 1, 3]))
    ModeResult(mode=Array(3, dtype=int32), count=Array(3, dtype=int32))
    """
    _check_policy("mode", nan_policy)
    rank = as_operand("mode", a).ndim
    x, place = _along("mode", a, axis)
    if not x.shape[-1]:
        float_type = dtypes.to_inexact_dtype(x.dtype)
        value = jnp.full(x.shape[:-1], jnp.nan, float_type)
        count = jnp.zeros(x.shape[:-1], dtypes.to_floating_dtype(float_type))
    else:
        value, count = _most_frequent(x)
    if keepdims:
        dims = tuple(range(rank)) if place is None else (place,)
        value, count = jnp.expand_dims(value, dims), jnp.expand_dims(count, dims)
    return ModeResult(value, count)


@library_jit(name="mode")
def _most_frequent(x):
    """The value with the longest run in sorted order; of equally long runs, the first."""
    x = jnp.sort(x, axis=-1)
    last = x.ndim - 1
    starts = _runs(x)
    place = lax.broadcasted_iota(np.int32, x.shape, last)
    length = place - lax.cummax(jnp.where(starts, place, 0), axis=last) + 1
    best = jnp.argmax(length, -1, keepdims=True)
    return (jnp.take_along_axis(x, best, -1)[..., 0],
            jnp.take_along_axis(length, best, -1)[..., 0])


def _runs(x):
    """Where a new value begins in sorted numbers; all NaN count as one value."""
    before, after = x[..., :-1], x[..., 1:]
    differ = before != after
    if dtypes.issubdtype(x.dtype, np.inexact):
        differ = differ & ~(jnp.isnan(before) & jnp.isnan(after))
    return jnp.concatenate([jnp.ones_like(differ, shape=(*x.shape[:-1], 1)), differ], -1)


# -- ranks -----------------------------------------------------------------------------------------

_METHODS = ("average", "min", "max", "dense", "ordinal")


def rankdata(a, method: str = "average", *, axis: int | None = None,
             nan_policy: str = "propagate"):
    """The ranks of elements along ``axis``, from 1 up; without ``axis``, of all in one vector.

    ``method`` gives the rank of equal elements: the ``"average"``, ``"min"`` or ``"max"`` of the
    ranks that they occupy; ``"dense"`` counts different values only, and ``"ordinal"`` ranks them
    by position. If an element is NaN, all ranks are NaN; ``nan_policy`` other than ``"propagate"``
    is not implemented.

    >>> tanx.scipy.stats.rankdata(jnp.array([0, 2, 3, 2]))
    Array([1. , 2.5, 4. , 2.5], dtype=float32)
    """
    _check_policy("rankdata", nan_policy)
    if method not in _METHODS:
        raise ValueError(explain("tanx.scipy.stats.rankdata",
                                 f"method must be one of {', '.join(_METHODS)}.",
                                 f"method: {method!r}"))
    x, place = _along("rankdata", a, axis)
    ranks = _ranks(x, method)
    return ranks if place is None else jnp.moveaxis(ranks, -1, place)


@library_jit(name="rankdata", static_argnums=1)
def _ranks(x, method: str):
    size, last = x.shape[-1], x.ndim - 1
    order = jnp.argsort(x, axis=-1)
    inverse = jnp.argsort(order, axis=-1)
    result = dtypes.to_inexact_dtype(dtypes.result_type(float))
    if method == "ordinal" or not size:
        ranks = inverse + 1
    else:
        starts = _runs(jnp.take_along_axis(x, order, -1))
        place = lax.broadcasted_iota(np.int32, x.shape, last)
        if method == "dense":
            ranks = jnp.cumsum(starts, -1)
        else:
            first = lax.cummax(jnp.where(starts, place, 0), axis=last) + 1
            ends = jnp.concatenate([starts[..., 1:], jnp.ones_like(starts[..., :1])], -1)
            final = lax.cummin(jnp.where(ends, place, size), axis=last, reverse=True) + 1
            average = 0.5 * (first + final).astype(result)
            ranks = {"min": first, "max": final, "average": average}[method]
        ranks = jnp.take_along_axis(ranks, inverse, -1)
    ranks = ranks.astype(result)
    if not dtypes.issubdtype(x.dtype, np.inexact):
        return ranks
    return jnp.where(jnp.isnan(x).any(-1, keepdims=True), jnp.nan, ranks)


# -- the standard error ----------------------------------------------------------------------------


def sem(a, axis: int | None = 0, ddof: int = 1, nan_policy: str = "propagate", *,
        keepdims: bool = False):
    """The standard error of the mean along ``axis``: the deviation over the root of the number.

    The sum of squares is divided by the number of elements minus ``ddof``. With
    ``nan_policy="omit"``, NaN elements are ignored.

    >>> tanx.scipy.stats.sem(jnp.array([1., 2., 3., 4., 5.]))
    Array(0.70710677, dtype=float32)
    """
    if nan_policy not in ("propagate", "omit"):
        raise ValueError(explain("tanx.scipy.stats.sem",
                                 "nan_policy must be 'propagate' or 'omit'.",
                                 f"nan_policy: {nan_policy!r}"))
    a = as_operand("sem", a)
    a = a.astype(dtypes.to_inexact_dtype(a.dtype))
    if axis is not None:
        axis = canonical_axis("scipy.stats.sem", axis, a)
    return _standard_error(a, axis, ddof, nan_policy == "omit", keepdims)


@library_jit(name="sem", static_argnums=(1, 2, 3, 4))
def _standard_error(a, axis, ddof, omit: bool, keepdims: bool):
    if omit:
        number = (~jnp.isnan(a)).sum(axis, keepdims=keepdims).astype(a.real.dtype)
        deviation = jnp.nanstd(a, axis, ddof=ddof, keepdims=keepdims)
        return (deviation / jnp.sqrt(number)).astype(a.dtype)
    number = a.size if axis is None else a.shape[axis]
    deviation = jnp.std(a, axis, ddof=ddof, keepdims=keepdims)
    return (deviation / jnp.sqrt(jnp.asarray(number, a.real.dtype))).astype(a.dtype)
