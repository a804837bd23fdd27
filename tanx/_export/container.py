"""Containers: named sections of bytes with checksums, the format of program files.

    magic, version, number of sections
    for each section: its name, its size, its checksum
    the checksum of all that
    the sections, one after another

A reader gets all sections as they were written, or raises :class:`Damaged`. It is not trusted:
counts and sizes are checked against the available bytes before they are used.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from .._base.digest import SIZE, digest

__all__ = ["Damaged", "VERSION", "pack", "unpack"]

MAGIC = b"\x89tanx\r\n\x1a"  # with bytes that a transfer as text would change
VERSION = 1
MOST_SECTIONS = 1024
_HEAD = struct.Struct("<8sII")
_ENTRY = struct.Struct(f"<16sQ{SIZE}s")


class Damaged(ValueError):
    """Bytes that are not a container, or not the one that was written."""


def pack(sections: Mapping[str, bytes]) -> bytes:
    """A container with some sections.

    >>> unpack(pack({"one": b"1", "two": b""}))
    {'one': b'1', 'two': b''}
    """
    head = [_HEAD.pack(MAGIC, VERSION, len(sections))]
    for name, data in sections.items():
        tag = name.encode().ljust(16, b"\0")
        head.append(_ENTRY.pack(tag, len(data), digest(tag, data)))
    table = b"".join(head)
    return b"".join((table, digest(table), *sections.values()))


def unpack(data: bytes | bytearray | memoryview) -> dict[str, bytes]:
    """The sections of a container."""
    data = bytes(data)
    if len(data) < _HEAD.size:
        raise Damaged(f"{len(data)} bytes are too few for a program of tanx")
    magic, version, count = _HEAD.unpack_from(data)
    if magic != MAGIC:
        raise Damaged("the bytes are not a program of tanx")
    if version != VERSION:
        raise Damaged(f"the program is in version {version} of the format, and only version "
                      f"{VERSION} can be read")
    end = _HEAD.size + count * _ENTRY.size
    if count > MOST_SECTIONS or len(data) < end + SIZE:
        raise Damaged("the table of sections is cut off")
    if digest(data[:end]) != data[end:end + SIZE]:
        raise Damaged("the table of sections is damaged")
    at, sections = end + SIZE, {}
    for tag, size, checksum in _ENTRY.iter_unpack(data[_HEAD.size:end]):
        section = data[at:at + size]
        name = tag.rstrip(b"\0").decode("ascii", "replace")
        if len(section) != size:
            raise Damaged(f"section {name!r} is cut off")
        if digest(tag, section) != checksum:
            raise Damaged(f"section {name!r} is damaged")
        if name in sections:
            raise Damaged(f"there are two sections {name!r}")
        sections[name] = section
        at += size
    if at != len(data):
        raise Damaged("there are bytes after the last section")
    return sections
