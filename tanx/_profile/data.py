"""``ProfileData``: a profile as an object, for programs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, Self

from ..errors import JaxRuntimeError, explain
from .prototext import parse
from .wire import decode, encode
from .xspace import SPACE

__all__ = ["ProfileData", "ProfileEvent", "ProfileLine", "ProfilePlane"]


class ProfileEvent:
    """An event: a name, a time, and facts."""

    __slots__ = ("_message", "_plane", "_start")

    def __init__(self, message: Mapping[str, Any], plane: ProfilePlane, start: int):
        self._message, self._plane, self._start = message, plane, start

    @property
    def name(self) -> str:
        """The name of a function, an operation or an annotation."""
        return self._plane._event_names.get(self._message.get("metadata_id", 0), "")

    @property
    def start_ns(self) -> float:
        """When it began, in nanoseconds after the profile began."""
        return self._start + self._message.get("offset_ps", 0) / 1000

    @property
    def duration_ns(self) -> float:
        """How long it took."""
        return self._message.get("duration_ps", 0) / 1000

    @property
    def end_ns(self) -> float:
        """When it ended."""
        return self.start_ns + self.duration_ns

    @property
    def stats(self) -> Iterator[tuple[str, Any]]:
        """Facts, as pairs of a name and a value."""
        return self._plane._facts(self._message["stats"])


class ProfileLine:
    """The events of one thread."""

    __slots__ = ("_message", "_plane")

    def __init__(self, message: Mapping[str, Any], plane: ProfilePlane):
        self._message, self._plane = message, plane

    @property
    def name(self) -> str:
        """The name of the thread."""
        return self._message.get("name", "")

    @property
    def events(self) -> Iterator[ProfileEvent]:
        """The events, in the order in which they began."""
        start = self._message.get("timestamp_ns", 0)
        return (ProfileEvent(event, self._plane, start) for event in self._message["events"])


class ProfilePlane:
    """The events of one host or one device."""

    __slots__ = ("_message", "_event_names", "_stat_names")

    def __init__(self, message: Mapping[str, Any]):
        self._message = message
        self._event_names, self._stat_names = (
            {e.get("key", 0): e.get("value", {}).get("name", "") for e in message[table]}
            for table in ("event_metadata", "stat_metadata"))

    @property
    def name(self) -> str:
        """The name of the host or device."""
        return self._message.get("name", "")

    @property
    def lines(self) -> Iterator[ProfileLine]:
        """The threads."""
        return (ProfileLine(line, self) for line in self._message["lines"])

    @property
    def stats(self) -> Iterator[tuple[str, Any]]:
        """Facts, as pairs of a name and a value."""
        return self._facts(self._message["stats"])

    def _facts(self, stats: list[dict[str, Any]]) -> Iterator[tuple[str, Any]]:
        for stat in stats:
            values = [value for name, value in stat.items() if name != "metadata_id"]
            value = values[-1] if values else 0
            if "ref_value" in stat:
                value = self._stat_names.get(value, "")
            yield self._stat_names.get(stat.get("metadata_id", 0), ""), value


class ProfileData:
    """A profile: planes of lines of events. Made from a file, or by a session.

    >>> data = tanx.profiler.ProfileData.from_text_proto('''
    ...     planes { name: "a"
    ...              lines { name: "main" events { metadata_id: 1 duration_ps: 2000 } }
    ...              event_metadata { key: 1 value { id: 1 name: "add" } } }''')
    >>> [(e.name, e.duration_ns) for p in data.planes for l in p.lines for e in l.events]
    [('add', 2.0)]
    """

    __slots__ = ("_message",)

    def __init__(self, serialized_xspace: bytes, /):
        if not isinstance(serialized_xspace, bytes):
            raise TypeError(explain(
                "tanx.profiler.ProfileData", "needs the bytes of a profile.",
                f"got: {type(serialized_xspace).__name__}",
                hint="tanx.profiler.ProfileData.from_file reads a file."))
        try:
            self._message: Mapping[str, Any] = decode(SPACE, serialized_xspace)
        except ValueError as error:
            raise RuntimeError(explain(
                "tanx.profiler.ProfileData", "the bytes are not a profile.",
                f"reason: {error}")) from None

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], /) -> Self:
        """The profile in a file called ``*.xplane.pb``."""
        try:
            with open(path, "rb") as file:
                return cls(file.read())
        except OSError as error:
            raise JaxRuntimeError(explain(
                "tanx.profiler.ProfileData.from_file", "the file cannot be read.",
                f"file:  {os.fspath(path)}", f"error: {error.strerror}")) from error

    @classmethod
    def from_serialized_xspace(cls, serialized: bytes, /) -> Self:
        """The profile in some bytes."""
        return cls(serialized)

    @classmethod
    def from_text_proto(cls, text: str, /) -> Self:
        """The profile that a text describes, in the text format of protocol buffers."""
        return cls(cls.text_proto_to_serialized_xspace(text))

    @staticmethod
    def text_proto_to_serialized_xspace(text: str, /) -> bytes:
        """The bytes of a profile that is given as a text."""
        try:
            return encode(SPACE, parse(SPACE, text))
        except ValueError as error:
            raise RuntimeError(explain(
                "tanx.profiler.ProfileData.from_text_proto", "the text is not a profile.",
                f"reason: {error}")) from None

    @classmethod
    def from_raw_cpp_ptr(cls, capsule, /) -> Self:
        """Raises: profiles of tanx are not C++ objects."""
        raise NotImplementedError(explain(
            "tanx.profiler.ProfileData.from_raw_cpp_ptr",
            "profiles of tanx are not C++ objects.",
            hint="from_serialized_xspace takes the bytes of a profile."))

    @property
    def planes(self) -> Iterator[ProfilePlane]:
        """Hosts and devices."""
        return map(ProfilePlane, self._message["planes"])

    def find_plane_with_name(self, name: str, /) -> ProfilePlane | None:
        """The plane of a name, or None."""
        return next((plane for plane in self.planes if plane.name == name), None)
