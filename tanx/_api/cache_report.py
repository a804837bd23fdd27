"""``cache_report``: traces and compilations, their reasons and times, and cached programs."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

from .._base.config import program_bytes
from .._base.tuples import NamedTuple
from .._core.source import SourceInfo, is_ours
from .._runtime.ledger import Row, ledger

__all__ = ["CacheReport", "TraceRecord", "cache_report", "note_trace"]

_REMEMBERED = 2000
"""Limit of different traces recorded for the report, a line or two of text each."""
_SHOWN = 12
"""Traces of a function that the text of a report shows."""


class TraceRecord(NamedTuple):
    """The traces of a function with the same types, for the same reasons."""

    function: str
    source: SourceInfo | None
    types: tuple[str, ...]
    reasons: tuple[str, ...]  # why; empty for the first one
    seconds: float  # of all of them together
    times: int = 1


_traces: OrderedDict[tuple, tuple[float, int]] = OrderedDict()
"""Seconds and number of traces, by function, source, types and reasons; the latest is last."""
_lock = Lock()


def note_trace(function: str, source: SourceInfo | None, types: Sequence, reasons: Sequence[str],
               seconds: float) -> None:
    """Record a trace of a user's function.

    Equal traces share a record: a lambda given to ``jit`` in a loop is traced each time.
    """
    if source is not None and is_ours(source.file):
        return
    key = function, source, tuple(types), tuple(reasons)
    with _lock:
        earlier, times = _traces.pop(key, (0.0, 0))
        _traces[key] = earlier + seconds, times + 1
        if len(_traces) > _REMEMBERED:
            _traces.popitem(last=False)


class CacheReport(NamedTuple):
    """The result of :func:`cache_report`; ``print`` shows it."""

    traces: tuple[TraceRecord, ...]
    programs: tuple[Row, ...]  # those in memory
    nbytes: int
    limit: int
    dropped: int  # programs that were evicted for lack of memory

    def __str__(self) -> str:
        limit = "any number" if self.limit < 0 else _size(self.limit)
        lines = [f"{len(self.programs)} programs in memory: {_size(self.nbytes)} of {limit}"
                 + (f"; {self.dropped} dropped" if self.dropped else "")]
        functions: dict[tuple, list[TraceRecord]] = {}
        for trace in self.traces:
            functions.setdefault((trace.function, trace.source), []).append(trace)
        for (name, source), traces in functions.items():
            lines += self._function(name, source, traces)
        return "\n".join(lines)

    def _function(self, name: str, source: SourceInfo | None,
                  traces: list[TraceRecord]) -> list[str]:
        made = [row for row in self.programs if (row.name, row.source) == (name, source)]
        seconds = sum(trace.seconds for trace in traces)
        times = sum(trace.times for trace in traces)
        lines = [f"{name}" + (f" at {source.file}:{source.line}" if source else "")
                 + f": traced {times} times in {seconds:.3f} s, "
                 f"{len(made)} programs of {_size(sum(row.nbytes for row in made))} "
                 f"made in {sum(row.seconds for row in made):.3f} s"]
        if len(traces) > _SHOWN:
            lines.append(f"  ... {len(traces) - _SHOWN} earlier")
        for trace in traces[-_SHOWN:]:
            why = "; ".join(trace.reasons) or "first call"
            often = f", {trace.times} times" if trace.times > 1 else ""
            lines.append(f"  ({', '.join(trace.types)}): {why}{often}")
        return lines


def _size(nbytes: float) -> str:
    for unit in ("B", "KB", "MB"):
        if nbytes < 1000:
            return f"{nbytes:.3g} {unit}"
        nbytes /= 1000
    return f"{nbytes:.3g} GB"


def cache_report() -> CacheReport:
    """The traces and compilations so far, with reasons and times, and the cached programs.

    Programs are cached up to ``config.tanx_program_bytes``; the least recently used ones are
    dropped first. The report is a tuple of records, and readable when printed.

    >>> f = tanx.jit(lambda x: x + 1)
    >>> _ = f(jnp.ones(3)), f(jnp.ones(4))
    >>> cache_report().traces[-1].reasons
    ('x: now f32[4], before f32[3]',)
    """
    with _lock:
        noted = list(_traces.items())
    traces = tuple(TraceRecord(function, source, tuple(map(str, types)), reasons, *counts)
                   for (function, source, types, reasons), counts in noted)
    return CacheReport(traces, tuple(ledger.rows()), ledger.nbytes, program_bytes.value,
                       ledger.dropped)
