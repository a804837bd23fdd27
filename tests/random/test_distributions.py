"""Samples follow their distributions, and have the right derivatives."""

import numpy as np
import pytest
from scipy import special, stats

import tanx
import tanx.numpy as jnp
from tanx import random
from tanx.random._sampler import LARGE, OFTEN

KEY = random.key(2024)
COUNT = 3000

CONTINUOUS = {
    "uniform": (lambda n: random.uniform(KEY, n, minval=-1, maxval=3), stats.uniform(-1, 4)),
    "normal": (lambda n: random.normal(KEY, n), stats.norm()),
    "normal of rbg": (lambda n: random.normal(random.key(7, impl="rbg"), n), stats.norm()),
    "truncated_normal": (lambda n: random.truncated_normal(KEY, -1.0, 2.0, n),
                         stats.truncnorm(-1, 2)),
    "lognormal": (lambda n: random.lognormal(KEY, 0.5, n), stats.lognorm(0.5)),
    "exponential": (lambda n: random.exponential(KEY, n), stats.expon()),
    "laplace": (lambda n: random.laplace(KEY, n), stats.laplace()),
    "logistic": (lambda n: random.logistic(KEY, n), stats.logistic()),
    "gumbel": (lambda n: random.gumbel(KEY, n), stats.gumbel_r()),
    "gumbel, high": (lambda n: random.gumbel(KEY, n, mode="high"), stats.gumbel_r()),
    "cauchy": (lambda n: random.cauchy(KEY, n), stats.cauchy()),
    "rayleigh": (lambda n: random.rayleigh(KEY, 2.0, n), stats.rayleigh(scale=2)),
    "pareto": (lambda n: random.pareto(KEY, 3.0, n), stats.pareto(3)),
    "weibull_min": (lambda n: random.weibull_min(KEY, 2.0, 1.5, n),
                    stats.weibull_min(1.5, scale=2)),
    "maxwell": (lambda n: random.maxwell(KEY, n), stats.maxwell()),
    "triangular": (lambda n: random.triangular(KEY, 0.0, 0.5, 2.0, n),
                   stats.triang(0.25, scale=2)),
    "wald": (lambda n: random.wald(KEY, 1.5, n), stats.invgauss(1.5)),
    "gamma": (lambda n: random.gamma(KEY, 2.5, n), stats.gamma(2.5)),
    "gamma, small": (lambda n: random.gamma(KEY, 0.3, n), stats.gamma(0.3)),
    "gamma, approximate": (lambda n: random.gamma(KEY, 2.5, n, method="approximate"),
                           stats.gamma(2.5)),
    "loggamma": (lambda n: random.loggamma(KEY, 0.3, n), stats.loggamma(0.3)),
    "beta": (lambda n: random.beta(KEY, 2.0, 0.7, n), stats.beta(2, 0.7)),
    "chisquare": (lambda n: random.chisquare(KEY, 3.0, n), stats.chi2(3)),
    "f": (lambda n: random.f(KEY, 3.0, 7.0, n), stats.f(3, 7)),
    "t": (lambda n: random.t(KEY, 3.0, n), stats.t(3)),
    "generalized_normal": (lambda n: random.generalized_normal(KEY, 1.5, n), stats.gennorm(1.5)),
    "dirichlet": (lambda n: random.dirichlet(KEY, jnp.array([1.0, 2.0, 3.0]), n)[:, 0],
                  stats.beta(1, 5)),
    "ball": (lambda n: jnp.sum(random.ball(KEY, 3, 2, n) ** 2, -1) ** 1.5, stats.uniform()),
}

DISCRETE = {
    "bernoulli": (lambda n: random.bernoulli(KEY, 0.3, n), stats.bernoulli(0.3)),
    "bernoulli, high": (lambda n: random.bernoulli(KEY, 0.3, n, "high"), stats.bernoulli(0.3)),
    "randint": (lambda n: random.randint(KEY, n, -3, 5), stats.randint(-3, 5)),
    "geometric": (lambda n: random.geometric(KEY, 0.3, n), stats.geom(0.3)),
    "poisson, few": (lambda n: random.poisson(KEY, 3.0, n), stats.poisson(3)),
    "poisson, many": (lambda n: random.poisson(KEY, 30.0, n), stats.poisson(30)),
    "poisson, approximate": (lambda n: random.poisson(KEY, 30.0, n, method="approximate"),
                             stats.poisson(30)),
    "binomial, few": (lambda n: random.binomial(KEY, 10, 0.3, n), stats.binom(10, 0.3)),
    "binomial, many": (lambda n: random.binomial(KEY, 100, 0.7, n), stats.binom(100, 0.7)),
    "choice": (lambda n: random.choice(KEY, 3, n, p=jnp.array([0.2, 0.3, 0.5])),
               stats.rv_discrete(values=([0, 1, 2], [0.2, 0.3, 0.5]))),
    "categorical": (lambda n: random.categorical(KEY, jnp.log(jnp.array([0.2, 0.8])), shape=n),
                    stats.bernoulli(0.8)),
    "multinomial": (lambda n: random.multinomial(KEY, 10, jnp.array([0.2, 0.8]), shape=n)[:, 0],
                    stats.binom(10, 0.2)),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_samples_follow_their_distribution(name):
    draw, law = CONTINUOUS[name]
    samples = np.asarray(draw((COUNT,)), np.float64)
    assert samples.shape == (COUNT,)
    assert stats.kstest(samples, law.cdf).pvalue > 1e-4


@pytest.mark.parametrize("name", DISCRETE)
def test_counts_follow_their_distribution(name):
    """By the chi-square test, over bins with at least five expected counts."""
    draw, law = DISCRETE[name]
    samples = np.asarray(draw((COUNT,))).astype(int)
    values = np.arange(samples.min() - 1, samples.max() + 2)
    expected, found = COUNT * law.pmf(values), np.array([(samples == v).sum() for v in values])
    common = expected >= 5
    expected = np.append(expected[common], COUNT - expected[common].sum())
    found = np.append(found[common], COUNT - found[common].sum())
    kept = expected > 1e-6
    assert not found[~kept].any()
    statistic = ((found - expected)[kept] ** 2 / np.maximum(expected[kept], 0.5)).sum()
    assert stats.chi2(kept.sum() - 1).sf(statistic) > 1e-5


def test_permutations_cover_all_orders():
    orders = {tuple(np.asarray(random.permutation(k, 3)).tolist())
              for k in random.split(KEY, 60)}
    assert len(orders) == 6
    rows = random.permutation(KEY, jnp.arange(12).reshape(3, 4), axis=1, independent=True)
    assert np.sort(rows, axis=1).tolist() == np.arange(12).reshape(3, 4).tolist()


def test_drawing_without_replacement_draws_nothing_twice():
    drawn = np.asarray(random.choice(KEY, 20, (20,), replace=False, p=jnp.arange(1.0, 21.0)))
    assert sorted(drawn.tolist()) == list(range(20))


@pytest.mark.parametrize("a", [0.3, 1.0, 2.5, 20.0])
def test_samples_of_gamma_move_so_that_their_quantile_stays(a):
    with tanx.enable_x64(True):
        key = random.key(5)

        def draw(a):
            return random.gamma(key, a, (8,), jnp.float64)

        x, slope = (np.asarray(v) for v in tanx.jvp(draw, (a,), (1.0,)))
        h = 1e-5
        change = (special.gammainc(a + h, x) - special.gammainc(a - h, x)) / (2 * h)
        np.testing.assert_allclose(slope, -change / stats.gamma(a).pdf(x), rtol=1e-4)
        log_slope = np.asarray(tanx.jvp(
            lambda a: random.loggamma(key, a, (8,), jnp.float64), (a,), (1.0,))[1])
        np.testing.assert_allclose(log_slope * x, slope, rtol=1e-6)


def test_gradients_of_the_family_of_gamma_are_finite():
    for draw in (lambda a: random.beta(KEY, a, 2.0), lambda a: random.t(KEY, a),
                 lambda a: random.chisquare(KEY, a), lambda a: random.uniform(KEY, (), minval=a),
                 lambda a: random.dirichlet(KEY, jnp.stack([a, 1.0 + a]))[0]):
        slope = tanx.grad(draw)(1.5)
        assert np.isfinite(slope) and slope != 0


@pytest.mark.parametrize("draw", [
    lambda k: random.normal(k, (0, 3)), lambda k: random.gamma(k, jnp.ones((0,))),
    lambda k: random.randint(k, (2, 0), 0, 3), lambda k: random.bits(k, (0,)),
    lambda k: random.permutation(k, jnp.zeros((0, 2))), lambda k: random.split(k, 0)])
def test_results_without_elements(draw):
    assert draw(KEY).size == 0
    assert tanx.jit(draw)(KEY).size == 0
    assert tanx.vmap(draw)(random.split(KEY, 2)).size == 0


@pytest.mark.parametrize("size", [50, 5000])
def test_permutations_are_the_same_whether_compiled_or_not(size):
    key = random.key(5)
    expected = tanx.jit(lambda key: random.permutation(key, size))(key)
    for _ in range(OFTEN + 2 if size < LARGE else 2):
        np.testing.assert_array_equal(random.permutation(key, size), expected)


@pytest.mark.parametrize("sampler, parameters", [
    (random.poisson, (0.5, 3.0, 40.0)), (random.gamma, (0.3, 2.0, 9.0)),
    (random.geometric, (0.2, 0.5, 0.9)),
    (random.chisquare, (0.7, 3.0, 8.0)), (random.t, (1.5, 3.0, 8.0)),
    (random.bernoulli, (0.1, 0.5, 0.9)), (random.rayleigh, (0.1, 1.0, 3.0)),
    (lambda key, p: random.binomial(key, 20.0, p), (0.1, 0.5, 0.9)),
    (lambda key, n: random.binomial(key, n, 0.3), (5.0, 40.0, 900.0)),
    (lambda key, a: random.beta(key, a, 2.0), (0.3, 2.0, 9.0))])
def test_parameters_may_be_mapped(sampler, parameters):
    """Each lane of a mapped parameter has the same numbers as alone, also eagerly."""
    key, parameters = random.key(3), jnp.array(parameters)
    alone = jnp.stack([sampler(key, p) for p in parameters])
    mapped = tanx.vmap(lambda p: sampler(key, p))
    for function in (mapped, tanx.jit(mapped)):
        for _ in range(4):
            found = function(parameters)
            assert found.dtype == alone.dtype
            np.testing.assert_allclose(found, alone, rtol=1e-6)
