"""Attributes of Python objects that a trace reads, if their classes cannot be watched."""

import ctypes

import tanx
import tanx.numpy as jnp
from tanx._core import source


def test_classes_that_cannot_be_watched():
    """Metaclasses in C, as those of ctypes and pybind11, refuse it; their objects can be read."""
    class Point(ctypes.Structure):
        _fields_ = [("x", ctypes.c_int)]

    point = Point(3)
    triple = tanx.jit(lambda y: point.x * y)
    for _ in range(4):
        out = triple(jnp.float32(2))
        assert (float(out), out.dtype, out.shape, out.weak_type) == (6, jnp.float32, (), False)


def test_no_code_of_an_object_runs_when_it_is_looked_at(tmp_path, monkeypatch):
    """Modules of flax run ``setup`` when a missing attribute is read."""
    (tmp_path / "library_of_layers.py").write_text("""
class Layer:
    asked = []

    def __getattr__(self, name):
        self.asked.append(name)
        raise AttributeError(name)

    def __call__(self, x):
        return 2 * x
""")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(source, "_excluded", (*source._excluded, str(tmp_path)))
    from library_of_layers import Layer  # type: ignore[import-not-found]
    layer = Layer()
    doubled = tanx.jit(lambda x: layer(x))
    for _ in range(4):
        out = doubled(jnp.float32(3))
        assert (float(out), out.dtype, out.shape, out.weak_type) == (6, jnp.float32, (), False)
    assert Layer.asked == []
