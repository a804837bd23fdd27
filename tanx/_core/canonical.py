"""Jaxprs as text that says all that a compiler may depend on, for the names of compiled code.

Two closed jaxprs have the same text only if they compute the same: variables are numbered, types
are whole, literals and constants are written by their bytes. What cannot be written down so, as
the functions of a callback, makes a jaxpr one without a text.
"""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from ..dtypes import short_name, stored
from .array import Array
from .jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from .primitive import Kind, primitives
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
    b'{0:f32[]~|1:f32[]~=sin[accuracy=None,]0|2:f32[]~=mul[]1 f32[]~<00000040>|2}'
    """
    writer = _Writer()
    try:
        writer.closed(closed)
    except _Unwritable:
        return None
    return Canonical(b"".join([part.encode() if isinstance(part, str) else part
                               for part in writer.parts]), writer.constants)


class _Writer:
    def __init__(self) -> None:
        self.parts: list[str | bytes] = []
        self.types: dict[Any, str] = {}
        self.constants: list[Any] = []
        self.room = CONSTANTS_LIMIT

    def closed(self, closed: ClosedJaxpr) -> None:
        for value in closed.consts:
            self.constants.append(value)
            self.array(value._value if type(value) is Array else np.asarray(value))
        self.jaxpr(closed.jaxpr)

    def jaxpr(self, jaxpr: Jaxpr) -> None:
        numbers: dict[Var, int] = {}
        write = self.parts.append
        write("{" + self.bind((*jaxpr.constvars, *jaxpr.invars), numbers))
        if jaxpr.constvars:
            write(f";{len(jaxpr.constvars)}")
        for eqn in jaxpr.eqns:
            operands = " ".join([self.atom(a, numbers) for a in eqn.invars])
            write(f"|{self.bind(eqn.outvars, numbers)}={eqn.primitive.name}[")
            self.params(eqn)
            write(f"]{operands}")
        write("|" + " ".join([self.atom(a, numbers) for a in jaxpr.outvars]) + "}")

    def bind(self, variables, numbers: dict[Var, int]) -> str:
        found = []
        for var in variables:
            numbers[var] = len(numbers)
            found.append(f"{numbers[var]}:{self.type(var.aval)}")
        return " ".join(found)

    def atom(self, atom: Atom, numbers: dict[Var, int]) -> str:
        if isinstance(atom, Literal):
            data = np.asarray(atom.val, stored(atom.aval.dtype)).tobytes().hex()
            return f"{self.type(atom.aval)}<{data}>"
        return str(numbers[atom])

    def type(self, aval) -> str:
        text = self.types.get(aval)
        if text is None:
            if type(aval) is ShapedArray:
                weak = "~" if aval.weak_type else ""
                text = f"{short_name(aval.dtype)}[{','.join(map(str, aval.shape))}]{weak}"
            elif type(aval) is AbstractToken:
                text = "token"
            else:
                raise _Unwritable
            self.types[aval] = text
        return text

    def params(self, eqn: JaxprEqn) -> None:
        primitive = eqn.primitive
        # Primitives of users may mean something else the next time.
        known = primitives.get(primitive.name) is primitive
        if eqn.effects or not known or not type(primitive).__module__.startswith("tanx."):
            raise _Unwritable
        names = BODIES.get(primitive.name) if primitive.kind is Kind.CALL else None
        for name, value in sorted(eqn.params.items()):
            if names is None or name in names:
                self.parts.append(f"{name}=")
                self.value(value)
                self.parts.append(",")

    def value(self, value) -> None:
        """A parameter: data whose parts are all of types known here."""
        kind = type(value)
        if value is None or kind in _PLAIN:
            self.parts.append(repr(value))
        elif isinstance(value, np.dtype):
            self.parts.append(f"dtype({short_name(value)})")
        elif isinstance(value, enum.Enum):
            self.parts.append(f"{_name(kind)}.{value.name}")
        elif kind is tuple and all(type(item) in _PLAIN for item in value):
            self.parts.append(repr(value))
        elif isinstance(value, (tuple, list, frozenset)):
            items = sorted(value, key=repr) if isinstance(value, frozenset) else value
            self.parts.append(f"{_name(kind)}(")
            for item in items:
                self.value(item)
                self.parts.append(",")
            self.parts.append(")")
        elif kind is dict:
            self.value(tuple(value.items()))
        elif isinstance(value, ClosedJaxpr):
            self.parts.append("closed")
            self.closed(value)
        elif isinstance(value, Jaxpr):
            self.jaxpr(value)
        elif isinstance(value, type):
            self.parts.append(_name(value))
        elif isinstance(value, (np.ndarray, np.generic)):
            self.array(np.asarray(value))
        elif kind is ShapedArray:
            self.parts.append(self.type(value))
        elif "__reduce__" in vars(kind) and type(value.__reduce__()) is str:
            self.parts.append(f"{_name(kind)}:{value.__reduce__()}")  # a constant of its module
        else:
            raise _Unwritable

    def array(self, data: np.ndarray) -> None:
        self.room -= data.nbytes
        if self.room < 0 or data.dtype.hasobject:
            raise _Unwritable
        self.parts.append(f"array({short_name(data.dtype)}{list(data.shape)}")
        self.parts.append(data.tobytes())
        self.parts.append(")")


_PLAIN = frozenset((bool, int, float, complex, str, bytes))
_OURS = ("builtins", "numpy", "ml_dtypes", "tanx")


def _name(kind: type) -> str:
    """The name of a type, which must be one that means the same in every process."""
    home = kind.__module__
    if home.partition(".")[0] not in _OURS or "<locals>" in kind.__qualname__:
        raise _Unwritable
    return f"{home}.{kind.__qualname__}"
