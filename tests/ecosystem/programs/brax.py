"""Steps of a physics simulation."""

import jax
import jax.numpy as jnp
from brax import envs

env = envs.get_environment("inverted_pendulum", backend="generalized")
state = jax.jit(env.reset)(jax.random.PRNGKey(0))
step = jax.jit(env.step)
observations = []
for n in range(5):
    state = step(state, jnp.array([0.1 * n]))
    observations.append(state.obs)
RESULT = {"obs": jnp.stack(observations), "reward": state.reward}
TOLERANCE = {"obs": 1e-3}
