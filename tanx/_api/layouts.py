"""Layouts of arrays in memory. Plain data: tanx keeps all arrays in row-major order."""

from __future__ import annotations

from dataclasses import dataclass

from .._core.sharding import Sharding

__all__ = ["Format", "Layout"]


@dataclass(frozen=True)
class Layout:
    """In which order the dimensions of an array follow each other in memory, slowest first.

    >>> Layout((1, 0))
    Layout(major_to_minor=(1, 0), tiling=None, sub_byte_element_size_in_bits=0)
    """

    major_to_minor: tuple[int, ...]
    tiling: tuple[tuple[int, ...], ...] | None = None
    sub_byte_element_size_in_bits: int = 0


@dataclass(frozen=True)
class Format:
    """A layout, and the devices that hold the data."""

    layout: Layout | None = None
    sharding: Sharding | None = None
