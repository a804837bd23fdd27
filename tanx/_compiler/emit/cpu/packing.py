"""Bits of eight bytes, as ``packbits`` has them: folds that test bytes and shift the results.

Such a fold is ``or(k in 8: u8(x[8 * i + k] != 0) << k)``, or with the bits in reverse. In lanes of
``i``, the bytes of a step are words in memory. Written out, it would shift each byte out of its
word: 8M bits took 1.1 ms on one core of Cascade Lake, and take half of it in words.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TypeGuard

import numpy as np

from ...._loops.expr import Const, Expr, Fold, Load, Op, const
from ...._loops.loop_kinds import Unrolled
from ...._loops.traverse import substitute
from ...schedule.analysis import Analysis
from ...schedule.lanes import WORD
from ..addresses import Addresses, lane_stride, last_position, named, with_first_lane
from ..scalars import Scalar
from ..scopes import Scope
from ..values import I1, I64, Value, convert, integer, resized, shift_left, shift_right

__all__ = ["Packing"]

_BYTES = [np.dtype(name) for name in ("bool", "int8", "uint8")]
_UPWARDS = list(range(WORD))


class Packing:
    """Writes folds: those that pack bits of words, and others by ``fold``."""

    def __init__(self, analysis: Analysis, addresses: Addresses,
                 fold: Callable[[Fold, Scope], tuple[Scalar, ...]]):
        self.analysis, self.addresses, self.other = analysis, addresses, fold

    def fold(self, fold: Fold, scope: Scope) -> tuple[Scalar, ...]:
        """The final states of a fold."""
        load, shifts = _tested_bytes(fold)
        start = self._address(load, fold, scope) if load is not None else None
        if start is None:
            return self.other(fold, scope)
        return (_packed(_ones(start, scope.lanes.width), shifts[0] > 0),)

    def _address(self, load: Load, fold: Fold, scope: Scope) -> Value | None:
        """The address of the words that a step in lanes reads, or None if it reads others."""
        if scope.lanes is None or scope.lanes.width == 1 or scope.mask is not None or (
                load in scope.rooms or load in scope.carried):
            return None
        terms, rest = self.analysis.offset(load)
        terms = dict(named(terms, scope))
        own = terms.pop(fold.indices[0], None)
        if own != 1 or scope.lanes.loop.index not in terms or lane_stride(terms, scope) != WORD or (
                last_position(terms, rest) + WORD > prod(load.buffer.shape)):
            return None
        return self.addresses.address(
            load.buffer, with_first_lane(terms, scope.lanes), rest, scope)


def _tested_bytes(fold: Fold) -> tuple[Load | None, list[int]]:
    """The load whose elements are tested, and by how much the results are shifted, in order."""
    none: tuple[None, list[int]] = (None, [])
    if fold.combine != "or" or len(fold.indices) != 1 or fold.indices[0].extent != WORD or (
            not all(isinstance(kind, Unrolled) for kind in fold.kinds or [None])
            or fold.init[0].dtype != np.uint8 or not _is_zero(fold.init[0])):
        return none
    shifted: Expr = fold.body[0]
    if not _is(shifted, "shift_left"):
        return none
    number, shift = shifted.args
    if not _is(number, "convert"):
        return none
    tested: Expr = number.args[0]
    if _is(tested, "ne") and _is_zero(tested.args[1]):
        tested = tested.args[0]
    elif tested.dtype != bool:
        return none
    if not isinstance(tested, Load) or tested.buffer.dtype not in _BYTES:
        return none
    steps = [substitute(shift, {fold.indices[0]: const(k)}) for k in range(WORD)]
    shifts = [int(step.value) for step in steps if isinstance(step, Const)]
    return (tested, shifts) if shifts in (_UPWARDS, _UPWARDS[::-1]) else none


def _is(expr: Expr, name: str) -> TypeGuard[Op]:
    return isinstance(expr, Op) and expr.name == name


def _is_zero(expr: Expr) -> bool:
    return isinstance(expr, Const) and not expr.value


def _ones(start: Value, count: int) -> Value:
    """Words from an address on, with a one for each byte that is not zero."""
    write, words, single = start.writer.write, I64.of(count), integer(8, WORD * count)
    given = write(single, f"load {single.text}, {start!r}, align 1")
    some = write(I1.of(single.lanes), f"icmp ne {given!r}, zeroinitializer")
    return write(words, f"bitcast {convert(some, 'zext', single)!r} to {words.text}")


def _packed(words: Value, reverse: bool) -> Value:
    """The lowest bits of the bytes of words as bytes, the first one lowest unless ``reverse``."""
    for step in (1, 2, 4):
        words = words | (shift_left(words, 9 * step) if reverse else shift_right(words, 7 * step))
    return resized(shift_right(words, 56) if reverse else words, 8)
