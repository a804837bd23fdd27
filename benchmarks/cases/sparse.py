"""Sparse products: matrices in the formats COO and CSR, times vectors and matrices.

NumPy means SciPy here; its matrices are made before the measurement.
"""

from importlib import import_module

import numpy as np

from .case import family, noise

sparse = family("sparse products")


def _entries(rows: int, each: int):
    """Random sorted entries, on average ``each`` per row."""
    rng = np.random.default_rng(0)
    flat = np.unique(rng.integers(0, rows * rows, rows * each, dtype=np.int64))
    places = np.stack(np.divmod(flat, rows), -1).astype(np.int32)
    return noise(len(flat)), places


def _scipy(form: str, rows: int, each: int):
    """The same matrix in SciPy's format COO or CSR."""
    module = import_module("scipy.sparse")
    data, places = _entries(rows, each)
    kind = module.coo_array if form == "BCOO" else module.csr_array
    return kind((data, tuple(places.T)), shape=(rows, rows))


def _product(jax, form: str, rows: int, each: int, other, turned: bool = False):
    """The product of a matrix, or of its transpose, with an array: the function, its arguments."""
    if jax is None:
        matrix = _scipy(form, rows, each)
        matrix = matrix.T if turned else matrix
        return lambda other: matrix @ other, (other,)
    parts, make = _stored(jax, form, rows, each)

    def run(parts, other):
        matrix = make(*parts)
        return (matrix.T if turned else matrix) @ other
    return run, (parts, other)


def _stored(jax, form: str, rows: int, each: int):
    """The arrays of the matrix, and the function that makes the matrix from them."""
    module = import_module(f"{jax.__name__}.experimental.sparse")
    data, places = _entries(rows, each)
    shape = (rows, rows)
    if form == "BCOO":
        return (data, places), lambda d, i: module.BCOO(
            (d, i), shape=shape, indices_sorted=True, unique_indices=True)
    ends = np.searchsorted(places[:, 0], np.arange(rows + 1)).astype(np.int32)
    kind = getattr(module, form)
    return (data, places[:, 1].copy(), ends), lambda *parts: kind(parts, shape=shape)


@sparse("{form}, {rows} rows of {each} entries, times a vector", form=["BCOO", "BCSR", "CSR"],
        rows=[1000, 100000], each=10)
@sparse("{form}, {rows} rows of {each} entries, times a vector", form="CSR",
        rows=10000, each=[3, 100])
def times_vector(jax, jnp, form, rows, each):
    return _product(jax, form, rows, each, noise(rows, seed=1))


@sparse("{form}, {rows} rows of {each} entries, transposed, times a vector", form=["BCOO", "CSR"],
        rows=10000, each=10)
def turned(jax, jnp, form, rows, each):
    return _product(jax, form, rows, each, noise(rows, seed=1), turned=True)


@sparse("{form}, {rows} rows of {each} entries, times {columns} columns",
        form=["BCOO", "BCSR", "CSR"], rows=10000, each=10, columns=32)
def times_matrix(jax, jnp, form, rows, each, columns):
    return _product(jax, form, rows, each, noise(rows, columns, seed=1))


@sparse("gradient of a product of {form}, {rows} rows of {each} entries", form=["BCOO", "CSR"],
        rows=10000, each=10, numpy=False)
def slopes(jax, jnp, form, rows, each):
    (data, *places), make = _stored(jax, form, rows, each)

    def loss(data, places, v):
        return ((make(data, *places) @ v) ** 2).sum()
    return jax.grad(loss), (data, tuple(places), noise(rows, seed=1))
