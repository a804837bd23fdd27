"""Prefetching: elements of later iterations that a processor does not foresee by itself."""

from __future__ import annotations

from math import prod

from ...._loops.expr import Load
from ...._loops.nest import Buffer
from ...schedule.analysis import Analysis
from ...tuning import AccessTuning
from ..addresses import Addresses, Terms, named
from ..scopes import Ahead, Scope
from ..values import Value, Writer

__all__ = ["Prefetch"]

_LINE = 64
"""Bytes of a line of the cache."""


class Prefetch:
    """Has lines of memory brought to a cache before they are used."""

    def __init__(self, writer: Writer, addresses: Addresses, analysis: Analysis):
        self.writer, self.addresses, self.analysis = writer, addresses, analysis
        self.tuning = writer.machine.tuning.access

    def line(self, place: Value, written: str, near: int) -> None:
        """Have the line of an address brought to a cache, the nearer the higher the number."""
        name = "llvm.prefetch.p0"
        self.writer.declared[name] = f"declare void @{name}(ptr, i32, i32, i32)"
        self.writer.place.lines.append(
            f"call void @{name}({place!r}, i32 {written}, i32 {near}, i32 1)")

    def target(self, load: Load, scope: Scope) -> None:
        """Prefetch an element that is going to be written; it need not exist."""
        terms, rest = self.analysis.offset(load)
        self.line(self.addresses.address(load.buffer, named(terms, scope), rest, scope), "1", 3)

    def ahead(self, buffer: Buffer, terms: Terms, start: Value, scope: Scope) -> None:
        """Prefetch what later steps of the loop around read, if it is far and not foreseen."""
        outer, lanes, item = scope.outer, scope.lanes, buffer.dtype.itemsize
        if outer is None or prod(buffer.shape) * item < self.tuning.far:
            return
        apart = terms.get(outer.loop.index, 0)
        steps = _steps_ahead(outer, apart * item, outer.stretch * item,
                             self.analysis.memory(buffer) in outer.again, self.tuning)
        for line in range(0, lanes.width * item if steps else 0, _LINE):
            self.line(self.addresses.further(buffer, start, steps * apart + line // item), "0", 2)


def _steps_ahead(outer: Ahead, apart: int, stretch: int, again: bool, tuning: AccessTuning) -> int:
    """How many steps of a loop, so many bytes apart, elements are prefetched ahead.

    Processors foresee a long stretch, and what follows on it or little behind it. Where this step
    reads memory ``again``, that memory is in the cache, and the next step's is prefetched: memory
    is idle meanwhile. Rows that are gone through together, if they are far apart, would be in each
    other's way in the cache.
    """
    if again:
        return 1 if tuning.ahead <= apart <= tuning.near else 0
    foreseen = abs(apart) < stretch or outer.together == 1 and abs(apart) <= stretch + 4 * _LINE
    if foreseen or not _LINE <= stretch <= tuning.foreseen or (
            outer.together > 1 and abs(apart) >= tuning.near):
        return 0
    return min(max(outer.together, -(-tuning.ahead // stretch)), outer.loop.extent // 2)
