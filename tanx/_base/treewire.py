"""Structures of pytrees as bytes: a protocol buffer, with its own encoder and decoder.

    message PyTreeDef { repeated Node nodes = 1; repeated string interned_strings = 2; }
    message Node      { uint32 arity = 1; Kind kind = 2; DictKeys keys = 3; }
    message DictKeys  { repeated uint32 str_id = 1 [packed]; }

Nodes come children first, as *records*: the type (None for a leaf), the number of children, and
the keys of a dict (else None). Nothing in the bytes is ever executed; damage is an error.
"""
from collections.abc import Iterable, Iterator
from typing import Any

from ..errors import JaxRuntimeError, explain

KINDS = {None: 1, list: 2, type(None): 3, tuple: 4, dict: 5}
TYPES = {code: kind for kind, code in KINDS.items()}
VARINT, BYTES = 0, 2                                                      # wire types in use


def encode(records: Iterable[tuple]) -> bytes:
    """The message of a structure given as records."""
    strings: dict[str, int] = {}
    message = bytearray()
    for kind, arity, keys in records:
        if kind not in KINDS:
            raise ValueError(explain(
                "tanx.tree_util.PyTreeDef.serialize_using_proto",
                "only None, tuple, list and dict have a form as bytes.", f"node: {kind}",
                hint="pickle takes nodes of other types."))
        node = b"\x08" + varint(arity) if arity else b""
        node += b"\x10" + varint(KINDS[kind])
        if keys:
            node += field(3, field(1, b"".join([varint(intern(key, strings)) for key in keys])))
        message += field(1, node)
    return bytes(message) + b"".join([field(2, text.encode()) for text in strings])


def decode(data: bytes) -> list[tuple]:
    """The records in a message; ``JaxRuntimeError`` if it is damaged."""
    try:
        top = list(fields(data))
        strings = [value.decode() for number, value in top if number == 2]
        return [decode_node(dict(fields(value)), strings) for number, value in top if number == 1]
    except (IndexError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise damaged() from error


def decode_node(node: dict, strings: list[str]) -> tuple:
    kind, arity, keys = TYPES[node[2]], node.get(1, 0), None
    if kind is dict:
        keys = tuple([strings[i] for i in varints(dict(fields(node.get(3, b""))).get(1, b""))])
    if arity != (arity if kind in (tuple, list) else len(keys or ())):
        raise ValueError("a node of this kind cannot have that many children")
    return kind, arity, keys


def damaged() -> JaxRuntimeError:
    return JaxRuntimeError(explain(
        "tanx.tree_util.PyTreeDef.deserialize_using_proto", "the bytes are not a PyTreeDef."))


def intern(key, strings: dict[str, int]) -> int:
    if not isinstance(key, str):
        raise ValueError(explain(
            "tanx.tree_util.PyTreeDef.serialize_using_proto", "keys of dicts must be strings.",
            f"key: {key!r}", hint="pickle takes other keys."))
    return strings.setdefault(key, len(strings))


def varint(value: int) -> bytes:
    """Seven bits per byte, lowest first; the eighth means that more follow."""
    low = bytearray()
    while value > 127:
        low.append(value & 127 | 128)
        value >>= 7
    low.append(value)
    return bytes(low)


def varints(data: bytes) -> list[int]:
    values, shift, value = [], 0, 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            values.append(value)
            shift = value = 0
    if shift:
        raise ValueError("truncated number")
    return values


def field(number: int, payload: bytes) -> bytes:
    return varint(number << 3 | BYTES) + varint(len(payload)) + payload


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Numbers and values of the fields of a message."""
    at = 0

    def number() -> int:
        nonlocal at
        start = at
        while data[at] > 127:
            at += 1
        at += 1
        return varints(data[start:at])[0]

    while at < len(data):
        tag, value = number(), number()
        if tag & 7 == VARINT:
            yield tag >> 3, value
        elif tag & 7 == BYTES and at + value <= len(data):
            at += value
            yield tag >> 3, data[at - value:at]
        else:
            raise ValueError("no such field")
