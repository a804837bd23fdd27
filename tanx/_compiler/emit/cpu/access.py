"""Loads and stores of expressions: elements in one lane or in many.

Adjacent elements are loaded and stored as vectors; other elements one by one, or by loading larger
pieces of memory that several loads share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from ...._loops.expr import Expr, Load
from ...._loops.instructions import kind_of
from ...._loops.nest import Buffer
from ...schedule.analysis import Analysis
from ...schedule.lanes import NEAR, WORD, crosses
from ..addresses import (
    Addresses,
    lane_stride,
    last_position,
    named,
    positions,
    with_first_lane,
    with_first_of_tile,
    with_steps,
)
from ..control import Control
from ..operations import number
from ..scalars import Scalar, mapped
from ..scopes import Groups, Scope, Tile
from ..shuffles import transposed
from ..storage import from_memory, memory_type
from ..values import I64, Value, any_lane, select
from .element_access import Elements
from .prefetch import Prefetch

__all__ = ["Access"]

_FILLED = (2, 3, 4, 8)
"""Numbers of vectors that can be stored interleaved."""


class Access:
    """Performs loads and stores."""

    def __init__(self, control: Control, analysis: Analysis, addresses: Addresses,
                 elements: Elements, prefetch: Prefetch):
        self.control, self.analysis, self.addresses = control, analysis, addresses
        self.elements, self.prefetch, self.writer = elements, prefetch, control.writer

    def read(self, load: Load, scope: Scope) -> Scalar:
        """The element, or the elements in all lanes, of a load."""
        if load in scope.rooms:
            room, place = scope.rooms[load]
            return self.elements.from_room(room, place, load.dtype, scope.lanes.width)
        buffer, (terms, rest) = load.buffer, self.analysis.offset(load)
        terms, elements = named(terms, scope), self.elements
        if scope.mask is not None and not self.analysis.is_safe(load):
            return self._read_masked(buffer, terms, rest, scope)
        if not any(scope.varies(atom) for atom in terms):
            return elements.read(buffer, self.addresses.address(buffer, terms, rest, scope))
        stride = lane_stride(terms, scope)
        if stride is None:
            return elements.gather(buffer, self.addresses.offsets(terms, rest, scope))
        if abs(stride) != 1 and self._crosses(load, terms, scope):
            return self._from_tile(load, terms, rest, stride, scope)
        start = self.addresses.address(buffer, with_first_lane(terms, scope.lanes), rest, scope)
        if stride == 1:
            self.prefetch.ahead(load, start, scope)
        return self._read_in_lanes(buffer, terms, rest, stride, start, scope)

    def _read_in_lanes(self, buffer: Buffer, terms: Mapping[Expr, int], rest: int, stride: int,
                       start: Value, scope: Scope) -> Scalar:
        """Elements at a constant stride between lanes, from an address on."""
        lanes, elements, further = scope.lanes, self.elements, self.addresses.further
        if stride == WORD and buffer.dtype.itemsize == 1 and lanes.width > 1:
            found = self._read_of_words(buffer, terms, rest, scope)
            if found is not None:
                return found
        if 1 < stride <= NEAR and lanes.width > 1:
            return self._read_of_group(buffer, terms, rest, stride, scope) or elements.read_every(
                buffer, start, stride, lanes.width, last_position(terms, rest))
        if abs(stride) != 1:
            steps = [n * stride for n in range(lanes.width)]
            return elements.collect(buffer, [further(buffer, start, n) for n in steps])
        if stride == 1:
            if lanes.loop.paired:
                return elements.read_pairs(start, lanes.width)
            return elements.read(buffer, start, lanes.width)
        found = elements.read(buffer, further(buffer, start, 1 - lanes.width), lanes.width)
        return mapped(lambda v: v.shuffled(range(lanes.width)[::-1]), found)

    def write(self, load: Load, value: Scalar, scope: Scope) -> None:
        """Store a value at the address of a load."""
        buffer, (terms, rest) = load.buffer, self.analysis.offset(load)
        terms, elements = named(terms, scope), self.elements
        address, further = self.addresses.address, self.addresses.further
        if not any(scope.varies(atom) for atom in terms):
            return elements.write(buffer, address(buffer, terms, rest, scope), value)
        stride, lanes = lane_stride(terms, scope), scope.lanes
        value = value.of(lanes.width)
        if scope.tile is not None and stride is not None and crosses(
                terms, lanes.loop, scope.tile[0].loop):
            tile, number = scope.tile
            tile.columns.setdefault(load, {})[number] = value
            return None
        if stride in (1, -1):
            start = address(buffer, with_first_lane(terms, lanes), rest, scope)
            if stride == -1:
                start = further(buffer, start, 1 - lanes.width)
                value = mapped(lambda v: v.shuffled(range(lanes.width)[::-1]), value)
            return elements.write(buffer, start, value)
        if stride is None:
            offsets = self.addresses.offsets(terms, rest, scope).of(lanes.width)
            places = [further(buffer, self.addresses.base(buffer), offsets.lane(n))
                      for n in range(lanes.width)]
        else:
            start = address(buffer, with_first_lane(terms, lanes), rest, scope)
            places = [further(buffer, start, n * stride) for n in range(lanes.width)]
        for n, place in enumerate(places):
            elements.write(buffer, place, mapped(lambda v, n=n: v.lane(n), value))
        return None

    # -- stores that fill each other's gaps --------------------------------------------------------

    def fills_gaps(self, targets: Sequence[Load], scope: Scope) -> bool:
        """Whether stores of lanes at a stride fill each other's gaps."""
        if scope.lanes is None or scope.tile is not None or len(targets) not in _FILLED or any(
                kind_of(load.dtype) == "c" or load.buffer != targets[0].buffer or (
                    load in scope.carried) for load in targets):
            return False
        found = [self.analysis.offset(load) for load in targets]
        terms, first = found[0]
        own = named(terms, scope)
        return (found == [(terms, first + n) for n in range(len(targets))]
                and any(scope.varies(atom) for atom in own)
                and lane_stride(own, scope) == len(targets))

    def write_filled(self, target: Load, values: Sequence[Value], scope: Scope) -> None:
        """Store the lanes of several values interleaved, beginning at the address of the first."""
        buffer, (terms, rest) = target.buffer, self.analysis.offset(target)
        start = self.addresses.address(
            buffer, with_first_lane(named(terms, scope), scope.lanes), rest, scope)
        self.elements.write_by_turns(buffer, start, values, scope.lanes.width)

    # -- tiles -------------------------------------------------------------------------------------

    def _crosses(self, load: Load, terms: Mapping[Expr, int], scope: Scope) -> bool:
        """Whether a load is contiguous along iterations that are unrolled together."""
        if scope.tile is None or scope.lanes is not scope.tile[0].scope.lanes:
            return False  # no tile, or the lanes belong to an inner loop
        tile, _ = scope.tile
        index = tile.loop.index
        return terms.get(index) == 1 and self.analysis.is_safe(load) and (
            self.analysis.memory(load.buffer) not in tile.writes
            and all(atom is index or atom.free.isdisjoint((index, *tile.loop.covers))
                    for atom in terms))

    def _from_tile(self, load: Load, terms: Mapping[Expr, int], rest: int, stride: int,
                   scope: Scope) -> Scalar:
        """The elements in all lanes, of a tile that is loaded at its first use."""
        tile, number = scope.tile
        buffer, lanes, addresses = load.buffer, scope.lanes, self.addresses
        first = with_first_of_tile(terms, lanes, tile)

        def columns() -> list[Scalar]:
            start = addresses.address(buffer, first, rest, tile.scope)
            return transposed([
                self.elements.read(buffer, addresses.further(buffer, start, n * stride),
                                   lanes.width) for n in range(lanes.width)])
        return self.control.known(tile.scope, ("tile", load), columns)[number]

    def write_tile(self, target: Load, rows: Sequence[Scalar], tile: Tile) -> None:
        """Store the rows of a tile, beginning at the address of its first iteration."""
        scope, lanes, addresses = tile.scope, tile.scope.lanes, self.addresses
        terms, rest = self.analysis.offset(target)
        terms = named(terms, scope)
        stride = terms[lanes.loop.index]
        start = addresses.address(target.buffer, with_first_of_tile(terms, lanes, tile), rest,
                                  scope)
        for n, row in enumerate(rows):
            self.elements.write(target.buffer, addresses.further(target.buffer, start, n * stride),
                                row)

    # -- pieces of memory --------------------------------------------------------------------------

    def _read_masked(self, buffer: Buffer, terms: Mapping[Expr, int], rest: int,
                     scope: Scope) -> Scalar:
        """Elements in active lanes, and arbitrary existing ones in the others."""
        if not prod(buffer.shape):
            return number(self.writer, buffer.dtype.type(0), buffer.dtype)
        mask, addresses, elements = scope.mask, self.addresses, self.elements
        fixed = {atom: factor for atom, factor in terms.items() if not scope.varies(atom)}
        least, greatest = positions(fixed, rest)
        if len(fixed) < len(terms) and 0 <= least <= greatest < prod(buffer.shape) < 1 << 31:
            # The part of the address that lanes share is in range, and offsets from it are small.
            moved = {atom: factor for atom, factor in terms.items() if atom not in fixed}
            near = _or_zero(mask, addresses.offsets(moved, 0, scope, small=True))
            start = addresses.address(buffer, fixed, rest, scope)
            return elements.gather(buffer, near, start)
        offsets = addresses.offsets(terms, rest, scope)
        if offsets.type.lanes == 1:
            safe = select(any_lane(mask), offsets, 0)
            return elements.read(buffer, addresses.further(buffer, addresses.base(buffer), safe))
        return elements.gather(buffer, _or_zero(mask, offsets))

    def _read_of_group(self, buffer: Buffer, terms: Mapping[Expr, int], rest: int, stride: int,
                       scope: Scope) -> Scalar | None:
        """Elements at a small stride, from groups that are loaded once for all loads that share
        them.

        None if such groups are not completely inside the buffer.
        """
        part, lanes = rest % stride, scope.lanes
        if rest < part or last_position(terms, rest) - part + stride > prod(buffer.shape) or (
                any(factor < 0 for factor in terms.values()) or kind_of(buffer.dtype) == "c"):
            return None
        start = self.addresses.address(buffer, with_first_lane(terms, lanes), rest - part, scope)
        key = Groups(self.analysis.memory(buffer), start.text, lanes.width)
        wide = scope.find(key)
        if wide is None:
            wide = scope.values[key] = self.elements.plain(
                memory_type(buffer.dtype).of(stride * lanes.width), start)
        return from_memory(wide.shuffled(range(part, stride * lanes.width, stride)), buffer.dtype)

    def _read_of_words(self, buffer: Buffer, terms: Mapping[Expr, int], rest: int,
                       scope: Scope) -> Scalar | None:
        """Every eighth byte: shifted out of 64-bit words, which are loaded once for all bytes.

        None if such words are not completely inside the buffer.
        """
        terms, rest = with_steps(terms, rest, scope)
        part, lanes = rest % WORD, scope.lanes
        if rest < part or last_position(terms, rest) - part + WORD > prod(buffer.shape) or (
                any(factor < 0 for factor in terms.values())):
            return None
        start = self.addresses.address(buffer, with_first_lane(terms, lanes), rest - part, scope)
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


def _or_zero(mask: Value, offsets: Value) -> Value:
    """Offsets in active lanes, and 0 in the others."""
    if offsets.writer.machine.is_arm:
        # LLVM 22 folds a select of constants so late that code generation already counts on its
        # result for the step of an interleaved load, where a step of 0 means one to the next
        # element: the gather then reads elsewhere.
        return offsets & mask.spread(offsets.type.bits)
    return select(mask, offsets, 0)
