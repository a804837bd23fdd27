"""A recurrent network of equinox learns which way spirals turn."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import optax


def spirals(key, count, length=40):
    """Noisy spirals of both directions, and whether each turns to the left."""
    turn_key, start_key, noise_key = jr.split(key, 3)
    left = jr.bernoulli(turn_key, 0.5, (count,))
    t = jnp.linspace(0, 12, length)
    angle = jr.uniform(start_key, (count, 1), maxval=6.3) + jnp.where(left[:, None], t, -t)
    points = jnp.stack([jnp.cos(angle), jnp.sin(angle)], -1) * t[:, None] / (1 + t[:, None])
    return points + 0.05 * jr.normal(noise_key, points.shape), left.astype(jnp.float32)


class RNN(eqx.Module):
    """A gated cell applied to the points in order, and a linear layer after the last one."""

    cell: eqx.nn.GRUCell
    readout: eqx.nn.Linear

    def __init__(self, size, key):
        a, b = jr.split(key)
        self.cell = eqx.nn.GRUCell(2, size, key=a)
        self.readout = eqx.nn.Linear(size, "scalar", key=b)

    def __call__(self, points):
        state = jnp.zeros(self.cell.hidden_size)
        state, _ = jax.lax.scan(lambda h, x: (self.cell(x, h), None), state, points)
        return self.readout(state)


optimizer = optax.adam(3e-3)


@eqx.filter_jit
def step(model, state, points, left):
    """One step of Adam: the new model, the state of the optimizer and the loss."""
    @eqx.filter_value_and_grad
    def loss(model):
        return optax.sigmoid_binary_cross_entropy(jax.vmap(model)(points), left).mean()
    value, grads = loss(model)
    updates, state = optimizer.update(grads, state)
    return eqx.apply_updates(model, updates), state, value


points, left = spirals(jr.key(0), 4096)
model = RNN(32, jr.key(1))
state = optimizer.init(eqx.filter(model, eqx.is_inexact_array))
losses = []
for start in [*range(0, 4096, 64)] * 4:
    model, state, value = step(model, state, points[start:start + 64], left[start:start + 64])
    losses.append(value)
RESULT = {"losses": jnp.stack(losses),
          "right": jnp.mean((jax.vmap(model)(points[:512]) > 0) == left[:512])}
TOLERANCE = {"losses": 5e-3, "right": 1e-2}
