"""Machine code from a small part of Python, for functions that run without the interpreter.

A module of *native functions* is an ordinary Python file. All values are 64-bit integers, including
addresses; the functions below read and write memory, C functions are attributes of :data:`C` and
external addresses attributes of :data:`address_of`. :func:`translate` turns whole files into LLVM
code: assignments, ``if``, ``while``, ``return``, arithmetic (division only as ``//`` of
non-negative numbers), comparisons, ``and``, ``or``, ``not`` and calls, no more. Names in capitals
are constants of the file, known when it is translated, or memory that lives as long as the code
(:class:`Static`). Threads communicate through words that :func:`atomic_word` and the functions
below it read and write.
"""

from __future__ import annotations

import ast
import ctypes
import inspect
import os
from collections.abc import Callable, Container, Iterable, Mapping
from types import ModuleType
from typing import Any, TypeVar

from .._base.forever import forever
from .._base.locks import new_lock

__all__ = ["C", "PAUSES", "Static", "add_to", "address_of", "atomic_word", "call",
           "compare_exchange", "exchange", "fetch", "flip16", "inline", "int32", "leading_zeros",
           "narrow", "pause", "publish", "publish32", "put", "put8", "put32", "put_in_order",
           "rare", "stack", "translate", "word"]


T = TypeVar("T", bound=Callable)


# -- what native functions are written with --------------------------------------------------------


def word(address: int, offset: int = 0) -> int:
    """The 64 bits at an address.

    >>> numbers = (ctypes.c_int64 * 2)(5, 6)
    >>> word(ctypes.addressof(numbers), 8)
    6
    """
    return ctypes.c_int64.from_address(address + offset).value


def int32(address: int, offset: int = 0) -> int:
    """The 32 bits at an address, as a signed number."""
    return ctypes.c_int32.from_address(address + offset).value


def put(address: int, offset: int, value: int) -> None:
    """Write 64 bits."""
    ctypes.c_int64.from_address(address + offset).value = value


def put8(address: int, offset: int, value: int) -> None:
    """Write the low 8 bits of a value."""
    ctypes.c_uint8.from_address(address + offset).value = value & 255


def put32(address: int, offset: int, value: int) -> None:
    """Write the low 32 bits of a value."""
    ctypes.c_int32.from_address(address + offset).value = value


def flip16(address: int, source: int, bits: int) -> None:
    """Copy 16 bytes, flipping ``bits`` in each half."""
    put(address, 0, word(source) ^ bits)
    put(address, 8, word(source, 8) ^ bits)


def fetch(address: int) -> None:
    """Prefetch the data at an address."""


def narrow(address: int, source: int) -> None:
    """Write the double at ``source`` as a float at ``address``."""
    value = ctypes.c_double.from_address(source).value
    ctypes.c_float.from_address(address).value = value


def leading_zeros(value: int) -> int:
    """How many of the 64 bits come before the highest one that is set.

    >>> leading_zeros(1), leading_zeros(0)
    (63, 64)
    """
    return 64 - (value & 2 ** 64 - 1).bit_length()


def stack(size: int) -> int:
    """The address of ``size`` bytes, aligned for any use, until the calling function returns."""
    raise NotImplementedError("native.stack: Python has no stack of bytes; translate the function.")


def call(function: int, *args: int) -> int:
    """Call the C function at an address."""
    return ctypes.CFUNCTYPE(ctypes.c_int64, *(ctypes.c_int64,) * len(args))(function)(*args)


def inline(function: T) -> T:
    """A decorator: the function is inlined wherever it is called."""
    return function


def rare(function: T) -> T:
    """A decorator: the function is seldom called, so LLVM spends little time on it."""
    return function


class Static(int):
    """The address of memory of so many bytes, initially zero, which lives as long as the code.

    It is aligned to 128 bytes, so that no two of them share a cache line.
    """

    size: int

    def __new__(cls, size: int) -> Static:
        memory = forever(ctypes.create_string_buffer(size + 128))
        made = super().__new__(cls, (ctypes.addressof(memory) + 127) & -128)
        made.size = size
        return made


# -- words that threads share: aligned, of 64 bits ----------------------------------------------


def atomic_word(address: int, offset: int = 0) -> int:
    """Read the word at an address, with acquire semantics."""
    return word(address, offset)


def publish(address: int, offset: int, value: int) -> None:
    """Write a word; a thread that reads it by ``atomic_word`` sees everything written before."""
    put(address, offset, value)


def publish32(address: int, offset: int, value: int) -> None:
    """As ``publish``, for 32 bits."""
    put32(address, offset, value)


def put_in_order(address: int, offset: int, value: int) -> None:
    """As ``publish``, and ordered before anything that this thread reads after it."""
    put(address, offset, value)


def exchange(address: int, value: int) -> int:
    """Write a word; returns the old one."""
    before = word(address)
    put(address, 0, value)
    return before


def add_to(address: int, value: int) -> int:
    """Add to a word; returns the old one."""
    return exchange(address, word(address) + value)


def compare_exchange(address: int, expected: int, value: int) -> int:
    """Write a word if it is as expected; returns the old one."""
    return exchange(address, value) if word(address) == expected else word(address)


def pause() -> None:
    """Pause the processor for some cycles, in a loop that waits for another thread."""


_PAUSES: dict[str, tuple[str, str, int]] = {
    "x86_64": ("llvm.x86.sse2.pause", "", 1000), "aarch64": ("llvm.aarch64.isb", "i32 15", 2500)}
_PAUSE, _CYCLES, PAUSES = _PAUSES.get(
    os.uname().machine.replace("arm64", "aarch64") if hasattr(os, "uname") else "", ("", "", 1000))
"""The instruction for it, its operand, and how many of them take about 40 microseconds."""


class _Symbols:
    """Names of external symbols; their addresses are given when the code is linked."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # Python asks, as for __wrapped__
            raise AttributeError(name)
        raise NotImplementedError(f"native: {name} is known only to translated functions.")


C: Any = _Symbols()
"""C functions by name; :data:`INTS` lists the ones that return an ``int``."""
address_of: Any = _Symbols()
"""Addresses by name: given when the code is linked, or those of native functions."""

INTS = frozenset((
    "PyErr_CheckSignals", "PyObject_IsTrue", "PyObject_RichCompareBool", "PyUnicode_Compare",
    "PyDict_SetItem", "PyGILState_Ensure", "posix_memalign", "pthread_cond_timedwait",
    "pthread_create", "tanx_stopped"))
"""C functions whose result has 32 bits."""
NOTHING = frozenset((
    "Py_IncRef", "Py_DecRef", "PyErr_Clear", "PyErr_Fetch", "PyErr_NormalizeException",
    "PyEval_RestoreThread", "PyGILState_Release", "PyMem_RawFree", "PyArray_ScalarAsCtype", "free",
    "tanx_enter", "tanx_free", "tanx_hold", "tanx_parallel"))
"""C functions without a result."""


# -- the translation -------------------------------------------------------------------------------

_ARITHMETIC: dict[type, str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.BitAnd: "and", ast.BitOr: "or",
    ast.BitXor: "xor", ast.LShift: "shl", ast.RShift: "ashr", ast.FloorDiv: "udiv"}
_COMPARISONS: dict[type, str] = {
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "slt", ast.LtE: "sle", ast.Gt: "sgt", ast.GtE: "sge"}
_ASKED = {"": "", "inline": " alwaysinline", "rare": " noinline optnone"}
"""Attributes of functions by their decorators."""
_LOADS = {"word": "i64", "int32": "i32"}
_FETCH = "llvm.prefetch.p0"
_STORES = {"put": "i64", "put8": "i8", "put32": "i32"}
_ATOMIC_STORES = {"publish": "i64 release", "publish32": "i32 release",
                  "put_in_order": "i64 seq_cst"}
_EXCHANGES = {"exchange": "xchg", "add_to": "add"}


class _Function:
    """One function being translated; variables live in slots, which LLVM turns into registers."""

    def __init__(self, node: ast.FunctionDef, constants: Mapping[str, Any],
                 functions: Container[str], symbols: dict[str, str], export: bool):
        self.constants, self.functions, self.symbols = constants, functions, symbols
        self.lines: list[str] = []
        self.count = 0
        self.loops: list[tuple[str, str]] = []  # where continue and break go
        parameters = [a.arg for a in node.args.args]
        self.variables = dict.fromkeys(parameters)  # those that are assigned follow
        self.block(node.body)
        self.lines.append("ret i64 0")
        slots = [f"%{name}.slot = alloca i64" for name in self.variables]
        stores = [f"store i64 %{name}.given, ptr %{name}.slot" for name in parameters]
        given = ", ".join(f"i64 %{name}.given" for name in parameters)
        linkage = "" if export else "internal "
        (asked,) = [d.id for d in node.decorator_list if isinstance(d, ast.Name)] or [""]
        head = f"define {linkage}i64 @{node.name}({given}){_ASKED[asked]} {{"
        self.text = "\n".join([head, "entry:", *slots, *stores, *self.lines, "}"])

    def new(self, instruction: str) -> str:
        self.count += 1
        self.lines.append(f"%t{self.count} = {instruction}")
        return f"%t{self.count}"

    def labels(self, *names: str) -> list[str]:
        self.count += 1
        return [f"{name}{self.count}" for name in names]

    def begin(self, label: str) -> None:
        self.lines += [f"br label %{label}", f"{label}:"]

    def block(self, body: Iterable[ast.stmt]) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Expr(ast.Constant()):
                pass  # a docstring
            case ast.Expr(value):
                self.value(value)
            case ast.Assign([ast.Name(name)], value):
                result = self.value(value)
                self.variables.setdefault(name)
                self.lines.append(f"store i64 {result}, ptr %{name}.slot")
            case ast.AugAssign(ast.Name(name), op, value):
                result = self.binary(op, self.value(ast.Name(name, ast.Load())), self.value(value))
                self.lines.append(f"store i64 {result}, ptr %{name}.slot")
            case ast.Return(value):
                self.leave(f"ret i64 {self.value(value) if value else 0}")
            case ast.If(test, body, orelse):
                yes, no, end = self.labels("then", "else", "endif")
                self.condition(test, yes, no)
                self.lines.append(f"{yes}:")
                self.block(body)
                self.lines += [f"br label %{end}", f"{no}:"]
                self.block(orelse)
                self.begin(end)
            case ast.While(test, body, []):
                head, inside, end = self.labels("while", "do", "done")
                self.begin(head)
                self.condition(test, inside, end)
                self.lines.append(f"{inside}:")
                self.loops.append((head, end))
                self.block(body)
                self.loops.pop()
                self.lines += [f"br label %{head}", f"{end}:"]
            case ast.Continue():
                self.leave(f"br label %{self.loops[-1][0]}")
            case ast.Break():
                self.leave(f"br label %{self.loops[-1][1]}")
            case _:
                raise _foreign(node)

    def leave(self, instruction: str) -> None:
        """End a block in the middle of the text; the code after it is unreachable."""
        self.lines += [instruction, f"{self.labels('after')[0]}:"]

    def condition(self, node: ast.expr, yes: str, no: str) -> None:
        """Branch on the truth of an expression."""
        match node:
            case ast.BoolOp(op, values):
                for value in values[:-1]:
                    (more,) = self.labels("more")
                    if isinstance(op, ast.And):
                        self.condition(value, more, no)
                    else:
                        self.condition(value, yes, more)
                    self.lines.append(f"{more}:")
                self.condition(values[-1], yes, no)
            case ast.UnaryOp(ast.Not(), operand):
                self.condition(operand, no, yes)
            case ast.Compare(left, [op], [right]):
                operands = f"{self.value(left)}, {self.value(right)}"
                truth = self.new(f"icmp {_COMPARISONS[type(op)]} i64 {operands}")
                self.lines.append(f"br i1 {truth}, label %{yes}, label %{no}")
            case _:
                truth = self.new(f"icmp ne i64 {self.value(node)}, 0")
                self.lines.append(f"br i1 {truth}, label %{yes}, label %{no}")

    def value(self, node: ast.expr) -> str:
        """The operand for the value of an expression."""
        match node:
            case ast.Constant(int(number)):
                return str(int(number))
            case ast.Name(name) if name in self.variables:
                return self.new(f"load i64, ptr %{name}.slot")
            case ast.Name(name) if isinstance(self.constants.get(name), Static):
                size = self.constants[name].size
                self.symbols.setdefault(
                    name, f"@{name} = internal global [{size} x i8] zeroinitializer, align 128")
                return self.new(f"ptrtoint ptr @{name} to i64")
            case ast.Name(name) if isinstance(self.constants.get(name), int):
                return str(self.constants[name])
            case ast.UnaryOp(ast.USub(), operand):
                return self.new(f"sub i64 0, {self.value(operand)}")
            case ast.UnaryOp(ast.Invert(), operand):
                return self.new(f"xor i64 -1, {self.value(operand)}")
            case ast.Compare() | ast.BoolOp() | ast.UnaryOp(ast.Not()):
                return self.truth(node)
            case ast.BinOp(left, op, right) if type(op) in _ARITHMETIC:
                return self.binary(op, self.value(left), self.value(right))
            case ast.Attribute(ast.Name("address_of"), name):
                if name not in self.functions:
                    self.symbols.setdefault(name, f"@{name} = external global i8")
                return self.new(f"ptrtoint ptr @{name} to i64")
            case ast.Call(ast.Attribute(ast.Name("C"), name), args):
                return self.foreign_call(name, [self.value(a) for a in args])
            case ast.Call(ast.Name(name), args):
                return self.named_call(name, [self.value(a) for a in args], node)
        raise _foreign(node)

    def truth(self, node: ast.expr) -> str:
        """A condition as the number 0 or 1."""
        yes, no, end = self.labels("true", "false", "truth")
        self.condition(node, yes, no)
        self.lines += [f"{yes}:", f"br label %{end}", f"{no}:"]
        self.begin(end)
        return self.new(f"phi i64 [ 1, %{yes} ], [ 0, %{no} ]")

    def binary(self, op: ast.operator, left: str, right: str) -> str:
        return self.new(f"{_ARITHMETIC[type(op)]} i64 {left}, {right}")

    def foreign_call(self, name: str, args: list[str]) -> str:
        result = "void" if name in NOTHING else "i32" if name in INTS else "i64"
        parameters = ", ".join(["i64"] * len(args))
        self.symbols.setdefault(name, f"declare {result} @{name}({parameters})")
        text = f"call {result} @{name}({', '.join(f'i64 {a}' for a in args)})"
        if result == "void":
            self.lines.append(text)
            return "0"
        made = self.new(text)
        return made if result == "i64" else self.new(f"sext i32 {made} to i64")

    def named_call(self, name: str, args: list[str], node: ast.expr) -> str:
        if name in self.functions:
            return self.new(f"call i64 @{name}({', '.join(f'i64 {a}' for a in args)})")
        if name in _LOADS:
            kind = _LOADS[name]
            loaded = self.new(f"load {kind}, ptr {self.pointer(*args)}, align 1")
            return loaded if kind == "i64" else self.new(f"sext {kind} {loaded} to i64")
        if name in _STORES:
            kind, value = _STORES[name], args[2]
            if kind != "i64":
                value = self.new(f"trunc i64 {value} to {kind}")
            self.lines.append(f"store {kind} {value}, ptr {self.pointer(*args[:2])}, align 1")
            return "0"
        if name in (*_ATOMIC_STORES, *_EXCHANGES, "atomic_word", "compare_exchange"):
            return self.shared(name, args)
        if name in ("pause", "leading_zeros"):
            return self.intrinsic(name, args)
        if name == "narrow":
            wide = self.new(f"load double, ptr {self.pointer(args[1])}, align 1")
            value = self.new(f"fptrunc double {wide} to float")
            self.lines.append(f"store float {value}, ptr {self.pointer(args[0])}, align 1")
            return "0"
        if name == "flip16":
            read = self.new(f"load <2 x i64>, ptr {self.pointer(args[1])}, align 1")
            first = self.new(f"insertelement <2 x i64> poison, i64 {args[2]}, i32 0")
            both = self.new(f"shufflevector <2 x i64> {first}, <2 x i64> poison, "
                            "<2 x i32> zeroinitializer")
            value = self.new(f"xor <2 x i64> {read}, {both}")
            self.lines.append(f"store <2 x i64> {value}, ptr {self.pointer(args[0])}, align 1")
            return "0"
        if name == "fetch":
            self.symbols.setdefault(_FETCH, f"declare void @{_FETCH}(ptr, i32, i32, i32)")
            self.lines.append(
                f"call void @{_FETCH}(ptr {self.pointer(args[0])}, i32 1, i32 3, i32 1)")
            return "0"
        if name == "stack":
            memory = self.new(f"alloca i8, i64 {args[0]}, align 64")
            return self.new(f"ptrtoint ptr {memory} to i64")
        if name == "call":
            rest = ", ".join(f"i64 {a}" for a in args[1:])
            return self.new(f"call i64 {self.pointer(args[0])}({rest})")
        raise _foreign(node)

    def shared(self, name: str, args: list[str]) -> str:
        """Read or write a word that other threads use."""
        if name == "atomic_word":
            return self.new(f"load atomic i64, ptr {self.pointer(*args)} seq_cst, align 8")
        if name in _ATOMIC_STORES:
            kind, order = _ATOMIC_STORES[name].split()
            value = args[2] if kind == "i64" else self.new(f"trunc i64 {args[2]} to {kind}")
            self.lines.append(f"store atomic {kind} {value}, ptr {self.pointer(*args[:2])} "
                              f"{order}, align {int(kind[1:]) // 8}")
            return "0"
        place = self.pointer(args[0])
        if name in _EXCHANGES:
            return self.new(f"atomicrmw {_EXCHANGES[name]} ptr {place}, i64 {args[1]} seq_cst")
        both = self.new(f"cmpxchg ptr {place}, i64 {args[1]}, i64 {args[2]} seq_cst seq_cst")
        return self.new(f"extractvalue {{ i64, i1 }} {both}, 0")

    def intrinsic(self, name: str, args: list[str]) -> str:
        if name == "leading_zeros":
            self.symbols.setdefault("llvm.ctlz.i64", "declare i64 @llvm.ctlz.i64(i64, i1)")
            return self.new(f"call i64 @llvm.ctlz.i64(i64 {args[0]}, i1 false)")
        if _PAUSE:
            self.symbols.setdefault(
                _PAUSE, f"declare void @{_PAUSE}({_CYCLES.partition(' ')[0]})")
            self.lines.append(f"call void @{_PAUSE}({_CYCLES})")
        return "0"

    def pointer(self, address: str, offset: str = "0") -> str:
        if offset != "0":
            address = self.new(f"add i64 {address}, {offset}")
        return self.new(f"inttoptr i64 {address} to ptr")


def _foreign(node: ast.AST) -> NotImplementedError:
    return NotImplementedError(f"native: {ast.unparse(node)!r} is not in the language.")


_parsing = new_lock()
"""Python 3.11 raises SystemError if two threads make syntax trees at the same time."""


def translate(modules: Iterable[ModuleType], exports: Iterable[str] = ()) -> str:
    """The functions of some modules as LLVM code, for ``tidy``.

    They may call each other; those in ``exports`` are visible from outside.
    """
    with _parsing:
        found = [(node, vars(module)) for module in modules
                 for node in ast.parse(inspect.getsource(module)).body
                 if isinstance(node, ast.FunctionDef)]
    homes = {node.name: (node, constants) for node, constants in found}
    assert len(homes) == len(found), "two native functions have the same name"
    symbols: dict[str, str] = {}
    texts = [_Function(node, constants, homes, symbols, name in exports).text
             for name, (node, constants) in homes.items()]
    return "\n".join([*symbols.values(), *texts, ""])
