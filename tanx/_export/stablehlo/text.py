"""How StableHLO spells types and constants."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...dtypes import float0, stored
from ...errors import explain

__all__ = ["array_of", "attribute", "dense", "escaped", "listed", "scalar_type", "stored_dtype",
           "symbol", "tensor_type"]

HEX_ABOVE = 100
"""Constants of up to this many elements are written as numbers, as MLIR's printer does."""

_NAMES = {
    "bool": "i1", "bfloat16": "bf16", "complex64": "complex<f32>", "complex128": "complex<f64>",
    "float4_e2m1fn": "f4E2M1FN", "float6_e2m3fn": "f6E2M3FN", "float6_e3m2fn": "f6E3M2FN",
    "float8_e3m4": "f8E3M4", "float8_e4m3": "f8E4M3", "float8_e4m3b11fnuz": "f8E4M3B11FNUZ",
    "float8_e4m3fn": "f8E4M3FN", "float8_e4m3fnuz": "f8E4M3FNUZ", "float8_e5m2": "f8E5M2",
    "float8_e5m2fnuz": "f8E5M2FNUZ", "float8_e8m0fnu": "f8E8M0FNU"}


def stored_dtype(dtype) -> np.dtype:
    """The dtype that values have inside a program.

    Keys are single numbers there, as in all of tanx: two words are an integer of 64 bits. Tangents
    of integers, which have no values, are booleans.
    """
    return np.dtype(bool) if dtype == float0 else np.dtype(stored(dtype))


def scalar_type(dtype: np.dtype) -> str:
    """A dtype as the type of an element.

    >>> scalar_type(np.dtype("uint8")), scalar_type(np.dtype("complex64"))
    ('ui8', 'complex<f32>')
    """
    name = dtype.name
    if name in _NAMES:
        return _NAMES[name]
    kind = name.rstrip("0123456789")
    return {"int": "i", "uint": "ui", "float": "f"}[kind] + name.removeprefix(kind)


def tensor_type(shape: Iterable[int], dtype: np.dtype) -> str:
    """The type of an array.

    >>> tensor_type((3, 4), np.dtype("float32")), tensor_type((), np.dtype("bool"))
    ('tensor<3x4xf32>', 'tensor<i1>')
    """
    return f"tensor<{''.join(f'{n}x' for n in shape)}{scalar_type(dtype)}>"


def listed(numbers: Iterable) -> str:
    """Numbers or booleans in brackets."""
    return f"[{', '.join(str(n).lower() for n in numbers)}]"


def array_of(numbers: Iterable[int]) -> str:
    """Integers as a separate attribute."""
    entries = ", ".join(map(str, numbers))
    return f"array<i64: {entries}>" if entries else "array<i64>"


def symbol(name: str) -> str:
    """A name in the form that may follow ``@``.

    >>> symbol("jit_<lambda>")
    'jit__lambda'
    """
    return re.sub(r"[^\w.-]", "_", name).rstrip("_") or "_"


def escaped(text: str) -> str:
    """Text escaped for quotation marks."""
    return text.replace("\\", "\\\\").replace('"', '\\"')


# -- constants -------------------------------------------------------------------------------------


def attribute(value: Any) -> str:
    """A value of Python or NumPy as an attribute.

    >>> attribute(3), attribute(0.5), attribute("near"), attribute([True, np.float32(1)])
    ('3 : i64', '5.000000e-01 : f64', '"near"', '[true, 1.000000e+00 : f32]')
    """
    match value:
        case bool() | np.bool_():
            return str(bool(value)).lower()
        case str():
            return f'"{escaped(value)}"'
        case np.dtype() | type():
            return scalar_type(np.dtype(value))
        case list() | tuple():
            return f"[{', '.join(map(attribute, value))}]"
        case dict():
            return f"{{{', '.join(f'{key} = {attribute(x)}' for key, x in value.items())}}}"
        case int() | float() | np.generic():
            number = np.asarray(value)
            return f"{_number(number[()])} : {scalar_type(number.dtype)}"
        case np.ndarray():
            return f"{dense(value)} : {tensor_type(value.shape, value.dtype)}"
    raise TypeError(explain(
        "tanx.stages.Lowered.as_text", "attributes of a composite are numbers, strings, dtypes, "
        "NumPy's arrays, and sequences of these.", f"attribute: {value!r:.100}"))


def dense(values: np.ndarray) -> str:
    """The elements of a constant: one number if all are the same, bytes if there are many.

    >>> dense(np.float32([0.5, -np.inf])), dense(np.zeros((2, 2), int)), dense(np.ones(0))
    ('dense<[5.000000e-01, 0xFF800000]>', 'dense<0>', 'dense<>')
    """
    if not values.size:
        return "dense<>"
    flat = np.ascontiguousarray(values).reshape(-1)
    raw = flat.view(np.uint8).reshape(flat.size, -1)
    if (raw == raw[0]).all():
        return f"dense<{_number(flat[0])}>"
    # Booleans and integers of 4 bits are packed in MLIR's bytes, so they are written as numbers.
    if values.size > HEX_ABOVE and values.dtype != bool and "int4" not in values.dtype.name:
        little = flat.astype(flat.dtype.newbyteorder("<")) if flat.dtype.isnative else flat
        return f'dense<"0x{little.tobytes().hex().upper()}">'
    return f"dense<{_nested(values)}>"


def _nested(values: np.ndarray) -> str:
    if not values.ndim:
        return _number(values[()])
    return f"[{', '.join(map(_nested, values))}]"


def _number(x) -> str:
    dtype = x.dtype
    if dtype.kind == "b":
        return "true" if x else "false"
    if dtype.kind == "c":
        return f"({_number(x.real)}, {_number(x.imag)})".replace(" ", "")
    return str(int(x)) if "int" in dtype.name else _float(x)


def _float(x) -> str:
    """A decimal that MLIR, which reads it as a double, converts to the same bits; or the bits."""
    if np.isfinite(x):
        for digits in (f"{float(x):.6e}", f"{float(x):.16e}"):
            if np.asarray(float(digits)).astype(x.dtype) == x:
                return digits
    bits = np.asarray(x).view(f"u{x.dtype.itemsize}")
    return f"0x{int(bits):0{2 * x.dtype.itemsize}X}"
