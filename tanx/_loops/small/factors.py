"""Factors of small matrices, many at a time: Cholesky, LU, QR, and triangular systems.

Algorithms for any machine ``m``, which ``lanes.py`` explains. Sums go along rows and columns that
are done (the "left-looking" order), several of them at a time in registers, because such code is
bound by memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

__all__ = ["cholesky", "fill", "householder_product", "identity", "inverse_of", "largest", "less",
           "lu", "more", "put", "qr", "reflect", "reflection", "triangular_solve", "triangularize"]


# -- what algorithms share -------------------------------------------------------------------------


def less(m, sums: Sequence, x, others: Sequence) -> list:
    """Sums minus products with one number."""
    return [m.fma(-x, y, s) for s, y in zip(sums, others)]


def more(m, sums: Sequence, x, others: Sequence) -> list:
    """Sums plus products with one number."""
    return [m.fma(x, y, s) for s, y in zip(sums, others)]


def inverse_of(m, x):
    """``1 / x``, but never infinite: it may be multiplied by zero."""
    most = float(np.finfo(m.dtype).max)
    inverse = 1 / x
    return m.select(m.abs(inverse) > most, m.copysign(m.number(most), x), inverse)


def each_element(m, a, body: Callable[[Any, Any], None]) -> None:
    rows, columns = a.shape
    m.each(0, rows, lambda i: m.each(0, columns, lambda j: body(i, j)))


def put(a, i, j, value) -> None:
    """Set an element, as an expression."""
    a[i, j] = value


def fill(m, a, value) -> None:
    """Set all elements."""
    each_element(m, a, lambda i, j: put(a, i, j, value))


def identity(m, rows: int, columns: int):
    """Ones on the diagonal."""
    a = m.matrix(rows, columns)
    fill(m, a, m.number(0))
    m.each(0, min(rows, columns), lambda i: put(a, i, i, m.number(1)))
    return a


def largest(m, a):
    """The greatest absolute value of a matrix."""
    rows, columns = a.shape
    return m.fold(0, rows, [m.number(0)], lambda i, most: m.fold(
        0, columns, [most], lambda j, most: [m.larger(most, m.abs(a[i, j]))]))[0]


# -- triangles -------------------------------------------------------------------------------------


def cholesky(m, a):
    """The lower factor of symmetric matrices; NaN where they are not positive definite."""
    n, _ = a.shape

    def column(j):
        (rest,) = m.fold(0, j, [a[j, j]], lambda k, rest: less(m, [rest], a[j, k], [a[j, k]]))
        root = m.sqrt(m.select(rest > 0, rest, m.number(np.nan)))
        inverse = 1 / root
        a[j, j] = root

        def rows(strip):
            sums = m.fold(0, j, [a[i, j] for i in strip], lambda k, *sums: less(
                m, sums, a[j, k], [a[i, k] for i in strip]))
            for i, total in zip(strip, sums):
                a[i, j] = total * inverse
        m.strips(j + 1, n, rows)
    m.each(0, n, column)
    failed = m.is_nan(a[n - 1, n - 1])  # a NaN propagates to all later elements
    m.when(failed, lambda: each_element(m, a, lambda i, j: put(
        a, i, j, m.select(failed, m.number(np.nan), a[i, j]))))
    return [a]


def triangular_solve(m, a, b, left_side: bool, lower: bool, transpose_a: bool,
                     unit_diagonal: bool):
    """The solution of ``op(a) x = b``, or of ``x op(a) = b``."""
    x = b if left_side else b.T
    if transpose_a == left_side:
        a, lower = a.T, not lower
    n, columns = x.shape
    inverses = m.matrix(n)
    m.each(0, n, lambda i: put(inverses, i, 0, m.number(1) if unit_diagonal else 1 / a[i, i]))

    def strip(strip):
        def row(i):
            known = (0, i) if lower else (i + 1, n)
            sums = m.fold(*known, [x[i, c] for c in strip], lambda k, *sums: less(
                m, sums, a[i, k], [x[k, c] for c in strip]))
            inverse = inverses[i, 0]
            for c, total in zip(strip, sums):
                x[i, c] = total if unit_diagonal else total * inverse
        m.each(0, n, row, backwards=not lower)
    m.strips(0, columns, strip)
    return [b]


def lu(m, a):
    """Both factors in one matrix; the row exchanged with each row; the resulting permutation."""
    rows, columns = a.shape
    steps = min(rows, columns)
    pivots, order = m.integers(steps), m.integers(rows)
    m.each(0, rows, lambda i: put(order, i, 0, m.integer(i)))

    def step(k):
        def below(strip):
            sums = m.fold(0, k, [a[i, k] for i in strip], lambda p, *sums: less(
                m, sums, a[p, k], [a[i, p] for i in strip]))
            for i, total in zip(strip, sums):
                a[i, k] = total
        m.strips(k, rows, below)

        def better(i, most, place):
            size = m.abs(a[i, k])
            takes = size > most
            return [m.select(takes, size, most), m.select(takes, m.integer(i), place)]
        _, place = m.fold(k + 1, rows, [m.abs(a[k, k]), m.integer(k)], better)
        pivots[k, 0] = place
        m.exchange(a, k, place, columns)
        m.exchange(order, k, place, 1)
        inverse = inverse_of(m, a[k, k])
        m.each(k + 1, rows, lambda i: put(a, i, k, a[i, k] * inverse))

        def right(strip):
            sums = m.fold(0, k, [a[k, j] for j in strip], lambda p, *sums: less(
                m, sums, a[k, p], [a[p, j] for j in strip]))
            for j, total in zip(strip, sums):
                a[k, j] = total
        m.strips(k + 1, columns, right)
    m.each(0, steps, step)
    return [a, pivots, order]


# -- reflections -----------------------------------------------------------------------------------


def reflection(m, a, k, first):
    """Compute a reflection that makes a column zero below row ``first``; its vector replaces the
    column.

    The element of the vector at ``first`` is 1 and not stored. Returns the new element of the
    column there, and the factor. As in LAPACK, a column of zeros is left alone.
    """
    rows, _ = a.shape
    head = a[first, k]
    (most,) = m.fold(first + 1, rows, [m.abs(head)], lambda i, most: [
        m.larger(most, m.abs(a[i, k]))])
    inverse = inverse_of(m, most)

    def square(i, total):
        x = a[i, k] * inverse
        return [m.fma(x, x, total)]
    (below,) = m.fold(first + 1, rows, [m.number(0)], square)
    none = below <= 0
    x = head * inverse
    length = -m.copysign(m.sqrt(m.fma(x, x, below)), x)
    zero = m.number(0)
    scale = m.select(none, zero, 1 / (x - length))
    m.each(first + 1, rows, lambda i: put(a, i, k, a[i, k] * inverse * scale))
    end, factor = length / inverse, (length - x) / length
    return m.select(none, head, end), m.select(none, zero, factor)


def reflect(m, a, k, first, factor, x, start, stop) -> None:
    """Reflect some columns of ``x`` by the vector in column ``k`` of ``a``."""
    rows, _ = a.shape

    def columns(strip):
        sums = m.fold(first + 1, rows, [x[first, c] for c in strip], lambda i, *sums: more(
            m, sums, a[i, k], [x[i, c] for c in strip]))
        sums = [total * factor for total in sums]
        for c, total in zip(strip, sums):
            x[first, c] = x[first, c] - total

        def row(i):
            moved = less(m, [x[i, c] for c in strip], a[i, k], sums)
            for c, value in zip(strip, moved):
                x[i, c] = value
        m.each(first + 1, rows, row)
    m.strips(start, stop, columns)


def triangularize(m, a):
    """Make a matrix upper triangular by reflections: their vectors are below, their factors
    returned."""
    rows, columns = a.shape
    steps = min(rows, columns)
    factors = m.matrix(steps)

    def step(k):
        end, factor = reflection(m, a, k, k)
        a[k, k] = end
        factors[k, 0] = factor
        reflect(m, a, k, k, factor, a, k + 1, columns)
    m.each(0, steps, step)
    return factors


def product_of(m, a, factors, columns: int):
    """The product of reflections, in ``columns`` columns."""
    q = identity(m, a.shape[0], columns)
    m.each(0, factors.shape[0], lambda k: reflect(m, a, k, k, factors[k, 0], q, k, columns),
           backwards=True)
    return q


def householder_product(m, a, factors):
    """The product of reflections by vectors in the columns of a matrix."""
    return [product_of(m, a, factors, a.shape[1])]


def qr(m, a, inner: int):
    """An orthogonal factor of ``inner`` columns, and an upper triangular one."""
    _, columns = a.shape
    factors = triangularize(m, a)
    q, r = product_of(m, a, factors, inner), m.matrix(inner, columns)

    def row(i):
        m.each(0, i, lambda j: put(r, i, j, m.number(0)))
        m.each(i, columns, lambda j: put(r, i, j, a[i, j]))
    steps = min(inner, columns)
    m.each(0, steps, row)
    m.each(steps, inner, lambda i: m.each(0, columns, lambda j: put(r, i, j, m.number(0))))
    return [q, r]
