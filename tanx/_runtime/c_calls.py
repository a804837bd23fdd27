"""Calls of plain C functions: from the addresses of buffers to the parameters of the function.

Each signature has a native function, generated at its first use, that takes the parameters from a
job (see ``foreign_native.py``) and calls: sizes come from the job, arrays are passed by their
addresses, scalars by their values. A function that only takes and returns scalars is called once
for each element.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

from .._base.tuples import NamedTuple
from .foreign_native import FUNCTION
from .machine_code import permanent

__all__ = ["BY_VALUE", "CFunction", "Parameter", "caller", "known_functions", "sizes_of"]

BY_VALUE = {
    "float32": "float", "float64": "double", "bool": "i8 zeroext", "int8": "i8 signext",
    "int16": "i16 signext", "int32": "i32 signext", "int64": "i64", "uint8": "i8 zeroext",
    "uint16": "i16 zeroext", "uint32": "i32 zeroext", "uint64": "i64"}
"""How numbers that are not arrays are passed."""

CODE, MESSAGE = "int", "char *"
"""The results by which a function may report an error: a number or a text; 0 means no error."""


class Parameter(NamedTuple):
    """A parameter: a size, an array by its address, or a number by its value.

    ``number`` counts arrays and numbers, results first. ``dims`` are names and numbers; the first
    may be "...", for any number of dimensions, whose size is the number of their elements.
    """

    kind: str
    dtype: str
    number: int = -1
    dims: tuple[str | int, ...] = ()


class CFunction(NamedTuple):
    """A C function: the key of its address, and its parameters, those of its results last.

    ``results`` is how many of these there are. ``returns`` is "void", :data:`CODE`,
    :data:`MESSAGE`, or a dtype: such a function takes only numbers, and returns an element of the
    result.
    """

    name: str
    key: Any
    parameters: tuple[Any, ...]
    results: int
    returns: str

    @property
    def operands(self) -> list[Parameter]:
        """The parameters that are operands, in order."""
        return [Parameter(*p) for p in self.parameters if p[2] >= self.results]


known_functions: dict[Any, tuple[int, Any]] = {}
"""The addresses of C functions by their keys, and the objects that keep them alive."""


def sizes_of(function: CFunction, shapes: Sequence[Sequence[int]]) -> list[int]:
    """The values of the sizes among the parameters; for functions of numbers, the element count."""
    if function.returns in BY_VALUE:
        return [prod(shapes[0])]
    known: dict[str | int, int] = {}
    for parameter in (Parameter(*p) for p in function.parameters):
        if parameter.kind != "array":
            continue
        shape, dims = shapes[parameter.number], parameter.dims
        if dims and dims[0] == "...":
            known["..."] = prod(shape[:len(shape) - len(dims) + 1])
            dims, shape = dims[1:], shape[len(shape) - len(dims) + 1:]
        known.update(zip(dims, shape, strict=True))
    return [known[p[3][0]] for p in function.parameters if p[0] == "size"]


def caller(function: CFunction, make_error: int) -> int:
    """The address of the native function that calls functions of such a signature."""
    signature = tuple((p[0], p[1], p[2]) for p in function.parameters)
    return _caller(signature, function.returns, make_error)


@lru_cache(None)
def _caller(signature: tuple, returns: str, make_error: int) -> int:
    name = f"call of {returns} {signature}"
    return permanent(name, lambda: _text(signature, returns),
                     {"tanx_make_error": make_error})["c_call"]


def _text(signature: Sequence[tuple[str, str, int]], returns: str) -> str:
    """The native function, which returns an error or 0."""
    lines, args, sizes = [], [], 0
    for n, (kind, dtype, number) in enumerate(signature):
        if kind == "size":
            lines += [f"%at{n} = getelementptr i64, ptr %job, i64 {FUNCTION // 8 + 1 + sizes}",
                      f"%long{n} = load i64, ptr %at{n}"]
            short = BY_VALUE[dtype].split()[0]
            lines.append(f"%a{n} = {'add i64 0,' if short == 'i64' else 'trunc i64'} %long{n}"
                         + ("" if short == "i64" else f" to {short}"))
            args.append(f"{BY_VALUE[dtype]} %a{n}")
            sizes += 1
            continue
        lines += [f"%at{n} = getelementptr ptr, ptr %buffers, i64 {number}",
                  f"%p{n} = load ptr, ptr %at{n}"]
        if kind == "array":
            args.append(f"ptr %p{n}")
        elif returns not in BY_VALUE:
            lines.append(f"%a{n} = load {BY_VALUE[dtype].split()[0]}, ptr %p{n}")
            args.append(f"{BY_VALUE[dtype]} %a{n}")
    body = _loop(signature, returns) if returns in BY_VALUE else _call(returns, ", ".join(args))
    return "\n".join([
        "declare i64 @tanx_make_error(i64, i64)",
        "define i64 @c_call(ptr %job, ptr %buffers) {", "entry:",
        f"%at = getelementptr i64, ptr %job, i64 {FUNCTION // 8}", "%function = load ptr, ptr %at",
        *lines, *body, "}", ""])


def _call(returns: str, args: str) -> list[str]:
    """Call a function of arrays; its return value may be an error."""
    if returns == "void":
        return [f"call void %function({args})", "ret i64 0"]
    if returns == CODE:
        call = [f"%code = call i32 %function({args})", "%word = sext i32 %code to i64"]
        error = "i64 %word, i64 0"
    else:
        call = [f"%text = call ptr %function({args})", "%word = ptrtoint ptr %text to i64"]
        error = "i64 2, i64 %word"
    return [*call, "%fine = icmp eq i64 %word, 0", "br i1 %fine, label %end, label %fail",
            "fail:", f"%error = call i64 @tanx_make_error({error})", "ret i64 %error",
            "end:", "ret i64 0"]


def _loop(signature: Sequence[tuple[str, str, int]], returns: str) -> list[str]:
    """Call a function of numbers, once for each element."""
    kind = BY_VALUE[returns].split()[0]
    attribute = " ".join(BY_VALUE[returns].split()[1:])
    loads, args = [], []
    for n, (_, dtype, _) in enumerate(signature):
        element = BY_VALUE[dtype].split()[0]
        loads += [f"%e{n} = getelementptr {element}, ptr %p{n}, i64 %i",
                  f"%a{n} = load {element}, ptr %e{n}"]
        args.append(f"{BY_VALUE[dtype]} %a{n}")
    return [
        f"%count.at = getelementptr i64, ptr %job, i64 {FUNCTION // 8 + 1}",
        "%count = load i64, ptr %count.at", "%out = load ptr, ptr %buffers",
        "%none = icmp eq i64 %count, 0", "br i1 %none, label %end, label %each",
        "each:", "%i = phi i64 [ 0, %entry ], [ %next, %each ]", *loads,
        f"%y = call {attribute} {kind} %function({', '.join(args)})",
        f"%to = getelementptr {kind}, ptr %out, i64 %i", f"store {kind} %y, ptr %to",
        "%next = add i64 %i, 1", "%more = icmp slt i64 %next, %count",
        "br i1 %more, label %each, label %end",
        "end:", "ret i64 0"]
