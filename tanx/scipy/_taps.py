"""Weighted means of table entries near a place: the core of interpolation on a grid.

Along each dimension of a table, a place has a few *taps*: an entry and its weight. A value is the
sum over all combinations of taps, one for each dimension. In compiled code each combination is one
gather inside the loop over places; no entries are copied.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from .. import numpy as jnp
from .._base.tuples import NamedTuple

__all__ = ["MODES", "Tap", "bspline_weights", "keys_weights", "linear_weights", "mixed"]


class Tap(NamedTuple):
    """An entry along one dimension: its index, its weight, and whether it exists.

    None means a weight of 1, and an entry that always exists.
    """

    index: Any
    weight: Any = None
    inside: Any = None


# -- indices beyond the ends -----------------------------------------------------------------------


def _clip(xp, i, size: int):
    return xp.clip(i, 0, size - 1)


def _wrap(xp, i, size: int):
    return i % size


def _mirror(xp, i, size: int):
    period = max(2 * (size - 1), 1)
    i = i % period
    return xp.minimum(i, period - i)


def _reflect(xp, i, size: int):
    i = i % (2 * size)
    return xp.minimum(i, 2 * size - 1 - i)


MODES: dict[str, Callable] = {"constant": _clip, "nearest": _clip, "wrap": _wrap,
                              "mirror": _mirror, "reflect": _reflect}
"""The entry for index ``i``, on NumPy arrays or traced ones.

Beyond the ends, "constant" uses a fill value instead.
"""


# -- weights of entries, by the distance from the entry before the place ---------------------------


def linear_weights(t) -> tuple:
    """Weights of the entries at 0 and 1."""
    return 1 - t, t


def keys_weights(t) -> tuple:
    """Weights of the entries at -1 to 2, by cubic convolution: slopes are central differences."""
    s = 1 - t
    return -0.5 * t * s * s, s * (1 + t - 1.5 * t * t), t * (1 + s - 1.5 * s * s), -0.5 * s * t * t


def bspline_weights(t) -> tuple:
    """Weights of the coefficients of cubic B-splines at -1, 0, 1 and 2."""
    s = 1 - t
    return (s * s * s / 6, 2 / 3 - t * t * (1 - t / 2), 2 / 3 - s * s * (1 - s / 2), t * t * t / 6)


# -- sums ------------------------------------------------------------------------------------------


def mixed(table, taps: Sequence[Sequence[Tap]], fill=0):
    """The weighted sum of entries; ``taps`` has a sequence for each leading dimension of the table.

    Further dimensions of the table come last in the result. ``fill`` is the value of entries that
    do not exist.
    """
    rest = (None,) * (table.ndim - len(taps))
    total = None
    for chosen in itertools.product(*taps):
        places = tuple(tap.index for tap in chosen)
        value = table.at[places].get(mode="promise_in_bounds", wrap_negative_indices=False)
        inside = _all(jnp.logical_and, [tap.inside for tap in chosen])
        if inside is not None:
            value = jnp.where(inside[(..., *rest)], value, fill)
        weight = _all(jnp.multiply, [tap.weight for tap in chosen])
        if weight is not None:
            value = value * weight[(..., *rest)]
        total = value if total is None else total + value
    return total


def _all(combine: Callable, parts: list):
    """``combine`` over the parts that are not None."""
    given = [part for part in parts if part is not None]
    result = given[0] if given else None
    for part in given[1:]:
        result = combine(result, part)
    return result
