"""Operations on stacks of matrices, for derivatives of factorisations."""

from __future__ import annotations

import numpy as np

from .._core.types import ShapedArray, typeof
from ..errors import explain
from .arith import add
from .base import reduce_sum, transpose
from .compare import eq, ge, select_n
from .complex_parts import conj
from .convert import convert
from .create import broadcasted_iota, full_like
from .dot import dot_general
from .operands import letter
from .precision import Precision

__all__ = ["adjoint", "diagonal", "eye_like", "matrix_product", "matrix_type", "on_diagonal",
           "square_type", "swapped", "tril", "triu"]


def matrix_type(function: str, x: ShapedArray) -> ShapedArray:
    """The type of an operand, which must be a stack of matrices of a dtype of LAPACK."""
    if x.ndim < 2:
        raise ValueError(explain(f"tanx.lax.linalg.{function}",
                                 "the operand must have at least two dimensions.",
                                 f"operand: {x}"))
    if np.dtype(x.dtype).char not in "fdFD":
        raise NotImplementedError(explain(
            f"tanx.lax.linalg.{function}", "works on floats and complex numbers of 32 or 64 bits.",
            f"operand: {x}", hint="convert it first: x.astype('float32')."))
    return x


def square_type(function: str, x: ShapedArray) -> ShapedArray:
    """As :func:`matrix_type`, of square matrices."""
    if matrix_type(function, x).shape[-1] != x.shape[-2]:
        raise ValueError(explain(f"tanx.lax.linalg.{function}", "matrices must be square.",
                                 f"operand: {x}"))
    return x


def swapped(x):
    """The transposed matrices."""
    rank = typeof(x).ndim
    return transpose(x, (*range(rank - 2), rank - 1, rank - 2))


def adjoint(x):
    """The conjugate transpose of matrices."""
    return conj(swapped(x)) if letter(typeof(x).dtype) == "c" else swapped(x)


def matrix_product(x, y):
    """The products of two stacks of matrices of the same length."""
    batch = tuple(range(typeof(x).ndim - 2))
    rank = len(batch)
    return dot_general(x, y, (((rank + 1,), (rank,)), (batch, batch)),
                       (Precision.HIGHEST, Precision.HIGHEST))


def _places(x):
    shape = typeof(x).shape
    return (broadcasted_iota(np.int32, shape, len(shape) - 2),
            broadcasted_iota(np.int32, shape, len(shape) - 1))


def tril(x, strictly: bool = False):
    """Matrices with zeros above the diagonal; on it too, if ``strictly``."""
    kept = _from_diagonal(x, -1 if strictly else 0)
    return select_n(kept, full_like(x, 0), x)


def triu(x, strictly: bool = False):
    """Matrices with zeros below the diagonal; on it too, if ``strictly``."""
    dropped = _from_diagonal(x, 0 if strictly else -1)
    return select_n(dropped, x, full_like(x, 0))


def _from_diagonal(x, k: int):
    """Which elements are on the ``k``-th diagonal or below it; the equations are those of JAX."""
    shape = typeof(x).shape
    row = broadcasted_iota(np.int32, shape, len(shape) - 2)
    return ge(add(row, np.int32(k)), broadcasted_iota(np.int32, shape, len(shape) - 1))


def eye_like(x):
    """Identity matrices of the shape and dtype of others."""
    return convert(eq(*_places(x)), typeof(x).dtype)


def on_diagonal(x):
    """Matrices with zeros everywhere but on the diagonal."""
    return select_n(eq(*_places(x)), full_like(x, 0), x)


def diagonal(x):
    """The diagonals of square matrices."""
    rank = typeof(x).ndim
    return reduce_sum(on_diagonal(x), (rank - 1,))


