"""Arrays that only the garbage collector can free, found by ``array_garbage_collection_guard``.

An array's memory is freed with its last reference, but an array in a reference cycle waits for the
collector. Before a collection, the guard puts a weak reference on each array that it may free;
arrays whose weak reference is then called were in a cycle.
"""

from __future__ import annotations

import gc
import os
import sys
import weakref
from typing import Any

from .._base.config import array_garbage_collection_guard
from .._base.logger import logger
from ..errors import explain

__all__ = ["watch_cycles"]


def watch_cycles(array_class: type) -> None:
    """Watch instances of a class from when the option is set."""

    def start(guard: str | None) -> None:
        if guard in ("log", "fatal") and _collecting not in gc.callbacks:
            gc.callbacks.append(_collecting)

    global _class
    _class = array_class
    array_garbage_collection_guard.on_change(start)
    start(array_garbage_collection_guard.value)


_class: Any = object
_watched: dict[int, tuple[weakref.ref, str]] = {}  # by the id of the weak reference


def _collecting(phase: str, info: dict[str, Any]) -> None:
    """Called by the collector before and after its work."""
    _watched.clear()
    if phase == "start" and array_garbage_collection_guard.value in ("log", "fatal"):
        for generation in range(info["generation"] + 1):
            for x in gc.get_objects(generation):
                if type(x) is _class:
                    reference = weakref.ref(x, _found)
                    _watched[id(reference)] = reference, x.aval.str_short(True)


def _found(reference: weakref.ref) -> None:
    """An array was freed with a cycle."""
    _, kind = _watched.get(id(reference), (None, ""))
    if not kind:
        return
    message = explain(
        "tanx.array_garbage_collection_guard",
        "an array was freed by the garbage collector, not by its last reference.",
        f"array: {kind}", hint="break the cycle of references that holds the array.")
    if array_garbage_collection_guard.value == "fatal":
        print(message, file=sys.stderr, flush=True)
        os.abort()
    logger().warning("%s", message)
