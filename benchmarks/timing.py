"""How long a call takes: the best mean of a few calls, among as many as fit in the time given."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

__all__ = ["seconds_per_call"]


def seconds_per_call(run: Callable[[], object], budget: float) -> float:
    """The best mean of a batch of calls; the minimum is what the code costs on a busy machine.

    A batch takes about a tenth of the budget, so that the clock itself does not count.
    """
    run()
    start = perf_counter()
    run()
    once = max(perf_counter() - start, 1e-7)
    number = max(1, min(10_000, int(budget / 10 / once)))
    best, deadline = once, perf_counter() + budget
    while True:
        start = perf_counter()
        for _ in range(number):
            run()
        end = perf_counter()
        best = min(best, (end - start) / number)
        if end > deadline:
            return best
