"""Layouts of arrays in memory. Plain data: tanx stores all arrays in row-major order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ..errors import explain
from .placement import AUTO_LAYOUT, AutoLayout

__all__ = ["Format", "Layout"]


@dataclass(frozen=True)
class Layout:
    """The order of the dimensions of an array in memory, slowest first.

    >>> Layout((1, 0))
    Layout(major_to_minor=(1, 0), tiling=None, sub_byte_element_size_in_bits=0)
    """

    major_to_minor: tuple[int, ...]
    tiling: tuple[tuple[int, ...], ...] | None = None
    sub_byte_element_size_in_bits: int = 0

    AUTO: ClassVar[AutoLayout] = AUTO_LAYOUT

    @staticmethod
    def for_array(x) -> Layout:
        """The layout of any object with dimensions: row-major.

        >>> tanx.experimental.layout.Layout.for_array(jnp.ones((2, 3))).major_to_minor
        (0, 1)
        """
        return Layout(tuple(range(x.ndim)), ())

    @staticmethod
    def from_pjrt_layout(pjrt_layout) -> Layout:
        """The layout of an object of JAX's runtime, by its ``minor_to_major``.

        >>> class FromElsewhere:
        ...     def minor_to_major(self): return (0, 1)
        >>> tanx.experimental.layout.Layout.from_pjrt_layout(FromElsewhere()).major_to_minor
        (1, 0)
        """
        inner = getattr(pjrt_layout, "_xla_layout", lambda: pjrt_layout)()
        if not hasattr(inner, "minor_to_major"):
            raise AttributeError(explain(
                "tanx.experimental.layout.Layout.from_pjrt_layout",
                "needs an object with minor_to_major.", f"given: {pjrt_layout!r:.100}"))
        return Layout(tuple(inner.minor_to_major())[::-1], ())

    def check_compatible_aval(self, aval_shape: tuple[int, ...]) -> None:
        """Raise a ValueError if the layout is for another number of dimensions."""
        if len(self.major_to_minor) != len(aval_shape):
            raise ValueError(explain(
                "tanx.experimental.layout.Layout", "the layout must name each dimension once.",
                f"major_to_minor: {self.major_to_minor}", f"shape: {tuple(aval_shape)}"))

    def update(self, **kwargs) -> Layout:
        """The same layout with some fields replaced."""
        return replace(self, **kwargs)


@dataclass(frozen=True)
class Format:
    """A layout, and the devices that hold the data."""

    layout: Layout | AutoLayout | None = None
    sharding: Any = None
