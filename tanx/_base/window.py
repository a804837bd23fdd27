"""Windows: how functions written in private rooms get their public names."""

import os
import sys
from collections.abc import Callable
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any

from .traceback import boundary

__all__ = ["absence", "load_late", "publish"]

# The public form of each function or class of a room, in the first window that shows it.
_public: dict[Any, Any] = {}


def publish(module_name: str, wrap: Callable[[Any], Any] | None = None) -> None:
    """Finish the window ``module_name``; the last statement of its file.

    Functions and classes from private rooms, and the window's own, pass through ``wrap``, once, and
    take the name of the first window that shows them as their ``__module__``. ``__all__`` lists the
    members of the window, without ``publish``, ``wrap`` and modules of other packages. A file with
    its own code defines ``__all__``; ``dir`` shows only these names.
    """
    package = module_name.partition(".")[0] + "."
    window = vars(sys.modules[module_name])
    stated = window.get("__all__")
    for name, value in list(window.items()):
        if value is publish or (wrap is not None and value is wrap):
            del window[name]
        elif not name.startswith("_") and _to_publish(value, module_name) and (
                stated is None or name in stated):
            if value not in _public:
                _public[value] = value if wrap is None else wrap(value)
                _public[value].__module__ = module_name
            window[name] = _public[value]
    shown = window["__all__"] = stated or sorted(
        name for name, value in window.items() if not name.startswith("_")
        and not (isinstance(value, ModuleType) and not value.__name__.startswith(package)))
    window["__dir__"] = lambda: sorted(
        {*shown, *(n for n in window if n.startswith("__") and n != "__dir__")})


def load_late(module_name: str) -> None:
    """Let a package show each of its public modules, which loads when it is first needed.

    The last statement of the package's file, after :func:`publish`.
    """
    window = vars(sys.modules[module_name])
    window.pop("load_late", None)
    # Without pkgutil, which takes 5 ms to import.
    (folder,) = window["__path__"]
    rooms = {name.removesuffix(".py") for name in os.listdir(folder) if name[0] != "_" and (
        name.endswith(".py") or os.path.exists(os.path.join(folder, name, "__init__.py")))}
    window["__all__"] = sorted({*window.get("__all__", ()), *rooms} - {"load_late"})

    def __getattr__(name: str) -> ModuleType:
        if name in rooms:
            return import_module(f"{module_name}.{name}")
        raise AttributeError(absence(module_name, name)
                             or f"module {module_name!r} has no attribute {name!r}")

    window.update(__getattr__=boundary(__getattr__),
                  __dir__=lambda: sorted({*window, *rooms}))


# Names of JAX that tanx does not have yet, by package. Obsolete entries are harmless.
LATER = {
    "tanx.experimental": frozenset("""
        jax2tf mosaic pallas roofline shard source_mapper""".split()),
}


def absence(package: str, name: str) -> str | None:
    """The message for a name of JAX that a package does not have yet; None for other names."""
    if name not in LATER.get(package, ()):
        return None
    known = package.replace("tanx", "jax", 1)
    return f"tanx does not have {package}.{name} yet, the counterpart of {known}.{name}."


class _Absent:
    """The last finder of modules: raises for modules that tanx does not have yet."""

    @staticmethod
    def find_spec(name: str, path=None, target=None) -> None:
        text = absence(*name.rpartition(".")[::2])
        if text is not None:
            raise ModuleNotFoundError(text)


sys.meta_path.append(_Absent)


def _to_publish(value: Any, window: str) -> bool:
    """Whether a value was made in a private room of the package, or in the window itself."""
    if not isinstance(value, (FunctionType, type)):
        return False
    module = value.__module__ or ""
    package = window.partition(".")[0] + "."
    return module == window or (module.startswith(package) and "._" in module)
