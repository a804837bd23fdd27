"""User-defined arrays: a matrix stored as its diagonal, and low-rank matrices."""

import jax
import jax.numpy as jnp
import quax
from quax.examples import lora, unitful

meters = unitful.Unitful(jnp.array(3.0), {unitful.meters: 1})
product = quax.quaxify(jnp.multiply)(meters, meters)
w = lora.LoraArray(jnp.eye(4), rank=2, key=jax.random.key(0))
RESULT = {"product": product.array,
          "lora": jax.jit(quax.quaxify(jnp.matmul))(w, jnp.arange(4.0))}
