"""Donated arguments: their memory is taken, unless somebody else sees it as well."""

from __future__ import annotations

import sys

import numpy as np

from .._core.array import Array

__all__ = ["claim"]


def claim(x, buffers: list, place: int) -> None:
    """Take the data of ``x``, which stands in ``buffers``, to be overwritten.

    The array is deleted. Its data is copied where other arrays are views of it, NumPy has a view,
    or it is the caller's in the first place.
    """
    if type(x) is not Array:
        buffers[place] = buffers[place].copy()
        return
    data, buffers[place] = buffers[place], None
    x.delete()
    alone = data.base is None and data.flags.writeable and sys.getrefcount(data) <= _ALONE
    buffers[place] = data if alone else data.copy()


def _references() -> int:
    """What Python counts for an array that one local variable has."""
    data = np.empty(1)
    return sys.getrefcount(data)


_ALONE = _references()
