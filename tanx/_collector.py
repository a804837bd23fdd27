"""The garbage collector at rest: while many objects are made that stay, or that go by themselves.

To look in vain for cycles among them takes a tenth of the time of an import, and more than that of
the compilation of a large program.
"""

from __future__ import annotations

import gc
import os

from ._locks import new_lock

__all__ = ["at_rest", "count_as_old"]


class _AtRest:
    """Blocks of any threads in which the collector rests; it goes on when the last one ends."""

    def __init__(self) -> None:
        self.lock = new_lock()
        self.blocks = 0
        self.enabled = False

    def __enter__(self) -> None:
        with self.lock:
            if not self.blocks:
                self.enabled = gc.isenabled()
                gc.disable()
            self.blocks += 1

    def __exit__(self, *_) -> None:
        with self.lock:
            self.blocks -= 1
            if not self.blocks and self.enabled:
                gc.enable()

    def fresh(self) -> None:
        """Begin anew in the child of a fork: threads that were in a block are not there."""
        if self.blocks and self.enabled:
            gc.enable()
        self.blocks = 0


at_rest = _AtRest()
"""``with at_rest:`` lets the collector rest for a block."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=at_rest.fresh)


_OWN = 1000
"""Frozen objects that may be Python's own: 3.12 starts with 375; a user freezes ten thousand."""


def count_as_old() -> None:
    """Let collections of young objects pass by all that is there now, without a look at it."""
    if gc.get_freeze_count() < _OWN:  # else there is something that a user wants left alone
        gc.freeze()
        gc.unfreeze()  # to the oldest generation, wherever it was before
