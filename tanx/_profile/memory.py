"""Profiles of memory for pprof: live memory, by the lines that made it.

There are two kinds of samples, by the label ``kind``: ``buffer`` for the data of arrays, and
``executable`` for compiled code. Arrays that share their data count once.
"""

from __future__ import annotations

import gc
import gzip
import os
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from .._core.array import live_arrays
from .._core.origins import Places, lines_of
from .._core.source import SourceInfo
from .._runtime.device import buffers_of, devices_of
from .wire import Field, encode

__all__ = ["device_memory_profile", "save_device_memory_profile"]

_TYPE = {"type": Field(1, "int64"), "unit": Field(2, "int64")}
_LABEL = {"key": Field(1, "int64"), "str": Field(2, "int64")}
_SAMPLE = {"location_id": Field(1, "uint64", True), "value": Field(2, "int64", True),
           "label": Field(3, "message", True, _LABEL)}
_LINE = {"function_id": Field(1, "uint64"), "line": Field(2, "int64")}
_LOCATION = {"id": Field(1, "uint64"), "line": Field(4, "message", True, _LINE)}
_FUNCTION = {"id": Field(1, "uint64"), "name": Field(2, "int64"), "system_name": Field(3, "int64"),
             "filename": Field(4, "int64")}
PROFILE = {
    "sample_type": Field(1, "message", True, _TYPE),
    "sample": Field(2, "message", True, _SAMPLE),
    "location": Field(4, "message", True, _LOCATION),
    "function": Field(5, "message", True, _FUNCTION), "string_table": Field(6, "string", True),
    "time_nanos": Field(9, "int64"), "default_sample_type": Field(14, "int64")}
"""The schema of a profile of pprof's."""

_UNKNOWN = SourceInfo("", 0, "(small arrays)")


def device_memory_profile(backend: str | None = None) -> bytes:
    """The memory in use, as the compressed bytes of a profile for pprof.

    Arrays of 1 MiB and more, results of compiled functions from 4 MiB on, are listed by the lines
    that made them; smaller ones as a sum.

    >>> tanx.profiler.device_memory_profile()[:2] == bytes([0x1f, 0x8b])
    True
    """
    devices = devices_of(backend)
    table = _Table()
    for (kind, device, origin), (count, nbytes) in _samples(devices).items():
        table.sample(kind, device, origin, count, nbytes)
    return gzip.compress(encode(PROFILE, table.message()))


def save_device_memory_profile(filename: str | os.PathLike[str],
                               backend: str | None = None) -> None:
    """Write the memory in use to a file: ``pprof --web FILE`` shows it.

    >>> import tempfile
    >>> tanx.profiler.save_device_memory_profile(tempfile.mkdtemp() + "/memory.prof")
    """
    profile = device_memory_profile(backend)
    with open(filename, "wb") as file:
        file.write(profile)


def _samples(devices: list) -> dict[tuple[str, str, Places], tuple[int, int]]:
    """The number of blocks and their bytes, by kind, device, and place of creation."""
    counts: Counter = Counter()
    sizes: Counter = Counter()
    for key, nbytes in (*_buffers(devices), *_executables()):
        counts[key] += 1
        sizes[key] += nbytes
    return {key: (counts[key], sizes[key]) for key in counts}


def _buffers(devices: list) -> Iterator[tuple[tuple[str, str, Places], int]]:
    """Each block of data once; if arrays share it, the one made first counts as its maker."""
    seen: dict[int, tuple[Any, Any]] = {}
    for x in live_arrays():
        for buffer in buffers_of(x):  # none if another thread has deleted it by now
            if buffer.device in devices and (
                    id(buffer.owner) not in seen or buffer.owner is buffer.view):
                seen[id(buffer.owner)] = x, buffer
    for x, buffer in seen.values():
        yield (("buffer", str(buffer.device), getattr(x, "_origin", ())),
               getattr(buffer.owner, "nbytes", buffer.nbytes))


def _executables() -> Iterator[tuple[tuple[str, str, Places], int]]:
    """Each piece of compiled code once."""
    from .._runtime.executable import Executable  # late: it imports the compiler
    seen = set()
    for executable in gc.get_objects():
        if type(executable) is Executable and hasattr(executable, "code") and (
                id(executable.code) not in seen):
            seen.add(id(executable.code))
            yield ("executable", str(devices_of()[0]), executable.origin), executable.code.nbytes


class _Table:
    """A profile being written: strings, functions and lines are stored once, by number."""

    def __init__(self) -> None:
        self.texts: dict[str, int] = {"": 0}
        self.functions: dict[tuple[str, str], int] = {}
        self.locations: dict[tuple[int, int], int] = {}
        self.samples: list[dict[str, Any]] = []

    def text(self, text: str) -> int:
        return self.texts.setdefault(text, len(self.texts))

    def sample(self, kind: str, device: str, origin: Places, count: int, nbytes: int) -> None:
        """Add blocks that were made at one place."""
        labels = [("kind", kind)] + [("device", device)] * (kind == "buffer")
        self.samples.append({
            "location_id": [self.location(line) for line in lines_of(origin) or [_UNKNOWN]],
            "value": [count, nbytes],
            "label": [{"key": self.text(key), "str": self.text(value)} for key, value in labels]})

    def location(self, line: SourceInfo) -> int:
        function = self.functions.setdefault((line.qualified if line.line else line.function,
                                              line.file), len(self.functions) + 1)
        return self.locations.setdefault((function, line.line), len(self.locations) + 1)

    def message(self) -> dict[str, Any]:
        """The profile."""
        types = [{"type": self.text(name), "unit": self.text(unit)}
                 for name, unit in (("allocations", "count"), ("space", "bytes"))]
        functions = [{"id": number, "name": self.text(name), "system_name": self.text(name),
                      "filename": self.text(file)}
                     for (name, file), number in self.functions.items()]
        locations = [{"id": number, "line": [{"function_id": function, "line": line}]}
                     for (function, line), number in self.locations.items()]
        return {"default_sample_type": self.text("space"), "sample_type": types,
                "sample": self.samples, "location": locations, "function": functions,
                "string_table": list(self.texts), "time_nanos": time.time_ns()}
