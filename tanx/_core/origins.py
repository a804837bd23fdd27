"""The lines that made large arrays, and the memory of arrays outside of the allocator.
An array of a mebibyte or more records the line of the user's code that was running when it was
made: as a place in code, which is looked up only on demand. That takes half a microsecond, where an
operation that writes this much takes at least 30. Arrays of 16 MiB also record the callers of that
line, which takes three. Smaller arrays record nothing, and pay for one comparison of 25 ns.

Native code makes arrays in less time: 1 MiB in 10 microseconds with two threads on a Xeon with
AVX-512, 4 MiB in 50. So results of compiled functions are recorded from 4 MiB on.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterable
from itertools import islice
from types import CodeType, FrameType
from typing import Any

import numpy as np
from numpy._core.multiarray import get_handler_name

from .._base.collector import growth
from .._base.locks import new_lock
from .buffer import owner_of
from .source import SourceInfo, is_ours

__all__ = ["LARGE", "LARGE_RESULT", "Places", "lines_of", "note", "note_all", "outside", "places"]

LARGE = 1 << 20
"""Arrays of this many bytes record where they were made."""

LARGE_RESULT = 1 << 22
"""The same for results of native code."""

_DEEP = 1 << 24
"""Arrays of this many bytes record several lines."""

_DEEPEST = 8
"""The number of these lines, the innermost first."""

Places = tuple[tuple[CodeType, int], ...]
"""Places in the user's functions: code, and the offset into its instructions."""


def places(nbytes: int = _DEEP) -> Places:
    """The user's functions that are running in this thread, the innermost first.

    As many as an array of ``nbytes`` bytes records.
    """
    frame: FrameType | None = sys._getframe(1)
    found: list[tuple[CodeType, int]] = []
    most = _DEEPEST if nbytes >= _DEEP else 1
    while frame is not None:
        code = frame.f_code
        if not is_ours(code.co_filename):
            found.append((code, frame.f_lasti))
            if len(found) == most:
                break
        frame = frame.f_back
    return tuple(found)


def lines_of(origin: Places) -> list[SourceInfo]:
    """The lines at some places."""
    return [SourceInfo(code.co_filename, _line(code, at), code.co_name,
                       qualified=code.co_qualname) for code, at in origin]


def _line(code: CodeType, at: int) -> int:
    positions = next(islice(code.co_positions(), at // 2, None), (None,))
    return positions[0] or code.co_firstlineno


def note(array: Any, *memory: np.ndarray) -> None:
    """Record where a large array is created; if there are many, collect garbage.

    ``memory`` are the NumPy arrays that hold it, as far as it is in host memory.
    """
    array._origin = places(array.aval.nbytes)
    for data in memory:
        outside.count(owner_of(data))
    growth.look(outside.in_use)


def note_all(arrays: Iterable[Any]) -> None:
    """As :func:`note`, for results of native calls, whose memory the allocator owns."""
    origin: Places | None = None
    for x in arrays:  # some may be unchanged arguments
        if x is not None and x._data.nbytes >= LARGE and getattr(x, "_origin", None) is None:
            origin = x._origin = origin or places(x._data.nbytes)
    if origin:
        growth.look(outside.in_use)


class _Outside:
    """Counts the memory of large arrays that NumPy has allocated.

    If there is an allocator (``_runtime/host.py``), it counts both, so that it knows the peak.
    """

    def __init__(self) -> None:
        self.lock = new_lock()
        self.nbytes = self.peak = 0
        self.counted: dict[int, weakref.ref] = {}
        self.report: Any = None  # the allocator's: adds bytes, returns bytes in use

    def in_use(self) -> int:
        """Bytes of large arrays, including those of the allocator."""
        return self.nbytes if self.report is None else self.report(0)

    def count(self, data: np.ndarray) -> None:
        """Count an array until it is freed, unless it is counted or the allocator owns it."""
        number, nbytes = id(data), data.nbytes
        if nbytes < LARGE or number in self.counted or (
                get_handler_name(data) == "tanx"):
            return
        with self.lock:
            self.counted[number] = weakref.ref(data, lambda _: self._gone(number, nbytes))
            self._change(nbytes)

    def _gone(self, number: int, nbytes: int) -> None:
        with self.lock:
            del self.counted[number]
            self._change(-nbytes)

    def _change(self, nbytes: int) -> None:
        self.nbytes += nbytes
        self.peak = max(self.peak, self.nbytes)
        if self.report is not None:
            self.report(nbytes)


outside = _Outside()
