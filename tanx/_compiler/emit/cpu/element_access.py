"""Elements at addresses: one, adjacent ones as a vector, or scattered ones, one per lane."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ...._loops.instructions import kind_of
from ...._loops.nest import Buffer
from ..addresses import POINTER, Addresses
from ..complex import Pair
from ..scalars import Scalar
from ..shuffles import by_turns, dealt, interleaved
from ..storage import from_memory, from_pairs, memory_type, part_dtype, to_memory
from ..values import I1, I32, Type, Value, Writer, type_of

__all__ = ["Elements"]

_SHUFFLED = 64
"""Lanes up to which LLVM builds an interleaved vector. It knows the instructions that store two to
four vectors interleaved, but needs 6 minutes to build 512 bytes from eight vectors (LLVM 22,
AVX-512), and 0.1 s if the shuffles are written out."""


class Elements:
    """Loads and stores elements of buffers at addresses."""

    def __init__(self, writer: Writer, addresses: Addresses):
        self.writer, self.addresses = writer, addresses
        self.tuning = writer.machine.tuning.access

    def plain(self, type: Type, place: Value, shift: int = 0) -> Value:
        """Elements as they are in memory, ``shift`` elements after an address."""
        if shift:
            place = self.writer.write(
                POINTER, f"getelementptr {type.element}, {place!r}, i64 {shift}")
        align = -(-type.bits // 8)
        return self.writer.write(type, f"load {type.text}, {place!r}, align {align}")

    def read(self, buffer: Buffer, place: Value, width: int = 1) -> Scalar:
        """An element, or as many adjacent ones as there are lanes."""
        dtype, type = buffer.dtype, memory_type(buffer.dtype)
        if kind_of(dtype) != "c":
            return from_memory(self.plain(type.of(width), place), dtype)
        both = self.plain(type.of(2 * width), place)
        return Pair(both.shuffled(range(0, 2 * width, 2)), both.shuffled(range(1, 2 * width, 2)))

    def read_pairs(self, place: Value, width: int) -> Value:
        """Adjacent 16-bit elements, loaded as half as many words: the even ones, then the odd
        ones."""
        half = width // 2
        return from_pairs(self.writer.write(
            I32.of(half), f"load <{half} x i32>, {place!r}, align 2"))

    def read_every(self, buffer: Buffer, place: Value, stride: int, width: int,
                   last: int) -> Scalar:
        """Elements at a small stride: all in between are loaded as well, and dropped.

        Memory after the last element is not read unless ``last``, the largest position in the
        buffer that any of them has, is far enough from its end.
        """
        parts = 2 if kind_of(buffer.dtype) == "c" else 1
        spare = stride - 1 if last + stride <= prod(buffer.shape) else 0
        count = (stride * (width - 1) + 1 + spare) * parts
        wide = self.plain(memory_type(buffer.dtype).of(count), place)
        found = [from_memory(wide.shuffled(range(part, count, stride * parts)[:width]),
                             part_dtype(buffer.dtype)) for part in range(parts)]
        return Pair(*found) if parts == 2 else found[0]

    def collect(self, buffer: Buffer, places: Sequence[Value]) -> Scalar:
        """Elements from some addresses, one for each lane."""
        def collect(shift: int) -> Value:
            type = memory_type(buffer.dtype).of(len(places))
            vector = Value(self.writer, "poison", type)
            for n, place in enumerate(places):
                vector = vector.with_lane(n, self.plain(type.of(1), place, shift))
            return from_memory(vector, part_dtype(buffer.dtype))
        return Pair(collect(0), collect(1)) if kind_of(buffer.dtype) == "c" else collect(0)

    def gather(self, buffer: Buffer, offsets: Value, start: Value | None = None) -> Scalar:
        """Elements at some positions of a buffer, or after ``start``, one for each lane."""
        base, further = start or self.addresses.base(buffer), self.addresses.further
        if offsets.type.lanes == 1:  # the same in all lanes after all
            return self.read(buffer, further(buffer, base, offsets))
        has_instruction = self.writer.has_masks and kind_of(buffer.dtype) != "c" and (
            memory_type(buffer.dtype).bits in (32, 64))
        if (has_instruction and offsets.type.lanes >= self.tuning.gathered_lanes
                and prod(buffer.shape) >= self.tuning.least_gathered):
            return self.gather_at_once(buffer, base, offsets)
        return self.collect(buffer, [further(buffer, base, offsets.lane(n))
                                     for n in range(offsets.type.lanes)])

    def gather_at_once(self, buffer: Buffer, base: Value, offsets: Value) -> Scalar:
        """Elements by the gather instruction of AVX-512.

        A million elements of tables that fit in caches take 0.6 to 0.9 times as long as one by one,
        of larger ones 0.9 (Cascade Lake).
        """
        type, lanes = memory_type(buffer.dtype).of(offsets.type.lanes), offsets.type.lanes
        places = self.writer.write(
            type_of("ptr", lanes), f"getelementptr {type.element}, {base!r}, {offsets!r}")
        name, mask = f"llvm.masked.gather.{type.suffix}.v{lanes}p0", I1.of(lanes).text
        self.writer.declared.setdefault(
            name, f"declare {type.text} @{name}({places.type.text}, i32, {mask}, {type.text})")
        align, all_lanes = type.of(1).bits // 8, f"{mask} splat (i1 true)"
        gathered = self.writer.write(type, f"call {type.text} @{name}("
                                     f"{places!r}, i32 {align}, {all_lanes}, {type.text} poison)")
        return from_memory(gathered, buffer.dtype)

    def write(self, buffer: Buffer, place: Value, value: Scalar) -> None:
        """Store an element, or adjacent ones."""
        if isinstance(value, Pair):
            value = interleaved(value.re, value.im)
        else:
            value = to_memory(value, buffer.dtype)
        align = -(-value.type.bits // 8)
        self.writer.place.lines.append(f"store {value!r}, {place!r}, align {align}")

    def write_by_turns(self, buffer: Buffer, start: Value, values: Sequence[Value],
                       width: int) -> None:
        """Store the first of ``width`` lanes of some values, then the second ones, and so on."""
        vectors = [to_memory(value.of(width), buffer.dtype) for value in values]
        pieces = [by_turns(vectors)]
        if len(vectors) * width > _SHUFFLED:
            size = min(width, _SHUFFLED)
            pieces = [piece for n in range(0, width, size) for piece in dealt(
                [_piece(vector, n, size, buffer.dtype) for vector in vectors])]
        for n, piece in enumerate(pieces):
            place = self.addresses.further(buffer, start, n * piece.type.lanes)
            self.writer.place.lines.append(
                f"store {piece!r}, {place!r}, align {buffer.dtype.itemsize}")

    # -- memory of the function --------------------------------------------------------------------

    def from_room(self, room: str, place: Value, dtype: np.dtype, width: int) -> Scalar:
        """Load elements from a position in memory on the stack."""
        type = memory_type(dtype).of(width)
        at = self.writer.write(POINTER, f"getelementptr {type.element}, ptr {room}, {place!r}")
        return from_memory(self.plain(type, at), dtype)

    def to_room(self, room: str, place: Value, row: Value) -> None:
        """Store elements at a position in memory on the stack."""
        at = self.writer.write(POINTER, f"getelementptr {row.type.element}, ptr {room}, {place!r}")
        self.writer.place.lines.append(f"store {row!r}, {at!r}, align {-(-row.type.bits // 8)}")


def _piece(vector: Value, first: int, size: int, dtype: np.dtype) -> Value:
    """Some lanes of a vector. LLVM must not know that bytes were a mask: it would shuffle the mask
    instead, bit by bit, and take seconds to compile that."""
    piece = vector if size == vector.type.lanes else vector.shuffled(range(first, first + size))
    if not (vector.writer.has_masks and kind_of(dtype) == "b"):
        return piece
    return vector.writer.write(piece.type, f'call {piece.type.text} asm "", "=v,0"({piece!r})')
