"""Sorting in compiled code: numbers become integers in the same order, and integers are sorted.

Each element is packed with data that distinguishes elements of equal keys: the bits of the number,
or its position, by which other operands are read afterwards. Packing and unpacking are ordinary
nests, so that they fuse with their neighbours; between them is a library call, or for short lines a
sorting network.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .._base.tuples import NamedTuple
from .._loops import build
from .._loops.expr import Expr
from .._loops.instructions import width
from .._loops.nest import Buffer, Statement
from .operands import letter

__all__ = ["sort_statements", "top_statements"]

_NETWORK = 16
"""Lines of up to this many elements are sorted by a network."""
_CANDIDATES = 32
"""The least number of elements searched at a time."""

Words = tuple[Expr, ...]
Element = Callable[[Sequence[Expr], Expr], Words]
"""The words of the element at a place of a line, given the line."""


class _Lines:
    """An array seen as lines along one of its dimensions."""

    def __init__(self, shape: Sequence[int], axis: int):
        self.axis, self.size = axis, shape[axis]
        self.shape = (*shape[:axis], *shape[axis + 1:])

    def at(self, line: Sequence[Expr], i: Expr) -> tuple[Expr, ...]:
        """The index of the element at a place of a line."""
        return (*line[:self.axis], i, *line[self.axis:])

    def split(self, at: Sequence[Expr]) -> tuple[Sequence[Expr], Expr]:
        """The line, and the place in it, of an index."""
        return (*at[:self.axis], *at[self.axis + 1:]), at[self.axis]


class _Packing(NamedTuple):
    """A key above a number, each with a number of bits: in one integer, or in two."""

    key_bits: int
    low_bits: int

    @property
    def is_pair(self) -> bool:
        return self.key_bits + self.low_bits > 64

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(np.uint64) if self.is_pair else _unsigned(self.key_bits + self.low_bits)

    def pack(self, key: Expr, low: Expr) -> Words:
        key, low = (build.convert(part, self.dtype) for part in (key, low))
        if self.is_pair:
            return low, key
        return ((key << build.const(8 * self.dtype.itemsize - self.key_bits, self.dtype)) | low,)

    def low(self, words: Words) -> Expr:
        """The number below the key."""
        if self.is_pair:
            return words[0]
        return words[0] & build.const((1 << self.low_bits) - 1, self.dtype)


def _unsigned(bits: int) -> np.dtype:
    """The unsigned dtype with room for some bits."""
    return np.dtype(f"uint{max(8, 1 << (bits - 1).bit_length())}")


# -- keys ------------------------------------------------------------------------------------------


def _key_bits(dtype: np.dtype) -> int:
    if letter(dtype) == "f":
        return 32 if dtype.itemsize == 1 else 8 * dtype.itemsize
    return 8 * _unsigned(width(dtype)).itemsize


def _key(x: Expr, total: bool = False) -> Expr:
    """An unsigned integer in the order of numbers; equal for both zeros, and for all NaNs.

    In the ``total`` order, different floats have different keys.
    """
    kind, bits = letter(x.dtype), _key_bits(x.dtype)
    signed, unsigned = (np.dtype(f"{sign}int{bits}") for sign in ("", "u"))
    if kind in "bu":
        return build.convert(x, unsigned)
    lowest = build.const(-1 << bits - 1, signed)
    if kind == "i":
        return build.op("bitcast", build.convert(x, signed) ^ lowest, dtype=unsigned)
    if x.dtype.itemsize == 1:
        x = build.convert(x, np.float32)
    if not total:
        nan, zero = build.const(np.nan, x.dtype), build.const(0.0, x.dtype)
        x = build.select(build.ne(x, x), nan, build.select(build.eq(x, 0), zero, x))
    x = build.op("bitcast", x, dtype=signed)
    # Negative numbers have all bits flipped, others the sign bit.
    return build.op("bitcast", x ^ ((x >> build.const(bits - 1, signed)) | lowest), dtype=unsigned)


def _number(key: Expr, dtype: np.dtype) -> Expr:
    """The integer or bool that has a key."""
    if letter(dtype) != "i":
        return build.convert(key, dtype)
    bits = 8 * key.dtype.itemsize
    turned = key ^ build.const(1 << bits - 1, key.dtype)
    return build.convert(build.op("bitcast", turned, dtype=np.dtype(f"int{bits}")), dtype)


def _parts(x: Expr) -> list[Expr]:
    """The real numbers by which a number is ordered."""
    return [build.op(part, x) for part in ("real", "imag")] if letter(x.dtype) == "c" else [x]


# -- sorting ---------------------------------------------------------------------------------------


def sort_statements(into: Sequence[Buffer], operands: Sequence, axis: int, num_keys: int,
                    ) -> list[Statement]:
    """Statements that sort operands together along an axis by the first ``num_keys``, stably."""
    lines = _Lines(into[0].shape, axis)
    if lines.size < 2 or 0 in lines.shape:
        return [build.copy(out, x) for out, x in zip(into, operands)]
    if len(operands) == 1 and letter(into[0].dtype) in "biu":
        return _sort_integers(into[0], operands[0], lines)
    if len(operands) == 1 and letter(into[0].dtype) == "f" and lines.size > _NETWORK and (
            into[0].dtype.itemsize > 1):
        return _sort_floats(into[0], operands[0], lines)
    position, statements = _positions(operands[:num_keys], lines)
    return statements + _fetch(into, operands, lines, position)


def _sort_integers(out: Buffer, x, lines: _Lines) -> list[Statement]:
    """An integer is its own key."""
    packing = _Packing(_key_bits(x.dtype), 0)
    read, statements = _sorted("sorted", lines, packing, lambda line, i: (
        _key(x[lines.at(line, i)]),))
    return [*statements, build.nest(out.shape, lambda k: [
        build.store(out, k, _number(read(*lines.split(k))[0], out.dtype))])]


def _sort_floats(out: Buffer, x, lines: _Lines) -> list[Statement]:
    """The bits of each number accompany its key, because several numbers may share a key."""
    bits = _key_bits(x.dtype)
    packing, raw = _Packing(bits, bits), _unsigned(bits)

    def element(line, i) -> Words:
        value = x[lines.at(line, i)]
        return packing.pack(_key(value), build.op("bitcast", value, dtype=raw))

    read, statements = _sorted("sorted", lines, packing, element)

    def number(k) -> Expr:
        low = build.convert(packing.low(read(*lines.split(k))), raw)
        return build.op("bitcast", low, dtype=out.dtype)

    return [*statements, build.nest(out.shape, lambda k: [build.store(out, k, number(k))])]


def _positions(keys: Sequence, lines: _Lines, total: bool = False, descending: bool = False,
               ) -> tuple[Callable[[Sequence[Expr], Expr], Expr], list[Statement]]:
    """The position of the element at a sorted place of a line, and statements that find it.

    Keys are sorted from the least important to the most important.
    """
    parts = [(x, n) for x in keys for n in range(2 if letter(x.dtype) == "c" else 1)]
    position: Callable[[Sequence[Expr], Expr], Expr] = lambda line, i: i
    statements: list[Statement] = []
    for round_, (x, part) in enumerate(reversed(parts)):
        real = np.zeros(0, x.dtype).real.dtype if letter(x.dtype) == "c" else x.dtype
        packing = _Packing(_key_bits(real), _position_bits(lines.size))

        def element(line, i, x=x, part=part, packing=packing, position=position) -> Words:
            place = position(line, i)
            key = _key(_parts(x[lines.at(line, place)])[part], total)
            return packing.pack(~key if descending else key, place)

        read, more = _sorted(f"sorted{round_}", lines, packing, element, distinct=round_ == 0)
        statements += more
        position = lambda line, i, read=read, packing=packing: build.as_index(
            packing.low(read(line, i)))
    return position, statements


def _position_bits(size: int) -> int:
    if size > 1 << 32:
        raise NotImplementedError("lines of more than 2**32 elements are not sorted.")
    return next(bits for bits in (8, 16, 32) if size <= 1 << bits)


def _fetch(into: Sequence[Buffer], operands: Sequence, lines: _Lines, position) -> list[Statement]:
    """Statements that store the elements of operands at positions in their lines."""
    def stores(k):
        line, i = lines.split(k)
        place = lines.at(line, position(line, i))
        return [build.store(out, k, x[place]) for out, x in zip(into, operands)]
    return [build.nest(into[0].shape, stores)]


def _sorted(name: str, lines: _Lines, packing: _Packing, element: Element, distinct: bool = True,
            ) -> tuple[Element, list[Statement]]:
    """The element at a position of a sorted line, and the statements that sort the lines.

    Elements of equal keys keep their order. With ``distinct``, they are ordered by the number below
    the key, or their order is unspecified.
    """
    words = (2,) if packing.is_pair else ()
    result = build.temp(name, (*lines.shape, lines.size, *words), packing.dtype)

    def read(line, i) -> Words:
        return tuple(result[(*line, i, n)] for n in range(2)) if words else (result[(*line, i)],)

    if distinct and not words and lines.size <= _NETWORK:
        return read, [build.nest(lines.shape, lambda line: _network(result, line, [
            element(line, build.const(i))[0] for i in range(lines.size)]))]
    given = build.temp(f"{name}_elements", result.shape, packing.dtype)
    spare = build.temp(f"{name}_spare", (1, lines.size, *words), packing.dtype)

    def pack(k):
        stored = element(k[:-1], k[-1])
        return [build.store(given, (*k, n) if words else k, word) for n, word in enumerate(stored)]

    return read, [
        build.nest((*lines.shape, lines.size), pack),
        build.extern("sort_lines", (result, spare), (given,), bits=packing.key_bits,
                     pairs=bool(words))]


def _network(result: Buffer, line: Sequence[Expr], values: list[Expr]) -> list[Statement]:
    """Stores of a line sorted by Batcher's odd-even merge network."""
    size = len(values)
    step = 1
    while step < size:
        gap = step
        while gap:
            for start in range(gap % step, size - gap, 2 * gap):
                for i in range(start, min(start + gap, size - gap)):
                    if i // (2 * step) == (i + gap) // (2 * step):
                        a, b = values[i], values[i + gap]
                        values[i], values[i + gap] = build.op("min", a, b), build.op("max", a, b)
            gap //= 2
        step *= 2
    return [build.store(result, (*line, i), value) for i, value in enumerate(values)]


# -- the first elements ----------------------------------------------------------------------------


def top_statements(into: Sequence[Buffer], x, axis: int, descending: bool) -> list[Statement]:
    """Statements that store the first elements along an axis in the total order, and positions."""
    lines, count = _Lines(x.shape, axis), into[0].shape[axis]
    if 0 in into[0].shape:
        return [build.nest(out.shape, lambda k, out=out: [build.store(
            out, k, build.const(0, out.dtype))]) for out in into]
    bits, room = _key_bits(x.dtype), max(_CANDIDATES, 2 * count)
    positions = build.Operand(x.shape, into[1].dtype, lambda at: build.convert(
        at[axis], into[1].dtype))
    if bits > 32 or lines.size <= _NETWORK or lines.size < 2 * room:
        position, statements = _positions([x], lines, total=True, descending=descending)
        return statements + _fetch(into, (x, positions), lines, position)
    keys = build.temp("keys", (*lines.shape, lines.size), _unsigned(bits))
    least = build.temp("least", (*lines.shape, count), np.uint64)
    spare = build.temp("spare", (1, 3, room), np.uint64)

    def key(k):
        value = _key(x[lines.at(k[:-1], k[-1])], total=True)
        return [build.store(keys, k, ~value if descending else value)]

    statements = [build.nest(keys.shape, key),
                  build.extern("least_of_lines", (least, spare), (keys,))]
    return statements + _fetch(into, (x, positions), lines, lambda line, i: build.as_index(
        least[(*line, i)] & build.const(0xFFFFFFFF, np.uint64)))
