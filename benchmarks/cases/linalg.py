"""Linear algebra: batches of tiny matrices, single ones of a few sizes, and derivatives."""

import numpy as np

from .case import family, noise

tiny = family("linear algebra: batches of tiny matrices")
single = family("linear algebra: single matrices")
derivative = family("derivatives of linear algebra", numpy=False)


def positive(*shape, dtype="float32"):
    """Positive definite matrices."""
    x, n = noise(*shape, dtype=dtype), shape[-1]
    return (x @ x.swapaxes(-1, -2) / n + np.eye(n)).astype(dtype)


def apart(*shape, dtype="float32"):
    """Positive definite matrices with eigenvalues 1, 2, 3, …, so that eigenvectors are unique."""
    q = np.linalg.qr(noise(*shape, dtype="float64"))[0]
    return (q * np.arange(1, shape[-1] + 1) @ q.swapaxes(-1, -2)).astype(dtype)


def function(jax, jnp, name):
    """A function of one matrix, or of a batch.

    Vectors have arbitrary signs and are ill-conditioned, so only their lengths are compared.
    """
    if name == "lu":
        return jax.lax.linalg.lu
    if name in ("eigh", "svd"):
        return lambda x: lengths(jnp, getattr(jnp.linalg, name)(x))
    if name == "eig":  # their order is arbitrary, too
        def run(x):
            values, vectors = jnp.linalg.eig(x)
            return jnp.sort(jnp.abs(values)), (jnp.abs(vectors) ** 2).sum(-2)
        return run
    if name == "eigvals":
        return lambda x: jnp.sort(jnp.abs(jnp.linalg.eigvals(x)))
    if name == "matrix_power":
        return lambda x: jnp.linalg.matrix_power(x, 11)
    return getattr(jnp.linalg, name)


def lengths(jnp, parts):
    """Values unchanged, and the squared norms of the rows of vectors."""
    rank = min(part.ndim for part in parts)
    return [part if part.ndim == rank else (part ** 2).sum(-1) for part in parts]


def operand(name, *shape, dtype="float32"):
    if name in ("cholesky", "eigh"):
        return positive(*shape, dtype=dtype)
    x = noise(*shape, dtype=dtype)
    return x / shape[-1] ** 0.5 if name == "matrix_power" else x


@tiny("{name}, {b} x {n} x {n} f32", b=10_000, n=[4, 8], numpy=False,
      name=["cholesky", "lu", "qr", "inv", "det", "slogdet", "eigh", "svd"])
@tiny("{name}, {b} x {n} x {n} f32", b=1000, n=[16, 32], numpy=False,
      name=["cholesky", "lu", "qr", "inv", "det", "slogdet", "eigh", "svd", "svdvals", "eig",
            "eigvals", "pinv"])
@tiny("{name}, {b} x {n} x {n} {dtype}", b=1000, n=[4, 16], numpy=False, dtype="float64",
      name=["cholesky", "inv", "eigh", "svd", "eig"])
def batch(jax, jnp, name, b, n, dtype="float32"):
    return function(jax, jnp, name), (operand(name, b, n, n, dtype=dtype),)


@tiny("solve, {b} x {n} x {n}, a vector each", b=1000, n=[4, 8, 16, 32])
def solve_vectors(jax, jnp, b, n):
    return lambda a, b: jnp.linalg.solve(a, b), (noise(b, n, n), noise(b, n, 1, seed=1))


@tiny("triangular_solve, {b} x {n} x {n}, {k} columns", b=1000, n=[4, 16, 32], k=8, numpy=False)
def triangles(jax, jnp, b, n, k):
    def run(a, b):
        return jax.lax.linalg.triangular_solve(a, b, left_side=True, lower=True)
    return run, (np.linalg.cholesky(positive(b, n, n)), noise(b, n, k, seed=1))


@tiny("Kalman gains, {b} of {n} states", b=1000, n=[4, 8], numpy=False)
def gains(jax, jnp, b, n):
    def run(p, h):
        return jnp.linalg.solve(h @ p @ h.swapaxes(1, 2) + jnp.eye(n), h @ p)
    return run, (positive(b, n, n), noise(b, n, n, seed=1))


@single("{name}, {n} x {n} f32", n=[4, 100, 500], numpy=False,
        name=["cholesky", "lu", "qr", "inv", "det", "eigh", "svd", "pinv", "matrix_power"])
@single("{name}, {n} x {n} f32", n=100, numpy=False, name=["eig"])
@single("{name}, {n} x {n} f32", n=1000, numpy=False,
        name=["cholesky", "lu", "qr", "inv", "det", "matrix_power"])
def one(jax, jnp, name, n):
    return function(jax, jnp, name), (operand(name, n, n),)


@single("solve, {n} x {n}, a vector", n=[4, 100, 500, 1000])
def solve(jax, jnp, n):
    return jnp.linalg.solve, (noise(n, n), noise(n, seed=1))


@single("lstsq, {m} x {n}", m=1000, n=100, numpy=False)
def least_squares(jax, jnp, m, n):
    return lambda a, b: jnp.linalg.lstsq(a, b)[0], (noise(m, n), noise(m, seed=1))


@single("svd, {m} x {n}", m=1000, n=50, numpy=False)
def thin(jax, jnp, m, n):
    return lambda a: lengths(jnp, jnp.linalg.svd(a, full_matrices=False)), (noise(m, n),)


@single("triangular_solve, {n} x {n}, {k} columns", n=500, k=[1, 100], numpy=False)
def triangle(jax, jnp, n, k):
    def run(a, b):
        return jax.lax.linalg.triangular_solve(a, b, left_side=True, lower=True)
    return run, (np.linalg.cholesky(positive(n, n)), noise(n, k, seed=1))


@derivative("gradient of {name}, {b} x {n} x {n}", b=1, n=100,
            name=["cholesky", "solve", "eigh", "svd", "logdet", "qr"])
@derivative("gradient of {name}, {b} x {n} x {n}", b=1000, n=8,
            name=["cholesky", "solve", "eigh", "svd", "logdet", "qr"])
def gradient(jax, jnp, name, b, n):
    weights = noise(b, n, n, seed=2)

    def loss(a):
        if name == "logdet":
            return jnp.linalg.slogdet(a)[1].sum()
        if name == "solve":
            return jnp.linalg.solve(a, weights).sum()
        if name == "svd":
            return jnp.linalg.svd(a, compute_uv=False).sum()
        made = getattr(jnp.linalg, name)(a)
        return (made[-1] * weights).sum() if name == "qr" else (
            (made[1] ** 2 * weights).sum() if name == "eigh" else (made * weights).sum())
    return jax.grad(loss), ((apart if name == "eigh" else positive)(b, n, n),)
