"""Distributions, bijectors and divergences."""

import distrax
import jax
import jax.numpy as jnp

key = jax.random.key(0)
flow = distrax.Transformed(distrax.MultivariateNormalDiag(jnp.zeros(2), jnp.ones(2)),
                           distrax.Block(distrax.Chain([distrax.Tanh(),
                                                        distrax.ScalarAffine(1.0, 2.0)]), 1))
sample, log_prob = flow.sample_and_log_prob(seed=key, sample_shape=(3,))
RESULT = {"sample": sample, "log_prob": log_prob,
          "kl": distrax.Normal(0.0, 1.0).kl_divergence(distrax.Normal(1.0, 2.0)),
          "categorical": distrax.Categorical(logits=jnp.arange(3.0)).entropy(),
          "mixture": distrax.MixtureSameFamily(
              distrax.Categorical(probs=jnp.array([0.3, 0.7])),
              distrax.Normal(jnp.array([-1.0, 1.0]), jnp.array([0.5, 1.0]))).log_prob(0.3)}
