"""A search tree on a toy model."""

import jax
import jax.numpy as jnp
import mctx


def recurrent(params, key, action, embedding):
    embedding = embedding + action[:, None]
    return mctx.RecurrentFnOutput(
        reward=jnp.sin(embedding[:, 0]), discount=jnp.full(2, 0.9),
        prior_logits=jnp.cos(embedding), value=jnp.tanh(embedding[:, 1])), embedding


root = mctx.RootFnOutput(prior_logits=jnp.zeros((2, 3)), value=jnp.zeros(2),
                         embedding=jnp.arange(6.0).reshape(2, 3))
out = jax.jit(lambda key: mctx.muzero_policy((), key, root, recurrent, 16))(jax.random.PRNGKey(0))
gumbel = mctx.gumbel_muzero_policy((), jax.random.PRNGKey(1), root, recurrent, 16)
RESULT = {"action": out.action, "weights": out.action_weights,
          "gumbel": gumbel.action_weights, "values": out.search_tree.node_values}
