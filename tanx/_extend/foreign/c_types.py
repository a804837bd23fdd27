"""Types of parameters and results of C functions: from users' descriptions, and from C source.

A parameter of a C function is written as a text:

- ``"float32[n,3]"``: an array by its address, with named and fixed sizes;
- ``"float32[...,n]"``: the same for any number of leading dimensions;
- ``"float32"``: a number by its value;
- ``"n"``: the size of that name, and ``"..."``: the number of elements of the leading dimensions.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._base.tuples import NamedTuple
from ..._core.types import ShapedArray
from ..._runtime.c_calls import BY_VALUE, CODE, MESSAGE, CFunction, Parameter
from ..._runtime.call_frames import DATA_TYPES
from ...errors import explain

__all__ = ["Declaration", "declared", "described", "inferred", "is_leading", "result_types"]

PUBLIC = "tanx.extend.c_function"

_LONG = f"int{8 * ctypes.sizeof(ctypes.c_long)}"
_C_NAMES = {
    "float": "float32", "double": "float64", "bool": "bool", "_Bool": "bool", "char": "int8",
    "signed char": "int8", "unsigned char": "uint8", "short": "int16", "unsigned short": "uint16",
    "int": "int32", "signed": "int32", "unsigned": "uint32", "unsigned int": "uint32",
    "long": _LONG, "unsigned long": f"u{_LONG}", "long long": "int64",
    "unsigned long long": "uint64", "size_t": "uint64", "ptrdiff_t": "int64", "ssize_t": "int64",
    "intptr_t": "int64", "uintptr_t": "uint64", "_Float16": "float16", "__bf16": "bfloat16",
    "float complex": "complex64", "float _Complex": "complex64", "double complex": "complex128",
    "double _Complex": "complex128", "complex float": "complex64", "_Complex float": "complex64",
    "complex double": "complex128", "_Complex double": "complex128", "void": "void",
    **{f"{sign}int{bits}_t": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}}
_SPELLINGS = {"long int": "long", "short int": "short", "long long int": "long long",
              "unsigned long int": "unsigned long", "unsigned short int": "unsigned short",
              "unsigned long long int": "unsigned long long", "long unsigned int": "unsigned long",
              "signed int": "int", "long signed int": "long",
              "short unsigned int": "unsigned short"}
_NOISE = {"restrict", "__restrict", "__restrict__", "volatile", "register", "inline", "__inline",
          "extern", "struct"}
_CTYPES = {getattr(ctypes, f"c_{name}"): np.dtype(getattr(ctypes, f"c_{name}")).name
           for name in ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
                        "uint64", "float", "double")}


# -- users' descriptions ---------------------------------------------------------------------------

_ARRAY = re.compile(r"^([A-Za-z_]\w*)\s*\[(.*)\]$")


def _wrong(rule: str, *facts: str, hint: str | None = None) -> ValueError:
    return ValueError(explain(PUBLIC, rule, *facts, hint=hint))


def _dtype(name: Any) -> str | None:
    """The name of a dtype, or None for other values."""
    if not isinstance(name, str):
        try:
            name = np.dtype(name).name
        except TypeError:
            return None
    name = _C_NAMES.get(name, name)
    return name if name in DATA_TYPES else None


def _parameter(given: Any, number: int) -> Parameter:
    """A parameter from the user's description."""
    if isinstance(given, Parameter):
        return given._replace(number=number if given.kind != "size" else -1)
    if hasattr(given, "shape") and hasattr(given, "dtype"):
        return Parameter("array", np.dtype(given.dtype).name, number, tuple(given.shape))
    text = given.strip() if isinstance(given, str) else given
    if isinstance(text, str) and (match := _ARRAY.match(text)):
        dtype = _dtype(match[1])
        dims = [_dimension(d.strip(), text) for d in match[2].split(",")] if match[2] else []
        if dtype is None or "..." in dims[1:]:
            raise _wrong("this is not a type of an array.", f"found: {text!r}",
                         hint='"float32[n,3]" is one; "..." may come first among its sizes.')
        return Parameter("array", dtype, number, tuple(dims))
    dtype = _dtype(text)
    if dtype is not None:
        if dtype not in BY_VALUE:
            raise _wrong("numbers of this dtype are passed by address only.", f"found: {text!r}",
                         hint=f'"{dtype}[]" is an array without dimensions.')
        return Parameter("value", dtype, number)
    if isinstance(text, str) and (text == "..." or text.isidentifier()):
        return Parameter("size", _LONG, -1, (text,))
    raise _wrong("this does not describe a parameter of a C function.", f"found: {given!r:.100}",
                 hint='arrays are written "float32[n,3]", numbers "float32", sizes "n".')


def _dimension(text: str, whole: str) -> str | int:
    if text.isdigit():
        return int(text)
    if text == "..." or text.isidentifier():
        return text
    raise _wrong("a size must be a name, a number, or ... in front.", f"found: {whole!r}")


def described(name: str, key: Any, in_types: Sequence[Any], out_types: Sequence[Any],
              returns: str) -> CFunction:
    """The function whose parameters are those of ``in_types``, then those of ``out_types``."""
    outs = [_parameter(t, n) for n, t in enumerate(out_types)]
    ins: list[Parameter] = []
    for given in in_types:
        count = len(outs) + sum(p.kind != "size" for p in ins)
        ins.append(_parameter(given, count))
    if not outs:
        raise _wrong("out_types must describe the results.", f"function: {name}")
    if any(p.kind == "size" for p in outs):
        raise _wrong("a size is not a result.", f"out_types: {list(out_types)}")
    if [p.kind for p in outs] == ["value"] and all(p.kind == "value" for p in ins):
        return CFunction(name, key, tuple(ins), 1, outs[0].dtype)
    if any(p.kind == "value" for p in outs):
        raise _wrong(
            "a number is a result only of a function that takes nothing but numbers.",
            f"in_types:  {list(in_types)}", f"out_types: {list(out_types)}",
            hint='"float32[]" is an array without dimensions, passed by address.')
    known = {d for p in ins if p.kind == "array" for d in p.dims if isinstance(d, str)}
    for p in (*(p for p in ins if p.kind == "size"), *outs):
        missing = [d for d in p.dims if isinstance(d, str) and d not in known]
        if missing:
            raise _wrong("each size must be one of an array in in_types.",
                         f"size:     {missing[0]}", f"in_types: {list(in_types)}")
    return CFunction(name, key, (*ins, *outs), len(outs), returns)


# -- declarations in C source ----------------------------------------------------------------------


class Declared(NamedTuple):
    """A parameter or a return type, as written in C."""

    dtype: str | None
    pointers: int
    is_const: bool
    text: str


class Declaration(NamedTuple):
    """The head of a C function."""

    name: str
    returns: Declared
    parameters: tuple[Declared, ...]

    def __str__(self) -> str:
        inside = ", ".join(p.text for p in self.parameters)
        return f"{self.returns.text} {self.name}({inside})"


_BLANKED = re.compile(
    r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|^[ \t]*#(?:\\\n|[^\n])*",
    re.DOTALL | re.MULTILINE)
_ATTRIBUTE = re.compile(r"\b__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)")
_HEAD = re.compile(r"^(.*?[\s*])(\w+)\s*\(([^()]*)\)\s*$", re.DOTALL)


def declared(source: str, name: str | None = None) -> Declaration:
    """The head of the named function; without a name, of the only function that is not static."""
    found = [d for d in map(_declaration, _heads(source)) if d is not None]
    chosen = [d for d in found if name in (None, d.name)]
    if len(chosen) != 1:
        names = ", ".join(d.name for d in found) or "none"
        raise _wrong(
            "the source must define one function that is not static." if name is None else
            "the source must define the function of that name.",
            *([] if name is None else [f"name: {name}"]), f"functions found: {names}",
            hint="name='f' selects a function; make helpers static."
            if len(found) > 1 else None)
    return chosen[0]


def _heads(source: str) -> list[str]:
    """The text before the braces at the top level of the source."""
    text = _ATTRIBUTE.sub(" ", _BLANKED.sub(" ", source))
    heads, depth, start = [], 0, 0
    for match in re.finditer(r"[{};]", text):
        if match[0] == "{":
            if depth == 0:
                heads.append(text[start:match.start()])
            depth += 1
        else:
            depth -= match[0] == "}"
            if depth == 0:
                start = match.end()
    return heads


def _declaration(head: str) -> Declaration | None:
    """The function of a head; None for static functions and other code."""
    match = _HEAD.match(head.strip())
    if match is None or "static" in match[1].split() or "=" in match[1]:
        return None
    inside = match[3].strip()
    parameters = [] if inside in ("", "void") else inside.split(",")
    return Declaration(match[2], _declared(match[1]),
                       tuple(_declared(p, named=True) for p in parameters))


def _declared(text: str, named: bool = False) -> Declared:
    words = re.findall(r"\w+|\*|\[", text)
    if named and len(words) > 1 and words[-1] not in ("*", "[") or "[" in words:
        place = words.index("[") - 1 if "[" in words else -1
        if " ".join(w for w in words if w not in _NOISE and w not in ("*", "[", "const")
                    ) not in _C_NAMES:
            words.pop(place)
    base = [w for w in words if w not in _NOISE and w not in ("*", "[", "const")]
    spelled = " ".join(base)
    return Declared(_C_NAMES.get(_SPELLINGS.get(spelled, spelled)),
                    words.count("*") + words.count("["), "const" in words, " ".join(text.split()))


def inferred(head: Declaration) -> tuple[list[Parameter], list[Parameter]]:
    """The operands and results of an elementwise function.

    It has the form ``(long n, const T *x, ..., T *y, ...)``, or takes and returns numbers.
    """
    numbers = [p for p in head.parameters if not p.pointers and p.dtype in BY_VALUE]
    if len(numbers) == len(head.parameters) and numbers and not head.returns.pointers and (
            head.returns.dtype in BY_VALUE):
        return ([Parameter("value", str(p.dtype)) for p in numbers],
                [Parameter("value", str(head.returns.dtype))])
    size, arrays = head.parameters[:1], head.parameters[1:]
    ins = tuple(p for p in arrays if p.is_const)
    if not size or size[0].pointers or size[0].dtype not in ("int32", "int64", "uint64") or not (
            ins and len(ins) < len(arrays) and arrays[:len(ins)] == ins and all(
            p.pointers == 1 and p.dtype in DATA_TYPES for p in arrays)):
        raise _wrong(
            "in_types and out_types must describe a function of this form.", f"function: {head}",
            hint="(long n, const float *x, ..., float *y) needs no description: it works "
                 "elementwise.")
    made = [Parameter("array", str(p.dtype), -1, ("...",)) for p in arrays]
    count = Parameter("size", str(size[0].dtype), -1, ("...",))
    return [count, *made[:len(ins)]], made[len(ins):]


def checked(function: CFunction, head: Declaration) -> CFunction:
    """The function with the types of sizes from its declaration; all others must agree."""
    parameters = [Parameter(*p) for p in function.parameters]
    if len(parameters) != len(head.parameters):
        raise _wrong("in_types and out_types must describe each parameter of the function.",
                     f"function:  {head}", f"described: {len(parameters)} parameters")
    for n, (mine, its) in enumerate(zip(parameters, head.parameters)):
        sized = mine.kind == "size" and not its.pointers and its.dtype in BY_VALUE and (
            "int" in str(its.dtype))
        array = mine.kind == "array" and its.pointers == 1 and its.dtype in (mine.dtype, "void")
        value = mine.kind == "value" and not its.pointers and its.dtype == mine.dtype
        if not (sized or array or value):
            raise _wrong("the description of a parameter does not match it.",
                         f"function:  {head}", f"parameter: {its.text}",
                         f"described: {_shown(mine)}")
        if sized:
            parameters[n] = mine._replace(dtype=str(its.dtype))
    return function._replace(parameters=tuple(parameters))


def returned(head: Declaration) -> str:
    """How a function of arrays reports errors."""
    its = head.returns
    if its.pointers == 0 and its.dtype == "void":
        return "void"
    if its.pointers == 0 and its.dtype == "int32":
        return CODE
    if its.pointers == 1 and its.dtype == "int8":
        return MESSAGE
    raise _wrong("a function of arrays must return nothing, or an error.", f"function: {head}",
                 hint="void; int, which is 0 for success; or const char *, a text or NULL.")


def _shown(parameter: Parameter) -> str:
    if parameter.kind == "size":
        return f"{parameter.dims[0]}, a size"
    if parameter.kind == "value":
        return parameter.dtype
    return f"{parameter.dtype}[{','.join(map(str, parameter.dims))}]"


def from_ctypes(function: Any) -> tuple[list[Parameter], list[Parameter]] | None:
    """The operands and the result of a function of ctypes' whose types are set and numbers."""
    types, result = getattr(function, "argtypes", None), getattr(function, "restype", None)
    if not types or result not in _CTYPES or any(t not in _CTYPES for t in types):
        return None
    return [Parameter("value", _CTYPES[t]) for t in types], [Parameter("value", _CTYPES[result])]


# -- shapes ----------------------------------------------------------------------------------------


def is_leading(function: CFunction, number: int) -> bool:
    """Whether an operand or result has any number of leading dimensions; results count first."""
    if function.returns in BY_VALUE:
        return True
    return any(p[2] == number and p[0] == "array" and p[3][:1] == ("...",)
               for p in function.parameters)


def result_types(function: CFunction, shapes: Sequence[tuple[int, ...]]) -> list[ShapedArray]:
    """The types of results for operands of some shapes with equal leading dimensions."""
    if function.returns in BY_VALUE:
        return [ShapedArray(shapes[0], np.dtype(function.returns))]
    outs = [Parameter(*p) for p in function.parameters[-function.results:]]
    sizes: dict[str, int] = {}
    leading: tuple[int, ...] = ()
    for p, shape in zip(function.operands, shapes, strict=True):
        dims = p.dims[1:] if p.dims[:1] == ("...",) else p.dims
        count = len(shape) - len(dims)
        if count < 0 or count > 0 and dims == p.dims or any(
                size != (d if isinstance(d, int) else sizes.setdefault(d, size))
                for d, size in zip(dims, shape[count:])):
            raise TypeError(explain(
                PUBLIC, "an operand has another shape than the function takes.",
                f"function: {function.name}", f"operand:  {ShapedArray(shape, np.dtype(p.dtype))}",
                f"takes:    {_shown(p)}", *([f"sizes so far: {sizes}"] if sizes else [])))
        if dims != p.dims:
            leading = shape[:count]
    return [ShapedArray(tuple(
        size for d in p.dims for size in (leading if d == "..." else (
            (d,) if isinstance(d, int) else (sizes[d],)))), np.dtype(p.dtype)) for p in outs]
