"""Runs one program of the ecosystem and prints its results as JSON.

    python run.py PROGRAM.py [--as-jax]

Run by the interpreter of one environment or the other: with ``--as-jax`` the name jax means tanx.
"""

import json
import runpy
import sys
import time


def plain(value):
    """A leaf of a result as lists of numbers, with its dtype."""
    import jax
    import numpy as np
    if jax.dtypes.issubdtype(getattr(value, "dtype", np.float32), jax.dtypes.prng_key):
        value = jax.random.key_data(value)
    array = np.asarray(value)
    dtype = str(array.dtype)
    if array.dtype.kind not in "biu":
        array = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
    if array.dtype.kind == "c":
        array = np.stack([array.real, array.imag], -1)
    return {"dtype": dtype, "shape": list(array.shape),
            "values": [float(x) for x in array.ravel()]}


def main(program: str, as_jax: bool) -> None:
    if as_jax:
        import tanx.as_jax
        tanx.as_jax.install(shadow=True)
    start = time.perf_counter()
    names = runpy.run_path(program)
    import jax
    jax.block_until_ready([x for x in jax.tree.leaves(names["RESULT"]) if isinstance(x, jax.Array)])
    seconds = time.perf_counter() - start
    leaves = jax.tree_util.tree_flatten_with_path(names["RESULT"])[0]
    result = {jax.tree_util.keystr(path): plain(leaf) for path, leaf in leaves}
    print(json.dumps({"seconds": seconds, "tolerance": names.get("TOLERANCE", {}),
                      "figures": names.get("FIGURES", {}), "result": result}))


if __name__ == "__main__":
    main(sys.argv[1], "--as-jax" in sys.argv[2:])
