"""Eigenvalues of symmetric tridiagonal matrices by bisection, all of them in lanes of vectors.

The pivots ``q[k] = d[k] - x - e[k - 1]**2 / q[k - 1]`` of ``T - x`` have as many negative signs as
``T`` has eigenvalues below x. First the numbers below the points of a grid are counted, which gives
each eigenvalue a cell; then each lane halves the cell of its eigenvalue. The matrix is scaled by a
power of two, so that the sum of sizes of a row is at most 2, and squares do not overflow.

No pivot needs a test: one that is zero makes the next one infinite, with the opposite sign, and the
one after that is as if the matrix began there. Signs are counted as bits, as -0 has one. Counts do
not decrease with x, not even when rounded (Demmel, Dhillon and Ren, 1995): results ascend.
"""

from __future__ import annotations

from functools import reduce
from operator import add

import numpy as np

from .._loops import build

__all__ = ["bisected", "is_bisected"]

_FLOAT, _INT = np.dtype(np.float32), np.dtype(np.int32)

_LEAST = 64
"""Rows of the smallest matrix. On one core of Cascade Lake, 64 rows take 0.03 ms and by LAPACK's
``sterf`` 0.09, 500 rows 1.2 and 3.3, 1000 rows 4.3 and 11.6."""

_LANES = 64
"""Eigenvalues are stored in rows of this length, one for each step of a thread: loops have no
remainders, and enough vectors at a time to hide the latency of divisions."""

_NARROW, _SHARE, _NARROWEST = 2.0 ** -23, 2.0 ** -20, 2.0 ** -40
"""The width of a cell that is not halved any more: at most the first, and at most this share of the
eigenvalue, unless it is below the last. Small eigenvalues have more digits where the matrix
determines them, as a diagonal one does."""

_EIGHTH = 0.125
"""Numbers are scaled by it first: sums of three do not overflow, and inverses of powers of two are
normal numbers."""

_LEAST_SQUARE = 2.0 ** -120
"""Squares beside the diagonal are not less, as 0 / 0 would not be a pivot. That changes eigenvalues
by far less than the rounding of the diagonal."""


def is_bisected(dtype: np.dtype, n: int) -> bool:
    """Whether bisection is quicker than LAPACK's ``sterf``; float64 needs twice the steps."""
    return dtype == _FLOAT and n >= _LEAST


def bisected(into, d, e) -> list:
    """Statements that store the eigenvalues of matrices with the diagonals ``d`` and ``e``."""
    *lead, n = d.shape
    cells = 1 << (n - 1).bit_length()
    size = build.temp("size", lead, _FLOAT)
    diagonal, squares = (build.temp(name, d.shape, _FLOAT) for name in ("diagonal", "squares"))
    counts = build.temp("counts", (*lead, cells), _INT)
    values = build.temp("values", (*lead, -(-n // _LANES), _LANES), _FLOAT)

    def beside(b, k):
        return build.select(k > 0, e[(*b, build.op("max", k - 1, build.const(0)))],
                            build.const(0, _FLOAT))

    def row(b, k):
        after = build.select(k < n - 1, e[(*b, build.op("min", k, build.const(n - 2)))],
                             build.const(0, _FLOAT))
        parts = d[(*b, k)], beside(b, k), after
        return reduce(add, (build.op("abs", x) * _EIGHTH for x in parts))

    def scaled(at):
        *b, k = at
        inverse = 1 / _power_of_two(size[b])
        other = beside(b, k) * _EIGHTH * inverse
        square = build.op("max", other * other, build.const(_LEAST_SQUARE, _FLOAT))
        return [build.store(diagonal, at, d[at] * _EIGHTH * inverse), build.store(
            squares, at, build.select(k > 0, square, build.const(0, _FLOAT)))]

    def below(b, x):
        """The number of eigenvalues below x."""
        def pivot(k, state):
            count, q = state
            q = diagonal[(*b, *k)] - x - squares[(*b, *k)] / q
            sign = build.op("shift_right_logical", build.op("bitcast", q, dtype=_INT), 31)
            return count + sign, q
        return build.fold((n,), (build.const(0, _INT), build.const(1, _FLOAT)), pivot)[0]

    def halved(at):
        *b, group, k = at
        number = build.convert(group * _LANES + k, _INT)

        def half_of_grid(step, state):
            cell = state[0] + (build.const(cells // 2) >> step[0])
            return [build.select(counts[(*b, cell)] <= number, cell, state[0])]
        cell, = build.fold((cells.bit_length() - 1,), [build.const(0)], half_of_grid)

        def step(state):
            low, high = state
            middle = (low + high) * 0.5
            above = below(b, middle) <= number
            return build.select(above, middle, low), build.select(above, high, middle)
        low, high = build.while_loop(
            (_point(cell, cells), _point(cell + 1, cells)), _is_wide, step)
        return [build.store(values, at, (low + high) * 0.5)]

    def result(at):
        *b, k = at
        whole, value = size[b], values[(*b, k // _LANES, k % _LANES)]
        return [build.store(into, at, build.select(
            whole < np.inf, value / _EIGHTH * _power_of_two(whole), build.const(np.nan, _FLOAT)))]

    return [
        build.nest(lead, lambda b: [build.store(size, b, build.reduce(
            "max", (n,), lambda k: row(b, k[0])))]),
        build.nest(d.shape, scaled),
        build.nest(counts.shape, lambda at: [build.store(
            counts, at, below(at[:-1], _point(at[-1], cells)))]),
        build.nest(values.shape, halved), build.nest(d.shape, result)]


def _point(number, cells: int):
    """A point of the grid, exact."""
    return build.convert(number, _FLOAT) * (4 / cells) - 2


def _is_wide(state):
    low, high = state
    width, most = high - low, build.op("max", build.op("abs", low), build.op("abs", high))
    return (width > _NARROW) | (width > build.op("max", most * _SHARE, build.const(
        _NARROWEST, _FLOAT)))


def _power_of_two(size):
    """The greatest power of two up to a number, at least the least whose inverse is finite."""
    bits = build.op("bitcast", build.op("max", size, build.const(2.0 ** -126, _FLOAT)), dtype=_INT)
    return build.op("bitcast", bits & build.const(0x7f800000, _INT), dtype=_FLOAT)
