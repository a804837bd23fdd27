"""Calls of tanx.random whose results JAX recorded in ``tests/data/random.json``.

Each is an expression in the names of the room, ``jnp``, ``vmap``, and keys: ``k`` and ``ks`` (an
array of three), ``rbg``, ``urbg`` and ``raw``. To record, in an environment that has JAX::

    python -m tests.random.calls

Samples agree to a few units in the last place, because transcendental functions differ by as much.
"""

import json
from pathlib import Path

import ml_dtypes
import numpy as np

DATA = Path(__file__).parents[1] / "data" / "random.json"

CALLS = """
key(7)
key(-7)
key(True)
key(2**40 + 5)
key(jnp.uint32(4000000000))
key(42, impl="rbg")
key(42, impl="unsafe_rbg")
PRNGKey(7)
PRNGKey(7, impl="rbg")
split(k)
split(k, 3)
split(k, (2, 2))
split(k, 0)
split(raw)
split(rbg, 3)
split(urbg, 3)
fold_in(k, 5)
fold_in(k, 4000000000)
fold_in(raw, 5)
fold_in(rbg, 5)
fold_in(urbg, 5)
clone(k)
key_data(ks)
wrap_key_data(raw)
vmap(lambda x: split(x, 2))(ks)
vmap(lambda x: fold_in(x, 3))(ks)
vmap(lambda n: fold_in(k, n))(jnp.arange(3))
vmap(lambda x: bits(x, (2, 2)))(ks)
vmap(lambda s: key_data(PRNGKey(s)))(jnp.arange(3))
bits(k)
bits(k, (5,))
bits(k, (2, 3), "uint8")
bits(k, (2, 3), "uint16")
bits(k, (0, 3))
bits(raw, (3,))
bits(rbg, (9,))
bits(rbg, (5,), "uint8")
bits(urbg, (9,))
uniform(k)
uniform(k, (6,))
uniform(k, (2, 3), minval=-2, maxval=jnp.arange(3.0))
uniform(k, (6,), jnp.float16)
uniform(k, (6,), jnp.bfloat16)
uniform(k, (0,))
uniform(rbg, (6,))
uniform(raw, (6,))
vmap(lambda x: uniform(x, (2,)))(ks)
normal(k)
normal(k, (50,))
normal(k, (6,), jnp.float16)
normal(k, (6,), jnp.bfloat16)
normal(k, (6,), jnp.complex64)
normal(rbg, (6,))
vmap(lambda x: normal(x, (2,)))(ks)
truncated_normal(k, -1.0, 1.0, (6,))
truncated_normal(k, -1, jnp.array([0.5, 2.0]))
truncated_normal(k, -2.0, 2.0, (6,), jnp.bfloat16)
lognormal(k, 0.5, (6,))
lognormal(k, jnp.array([0.1, 2.0]))
bernoulli(k)
bernoulli(k, 0.3, (12,))
bernoulli(k, jnp.array([0.1, 0.5, 0.9]), (2, 3))
bernoulli(k, 0.3, (12,), "high")
randint(k, (12,), 0, 10)
randint(k, (12,), -5, 5, "int8")
randint(k, (12,), 0, 256, "uint8")
randint(k, (12,), 0, 1000, "uint16")
randint(k, (6,), 0, 1000000, "uint32")
randint(k, (4,), -2**31, 2**31 - 1)
randint(k, (3,), jnp.arange(3), 300, "int16")
randint(k, (3,), 5, 5)
randint(rbg, (6,), 0, 10)
rademacher(k, (12,))
rademacher(k, (6,), jnp.float32)
exponential(k, (6,))
laplace(k, (6,))
logistic(k, (6,))
gumbel(k, (6,))
gumbel(k, (6,), jnp.bfloat16)
gumbel(k, (6,), mode="high")
cauchy(k, (6,))
rayleigh(k, 2.0, (6,))
rayleigh(k, jnp.array([1.0, 2.0]))
pareto(k, 2.0, (6,))
weibull_min(k, 1.5, 2.0, (6,))
weibull_min(k, jnp.ones(3), 2.0, (2, 3))
maxwell(k, (6,))
double_sided_maxwell(k, 0.5, 2.0, (6,))
double_sided_maxwell(k, jnp.zeros(3), 1.0, (2,))
triangular(k, 0.0, 0.3, 1.0, (6,))
wald(k, 1.5, (6,))
geometric(k, 0.3, (6,))
geometric(k, jnp.array([0.1, 0.9]))
geometric(k, 0.3, (3,), "int8")
gamma(k, 2.5, (6,))
gamma(k, jnp.array([0.01, 0.5, 1.0, 7.0]))
gamma(k, 0.7, (4,), jnp.bfloat16)
gamma(k, jnp.array([0.0, -1.0, jnp.nan]))
gamma(k, 2.5, (6,), method="approximate")
gamma(rbg, jnp.array([0.5, 1.0, 2.0]))
vmap(lambda x: gamma(x, 0.7, (2,)))(ks)
loggamma(k, jnp.array([1e-3, 0.5, 1.0, 7.0]))
loggamma(k, 0.7, (3,), method="approximate")
beta(k, 0.5, jnp.array([1.0, 2.0]))
dirichlet(k, jnp.array([1.0, 2.0, 3.0]))
dirichlet(k, jnp.ones((2, 3)), (2, 2))
chisquare(k, 3.0, (4,))
f(k, 3.0, 4.0, (4,))
t(k, 3.0, (4,))
generalized_normal(k, 3.0, (4,))
ball(k, 3)
ball(k, 2, 1.5, (3,))
poisson(k, 3.0, (12,))
poisson(k, 300.0, (6,))
poisson(k, jnp.array([-1.0, 0.0, jnp.nan, 1e3]))
poisson(k, 3.0, (6,), "int8")
poisson(k, 3.0, (12,), method="approximate")
poisson(k, 300.0, (12,), method="approximate")
binomial(k, 10, 0.3, (6,))
binomial(k, jnp.array([10.0, 100.0, 1000.0]), 0.7)
binomial(k, jnp.array([-1.0, 5, 5, 5, jnp.nan, jnp.inf]), jnp.array([0.5, -1, 2, jnp.nan, .5, .5]))
binomial(k, 10, 0.3, (5,), jnp.float16)
multinomial(k, 10, jnp.array([0.2, 0.3, 0.5]))
multinomial(k, 10, jnp.array([0.2, 0.3, 0.5]), shape=(4, 3), dtype=jnp.int32)
multinomial(k, jnp.array([10.0, 20, 30]), jnp.ones((2, 3, 2)) / 2)
categorical(k, jnp.log(jnp.array([[0.1, 0.2, 0.7], [0.5, 0.3, 0.2]])))
categorical(k, jnp.zeros((2, 3)), axis=0)
categorical(k, jnp.zeros((2, 3)), shape=(4, 2))
categorical(k, jnp.zeros((2, 5)), shape=(3, 2), replace=False)
categorical(k, jnp.zeros((5, 2)), axis=0, shape=(3, 2), replace=False)
categorical(k, jnp.zeros((2, 3)), mode="high")
choice(k, 5, (6,))
choice(k, 5)
choice(k, 5, (3,), replace=False)
choice(k, jnp.arange(12.0).reshape(2, 6), (2, 2), axis=1, replace=False)
choice(k, jnp.arange(6.0).reshape(2, 3), (4,), p=jnp.array([0.1, 0.2, 0.7]), axis=1)
choice(k, 3, (4,), p=jnp.array([1, 2, 3]))
choice(k, jnp.arange(12.0).reshape(2, 6), (2, 2), p=jnp.ones(6) / 6, axis=1, replace=False)
choice(k, 3, (0,))
permutation(k, 8)
permutation(k, 1)
permutation(k, 0)
permutation(k, 1626)[:10]
permutation(k, jnp.arange(6.0).reshape(2, 3), axis=1)
permutation(k, jnp.arange(6.0).reshape(2, 3), axis=1, independent=True)
permutation(k, jnp.arange(5.0))
orthogonal(k, 3)
orthogonal(k, 3, (2,), m=2)
orthogonal(k, 2, m=4)
orthogonal(k, 2, dtype=jnp.complex64)
multivariate_normal(k, jnp.ones(2), jnp.array([[2.0, 0.5], [0.5, 1.0]]), (3,))
multivariate_normal(k, jnp.ones((3, 2)), jnp.eye(2), method="eigh")
multivariate_normal(k, jnp.ones(2), jnp.array([[2.0, 0.5], [0.5, 1.0]]), method="svd")
""".strip().splitlines()

WIDE = """
key(2**40 + 5)
key(-1)
bits(k, (5,))
bits(k, (5,), "uint32")
bits(rbg, (5,))
split(k, 3)
uniform(k, (6,))
uniform(k, (6,), "float32")
normal(k, (20,))
normal(k, (6,), "complex128")
truncated_normal(k, -1.0, 1.0, (6,))
randint(k, (6,), 0, 10)
randint(k, (6,), 0, 2**40)
randint(k, (6,), 0, 2**32, "uint32")
bernoulli(k, 0.3, (12,))
gumbel(k, (6,), mode="high")
gamma(k, jnp.array([0.1, 1.0, 7.0]))
poisson(k, 300.0, (6,))
binomial(k, 100, 0.3, (6,))
categorical(k, jnp.zeros((2, 3)))
choice(k, 5, (6,))
permutation(k, 8)
""".strip().splitlines()
"""Calls to make with 64-bit types."""


def names(system) -> dict:
    """The names that calls may use, of tanx or of JAX."""
    random = system.random
    return {**{name: getattr(random, name) for name in dir(random) if name[0] != "_"},
            "jnp": system.numpy, "vmap": system.vmap, "k": random.key(42),
            "ks": random.split(random.key(1), 3), "raw": random.PRNGKey(42),
            "rbg": random.key(42, impl="rbg"), "urbg": random.key(42, impl="unsafe_rbg")}


def run(system, call: str) -> np.ndarray:
    """The result of a call; keys are returned as words."""
    out = eval(call, names(system))
    if "key" in str(out.dtype):
        out = system.random.key_data(out)
    return np.asarray(out)


def written(x: np.ndarray) -> dict:
    """An array as plain data, bit for bit."""
    plain = x.astype(np.float32) if x.dtype.itemsize == 2 and x.dtype.kind in "fV" else x
    if plain.dtype.kind == "c":
        plain = np.stack([plain.real, plain.imag], -1)
    return {"dtype": str(x.dtype), "shape": list(x.shape), "data": plain.ravel().tolist()}


def read(row: dict) -> np.ndarray:
    """The array that was written as plain data."""
    dtype = np.dtype(getattr(ml_dtypes, row["dtype"], row["dtype"]))
    data = np.array(row["data"], np.uint64 if dtype == np.uint64 else None)
    if dtype.kind == "c":
        data = data.reshape(-1, 2) @ np.array([1, 1j])
    return data.astype(dtype).reshape(row["shape"])


def write(path: Path, tables: dict) -> None:
    """Write tables of results, a line each."""
    texts = []
    for name, table in tables.items():
        rows = [f"{json.dumps(call)}: {json.dumps(written(x))}" for call, x in table.items()]
        texts.append(f"{json.dumps(name)}: {{\n" + ",\n".join(rows) + "\n}")
    path.write_text("{" + ",\n".join(texts) + "}\n", encoding="utf-8")


def agree(actual: np.ndarray, expected: np.ndarray, tolerance: float) -> None:
    """Integers must be equal, other numbers within ``tolerance`` units in the last place of 1."""
    assert actual.shape == expected.shape
    assert actual.dtype == expected.dtype
    if actual.dtype.kind in "biu":
        np.testing.assert_array_equal(actual, expected)
        return
    eps = float(ml_dtypes.finfo(actual.dtype).eps)
    wide = np.complex128 if actual.dtype.kind == "c" else np.float64
    np.testing.assert_allclose(actual.astype(wide), expected.astype(wide), rtol=tolerance * eps,
                               atol=tolerance * eps)


def record(jax) -> None:
    """Write JAX's results."""
    calls = {call: run(jax, call) for call in CALLS}
    with jax.enable_x64(True):
        write(DATA, {"calls": calls, "wide": {call: run(jax, call) for call in WIDE}})


if __name__ == "__main__":
    import jax
    record(jax)
