"""Modules that another thread is loading when a process forks.

Python holds a lock for each module while it is loaded. In the child of a fork the thread that holds
it does not exist, and an import of the module waits forever. Large parts of tanx load late, so this
happens. A fork therefore waits briefly until no thread loads a part of tanx or of its dependencies;
and in the child, a module whose loading thread does not exist is removed, and loaded again on
demand.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from importlib import _bootstrap
from typing import Any

__all__: list[str] = []

_OURS = frozenset(("tanx", "llvmlite", "scipy", "numpy", "ml_dtypes", "opt_einsum"))
_PATIENCE = 5.0
"""Seconds that a fork waits. Loading the compiler takes half a second on a busy machine."""


_locks: dict[str, Any] = getattr(_bootstrap, "_module_locks", {})  # by the name of the module


def _loading(mine: int) -> Iterator[str]:
    """Names of modules that other threads are loading; empty if Python stores them elsewhere."""
    for name, reference in list(_locks.items()):
        lock = reference()
        if lock is not None and getattr(lock, "owner", None) not in (None, mine):
            yield name


def _before_fork() -> None:
    mine, end = threading.get_ident(), time.monotonic() + _PATIENCE
    while any(name.partition(".")[0] in _OURS for name in _loading(mine)):
        if time.monotonic() > end:
            break
        time.sleep(0.001)  # lets other threads run


def _in_child() -> None:
    for name in _loading(threading.get_ident()):
        del _locks[name]
        module = sys.modules.get(name)
        if getattr(getattr(module, "__spec__", None), "_initializing", False):
            del sys.modules[name]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_child=_in_child)
