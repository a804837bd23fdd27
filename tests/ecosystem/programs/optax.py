"""Adam with a schedule and clipping fits a line; losses of several kinds."""

import jax
import jax.numpy as jnp
import optax

x = jnp.linspace(-1, 1, 64)
y = 3 * x - 0.5
optimizer = optax.chain(optax.clip_by_global_norm(1.0),
                        optax.adamw(optax.cosine_decay_schedule(0.1, 200), weight_decay=1e-4))


def loss(params):
    return jnp.mean(optax.huber_loss(params["w"] * x + params["b"], y))


@jax.jit
def step(params, state):
    value, grads = jax.value_and_grad(loss)(params)
    updates, state = optimizer.update(grads, state, params)
    return optax.apply_updates(params, updates), state, value


params = {"w": jnp.zeros(()), "b": jnp.zeros(())}
state = optimizer.init(params)
values = []
for _ in range(100):
    params, state, value = step(params, state)
    values.append(value)
logits = jax.random.normal(jax.random.key(0), (5, 4))
labels = jnp.array([0, 1, 2, 3, 0])
RESULT = {"params": params, "values": jnp.stack(values),
          "cross": optax.softmax_cross_entropy_with_integer_labels(logits, labels),
          "ctc": optax.sigmoid_focal_loss(logits[:, 0], labels / 3)}
