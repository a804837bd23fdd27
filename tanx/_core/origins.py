"""Which lines made the large arrays, and how much memory they take that is not the allocator's.

An array of a mebibyte or more remembers the lines of the user's code that were running when it was
made: as places in code, which are looked up only if somebody asks. That takes one to two
microseconds, where writing so much takes thirty at least. Smaller arrays remember nothing, and pay
for one comparison.
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

from .._locks import new_lock
from .source import SourceInfo, is_ours

__all__ = ["LARGE", "Places", "lines_of", "note", "note_all", "outside", "owner_of", "places"]

LARGE = 1 << 20
"""Bytes of data that make an array remember where it was made."""

_DEEPEST = 8
"""Lines that are remembered, the innermost first."""

Places = tuple[tuple[CodeType, int], ...]
"""Places in functions of the user's: code, and how far into its instructions."""


def places() -> Places:
    """The user's functions that are running in this thread, the innermost first."""
    frame: FrameType | None = sys._getframe(1)
    found: list[tuple[CodeType, int]] = []
    while frame is not None and len(found) < _DEEPEST:
        code = frame.f_code
        if not is_ours(code.co_filename):
            found.append((code, frame.f_lasti))
        frame = frame.f_back
    return tuple(found)


def lines_of(origin: Places) -> list[SourceInfo]:
    """The lines at some places."""
    return [SourceInfo(code.co_filename, _line(code, at), code.co_name,
                       qualified=code.co_qualname) for code, at in origin]


def _line(code: CodeType, at: int) -> int:
    positions = next(islice(code.co_positions(), at // 2, None), (None,))
    return positions[0] or code.co_firstlineno


def note(array: Any, buffer: np.ndarray) -> None:
    """Let a large array remember where it is made."""
    array._origin = places()
    outside.count(owner_of(buffer))


def note_all(arrays: Iterable[Any]) -> None:
    """The same for results of native calls, large or not; their memory is the allocator's."""
    origin = places()
    for x in arrays:  # of which some may be arguments as they came
        if x is not None and x.nbytes >= LARGE and getattr(x, "_origin", None) is None:
            x._origin = origin


def owner_of(buffer: np.ndarray) -> np.ndarray:
    """The array that a view is one of, or the array itself."""
    while type(buffer.base) is np.ndarray:
        buffer = buffer.base
    return buffer


class _Outside:
    """Counts the memory of large arrays that NumPy has allocated.

    Once there is an allocator (``_runtime/host.py``), it counts both, and so knows the peak.
    """

    def __init__(self) -> None:
        self.lock = new_lock()
        self.nbytes = self.peak = 0
        self.counted: dict[int, weakref.ref] = {}
        self.report: Any = None  # given by the allocator: a function of how many bytes more

    def count(self, data: np.ndarray) -> None:
        """Count an array until it goes, unless it is the allocator's or was counted before."""
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
