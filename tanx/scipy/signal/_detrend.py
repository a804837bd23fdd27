"""Removal of means and trends from signals."""

from __future__ import annotations

import numpy as np

from ... import dtypes
from ... import numpy as jnp
from ..._api.jit import library_jit
from ..._base.axes import canonical_axis
from ...errors import explain
from ...numpy._promotion import typeof

__all__ = ["detrend"]


def detrend(data, axis: int = -1, type: str = "linear", bp=0, overwrite_data: None = None):
    """``data`` minus its linear trend along ``axis``, or minus its mean (``type="constant"``).

    ``bp`` holds the indices where pieces begin; each piece has a separate line. ``overwrite_data``
    must be None: arrays are immutable.

    >>> tanx.scipy.signal.detrend(jnp.array([1., 3., 3., 5.])).round(2)
    Array([-0.2,  0.6, -0.6,  0.2], dtype=float32)
    """
    if overwrite_data is not None:
        raise NotImplementedError(explain("tanx.scipy.signal.detrend", "arrays are immutable.",
                                          f"overwrite_data: {overwrite_data!r}"))
    if type not in ("constant", "linear"):
        raise ValueError(explain("tanx.scipy.signal.detrend",
                                 "type must be 'linear' or 'constant'.", f"type: {type!r}"))
    data = jnp.asarray(data)
    data = data.astype(dtypes.to_inexact_dtype(data.dtype))
    axis = canonical_axis("scipy.signal.detrend", axis, data)
    if type == "constant":
        return without_mean(data, axis)
    starts = np.unique(np.append(0, np.asarray(bp))).tolist()
    if starts[0] < 0 or starts[-1] > data.shape[axis]:
        raise ValueError(explain(
            "tanx.scipy.signal.detrend", "bp must be indices along the axis.",
            f"data: {typeof(data)}", f"axis: {axis}", f"bp:   {bp}"))
    return without_trend(data, axis, tuple(starts))


@library_jit(name="detrend", static_argnums=1)
def without_mean(x, axis: int):
    """``x`` minus its mean along ``axis``."""
    return x - x.mean(axis, keepdims=True)


@library_jit(name="detrend", static_argnums=(1, 2))
def without_trend(x, axis: int, starts: tuple[int, ...] = (0,)):
    """``x`` minus the line closest to it, in each piece from one start to the next."""
    x = jnp.moveaxis(x, axis, -1)
    pieces = [_straightened(x[..., start:stop])
              for start, stop in zip(starts, (*starts[1:], x.shape[-1]))]
    return jnp.moveaxis(jnp.concatenate(pieces, -1), -1, axis)


def _straightened(x):
    """``x`` minus mean and slope; times count from the middle, which makes both independent."""
    n = x.shape[-1]
    if n < 2:
        return jnp.zeros_like(x)
    times = np.arange(n) - (n - 1) / 2
    squares = times @ times
    wide = x if x.dtype.itemsize > 2 else x.astype(np.float32)
    level = wide - wide.mean(-1, keepdims=True)
    times = jnp.broadcast_to(times.astype(wide.dtype), wide.shape)
    slope = (level * times).sum(-1, keepdims=True) / squares
    return (level - slope * times).astype(x.dtype)
