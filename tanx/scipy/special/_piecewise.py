"""Evaluation of the polynomials in ``_tables.py``, on an interval or a half-line."""

from __future__ import annotations

import numpy as np

from ... import lax
from ._operands import constant

__all__ = ["beyond", "of_dtype", "piecewise", "split_square"]


def of_dtype(table: dict, x):
    """The row of a table for the dtype of ``x``."""
    return table[64 if x.dtype == np.float64 else 32]


def piecewise(table: dict, x):
    """The polynomials of several intervals, each evaluated at the numbers of its interval."""
    out = None
    for low, high, coefficients in of_dtype(table, x):
        t = (x - constant(x, (low + high) / 2)) * constant(x, 2 / (high - low))
        value = lax.polynomial(t, coefficients)
        out = value if out is None else lax.select(x < constant(x, low), out, value)
    return out


def beyond(table: dict, x, middle: float, low: float = 0.0):
    """A polynomial on the half-line from ``low`` on."""
    t = (x - constant(x, middle)) / (x + constant(x, middle - 2 * low))
    return lax.polynomial(t, of_dtype(table, x))


def split_square(x):
    """``x**2`` as the sum of two numbers, the first without rounding, the second much smaller.

    The exponential of a rounded square would have an error of ``x**2`` units in the last place.
    """
    bits: np.dtype
    if x.dtype == np.float64:
        bits, mask = np.dtype("uint64"), 2 ** 64 - 2 ** 27
    else:
        bits, mask = np.dtype("uint32"), 2 ** 32 - 2 ** 12
    high = lax.bitcast_convert_type(x, bits) & bits.type(mask)
    coarse = lax.bitcast_convert_type(high, x.dtype)
    return coarse * coarse, (x - coarse) * (x + coarse)
