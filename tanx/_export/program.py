"""Closed jaxprs as bytes: their serial form in a container, with the arrays that it refers to."""

from __future__ import annotations

import re
from importlib import import_module
from math import prod
from pkgutil import iter_modules
from typing import Any

import numpy as np

from .. import _control, _ops
from .._base.symbolic import Scope
from .._core.jaxpr import ClosedJaxpr
from .._core.primitive import primitives
from .._core.serial import Unwritable, array_data, write, write_value
from .._core.serial_reader import Unreadable, read, read_value
from .._core.types import ShapedArray
from ..errors import explain
from .container import Damaged, pack, unpack

__all__ = ["program_bytes", "program_of", "value_of"]

_ALIGNMENT = 64
"""Arrays start at multiples of this many bytes, so that a file can be mapped into memory."""


def program_bytes(function: str, name: str, closed: ClosedJaxpr) -> bytes:
    """A program as bytes; raises if a part of it cannot be written."""
    try:
        serial = write(closed)
    except Unwritable as error:
        where = [] if error.eqn is None else [f"primitive: {error.eqn.primitive.name}"]
        if error.eqn is not None and error.eqn.source_info is not None:
            where.append(f"made at:   {error.eqn.source_info}")
        raise NotImplementedError(explain(
            function, f"{name} contains {error.reason}, which cannot be exported.", *where,
            hint=error.hint or (
                "callbacks cannot be exported: compute their results outside of the function."),
        )) from None
    arrays = [array_data(c) for c in serial.constants]
    data = b"".join(a.tobytes() + bytes(-a.nbytes % _ALIGNMENT) for a in arrays)
    types = [ShapedArray(a.shape, a.dtype) for a in arrays]
    known = None if serial.scope is None else [c.text for c in serial.scope.constraints]
    return pack({"sizes": write_value(known).encode(), "program": serial.text.encode(),
                 "names": write_value(serial.names).encode(),
                 "types": write_value(types).encode(), "arrays": data})


def program_of(data: bytes, scope: Scope | None = None) -> tuple[ClosedJaxpr, Scope | None]:
    """The program in some bytes, and the scope of symbolic sizes in it.

    That is ``scope``, if it has the stored constraints. :class:`Damaged` if there is no program.
    """
    sections = unpack(data)
    if list(sections) != ["sizes", "program", "names", "types", "arrays"]:
        raise Damaged(f"a program has other sections than {', '.join(sections)}")
    names = value_of(sections["names"])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise Damaged("names are not a list of strings")
    scope = _scope(value_of(sections["sizes"]), scope)
    text, arrays = _text(sections["program"]), _arrays(sections)
    if not set(_USED.findall(text)) <= primitives.keys():
        _load_primitives()
    try:
        return read(text, arrays, names, scope), scope
    except Unreadable as error:
        raise Damaged(f"the program cannot be read: {error}") from error


_USED = re.compile(r"=([A-Za-z_][\w-]*)\[")


def _scope(known: Any, given: Scope | None) -> Scope | None:
    """The scope with some constraints."""
    if known is None:
        return None
    if not isinstance(known, list) or len(known) > 1000 or not all(
            isinstance(text, str) and len(text) <= 1000 for text in known):
        raise Damaged("constraints are not a list of strings")
    if given is not None and [c.text for c in given.constraints] == known:
        return given
    try:
        return Scope(known)
    except ValueError as error:
        raise Damaged(f"a constraint cannot be read: {error}") from error


def _load_primitives() -> None:
    """Load every room that has primitives: most load when a function first needs them."""
    for room in (_ops, _control):
        for module in iter_modules(room.__path__):
            import_module(f"{room.__name__}.{module.name}")
    import_module("tanx._extend.calls")


def _arrays(sections: dict[str, bytes]) -> list[np.ndarray]:
    types, data = value_of(sections["types"]), sections["arrays"]
    if not isinstance(types, list) or not all(isinstance(t, ShapedArray) for t in types):
        raise Damaged("the table of arrays is not a list of types")
    at, arrays = 0, []
    for aval in types:
        if not isinstance(aval.dtype, np.dtype):
            raise Damaged("an array of a type that has no data")
        count = prod(aval.shape)
        size = count * aval.dtype.itemsize
        if at + size > len(data):
            raise Damaged("the arrays are cut off")
        arrays.append(np.frombuffer(data, aval.dtype, count, at).reshape(aval.shape).copy()
                      if size else np.zeros(aval.shape, aval.dtype))
        at += size + -size % _ALIGNMENT
    if at != len(data):
        raise Damaged("there are bytes after the last array")
    return arrays


def value_of(data: bytes, scope: Scope | None = None) -> Any:
    """Plain data from its text."""
    try:
        return read_value(_text(data), scope)
    except Unreadable as error:
        raise Damaged(f"the facts cannot be read: {error}") from error


def _text(data: bytes) -> str:
    try:
        return data.decode("ascii")
    except UnicodeDecodeError as error:
        raise Damaged("the text is not in ASCII") from error
