"""Bernoulli numbers."""

from __future__ import annotations

import operator
from fractions import Fraction
from functools import lru_cache

import numpy as np

from ... import dtypes
from ... import numpy as jnp
from ...errors import explain

__all__ = ["bernoulli"]

_LAST = 258  # the next even one exceeds float64


def bernoulli(n):
    """The Bernoulli numbers from B(0) to B(n), where B(1) is -1/2.

    >>> tanx.scipy.special.bernoulli(4)
    Array([ 1.        , -0.5       ,  0.16666667,  0.        , -0.03333334],      dtype=float32)
    """
    n = operator.index(n)
    if n < 0:
        raise ValueError(explain("tanx.scipy.special.bernoulli", "n is 0 or positive.", f"n: {n}"))
    values = np.zeros(n + 1)
    known = _numbers()
    values[:len(known)] = known[:n + 1]
    late = np.arange(_LAST + 2, n + 1, 2)
    values[late] = np.where(late % 4 == 0, -np.inf, np.inf)
    with np.errstate(over="ignore"):
        return jnp.asarray(values.astype(dtypes.default_float()))


@lru_cache(1)
def _numbers() -> np.ndarray:
    """All Bernoulli numbers that float64 can hold, by the triangle of Akiyama and Tanigawa."""
    row: list[Fraction] = []
    out = np.zeros(_LAST + 1)
    for m in range(_LAST + 1):
        row.append(Fraction(1, m + 1))
        for j in range(m, 0, -1):
            row[j - 1] = j * (row[j - 1] - row[j])
        out[m] = float(row[0])
    out[1] = -0.5
    return out
