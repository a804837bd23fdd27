"""Returns, targets and losses of reinforcement learning."""

import jax
import jax.numpy as jnp
import rlax

r, d = jnp.arange(5.0), jnp.full(5, 0.9)
v = jax.random.normal(jax.random.key(0), (6,))
q = jax.random.normal(jax.random.key(1), (3,))
RESULT = {"lambda": rlax.lambda_returns(r, d, v[1:], 0.8),
          "advantage": rlax.truncated_generalized_advantage_estimation(r, d, 0.95, v),
          "vtrace": rlax.vtrace(v[:-1], v[1:], r, d, jnp.ones(5)),
          "q": rlax.q_learning(q, jnp.array(1), jnp.array(0.5), jnp.array(0.9), q + 1),
          "double": rlax.double_q_learning(q, jnp.array(1), jnp.array(0.5), jnp.array(0.9), q, q),
          "grad": jax.grad(lambda logits: rlax.policy_gradient_loss(
              logits, jnp.array([0, 2]), jnp.ones(2), jnp.ones(2)))(jnp.stack([q, -q]))}
