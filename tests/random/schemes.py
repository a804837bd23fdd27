"""Calls of tanx.random with every generator, in both of JAX's orders of bits.

JAX recorded their results in ``tests/data/generators.json``; to record, in an environment that has
it::

    python -m tests.random.schemes

Each call is an expression in the names of the room and in ``k``, a key of the generator.
"""

import importlib
import json
import sys
from pathlib import Path

import numpy as np

DATA = Path(__file__).parents[1] / "data" / "generators.json"
IMPLS = ("threefry2x32", "threefry4x32", "rbg", "unsafe_rbg", "philox2x32", "philox4x32")
CALLS = """
split(k, 3)
split(k, (2, 2))
fold_in(k, 7)
vmap(lambda a: split(a, 3))(split(k, 2))
vmap(lambda a: bits(a, (5,)))(split(k, 3))
bits(k, (), "uint8")
bits(k, (5,), "uint8")
bits(k, (9,), "uint16")
bits(k, (1,))
bits(k, (3, 5))
bits(k, (8,))
uniform(k, (7,))
uniform(k, (5,), jnp.bfloat16)
normal(k, (7,))
permutation(k, 11)
randint(k, (7,), 0, 100)
bernoulli(k, 0.3, (7,))
gamma(k, 2.5, (3,))
""".strip().splitlines()
WIDE = ["split(k, 2)", "bits(k, (5,), 'uint64')", "randint(k, (5,), 0, 10**12, 'int64')"]


def run(jax, call: str, impl: str, partitionable: bool, wide: bool, compiled: bool = False):
    """The words or numbers of a call; with ``wide``, the seed needs 64 bits."""
    room = importlib.import_module(f"{jax.__name__}.random")
    with jax.threefry_partitionable(partitionable), jax.enable_x64(wide):
        names = {**vars(room), "vmap": jax.vmap, "jnp": jax.numpy}

        def value(key):
            out = eval(call, {**names, "k": key})
            return room.key_data(out) if jax.dtypes.issubdtype(
                out.dtype, jax.dtypes.prng_key) else out

        key = room.key((1 << 40) + 5 if wide else 42, impl=impl)
        return np.asarray((jax.jit(value) if compiled else value)(key))


def every():
    """The cases: call, generator, scheme, and whether 64-bit types are enabled.

    Under ``vmap``, JAX makes the bits of all keys of rbg from the first of them; tanx does not.
    """
    return [(call, impl, partitionable, wide) for wide, calls in ((False, CALLS), (True, WIDE))
            for call in calls for impl in IMPLS for partitionable in (True, False)
            if not ("vmap" in call and "rbg" in impl)]


def label(call: str, impl: str, partitionable: bool, wide: bool) -> str:
    """The name of a case in the file."""
    return f"{call} {impl}{'' if partitionable else ' in halves'}{' x64' if wide else ''}"


if __name__ == "__main__":
    import jax
    recorded = {}
    for case in every():
        recorded[label(*case)] = run(jax, *case).astype(
            object if "uint64" in case[0] else float).tolist()
    rows = [f"{json.dumps(name)}:{json.dumps(x)}" for name, x in recorded.items()]
    DATA.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
    sys.stdout.write(f"{len(recorded)} results\n")
