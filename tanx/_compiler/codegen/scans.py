"""Running sums, maxima and minima, some vectors of them at a time.

*Along* neighbours in memory, the elements of a block are combined with the one before, then with
the two before, and so on, each time in all lanes; what those before the block come to is added
last. Blocks follow each other in memory, and wait for nothing but one addition. Where they go
backwards, lanes do so as well, and stay as they are in memory.

*Across* memory, lanes are neighbours that have nothing to do with each other. Some rows are gone
through together, so that what their columns come to is loaded and stored once for all of them.

Running sums of narrow numbers are kept in twice the precision. Inside a block, which is short, they
have their own: errors do not grow with the length, and numbers are converted once a block.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..._loops.build import convert
from ..._loops.expr import FOLDS, Expr, Index, Load, Op, const
from ..._loops.instructions import identity, kind_of
from ..._loops.nest import PARALLEL, SEQUENTIAL, Buffer, Nest, Statement, Store
from ..._loops.traverse import (
    children,
    expressions,
    loads,
    map_expressions,
    substitution,
    walk,
    written,
)
from ..stages import is_affine
from .folds import whole
from .lanes import Loop
from .operations import apply, number
from .scopes import Ahead, Scope
from .storage import register_type
from .values import Value

if TYPE_CHECKING:
    from .llvm import Kernel

__all__ = ["Scan", "neutral", "scan_of", "write_scan"]

_VECTORS, _ROWS = 4, 4
"""Vectors of a block, and rows that are gone through together."""
_LONG = 1 << 14
"""Blocks that may take too long to sit out."""


class Scan(NamedTuple):
    """A loop that keeps combining an element, the ``state``, with others, and stores what it is."""

    along: Index
    state: Load
    combine: str
    element: Expr
    stores: tuple[Store, ...]

    @property
    def narrow(self) -> Expr | None:
        """What is combined, before it is converted; None unless that is all that results keep."""
        given, state = self.element, self.state
        if self.combine != "add" or given.dtype != np.float64 or not (
                isinstance(given, Op) and given.name == "convert") or (
                given.args[0].dtype != np.float32):
            return None
        users = [node for node in walk(*(store.value for store in self.stores))
                 if state in children(node)]
        return given.args[0] if all(isinstance(node, Op) and node.name == "convert" and (
            node.dtype == given.args[0].dtype) for node in users) and not any(
            store.value is state for store in self.stores) else None

    @property
    def given(self) -> Expr:
        """What is combined inside of a block."""
        return self.element if self.narrow is None else self.narrow

    @property
    def found(self) -> Expr:
        """What stores make something of."""
        return self.state if self.narrow is None else convert(self.state, self.given.dtype)


def neutral(combine: str, dtype: Any) -> Any:
    """What changes no element: of sums of floats, the negative zero."""
    zeros = {"f": -0.0, "c": complex(-0.0, -0.0)}
    return zeros.get(kind_of(dtype), 0) if combine == "add" else identity(combine, dtype)


def scan_of(nest: Nest) -> Scan | None:
    """The scan that a nest is, along its last loop; None if it is more, or less.

    What it stores besides depends on what the state is, or on nothing that the loop stores.
    """
    first = nest.body[0]
    if not nest.kinds or nest.kinds[-1] != SEQUENTIAL or not isinstance(
            first, Store) or not isinstance(
            first.value, Op) or first.value.name not in ("add", "max", "min"):
        return None  # products could overflow by themselves, and not where they are to go
    index, state = nest.indices[-1], Load(first.buffer, first.index)
    stores = [s for s in nest.body if isinstance(s, Store) and not s.combine and s.guard is None]
    elements = [arg for arg in first.value.args if arg is not state]
    if len(elements) != 1 or index in state.free or len(stores) < len(nest.body):
        return None
    targets = written(nest.body)
    places = {s.buffer: Load(s.buffer, s.index) for s in stores}
    read = [*loads(*(e for s in nest.body for e in expressions(s)))]
    return Scan(index, state, first.value.name, elements[0], tuple(stores[1:])) if (
        all(load.buffer not in targets or load is places[load.buffer] for load in read)
        and state not in loads(*elements) and len(places) == len(stores)) else None


def write_scan(kernel: Kernel, nest: Nest, scope: Scope) -> bool:
    """Write a scan along or across neighbours; whether it is one."""
    return _write_along(kernel, nest, scope) or _write_across(kernel, nest, scope)


def _fits(kernel: Kernel, scan: Scan, lane: Index, steps: Collection[int]) -> bool:
    """Whether lanes along a loop store neighbours, read some if any, and overwrite nothing but what
    they have read themselves. Steps are those that loads may have."""
    memory = kernel.analysis.memory
    stored = [Load(store.buffer, store.index) for store in scan.stores]
    read = [load for e in (scan.element, *(s.value for s in scan.stores)) for load in loads(e)
            if load is not scan.state]
    own = {memory(scan.state.buffer), *(memory(load.buffer) for load in stored)}
    plain = kind_of(scan.state.dtype) in "fiu" and register_type(scan.given.dtype).bits >= 8
    if not plain or scan.element.holds & FOLDS or len(own) == 1 or len(own) <= len(stored) or (
            lane.extent < 2 * _width(kernel, scan)):
        return False
    return all(load.place[0].get(lane) in steps and load.place[0].get(lane) for load in stored
               ) and all(is_affine(load.place) and load.place[0].get(lane, 0) in steps and (
                   memory(load.buffer) not in own or any(
                       memory(load.buffer) is memory(other.buffer) and load.place == other.place
                       for other in stored)) for load in read)


def _width(kernel: Kernel, scan: Scan) -> int:
    """The lanes of a block."""
    return _VECTORS * kernel.planner.vector_bits // register_type(scan.given.dtype).bits


def _around(kernel: Kernel, indices: Sequence[Index], scope: Scope, writes: frozenset[Buffer],
            write: Callable[[Scope], None]) -> None:
    """Write loops over iterations that stay apart, around something."""
    def inside(inner: Scope, left: Sequence[Index]) -> list:
        if not left:
            write(inner)
        else:
            kernel.loop(inner, Loop(left[0], (left[0],), True), 0, left[0].extent, [],
                        lambda deeper, _: inside(deeper, left[1:]), writes=writes)
        return []

    inside(scope, [i for i in indices if i.extent > 1])


def _write_along(kernel: Kernel, nest: Nest, scope: Scope) -> bool:
    """Write a scan along neighbours, for each iteration of the loops around it."""
    scan = scan_of(nest)
    if scan is None or set(nest.kinds[:-1]) - {PARALLEL} or not _fits(
            kernel, scan, scan.along, (-1, 0, 1)):
        return False
    loop, writes = Loop(scan.along, (scan.along,), False), kernel.written(nest.body)

    def line(here: Scope) -> None:
        done, state = _blocks(kernel, scan, loop, here, writes)
        kernel.put(scan.state, state, here)
        if done < loop.extent:
            kernel.nest_loop(loop, (), nest.body, here, done, loop.extent)

    _around(kernel, nest.indices[:-1], scope, writes, line)
    return True


def _write_across(kernel: Kernel, nest: Nest, scope: Scope) -> bool:
    """Write a scan along a loop around one over neighbours, in lanes of these."""
    if nest.kinds[-2:] != (SEQUENTIAL, PARALLEL) or set(nest.kinds[:-2]) - {PARALLEL}:
        return False
    *outer, along, lane = nest.indices
    scan = scan_of(Nest((*outer, lane, along), (PARALLEL,) * (len(outer) + 1) + (SEQUENTIAL,),
                        nest.body))
    if scan is None or along.extent < 2 * _ROWS or scan.state.place[0].get(lane) != 1 or (
            not _fits(kernel, scan, lane, (0, 1))):
        return False
    writes = kernel.written(nest.body)
    _around(kernel, outer, scope, writes, lambda here: _rows(
        kernel, scan, lane, here, nest.body, writes))
    return True


def _rows(kernel: Kernel, scan: Scan, lane: Index, scope: Scope, body: Sequence[Statement],
          writes: frozenset[Buffer]) -> None:
    """Write the rows of a scan across neighbours, some at a time."""
    along, width, wide = scan.along, _width(kernel, scan), scan.state.dtype
    row, given = Loop(along, (along,), False), scan.given
    block = Index("block", along.extent // _ROWS)
    whole_steps = lane.extent // width

    def columns(inner: Scope, first: Value, width: int) -> list:
        state = kernel.value(scan.state, inner)
        start, parts = _converted(state, wide, given.dtype), list[Any]()
        inner.outer = Ahead(row, lane.extent, _ROWS)

        def one(here: Scope, _) -> list:
            value = whole(kernel.value(given, here), given.dtype).of(width)
            parts.append(_combined(scan, parts[-1], value, given.dtype) if parts else value)
            here.values[scan.found] = _combined(scan, start, parts[-1], given.dtype)
            for store in scan.stores:
                kernel.store(store, here)
            return []

        for n in range(_ROWS):
            kernel.once(inner, row, n, [], one, (), writes, first)
        last = _converted(parts[-1], given.dtype, wide)
        kernel.put(scan.state, _combined(scan, state, last, wide), inner)
        return []

    def rows(here: Scope, _) -> list:
        first = here.values[block] * _ROWS
        for size, begin, end in ((width, 0, whole_steps),
                                 (1, whole_steps * width, lane.extent)):
            if begin < end:
                kernel.loop(here, Loop(lane, (lane,), True, size, whole=True), begin, end, [],
                            lambda inner, _, n=size: columns(inner, first, n), writes=writes)
        return []

    kernel.loop(scope, Loop(block, (block,), False), 0, block.extent, [], rows, writes=writes,
                polled=block.extent >= _LONG)
    if left := along.extent % _ROWS:
        kernel.nest_loop(row, [Loop(lane, (lane,), True, width, whole=True)], body, scope,
                         along.extent - left, along.extent)


def _blocks(kernel: Kernel, scan: Scan, loop: Loop, scope: Scope,
            writes: frozenset[Buffer]) -> tuple[int, Any]:
    """Write as much of a scan as whole blocks are; how much that is, and what the state is then."""
    width, wide, dtype = _width(kernel, scan), scan.state.dtype, scan.given.dtype
    steps = loop.extent // width
    backwards = _is_backwards(scan)
    place = Index("place", steps * width)
    change = substitution({scan.along: const(place.extent - 1) - place} if backwards else {})
    given = change(scan.given)
    stores = [map_expressions(store, change) for store in scan.stores]

    def step(inner: Scope, states: Sequence[Any]) -> list[Any]:
        (state,) = states
        block, apart = whole(kernel.value(given, inner), dtype).of(width), 1
        before: Any = number(kernel.writer, neutral(scan.combine, dtype), dtype).of(width)
        while apart < width:
            block = _combined(scan, _moved(before, block, apart, backwards), block, dtype)
            apart *= 2
        before = _converted(state, wide, dtype).of(width)
        inner.values[scan.found] = _combined(scan, before, block, dtype)
        for store in stores:
            kernel.statement(store, inner)
        last = block.lane(0 if backwards else width - 1)
        return [_combined(scan, state, _converted(last, dtype, wide), wide)]

    def step_back(inner: Scope, states: Sequence[Any]) -> list[Any]:
        lane = Loop(place, (place,), False, width, whole=True)
        return kernel.once(inner, lane, 0, states, step, (), writes,
                           steps - 1 - inner.values[number_of_step])

    number_of_step = Index("step", steps)
    ways = (Loop(number_of_step, (number_of_step,), False), step_back) if backwards else (
        replace(loop, width=width, whole=True), step)
    (state,) = kernel.loop(scope, ways[0], 0, steps, [kernel.value(scan.state, scope)], ways[1],
                           writes=writes, polled=steps >= _LONG)
    return steps * width, state


def _is_backwards(scan: Scan) -> bool:
    """Whether all that depends on the place in a line goes through memory from its end."""
    touched = [*(Load(store.buffer, store.index) for store in scan.stores),
               *loads(scan.given, *(store.value for store in scan.stores))]
    return {load.place[0].get(scan.along, 0) for load in touched} <= {-1, 0}


def _combined(scan: Scan, a: Any, b: Any, dtype: np.dtype) -> Any:
    return apply(scan.combine, (a, b), (dtype, dtype), dtype, {})


def _converted(value: Any, old: np.dtype, new: np.dtype) -> Any:
    return value if old == new else apply("convert", (value,), (old,), new, {})


def _moved(before: Value, block: Value, by: int, down: bool) -> Value:
    """A vector whose lanes have moved up, behind the last ones of another; or down."""
    lanes = block.type.lanes
    first, pair = (by, (block, before)) if down else (lanes - by, (before, block))
    order = ", ".join([f"i32 {n}" for n in range(first, first + lanes)])
    return block.writer.write(block.type, f"shufflevector {pair[0]!r}, {pair[1]!r}, "
                                          f"<{lanes} x i32> <{order}>")
