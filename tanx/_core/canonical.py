"""Jaxprs as text that says all that a compiler may depend on, for the names of compiled code.

Two closed jaxprs have the same text only if they compute the same: variables are numbered, types
are whole, literals are written by their bytes and constants by a digest of theirs. What cannot be
written down so, as the functions of a callback, makes a jaxpr one without a text.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from .._digest import digest
from ..dtypes import short_name, stored
from .array import Array
from .jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from .primitive import Primitive, primitives
from .types import AbstractToken, ShapedArray

__all__ = ["CONSTANTS_LIMIT", "Canonical", "canonical"]

CONSTANTS_LIMIT = 1 << 26
"""Bytes of constants up to which reading them all is quicker than compiling."""

RELEVANT = {"jit": ("jaxpr",), "remat2": ("jaxpr", "prevent_cse", "differentiated"),
            "custom_jvp_call": ("call_jaxpr",), "custom_vjp_call": ("call_jaxpr",),
            "reduce": ("jaxpr", "dimensions")}
"""The parameters that matter, of primitives that have others: the names of functions, their rules,
the function that was staged."""


class Canonical:
    """The text of a jaxpr, and the values of all constants in it and its inner jaxprs, in order."""

    __slots__ = ("text", "constants")

    def __init__(self, text: bytes, constants: list[Any]):
        self.text, self.constants = text, constants


class _Unwritable(Exception):
    pass


def canonical(closed: ClosedJaxpr) -> Canonical | None:
    """The canonical text of a closed jaxpr, or None where it has none.

    >>> canonical(tanx.make_jaxpr(lambda x: jnp.sin(x) * 2)(1.0)).text
    b'{0:f32[]~|1:f32[]~=sin[accuracy=None]0|2:f32[]~=mul[]1 f32[]~<00000040>|2}'
    """
    writer = _Writer()
    try:
        text = writer.closed(closed)
    except _Unwritable:
        return None
    return Canonical(text.encode(), writer.constants)


class _Writer:
    def __init__(self) -> None:
        self.types: dict[Any, str] = {}
        self.seen: dict[int, str] = {}  # the same by the ids of types, all of which stay
        self.primitives: dict[Primitive, tuple[str, ...] | None] = {}
        self.constants: list[Any] = []
        self.room = CONSTANTS_LIMIT

    def closed(self, closed: ClosedJaxpr) -> str:
        self.constants += closed.consts
        values = [self.array(value._value if type(value) is Array else np.asarray(value))
                  for value in closed.consts]
        return "".join(values) + self.jaxpr(closed.jaxpr)

    def jaxpr(self, jaxpr: Jaxpr) -> str:
        numbers: dict[Var, str] = {}
        constants = f";{len(jaxpr.constvars)}" if jaxpr.constvars else ""
        parts = ["{" + self.bind((*jaxpr.constvars, *jaxpr.invars), numbers) + constants]
        for eqn in jaxpr.eqns:
            operands = self.atoms(eqn.invars, numbers)
            params = self.params(eqn)
            parts.append(f"{self.bind(eqn.outvars, numbers)}={eqn.primitive.name}"
                         f"[{params}]{operands}")
        parts.append(self.atoms(jaxpr.outvars, numbers) + "}")
        return "|".join(parts)

    def bind(self, variables: Iterable[Var], numbers: dict[Var, str]) -> str:
        found = []
        for var in variables:
            numbers[var] = number = str(len(numbers))
            found.append(f"{number}:{self.seen.get(id(var.aval)) or self.type(var.aval)}")
        return " ".join(found)

    def atoms(self, atoms: Iterable[Atom], numbers: dict[Var, str]) -> str:
        return " ".join([self.literal(a) if type(a) is Literal else numbers[a]  # type: ignore
                         for a in atoms])

    def literal(self, literal: Literal) -> str:
        value, aval = literal.val, literal.aval
        if type(value) is not np.ndarray or value.dtype != aval.dtype:
            value = np.asarray(value, stored(aval.dtype))
        return f"{self.seen.get(id(aval)) or self.type(aval)}<{value.tobytes().hex()}>"

    def type(self, aval) -> str:
        text = self.types.get(aval)
        if text is None:
            if type(aval) is ShapedArray:
                text = aval.str_short(short_dtypes=True) + ("~" if aval.weak_type else "")
            elif type(aval) is AbstractToken:
                text = "token"
            else:
                raise _Unwritable
            self.types[aval] = text
        self.seen[id(aval)] = text
        return text

    def params(self, eqn: JaxprEqn) -> str:
        if eqn.effects:
            raise _Unwritable
        primitive, params = eqn.primitive, eqn.params
        if primitive not in self.primitives:
            self.primitives[primitive] = RELEVANT.get(self.primitive(primitive))
        if not params:
            return ""
        known = self.primitives[primitive]
        return ",".join([f"{key}={self.value(params[key])}" for key in sorted(params)
                         if known is None or key in known])

    def primitive(self, primitive: Primitive) -> str:
        """The name of a primitive of ours: those of users may mean something else the next time."""
        if primitives.get(primitive.name) is not primitive or not (
                type(primitive).__module__.startswith("tanx.")):
            raise _Unwritable
        return primitive.name

    def value(self, value) -> str:
        """A parameter: data whose parts are all of types known here."""
        kind = type(value)
        if kind in _PLAIN:
            return repr(value)
        if kind is tuple:
            return f"({','.join([*map(self.value, value)])})"
        return _form(kind)(self, value)  # type: ignore[arg-type]

    def array(self, data: np.ndarray) -> str:
        self.room -= data.nbytes
        if self.room < 0 or data.dtype.hasobject:
            raise _Unwritable
        return f"array({short_name(data.dtype)}{list(data.shape)}{digest(data.tobytes()).hex()})"

    def items(self, value, items: Iterable | None = None) -> str:
        items = map(self.value, value if items is None else items)
        return f"{_name(type(value))}({','.join(items)})"

    def fields(self, value) -> str:
        """An instance of a dataclass, which must be one of ours."""
        return self.items(value, (getattr(value, field.name) for field in fields(value)))

    def constant(self, value) -> str:
        """A constant of its module."""
        name = value.__reduce__()
        if type(name) is not str:
            raise _Unwritable
        return f"{_name(type(value))}:{name}"

    def unwritable(self, value) -> str:
        raise _Unwritable


_PLAIN = frozenset((bool, int, float, complex, str, bytes, type(None)))
_OURS = ("builtins", "numpy", "ml_dtypes", "tanx")

_FORMS: tuple[tuple[type | tuple[type, ...], Callable[[_Writer, Any], str]], ...] = (
    (np.dtype, lambda writer, value: f"dtype({short_name(value)})"),
    (enum.Enum, lambda writer, value: f"{_name(type(value))}.{value.name}"),
    ((tuple, list), _Writer.items),
    (frozenset, lambda writer, value: writer.items(value, sorted(value, key=repr))),
    (dict, lambda writer, value: writer.items(value, value.items())),
    (ClosedJaxpr, lambda writer, value: f"closed{writer.closed(value)}"),
    (Jaxpr, _Writer.jaxpr),
    (Primitive, lambda writer, value: f"primitive({writer.primitive(value)})"),
    (type, lambda writer, value: _name(value)),
    ((np.ndarray, np.generic), lambda writer, value: writer.array(np.asarray(value))),
    (ShapedArray, _Writer.type),
)
"""How values of a type, or of one that inherits from it, are written."""


@lru_cache(256)
def _form(kind: type) -> Callable[[_Writer, Any], str]:
    """How values of a type are written; types are few, and asked about for each equation."""
    for known, form in _FORMS:
        if issubclass(kind, known):
            return form
    if is_dataclass(kind):
        return _Writer.fields
    return _Writer.constant if "__reduce__" in vars(kind) else _Writer.unwritable


def _name(kind: type) -> str:
    """The name of a type, which must be one that means the same in every process."""
    home = kind.__module__
    if home.partition(".")[0] not in _OURS or "<locals>" in kind.__qualname__:
        raise _Unwritable
    return f"{home}.{kind.__qualname__}"
