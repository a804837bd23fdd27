"""Derivatives beyond a gradient: of each example by itself, of second order, whole Jacobians."""

import numpy as np

from .case import family, noise

per_example = family("per-example gradients", numpy=False)
second = family("Hessians and Jacobians", numpy=False)


def _regression(jnp):
    def loss(w, x, y):
        return jnp.log(1 + jnp.exp(-y * (x @ w))).mean()
    return loss


def _network(jnp):
    def loss(layers, x, y):
        for w, b in layers[:-1]:
            x = jnp.tanh(x @ w + b)
        w, b = layers[-1]
        return ((x @ w + b - y) ** 2).sum()
    return loss


def _layers(*widths):
    return [(noise(n, m, seed=i) / np.float32(n ** 0.5), noise(m, seed=i) * np.float32(0.1))
            for i, (n, m) in enumerate(zip(widths, widths[1:]))]


@per_example("vmap(grad) of a regression, {batch} x {n}", batch=[64, 4096], n=256)
def regression(jax, jnp, batch, n):
    return (jax.vmap(jax.grad(_regression(jnp)), (None, 0, 0)),
            (noise(n) * np.float32(0.1), noise(batch, n), np.sign(noise(batch, seed=1))))


@per_example("vmap(grad) of a network, batch {batch}, width {n}", batch=64, n=[16, 128])
def network(jax, jnp, batch, n):
    return (jax.vmap(jax.grad(_network(jnp)), (None, 0, 0)),
            (_layers(n, n, n, 4), noise(batch, n), noise(batch, 4, seed=1)))


@per_example("norms of per-example gradients, batch {batch}, width {n}", batch=64, n=128)
def norms(jax, jnp, batch, n):
    def norm(layers, x, y):
        gradient = jax.grad(_network(jnp))(layers, x, y)
        return jnp.sqrt(sum((leaf ** 2).sum() for leaf in jax.tree.leaves(gradient)))
    return (jax.vmap(norm, (None, 0, 0)),
            (_layers(n, n, n, 4), noise(batch, n), noise(batch, 4, seed=1)))


@second("Hessian of a regression, {batch} x {n}", batch=256, n=[16, 64])
def hessian(jax, jnp, batch, n):
    return (jax.hessian(_regression(jnp)),
            (noise(n) * np.float32(0.1), noise(batch, n), np.sign(noise(batch, seed=1))))


@second("Hessian of a chain of {n}", n=64)
def rosenbrock(jax, jnp, n):
    def chain(x):
        return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()
    return jax.hessian(chain), (noise(n),)


@second("Hessian times vector of a network, batch {batch}, width {n}", batch=64, n=128)
def hessian_vector(jax, jnp, batch, n):
    def run(layers, direction, x, y):
        gradient = jax.grad(lambda layers: _network(jnp)(layers, x, y))
        return jax.jvp(gradient, (layers,), (direction,))[1]
    layers = _layers(n, n, n, 4)
    return run, (layers, layers, noise(batch, n), noise(batch, 4, seed=1))


@second("{mode} Jacobian of a network, width {n}", mode=["forward", "reverse"], n=128)
def jacobian(jax, jnp, mode, n):
    def run(x, layers):
        for w, b in layers:
            x = jnp.tanh(x @ w + b)
        return x
    by = jax.jacfwd if mode == "forward" else jax.jacrev
    return by(run), (noise(n), _layers(n, n, n))


@second("third derivative of sin(x) * x ** 3, {n}", n=100_000)
def third(jax, jnp, n):
    derivative = lambda x: jnp.sin(x) * x ** 3
    for _ in range(3):
        derivative = jax.grad(derivative)
    return jax.vmap(derivative), (noise(n),)
