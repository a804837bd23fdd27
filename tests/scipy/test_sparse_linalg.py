"""Matrix-free linear systems: solutions, trees, preconditioners, derivatives, batches, errors."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse.linalg as reference

import tanx
import tanx.numpy as jnp
from tanx.scipy.sparse.linalg import bicgstab, cg, gmres
from tanx.test_util import check_grads
from tests.numpy.agreement import agree
from tests.scipy.lives import check

RNG = np.random.default_rng(0)
METHODS = {"cg": cg, "bicgstab": bicgstab, "gmres": gmres,
           "gmres incremental": partial(gmres, solve_method="incremental")}
SIZE = 12


@pytest.fixture(autouse=True)
def x64():
    with tanx.enable_x64(True):
        yield


def system(name, dtype, size=SIZE):
    """A well-conditioned matrix that suits the method, and a right-hand side."""
    parts = RNG.normal(size=(2, size, size))
    a = parts[0] + 1j * parts[1] if np.dtype(dtype).kind == "c" else parts[0]
    a = a @ a.conj().T / size + np.eye(size) if name == "cg" else a + 2 * size * np.eye(size)
    b = RNG.normal(size=size) + (1j * RNG.normal(size=size) if a.dtype.kind == "c" else 0)
    return a.astype(dtype), b.astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128],
                         ids=lambda d: d.__name__)
@pytest.mark.parametrize("name", METHODS)
def test_solutions(name, dtype):
    a, b = system(name, dtype)
    exact = 1e-4 if np.dtype(dtype).char in "fF" else 1e-8
    want = np.linalg.solve(a, b)
    solve = partial(METHODS[name], tol=exact / 100)
    if dtype is not np.float64:
        agree(solve(a, b)[0], want, exact, exact)
        return
    check(lambda a, b: solve(a, b)[0], (a, b), want, exact, exact)
    inverse = np.diag(1 / np.diag(a))
    agree(solve(lambda x: a @ x, b, x0=b, M=lambda x: inverse @ x)[0], want, exact, exact)
    agree(tanx.vmap(lambda a, b: solve(a, b, M=inverse)[0])(np.stack([a, 2 * a]), np.stack([b, b])),
          np.stack([want, want / 2]), exact, exact)


@pytest.mark.parametrize("steps, preconditioned", [(1, True), (4, False)])
def test_steps_match_scipy(steps, preconditioned):
    """In exact arithmetic the vectors after the same number of steps are equal."""
    for name, theirs in (("cg", reference.cg), ("bicgstab", reference.bicgstab)):
        a, b = system(name, np.float64)
        m = np.diag(RNG.uniform(0.5, 1.5, SIZE)) if preconditioned else None
        want, _ = theirs(a, b, maxiter=steps, rtol=0.0, atol=0.0, M=m)
        agree(METHODS[name](a, b, maxiter=steps, tol=0.0, M=m)[0], want, 1e-9, 1e-9)
    a, b = system("gmres", np.float64)
    for name in ("gmres", "gmres incremental"):
        want, _ = reference.gmres(a, b, restart=3, maxiter=steps, rtol=0.0, atol=0.0)
        agree(METHODS[name](a, b, restart=3, maxiter=steps, tol=0.0)[0], want, 1e-9, 1e-9)


@pytest.mark.parametrize("name", METHODS)
def test_tolerances(name):
    a, b = system(name, np.float64)
    @tanx.jit
    def solved(b, x0, tol, atol, steps):
        return METHODS[name](a, b, x0, tol=tol, atol=atol, maxiter=steps)[0]
    zero, want = np.zeros(SIZE), np.linalg.solve(a, b)
    for tol, atol in ((1e-1, 0.0), (0.0, 1e-2), (1e-8, 0.0)):
        x = solved(b, zero, tol, atol, 100)
        assert np.linalg.norm(a @ x - b) <= max(tol * np.linalg.norm(b), atol) * 1.0001
    agree(solved(b, zero, 1e-5, 0.0, 0), zero)
    agree(solved(zero, zero, 1e-5, 0.0, 10), zero)
    agree(solved(b, want, 1e-5, 0.0, 10), want, 1e-12, 1e-12)


@pytest.mark.parametrize("name", METHODS)
def test_trees(name):
    b = {"x": np.arange(3.0), "y": (np.ones((2, 2)), np.float64(3.0))}

    def matvec(v):
        return {"x": 2 * v["x"], "y": (3 * v["y"][0] + v["y"][1], 5 * v["y"][1] + 0.0)}

    def symmetric(v):
        return {"x": 2 * v["x"], "y": (3 * v["y"][0], 5 * v["y"][1])}
    matvec = symmetric if name == "cg" else matvec
    x, _ = METHODS[name](matvec, b, tol=1e-10, M=lambda v: tanx.tree.map(lambda leaf: leaf / 3, v))
    assert tanx.tree.structure(x) == tanx.tree.structure(b)
    agree(tanx.tree.leaves(matvec(x)), tanx.tree.leaves(b), 1e-8, 1e-8)


@pytest.mark.parametrize("name", METHODS)
def test_derivatives(name):
    a, b = system(name, np.float64, 4)

    def solved(a, b, m):
        a = (a + a.T) / 2 if name == "cg" else a
        return METHODS[name](lambda x: a @ x, b, tol=1e-12, x0=jnp.ones(4), M=m)[0]
    m = np.diag(1 / np.diag(a))
    if name == "cg":
        check_grads(lambda a, b: solved(a, b, None), (a, b), 2, rtol=1e-5, atol=1e-5)
    da, db = RNG.normal(size=(4, 4)), RNG.normal(size=4)
    da = da + da.T
    x, dx = tanx.jit(lambda *x: tanx.jvp(lambda a, b: solved(a, b, m), x, (da, db)))(a, b)
    agree(dx, np.linalg.solve(a, db - da @ x), 1e-8, 1e-8)
    gradient = tanx.jit(tanx.grad(lambda a, b: solved(a, b, m).sum(), argnums=(0, 1)))
    back = np.linalg.solve(a.T, np.ones(4))
    for _ in range(4):
        got = gradient(a, b)
        agree(got[1], back, 1e-8, 1e-8)
        if name != "cg":
            agree(got[0], -np.outer(back, np.linalg.solve(a, b)), 1e-8, 1e-8)


def test_inside_of_a_loop():
    a, b = system("cg", np.float64)

    @tanx.jit
    def steps(b):
        return tanx.lax.scan(lambda x, _: (cg(a, x, tol=1e-10)[0], x.sum()), b, None, length=3)
    for _ in range(4):
        agree(steps(b)[0], np.linalg.solve(a @ a @ a, b), 1e-7, 1e-7)


def test_krylov_spaces_that_are_complete_early():
    """For a multiple of the identity, one product suffices."""
    b = np.arange(1.0, 6.0)
    for name in METHODS:
        agree(METHODS[name](lambda x: 3 * x, b)[0], b / 3, 1e-6)
        agree(METHODS[name](np.zeros((0, 0)), np.zeros(0))[0], np.zeros(0))
    x, info = gmres(np.eye(5), b)
    assert info.dtype == np.int64 and info.weak_type and info == 0


MISTAKES = [
    (lambda: cg(np.ones((2, 3)), np.ones(3)), ValueError, "square"),
    (lambda: cg("x", np.ones(3)), TypeError, "function or a matrix"),
    (lambda: cg([[1.0]], np.ones(1)), TypeError, "function or a matrix"),
    (lambda: cg(np.eye(3), np.ones(3), x0=np.ones(2)), ValueError, "shapes"),
    (lambda: cg(np.eye(3), np.ones(3), x0=(np.ones(3),)), ValueError, "structure"),
    (lambda: cg(np.eye(3), np.arange(3)), TypeError, "floats"),
    (lambda: cg(lambda x: x[:2], np.ones(3)), ValueError, "types of b"),
    (lambda: bicgstab(np.eye(3), np.ones(3), M=np.ones((2, 3))), ValueError, "M must be"),
    (lambda: gmres(np.eye(3), np.ones(3), solve_method="x"), ValueError, "no such solve_method"),
    (lambda: gmres(np.eye(3), np.ones(3), restart=0), IndexError, "dimension"),
]


@pytest.mark.parametrize("call, kind, words", MISTAKES, ids=range(len(MISTAKES)))
def test_mistakes(call, kind, words):
    with pytest.raises(kind, match=words):
        call()
