"""A replay buffer under jit, and trajectories from it."""

import flashbax as fbx
import jax
import jax.numpy as jnp

buffer = fbx.make_flat_buffer(max_length=32, min_length=2, sample_batch_size=4)
state = buffer.init({"obs": jnp.zeros(3), "reward": jnp.zeros(())})
add = jax.jit(buffer.add, donate_argnums=0)
for n in range(20):
    state = add(state, {"obs": jnp.full(3, float(n)), "reward": jnp.array(n / 2)})
batch = jax.jit(buffer.sample)(state, jax.random.key(0))
RESULT = {"first": batch.experience.first, "second": batch.experience.second,
          "can": buffer.can_sample(state)}
