"""Calls of tanx.random whose results JAX recorded in ``tests/data/random.json``.

Each is an expression in the names of the room, ``jnp``, ``vmap``, and keys: ``k`` and ``ks`` (an
array of three), ``rbg``, ``urbg`` and ``raw``. To record, in an environment that has JAX::

    python -m tests.random.calls

Samples agree to a few units in the last place, for transcendental functions differ by as much.
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
    """The result of a call; of keys their words."""
    out = eval(call, names(system))
    if "key" in str(out.dtype):
        out = system.random.key_data(out)
    return np.asarray(out)


def written(x: np.ndarray) -> dict:
    """An array as plain data, every bit of it."""
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


def record(jax) -> None:
    """Write what JAX gives."""
    recorded = {call: written(run(jax, call)) for call in CALLS}
    with jax.enable_x64(True):
        wide = {call: written(run(jax, call)) for call in WIDE}
    lines = [f"{json.dumps(call)}: {json.dumps(row)}" for call, row in recorded.items()]
    wider = [f"{json.dumps(call)}: {json.dumps(row)}" for call, row in wide.items()]
    DATA.write_text('{"calls": {\n' + ",\n".join(lines) + '\n},\n"wide": {\n'
                    + ",\n".join(wider) + "\n}}\n")


if __name__ == "__main__":
    import jax
    record(jax)
