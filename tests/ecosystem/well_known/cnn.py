"""A convolutional network of flax learns to tell ten kinds of noisy images apart."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax.training.train_state import TrainState


class CNN(nn.Module):
    """Two convolutions with pooling, two dense layers."""

    @nn.compact
    def __call__(self, x):
        x = nn.avg_pool(nn.relu(nn.Conv(16, (3, 3))(x)), (2, 2), (2, 2))
        x = nn.avg_pool(nn.relu(nn.Conv(32, (3, 3))(x)), (2, 2), (2, 2))
        x = nn.relu(nn.Dense(128)(x.reshape(x.shape[0], -1)))
        return nn.Dense(10)(x)


def images(key, count):
    """Ten smooth patterns under noise, and which one each image shows."""
    patterns = jax.image.resize(jax.random.normal(jax.random.key(7), (10, 4, 4, 1)),
                                (10, 28, 28, 1), "cubic")
    label_key, noise_key = jax.random.split(key)
    labels = jax.random.randint(label_key, (count,), 0, 10)
    return patterns[labels] + 2.0 * jax.random.normal(noise_key, (count, 28, 28, 1)), labels


@jax.jit
def step(state, x, labels):
    """One step of gradient descent: the new state, loss and accuracy."""
    def loss(params):
        logits = state.apply_fn({"params": params}, x)
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean(), logits
    (value, logits), grads = jax.value_and_grad(loss, has_aux=True)(state.params)
    return state.apply_gradients(grads=grads), value, jnp.mean(logits.argmax(-1) == labels)


x, labels = images(jax.random.key(0), 2048)
model = CNN()
state = TrainState.create(apply_fn=model.apply, tx=optax.adam(1e-3),
                          params=model.init(jax.random.key(1), x[:1])["params"])
losses, right = [], []
for key in jax.random.split(jax.random.key(2), 3):
    for batch in jax.random.permutation(key, 2048).reshape(-1, 64):
        state, value, accuracy = step(state, x[batch], labels[batch])
        losses.append(value)
        right.append(accuracy)
test_x, test_labels = images(jax.random.key(3), 512)
RESULT = {"losses": jnp.stack(losses), "accuracy": jnp.stack(right[-8:]).mean(),
          "test": jnp.mean(model.apply({"params": state.params}, test_x).argmax(-1) == test_labels)}
TOLERANCE = {"losses": 5e-3, "accuracy": 2e-2, "test": 2e-2}
