"""scipy.linalg, scipy.sparse.linalg and scipy.optimize: functions of matrices, systems, minima."""

from importlib import import_module

import numpy as np

from .case import family, noise
from .linalg import positive

functions = family("scipy: functions and systems of matrices", numpy=False)
iterations = family("scipy: systems by products, and minima", numpy=False)


def room(jax, name):
    """A subpackage of scipy, which JAX may not have loaded."""
    return import_module(f"{jax.__name__}.scipy.{name}")


def stable(*shape, dtype="float32"):
    """Matrices with a norm of about 1."""
    return noise(*shape, dtype=dtype) / shape[-1] ** 0.5


@functions("expm, {n} x {n} {dtype}", n=[4, 30, 200], dtype=["float32", "float64"])
@functions("sqrtm, {n} x {n} {dtype}", n=30, dtype="float32", name="sqrtm")
def function_of_matrix(jax, jnp, n, dtype, name="expm"):
    make = positive if name == "sqrtm" else stable
    run = getattr(room(jax, "linalg"), name)
    # The root of a positive matrix is real, up to rounding.
    return (lambda a: run(a).real) if name == "sqrtm" else run, (make(n, n, dtype=dtype),)


@functions("expm, {b} x {n} x {n}", b=1000, n=[4, 16])
def exponentials(jax, jnp, b, n):
    return room(jax, "linalg").expm, (stable(b, n, n),)


@functions("gradient of expm, {n} x {n}", n=[4, 50])
def gradient_of_exponential(jax, jnp, n):
    weights = noise(n, n, seed=1)
    return jax.grad(lambda a: (room(jax, "linalg").expm(a) * weights).sum()), (stable(n, n),)


@functions("lu_factor, {n} x {n}", n=[8, 300])
def factor(jax, jnp, n):
    return room(jax, "linalg").lu_factor, (noise(n, n),)


@functions("lu_factor and lu_solve, {n} x {n}", n=[8, 300])
def by_factor(jax, jnp, n):
    linalg = room(jax, "linalg")
    return lambda a, b: linalg.lu_solve(linalg.lu_factor(a), b), (
        noise(n, n) + n ** 0.5 * np.eye(n, dtype="float32"), noise(n, 3, seed=1))


@functions("solve of positive matrices, {b} x {n} x {n}", b=[1, 1000], n=8)
@functions("solve of positive matrices, {b} x {n} x {n}", b=1, n=300)
def solve_positive(jax, jnp, b, n):
    return lambda a, b: room(jax, "linalg").solve(a, b, assume_a="pos"), (
        positive(b, n, n), noise(b, n, 2, seed=1))


@functions("cho_factor and cho_solve, {n} x {n}", n=[8, 300])
def by_cholesky(jax, jnp, n):
    linalg = room(jax, "linalg")
    return lambda a, b: linalg.cho_solve(linalg.cho_factor(a), b), (
        positive(n, n), noise(n, seed=1))


@functions("solve_triangular, {b} x {n} x {n}", b=[1, 1000], n=16)
def triangle(jax, jnp, b, n):
    return lambda a, b: room(jax, "linalg").solve_triangular(a, b, lower=True), (
        np.linalg.cholesky(positive(b, n, n)), noise(b, n, 2, seed=1))


@functions("solve_sylvester, {n} x {n}", n=[8, 50])
def sylvester(jax, jnp, n):
    return room(jax, "linalg").solve_sylvester, (
        positive(n, n), positive(n, n), noise(n, n, seed=1))


@functions("eigh_tridiagonal, values of {n} x {n}", n=[10, 500])
def tridiagonal(jax, jnp, n):
    return lambda d, e: room(jax, "linalg").eigh_tridiagonal(d, e, eigvals_only=True), (
        noise(n), noise(n - 1, seed=1))


@functions("toeplitz, {n} x {n}", n=1000)
def toeplitz(jax, jnp, n):
    return room(jax, "linalg").toeplitz, (noise(n), noise(n, seed=1))


# -- iterations ------------------------------------------------------------------------------------


def laplacian(jnp, x):
    """The product with a positive definite matrix that couples neighbours on a grid."""
    padded = jnp.pad(x, 1)
    around = padded[2:, 1:-1] + padded[:-2, 1:-1] + padded[1:-1, 2:] + padded[1:-1, :-2]
    return 4.5 * x - around


@iterations("{name} on a grid of {n} x {n}", name=["cg", "bicgstab"], n=[16, 200])
def on_a_grid(jax, jnp, name, n):
    solve = getattr(room(jax, "sparse.linalg"), name)
    return lambda b: solve(lambda x: laplacian(jnp, x), b, tol=1e-4)[0], (noise(n, n),)


@iterations("{name}, {n} x {n}", name=["cg", "gmres", "gmres incremental"], n=[30, 500])
def dense(jax, jnp, name, n):
    name, _, rest = name.partition(" ")
    options = {"solve_method": rest} if rest else {}
    solve = getattr(room(jax, "sparse.linalg"), name)
    return lambda a, b: solve(a, b, tol=1e-4, **options)[0], (
        positive(n, n), noise(n, seed=1))


@iterations("gradient of cg, {n} x {n}", n=300)
def gradient_of_cg(jax, jnp, n):
    solve = room(jax, "sparse.linalg").cg
    return jax.grad(lambda a, b: (solve(a, b, tol=1e-4)[0] ** 2).sum(), argnums=(0, 1)), (
        positive(n, n), noise(n, seed=1))


def quartic(jnp, x):
    """A function with one minimum, at ones, and axes of different lengths."""
    weights = 1 + jnp.arange(x.shape[0], dtype=x.dtype) % 7
    return (weights * (x - 1) ** 2).sum() + 0.1 * ((x - 1) ** 4).sum()


@iterations("minimize by BFGS, {n} variables", n=[2, 50, 300], dtype="float64")
@iterations("minimize by BFGS, {b} times {n} variables", b=100, n=5, dtype="float64")
def minima(jax, jnp, n, dtype, b=None):
    minimize = room(jax, "optimize").minimize

    def run(x0):  # to the digits that the tolerance promises
        return minimize(lambda x: quartic(jnp, x), x0, method="BFGS").x.round(4)
    if b is None:
        return run, (noise(n, dtype=dtype),)
    # For some of the starting points, JAX's line search fails.
    return lambda x0: jnp.median(jax.vmap(run)(x0), axis=0), (noise(b, n, dtype=dtype) / 4,)
