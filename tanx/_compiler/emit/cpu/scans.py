"""Running sums, maxima and minima, several vectors at a time.

*Along* contiguous memory, the elements of a block are combined with the one before, then with the
two before, and so on, each time in all lanes; the total of the blocks before is added last. Blocks
depend on each other only through one addition. If the scan runs backwards, lanes do so as well, and
stay in memory order.

*Across* memory, lanes are independent neighbours. Several rows are processed together, so that the
totals of their columns are loaded and stored once for all of them.

Running sums of narrow numbers are kept in twice the precision. Inside a block, which is short, they
have their own precision: errors do not grow with the length, and numbers are converted once per
block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...._loops.expr import Index, const
from ...._loops.nest import Buffer, Nest
from ...._loops.scheduled import ScanLine, plain
from ...._loops.traverse import map_expressions, substitution
from ...schedule.lanes import Loop
from ...schedule.scans import Scan, neutral, scan_across, scan_of
from ..operations import apply, number
from ..scalars import whole
from ..scopes import Scope
from ..values import Value
from .parts import Parts

__all__ = ["write_scan"]


NestLoop = Callable[[Loop, Sequence[Loop], Nest, Scope, int, int], None]
"""Writes a loop of a nest from a step on: ``Nests.nest_loop``."""


def write_scan(parts: Parts, nest: ScanLine, scope: Scope, nest_loop: NestLoop) -> None:
    """Write a scan along or across contiguous memory; ``nest_loop`` writes the remainder of
    blocks."""
    (_write_across if nest.rows else _write_along)(parts, nest, scope, nest_loop)


def _around(parts: Parts, indices: Sequence[Index], scope: Scope, writes: frozenset[Buffer],
            write: Callable[[Scope], None]) -> None:
    """Write loops over independent iterations around something."""
    def inside(inner: Scope, left: Sequence[Index]) -> list:
        if not left:
            write(inner)
        else:
            parts.control.loop(inner, Loop(left[0], (left[0],), True), 0, left[0].extent, [],
                               lambda deeper, _: inside(deeper, left[1:]), writes=writes)
        return []

    inside(scope, [i for i in indices if i.extent > 1])


def _write_along(parts: Parts, nest: ScanLine, scope: Scope, nest_loop: NestLoop) -> None:
    """Write a scan along contiguous memory, for each iteration of the surrounding loops."""
    scan = scan_of(nest)
    assert scan is not None
    loop, writes = Loop(scan.along, (scan.along,), False), parts.analysis.written(nest.body)

    def line(here: Scope) -> None:
        done, state = _blocks(parts, nest, scan, loop, here, writes)
        parts.statements.put(scan.state, state, here)
        if done < loop.extent:
            nest_loop(loop, (), plain(nest, nest.rest or nest.body), here, done, loop.extent)

    _around(parts, nest.indices[:-1], scope, writes, line)


def _write_across(parts: Parts, nest: ScanLine, scope: Scope, nest_loop: NestLoop) -> None:
    """Write a scan along a loop around a contiguous one, in lanes of the latter."""
    scan, writes = scan_across(nest), parts.analysis.written(nest.body)
    assert scan is not None
    _around(parts, nest.indices[:-2], scope, writes, lambda here: _rows(
        parts, nest, scan, here, writes, nest_loop))


def _rows(parts: Parts, nest: ScanLine, scan: Scan, scope: Scope, writes: frozenset[Buffer],
          nest_loop: NestLoop) -> None:
    """Write the rows of a scan across vectors, some at a time."""
    along, width, wide, lane = scan.along, nest.lanes, scan.state.dtype, nest.indices[-1]
    row, given, together = Loop(along, (along,), False), scan.given, nest.rows
    block = Index("block", along.extent // together)
    whole_steps = lane.extent // width

    def columns(inner: Scope, first: Value, width: int) -> list:
        state = parts.expressions.value(scan.state, inner)
        start, sums = _converted(state, wide, given.dtype), list[Any]()

        def one(here: Scope, _) -> list:
            parts.prefetch.plan(nest.body)
            value = whole(parts.expressions.value(given, here), given.dtype).of(width)
            sums.append(_combined(scan, sums[-1], value, given.dtype) if sums else value)
            here.values[scan.found] = _combined(scan, start, sums[-1], given.dtype)
            for store in scan.stores:
                parts.statements.store(store, here)
            return []

        for n in range(together):
            parts.control.once(inner, row, n, [], one, writes=writes, base=first)
        last = _converted(sums[-1], given.dtype, wide)
        parts.statements.put(scan.state, _combined(scan, state, last, wide), inner)
        return []

    def rows(here: Scope, _) -> list:
        first = here.values[block] * together
        for size, begin, end in ((width, 0, whole_steps),
                                 (1, whole_steps * width, lane.extent)):
            if begin < end:
                parts.control.loop(
                    here, Loop(lane, (lane,), True, size, whole=True), begin, end, [],
                    lambda inner, _, n=size: columns(inner, first, n), writes=writes)
        return []

    parts.control.loop(scope, Loop(block, (block,), False), 0, block.extent, [], rows,
                       writes=writes, polled=along in nest.polled)
    if left := along.extent % together:
        lanes = Loop(lane, (lane,), True, width, whole=True, kind=nest.kinds[-1])
        nest_loop(row, [lanes], plain(nest), scope, along.extent - left, along.extent)


def _blocks(parts: Parts, nest: ScanLine, scan: Scan, loop: Loop, scope: Scope,
            writes: frozenset[Buffer]) -> tuple[int, Any]:
    """Write the whole blocks of a scan; returns how many iterations that are, and the state
    then."""
    width, wide, dtype = nest.lanes, scan.state.dtype, scan.given.dtype
    steps, backwards = loop.extent // width, nest.backwards
    place = Index("place", steps * width)
    change = substitution({scan.along: const(place.extent - 1) - place} if backwards else {})
    given = change(scan.given)
    body = [map_expressions(statement, change) for statement in nest.body]
    stores = [map_expressions(store, change) for store in scan.stores]

    def step(inner: Scope, states: Sequence[Any]) -> list[Any]:
        (state,) = states
        parts.prefetch.plan(body)
        block, apart = whole(parts.expressions.value(given, inner), dtype).of(width), 1
        before: Any = number(parts.writer, neutral(scan.combine, dtype), dtype).of(width)
        while apart < width:
            block = _combined(scan, _moved(before, block, apart, backwards), block, dtype)
            apart *= 2
        before = _converted(state, wide, dtype).of(width)
        inner.values[scan.found] = _combined(scan, before, block, dtype)
        for store in stores:
            parts.statements.write(store, inner)
        last = block.lane(0 if backwards else width - 1)
        return [_combined(scan, state, _converted(last, dtype, wide), wide)]

    def step_back(inner: Scope, states: Sequence[Any]) -> list[Any]:
        lane = Loop(place, (place,), False, width, whole=True)
        return parts.control.once(inner, lane, 0, states, step, writes=writes,
                                  base=steps - 1 - inner.values[number_of_step])

    number_of_step = Index("step", steps)
    ways = (Loop(number_of_step, (number_of_step,), False), step_back) if backwards else (
        replace(loop, width=width, whole=True), step)
    start = parts.expressions.value(scan.state, scope)
    (state,) = parts.control.loop(scope, ways[0], 0, steps, [start], ways[1], writes=writes,
                                  polled=scan.along in nest.polled)
    return steps * width, state


def _combined(scan: Scan, a: Any, b: Any, dtype: np.dtype) -> Any:
    return apply(scan.combine, (a, b), (dtype, dtype), dtype, {})


def _converted(value: Any, old: np.dtype, new: np.dtype) -> Any:
    return value if old == new else apply("convert", (value,), (old,), new, {})


def _moved(before: Value, block: Value, by: int, down: bool) -> Value:
    """A vector whose lanes have moved up, after the last lanes of another; or down."""
    lanes = block.type.lanes
    first, pair = (by, (block, before)) if down else (lanes - by, (before, block))
    order = ", ".join([f"i32 {n}" for n in range(first, first + lanes)])
    return block.writer.write(block.type, f"shufflevector {pair[0]!r}, {pair[1]!r}, "
                                          f"<{lanes} x i32> <{order}>")
