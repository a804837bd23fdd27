"""The values that options take: booleans, numbers, text, choices, devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import explain
from .tuples import NamedTuple

__all__ = ["Kind", "anything", "boolean", "choice", "device", "device_count", "integer",
           "platform_names", "real", "text"]


class Kind(NamedTuple):
    """The values that a flag takes: in words, from Python (``accept``), and from text (``read``).

    Both functions return the value to store, or raise ``ValueError`` or ``TypeError``.
    """

    words: str
    accept: Callable[[Any], Any]
    read: Callable[[str], Any]
    samples: tuple = (None,)

    def or_none(self) -> Kind:
        """The same kind, with None for "not set"."""
        return Kind(
            f"None or {self.words}",
            lambda value: None if value is None else self.accept(value),
            lambda text: None if text.lower() in ("", "none") else self.read(text),
            self.samples,
        )


_TRUTH = dict.fromkeys(("1", "true", "t", "yes", "y", "on"), True) | dict.fromkeys(
    ("0", "false", "f", "no", "n", "off", ""), False
)


def _accept_boolean(value: Any) -> bool:
    """Text is parsed, so that ``"false"`` is false; other objects must be a plain truth value."""
    if isinstance(value, str):
        if value.lower() not in _TRUTH:
            raise ValueError(value)
        return _TRUTH[value.lower()]
    if value is None or value in (0, 1):
        return bool(value)
    raise ValueError(value)


def _instance(cls: type, *also: type) -> Callable[[Any], Any]:
    """Accepts instances of ``cls``, and converts those of ``also``; never a bool."""

    def accept(value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, (cls, *also)):
            raise TypeError(value)
        return cls(value)

    return accept


boolean = Kind("a boolean", _accept_boolean, _accept_boolean, (True, False))
integer = Kind("an int", _instance(int), int, (1, 2))
real = Kind("a float", _instance(float, int), float, (0.5, 1.0))
text = Kind("a str", _instance(str), str, ("text",))
anything = Kind("any object", lambda value: value, str)


def _accept_device(value: Any) -> Any:
    """Accepts devices and shardings by their attributes: this module imports no classes."""
    if isinstance(value, str) or hasattr(value, "platform") or hasattr(value, "device_set"):
        return value
    raise TypeError(value)


device = Kind("a device, a sharding or the name of a platform", _accept_device, str, ("cpu",))


def _accept_platforms(value: Any) -> str:
    """Names of platforms, separated by commas: all of them must exist."""
    names = [name.strip() for name in _instance(str)(value).split(",")]
    if set(names) - {"", "cpu"}:
        raise RuntimeError(explain(
            "tanx.config.jax_platforms", "a requested platform does not exist.",
            f"asked for: {value}", "present:   cpu",
            hint="do not set the option or the variable JAX_PLATFORMS."))
    return value


def _accept_device_count(value: Any) -> int:
    """How many devices the CPU is: one."""
    count = _instance(int)(value)
    if count not in (-1, 1):
        raise NotImplementedError(explain(
            "tanx.config.jax_num_cpu_devices", "the CPU is one device; several are not supported.",
            f"asked for: {count}",
            hint="tanx.set_num_threads sets the number of its threads."))
    return count


platform_names = Kind("a str", _accept_platforms, _accept_platforms, ("cpu",))
device_count = Kind("an int", _accept_device_count, lambda text: _accept_device_count(int(text)),
                    (1,))


def choice(*options: str) -> Kind:
    """One of the given words."""

    def accept(value: Any) -> str:
        if value not in options:
            raise ValueError(value)
        return str(value)

    return Kind("one of " + ", ".join(map(repr, options)), accept, accept, options)
