"""Factorisations of small matrices, many at a time: a matrix in each lane.

The algorithms here are written once, for any *machine*: :class:`Arrays`, which runs them in NumPy,
says what a machine offers, and the code generator has one that writes LLVM code. A value is a
number in each lane, an index is one number for all lanes. An algorithm takes matrices, which it may
overwrite, and gives matrices of results; its loops and sums go through the machine, so that in
generated code they are loops, or for the smallest matrices are written out.

Sums go along rows and columns that are done (the "left-looking" order), several of them at a time
in registers, for memory is what such code waits for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from .names import MATRICES

if TYPE_CHECKING:
    from .nest import Buffer, Extern

__all__ = ["ALGORITHMS", "Arrays", "is_small", "matrices", "on_small"]

_LARGEST, _LARGEST_ALONE, _FEW = 32, 8, 4
"""Rows or columns at most: of many matrices, and of fewer than a few."""


def is_small(dtype: np.dtype, shape: Sequence[int], *others: int) -> bool:
    """Whether matrices, in the last two dimensions, are best done in lanes."""
    count, sizes = prod(shape[:-2]), (*shape[-2:], *others)
    return dtype.char in "fd" and min(count, *sizes) > 0 and max(sizes) <= (
        _LARGEST if count >= _FEW else _LARGEST_ALONE)


def on_small(algorithm: str, outputs: Sequence[Buffer], inputs: Sequence[Buffer],
             **options) -> Extern:
    """A statement that runs an algorithm on each of many matrices; the first input is some."""
    from .build import extern
    return extern(MATRICES, outputs, inputs, algorithm=algorithm, lanes=1, tasks=1,
                  options=tuple(sorted(options.items())), rank=inputs[0].ndim - 2)


# -- a machine -------------------------------------------------------------------------------------


class Matrix:
    """A matrix in each lane: ``a[i, j]`` is a value, and can be set.

    One of both indices may be an integer in each lane, other than that of the next lane.
    """

    def __init__(self, elements: np.ndarray):
        self.elements = elements

    @property
    def shape(self) -> tuple[int, int]:
        return self.elements.shape[:2]

    @property
    def T(self) -> Matrix:
        """The transposed matrix, in the same memory."""
        return Matrix(self.elements.swapaxes(0, 1))

    def __getitem__(self, index):
        return self.elements[(*index, np.arange(self.elements.shape[2]))]

    def __setitem__(self, index, value):
        self.elements[(*index, np.arange(self.elements.shape[2]))] = value


class Arrays:
    """The machine that is NumPy: a lane for each matrix of a batch of ``count``."""

    def __init__(self, dtype: np.dtype, count: int):
        self.dtype, self.count = np.dtype(dtype), count

    def matrix(self, rows: int, columns: int = 1) -> Matrix:
        """Room for a matrix of numbers."""
        return Matrix(np.zeros((rows, columns, self.count), self.dtype))

    def integers(self, rows: int, columns: int = 1) -> Matrix:
        """Room for a matrix of integers."""
        return Matrix(np.zeros((rows, columns, self.count), np.int64))

    def number(self, x: float):
        """A number in all lanes."""
        return np.full(self.count, x, self.dtype)

    def integer(self, index):
        """An index as an integer in all lanes."""
        return np.full(self.count, index)

    # -- control

    def each(self, start, stop, body: Callable[[Any], None], backwards: bool = False) -> None:
        """Run a body for indices in order."""
        for i in (reversed(range(start, stop)) if backwards else range(start, stop)):
            body(i)

    def strips(self, start, stop, body: Callable[[Sequence], None]) -> None:
        """Run a body for indices in any order, some at a time."""
        for i in range(start, stop):
            body([i])

    def fold(self, start, stop, states: Sequence, step: Callable, backwards: bool = False) -> list:
        """Carry values through a loop: ``states = step(k, *states)``."""
        def body(k):
            nonlocal states
            states = list(step(k, *states))
        self.each(start, stop, body, backwards)
        return list(states)

    def until_none(self, body: Callable[[], Any], most: int) -> None:
        """Run a body as long as it answers yes in some lane, so often at most."""
        for _ in range(most):
            if not body().any():
                break

    def when(self, some, body: Callable[[], None]) -> None:
        """Run a body that changes nothing in lanes of no, unless that is all of them."""
        if some.any():
            body()

    # -- numbers

    def fma(self, a, b, c):
        """``a * b + c``."""
        return a * b + c

    def sqrt(self, x):
        return np.sqrt(x)

    def abs(self, x):
        return np.abs(x)

    def larger(self, a, b):
        """The larger of two numbers; NaN is largest."""
        return np.maximum(a, b)

    def copysign(self, size, sign):
        return np.copysign(size, sign)

    def select(self, condition, a, b):
        """``a`` where the condition holds, else ``b``."""
        return np.where(condition, a, b)

    def same(self, a, b):
        """Whether integers are equal."""
        return a == b

    def is_nan(self, x):
        return np.isnan(x)

    def exchange(self, a, i, other, columns: int) -> None:
        """Exchange a row with one further down, in each lane another."""
        def swap(j):
            x = a[i, j]
            a[i, j] = a[other, j]
            a[other, j] = x
        self.each(0, columns, swap)


def matrices(call: Extern, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """What a call of an algorithm means, for the interpreter."""
    params = dict(call.params)
    rank, algorithm = params["rank"], params["algorithm"]
    options = dict(params["options"])
    count = int(np.prod(arrays[0].shape[:rank]))
    lanes = [Matrix(np.moveaxis(x.reshape(count, *_rows_and_columns(x.shape[rank:])), 0, -1).copy())
             for x in arrays]
    with np.errstate(all="ignore"):
        results = ALGORITHMS[algorithm](Arrays(arrays[0].dtype, count), *lanes, **options)
    return tuple(np.ascontiguousarray(np.moveaxis(result.elements, -1, 0), b.dtype).reshape(b.shape)
                 for result, b in zip(results, call.outputs, strict=True))


def _rows_and_columns(shape: Sequence[int]) -> tuple[int, int]:
    return (shape[0], shape[1]) if len(shape) == 2 else (shape[0], 1)


# -- what algorithms share -------------------------------------------------------------------------


def _less(m, sums: Sequence, x, others: Sequence) -> list:
    """Sums less products with one number."""
    return [m.fma(-x, y, s) for s, y in zip(sums, others)]


def _more(m, sums: Sequence, x, others: Sequence) -> list:
    return [m.fma(x, y, s) for s, y in zip(sums, others)]


def _inverse(m, x):
    """``1 / x``, but never infinite: what it is multiplied with may be zero."""
    most = float(np.finfo(m.dtype).max)
    inverse = 1 / x
    return m.select(m.abs(inverse) > most, m.copysign(m.number(most), x), inverse)


def _each_element(m, a, body: Callable[[Any, Any], None]) -> None:
    rows, columns = a.shape
    m.each(0, rows, lambda i: m.each(0, columns, lambda j: body(i, j)))


def _set(a, i, j, value) -> None:
    a[i, j] = value


def _fill(m, a, value) -> None:
    _each_element(m, a, lambda i, j: _set(a, i, j, value))


def identity(m, rows: int, columns: int):
    """Ones on the diagonal."""
    a = m.matrix(rows, columns)
    _fill(m, a, m.number(0))
    m.each(0, min(rows, columns), lambda i: _set(a, i, i, m.number(1)))
    return a


def _largest(m, a):
    """The greatest absolute value of a matrix."""
    rows, columns = a.shape
    return m.fold(0, rows, [m.number(0)], lambda i, most: m.fold(
        0, columns, [most], lambda j, most: [m.larger(most, m.abs(a[i, j]))]))[0]


# -- triangles -------------------------------------------------------------------------------------


def cholesky(m, a):
    """The lower factor of symmetric matrices; NaN where they are not positive definite."""
    n, _ = a.shape

    def column(j):
        (rest,) = m.fold(0, j, [a[j, j]], lambda k, rest: _less(m, [rest], a[j, k], [a[j, k]]))
        root = m.sqrt(m.select(rest > 0, rest, m.number(np.nan)))
        inverse = 1 / root
        a[j, j] = root

        def rows(strip):
            sums = m.fold(0, j, [a[i, j] for i in strip], lambda k, *sums: _less(
                m, sums, a[j, k], [a[i, k] for i in strip]))
            for i, total in zip(strip, sums):
                a[i, j] = total * inverse
        m.strips(j + 1, n, rows)
    m.each(0, n, column)
    failed = m.is_nan(a[n - 1, n - 1])  # what comes after a NaN is one
    m.when(failed, lambda: _each_element(m, a, lambda i, j: _set(
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
    m.each(0, n, lambda i: _set(inverses, i, 0, m.number(1) if unit_diagonal else 1 / a[i, i]))

    def strip(strip):
        def row(i):
            known = (0, i) if lower else (i + 1, n)
            sums = m.fold(*known, [x[i, c] for c in strip], lambda k, *sums: _less(
                m, sums, a[i, k], [x[k, c] for c in strip]))
            inverse = inverses[i, 0]
            for c, total in zip(strip, sums):
                x[i, c] = total if unit_diagonal else total * inverse
        m.each(0, n, row, backwards=not lower)
    m.strips(0, columns, strip)
    return [b]


def lu(m, a):
    """Both factors in one matrix; the rows that rows were exchanged with; the order that gives."""
    rows, columns = a.shape
    steps = min(rows, columns)
    pivots, order = m.integers(steps), m.integers(rows)
    m.each(0, rows, lambda i: _set(order, i, 0, m.integer(i)))

    def step(k):
        def below(strip):
            sums = m.fold(0, k, [a[i, k] for i in strip], lambda p, *sums: _less(
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
        inverse = _inverse(m, a[k, k])
        m.each(k + 1, rows, lambda i: _set(a, i, k, a[i, k] * inverse))

        def right(strip):
            sums = m.fold(0, k, [a[k, j] for j in strip], lambda p, *sums: _less(
                m, sums, a[k, p], [a[p, j] for j in strip]))
            for j, total in zip(strip, sums):
                a[k, j] = total
        m.strips(k + 1, columns, right)
    m.each(0, steps, step)
    return [a, pivots, order]


# -- reflections -----------------------------------------------------------------------------------


def _reflection(m, a, k, first):
    """Find what makes a column zero below row ``first``: its vector takes the place of the column.

    Of the vector, the element at ``first`` is 1 and not stored. What the element of the column
    becomes there, and the factor, are given. As in LAPACK, a column of zeros is left alone.
    """
    rows, _ = a.shape
    head = a[first, k]
    (most,) = m.fold(first + 1, rows, [m.abs(head)], lambda i, most: [
        m.larger(most, m.abs(a[i, k]))])
    inverse = _inverse(m, most)

    def square(i, total):
        x = a[i, k] * inverse
        return [m.fma(x, x, total)]
    (below,) = m.fold(first + 1, rows, [m.number(0)], square)
    none = below <= 0
    x = head * inverse
    end = m.select(none, head, -m.copysign(m.sqrt(m.fma(x, x, below)) * most, head))
    factor = m.select(none, m.number(0), (end - head) / end)
    scale = m.select(none, m.number(0), _inverse(m, head - end))
    m.each(first + 1, rows, lambda i: _set(a, i, k, a[i, k] * scale))
    return end, factor


def _reflect(m, a, k, first, factor, x, start, stop) -> None:
    """Reflect some columns of ``x`` by the vector in column ``k`` of ``a``."""
    rows, _ = a.shape

    def columns(strip):
        sums = m.fold(first + 1, rows, [x[first, c] for c in strip], lambda i, *sums: _more(
            m, sums, a[i, k], [x[i, c] for c in strip]))
        sums = [total * factor for total in sums]
        for c, total in zip(strip, sums):
            x[first, c] = x[first, c] - total

        def row(i):
            moved = _less(m, [x[i, c] for c in strip], a[i, k], sums)
            for c, value in zip(strip, moved):
                x[i, c] = value
        m.each(first + 1, rows, row)
    m.strips(start, stop, columns)


def _triangularize(m, a):
    """Make a matrix upper triangular by reflections; their vectors below, their factors."""
    rows, columns = a.shape
    steps = min(rows, columns)
    factors = m.matrix(steps)

    def step(k):
        end, factor = _reflection(m, a, k, k)
        a[k, k] = end
        factors[k, 0] = factor
        _reflect(m, a, k, k, factor, a, k + 1, columns)
    m.each(0, steps, step)
    return factors


def _product(m, a, factors, columns: int):
    """The product of reflections, in so many columns."""
    q = identity(m, a.shape[0], columns)
    m.each(0, factors.shape[0], lambda k: _reflect(m, a, k, k, factors[k, 0], q, k, columns),
           backwards=True)
    return q


def householder_product(m, a, factors):
    """The product of reflections by vectors in the columns of a matrix."""
    return [_product(m, a, factors, a.shape[1])]


def qr(m, a, inner: int):
    """An orthogonal factor of ``inner`` columns, and an upper triangular one."""
    _, columns = a.shape
    factors = _triangularize(m, a)
    q, r = _product(m, a, factors, inner), m.matrix(inner, columns)

    def row(i):
        m.each(0, i, lambda j: _set(r, i, j, m.number(0)))
        m.each(i, columns, lambda j: _set(r, i, j, a[i, j]))
    steps = min(inner, columns)
    m.each(0, steps, row)
    m.each(steps, inner, lambda i: m.each(0, columns, lambda j: _set(r, i, j, m.number(0))))
    return [q, r]


ALGORITHMS: Mapping[str, Callable[..., list]] = {
    "cholesky": cholesky, "lu": lu, "triangular_solve": triangular_solve, "qr": qr,
    "householder_product": householder_product}
"""The algorithms by name."""
