"""Work that can wait: a thread for improvements to programs that no call waits for.

The thread starts with the first item. When Python ends or forks, the current item is finished
first, because LLVM must not be interrupted; the others are dropped.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any
from weakref import ref

__all__ = ["do", "idle"]


class _Later:
    """Work items, each for an object, and the thread that runs them one after the other."""

    def __init__(self) -> None:
        self.fresh()

    def fresh(self) -> None:
        """Start afresh, as in the child of a fork."""
        self.pieces: SimpleQueue[tuple[ref, Callable[[Any], None]] | None] = SimpleQueue()
        self.busy = threading.Lock()
        self.thread: threading.Thread | None = None

    def do(self, target: Any, work: Callable[[Any], None]) -> None:
        """Call ``work(target)`` at some time, unless the target has been freed by then."""
        self.pieces.put((ref(target), work))
        if self.thread is None:
            self.thread = threading.Thread(target=self.run, name="tanx later", daemon=True)
            self.thread.start()

    def run(self) -> None:
        while (piece := self.pieces.get()) is not None:
            found, work = piece
            target = found()
            if target is not None:
                with self.busy:
                    try:
                        work(target)
                    except Exception:  # the previous state is still valid
                        import logging
                        logging.getLogger("tanx").exception("tanx: work in the background failed")
            del target, work, piece

    def end(self) -> None:
        """Finish the current item; start no other."""
        self.busy.acquire()


_later = _Later()
do = _later.do


def idle() -> None:
    """Wait until all current items are done."""
    done = threading.Event()
    _later.do(done, lambda event: event.set())
    done.wait()


atexit.register(_later.end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_later.end, after_in_parent=lambda: _later.busy.release(),
                        after_in_child=_later.fresh)
