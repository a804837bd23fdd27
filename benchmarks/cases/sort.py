"""Sorting: long lines, many short ones, and only the largest."""

from .case import family, integers, noise

case = family("sort")


@case("sort, {n} {dtype}", n=[1000, 1_000_000], dtype="float32")
@case("sort, {n} {dtype}", n=1_000_000, dtype=["int32", "float64", "bfloat16"])
def line(jax, jnp, n, dtype):
    return jnp.sort, (noise(n, dtype=dtype),)


@case("argsort, {n} f32", n=[1000, 1_000_000], numpy=False)  # NumPy's is not stable
def argsort(jax, jnp, n):
    return jnp.argsort, (noise(n),)


@case("sort along axis {axis}, {n} x {m}", axis=[0, 1], n=1000, m=1000)
@case("sort along axis {axis}, {n} x {m}", axis=1, n=100_000, m=16)
def matrix(jax, jnp, axis, n, m):
    return lambda x: jnp.sort(x, axis=axis), (noise(n, m),)


@case("argsort of rows, {n} x {m}", n=1000, m=1000, numpy=False)
def argsort_rows(jax, jnp, n, m):
    return lambda x: jnp.argsort(x, axis=1), (noise(n, m),)


@case("sort of few different values, {n} i32", n=1_000_000)
def few(jax, jnp, n):
    return jnp.sort, (integers(10, n),)


@case("sort of sorted values, {n} f32", n=1_000_000)
def ordered(jax, jnp, n):
    values = noise(n)
    values.sort()
    return jnp.sort, (values,)


@case("keys and values, {n}", n=1_000_000, numpy=False)
def pairs(jax, jnp, n):
    return lambda k, v: jax.lax.sort((k, v), num_keys=1), (integers(1 << 30, n), noise(n))


@case("lexsort of two keys, {n}", n=100_000)
def lexsort(jax, jnp, n):
    return lambda a, b: jnp.lexsort((a, b)), (integers(100, n), integers(100, n, seed=1))


@case("top {k} of {n}", k=8, n=1_000_000, numpy=False)
def top(jax, jnp, k, n):
    return lambda x: jax.lax.top_k(x, k), (noise(n),)


@case("top {k} of rows, {n} x {m}", k=8, n=1000, m=1000, numpy=False)
def top_rows(jax, jnp, k, n, m):
    return lambda x: jax.lax.top_k(x, k), (noise(n, m),)


@case("median of rows, {n} x {m}", n=1000, m=1000)
def median(jax, jnp, n, m):
    return lambda x: jnp.median(x, axis=1), (noise(n, m),)
