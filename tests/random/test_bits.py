"""Every sampler returns the same numbers, to the last bit, eagerly and under ``jit``."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import random

P = np.float32([0.2, 0.5, 0.9, 2.5, 7.0])
PARTS = np.float32([0.2, 0.1, 0.3, 0.15, 0.25])
COV = np.float32([[2.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 1.5]])

FLOATS = {
    "ball": lambda k, **o: random.ball(k, 3, shape=(5,), **o),
    "ball p": lambda k, **o: random.ball(k, 3, 1.5, shape=(5,), **o),
    "beta": lambda k, **o: random.beta(k, P, P[::-1], **o),
    "cauchy": lambda k, **o: random.cauchy(k, (7,), **o),
    "chisquare": lambda k, **o: random.chisquare(k, P, **o),
    "dirichlet": lambda k, **o: random.dirichlet(k, P, (2,), **o),
    "double_sided_maxwell": lambda k, **o: random.double_sided_maxwell(k, 1.0, 2.0, (7,), **o),
    "exponential": lambda k, **o: random.exponential(k, (7,), **o),
    "f": lambda k, **o: random.f(k, P, P[::-1], **o),
    "gamma": lambda k, **o: random.gamma(k, P, **o),
    "generalized_normal": lambda k, **o: random.generalized_normal(k, 1.3, (7,), **o),
    "gumbel": lambda k, **o: random.gumbel(k, (7,), **o),
    "gumbel high": lambda k, **o: random.gumbel(k, (7,), mode="high", **o),
    "laplace": lambda k, **o: random.laplace(k, (7,), **o),
    "logistic": lambda k, **o: random.logistic(k, (7,), **o),
    "loggamma": lambda k, **o: random.loggamma(k, P, **o),
    "lognormal": lambda k, **o: random.lognormal(k, 0.7, (7,), **o),
    "maxwell": lambda k, **o: random.maxwell(k, (7,), **o),
    "normal": lambda k, **o: random.normal(k, (3, 7), **o),
    "normal of one": lambda k, **o: random.normal(k, **o),
    "orthogonal": lambda k, **o: random.orthogonal(k, 3, **o),
    "pareto": lambda k, **o: random.pareto(k, P, **o),
    "rademacher": lambda k, **o: random.rademacher(k, (7,), **o),
    "rayleigh": lambda k, **o: random.rayleigh(k, P, **o),
    "t": lambda k, **o: random.t(k, P, **o),
    "triangular": lambda k, **o: random.triangular(k, 0.0, 0.3, 2.0, (7,), **o),
    "truncated_normal": lambda k, **o: random.truncated_normal(k, -1.0, 2.0, (7,), **o),
    "uniform": lambda k, **o: random.uniform(k, (7,), minval=-3.0, maxval=5.5, **o),
    "wald": lambda k, **o: random.wald(k, P, **o),
    "weibull_min": lambda k, **o: random.weibull_min(k, 1.5, 0.7, (7,), **o),
    "multivariate_normal": lambda k, **o: random.multivariate_normal(
        k, P[:3].astype(o["dtype"]), COV.astype(o["dtype"]), (2,), **o),
    "binomial": lambda k, **o: random.binomial(k, np.float32([3, 30, 300, 5, 9]), PARTS, **o),
}
OTHERS = {
    "bernoulli": lambda k: random.bernoulli(k, PARTS),
    "bits": lambda k: random.bits(k, (7,)),
    "categorical": lambda k: random.categorical(k, jnp.log(PARTS), shape=(9,)),
    "categorical without replacement": lambda k: random.categorical(
        k, jnp.log(PARTS), shape=(3,), replace=False),
    "choice": lambda k: random.choice(k, 5, (9,), p=PARTS),
    "choice without replacement": lambda k: random.choice(k, 5, (4,), replace=False, p=PARTS),
    "complex normal": lambda k: random.normal(k, (7,), "complex64"),
    "geometric": lambda k: random.geometric(k, PARTS),
    "multinomial": lambda k: random.multinomial(k, 20, PARTS),
    "permutation": lambda k: random.permutation(k, 9),
    "poisson": lambda k: random.poisson(k, np.float32([0.1, 3, 30, 300])),
    "randint": lambda k: random.randint(k, (7,), -5, 1000),
}
LONG = {"ball", "ball p", "multinomial", "binomial", "poisson", "multivariate_normal", "f",
        "dirichlet", "orthogonal"}
"""Samplers that take long to compile."""


def cases():
    for name, make in FLOATS.items():
        factors = name in ("multivariate_normal", "orthogonal", "binomial")
        for dtype in ("float32", "float64", "bfloat16", "float16")[:2 if factors else 4]:
            yield pytest.param(
                lambda k, make=make, dtype=dtype: make(k, dtype=dtype), dtype,
                id=f"{name} {dtype}",
                marks=[pytest.mark.slow] if name in LONG or dtype != "float32" else [])
    for name, make in OTHERS.items():
        yield pytest.param(make, "", id=name, marks=[pytest.mark.slow] if name in LONG else [])


@pytest.mark.parametrize("make, dtype", list(cases()))
def test_eager_and_compiled_numbers_are_the_same(make, dtype):
    with tanx.enable_x64(dtype == "float64"):
        compiled = tanx.jit(make)
        for seed in range(4):
            key = random.key(seed)
            one, other = np.asarray(make(key)), np.asarray(compiled(key))
            assert one.dtype == other.dtype and one.tobytes() == other.tobytes()
