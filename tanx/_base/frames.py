"""Room on Python's stack for recursion that is tanx's and not the user's.

Python stops at ``sys.getrecursionlimit()`` frames, 1,000 unless set. A function traced inside of
another takes about ten of them. Calls that go through C, of which there are two or three among
these ten, take a kilobyte each of the C stack, which has 8 MB or less in a thread: a few thousand
frames more do no harm, tens of thousands may.
"""

import sys
import threading

__all__ = ["more_frames"]

_lock = threading.RLock()


class _Limit:
    """The user's limit while it is raised, and how many blocks want it so."""

    original: int | None = None
    users = 0


class more_frames:
    """Let the stack have ``count`` frames more than the user's limit, for a block."""

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
                    # The user's own calls have used up his limit. He is told; had the limit stayed
                    # as it is, a recursion without end would run into the end of the C stack.
                    _lower_as_far_as_can_be(_Limit.original)
                    raise
                _Limit.original = None


def _lower_as_far_as_can_be(limit: int) -> None:
    """Set the limit a little above the depth of the stack; the next block puts it back."""
    while True:
        limit += 50
        try:
            return sys.setrecursionlimit(limit)
        except RecursionError:
            continue
