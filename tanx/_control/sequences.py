"""Helpers for sequences of values, types and flags in the rules of loops and branches.

The operands of a loop are one sequence: consts, then the carry, then the xs. Rules split it, select
items by flags, and put items back in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from .._core.array import Array
from .._core.jaxpr import ClosedJaxpr
from .._core.types import ShapedArray

__all__ = ["kept", "merged", "paired", "parted", "reordered", "split", "typed"]

T = TypeVar("T")


def split(items: Sequence[T], *counts: int) -> list[list[T]]:
    """Consecutive parts of a sequence, and the rest.

    >>> split("abcdef", 1, 3)
    [['a'], ['b', 'c', 'd'], ['e', 'f']]
    """
    parts, start = [], 0
    for count in counts:
        parts.append(list(items[start:start + count]))
        start += count
    return [*parts, list(items[start:])]


def kept(items: Sequence[T], which: Sequence[bool]) -> list[T]:
    """The items for which ``which`` is true."""
    return [x for x, keep in zip(items, which, strict=True) if keep]


def parted(items: Sequence[T], which: Sequence[bool]) -> tuple[list[T], list[T]]:
    """The items for which ``which`` is false, and those for which it is true."""
    return kept(items, [not w for w in which]), kept(items, which)


def merged(no: Sequence[T], yes: Sequence[T], which: Sequence[bool]) -> list[T]:
    """The inverse of :func:`parted`."""
    false, true = iter(no), iter(yes)
    return [next(true) if w else next(false) for w in which]


def reordered(closed: ClosedJaxpr, ins: Sequence[int], outs: Sequence[int]) -> ClosedJaxpr:
    """The same function with its arguments and its results in another order."""
    jaxpr = closed.jaxpr
    return ClosedJaxpr(jaxpr.replace(invars=[jaxpr.invars[i] for i in ins],
                                     outvars=[jaxpr.outvars[i] for i in outs]), closed.consts)


def typed(values: Sequence[Any], avals: Sequence[ShapedArray]) -> list[Array]:
    """Operands of ``eval`` as arrays of their types: NumPy has neither keys nor weak types."""
    return [Array(x._value if type(x) is Array else np.asarray(x), False, a)
            for x, a in zip(values, avals, strict=True)]


def paired(which: Sequence[bool], *counts: int) -> list[int]:
    """The order in which each part of the primals is followed by its tangents.

    Before, all primals came first, then the tangents of those in ``which``; ``counts`` are the
    lengths of all parts but the last.
    """
    positions = split(range(len(which)), *counts)
    tangents = iter(range(len(which), len(which) + sum(which)))
    return [i for part in positions for i in (*part, *[next(tangents) for k in part if which[k]])]
