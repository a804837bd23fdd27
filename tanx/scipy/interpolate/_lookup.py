"""Interpolation in tables of evenly spaced entries."""

from __future__ import annotations

import numpy as np

from ... import dtypes, lax
from ... import numpy as jnp
from ..._api.jit import library_jit
from ...errors import explain
from ...numpy._promotion import typeof
from .._taps import MODES, Tap, keys_weights, linear_weights, mixed

__all__ = ["lookup"]

_METHODS = {"nearest": 1, "linear": 2, "cubic": 3}
"""Methods, and the number of entries along a dimension that they need."""


def lookup(table, *coordinates, start=0, step=1, method: str = "linear", mode: str = "nearest",
           fill_value=0):
    """The values of a table at places between its entries.

    There is a coordinate for each leading dimension of the table. The entry of index ``i`` along a
    dimension is at ``start + i * step``; both are numbers, or
    have one number for each dimension. Coordinates are broadcast; further dimensions of the table
    come last in the result, so that an entry may be a vector or a matrix. Between entries,

    - ``"nearest"`` takes the closest one;
    - ``"linear"`` takes the mean of the two neighbours, weighted by distance;
    - ``"cubic"`` goes through the entries with a continuous slope (cubic convolution): exact for
      polynomials up to the second degree, and computed from four entries per dimension.

    ``mode`` is for places beyond the ends: ``"nearest"`` takes the entry at the end, ``"constant"``
    gives ``fill_value``, and ``"wrap"``, ``"mirror"`` and ``"reflect"`` continue the table. Integer
    coordinates, without start and step, are plain indices. Each entry is read where it is, without
    a copy of the table; derivatives reach the table, the coordinates, ``start`` and ``step``.

    >>> squares = jnp.arange(5.) ** 2
    >>> tanx.scipy.interpolate.lookup(squares, jnp.array([0.5, 2.0, 9.0]))
    Array([ 0.5,  4. , 16. ], dtype=float32)
    >>> tanx.scipy.interpolate.lookup(squares, 0.25, step=0.1, method="cubic")
    Array(6.25, dtype=float32)
    """
    table = jnp.asarray(table)
    coordinates = tuple(jnp.asarray(c) for c in coordinates)
    count = len(coordinates)
    if not 1 <= count <= table.ndim or any(c.dtype.kind == "c" for c in coordinates):
        raise ValueError(explain(
            "tanx.scipy.interpolate.lookup",
            "needs real coordinates, one for each of the leading dimensions of the table.",
            f"table:       {typeof(table)}",
            f"coordinates: {', '.join(str(typeof(c)) for c in coordinates) or 'none'}"))
    if method not in _METHODS or mode not in MODES:
        raise ValueError(explain(
            "tanx.scipy.interpolate.lookup", "there is no such method or mode.",
            f"method: {method!r}, of {', '.join(_METHODS)}",
            f"mode:   {mode!r}, of {', '.join(MODES)}"))
    least = _METHODS[method] if mode in ("nearest", "constant") else 1
    if min(table.shape[:count]) < least:
        raise ValueError(explain(
            "tanx.scipy.interpolate.lookup",
            f"method={method!r} needs {least} entries along each dimension.",
            f"table: {typeof(table)}"))
    return _lookup(table, coordinates, _spacing(start, 0, count), _spacing(step, 1, count), method,
                   mode, fill_value)


def _spacing(given, default: int, count: int) -> tuple | None:
    """One number for each dimension; None for the default, which keeps integers."""
    if isinstance(given, int) and given == default:
        return None
    return tuple(jnp.broadcast_to(jnp.asarray(given), (count,)))


@library_jit(static_argnums=(4, 5))
def _lookup(table, coordinates, start, step, method, mode, fill_value):
    places = list(coordinates)
    if start is not None:
        places = [place - at for place, at in zip(places, start)]
    if step is not None:
        places = [place / by for place, by in zip(places, step)]
    taps = [_taps(place, method, mode, size) for place, size in zip(places, table.shape)]
    return mixed(table, taps, jnp.asarray(fill_value, table.dtype))


def _taps(place, method: str, mode: str, size: int) -> list[Tap]:
    """The entries at or next to a place along one dimension."""
    inside = (place >= 0) & (place <= size - 1) if mode == "constant" else None
    if method == "nearest" or place.dtype.kind in "iub":
        index = place if place.dtype.kind in "iub" else lax.round(place)
        return [Tap(MODES[mode](jnp, index.astype(np.int32), size), None, inside)]
    place = place.astype(dtypes.to_inexact_dtype(place.dtype))
    if mode in ("nearest", "constant"):
        place = jnp.clip(place, 0, size - 1)
        first = jnp.clip(jnp.floor(place), 0, size - 2)
    else:
        first = jnp.floor(place)
    t, first = place - first, first.astype(np.int32)
    if method == "linear":
        weights, offset = linear_weights(t), 0
    else:
        weights, offset = keys_weights(t), -1
        if mode in ("nearest", "constant"):
            weights = _at_the_ends(weights, first == 0, first == size - 2)
    return [Tap(MODES[mode](jnp, first + k, size), w, inside)
            for k, w in enumerate(weights, offset)]


def _at_the_ends(weights: tuple, left, right) -> tuple:
    """Weights in cells at the ends, whose missing entry is extrapolated by a parabola.

    It is ``3 a - 3 b + c`` of the three entries next to it. Its index was moved to ``a``.
    """
    w, x, y, z = weights
    before, after = jnp.where(left, w, 0), jnp.where(right, z, 0)
    return (w + 2 * before + after, x - 3 * after, y - 3 * before, z + before + 2 * after)
