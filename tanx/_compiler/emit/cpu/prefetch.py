"""Prefetching: elements of later iterations, as the schedule says."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ...._loops.expr import Expr, Load
from ...._loops.nest import Prefetch as Planned
from ...._loops.nest import Statement, Store
from ...._loops.traverse import moved
from ...schedule.analysis import Analysis
from ..addresses import Addresses, named
from ..scopes import Scope
from ..values import Value, Writer

__all__ = ["Prefetch"]


class Prefetch:
    """Prefetches cache lines before they are used.

    ``planned`` are the loads that are prefetched in the statements being written.
    """

    def __init__(self, writer: Writer, addresses: Addresses, analysis: Analysis):
        self.writer, self.addresses, self.analysis = writer, addresses, analysis
        self.planned: dict[Load, Planned] = {}

    def plan(self, body: Iterable[Statement],
             change: Callable[[Expr], Expr] | None = None) -> None:
        """Plan the prefetches of the schedule for some statements, whose expressions are
        changed."""
        found = [p for s in body if isinstance(s, Store) for p in s.prefetched if not p.is_store]
        if change is not None:
            found = [moved(p, change) for p in found]
        self.planned = {p.access: p for p in found}

    def line(self, place: Value, written: str, near: int) -> None:
        """Prefetch the line of an address to a cache; the higher the number, the nearer the
        cache."""
        name = "llvm.prefetch.p0"
        self.writer.declared[name] = f"declare void @{name}(ptr, i32, i32, i32)"
        self.writer.place.lines.append(
            f"call void @{name}({place!r}, i32 {written}, i32 {near}, i32 1)")

    def target(self, access: Load, scope: Scope) -> None:
        """Prefetch an element that will be written; it need not exist."""
        terms, rest = self.analysis.offset(access)
        self.line(self.addresses.address(access.buffer, named(terms, scope), rest, scope), "1", 3)

    def ahead(self, load: Load, start: Value, scope: Scope) -> None:
        """Prefetch what later steps of a loop load, given the address in this one."""
        planned = self.planned.get(load)
        if planned is None:
            return
        buffer, item = load.buffer, load.dtype.itemsize
        apart = planned.steps * self.analysis.offset(load)[0].get(planned.along, 0)
        for line in range(0, scope.lanes.width * item, self.writer.machine.line):
            self.line(self.addresses.further(buffer, start, apart + line // item), "0",
                      3 if planned.first else 2)
