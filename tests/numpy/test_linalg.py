"""Linear algebra against NumPy: values, batches, compiled code, derivatives, messages."""

from itertools import product

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tests.numpy.agreement import adjoint, agree, batched, message


def values(*shape, dtype=np.float32, seed=0):
    rng = np.random.default_rng([seed, *shape])
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def positive(*shape, dtype=np.float32):
    x = values(*shape, dtype=dtype)
    return x @ np.conj(np.swapaxes(x, -1, -2)) + np.eye(shape[-1], dtype=dtype)


S, R, V = values(4, 4), values(5, 3), values(4)
STACK = values(2, 3, 4, 4)

# Name, operands, options: NumPy takes the same ones.
CASES = [
    ("cholesky", (positive(4, 4),), {}), ("cholesky", (positive(2, 3, 3),), {}),
    ("cholesky", (positive(3, 3),), {"upper": True}),
    ("solve", (S, V), {}), ("solve", (S, values(4, 2)), {}), ("solve", (STACK, values(4, 2)), {}),
    ("solve", (S, values(3, 4, 2)), {}), ("solve", (values(0, 0), values(0, 2)), {}),
    ("inv", (S,), {}), ("inv", (STACK,), {}), ("inv", (values(1, 1),), {}),
    ("det", (S,), {}), ("det", (STACK,), {}), ("det", (values(3, 3),), {}),
    ("det", (values(2, 2),), {}), ("det", (values(1, 1),), {}), ("det", (values(0, 0),), {}),
    ("det", (values(7, 7),), {}),
    ("slogdet", (S,), {}), ("slogdet", (STACK,), {}), ("slogdet", (values(5, 5),), {}),
    ("svdvals", (R,), {}), ("svdvals", (STACK,), {}),
    ("eigvalsh", (positive(4, 4),), {}), ("eigvalsh", (positive(2, 3, 3),), {"UPLO": "U"}),
    ("pinv", (R,), {}), ("pinv", (values(2, 3, 5),), {}), ("pinv", (positive(3, 3),),
                                                           {"hermitian": True}),
    ("matrix_power", (S, 0), {}), ("matrix_power", (S, 3), {}), ("matrix_power", (STACK, -2), {}),
    ("matrix_rank", (R,), {}), ("matrix_rank", (np.ones((3, 4), np.float32),), {}),
    ("matrix_rank", (V,), {}),
    *(("norm", (R,), {"ord": p}) for p in (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)),
    *(("norm", (V,), {"ord": p}) for p in (None, 0, 1, 2, 3, -1, 0.5, np.inf, -np.inf)),
    ("norm", (STACK,), {}), ("norm", (STACK,), {"axis": (0, 2), "ord": "nuc"}),
    ("norm", (STACK,), {"axis": 1, "ord": 3, "keepdims": True}),
    ("norm", (STACK,), {"axis": (-2, -1), "ord": 1, "keepdims": True}),
    ("matrix_norm", (STACK,), {}), ("matrix_norm", (STACK,), {"ord": 2, "keepdims": True}),
    ("vector_norm", (STACK,), {"axis": (0, 1)}), ("vector_norm", (R,), {"ord": 1}),
    ("cond", (S,), {}), ("cond", (S,), {"p": "fro"}), ("cond", (R,), {"p": -2}),
    ("cond", (STACK,), {"p": 1}),
    ("multi_dot", ((values(2, 9), values(9, 3), values(3, 4)),), {}),
    ("multi_dot", ((V, S, values(4, 2), values(2)),), {}),
    ("cross", (values(5, 3), values(5, 3)), {}), ("outer", (V, values(3)), {}),
    ("trace", (STACK,), {"offset": 1}), ("diagonal", (STACK,), {"offset": -1}),
    ("matmul", (S, STACK), {}), ("vecdot", (S, STACK), {}),
    ("tensordot", (R, values(3, 2)), {"axes": 1}), ("matrix_transpose", (STACK,), {}),
    ("tensorinv", (values(2, 3, 6),), {"ind": 2}), ("tensorsolve", (values(2, 3, 6), values(2, 3)),
                                                   {}),
]


@pytest.mark.parametrize("name, operands, options", CASES, ids=lambda v: str(
    [np.shape(x) for x in v if not isinstance(x, tuple)] if isinstance(v, tuple) else v))
def test_values(name, operands, options):
    function = lambda *xs: getattr(jnp.linalg, name)(*xs, **options)
    wide = [np.asarray(x, np.float64) if isinstance(x, np.ndarray) else x for x in operands]
    want = getattr(np.linalg, name)(*wide, **options)
    agree(function(*operands), want, 2e-4, 2e-4)
    agree(tanx.jit(lambda: function(*operands))(), want, 2e-4, 2e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (2, 3, 3), (0, 3, 3), (3, 0)], ids=str)
def test_factors_multiply_to_the_matrix(dtype, shape):
    tolerance = 1e-4 if dtype in ("float32", "complex64") else 1e-11
    with tanx.enable_x64(True):
        x = values(*shape, dtype=dtype)

        def close(got, want):
            assert got.dtype == x.dtype
            agree(got, want, tolerance, tolerance)

        for wrap in (lambda f: f, tanx.jit):
            q, r = wrap(jnp.linalg.qr)(x)
            close(q @ r, x)
            for full in (False, True):
                u, s, vh = wrap(lambda x, full=full: jnp.linalg.svd(x, full_matrices=full))(x)
                assert s.dtype == x.real.dtype
                k = min(shape[-2:])
                close((u[..., :k] * s[..., None, :].astype(x.dtype)) @ vh[..., :k, :], x)
                size = u.shape[-1]
                close(np.conj(u).mT @ u, np.broadcast_to(np.eye(size), (*shape[:-2], size, size)))
            if shape[-1] != shape[-2]:
                continue
            h = x + np.conj(np.swapaxes(x, -1, -2))
            w, v = wrap(jnp.linalg.eigh)(h)
            close((v * w[..., None, :].astype(x.dtype)) @ np.conj(v).mT, h)
            w, v = wrap(jnp.linalg.eig)(x)
            agree(x @ np.asarray(v), np.asarray(v) * np.asarray(w)[..., None, :], tolerance * 10,
                  tolerance * 10)
            w, left, right = wrap(lax.linalg.eig)(x)
            left = np.conj(np.swapaxes(np.asarray(left), -1, -2))
            agree(left @ x, np.asarray(w)[..., None] * left, tolerance * 10, tolerance * 10)
            agree(x @ np.asarray(right), np.asarray(right) * np.asarray(w)[..., None, :],
                  tolerance * 10, tolerance * 10)


DERIVATIVES = [
    (lambda x: jnp.linalg.cholesky(x @ x.mT + jnp.eye(4)), S), (jnp.linalg.inv, S),
    (jnp.linalg.det, S), (jnp.linalg.det, values(2, 3, 3)),
    (lambda x: jnp.linalg.slogdet(x).logabsdet, S),
    (lambda x: jnp.linalg.slogdet(x, method="qr").logabsdet, S),
    (lambda x: jnp.linalg.solve(x, V), S), (jnp.linalg.pinv, R),
    (jnp.linalg.pinv, np.eye(4, 3)), (jnp.linalg.pinv, values(2, 3, 4)),
    (lambda x: jnp.linalg.norm(x, "nuc"), R), (lambda x: jnp.linalg.norm(x, 2), R),
    (lambda x: jnp.linalg.qr(x).R, R), (jnp.linalg.eigvalsh, S), (jnp.linalg.svdvals, R),
    (lambda x: jnp.abs(jnp.linalg.eigvals(x)), S),
    (lambda x: jnp.linalg.lstsq(x, values(5, 2))[0], R),
]


@pytest.mark.parametrize("function, x", DERIVATIVES)
def test_derivatives(function, x):
    adjoint(function, x)
    batched(function, x)


def test_gradients_in_loops_and_branches():
    def improved(x):
        return lax.fori_loop(0, 3, lambda i, y: jnp.linalg.inv(y + 4 * jnp.eye(4)), x)

    def folded(x):
        return lax.scan(lambda c, _: (jnp.linalg.solve(x + 4 * jnp.eye(4), c), c.sum()),
                        jnp.ones(4), None, length=3)

    agree(tanx.jit(improved)(S), improved(S))
    adjoint(lambda x: folded(x)[1], S)
    agree(tanx.jit(tanx.grad(lambda x: folded(x)[1].sum()))(S),
          tanx.grad(lambda x: folded(x)[1].sum())(S), 1e-4, 1e-4)


def test_singular_matrices():
    a = np.array([[1., 2.], [2., 4.]], np.float32)
    agree(jnp.linalg.det(a), 0.0)
    agree(tanx.grad(jnp.linalg.det)(a), [[4, -2], [-2, 1]])
    sign, size = jnp.linalg.slogdet(np.zeros((4, 4), np.float32))
    assert sign == 0 and size == -np.inf
    for function in (jnp.linalg.cholesky, tanx.jit(jnp.linalg.cholesky)):
        both = function(np.stack([-np.eye(2), 4 * np.eye(2)]).astype(np.float32))
        assert np.isnan(np.asarray(both[0])[0, 0])
        agree(both[1], 2 * np.eye(2))


@pytest.mark.parametrize("dtype, scale", [
    *product(["float32", "complex64"], [1e13, 1e20, 1e36, 1e-13, 1e-20, 1e-36]),
    *product(["float64", "complex128"], [1e150, 1e300, 1e-150, 1e-300])])
@pytest.mark.parametrize("n", [2, 20])
def test_eigenvalues_of_large_and_small_numbers(n, dtype, scale):
    """LAPACK scales such matrices, and not all versions scale the values back."""
    rng = np.random.default_rng(n)
    with tanx.enable_x64(True):
        x = (rng.standard_normal((n, n)) * scale).astype(dtype)
        x[0, 1] *= 1j if "complex" in dtype else 1
        wanted = np.linalg.norm(x.astype(complex) / scale)
        compiled = tanx.jit(lambda x: tuple(jnp.linalg.eig(x)))
        with tanx.disable_jit():
            found = [compiled(x)]
        found += [compiled(x) for _ in range(4)]
        for w, v in found:
            w, v = np.asarray(w, complex) / scale, np.asarray(v, complex)
            off = np.linalg.norm((x.astype(complex) / scale) @ v - v * w)
            assert off < 100 * np.finfo(dtype).eps * wanted


def test_least_squares():
    a, b = values(6, 3), values(6, 2)
    want = np.linalg.lstsq(a, b, rcond=None)
    agree(jnp.linalg.lstsq(a, b), want, 1e-4, 1e-4)
    assert jnp.linalg.lstsq(values(3, 5), values(3), numpy_resid=True)[1].shape == (0,)


def test_results_have_names():
    assert jnp.linalg.qr(S)._fields == ("Q", "R")
    assert jnp.linalg.svd(S)._fields == ("U", "S", "Vh")
    assert jnp.linalg.eigh(S)._fields == ("eigenvalues", "eigenvectors")
    assert jnp.linalg.slogdet(S)._fields == ("sign", "logabsdet")


def test_integers_become_floats():
    assert jnp.linalg.inv(np.array([[2, 0], [0, 4]])).dtype == np.float32
    assert jnp.linalg.matrix_power(np.array([[2, 0], [0, 4]]), 2).dtype == np.int32


def test_jaxprs_name_the_primitives():
    text = str(tanx.make_jaxpr(lax.linalg.eigh)(S))
    assert "eigh[" in text and "lower=True" in text and "subset_by_index=None" in text


def test_messages():
    message(ValueError, lambda: jnp.linalg.inv(R), """\
tanx.numpy.linalg.inv: matrices must be square.
  array: float32[5,3]""")
    message(ValueError, lambda: jnp.linalg.cond(np.zeros((3, 0))), """\
tanx.numpy.linalg.cond: matrices must have elements.
  array: float32[3,0]""")
    message(ValueError, lambda: jnp.linalg.solve(S, R), """\
tanx.numpy.linalg.solve: b must be a vector, or matrices, with as many rows as a.
  a: float32[4,4]
  b: float32[5,3]
  Hint: of vectors, b[..., None] makes matrices of one column.""")
    message(ValueError, lambda: lax.linalg.cholesky(R), """\
tanx.lax.linalg.cholesky: matrices must be square.
  operand: float32[5,3]""")
    message(NotImplementedError, lambda: lax.linalg.lu(S.astype(np.float16)), """\
tanx.lax.linalg.lu: works on floats and complex numbers of 32 or 64 bits.
  operand: float16[4,4]
  Hint: convert it first: x.astype('float32').""")
    message(ValueError, lambda: jnp.linalg.norm(STACK, axis=(0, 1, 2)), """\
tanx.numpy.linalg.norm: axis must be one dimension, or two different ones.
  x: float32[2,3,4,4]
  axis: (0, 1, 2)""")
    message(ValueError, lambda: jnp.linalg.cross(np.ones((3, 2), "f4"), np.ones(3, "f4")), """\
tanx.numpy.linalg.cross: vectors must have three components.
  x1: float32[3,2]
  x2: float32[3]""")


def symmetric(x):
    return x + np.conj(np.swapaxes(x, -1, -2))


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_forms_are_similar_to_the_matrix(dtype):
    tolerance = 1e-4 if dtype == "float32" else 1e-11
    with tanx.enable_x64(True):
        x, n = values(2, 5, 5, dtype=dtype), 5
        for wrap in (lambda f: f, tanx.jit):
            t, z = map(np.asarray, wrap(lax.linalg.schur)(x))
            agree(z @ t @ np.conj(np.swapaxes(z, -1, -2)), x, tolerance, tolerance)
            h, taus = wrap(lax.linalg.hessenberg)(x)
            q = np.zeros_like(x)
            q[..., 0, 0] = 1
            q[..., 1:, 1:] = wrap(lax.linalg.householder_product)(h[..., 1:, :-1], taus)
            agree(q @ np.triu(h, -1) @ np.conj(np.swapaxes(q, -1, -2)), x, tolerance, tolerance)
            _, d, e, _ = map(np.asarray, wrap(lax.linalg.tridiagonal)(symmetric(x)))
            banded = d[..., None] * np.eye(n)
            banded[..., range(1, n), range(n - 1)] = banded[..., range(n - 1), range(1, n)] = e
            agree(np.linalg.eigvalsh(banded), np.linalg.eigvalsh(symmetric(x)), tolerance * 10,
                  tolerance * 10)


def test_ormqr_matches_products_with_reflections():
    a, taus, c = values(5, 3), np.float32([0.5, 0.2, 0.7]), values(5, 4)
    q = np.asarray(lax.linalg.ormqr(a, taus, np.eye(5, dtype=np.float32)))
    agree(q[:, :3], lax.linalg.householder_product(a, taus))
    for wrap in (lambda f: f, tanx.jit):
        agree(wrap(lax.linalg.ormqr)(a, taus, c), q @ c, 1e-5, 1e-5)
        agree(wrap(lambda *xs: lax.linalg.ormqr(*xs, left=False, transpose=True))(
            a, taus, c.T.copy()), c.T @ q.T, 1e-5, 1e-5)


def test_tridiagonal_systems():
    dl, d, du, b = values(2, 6), values(2, 6, seed=1) + 5, values(2, 6, seed=2), values(2, 6, 3)
    dense = np.zeros((2, 6, 6), np.float32)
    for i in range(6):
        dense[:, i, i] = d[:, i]
        if i:
            dense[:, i, i - 1], dense[:, i - 1, i] = dl[:, i], du[:, i - 1]
    want = np.linalg.solve(dense, b)
    agree(lax.linalg.tridiagonal_solve(dl, d, du, b), want, 1e-5, 1e-5)
    agree(tanx.jit(lax.linalg.tridiagonal_solve)(dl, d, du, b), want, 1e-5, 1e-5)


def test_updates():
    a, w = positive(4, 4), V
    r = np.linalg.cholesky(a).T.astype(np.float32)
    want = np.linalg.cholesky(a + np.outer(w, w)).T
    agree(lax.linalg.cholesky_update(r, w), want, 1e-4, 1e-4)
    agree(tanx.jit(lax.linalg.cholesky_update)(r, w), want, 1e-4, 1e-4)
    product = lambda a, c: lax.linalg.symmetric_product(a, c, alpha=2, beta=3,
                                                        symmetrize_output=True)
    x = values(4, 2)
    agree(product(x, a), 2 * x @ x.T + 3 * a, 1e-4, 1e-4)
    agree(tanx.jit(product)(x, a), 2 * x @ x.T + 3 * a, 1e-4, 1e-4)


def test_polar_factors():
    u, h, count, converged = lax.linalg.qdwh(R)
    agree(u @ h, R, 1e-4, 1e-4)
    agree(u.T @ u, np.eye(3), 1e-4, 1e-4)
    assert np.linalg.eigvalsh(h).min() > 0 and count == 0 and converged


def test_second_derivatives():
    for function in (jnp.linalg.inv, lambda x: jnp.linalg.slogdet(x).logabsdet,
                     lambda x: jnp.linalg.solve(x, x[:, 0])):
        adjoint(tanx.grad(lambda x, function=function: jnp.sum(function(x) ** 2)), S)


def test_complex_slogdet():
    x, dx = values(4, 4, dtype=np.complex64), values(4, 4, dtype=np.complex64, seed=1)
    (sign, size), (dsign, dsize) = tanx.jvp(jnp.linalg.slogdet, (x,), (dx,))
    agree((sign, size), np.linalg.slogdet(x), 1e-4, 1e-4)
    step = np.trace(np.linalg.solve(x, dx))
    agree((dsign, dsize), (np.asarray(sign) * 1j * step.imag, step.real), 1e-3, 1e-3)
