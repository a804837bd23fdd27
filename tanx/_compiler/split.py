"""Loops cut where a condition on their index changes, so that none is left to be asked.

``concatenate`` and ``pad`` give elements by ``select(i < n, a[i], b[i - n])``. A nest over all of
them becomes one nest for each stretch of the indices in which the answers stay the same: plain
loops, which read memory in vectors.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, product
from math import prod

from .._loops.expr import Const, Expr, Index, Op, const
from .._loops.nest import PARALLEL, Nest, Program, Statement, Store
from .._loops.traverse import expressions, substitute, walk

__all__ = ["split"]

_PIECES = 32
"""Nests that one becomes at most."""
_WORTH = 256
"""Elements from which on a nest is cut."""

_CUTS = {"lt": (0,), "ge": (0,), "le": (1,), "gt": (1,), "eq": (0, 1), "ne": (0, 1)}
"""Where the answer changes, counted from the number compared with."""


def split(program: Program) -> Program:
    """Cut nests at the places where conditions on one of their indices change."""
    return replace(program, statements=tuple(_pieces_of_all(program.statements)))


def _pieces_of_all(statements: Iterable[Statement]) -> Iterator[Statement]:
    for statement in statements:
        if not isinstance(statement, Nest):
            yield statement
        elif all(isinstance(inner, Store) for inner in statement.body):
            yield from _pieces(statement)
        else:
            yield replace(statement, body=tuple(_pieces_of_all(statement.body)))


def _pieces(nest: Nest) -> Iterable[Nest]:
    if any(kind != PARALLEL for kind in nest.kinds) or (
            prod(i.extent for i in nest.indices) < _WORTH):
        return [nest]
    cuts = _cuts(nest)
    if not cuts or prod(len(places) - 1 for places in cuts.values()) > _PIECES:
        return [nest]
    stretches = [list(pairwise(cuts.get(i, [0, i.extent]))) for i in nest.indices]
    return [_piece(nest, chosen) for chosen in product(*stretches)]


def _cuts(nest: Nest) -> Mapping[Index, list[int]]:
    """For indices on which a condition of a select depends, where it changes; with both ends."""
    cuts: dict[Index, list[int]] = {}
    roots = [e for store in nest.body for e in expressions(store)]
    for node in walk(*roots):
        if not (isinstance(node, Op) and node.name == "select"):
            continue
        for part in walk(node.args[0]):
            if isinstance(part, Op) and part.name in _CUTS and part.args[0] in nest.indices and (
                    isinstance(part.args[1], Const)):
                index, limit = part.args
                places = cuts.setdefault(index, [0, index.extent])  # type: ignore
                for offset in _CUTS[part.name]:
                    place = limit.value + offset  # type: ignore[attr-defined]
                    if 0 < place < index.extent and place not in places:  # type: ignore
                        insort(places, place)
    return cuts


def _piece(nest: Nest, stretches: Sequence[tuple[int, int]]) -> Nest:
    """The nest on a stretch of each of its indices."""
    moved: dict = {}
    loops = []
    for index, (low, high) in zip(nest.indices, stretches):
        shorter: Expr = const(0)
        if high - low != 1:
            shorter = Index(index.name, high - low)
            loops.append(shorter)
        if shorter is not index:
            moved[index] = shorter + low
    body = [replace(store, index=tuple(substitute(i, moved) for i in store.index),
                    value=substitute(store.value, moved),
                    guard=None if store.guard is None else substitute(store.guard, moved))
            for store in nest.body if isinstance(store, Store)]
    return Nest(tuple(loops), (PARALLEL,) * len(loops), tuple(body))
