"""Polynomials of the tables in ``_tables.py``, at numbers of an interval or of a half-line."""

from __future__ import annotations

import numpy as np

from ... import lax
from ._operands import constant

__all__ = ["beyond", "piecewise", "split_square"]


def _of_dtype(table: dict, x):
    return table[64 if x.dtype == np.float64 else 32]


def piecewise(table: dict, x):
    """The polynomials of several intervals, each at the numbers of its own."""
    out = None
    for low, high, coefficients in _of_dtype(table, x):
        t = (x - constant(x, (low + high) / 2)) * constant(x, 2 / (high - low))
        value = lax.polynomial(t, coefficients)
        out = value if out is None else lax.select(x < constant(x, low), out, value)
    return out


def beyond(table: dict, x, middle: float, low: float = 0.0):
    """A polynomial of the half-line from ``low`` on."""
    t = (x - constant(x, middle)) / (x + constant(x, middle - 2 * low))
    return lax.polynomial(t, _of_dtype(table, x))


def split_square(x):
    """``x**2`` as a sum of two numbers, the first without rounding, the second below 1.

    Powers of e of a rounded square would be off by as many units as the square is large.
    """
    step = 65536.0 if x.dtype == np.float64 else 128.0
    coarse = lax.round(x * constant(x, step)) * constant(x, 1 / step)
    return coarse * coarse, (x - coarse) * (x + coarse)
