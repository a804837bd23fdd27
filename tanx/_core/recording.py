"""Recording for profiles: named spans of time, per thread.

Without a profile this costs nothing on the paths where nanoseconds count. A profile disables native
calls by the flag ``profiling``, so that Python executes and records them, and sets the hook of
eager execution to a recording function. The remaining cost is a test for a recorder when Python
compiles or runs a program.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from time import perf_counter_ns, time_ns
from typing import Any

from .._base.tuples import NamedTuple
from .source import SourceInfo, user_source

__all__ = ["Recorder", "Span", "current", "passed", "span"]


class Span(NamedTuple):
    """An interval of time. Moments are in nanoseconds of ``perf_counter_ns``."""

    name: str
    category: str
    thread: int
    start: int
    end: int
    source: SourceInfo | None
    args: dict[str, Any]


class Recorder:
    """The spans of one profile, in the order in which they ended."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.threads: dict[int, str] = {}  # their names
        # Work that runs in parallel to Python: its name, where it was started, and in which thread.
        self.background: list[tuple[str, SourceInfo, int, Any]] = []
        self.start, self.start_time = perf_counter_ns(), time_ns()
        self._last_pass: dict[int, int] = {}  # by thread, when its compiler ended a pass

    def add(self, name: str, category: str, start: int, source: SourceInfo | None = None,
            args: dict[str, Any] | None = None) -> None:
        """Record a span that began at ``start`` and ends now, in this thread."""
        end = perf_counter_ns()
        thread = threading.get_native_id()
        if thread not in self.threads:
            self.threads[thread] = threading.current_thread().name
        self.spans.append(Span(name, category, thread, start, end, source, args or {}))

    def add_background(self, name: str, source: SourceInfo, work: Any) -> None:
        """Record work that this thread has started; its ``moments`` say later when it ran."""
        thread = threading.get_native_id()
        self.threads.setdefault(thread, threading.current_thread().name)
        self.background.append((name, source, thread, work))

    def begin_passes(self) -> None:
        """The compiler begins its work in this thread."""
        self._last_pass[threading.get_native_id()] = perf_counter_ns()

    def end_pass(self, name: str) -> None:
        """A pass of the compiler ended, which began when the one before it ended."""
        thread = threading.get_native_id()
        self.add(name, "pass", self._last_pass.get(thread, perf_counter_ns()))
        self._last_pass[thread] = perf_counter_ns()


class _Current:
    """The recorder of the current profile, if any."""

    __slots__ = ("recorder",)

    def __init__(self) -> None:
        self.recorder: Recorder | None = None


current = _Current()


def passed(name: str) -> None:
    """Tell the profile, if one is taken, that a pass of the compiler is done."""
    if current.recorder is not None:
        current.recorder.end_pass(name)


class span:
    """Record a block of code, if a profile is taken.

    ``operands`` are the types of its operands, for the profile to show.
    """

    __slots__ = ("name", "category", "operands", "recorder", "start", "source")

    def __init__(self, name: str, category: str, operands: Sequence[Any] = ()):
        self.name, self.category, self.operands = name, category, operands

    def __enter__(self) -> None:
        self.recorder = current.recorder
        if self.recorder is not None:
            self.source = user_source()
            self.start = perf_counter_ns()
            if self.category == "compile":
                self.recorder.begin_passes()

    def __exit__(self, *_) -> None:
        if self.recorder is not None:
            args = {"operands": self.operands} if self.operands else None
            self.recorder.add(self.name, self.category, self.start, self.source, args)
