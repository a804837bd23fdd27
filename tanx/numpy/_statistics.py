"""Weighted means, covariances and correlations."""

from __future__ import annotations

import numpy as np

from .. import dtypes
from .._api.jit import library_jit
from ..errors import explain
from ..lax import _functions as lax
from ._complex import conj
from ._contract import dot
from ._math import absolute, clip, divide, multiply, subtract
from ._promotion import as_operand, check_arraylike, convert, typeof
from ._reduce import mean, reduced_axes, sum
from ._shape import broadcast_to, reshape

__all__ = ["average", "corrcoef", "cov"]


def average(a, axis=None, weights=None, returned=False, keepdims=False):
    """The mean over ``axis``, weighted by ``weights``.

    Weights have the shape of the array, or of the axes in ``axis``. With ``returned``, the sum of
    the weights is a second result, in the shape of the mean.

    >>> jnp.average(jnp.array([1., 2., 4.]), weights=jnp.array([2., 1., 1.]))
    Array(2., dtype=float32)
    """
    if weights is None:
        x = as_operand("average", a)
        result = mean(x, axis, None, None, keepdims)
        size = np.prod([x.shape[d] for d in reduced_axes("average", axis, x)], dtype=int)
        return (result, lax.full_like(result, int(size))) if returned else result
    x, weights = _weighted(a, weights, axis)
    total = sum(weights, axis, None, None, keepdims)
    result = divide(sum(multiply(x, weights), axis, None, None, keepdims), total)
    return (result, broadcast_to(total, result.shape)) if returned else result


def _weighted(a, weights, axis):
    """The array and the weights in one inexact dtype, with shapes that broadcast together."""
    x, w = as_operand("average", a), as_operand("average", weights)
    dtype = dtypes.to_inexact_dtype(dtypes.result_type(x, w))
    x, w = convert(x, dtype), convert(w, dtype)
    if x.shape == w.shape:
        return x, w
    facts = f"array:   {typeof(x)}", f"weights: {typeof(w)}", f"axis:    {axis}"
    if axis is None:
        raise ValueError(explain(
            "tanx.numpy.average", "weights of another shape than the array need an axis.", *facts))
    axes = reduced_axes("average", axis, x)
    if w.shape != tuple(x.shape[d] for d in axes):
        raise ValueError(explain(
            "tanx.numpy.average", "weights must have the shape of the array, or that of its axes.",
            *facts, hint="weights.shape is tuple(a.shape[d] for d in axis)."))
    order = sorted(range(w.ndim), key=lambda n: axes[n])
    sizes = [x.shape[d] if d in axes else 1 for d in range(x.ndim)]
    return x, lax.reshape(w, sizes, order if order != sorted(order) else None)


# -- covariance ------------------------------------------------------------------------------------


@library_jit(static_argnames=("rowvar", "bias", "ddof", "dtype"))
def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, dtype=None):
    """The covariances of variables: rows of ``m``, and of ``y`` if given; columns are cases.

    With ``rowvar=False``, columns are variables. The sum of products is divided by the number of
    cases minus one; with ``bias`` by their number; with ``ddof`` by their number minus ``ddof``.
    ``fweights`` are integers: how often each case occurred; ``aweights`` are weights of importance.

    >>> jnp.cov(jnp.array([[0., 1., 2.], [2., 1., 0.]]))
    Array([[ 1., -1.],
           [-1.,  1.]], dtype=float32)
    """
    x = _variables("cov", m, y, rowvar, dtype)
    if ddof is None:
        ddof = 0 if bias else 1
    weights = _case_weights(x, fweights, aweights)
    if weights is None:
        cases = x.shape[1] - ddof if x.shape[1] else np.nan  # without cases the result is NaN
        center, count = mean(x, 1), convert(cases, dtypes.to_floating_dtype(x.dtype))
    else:
        center, total = average(x, 1, weights, returned=True)
        count = _effective_count(total[0], weights, aweights, ddof)
    distance = subtract(x, center[:, None])
    weighted = distance if weights is None else multiply(distance, weights[None])
    products = divide(dot(distance, conj(weighted.T)), count)
    return products if products.size != 1 else reshape(products, ())


def _variables(function, m, y, rowvar, dtype):
    """The variables as rows of one matrix."""
    parts = [as_operand(function, part) for part in (m, y) if part is not None]
    if any(part.ndim > 2 for part in parts):
        raise ValueError(explain(f"tanx.numpy.{function}", "takes vectors and matrices.",
                                 *(f"array: {typeof(part)}" for part in parts)))
    common = dtypes.result_type(*parts) if dtype is None else dtypes.requested_dtype(
        dtype, f"tanx.numpy.{function}")
    if dtype is not None and not dtypes.issubdtype(common, np.inexact):
        raise ValueError(explain(
            f"tanx.numpy.{function}", "dtype must be a subclass of float or complex.",
            f"dtype: {common}"))
    common = dtypes.to_inexact_dtype(common)
    rows = []
    for part in parts:
        part = convert(part, common)
        if part.ndim == 2 and not rowvar:
            part = part.T
        part = lax.expand_dims(part, range(2 - part.ndim))
        rows.append(part)
    return rows[0] if len(rows) == 1 else lax.concatenate(rows, 0)


def _case_weights(x, fweights, aweights):
    """The weight of each case; None if all are equal."""
    weights = []
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is None:
            continue
        check_arraylike("cov", given)
        given = as_operand("cov", given)
        if given.shape != (x.shape[1],):
            raise RuntimeError(explain(
                "tanx.numpy.cov", f"{name} must be a vector with one number for each case.",
                f"{name}: {typeof(given)}", f"cases:    {x.shape[1]}"))
        if name == "fweights" and not dtypes.issubdtype(given.dtype, np.integer):
            raise TypeError(explain("tanx.numpy.cov", "fweights must be integers.",
                                    f"fweights: {typeof(given)}"))
        weights.append(absolute(given))
    if not weights:
        return None
    if len(weights) == 1:
        return weights[0]
    counts, importance = weights
    return multiply(convert(counts, x.real.dtype), convert(importance, x.real.dtype))


def _effective_count(total, weights, aweights, ddof):
    """The number of cases minus ``ddof``; for weights of importance, the effective number."""
    if ddof == 0:
        return total
    if aweights is None:
        return subtract(total, ddof)
    spread = sum(multiply(weights, absolute(aweights)))
    return subtract(total, divide(multiply(ddof, spread), total))


@library_jit(static_argnames=("rowvar", "dtype"))
def corrcoef(x, y=None, rowvar=True, dtype=None):
    """The correlations of variables, from -1 to 1; the parameters are those of :func:`cov`.

    >>> jnp.corrcoef(jnp.array([[0., 1., 2.], [2., 1., 0.]]))
    Array([[ 1., -1.],
           [-1.,  1.]], dtype=float32)
    """
    check_arraylike("corrcoef", x)
    products = cov(x, y, rowvar, dtype=dtype)
    if not products.shape:
        return divide(products, products)
    deviation = lax.sqrt(lax.real(products.diagonal()) if products.dtype.kind == "c"
                         else products.diagonal())
    scaled = divide(divide(products, deviation[:, None]), deviation[None])
    if scaled.dtype.kind == "c":
        return lax.complex(clip(lax.real(scaled), -1, 1), clip(lax.imag(scaled), -1, 1))
    return clip(scaled, -1, 1)
