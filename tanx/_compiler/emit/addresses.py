"""Addresses of elements, and their positions in lanes.

An address is built from the outermost loop inwards, so that each loop adds only the terms that
depend on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..._loops.expr import Expr, Load, Op, bounds
from ..._loops.instructions import kind_of
from ..._loops.nest import Buffer
from ..schedule.analysis import Analysis
from ..schedule.lanes import Loop
from .control import Control
from .expressions import Expressions
from .scopes import Lanes, Scope, Tile
from .storage import memory_type
from .values import Value, resized, type_of

__all__ = ["POINTER", "Addresses", "Terms", "lane_stride", "last_position", "named", "positions",
           "with_first_lane", "with_first_of_tile", "with_steps"]

POINTER = type_of("ptr")
Terms = Mapping[Any, int]
"""Factors by what they multiply: expressions, lanes (the index of the first), or tiles."""


class Addresses:
    """Computes addresses; ``pointers`` names those of the buffers."""

    def __init__(self, control: Control, expressions: Expressions, analysis: Analysis,
                 pointers: Mapping[Buffer, str]):
        self.control, self.expressions, self.analysis = control, expressions, analysis
        self.writer, self.pointers = control.writer, dict(pointers)

    def base(self, buffer: Buffer) -> Value:
        """The address of the first element."""
        return Value(self.writer, self.pointers[buffer], POINTER)

    def further(self, buffer: Buffer, pointer: Value, by: Value | int) -> Value:
        """The address of a later element."""
        if isinstance(by, int):
            if not by:
                return pointer
            by = self.control.index(by)
        unit = memory_type(buffer.dtype).text
        unit = f"[2 x {unit}]" if kind_of(buffer.dtype) == "c" else unit
        return self.writer.write(POINTER, f"getelementptr {unit}, {pointer!r}, {by!r}")

    def address(self, buffer: Buffer, terms: Terms, rest: int, scope: Scope) -> Value:
        """The address of an element; each loop adds its own terms."""
        known = self.control.known
        by_home: dict[Scope, list[tuple[Value, int]]] = {}
        for atom, factor in terms.items():
            if scope.tile is not None and atom is scope.tile[0].loop.index:
                atom, number = scope.tile
                rest += factor * number
            if isinstance(atom, Expr):
                self.expressions.value(atom, scope)
            home, value = scope.locate(atom)
            if _is_part_of_word(atom):
                value = known(home, (atom, "opaque"), lambda v=value: _opaque(v))
            if value.is_constant:
                rest += factor * int(value.text)
            else:
                rest += factor * value.beyond
                home = home.of_place(value.base.place) if value.base else home
                by_home.setdefault(home, []).append((value.base or value, factor))
        pointer, here = self.base(buffer), scope.outermost
        sum_so_far: frozenset = frozenset()
        for here in sorted(by_home, key=lambda s: s.depth):
            parts = by_home[here]
            sum_so_far |= {(value.text, factor) for value, factor in parts}
            pointer = known(here, (buffer, sum_so_far), lambda p=pointer, s=parts:
                            self.further(buffer, p, _sum(s)))
        return known(here, (buffer, sum_so_far, rest), lambda: self.further(
            buffer, pointer, rest))

    def offsets(self, terms: Mapping[Expr, int], rest: int, scope: Scope,
                small: bool = False) -> Value:
        """The positions of elements in their buffer, per lane; in 32 bits if they are ``small`` or
        provably fit."""
        total: Value | None = None
        far = max(map(abs, positions(terms, rest)))
        bits = 32 if small or far < 1 << 31 else 64
        for atom, factor in terms.items():
            value = resized(self.expressions.value(atom, scope), bits)
            value = value if factor == 1 else value * factor
            total = value if total is None else total + value
        if total is None:
            return self.control.index(rest)
        return total + rest if rest else total

    def in_block(self, load: Load, crossing: Loop, lane: Loop, scope: Scope, row: Value,
                 column: Value) -> tuple[Value, int]:
        """The address of an element, given the indices of two loops, and the distance between
        lanes."""
        inner = scope.within((*crossing.covers, *lane.covers))
        for loop in (crossing, lane):
            inner.rename(loop)
        inner.values.update({crossing.index: row, lane.index: column})
        terms, rest = self.analysis.offset(load)
        terms = named(terms, inner)
        return self.address(load.buffer, terms, rest, inner), terms[lane.index]


def _is_part_of_word(atom: Any) -> bool:
    """Whether an index is the low bits of a word, as in the keys of a sort."""
    while isinstance(atom, Op) and atom.name == "convert":
        (atom,) = atom.args
    return isinstance(atom, Op) and atom.name == "and" and atom.dtype.itemsize == 8


def _opaque(value: Value) -> Value:
    """The value, of which LLVM does not know how it was computed.

    For x86 it drops the mask of an index in an address, if the index is the least of five or more
    words whose low bits are constants: the address then includes the high bits (LLVM 20 and 22).
    """
    return value.writer.write(value.type, f'call {value.type.text} asm "", "=r,0"({value!r})')


# -- terms -----------------------------------------------------------------------------------------


def named(terms: Mapping[Expr, int], scope: Scope) -> Mapping[Expr, int]:
    """Terms in the indices of merged loops."""
    if not scope.names:
        return terms
    renamed = ((scope.names.get(atom, atom), factor) for atom, factor in terms.items())
    return {atom: factor for atom, factor in renamed if atom is not None}


def with_steps(terms: Mapping[Expr, int], rest: int,
               scope: Scope) -> tuple[Mapping[Expr, int], int]:
    """Terms without the indices of unrolled loops, which are known numbers."""
    kept = {}
    for atom, factor in terms.items():
        value = scope.find(atom)
        if isinstance(value, Value) and value.text.isdigit():
            rest += int(value.text) * factor
        else:
            kept[atom] = factor
    return kept, rest


def lane_stride(terms: Mapping[Expr, int], scope: Scope) -> int | None:
    """Distance between lanes; None if it is not constant."""
    index = scope.lanes.loop.index
    if any(scope.varies(atom) and atom is not index for atom in terms):
        return None
    return terms[index]


def with_first_lane(terms: Mapping[Expr, int], lanes: Lanes) -> Terms:
    """Terms of the address in the first lane."""
    return {lanes if atom is lanes.loop.index else atom: factor for atom, factor in terms.items()}


def with_first_of_tile(terms: Mapping[Expr, int], lanes: Lanes, tile: Tile) -> Terms:
    """Terms of the address in the first lane and the first iteration of a tile."""
    return {tile if atom is tile.loop.index else atom: factor
            for atom, factor in with_first_lane(terms, lanes).items()}


def positions(terms: Mapping[Expr, int], rest: int) -> tuple[int, int]:
    """The least and the greatest position of an access, as far as known."""
    ends = [sorted(factor * end for end in bounds(atom)) for atom, factor in terms.items()]
    return rest + sum([low for low, _ in ends]), rest + sum([high for _, high in ends])


def last_position(terms: Mapping[Expr, int], rest: int) -> int:
    """The greatest position of an access, as far as known."""
    return positions(terms, rest)[1]


def _sum(parts: list[tuple[Value, int]]) -> Value:
    total: Value | None = None
    for value, factor in parts:
        product = value if factor == 1 else value * factor
        total = product if total is None else total + product
    assert total is not None
    return total
