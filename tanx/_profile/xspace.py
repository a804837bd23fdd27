"""XSpace, the form of profiles that TensorBoard and XProf read: planes, lines, events.

A plane is a device or a host, a line one of its threads. Names of events and of statistics are
written once, in tables of the plane, and referred to by number. Times are in picoseconds after the
beginning of their line.
"""

from __future__ import annotations

import os
from typing import Any

from .._core.recording import Recorder, Span
from ..version import __version__
from .wire import Field

__all__ = ["HOST", "SPACE", "space_of"]

HOST = "/host:CPU"

_STAT = {
    "metadata_id": Field(1, "int64"), "double_value": Field(2, "double"),
    "uint64_value": Field(3, "uint64"), "int64_value": Field(4, "int64"),
    "str_value": Field(5, "string"), "bytes_value": Field(6, "bytes"),
    "ref_value": Field(7, "uint64")}
_EVENT = {
    "metadata_id": Field(1, "int64"), "offset_ps": Field(2, "int64"),
    "duration_ps": Field(3, "int64"), "stats": Field(4, "message", True, _STAT),
    "num_occurrences": Field(5, "int64")}
_LINE = {
    "id": Field(1, "int64"), "name": Field(2, "string"), "timestamp_ns": Field(3, "int64"),
    "events": Field(4, "message", True, _EVENT), "duration_ps": Field(9, "int64"),
    "display_id": Field(10, "int64"), "display_name": Field(11, "string")}
_EVENT_METADATA = {
    "id": Field(1, "int64"), "name": Field(2, "string"), "metadata": Field(3, "bytes"),
    "display_name": Field(4, "string"), "stats": Field(5, "message", True, _STAT)}
_STAT_METADATA = {
    "id": Field(1, "int64"), "name": Field(2, "string"), "description": Field(3, "string")}
_PLANE = {
    "id": Field(1, "int64"), "name": Field(2, "string"),
    "lines": Field(3, "message", True, _LINE),
    "event_metadata": Field(4, "message", True, {
        "key": Field(1, "int64"), "value": Field(2, "message", False, _EVENT_METADATA)}),
    "stat_metadata": Field(5, "message", True, {
        "key": Field(1, "int64"), "value": Field(2, "message", False, _STAT_METADATA)}),
    "stats": Field(6, "message", True, _STAT)}
SPACE = {
    "planes": Field(1, "message", True, _PLANE), "errors": Field(2, "string", True),
    "warnings": Field(3, "string", True), "hostnames": Field(4, "string", True)}
"""The schema of a profile."""


def space_of(recorder: Recorder, stop_time: int) -> dict[str, Any]:
    """What was recorded, as a message; ``stop_time`` is in nanoseconds since the epoch."""
    lines: dict[int, list[Span]] = {thread: [] for thread in recorder.threads}
    for span in sorted(recorder.spans, key=lambda span: (span.start, -span.end)):
        lines[span.thread].append(span)
    host = _Plane(HOST, [("process_id", os.getpid())])
    for thread, spans in lines.items():
        host.line(thread, recorder.threads[thread], spans, recorder.start)
    about = _Plane("/host:metadata", [("tanx_version", __version__), ("process_id", os.getpid())])
    task = _Plane("Task Environment", [("profile_start_time", recorder.start_time),
                                       ("profile_stop_time", stop_time)])
    return {"planes": [about.message, host.message, task.message],
            "hostnames": [os.uname().nodename]}


class _Plane:
    """A plane while it is written."""

    def __init__(self, name: str, stats: list[tuple[str, Any]]):
        self.names: dict[str, dict[str, int]] = {"event_metadata": {}, "stat_metadata": {}}
        self.message: dict[str, Any] = {"name": name, "lines": [], "event_metadata": [],
                                        "stat_metadata": []}
        self.message["stats"] = [self.stat(*pair) for pair in stats]

    def number(self, table: str, name: str) -> int:
        """The number of a name in one of the tables."""
        names = self.names[table]
        if name not in names:
            number = names[name] = len(names) + 1
            self.message[table].append({"key": number, "value": {"id": number, "name": name}})
        return names[name]

    def stat(self, name: str, value: Any) -> dict[str, Any]:
        """A fact about a plane or an event."""
        kind = ("int64_value" if isinstance(value, int) and abs(value) < 1 << 63 else
                "double_value" if isinstance(value, float) else "str_value")
        return {"metadata_id": self.number("stat_metadata", name),
                kind: str(value) if kind == "str_value" else value}

    def line(self, number: int, name: str, spans: list[Span], start: int) -> None:
        """Add the events of a thread; ``start`` is when the profile began."""
        self.message["lines"].append({
            "id": number, "display_id": number, "name": name, "timestamp_ns": 0,
            "events": [{
                "metadata_id": self.number("event_metadata", span.name),
                "offset_ps": 1000 * (span.start - start),
                "duration_ps": 1000 * (span.end - span.start),
                "stats": [self.stat(*pair) for pair in facts_of(span)],
            } for span in spans]})


def facts_of(span: Span) -> list[tuple[str, Any]]:
    """The attributes of a span besides its name and its time."""
    facts: list[tuple[str, Any]] = []
    if span.category != "annotation":
        facts.append(("category", span.category))
    for name, value in span.args.items():
        facts.append((name, ", ".join(map(_short, value)) if name == "operands" else value))
    if span.source is not None and span.source.line:
        facts += [("source", f"{span.source.file}:{span.source.line}"),
                  ("function", span.source.function)]
    return facts


def _short(operand: Any) -> str:
    """A type as jaxprs print it; Python's types by their names."""
    return operand.str_short(True) if hasattr(operand, "str_short") else getattr(
        operand, "__name__", str(operand))
