"""Waiting with a timeout, for files of native functions (see ``native.py``) that start threads."""

from __future__ import annotations

from .native import C, put, stack, word

__all__ = ["wait_a_while"]

SECOND, WHILE = 10 ** 9, 2 * 10 ** 7
"""Nanoseconds: a fiftieth of a second is soon enough after Ctrl-C."""
REALTIME = 0
"""The clock by which conditions count."""


def wait_a_while(condition: int, mutex: int) -> int:
    """Wait for a condition, for a fiftieth of a second at most; 0 if it was signalled."""
    time = stack(16)
    C.clock_gettime(REALTIME, time)
    put(time, 8, word(time, 8) + WHILE)
    if word(time, 8) >= SECOND:
        put(time, 0, word(time) + 1)
        put(time, 8, word(time, 8) - SECOND)
    return C.pthread_cond_timedwait(condition, mutex, time)
