"""TensorFlow Probability on JAX: distributions, bijectors, Hamiltonian Monte Carlo."""

import jax
import jax.numpy as jnp
from tensorflow_probability.substrates import jax as tfp

tfd, tfb = tfp.distributions, tfp.bijectors
joint = tfd.JointDistributionSequential([
    tfd.Gamma(2.0, 1.0), lambda scale: tfd.Normal(0.0, scale)])
kernel = tfp.mcmc.HamiltonianMonteCarlo(tfd.Normal(1.0, 2.0).log_prob, 0.5, 5)
states = tfp.mcmc.sample_chain(50, jnp.array(0.0), kernel=kernel, num_burnin_steps=10,
                               trace_fn=None, seed=jax.random.PRNGKey(0))
RESULT = {"log_prob": joint.log_prob([jnp.array(1.5), jnp.array(0.2)]),
          "wishart": tfd.WishartTriL(5, jnp.eye(2)).log_prob(2 * jnp.eye(2)),
          "flow": tfd.TransformedDistribution(tfd.Normal(0.0, 1.0), tfb.Softplus()).log_prob(
              jnp.array([0.5, 1.0])), "states": states,
          "mixture": tfd.MixtureSameFamily(tfd.Categorical(probs=[0.4, 0.6]), tfd.Normal(
              jnp.array([0.0, 1.0]), jnp.array([1.0, 2.0]))).cdf(0.7)}
TOLERANCE = {"states": 1e-3}
