"""Matrices whose elements follow a pattern: by a formula, or copied from a few vectors.

A pattern that copies elements of a vector is an array of indices, known while tracing; one gather
builds the matrix, for batches too.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtypes, lax
from ... import numpy as jnp
from ..._api.jit import library_jit
from ...numpy._promotion import as_operand, check_arraylike, common_shape, inexact, typeof
from ._operands import error

__all__ = ["block_diag", "circulant", "companion", "convolution_matrix", "dft", "fiedler",
           "fiedler_companion", "hadamard", "hankel", "helmert", "hilbert", "invhilbert",
           "invpascal", "leslie", "pascal", "toeplitz"]


def _vector(function: str, x, name: str = "a"):
    """An operand with at least one dimension."""
    x = as_operand(f"scipy.linalg.{function}", x)
    if x.ndim == 0:
        raise error(function, f"{name} needs at least one dimension.", f"{name}: {typeof(x)}")
    return x


def _joined(*parts):
    """Vectors of several batches, one after the other."""
    lead = common_shape(*(part.shape[:-1] for part in parts))
    return jnp.concatenate([jnp.broadcast_to(part, (*lead, part.shape[-1])) for part in parts], -1)


def _placed(vector, index: np.ndarray):
    """The matrix whose elements are those of ``vector`` at ``index``."""
    if not index.size:
        return jnp.zeros((*vector.shape[:-1], *index.shape), vector.dtype)
    return jnp.take(vector, index, axis=-1, mode="clip")


def _rows_and_columns(m: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(m)[:, None], np.arange(n)[None, :]


# -- elements of vectors ---------------------------------------------------------------------------


@library_jit
def toeplitz(c, r=None):
    """The matrix with constant diagonals: first column ``c``, first row ``r``.

    The first element of ``r`` is ignored; without ``r`` it is the conjugate of ``c``.

    >>> tanx.scipy.linalg.toeplitz(jnp.array([1, 2, 3]), jnp.array([1, 8, 9]))
    Array([[1, 8, 9],
           [2, 1, 8],
           [3, 2, 1]], dtype=int32)
    """
    c = jnp.atleast_1d(as_operand("scipy.linalg.toeplitz", c))
    r = jnp.conj(c) if r is None else jnp.atleast_1d(as_operand("scipy.linalg.toeplitz", r))
    rows, columns = _rows_and_columns(c.shape[-1], r.shape[-1])
    return _placed(_joined(jnp.flip(r[..., 1:], -1), c), rows - columns + r.shape[-1] - 1)


@library_jit
def hankel(c, r=None):
    """The matrix with constant antidiagonals: first column ``c``, last row ``r``.

    The first element of ``r`` is ignored; without ``r`` it is zeros.

    >>> tanx.scipy.linalg.hankel(jnp.array([1, 2, 3]), jnp.array([3, 8, 9]))
    Array([[1, 2, 3],
           [2, 3, 8],
           [3, 8, 9]], dtype=int32)
    """
    c = _vector("hankel", c, "c")
    r = jnp.zeros_like(c) if r is None else _vector("hankel", r, "r")
    return _placed(_joined(c, r[..., 1:]), operator.add(
        *_rows_and_columns(c.shape[-1], r.shape[-1])))


@library_jit
def circulant(c):
    """The square matrix whose columns are ``c``, each rotated down by one more place.

    >>> tanx.scipy.linalg.circulant(jnp.array([1, 2, 3]))
    Array([[1, 3, 2],
           [2, 1, 3],
           [3, 2, 1]], dtype=int32)
    """
    c = jnp.atleast_1d(as_operand("scipy.linalg.circulant", c))
    n = c.shape[-1]
    rows, columns = _rows_and_columns(n, n)
    return _placed(c, (rows - columns) % max(n, 1))


def _monic(a):
    """``0, 1, -a[1] / a[0], -a[2] / a[0], …``: the elements of companion matrices."""
    ends = jnp.array([0, 1], a.dtype)
    return _joined(ends, -a[..., 1:] / a[..., :1])


@library_jit
def companion(a):
    """The companion matrix of the polynomial with coefficients ``a``, the highest power first.

    Its eigenvalues are the roots. The first coefficient must not be 0, which is not checked.

    >>> tanx.scipy.linalg.companion(jnp.array([2., -6., 4.]))
    Array([[ 3., -2.],
           [ 1.,  0.]], dtype=float32)
    """
    a = jnp.atleast_1d(inexact("scipy.linalg.companion", a))
    n = a.shape[-1] - 1
    if n < 1:
        raise error("companion", "takes at least two coefficients.", f"a: {typeof(a)}")
    index = np.eye(n, k=-1, dtype=int)
    index[0] = np.arange(2, n + 2)
    return _placed(_monic(a), index)


@library_jit
def fiedler_companion(a):
    """Fiedler's companion matrix: as :func:`companion`, with five diagonals (Fiedler 2003).

    >>> tanx.scipy.linalg.fiedler_companion(jnp.array([1., -6., 11., -6.]))
    Array([[  6., -11.,   1.],
           [  1.,   0.,   0.],
           [  0.,   6.,   0.]], dtype=float32)
    """
    a = jnp.atleast_1d(inexact("scipy.linalg.fiedler_companion", a))
    n = a.shape[-1] - 1
    if n < 0:
        raise error("fiedler_companion", "takes at least one coefficient.", f"a: {typeof(a)}")
    index = np.zeros((n, n + 2), int)  # two extra columns: rows may end early
    for row in range(n):
        if row % 2:
            index[row, max(row - 2, 0)] = 1
        else:
            index[row, max(row - 1, 0)] = row + 2
            index[row, row + 1:row + 3] = row + 3, 1
    return _placed(_monic(a), index[:, :n])


@library_jit
def leslie(f, s):
    """Leslie's matrix of a population by age: births ``f`` in the first row, survivors ``s`` below.

    >>> tanx.scipy.linalg.leslie(jnp.array([0.1, 2.0, 1.0]), jnp.array([0.5, 0.8]))
    Array([[0.1, 2. , 1. ],
           [0.5, 0. , 0. ],
           [0. , 0.8, 0. ]], dtype=float32)
    """
    check_arraylike("scipy.linalg.leslie", f, s)
    f, s = jnp.atleast_1d(f), jnp.atleast_1d(s)
    n = f.shape[-1]
    if n < 2 or s.shape[-1] != n - 1:
        raise error("leslie", "takes two numbers or more in f, and one less in s.",
                    f"f: {typeof(f)}", f"s: {typeof(s)}")
    index = np.diag(np.arange(n + 1, 2 * n), -1)
    index[0] = np.arange(1, n + 1)
    return _placed(_joined(jnp.zeros(1, f.dtype), f, s), index)


@library_jit
def fiedler(a):
    """Fiedler's symmetric matrix of the distances ``abs(a[i] - a[j])``.

    >>> tanx.scipy.linalg.fiedler(jnp.array([1, 4, 9]))
    Array([[0, 3, 8],
           [3, 0, 5],
           [8, 5, 0]], dtype=int32)
    """
    a = jnp.atleast_1d(as_operand("scipy.linalg.fiedler", a))
    return jnp.abs(a[..., :, None] - a[..., None, :])


@library_jit(static_argnames=("n", "mode"))
def convolution_matrix(a, n: int, mode: str = "full"):
    """The matrix that convolves vectors of length ``n`` with ``a``, as ``jnp.convolve`` does.

    ``mode`` is ``"full"``, ``"same"`` or ``"valid"``: the rows of the full matrix to keep.

    >>> tanx.scipy.linalg.convolution_matrix(jnp.array([1, 2]), 3)
    Array([[1, 0, 0],
           [2, 1, 0],
           [0, 2, 1],
           [0, 0, 2]], dtype=int32)
    """
    a, n = _vector("convolution_matrix", a), operator.index(n)
    size = a.shape[-1]
    if n < 1 or size < 1:
        raise error("convolution_matrix", "n and the length of a must be at least 1.",
                    f"a: {typeof(a)}", f"n: {n}")
    cut = min(n, size) - 1
    before = {"full": 0, "same": cut // 2, "valid": cut}.get(mode)
    if before is None:
        raise error("convolution_matrix", "there is no such mode.", f"mode:  {mode!r}",
                    "known: 'full', 'same', 'valid'")
    after = {"full": 0, "same": cut - before, "valid": cut}[mode]
    rows, columns = _rows_and_columns(size + n - 1, n)
    index = (rows - columns)[before:size + n - 1 - after]
    beyond = jnp.zeros(1, a.dtype)
    return _placed(_joined(a, beyond), np.where((index >= 0) & (index < size), index, size))


@library_jit
def block_diag(*arrs):
    """Matrices along the diagonal of a larger one, zeros elsewhere; a vector counts as one row.

    >>> tanx.scipy.linalg.block_diag(jnp.ones((2, 2), int), jnp.array([3, 4]))
    Array([[1, 1, 0, 0],
           [1, 1, 0, 0],
           [0, 0, 3, 4]], dtype=int32)
    """
    if not arrs:
        return jnp.zeros((1, 0))
    check_arraylike("scipy.linalg.block_diag", *arrs)
    dtype = jnp.result_type(*arrs)
    blocks = [jnp.atleast_2d(x).astype(dtype) for x in arrs]
    if any(x.ndim > 2 for x in blocks):
        raise error("block_diag", "takes arrays of at most two dimensions.",
                    *(f"array {i}: {typeof(x)}" for i, x in enumerate(blocks)))
    width, start, rows = sum(x.shape[1] for x in blocks), 0, []
    for x in blocks:
        rows.append(jnp.pad(x, ((0, 0), (start, width - start - x.shape[1]))))
        start += x.shape[1]
    return jnp.concatenate(rows, 0)


# -- formulas --------------------------------------------------------------------------------------


def _exact(m: int, n: int, element: Callable[[int, int], Any]):
    """A matrix of integers of any size, each rounded once to the default floats."""
    values = np.array([[_rounded(element(i, j)) for j in range(n)] for i in range(m)], float)
    with np.errstate(over="ignore"):
        return jnp.asarray(values.reshape(m, n).astype(dtypes.default_float()))


def _rounded(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)


def hilbert(n: int):
    """Hilbert's matrix of size ``n``: ``1 / (i + j + 1)``.

    >>> tanx.scipy.linalg.hilbert(2)
    Array([[1.        , 0.5       ],
           [0.5       , 0.33333334]], dtype=float32)
    """
    i, j = (lax.broadcasted_iota(dtypes.default_float(), (n, n), axis) for axis in (0, 1))
    return 1 / (i + j + 1)


def invhilbert(n: int):
    """The inverse of Hilbert's matrix of size ``n``; its integers are rounded to floats once.

    >>> tanx.scipy.linalg.invhilbert(2)
    Array([[ 4., -6.],
           [-6., 12.]], dtype=float32)
    """
    def element(i: int, j: int) -> int:
        return (-1) ** (i + j) * (i + j + 1) * math.comb(n + i, n - j - 1) * math.comb(
            n + j, n - i - 1) * math.comb(i + j, i) ** 2
    return _exact(n, n, element)


_KINDS = ("symmetric", "lower", "upper")


def _kind(function: str, kind: str | None) -> str:
    kind = "symmetric" if kind is None else kind
    if kind not in _KINDS:
        raise error(function, "there is no such kind.", f"kind:  {kind!r}",
                    f"known: {', '.join(map(repr, _KINDS))}")
    return kind


def pascal(n: int, kind: str | None = None):
    """Pascal's matrix of binomial coefficients: ``"symmetric"``, ``"lower"`` or ``"upper"``.

    >>> tanx.scipy.linalg.pascal(3)
    Array([[1., 1., 1.],
           [1., 2., 3.],
           [1., 3., 6.]], dtype=float32)
    """
    elements = {"symmetric": lambda i, j: math.comb(i + j, i), "lower": math.comb,
                "upper": lambda i, j: math.comb(j, i)}
    return _exact(n, n, elements[_kind("pascal", kind)])


def invpascal(n: int, kind: str | None = None):
    """The inverse of :func:`pascal`; its integers are rounded to floats once.

    >>> tanx.scipy.linalg.invpascal(3, "lower")
    Array([[ 1.,  0.,  0.],
           [-1.,  1.,  0.],
           [ 1., -2.,  1.]], dtype=float32)
    """
    def lower(i: int, j: int) -> int:
        return (-1) ** (i + j) * math.comb(i, j)

    def symmetric(i: int, j: int) -> int:
        return sum(lower(k, i) * lower(k, j) for k in range(max(i, j), n))
    elements = {"symmetric": symmetric, "lower": lower, "upper": lambda i, j: lower(j, i)}
    return _exact(n, n, elements[_kind("invpascal", kind)])


def hadamard(n: int, dtype=int):
    """Hadamard's matrix of 1 and -1 with orthogonal rows; ``n`` is a power of 2.

    >>> tanx.scipy.linalg.hadamard(2)
    Array([[ 1,  1],
           [ 1, -1]], dtype=int32)
    """
    n = operator.index(n)
    if n < 1 or n & (n - 1):
        raise error("hadamard", "n must be a power of 2.", f"n: {n}")
    i, j = (lax.broadcasted_iota(np.int32, (n, n), axis) for axis in (0, 1))
    return (1 - 2 * (lax.population_count(i & j) & 1)).astype(dtype)


def helmert(n: int, full: bool = False):
    """Helmert's matrix: orthonormal rows that compare each element with the mean of those before.

    With ``full``, the first row is for the mean of all, and the matrix is square.

    >>> tanx.scipy.linalg.helmert(2)
    Array([[ 0.70710677, -0.70710677]], dtype=float32)
    """
    n = operator.index(n)
    if n < 1:
        raise error("helmert", "n must be at least 1.", f"n: {n}")
    row, column = np.arange(n, dtype=float)[:, None], np.arange(n, dtype=float)[None, :]
    sizes = np.where(column < row, 1, np.where(column == row, -row, 0))
    sizes[0] = 1
    lengths = np.sqrt(np.where(row == 0, n, row * (row + 1)))
    rows = (sizes / lengths)[0 if full else 1:]
    return jnp.asarray(rows.astype(dtypes.default_float()))


def dft(n: int, scale: str | None = None, *, dtype=None):
    """The matrix of the discrete Fourier transform: ``exp(-2j * pi * i * j / n)``.

    ``scale`` is a divisor: ``"sqrtn"``, which makes it unitary, or ``"n"``.

    >>> tanx.scipy.linalg.dft(2).real
    Array([[ 1.,  1.],
           [ 1., -1.]], dtype=float32)
    """
    if scale not in (None, "sqrtn", "n"):
        raise error("dft", "there is no such scale.", f"scale: {scale!r}",
                    "known: None, 'sqrtn', 'n'")
    dtype = dtypes.requested_dtype(
        complex if dtype is None else dtype, "tanx.scipy.linalg.dft")
    if np.dtype(dtype).kind != "c":
        raise error("dft", "dtype must be complex.", f"dtype: {dtype}")
    n = max(int(n), 0)
    rows, columns = _rows_and_columns(n, n)
    # Angles are reduced to less than a turn exactly, so that the sine loses no digits.
    values = np.exp(-2j * np.pi * (rows * columns % max(n, 1)) / max(n, 1))
    divisor = {None: 1, "sqrtn": math.sqrt(n), "n": n}[scale]
    return jnp.asarray((values / max(divisor, 1)).astype(dtype))
