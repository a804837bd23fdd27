"""Nodes of expressions, interned: building one twice gives the same object.

So ``==`` and ``hash`` compare structures at the cost of a pointer, and repeated subexpressions are
shared.
"""

from __future__ import annotations

from typing import Any
from weakref import ref

from ..._base.locks import new_lock

__all__ = ["FOLDS", "LOADS", "WHILES", "Node"]

LOADS, FOLDS, WHILES = 1, 2, 4
"""The bits of ``node.holds``: the kinds of nodes in a node, including itself."""

_set = object.__setattr__  # the fields of a node are set once

_NOTHING: frozenset[Any] = frozenset()


class _Interned(ref):
    """A weak reference to the node of a key."""

    __slots__ = ("key",)
    key: tuple


_interned: dict[tuple, _Interned] = {}
_dead: list[_Interned] = []
_lock = new_lock()  # for threads that make the same node


def _forget_dead() -> None:
    """Remove the entries of nodes that were freed.

    Not in a callback of the weak references, where Python would drop a KeyboardInterrupt: their
    callback is ``_dead.append``, in which no signal handler runs.
    """
    while _dead:
        dead = _dead.pop()
        if _interned.get(dead.key) is dead:
            del _interned[dead.key]


class Node:
    """An interned object: fields are given at creation and never change.

    ``free`` holds the indices and states that occur and are not bound by a fold inside; ``holds``
    says which kinds of nodes a search can find in the node.
    """

    __slots__ = ("__weakref__", "free", "holds")
    free: frozenset[Any]
    holds: int

    @classmethod
    def _make(cls, key: tuple, **fields):
        """The node of a class and key; created from ``fields`` when it is the first."""
        key = (cls, *key)
        known = _interned.get(key)
        node = None if known is None else known()
        if node is not None:
            return node
        node = object.__new__(cls)
        for name, value in fields.items():
            _set(node, name, value)
        _set(node, "free", node._free())
        _set(node, "holds", node._holds())
        reference = _Interned(node, _dead.append)
        reference.key = key
        with _lock:
            _forget_dead()
            known = _interned.get(key)
            other = None if known is None else known()
            if other is not None:
                return other
            _interned[key] = reference
        return node

    def _free(self) -> frozenset[Any]:
        return _NOTHING

    def _holds(self) -> int:
        return 0

    def __setattr__(self, name, value):
        raise AttributeError(f"{type(self).__name__} is immutable.")

    def __reduce__(self):
        raise TypeError("expressions are not pickled; programs have a text form.")

    def __repr__(self):
        return self._brief(8)

    def _brief(self, depth: int) -> str:
        """A text for messages and debuggers, truncated below a depth; ``show.py`` writes all of
        it."""
        raise NotImplementedError
