"""Calls the handlers of a library; prints the outcomes.

    python -m tests.oracle.ffi_calls jax handlers.so
"""

import ctypes
import importlib
import sys

import numpy as np


def register(ffi, path):
    """Register the handlers of the library."""
    library = ctypes.CDLL(path)
    for name in ("rms_norm", "mixed", "later"):
        ffi.register_ffi_target(name, ffi.pycapsule(getattr(library, name)))
    library.count_id.restype = library.count_info.restype = ctypes.c_void_p
    pointer = ctypes.POINTER(ctypes.c_char)
    ffi.register_ffi_type("tests.count", {
        "type_id": ffi.pycapsule(ctypes.cast(library.count_id(), pointer)),
        "type_info": ffi.pycapsule(ctypes.cast(library.count_info(), pointer))})
    ffi.register_ffi_target("next", {"instantiate": ffi.pycapsule(library.begin),
                                     "execute": ffi.pycapsule(library.next)})


def show(what, fun, *args):
    """Print the result of a function in each of four calls."""
    for _ in range(4):
        try:
            print(what, np.asarray(fun(*args)).round(3).astype(str).tolist())
        except (RuntimeError, ValueError) as error:  # JAX raises one or the other
            print(what, "failed", "OUT_OF_RANGE: too late" in str(error),
                  "INVALID_ARGUMENT" in str(error))


def main(system, path):
    jax, jnp, ffi = (importlib.import_module(system + room) for room in ("", ".numpy", ".ffi"))
    jnp.ones(1).block_until_ready()
    register(ffi, path)
    x, scalar = jnp.arange(6, dtype=np.float32).reshape(2, 3), jax.ShapeDtypeStruct((), np.float32)

    def norm(x, **attributes):
        return ffi.ffi_call("rms_norm", jax.ShapeDtypeStruct(x.shape, x.dtype),
                            vmap_method="broadcast_all")(x, **attributes)

    show("norm", jax.jit(lambda x: norm(x, eps=np.float32(1e-5))), x)
    show("batch", jax.jit(jax.vmap(lambda x: norm(x, eps=np.float32(1e-5)))), x)
    show("no eps", jax.jit(lambda x: norm(x)), x)
    show("wrong eps", jax.jit(lambda x: norm(x, eps=1e-5)), x)
    show("integers", jax.jit(lambda x: norm(x, eps=np.float32(1))), x.astype(np.int32))
    show("mixed", jax.jit(lambda x: ffi.ffi_call("mixed", scalar)(
        x, x[0], number=3, flag=True, text="four", numbers=np.arange(4, dtype=np.int32),
        inside={"deep": 0.5, "more": "text"})), x)
    show("next", jax.jit(lambda: ffi.ffi_call("next", jax.ShapeDtypeStruct((), np.int32),
                                              has_side_effect=True)(start=np.int32(5))))
    later = jax.jit(lambda x: ffi.ffi_call("later", scalar)(x))
    show("later", later, np.float32(1))
    show("too late", later, np.float32(-1))


if __name__ == "__main__":
    main(*sys.argv[1:])
