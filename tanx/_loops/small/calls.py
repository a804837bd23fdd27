"""Statements for batches of small matrices: one matrix in each lane.

``factors.py`` and ``spectra.py`` have the algorithms, ``lanes.py`` runs them in NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ..names import MATRICES

if TYPE_CHECKING:
    from ..nest import Buffer, Extern

__all__ = ["NOT_SMALL", "is_small", "on_small"]

NOT_SMALL = 0.37
"""The sign of a vector that is unique up to its sign makes its first element that is not small
positive. An element is not small if it is more than this, times the largest one."""

_LARGEST, _LARGEST_ALONE, _FEW = 32, 8, 4
"""Rows or columns at most: of many matrices, and of fewer than a few."""


def is_small(dtype: np.dtype, shape: Sequence[int], *others: int) -> bool:
    """Whether matrices, in the last two dimensions, should run in lanes."""
    count, sizes = prod(shape[:-2]), (*shape[-2:], *others)
    return dtype.char in "fd" and min(count, *sizes) > 0 and max(sizes) <= (
        _LARGEST if count >= _FEW else _LARGEST_ALONE)


def on_small(algorithm: str, outputs: Sequence[Buffer], inputs: Sequence[Buffer],
             **options) -> Extern:
    """A statement that runs an algorithm on each of many matrices; the first input has these."""
    from ..build import extern
    return extern(MATRICES, outputs, inputs, algorithm=algorithm, lanes=1, tasks=1,
                  options=tuple(sorted(options.items())), rank=inputs[0].ndim - 2)
