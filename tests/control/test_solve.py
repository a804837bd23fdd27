"""``custom_linear_solve`` and ``custom_root``: solutions and their derivatives."""

import numpy as np

import tanx
import tanx.numpy as jnp
from tanx import lax
from tests.control.ways import each_way

A = jnp.array([[4.0, 1.0], [2.0, 3.0]])
B = jnp.array([1.0, 2.0])


def jacobi(matvec, b):
    """Solve by iteration until convergence: the loop has no useful derivative."""
    diagonal = jnp.stack([matvec(e)[i] for i, e in enumerate(jnp.eye(2))])
    step = lambda x: x + (b - matvec(x)) / diagonal
    return lax.while_loop(lambda c: jnp.abs(c[0] - c[1]).max() > 1e-7,
                          lambda c: (step(c[0]), c[0]), (b, b + 1))[0]


def solved(a, b):
    return lax.custom_linear_solve(lambda x: a @ x, b, jacobi, jacobi)


def exact(a, b):
    (p, q), (r, s) = a
    return jnp.array([[s, -q], [-r, p]]) @ b / (p * s - q * r)


@each_way
def test_linear_systems(run):
    np.testing.assert_allclose(run(solved)(A, B), exact(A, B), rtol=1e-5)
    for argument in (0, 1):
        ours = tanx.grad(lambda a, b: (solved(a, b) ** 2).sum(), argument)
        plain = tanx.grad(lambda a, b: (exact(a, b) ** 2).sum(), argument)
        np.testing.assert_allclose(run(ours)(A, B), plain(A, B), rtol=1e-4, atol=1e-6)
    jvps = [tanx.jvp(f, (A, B), (A * 0.1, B))[1] for f in (run(solved), exact)]
    np.testing.assert_allclose(*jvps, rtol=1e-4)


@each_way
def test_batches_of_systems(run):
    many = jnp.stack([A, A.T, 2 * A])
    np.testing.assert_allclose(run(tanx.vmap(solved, (0, None)))(many, B),
                               [exact(a, B) for a in many], rtol=1e-5)
    gradient = tanx.grad(lambda a, b: solved(a, b).sum())
    np.testing.assert_allclose(run(tanx.vmap(gradient, (0, None)))(many, B),
                               [tanx.grad(lambda a: exact(a, B).sum())(a) for a in many],
                               rtol=1e-4, atol=1e-6)


def test_auxiliary_results_of_solvers():
    f = lambda b: lax.custom_linear_solve(lambda x: {"x": 2 * x["x"]}, b, lambda _, b: (
        {"x": b["x"] / 2}, {"steps": 3}), symmetric=True, has_aux=True)
    x, aux = f({"x": 6.0})
    assert (float(x["x"]), int(aux["steps"])) == (3.0, 3)
    assert tanx.grad(lambda b: f({"x": b})[0]["x"])(6.0) == 0.5


def newton(f, x):
    return lax.while_loop(lambda x: jnp.abs(f(x)) > 1e-5, lambda x: x - f(x) / tanx.grad(f)(x), x)


def cube_root(y):
    return lax.custom_root(lambda x: x**3 - y, 1.0, newton, lambda g, y: y / g(1.0))


@each_way
def test_roots(run):
    np.testing.assert_allclose(run(cube_root)(8.0), 2.0, rtol=1e-5)
    np.testing.assert_allclose(run(tanx.grad(cube_root))(8.0), 1 / 12, rtol=1e-5)
    np.testing.assert_allclose(run(tanx.grad(tanx.grad(cube_root)))(8.0), -1 / 144, rtol=1e-4)
    np.testing.assert_allclose(run(tanx.vmap(tanx.grad(cube_root)))(jnp.array([1.0, 27.0])),
                               [1 / 3, 1 / 27], rtol=1e-5)


@each_way
def test_roots_of_trees(run):
    def f(a, b):
        system = lambda s: {"x": s["x"] * a - b, "n": s["n"] - s["x"]}
        solve = lambda _, guess: ({"x": b / a, "n": b / a}, 5)

        def tangent_solve(g, y):
            # g is linear and triangular: its values at unit vectors are its entries.
            slope = g({"x": 1.0, "n": 0.0})
            x = y["x"] / slope["x"]
            return {"x": x, "n": (y["n"] - slope["n"] * x) / g({"x": 0.0, "n": 1.0})["n"]}
        return lax.custom_root(system, {"x": 1.0, "n": 0.0}, solve, tangent_solve, has_aux=True)

    root, steps = run(f)(2.0, 6.0)
    assert (float(root["x"]), float(root["n"]), int(steps)) == (3.0, 3.0, 5)
    tangent = tanx.jvp(lambda a, b: f(a, b)[0]["n"], (2.0, 6.0), (1.0, 0.0))[1]
    np.testing.assert_allclose(tangent, -1.5)
