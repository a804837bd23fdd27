"""Distributions over many values, densities estimated from samples, ranks."""

from .case import family, integers, noise, uniform
from .special import between

case = family("distributions", numpy=False)

REAL = {"norm": (), "cauchy": (), "laplace": (), "logistic": (), "gumbel_r": (), "t": (3.0,),
        "vonmises": (2.0,)}
POSITIVE = {"expon": (), "gamma": (2.5,), "chi2": (3.0,), "pareto": (0.5, 0.0, 0.05)}


@case("{name}.logpdf, {n}", name=list(REAL), n=1_000_000)
def log_density(jax, jnp, name, n):
    logpdf = getattr(jax.scipy.stats, name).logpdf
    return lambda x: logpdf(x, *REAL[name]), (noise(n),)


@case("{name}.logpdf, {n}", name=list(POSITIVE), n=1_000_000)
def log_density_of_positive(jax, jnp, name, n):
    logpdf = getattr(jax.scipy.stats, name).logpdf
    return lambda x: logpdf(x, *POSITIVE[name]), (uniform(n),)


@case("{name}.{function}, {n}", name=["norm", "cauchy", "gumbel_r"],
      function=["cdf", "logcdf", "logsf"], n=1_000_000)
def share(jax, jnp, name, function, n):
    return getattr(getattr(jax.scipy.stats, name), function), (noise(n),)


@case("gamma.{function}, {n}", function=["cdf", "logcdf", "sf"], n=100_000)
def gamma_share(jax, jnp, function, n):
    return getattr(jax.scipy.stats.gamma, function), (
        between(0.1, 20, n), between(0.5, 10, n, seed=1))


@case("beta.{function}, {n}", function=["logpdf", "cdf", "logcdf"], n=100_000)
def beta_share(jax, jnp, function, n):
    return getattr(jax.scipy.stats.beta, function), (
        between(0.01, 0.99, n), between(0.5, 10, n, seed=1), between(0.5, 10, n, seed=2))


@case("truncnorm.{function}, {n}", function=["logpdf", "cdf"], n=1_000_000)
def truncated(jax, jnp, function, n):
    of = getattr(jax.scipy.stats.truncnorm, function)
    return lambda x: of(x, -1.5, 2.0), (noise(n),)


@case("{name}.ppf, {n}", name=["norm", "cauchy", "logistic", "gumbel_l"], n=1_000_000)
def quantile(jax, jnp, name, n):
    return getattr(jax.scipy.stats, name).ppf, (between(0.01, 0.99, n),)


@case("poisson.logpmf, {n}", n=1_000_000)
def counts(jax, jnp, n):
    return jax.scipy.stats.poisson.logpmf, (integers(20, n), between(0.5, 20, n))


@case("binom.logpmf, {n}", n=1_000_000)
def successes(jax, jnp, n):
    return lambda k, p: jax.scipy.stats.binom.logpmf(k, 20, p), (
        integers(21, n), between(0.05, 0.95, n))


@case("poisson.cdf, {n}", n=100_000)
def counts_below(jax, jnp, n):
    return jax.scipy.stats.poisson.cdf, (integers(20, n), between(0.5, 20, n))


@case("poisson.entropy, {n}", n=100_000)
def entropy(jax, jnp, n):
    return jax.scipy.stats.poisson.entropy, (between(0.5, 50, n),)


@case("gradient of a normal likelihood, {n}", n=1_000_000)
def likelihood(jax, jnp, n):
    def loss(parameters, x):
        mean, width = parameters
        return -jax.scipy.stats.norm.logpdf(x, mean, jnp.exp(width)).sum()
    return jax.grad(loss), ((noise(), noise()), noise(n))


@case("gradient of a gamma likelihood, {n}", n=100_000)
def gamma_likelihood(jax, jnp, n):
    def loss(a, x):
        return -jax.scipy.stats.gamma.logpdf(x, a).sum()
    return jax.grad(loss), (between(1, 2, 1)[0], between(0.1, 20, n))


@case("multivariate_normal.logpdf, {n} of {d}", n=100_000, d=[3, 16])
def vectors(jax, jnp, n, d):
    def run(x, mean, root):
        return jax.scipy.stats.multivariate_normal.logpdf(
            x, mean, root @ root.T + d * jnp.eye(d))
    return run, (noise(n, d), noise(d, seed=1), noise(d, d, seed=2))


@case("gaussian_kde of {n} at {m} in {d}", n=2000, m=2000, d=[1, 3])
def density(jax, jnp, n, m, d):
    return lambda x, at: jax.scipy.stats.gaussian_kde(x)(at), (noise(d, n), noise(d, m, seed=1))


@case("rankdata, {n}", n=100_000)
def ranks(jax, jnp, n):
    return jax.scipy.stats.rankdata, (integers(1000, n),)


@case("mode, {n} x {m}", n=1000, m=1000)
def mode(jax, jnp, n, m):
    return lambda x: tuple(jax.scipy.stats.mode(x, axis=1)), (integers(50, n, m),)
