"""Slices of fixed size that start at a computed index: ``x[tanx.ds(i, 3)]``."""

from __future__ import annotations

import operator
from typing import Any

__all__ = ["Slice", "ds"]


class Slice:
    """A slice of fixed size that may start anywhere; made by :func:`ds`.

    It is not a tuple, because a tuple is an index of several axes. A negative ``start`` counts from
    the end, unless ``from_end`` is False: then it means 0.
    """

    __slots__ = ("start", "size", "stride", "from_end")

    def __init__(self, start: Any, size: int, stride: int = 1, from_end: bool = True):
        self.start, self.size, self.stride, self.from_end = start, size, stride, from_end

    @property
    def span(self) -> int:
        """The number of elements from the first to the last one, including skipped ones."""
        return (self.size - 1) * self.stride + 1 if self.size else 0

    def __repr__(self) -> str:
        return f"Slice(start={self.start!r}, size={self.size}, stride={self.stride})"


def ds(start, size: int | None = None, stride: int | None = None) -> Slice | slice:
    """A slice of ``size`` elements from ``start`` on, which may be computed.

    With one argument, the first ``start`` elements, or all if it is None. ``stride`` is the
    distance between elements. A read beyond the end of an array is moved inside; an update there is
    dropped.

    >>> tanx.jit(lambda x, i: x[tanx.ds(i, 2)])(jnp.arange(5), 1)
    Array([1, 2], dtype=int32)
    """
    if start is None:
        return slice(None)
    if size is None:
        return slice(0, operator.index(start))
    return Slice(start, operator.index(size), 1 if stride is None else operator.index(stride))
