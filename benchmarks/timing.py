"""The time of a call: the minimum mean of a few calls, among as many as fit in the given time."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter, process_time

__all__ = ["time_of_call"]


def time_of_call(run: Callable[[], object], budget: float) -> tuple[float, float]:
    """Seconds, and seconds of processor time over all threads: the minimum mean of a batch.

    The minimum is the cost of the code on a busy machine. A batch takes about a tenth of the
    budget, so that the clock itself does not count; a call longer than the budget runs once.
    The caller has called it before: nothing is new.
    """
    start = perf_counter()
    best, least = _batch(run, 1)
    number = max(1, min(10_000, int(budget / 10 / best)))
    while perf_counter() < start + budget:
        wall, processor = _batch(run, number)
        best, least = min(best, wall), min(least, processor)
    return best, least


def _batch(run: Callable[[], object], number: int) -> tuple[float, float]:
    start, processor = perf_counter(), process_time()
    for _ in range(number):
        run()
    return (max(perf_counter() - start, 1e-7) / number,
            max(process_time() - processor, 1e-7) / number)
