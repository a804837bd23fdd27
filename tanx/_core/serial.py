"""The serial form of jaxprs: text that describes a closed jaxpr completely.

It is the key of compiled code in caches, and the form of exported programs; the reader is
:mod:`tanx._core.serial_reader`. A text is a list of lines. Each line but the last is a body, and
the last one names the main body and its constants::

    {f32[] f32[3]~|f32[3]~=mul[]0 1|f32[3]=add[]2 f32[]~<0000803f>|3}
    {f32[3]|f32[3]=jit[jaxpr=@0();name=$]f32[]~<00000040> 0|1}
    @1()

A body is the types of its arguments (``;n`` says that the first n are constants), equations, and
results. Variables are numbered in the order in which they are bound; a ``~`` marks a weak type. A
literal is its type and its bytes. Sizes may be symbolic, ``f32[a,2*b + 1]``, and are written
```2*b + 1``` among parameters. ``@n`` is a body of an earlier line, so that repeated bodies are
written once; ``@n(#0 #2)`` is one with constants; ``#n`` is an array of a table outside of the
text. Names of functions are outside of the text as well, and ``$`` takes the next one: programs
that differ only in names have the same text.

Functions have no form as text. If they are only for transformations, as the rules of
``custom_jvp``, they are omitted (see ``Primitive.written``). Otherwise, as in callbacks, a jaxpr
with functions cannot be written.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from .._base.digest import digest
from .._base.symbolic import DimExpr, Scope, scope_of
from ..dtypes import ExtendedDType, is_extended, short_name, stored
from .array import Array
from .jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from .primitive import Name, Primitive, parameter_constants, parameter_types, primitives
from .spaces import MemorySpace
from .types import AbstractToken, ShapedArray

__all__ = ["CONSTANTS_LIMIT", "Serial", "Unwritable", "array_data", "for_caches", "write",
           "write_value"]

CONSTANTS_LIMIT = 1 << 26
"""Up to this many bytes of constants, reading them all is faster than compiling."""


class Serial:
    """A closed jaxpr as text, with the arrays and the names that the text refers to."""

    __slots__ = ("text", "constants", "names", "scope")

    def __init__(self, text: str, constants: list[Any], names: list[str],
                 scope: Scope | None = None):
        self.text, self.constants, self.names = text, constants, names
        self.scope = scope  # that of symbolic sizes, which need it to be read

    def key(self) -> bytes | None:
        """A key that equal programs share; None if there are too many constants."""
        parts = [self.text.encode()]
        room = CONSTANTS_LIMIT
        for constant in self.constants:
            data = array_data(constant)
            room -= data.nbytes
            if room < 0:
                return None
            parts.append(f"\n{short_name(data.dtype)}{data.shape}".encode())
            parts.append(digest(data.tobytes()))
        return b"".join(parts)


class Unwritable(Exception):
    """A part of a jaxpr has no form as text: the equation, if known, the reason, and a way out."""

    def __init__(self, reason: str, eqn: JaxprEqn | None = None, hint: str | None = None):
        super().__init__(reason)
        self.reason, self.eqn, self.hint = reason, eqn, hint


def write(closed: ClosedJaxpr, *, effects: bool = True) -> Serial:
    """A closed jaxpr in its serial form; raises :class:`Unwritable` if it has none.

    Without ``effects``, equations with effects are refused, too.

    >>> write(tanx.make_jaxpr(lambda x: jnp.sin(x) * 2)(1.0)).text
    '{f32[]~|f32[]~=sin[accuracy=None]0|f32[]~=mul[]1 f32[]~<00000040>|2}\\n@0()'
    """
    writer = _Writer(effects)
    top = writer.closed(closed)
    names = [name for each in writer.named for name in each]
    return Serial("\n".join([*writer.bodies, top]), writer.constants, names, writer.scope)


def write_value(value: Any) -> str:
    """Plain data in the form that parameters have: no jaxprs, and no arrays.

    >>> write_value({"name": "f", "types": [tanx.typeof(1.0)]})
    '{"name":"f","types":[f32[]~]}'
    """
    writer = _Writer()
    text = writer.value(value)
    if writer.bodies or writer.constants or writer.names:
        raise Unwritable("more than plain data")
    return text


def for_caches(closed: ClosedJaxpr) -> Serial | None:
    """The serial form of a program that can be compiled once for all processes, else None.

    It has no effects. If dtypes of users occur, it cannot be read back.
    """
    try:
        return write(closed, effects=False)
    except Unwritable:
        return None


def array_data(constant: Any) -> np.ndarray:
    """The data of an entry in the table of arrays."""
    return constant._value if type(constant) is Array else np.asarray(constant)


class _Writer:
    def __init__(self, effects: bool = True) -> None:
        self.effects = effects
        self.types: dict[Any, str] = {}
        self.seen: dict[int, str] = {}  # the same by the ids of types, all of which stay
        self.known: set[Primitive] = set()
        self.bodies: dict[str, int] = {}  # their numbers, which are those of lines
        self.numbers: dict[int, int] = {}  # the same by the ids of jaxprs
        self.constants: list[Any] = []
        self.places: dict[int, int] = {}  # of constants in the table, by their ids
        self.named: list[list[str]] = []  # the names in each body
        self.names: list[str] = []  # those of the body that is being written
        self.scope: Scope | None = None

    def closed(self, closed: ClosedJaxpr) -> str:
        return f"{self.body(closed.jaxpr)}({' '.join([*map(self.constant, closed.consts)])})"

    def constant(self, value) -> str:
        place = self.places.get(id(value))
        if place is None:
            if array_data(value).dtype.hasobject:
                raise Unwritable("an array of Python objects")
            place = self.places[id(value)] = len(self.constants)
            self.constants.append(value)
        return f"#{place}"

    def body(self, jaxpr: Jaxpr) -> str:
        number = self.numbers.get(id(jaxpr))
        if number is None:
            outer, self.names = self.names, []
            text = self.jaxpr(jaxpr)
            number = self.bodies.get(text)
            if number is None:
                number = self.bodies[text] = len(self.bodies)
                self.named.append(self.names)
            self.numbers[id(jaxpr)] = number
            self.names = outer
        return f"@{number}"

    def jaxpr(self, jaxpr: Jaxpr) -> str:
        numbers: dict[Var, str] = {}
        constants = f";{len(jaxpr.constvars)}" if jaxpr.constvars else ""
        parts = ["{" + self.bind((*jaxpr.constvars, *jaxpr.invars), numbers) + constants]
        for eqn in jaxpr.eqns:
            operands = self.atoms(eqn.invars, numbers)
            called = self.use(eqn)
            parts.append(f"{self.bind(eqn.outvars, numbers)}={called}{operands}")
        parts.append(self.atoms(jaxpr.outvars, numbers) + "}")
        return "|".join(parts)

    def bind(self, variables: Iterable[Var], numbers: dict[Var, str]) -> str:
        found = []
        for var in variables:
            numbers[var] = str(len(numbers))
            found.append(self.seen.get(id(var.aval)) or self.type(var.aval))
        return " ".join(found)

    def atoms(self, atoms: Iterable[Atom], numbers: dict[Var, str]) -> str:
        return " ".join([self.literal(a) if isinstance(a, Literal) else numbers[a] for a in atoms])

    def literal(self, literal: Literal) -> str:
        value, aval = literal.val, literal.aval
        if type(value) is not np.ndarray or value.dtype != aval.dtype:
            value = np.asarray(value, stored(aval.dtype))
        return f"{self.seen.get(id(aval)) or self.type(aval)}<{value.tobytes().hex()}>"

    def type(self, aval) -> str:
        text = self.types.get(aval)
        if text is None:
            written = aval
            if type(aval) is ShapedArray and aval.placement is not None:
                written = aval.update(memory_space=MemorySpace.Device)  # spaces are only shown
            if type(written) is ShapedArray and written.placement is None:
                self.dtype(aval.dtype)
                if any(type(d) is DimExpr for d in aval.shape):
                    self.scope = scope_of(aval.shape)
                text = written.str_short(short_dtypes=True) + ("~" if aval.weak_type else "")
            elif type(aval) is AbstractToken:
                text = "token"
            else:
                raise Unwritable(f"a value of type {aval}")
            self.types[aval] = text
        self.seen[id(aval)] = text
        return text

    def dtype(self, dtype) -> str:
        if not is_extended(dtype) or parameter_constants.get(dtype.name) == dtype:
            return short_name(dtype)
        if self.effects:
            raise Unwritable(f"a value of dtype {dtype}", hint="the function may convert to the "
                             "dtype in which its elements are stored, and compute with that.")
        return f"<{short_name(dtype.stored)}>"  # all that compiled code depends on

    def use(self, eqn: JaxprEqn) -> str:
        """The primitive of an equation, and its parameters in the order of their names."""
        if eqn.effects and not self.effects:
            raise Unwritable("an equation with effects", eqn)
        primitive, params = eqn.primitive, eqn.params
        try:
            if primitive not in self.known:
                self.primitive(primitive)
            if not params:
                return primitive.name + "[]"
            name = primitive.name
            if primitive.written is not None:
                name, params = primitive.written(params)
            if primitive.names_line:
                if self.effects:
                    raise Unwritable("a call of a C function, which other processes do not have")
                params = {**params, "line": str(eqn.source_info)}
            texts = [f"{key}={self.value(params[key])}" for key in sorted(params)]
            return f"{name}[{';'.join(texts)}]"
        except Unwritable as error:
            if error.eqn is None:
                error.eqn = eqn
            raise

    def primitive(self, primitive: Primitive) -> str:
        """The name of a primitive of tanx: names of users' primitives are not unique."""
        if primitives.get(primitive.name) is not primitive or not (
                type(primitive).__module__.startswith("tanx.")):
            raise Unwritable(f"{primitive.name}, which is not a primitive of tanx")
        self.known.add(primitive)
        return primitive.name

    def value(self, value) -> str:
        """A parameter: data whose parts are all of types known here."""
        kind = type(value)
        if kind is tuple:
            return f"({','.join([*map(self.value, value)])})"
        if kind in _PLAIN:
            return repr(value)
        return _form(kind)(self, value)  # type: ignore[arg-type]

    def name(self, value: str) -> str:
        self.names.append(str(value))
        return "$"

    def items(self, value, items: Iterable | None = None) -> str:
        items = map(self.value, value if items is None else items)
        return f"{_known_type(type(value))}({','.join(items)})"

    def fields(self, value) -> str:
        """An instance of a dataclass of tanx."""
        return self.items(value, (getattr(value, field.name) for field in fields(value)))

    def known_constant(self, value) -> str:
        """A constant of a module, known by its name."""
        name = value.__reduce__() if "__reduce__" in vars(type(value)) else None
        if not isinstance(name, str) or parameter_constants.get(name) is not value:
            raise Unwritable(f"a parameter that is a {type(value).__name__}")
        return f"!{name}"


_PLAIN = frozenset((bool, int, float, type(None)))
"""Types of numbers that are written like in Python; infinity is ``inf``."""


def _text(value: str) -> str:
    """A string in ASCII in double quotes, without double quotes inside."""
    return '"' + value.encode("unicode_escape").decode().replace('"', r"\x22") + '"'


_FORMS: tuple[tuple[type | tuple[type, ...], Callable[[_Writer, Any], str]], ...] = (
    (Name, _Writer.name),
    (str, lambda writer, value: _text(value)),
    (bytes, lambda writer, value: f"bytes<{value.hex()}>"),
    (complex, lambda writer, value: f"complex({value.real!r},{value.imag!r})"),
    ((np.dtype, ExtendedDType), _Writer.dtype),
    (enum.Enum, lambda writer, value: f"{_known_type(type(value))}.{value.name}"),
    (tuple, _Writer.items),
    (list, lambda writer, value: f"[{','.join(map(writer.value, value))}]"),
    (frozenset, lambda writer, value: f"set({','.join(sorted(map(writer.value, value)))})"),
    (dict, lambda writer, value: "{" + ",".join(
        f"{writer.value(k)}:{writer.value(v)}" for k, v in value.items()) + "}"),
    (ClosedJaxpr, _Writer.closed),
    (Jaxpr, _Writer.body),
    (Primitive, lambda writer, value: f"primitive({writer.primitive(value)})"),
    ((np.ndarray, np.generic), _Writer.constant),
    (DimExpr, lambda writer, value: f"`{value}`"),
    (ShapedArray, _Writer.type),
)
"""How values of a type, or of a subclass, are written."""


@lru_cache(256)
def _form(kind: type) -> Callable[[_Writer, Any], str]:
    """How values of a type are written; cached, because each equation needs it."""
    for known, form in _FORMS:
        if issubclass(kind, known):
            return form
    return _Writer.fields if is_dataclass(kind) else _Writer.known_constant


def _known_type(kind: type) -> str:
    """The name of a type, which must be one that the reader knows."""
    if parameter_types.get(kind.__name__) is not kind:
        raise Unwritable(f"a parameter that is a {kind.__name__}")
    return kind.__name__
