"""Quantiles: the values below which given shares of the elements lie; the median is one of them."""

from __future__ import annotations

import math

import numpy as np

from .. import dtypes
from .._api.jit import library_jit
from .._base.axes import canonical_axis
from ..errors import explain
from ..lax import _functions as lax
from ._logic import equal, less, logical_and, logical_or
from ._logic import where as choose
from ._math import add, divide, maximum, minimum, multiply, remainder, subtract
from ._promotion import as_operand, check_arraylike, convert, like, typeof
from ._reduce import accumulator, reduced_axes, sum
from ._shape import moveaxis, reshape

__all__ = ["median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile"]

_SHARED = ("axis", "out", "overwrite_input", "keepdims")
_STATIC = (*_SHARED, "method")


@library_jit(static_argnames=_STATIC)
def quantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *,
             weights=None):
    """The values below which the shares ``q`` (from 0 to 1) of the elements over ``axis`` lie.

    A vector ``q`` adds a dimension in front of the result. ``method`` chooses the result between
    two elements: ``"linear"`` interpolates; others are ``"lower"``, ``"higher"``, ``"nearest"``,
    ``"midpoint"``, and NumPy's ``"inverted_cdf"``, ``"averaged_inverted_cdf"``,
    ``"closest_observation"``, ``"interpolated_inverted_cdf"``, ``"hazen"``, ``"weibull"``,
    ``"median_unbiased"`` and ``"normal_unbiased"``. ``weights``, with ``"inverted_cdf"`` only, say
    how often each element counts. NaN gives NaN.

    >>> jnp.quantile(jnp.array([1., 2., 3., 5.]), jnp.array([0.25, 0.5]))
    Array([1.75, 2.5 ], dtype=float32)
    """
    return _quantile("quantile", a, q, axis, out, overwrite_input, method, keepdims, weights)


@library_jit(static_argnames=_STATIC)
def nanquantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False,
                *, weights=None):
    """The quantiles of elements that are not NaN; the parameters are those of :func:`quantile`.

    >>> jnp.nanquantile(jnp.array([1., jnp.nan, 3.]), 0.5)
    Array(2., dtype=float32)
    """
    return _quantile("nanquantile", a, q, axis, out, overwrite_input, method, keepdims, weights,
                     skip_nan=True)


@library_jit(static_argnames=(*_STATIC, "out_sharding"))
def percentile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False,
               *, weights=None, out_sharding=None):
    """The quantiles for ``q`` from 0 to 100; the other parameters are those of :func:`quantile`.

    >>> jnp.percentile(jnp.array([1., 2., 3., 5.]), 50)
    Array(2.5, dtype=float32)
    """
    check_arraylike("percentile", a, q)
    return quantile(a, divide(q, 100.0), axis, out, overwrite_input, method, keepdims,
                    weights=weights)


@library_jit(static_argnames=_STATIC)
def nanpercentile(a, q, axis=None, out=None, overwrite_input=False, method="linear",
                  keepdims=False, *, weights=None):
    """The percentiles of elements that are not NaN; the parameters are those of :func:`percentile`.

    >>> jnp.nanpercentile(jnp.array([1., jnp.nan, 3.]), 50)
    Array(2., dtype=float32)
    """
    check_arraylike("nanpercentile", a, q)
    return nanquantile(a, divide(q, 100.0), axis, out, overwrite_input, method, keepdims,
                       weights=weights)


@library_jit(static_argnames=_SHARED)
def median(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    """The middle element over ``axis``, or the mean of the two middle ones; NaN gives NaN.

    >>> jnp.median(jnp.array([[1., 5., 2.], [4., 3., 8.]]), axis=1)
    Array([2., 4.], dtype=float32)
    """
    check_arraylike("median", a)
    return quantile(a, 0.5, axis, out, overwrite_input, "midpoint", keepdims)


@library_jit(static_argnames=_SHARED)
def nanmedian(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    """The median over ``axis`` of elements that are not NaN.

    >>> jnp.nanmedian(jnp.array([1., jnp.nan, 3.]))
    Array(2., dtype=float32)
    """
    check_arraylike("nanmedian", a)
    return nanquantile(a, 0.5, axis, out, overwrite_input, "midpoint", keepdims)


# -- the computation -------------------------------------------------------------------------------


def _quantile(function, a, q, axis, out, overwrite_input, method, keepdims, weights,
              skip_nan=False):
    if out is not None or overwrite_input:
        raise ValueError(explain(
            f"tanx.numpy.{function}", "arrays are immutable, so out is not supported.",
            hint="use the result."))
    x, q = as_operand(function, a), as_operand(function, q)
    if x.dtype.kind == "c":
        raise ValueError(explain(f"tanx.numpy.{function}", "complex numbers have no order.",
                                 f"array: {typeof(x)}"))
    if q.ndim > 1:
        raise ValueError(explain(f"tanx.numpy.{function}", "q must be a scalar or a vector.",
                                 f"q: {typeof(q)}"))
    if method not in _POSITIONS:
        raise ValueError(explain(f"tanx.numpy.{function}", "there is no such method.",
                                 f"method: {method!r}", f"known:  {', '.join(_POSITIONS)}"))
    result = dtypes.canonicalize_dtype(dtypes.to_inexact_dtype(x.dtype))
    computed = accumulator(result)
    axes = reduced_axes(function, axis, x)
    weights = None if weights is None else _spread_weights(function, x, weights, axis, method)
    x = _lines(convert(x, computed), axes)
    if not x.shape[-1] and not skip_nan:
        raise ValueError(explain(f"tanx.numpy.{function}", "there are no elements over the axis.",
                                 f"array: {typeof(a)}", f"axis:  {axis}"))
    q = convert(q, computed)
    vector = lax.reshape(q, (q.size,))
    if not x.shape[-1]:
        values = lax.full((*x.shape[:-1], q.size), np.nan, computed)
    elif weights is None:
        values = _of_sorted(x, vector, method, skip_nan)
    else:
        values = _weighted(x, convert(_lines(weights, axes), computed), vector, skip_nan)
    values = moveaxis(values, -1, 0) if q.shape else values[..., 0]
    if keepdims:
        values = lax.expand_dims(values, [d + q.ndim for d in axes])
    return convert(values, result)


def _lines(x, axes):
    """``x`` with the dimensions ``axes`` merged into one, the last."""
    rest = [d for d in range(x.ndim) if d not in axes]
    if len(axes) == 1 and axes[0] == x.ndim - 1:
        return x
    merged = math.prod(x.shape[d] for d in axes)
    return reshape(lax.transpose(x, (*rest, *axes)), [*(x.shape[d] for d in rest), merged])


def _of_sorted(x, q, method: str, skip_nan: bool):
    """Quantiles along the last dimension, for each element of the vector ``q``."""
    x = lax.sort(x, dimension=-1, is_stable=False)
    if skip_nan:
        present = convert(lax.bitwise_not(lax.ne(x, x)), dtypes.default_int())
        count = sum(present, -1, x.dtype, keepdims=True)
        q = lax.expand_dims(q, range(x.ndim - 1))
    else:
        count = convert(x.shape[-1], x.dtype)
    low, high, share = _POSITIONS[method](q, count)
    if share.ndim:
        share = lax.expand_dims(share, range(x.ndim - share.ndim))
    top = subtract(count, 1.0)

    def pick(position):
        inside = maximum(0.0, minimum(position, top))
        return _at(x, convert(inside, np.dtype(np.int32)))

    value = add(multiply(pick(low), subtract(1.0, share)), multiply(pick(high), share))
    if skip_nan:
        return value
    end = x[..., -1:]  # where NaN is sorted to
    return choose(lax.ne(end, end), np.nan, value)


def _at(x, positions):
    """Elements of the last dimension at ``positions``, which are the same for all lines or not."""
    if positions.ndim < x.ndim:
        return x[..., positions]
    lines = tuple(range(x.ndim - 1))
    numbers = lax.GatherDimensionNumbers(
        offset_dims=(), collapsed_slice_dims=(x.ndim - 1,), start_index_map=(x.ndim - 1,),
        operand_batching_dims=lines, start_indices_batching_dims=lines)
    window = [min(n, 1) for n in x.shape]  # there may be no lines
    return lax.gather(x, positions[..., None], numbers, window, mode="clip")


def _spread_weights(function, x, weights, axis, method):
    if method != "inverted_cdf":
        raise NotImplementedError(explain(
            f"tanx.numpy.{function}", "weights need method='inverted_cdf'.",
            f"method: {method!r}"))
    weights = as_operand(function, weights)
    if weights.shape == x.shape:
        return weights
    if not isinstance(axis, int) or weights.shape != (x.shape[axis],):
        raise ValueError(explain(
            f"tanx.numpy.{function}", "weights have the shape of the array, or that of one axis.",
            f"array:   {typeof(x)}", f"weights: {typeof(weights)}", f"axis:    {axis}"))
    return lax.broadcast_in_dim(weights, x.shape, (canonical_axis(function, axis, x),))


def _weighted(x, weights, q, skip_nan: bool):
    """The first elements at which the cumulative share of the weights reaches ``q``."""
    missing = lax.ne(x, x)
    if skip_nan:
        weights = choose(missing, 0.0, weights)
    x, weights = lax.sort((x, weights), dimension=-1, num_keys=1)
    shares = lax.cumsum(weights, x.ndim - 1)
    shares = divide(shares, shares[..., -1:])[..., None]
    levels = lax.expand_dims(q, range(x.ndim))
    before = logical_or(less(shares, levels), equal(shares, 0.0))
    value = _at(x, sum(before, -2))
    end = x[..., -1:]
    return value if skip_nan else choose(lax.ne(end, end), np.nan, value)


# -- positions -------------------------------------------------------------------------------------

# For shares q of n elements: the positions of two elements, and the weight of the second one.


def _between(place):
    """Linear interpolation at a fractional position."""
    def rule(q, n):
        v = place(q, n)
        low = lax.floor(v)
        return low, lax.ceil(v), lax.sub(v, low)
    return rule


def _spaced(alpha: float, beta: float):
    """Positions that place the ends ``alpha`` and ``beta`` spacings outside."""
    def place(q, n):
        inner = multiply(q, add(n, 1.0 - alpha - beta))
        return add(inner, alpha - 1.0)
    return place


def _one(choose_one, place):
    """A single element, without interpolation."""
    def rule(q, n):
        position = choose_one(place(q, n))
        return position, position, like(q, 0.0)
    return rule


def _linear_place(q, n):
    return multiply(q, subtract(n, 1.0))


def _cdf_place(q, n):
    return subtract(multiply(q, n), 1.0)


def _midpoint(q, n):
    v = _linear_place(q, n)
    return lax.floor(v), lax.ceil(v), like(q, 0.5)


def _averaged(q, n):
    """The element that reaches ``q``, or its mean with the next one if it reaches ``q`` exactly."""
    v = _cdf_place(q, n)
    high = add(lax.floor(v), 1.0)
    exact = lax.eq(v, lax.floor(v))
    return choose(exact, v, high), high, like(q, 0.5)


def _nearest_half(v):
    """The integer nearest to ``v + 0.5``; of two, the odd one, which is even if counted from 1."""
    down = lax.floor(v)
    stay = logical_and(equal(v, down), equal(remainder(down, 2.0), 1.0))
    return choose(stay, down, add(down, 1.0))


def _closest_place(q, n):
    return subtract(multiply(q, n), 1.5)


def _nearest(v):
    """The nearest integer; of two, the lower one."""
    return lax.ceil(subtract(v, 0.5))


_POSITIONS = {
    "linear": _between(_linear_place),
    "lower": _one(lax.floor, _linear_place),
    "higher": _one(lax.ceil, _linear_place),
    "nearest": _one(_nearest, _linear_place),
    "midpoint": _midpoint,
    "inverted_cdf": _one(lax.ceil, _cdf_place),
    "averaged_inverted_cdf": _averaged,
    "closest_observation": _one(_nearest_half, _closest_place),
    "interpolated_inverted_cdf": _between(_spaced(0, 1)),
    "hazen": _between(_spaced(0.5, 0.5)),
    "weibull": _between(_spaced(0, 0)),
    "median_unbiased": _between(_spaced(1 / 3, 1 / 3)),
    "normal_unbiased": _between(_spaced(3 / 8, 3 / 8)),
}
