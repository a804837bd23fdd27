"""How long a call takes: the best mean of a few calls, among as many as fit in the time given."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

__all__ = ["seconds_per_call"]


def seconds_per_call(run: Callable[[], object], budget: float) -> float:
    """The best mean of a batch of calls; the minimum is what the code costs on a busy machine.

    A batch takes about a tenth of the budget, so that the clock itself does not count; what takes
    longer than the whole of it is called once. The caller has called it before: nothing is new.
    """
    start = perf_counter()
    run()
    best = max(perf_counter() - start, 1e-7)
    deadline = start + budget
    number = max(1, min(10_000, int(budget / 10 / best)))
    while perf_counter() < deadline:
        start = perf_counter()
        for _ in range(number):
            run()
        best = min(best, (perf_counter() - start) / number)
    return best
