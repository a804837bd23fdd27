"""Compiled factorisations of small matrices do what ``eval`` does, in any number of lanes."""

from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pytest

import tanx
from tanx import lax
from tanx._compiler.pipeline import build
from tanx._loops.interpret import run as interpret
from tanx._loops.names import LAPACK, MATRICES
from tanx.lax import linalg

from .agreement import evaluated
from .compiled import run

SHAPES = [(1, 1), (2, 2), (4, 4), (4, 2), (2, 5), (7, 7), (9, 6), (11, 32)]
BATCHES = [1, 4, 11]


def numbers(*shape, dtype="float64", seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def positive(count, n, dtype="float64"):
    x = numbers(count, n, n, dtype=dtype)
    return (x @ x.swapaxes(1, 2) + np.eye(n)).astype(dtype)


def in_lanes(statement, lanes):
    """A statement in another number of lanes, if it runs in lanes."""
    if getattr(statement, "name", "") != MATRICES:
        return statement
    return replace(statement, params=tuple({**dict(statement.params), "lanes": lanes}.items()))


def agree(fun, *args, interpreted=True, lanes=None, rtol=None):
    """Compiled in lanes, the results are those of ``eval``; so they are when interpreted."""
    with tanx.enable_x64(True):
        closed = tanx.make_jaxpr(fun)(*args)
        module = build(closed)
        program = module.program
        assert any(getattr(s, "name", "") == MATRICES for s in program.statements)
        if lanes is not None:
            program = replace(program, statements=tuple(
                in_lanes(s, lanes) for s in program.statements))
        given = [*map(np.asarray, module.constants), *args]
        wanted = evaluated(closed, args)
        runs = [run(program, *given)]
        if interpreted:
            runs.append(interpret(program, *given))
        rtol = rtol or {4: 2e-4, 8: 1e-11}[args[0].dtype.itemsize]
        for results in runs:
            held = dict(zip(program.outputs, results))
            for buffer, want in zip(module.results, wanted, strict=True):
                got = held[buffer].reshape(want.shape)
                assert got.dtype == want.dtype
                scale = np.abs(want[np.isfinite(want)]).max(initial=1e-300)
                np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol * scale)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("count", BATCHES)
def test_factors(count, shape):
    x = numbers(count, *shape)
    if count == 1 and max(shape) > 8:
        x = numbers(4, *shape)
    interpreted = count == 4 and max(shape) < 10
    agree(linalg.lu, x, interpreted=interpreted)
    for full in (False, True):
        agree(partial(linalg.qr, full_matrices=full), x, interpreted=interpreted)
    if shape[0] == shape[1]:
        agree(linalg.cholesky, positive(len(x), shape[0]), interpreted=interpreted)


@pytest.mark.parametrize("n", [4, 6])
def test_factors_in_single_precision(n):
    x = numbers(9, n, n, dtype="float32")
    agree(linalg.lu, x, rtol=1e-3)
    agree(linalg.qr, x, rtol=1e-3)
    agree(linalg.cholesky, positive(9, n, "float32"), rtol=1e-3)


@pytest.mark.parametrize("n", [3, 6])
@pytest.mark.parametrize("options", [*product((False, True), repeat=4)], ids=str)
def test_triangles(n, options):
    names = ("left_side", "lower", "transpose_a", "unit_diagonal")
    chosen = dict(zip(names, options))
    a, b = numbers(5, n, n) + 4 * np.eye(n), numbers(5, n, 7)
    b = b if chosen["left_side"] else np.ascontiguousarray(b.swapaxes(1, 2))
    agree(lambda a, b: linalg.triangular_solve(a, b, **chosen), a, b, interpreted=n == 3)


@pytest.mark.parametrize("n, left, lower, transpose, unit", [
    *((5, *options) for options in product((False, True), repeat=4)),
    (1, True, True, False, False), (16, False, True, True, False), (16, True, False, True, False),
    (17, False, True, True, False)])
def test_one_triangle_and_many_right_sides(n, left, lower, transpose, unit):
    a, b = numbers(n, n) / n + 2 * np.eye(n), numbers(n, 300)
    triangle = (np.tril if lower else np.triu)(a, -unit if lower else int(unit)) + unit * np.eye(n)
    triangle = triangle.T if transpose else triangle
    wanted = np.linalg.solve(triangle if left else triangle.T, np.exp(b))
    b, wanted = (b, wanted) if left else (np.ascontiguousarray(b.T), wanted.T)
    for dtype, lead in (("float32", ()), ("float64", (1,))):
        with tanx.enable_x64(dtype == "float64"):
            solve = tanx.jit(lambda a, b: linalg.triangular_solve(
                a, lax.exp(b), left_side=left, lower=lower, transpose_a=transpose,
                unit_diagonal=unit))
            given = [x.astype(dtype).reshape(lead + x.shape) for x in (a, b)]
            assert ("lapack" in solve.lower(*given).as_text("loops")) == (n > 16)
            for _ in range(4):
                np.testing.assert_allclose(
                    np.asarray(solve(*given)).reshape(wanted.shape), wanted,
                    atol=8 * np.finfo(dtype).eps * abs(wanted).max())


def test_products_of_reflections():
    for m, n, k in ((3, 3, 3), (6, 4, 2), (9, 9, 9)):
        agree(linalg.householder_product, numbers(5, m, n), numbers(5, k, seed=1))


def test_cholesky_of_indefinite_matrices_is_nan():
    for n in (3, 6):
        x = positive(9, n)
        x[2] = -x[2]
        x[4, n - 1, n - 1] = -5
        x[5] = np.nan
        x[7] = 0
        agree(linalg.cholesky, x)


def test_columns_of_zeros_and_singular_matrices():
    for n in (4, 7):
        x = numbers(6, n, n)
        x[0] = 0
        x[1, :, 1] = 0
        x[2] = np.eye(n)
        x[3] = np.tril(x[3])
        agree(lambda x: linalg.lu(x)[0], x[:4])
        agree(lambda x: linalg.qr(x), x[:4])


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e160, 1e300])
def test_sizes_of_numbers_do_not_matter(size):
    for n in (3, 6):
        agree(linalg.qr, numbers(4, n, n) * size)
        agree(linalg.lu, numbers(4, n, n) * size)


@pytest.mark.parametrize("lanes", [1, 2, 8])
def test_any_number_of_lanes(lanes):
    for n in (4, 6):
        agree(linalg.lu, numbers(13, n, n), lanes=lanes, interpreted=False)
        agree(linalg.qr, numbers(13, n, n + 1), lanes=lanes, interpreted=False)
        agree(linalg.cholesky, positive(13, n), lanes=lanes, interpreted=False)


def test_many_matrices_in_tasks():
    x = numbers(5000, 8, 8)
    got = tanx.jit(lambda x: linalg.qr(x))(x.astype(np.float32))
    np.testing.assert_allclose(np.matmul(*map(np.asarray, got)), x, atol=1e-4)


def test_in_loops_and_under_vmap():
    def steps(x):
        def step(carry, _):
            factor = linalg.cholesky(carry)
            return lax.dot(factor, factor.T), factor[0, 0]
        return lax.scan(step, x, None, length=3)
    x = positive(6, 5, "float32")
    got = tanx.jit(tanx.vmap(steps))(x)
    np.testing.assert_allclose(got[0], x, rtol=1e-3)
    np.testing.assert_allclose(got[1][:, 2], np.linalg.cholesky(x)[:, 0, 0], rtol=1e-3)


def spread(n, dtype="float64"):
    """Matrices of all kinds, with distinct singular values."""
    x = numbers(6, n, n + 1, dtype=dtype)[..., :n]
    x[1] = np.diag(np.arange(n) + 1)
    x[2] *= 1e-30
    x[3] *= 1e30
    return x


@pytest.mark.parametrize("n", [1, 2, 3, 5, 12])
def test_eigenvalues(n):
    x = spread(n)
    for lower in (False, True):
        for count in (1, 6) if n < 9 else (6,):
            agree(partial(linalg.eigh, lower=lower, symmetrize_input=False), x[:count],
                  interpreted=n == 5)
    agree(linalg.eigh, spread(n, "float32"), interpreted=False, rtol=3e-3)


@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (3, 5), (5, 3), (6, 6), (12, 7)], ids=str)
def test_singular_values(shape):
    m, n = shape
    x = spread(max(shape))[:, :m, :n]
    agree(partial(linalg.svd, full_matrices=False), x, interpreted=m < 9)
    agree(partial(linalg.svd, compute_uv=False), x, interpreted=False)
    if m == n:
        agree(partial(linalg.svd, full_matrices=True), x[:1], interpreted=False)
    x = spread(max(shape), "float32")[:, :m, :n]
    agree(partial(linalg.svd, full_matrices=False), x, interpreted=False, rtol=3e-3)


def test_vectors_of_equal_values_are_orthogonal():
    x = np.stack([np.zeros((6, 6)), np.ones((6, 6)), np.eye(6), np.diag([0., 0, 1, 1, 1e-9, 2]),
                  np.full((6, 6), 1e-200)])
    with tanx.enable_x64(True):
        v, w = map(np.asarray, tanx.jit(linalg.eigh)(x))
        u, s, vt = map(np.asarray, tanx.jit(linalg.svd)(x))
    eye = np.broadcast_to(np.eye(6), x.shape)
    for q in (v, u, vt):
        np.testing.assert_allclose(q @ q.swapaxes(1, 2), eye, atol=1e-14)
    np.testing.assert_allclose(v * w[:, None] @ v.swapaxes(1, 2), x, atol=1e-14)
    np.testing.assert_allclose(u * s[:, None] @ vt, x, atol=1e-14)


def test_vectors_are_orthogonal_for_badly_scaled_elements():
    """Squares of the smallest elements are not numbers, or not precise ones."""
    n, sizes = 20, np.logspace(0, -20, 20)
    x = numbers(4, n, n)
    q = np.linalg.qr(x)[0]
    x = np.concatenate([x * sizes, sizes[:, None] * x, x[:, :, :3] @ x[:, :3], q * sizes @ q,
                        q * np.repeat([1, 1e-3, 1e-6, 0], 5) @ q]).astype(np.float32)
    squares = x @ x.swapaxes(1, 2)
    w, v = map(np.asarray, tanx.jit(tanx.numpy.linalg.eigh)(squares))
    u, s, vt = map(np.asarray, tanx.jit(linalg.svd)(x))
    for q in (v, u, vt):
        np.testing.assert_allclose(q.swapaxes(1, 2) @ q, np.broadcast_to(np.eye(n), x.shape),
                                   atol=2e-5)
    for got, want in ((v * w[:, None] @ v.swapaxes(1, 2), squares), (u * s[:, None] @ vt, x)):
        most = np.abs(want).max((1, 2), keepdims=True)
        np.testing.assert_allclose(got / most, want / most, atol=2e-5)


def kinds_of_matrices(n):
    """Matrices with eigenvalues that are hard to find."""
    x, above, sizes = numbers(4, n, n), np.eye(n, k=1), np.logspace(0, -15, n)
    q = np.linalg.qr(x)[0]
    return np.concatenate([
        x, x + x.swapaxes(1, 2), x - x.swapaxes(1, 2), q, q * sizes @ q, np.triu(x), np.tril(x),
        x[:, :, :2] @ x[:, :2], sizes[:, None] * x, sizes[:, None] * x / sizes, 1e30 * x, 1e-30 * x,
        np.sign(x), np.abs(x) / np.abs(x).sum(2, keepdims=True),
        np.stack([0 * above, above, above.T, above + np.eye(n), above.T + np.eye(n), np.eye(n),
                  np.ones((n, n)), np.roll(np.eye(n), 1, 0), above + 1e-6])])


@pytest.mark.parametrize("n", [1, 2, 3, 6, 11])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_eigenvalues_of_any_matrices(n, dtype):
    """Pairs of values and vectors are those of matrices nearby, and all values are there."""
    precision = np.finfo(dtype).eps
    x = kinds_of_matrices(n).astype(dtype)
    if n == 11 and dtype == "float64":
        x = np.broadcast_to(x, (5, *x.shape))
    only = {"compute_left_eigenvectors": False}
    with tanx.enable_x64(True):
        closed = tanx.make_jaxpr(partial(linalg.eig, **only))(x)
        assert any(getattr(s, "name", "") == MATRICES for s in build(closed).program.statements)
        w, v = map(np.asarray, tanx.jit(partial(linalg.eig, **only))(x))
        (alone,) = tanx.jit(partial(linalg.eig, compute_right_eigenvectors=False, **only))(x)
    np.testing.assert_array_equal(alone, w)
    assert w.dtype == v.dtype == (np.complex64 if dtype == "float32" else np.complex128)
    x, w, v = x.astype(float), w.astype(complex), v.astype(complex)
    sizes = np.linalg.norm(x, axis=(-2, -1))
    rest = np.linalg.norm(x @ v - v * w[..., None, :], axis=-2).max(-1)
    assert (rest <= 500 * precision * np.maximum(sizes, 1e-35)).all()
    np.testing.assert_allclose(np.linalg.norm(v, axis=-2), 1, atol=10 * precision)
    sizes_of_elements = np.abs(v)
    largest = sizes_of_elements > 0.999 * sizes_of_elements.max(-2, keepdims=True)
    assert (largest & (v.imag == 0) & (v.real > 0)).any(-2).all()
    for power in (1, 2, 3):
        traces = np.trace(np.linalg.matrix_power(x, power), axis1=-2, axis2=-1)
        off = np.abs((w ** power).sum(-1) - traces)
        assert (off <= 500 * precision * np.maximum(sizes, 1e-35) ** power).all()
    np.testing.assert_array_equal(np.sort(w.imag), np.sort(-w.imag))


@pytest.mark.parametrize("n", [1, 2, 3, 6, 11])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_singular_values_without_vectors(n, dtype):
    """Another algorithm finds values without vectors, also for singular matrices."""
    x = kinds_of_matrices(n).astype(dtype)
    x[:4, :, ::3] = 0
    for part in (x, x[:, : n // 2 + 1], x[:, :, n // 2:]):
        want = np.linalg.svd(part.astype(float), compute_uv=False)
        with tanx.enable_x64(True):
            got = np.asarray(tanx.jit(partial(linalg.svd, compute_uv=False))(part))
        assert got.dtype == dtype
        assert (np.diff(got) <= 0).all() and (got >= 0).all()
        off = np.abs(got - want).max(-1)
        assert (off <= 50 * np.finfo(dtype).eps * np.maximum(want[:, 0], 1e-35)).all()


def test_eigenvalues_of_triangles_are_exact():
    x = np.concatenate([np.tril(numbers(5, 7, 7)), np.triu(numbers(5, 7, 7))]).astype(np.float32)
    w, _ = tanx.jit(tanx.numpy.linalg.eig)(x)
    np.testing.assert_array_equal(np.sort(np.asarray(w).real), np.sort(np.diagonal(x, 0, 1, 2)))


def test_eigenvalues_interpreted():
    """One statement means the same to the interpreter, and in any number of lanes."""
    x = numbers(5, 6, 6)
    with tanx.enable_x64(True):
        module = build(tanx.make_jaxpr(partial(linalg.eig, compute_left_eigenvectors=False))(x))
    wanted = interpret(module.program, x)
    for lanes in (1, 2, 4):
        program = replace(module.program, statements=tuple(
            in_lanes(s, lanes) for s in module.program.statements))
        for got, want in zip(run(program, x), wanted, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-11)


def test_nan_stays_in_its_matrix():
    x = spread(5)
    x[2, 3, 1] = np.nan
    with tanx.enable_x64(True):
        for fun in (partial(linalg.eigh, symmetrize_input=False), linalg.svd,
                    tanx.numpy.linalg.eig, lambda x: [linalg.svd(x, compute_uv=False)]):
            for result in tanx.jit(fun)(x):
                assert np.isnan(result[2]).any()
                assert np.isfinite(np.delete(result, 2, 0)).all()


def test_signs_of_vectors_do_not_depend_on_the_matrix_size():
    """By LAPACK or by our code: the first element that is not small is positive."""
    x = np.random.default_rng(0).standard_normal((40, 40))
    for square in (x + x.T, x[:7, :7] + x[:7, :7].T):
        for v in (tanx.jit(linalg.eigh)(square)[0], linalg.eigh(square)[0],
                  tanx.jit(linalg.svd)(square)[0], linalg.svd(square)[0]):
            size = np.abs(np.asarray(v))
            first = np.argmax(size > 0.37 * size.max(0), 0)
            assert (np.asarray(v)[first, np.arange(len(v))] > 0).all()


def test_routines_of_lapack_in_tasks():
    """Each task has its own workspace."""
    x = numbers(300, 9, 9) + 1j * numbers(300, 9, 9, seed=1)
    with tanx.enable_x64(True):
        for fun in (linalg.qr, linalg.svd, linalg.eigh, linalg.lu,
                    partial(linalg.eig, compute_left_eigenvectors=False)):
            module = build(tanx.make_jaxpr(fun)(x))
            assert any(dict(s.params)["tasks"] > 1 for s in module.program.statements
                       if getattr(s, "name", "") == LAPACK)
            for got, want in zip(tanx.jit(fun)(x), fun(x), strict=True):
                np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-10)
