"""Loads and stores: addresses, and elements in one lane or in many.

An address is built up from the outermost loop inwards, so that each loop adds what depends on it
alone. Neighbours in memory are loaded and stored as vectors; other elements one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from ...._loops.expr import Expr, Load, bounds
from ...._loops.instructions import kind_of
from ...._loops.nest import Buffer
from ...machine import Machine
from ...schedule.analysis import Analysis
from ...schedule.lanes import NEAR, WORD, Loop, crosses
from ...tuning import AccessTuning
from ..complex import Pair
from ..operations import number
from ..shuffles import transposed
from ..storage import from_memory, from_pairs, memory_type, part_dtype, to_memory
from ..values import I1, I32, I64, Type, Value, Writer, any_lane, resized, select, type_of
from .scopes import Ahead, Groups, Lanes, Scope
from .transposes import Tile

__all__ = ["Memory", "Scalar"]

Scalar = Value | Pair
_POINTER = type_of("ptr")
_FILLED = (2, 3, 4, 8)
"""Numbers of vectors that are stored by turns."""
_SHUFFLED = 64
"""Lanes of a vector that LLVM is left to make from several. It knows the instructions that store
two to four vectors by turns, but needs 6 minutes to make 512 bytes from eight vectors (LLVM 22,
AVX-512), and 0.1 s if it is told how."""
_LINE = 64
"""Bytes of a line of the cache."""


class Memory:
    """Reads and writes elements of buffers; ``pointers`` names the buffers' addresses."""

    writer: Writer
    machine: Machine
    analysis: Analysis
    pointers: dict[Buffer, str]

    def value(self, expr: Expr, scope: Scope) -> Any:
        """The value of an expression; see ``kernel.py``."""
        raise NotImplementedError

    def index(self, number: int) -> Value:
        """A constant int64."""
        return Value(self.writer, str(number), I64)

    # -- elements ----------------------------------------------------------------------------------

    def read(self, load: Load, scope: Scope) -> Scalar:
        """The element, or the elements in all lanes, that a load asks for."""
        if load in scope.rooms:
            return self._from_room(load, scope)
        buffer, (terms, rest) = load.buffer, self.analysis.offset(load)
        terms = _named(terms, scope)
        if scope.mask is not None and not self.analysis.is_safe(load):
            return self._read_masked(buffer, terms, rest, scope)
        if not any(scope.varies(atom) for atom in terms):
            return self._read_at(buffer, self._address(buffer, terms, rest, scope))
        stride = _stride(terms, scope)
        if stride is None:
            return self._gather(buffer, self._offsets(terms, rest, scope))
        lanes = scope.lanes
        if abs(stride) != 1 and self._crosses(load, terms, scope):
            return self._from_tile(load, terms, rest, stride, scope)
        start = self._address(buffer, _with_first_lane(terms, lanes), rest, scope)
        if stride == WORD and buffer.dtype.itemsize == 1 and lanes.width > 1:
            found = self._read_of_words(buffer, terms, rest, scope)
            if found is not None:
                return found
        if 1 < stride <= NEAR and lanes.width > 1:
            return (self._read_of_group(buffer, terms, rest, stride, scope)
                    or self._read_every(buffer, start, stride, lanes.width, _reach(terms, rest)))
        if abs(stride) != 1:
            steps = [n * stride for n in range(lanes.width)]
            return self._collect(buffer, [self.further(buffer, start, n) for n in steps])
        if stride == 1:
            self._ask_ahead(buffer, terms, start, scope)
            if lanes.loop.paired:
                return from_pairs(self.writer.write(I32.of(lanes.width // 2), (
                    f"load <{lanes.width // 2} x i32>, {start!r}, align 2")))
            return self._read_at(buffer, start, lanes.width)
        found = self._read_at(buffer, self.further(buffer, start, 1 - lanes.width), lanes.width)
        return _parts(lambda v: v.shuffled(range(lanes.width)[::-1]), found)

    def write(self, load: Load, value: Scalar, scope: Scope) -> None:
        """Store a value where a load would find it."""
        buffer, (terms, rest) = load.buffer, self.analysis.offset(load)
        terms = _named(terms, scope)
        if not any(scope.varies(atom) for atom in terms):
            return self._write_at(buffer, self._address(buffer, terms, rest, scope), value)
        stride, lanes = _stride(terms, scope), scope.lanes
        value = value.of(lanes.width)
        if scope.tile is not None and stride is not None and crosses(
                terms, lanes.loop, scope.tile[0].loop):
            tile, number = scope.tile
            tile.columns.setdefault(load, {})[number] = value
            return None
        if stride in (1, -1):
            start = self._address(buffer, _with_first_lane(terms, lanes), rest, scope)
            if stride == -1:
                start = self.further(buffer, start, 1 - lanes.width)
                value = _parts(lambda v: v.shuffled(range(lanes.width)[::-1]), value)
            return self._write_at(buffer, start, value)
        if stride is None:
            offsets = self._offsets(terms, rest, scope).of(lanes.width)
            places = [self.further(buffer, self._base(buffer), offsets.lane(n))
                      for n in range(lanes.width)]
        else:
            start = self._address(buffer, _with_first_lane(terms, lanes), rest, scope)
            places = [self.further(buffer, start, n * stride) for n in range(lanes.width)]
        for n, place in enumerate(places):
            self._write_at(buffer, place, _parts(lambda v, n=n: v.lane(n), value))
        return None

    def fills_gaps(self, targets: Sequence[Load], scope: Scope) -> bool:
        """Whether stores of lanes, each with gaps in between, make one without gaps."""
        if scope.lanes is None or scope.tile is not None or len(targets) not in _FILLED or any(
                kind_of(load.dtype) == "c" or load.buffer != targets[0].buffer or (
                    load in scope.carried) for load in targets):
            return False
        found = [self.analysis.offset(load) for load in targets]
        terms, first = found[0]
        named = _named(terms, scope)
        return (found == [(terms, first + n) for n in range(len(targets))]
                and any(scope.varies(atom) for atom in named)
                and _stride(named, scope) == len(targets))

    def write_filled(self, target: Load, values: Sequence[Value], scope: Scope) -> None:
        """Store lanes of several values by turns, beginning where a load would find the first."""
        buffer, (terms, rest) = target.buffer, self.analysis.offset(target)
        start = self._address(buffer, _with_first_lane(_named(terms, scope), scope.lanes), rest,
                              scope)
        width = scope.lanes.width
        vectors = [to_memory(value.of(width), buffer.dtype) for value in values]
        pieces = [_by_turns(vectors)]
        if len(vectors) * width > _SHUFFLED:
            size = min(width, _SHUFFLED)
            pieces = [piece for n in range(0, width, size) for piece in _dealt(
                [_piece(vector, n, size, buffer.dtype) for vector in vectors])]
        for n, piece in enumerate(pieces):
            place = self.further(buffer, start, n * piece.type.lanes)
            self.writer.place.lines.append(
                f"store {piece!r}, {place!r}, align {buffer.dtype.itemsize}")

    def prefetch(self, load: Load, scope: Scope) -> None:
        """Ask for an element that is going to be written; there need not be one."""
        terms, rest = self.analysis.offset(load)
        self._ask_for(self._address(load.buffer, _named(terms, scope), rest, scope), "1", 3)

    def _ask_for(self, place: Value, written: str, near: int) -> None:
        """Have a line of memory brought to a cache, the nearer the higher the number."""
        name = "llvm.prefetch.p0"
        self.writer.declared[name] = f"declare void @{name}(ptr, i32, i32, i32)"
        self.writer.place.lines.append(
            f"call void @{name}({place!r}, i32 {written}, i32 {near}, i32 1)")

    def _ask_ahead(self, buffer: Buffer, terms: Mapping[Expr, int], start: Value,
                   scope: Scope) -> None:
        """Ask for what later steps of the loop around read, if it is far and nobody foresees it."""
        outer, lanes, item = scope.outer, scope.lanes, buffer.dtype.itemsize
        if outer is None or prod(buffer.shape) * item < self.machine.tuning.access.far:
            return
        apart = terms.get(outer.loop.index, 0)
        steps = _steps_ahead(outer, apart * item, outer.stretch * item,
                             self.analysis.memory(buffer) in outer.again,
                             self.machine.tuning.access)
        for line in range(0, lanes.width * item if steps else 0, _LINE):
            self.ask_for(buffer, start, steps * apart + line // item)

    # -- tiles -------------------------------------------------------------------------------------

    def _crosses(self, load: Load, terms: Mapping[Expr, int], scope: Scope) -> bool:
        """Whether neighbours of an element are read in iterations that are written out together."""
        if scope.tile is None or scope.lanes is not scope.tile[0].scope.lanes:
            return False  # none, or the lanes are those of a loop within
        tile, _ = scope.tile
        index = tile.loop.index
        return terms.get(index) == 1 and self.analysis.is_safe(load) and (
            self.analysis.memory(load.buffer) not in tile.writes
            and all(atom is index or atom.free.isdisjoint((index, *tile.loop.covers))
                    for atom in terms))

    def _from_tile(self, load: Load, terms: Mapping[Expr, int], rest: int, stride: int,
                   scope: Scope) -> Scalar:
        """The elements in all lanes, of a tile that is read when it is first asked for."""
        tile, number = scope.tile
        buffer, lanes = load.buffer, scope.lanes
        first = {tile if atom is tile.loop.index else atom: factor
                 for atom, factor in _with_first_lane(terms, lanes).items()}

        def columns() -> list[Scalar]:
            start = self._address(buffer, first, rest, tile.scope)
            return transposed([self._read_at(buffer, self.further(buffer, start, n * stride),
                                             lanes.width) for n in range(lanes.width)])
        return self._known(tile.scope, ("tile", load), columns)[number]

    def write_tile(self, target: Load, rows: Sequence[Scalar], tile: Tile) -> None:
        """Store the rows of a tile where a load would find elements of its first iteration."""
        scope, lanes = tile.scope, tile.scope.lanes
        terms, rest = self.analysis.offset(target)
        terms = _named(terms, scope)
        stride = terms[lanes.loop.index]
        first = {tile if atom is tile.loop.index else atom: factor
                 for atom, factor in _with_first_lane(terms, lanes).items()}
        start = self._address(target.buffer, first, rest, scope)
        for n, row in enumerate(rows):
            self._write_at(target.buffer, self.further(target.buffer, start, n * stride), row)

    # -- rooms -------------------------------------------------------------------------------------

    def place_in_block(self, load: Load, crossing: Loop, lane: Loop, scope: Scope, row: Value,
                       column: Value) -> tuple[Value, int]:
        """The address of an element, given the indices of two loops, and how far lanes are apart.
        """
        inner = scope.within((*crossing.covers, *lane.covers))
        for loop in (crossing, lane):
            inner.names = {**inner.names, **dict.fromkeys(loop.covers[:-1]),
                           loop.covers[-1]: loop.index}
        inner.values.update({crossing.index: row, lane.index: column})
        terms, rest = self.analysis.offset(load)
        terms = _named(terms, inner)
        return self._address(load.buffer, terms, rest, inner), terms[lane.index]

    def plain_load(self, type: Type, buffer: Buffer, place: Value, step: int) -> Value:
        """Elements as they are in memory, some steps after an address."""
        return self._plain_load(type, self.further(buffer, place, step))

    def ask_for(self, buffer: Buffer, place: Value, step: int) -> None:
        """Have elements brought near that are going to be read, some steps after an address."""
        self._ask_for(self.further(buffer, place, step), "0", 2)

    def to_room(self, room: str, place: Value, row: Value) -> None:
        """Store elements at a place of a room."""
        at = self.writer.write(_POINTER, f"getelementptr {row.type.element}, ptr {room}, {place!r}")
        self.writer.place.lines.append(f"store {row!r}, {at!r}, align {-(-row.type.bits // 8)}")

    def _from_room(self, load: Load, scope: Scope) -> Scalar:
        room, place = scope.rooms[load]
        type = memory_type(load.dtype).of(scope.lanes.width)
        at = self.writer.write(_POINTER, f"getelementptr {type.element}, ptr {room}, {place!r}")
        return from_memory(self._plain_load(type, at), load.dtype)

    # -- addresses ---------------------------------------------------------------------------------

    def _base(self, buffer: Buffer) -> Value:
        return Value(self.writer, self.pointers[buffer], _POINTER)

    def further(self, buffer: Buffer, pointer: Value, by: Value | int) -> Value:
        """The address some elements further on."""
        if isinstance(by, int):
            if not by:
                return pointer
            by = self.index(by)
        unit = memory_type(buffer.dtype).text
        unit = f"[2 x {unit}]" if kind_of(buffer.dtype) == "c" else unit
        return self.writer.write(_POINTER, f"getelementptr {unit}, {pointer!r}, {by!r}")

    def _address(self, buffer: Buffer, terms: Mapping[Any, int], rest: int, scope: Scope) -> Value:
        """The address of an element, with what belongs to each loop added there."""
        by_home: dict[Scope, list[tuple[Value, int]]] = {}
        for atom, factor in terms.items():
            if scope.tile is not None and atom is scope.tile[0].loop.index:
                atom, number = scope.tile
                rest += factor * number
            value = self.value(atom, scope) if isinstance(atom, Expr) else None
            home, value = scope.locate(atom)
            if value.is_constant:
                rest += factor * int(value.text)
            else:
                rest += factor * value.beyond
                home = home if value.base is value else home.of_place(value.base.place)
                by_home.setdefault(home, []).append((value.base, factor))
        pointer, here = self._base(buffer), scope.outermost
        sum_so_far: frozenset = frozenset()
        for here in sorted(by_home, key=lambda s: s.depth):
            parts = by_home[here]
            sum_so_far |= {(value.text, factor) for value, factor in parts}
            pointer = self._known(here, (buffer, sum_so_far), lambda p=pointer, s=parts:
                                  self.further(buffer, p, _sum(s)))
        return self._known(here, (buffer, sum_so_far, rest), lambda: self.further(
            buffer, pointer, rest))

    def _known(self, scope: Scope, key, make) -> Any:
        """What a scope has already, as an address, or has from now on."""
        if key not in scope.values:
            before, self.writer.place = self.writer.place, scope.place
            scope.values[key] = make()
            self.writer.place = before
        return scope.values[key]

    def _offsets(self, terms: Mapping[Expr, int], rest: int, scope: Scope,
                 small: bool = False) -> Value:
        """Where elements lie in their buffer, in each lane; in few bits where they are ``small``,
        or else surely fit."""
        total: Value | None = None
        far = max(map(abs, _span(terms, rest)))
        bits = 32 if small or far < 1 << 31 else 64
        for atom, factor in terms.items():
            value = resized(self.value(atom, scope), bits)
            value = value if factor == 1 else value * factor
            total = value if total is None else total + value
        if total is None:
            return self.index(rest)
        return total + rest if rest else total

    # -- memory ------------------------------------------------------------------------------------

    def _read_masked(self, buffer: Buffer, terms, rest: int, scope: Scope) -> Scalar:
        """Elements where lanes take part, and elsewhere any that exist."""
        if not prod(buffer.shape):
            return number(self.writer, buffer.dtype.type(0), buffer.dtype)
        mask = scope.mask
        fixed = {atom: factor for atom, factor in terms.items() if not scope.varies(atom)}
        least, greatest = _span(fixed, rest)
        if len(fixed) < len(terms) and 0 <= least <= greatest < prod(buffer.shape) < 1 << 31:
            # What lanes share leads to an element, from which all that they ask for are near.
            moved = {atom: factor for atom, factor in terms.items() if atom not in fixed}
            near = select(mask, self._offsets(moved, 0, scope, small=True), 0)
            start = self._address(buffer, fixed, rest, scope)
            return self._collect(buffer, [self.further(buffer, start, near.lane(n))
                                          for n in range(near.type.lanes)])
        offsets = self._offsets(terms, rest, scope)
        if offsets.type.lanes == 1:
            safe = select(any_lane(mask), offsets, 0)
            return self._read_at(buffer, self.further(buffer, self._base(buffer), safe))
        return self._gather(buffer, select(mask, offsets, 0))

    def _gather(self, buffer: Buffer, offsets: Value) -> Scalar:
        base = self._base(buffer)
        if offsets.type.lanes == 1:  # what might have varied came to the same in all lanes
            return self._read_at(buffer, self.further(buffer, base, offsets))
        if self.writer.has_masks and memory_type(buffer.dtype).bits in (32, 64) and (
                kind_of(buffer.dtype) != "c") and (
                prod(buffer.shape) >= self.machine.tuning.access.least_gathered):
            return self._gather_at_once(buffer, base, offsets)
        return self._collect(buffer, [self.further(buffer, base, offsets.lane(n))
                                      for n in range(offsets.type.lanes)])

    def _gather_at_once(self, buffer: Buffer, base: Value, offsets: Value) -> Scalar:
        """Elements by the instruction that AVX-512 has for it.

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

    def _collect(self, buffer: Buffer, places: list[Value]) -> Scalar:
        """Elements from some addresses, one for each lane."""
        def collect(shift: int) -> Value:
            type = memory_type(buffer.dtype).of(len(places))
            vector = Value(self.writer, "poison", type)
            for n, place in enumerate(places):
                vector = vector.with_lane(n, self._plain_load(type.of(1), place, shift))
            return from_memory(vector, part_dtype(buffer.dtype))
        return Pair(collect(0), collect(1)) if kind_of(buffer.dtype) == "c" else collect(0)

    def _plain_load(self, type: Type, place: Value, shift: int = 0) -> Value:
        if shift:
            place = self.writer.write(
                _POINTER, f"getelementptr {type.element}, {place!r}, i64 {shift}")
        align = -(-type.bits // 8)
        return self.writer.write(type, f"load {type.text}, {place!r}, align {align}")

    def _read_at(self, buffer: Buffer, place: Value, width: int = 1) -> Scalar:
        """An element, or as many neighbours as there are lanes."""
        dtype, type = buffer.dtype, memory_type(buffer.dtype)
        if kind_of(dtype) != "c":
            return from_memory(self._plain_load(type.of(width), place), dtype)
        both = self._plain_load(type.of(2 * width), place)
        return Pair(both.shuffled(range(0, 2 * width, 2)), both.shuffled(range(1, 2 * width, 2)))

    def _read_of_group(self, buffer: Buffer, terms: Mapping[Expr, int], rest: int, stride: int,
                       scope: Scope) -> Scalar | None:
        """Elements a short way apart, of groups that are loaded once for all that ask for others.

        None where such groups do not lie in the buffer as a whole.
        """
        part, lanes = rest % stride, scope.lanes
        if rest < part or _reach(terms, rest) - part + stride > prod(buffer.shape) or (
                any(factor < 0 for factor in terms.values()) or kind_of(buffer.dtype) == "c"):
            return None
        start = self._address(buffer, _with_first_lane(terms, lanes), rest - part, scope)
        key = Groups(self.analysis.memory(buffer), start.text, lanes.width)
        wide = scope.find(key)
        if wide is None:
            wide = scope.values[key] = self._plain_load(
                memory_type(buffer.dtype).of(stride * lanes.width), start)
        return from_memory(wide.shuffled(range(part, stride * lanes.width, stride)), buffer.dtype)

    def _read_of_words(self, buffer: Buffer, terms: Mapping[Expr, int], rest: int,
                       scope: Scope) -> Scalar | None:
        """Every eighth byte: shifted out of words of 64 bits, which are loaded once for all bytes.

        None where such words do not lie in the buffer as a whole.
        """
        terms, rest = _with_steps(terms, rest, scope)
        part, lanes = rest % WORD, scope.lanes
        if rest < part or _reach(terms, rest) - part + WORD > prod(buffer.shape) or (
                any(factor < 0 for factor in terms.values())):
            return None
        start = self._address(buffer, _with_first_lane(terms, lanes), rest - part, scope)
        key = Groups(self.analysis.memory(buffer), start.text, lanes.width)
        words = scope.find(key)
        if words is None:
            type = I64.of(lanes.width)
            words = scope.values[key] = self.writer.write(
                type, f"load {type.text}, {start!r}, align 1")
        if part:
            shift = Value(self.writer, str(8 * part), I64).of(lanes.width)
            words = self.writer.write(words.type, f"lshr {words!r}, {shift.text}")
        type = memory_type(buffer.dtype).of(lanes.width)
        return from_memory(self.writer.write(type, f"trunc {words!r} to {type.text}"), buffer.dtype)

    def _read_every(self, buffer: Buffer, place: Value, stride: int, width: int,
                    last: int) -> Scalar:
        """Elements a short way apart: all in between are loaded as well, and left out.

        What follows the last element is not touched unless ``last``, the furthest place that any of
        them has in the buffer, is far enough from its end.
        """
        parts = 2 if kind_of(buffer.dtype) == "c" else 1
        spare = stride - 1 if last + stride <= prod(buffer.shape) else 0
        count = (stride * (width - 1) + 1 + spare) * parts
        wide = self._plain_load(memory_type(buffer.dtype).of(count), place)
        found = [from_memory(wide.shuffled(range(part, count, stride * parts)[:width]),
                             part_dtype(buffer.dtype)) for part in range(parts)]
        return Pair(*found) if parts == 2 else found[0]

    def _write_at(self, buffer: Buffer, place: Value, value: Scalar) -> None:
        if isinstance(value, Pair):
            value = _interleaved(value.re, value.im)
        else:
            value = to_memory(value, buffer.dtype)
        align = -(-value.type.bits // 8)
        self.writer.place.lines.append(f"store {value!r}, {place!r}, align {align}")


def _steps_ahead(outer: Ahead, apart: int, stretch: int, again: bool, tuning: AccessTuning) -> int:
    """How many steps of a loop, so many bytes apart, elements are asked for ahead.

    Processors foresee a long stretch, and what follows on it or little behind it. Of what is at
    hand since this step has read it before, the next step's is asked for: memory is idle meanwhile.
    Rows that are gone through together, if they are far apart, would be in each other's way in the
    cache.
    """
    if again:
        return 1 if tuning.ahead <= apart <= tuning.near else 0
    foreseen = abs(apart) < stretch or outer.together == 1 and abs(apart) <= stretch + 4 * _LINE
    if foreseen or not _LINE <= stretch <= tuning.foreseen or (
            outer.together > 1 and abs(apart) >= tuning.near):
        return 0
    return min(max(outer.together, -(-tuning.ahead // stretch)), outer.loop.extent // 2)


def _named(terms: Mapping[Expr, int], scope: Scope) -> Mapping[Expr, int]:
    """Terms in the indices of merged loops."""
    if not scope.names:
        return terms
    renamed = ((scope.names.get(atom, atom), factor) for atom, factor in terms.items())
    return {atom: factor for atom, factor in renamed if atom is not None}


def _with_steps(terms: Mapping[Expr, int], rest: int,
                scope: Scope) -> tuple[Mapping[Expr, int], int]:
    """Terms without the indices of loops that are written out: those have a known number."""
    kept = {}
    for atom, factor in terms.items():
        value = scope.find(atom)
        if isinstance(value, Value) and value.text.isdigit():
            rest += int(value.text) * factor
        else:
            kept[atom] = factor
    return kept, rest


def _stride(terms: Mapping[Expr, int], scope: Scope) -> int | None:
    """How far apart lanes are; None if not by a constant."""
    index = scope.lanes.loop.index
    if any(scope.varies(atom) and atom is not index for atom in terms):
        return None
    return terms[index]


def _with_first_lane(terms: Mapping[Expr, int], lanes: Lanes) -> Mapping[Any, int]:
    """Terms of the address in the first lane."""
    return {lanes if atom is lanes.loop.index else atom: factor for atom, factor in terms.items()}


def _span(terms: Mapping[Expr, int], rest: int) -> tuple[int, int]:
    """The least and the greatest position that an access has, as far as is known."""
    ends = [sorted(factor * end for end in bounds(atom)) for atom, factor in terms.items()]
    return rest + sum([low for low, _ in ends]), rest + sum([high for _, high in ends])


def _reach(terms: Mapping[Expr, int], rest: int) -> int:
    """The greatest position that an access has, as far as is known."""
    return _span(terms, rest)[1]


def _sum(parts: list[tuple[Value, int]]) -> Value:
    total: Value | None = None
    for value, factor in parts:
        product = value if factor == 1 else value * factor
        total = product if total is None else total + product
    assert total is not None
    return total


def _parts(change, value: Scalar) -> Scalar:
    return Pair(change(value.re), change(value.im)) if isinstance(value, Pair) else change(value)


def _interleaved(re: Value, im: Value) -> Value:
    """Parts of complex numbers as they lie in memory."""
    width = re.type.lanes
    both = re.type.of(2 * width)
    if width == 1:
        start = Value(re.writer, "poison", both)
        return start.with_lane(0, re).with_lane(1, im)
    order = ", ".join([f"i32 {n + part * width}" for n in range(width) for part in (0, 1)])
    return re.writer.write(both, f"shufflevector {re!r}, {im!r}, <{2 * width} x i32> <{order}>")


def _by_turns(vectors: Sequence[Value]) -> Value:
    """The first lanes of some vectors, then the second ones, and so on."""
    if len(vectors) == 3:
        return _three_by_turns(*vectors)
    return vectors[0] if len(vectors) == 1 else _interleaved(
        _by_turns(vectors[::2]), _by_turns(vectors[1::2]))


def _piece(vector: Value, first: int, size: int, dtype: np.dtype) -> Value:
    """Some lanes of a vector. Of bytes that were a mask LLVM must not know that: it would shuffle
    the mask instead, bit by bit, and take seconds to write that down."""
    piece = vector if size == vector.type.lanes else vector.shuffled(range(first, first + size))
    if not (vector.writer.has_masks and kind_of(dtype) == "b"):
        return piece
    return vector.writer.write(piece.type, f'call {piece.type.text} asm "", "=v,0"({piece!r})')


def _dealt(vectors: Sequence[Value]) -> list[Value]:
    """What :func:`_by_turns` gives, cut into vectors as long as those that it is made from."""
    if len(vectors) == 1:
        return list(vectors)
    width = vectors[0].type.lanes
    if len(vectors) == 3:
        a, b, c = vectors
        return [_three_dealt(a, b, c, part * width) for part in range(3)]
    evens, odds = _dealt(vectors[::2]), _dealt(vectors[1::2])
    halves = [[n + part * width for n in range(start, start + width // 2) for part in (0, 1)]
              for start in (0, width // 2)]
    return [a.shuffled(order, b) for a, b in zip(evens, odds) for order in halves]


def _three_dealt(a: Value, b: Value, c: Value, start: int) -> Value:
    """As many lanes of three vectors by turns as one has, from one on: two shuffles."""
    width = a.type.lanes
    places = [divmod(start + n, 3) for n in range(width)]
    pair = a.shuffled([lane + part * width if part < 2 else 0 for lane, part in places], b)
    return pair.shuffled([n if part < 2 else width + lane
                          for n, (lane, part) in enumerate(places)], c)


def _three_by_turns(a: Value, b: Value, c: Value) -> Value:
    """As instructions that store three vectors do it, if the processor has them."""
    width, write = a.type.lanes, a.writer.write
    every = ", ".join([f"i32 {n}" for n in range(2 * width)])
    pair, poison = a.type.of(2 * width), Value(a.writer, "poison", a.type)
    first, last = (write(pair, f"shufflevector {x!r}, {y!r}, <{2 * width} x i32> <{every}>")
                   for x, y in ((a, b), (c, poison)))
    order = ", ".join([f"i32 {n + part * width}" for n in range(width) for part in range(3)])
    return write(a.type.of(3 * width), f"shufflevector {first!r}, {last!r}, "
                                       f"<{3 * width} x i32> <{order}>")
