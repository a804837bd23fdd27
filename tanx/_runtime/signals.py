"""Ctrl-C at the wrong moment: it is deferred while code runs that must not be interrupted."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["uninterrupted", "when_restored"]

when_restored: list[Callable[[], object]] = []
"""Functions to call once Python's own handler is installed again."""


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Defer Ctrl-C until the end of a block.

    For calls of LLVM: its wrapper takes a lock for each of them, and an exception at the wrong
    moment would leave it locked for all other threads.
    """
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler) or threading.current_thread() is not threading.main_thread():
        yield
        return
    pressed: list[tuple] = []
    signal.signal(signal.SIGINT, lambda *facts: pressed.append(facts))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        for restored in when_restored:
            restored()
        if pressed:
            handler(*pressed[0])
