"""Locks that are free in the child of a fork, where no other thread exists to release them.

What a lock guards must therefore be usable at every moment at which its holder may be interrupted.
"""

from __future__ import annotations

import os
import threading
from weakref import WeakSet

__all__ = ["new_lock"]

_locks: WeakSet = WeakSet()


def new_lock() -> threading.RLock:
    """A lock that its holder may take again.

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
