"""Matrices with a pattern: SciPy's elements, dtypes, batches, derivatives, errors."""

import numpy as np
import pytest
import scipy.linalg as reference

import tanx
import tanx.numpy as jnp
from tanx.scipy import linalg
from tests.numpy.agreement import adjoint, agree
from tests.scipy.lives import check

RNG = np.random.default_rng(0)
OF_VECTORS = ["toeplitz", "hankel", "circulant", "fiedler", "companion", "fiedler_companion"]


@pytest.mark.parametrize("name", OF_VECTORS)
def test_of_one_vector(name):
    function, want = getattr(linalg, name), getattr(reference, name)
    for size in (2, 3, 4, 7):
        for dtype in (np.float32, np.int32, np.complex64):
            x = (RNG.normal(size=size) + 10).astype(dtype)
            got = function(x)
            agree(got, abs(want(x)) if name == "fiedler" else want(x), 1e-5, 1e-5)
            is_float = dtype != np.int32 or "companion" in name
            assert got.dtype.kind == ("i" if not is_float else
                                      "c" if dtype is np.complex64 and name != "fiedler" else "f")
    many = RNG.normal(size=(2, 3, 4)).astype(np.float32)
    wanted = np.array([[want(x) for x in row] for row in many])
    check(function, (many,), wanted)
    agree(tanx.vmap(function)(many), wanted, 1e-5, 1e-5)
    adjoint(function, many[0])


@pytest.mark.parametrize("name", ["toeplitz", "hankel"])
@pytest.mark.parametrize("sizes", [(3, 2), (2, 5), (1, 1), (3, 1), (1, 4)], ids=str)
def test_of_two_vectors(name, sizes):
    c, r = (RNG.normal(size=size).astype(np.float32) for size in sizes)
    function, want = getattr(linalg, name), getattr(reference, name)(c, r)
    check(function, (c, r), want)
    many = np.stack([r, 2 * r, -r])
    agree(function(c, many), np.stack([getattr(reference, name)(c, r) for r in many]))
    assert function(c.astype(np.int32), r).dtype == np.float32
    adjoint(function, c, many)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("m", [1, 2, 5])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
def test_convolution(m, n, mode):
    a, v = RNG.normal(size=m).astype(np.float32), RNG.normal(size=n).astype(np.float32)
    got = linalg.convolution_matrix(a, n, mode)
    agree(got, reference.convolution_matrix(a, n, mode))
    if mode != "same" or m >= n:
        agree(got @ v, np.convolve(a, v, mode), 1e-5, 1e-5)
    if (m, n) == (2, 5):
        check(lambda a: linalg.convolution_matrix(a, n, mode), (np.stack([a, 2 * a]),),
              np.stack([got, 2 * got]))


def test_leslie_and_blocks():
    f, s = np.float32([0.1, 2, 1]), np.float32([0.2, 0.8])
    check(linalg.leslie, (f, s), reference.leslie(f, s))
    agree(linalg.leslie(np.stack([f, 2 * f]), s)[1], reference.leslie(2 * f, s))
    adjoint(linalg.leslie, f, s)
    blocks = [np.ones((2, 3), np.float32), np.float32([1, 2]), np.float32(3),
              np.zeros((0, 2), np.float32)]
    check(linalg.block_diag, blocks, reference.block_diag(*blocks))
    adjoint(lambda *x: linalg.block_diag(*x), *blocks[:3])
    assert linalg.block_diag().shape == (1, 0)
    assert linalg.block_diag(1, 2.5).dtype == np.float32
    assert linalg.block_diag(jnp.ones((2, 2), bool), jnp.arange(2)).dtype == np.int32


@pytest.mark.parametrize("n", [1, 2, 3, 8, 15])
@pytest.mark.parametrize("x64", [False, True])
def test_of_a_size(n, x64):
    """Matrices of integers are rounded only once, so they are exact to the last bit."""
    with tanx.enable_x64(x64):
        dtype = np.float64 if x64 else np.float32
        agree(linalg.hilbert(n), reference.hilbert(n), 1e-6)
        agree(linalg.dft(n), reference.dft(n), 1e-6)
        agree(linalg.dft(n, "sqrtn"), reference.dft(n, "sqrtn"), 1e-6)
        agree(linalg.helmert(n), reference.helmert(n).reshape(n - 1, n), 1e-6)
        agree(linalg.helmert(n, full=True), reference.helmert(n, full=True), 1e-6)
        exact = reference.invhilbert(n, exact=n < 15)
        np.testing.assert_allclose(linalg.invhilbert(n), exact.astype(dtype), rtol=1e-15)
        for kind in ("symmetric", "lower", "upper"):
            for ours, theirs in ((linalg.pascal, reference.pascal),
                                 (linalg.invpascal, reference.invpascal)):
                got = ours(n, kind)
                assert got.dtype == dtype
                np.testing.assert_array_equal(got, theirs(n, kind).astype(dtype))


@pytest.mark.parametrize("n", [1, 2, 4, 16])
def test_hadamard(n):
    check(lambda: linalg.hadamard(n), (), reference.hadamard(n))
    assert linalg.hadamard(n, jnp.bfloat16).dtype == jnp.bfloat16


def test_empty_and_overflowing_matrices():
    for name in ("toeplitz", "hankel", "circulant", "fiedler"):
        assert getattr(linalg, name)(jnp.zeros(0)).shape == (0, 0)
    for name in ("hilbert", "invhilbert", "pascal", "invpascal", "dft"):
        assert getattr(linalg, name)(0).shape == (0, 0)
    assert linalg.toeplitz(jnp.zeros(0), jnp.ones(2)).shape == (0, 2)
    assert linalg.hankel(jnp.ones(2), jnp.zeros(0)).shape == (2, 0)
    assert linalg.fiedler_companion(jnp.ones(1)).shape == (0, 0)
    assert np.isinf(linalg.pascal(200)[-1, -1])
    assert np.isneginf(linalg.invhilbert(60)).any()


MISTAKES = [
    (lambda: linalg.toeplitz([1, 2]), TypeError, "list"),
    (lambda: linalg.hankel(2.0), ValueError, "one dimension"),
    (lambda: linalg.toeplitz(np.ones((2, 3)), np.ones((3, 3))), ValueError, "broadcast"),
    (lambda: linalg.companion(np.ones(1)), ValueError, "two coefficients"),
    (lambda: linalg.fiedler_companion(np.ones(0)), ValueError, "one coefficient"),
    (lambda: linalg.leslie(np.ones(3), np.ones(3)), ValueError, "one less"),
    (lambda: linalg.convolution_matrix(np.ones(3), 0), ValueError, "at least 1"),
    (lambda: linalg.convolution_matrix(np.ones(3), 2, "x"), ValueError, "no such mode"),
    (lambda: linalg.convolution_matrix(np.ones(3), 2.5), TypeError, "integer"),
    (lambda: linalg.block_diag(np.ones((1, 1, 1))), ValueError, "two dimensions"),
    (lambda: linalg.pascal(3, "x"), ValueError, "no such kind"),
    (lambda: linalg.invpascal(3, "x"), ValueError, "no such kind"),
    (lambda: linalg.hadamard(3), ValueError, "power of 2"),
    (lambda: linalg.helmert(0), ValueError, "at least 1"),
    (lambda: linalg.dft(3, "x"), ValueError, "no such scale"),
    (lambda: linalg.dft(3, dtype=float), ValueError, "complex"),
]


@pytest.mark.parametrize("call, kind, words", MISTAKES, ids=range(len(MISTAKES)))
def test_mistakes(call, kind, words):
    with pytest.raises(kind, match=words):
        call()
