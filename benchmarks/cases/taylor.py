"""Derivatives of high order: Taylor mode."""

from importlib import import_module

from .case import family, noise

taylor = family("Taylor series", numpy=False)


@taylor("order {order} of {depth} layers of tanh, {width} wide", order=[3, 6], depth=3, width=64)
def layers(jax, jnp, order, depth, width):
    jet = import_module(f"{jax.__name__}.experimental.jet").jet

    def run(x, v, *weights):
        def net(x):
            for w in weights:
                x = jnp.tanh(x @ w)
            return x
        return jet(net, (x,), ([v] + [jnp.zeros_like(v)] * (order - 1),))
    weights = [noise(width, width, seed=n) / width ** 0.5 for n in range(depth)]
    return run, (noise(32, width), noise(32, width, seed=9), *weights)


@taylor("order {order} of {depth} layers of tanh by nested jvp, {width} wide", order=[3, 6],
        depth=3, width=64)
def nested(jax, jnp, order, depth, width):
    """The same derivative without Taylor mode: the work doubles with each order."""
    def run(x, v, *weights):
        def net(x):
            for w in weights:
                x = jnp.tanh(x @ w)
            return x

        def along(f):
            return lambda x: jax.jvp(f, (x,), (v,))[1]
        for _ in range(order):
            net = along(net)
        return net(x)
    weights = [noise(width, width, seed=n) / width ** 0.5 for n in range(depth)]
    return run, (noise(32, width), noise(32, width, seed=9), *weights)


@taylor("order {order} of elementwise functions of {size} numbers", order=[3, 6], size=100000)
def elementwise(jax, jnp, order, size):
    jet = import_module(f"{jax.__name__}.experimental.jet").jet

    def run(x, v):
        return jet(lambda x: jnp.sin(x) * jnp.exp(-x * x) / (1 + x * x), (x,),
                   ([v] + [jnp.zeros_like(v)] * (order - 1),))
    return run, (noise(size), noise(size, seed=1))
