"""NUTS on a regression, and variational inference."""

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jax import random
from numpyro.infer import MCMC, NUTS, SVI, Trace_ELBO
from numpyro.infer.autoguide import AutoNormal

x = jnp.linspace(-1, 1, 30)
y = 2 * x + 0.3 * random.normal(random.key(0), (30,))


def model(x, y=None):
    slope = numpyro.sample("slope", dist.Normal(0, 5))
    noise = numpyro.sample("noise", dist.HalfNormal(1))
    numpyro.sample("y", dist.Normal(slope * x, noise), obs=y)


mcmc = MCMC(NUTS(model), num_warmup=100, num_samples=200, progress_bar=False)
mcmc.run(random.key(1), x, y)
guide = AutoNormal(model)
svi = SVI(model, guide, numpyro.optim.Adam(0.05), Trace_ELBO())
fitted = svi.run(random.key(2), 200, x, y, progress_bar=False)
values = jnp.array([0.1, 0.5, 0.9])
RESULT = {"mean": {k: v.mean() for k, v in mcmc.get_samples().items()},
          "losses": fitted.losses[-20:].mean(),
          "gamma": dist.Gamma(2.0, 3.0).log_prob(values),
          "beta": dist.Beta(2.0, 3.0).log_prob(values),
          "student": dist.StudentT(3.0).log_prob(values),
          "dirichlet": dist.Dirichlet(jnp.ones(3)).log_prob(jnp.array([0.2, 0.3, 0.5])),
          "lkj": dist.LKJCholesky(3, 2.0).log_prob(jnp.eye(3)),
          "draws": dist.MultivariateNormal(jnp.zeros(2), jnp.eye(2)).sample(random.key(3), (4,))}
TOLERANCE = {"mean": 0.1, "losses": 0.05}
