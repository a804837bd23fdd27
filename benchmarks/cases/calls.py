"""The cost of calling a compiled function that computes almost nothing."""

import ctypes
import os
import subprocess
import tempfile
from functools import cache, reduce
from importlib import import_module
from operator import add
from pathlib import Path

import numpy as np

from .case import family, noise

case = family("call overhead")


@case("jit: x + 1, a scalar")
def scalar(jax, jnp):
    return lambda x: x + 1, (np.array(1, np.float32),)


@case("jit: x + 1, {n} floats", n=100)
def one_array(jax, jnp, n):
    return lambda x: x + 1, (noise(n),)


@case("jit: x * s, s a Python float", numpy=False)
def python_number(jax, jnp):
    return lambda x, s: x * s, (noise(100), 2.0)


@case("jit: sum of {n} array arguments", n=[10, 100])
def many_arguments(jax, jnp, n):
    return lambda *xs: reduce(add, xs), tuple(noise(10, seed=i) for i in range(n))


@case("jit: {n} results", n=[10, 100], numpy=False)
def many_results(jax, jnp, n):
    return lambda x: [x + i for i in range(n)], (noise(10),)


@case("jit: keyword arguments", jit=None, numpy=False)
def keywords(jax, jnp):
    clip = jax.jit(lambda *, x, low, high: jnp.minimum(jnp.maximum(x, low), high))
    return (lambda x, low, high: clip(x=x, low=low, high=high),
            (noise(10), noise(10, seed=1), noise(10, seed=2)))


# A pytree such as the parameters of a network: dicts of lists of dicts and tuples.
def _parameters(layers):
    return {
        "layers": [{"w": noise(4, 4, seed=i), "b": noise(4, seed=i), "norm": (noise(4), noise(4))}
                   for i in range(layers)],
        "head": (noise(4, 2), noise(2)),
    }


@case("jit: sum over a pytree of {layers} layers", layers=[2, 25], numpy=False)
def pytree_argument(jax, jnp, layers):
    def run(tree):
        return reduce(add, [leaf.sum() for leaf in jax.tree.leaves(tree)])
    return run, (_parameters(layers),)


@case("jit: update a pytree of {layers} layers", layers=[2, 25], numpy=False)
def pytree_result(jax, jnp, layers):
    return lambda tree: jax.tree.map(lambda leaf: leaf * 0.9, tree), (_parameters(layers),)


@case("jit: static arguments", numpy=False, jit={"static_argnums": (1, 2)})
def static(jax, jnp):
    return lambda x, power, mode: x ** power if mode == "power" else x, (noise(10), 3, "power")


@case("jit: identity", numpy=False)
def identity(jax, jnp):
    return lambda x: x, (noise(100),)


_ADD = """
#include "tanx/ffi.h"
TANX_FFI_HANDLER(add_one) {
    const tanx_ffi_buffer *x = tanx_ffi_arg(frame, 0);
    float *y = (float *)tanx_ffi_ret(frame, 0)->data;
    for (int64_t i = 0; i < tanx_ffi_count(x); i++) y[i] = ((const float *)x->data)[i] + 1;
    return NULL;
}
"""


@cache
def _add_one():
    """A foreign function, compiled with tanx's header, which JAX can call as well."""
    header = Path(__file__).parents[2] / "tanx" / "include"
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "add.so")
        subprocess.run([os.environ.get("CC", "cc"), "-O2", "-fPIC", "-shared", "-I", header, "-x",
                        "c", "-", "-o", library], input=_ADD.encode(), check=True)
        return ctypes.CDLL(str(library)).add_one


@case("jit: a foreign function, {n} floats", n=100, numpy=False)
def foreign(jax, jnp, n):
    ffi = import_module(f"{jax.__name__}.ffi")
    jnp.ones(1)  # JAX can register functions only after its devices exist
    ffi.register_ffi_target("benchmarks.add_one", ffi.pycapsule(_add_one()))
    return ffi.ffi_call("benchmarks.add_one", jax.ShapeDtypeStruct((n,), np.float32)), (noise(n),)
