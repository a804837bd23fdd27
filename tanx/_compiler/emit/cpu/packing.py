"""Folds that are packed: eight bytes are tested as a word, and become the bits of one byte."""

from __future__ import annotations

from collections.abc import Callable

from ...._loops.expr import Fold, Load
from ...._loops.loop_kinds import Unrolled
from ...schedule.analysis import Analysis
from ...schedule.lanes import WORD
from ...schedule.packing import bits_of
from ..addresses import Addresses, lane_stride, named, with_first_lane
from ..scalars import Scalar
from ..scopes import Scope
from ..values import I1, I64, Value, convert, integer, resized, shift_left, shift_right

__all__ = ["Packing"]


class Packing:
    """Writes folds: packed ones, and others by ``fold``."""

    def __init__(self, analysis: Analysis, addresses: Addresses,
                 fold: Callable[[Fold, Scope], tuple[Scalar, ...]]):
        self.analysis, self.addresses, self.other = analysis, addresses, fold

    def fold(self, fold: Fold, scope: Scope) -> tuple[Scalar, ...]:
        """The final states of a fold.

        A packed fold is written out for a single lane, where lanes are masked, and if its bytes are
        in registers.
        """
        bits = bits_of(fold) if any(
            isinstance(kind, Unrolled) and kind.packed for kind in fold.kinds) else None
        if bits is None or scope.lanes is None or scope.lanes.width == 1 or (
                scope.mask is not None or bits.load in scope.rooms or bits.load in scope.carried):
            return self.other(fold, scope)
        return (_packed(self._ones(bits.load, fold, scope), bits.reverse),)

    def _ones(self, load: Load, fold: Fold, scope: Scope) -> Value:
        """The words that a step in lanes reads, with a one for each byte that is not zero."""
        terms, rest = self.analysis.offset(load)
        terms = {atom: factor for atom, factor in named(terms, scope).items()
                 if atom is not fold.indices[0]}
        assert lane_stride(terms, scope) == WORD
        start = self.addresses.address(
            load.buffer, with_first_lane(terms, scope.lanes), rest, scope)
        count = scope.lanes.width
        write, words, single = start.writer.write, I64.of(count), integer(8, WORD * count)
        given = write(single, f"load {single.text}, {start!r}, align 1")
        some = write(I1.of(single.lanes), f"icmp ne {given!r}, zeroinitializer")
        return write(words, f"bitcast {convert(some, 'zext', single)!r} to {words.text}")


def _packed(words: Value, reverse: bool) -> Value:
    """The lowest bits of the bytes of words as bytes, the first one lowest unless ``reverse``."""
    for step in (1, 2, 4):
        words = words | (shift_left(words, 9 * step) if reverse else shift_right(words, 7 * step))
    return resized(shift_right(words, 56) if reverse else words, 8)
