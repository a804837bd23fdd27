"""Loops in which the remainder of the index decides what an iteration does, as in interior padding.

With a condition such as ``j % 2 == 0``, a loop becomes one over groups of iterations, in which each
position has fixed code::

    for j in 1999 parallel:                           for q in 999 parallel:
        y[j] = select(j % 2 == 0, x[j // 2], 0)           y[q * 2] = x[q]
                                                          y[q * 2 + 1] = 0
                                                      for j in 1 parallel:
                                                          y[1998 + j] = x[999]
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ..._loops.expr import Const, Index, Load, Op, const, fresh_index, linear_form
from ..._loops.instructions import INDEX
from ..._loops.nest import PARALLEL, Nest, Store
from ..._loops.traverse import expressions, map_expressions, substitute, walk

__all__ = ["by_residues"]

_GROUPS = (2, 3, 4, 8)
"""Sizes of groups whose elements are stored together."""


def by_residues(nest: Nest, worth: int) -> Sequence[Nest]:
    """The nests that replace one; the nest itself if no remainder decides what its last loop does,
    or if that loop has fewer iterations than ``worth``."""
    store = nest.body[0]
    if len(nest.body) > 1 or not isinstance(store, Store) or store.guard is not None or (
            store.combine is not None or not nest.indices or nest.kinds[-1] != PARALLEL):
        return [nest]
    index = nest.indices[-1]
    size = _group(store, index)
    if size is None or index.extent < max(worth, size):
        return [nest]
    groups, left = divmod(index.extent, size)
    group, rest = fresh_index(groups, "q"), fresh_index(left, "j")

    def moved(inner: Index, *places) -> Nest:
        return Nest((*nest.indices[:-1], inner), nest.kinds, tuple(map_expressions(
            store, partial(substitute, values={index: place})) for place in places))

    found = [moved(group, *(group * size + n for n in range(size)))]
    return [*found, moved(rest, rest + const(groups * size))] if left else found


def _group(store: Store, index: Index) -> int | None:
    """The divisor whose remainders decide what an iteration stores; None if there is no single
    one."""
    if Load(store.buffer, store.index).place[0].get(index) != 1:
        return None
    sizes = {node.args[1].value for node in walk(*expressions(store))
             if isinstance(node, Op) and node.name == "floor_mod" and node.dtype == INDEX
             and isinstance(node.args[1], Const)
             and abs(linear_form(node.args[0])[0].get(index, 0)) == 1}
    return sizes.pop() if len(sizes) == 1 and sizes <= {*_GROUPS} else None
