"""Cumulative sums, products and maxima, along each axis."""

import numpy as np

from .case import family, form, noise, uniform

case = family("cumulative", memory=True)


@case("cumsum, {n} {dtype}", n=[1000, 16_000_000], dtype="float32")
@case("cumsum, {n} {dtype}", n=16_000_000, dtype="int32")
def line(jax, jnp, n, dtype):
    # f32 sums of noise would differ in the last digits; those of small numbers do not.
    scale = 1 if dtype == "int32" else np.float32(1e-3)
    return lambda x: jnp.cumsum(x * scale), (noise(n, dtype=dtype),)


@form("numba", line)
def _(numba, n, dtype):
    scale = np.dtype(dtype).type(1 if dtype == "int32" else 1e-3)

    @numba.njit
    def run(x):
        y = np.empty_like(x)
        total = x.dtype.type(0)
        for i in range(len(x)):
            total += x[i] * scale
            y[i] = total
        return y
    return run, (noise(n, dtype=dtype),)


@case("cumsum along axis {axis}, {n} x {n}", axis=[0, 1], n=4096)
def matrix(jax, jnp, axis, n):
    return lambda x: jnp.cumsum(x, axis=axis), (noise(n, n),)


@case("cumprod along axis {axis}, {n} x {m}", axis=1, n=16384, m=1024)
def product(jax, jnp, axis, n, m):
    return lambda x: jnp.cumprod(x, axis=axis), (1 + noise(n, m) * np.float32(0.01),)


@case("cummax along axis {axis}, {n} x {n}", axis=[0, 1], n=4096, numpy=False)
def maximum(jax, jnp, axis, n):
    return lambda x: jax.lax.cummax(x, axis=axis), (noise(n, n),)


@case("cumlogsumexp, {n} x {m}", n=1024, m=1024, numpy=False, memory=False)
def logsumexp(jax, jnp, n, m):
    return lambda x: jax.lax.cumlogsumexp(x, axis=1), (noise(n, m),)


@case("moving average of 64, {n} x {m}", n=1024, m=4096)
def moving(jax, jnp, n, m):
    def run(x):
        width = min(64, x.shape[1] // 2)
        total = jnp.cumsum(x, axis=1)
        return (total[:, width:] - total[:, :-width]) / width
    return run, (uniform(n, m),)


@case("gradient of a sum of cumsum, {n} x {m}", n=1024, m=4096, numpy=False)
def gradient(jax, jnp, n, m):
    return jax.grad(lambda x: (jnp.cumsum(x, axis=1) ** 2).sum()), (noise(n, m),)
