"""Operations outside ``jit``: each runs immediately."""

from .case import family, noise

case = family("eager operations", jit=None)


@case("eager: a + 1, {n} floats", n=100)
def plus_number(jax, jnp, n):
    return lambda a: a + 1, (noise(n),)


@case("eager: a + b, {n} floats", n=[100, 1_000_000])
def plus(jax, jnp, n):
    return lambda a, b: a + b, (noise(n), noise(n, seed=1))


@case("eager: sin(v) * 2 + v, {n} floats", n=1000)
def chain(jax, jnp, n):
    return lambda v: jnp.sin(v) * 2 + v, (noise(n),)


@case("eager: a[0]")
def item(jax, jnp):
    return lambda a: a[0], (noise(100),)


@case("eager: a[10:20]")
def part(jax, jnp):
    return lambda a: a[10:20], (noise(100),)


@case("eager: a.at[3].set(1)", numpy=False)
def put(jax, jnp):
    return lambda a: a.at[3].set(1.0), (noise(100),)


@case("eager: a.sum()")
def total(jax, jnp):
    return lambda a: a.sum(), (noise(100),)


@case("eager: var(a)")
def variance(jax, jnp):
    return lambda a: jnp.var(a), (noise(100),)


@case("eager: reshape and transpose")
def shapes(jax, jnp):
    return lambda a: a.reshape(10, 10).T, (noise(100),)


@case("eager: concatenate two arrays")
def concatenate(jax, jnp):
    return lambda a: jnp.concatenate([a, a]), (noise(100),)


@case("eager: where(a > 0, a, 0)")
def where(jax, jnp):
    return lambda a: jnp.where(a > 0, a, 0), (noise(100),)


@case("eager: tril, 10 x 10")
def tril(jax, jnp):
    return lambda m: jnp.tril(m), (noise(10, 10),)


@case("eager: a @ b, {n} x {n}", n=32)
def product(jax, jnp, n):
    return lambda a: a @ a, (noise(n, n),)


@case("eager: sort, {n} floats", n=1000)
def sort(jax, jnp, n):
    return lambda a: jnp.sort(a), (noise(n),)


@case("eager: vmap(dot), 16 x 16", numpy=False)
def mapped(jax, jnp):
    return jax.vmap(jnp.dot), (noise(16, 16), noise(16, 16, seed=1))


@case("eager: grad of sum(tanh(v)**2), 16 floats", numpy=False)
def gradient(jax, jnp):
    return jax.grad(lambda v: (jnp.tanh(v) ** 2).sum()), (noise(16),)
