"""A rollout of cart and pole under a fixed policy."""

import gymnax
import jax
import jax.numpy as jnp

env, params = gymnax.make("CartPole-v1")


@jax.jit
def rollout(key):
    obs, state = env.reset(key, params)

    def step(carry, key):
        obs, state = carry
        action = (obs[2] + obs[3] > 0).astype(jnp.int32)
        obs, state, reward, done, *_ = env.step(key, state, action, params)
        return (obs, state), (obs, reward, done)
    return jax.lax.scan(step, (obs, state), jax.random.split(key, 60))[1]


obs, reward, done = jax.vmap(rollout)(jax.random.split(jax.random.key(0), 3))
RESULT = {"obs": obs, "reward": reward, "done": done}
