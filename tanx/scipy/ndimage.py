"""tanx.scipy.ndimage: images of any rank, sampled at places between their pixels."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log, sqrt

import numpy as np

from .. import dtypes, lax
from .. import numpy as jnp
from .._api.jit import library_jit
from .._base.traceback import shown
from .._base.window import publish
from ..errors import explain
from ..numpy._promotion import typeof
from ._taps import MODES, Tap, bspline_weights, linear_weights, mixed

__all__ = ["map_coordinates"]

_SYNONYMS = {"grid-constant": "constant", "grid-wrap": "wrap", "grid-mirror": "reflect"}


def map_coordinates(input, coordinates: Sequence, order: int, mode: str = "constant",
                    cval: float = 0.0):
    """The values of an array at places between its elements.

    ``coordinates`` has an array of places for each dimension, in units of elements; they are
    broadcast. ``order`` 0 takes the nearest element, 1 interpolates linearly, and 3 by cubic
    splines. ``mode`` gives the values beyond the ends: ``"constant"`` the value ``cval``,
    ``"nearest"`` the last element, ``"wrap"`` the array repeated, ``"mirror"`` and ``"reflect"``
    the array reversed, with the last element once or twice. These are SciPy's modes
    ``grid-constant``, ``nearest``, ``grid-wrap``, ``mirror`` and ``reflect``. The result has the
    dtype of the array; integers are rounded. It has derivatives by the array and, for orders 1 and
    3, by the coordinates.

    >>> image = jnp.array([[0., 1.], [2., 3.]])
    >>> rows, columns = jnp.array([0.5, 1.0]), jnp.array([0.5, 0.25])
    >>> tanx.scipy.ndimage.map_coordinates(image, [rows, columns], order=1)
    Array([1.5 , 2.25], dtype=float32)
    """
    input = jnp.asarray(input)
    coordinates = [jnp.asarray(c) for c in coordinates]
    mode = _SYNONYMS.get(mode, mode)
    if len(coordinates) != input.ndim:
        raise ValueError(explain(
            "tanx.scipy.ndimage.map_coordinates",
            "coordinates must have an array for each dimension.",
            f"input:       {typeof(input)}", f"coordinates: {len(coordinates)} arrays"))
    if mode not in MODES or order not in (0, 1, 3):
        raise NotImplementedError(explain(
            "tanx.scipy.ndimage.map_coordinates", "there is no such order or mode.",
            f"order: {order!r}, of 0, 1 and 3", f"mode:  {mode!r}, of {', '.join(MODES)}"))
    if any(c.dtype.kind == "c" for c in coordinates) or not all(input.shape):
        raise TypeError(explain(
            "tanx.scipy.ndimage.map_coordinates",
            "needs an array with elements, and real coordinates.", f"input:       {typeof(input)}",
            f"coordinates: {', '.join(str(typeof(c)) for c in coordinates)}"))
    return _map_coordinates(input, coordinates, int(order), mode, cval)


@library_jit(static_argnums=(2, 3))
def _map_coordinates(input, coordinates, order, mode, cval):
    fill = jnp.asarray(cval, input.dtype)
    if order == 3:
        return _cubic(input, coordinates, mode, fill)
    taps = [_taps(c, order, mode, size) for c, size in zip(coordinates, input.shape)]
    return _cast(mixed(input, taps, fill), input.dtype)


def _cast(x, dtype):
    """``x`` in the dtype of an image, rounded if that is an integer dtype."""
    if dtype.kind in "iub" and x.dtype.kind in "fc":
        x = lax.round(x)
    return x.astype(dtype)


def _tap(index, weight, mode: str, size: int) -> Tap:
    inside = (index >= 0) & (index < size) if mode == "constant" else None
    return Tap(MODES[mode](jnp, index, size), weight, inside)


def _taps(place, order: int, mode: str, size: int) -> list[Tap]:
    """The elements next to a place along one dimension."""
    if place.dtype.kind in "iub":
        return [_tap(place.astype(np.int32), None, mode, size)]
    if order == 0:
        return [_tap(lax.round(place).astype(np.int32), None, mode, size)]
    below = jnp.floor(place)
    first = below.astype(np.int32)
    if order == 1:
        weights, start = linear_weights(place - below), 0
    else:
        weights, start = bspline_weights(place - below), -1
    return [_tap(first + k, w, mode, size) for k, w in enumerate(weights, start)]


# -- cubic splines ---------------------------------------------------------------------------------

_POLE = sqrt(3) - 2
"""Coefficients of cubic B-splines decay by this factor with each element."""


def _cubic(input, coordinates, mode: str, fill):
    """Interpolation by cubic splines; ``mode`` continues the array beyond its ends."""
    dtype = dtypes.to_inexact_dtype(input.dtype)
    dtype = np.promote_types(dtype, np.float32) if dtype.itemsize < 4 else dtype
    table = input.astype(dtype)
    reach = ceil(log(float(np.finfo(dtype).eps)) / log(-_POLE))
    # Splines through a periodic continuation have periodic coefficients; for the other two modes,
    # coefficients beyond the ends converge to a constant within reach.
    margin = reach if mode in ("constant", "nearest") else 0
    if mode == "constant":
        table = jnp.pad(table, margin, constant_values=fill.astype(dtype))
    elif mode == "nearest":
        table = jnp.pad(table, margin, mode="edge")
    for axis in range(table.ndim):
        table = _coefficients(table, axis, mode, reach)
    taps = [_taps(_inexact(c) + margin, 3, mode, size) for c, size in zip(coordinates, table.shape)]
    return _cast(mixed(table, taps, fill.astype(dtype)), input.dtype)


def _inexact(x):
    return x.astype(dtypes.to_inexact_dtype(x.dtype))


def _coefficients(table, axis: int, mode: str, reach: int):
    """The coefficients of cubic B-splines along a dimension, from the values at its elements.

    The inverse of the filter (1/6, 2/3, 1/6) is a two-sided geometric series; ``reach`` is where
    its terms are below rounding. Constants beyond the ends are continued as ``"nearest"``.
    """
    size = table.shape[axis]
    steps = np.arange(-reach, reach + 1)
    weights = sqrt(3) * _POLE ** abs(steps)
    mode = "nearest" if mode == "constant" else mode
    places = MODES[mode](np, np.arange(size)[:, None] + steps, size).astype(np.int32)
    beside = [1] * axis + [1, len(steps)] + [1] * (table.ndim - axis - 1)
    weights = weights.astype(np.zeros((), table.dtype).real.dtype).reshape(beside)
    return (jnp.take(table, places, axis, mode="clip") * weights).sum(axis + 1)


publish(__name__, shown)
