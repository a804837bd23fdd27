"""A convolutional network with statistics and dropout, trained in place."""

import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Model(nnx.Module):
    def __init__(self, rngs):
        # No bias before the normalization: its gradient is rounding errors, which Adam scales up.
        self.conv = nnx.Conv(1, 4, (3, 3), use_bias=False, rngs=rngs)
        self.norm = nnx.BatchNorm(4, rngs=rngs)
        self.dropout = nnx.Dropout(0.1, rngs=rngs)
        self.last = nnx.Linear(4 * 9, 2, rngs=rngs)

    def __call__(self, x):
        x = nnx.avg_pool(nnx.relu(self.norm(self.conv(x))), (2, 2), (2, 2))
        return self.last(self.dropout(x.reshape(x.shape[0], -1)))


model = Model(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)
x = jax.random.normal(jax.random.key(1), (32, 6, 6, 1))
y = (x[:, 2, 2, 0] > 0).astype(jnp.int32)


@nnx.jit
def step(model, optimizer):
    value, grads = nnx.value_and_grad(lambda m: optax.softmax_cross_entropy_with_integer_labels(
        m(x), y).mean())(model)
    optimizer.update(model, grads)
    return value


values = jnp.stack([step(model, optimizer) for _ in range(10)])
model.eval()
state = [nnx.to_pure_dict(s) for s in nnx.state(model, nnx.Param, nnx.BatchStat)]
RESULT = {"values": values, "out": model(x), "state": state}
