"""Locks that are free in the child of a fork, where no other thread exists to release them.

State guarded by a lock must therefore be usable at every moment when its holder may be interrupted.
"""

from __future__ import annotations

import os
import threading
from weakref import WeakSet

__all__ = ["new_lock"]

_locks: WeakSet = WeakSet()


def new_lock() -> threading.RLock:
    """A reentrant lock.

    >>> with new_lock() as held:
    ...     held
    True
    """
    lock = threading.RLock()
    _locks.add(lock)
    return lock


def _in_child() -> None:
    for lock in _locks:
        lock._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
