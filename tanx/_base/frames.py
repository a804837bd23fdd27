"""More frames on Python's stack for tanx's own recursion.

Python stops at ``sys.getrecursionlimit()`` frames, 1,000 by default. A function traced inside of
another takes about ten of them. Calls through C, two or three of these ten, take a kilobyte each of
the C stack, which has 8 MB or less in a thread: a few thousand more frames are safe, tens of
thousands may not be.
"""

import sys
import threading

__all__ = ["more_frames"]

_lock = threading.RLock()


class _Limit:
    """The user's limit while it is raised, and the number of blocks that raise it."""

    original: int | None = None
    users = 0


class more_frames:
    """Raise the limit of frames by ``count`` for a block."""

    __slots__ = ("count",)

    def __init__(self, count: int):
        self.count = count

    def __enter__(self) -> None:
        with _lock:
            if _Limit.original is None:
                _Limit.original = sys.getrecursionlimit()
            _Limit.users += 1
            wanted = _Limit.original + self.count
            if wanted > sys.getrecursionlimit():
                sys.setrecursionlimit(wanted)

    def __exit__(self, *_) -> None:
        with _lock:
            _Limit.users -= 1
            if not _Limit.users and _Limit.original is not None:
                try:
                    sys.setrecursionlimit(_Limit.original)
                except RecursionError:
                    # The user's own calls have reached the limit, which must raise an error: with
                    # the raised limit, an endless recursion would overflow the C stack.
                    _lower_as_far_as_can_be(_Limit.original)
                    raise
                _Limit.original = None


def _lower_as_far_as_can_be(limit: int) -> None:
    """Set the limit slightly above the depth of the stack; the next block restores it."""
    while True:
        limit += 50
        try:
            return sys.setrecursionlimit(limit)
        except RecursionError:
            continue
