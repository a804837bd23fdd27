"""Counting work instead of time: machines are shared, and the answer must not depend on it."""

import sys
from collections.abc import Callable


def calls(run: Callable[[], object]) -> int:
    """How many Python functions are called while ``run`` runs."""
    count = 0

    def profile(frame, event, argument):
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(before)
    return count


def assert_linear(work: Callable[[int], Callable[[], object]], size: int, slack: float = 1.15):
    """``work(n)()`` must take at most twice as many calls when ``n`` is twice as large."""
    small, large = (calls(work(n)) for n in (size, 2 * size))
    assert large <= 2 * slack * small, f"{small} calls for {size}, {large} for {2 * size}"
