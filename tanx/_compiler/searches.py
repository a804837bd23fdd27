"""Searches (argmax and argmin) in two steps: find the block with the best element, then search it.

Tracking the position of the best element takes several instructions per element, more than memory
bandwidth allows. The maximum of a block takes one. ::

    for i in 512 parallel:                    for i in 512 parallel:
        y[i] = argmax(k in 4096: x[i, k])         b[i] = argmax(k in 16: max(l in 256:
                                                      x[i, k * 256 + l]))
                                                  y[i] = b[i] * 256 + argmax(l in 256:
                                                      x[i, b[i] * 256 + l])

Along a column, whose elements are far apart in memory, a block has only a few elements: the second
step reads them one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce as folded

import numpy as np

from .._loops.build import arg_reduce, as_index, clamp_index, const, convert, reduce, temp
from .._loops.expr import FOLDS, Expr, Fold, Index, Op, Pick, op
from .._loops.instructions import kind_of
from .._loops.nest import PARALLEL, Buffer, Nest, Program, Statement, Store
from .._loops.traverse import loads, rewrite, substitute, walk
from .nest_tools import is_search, sure_parts
from .tuning import USUAL, SearchTuning

__all__ = ["by_blocks"]

_NUMBER = np.dtype(np.int32)
"""The type of a block number."""


def by_blocks(program: Program, tuning: SearchTuning = USUAL.searches) -> Program:
    """Search by blocks, where there are many elements."""
    rooms: list[Buffer] = []

    def changed(statement: Statement, around: tuple[Index, ...] = ()) -> Statement:
        if not isinstance(statement, Nest) or any(kind != PARALLEL for kind in statement.kinds):
            return statement
        loops, body = (*around, *statement.indices), list[Statement]()
        for part in statement.body:
            inner = changed(part, loops)
            while isinstance(inner, Store) and (fold := _search(loops, inner, tuning)) is not None:
                rooms.append(temp(f"b{len(rooms)}", [i.extent for i in loops], _NUMBER))
                body.append(Store(rooms[-1], loops, _best_block(fold, tuning)))
                results = _in_block(fold, rooms[-1][loops], tuning)
                inner = replace(inner, value=rewrite(inner.value, results.get))
            body.append(inner)
        return replace(statement, body=tuple(body))

    statements = tuple(map(changed, program.statements))
    return replace(program, temps=(*program.temps, *rooms), statements=statements)


def _search(loops: Sequence[Index], store: Store, tuning: SearchTuning) -> Fold | None:
    """A search in many blocks that depends on the surrounding loops, or None."""
    if store.guard is not None or store.combine is not None:
        return None
    for node in walk(store.value, into=sure_parts) if store.value.holds & FOLDS else ():
        if isinstance(node, Fold) and node.combine in ("argmax", "argmin") and is_search(node) and (
                node.free == {*loops}
                and node.indices[0].extent >= tuning.many * _size(node, tuning) > 0):
            return node
    return None


def _element(fold: Fold, at: Expr) -> Expr:
    """The value that a search compares at a position."""
    choice = fold.body[0]
    assert isinstance(choice, Op)
    return substitute(choice.args[1], {fold.indices[0]: at})


def _size(fold: Fold, tuning: SearchTuning) -> int:
    """How many elements a block has; 0 if blocks do not pay."""
    (index,) = fold.indices
    element = _element(fold, index)
    steps = {abs(load.place[0].get(index, 0)) * load.dtype.itemsize for load in loads(element)}
    if kind_of(element.dtype) not in "iuf" or steps <= {0} or element.holds & FOLDS:
        return 0
    if min(steps - {0}) >= tuning.far:
        return next((rows for rows in tuning.rows if index.extent % rows == 0), 0)
    size = tuning.most
    while size > tuning.least and size * tuning.many > index.extent:
        size //= 2
    return size


def _start(fold: Fold, block: Expr, tuning: SearchTuning) -> Expr:
    """Where a block begins; the last one may overlap the one before it, which wins if the best
    element is in both."""
    extent, size = fold.indices[0].extent, _size(fold, tuning)
    start = block * size
    return start if extent % size == 0 else op("min", start, const(extent - size))


def _best_block(fold: Fold, tuning: SearchTuning) -> Expr:
    """The number of the block that has the best element."""
    which, size = str(fold.combine).removeprefix("arg"), _size(fold, tuning)

    def best(block: tuple[Expr, ...]) -> Expr:
        start = _start(fold, block[0], tuning)
        if size not in tuning.rows:
            return reduce(which, size, lambda k: _element(fold, start + k[0]))
        return folded(lambda a, b: op(which, a, b), (_element(fold, start + k)
                                                     for k in range(size)))

    blocks = -(-fold.indices[0].extent // size)
    return arg_reduce(which, blocks, best, _NUMBER)[1]


def _in_block(fold: Fold, block: Expr, tuning: SearchTuning) -> dict[Expr, Expr]:
    """The result of a search, given the block that contains it."""
    blocks = -(-fold.indices[0].extent // _size(fold, tuning))
    which, start = str(fold.combine).removeprefix("arg"), _start(fold, clamp_index(
        as_index(block), blocks), tuning)
    best, place = arg_reduce(which, _size(fold, tuning), lambda k: _element(fold, start + k[0]))
    return {Pick(fold, 0): best, Pick(fold, 1): convert(start + place, fold.states[1].dtype)}
