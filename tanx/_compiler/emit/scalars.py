"""Numbers in LLVM code, real or complex: their parts, their width, and how loops carry them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._loops.expr import Expr, bounds
from ..._loops.instructions import INDEX
from .complex import Pair
from .extremes import extreme_so_far
from .operations import apply
from .values import Value, Writer, any_lane, as_mask, resized

__all__ = ["Scalar", "across_lanes", "alike", "combined", "fitted", "flat", "from_registers",
           "in_registers", "is_small", "mapped", "poison", "renamed", "whole"]

Scalar = Value | Pair
"""A number, or one for each lane."""


def flat(value: Scalar) -> list[Value]:
    """The parts of a number: two of a complex one, otherwise one."""
    return [value.re, value.im] if isinstance(value, Pair) else [value]


def mapped(change: Callable[[Value], Value], value: Scalar) -> Scalar:
    """A number whose parts are changed."""
    parts = [change(part) for part in flat(value)]
    return Pair(*parts) if isinstance(value, Pair) else parts[0]


def poison(value: Scalar) -> Scalar:
    """An undefined number of the same type."""
    return mapped(lambda part: Value(part.writer, "poison", part.type), value)


def renamed(writer: Writer, value: Scalar) -> Scalar:
    """A fresh name for a value of the same type."""
    return mapped(lambda part: Value(writer, writer.fresh("%s"), part.type), value)


# -- widths ----------------------------------------------------------------------------------------


def is_small(expr: Expr) -> bool:
    """Whether an int64 provably fits in 32 bits."""
    low, high = bounds(expr)
    return -(1 << 31) <= low and high < 1 << 31


def whole(value: Any, dtype: np.dtype) -> Any:
    """A value in the width of its dtype: in lanes, an int64 may have 32 bits until it is stored."""
    return resized(value, 64) if dtype == INDEX else value


def fitted(value: Scalar, bits: int) -> Scalar:
    """An int64 in 32 or 64 bits."""
    return value if flat(value)[0].type.bits == bits else mapped(lambda v: resized(v, bits), value)


def alike(values: Sequence[Scalar]) -> list[Scalar]:
    """Values of one dtype in one width: of int64, some may have 32 bits."""
    bits = max(flat(value)[0].type.bits for value in values)
    return [fitted(value, bits) for value in values]


# -- loops -----------------------------------------------------------------------------------------


def _is_mask(value: Scalar) -> bool:
    return isinstance(value, Value) and value.is_mask


def in_registers(value: Any, like: Any) -> Scalar:
    """A value as a loop carries it: a mask as integers."""
    return value.spread(like.mask_bits) if _is_mask(like) else value


def from_registers(value: Any, like: Any) -> Scalar:
    """A value that a loop carries, converted back for use."""
    return as_mask(value) if _is_mask(like) else value


# -- reductions ------------------------------------------------------------------------------------


def combined(reducer: str, a: Scalar, b: Scalar, dtype: np.dtype) -> Scalar:
    """Two numbers of a dtype, combined by an instruction."""
    if reducer in ("max", "min") and isinstance(a, Value) and isinstance(b, Value) and (
            a.type.is_float and a.type == b.type):
        return extreme_so_far(reducer, a, b)
    return apply(reducer, (a, b), (dtype, dtype), dtype, {})


def across_lanes(reducer: str, value: Scalar, dtype: np.dtype, left: int = 1) -> Scalar:
    """Combine all lanes, halving them until ``left`` lanes remain."""
    if isinstance(value, Value) and value.is_mask and reducer in ("or", "and"):
        return any_lane(value) if reducer == "or" else ~any_lane(~value)
    while (lanes := flat(value)[0].type.lanes) > left:
        low, high = (_shuffled(value, half) for half in (range(lanes // 2),
                                                         range(lanes // 2, lanes)))
        value = combined(reducer, low, high, dtype)
    return value


def _shuffled(value: Scalar, lanes: Sequence[int]) -> Scalar:
    return mapped(lambda part: part.shuffled(lanes), value)
