"""What a trace reads of Python's objects, where their classes cannot be watched."""

import ctypes

import tanx
import tanx.numpy as jnp


def test_classes_that_cannot_be_watched():
    """Metaclasses of C, as those of ctypes and pybind11, refuse; their objects can be read."""
    class Point(ctypes.Structure):
        _fields_ = [("x", ctypes.c_int)]

    point = Point(3)
    triple = tanx.jit(lambda y: point.x * y)
    for _ in range(4):
        out = triple(jnp.float32(2))
        assert (float(out), out.dtype, out.shape, out.weak_type) == (6, jnp.float32, (), False)
