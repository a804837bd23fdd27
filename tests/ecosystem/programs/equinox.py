"""A recurrent network, filtered transformations, and a checkpointed loop."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr


class Classifier(eqx.Module):
    cell: eqx.nn.GRUCell
    readout: eqx.nn.Linear
    hidden: int = eqx.field(static=True)

    def __init__(self, key):
        a, b = jr.split(key)
        self.hidden = 8
        self.cell = eqx.nn.GRUCell(2, self.hidden, key=a)
        self.readout = eqx.nn.Linear(self.hidden, 1, key=b)

    def __call__(self, xs):
        carry, _ = jax.lax.scan(lambda h, x: (self.cell(x, h), None), jnp.zeros(self.hidden), xs)
        return jax.nn.sigmoid(self.readout(carry))[0]


model = Classifier(jr.key(0))
xs = jr.normal(jr.key(1), (16, 10, 2))
ys = (xs.sum((1, 2)) > 0).astype(jnp.float32)


@eqx.filter_value_and_grad
def loss(model):
    p = jax.vmap(model)(xs)
    return -jnp.mean(ys * jnp.log(p) + (1 - ys) * jnp.log(1 - p))


@eqx.filter_jit
def step(model):
    value, grads = loss(model)
    return eqx.apply_updates(model, jax.tree.map(lambda g: -0.1 * g, grads)), value


values = []
for _ in range(10):
    model, value = step(model)
    values.append(value)
mlp = eqx.nn.MLP(2, 1, 8, 2, key=jr.key(2))
RESULT = {"values": jnp.stack(values), "mlp": jax.vmap(mlp)(xs[:, 0]),
          "arrays": eqx.filter(model, eqx.is_array),
          "error": eqx.error_if(jnp.ones(2), jnp.array(False), "no error"),
          "while": eqx.internal.while_loop(
              lambda c: c < 10, lambda c: c + 3, jnp.array(0.0), max_steps=10,
              kind="checkpointed")}
