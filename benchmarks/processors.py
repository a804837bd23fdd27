"""Processors of the machine, divided among measurements that run at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Event
from typing import TypeVar

__all__ = ["divided"]

T = TypeVar("T")


def divided(items: Sequence[T], shards: int, work: Callable[[Sequence[T], Event], None],
            at_a_time: int | None = None) -> None:
    """Run ``work(some items, stop)`` in threads; each thread and its children have own processors.

    Processors are divided among ``shards``; ``at_a_time`` of these run, all by default. Ctrl-C sets
    ``stop``, so that the results so far are shown.
    """
    processors, stop = sorted(os.sched_getaffinity(0)), Event()
    each, threads = len(processors) // shards, at_a_time or shards
    if not each:
        raise SystemExit(f"{shards} shards need as many processors: there are {len(processors)}.")

    def run(number: int) -> None:
        os.sched_setaffinity(0, processors[number * each:(number + 1) * each])  # of this thread
        work(items[number::threads], stop)

    with ThreadPoolExecutor(threads) as pool:
        running = [pool.submit(run, number) for number in range(threads)]
        with suppress(KeyboardInterrupt):
            for one in running:
                one.result()
        stop.set()
