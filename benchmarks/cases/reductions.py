"""Reductions along each axis."""

import numpy as np

from .case import family, form, noise, uniform

case = family("reductions", memory=True)


@case("{name} along axis {axis}, {n} x {m}", name=["sum", "max"], axis=[0, 1], n=4096, m=4096)
@case("{name} along axis {axis}, {n} x {m}", name=["mean", "var"], axis=[0, 1], n=4096, m=4096)
@case("{name} along axis {axis}, {n} x {m}", name="sum", axis=[0, 1], n=100, m=1000)
@case("{name} along axis {axis}, {n} x {m}", name="sum", axis=[0, 1], n=1_000_000, m=16)
@case("{name} along axis {axis}, {n} x {m}", name="max", axis=[0, 1], n=16, m=1_000_000)
def matrix(jax, jnp, name, axis, n, m):
    return lambda x: getattr(jnp, name)(x, axis=axis), (noise(n, m),)


@case("{name} of all, {n} {dtype}", name="sum", n=[1000, 16_000_000], dtype="float32")
@case("{name} of all, {n} {dtype}", name="sum", n=16_000_000,
      dtype=["bfloat16", "int32", "float64"])
@case("{name} of all, {n} {dtype}", name=["max", "mean"], n=16_000_000, dtype="float32")
def whole(jax, jnp, name, n, dtype):
    return lambda x: getattr(jnp, name)(x), (noise(n, dtype=dtype),)


@form("numba", whole)
def _(numba, name, n, dtype):
    @numba.njit(parallel=True)
    def total(x):
        y = x.dtype.type(0)
        for i in numba.prange(len(x)):
            y += x[i]
        return y
    return (total if name == "sum" else getattr(np, name)), (noise(n, dtype=dtype),)


@case("sum along axis {axis} of {n} x {n} x {n}", axis=[0, 1, 2], n=256)
def cube(jax, jnp, axis, n):
    return lambda x: x.sum(axis=axis), (noise(n, n, n),)


@case("prod of {n} f32", n=16_000_000)
def product(jax, jnp, n):
    return lambda x: jnp.prod(1 + x * 1e-5), (noise(n),)


@case("{name} along axis {axis}, {n} x {n} f32", name=["argmax"], axis=[0, 1], n=4096)
def position(jax, jnp, name, axis, n):
    return lambda x: getattr(jnp, name)(x, axis=axis), (noise(n, n),)


@case("any(x > 9), {n} f32", n=16_000_000)
def any_of(jax, jnp, n):
    return lambda x: jnp.any(x > 9), (noise(n),)


@case("sum(x * y), {n} f32", n=[100_000, 16_000_000])
def inner(jax, jnp, n):
    return lambda x, y: (x * y).sum(), (noise(n), noise(n, seed=1))


@case("sum(exp(x)), {n} f32", n=16_000_000, memory=False)
def sum_of_exp(jax, jnp, n):
    return lambda x: jnp.exp(x).sum(), (noise(n),)


@case("mean and variance of all, {n} f32", n=16_000_000)
def moments(jax, jnp, n):
    return lambda x: (x.mean(), x.var()), (noise(n),)


@case("sum of squared differences, {n} x {n} by rows", n=4096)
def distances(jax, jnp, n):
    return lambda x, y: ((x - y) ** 2).sum(axis=1), (noise(n, n), noise(n))


@case("pairwise distances, {n} x {m} points", n=1000, m=3, memory=False)
def pairwise(jax, jnp, n, m):
    return lambda x: jnp.sqrt(((x[:, None] - x[None]) ** 2).sum(axis=-1)), (uniform(n, m),)
