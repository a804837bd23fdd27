"""Running sums, maxima and minima along neighbours in memory: some vectors of them at a time.

The elements of a block are combined with the one before, then with the two before, and so on, each
time in all lanes; what those before the block come to is added last. Blocks follow each other in
memory, and wait for nothing but one addition.

Running sums of narrow numbers are kept in twice the precision. Inside a block, which is short, they
have their own: errors do not grow with the length, and numbers are converted once a block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..._loops.build import convert
from ..._loops.expr import FOLDS, Expr, Index, Load, Op
from ..._loops.instructions import identity, kind_of
from ..._loops.nest import PARALLEL, SEQUENTIAL, Buffer, Nest, Store
from ..._loops.traverse import children, expressions, loads, walk, written
from ..stages import is_affine
from .folds import whole
from .lanes import Loop
from .operations import apply, number
from .scopes import Scope
from .storage import register_type
from .values import Value

if TYPE_CHECKING:
    from .llvm import Kernel

__all__ = ["Scan", "along_neighbours", "neutral", "scan_of", "write_scan"]

_VECTORS = 4
"""Vectors of a block."""
_LONG = 1 << 14
"""Blocks from which on it may take too long to wait for all of them."""


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


def along_neighbours(kernel: Kernel, nest: Nest) -> Scan | None:
    """The scan that a nest is, if all that it touches lies next to each other along it."""
    scan = scan_of(nest)
    if scan is None or any(kind != PARALLEL for kind in nest.kinds[:-1]) or (
            kind_of(scan.state.dtype) not in "fiu") or scan.element.holds & FOLDS:
        return None
    memory = kernel.analysis.memory
    stored = [Load(store.buffer, store.index) for store in scan.stores]
    read = [load for e in (scan.element, *(s.value for s in scan.stores)) for load in loads(e)
            if load is not scan.state]
    own = {memory(scan.state.buffer), *(memory(load.buffer) for load in stored)}
    steps = [abs(load.place[0].get(scan.along, 0)) for load in stored]
    return scan if scan.along.extent >= 2 * _width(kernel, scan) and stored and all(
        step == 1 for step in steps) and len(own) == 1 + len(stored) and all(
        is_affine(load.place) and abs(load.place[0].get(scan.along, 0)) <= 1
        and (memory(load.buffer) not in own or any(
            memory(load.buffer) is memory(other.buffer) and load.place == other.place
            for other in stored)) for load in read) else None


def _width(kernel: Kernel, scan: Scan) -> int:
    """The lanes of a block."""
    dtype = (scan.element if scan.narrow is None else scan.narrow).dtype
    return _VECTORS * kernel.planner.vector_bits // register_type(dtype).bits


def write_scan(kernel: Kernel, scan: Scan, nest: Nest, scope: Scope) -> None:
    """Write a scan along neighbours, for each iteration of the loops around it."""
    *outer, last = [Loop(i, (i,), kind == PARALLEL) for i, kind in zip(nest.indices, nest.kinds)
                    if i.extent > 1]
    writes = kernel.written(nest.body)

    def inside(loops: Sequence[Loop], here: Scope) -> list:
        if loops:
            kernel.loop(here, loops[0], 0, loops[0].extent, [],
                        lambda inner, _: inside(loops[1:], inner), writes=writes)
        else:
            done, state = _blocks(kernel, scan, last, here, writes)
            kernel.put(scan.state, state, here)
            if done < last.extent:
                kernel.nest_loop(last, (), nest.body, here, done, last.extent)
        return []

    inside(outer, scope)


def _blocks(kernel: Kernel, scan: Scan, loop: Loop, scope: Scope,
            writes: frozenset[Buffer]) -> tuple[int, Any]:
    """Write as much of a scan as whole blocks are; how much that is, and what the state is then."""
    width, wide = _width(kernel, scan), scan.state.dtype
    given = scan.element if scan.narrow is None else scan.narrow
    dtype = given.dtype
    found = scan.state if scan.narrow is None else convert(scan.state, dtype)

    def combined(a: Any, b: Any, of: np.dtype) -> Any:
        return apply(scan.combine, (a, b), (of, of), of, {})

    def converted(value: Any, old: np.dtype, new: np.dtype) -> Any:
        return value if old == new else apply("convert", (value,), (old,), new, {})

    def step(inner: Scope, states: Sequence[Any]) -> list[Any]:
        (state,) = states
        block, apart = whole(kernel.value(given, inner), dtype).of(width), 1
        before: Any = number(kernel.writer, neutral(scan.combine, dtype), dtype).of(width)
        while apart < width:
            block = combined(_moved(before, block, apart), block, dtype)
            apart *= 2
        inner.values[found] = combined(converted(state, wide, dtype).of(width), block, dtype)
        for store in scan.stores:
            kernel.store(store, inner)
        return [combined(state, converted(block.lane(width - 1), dtype, wide), wide)]

    steps = loop.extent // width
    (state,) = kernel.loop(scope, replace(loop, width=width, whole=True), 0, steps,
                           [kernel.value(scan.state, scope)], step, writes=writes,
                           polled=steps >= _LONG)
    return steps * width, state


def _moved(before: Value, block: Value, by: int) -> Value:
    """A vector whose lanes have moved up, behind the last ones of another."""
    lanes = block.type.lanes
    order = ", ".join([f"i32 {n}" for n in range(lanes - by, 2 * lanes - by)])
    return block.writer.write(block.type, f"shufflevector {before!r}, {block!r}, "
                                          f"<{lanes} x i32> <{order}>")
