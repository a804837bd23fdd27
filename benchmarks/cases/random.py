"""Random numbers: generation in registers, distributions, rejection, permutations."""

import numpy as np

from .case import family, noise

case = family("random", numpy=False)

KEY = np.array([0, 42], np.uint32)


@case("{what}, {n}", what=["bits", "uniform", "normal", "exponential", "bernoulli", "gumbel"],
      n=1_000_000)
@case("{what}, {n}", what=["uniform", "normal"], n=1000)
def numbers(jax, jnp, what, n):
    def run(key):
        if what == "bernoulli":
            return jax.random.bernoulli(key, 0.3, (n,))
        return getattr(jax.random, what)(key, (n,))
    return run, (KEY,)


@case("randint, {n}", n=1_000_000)
def integers(jax, jnp, n):
    return lambda key: jax.random.randint(key, (n,), 0, 1000), (KEY,)


@case("dropout, {n}", n=4_000_000)
def dropout(jax, jnp, n):
    def run(key, x):
        return jnp.where(jax.random.bernoulli(key, 0.9, x.shape), x / 0.9, 0.0)
    return run, (KEY, noise(n))


@case("gamma, {n}", n=100_000)
def gamma(jax, jnp, n):
    return lambda key, a: jax.random.gamma(key, a), (KEY, np.full(n, 2.5, np.float32))


@case("poisson, {n}", n=100_000)
def poisson(jax, jnp, n):
    return lambda key: jax.random.poisson(key, 3.0, (n,)), (KEY,)


@case("categorical, {n} x {m}", n=10_000, m=50)
def categorical(jax, jnp, n, m):
    return lambda key, x: jax.random.categorical(key, x), (KEY, noise(n, m))


@case("permutation, {n}", n=1_000_000)
def permutation(jax, jnp, n):
    return lambda key: jax.random.permutation(key, n), (KEY,)


@case("split into {n}", n=100_000)
def split(jax, jnp, n):
    return lambda key: jax.random.key_data(jax.random.split(key, n)), (KEY,)
