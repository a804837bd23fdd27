"""Messages as text: the text format of protocol buffers, read by a schema.

    planes { name: "a" lines { events { metadata_id: 1 duration_ps: 2000 } } }
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from .wire import Field, Schema

__all__ = ["parse"]

_TOKEN = re.compile(r"""\s+|\#[^\n]*|(?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
                        |(?P<word>[-+.\w]+)|(?P<sign>[{}<>\[\]:,;])""", re.VERBOSE)
_CLOSING = {"{": "}", "<": ">"}


def parse(schema: Schema, text: str) -> dict[str, Any]:
    """Parse a message from its text; raises ``ValueError`` if the text is not valid.

    >>> parse({"file": Field(1, "string"), "line": Field(2, "int64")}, 'file: "a" line: 3')
    {'file': 'a', 'line': 3}
    """
    return _message(schema, _tokens(text), None)


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ValueError(f"unexpected {text[at:at + 10]!r}")
        at = match.end()
        if match.lastgroup:
            yield match.lastgroup, match.group()


def _message(schema: Schema, tokens: Iterator[tuple[str, str]], closing: str | None) -> dict:
    message: dict[str, Any] = {name: [] for name, field in schema.items() if field.repeated}
    for kind, token in tokens:
        if token == closing:
            return message
        if token in (",", ";"):
            continue
        if kind != "word" or token not in schema:
            raise ValueError(f"there is no field named {token!r}")
        field = schema[token]
        value = _value(field, tokens)
        if field.repeated:
            message[token] += value if isinstance(value, list) else [value]
        else:
            message[token] = value
    if closing is not None:
        raise ValueError(f"a {closing!r} is missing")
    return message


def _value(field: Field, tokens: Iterator[tuple[str, str]]) -> Any:
    kind, token = _next(tokens)
    if token == ":":
        kind, token = _next(tokens)
    if field.kind == "message":
        if token not in _CLOSING:
            raise ValueError(f"a message begins with a brace, not with {token!r}")
        return _message(field.schema, tokens, _CLOSING[token])
    if token == "[" and field.repeated:
        values = []
        while (pair := _next(tokens))[1] != "]":
            if pair[1] != ",":
                values.append(_scalar(field, *pair))
        return values
    return _scalar(field, kind, token)


def _next(tokens: Iterator[tuple[str, str]]) -> tuple[str, str]:
    found = next(tokens, None)
    if found is None:
        raise ValueError("the text ends too early")
    return found


def _scalar(field: Field, kind: str, token: str) -> Any:
    if (kind == "text") != (field.kind in ("string", "bytes")) or kind == "sign":
        raise ValueError(f"{token} is no {field.kind}")
    if kind == "text":
        text = ast.literal_eval(token)
        return text.encode("latin-1", "replace") if field.kind == "bytes" else text
    return float(token) if field.kind == "double" else int(token, 0)
