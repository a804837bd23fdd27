"""Grids of coordinates and of indices."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable

import numpy as np

from .. import dtypes
from .._api.batching import vmap
from ..errors import explain
from ..lax import _functions as lax
from ._assemble import concatenate, stack
from ._creation import arange, array, asarray, linspace
from ._promotion import as_operand, canonical_shape, promote_dtypes, type_like
from ._shape import expand_dims

__all__ = ["c_", "diag_indices", "diag_indices_from", "fromfunction", "index_exp", "indices",
           "ix_", "mask_indices", "meshgrid", "mgrid", "ogrid", "r_", "s_", "tril_indices",
           "tril_indices_from", "triu_indices", "triu_indices_from"]


# -- coordinates -----------------------------------------------------------------------------------


def meshgrid(*xi, copy=True, sparse=False, indexing="xy"):
    """The coordinates of a grid whose axes are the vectors ``xi``: a tuple, one array for each.

    With ``indexing="ij"`` dimension ``i`` belongs to the ``i``-th vector; with ``"xy"`` the first
    two are exchanged. ``sparse`` gives arrays that broadcast to the grid instead of filling it.

    >>> jnp.meshgrid(jnp.arange(2), jnp.arange(3))[0]
    Array([[0, 1],
           [0, 1],
           [0, 1]], dtype=int32)
    """
    vectors = [as_operand("meshgrid", x) for x in xi]
    if not copy:
        raise ValueError(explain("tanx.numpy.meshgrid", "copy must be True.", f"copy: {copy}"))
    if indexing not in ("xy", "ij"):
        raise ValueError(explain("tanx.numpy.meshgrid", "indexing must be 'xy' or 'ij'.",
                                 f"indexing: {indexing!r}"))
    if any(x.ndim != 1 for x in vectors):
        raise ValueError(explain("tanx.numpy.meshgrid", "needs vectors.",
                                 *(f"argument {i}: {x.aval}" for i, x in enumerate(vectors))))
    swapped = indexing == "xy" and len(vectors) > 1
    if swapped:
        vectors[0], vectors[1] = vectors[1], vectors[0]
    grid = _axes_of_grid(vectors, sparse)
    if swapped:
        grid[0], grid[1] = grid[1], grid[0]
    return tuple(grid)


def _axes_of_grid(vectors, sparse: bool) -> list:
    """Each vector along a separate dimension, repeated along the others unless ``sparse``."""
    sizes = [x.shape[0] for x in vectors]
    return [lax.broadcast_in_dim(
        x, [n if i == d or not sparse else 1 for d, n in enumerate(sizes)], (i,))
        for i, x in enumerate(vectors)]


def _counted(function: str, along):
    """The numbers of a slice; an imaginary step gives their count."""
    if not isinstance(along, slice):
        raise TypeError(explain(f"tanx.numpy.{function}", "takes slices.", f"index: {along!r}",
                                hint=f"write tanx.numpy.{function}[0:3, 0:1:5j]."))
    start = 0 if along.start is None else along.start
    step = 1 if along.step is None else along.step
    if isinstance(step, complex | np.complexfloating):
        return linspace(start, along.stop, int(abs(complex(step).imag)))
    return arange(start, along.stop, step)


class _Grid:
    """Base of ``mgrid`` and ``ogrid``: indexed with slices, they return coordinates."""

    def __init__(self, name: str, sparse: bool):
        self._name, self._sparse = name, sparse

    def __getitem__(self, key):
        if isinstance(key, slice):
            return _counted(self._name, key)
        if not isinstance(key, tuple):
            _counted(self._name, key)
        vectors = promote_dtypes(*(_counted(self._name, along) for along in key))
        grid = _axes_of_grid(vectors, self._sparse)
        return grid if self._sparse else stack(grid)

    def __repr__(self) -> str:
        return f"tanx.numpy.{self._name}"


#: The coordinates of a grid in one array: ``mgrid[0:3, 0:1:5j]`` has shape (2, 3, 5).
mgrid = _Grid("mgrid", sparse=False)

#: The coordinates of a grid as a list of arrays that broadcast to it: ``ogrid[0:3, 0:1:5j]``.
ogrid = _Grid("ogrid", sparse=True)


class _Join:
    """Base of ``r_`` and ``c_``: indexed with arrays, numbers and slices, they join them."""

    def __init__(self, name: str, axis: int, ndmin: int, first: int):
        self._name = name
        self._axis, self._ndmin, self._first = axis, ndmin, first

    def __getitem__(self, key):
        items = list(key) if isinstance(key, tuple) else [key]
        axis, ndmin, first, matrix = self._axis, self._ndmin, self._first, ""
        if items and isinstance(items[0], str):
            directive, *items = items
            if directive in ("r", "c"):
                matrix = directive
            else:
                axis, ndmin, first = self._directive(directive)
        parts = [self._part(item, ndmin, first) for item in items]
        joined = concatenate(parts, axis)
        if matrix and joined.ndim == 1:
            joined = expand_dims(joined, 0 if matrix == "r" else 1)
        return joined

    def _directive(self, text: str) -> tuple[int, ...]:
        """Up to three numbers: the axis, the minimum rank, and where an item's dimensions start."""
        try:
            given = [int(number) for number in text.split(",")]
        except ValueError:
            given = []
        if not 1 <= len(given) <= 3:
            raise ValueError(explain(
                f"tanx.numpy.{self._name}", "the directive must be 'r', 'c', or one to three "
                "integers with commas between them.", f"directive: {text!r}"))
        defaults = (self._axis, self._ndmin, self._first)
        return (*given, *defaults[len(given):])

    def _part(self, item, ndmin: int, first: int):
        """One item as an array of at least ``ndmin`` dimensions."""
        x = _counted(self._name, item) if isinstance(item, slice) else asarray(item)
        new = ndmin - x.ndim
        if new <= 0:
            return x
        before = first % (new + 1)
        return expand_dims(x, (*range(before), *range(before + x.ndim, ndmin)))

    def __repr__(self) -> str:
        return f"tanx.numpy.{self._name}"


#: Joins along the first dimension: ``r_[0:3, 7, x]``; a string in front changes the axis.
r_ = _Join("r_", 0, 1, -1)

#: Joins vectors as columns: ``c_[x, y]``.
c_ = _Join("c_", -1, 2, 0)


class _Index:
    """Returns its index; always as a tuple if ``as_tuple``."""

    def __init__(self, name: str, as_tuple: bool):
        self._name, self._as_tuple = name, as_tuple

    def __getitem__(self, key):
        return (key,) if self._as_tuple and not isinstance(key, tuple) else key

    def __repr__(self) -> str:
        return f"tanx.numpy.{self._name}"


#: Builds an index from square brackets: ``s_[1:, None]``.
s_ = _Index("s_", as_tuple=False)

#: As ``s_``, always a tuple.
index_exp = _Index("index_exp", as_tuple=True)


def fromfunction(function, shape, *, dtype=float, **kwargs):
    """``function(i, j, …)`` of the indices of an array of ``shape``, for each of its elements.

    The function is mapped with :func:`tanx.vmap`: it sees one index at a time, and may return
    arrays. ``kwargs`` are passed to it as they are.

    >>> jnp.fromfunction(lambda i, j: 10 * i + j, (2, 3), dtype=int)
    Array([[ 0,  1,  2],
           [10, 11, 12]], dtype=int32)
    """
    shape = canonical_shape(shape, "tanx.numpy.fromfunction")
    mapped: Callable = functools.partial(function, **kwargs)
    for i in reversed(range(len(shape))):
        mapped = vmap(mapped, [0 if i == d else None for d in range(len(shape))])
    return mapped(*(arange(n, dtype=dtype) for n in shape))


# -- indices ---------------------------------------------------------------------------------------


def indices(dimensions, dtype=None, sparse=False):
    """The indices of an array of shape ``dimensions``, in one array with a leading dimension.

    With ``sparse``, a tuple of arrays that broadcast to that shape.

    >>> jnp.indices((2, 2))
    Array([[[0, 0],
            [1, 1]],
    <BLANKLINE>
           [[0, 1],
            [0, 1]]], dtype=int32)
    """
    dimensions = canonical_shape(dimensions, "tanx.numpy.indices")
    dtype = dtypes.requested_dtype(int if dtype is None else dtype, "tanx.numpy.indices")
    grid = [lax.broadcast_in_dim(
        lax.iota(dtype, n),
        [m if i == d or not sparse else 1 for d, m in enumerate(dimensions)], (i,))
        for i, n in enumerate(dimensions)]
    if sparse:
        return tuple(grid)
    return stack(grid) if grid else array([], dtype)


def ix_(*args):
    """Vectors of indices reshaped to select a grid: ``x[jnp.ix_(rows, columns)]``.

    >>> jnp.arange(9).reshape(3, 3)[jnp.ix_(jnp.array([0, 2]), jnp.array([1, 2]))]
    Array([[1, 2],
           [7, 8]], dtype=int32)
    """
    vectors = [as_operand("ix_", x) for x in args]
    for x in vectors:
        if x.ndim != 1:
            raise ValueError(explain("tanx.numpy.ix_", "needs vectors.", f"argument: {x.aval}"))
        if x.dtype == bool:
            raise NotImplementedError(explain(
                "tanx.numpy.ix_", "masks are not supported: their number of indices is not known "
                "while tracing.", f"argument: {x.aval}",
                hint="pass tanx.numpy.nonzero(mask, size=...)[0]."))
    return tuple(_axes_of_grid(vectors, sparse=True))


def diag_indices(n, ndim=2):
    """The indices of the diagonal of an array with ``ndim`` dimensions of size ``n``.

    >>> jnp.diag_indices(2)
    (Array([0, 1], dtype=int32), Array([0, 1], dtype=int32))
    """
    n, ndim = operator.index(n), operator.index(ndim)
    if n < 0 or ndim < 0:
        raise ValueError(explain("tanx.numpy.diag_indices", "n and ndim must not be negative.",
                                 f"n:    {n}", f"ndim: {ndim}"))
    return (arange(n),) * ndim


def diag_indices_from(arr):
    """The indices of the diagonal of ``arr``; see :func:`diag_indices`.

    >>> jnp.diag_indices_from(jnp.zeros((2, 2)))
    (Array([0, 1], dtype=int32), Array([0, 1], dtype=int32))
    """
    arr = as_operand("diag_indices_from", arr)
    if arr.ndim < 2 or len(set(arr.shape)) > 1:
        raise ValueError(explain(
            "tanx.numpy.diag_indices_from", "needs two or more dimensions of one size.",
            f"array: {arr.aval}"))
    return diag_indices(arr.shape[0], arr.ndim)


def tril_indices(n, k=0, m=None):
    """Row and column of each element on or below the ``k``-th diagonal of an ``n`` by ``m`` matrix.

    >>> jnp.tril_indices(2)
    (Array([0, 1, 1], dtype=int32), Array([0, 0, 1], dtype=int32))
    """
    return _known_indices(np.tril_indices(*map(operator.index, (n, k, n if m is None else m))))


def triu_indices(n, k=0, m=None):
    """Row and column of each element on or above the ``k``-th diagonal of an ``n`` by ``m`` matrix.

    >>> jnp.triu_indices(2)
    (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    return _known_indices(np.triu_indices(*map(operator.index, (n, k, n if m is None else m))))


def _known_indices(found) -> tuple:
    # Their number is static, so they are constants while tracing, and so is every use of them.
    return tuple(asarray(i, dtypes.default_int()) for i in found)


def tril_indices_from(arr, k=0):
    """The indices of the lower triangle of a matrix; see :func:`tril_indices`.

    >>> jnp.tril_indices_from(jnp.zeros((2, 2)), k=-1)
    (Array([1], dtype=int32), Array([0], dtype=int32))
    """
    return tril_indices(*_matrix_and_diagonal("tril_indices_from", arr, k))


def triu_indices_from(arr, k=0):
    """The indices of the upper triangle of a matrix; see :func:`triu_indices`.

    >>> jnp.triu_indices_from(jnp.zeros((2, 2)), k=1)
    (Array([0], dtype=int32), Array([1], dtype=int32))
    """
    return triu_indices(*_matrix_and_diagonal("triu_indices_from", arr, k))


def _matrix_and_diagonal(function: str, arr, k) -> tuple:
    aval = type_like(function, arr)
    if aval.ndim != 2:
        raise ValueError(explain(f"tanx.numpy.{function}", "needs a matrix.", f"array: {aval}"))
    return aval.shape[0], k, aval.shape[1]


def mask_indices(n, mask_func, k=0, *, size=None):
    """Where ``mask_func(ones((n, n)), k)`` is not zero: row and column of each such element.

    ``size`` fixes their number; zeros fill the rest.

    >>> jnp.mask_indices(2, jnp.triu)
    (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    found = np.nonzero(np.asarray(mask_func(lax.full((n, n), 1.0), k)))
    if size is not None:
        found = tuple(np.resize(np.append(i[:size], np.zeros(size, i.dtype)), size)
                      for i in found)
    return _known_indices(found)
