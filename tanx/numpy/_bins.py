"""Histograms, and interpolation between points.

A bin holds its left edge; the last one holds both. What lies outside of all bins is not counted.
"""

from __future__ import annotations

import operator
from math import prod

import numpy as np

from .. import dtypes
from .._api.jit import library_jit
from ..errors import ConcretizationTypeError, explain
from ..lax import _functions as lax
from ._assemble import concatenate
from ._creation import linspace
from ._cumulative import diff
from ._logic import where
from ._math import clip, remainder
from ._nonzero import known_value
from ._promotion import as_operand, check_arraylike, convert, inexact, like
from ._shape import ravel, reshape
from ._sort import argsort, searchsorted

__all__ = ["bincount", "histogram", "histogram2d", "histogram_bin_edges", "histogramdd", "interp"]


# -- counting --------------------------------------------------------------------------------------


def bincount(x, weights=None, minlength=0, *, length=None, out_sharding=None):
    """How often each of the numbers 0, 1, 2, … occurs in ``x``, a vector of integers.

    With ``weights``, the sum of the weights of each. The result has ``max(x) + 1`` elements, and at
    least ``minlength``; under ``jit`` its ``length`` must be given, and numbers beyond it are not
    counted. Negative numbers count as zero.

    >>> jnp.bincount(jnp.array([0, 1, 1, 3]))
    Array([1, 2, 0, 1], dtype=int32)
    """
    x = as_operand("bincount", x)
    if x.dtype.kind != "b" and not dtypes.issubdtype(x.dtype, np.integer):
        raise TypeError(explain("tanx.numpy.bincount", "x must hold integers.", f"x: {x.aval}"))
    if x.ndim != 1:
        raise ValueError(explain("tanx.numpy.bincount", "x must be a vector.", f"x: {x.aval}"))
    x = convert(x, dtypes.default_int()) if x.dtype.kind == "b" else x
    weights = convert(1, dtypes.default_int()) if weights is None else _weights(
        "bincount", weights, x)
    if length is None:
        known = known_value(x)
        if known is None:
            raise ConcretizationTypeError.of(
                "tanx.numpy.bincount", "the greatest number", x, "give length=....")
        found = int(known.max()) + 1 if known.size else 0
        length = max(operator.index(minlength), found)
    counts = lax.full((operator.index(length),), 0, weights.dtype)
    return counts.at[clip(x, 0)].add(weights)


def _weights(function: str, weights, x):
    weights = as_operand(function, weights)
    if weights.shape != x.shape:
        raise ValueError(explain(
            f"tanx.numpy.{function}", "there must be a weight for each element.",
            f"elements: {x.aval}", f"weights:  {weights.aval}"))
    return weights


def histogram_bin_edges(a, bins=10, range=None, weights=None):
    """The edges of ``bins`` bins of equal width, from the least element of ``a`` to the greatest.

    ``range`` gives the two ends. If ``bins`` is an array, it is the array of edges.

    >>> jnp.histogram_bin_edges(jnp.array([0.0, 1.0, 4.0]), bins=2)
    Array([0., 2., 4.], dtype=float32)
    """
    return _edges("histogram_bin_edges", _inexact("histogram_bin_edges", a), bins, range)


def _inexact(function: str, a):
    """The elements as floating point numbers, in one dimension."""
    a = as_operand(function, a)
    return convert(ravel(a), dtypes.to_inexact_dtype(a.dtype))


def _edges(function: str, a, bins, range):
    if isinstance(bins, str):
        raise NotImplementedError(explain(
            f"tanx.numpy.{function}", "bins must be a number or an array of edges; rules by name "
            "are not supported.", f"bins: {bins!r}"))
    check_arraylike(function, bins)
    if np.ndim(bins) == 1:
        return convert(bins, a.dtype)
    bins = operator.index(bins)
    if range is not None:
        low, high = (convert(end, a.dtype) for end in range)
    elif a.shape[0]:
        low, high = a.min(), a.max()
    else:
        low, high = convert(0, a.dtype), convert(1, a.dtype)
    alone = lax.eq(low, high)
    low, high = where(alone, low - 0.5, low), where(alone, high + 0.5, high)
    return linspace(low, high, bins + 1, dtype=a.dtype)


def _places(edges, x):
    """The bin number of each element, starting at 1; 0 and numbers past the last are outside."""
    place = searchsorted(edges, x, side="right")
    return where(lax.eq(x, edges[-1]), edges.shape[0] - 1, place)


def histogram(a, bins=10, range=None, weights=None, density=None, out_sharding=None):
    """How many elements of ``a`` fall into each bin, and the edges of the bins.

    ``bins`` and ``range`` are as in :func:`histogram_bin_edges`. With ``weights``, the sums of
    weights; with ``density``, counts are scaled so that the area is 1. Counts are floats.

    >>> jnp.histogram(jnp.array([1.0, 2.0, 2.5, 4.0]), bins=3)
    (Array([1., 2., 1.], dtype=float32), Array([1., 2., 3., 4.], dtype=float32))
    """
    given = as_operand("histogram", a)
    a = _inexact("histogram", given)
    if weights is not None:
        weights = ravel(_weights("histogram", weights, given))
        weights = convert(weights, dtypes.result_type(a, inexact("histogram", weights)))
    edges = _edges("histogram", a, bins, range)
    if not edges.shape[0]:
        raise ValueError(explain("tanx.numpy.histogram", "there must be at least one edge."))
    ones = lax.full_like(a, 1) if weights is None else weights
    counts = lax.full(edges.shape, 0, ones.dtype).at[_places(edges, a)].add(ones)[1:]
    if density:
        if counts.dtype.kind in "iu":
            counts = convert(counts, edges.dtype)
        counts = counts / diff(edges) / counts.sum()
    return counts, edges


def histogram2d(x, y, bins=10, range=None, weights=None, density=None):
    """How many points fall into each bin of a plane, and the edges along both axes.

    ``bins`` is a number, a pair of numbers or arrays of edges, or one array of edges for both.

    >>> x = jnp.array([0.0, 1.0, 4.0])
    >>> jnp.histogram2d(x, x, bins=2)[0]
    Array([[2, 0],
           [0, 1]], dtype=int32)
    """
    check_arraylike("histogram2d", x, y)
    x, y = as_operand("histogram2d", x), as_operand("histogram2d", y)
    if x.ndim != 1 or x.shape != y.shape:
        raise ValueError(explain("tanx.numpy.histogram2d", "x and y must be vectors of one size.",
                                 f"x: {x.aval}", f"y: {y.aval}"))
    if not isinstance(bins, list | tuple) and np.ndim(bins) == 1 and np.size(bins) > 2:
        bins = [bins, bins]
    dtype = dtypes.result_type(x, y)
    sample = lax.stack([convert(x, dtype), convert(y, dtype)], 1)
    counts, (x_edges, y_edges) = histogramdd(sample, bins, range, weights, density)
    return counts, x_edges, y_edges


def histogramdd(sample, bins=10, range=None, weights=None, density=None):
    """How many points, the rows of ``sample``, fall into each bin of a space.

    ``bins`` is a number, or a sequence with a number or an array of edges for each dimension, and
    ``range`` a sequence with a pair of ends or None for each. Returns the counts and the list of
    edges along each dimension.

    >>> counts, edges = jnp.histogramdd(jnp.array([[0.0, 0.0], [1.0, 4.0], [1.0, 3.0]]), bins=2)
    >>> counts
    Array([[1, 0],
           [0, 2]], dtype=int32)
    """
    sample = as_operand("histogramdd", sample)
    if sample.ndim != 2:
        raise ValueError(explain(
            "tanx.numpy.histogramdd", "a sample has two dimensions: points and their coordinates.",
            f"sample: {sample.aval}"))
    sample = convert(sample, dtypes.to_inexact_dtype(sample.dtype))
    points, rank = sample.shape
    bins = bins if isinstance(bins, list | tuple) or np.ndim(bins) else [bins] * rank
    ranges = [None] * rank if range is None else range
    for name, value in (("bins", bins), ("range", ranges)):
        if len(value) != rank:
            raise ValueError(explain(
                "tanx.numpy.histogramdd", f"{name} must hold an item for each dimension.",
                f"sample: {sample.aval}", f"{name}: {len(value)} of them"))
    columns = lax.unstack(sample, 1)
    edges = [_edges("histogramdd", column, b, r) for column, b, r in zip(columns, bins, ranges)]
    # Two more bins per dimension hold the points outside; all bins share one numbering.
    sizes = [edge.shape[0] + 1 for edge in edges]
    number = lax.full((points,), 0, np.dtype(np.int32))
    for column, edge, size in zip(columns, edges, sizes):
        number = number * size + _places(edge, column)
    weights = None if weights is None else _weights("histogramdd", weights, number)
    counts = reshape(bincount(number, weights, length=prod(sizes)), sizes)
    counts = counts[(slice(1, -1),) * rank]
    if density:
        counts = convert(counts, sample.dtype) / convert(counts.sum(), sample.dtype)
        for d, edge in enumerate(edges):
            counts = counts / reshape(diff(edge), [1] * d + [-1] + [1] * (rank - 1 - d))
    return counts, edges


# -- interpolation ---------------------------------------------------------------------------------


def interp(x, xp, fp, left=None, right=None, period=None):
    """The values at ``x`` of the function that is linear between the points ``xp``, ``fp``.

    ``xp`` must increase. Outside, the function has the first and the last value, unless ``left``
    and ``right`` give others; ``"extrapolate"`` continues the first and the last line.
    With ``period`` the function repeats, and ``xp`` may be in any order. All arguments can be
    differentiated and batched.

    >>> jnp.interp(jnp.array([0.5, 2.0]), jnp.array([0.0, 1.0]), jnp.array([10.0, 20.0]))
    Array([15., 20.], dtype=float32)
    """
    check_arraylike("interp", x, xp, fp)
    ends = []
    for name, value in (("left", left), ("right", right)):
        if isinstance(value, str) and value != "extrapolate":
            raise ValueError(explain(
                "tanx.numpy.interp", f"{name} must be a number or 'extrapolate'.",
                f"{name}: {value!r}"))
        ends.append((None, True) if isinstance(value, str) else (value, False))
    (left, before), (right, behind) = ends
    return _interp(x, xp, fp, left, right, period, before, behind)


@library_jit(name="_interp", static_argnums=(6, 7))
def _interp(x, xp, fp, left, right, period, before: bool, behind: bool):
    x, xp, fp = (as_operand("interp", operand) for operand in (x, xp, fp))
    if xp.ndim != 1 or xp.shape != fp.shape or not xp.shape[0]:
        raise ValueError(explain(
            "tanx.numpy.interp", "xp and fp must be vectors of one size, and not empty.",
            f"xp: {xp.aval}", f"fp: {fp.aval}"))
    dtype = dtypes.to_inexact_dtype(dtypes.result_type(x, xp))
    x, xp, fp = convert(x, dtype), convert(xp, dtype), inexact("interp", fp)
    fp = convert(fp, dtypes.result_type(fp, dtype))
    if period is not None:
        x, xp, fp = _periodic(x, xp, fp, convert(period, dtype))
    right_of = clip(searchsorted(xp, x, side="right"), 1, xp.shape[0] - 1)
    left_of = right_of - 1
    start, value = xp[left_of], fp[left_of]
    width = xp[right_of] - start
    # Two points at one place, or too close for a meaningful slope between them, are a jump.
    close = float(dtypes.finfo(dtype).eps) ** 2
    alone = lax.le(lax.abs(width), like(width, close))
    slope = (fp[right_of] - value) / where(alone, like(width, 1), width)
    out = where(alone, value, value + (x - start) * slope)
    if period is None and not before:
        out = where(lax.lt(x, xp[0]), fp[0] if left is None else left, out)
    if period is None and not behind:
        out = where(lax.gt(x, xp[-1]), fp[-1] if right is None else right, out)
    return out


def _periodic(x, xp, fp, period):
    """``x`` reduced to one period, and the points of that period with one more on either side."""
    period = lax.abs(period)
    x, xp = remainder(x, period), remainder(xp, period)
    order = argsort(xp)
    xp, fp = xp[order], fp[order]
    xp = concatenate([xp[-1:] - period, xp, xp[:1] + period])
    return x, xp, concatenate([fp[-1:], fp, fp[:1]])
