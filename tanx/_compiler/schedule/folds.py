"""How folds run: in their own lanes, step by step, or unrolled.

A reduction that is the same in all surrounding lanes may have its own lanes. One that differs
between them runs step by step, each step in all lanes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import prod

from ..._base.tuples import NamedTuple
from ..._loops.expr import FOLDS, Expr, Fold, Load, Node, Op, Pick, State, Variable, While
from ..._loops.instructions import kind_of
from ..._loops.loop_kinds import JOINED, SEQUENTIAL, Kind, Unrolled, Vector
from ..._loops.nest import Store
from ..._loops.traverse import children, walk
from ..nest_tools import is_search
from .lanes import Loop, Planner, loops_of
from .packing import packs_bytes

__all__ = ["Folds", "IDEMPOTENT", "differing_states"]

IDEMPOTENT = ("max", "min", "and", "or")
"""Reducers for which an element may occur twice."""

Varying = frozenset[Variable]
"""Variables that differ between lanes."""


def differing_states(fold: Fold, varying: Varying) -> set[State]:
    """The states of a fold that differ between lanes."""
    differ: set[State] = set()
    before = -1
    while before < len(differ):
        before = len(differ)
        varying = varying.union(differ)
        if isinstance(fold, While) and not fold.condition.free.isdisjoint(varying):
            differ.update(fold.states)
        differ.update(state for state, *parts in zip(fold.states, fold.init, fold.body)
                      if any(not part.free.isdisjoint(varying) for part in parts))
    return differ


class _Images(NamedTuple):
    """New expressions and folds, by the old ones."""

    expressions: dict[Expr, Expr]
    folds: dict[Fold, Fold]

    def remade(self, node: Expr) -> Expr:
        """An expression with changed parts, not simplified."""
        if isinstance(node, Op):
            return Op(node.name, tuple(self.expressions.get(a, a) for a in node.args), node.dtype,
                      node.attrs)
        if isinstance(node, Load):
            return Load(node.buffer, [self.expressions.get(i, i) for i in node.index])
        assert isinstance(node, Pick)
        return Pick(self.folds.get(node.fold, node.fold), node.position)


class Folds:
    """Assigns kinds to the loops of folds."""

    def __init__(self, planner: Planner):
        self.planner, self.tuning = planner, planner.machine.tuning.folds
        self.images: dict[Varying, _Images] = {}

    def store(self, store: Store, varying: Iterable[Variable]) -> Store:
        """A store whose folds are scheduled, inside of lanes in which some variables differ."""
        around = frozenset(varying)
        parts = [*store.index, store.value, *([] if store.guard is None else [store.guard])]
        if not any(part.holds & FOLDS for part in parts):
            return store
        return replace(store, index=tuple(self.changed(i, around) for i in store.index),
                       value=self.changed(store.value, around),
                       guard=None if store.guard is None else self.changed(store.guard, around))

    def changed(self, root: Expr, varying: Varying) -> Expr:
        """An expression whose folds are scheduled."""
        images = self.images.setdefault(varying, _Images({}, {}))
        known, folds = images

        def into(node: Node) -> Sequence[Node]:
            if node in known or node in folds or not node.holds & FOLDS:
                return ()
            return node.init if isinstance(node, Fold) else children(node)

        for node in walk(root, into=into):
            if isinstance(node, Fold) and node not in folds:
                folds[node] = self.fold(node, varying)
            elif isinstance(node, Expr) and node not in known and node.holds & FOLDS:
                known[node] = images.remade(node)
        return known.get(root, root)

    def fold(self, fold: Fold, varying: Varying) -> Fold:
        """A fold with the kinds of its loops, and those inside it."""
        init = [self.changed(e, varying) for e in fold.init]
        if isinstance(fold, While):
            inner = varying | differing_states(fold, varying)
            return While(init, fold.states, self.changed(fold.condition, inner),
                         [self.changed(e, inner) for e in fold.body], fold.brief)
        alone = fold.free.isdisjoint(varying)
        loops = self.planner.fold(fold, alone) if all(i.extent for i in fold.indices) else []
        lane = loops[-1] if loops and loops[-1].width > 1 and (
            fold.reducer or is_search(fold)) else None
        inner = varying if alone else varying | differing_states(fold, varying)
        if lane is not None:
            inner = frozenset((*lane.covers, *fold.states))
        kinds = self.kinds(fold, loops, lane, varying)
        return Fold(fold.indices, init, fold.states, [self.changed(e, inner) for e in fold.body],
                    fold.combine, kinds, self.stretch(fold, kinds))

    def stretch(self, fold: Fold, kinds: Sequence[Kind]) -> int:
        """The steps of a partial sum; 0 if the loops of a sum are short, or it is exact."""
        if fold.reducer != "add" or kind_of(fold.states[0].dtype) not in "fc":
            return 0
        steps = max((loop.extent // loop.width for loop in loops_of(fold.indices, kinds, False)),
                    default=0)
        return self.tuning.stretch if steps >= 2 * self.tuning.stretch else 0

    def kinds(self, fold: Fold, loops: Sequence[Loop], lane: Loop | None,
              varying: Varying) -> list[Kind]:
        """The kinds of the loops of a fold; ``lane`` is the one that runs in lanes, if any."""
        short = lane is None and prod(loop.extent for loop in loops) <= self.tuning.unrolled and (
            self.planner.analysis.length(fold) <= self.tuning.short)
        kinds: dict[Variable, Kind] = dict.fromkeys(fold.indices, SEQUENTIAL)
        for loop in loops:
            kinds.update(dict.fromkeys(loop.covers[:-1], JOINED))
            kinds[loop.covers[-1]] = Vector(loop.width, _left(fold, loop)) if loop is lane else (
                Unrolled(loop.extent, packs_bytes(fold, varying, self.planner.analysis))
                if short else SEQUENTIAL)
        return [kinds[i] for i in fold.indices]


def _left(fold: Fold, lane: Loop) -> tuple[int, ...]:
    """How a reduction handles the remainder of whole steps in lanes: if an element may occur twice,
    the last step overlaps, otherwise iterations run one by one."""
    overlaps = fold.reducer is None or fold.reducer in IDEMPOTENT
    return () if overlaps or lane.extent % lane.width == 0 else (1,)
