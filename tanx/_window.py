"""Windows: how functions written in private rooms get their public names."""

import sys
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

__all__ = ["publish"]

# What each function or class of a room became in the first window that showed it.
_public: dict[Any, Any] = {}


def publish(module_name: str, wrap: Callable[[Any], Any] | None = None) -> None:
    """Finish the window ``module_name``; the last statement of its file.

    Functions and classes from private rooms, and the window's own, pass through ``wrap``, once, and
    take the name of the first window that shows them as their ``__module__``. ``__all__`` lists
    what the window shows; ``publish`` and ``wrap`` themselves are no part of it, nor are modules of
    other packages. A file with code of its own says what it shows, by ``__all__``; ``dir`` tells no
    more than that.
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
    window["__dir__"] = lambda: sorted({*shown, *(n for n in window if n.startswith("__"))})


def _to_publish(value: Any, window: str) -> bool:
    """Whether a value was made in a private room of the package, or in the window itself."""
    module = getattr(value, "__module__", None) or ""
    package = window.partition(".")[0] + "."
    return isinstance(value, FunctionType | type) and (
        module == window or (module.startswith(package) and "._" in module))
