"""Our routines for large matrices equal those of LAPACK with the same names."""

import ctypes
from itertools import product

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx._compiler.kernels.triangle import INVERSE, inverse_text
from tanx._loops import lapack
from tanx._ops.linalg import (
    cholesky_p,
    householder_product_p,
    lu_p,
    qr_p,
    triangular_solve_p,
)
from tanx._runtime.factor import own_routine, routines
from tanx._runtime.machine_code import permanent

DTYPES = ["float32", "float64"]
SIZES = [1, 31, 64, 97, 130, 301]
TOLERANCE = {"float32": 2e-4, "float64": 1e-12}


def numbers(*shape, dtype):
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(dtype)


@pytest.fixture
def both(monkeypatch):
    """Runs a routine of LAPACK, and then ours."""
    def run(routine, *inputs):
        wanted = routine.run(*inputs)
        ours = routines("s") | routines("d")
        with monkeypatch.context() as patch:
            patch.setattr(lapack, "address", ours.__getitem__)
            return wanted, routine.run(*inputs)
    return run


def close(got, wanted):
    scale = np.abs(wanted).max()
    np.testing.assert_allclose(got, wanted, rtol=0, atol=TOLERANCE[wanted.dtype.name] * scale)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 5, 31, 32])
@pytest.mark.parametrize("lower, unit, transposed", [*product([False, True], repeat=3)])
def test_inverse_of_a_small_triangle(n, lower, unit, transposed, dtype):
    """Whole columns are written; elements of the other triangle are not read."""
    a = numbers(40, 41, dtype=dtype) + 6 * np.eye(40, 41, dtype=dtype)
    corner = (a.T if transposed else a)[:n, :n]
    wanted = np.linalg.inv((np.tril if lower else np.triu)(corner) if not unit else (
        (np.tril(corner, -1) if lower else np.triu(corner, 1)) + np.eye(n)))
    out = np.full((32, 32), np.nan, dtype)
    symbol = INVERSE + dtype
    address = permanent(symbol, lambda: inverse_text(np.dtype(dtype)))[symbol]
    steps = (1, 41) if transposed else (41, 1)
    ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 7)(address)(
        out.ctypes.data, a.ctypes.data, *steps, n, lower, unit)
    np.testing.assert_allclose(out.T[:n, :n], wanted, atol=TOLERANCE[dtype] * abs(wanted).max())
    assert not out.T[n:, :n].any() and np.isnan(out.T[:, n:]).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
def test_cholesky(both, n, dtype):
    x = numbers(n, n, dtype=dtype)
    x = x @ x.T + n * np.eye(n, dtype=dtype)
    (wanted, _), (got, info) = both(cholesky_p.routine(x), x)
    close(np.tril(got), np.tril(wanted))
    assert info == 0


@pytest.mark.parametrize("place", [0, 40, 129])
def test_cholesky_reports_the_failing_column(both, place):
    x = np.eye(130)
    x[place, place] = -1
    (_, wanted), (_, info) = both(cholesky_p.routine(x), x)
    assert info == wanted == place + 1


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(n, n) for n in SIZES] + [(200, 70), (70, 200), (33, 32)])
def test_lu(both, shape, dtype):
    x = numbers(*shape, dtype=dtype)
    (wanted, exchanged, _), (got, pivots, info) = both(lu_p.routine(x), x)
    np.testing.assert_array_equal(pivots, exchanged)
    close(got, wanted)
    assert info == 0


def test_lu_reports_the_first_column_without_a_pivot(both):
    x = numbers(100, 100, dtype="float64")
    x[70] = x[90] = 0  # by columns
    (*_, wanted), (*_, info) = both(lu_p.routine(x), x)
    assert info == wanted == 71


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("left,lower,transposed,unit", [*product([False, True], repeat=4)])
def test_triangular_systems(both, left, lower, transposed, unit, dtype):
    for n, count in [(5, 3), (70, 41), (131, 20), (40, 301)]:
        a = numbers(n, n, dtype=dtype) / n + 2 * np.eye(n, dtype=dtype)
        b = numbers(*(n, count) if left else (count, n), dtype=dtype)
        routine = triangular_solve_p.routine(
            a, b, left_side=left, lower=lower, transpose_a=transposed, conjugate_a=False,
            unit_diagonal=unit)
        (wanted,), (got,) = both(routine, a, b)
        close(got, wanted)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(n, n) for n in SIZES] + [(200, 70), (70, 200), (33, 32)])
def test_reflections(both, shape, dtype):
    x = numbers(*shape, dtype=dtype)
    (wanted, factors, *_), (got, taus, *_) = both(qr_p.routine(x, False), x)
    close(got, wanted)
    close(taus, factors)
    vectors = got[:len(taus)]  # by columns
    (wanted, *_), (got, *_) = both(householder_product_p.routine(vectors, taus), vectors, taus)
    close(got, wanted)


@pytest.mark.parametrize("count", [0, 1, 65, 130])
def test_reflections_fewer_than_columns(both, count):
    x = numbers(130, 140, dtype="float64")
    (made, taus, *_), _ = both(qr_p.routine(x, False), x)
    (wanted, *_), (got, *_) = both(
        householder_product_p.routine(made, taus[:count]), made, taus[:count])
    close(got, wanted)


def test_compiled_functions_of_large_matrices():
    x = numbers(300, 300, dtype="float32")
    close(tanx.jit(jnp.linalg.inv)(x) @ x, np.eye(300, dtype="float32"))
    q, r = tanx.jit(jnp.linalg.qr)(x)
    close(q @ r, x)
    close(q.T @ q, np.eye(300, dtype="float32"))


def test_only_large_real_matrices_are_ours():
    assert own_routine("sgetrf", (1000, 1000)) == routines("s")["sgetrf"]
    assert own_routine("sgetrf", (1000, 10)) is None
    assert own_routine("cgetrf", (1000, 1000)) is None
    assert own_routine("spotrf", ("L", 1000)) is None
    assert own_routine("sgesdd", ("A", 1000, 1000)) is None
