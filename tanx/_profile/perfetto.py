"""Traces in the JSON form of Chrome, which Perfetto and ``chrome://tracing`` show."""

from __future__ import annotations

import gzip
import json
from typing import Any

from .data import ProfileData

__all__ = ["trace_events", "written"]


def trace_events(data: ProfileData) -> list[dict[str, Any]]:
    """The events of a profile: names of hosts and threads, then spans in microseconds."""
    events: list[dict[str, Any]] = []
    for plane in data.planes:
        lines = list(plane.lines)
        if not lines:
            continue
        facts = dict(plane.stats)
        process = facts.get("process_id", 1)
        events.append({"ph": "M", "pid": process, "name": "process_name",
                       "args": {"name": plane.name}})
        for order, line in enumerate(lines):
            thread = line._message.get("id", order)
            events += [
                {"ph": "M", "pid": process, "tid": thread, "name": "thread_name",
                 "args": {"name": line.name}},
                {"ph": "M", "pid": process, "tid": thread, "name": "thread_sort_index",
                 "args": {"sort_index": order}}]
            events += [_event(event, process, thread) for event in line.events]
    return events


def _event(event, process: int, thread: int) -> dict[str, Any]:
    args = {name: str(value) for name, value in event.stats if name[:1] != "_"}
    category = args.pop("category", "annotation")
    return {"ph": "X", "pid": process, "tid": thread, "name": event.name, "cat": category,
            "ts": event.start_ns / 1000, "dur": event.duration_ns / 1000, "args": args}


def written(data: ProfileData) -> bytes:
    """A compressed file with the events of a profile."""
    return gzip.compress(json.dumps({
        "displayTimeUnit": "ns", "metadata": {"highres-ticks": True},
        "traceEvents": trace_events(data)}).encode())
