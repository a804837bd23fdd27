"""Interpolation on the points of a rectilinear grid, in any number of dimensions."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from ... import dtypes, lax, tree_util
from ... import numpy as jnp
from ..._api.jit import library_jit
from ..._base.traceback import boundary
from ...errors import explain
from ...numpy._promotion import Tracer, typeof
from .._taps import Tap, linear_weights, mixed

__all__ = ["RegularGridInterpolator"]

_NAME = "tanx.scipy.interpolate.RegularGridInterpolator"
_METHODS = {"linear": 1, "slinear": 1, "nearest": 1, "cubic": 4}
"""Methods, and the number of points along a dimension that they need."""


class RegularGridInterpolator:
    """Interpolates a function of several variables that is known at the points of a grid.

    ``points`` has the coordinates of the grid, a vector in strictly increasing order for each
    dimension; ``values`` has the function's values, and may have further dimensions, for functions
    that return arrays. (Coordinates may also be strictly decreasing, unless they are traced.)
    ``method`` is ``"linear"`` (or ``"slinear"``), ``"nearest"``, or ``"cubic"``, which goes through
    the values with continuous first and second derivatives: not-a-knot splines, as in SciPy. Places
    outside of the grid get ``fill_value``, or are extrapolated if that is None; with
    ``bounds_error`` they are errors, which only calls outside of ``jit`` can raise. Interpolators
    are pytrees; points, values and places have derivatives.

    >>> points = (jnp.array([0., 1.]), jnp.array([0., 2.]))
    >>> f = tanx.scipy.interpolate.RegularGridInterpolator(points, jnp.array([[0., 4.], [1., 5.]]))
    >>> f(jnp.array([[0.5, 0.5], [1.0, 3.0]]))
    Array([1.5, nan], dtype=float32)
    """

    def __init__(self, points: Sequence, values, method: str = "linear",
                 bounds_error: bool = False, fill_value=np.nan):
        self.method, self.bounds_error = _checked_method(method), bounds_error
        grid, values = tuple(jnp.asarray(p) for p in points), jnp.asarray(values)
        if any(p.ndim != 1 for p in grid) or values.shape[:len(grid)] != tuple(map(len, grid)):
            raise ValueError(explain(
                _NAME, "points must be vectors, one for each leading dimension of values.",
                f"points: {', '.join(str(typeof(p)) for p in grid)}",
                f"values: {typeof(values)}"))
        self.grid, self.values = _increasing(grid, values)
        self.fill_value = None if fill_value is None else jnp.asarray(fill_value)
        if self.fill_value is not None and not np.can_cast(
                self.fill_value.dtype, _inexact(self.values).dtype, "same_kind"):
            raise ValueError(explain(
                _NAME, "fill_value must be of the kind of numbers that values has, or None.",
                f"fill_value: {typeof(self.fill_value)}", f"values:     {typeof(values)}"))
        self._slopes = _all_slopes(self.grid, self.values) if self._cubic(self.method) else None

    def _cubic(self, method: str) -> bool:
        """Whether a method is cubic; raises if there are too few points for it."""
        least = _METHODS[method]
        if min(map(len, self.grid), default=least) < least:
            raise ValueError(explain(
                _NAME, f"{method!r} needs {least} points along each dimension.",
                f"points: {', '.join(str(typeof(p)) for p in self.grid)}"))
        return method == "cubic"

    @boundary
    def __call__(self, xi, method: str | None = None):
        """Values at places: ``xi`` has coordinates along its last dimension, or is a tuple of them.

        ``method`` overrides that of the interpolator.
        """
        method = self.method if method is None else _checked_method(method)
        places = _places(xi, len(self.grid))
        if self.bounds_error:
            self._check_bounds(places)
        slopes = None
        if self._cubic(method):
            slopes = self._slopes
            slopes = _all_slopes(self.grid, self.values) if slopes is None else slopes
        return _evaluate(self.grid, self.values, slopes, places, self.fill_value, method)

    def _check_bounds(self, places) -> None:
        if any(isinstance(x, Tracer) for x in (*places, *self.grid)):
            raise NotImplementedError(explain(
                _NAME, "bounds_error cannot be raised for places that are traced.",
                hint="with bounds_error=False, fill_value=jnp.nan marks places out of bounds."))
        for d, (p, x) in enumerate(zip(self.grid, places)):
            if not bool(((x >= p[0]) & (x <= p[-1])).all()):
                raise ValueError(explain(
                    _NAME, "places must be within the grid, because bounds_error=True.",
                    f"dimension: {d}", f"from {p[0]} to {p[-1]}"))

    def _flatten(self):
        return ((self.grid, self.values, self.fill_value, self._slopes),
                (self.method, self.bounds_error))

    @classmethod
    def _unflatten(cls, options, leaves):
        made = object.__new__(cls)
        made.method, made.bounds_error = options
        made.grid, made.values, made.fill_value, made._slopes = leaves
        return made


tree_util.register_pytree_node(RegularGridInterpolator, RegularGridInterpolator._flatten,
                               RegularGridInterpolator._unflatten)


# -- operands --------------------------------------------------------------------------------------


def _checked_method(method: str) -> str:
    if method not in _METHODS:
        raise ValueError(explain(_NAME, "there is no such method.", f"method: {method!r}",
                                 f"of:     {', '.join(_METHODS)}"))
    return method


def _increasing(grid: tuple, values) -> tuple:
    """Points in increasing order, with their values; traced points are assumed to be increasing."""
    points = list(grid)
    for d, p in enumerate(points):
        if isinstance(p, Tracer) or len(p) < 2:
            continue
        steps = np.diff(np.asarray(p))
        if (steps < 0).all():
            points[d], values = p[::-1], jnp.flip(values, d)
        elif not (steps > 0).all():
            raise ValueError(explain(
                _NAME, "points must be in strictly increasing or decreasing order.",
                f"dimension: {d}", f"points:    {p}"))
    return tuple(points), values


def _places(xi, count: int) -> tuple:
    """The coordinates of places, an array for each dimension."""
    if isinstance(xi, tuple):
        places = [jnp.asarray(x) for x in xi]
    else:
        xi = jnp.asarray(xi)
        if xi.ndim == 1 and xi.size % count == 0:  # one place, or places on a line
            xi = xi.reshape(-1, count)
        places = list(jnp.moveaxis(xi, -1, 0)) if xi.ndim else [xi]
    if len(places) != count:
        raise ValueError(explain(
            _NAME, "a place has a coordinate for each dimension of the grid.",
            f"dimensions:  {count}", f"coordinates: {len(places)}"))
    return tuple(_inexact(x) for x in jnp.broadcast_arrays(*places))


def _inexact(x):
    return x.astype(dtypes.to_inexact_dtype(x.dtype))


# -- values ----------------------------------------------------------------------------------------


@library_jit(static_argnums=5)
def _evaluate(grid, values, slopes, places, fill_value, method):
    """Values at places, from the corners of the cell around each."""
    values, grid = _inexact(values), [_inexact(p) for p in grid]
    cells = [_cell(p, x) for p, x in zip(grid, places)]
    if method == "nearest":
        taps = [[Tap(jnp.where(t <= 0.5, below, above))] for below, above, t, _ in cells]
        lost = _any([jnp.isnan(x) for x in places])
        result = jnp.where(_beside(lost, values, grid), np.nan, mixed(values, taps))
    elif slopes is None:
        taps = [[Tap(i, w) for i, w in zip((below, above), linear_weights(t))]
                for below, above, t, _ in cells]
        result = mixed(values, taps)
    else:
        result = mixed(slopes, [_hermite_taps(*cell) for cell in cells])
    if fill_value is not None:
        outside = _any([(x < p[0]) | (x > p[-1]) for p, x in zip(grid, places)])
        result = jnp.where(_beside(outside, values, grid), fill_value.astype(values.dtype), result)
    return result


def _any(conditions: list):
    return functools.reduce(jnp.logical_or, conditions)


def _beside(condition, values, grid):
    """A condition on positions, with dimensions added for those of the values."""
    return condition[(..., *[None] * (values.ndim - len(grid)))]


def _cell(points, place) -> tuple:
    """The points around a place, its relative position between them, and their distance."""
    size = len(points)
    below = jnp.clip(jnp.searchsorted(points, place) - 1, 0, max(size - 2, 0)).astype(np.int32)
    above = jnp.minimum(below + 1, size - 1)
    width = points[above] - points[below]
    share = (place - points[below]) / (width if size > 1 else 1)
    return below, above, share, width


def _hermite_taps(below, above, t, width) -> list[Tap]:
    """Weights of values and slopes at both ends of a cell.

    Values and slopes alternate along a dimension of the table; see :func:`_all_slopes`.
    """
    s = 1 - t
    return [Tap(2 * below, s * s * (1 + 2 * t)), Tap(2 * below + 1, width * t * s * s),
            Tap(2 * above, t * t * (1 + 2 * s)), Tap(2 * above + 1, -width * s * t * t)]


# -- splines ---------------------------------------------------------------------------------------


@library_jit
def _all_slopes(grid, values):
    """Values and slopes of splines, alternating along each dimension of the grid.

    The slopes of slopes along another dimension are the mixed derivatives, so that the table has
    everything that a cell needs.
    """
    table = _inexact(values)
    table = table.astype(np.float32) if table.dtype.itemsize < 4 else table
    for d, points in enumerate(grid):
        both = jnp.stack([table, _slopes(points.astype(table.real.dtype), table, d)], d + 1)
        table = both.reshape(*table.shape[:d], -1, *table.shape[d + 1:])
    return table


def _slopes(points, values, axis: int):
    """The slopes of the spline through values, at its points, along a dimension.

    Second derivatives are continuous at inner points, and third derivatives at the points next to
    the ends (not-a-knot): a tridiagonal system of equations.
    """
    y = jnp.moveaxis(values, axis, 0)
    rest, y = y.shape[1:], y.reshape(len(points), -1)
    h = jnp.diff(points)
    rise = jnp.diff(y, axis=0) / h[:, None]
    w = h[:, None]
    first, last = h[0] + h[1], h[-1] + h[-2]
    ends = (((w[0] + 2 * first) * w[1] * rise[0] + w[0] ** 2 * rise[1]) / first,
            (w[-1] ** 2 * rise[-2] + (2 * last + w[-1]) * w[-2] * rise[-1]) / last)
    right = jnp.concatenate([ends[0][None], 3 * (w[1:] * rise[:-1] + w[:-1] * rise[1:]),
                             ends[1][None]])
    zero = jnp.zeros(1, h.dtype)
    lower = jnp.concatenate([zero, h[1:], last[None]])
    middle = jnp.concatenate([h[1:2], 2 * (h[1:] + h[:-1]), h[-2:-1]])
    upper = jnp.concatenate([first[None], h[:-1], zero])
    slopes = lax.linalg.tridiagonal_solve(lower.astype(y.dtype), middle.astype(y.dtype),
                                          upper.astype(y.dtype), right)
    return jnp.moveaxis(slopes.reshape(len(points), *rest), 0, axis)
