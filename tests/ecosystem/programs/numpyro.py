"""NUTS on a hierarchical model and on a regression, and variational inference."""

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jax import random
from numpyro.infer import MCMC, NUTS, SVI, Trace_ELBO
from numpyro.infer.autoguide import AutoNormal
from numpyro.infer.reparam import LocScaleReparam

x = jnp.linspace(-1, 1, 30)
y = 2 * x + 0.3 * random.normal(random.key(0), (30,))
effects = jnp.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
errors = jnp.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def model(x, y=None):
    slope = numpyro.sample("slope", dist.Normal(0, 5))
    noise = numpyro.sample("noise", dist.HalfNormal(1))
    numpyro.sample("y", dist.Normal(slope * x, noise), obs=y)


@numpyro.handlers.reparam(config={"theta": LocScaleReparam(0)})
def schools(effects, errors):
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    with numpyro.plate("schools", 8):
        theta = numpyro.sample("theta", dist.Normal(mu, tau))
        numpyro.sample("effects", dist.Normal(theta, errors), obs=effects)


mcmc = MCMC(NUTS(model), num_warmup=100, num_samples=200, progress_bar=False)
mcmc.run(random.key(1), x, y)
hierarchical = MCMC(NUTS(schools, target_accept_prob=0.9), num_warmup=500, num_samples=2000,
                    progress_bar=False)
hierarchical.run(random.key(4), effects, errors)
drawn = hierarchical.get_samples()
guide = AutoNormal(model)
svi = SVI(model, guide, numpyro.optim.Adam(0.05), Trace_ELBO())
fitted = svi.run(random.key(2), 200, x, y, progress_bar=False)
values = jnp.array([0.1, 0.5, 0.9])
RESULT = {"mean": {k: v.mean() for k, v in mcmc.get_samples().items()},
          # Chains diverge by rounding: only expectations are compared.
          "schools": {"mu": drawn["mu"].mean() / 5, "tau": jnp.median(drawn["tau"]) / 5,
                      "theta": drawn["theta"].mean(0) / 10},
          "losses": fitted.losses[-20:].mean(),
          "gamma": dist.Gamma(2.0, 3.0).log_prob(values),
          "beta": dist.Beta(2.0, 3.0).log_prob(values),
          "student": dist.StudentT(3.0).log_prob(values),
          "dirichlet": dist.Dirichlet(jnp.ones(3)).log_prob(jnp.array([0.2, 0.3, 0.5])),
          "lkj": dist.LKJCholesky(3, 2.0).log_prob(jnp.eye(3)),
          "draws": dist.MultivariateNormal(jnp.zeros(2), jnp.eye(2)).sample(random.key(3), (4,))}
TOLERANCE = {"mean": 0.1, "schools": 0.15, "losses": 0.05}
