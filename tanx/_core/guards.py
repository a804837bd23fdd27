"""Guards: the Python state that a trace has read, and whether it is unchanged.

A trace depends on more than its arguments: on attributes of static objects, on globals and closure
variables. ``reads.py`` records which of them were read, and turns them into guards. Each call
checks whether they hold: native code by identity and by the versions of dicts and classes
(``_runtime/call_guards.py``), and :meth:`Guards.hold` by value, if these differ.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from types import CellType, MemberDescriptorType
from typing import Any

import numpy as np

from .._base.tuples import NamedTuple
from .array import Array
from .trace import Tracer

__all__ = ["ABSENT", "Cell", "ClassMembers", "Guard", "Guards", "Items", "Members", "NONE",
           "Slot", "holder_of", "lookup", "same"]

class _Absent:
    """A placeholder for a missing member."""

    def __repr__(self) -> str:
        return "absent"


ABSENT: Any = _Absent()


def same(x, y) -> bool:
    """Whether one value can replace another in a trace: by identity, or by value.

    Hashable objects are compared by value, because they do not change. Arrays, containers and all
    other objects are the same only if they are one object.
    """
    if x is y:
        return True
    kind = type(x)
    if kind is not type(y) or issubclass(kind, (Array, Tracer, np.ndarray)):
        return False
    if kind is tuple:
        return len(x) == len(y) and all(map(same, x, y))
    if kind in (float, complex) or issubclass(kind, np.generic):
        # 0.0 equals -0.0, but 1 / x differs: numbers are compared by their bits.
        x, y = np.asarray(x), np.asarray(y)
        return x.dtype == y.dtype and x.tobytes() == y.tobytes()
    if lookup(kind, "__eq__") is lookup(object, "__eq__") or kind.__hash__ is None:
        return False
    try:
        return hash(x) == hash(y) and bool(x == y)
    except Exception:  # a user's method, or a tuple that holds a list
        return False


def lookup(cls: type, name: str) -> Any:
    """The attribute of a class or its bases, as it is stored; ABSENT if they have none."""
    for base in cls.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return ABSENT


class Members(NamedTuple):
    """Items of a dict, which may be the namespace of a module or of an object (``holder``)."""

    holder: Any  # None, the object, or a weak reference to it
    members: dict
    expected: dict[Any, Any]
    whole: bool  # whether all items count, so that none may be added
    label: str

    def changes(self) -> Iterator[tuple[str, Any, Any]]:
        holder = holder_of(self)
        if holder is not None and object.__getattribute__(
                holder, "__dict__") is not self.members:
            yield f"__dict__ of {self.label}", "another dict", "the one that was read"
            return
        for name, before in self.expected.items():
            now = self.members.get(name, ABSENT)
            if not same(now, before):
                yield self.label.replace("*", str(name)), now, before
        if self.whole and len(self.members) != len(self.expected):
            yield f"number of items of {self.label}", len(self.members), len(self.expected)


class ClassMembers(NamedTuple):
    """Attributes of a class, its own and inherited ones."""

    cls: type
    expected: dict[str, Any]

    def changes(self) -> Iterator[tuple[str, Any, Any]]:
        hasattr(self.cls, "tanx has looked")  # a lookup gives the class a version
        for name, before in self.expected.items():
            now = lookup(self.cls, name)
            if not same(now, before):
                yield f"{self.cls.__qualname__}.{name}", now, before


class Cell(NamedTuple):
    """A variable of an enclosing function."""

    cell: CellType
    expected: Any
    name: str

    def changes(self) -> Iterator[tuple[str, Any, Any]]:
        try:
            now = self.cell.cell_contents
        except ValueError:
            now = ABSENT
        if not same(now, self.expected):
            yield f"variable {self.name} of the enclosing function", now, self.expected


class Slot(NamedTuple):
    """An attribute that a class keeps in one of its ``__slots__``."""

    holder: Any  # the object, or a weak reference to it
    descriptor: MemberDescriptorType
    expected: Any

    def changes(self) -> Iterator[tuple[str, Any, Any]]:
        holder = holder_of(self)
        try:
            now = self.descriptor.__get__(holder)
        except AttributeError:
            now = ABSENT
        if not same(now, self.expected):
            yield (f"attribute {self.descriptor.__name__} of {type(holder).__qualname__}",
                   now, self.expected)


class Items(NamedTuple):
    """The items of a list or a set."""

    container: Any
    expected: Any  # a tuple, or a frozenset

    def changes(self) -> Iterator[tuple[str, Any, Any]]:
        kind = type(self.container).__name__
        if type(self.expected) is frozenset:
            # Equal is not enough: 1 equals True. The copy is for threads that add items meanwhile.
            known, now = {item: item for item in self.expected}, tuple(self.container)
            if len(now) != len(known) or not all(same(known.get(x, ABSENT), x) for x in now):
                yield f"a {kind}", self.container, self.expected
        elif len(self.container) != len(self.expected):
            yield f"the length of a {kind}", len(self.container), len(self.expected)
        else:
            for i, (now, before) in enumerate(zip(self.container, self.expected)):
                if not same(now, before):
                    yield f"item {i} of a {kind}", now, before


def holder_of(guard: Members | Slot) -> Any:
    """The object whose attributes a guard watches."""
    return guard.holder() if type(guard.holder) is weakref.ref else guard.holder


Guard = Members | ClassMembers | Cell | Slot | Items


class Guards(tuple[Guard, ...]):
    """All that one trace has read."""

    __slots__ = ()

    def hold(self) -> bool:
        """Whether everything is unchanged, up to equal values."""
        return next(self.changes(), None) is None

    def changes(self) -> Iterator[tuple[str, Any, Any]]:
        """The differences: name, value now, and value before."""
        for guard in self:
            yield from guard.changes()

    def released(self, owner: weakref.ref) -> Guards:
        """The same guards without references to ``owner``; they are checked only while it lives."""
        target = owner()
        return Guards([guard._replace(holder=owner) if (
            isinstance(guard, Members | Slot) and guard.holder is target) else guard
            for guard in self])


NONE = Guards()
