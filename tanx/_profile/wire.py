"""Protocol buffers: messages as dictionaries, written and read by a schema.

A schema maps the names of fields to :class:`Field`. Integers are variable-length, doubles take
eight bytes, and texts, bytes and messages have their length in front. A map is written as a
repeated message of ``key`` and ``value``, its encoding on the wire.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .._base.tuples import NamedTuple

__all__ = ["Field", "Schema", "decode", "encode"]

Schema = Mapping[str, "Field"]


class Field(NamedTuple):
    """A field of a message: its number, its kind, and the schema if it is a message itself."""

    number: int
    kind: str  # "int64", "uint64", "double", "string", "bytes" or "message"
    repeated: bool = False
    schema: Schema = {}


_VARINT, _EIGHT_BYTES, _LENGTH, _FOUR_BYTES = 0, 1, 2, 5
_DOUBLE = struct.Struct("<d")


def encode(schema: Schema, message: Mapping[str, Any]) -> bytes:
    """A message as bytes; missing fields are omitted.

    >>> encode({"line": Field(2, "int64"), "file": Field(1, "string")}, {"file": "a", "line": 300})
    b'\\n\\x01a\\x10\\xac\\x02'
    """
    out = bytearray()
    for name, value in sorted(message.items(), key=lambda item: schema[item[0]].number):
        field = schema[name]
        if not field.repeated:
            _write(out, field, value)
        elif field.kind in ("int64", "uint64"):  # packed: many numbers share one tag
            packed = b"".join(map(varint, value))
            if packed:
                out += varint(field.number << 3 | _LENGTH) + varint(len(packed)) + packed
        else:
            for item in value:
                _write(out, field, item)
    return bytes(out)


def _write(out: bytearray, field: Field, value: Any) -> None:
    if field.kind in ("int64", "uint64"):
        out += varint(field.number << 3 | _VARINT) + varint(value)
        return
    if field.kind == "double":
        out += varint(field.number << 3 | _EIGHT_BYTES) + _DOUBLE.pack(value)
        return
    data = (encode(field.schema, value) if field.kind == "message"
            else value.encode() if field.kind == "string" else value)
    out += varint(field.number << 3 | _LENGTH) + varint(len(data)) + data


_SMALL = tuple(bytes((n,)) for n in range(128))


def varint(value: int) -> bytes:
    """An integer, seven bits per byte; negative ones have 64 bits."""
    if 0 <= value < 128:
        return _SMALL[value]
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def decode(schema: Schema, data: bytes) -> dict[str, Any]:
    """The message in some bytes, without the fields that the schema does not know.

    Raises ``ValueError`` if the bytes are not a message.

    >>> decode({"line": Field(2, "int64"), "file": Field(1, "string")}, b"\\n\\x01a\\x10\\xac\\x02")
    {'file': 'a', 'line': 300}
    """
    by_number = {field.number: (name, field) for name, field in schema.items()}
    message: dict[str, Any] = {name: [] for name, field in schema.items() if field.repeated}
    for number, wire, value in _items(data):
        if number not in by_number:
            continue
        name, field = by_number[number]
        values = _values(field, wire, value)
        if field.repeated:
            message[name].extend(values)
        elif values:
            message[name] = values[-1]
    return message


def _items(data: bytes) -> Iterator[tuple[int, int, Any]]:
    """The fields in some bytes: number, kind on the wire, and integer or bytes."""
    view, at = memoryview(data), 0
    while at < len(view):
        head, at = _read_varint(view, at)
        wire = head & 7
        if wire == _VARINT:
            value, at = _read_varint(view, at)
            yield head >> 3, wire, value
            continue
        if wire == _LENGTH:
            size, at = _read_varint(view, at)
        elif wire in (_EIGHT_BYTES, _FOUR_BYTES):
            size = 8 if wire == _EIGHT_BYTES else 4
        else:
            raise ValueError(f"a field of the unknown kind {wire}")
        if size > len(view) - at:
            raise ValueError("the message ends too early")
        yield head >> 3, wire, view[at:at + size]
        at += size


def _read_varint(view: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(view) or shift > 63:
            raise ValueError("the message ends too early")
        byte = view[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def _values(field: Field, wire: int, value: Any) -> list[Any]:
    """The values of one item on the wire; packed numbers share one tag."""
    if field.kind in ("int64", "uint64"):
        if wire == _VARINT:
            return [_signed(field, value)]
        _expect(wire, _LENGTH)
        numbers, at = [], 0
        while at < len(value):
            number, at = _read_varint(value, at)
            numbers.append(_signed(field, number))
        return numbers
    if field.kind == "double":
        _expect(wire, _EIGHT_BYTES)
        return [_DOUBLE.unpack(value)[0]]
    _expect(wire, _LENGTH)
    return [_READERS[field.kind](field, value)]


def _signed(field: Field, value: int) -> int:
    value &= (1 << 64) - 1
    return value - (1 << 64) if field.kind == "int64" and value >> 63 else value


def _expect(wire: int, kind: int) -> None:
    if wire != kind:
        raise ValueError(f"a field is of kind {wire}, not {kind}")


_READERS: dict[str, Callable[[Field, memoryview], Any]] = {
    "string": lambda field, value: bytes(value).decode("utf-8", "replace"),
    "bytes": lambda field, value: bytes(value),
    "message": lambda field, value: decode(field.schema, value)}  # type: ignore[arg-type]
