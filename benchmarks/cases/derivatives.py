"""Derivatives beyond a gradient: per example, of second order, whole Jacobians."""

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


@per_example("private training step, batch {batch}, width {n}", batch=64, n=256)
def private(jax, jnp, batch, n):
    """The sum of clipped per-example gradients and noise."""
    loss = _network(jnp)

    def step(layers, x, y, seed):
        gradients = jax.vmap(jax.grad(loss), (None, 0, 0))(layers, x, y)
        leaves, tree = jax.tree.flatten(gradients)
        norms = jnp.sqrt(sum((g.reshape(batch, -1) ** 2).sum(-1) for g in leaves))
        share = jnp.minimum(1, 1 / norms) / batch
        keys = jax.random.split(jax.random.key(seed), len(leaves))
        noisy = [jnp.einsum("b,b...->...", share, g) + 0.1 * jax.random.normal(key, g.shape[1:])
                 for g, key in zip(leaves, keys)]
        return jax.tree.map(lambda p, g: p - 0.1 * g, layers, jax.tree.unflatten(tree, noisy))
    return step, (_layers(n // 2, n, n, 10), noise(batch, n // 2), noise(batch, 10, seed=1),
                  np.int32(1))


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


@second("gradient through {steps} steps of training, {tasks} tasks, width {n}", steps=5, tasks=8,
        n=40)
def through_training(jax, jnp, steps, tasks, n):
    """Meta-learning: initial parameters for which a few training steps suffice."""
    loss = _network(jnp)

    def after(layers, x, y):
        for _ in range(steps):
            gradient = jax.grad(loss)(layers, x, y)
            layers = jax.tree.map(lambda p, g: p - 0.01 * g, layers, gradient)
        return loss(layers, x[::-1], y[::-1])

    def total(layers, x, y):
        return jax.vmap(after, (None, 0, 0))(layers, x, y).mean()
    x = noise(tasks, 10, 1)
    return jax.grad(total), (_layers(1, n, n, 1), x, np.sin(x))
