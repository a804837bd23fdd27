"""The machine of algorithms on small matrices, in NumPy, and the matrices they are written with.

An algorithm (``factors.py``, ``spectra.py``, ``schur.py``) is written once, for any *machine*:
either :class:`Arrays`, which runs it in NumPy, or that of code generation, which writes LLVM code.
A value is a number in each lane, an index is one number for all lanes; the matrices of a batch are
in lanes. An algorithm takes matrices, which it may overwrite, and returns matrices of results. Its
loops and sums go through the machine, so that generated code has loops, or, for the smallest
matrices, is written out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .factors import cholesky, householder_product, lu, qr, triangular_solve
from .schur import eig
from .spectra import eigh, svd

if TYPE_CHECKING:
    from ..nest import Extern

__all__ = ["ALGORITHMS", "Arrays", "matrices"]

ALGORITHMS: Mapping[str, Callable[..., list]] = {
    "cholesky": cholesky, "lu": lu, "triangular_solve": triangular_solve, "qr": qr,
    "householder_product": householder_product, "eig": eig, "eigh": eigh, "svd": svd}
"""The algorithms by name."""


class Matrix:
    """A matrix in each lane: ``a[i, j]`` is a value, and can be set.

    One of the indices may be an integer per lane.
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
    """NumPy as a machine: a lane for each matrix of a batch of ``count``."""

    def __init__(self, dtype: np.dtype, count: int):
        self.dtype, self.count = np.dtype(dtype), count

    def matrix(self, rows: int, columns: int = 1) -> Matrix:
        """Memory for a matrix of numbers."""
        return Matrix(np.zeros((rows, columns, self.count), self.dtype))

    def integers(self, rows: int, columns: int = 1) -> Matrix:
        """Memory for a matrix of integers."""
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
        """Repeat a body while it returns true in some lane, at most so often."""
        for _ in range(most):
            if not body().any():
                break

    def when(self, some, body: Callable[[], None]) -> None:
        """Run a body unless the condition is false in all lanes; it changes only lanes where it
        holds."""
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

    def least(self, integers):
        """The least of the integers in lanes, as an index."""
        return int(integers.min())

    def greatest(self, integers):
        """The greatest of the integers in lanes, as an index."""
        return int(integers.max())

    def is_nan(self, x):
        return np.isnan(x)

    def exchange(self, a, i, other, columns: int) -> None:
        """Exchange a row with one further down, which may differ between lanes."""
        def swap(j):
            x = a[i, j]
            a[i, j] = a[other, j]
            a[other, j] = x
        self.each(0, columns, swap)


def matrices(call: Extern, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """The meaning of a call of an algorithm, for the interpreter."""
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
