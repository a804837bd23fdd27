"""Flat values in groups: how JAX's loops group their operands into constants, carry and xs.

Libraries that analyse a ``scan`` read them as its parameters ``ft_in`` and ``ft_out``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["FlatTree", "nones", "pack"]


class FlatTree:
    """A value, or a tuple of flat trees; all values can be replaced at once.

    >>> pack((nones(1), nones(2))).update("abc").unpack()
    (('a',), ('b', 'c'))
    """

    __slots__ = ("parts", "value")

    def __init__(self, parts: tuple[FlatTree, ...] | None, value: Any = None):
        self.parts, self.value = parts, value

    @property
    def vals(self) -> tuple:
        """All values, from left to right."""
        if self.parts is None:
            return (self.value,)
        return tuple(x for part in self.parts for x in part.vals)

    def update(self, vals: Iterable) -> FlatTree:
        """The same groups with other values."""
        left = iter(vals)
        new = self._filled(left)
        if next(left, self) is not self:
            raise ValueError(f"FlatTree.update: more values than the {len(self.vals)} there are.")
        return new

    def _filled(self, left) -> FlatTree:
        if self.parts is None:
            return FlatTree(None, next(left))
        return FlatTree(tuple(part._filled(left) for part in self.parts))

    def unpack(self) -> tuple[FlatTree, ...]:
        """The groups."""
        if self.parts is None:
            raise TypeError("FlatTree.unpack: a value has no groups.")
        return self.parts

    def __len__(self) -> int:
        return len(self.vals)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FlatTree) and (self.parts, self.value) == (
            other.parts, other.value)

    def __hash__(self) -> int:
        return hash((self.parts, self.value))

    def __repr__(self) -> str:
        return repr(self.value if self.parts is None else self.parts)


def pack(tree) -> FlatTree:
    """A group of groups; anything but a tuple or a group is a value."""
    if isinstance(tree, FlatTree):
        return tree
    return FlatTree(tuple(map(pack, tree))) if isinstance(tree, tuple) else FlatTree(None, tree)


def nones(n: int) -> FlatTree:
    """A group of ``n`` values, all None."""
    return FlatTree((FlatTree(None),) * n)
