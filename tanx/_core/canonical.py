"""Jaxprs as text that says all that a compiler may depend on, for the names of compiled code.

Two closed jaxprs have the same text only if they compute the same: variables are numbered, types
are whole, literals are written by their bytes and constants by a digest of theirs. What cannot be
written down so, as the functions of a callback, makes a jaxpr one without a text.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Any

import numpy as np

from .._digest import digest
from ..dtypes import short_name, stored
from .array import Array
from .jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from .primitive import Kind, Primitive, primitives
from .types import AbstractToken, ShapedArray

__all__ = ["CONSTANTS_LIMIT", "Canonical", "canonical"]

CONSTANTS_LIMIT = 1 << 26
"""Bytes of constants up to which reading them all is quicker than compiling."""

BODIES = {"jit": ("jaxpr",), "remat2": ("jaxpr", "prevent_cse", "differentiated"),
          "custom_jvp_call": ("call_jaxpr",), "custom_vjp_call": ("call_jaxpr",)}
"""The parameters that matter of calls that do nothing but run a body."""


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
            parts.append(f"{self.bind(eqn.outvars, numbers)}={eqn.primitive.name}"
                         f"[{self.params(eqn)}]{operands}")
        parts.append(self.atoms(jaxpr.outvars, numbers) + "}")
        return "|".join(parts)

    def bind(self, variables: Iterable[Var], numbers: dict[Var, str]) -> str:
        found = []
        for var in variables:
            numbers[var] = number = str(len(numbers))
            found.append(f"{number}:{self.type(var.aval)}")
        return " ".join(found)

    def atoms(self, atoms: Iterable[Atom], numbers: dict[Var, str]) -> str:
        return " ".join([self.literal(a) if type(a) is Literal else numbers[a]  # type: ignore
                         for a in atoms])

    def literal(self, literal: Literal) -> str:
        data = np.asarray(literal.val, stored(literal.aval.dtype)).tobytes().hex()
        return f"{self.type(literal.aval)}<{data}>"

    def type(self, aval) -> str:
        text = self.types.get(aval)
        if text is None:
            if type(aval) is ShapedArray:
                text = f"{aval}~" if aval.weak_type else str(aval)
            elif type(aval) is AbstractToken:
                text = "token"
            else:
                raise _Unwritable
            self.types[aval] = text
        return text

    def params(self, eqn: JaxprEqn) -> str:
        name = self.primitive(eqn.primitive)
        if eqn.effects:
            raise _Unwritable
        known = BODIES.get(name) if eqn.primitive.kind is Kind.CALL else None
        return ",".join([f"{key}={self.value(value)}" for key, value in sorted(eqn.params.items())
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
        if value is None or kind in _PLAIN or kind is tuple and _PLAIN.issuperset(map(type, value)):
            return repr(value)
        if isinstance(value, np.dtype):
            return f"dtype({short_name(value)})"
        if isinstance(value, enum.Enum):
            return f"{_name(kind)}.{value.name}"
        if isinstance(value, (tuple, list, frozenset)):
            items = sorted(value, key=repr) if isinstance(value, frozenset) else value
            return f"{_name(kind)}({','.join(map(self.value, items))})"
        if kind is dict:
            return self.value(tuple(value.items()))
        if isinstance(value, ClosedJaxpr):
            return f"closed{self.closed(value)}"
        if isinstance(value, Jaxpr):
            return self.jaxpr(value)
        if isinstance(value, Primitive):
            return f"primitive({self.primitive(value)})"
        if isinstance(value, type):
            return _name(value)
        if isinstance(value, (np.ndarray, np.generic)):
            return self.array(np.asarray(value))
        if kind is ShapedArray:
            return self.type(value)
        if "__reduce__" in vars(kind) and type(value.__reduce__()) is str:
            return f"{_name(kind)}:{value.__reduce__()}"  # a constant of its module
        raise _Unwritable

    def array(self, data: np.ndarray) -> str:
        self.room -= data.nbytes
        if self.room < 0 or data.dtype.hasobject:
            raise _Unwritable
        return f"array({short_name(data.dtype)}{list(data.shape)}{digest(data.tobytes()).hex()})"


_PLAIN = frozenset((bool, int, float, complex, str, bytes))
_OURS = ("builtins", "numpy", "ml_dtypes", "tanx")


def _name(kind: type) -> str:
    """The name of a type, which must be one that means the same in every process."""
    home = kind.__module__
    if home.partition(".")[0] not in _OURS or "<locals>" in kind.__qualname__:
        raise _Unwritable
    return f"{home}.{kind.__qualname__}"
