"""Games played at random."""

import jax
import jax.numpy as jnp
import pgx


def play(name, steps):
    env = pgx.make(name)
    state = jax.jit(env.init)(jax.random.PRNGKey(0))
    step = jax.jit(env.step)
    for n in range(steps):
        action = jnp.argmax(state.legal_action_mask * ((jnp.arange(env.num_actions) * 7 + n) % 11))
        state = step(state, action)
    return state


tic, connect = play("tic_tac_toe", 5), play("connect_four", 10)
RESULT = {"tic": tic.observation, "rewards": tic.rewards, "connect": connect.observation,
          "legal": connect.legal_action_mask}
