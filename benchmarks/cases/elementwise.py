"""Elementwise functions: bound by memory or by vector arithmetic."""

import numpy as np

from .case import family, form, noise, uniform

case = family("elementwise", memory=True)
compute = family("elementwise")


@case("x + y, {n} {dtype}", n=[1000, 100_000, 16_000_000], dtype="float32")
@case("x + y, {n} {dtype}", n=16_000_000, dtype=["bfloat16", "int32", "float64"])
def add(jax, jnp, n, dtype):
    return lambda x, y: x + y, (noise(n, dtype=dtype), noise(n, dtype=dtype, seed=1))


@case("x + x, {n} f32", n=16_000_000)
def double(jax, jnp, n):
    return lambda x: x + x, (noise(n),)


@case("sin(x) * 2 + x, {n} {dtype}", n=[1000, 100_000, 16_000_000], dtype="float32", memory=False)
@case("sin(x) * 2 + x, {n} {dtype}", n=100_000, dtype=["float64", "bfloat16"], memory=False)
def chain(jax, jnp, n, dtype):
    return lambda x: jnp.sin(x) * 2 + x, (noise(n, dtype=dtype),)


@form("torch", chain)
def _(torch, n, dtype):
    return lambda x: torch.sin(x) * 2 + x, (noise(n, dtype=dtype),)


@form("numba", chain)
def _(numba, n, dtype):
    @numba.njit(parallel=True)
    def run(x):
        y = np.empty_like(x)
        for i in numba.prange(len(x)):
            y[i] = np.sin(x[i]) * 2 + x[i]
        return y
    return run, (noise(n, dtype=dtype),)


@case("a * x + y * (1 - x), {n} f32", n=[100_000, 16_000_000])
def blend(jax, jnp, n):
    return lambda a, x, y: a * x + y * (1 - x), (noise(n), noise(n, seed=1), noise(n, seed=2))


@form("torch", blend)
def _(torch, n):
    return lambda a, x, y: a * x + y * (1 - x), (noise(n), noise(n, seed=1), noise(n, seed=2))


@compute("{name}, {n} {dtype}", name=["exp", "log", "tanh", "cos"], n=1_000_000, dtype="float32")
@compute("{name}, {n} {dtype}", name=["exp", "sqrt"], n=1_000_000, dtype="float64")
@compute("{name}, {n} {dtype}", name=["log1p", "arctan", "cbrt"], n=100_000, dtype="float32")
def transcendental(jax, jnp, name, n, dtype):
    return getattr(jnp, name), (uniform(n, dtype=dtype),)


@compute("x ** y, {n} f32", n=1_000_000)
def power(jax, jnp, n):
    return lambda x, y: x ** y, (uniform(n), noise(n))


@compute("erf, {n} f32", n=1_000_000, numpy=False)
def erf(jax, jnp, n):
    return lambda x: jax.lax.erf(x), (noise(n),)


@compute("gelu, {n} {dtype}", n=[1000, 1_000_000], dtype="float32")
@compute("gelu, {n} {dtype}", n=1_000_000, dtype="bfloat16")
def gelu(jax, jnp, n, dtype):
    def run(x):
        return 0.5 * x * (1 + jnp.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))
    return run, (noise(n, dtype=dtype),)


@form("torch", gelu)
def _(torch, n, dtype):
    def run(x):
        return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))
    return run, (noise(n, dtype=dtype),)


@compute("long chain of {steps} steps, {n} f32", steps=50, n=100_000)
def long_chain(jax, jnp, steps, n):
    def run(x):
        y = x
        for i in range(steps):
            y = y * 0.99 + x * (i % 7)
        return y
    return run, (noise(n),)


@compute("polynomial of degree 8, {n} f64", n=1_000_000, x64=True)
def polynomial(jax, jnp, n):
    def run(x):
        y = x * 0.125
        for i in range(7):
            y = (y + 1 / (i + 1)) * x
        return y
    return run, (noise(n, dtype="float64"),)


@case("where(x > y, x * 2, y), {n} f32", n=16_000_000)
def where(jax, jnp, n):
    return lambda x, y: jnp.where(x > y, x * 2, y), (noise(n), noise(n, seed=1))


@case("clip, {n} f32", n=16_000_000)
def clip(jax, jnp, n):
    return lambda x: jnp.clip(x, -0.5, 0.5), (noise(n),)


@case("x > 0 as bool, {n} f32", n=16_000_000)
def compare(jax, jnp, n):
    return lambda x: x > 0, (noise(n),)


@case("i * 3 + (i >> 2) ^ 5, {n} i32", n=16_000_000)
def integer(jax, jnp, n):
    return lambda x: (x * 3 + (x >> 2)) ^ 5, (noise(n, dtype="int32"),)


@case("i // 7 and i % 7, {n} i32", n=1_000_000, memory=False)
def divide(jax, jnp, n):
    return lambda x: (x // 7, x % 7), (noise(n, dtype="int32"),)


@case("f32 to bf16, {n}", n=16_000_000, numpy=False)
def narrow(jax, jnp, n):
    return lambda x: x.astype(jnp.bfloat16), (noise(n),)


@case("i8 to f32, scaled, {n}", n=16_000_000)
def widen(jax, jnp, n):
    return lambda x: x.astype(jnp.float32) * np.float32(0.05), (noise(n, dtype="int8"),)


@case("x + row + column, {n} x {n} f32", n=4096)
def broadcast(jax, jnp, n):
    return lambda x, row, column: x + row + column[:, None], (noise(n, n), noise(n), noise(n))


@case("x[:-1] + x[1:], {n} f32", n=16_000_000)
def neighbours(jax, jnp, n):
    return lambda x: x[:-1] + x[1:], (noise(n),)


@case("five-point stencil, {n} x {n} f32", n=4096)
def stencil(jax, jnp, n):
    def run(x):
        return (x[1:-1, 1:-1] * 0.5 + 0.125 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2]
                                               + x[1:-1, 2:]))
    return run, (noise(n, n),)


@case("two results: x + y and x * y, {n} f32", n=16_000_000)
def two_results(jax, jnp, n):
    return lambda x, y: (x + y, x * y), (noise(n), noise(n, seed=1))
