"""Nests that read along one loop and write along another: which they are.

How they run is told in ``emit/cpu/transposes.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..._loops.expr import Load
from ..._loops.nest import Statement, Store
from ..._loops.traverse import expressions, loads
from .analysis import Analysis
from .lanes import Loop, crosses

__all__ = ["SHORT", "crosses_in_order", "even_blocks"]

SHORT = 128
"""Instructions in all iterations of tiles that are written out, or run in order."""



def crosses_in_order(analysis: Analysis, loop: Loop, body: Sequence[Statement],
                     lane: Loop | None) -> bool:
    """Whether stores in a loop that runs in order, inside one in lanes, are neighbours along it."""
    if lane is None or loop.parallel or not 1 < lane.width <= loop.extent:
        return False
    length = sum(analysis.length(s.value) for s in body if isinstance(s, Store))
    if length * lane.width > SHORT:
        return False
    reads = {load.buffer.name for s in body for load in loads(*expressions(s))}
    return all(isinstance(s, Store) and s.guard is None and s.combine is None
               for s in body) and any(
        crosses(Load(s.buffer, s.index).place[0], lane, loop) and s.buffer.name not in reads
        for s in body if isinstance(s, Store))


def even_blocks(extent: int, most: int, size: int) -> int:
    """The length of blocks, in whole tiles, that cover a loop with little overlap."""
    count = -(-extent // most)
    return min(-(-extent // (count * size)), extent // size) * size
