"""How StableHLO spells types and constants."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...dtypes import finfo, float0, stored
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
    """A number as LLVM prints it: seven digits, or as many as the type has, or the bits.

    MLIR reads decimals as doubles and converts them: the result must have the same bits.
    """
    if np.isfinite(x):
        for text in (_seven_digits(float(x)), _all_digits(float(x), _precision(x.dtype))):
            if "." in text and np.asarray(float(text)).astype(x.dtype) == x:
                return text
    bits = np.asarray(x).view(f"u{x.dtype.itemsize}")
    return f"0x{int(bits):0{2 * x.dtype.itemsize}X}"


def _precision(dtype: np.dtype) -> int:
    """The number of bits of a significand."""
    return finfo(dtype).nmant + 1


def _seven_digits(x: float) -> str:
    digits, exponent = _digits(x, 6)
    sign = "-" if math.copysign(1, x) < 0 else ""
    return f"{sign}{digits[0]}.{digits[1:]:0<6}e{exponent:+03d}"


def _all_digits(x: float, bits: int) -> str:
    """The digits of a significand of ``bits``; with an exponent if there were too many zeros.

    >>> _all_digits(0.7, 24), _all_digits(1.23e-5, 24), _all_digits(7.0, 24)
    ('0.7', '1.23E-5', '7')
    """
    precision = 2 + _decimals(bits)
    digits, exponent = _digits(x, precision)
    sign = "-" if x < 0 else ""
    zeros = exponent + 1 - len(digits)  # at the end
    if exponent < -3 or zeros > 3 or zeros >= 0 and exponent >= precision:
        return f"{sign}{digits[0]}.{digits[1:] or 0}E{exponent:+d}"
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    whole, part = digits[:exponent + 1], digits[exponent + 1:]
    return f"{sign}{whole:0<{exponent + 1}}{'.' * bool(part)}{part}"


def _digits(x: float, precision: int) -> tuple[str, int]:
    """Significant digits, at most ``precision``, and the exponent of the first.

    LLVM cuts off most digits before it rounds, so 0.9f, which is 0.89999998, has more than six.
    """
    if not x:
        return "0", 0
    numerator, denominator = abs(x).as_integer_ratio()
    last = 1 - denominator.bit_length()  # the exponent of the last digit
    value = numerator * 5 ** -last
    surplus = max(0, _decimals(value.bit_length() - -(-precision * 196 // 59)))
    value, last = value // 10 ** surplus, last + surplus
    surplus = len(str(value)) - precision
    if surplus > 0:
        value, last = (value + 5 * 10 ** (surplus - 1)) // 10 ** surplus, last + surplus
    digits = str(value)
    return digits.rstrip("0"), last + len(digits) - 1


def _decimals(bits: int) -> int:
    """The number of whole decimal digits in some bits."""
    return bits * 59 // 196
