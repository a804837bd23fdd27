"""The instructions of loop nests as operations of StableHLO, on arrays of one shape.

``special.py`` replaces instructions that StableHLO lacks before.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..._loops.instructions import kind_of, width
from .block import Block, Type, Value

__all__ = ["extremum", "instruction"]

_BOOL = np.dtype(bool)

_SAME = {
    "add": "add", "sub": "subtract", "mul": "multiply", "div": "divide", "rem": "remainder",
    "atan2": "atan2", "neg": "negate", "exp": "exponential",
    "expm1": "exponential_minus_one", "log": "log", "log1p": "log_plus_one", "sin": "sine",
    "cos": "cosine", "tan": "tan", "tanh": "tanh", "sqrt": "sqrt", "rsqrt": "rsqrt", "cbrt": "cbrt",
    "logistic": "logistic", "floor": "floor", "ceil": "ceil", "round_away": "round_nearest_afz",
    "round_even": "round_nearest_even", "and": "and", "or": "or", "xor": "xor", "not": "not",
    "shift_left": "shift_left", "shift_right_logical": "shift_right_logical",
    "shift_right_arithmetic": "shift_right_arithmetic", "clamp": "clamp"}
"""Operations whose result has the type of the operands."""

_COMPARED = {"eq": "EQ", "ne": "NE", "lt": "LT", "le": "LE", "gt": "GT", "ge": "GE"}


def instruction(block: Block, name: str, out: Type, *args: Value, **attrs) -> Value:
    """Write one instruction; its result."""
    if name in _SPECIFIC:
        return _SPECIFIC[name](block, out, *args, **attrs)
    if name in _COMPARED:
        return block.compare(_COMPARED[name], *args)
    return block.same(_SAME[name], *args)


def extremum(block: Block, name: str, x: Value, y: Value) -> Value:
    """The greater or the lesser; complex numbers are ordered by real part, then imaginary part."""
    if kind_of(x.dtype) != "c":
        return block.same({"max": "maximum", "min": "minimum"}[name], x, y)
    direction = {"max": "GT", "min": "LT"}[name]
    real, imag = ([_part(block, part, v) for v in (x, y)] for part in ("real", "imag"))
    first = block.compare(direction, *real)
    tied = block.same("and", block.compare("EQ", *real), block.compare(direction, *imag))
    return block.select(block.same("or", first, tied), x, y)


def _part(block: Block, part: str, x: Value) -> Value:
    return block.apply(part, [x], x.type.of(np.zeros((), x.dtype).real.dtype))


def _sign(block: Block, out: Type, x: Value) -> Value:
    if kind_of(x.dtype) == "u":
        return block.same("minimum", x, block.constant(1, x.type))
    return block.same("sign", x)


def _abs(block: Block, out: Type, x: Value) -> Value:
    return block.same("abs", x) if out == x.type else block.apply("abs", [x], out)


def _select(block: Block, out: Type, condition: Value, x: Value, y: Value) -> Value:
    return block.select(condition, x, y)


def _keep(block: Block, out: Type, condition: Value, x: Value) -> Value:
    return block.select(condition, x, block.constant(0, x.type))


def _power(block: Block, out: Type, x: Value, y: Value) -> Value:
    return block.same("power", x, block.convert(y, x.dtype))


def _convert(block: Block, out: Type, x: Value, *, dtype) -> Value:
    """A conversion; complex numbers lose their imaginary part, booleans are x != 0."""
    if x.dtype == dtype:
        return x
    if dtype == _BOOL:
        return block.compare("NE", x, block.constant(0, x.type))
    if kind_of(x.dtype) == "c" and kind_of(dtype) != "c":
        x = _part(block, "real", x)
    return block.convert(x, dtype)


def _bitcast(block: Block, out: Type, x: Value, *, dtype) -> Value:
    return x if x.dtype == dtype else block.apply("bitcast_convert", [x], out)


def _of_few_bits(operation: str) -> Callable:
    """Counts of bits; integers of fewer than 8 bits are counted as the low bits of 8."""
    def count(block: Block, out: Type, x: Value) -> Value:
        bits = width(x.dtype)
        if bits >= 8:
            return block.same(operation, x)
        wide = x.type.of(np.uint8)
        low = block.same("and", block.convert(x, np.uint8), block.constant((1 << bits) - 1, wide))
        made = block.same(operation, low)
        if operation == "count_leading_zeros":
            made = block.same("subtract", made, block.constant(8 - bits, wide))
        return block.convert(made, x.dtype)
    return count


def _is_finite(block: Block, out: Type, x: Value) -> Value:
    return block.apply("is_finite", [x], out)


def _reduce_precision(block: Block, out: Type, x: Value, *, exponent_bits, mantissa_bits) -> Value:
    return block.write(f"stablehlo.reduce_precision {x}, format = "
                       f"e{exponent_bits}m{mantissa_bits} : {x.type}", out)[0]


def _complex(block: Block, out: Type, x: Value, y: Value) -> Value:
    return block.apply("complex", [x, y], out)


def _conj(block: Block, out: Type, x: Value) -> Value:
    return _complex(block, out, _part(block, "real", x),
                    block.same("negate", _part(block, "imag", x)))


def _total_order(direction: str) -> Callable:
    def compare(block: Block, out: Type, x: Value, y: Value) -> Value:
        return block.compare(direction, x, y, order="TOTALORDER")
    return compare


def _floor_div(block: Block, out: Type, x: Value, y: Value) -> Value:
    """The quotient towards zero, minus one if that rounded up."""
    quotient = block.same("divide", x, y)
    if kind_of(x.dtype) == "u":
        return quotient
    left = block.same("remainder", x, y)
    return block.same("subtract", quotient, block.convert(_is_below(block, left, y), x.dtype))


def _floor_mod(block: Block, out: Type, x: Value, y: Value) -> Value:
    """The remainder with the sign of the divisor."""
    left = block.same("remainder", x, y)
    if kind_of(x.dtype) == "u":
        return left
    return block.select(_is_below(block, left, y), block.same("add", left, y), left)


def _is_below(block: Block, left: Value, y: Value) -> Value:
    """Whether a remainder has the opposite sign of the divisor."""
    zero = block.constant(0, left.type)
    signs = block.compare("NE", block.compare("LT", left, zero), block.compare("LT", y, zero))
    return block.same("and", block.compare("NE", left, zero), signs)


def _mulhi(block: Block, out: Type, x: Value, y: Value) -> Value:
    """The upper half of a product, in twice the width if there is such a dtype."""
    bits, kind = width(x.dtype), kind_of(x.dtype)
    shift = "shift_right_arithmetic" if kind == "i" else "shift_right_logical"
    if bits < 64:
        wide = out.of(f"{'u' if kind == 'u' else ''}int{2 * bits}")
        product = block.same("multiply", block.convert(x, wide.dtype), block.convert(y, wide.dtype))
        return block.convert(block.same(shift, product, block.constant(bits, wide)), x.dtype)
    half, low = block.constant(32, x.type), block.constant(0xFFFFFFFF, x.type)

    def times(a: Value, b: Value) -> Value:
        return block.same("multiply", a, b)

    def plus(a: Value, b: Value) -> Value:
        return block.same("add", a, b)
    x0, y0 = block.same("and", x, low), block.same("and", y, low)
    x1, y1 = block.same(shift, x, half), block.same(shift, y, half)
    carry = block.same("shift_right_logical", times(x0, y0), half)
    middle = plus(times(x1, y0), carry)
    rest = plus(times(x0, y1), block.same("and", middle, low))
    return plus(plus(times(x1, y1), block.same(shift, middle, half)),
                block.same(shift, rest, half))


_SPECIFIC: dict[str, Callable[..., Value]] = {
    "max": lambda block, out, x, y: extremum(block, "max", x, y),
    "min": lambda block, out, x, y: extremum(block, "min", x, y),
    "abs": _abs, "sign": _sign, "select": _select, "keep": _keep, "pow": _power,
    "convert": _convert,
    "bitcast": _bitcast, "is_finite": _is_finite, "reduce_precision": _reduce_precision,
    "complex": _complex, "conj": _conj, "floor_div": _floor_div, "floor_mod": _floor_mod,
    "real": lambda block, out, x: _part(block, "real", x),
    "imag": lambda block, out, x: _part(block, "imag", x),
    "population_count": _of_few_bits("popcnt"), "clz": _of_few_bits("count_leading_zeros"),
    "mulhi": _mulhi, "eq_to": _total_order("EQ"), "lt_to": _total_order("LT"),
    "le_to": _total_order("LE"),
}
