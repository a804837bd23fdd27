"""Training loops that keep their state in references, and the same loops on values.

Each pair computes the same: Adam on a small network, its parameters, moments and a counter either
carried by ``scan`` or written to references inside of it.
"""

import numpy as np

from .case import family, noise

state = family("state in references", numpy=False)

RATE, DECAY, SECOND = 1e-2, 0.9, 0.999


def _network(jnp, width):
    sizes = (32, width), (width, 1)
    return [noise(*shape, seed=i) * np.float32(shape[0] ** -0.5) for i, shape in enumerate(sizes)]


def _loss(jnp, params, x, y):
    first, second = params
    return ((jnp.tanh(x @ first) @ second - y) ** 2).mean()


def _moved(jnp, p, m, v, g, t):
    m = DECAY * m + (1 - DECAY) * g
    v = SECOND * v + (1 - SECOND) * g * g
    scaled = m / (1 - DECAY ** t) / (jnp.sqrt(v / (1 - SECOND ** t)) + 1e-8)
    return p - RATE * scaled, m, v


def _data(steps, width):
    return noise(steps, 16, 32, seed=3), noise(steps, 16, 1, seed=4)


@state("Adam in scan, {steps} steps, width {width}, state carried", steps=200, width=[64, 512],
       chaotic=1e-2)
def carried(jax, jnp, steps, width):
    def train(params, xs, ys):
        def step(carry, batch):
            params, ms, vs, count = carry
            loss, grads = jax.value_and_grad(lambda p: _loss(jnp, p, *batch))(params)
            t = (count + 1).astype(jnp.float32)
            new = [_moved(jnp, p, m, v, g, t) for p, m, v, g in zip(params, ms, vs, grads)]
            return ([n[0] for n in new], [n[1] for n in new], [n[2] for n in new], count + 1), loss
        zeros = [jnp.zeros_like(p) for p in params]
        (params, *_), losses = jax.lax.scan(
            step, (params, zeros, zeros, jnp.int32(0)), (xs, ys))
        return params, losses
    return train, (_network(jnp, width), *_data(steps, width))


@state("Adam in scan, {steps} steps, width {width}, state in references", steps=200,
       width=[64, 512], chaotic=1e-2)
def referenced(jax, jnp, steps, width):
    def train(params, xs, ys):
        ps = [jax.new_ref(p) for p in params]
        ms = [jax.new_ref(jnp.zeros_like(p)) for p in params]
        vs = [jax.new_ref(jnp.zeros_like(p)) for p in params]
        count = jax.new_ref(jnp.int32(0))

        def step(_, batch):
            loss, grads = jax.value_and_grad(lambda p: _loss(jnp, p, *batch))([p[...] for p in ps])
            count[...] += 1
            t = count[...].astype(jnp.float32)
            for p, m, v, g in zip(ps, ms, vs, grads):
                p[...], m[...], v[...] = _moved(jnp, p[...], m[...], v[...], g, t)
            return None, loss
        _, losses = jax.lax.scan(step, None, (xs, ys))
        return [p[...] for p in ps], losses
    return train, (_network(jnp, width), *_data(steps, width))
