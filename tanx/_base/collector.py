"""The garbage collector: when it is paused, and when it runs for the memory of arrays.

It is paused while many objects are made that stay, or that reference counting frees. The search for
cycles among them would take a tenth of the time of an import, and more of the compilation of a
large program. It runs when the memory of arrays has grown by much: Python counts objects, not
bytes, and a few objects in a cycle may hold all memory of the machine.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable

from .locks import new_lock

__all__ = ["at_rest", "count_as_old", "growth"]


class _AtRest:
    """Blocks of any threads in which the collector is paused, until the last one ends."""

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
        """Reset in the child of a fork: threads that were in a block do not exist there."""
        if self.blocks and self.enabled:
            gc.enable()
        self.blocks = 0


at_rest = _AtRest()
"""``with at_rest:`` pauses the collector for a block."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=at_rest.fresh)


_OWN = 1000
"""Limit of frozen objects that are Python's own: 3.12 has 375; a user freezes ten thousand."""


def count_as_old() -> None:
    """Exclude all current objects from collections of young objects."""
    if gc.get_freeze_count() < _OWN:  # else the user has frozen objects
        gc.freeze()
        gc.unfreeze()  # to the oldest generation, wherever it was before


class _Growth:
    """Runs the collector when arrays take much more memory than after its last run.

    A *step* is a sixteenth of the machine's memory: arrays that stay cause at most sixteen runs
    until it is full. If arrays were freed without the collector, cycles may hold four steps before
    it runs again, so that programs with occasional peaks are not delayed each time.
    """

    STEPS, MOST = 16, 4
    FLOOR = 1 << 26
    """Below this many bytes, the amount of free memory is not queried."""

    def __init__(self) -> None:
        self.memory: Callable[[], int] = lambda: self.STEPS << 28  # of the machine; set later
        self.step = self.base = 0
        self.next = self.FLOOR

    def look(self, in_use: Callable[[], int]) -> None:
        """Run the collector if the bytes ``in_use`` exceed the limit."""
        nbytes = in_use()
        if nbytes > self.next:
            self._collect(nbytes, in_use)
        elif self.step and nbytes + self.MOST * self.step < self.next:
            self._start_from(nbytes + (self.MOST - 1) * self.step)

    def _collect(self, nbytes: int, in_use: Callable[[], int]) -> None:
        self.step = self.step or max(self.memory() // self.STEPS, self.FLOOR)
        if nbytes <= self.step:
            self._start_from(0)
        elif gc.isenabled():
            gc.collect(1)  # most repeated cycles are young
            if in_use() > self.base + self.step // 2:
                gc.collect()
                self._start_from(in_use())

    def _start_from(self, nbytes: int) -> None:
        self.base, self.next = nbytes, nbytes + self.step


growth = _Growth()
