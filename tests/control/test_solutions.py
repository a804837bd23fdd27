"""custom_root and custom_linear_solve: derivatives are those of exact solutions."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax

A = np.array([[3.0, 1.0, 0.5], [1.0, 2.0, 0.0], [0.5, 0.0, 4.0]], np.float32)
B = np.array([1.0, 2.0, -1.0], np.float32)


def newton(f, x):
    return lax.while_loop(lambda x: jnp.abs(f(x)) > 1e-5, lambda x: x - f(x) / tanx.grad(f)(x), x)


def root(a):
    return lax.custom_root(lambda x: x ** 2 - a, 1.0, newton, lambda g, y: y / g(1.0))


def gradients(matvec, b):
    """Conjugate gradients."""
    def step(s):
        x, r, p, k = s
        moved = matvec(p)
        alpha = (r @ r) / (p @ moved)
        left = r - alpha * moved
        return x + alpha * p, left, left + (left @ left) / (r @ r) * p, k + 1
    start = jnp.zeros_like(b), b, b, 0
    return lax.while_loop(lambda s: (s[1] @ s[1] > 1e-12) & (s[3] < 20), step, start)[0]


def solve(a, b):
    return lax.custom_linear_solve(lambda x: a @ x, b, gradients, symmetric=True)


def by_inverse(a, b):
    """A system that is not symmetric, with a solver that has an auxiliary result."""
    a = a + jnp.eye(3) * jnp.array([0.0, 1.0, 2.0]) + jnp.tri(3)
    inverse = np.linalg.inv(A + np.eye(3) * [0, 1, 2] + np.tri(3)).astype(np.float32)
    return lax.custom_linear_solve(lambda x: a @ x, b, lambda _, b: (inverse @ b, 7),
                                   lambda _, b: (inverse.T @ b, 8), has_aux=True)


@pytest.mark.parametrize("wrap", [lambda f: f, tanx.jit])
def test_roots(wrap):
    assert wrap(root)(9.0) == pytest.approx(3.0)
    assert wrap(tanx.grad(root))(9.0) == pytest.approx(1 / 6)
    assert wrap(tanx.grad(tanx.grad(root)))(9.0) == pytest.approx(-0.25 * 9 ** -1.5, rel=1e-4)
    assert wrap(lambda a: tanx.jvp(root, (a,), (2.0,)))(9.0)[1] == pytest.approx(1 / 3)
    many = jnp.array([4.0, 9.0, 16.0])
    np.testing.assert_allclose(wrap(tanx.vmap(root))(many), [2, 3, 4], rtol=1e-5)
    np.testing.assert_allclose(wrap(tanx.vmap(tanx.grad(root)))(many), [1 / 4, 1 / 6, 1 / 8],
                               rtol=1e-5)


def test_roots_of_pytrees_with_something_else():
    def f(a):
        def equations(x):
            return {"p": x["p"] * 2 - a, "q": x["q"] - x["p"] * a}
        def solver(f, guess):
            return {"p": a / 2, "q": a * a / 2}, {"steps": 1}
        def tangent(g, y):
            p = y["p"] / 2
            return {"p": p, "q": y["q"] + a * p}
        return lax.custom_root(equations, {"p": 0.0, "q": 0.0}, solver, tangent, has_aux=True)
    x, aux = f(3.0)
    assert (x["p"], x["q"], aux["steps"]) == (1.5, 4.5, 1)
    assert tanx.grad(lambda a: f(a)[0]["q"])(3.0) == pytest.approx(3.0)


@pytest.mark.parametrize("wrap", [lambda f: f, tanx.jit])
def test_linear_systems(wrap):
    x, back = np.linalg.solve(A, B), np.linalg.solve(A.T, np.ones(3))
    np.testing.assert_allclose(wrap(solve)(A, B), x, rtol=1e-4, atol=1e-5)
    da, db = wrap(tanx.grad(lambda a, b: solve(a, b).sum(), (0, 1)))(A, B)
    np.testing.assert_allclose(db, back, rtol=1e-4)
    np.testing.assert_allclose(da, -np.outer(back, x), rtol=1e-3, atol=1e-5)
    moved = wrap(lambda a, b: tanx.jvp(solve, (a, b), (a, b))[1])(A, B)
    np.testing.assert_allclose(moved, np.zeros(3), atol=1e-4)
    several = wrap(tanx.vmap(solve))(jnp.stack([A, 2 * A]), jnp.stack([B, B]))
    np.testing.assert_allclose(several, [x, x / 2], rtol=1e-4, atol=1e-5)
    several = wrap(tanx.vmap(solve, (None, 1), 1))(A, jnp.stack([B, 2 * B], 1))
    np.testing.assert_allclose(several.T, [x, 2 * x], rtol=1e-4, atol=1e-5)


def test_systems_that_are_not_symmetric():
    full = A + np.eye(3) * [0, 1, 2] + np.tri(3)
    (x, told), back = by_inverse(A, B), np.linalg.solve(full.T, np.ones(3))
    np.testing.assert_allclose(x, np.linalg.solve(full, B), rtol=1e-4)
    assert told == 7
    da, db = tanx.grad(lambda a, b: by_inverse(a, b)[0].sum(), (0, 1))(A, B)
    np.testing.assert_allclose(db, back, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(da, -np.outer(back, np.linalg.solve(full, B)), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(("run", "message"), [
    (lambda: lax.custom_linear_solve(lambda x: x[:1], jnp.ones(2), lambda mv, b: b),
     "tanx.lax.custom_linear_solve: matvec, <lambda>, must return the types of b.\n"
     "  b: float32[2]\n  it gave: float32[1]"),
    (lambda: tanx.grad(lambda b: lax.custom_linear_solve(
        lambda x: x * 2, b, lambda mv, b: b / 2).sum())(jnp.ones(2)),
     "tanx.lax.custom_linear_solve: reverse mode solves the transposed system, and needs a "
     "function for it.\n  Hint: give transpose_solve, or symmetric=True if the system is its "
     "own transpose."),
    (lambda: lax.custom_root(lambda x: (x, x), 1.0, lambda f, x: x, lambda g, y: y),
     "tanx.lax.custom_root: f, <lambda>, must return the structure of initial_guess.\n"
     "  initial_guess: PyTreeDef(*)\n  it gave: PyTreeDef((*, *))"),
])
def test_mistakes(run, message):
    with pytest.raises((TypeError, ValueError)) as error:
        run()
    assert str(error.value) == message
