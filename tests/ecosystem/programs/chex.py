"""Assertions, a dataclass that is a tree, and tests in variants."""

import chex
import jax
import jax.numpy as jnp


@chex.dataclass
class State:
    position: chex.Array
    speed: chex.Array


@jax.jit
@chex.assert_max_traces(n=1)
def move(state, dt):
    chex.assert_equal_shape([state.position, state.speed])
    return state.replace(position=state.position + dt * state.speed)


state = State(position=jnp.zeros(3), speed=jnp.arange(3.0))
for _ in range(5):
    state = move(state, 0.5)
chex.assert_trees_all_close(state.position, 2.5 * state.speed)
chex.assert_rank(state.position, 1)
try:
    chex.assert_shape(state.position, (4,))
    refused = 0
except AssertionError:
    refused = 1
checked = chex.chexify(lambda x: x * 2)(jnp.ones(2))
chex.block_until_chexify_assertions_complete()
RESULT = {"position": state.position, "refused": refused,
          "checked": checked}
