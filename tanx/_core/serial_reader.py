"""Reads jaxprs from their serial form, which :mod:`tanx._core.serial` describes and writes.

The text may come from anywhere, so it is not trusted. It is data: primitives and types of
parameters are looked up by name among those of tanx, and nothing is evaluated. Every equation is
inferred again, and the operands of each call, loop and branch are checked against the types of its
body. Sizes are bounded, so that a small text cannot describe a huge program. Any error raises
:class:`Unreadable`.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any, NoReturn

import numpy as np

from .. import dtypes
from .._base.symbolic import Scope, bounds, parse_dim
from .array import Array
from .check import check_jaxpr
from .flow import ForLoop, WhileLoop
from .jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from .naming import DebugInfo
from .primitive import parameter_constants, parameter_types, primitives
from .types import AbstractToken, ShapedArray

__all__ = ["Unreadable", "read", "read_value"]

MOST_NESTED = 64
"""How deep tuples may be nested."""
MOST_BODIES_DEEP = 512
"""How deep calls of bodies may be nested."""
MOST_EQUATIONS = 1 << 26
"""Limit of equations after inlining all calls: compiling that many takes more than a day."""
MOST_DIMENSIONS = 64
MOST_LETTERS = 1000
"""Limit of characters of a symbolic size."""


class Unreadable(ValueError):
    """The text is not a jaxpr."""


def read(text: str, constants: Sequence[np.ndarray], names: Sequence[str] = (),
         scope: Scope | None = None) -> ClosedJaxpr:
    """The closed jaxpr of a text, with a table of arrays and one of names.

    Symbolic sizes belong to a scope; without a scope, symbolic sizes are an error.

    >>> from tanx._core.serial import write
    >>> read(write(tanx.make_jaxpr(lambda x: jnp.sin(x) * 2)(1.0)).text, [])
    { lambda ; a:f32[]. let b:f32[] = sin a; c:f32[] = mul b 2.0:f32[] in (c,) }
    """
    return _Reader(constants, names, scope).program(text)


def read_value(text: str, scope: Scope | None = None) -> Any:
    """Plain data from its text.

    >>> read_value('{"name":"f","sizes":(1,2)}')
    {'name': 'f', 'sizes': (1, 2)}
    """
    reader = _Reader((), (), scope)
    reader.line = text
    found = reader.value()
    reader.end()
    return found


_TYPE = re.compile(r"(key<\w{1,32}>|\w{1,32})\[([\w ,+*^()-]*)\](~?)")
_DIM = re.compile(r"`([\w ,+*^()-]*)`")
_COMMA = re.compile(r",(?! )")  # those inside of sizes have spaces behind them
_BYTES = re.compile(r"<([0-9a-f]*)>")
_DIGITS = re.compile(r"\d{1,18}")
_WORD = re.compile(r"[A-Za-z_]\w{0,63}")
_PRIMITIVE = re.compile(r"[A-Za-z_][\w-]{0,63}(?=\[)")
_NUMBER = re.compile(r"-?(?:inf|nan|\d{1,18}(?![\d.e])|\d[\d.]{0,30}(?:e[-+]?\d{1,3})?)")
_STRING = re.compile(r'"([ !#-~]*)"')
_DTYPE = re.compile(r"key<\w{1,32}>|[a-z]\w{1,31}")
_SINGLE = {"None": None, "True": True, "False": False}

_dtypes: dict[str, Any] = {
    dtypes.short_name(name): np.dtype(name) for name in (
        "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
        "float16", "float32", "float64", "complex64", "complex128", dtypes.float0)}


def _dtype(name: str) -> Any:
    """The dtype of a name as written in jaxprs; None if there is no such dtype."""
    if "bf16" not in _dtypes:
        import ml_dtypes
        for kind in vars(ml_dtypes).values():
            if isinstance(kind, type) and issubclass(kind, np.generic):
                _dtypes.setdefault(dtypes.short_name(np.dtype(kind)), np.dtype(kind))
    known = parameter_constants.get(name)
    return known if dtypes.is_extended(known) else _dtypes.get(name)


class _Reader:
    def __init__(self, constants: Sequence[np.ndarray], names: Sequence[str],
                 scope: Scope | None = None):
        self.constants, self.names, self.scope = constants, iter(names), scope
        self.bodies: list[Jaxpr] = []
        self.equations: list[int] = []  # of each body, with its calls in place
        self.depths: list[int] = []
        self.types: dict[str, Any] = {}
        self.line, self.at, self.number, self.nesting = "", 0, 0, 0

    # -- steps -------------------------------------------------------------------------------------

    def fail(self, problem: str) -> NoReturn:
        near = self.line[max(0, self.at - 20):self.at + 20]
        raise Unreadable(f"line {self.number + 1}, column {self.at + 1}: {problem}, near {near!r}")

    def take(self, pattern: re.Pattern[str], what: str) -> re.Match[str]:
        found = pattern.match(self.line, self.at)
        if found is None:
            self.fail(f"{what} expected")
        self.at = found.end()
        return found

    def maybe(self, text: str) -> bool:
        found = self.line.startswith(text, self.at)
        self.at += len(text) if found else 0
        return found

    def expect(self, text: str) -> None:
        if not self.maybe(text):
            self.fail(f"{text!r} expected")

    def index(self, items: Sequence, what: str) -> int:
        """The number of one of ``items``."""
        number = int(self.take(_DIGITS, "a number")[0])
        if number >= len(items):
            self.fail(f"there is no {what} {number}")
        return number

    def listed(self, item, end: str, between: str = ",") -> list:
        """Items up to an end."""
        found: list = []
        while not self.maybe(end):
            if found:
                self.expect(between)
            found.append(item())
        return found

    # -- bodies ------------------------------------------------------------------------------------

    def program(self, text: str) -> ClosedJaxpr:
        *bodies, last = text.split("\n")
        for self.number, self.line in enumerate(bodies):
            self.at, before = 0, len(self.bodies)
            self.equations.append(0)
            self.depths.append(0)
            body = self.body()
            self.end()
            try:
                check_jaxpr(body)
            except Exception as error:  # rules may raise anything when parameters make no sense
                self.fail(f"{type(error).__name__}: {error}")
            if self.equations[before] > MOST_EQUATIONS or self.depths[before] > MOST_BODIES_DEEP:
                self.fail("the program is too large")
            self.bodies.append(body)
        self.number, self.line, self.at = len(bodies), last, 0
        self.equations.append(0)
        self.depths.append(0)
        closed = self.jaxpr()
        self.end()
        if type(closed) is not ClosedJaxpr:
            self.fail("a body with constants expected")
        if next(self.names, None) is not None:
            self.fail("names are left over")
        return closed

    def end(self) -> None:
        if self.at != len(self.line):
            self.fail("more text than expected")

    def body(self) -> Jaxpr:
        variables: list[Var] = []
        self.expect("{")
        while self.line[self.at:self.at + 1] not in (";", "|", ""):
            if variables:
                self.expect(" ")
            variables.append(Var(self.type()))
        count = 0
        if self.maybe(";"):
            count = int(self.take(_DIGITS, "a number")[0])
            if count > len(variables):
                self.fail("more constants than variables")
        invars = variables[:]
        eqns: list[JaxprEqn] = []
        while True:
            self.expect("|")
            atoms, ended = self.atoms(variables)
            if ended:
                debug = DebugInfo("export", "exported")
                return Jaxpr(invars[:count], invars[count:], atoms, eqns, debug_info=debug)
            eqns.append(self.equation(atoms, variables))
            self.equations[-1] += 1

    def atoms(self, variables: list[Var]) -> tuple[list, bool]:
        """The results of a body (true), or the types of an equation's results (false)."""
        found: list = []
        while True:
            if self.maybe("}"):
                if any(isinstance(x, ShapedArray | AbstractToken) for x in found):
                    self.fail("a result without a value")
                return found, True
            if self.maybe("="):
                if any(isinstance(x, Var | Literal) for x in found):
                    self.fail("a type expected")
                return found, False
            if found:
                self.expect(" ")
            found.append(self.atom(variables))

    def atom(self, variables: list[Var]) -> Any:
        """A variable, a literal, or a type."""
        if self.line[self.at:self.at + 1].isdigit():
            return variables[self.index(variables, "variable")]
        aval = self.type()
        if self.line[self.at:self.at + 1] != "<":
            return aval
        data = bytes.fromhex(self.hexadecimal())
        if type(aval) is not ShapedArray or aval.shape or (
                len(data) != dtypes.stored(aval.dtype).itemsize):
            self.fail("a literal has other bytes than its type")
        return Literal(np.frombuffer(data, dtypes.stored(aval.dtype)).reshape(()), aval)

    def hexadecimal(self) -> str:
        text = self.take(_BYTES, "bytes")[1]
        if len(text) % 2:
            self.fail("half a byte")
        return text

    def equation(self, types: list, variables: list[Var]) -> JaxprEqn:
        name = self.take(_PRIMITIVE, "a primitive")[0]
        primitive = self.primitive(name)
        self.expect("[")
        params = dict(self.listed(self.param, "]", ";"))
        if list(params) != sorted(params):
            self.fail("parameters are not in order")
        operands: list[Atom] = []
        while self.line[self.at:self.at + 1] not in ("|", ""):
            if operands:
                self.expect(" ")
            operand = self.atom(variables)
            if not isinstance(operand, Var | Literal):
                self.fail("an operand expected")
            operands.append(operand)
        outvars = [Var(aval) for aval in types]
        try:
            if primitive.restored is not None:
                params = primitive.restored(params)
            effects = primitive.effects(*(a.aval for a in operands), **params)
            _check_bodies(primitive, params, [a.aval for a in operands], types)
        except Exception as error:  # rules may raise anything when parameters make no sense
            self.fail(f"{name}: {type(error).__name__}: {error}")
        variables += outvars
        return JaxprEqn(operands, outvars, primitive, params, effects)

    def primitive(self, name: str) -> Any:
        found = primitives.get(name)
        if found is None or not type(found).__module__.startswith("tanx."):
            self.fail(f"there is no primitive {name!r}")
        return found

    # -- types and parameters ----------------------------------------------------------------------

    def type(self) -> Any:
        if self.maybe("token"):
            return AbstractToken()
        found = self.take(_TYPE, "a type")
        aval = self.types.get(found[0])
        if aval is None:
            name, sizes, weak = found.groups()
            dtype = _dtype(name)
            if dtype is None:
                self.fail(f"there is no dtype {name!r}")
            shape = tuple([self.size(size) for size in _COMMA.split(sizes)]) if sizes else ()
            if len(shape) > MOST_DIMENSIONS:
                self.fail("too many dimensions")
            aval = self.types[found[0]] = ShapedArray(shape, dtype, bool(weak))
        return aval

    def size(self, text: str) -> Any:
        found = int(text) if _DIGITS.fullmatch(text) else self.symbolic(text)
        if bounds(found)[1] < 0:
            self.fail(f"{text!r} is no size")
        return found

    def symbolic(self, text: str) -> Any:
        if self.scope is None or len(text) > MOST_LETTERS:
            self.fail(f"{text!r} is no size")
        try:
            return parse_dim(text, self.scope)
        except ValueError as error:
            self.fail(str(error))

    def dim(self) -> Any:
        return self.symbolic(self.take(_DIM, "a size")[1])

    def param(self) -> tuple[str, Any]:
        name = self.take(_WORD, "the name of a parameter")[0]
        self.expect("=")
        return name, self.value()

    def value(self) -> Any:
        self.nesting += 1
        if self.nesting > MOST_NESTED:
            self.fail("values are nested too deeply")
        first = self.line[self.at:self.at + 1]
        read = _VALUES.get(first)
        if read is not None:
            found = read(self)
        elif first.isdigit() or first == "-" or _NUMBER.match(self.line, self.at):
            found = self.numeral()
        else:
            found = self.word()
        self.nesting -= 1
        return found

    def numeral(self) -> float:
        text = self.take(_NUMBER, "a number")[0]
        try:
            return int(text) if text.lstrip("-").isdecimal() else float(text)
        except ValueError:
            self.fail("a number expected")

    def group(self) -> tuple:
        self.expect("(")
        return tuple(self.listed(self.value, ")"))

    def sequence(self) -> list:
        self.expect("[")
        return self.listed(self.value, "]")

    def mapping(self) -> dict:
        self.expect("{")
        return dict(self.listed(self.pair, "}"))

    def pair(self) -> tuple[Any, Any]:
        key = self.value()
        if not isinstance(key, str | int):
            self.fail("a key expected")
        self.expect(":")
        return key, self.value()

    def string(self) -> str:
        try:
            return self.take(_STRING, "a string")[1].encode().decode("unicode_escape")
        except UnicodeDecodeError:
            self.fail("a string that cannot be decoded")

    def name(self) -> str:
        self.expect("$")
        found = next(self.names, None)
        if found is None:
            self.fail("a name is missing")
        return found

    def constant(self) -> np.ndarray:
        self.expect("#")
        return self.constants[self.index(self.constants, "array")]

    def known_constant(self) -> Any:
        self.expect("!")
        name = self.take(_WORD, "a name")[0]
        if name not in parameter_constants:
            self.fail(f"there is no constant {name!r}")
        return parameter_constants[name]

    def jaxpr(self) -> Jaxpr | ClosedJaxpr:
        """A body of an earlier line, with its constants if there is a list of them."""
        self.expect("@")
        number = self.index(self.bodies, "body")
        body = self.bodies[number]
        self.equations[-1] += self.equations[number]
        self.depths[-1] = max(self.depths[-1], self.depths[number] + 1)
        if not self.maybe("("):
            return body
        consts = self.listed(self.constant, ")", " ")
        if len(consts) != len(body.constvars):
            self.fail("a body with another number of constants")
        for data, var in zip(consts, body.constvars):
            dtype = getattr(var.aval, "dtype", None)  # tokens have none
            if data.shape != var.aval.shape or data.dtype not in (
                    dtype, dtype and dtypes.stored(dtype)):
                self.fail(f"a constant that is not {var.aval}")
        return ClosedJaxpr(body, [Array(data, False, var.aval)
                                  for data, var in zip(consts, body.constvars)])

    def word(self) -> Any:
        """A value that begins with a word: a type, a member of an enumeration, or an instance."""
        if _TYPE.match(self.line, self.at):
            return self.type()
        start = self.at
        word = self.take(_WORD, "a value")[0]
        if self.maybe("."):
            return self.member(word)
        if self.line[self.at:self.at + 1] == "(":
            return self.instance(word)
        if word == "bytes":
            return bytes.fromhex(self.hexadecimal())
        if word in _SINGLE:
            return _SINGLE[word]
        self.at = start
        found = _dtype(self.take(_DTYPE, "a value")[0])
        if found is None:
            self.fail(f"there is no dtype {word!r}")
        return found

    def member(self, name: str) -> Any:
        kind: Any = parameter_types.get(name)
        member = self.take(_WORD, "a member")[0]
        if kind is None or not issubclass(kind, enum.Enum) or member not in kind.__members__:
            self.fail(f"there is no {name}.{member}")
        return kind.__members__[member]

    def instance(self, name: str) -> Any:
        if name == "primitive":
            self.expect("(")
            found = self.primitive(self.take(re.compile(r"[\w-]{1,64}"), "a primitive")[0])
            self.expect(")")
            return found
        values = self.group()
        kind: Any = parameter_types.get(name)
        try:
            if name == "set":
                return frozenset(values)
            if name == "complex":
                return complex(*values)
            count = (len(fields(kind)) if is_dataclass(kind)
                     else len(getattr(kind, "_fields", ())))
            if kind is None or issubclass(kind, enum.Enum) or len(values) != count:
                self.fail(f"there is no {name} of {len(values)} values")
            return kind(*values)
        except (TypeError, ValueError) as error:
            if isinstance(error, Unreadable):
                raise
            self.fail(f"{name}: {error}")


_VALUES = {"(": _Reader.group, "[": _Reader.sequence, "{": _Reader.mapping, '"': _Reader.string,
           "$": _Reader.name, "#": _Reader.constant, "!": _Reader.known_constant,
           "@": _Reader.jaxpr, "`": _Reader.dim}
"""How a value is read, by its first character."""


# -- bodies and their operands ---------------------------------------------------------------------


def _check_bodies(primitive, params: dict[str, Any], types: list, results: list) -> None:
    """Check the operands and results of a call, a loop or a branch against the types of its body.

    Rules of primitives assume that they match: the functions that make such equations check it.
    """
    flow = primitive.flow(params)
    if flow is None:
        body = primitive.called(params)
        if body is not None:
            _fit("operands", types, body.in_avals)
            _fit("results", results, body.out_avals)
    elif isinstance(flow, ForLoop):
        outer = flow.constants + flow.carries
        if min(flow.constants, flow.carries, flow.length) < 0:
            raise ValueError("a loop of negative size")
        inputs, outs = flow.body.in_avals, flow.body.out_avals
        _fit("operands", types, [*inputs[:outer], *_rows(inputs[outer:], flow.length)])
        _fit("results", results, [*outs[:flow.carries], *_rows(outs[flow.carries:], flow.length)])
        _fit("carries", outs[:flow.carries], inputs[flow.constants:outer])
    elif isinstance(flow, WhileLoop):
        first, second = flow.condition_constants, flow.body_constants
        carries = types[first + second:]
        _fit("operands of the condition", [*types[:first], *carries], flow.condition.in_avals)
        _fit("operands of the body", types[first:], flow.body.in_avals)
        _fit("carries", carries, flow.body.out_avals)
        _fit("results", results, flow.body.out_avals)
        _fit("the condition", flow.condition.out_avals, [ShapedArray((), np.dtype(bool))])
    else:
        for branch in flow.branches:
            _fit("operands", types[1:], branch.in_avals)
            _fit("results", results, branch.out_avals)


def _rows(avals: Sequence, length: int) -> list:
    return [a.update(shape=(length, *a.shape)) for a in avals]


def _fit(what: str, given: Sequence, expected: Sequence) -> None:
    if len(given) != len(expected) or any(
            a != b and (a.shape, getattr(a, "dtype", None)) != (b.shape, getattr(b, "dtype", None))
            for a, b in zip(given, expected)):
        raise ValueError(f"{what} are {', '.join(map(str, given))} and not "
                         f"{', '.join(map(str, expected))}")
