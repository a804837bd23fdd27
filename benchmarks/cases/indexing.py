"""Gather and scatter: elements and rows at computed indices."""

from .case import family, integers, noise

case = family("gather and scatter")
update = family("gather and scatter", numpy=False)  # NumPy's arrays have no ``at``


@case("rows of an embedding, {k} of {n} x {m}", k=[16, 8192], n=50_000, m=256)
def rows(jax, jnp, k, n, m):
    return lambda x, i: x[i], (noise(n, m), integers(n, k))


@case("take {k} of {n} elements", k=1_000_000, n=1_000_000)
def take(jax, jnp, k, n):
    return lambda x, i: jnp.take(x, i), (noise(n), integers(n, k))


@case("take_along_axis, {n} x {m}", n=1000, m=1000)
def along(jax, jnp, n, m):
    return lambda x, i: jnp.take_along_axis(x, i, axis=1), (noise(n, m), integers(m, n, m))


@case("x[i, j], {k} places of {n} x {n}", k=1_000_000, n=1000)
def places(jax, jnp, k, n):
    return lambda x, i, j: x[i, j], (noise(n, n), integers(n, k), integers(n, k, seed=1))


@case("columns, {k} of {n} x {m}", k=256, n=4096, m=1024)
def columns(jax, jnp, k, n, m):
    return lambda x, i: x[:, i], (noise(n, m), integers(m, k))


@case("one row, x[i], {n} x {m}", n=1000, m=256, numpy=False)
def one_row(jax, jnp, n, m):
    return lambda x, i: x[i], (noise(n, m), integers(n))


@case("one-hot of {n} classes, {k} rows", n=1000, k=4096)
def one_hot(jax, jnp, n, k):
    return lambda i: (i[:, None] == jnp.arange(n)).astype(jnp.float32), (integers(n, k),)


@case("searchsorted, {k} in {n}", k=100_000, n=100_000)
def search(jax, jnp, k, n):
    values = noise(n)
    values.sort()
    return lambda x, v: jnp.searchsorted(x, v), (values, noise(k, seed=1))


@update("at[i].add, {k} into {n}", k=1_000_000, n=[1000, 1_000_000])
def add(jax, jnp, k, n):
    return lambda x, i, v: x.at[i].add(v), (noise(n), integers(n, k), noise(k, seed=1))


@update("at[i].add of rows, {k} into {n} x {m}", k=8192, n=10_000, m=256)
def add_rows(jax, jnp, k, n, m):
    return lambda x, i, v: x.at[i].add(v), (noise(n, m), integers(n, k), noise(k, m, seed=1))


@update("at[i].set, {k} into {n}", k=100_000, n=1_000_000)
def put(jax, jnp, k, n):
    # Distinct indices, because it is not specified which of two values stays.
    places = integers(n, n).argsort()[:min(k, n)].astype("int32")
    return lambda x, i, v: x.at[i].set(v), (noise(n), places, noise(len(places), seed=1))


@update("at[i].max, {k} into {n}", k=1_000_000, n=1000)
def maximum(jax, jnp, k, n):
    return lambda x, i, v: x.at[i].max(v), (noise(n), integers(n, k), noise(k, seed=1))


@update("at[2:-2].set, {n} x {n}", n=2048)
def part(jax, jnp, n):
    return lambda x, v: x.at[2:-2].set(v[2:-2]), (noise(n, n), noise(n, n, seed=1))


@update("dynamic slice of {k} x {k}, {n} x {n}", k=256, n=2048)
def dynamic(jax, jnp, k, n):
    def run(x, i):
        return jax.lax.dynamic_slice(x, (i, i), (k, k))
    return run, (noise(n, n), integers(n - k + 1))


@update("dynamic update of {k} x {k}, {n} x {n}", k=256, n=2048)
def dynamic_update(jax, jnp, k, n):
    def run(x, y, i):
        return jax.lax.dynamic_update_slice(x, y, (i, i))
    return run, (noise(n, n), noise(k, k, seed=1), integers(n - k + 1))


@update("sums of {n} segments, {k} rows of {m}", n=1000, k=100_000, m=16)
def segments(jax, jnp, n, k, m):
    def run(x, i):
        return jnp.zeros((n, m), x.dtype).at[i].add(x)
    return run, (noise(k, m), integers(n, k))


@update("gradient of an embedding, {k} of {n} x {m}", k=1024, n=10_000, m=256)
def embedding_gradient(jax, jnp, k, n, m):
    return jax.grad(lambda x, i: (x[i] ** 2).sum()), (noise(n, m), integers(n, k))


@case("bincount of {k} into {n}", k=1_000_000, n=1000, numpy=False)
def bincount(jax, jnp, k, n):
    return lambda i: jnp.bincount(i, length=n), (integers(n, k),)
