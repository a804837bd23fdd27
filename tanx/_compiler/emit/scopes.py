"""Scopes: pieces of code under the same loops and conditions, and the values known in them.

A value is computed in the outermost scope that has its operands, which moves it out of loops; all
scopes inside can use it. The code of an inner scope is inserted into the outer one when it is
complete, so that until then more code can be added before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any

from ..._base.records import record
from ..._base.tuples import NamedTuple
from ..._loops.expr import Expr, Index, Load, Node, Variable
from ..._loops.nest import Buffer
from ..schedule.analysis import Analysis
from ..schedule.lanes import Loop
from .values import Place, Value

__all__ = ["Groups", "Lanes", "Scope", "Tile", "Way"]

Way = tuple[tuple[Expr, bool], ...]
"""The conditions on the path to an arm of a choice, and whether they hold there."""


@record(eq=False)
class Lanes:
    """The loop that runs in vectors: its index in the first lane, and how many there are."""

    loop: Loop
    first: Value

    @property
    def width(self) -> int:
        return self.loop.width


class Groups(NamedTuple):
    """The key of a group of adjacent elements that was loaded from an address, for some lanes."""

    memory: Buffer
    address: str
    width: int


@record(eq=False)
class Tile:
    """Unrolled iterations of the crossing loop of a transpose.

    ``first`` is the index of the first of them. ``scope`` holds the tiles that were read;
    ``columns`` are those to be stored, one for each iteration, by their address.
    """

    loop: Loop
    first: Value
    size: int
    scope: Scope
    writes: frozenset[Buffer]
    columns: dict[Load, dict[int, Any]] = field(default_factory=dict)


class Scope(Place):
    """The inside of a loop (``bound`` holds its variables), or of a condition, or a function.

    ``writes`` are the buffers that the loop writes; what is read from them stays inside. ``lanes``,
    if any, is the surrounding loop in vectors (:class:`Lanes`), ``varying`` are the variables that
    differ between lanes, ``mask`` says which lanes are active. ``names`` maps indices of the
    program to those of merged loops, or to None. ``carried`` are elements that a loop keeps in
    registers. ``tile``, if any, is the tile being transposed in registers, and the number of an
    iteration in it. ``rooms`` maps loads to the memory of the function that holds a copy of their
    elements, and to a position in it. ``found`` has the values known in arms of choices, by the
    path to the arm.
    """

    __slots__ = ("bound", "carried", "conditional", "depth", "found", "label", "lanes", "mask",
                 "names", "parent", "place", "rooms", "tile", "values", "varying",
                 "writes")

    def __init__(self, parent: Scope | None, block: str, *, bound: Iterable[Variable] = (),
                 writes: frozenset[Buffer] = frozenset(), conditional: bool = False):
        super().__init__(block)
        self.parent = parent
        self.label = block
        self.place: Place = self
        self.bound, self.writes, self.conditional = frozenset(bound), writes, conditional
        self.values: dict[Any, Any] = {}
        self.depth: int = parent.depth + 1 if parent else 0
        self.lanes: Any = parent.lanes if parent else None  # Lanes
        self.varying: frozenset[Variable] = parent.varying if parent else frozenset()
        self.mask: Any = parent.mask if parent else None
        self.names: Mapping[Expr, Index | None] = parent.names if parent else {}
        self.carried: frozenset[Load] = frozenset()
        self.tile: Any = parent.tile if parent else None  # (Tile, number)
        self.rooms: Mapping[Load, tuple[str, Value]] = parent.rooms if parent else {}
        self.found: dict[Way, dict[Node, Any]] = {}

    def arm(self, block: str, known: Mapping[Node, Any]) -> Scope:
        """Code that runs under a condition, in which some values are known."""
        inner = Scope(self, block, conditional=True)
        inner.values.update(known)
        return inner

    def found_on(self, way: Way) -> dict[Node, Any]:
        """The values known in arms on a path."""
        above = self.parent.found_on(way) if self.parent else {}
        return above | self.found[way] if way in self.found else above

    def beside(self, mask: Value) -> Scope:
        """The same code for fewer lanes."""
        inner = Scope(self, self.block, conditional=True)
        inner.place, inner.mask = self.place, mask
        return inner

    def within(self, bound: Iterable[Variable],
               writes: frozenset[Buffer] = frozenset()) -> Scope:
        """The same code with more variables bound: an unrolled step of a loop."""
        inner = Scope(self, self.block, bound=bound, writes=writes)
        inner.place = self.place
        return inner

    def rename(self, loop: Loop) -> None:
        """Map the indices that a merged loop covers to its own index."""
        if len(loop.covers) > 1:
            self.names = {**self.names, **dict.fromkeys(loop.covers[:-1]),
                          loop.covers[-1]: loop.index}

    @property
    def masked(self) -> bool:
        """Whether only some lanes are active, in the same code."""
        return self.conditional and self.place is not self

    def find(self, key) -> Any:
        """The value of a node (or other key), if it is known here."""
        scope: Scope | None = self
        while scope is not None:
            if key in scope.values:
                return scope.values[key]
            scope = scope.parent
        return None

    def locate(self, key) -> tuple[Scope, Any]:
        """A value that is known here, and the scope that holds it."""
        scope: Scope | None = self
        while scope is not None:
            if key in scope.values:
                return scope, scope.values[key]
            scope = scope.parent
        raise KeyError(key)

    def of_place(self, place: Place | None) -> Scope:
        """The nearest enclosing scope that writes to a place; this one if there is none."""
        scope: Scope | None = self
        while scope is not None:
            if scope is place:
                return scope
            scope = scope.parent
        return self

    @property
    def outermost(self) -> Scope:
        """The scope of the function."""
        return self if self.parent is None else self.parent.outermost

    def home(self, node: Node, analysis: Analysis) -> Scope:
        """The outermost scope where a node can be computed and is needed.

        It moves out of a loop that neither binds its variables nor writes what it reads. It moves
        out of a condition only if it may always be evaluated, and only to leave a loop.
        """
        scope: Scope = self
        best: Scope = self
        reads = analysis.reads(node)
        while (parent := scope.parent) is not None:
            if scope.conditional:
                if not analysis.is_safe(node):
                    break
                best = parent if best.masked else best
            elif scope.bound.isdisjoint(node.free) and scope.writes.isdisjoint(reads):
                best = parent
            else:
                break
            scope = parent
        return best

    def varies(self, node: Node) -> bool:
        """Whether a node differs between lanes."""
        return not node.free.isdisjoint(self.varying)

    def forget(self, buffer: Buffer, analysis: Analysis) -> None:
        """Forget values that were read from a buffer which is being written."""
        scope: Scope | None = self
        while scope is not None:
            for values in (scope.values, *scope.found.values()):
                stale = [key for key in values
                         if isinstance(key, Node) and buffer in analysis.reads(key)
                         or isinstance(key, Groups) and key.memory is buffer]
                for key in stale:
                    del values[key]
            scope = scope.parent
