"""Partition specs: which axes of a mesh divide each dimension of an array. Plain data."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any

from ..errors import explain

__all__ = ["P", "PartitionSpec", "UnreducedKind"]


class UnreducedKind(enum.Enum):
    """How the parts of an unreduced value combine."""

    sum = 1
    max = 2
    min = 3


class _Unconstrained:
    """An entry of a spec for a dimension whose division the compiler chooses."""

    def __repr__(self) -> str:
        return "UNCONSTRAINED"

    def __reduce__(self) -> str:
        return "_UNCONSTRAINED"


_UNCONSTRAINED = _Unconstrained()


class PartitionSpec:
    """For each dimension of an array, the axes of a mesh that divide it.

    An entry is the name of an axis, a tuple of names, or None for a dimension that is whole on
    every device. Dimensions without an entry are whole too. A value that is ``unreduced`` over some
    axes must still be combined over them; its cotangent is ``reduced``.

    >>> PartitionSpec("x", None, ("y", "z"))
    P('x', None, ('y', 'z'))
    """

    __slots__ = ("_partitions", "_unreduced", "_reduced", "_kind")

    UNCONSTRAINED = _UNCONSTRAINED

    def __init__(self, *partitions, unreduced=frozenset(), reduced=frozenset(),
                 unreduced_kind: UnreducedKind | None = None):
        self._partitions = tuple(map(_entry, partitions))
        self._unreduced = _axes("unreduced", unreduced, self)
        self._reduced = _axes("reduced", reduced, self)
        both = self._unreduced & self._reduced
        if both:
            raise ValueError(explain(
                "tanx.sharding.PartitionSpec", "an axis cannot be both unreduced and reduced.",
                f"axes: {sorted(map(str, both))}"))
        if unreduced_kind is not None and not isinstance(unreduced_kind, UnreducedKind):
            raise TypeError(explain(
                "tanx.sharding.PartitionSpec", "unreduced_kind must be an UnreducedKind.",
                f"unreduced_kind: {unreduced_kind!r}"))
        self._kind = (unreduced_kind or UnreducedKind.sum) if self._unreduced else None

    partitions = property(lambda self: self._partitions, doc="One entry for each dimension.")
    unreduced = property(lambda self: self._unreduced, doc="The axes still to be combined over.")
    reduced = property(lambda self: self._reduced, doc="The axes whose cotangent is unreduced.")
    unreduced_kind = property(lambda self: self._kind, doc="How unreduced parts combine.")

    @property
    def names(self) -> tuple:
        """The axes that divide some dimension, in order, with repetitions."""
        return tuple(name for entry in self._partitions for name in names_of(entry))

    def update(self, partitions=None, unreduced=None, reduced=None, **kwargs) -> PartitionSpec:
        """The same spec with some parts replaced."""
        return PartitionSpec(
            *(self._partitions if partitions is None else partitions),
            unreduced=self._unreduced if unreduced is None else unreduced,
            reduced=self._reduced if reduced is None else reduced,
            unreduced_kind=kwargs.pop("unreduced_kind", self._kind), **kwargs)

    def to_lo(self) -> list[PartitionSpec]:
        """The specs of the arrays that a value consists of: an array is its own."""
        return [self]

    def to_tangent_spec(self) -> PartitionSpec:
        """The spec of tangents."""
        return self

    def to_ct_spec(self) -> PartitionSpec:
        """The spec of cotangents: unreduced axes become reduced ones, and vice versa."""
        return PartitionSpec(*self._partitions, unreduced=self._reduced, reduced=self._unreduced)

    def index(self, value) -> int:
        """The first dimension that has ``value`` as its entry."""
        return self._partitions.index(_entry(value))

    def count(self, value) -> int:
        """How many dimensions have ``value`` as their entry."""
        return self._partitions.count(_entry(value))

    def __len__(self) -> int:
        return len(self._partitions)

    def __getitem__(self, index):
        return self._partitions[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._partitions)

    def __add__(self, other):
        if isinstance(other, PartitionSpec):
            return PartitionSpec(*self, *other, unreduced=self._unreduced | other._unreduced,
                                 reduced=self._reduced | other._reduced)
        return self.update((*self, *other)) if isinstance(other, tuple | list) else NotImplemented

    def __radd__(self, other):
        return self.update((*other, *self)) if isinstance(other, tuple | list) else NotImplemented

    def _key(self) -> tuple:
        return self._partitions, self._unreduced, self._reduced, self._kind

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PartitionSpec) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self):
        return _unpickled, (self._partitions, self._unreduced, self._reduced, self._kind)

    def __repr__(self) -> str:
        marks = [f"{word}={{{', '.join(map(repr, sorted(axes, key=str)))}}}"
                 for word, axes in (("unreduced", self._unreduced), ("reduced", self._reduced))
                 if axes]
        if self._kind is not None:
            marks.insert(1, f"unreduced_kind={self._kind.name}")
        entries = [*map(repr, self._partitions), *marks]
        return f"P({entries[0]},)" if len(entries) == len(self) == 1 else f"P({', '.join(entries)})"


P = PartitionSpec


def names_of(entry) -> tuple:
    """The axes that an entry of a spec names."""
    if entry is None or entry is _UNCONSTRAINED:
        return ()
    return entry if isinstance(entry, tuple) else (entry,)


def _entry(entry):
    """An entry in canonical form: no tuple of one name, no empty tuple."""
    if isinstance(entry, tuple | list):
        return None if not entry else entry[0] if len(entry) == 1 else tuple(entry)
    return entry


def _axes(word: str, axes, spec: PartitionSpec) -> frozenset:
    if not isinstance(axes, set | frozenset):
        raise TypeError(explain(
            "tanx.sharding.PartitionSpec", f"{word} must be a set of names of axes.",
            f"{word}: {axes!r} of type {type(axes).__name__}"))
    if axes & set(spec.names):
        raise ValueError(explain(
            "tanx.sharding.PartitionSpec", f"an axis that divides a dimension cannot be {word}.",
            f"entries: {spec._partitions}", f"{word}: {set(axes)}"))
    return frozenset(axes)


def _unpickled(partitions: tuple, unreduced, reduced, kind) -> PartitionSpec:
    return PartitionSpec(*partitions, unreduced=unreduced, reduced=reduced, unreduced_kind=kind)
