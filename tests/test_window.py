"""A window gives the objects that it shows their public names."""

import pickle
import subprocess
import sys
import types

import pytest

from tanx._base.traceback import boundary
from tanx._base.window import publish


@pytest.fixture
def window():
    """Make a window that shows the given names, as a module of the package."""
    made = []

    def make(name, **shown):
        module = sys.modules[name] = types.ModuleType(name)
        vars(module).update(publish=publish, boundary=boundary, **shown)
        made.append(name)
        return module

    yield make
    for name in made:
        del sys.modules[name]


def room(kind, name):
    """A new function or class of a private room."""
    source = f"class {name}: pass" if kind == "class" else f"def {name}(): return {name!r}"
    namespace = {"__name__": "tanx._imagined.room"}
    exec(source, namespace)
    return namespace[name]


def test_names_come_from_the_window(window):
    sin, wave = room("function", "sin"), room("class", "Wave")
    view = window("tanx.imagined", sin=sin, Wave=wave, pi=3.14, newaxis=None, sys=sys, _secret=1)
    publish("tanx.imagined", boundary)
    assert view.__all__ == ["Wave", "newaxis", "pi", "sin"]
    assert view.sin.__module__ == view.Wave.__module__ == "tanx.imagined"
    assert view.sin() == "sin" and view.sin.__wrapped__ is sin and view.Wave is wave
    assert sin.__module__ == "tanx._imagined.room"
    assert not hasattr(view, "publish") and not hasattr(view, "boundary")


def test_two_windows_show_the_same_object(window):
    sin, wave = room("function", "sin"), room("class", "Wave")
    first = window("tanx.imagined", sin=sin, Wave=wave)
    publish("tanx.imagined", boundary)
    second = window("tanx.imagined.too", sin=sin, Wave=wave, again=first.sin)
    publish("tanx.imagined.too", boundary)
    assert second.sin is first.sin is second.again and second.Wave is wave
    assert second.sin.__module__ == second.Wave.__module__ == "tanx.imagined"


def test_without_a_wrapper(window):
    sin = room("function", "sin")
    view = window("tanx.imagined", sin=sin)
    publish("tanx.imagined")
    assert view.sin is sin and sin.__module__ == "tanx.imagined"
    assert view.__all__ == ["boundary", "sin"]


def test_foreign_objects_keep_their_module_name(window):
    view = window("tanx.imagined", dump=pickle._dump, test=test_without_a_wrapper)
    publish("tanx.imagined", boundary)
    assert view.dump.__module__ == "pickle" and view.test.__module__ == __name__


def test_published_functions_can_be_pickled(window):
    view = window("tanx.imagined", sin=room("function", "sin"))
    publish("tanx.imagined", boundary)
    assert pickle.loads(pickle.dumps(view.sin)) is view.sin


@pytest.mark.parametrize("package", ["tanx", "tanx.scipy", "tanx.experimental"])
def test_a_package_shows_modules_that_are_not_loaded_yet(package):
    """In a separate process, because other tests load modules."""
    code = f"""
import {package} as package
for name in package.__all__:
    getattr(package, name)
assert set(package.__all__) <= set(dir(package))
assert not hasattr(package, "no_such_module")
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_rooms_on_the_array_api_load_when_used():
    code = """
import sys, tanx
rooms = "tanx.scipy", "tanx.experimental", "tanx.example_libraries"
early = [m for m in sys.modules if m.startswith((*rooms, "tanx.numpy", "scipy", "llvmlite"))]
assert not early, early
tanx.scipy.special.erf, tanx.experimental.sparse.CSR, tanx.example_libraries.stax.Dense
late = {m for m in sys.modules if m.startswith(rooms)}
assert {*rooms, "tanx.scipy.special", "tanx.experimental.sparse",
        "tanx.example_libraries.stax"} <= late, late
assert not any(m.startswith(("tanx.scipy.stats", "tanx.experimental.jet")) for m in late), late
"""
    subprocess.run([sys.executable, "-c", code], check=True)
