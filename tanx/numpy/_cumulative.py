"""Running sums and products; differences of neighbours; derivatives and integrals from these."""

from __future__ import annotations

import operator

from .. import dtypes
from .._api.jit import library_jit
from .._base.axes import canonical_axes, canonical_axis
from ..errors import explain
from ..lax import _functions as lax
from ._assemble import concatenate
from ._creation import asarray
from ._math import add, divide, multiply
from ._nan import without_nan
from ._promotion import (
    as_operand,
    check_arraylike,
    convert,
    inexact,
    like,
    promote_dtypes,
    typeof,
)
from ._reduce import cast, refuse_out, sum, total_dtype
from ._shape import broadcast_to, moveaxis, ravel, reshape

__all__ = ["cumprod", "cumsum", "cumulative_prod", "cumulative_sum", "diff", "ediff1d", "gradient",
           "nancumprod", "nancumsum", "trapezoid"]

_STATIC = ("axis", "dtype", "out")


# -- running sums and products ---------------------------------------------------------------------


def _running(function, scan, a, axis, dtype, out, *, unit=None, promote_integers=False):
    """Running values along ``axis``; NaN counts as ``unit`` if that is given."""
    refuse_out(function, out)
    x = as_operand(function, a)
    if axis is None or (x.weak_type and not x.ndim):  # a scalar ignores its axis
        x, axis = ravel(x), 0
    axis = canonical_axis(function, axis, x)
    if unit is not None:
        x = without_nan(x, unit)
    if dtype is None:
        result = total_dtype(x.dtype, promote_integers)
    else:
        result = dtypes.requested_dtype(dtype, f"tanx.numpy.{function}")
    x = cast(x, result)
    if result.kind == "b":
        x = convert(x, dtypes.default_int())
    return convert(scan(x, axis), result)


@library_jit(static_argnames=_STATIC)
def cumsum(a, axis=None, dtype=None, out=None):
    """The sums of all elements up to each, along ``axis`` or through the flattened array.

    Narrow integers stay narrow, unlike in :func:`sum` and :func:`cumulative_sum`.

    >>> jnp.cumsum(jnp.array([[1, 2], [3, 4]]), axis=0)
    Array([[1, 2],
           [4, 6]], dtype=int32)
    """
    return _running("cumsum", lax.cumsum, a, axis, dtype, out)


@library_jit(static_argnames=_STATIC)
def cumprod(a, axis=None, dtype=None, out=None):
    """The products of all elements up to each, along ``axis`` or through the flattened array.

    >>> jnp.cumprod(jnp.array([[1, 2], [3, 4]]), axis=1)
    Array([[ 1,  2],
           [ 3, 12]], dtype=int32)
    """
    return _running("cumprod", lax.cumprod, a, axis, dtype, out)


@library_jit(static_argnames=_STATIC)
def nancumsum(a, axis=None, dtype=None, out=None):
    """The sums of all elements up to each, with NaN as 0; see :func:`cumsum`.

    >>> jnp.nancumsum(jnp.array([1., jnp.nan, 2.]))
    Array([1., 1., 3.], dtype=float32)
    """
    return _running("nancumsum", lax.cumsum, a, axis, dtype, out, unit=0)


@library_jit(static_argnames=_STATIC)
def nancumprod(a, axis=None, dtype=None, out=None):
    """The products of all elements up to each, with NaN as 1; see :func:`cumprod`.

    >>> jnp.nancumprod(jnp.array([3., jnp.nan, 2.]))
    Array([3., 3., 6.], dtype=float32)
    """
    return _running("nancumprod", lax.cumprod, a, axis, dtype, out, unit=1)


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    """The sums of all elements up to each along ``axis``, which is optional for vectors only.

    Narrow integers are summed in the default type. ``include_initial`` puts a 0 in front.

    >>> jnp.cumulative_sum(jnp.array([1, 2, 3]), include_initial=True)
    Array([0, 1, 3, 6], dtype=int32)
    """
    x, axis = _along("cumulative_sum", x, axis)
    return _with_initial(_cumsum_with_promotion(x, axis, dtype), axis, include_initial, 0)


@library_jit(static_argnames=("axis", "dtype"))
def _cumsum_with_promotion(x, axis, dtype):
    return _running("cumulative_sum", lax.cumsum, x, axis, dtype, None, promote_integers=True)


def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False):
    """The products of all elements up to each along ``axis``, which is optional for vectors only.

    Narrow integers stay narrow. ``include_initial`` puts a 1 in front.

    >>> jnp.cumulative_prod(jnp.array([1, 2, 3]), include_initial=True)
    Array([1, 1, 2, 6], dtype=int32)
    """
    x, axis = _along("cumulative_prod", x, axis)
    products = _running("cumulative_prod", lax.cumprod, x, axis, dtype, None)
    return _with_initial(products, axis, include_initial, 1)


def _along(function, x, axis) -> tuple:
    x = as_operand(function, x)
    if not x.shape:
        raise ValueError(explain(f"tanx.numpy.{function}", "needs at least one dimension.",
                                 f"array: {typeof(x)}"))
    if axis is None and x.ndim > 1:
        raise ValueError(explain(
            f"tanx.numpy.{function}", "axis may be left out for vectors only.",
            f"array: {typeof(x)}"))
    return x, canonical_axis(function, axis or 0, x)


def _with_initial(x, axis: int, include_initial: bool, value):
    if not include_initial:
        return x
    shape = [1 if d == axis else n for d, n in enumerate(x.shape)]
    return lax.concatenate([lax.full(shape, value, x.dtype), x], axis)


# -- differences -----------------------------------------------------------------------------------


@library_jit(static_argnames=("n", "axis"))
def diff(a, n=1, axis=-1, prepend=None, append=None):
    """The differences of neighbours along ``axis``, taken ``n`` times.

    For booleans, whether neighbours differ. ``prepend`` and ``append`` are scalars or arrays that
    are joined to the array first.

    >>> jnp.diff(jnp.array([1, 2, 4, 7]))
    Array([1, 2, 3], dtype=int32)
    """
    x = as_operand("diff", a)
    n = operator.index(n)
    if not x.shape or n < 0:
        raise ValueError(explain("tanx.numpy.diff", "needs at least one dimension, and n >= 0.",
                                 f"array: {typeof(x)}", f"n:     {n}"))
    if n == 0:
        return x
    axis = canonical_axis("diff", axis, x)
    edge = [1 if d == axis else size for d, size in enumerate(x.shape)]
    ends = [None if end is None else as_operand("diff", end) for end in (prepend, append)]
    ends = [broadcast_to(end, edge) if end is not None and not end.shape else end for end in ends]
    parts = [part for part in (ends[0], x, ends[1]) if part is not None]
    x = concatenate(parts, axis) if len(parts) > 1 else x
    before = (slice(None),) * axis
    subtract = lax.ne if x.dtype.kind == "b" else lax.sub
    for _ in range(n):
        x = subtract(x[*before, 1:], x[*before, :-1])
    return x


@library_jit
def ediff1d(ary, to_end=None, to_begin=None):
    """The differences of neighbours in the flattened array, between ``to_begin`` and ``to_end``.

    >>> jnp.ediff1d(jnp.array([[1, 2], [4, 7]]), to_begin=0)
    Array([0, 1, 2, 3], dtype=int32)
    """
    x = ravel(as_operand("ediff1d", ary))
    result = lax.sub(x[1:], x[:-1])
    if to_begin is not None:
        result = lax.concatenate([ravel(convert(to_begin, x.dtype)), result], 0)
    if to_end is not None:
        result = lax.concatenate([result, ravel(convert(to_end, x.dtype))], 0)
    return result


# -- derivatives and integrals ---------------------------------------------------------------------


@library_jit(static_argnames=("axis", "edge_order"))
def gradient(f, *varargs, axis=None, edge_order=None):
    """The derivative along each dimension: from both neighbours inside, from one at the edges.

    ``varargs`` is the distance of neighbours, or an array of their coordinates: one for all
    dimensions, or one for each. ``axis`` selects dimensions; one gives an array, several give a
    list. Edges are of first order only.

    >>> jnp.gradient(jnp.array([1., 4., 9., 16.]), 2.)
    Array([1.5, 2. , 3. , 3.5], dtype=float32)
    """
    if edge_order is not None:
        raise NotImplementedError(explain(
            "tanx.numpy.gradient", "edges are of first order only.",
            f"edge_order: {edge_order}", hint="leave edge_order out."))
    x = inexact("gradient", f)
    axes = tuple(range(x.ndim)) if axis is None else canonical_axes("gradient", axis, x)
    spacings = varargs * len(axes) if len(varargs) == 1 else varargs or (1.0,) * len(axes)
    if len(spacings) != len(axes):
        raise TypeError(explain(
            "tanx.numpy.gradient", "needs no spacing, one, or one for each dimension.",
            f"array:    {typeof(x)}", f"axis:     {axis}", f"spacings: {len(varargs)}"))
    results = [_derivative(x, d, spacing) for d, spacing in zip(axes, spacings)]
    return results[0] if len(results) == 1 else results


def _part(x, axis: int, start: int, stop: int):
    return lax.slice_in_dim(x, start, stop, axis=axis)


def _derivative(x, axis: int, spacing):
    """The derivative along one dimension, at evenly spaced points or at given coordinates."""
    if x.shape[axis] < 2:
        raise ValueError(explain(
            "tanx.numpy.gradient", "a derivative needs at least two points.",
            f"array: {typeof(x)}", f"axis:  {axis}"))
    check_arraylike("gradient", spacing)
    points = typeof(spacing)
    if points.shape not in ((), (x.shape[axis],)):
        raise ValueError(explain(
            "tanx.numpy.gradient", "a spacing is a scalar, or a vector with one number per point.",
            f"array:   {typeof(x)}", f"axis:    {axis}", f"spacing: {points}"))
    spacing, n = convert(spacing, x.dtype), x.shape[axis]

    def step(x, start, stop, over=1):
        """The differences of elements ``over`` places apart."""
        return lax.sub(_part(x, axis, start + over, stop), _part(x, axis, start, stop - over))

    first, last = step(x, 0, 2), step(x, n - 2, n)
    if not points.shape:
        middle = divide(lax.mul(step(x, 0, n, over=2), like(x, 0.5)), spacing)
        last, first = divide(last, spacing), divide(first, spacing)
    else:
        where = reshape(spacing, [-1 if d == axis else 1 for d in range(x.ndim)])
        first, last = divide(first, step(where, 0, 2)), divide(last, step(where, n - 2, n))
        middle = _uneven(step(where, 0, n - 1), step(where, 1, n), *(
            _part(x, axis, i, n - 2 + i) for i in range(3)))
    return lax.concatenate([first, middle, last], axis)


def _uneven(left, right, before, here, after):
    """The derivative from three points, at distances ``left`` and ``right``, of second order."""
    a = lax.div(lax.neg(right), lax.mul(left, lax.add(left, right)))
    b = lax.div(lax.sub(right, left), lax.mul(left, right))
    c = lax.div(left, lax.mul(right, lax.add(left, right)))
    return add(add(multiply(a, before), multiply(b, here)), multiply(c, after))


@library_jit(static_argnames="axis")
def trapezoid(y, x=None, dx=1.0, axis=-1):
    """The integral along ``axis`` by the trapezoidal rule: points at ``x``, or ``dx`` apart.

    ``dx`` may be an array that broadcasts with the pairs of neighbours.

    >>> jnp.trapezoid(jnp.array([1., 2., 3.]), dx=2.)
    Array(8., dtype=float32)
    """
    if x is not None:
        y, x = promote_dtypes(inexact("trapezoid", y), inexact("trapezoid", x))
        dx = diff(x if x.ndim == 1 else moveaxis(x, axis, -1))
        dx = lax.expand_dims(dx, range(y.ndim - dx.ndim))
    else:
        y, dx = inexact("trapezoid", y), asarray(dx)
        if dx.shape:
            dx = lax.expand_dims(dx, range(y.ndim - dx.ndim))
            dx = moveaxis(dx, canonical_axis("trapezoid", axis, y) - y.ndim, -1)
    y = moveaxis(y, axis, -1)
    if not dx.shape:
        total = sum(y, -1)
        ends = lax.mul(like(y, 0.5), lax.add(y[..., 0], y[..., -1]))
        return multiply(dx, lax.sub(total, ends))
    sums = sum(multiply(dx, lax.add(y[..., 1:], y[..., :-1])), -1)
    return lax.mul(like(sums, 0.5), sums)
