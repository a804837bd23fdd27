"""The cases of the duel: each takes the system as ``jax`` and gives a function to be timed.

The same code runs on both systems; only the import differs.
"""

from __future__ import annotations

from collections.abc import Callable

CASES: dict[str, Callable] = {}


def case(name: str):
    """Register a case under a name."""
    def register(make: Callable) -> Callable:
        CASES[name] = make
        return make
    return register


@case("eager: grad of sum(tanh(v)**2), 16 floats")
def eager_grad(jax):
    jnp = jax.numpy
    v = jnp.arange(16.0) / 16
    gradient = jax.grad(lambda v: (jnp.tanh(v) ** 2).sum())
    return lambda: gradient(v).block_until_ready()


@case("eager: sin(v) * 2 + v, 1000 floats")
def eager_chain(jax):
    jnp = jax.numpy
    v = jnp.arange(1000.0) / 1000
    return lambda: (jnp.sin(v) * 2 + v).block_until_ready()


@case("eager: a + 1, 100 floats")
def eager_scalar(jax):
    a = jax.numpy.arange(100.0)
    return lambda: (a + 1).block_until_ready()


@case("eager: a + b, 100 floats")
def eager_add(jax):
    a = jax.numpy.arange(100.0)
    b = jax.numpy.ones(100)
    return lambda: (a + b).block_until_ready()


@case("eager: a[0]")
def eager_item(jax):
    a = jax.numpy.arange(100.0)
    return lambda: a[0].block_until_ready()


@case("eager: a.at[3].set(1)")
def eager_set(jax):
    a = jax.numpy.arange(100.0)
    return lambda: a.at[3].set(1.0).block_until_ready()


@case("eager: a.sum()")
def eager_sum(jax):
    a = jax.numpy.arange(100.0)
    return lambda: a.sum().block_until_ready()


@case("eager: concatenate two arrays")
def eager_concatenate(jax):
    a = jax.numpy.arange(100.0)
    return lambda: jax.numpy.concatenate([a, a]).block_until_ready()


@case("eager: a @ b, 32 x 32")
def eager_matmul(jax):
    a = jax.numpy.ones((32, 32))
    return lambda: (a @ a).block_until_ready()


@case("eager: vmap(dot), 16 x 16")
def eager_vmap(jax):
    a = jax.numpy.ones((16, 16))
    mapped = jax.vmap(jax.numpy.dot)
    return lambda: mapped(a, a).block_until_ready()


@case("eager: where(a > 0, a, 0)")
def eager_where(jax):
    jnp = jax.numpy
    a = jnp.arange(100.0) - 50
    return lambda: jnp.where(a > 0, a, 0).block_until_ready()


@case("eager: tril(m), 10 x 10")
def eager_tril(jax):
    m = jax.numpy.ones((10, 10))
    return lambda: jax.numpy.tril(m).block_until_ready()


@case("eager: var(a), 100 floats")
def eager_var(jax):
    a = jax.numpy.arange(100.0)
    return lambda: jax.numpy.var(a).block_until_ready()


@case("jit: x + 1, a scalar")
def jit_scalar(jax):
    x = jax.numpy.float32(1.0)
    increment = jax.jit(lambda x: x + 1)
    return lambda: increment(x).block_until_ready()


@case("jit: gradient step of a small network")
def jit_step(jax):
    jnp = jax.numpy
    w = {"a": jnp.ones((16, 16)) / 16, "b": jnp.ones((16, 4)) / 16}
    x, y = jnp.ones((32, 16)), jnp.ones((32, 4))

    def loss(w):
        return jnp.mean((jnp.tanh(x @ w["a"]) @ w["b"] - y) ** 2)

    step = jax.jit(lambda w: jax.tree.map(lambda p, g: p - 0.1 * g, w, jax.grad(loss)(w)))
    return lambda: jax.block_until_ready(step(w))
