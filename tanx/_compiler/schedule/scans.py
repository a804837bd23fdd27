"""Running sums, maxima and minima: which nests are scans, and which of them run in vectors.

``emit/cpu/scans.py`` describes the code.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from ..._base.tuples import NamedTuple
from ..._loops.build import convert
from ..._loops.expr import FOLDS, Expr, Index, Load, Op
from ..._loops.instructions import identity, kind_of
from ..._loops.nest import PARALLEL, SEQUENTIAL, Nest, Store
from ..._loops.traverse import children, expressions, loads, walk, written
from ..nest_tools import is_affine
from .lanes import Planner, register_bits

__all__ = ["Scan", "as_scan", "neutral", "scan_across", "scan_of"]


class Scan(NamedTuple):
    """A loop that combines an element, the ``state``, with others, and stores each value of it."""

    along: Index
    state: Load
    combine: str
    element: Expr
    stores: tuple[Store, ...]

    @property
    def narrow(self) -> Expr | None:
        """The combined value before it is converted; None unless results keep only that
        precision."""
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
        """The value that is combined inside of a block."""
        return self.element if self.narrow is None else self.narrow

    @property
    def found(self) -> Expr:
        """The value that stores use."""
        return self.state if self.narrow is None else convert(self.state, self.given.dtype)


def neutral(combine: str, dtype: Any) -> Any:
    """The neutral element; for sums of floats, negative zero."""
    zeros = {"f": -0.0, "c": complex(-0.0, -0.0)}
    return zeros.get(kind_of(dtype), 0) if combine == "add" else identity(combine, dtype)


def scan_of(nest: Nest) -> Scan | None:
    """The scan that a nest performs along its last loop; None if it is not exactly a scan.

    Its other stores depend on the state, or on nothing that the loop stores.
    """
    first = nest.body[0]
    if not nest.kinds or nest.kinds[-1] != SEQUENTIAL or not isinstance(
            first, Store) or not isinstance(
            first.value, Op) or first.value.name not in ("add", "max", "min"):
        return None  # products within a block could overflow where the whole product does not
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


def as_scan(planner: Planner, nest: Nest) -> dict[str, Any] | None:
    """How a scan runs in vectors: the fields of ``ScanLine``; None if it is not a scan, or runs
    better otherwise."""
    scan = scan_of(nest)
    if scan is not None and not set(nest.kinds[:-1]) - {PARALLEL} and _runs_in_lanes(
            planner, scan, scan.along, (-1, 0, 1)):
        return {"lanes": _block_lanes(planner, scan), "backwards": _is_backwards(scan)}
    if nest.kinds[-2:] != (SEQUENTIAL, PARALLEL) or set(nest.kinds[:-2]) - {PARALLEL}:
        return None
    scan, lane, rows = scan_across(nest), nest.indices[-1], planner.machine.tuning.scans.rows
    if scan is None or scan.along.extent < 2 * rows or scan.state.place[0].get(lane) != 1 or (
            not _runs_in_lanes(planner, scan, lane, (0, 1))):
        return None
    return {"lanes": _block_lanes(planner, scan), "rows": rows}


def scan_across(nest: Nest) -> Scan | None:
    """The scan that a nest performs along its second to last loop."""
    *outer, along, lane = nest.indices
    return scan_of(Nest((*outer, lane, along), (PARALLEL,) * (len(outer) + 1) + (SEQUENTIAL,),
                        nest.body))


def _runs_in_lanes(planner: Planner, scan: Scan, lane: Index, steps: Collection[int]) -> bool:
    """Whether lanes along a loop store adjacent elements, and overwrite only what they have read
    themselves. ``steps`` are the strides that loads may have."""
    memory = planner.analysis.memory
    stored = [Load(store.buffer, store.index) for store in scan.stores]
    read = [load for e in (scan.element, *(s.value for s in scan.stores)) for load in loads(e)
            if load is not scan.state]
    own = {memory(scan.state.buffer), *(memory(load.buffer) for load in stored)}
    plain = kind_of(scan.state.dtype) in "fiu" and register_bits(scan.given.dtype) >= 8
    if not plain or scan.element.holds & FOLDS or len(own) == 1 or len(own) <= len(stored) or (
            lane.extent < 2 * _block_lanes(planner, scan)):
        return False
    return all(load.place[0].get(lane) in steps and load.place[0].get(lane) for load in stored
               ) and all(is_affine(load.place) and load.place[0].get(lane, 0) in steps and (
                   memory(load.buffer) not in own or any(
                       memory(load.buffer) is memory(other.buffer) and load.place == other.place
                       for other in stored)) for load in read)


def _block_lanes(planner: Planner, scan: Scan) -> int:
    """The lanes of a block."""
    vectors = planner.machine.tuning.scans.vectors
    return vectors * planner.vector_bits // register_bits(scan.given.dtype)


def _is_backwards(scan: Scan) -> bool:
    """Whether all accesses that depend on the position in a line run backwards."""
    touched = [*(Load(store.buffer, store.index) for store in scan.stores),
               *loads(scan.given, *(store.value for store in scan.stores))]
    return {load.place[0].get(scan.along, 0) for load in touched} <= {-1, 0}
