"""Factorisations, systems and functions of matrices: SciPy's numbers, derivatives, batches."""

import numpy as np
import pytest
import scipy.linalg as reference

import tanx
import tanx.numpy as jnp
from tanx.scipy import linalg
from tanx.test_util import check_grads
from tests.numpy.agreement import agree
from tests.scipy.lives import check

RNG = np.random.default_rng(0)
DTYPES = [np.float32, np.float64, np.complex64, np.complex128]
EXACT = {"f": 2e-4, "d": 1e-10, "F": 2e-4, "D": 1e-10}


def noise(*shape, dtype=np.float64):
    x = RNG.normal(size=shape)
    return (x + 1j * RNG.normal(size=shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def positive(*shape, dtype=np.float64):
    x = noise(*shape, dtype=dtype)
    return x @ adjoint(x) + np.eye(shape[-1], dtype=dtype)


def adjoint(x):
    return np.swapaxes(np.conj(x), -1, -2)


@pytest.fixture(autouse=True)
def x64():
    with tanx.enable_x64(True):
        yield


def each(function, *batches):
    """SciPy's function on each matrix of a batch, stacked."""
    outs = [function(*args) for args in zip(*batches)]
    if isinstance(outs[0], tuple):
        return tuple(np.stack(part) for part in zip(*outs))
    return np.stack(outs)


def agree_leaves(got, want, exact):
    agree(tanx.tree.leaves(got), list(want) if isinstance(want, tuple) else [want], exact, exact)


def alike(function, args, want, exact):
    """Check that a function returns ``want``; compiled, which is slow, for two dtypes only."""
    if args[0].dtype.char in "dF":
        check(function, args, want, exact, exact)
    else:
        agree_leaves(function(*args), want, exact)


# Functions of the module with unique factors, or with factors normalised to be unique.
FACTORS = {
    "cholesky": (lambda L, a: L.cholesky(a), positive, (4, 4)),
    "cholesky lower": (lambda L, a: L.cholesky(a, lower=True), positive, (4, 4)),
    "lu": (lambda L, a: L.lu(a), noise, (4, 4)),
    "lu tall": (lambda L, a: L.lu(a), noise, (5, 3)),
    "lu wide": (lambda L, a: L.lu(a, permute_l=True), noise, (3, 5)),
    "lu_factor": (lambda L, a: L.lu_factor(a), noise, (4, 4)),
    "qr": (lambda L, a: L.qr(a), noise, (4, 4)),
    "qr full": (lambda L, a: L.qr(a), noise, (5, 3)),
    "qr economic": (lambda L, a: L.qr(a, mode="economic"), noise, (5, 3)),
    "qr r": (lambda L, a: L.qr(a, mode="r"), noise, (3, 5)),
    "qr pivoting": (lambda L, a: L.qr(a, pivoting=True), noise, (4, 5)),
    "svd": (lambda L, a: L.svd(a, compute_uv=False), noise, (4, 3)),
    "eigh": (lambda L, a: L.eigh(a + a.conj().T, eigvals_only=True), noise, (4, 4)),
    "hessenberg": (lambda L, a: L.hessenberg(a, calc_q=True), noise, (4, 4)),
    "schur": (lambda L, a: tuple(abs(x) for x in L.schur(a)), noise, (4, 4)),
    "polar": (lambda L, a: L.polar(a), noise, (4, 4)),
    "polar tall": (lambda L, a: L.polar(a), noise, (5, 3)),
    "polar wide": (lambda L, a: L.polar(a), noise, (3, 5)),
    "polar left": (lambda L, a: L.polar(a, side="left"), noise, (5, 3)),
    "inv": (lambda L, a: L.inv(a), noise, (4, 4)),
    "det": (lambda L, a: L.det(a), noise, (5, 5)),
    "expm": (lambda L, a: L.expm(a), noise, (4, 4)),
    "sqrtm": (lambda L, a: L.sqrtm(a).real, positive, (4, 4)),
    "funm": (lambda L, a: L.funm(a, np.exp if L is reference else jnp.exp).astype(complex), noise,
             (4, 4)),
}
SINGLE = {"funm", "eigh"}  # they take no batch, or the test is for one matrix


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.__name__)
@pytest.mark.parametrize("name", FACTORS)
def test_factors(name, dtype):
    function, make, shape = FACTORS[name]
    exact = EXACT[np.dtype(dtype).char]
    a = make(*shape, dtype=dtype)
    alike(lambda a: function(linalg, a), (a,), function(reference, a), exact)
    many = make(3, *shape, dtype=dtype)
    want = each(lambda a: function(reference, a), many)
    agree_leaves(tanx.vmap(lambda a: function(linalg, a))(many), want, exact)
    if name not in SINGLE:
        agree_leaves(function(linalg, many), want, exact)


@pytest.mark.parametrize("name", FACTORS)
def test_empty_and_single(name):
    """Matrices without elements, batches without matrices, and matrices of one element."""
    function, make, shape = FACTORS[name]
    for lead, size in (((), 0), ((0,), 3), ((2,), 0), ((2,), 1), ((), 1)):
        if name in SINGLE and lead:
            continue
        a = make(*lead, size, size)
        if size == 1:
            want = function(reference, a) if not lead else each(
                lambda a: function(reference, a), a)
            agree_leaves(function(linalg, a), want, 1e-10)
        else:
            leaves = tanx.tree.leaves(function(linalg, a))
            assert all(not x.size or x.ndim == len(lead) for x in leaves)
            again = tanx.eval_shape(lambda a: function(linalg, a), a)
            assert [x.shape for x in tanx.tree.leaves(again)] == [x.shape for x in leaves]


def test_types_follow_the_operands():
    """Integers become floats, weak types become strong, float16 is refused."""
    for name, (function, _, _) in FACTORS.items():
        a = np.array([[4, 1], [1, 3]])
        for x in tanx.tree.leaves(function(linalg, a.astype(np.int32))):
            assert not x.weak_type
            assert x.dtype.kind in "fc" or name.startswith(("lu_factor", "qr pivoting"))
    for function in (linalg.cholesky, linalg.lu, linalg.schur, linalg.expm, linalg.eigh):
        with pytest.raises(TypeError, match="32 or 64 bits"):
            function(jnp.eye(2, dtype=jnp.float16))


# -- systems ---------------------------------------------------------------------------------------


def of_factor(function, factor, **options):
    return lambda L, a, b: getattr(L, function)(getattr(L, factor)(a), b, **options)


SYSTEMS = {
    "solve": (lambda L, a, b: L.solve(a, b), noise),
    "solve pos": (lambda L, a, b: L.solve(a, b, assume_a="pos"), positive),
    "solve pos lower": (lambda L, a, b: L.solve(a, b, assume_a="pos", lower=True), positive),
    "cho_solve": (of_factor("cho_solve", "cho_factor"), positive),
    "lu_solve": (of_factor("lu_solve", "lu_factor"), noise),
    "lu_solve transposed": (of_factor("lu_solve", "lu_factor", trans=1), noise),
    "lu_solve adjoint": (of_factor("lu_solve", "lu_factor", trans=2), noise),
    "solve_triangular": (lambda L, a, b: L.solve_triangular(a, b), positive),
    "solve_triangular lower": (lambda L, a, b: L.solve_triangular(a, b, lower=True), positive),
    "solve_triangular T": (lambda L, a, b: L.solve_triangular(a, b, "T"), positive),
    "solve_triangular C": (lambda L, a, b: L.solve_triangular(a, b, 2, lower=True), positive),
    "solve_triangular unit": (lambda L, a, b: L.solve_triangular(a, b, unit_diagonal=True), noise),
}


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.__name__)
@pytest.mark.parametrize("name", SYSTEMS)
def test_systems(name, dtype):
    function, make = SYSTEMS[name]
    exact = EXACT[np.dtype(dtype).char] * 5
    a = make(4, 4, dtype=dtype)
    for b in (noise(4, dtype=dtype), noise(4, 0, dtype=dtype)):
        agree(function(linalg, a, b), function(reference, a, b), exact, exact)
    b = noise(4, 2, dtype=dtype)
    alike(lambda a, b: function(linalg, a, b), (a, b), function(reference, a, b), exact)
    many, b = make(3, 4, 4, dtype=dtype), noise(3, 4, 2, dtype=dtype)
    want = each(lambda a, b: function(reference, a, b), many, b)
    agree(function(linalg, many, b), want, exact, exact)
    agree(tanx.vmap(lambda a, b: function(linalg, a, b))(many, b), want, exact, exact)
    want = np.stack([function(reference, a, x) for x in b])  # one matrix, several right-hand sides
    agree(function(linalg, a, b), want, exact, exact)


@pytest.mark.parametrize("name", SYSTEMS)
def test_derivatives_of_systems(name):
    function, make = SYSTEMS[name]

    def solved(a, b):
        return function(linalg, (a + a.T) / 2 if make is positive else a, b)
    check_grads(solved, (make(3, 3) + 3 * np.eye(3), noise(3, 2)), 2, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("method", ["schur", "eigen"])
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.__name__)
def test_sylvester(dtype, method):
    exact = EXACT[np.dtype(dtype).char] * 5
    a, b, c = (noise(*shape, dtype=dtype) for shape in ((4, 4), (3, 3), (4, 3)))
    a = a + 5 * np.eye(4, dtype=dtype)

    def solved(a, b, c):
        return linalg.solve_sylvester(a, b, c, method=method)
    alike(solved, (a, b, c), reference.solve_sylvester(a, b, c), exact)
    many = noise(2, 4, 3, dtype=dtype)
    want = np.stack([reference.solve_sylvester(a, b, c) for c in many])
    agree(solved(a, b, many), want, exact, exact)
    agree(tanx.vmap(solved, (None, None, 0))(a, b, many), want, exact, exact)
    if dtype is np.float64:
        check_grads(solved, (a, b, c), 1, rtol=1e-4, atol=1e-4)
        assert jnp.isnan(solved(a, -a, noise(4, 4))).all()
        assert solved(np.zeros((0, 0)), b, np.zeros((0, 3))).shape == (0, 3)


def test_singular_systems_are_not_finite():
    zero, one = jnp.zeros((2, 2)), jnp.ones(2)
    for found in (linalg.solve(zero, one), linalg.solve_triangular(zero, one),
                  linalg.lu_solve(linalg.lu_factor(zero), one), linalg.inv(zero),
                  linalg.solve(zero, one, assume_a="pos"), linalg.cholesky(zero - 1)):
        assert not np.isfinite(found).all()
    assert linalg.det(zero) == 0


def test_batches_of_vectors_warn():
    a, b = positive(2, 3, 3), noise(2, 3)
    with pytest.warns(FutureWarning, match="b\\[..., None\\]"):
        found = linalg.cho_solve(linalg.cho_factor(a), b)
    agree(found, np.linalg.solve(a, b[..., None])[..., 0], 1e-10)


# -- products, pairs of matrices, forms ------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.complex128], ids=lambda d: d.__name__)
@pytest.mark.parametrize("mode, shape", [("left", (3,)), ("left", (3, 2)), ("right", (5,)),
                                         ("right", (2, 5))])
@pytest.mark.parametrize("options", [{}, {"pivoting": True}, {"conjugate": True}], ids=str)
def test_qr_multiply(mode, shape, options, dtype):
    a, c = noise(5, 3, dtype=dtype), noise(*shape, dtype=dtype)
    want = reference.qr_multiply(a, c, mode, **options)
    agree_leaves(linalg.qr_multiply(a, c, mode, **options), want, 1e-10)
    agree_leaves(tanx.vmap(lambda c: linalg.qr_multiply(a, c, mode, **options))(c[None]),
                 tuple(x[None] for x in want), 1e-10)


@pytest.mark.parametrize("type", [1, 2, 3])
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.__name__)
def test_pairs_of_hermitian_matrices(dtype, type):
    exact = EXACT[np.dtype(dtype).char] * 10
    a, b = noise(4, 4, dtype=dtype), positive(4, 4, dtype=dtype)
    a = a + adjoint(a)
    w, v = linalg.eigh(a, b, type=type)
    agree(w, reference.eigh(a, b, type=type, eigvals_only=True), exact, exact)
    got, want = {1: (a @ v, b @ v * w), 2: (a @ (b @ v), v * w), 3: (b @ (a @ v), v * w)}[type]
    agree(got, want, exact, exact * abs(np.asarray(want)).max())
    metric = np.linalg.inv(b) if type == 3 else b
    agree(adjoint(np.asarray(v)) @ metric @ v, np.eye(4), exact, exact)
    alike(lambda a, b: linalg.eigh(a, b, type=type, eigvals_only=True), (a, b),
          reference.eigh(a, b, type=type, eigvals_only=True), exact)


def test_derivatives_of_pairs():
    def values(a, b):
        return linalg.eigh(a, b @ b.T + jnp.eye(3), eigvals_only=True)
    check_grads(values, (noise(3, 3), noise(3, 3)), 2, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("size", [1, 2, 8])
def test_complex_schur_form_of_a_real_one(size):
    a = noise(size, size)
    want = reference.rsf2csf(*reference.schur(a))
    check(lambda a: linalg.rsf2csf(*linalg.schur(a)), (a,), want, 1e-9, 1e-9)
    t, z = linalg.rsf2csf(*linalg.schur(noise(3, size, size)))
    assert t.shape == z.shape == (3, size, size)


# -- derivatives of factors and functions ----------------------------------------------------------


@pytest.mark.parametrize("name", [
    "cholesky", "lu", "lu wide", "qr economic", "svd", "eigh", "polar", "polar tall", "polar wide",
    "polar left", "inv", "det", "expm"])
def test_derivatives_of_factors(name):
    function, make, shape = FACTORS[name]

    def of(a):
        return function(linalg, (a + a.T) / 2 if make is positive else a)
    check_grads(of, (make(*shape),), 1 if name == "expm" else 2, rtol=2e-4, atol=2e-4)


def test_polar_factors_of_rotations_have_derivatives():
    """All singular values are equal, so singular vectors have no derivatives."""
    q = np.linalg.qr(noise(3, 3))[0]
    check_grads(linalg.polar, (q,), 2, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("scale", [1e-3, 0.1, 0.5, 1.5, 30.0])
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.__name__)
def test_exponential_over_sizes(dtype, scale):
    """Each degree of the approximants, and many squarings."""
    a = (noise(2, 5, 5, dtype=dtype) * scale / 3).astype(dtype)
    a[1] *= 0.01
    exact = 1e-4 if np.dtype(dtype).char in "fF" else 1e-10
    want = np.stack([reference.expm(x.astype(np.result_type(dtype, float))) for x in a])
    scales = np.abs(want).max((-2, -1), keepdims=True)
    got = linalg.expm(a)
    assert got.dtype == dtype
    agree(got / scales, want / scales, exact, exact)
    if np.dtype(dtype).char not in "dF":  # compiling is slow
        return
    agree(tanx.vmap(linalg.expm)(a) / scales, want / scales, exact, exact)
    upper = np.triu(a)
    agree(linalg.expm(upper, upper_triangular=True) / scales, linalg.expm(upper) / scales, exact,
          exact)


def test_exponential_of_large_and_bad_matrices():
    eye = np.eye(2)
    assert np.isnan(linalg.expm(1e6 * eye)).all()
    assert np.isfinite(linalg.expm(jnp.stack([1e6 * eye, eye]))[1]).all()
    assert np.isnan(linalg.expm(8 * eye, max_squarings=0)).all()
    got = linalg.expm(np.stack([np.nan * eye, eye]))
    assert np.isnan(got[0]).any()
    agree(got[1], np.e * eye, 1e-14)
    assert linalg.expm(jnp.array([[1, 0], [0, 1]])).dtype == np.float64


def test_derivatives_of_the_exponential():
    """The adjoint of the derivative is the derivative at the transposed matrix."""
    along = tanx.jit(linalg.expm_frechet)
    pulled = tanx.jit(tanx.grad(lambda a, e: (linalg.expm(a) * e).sum()))
    for scale in (0.01, 0.5, 1.0, 3.0):
        a, e = noise(4, 4) * scale, noise(4, 4)
        want = reference.expm_frechet(a, e)
        agree(along(a, e), want, 1e-8, 1e-8 * max(1, abs(want[1]).max()))
        want = reference.expm_frechet(a.T, e, compute_expm=False)
        agree(pulled(a, e), want, 1e-7, 1e-7 * abs(want).max())
    want = reference.expm_frechet(a, e, compute_expm=False)
    agree(linalg.expm_frechet(a, e, compute_expm=False), want, 1e-8, 1e-8 * abs(want).max())


def test_derivatives_of_square_roots_and_functions():
    check_grads(lambda a: linalg.sqrtm(a @ a.T + jnp.eye(3)).real, (noise(3, 3),), 2, rtol=1e-4,
                atol=1e-4)
    with pytest.raises(NotImplementedError):
        tanx.jvp(lambda a: linalg.funm(a, jnp.exp), (noise(3, 3),), (noise(3, 3),))


def test_square_roots_of_singular_and_random_matrices():
    agree(linalg.sqrtm(jnp.zeros((2, 2))), np.zeros((2, 2)))
    assert np.isnan(linalg.sqrtm(jnp.array([[0.0, 1.0], [0.0, 0.0]]))).all()
    a = noise(3, 5, 5)
    root = linalg.sqrtm(a)
    agree(root @ root, a, 1e-10, 1e-10)
    assert (jnp.linalg.eigvals(root).real > -1e-10).all()


def test_estimate_of_the_error_of_functions():
    a = noise(4, 4)
    want = reference.funm(a, lambda x: x * x, disp=False)
    got = linalg.funm(a, lambda x: x * x, disp=False)
    agree(got[0], want[0], 1e-10, 1e-10)
    agree(got[1], want[1], 1e-6)


# -- tridiagonal matrices --------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 7, 40])
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=lambda d: d.__name__)
def test_tridiagonal(size, dtype):
    d, e = noise(size, dtype=dtype), noise(max(size - 1, 0), dtype=dtype)
    exact = EXACT[np.dtype(dtype).char]
    w = reference.eigh_tridiagonal(d, e, eigvals_only=True)
    check(lambda d, e: linalg.eigh_tridiagonal(d, e, eigvals_only=True), (d, e), w, exact, exact)
    got, v = linalg.eigh_tridiagonal(d, e)
    a = np.diag(d) + np.diag(e, 1) + np.diag(e, -1)
    agree(got, w, exact, exact)
    agree(a @ v, v * w, exact * 10, exact * 10)
    picked = linalg.eigh_tridiagonal(d, e, select="i", select_range=(size // 2, size - 1))
    agree(picked[0], w[size // 2:], exact, exact)
    assert picked[1].shape == (size, size - size // 2)


def test_tridiagonal_batches_and_complex_numbers():
    d, e = noise(3, 5), noise(3, 4, dtype=np.complex128)
    w, v = linalg.eigh_tridiagonal(d.astype(complex), e)
    for i in range(3):
        a = np.diag(d[i]) + np.diag(e[i], 1) + np.diag(e[i].conj(), -1)
        agree(w[i], np.linalg.eigvalsh(a), 1e-10, 1e-10)
        agree(a @ v[i], v[i] * w[i], 1e-10, 1e-10)
    check(tanx.vmap(lambda d, e: linalg.eigh_tridiagonal(d, e, eigvals_only=True)),
          (d, abs(e)), linalg.eigh_tridiagonal(d, abs(e), eigvals_only=True), 1e-12, 1e-12)
    assert linalg.eigh_tridiagonal(np.zeros(0), np.zeros(0), eigvals_only=True).shape == (0,)


def _hard_diagonals(name, n):
    d, e = noise(n, dtype=np.float32), noise(n - 1, dtype=np.float32)
    k = np.arange(n)
    return {
        "random": (d, e), "diagonal": (d, 0 * e), "zero": (0 * d, 0 * e),
        "equal": (0 * d + 3, 0 * e), "signs": (0 * d, 0 * e + 1),
        "laplacian": (0 * d + 2, 0 * e - 1), "pairs": (abs(k - n // 2), 0 * e + 1),
        "blocks": (d, e * (k[1:] % 3 > 0)), "large": (d * 5e37, e * 5e37),
        "small": (d * 1e-37, e * 1e-37), "graded": (0.97 ** k, 0.1 * 0.97 ** k[1:])}[name]


@pytest.mark.parametrize("size", [64, 65, 150, 300])
@pytest.mark.parametrize("name", ["random", "diagonal", "zero", "equal", "signs", "laplacian",
                                  "pairs", "blocks", "large", "small", "graded"])
def test_tridiagonal_by_bisection(name, size):
    d, e = (x.astype(np.float32) for x in _hard_diagonals(name, size))
    want = reference.eigh_tridiagonal(d.astype(float), e.astype(float), eigvals_only=True)
    function = tanx.jit(lambda d, e: linalg.eigh_tridiagonal(d, e, eigvals_only=True))
    assert "lapack" not in function.lower(d, e).as_text("loops")
    for _ in range(4):
        got = np.asarray(function(d, e))
        assert got.dtype == np.float32 and (np.diff(got) >= 0).all()
        np.testing.assert_allclose(got, want, 1e-6 if name in ("equal", "graded") else 0,
                                   4 * np.finfo(np.float32).eps * max(abs(want)))


def test_batches_of_tridiagonal_by_bisection():
    d, e = noise(3, 100, dtype=np.float32), noise(3, 99, dtype=np.float32)
    d[1, 5], e[2, 98] = np.nan, np.inf
    function = tanx.jit(tanx.vmap(lambda d, e: linalg.eigh_tridiagonal(d, e, eigvals_only=True)))
    for _ in range(4):
        got = np.asarray(function(d, e))
        agree(got[0], reference.eigh_tridiagonal(d[0], e[0], eigvals_only=True), 1e-5, 1e-5)
        assert np.isnan(got[1:]).all()


def test_derivatives_of_tridiagonal():
    d, e = np.arange(4.0), 0.5 + RNG.random(3)
    check_grads(lambda d, e: linalg.eigh_tridiagonal(d, e), (d, e), 2, rtol=1e-4, atol=1e-4)
    check_grads(lambda d, e: linalg.eigh_tridiagonal(d, e, eigvals_only=True), (d, e), 2,
                rtol=1e-4, atol=1e-4)


# -- mistakes --------------------------------------------------------------------------------------

SQUARE, WIDE, VECTOR = np.eye(3), np.ones((2, 3)), np.ones(3)
MISTAKES = [
    (lambda: linalg.cholesky(WIDE), ValueError, "square"),
    (lambda: linalg.cholesky(VECTOR), ValueError, "two dimensions"),
    (lambda: linalg.lu_factor(VECTOR), TypeError, "two dimensions"),
    (lambda: linalg.schur(SQUARE, "x"), ValueError, "no such output"),
    (lambda: linalg.qr(SQUARE, mode="raw"), ValueError, "no such mode"),
    (lambda: linalg.qr_multiply(WIDE, np.ones(4)), ValueError, "2 elements"),
    (lambda: linalg.eigh(SQUARE, type=4), ValueError, "1, 2 or 3"),
    (lambda: linalg.eigh(SQUARE, eigvals=(0, 1)), NotImplementedError, "all eigenvalues"),
    (lambda: linalg.eigh(SQUARE, np.eye(2)), ValueError, "same size"),
    (lambda: linalg.polar(SQUARE, "up"), ValueError, "no such side"),
    (lambda: linalg.polar(SQUARE, method="up"), ValueError, "no such method"),
    (lambda: linalg.solve(SQUARE, VECTOR, assume_a="x"), ValueError, "no such property"),
    (lambda: linalg.solve_triangular(SQUARE, np.ones(2)), ValueError, "as many rows"),
    (lambda: linalg.solve_triangular(SQUARE, VECTOR, trans=7), ValueError, "no such trans"),
    (lambda: linalg.lu_solve((SQUARE, np.arange(3)), VECTOR, trans=3), ValueError, "0, 1 or 2"),
    (lambda: linalg.solve_sylvester(SQUARE, SQUARE, WIDE), ValueError, "square"),
    (lambda: linalg.solve_sylvester(SQUARE, SQUARE, SQUARE, method="x"), ValueError, "method"),
    (lambda: linalg.expm(WIDE), ValueError, "square"),
    (lambda: linalg.expm_frechet(SQUARE, np.eye(2)), ValueError, "same shape"),
    (lambda: linalg.sqrtm(SQUARE, blocksize=2), NotImplementedError, "blocks"),
    (lambda: linalg.funm(np.zeros((2, 3, 3)), jnp.exp), ValueError, "one matrix"),
    (lambda: linalg.rsf2csf(SQUARE, np.eye(2)), ValueError, "same size"),
    (lambda: linalg.eigh_tridiagonal(VECTOR, VECTOR), TypeError, "one element fewer"),
    (lambda: linalg.eigh_tridiagonal(VECTOR, np.ones(2, "f")), TypeError, "of one dtype"),
    (lambda: linalg.eigh_tridiagonal(VECTOR, np.ones(2), select="v"), NotImplementedError, "'v'"),
    (lambda: linalg.eigh_tridiagonal(VECTOR, np.ones(2), select="i"), ValueError, "select_range"),
    (lambda: linalg.eigh_tridiagonal(VECTOR, np.ones(2), select="i", select_range=(1, 3)),
     ValueError, "in order"),
]


@pytest.mark.parametrize("call, kind, words", MISTAKES, ids=range(len(MISTAKES)))
def test_mistakes(call, kind, words):
    with pytest.raises(kind, match=words):
        call()
