"""A convolutional network with batch norm and dropout, and a scanned cell."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax


class CNN(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        x = nn.Conv(8, (3, 3))(x)
        x = nn.BatchNorm(use_running_average=not train)(x)
        x = nn.avg_pool(nn.relu(x), (2, 2), (2, 2)).reshape(x.shape[0], -1)
        x = nn.Dropout(0.2, deterministic=not train)(nn.Dense(32)(x))
        return nn.Dense(10)(x)


model = CNN()
images = jax.random.normal(jax.random.key(0), (4, 8, 8, 1))
labels = jnp.arange(4)
variables = model.init(jax.random.key(1), images, train=False)
optimizer = optax.sgd(0.1, 0.9)
state = optimizer.init(variables["params"])


@jax.jit
def step(variables, state, key):
    def loss(params):
        logits, updated = model.apply({**variables, "params": params}, images, train=True,
                                      mutable=["batch_stats"], rngs={"dropout": key})
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean(), updated
    (value, updated), grads = jax.value_and_grad(loss, has_aux=True)(variables["params"])
    updates, state = optimizer.update(grads, state)
    return {"params": optax.apply_updates(variables["params"], updates), **updated}, state, value


values = []
for key in jax.random.split(jax.random.key(2), 8):
    variables, state, value = step(variables, state, key)
    values.append(value)
rnn = nn.RNN(nn.LSTMCell(5))
xs = jax.random.normal(jax.random.key(3), (2, 6, 3))
attention = nn.MultiHeadDotProductAttention(num_heads=2, qkv_features=8)
RESULT = {"values": jnp.stack(values), "logits": model.apply(variables, images, train=False),
          "rnn": rnn.apply(rnn.init(jax.random.key(4), xs), xs),
          "attention": attention.apply(attention.init(jax.random.key(5), xs), xs)}
