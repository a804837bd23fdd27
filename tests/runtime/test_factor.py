"""Our routines for large matrices equal those of LAPACK with the same names."""

import ctypes
from itertools import product

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx._compiler.kernels.triangle import SOLVE, TURN, lanes, sides, triangle_text
from tanx._compiler.machine import host
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


def kernel(symbol, dtype):
    """A kernel of triangular systems, as a function of words."""
    made = permanent("triangular systems of " + dtype,
                     lambda: triangle_text(np.dtype(dtype), host()))
    count = 7 if symbol == SOLVE else 4
    return ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * count)(made[symbol + dtype])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [0, 1, 5, 32])
@pytest.mark.parametrize("lower, unit, transposed", [*product([False, True], repeat=3)])
def test_small_triangular_systems(n, lower, unit, transposed, dtype):
    """An upper triangle is read backwards; elements of the other triangle are not read."""
    a = numbers(40, 41, dtype=dtype) / 8 + 2 * np.eye(40, 41, dtype=dtype)
    corner = (a.T if transposed else a)[:n, :n]
    part = (np.tril if lower else np.triu)(corner).astype(float)
    if unit:
        np.fill_diagonal(part, 1)
    corner[~np.tri(n, dtype=bool) if lower else np.tri(n, k=-1, dtype=bool)] = np.nan
    count = sides(np.dtype(dtype), host())
    x = numbers(n, count + 3, dtype=dtype)
    wanted = x.copy()
    wanted[:, :count] = np.linalg.solve(part, x[:, :count].astype(float))
    steps = (1, 41) if transposed else (41, 1)
    last, sign = (0, 1) if lower else (n - 1, -1)
    kernel(SOLVE, dtype)(
        x.ctypes.data + last * (count + 3) * x.itemsize, sign * (count + 3),
        a.ctypes.data + last * 42 * x.itemsize, *(sign * step for step in steps), n, unit)
    np.testing.assert_allclose(x, wanted, rtol=0, atol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
def test_squares_are_transposed(dtype):
    n = lanes(np.dtype(dtype), host())
    given, out = numbers(n, n + 2, dtype=dtype), np.zeros((n, n + 1), dtype)
    kernel(TURN, dtype)(out.ctypes.data, n + 1, given.ctypes.data, n + 2)
    np.testing.assert_array_equal(out[:, :n], given[:, :n].T)
    assert not out[:, n].any()


def smooth(n, jitter):
    """The covariance of a smooth Gaussian process, almost singular."""
    t = np.random.default_rng(n).uniform(0, 1, (n, 1))
    return (np.exp(-(t - t.T) ** 2 / 0.02) + jitter * np.eye(n)).astype("float32")


@pytest.mark.parametrize("left, lower", [*product([False, True], repeat=2)])
def test_errors_do_not_grow_with_the_condition(both, left, lower):
    """Substitution solves a system that differs by a few units of rounding in each element."""
    a = np.linalg.cholesky(smooth(200, 1e-5))
    a = a if lower else a.T.copy()
    b = numbers(*(200, 70) if left else (70, 200), dtype="float32")
    _, (x,) = both(triangular_solve_p.routine(
        a, b, left_side=left, lower=lower, transpose_a=False, conjugate_a=False,
        unit_diagonal=False), a, b)
    x, a = x.astype(float), a.astype(float)
    found, size = (a @ x, abs(a) @ abs(x)) if left else (x @ a, abs(x) @ abs(a))
    assert (abs(found - b) / size).max() < 10 * np.finfo("float32").eps


@pytest.mark.parametrize("n", [150, 300])
def test_cholesky_of_matrices_that_are_almost_singular(both, n):
    x = smooth(n, 1e-5)
    _, (got, info) = both(cholesky_p.routine(x), x)
    assert info == 0
    factor = np.tril(got).astype(float)
    np.testing.assert_allclose(factor @ factor.T, x, rtol=0, atol=2e-6)


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
