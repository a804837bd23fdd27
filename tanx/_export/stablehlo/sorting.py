"""Sorting, and the greatest or least elements."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..._ops.operands import letter
from ..._ops.sort import approx_top_k_p, top_k_p
from .block import Block, Type, Value
from .instructions import instruction
from .rules import rule

__all__: list[str] = []


@rule("sort")
def _sort(block: Block, outs: Sequence[Type], *operands: Value, dimension, is_stable, num_keys):
    inner = block.region(isolated=True)
    arguments = [inner.argument(Type((), x.dtype)) for x in operands for _ in range(2)]
    pairs = list(zip(arguments[::2], arguments[1::2]))[:num_keys]
    less: Value | None = None
    for a, b in reversed([keys for pair in pairs for keys in _keys(inner, *pair)]):
        order = "TOTALORDER" if letter(a.dtype) == "f" else ""
        first = inner.compare("LT", a, b, order=order)
        less = first if less is None else inner.same(
            "or", first, inner.same("and", inner.compare("EQ", a, b, order=order), less))
    assert less is not None
    inner.end(less)
    return _sorted(block, operands, dimension, is_stable, (arguments, inner))


def _sorted(block: Block, operands: Sequence[Value], dimension: int, is_stable: bool,
            region) -> list[Value]:
    return block.generic("sort", operands, [x.type for x in operands],
                         {"dimension": f"{dimension} : i64", "is_stable": str(is_stable).lower()},
                         [region])


def _keys(block: Block, a: Value, b: Value) -> list[tuple[Value, Value]]:
    """The keys of two elements: complex numbers have their real, then their imaginary part."""
    kind = letter(a.dtype)
    if kind == "c":
        real = a.type.of(np.zeros((), a.dtype).real.dtype)
        parts = [[instruction(block, part, real, x) for x in (a, b)] for part in ("real", "imag")]
        return [key for pair in parts for key in _keys(block, *pair)]
    return [(_canonical(block, a), _canonical(block, b))] if kind == "f" else [(a, b)]


def _canonical(block: Block, x: Value) -> Value:
    """A canonical number for those that sort equally: zeros of both signs, and all NaNs."""
    zero, nan = block.constant(0, x.type), block.constant(np.nan, x.type)
    x = block.select(block.compare("EQ", x, zero), zero, x)
    return block.select(block.compare("NE", x, x), nan, x)


@rule("top_k", "approx_top_k")
def _top_k(block: Block, outs: Sequence[Type], x: Value, **params):
    """The first elements after sorting all of them with their positions."""
    primitive = approx_top_k_p if "is_max_k" in params else top_k_p
    axis, count, descending = primitive.choice(x.shape, **params)
    inner = block.region(isolated=True)
    types = (x.dtype, x.dtype, np.dtype(np.int32), np.dtype(np.int32))
    arguments = [inner.argument(Type((), dtype)) for dtype in types]
    order = "TOTALORDER" if letter(x.dtype) == "f" else ""
    inner.end(inner.compare("GT" if descending else "LT", *arguments[:2], order=order))
    places = block.iota(x.type.of(np.int32), axis)
    results = _sorted(block, [x, places], axis, True, (arguments, inner))
    stops = [count if d == axis else n for d, n in enumerate(x.shape)]
    return [block.slice(y, [0] * x.ndim, stops) for y in results]
