"""``maximum`` and ``minimum`` of arrays, with 0.0 greater than -0.0 on every processor.

NumPy's functions return either zero, depending on the processor: on x86-64 the second operand, on
ARM the right one, except for narrow floats. If a result is zero, its sign is found by comparing
bits.
"""

from __future__ import annotations

import numpy as np

from .operands import letter

__all__ = ["Extreme", "maximum", "minimum"]

_SMALL = 1 << 12
"""Up to this many elements, counting nonzero ones is faster than comparing all of them."""


class Extreme:
    """The properties of ``np.maximum`` and ``np.minimum`` that rules need."""

    def __init__(self, ufunc: np.ufunc):
        self.ufunc = ufunc
        # Letters of the dtypes whose zeros the function orders: quicker to find than dtypes.
        self.exact = "".join(char for char in "fd" if _orders_zeros(ufunc, np.dtype(char)))

    def __call__(self, x: np.ndarray, y: np.ndarray):
        """The extremes of two arrays; a result is ambiguous where both are zero."""
        out = self.ufunc(x, y)
        if out.dtype.char in self.exact:
            return out
        if not x.ndim or not y.ndim:  # as in relu: most results are zero
            number, others = (y, x) if x.ndim else (x, y)
            if number or letter(out.dtype) != "f":
                return out
            if self.ufunc is np.maximum and not np.signbit(number):
                return out + number
            if not _has_zeros(others):
                return out
        if _has_zeros(out):
            return np.where(out == 0, _restored(self.ufunc(_ordered(x), _ordered(y)), out), out)
        return out

    def reduce(self, x, axis=None, dtype=None):
        """The extreme along axes."""
        out = self.ufunc.reduce(x, axis=axis, dtype=dtype)
        if self._is_ambiguous(out):
            ordered = self.ufunc.reduce(_ordered(x), axis=axis)
            return np.where(out == 0, _restored(ordered, out), out)
        return out

    def accumulate(self, x, axis=0, dtype=None):
        """The extreme of each element and all before it."""
        out = self.ufunc.accumulate(x, axis=axis, dtype=dtype)
        if self._is_ambiguous(out):
            ordered = self.ufunc.accumulate(_ordered(x), axis=axis)
            return np.where(out == 0, _restored(ordered, out), out)
        return out

    def at(self, x, indices, values) -> None:
        """Update elements of ``x`` by extremes, in place, those at equal indices in turn."""
        if x.dtype.char in self.exact:
            self.ufunc.at(x, indices, values)
            return
        before = x.copy()
        self.ufunc.at(x, indices, values)
        if _has_zeros(x):
            ordered = _ordered(before)
            self.ufunc.at(ordered, indices, _ordered(np.asarray(values, x.dtype)))
            np.copyto(x, _restored(ordered, x), where=x == 0)

    def _is_ambiguous(self, out) -> bool:
        """Whether results are zeros of which the sign may be wrong."""
        return out.dtype.char not in self.exact and _has_zeros(out)


def _has_zeros(out) -> bool:
    """Whether there are zeros, in a dtype with signed zeros."""
    if letter(out.dtype) != "f" or out.dtype.itemsize < 2:
        return False
    if out.size <= _SMALL:
        return np.count_nonzero(out) < out.size
    return bool((out == 0).any())


def _ordered(x: np.ndarray) -> np.ndarray:
    """Integers in the order of floats; the function is its own inverse on integers."""
    bits = x.view(f"i{x.dtype.itemsize}")
    return bits ^ (bits >> (8 * x.dtype.itemsize - 1) & np.iinfo(bits.dtype).max)


def _restored(ordered, like) -> np.ndarray:
    """The floats of ordered integers."""
    return _ordered(np.asarray(ordered)).view(like.dtype)


def _orders_zeros(ufunc: np.ufunc, dtype: np.dtype) -> bool:
    """Whether a NumPy function orders 0.0 after -0.0."""
    zeros = np.array([0, -0.0] * 32, dtype), np.array([-0.0, 0] * 32, dtype)
    signs = np.signbit([ufunc(*zeros), ufunc(*zeros[::-1])])
    return bool((signs == (ufunc is np.minimum)).all())


maximum, minimum = Extreme(np.maximum), Extreme(np.minimum)
