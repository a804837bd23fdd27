"""Eight schools, a hierarchical model, sampled by NUTS of numpyro; the cost of a leapfrog step."""

import time

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS
from numpyro.infer.reparam import TransformReparam

effects = jnp.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
errors = jnp.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def model():
    """Effects of coaching in eight schools, drawn from one distribution."""
    mean = numpyro.sample("mean", dist.Normal(0, 5))
    spread = numpyro.sample("spread", dist.HalfCauchy(5))
    with numpyro.plate("schools", 8), numpyro.handlers.reparam(
            config={"effect": TransformReparam()}):
        effect = numpyro.sample("effect", dist.TransformedDistribution(
            dist.Normal(0.0, 1.0), dist.transforms.AffineTransform(mean, spread)))
        numpyro.sample("observed", dist.Normal(effect, errors), obs=effects)


RESULT, FIGURES = {}, {}
for draws in (2_000, 20_000):
    sampler = MCMC(NUTS(model), num_warmup=500, num_samples=draws, progress_bar=False)
    sampler.run(jax.random.key(0), extra_fields=("num_steps",))
    samples = sampler.get_samples()
    RESULT[f"mean_{draws}"] = samples["mean"].mean()
    RESULT[f"spread_{draws}"] = jnp.median(samples["spread"])
    RESULT[f"effect_{draws}"] = samples["effect"].mean(0)
    for key in jax.random.split(jax.random.key(1), 2):  # without warm-up; the first call compiles
        sampler.post_warmup_state = sampler.last_state
        start = time.perf_counter()
        sampler.run(key, extra_fields=("num_steps",))
        jax.block_until_ready(sampler.get_samples())
        seconds = time.perf_counter() - start
    steps = int(sampler.get_extra_fields()["num_steps"].sum())
    FIGURES[f"µs for a leapfrog step, {draws} draws"] = seconds / steps * 1e6
TOLERANCE = {f"{name}_{draws}": 0.1 if draws < 10_000 else 0.05
             for name in ("mean", "spread", "effect") for draws in (2_000, 20_000)}
