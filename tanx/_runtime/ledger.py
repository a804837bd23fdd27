"""The ledger of compiled programs: their memory and time, and which are evicted.

Programs stay as long as the function that they were made for, which may be forever, and every new
shape makes another one. So their bytes are counted, and if they exceed the option
``program_bytes``, the least recently requested ones are dropped. A program that is needed again is
compiled again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any, Protocol
from weakref import ref

from .._base.config import program_bytes
from .._base.locks import new_lock
from .._base.tuples import NamedTuple
from .._core.jaxpr import ClosedJaxpr, Jaxpr, jaxprs_in_params
from .._core.source import SourceInfo

__all__ = ["Row", "bytes_of", "ledger"]

_PROGRAM, _EQUATION = 1 << 16, 2560
"""Bytes of Python's objects for a program and for each equation of it: 79 KB were measured for one
of 6 equations with 4 KB of code, 833 KB for one of 300 with 40 KB of code."""


class Row(NamedTuple):
    """The facts about a program."""

    name: str
    source: SourceInfo | None
    types: tuple
    nbytes: int
    seconds: float
    from_disk: bool


class Holder(Protocol):
    """A function that owns programs."""

    def forget(self, closed: ClosedJaxpr) -> None:
        """Release a program."""


class _Entry:
    __slots__ = ("closed", "row", "holders")

    def __init__(self, closed: ref[ClosedJaxpr], row: Row):
        self.closed, self.row = closed, row
        self.holders: list[ref[Holder]] = []


class Ledger:
    """The programs in memory, in the order of their last request."""

    def __init__(self) -> None:
        self.lock = new_lock()
        self.entries: OrderedDict[int, _Entry] = OrderedDict()
        self.nbytes = 0
        self.dropped = 0  # evicted programs

    def add(self, closed: ClosedJaxpr, row: Row) -> None:
        """Add a new program."""
        key = id(closed)
        with self.lock:
            entry = self.entries.get(key)
            if entry is not None and entry.closed() is closed:  # for other options
                row = row._replace(nbytes=row.nbytes + entry.row.nbytes,
                                   seconds=row.seconds + entry.row.seconds)
            self._remove(key)
            self.entries[key] = _Entry(ref(closed, lambda _: self._gone(key)), row)
            self.nbytes += row.nbytes
            self._settle(closed)

    def used(self, closed: ClosedJaxpr, holder: Holder) -> None:
        """Record that a function has requested a program."""
        with self.lock:
            entry = self.entries.get(id(closed))
            if entry is not None and entry.closed() is closed:
                self.entries.move_to_end(id(closed))
                if not any(held() is holder for held in entry.holders):
                    entry.holders.append(ref(holder))

    def rows(self) -> list[Row]:
        """The programs in memory."""
        with self.lock:
            return [entry.row for entry in self.entries.values()]

    def _settle(self, newest: ClosedJaxpr) -> None:
        """Drop programs until they fit; the newest one always stays."""
        limit = program_bytes.value
        while self.nbytes > limit >= 0 and len(self.entries) > 1:
            key, entry = next(iter(self.entries.items()))
            closed = entry.closed()
            if closed is newest:
                self.entries.move_to_end(key)
                continue
            self._remove(key)
            self.dropped += 1
            if closed is not None:
                closed.made.clear()
                for held in entry.holders:
                    holder = held()
                    if holder is not None:
                        holder.forget(closed)

    def _gone(self, key: int) -> None:
        """A program was freed with its function. Another one may be at its address by now."""
        with self.lock:
            entry = self.entries.get(key)
            if entry is not None and entry.closed() is None:
                self._remove(key)

    def _remove(self, key: int) -> None:
        entry = self.entries.pop(key, None)
        if entry is not None:
            self.nbytes -= entry.row.nbytes


ledger = Ledger()


def bytes_of(closed: ClosedJaxpr, code: int, constants: Iterable[Any]) -> int:
    """The memory that a program takes, with ``code`` bytes of machine code."""
    equations = sum(1 for _ in _equations(closed.jaxpr))
    return _PROGRAM + _EQUATION * equations + code + sum(c.nbytes for c in constants)


def _equations(jaxpr: Jaxpr) -> Iterator[None]:
    for eqn in jaxpr.eqns:
        yield None
        for inner in jaxprs_in_params(eqn.params):
            yield from _equations(inner)
