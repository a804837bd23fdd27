"""Kernels that compute tiles of sums of products: the innermost loops of matrix products.

A kernel is a function ``void(ptr a, i64 a_step, ptr b, i64 b_step, i64 terms, ptr out, i64
out_step)`` of elements that are adjacent in one direction and steps apart in the other: in ``a``,
terms (form ``k``) or rows (form ``m``) are adjacent, in ``b`` and ``out`` columns. It may add to
the stored sums, and then prefetches what the next tile needs. Its symbol has everything needed to
write it, so that the linker can generate missing kernels; also the lanes of vectors, because code
for processors with short and with long vectors may be in one process.

Terms may come in several runs, as those of a convolution do: ``terms`` is then the length of one.
Such a kernel takes two more arguments, ``ptr runs, i64 count``: for each run, the offsets of its
first terms in ``a`` and in ``b``. Rows of form ``k`` may then be anywhere; ``a`` is an array of
pointers to them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial, partialmethod

import numpy as np

from ...._loops.tiles import Tile
from ...abi import TILE
from ...emit.storage import halves, register_type
from ...emit.values import I64, Type, Value, Writer, bits_of, integer, muladd, repeat, type_of
from ...machine import Machine
from ...schedule.tiles import in_matrix_registers
from . import amx

__all__ = ["kernel_symbol", "kernel_text"]

_SIGNATURE = "ptr %a, i64 %a_step, ptr %b, i64 %b_step, i64 %terms, ptr %out, i64 %out_step"
_RUNS = "ptr %runs, i64 %count"
_POINTER = type_of("ptr")
_OF_BYTES = ("dot4", "dot4u")


def kernel_symbol(tile: Tile, dtype: np.dtype, adds: bool = False, times: str = "mul",
                  runs: bool = False) -> str:
    """The symbol of a kernel, which stores its sums or ``adds`` them.

    ``times`` is the instruction that multiplies; with ``runs``, terms come in several of them.

    >>> kernel_symbol(Tile("k", 5, 4, 4), np.dtype("float32"))
    'tanx.tile.float32.k.5.4x4.store'
    """
    end = ("add" if adds else "store") + ("-runs" if runs else "")
    kind = dtype.name if times == "mul" else times
    return f"{TILE}{kind}.{tile.form}.{tile.rows}.{tile.vectors}x{tile.lanes}.{end}"


def kernel_text(symbol: str, machine: Machine) -> str:
    """The LLVM code of a kernel."""
    name, form, rows, columns, end = symbol.removeprefix(TILE).split(".")
    dtype = np.dtype("int32" if name in _OF_BYTES else "float32" if name == "dot2" else name)
    vectors, lanes = map(int, columns.split("x"))
    tile = Tile("k" if form == "k" else "m", int(rows), vectors, lanes)
    writer = Writer(machine=machine)
    end, _, runs = end.partition("-")
    if in_matrix_registers(tile, name, machine):
        amx.write_kernel(writer, tile, name, end == "add")
    else:
        pairs = _Pairs if machine.multiplies_pairs else _Halves
        kind = (_TwoRows if machine.multiplies_two_rows(name) else _Bytes if name in _OF_BYTES
                else pairs if name == "dot2" else _Runs if runs else _Kernel)
        kind(writer, tile, register_type(dtype), machine.multiplies_by_lane, end == "add").write()
    signature = f"{_SIGNATURE}, {_RUNS}" if runs else _SIGNATURE
    body = "\n".join([f'define void @"{symbol}"({signature}) {{', "entry:", *writer.place.lines,
                      "ret void", "}"])
    return "\n".join([body, *writer.declared.values(), ""])


class _Kernel:
    """Writes one kernel; ``by_lane`` if vectors are multiplied by lanes of others."""

    fetches = True

    def __init__(self, writer: Writer, tile: Tile, element: Type, by_lane: bool, adds: bool):
        self.writer, self.tile, self.element = writer, tile, element
        self.by_lane, self.adds = by_lane, adds
        names = ("a", "a_step", "b", "b_step", "terms", "out", "out_step")
        self.given = {name: Value(writer, f"%{name}", I64 if "step" in name or name == "terms"
                                  else _POINTER) for name in names}

    def write(self) -> None:
        """The whole kernel: all terms, then the sums are stored."""
        self.find_rows()
        self.store(self.run(self.number(0), self.given["b"], self.start()))

    def find_rows(self) -> None:
        """Compute addresses of rows that are apart before any loop."""
        if self.tile.form == "k":
            _ = self.rows

    def run(self, first: Value, b: Value, sums: list[Value]) -> list[Value]:
        """The sums with all terms from an offset in the left operand, and an address in ``b``."""
        terms = self.given["terms"]
        single: Callable = self.broadcast_term
        if self.tile.form == "m":
            first, single = self.step(self.given["a"], first), self.rows_term
        if self.at_once > 1:
            whole = self.writer.write(I64, f"udiv {terms!r}, {self.at_once}")
            terms = self.writer.write(I64, f"urem {terms!r}, {self.at_once}")
            several = self.lane_terms if self.by_lane else partial(self.several, single)
            first, b, sums = self.loop(whole, [first, b], sums, several)
        return self.loop(terms, [first, b], sums, single)[2]

    @property
    def at_once(self) -> int:
        """Terms in one step of the loop.

        Without FMA, LLVM would compute the products of several terms first and spill the sums.
        """
        if self.by_lane:
            return self.tile.lanes if self.tile.form == "k" else 1
        machine = self.writer.machine
        several = machine.fuses and machine.vector_registers <= 16
        return machine.tuning.kernels.terms if several else 1

    def start(self) -> list[Value]:
        """The sums before the first term."""
        tile = self.tile
        if self.adds:
            return [self.load(place, 0, tile.lanes) for place in self.out_places()]
        return [Value(self.writer, "zeroinitializer", self.element.of(tile.lanes))] * (
            tile.rows * tile.vectors)

    def loop(self, count: Value, places: Sequence[Value], sums: Sequence[Value],
             step: Callable) -> tuple[Value, Value, list[Value]]:
        """A loop over terms, possibly none; carries the positions in both operands, and the
        sums."""
        writer, place, start = self.writer, self.writer.place, [*places, *sums]
        some, after, before = writer.fresh("some"), writer.fresh("after"), place.block
        place.lines.append(f"br {(count > 0)!r}, label %{some}, label %{after}")
        place.start(some)
        last = repeat(count, start, lambda k, state: step(state[0], state[1], state[2:]))
        inner = place.block
        place.lines.append(f"br label %{after}")
        place.start(after)
        joined = [writer.write(new.type, f"phi {new.type.text} [ {new.text}, %{inner} ], "
                                         f"[ {old.text}, %{before} ]")
                  for new, old in zip(last, start)]
        return joined[0], joined[1], joined[2:]

    # -- terms -------------------------------------------------------------------------------------

    def rows_term(self, a: Value, b: Value, sums: Sequence[Value]) -> list[Value]:
        """One term of adjacent rows."""
        rows, lanes = self.tile.rows, self.tile.lanes
        left: Iterable[Value]
        if self.by_lane:
            vectors = [self.load(a, n, lanes) for n in range(0, rows, lanes)]
            left = [vectors[n // lanes].shuffled([n % lanes] * lanes) for n in range(rows)]
        else:
            left = (self.load(a, n, 1).of(lanes) for n in range(rows))
        sums = self.added(left, b, sums)
        return [self.step(a, self.given["a_step"]), self.step(b, self.given["b_step"]), *sums]

    def broadcast_term(self, position: Value, b: Value, sums: Sequence[Value]) -> list[Value]:
        """One term of each row."""
        left = (self.load(row, position, 1).of(self.tile.lanes) for row in self.rows)
        sums = self.added(left, b, sums)
        return [position + 1, self.step(b, self.given["b_step"]), *sums]

    def several(self, term: Callable, first: Value, b: Value, sums: Sequence[Value],
                ) -> list[Value]:
        """A few terms in one step of a loop."""
        for _ in range(self.at_once):
            first, b, *sums = term(first, b, sums)
        return [first, b, *sums]

    def lane_terms(self, position: Value, b: Value, sums: Sequence[Value]) -> list[Value]:
        """As many terms of each row as a vector has lanes."""
        lanes = self.tile.lanes
        rows = [self.load(row, position, lanes) for row in self.rows]
        for n in range(lanes):
            sums = self.added([row.shuffled([n] * lanes) for row in rows], b, sums)
            b = self.step(b, self.given["b_step"])
        return [position + lanes, b, *sums]

    def added(self, left: Iterable[Value], b: Value, sums: Sequence[Value]) -> list[Value]:
        """The sums with one more term each.

        ``left`` may load its vectors while it is iterated: LLVM keeps the order, and vectors of all
        rows before the first product would take registers from the sums.
        """
        tile = self.tile
        right = [self.load(b, n * tile.lanes, tile.lanes) for n in range(tile.vectors)]
        if self.adds and self.fetches:
            ahead = self.writer.machine.tuning.kernels.ahead
            self.fetch(self.step(b, ahead * 8 // self.element.bits))
        each = iter(sums)
        return [self.plus(x, y, next(each)) for x in left for y in right]

    def plus(self, x: Value, y: Value, total: Value) -> Value:
        """A sum with the product of two vectors added."""
        return muladd(x, y, total) if self.element.is_float else x * y + total

    # -- memory ------------------------------------------------------------------------------------

    def number(self, number: int) -> Value:
        return Value(self.writer, str(number), I64)

    @cached_property
    def rows(self) -> list[Value]:
        """Where the rows of the left operand begin."""
        places = [self.given["a"]]
        while len(places) < self.tile.rows:
            places.append(self.step(places[-1], self.given["a_step"]))
        return places

    def step(self, place: Value, by: Value | int) -> Value:
        by = self.number(by) if isinstance(by, int) else by
        return self.writer.write(
            _POINTER, f"getelementptr {self.element.text}, {place!r}, {by!r}")

    def load(self, place: Value, offset: Value | int, lanes: int) -> Value:
        type, place = self.element.of(lanes), self.step(place, offset)
        return self.writer.write(
            type, f"load {type.text}, {place!r}, align {self.element.bits // 8}")

    def fetch(self, place: Value) -> None:
        """Prefetch the cache lines of a tile's columns."""
        name = "llvm.prefetch.p0"
        self.writer.declared[name] = f"declare void @{name}(ptr, i32, i32, i32)"
        bits = self.element.bits
        for n in range(0, self.tile.columns, 8 * self.writer.machine.line // bits):
            self.writer.place.lines.append(
                f"call void @{name}({self.step(place, n)!r}, i32 0, i32 3, i32 1)")

    def out_places(self) -> Iterator[Value]:
        """Where the vectors of the result are, row by row."""
        tile, place = self.tile, self.given["out"]
        for row in range(tile.rows):
            place = self.step(place, self.given["out_step"]) if row else place
            yield from [self.step(place, n * tile.lanes) for n in range(tile.vectors)]

    def store(self, sums: Sequence[Value]) -> None:
        for total, place in zip(sums, self.out_places()):
            self.writer.place.lines.append(
                f"store {total!r}, {place!r}, align {self.element.bits // 8}")


class _Runs(_Kernel):
    """Writes a kernel whose terms come in several runs."""

    fetches = False

    def write(self) -> None:
        runs, count = Value(self.writer, "%runs", _POINTER), Value(self.writer, "%count", I64)
        self.find_rows()

        def one(n: Value, sums: list[Value]) -> list[Value]:
            first, distance = (self.writer.write(I64, f"load i64, {place!r}") for place in (
                self.writer.write(_POINTER, f"getelementptr i64, {runs!r}, {2 * n + end!r}")
                for end in (0, 1)))
            return self.run(first, self.step(self.given["b"], distance), sums)
        self.store(repeat(count, self.start(), one))

    @cached_property
    def rows(self) -> list[Value]:
        places = [self.writer.write(_POINTER, f"getelementptr ptr, {self.given['a']!r}, i64 {n}")
                  for n in range(self.tile.rows)]
        return [self.writer.write(_POINTER, f"load ptr, {place!r}") for place in places]


class _Bytes(_Kernel):
    """Writes a kernel of words of four bytes, whose products are added at once."""

    def plus(self, x: Value, y: Value, total: Value) -> Value:
        lanes = self.tile.lanes
        words, parts = total.type, integer(8).of(4 * lanes)
        # One instruction multiplies by a lane of its second vector, which is x; the other one
        # treats the bytes of its first vector as unsigned, and those are in x.
        name, factors = ((f"llvm.aarch64.neon.sdot.v{lanes}i32.v{4 * lanes}i8", (y, x))
                         if self.by_lane else (f"llvm.x86.avx512.vpdpbusd.{32 * lanes}", (x, y)))
        self.writer.declared[name] = (
            f"declare {words.text} @{name}({words.text}, {parts.text}, {parts.text})")
        a, b = (self.writer.write(parts, f"bitcast {v!r} to {parts.text}") for v in factors)
        return self.writer.write(words, f"call {words.text} @{name}({total!r}, {a!r}, {b!r})")


class _Pairs(_Kernel):
    """Writes a kernel of words of two bfloat16 numbers, whose products are added at once."""

    def plus(self, x: Value, y: Value, total: Value) -> Value:
        sums, pairs = total.type, type_of("bfloat", 2 * self.tile.lanes)
        name = f"llvm.x86.avx512bf16.dpbf16ps.{32 * self.tile.lanes}"
        self.writer.declared[name] = (
            f"declare {sums.text} @{name}({sums.text}, {pairs.text}, {pairs.text})")
        a, b = (self.writer.write(pairs, f"bitcast {v!r} to {pairs.text}") for v in (x, y))
        return self.writer.write(sums, f"call {sums.text} @{name}({total!r}, {a!r}, {b!r})")


class _Halves(_Kernel):
    """The same without such an instruction, for code that was planned for another processor."""

    def plus(self, x: Value, y: Value, total: Value) -> Value:
        for a, b in zip(halves(bits_of(x)), halves(bits_of(y))):
            total = muladd(a, b, total)
        return total


class _TwoRows(_Kernel):
    """Writes a kernel of words whose instruction multiplies two rows by two columns.

    It takes two words of each, and adds 2 x 2 sums. So a vector of sums has two columns of two
    rows; before and after the loops, the sums of two rows and the same columns are exchanged.
    """

    @property
    def at_once(self) -> int:
        return 2

    def start(self) -> list[Value]:
        return _exchanged(super().start(), self.tile.vectors)

    def store(self, sums: Sequence[Value]) -> None:
        super().store(_exchanged(sums, self.tile.vectors))

    def words(self, count: int, a: Value, b: Value, sums: Sequence[Value]) -> list[Value]:
        """One or two words of each row and of each column; ``a`` is a position in form ``k``."""
        tile, lanes = self.tile, self.tile.lanes
        places, sums = [b, self.step(b, self.given["b_step"])], list(sums)
        if tile.form == "k":
            left, after = self.adjacent_words(count, a), a + count
        else:
            lines = [a, self.step(a, self.given["a_step"])]
            left = [pair for n in range(0, tile.rows, lanes)
                    for pair in self.zipped(lines[:count], n)]
            after = lines[1] if count == 1 else self.step(lines[1], self.given["a_step"])
        for vector in range(tile.vectors):
            right = self.zipped(places[:count], vector * lanes)
            for row in range(0, tile.rows, 2):
                for half in range(2):
                    n = (row + half) * tile.vectors + vector
                    sums[n] = self.plus(left[row // 2], right[half], sums[n])
        if self.adds:
            self.fetch(self.step(b, self.writer.machine.tuning.kernels.ahead * 8
                                 // self.element.bits))
        after_b = places[1] if count == 1 else self.step(places[1], self.given["b_step"])
        return [after, after_b, *sums]

    def adjacent_words(self, count: int, position: Value) -> list[Value]:
        """For each two rows a vector: the words of the one, then those of the other."""
        words = [self.load(row, position, count) for row in self.rows]
        if count == 1:
            empty = Value(self.writer, "zeroinitializer", self.element.of(self.tile.lanes))
            return [empty.with_lane(0, x).with_lane(2, y)
                    for x, y in zip(words[::2], words[1::2])]
        return [x.shuffled((0, 1, 2, 3), y) for x, y in zip(words[::2], words[1::2])]

    lane_terms = partialmethod(words, 2)
    broadcast_term = rows_term = partialmethod(words, 1)

    def zipped(self, places: Sequence[Value], offset: int) -> list[Value]:
        """Two vectors with the words of two vectors in turns; the second may be empty."""
        found = [self.load(place, offset, self.tile.lanes) for place in places]
        first, second = [*found, Value(self.writer, "zeroinitializer", found[0].type)][:2]
        return [first.shuffled(lanes, second) for lanes in ((0, 4, 1, 5), (2, 6, 3, 7))]

    def plus(self, x: Value, y: Value, total: Value) -> Value:
        lanes = self.tile.lanes
        name, part = (("bfmmla", type_of("bfloat", 2 * lanes)) if self.element.is_float
                      else ("smmla.v4i32.v16i8", integer(8).of(4 * lanes)))
        name, sums = f"llvm.aarch64.neon.{name}", total.type
        self.writer.declared[name] = f"declare {sums.text} @{name}({sums.text}, {part}, {part})"
        a, b = (self.writer.write(part, f"bitcast {v!r} to {part.text}") for v in (x, y))
        return self.writer.write(sums, f"call {sums.text} @{name}({total!r}, {a!r}, {b!r})")


def _exchanged(sums: Sequence[Value], vectors: int) -> list[Value]:
    """Sums of rows as those of squares of two rows and columns, and the other way round."""
    sums = list(sums)
    for n in range(len(sums)):
        if n // vectors % 2 == 0:
            a, b = sums[n], sums[n + vectors]
            sums[n], sums[n + vectors] = (a.shuffled(lanes, b) for lanes in (
                (0, 1, 4, 5), (2, 3, 6, 7)))
    return sums
