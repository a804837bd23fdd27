"""Flags: options that are read in one attribute, and overridden in one thread.

``config.py`` has the table of them.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

from ..errors import explain
from .locks import new_lock
from .logger import logger
from .option_kinds import Kind, boolean
from .thread_state import KEY, VERSION, flags_version, situation

__all__ = ["Flag", "Override", "Strict", "define", "from_text", "known", "overrides", "overriding",
           "strict", "trace_also", "trace_key", "traced_names"]


class _Unset:
    def __repr__(self) -> str:
        return "..."


_UNSET: Any = _Unset()
_lock = new_lock()


class Flag(threading.local):
    """One option. ``flag.value`` reads it; ``with flag(value):`` changes it in this thread.

    Each flag is the only instance of its class. The value for the process is an attribute of the
    class and that of a thread is in the thread's dictionary of the instance, so Python's attribute
    lookup finds the right one, in less than 100 ns.

    >>> with tanx.enable_x64(True):
    ...     tanx.enable_x64.value
    True
    """

    name: str
    public_name: str
    kind: Kind
    value: Any
    relaxed: Any
    idle: str
    callbacks: list[Callable[[Any], None]]
    _stack: list[Any]

    def __call__(self, new_val: Any = _UNSET) -> Override:
        """A context in which the flag is ``new_val``; a boolean flag is switched on by default."""
        if new_val is _UNSET:
            if self.kind is not boolean:
                raise TypeError(explain(
                    f"tanx.{self.name}", "the context needs a value.",
                    f"expected: {self.kind.words}"))
            new_val = True
        return Override(self, self.checked(new_val))

    def checked(self, value: Any) -> Any:
        """``value`` in its stored form; raises ``ValueError`` if it is not of the right kind."""
        try:
            return self.kind.accept(value)
        except (ValueError, TypeError):
            raise ValueError(explain(
                f"tanx.config.{self.public_name}", "this option does not take that value.",
                f"expected: {self.kind.words}",
                f"got:      {value!r} ({type(value).__name__})")) from None

    def update(self, value: Any) -> None:
        """Set the value for the whole process; threads inside a context keep theirs."""
        value = self.checked(value)
        with _lock:
            type(self).value = value
            flags_version.value += 1
            strict.refresh()
        self._announce(value)

    def push(self, value: Any) -> None:
        """Enter a context of this thread; ``value`` has been checked."""
        mine = self.__dict__
        mine.setdefault("_stack", []).append(value)
        mine["value"] = value
        self._overridden(value, +1)
        self._announce(value)

    def pop(self) -> None:
        """Leave the innermost context of this thread."""
        mine = self.__dict__
        left = mine["_stack"].pop()
        if mine["_stack"]:
            mine["value"] = mine["_stack"][-1]
        else:
            del mine["value"]
        self._overridden(left, -1)
        self._announce(self.value)

    def on_change(self, callback: Callable[[Any], None]) -> None:
        """Call ``callback(value)`` after each change, in the thread that made it."""
        self.callbacks.append(callback)

    def _overridden(self, value: Any, by: int) -> None:
        _thread.version = None
        situation.words[VERSION] = -1
        if self in strict.flags and value != self.relaxed:
            with _lock:
                strict.overrides += by
                strict.refresh()

    def _announce(self, value: Any) -> None:
        for callback in self.callbacks:
            callback(value)

    @property
    def effect(self) -> bool:
        """Whether the flag has an effect."""
        return not self.idle

    def say_if_idle(self, value: Any) -> None:
        """Log, once, that a flag without effect was set to another value than its default."""
        if self.idle and value != self.relaxed and self.name not in _said:
            _said.add(self.name)
            logger().warning("%s", explain(
                f"tanx.config.{self.public_name}", "this option has no effect here.",
                f"value:  {value!r}", f"reason: {self.idle}"))

    def __repr__(self) -> str:
        return f"<flag {self.name} = {self.value!r}>"


class Override(contextlib.ContextDecorator):
    """The context of ``flag(value)``; works in many threads, many times, and as a decorator."""

    __slots__ = ("flag", "value")

    def __init__(self, flag: Flag, value: Any):
        self.flag = flag
        self.value = value

    def __enter__(self) -> None:
        self.flag.push(self.value)
        self.flag.say_if_idle(self.value)

    def __exit__(self, *exc_info: object) -> None:
        self.flag.pop()


class Strict:
    """``strict.value`` is False when no flag requests an extra check of eager operations.

    It may be True unnecessarily, while another thread is inside such a context: code that finds it
    True checks the flags themselves. It is never wrongly False.
    """

    __slots__ = ("flags", "overrides", "value")

    def __init__(self) -> None:
        self.flags: set[Flag] = set()
        self.overrides = 0
        self.value = False

    def refresh(self) -> None:
        """Recompute the value from the process-wide values and the open contexts."""
        self.value = self.overrides > 0 or any(
            type(flag).value != flag.relaxed for flag in self.flags)


class _TraceKey(tuple):
    """A key of :func:`trace_key`. Equal ones are one object, so that its address is its hash."""

    __slots__ = ()
    __eq__ = object.__eq__
    __ne__ = object.__ne__
    __hash__ = object.__hash__


class _Thread(threading.local):
    """The cached key of :func:`trace_key` of this thread; None if it must be recomputed."""

    version: int | None = None
    key: tuple = ()


strict = Strict()
_thread = _Thread()
known: dict[str, Flag] = {}  # all flags that users may set, by name
_traced: list[Flag] = []
_by_python: list[Flag] = []  # flags that native code ignores: Python executes all calls
_said: set[str] = set()  # flags whose lack of effect was logged
_keys: dict[tuple, _TraceKey] = {}  # all keys so far, so that equal ones are one object
_UNUSUAL_NAMES = {"debug_bounds": "tanx_debug_bounds", "dump": "tanx_dump",
                  "program_bytes": "tanx_program_bytes", "quick_code": "tanx_quick_code",
                  "native_code": "tanx_native_code"}
_UNUSUAL_NAMES |= {name: name for name in (
    "check_vma", "eager_constant_folding", "jax2tf_associative_scan_reductions",
    "jax2tf_default_native_serialization", "mock_num_gpu_processes")}


def trace_key() -> tuple:
    """The values that traced programs depend on: part of the key of every cache of programs.

    >>> before = trace_key()
    >>> with tanx.enable_x64(True):
    ...     assert trace_key() != before
    >>> assert trace_key() == before
    """
    if _thread.version != flags_version.value:
        version = flags_version.value
        key = tuple(flag.value for flag in _traced)
        _thread.key = _keys.setdefault(key, _TraceKey(key))
        _thread.version = version
        watched = any(flag.value != flag.relaxed for flag in _by_python)
        situation.words[KEY] = id(_thread.key)
        situation.words[VERSION] = -1 if watched else version
    return _thread.key


def overrides() -> list[tuple[Flag, Any]]:
    """The flags that this thread overrides, with their values."""
    return [(flag, flag.value) for flag in known.values() if "value" in vars(flag)]


@contextlib.contextmanager
def overriding(flags: list[tuple[Flag, Any]]) -> Iterator[None]:
    """A block in which flags have the values that :func:`overrides` found in another thread."""
    with contextlib.ExitStack() as stack:
        for flag, value in flags:
            stack.enter_context(Override(flag, value))
        yield


def traced_names() -> list[str]:
    """The options whose values are in :func:`trace_key`, in that order."""
    return [flag.public_name for flag in _traced]


def trace_also(flag: Flag) -> None:
    """Make the value of a flag part of :func:`trace_key`."""
    with _lock:
        _traced.append(flag)
        flags_version.value += 1


def define(name: str, kind: Kind, default: Any, doc: str, *, checks: bool = False,
            traced: bool = False, by_python: bool = False, idle: str = "",
            variables: tuple[str, ...] = (), listed: bool = True) -> Flag:
    """Make a flag, with its first value from the environment.

    ``checks``: any value but the default makes :data:`strict` true. ``traced``: the value is part
    of :func:`trace_key`. ``by_python``: under any value but the default, Python executes all calls
    of jitted functions. ``idle``: why the flag has no effect. ``variables``: more environment
    variables to read. ``listed``: whether users may set it.
    """
    public_name = _UNUSUAL_NAMES.get(name, f"jax_{name}")
    sample = next((value for value in kind.samples if value != default), default)
    example = f">>> with tanx.{name}({sample!r}):\n...     tanx.config.{public_name}\n{sample!r}\n"
    fields = {"__doc__": f"{doc}\n\n{example}", "name": name, "kind": kind, "value": default,
              "relaxed": default, "idle": idle, "callbacks": [], "public_name": public_name}
    flag: Flag = type(name, (Flag,), fields)()
    if listed:
        for variable in (f"TANX_{name.upper()}", *variables, f"JAX_{name.upper()}"):
            given = os.environ.get(variable)
            if given is not None:
                type(flag).value = from_text(variable, given, kind)
                break
        known[name] = flag
    if traced:
        _traced.append(flag)
    if by_python:
        _by_python.append(flag)
    if checks:
        strict.flags.add(flag)
        strict.refresh()
    return flag


def from_text(variable: str, given: str, kind: Kind) -> Any:
    """The value of a text from the environment or the command line."""
    try:
        return kind.read(given)
    except ValueError:
        raise ValueError(explain(
            variable, "the environment variable has a value that its option does not take.",
            f"expected: {kind.words}", f"got:      {given!r}")) from None
