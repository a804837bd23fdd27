"""Rows for calls of C functions. They need no compiler: one is Python's, one the C library's."""

import ctypes

import numpy as np

import tanx
from tanx.extend import c_function
from tanx.ffi import ffi_call, pycapsule, register_ffi_target

from .case import Case, f


@ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))
def cube_root(out, operands):
    """The cube roots of six numbers."""
    x = np.ctypeslib.as_array((ctypes.c_double * 6).from_address(operands[0]))
    np.ctypeslib.as_array((ctypes.c_double * 6).from_address(out))[:] = np.cbrt(x)


TARGET = f"{__name__}.cube_root"  # pytest imports this file under several names
register_ffi_target(TARGET, pycapsule(cube_root), api_version=0)
hypot = c_function(ctypes.CDLL("libm.so.6").hypot, ["float64", "float64"], "float64",
                   jvp=lambda x, y, tx, ty, out: (x * tx + y * ty) / out)


def roots(x):
    return ffi_call(TARGET, tanx.ShapeDtypeStruct(x.shape, x.dtype),
                    vmap_method="sequential", custom_call_api_version=1)(x)


CASES = [
    Case("ffi_call", roots, f(2, 3), grad=(), lower=False),
    Case("c_function", hypot, f(2, 3), f(3), lower=False, rewritten=True),
    Case("c_function", hypot, f(), f(3), lower=False, rewritten=True, name="scalar"),
]
