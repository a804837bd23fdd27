"""Facts about expressions, for scheduling and for code generation.

The position of an element in its buffer, which buffers an expression reads, whether it may be
evaluated where its value is not needed, and how long its code is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from math import prod
from typing import TypeGuard

import numpy as np

from ..._base.tuples import NamedTuple
from ..._loops.expr import (
    FOLDS,
    Const,
    Expr,
    Facts,
    Fold,
    Index,
    Load,
    Node,
    Op,
    While,
    bounds,
    facts_of,
    op,
)
from ..._loops.instructions import INDEX, INSTRUCTIONS, kind_of
from ..._loops.nest import Buffer, Nest, Statement, Store
from ..._loops.traverse import (
    children,
    expressions,
    folds,
    loads,
    statements_in,
    walk,
    written,
)
from ..nest_tools import sure_parts
from ..tuning import ChoiceTuning

__all__ = ["Analysis", "Terms", "TurningIndex", "asks_for_bounds", "in_range", "offset",
           "seen_as_bits", "span", "sure_folds", "turning_index"]

Terms = Mapping[Expr, int]

_ENDLESS = 1 << 40
"""Length assumed for a loop that ends by data: larger than any threshold."""


def offset(buffer: Buffer, index: Iterable[Expr]) -> tuple[Terms, int]:
    """The row-major position of an element in its buffer, as a sum of terms and a constant."""
    return Load(buffer, index).place


@cache
def moves_as_bits(dtype: np.dtype) -> bool:
    """Whether memory is copied more simply as integers than as its own type."""
    return kind_of(dtype) in "bc" and dtype.itemsize <= 8 or (
        kind_of(dtype) == "f" and dtype.itemsize < 4)


def seen_as_bits(buffer: Buffer) -> Buffer:
    """The same memory as unsigned integers."""
    return Buffer(buffer.name, buffer.shape, f"uint{8 * buffer.dtype.itemsize}", buffer.role)


def span(node: Op) -> tuple[Expr, int] | None:
    """For a condition that an int64 is between 0 and a number: the integer, and the number."""
    if node.name != "and":
        return None
    above, below = node.args
    if not isinstance(above, Op) or not isinstance(below, Op) or (
            above.name != "ge" or below.name != "le" or above.args[0] is not below.args[0]):
        return None
    (number, least), greatest = above.args, below.args[1]
    return (number, greatest.value + 1) if (
        isinstance(least, Const) and isinstance(greatest, Const) and number.dtype == INDEX
        and least.value == 0 <= greatest.value < 1 << 30) else None


class TurningIndex(NamedTuple):
    """An index that counts from the end if it is negative.

    It is ``number``, or ``number + shift`` if that is negative, and gives a ``place`` in an array
    of ``size`` elements.
    """

    number: Expr
    shift: int
    place: Expr
    size: int


def turning_index(condition: Expr) -> TurningIndex | None:
    """For a condition that a 32-bit index, which may count from the end, is in range: the index."""
    inside = span(condition) if isinstance(condition, Op) else None
    if inside is None or not isinstance(inside[0], Op) or inside[0].name != "convert":
        return None
    turned = inside[0].args[0]
    if not isinstance(turned, Op) or turned.name != "select" or turned.dtype != np.int32:
        return None
    negative, other, x = turned.args
    if negative is not op("lt", x, 0) or not isinstance(other, Op) or other.name != "add" or (
            other.args[0] is not x or not isinstance(other.args[1], Const)):
        return None
    shift = int(other.args[1].value)
    return TurningIndex(x, shift, *inside) if shift > 0 else None


def asks_for_bounds(condition: Expr) -> bool:
    """Whether a condition asks if an index read from data is in range: nearly all are."""
    if not isinstance(condition, Op):
        return False
    if condition.name == "and":
        return all(map(asks_for_bounds, condition.args))
    return (condition.name in ("ge", "le", "lt") and isinstance(condition.args[1], Const)
            and condition.args[0].dtype == INDEX
            and any(isinstance(node, Load) for node in walk(condition.args[0])))


class Analysis:
    """Facts about expressions, cached while a function is being written.

    ``same`` maps buffers to others whose memory they share.
    """

    def __init__(self, same: dict[Buffer, Buffer], tuning: ChoiceTuning):
        self._same, self.quick, self._deep = same, tuning.quick, tuning.nested
        self._reads: dict[Node, frozenset[Buffer]] = {}
        self._safe: dict[Node, bool] = {}
        self._lengths: dict[Node, int] = {}
        self._nested: dict[Node, int] = {}
        self._users: dict[Node, int] = {}  # of expressions with choices
        self._shared: dict[Node, tuple[Node, ...]] = {}

    def memory(self, buffer: Buffer) -> Buffer:
        """The buffer that represents all buffers with the same memory."""
        return self._same.get(buffer, buffer)

    def also(self, buffer: Buffer, other: Buffer) -> None:
        """Declare that a buffer shares the memory of another."""
        self._same[buffer] = self.memory(other)

    def written(self, body: Iterable[Statement]) -> frozenset[Buffer]:
        """The memory that statements write."""
        return frozenset(map(self.memory, written(body)))

    def repeatable(self, body: Iterable[Statement]) -> bool:
        """Whether statements may run twice with the same effect: they read nothing that they
        write."""
        reads: set[Buffer] = set()
        seen: set[Node] = set()
        for statement in statements_in(body):
            if not isinstance(statement, (Store, Nest)) or (
                    isinstance(statement, Store) and statement.combine):
                return False
            reads.update(self.memory(load.buffer)
                         for load in loads(*expressions(statement), seen=seen))
        return reads.isdisjoint(self.written(body))

    def moved_as_bits(self, body: Iterable[Statement]) -> tuple[Statement, ...]:
        """Statements in which elements that are stored unchanged are loaded and stored as integers.
        Stores that are interleaved with others are left alone, so that all have one type."""
        body = tuple(body)
        mixed = {s.buffer for s in body if isinstance(s, Store) and not isinstance(s.value, Load)}
        return tuple([s if isinstance(s, Store) and s.buffer in mixed else self._as_bits(s)
                      for s in body])

    def _as_bits(self, statement: Statement) -> Statement:
        if not isinstance(statement, Store) or not isinstance(statement.value, Load) or (
                statement.combine is not None or not moves_as_bits(statement.buffer.dtype)):
            return statement
        target, source = (seen_as_bits(b) for b in (statement.buffer, statement.value.buffer))
        self.also(target, statement.buffer)
        self.also(source, statement.value.buffer)
        seen = {statement.buffer: target, statement.value.buffer: source}
        prefetched = [p._replace(access=Load(seen.get(p.access.buffer, p.access.buffer),
                                             p.access.index)) for p in statement.prefetched]
        return replace(statement, buffer=target, value=Load(source, statement.value.index),
                       prefetched=tuple(prefetched))

    def offset(self, load: Load) -> tuple[Terms, int]:
        """The position of a load in its buffer."""
        return load.place

    def learn(self, node: Node) -> None:
        """Take note of all that an expression uses, before its parts are evaluated."""
        if node not in self._reads:
            self._learn(node)

    def reads(self, node: Node) -> frozenset[Buffer]:
        """The buffers that an expression reads."""
        self.learn(node)
        return self._reads[node]

    def is_safe(self, node: Node) -> bool:
        """Whether an expression may be evaluated where its value is not needed."""
        self.learn(node)
        return self._safe[node]

    def length(self, node: Node) -> int:
        """Roughly how many instructions it takes; folds count each of their steps."""
        self.learn(node)
        return self._lengths[node]

    def parts(self, node: Node) -> Sequence[Node]:
        """What must be evaluated before a node; not what is evaluated on demand."""
        if isinstance(node, Load):
            return [atom for atom in self.offset(node)[0] if not isinstance(atom, Index)]
        if isinstance(node, Fold):
            return node.init
        if self._is_choice(node):
            return (node.args[0], *self.shared(node))
        if isinstance(node, Op) and (found := span(node)):
            return found[:1]
        return children(node)

    def folds_of_all(self, *values: Expr) -> list[Fold]:
        """The folds in values, if all of them may be evaluated for all elements; otherwise none.

        A fold in an arm of a select may read out of range where the arm is not taken.
        """
        found = [*folds(*values)]
        unsafe = [fold for fold in found if not self.is_safe(fold)]
        return found if not unsafe or sure_folds(*values).issuperset(unsafe) else []

    def is_quick(self, select: Op) -> bool:
        """Whether a select evaluates both of its arms."""
        return all(self.is_safe(arm) and self.length(arm) < self.quick for arm in select.args[1:])

    def shared(self, choice: Op) -> tuple[Node, ...]:
        """What is evaluated before a choice, because its arms share it with each other or with
        other code.

        If each arm had its own code for it, code would double with each choice in a chain of them.
        """
        if choice not in self._shared:
            for node in walk(choice):  # those inside first: chains may be long
                if node not in self._shared and self._is_choice(node):
                    self._shared[node] = (*self._needed_by_both(node), *self._nested_in_arms(node))
        return self._shared[choice]

    def own_length(self, node: Node) -> int:
        """The length of a node without its parts."""
        if isinstance(node, Load):
            return 1
        return INSTRUCTIONS[node.name].length if isinstance(node, Op) and node.dtype != INDEX else 0

    def _learn(self, root: Node) -> None:
        for node in walk(root, into=lambda n: () if n in self._reads else children(n)):
            if node in self._reads:
                continue
            below = children(node)
            reads = frozenset().union(*[self._reads[child] for child in below])
            safe = all(self._safe[child] for child in below)
            length = self.own_length(node) + sum([self._lengths[child] for child in below])
            if isinstance(node, Load):
                reads |= {self.memory(node.buffer)}
                safe = safe and in_range(node)
            elif isinstance(node, While):
                length, safe = _ENDLESS, False
            elif isinstance(node, Fold):
                length *= prod([i.extent for i in node.indices])
            elif isinstance(node, Op) and node.name == "select":
                condition, one, other = node.args
                safe = self._safe[condition] and self._safe_if(one, condition, True) and (
                    self._safe_if(other, condition, False))
            self._reads[node], self._safe[node] = reads, safe
            self._lengths[node] = min(length, _ENDLESS)
            self._nested[node] = max([self._nested[child] for child in below], default=0)
            if self._nested[node]:
                for child in set(below):
                    self._users[child] = self._users.get(child, 0) + 1
            self._nested[node] += self._is_choice(node)

    def _safe_if(self, arm: Expr, condition: Expr, holds: bool) -> bool:
        """Whether an arm may be evaluated wherever the condition of its select holds, or does not.

        The conditions of other selects around it are not asked: they may be what keeps a load in
        range, as in ``select(i < 8, select(i < 4, x[i], y[i - 4]), z[i - 8])``.
        """
        if self._safe[arm]:
            return True
        facts = facts_of(condition, holds)

        def is_obstacle(node: Node) -> bool:
            if isinstance(node, Load):
                return not in_range(node, facts)
            return isinstance(node, While) or isinstance(node, Op) and node.name == "select"
        unsafe = walk(arm, into=lambda n: () if self._safe[n] else children(n))
        return not any(is_obstacle(node) for node in unsafe if not self._safe[node])

    def _is_choice(self, node: Node) -> TypeGuard[Op]:
        """Whether a node is a select that evaluates only the arm that is taken."""
        return isinstance(node, Op) and node.name == "select" and not self.is_quick(node)

    def _needed_by_both(self, choice: Op) -> list[Node]:
        """The largest parts that both arms evaluate in any case."""
        _, one, other = choice.args
        needed = set(walk(other, into=self.parts))
        return [node for node in walk(one, into=lambda n: () if n in needed else self.parts(n))
                if node in needed and self.length(node) >= self.quick]

    def _nested_in_arms(self, choice: Op) -> list[Node]:
        """The largest parts of arms that have several users and would be too long in each."""
        if self._nested[choice] <= self._deep:
            return []

        def is_long(node: Node) -> bool:
            return (self.is_safe(node) and self._nested[node] >= self._deep
                    and self._users.get(node, 0) > 1)  # positions of loads may have no user
        return [node for node in walk(
            *choice.args[1:], into=lambda n: () if is_long(n) else self._parts_and_arms(n))
            if is_long(node)]

    def _parts_and_arms(self, node: Node) -> Sequence[Node]:
        """What is or may be evaluated with a node, outside of its loops."""
        if isinstance(node, Op) and node.name == "select":
            return node.args
        return self.parts(node)


def sure_folds(*values: Expr) -> set[Fold]:
    """The folds in values that no condition excludes."""
    return {node for node in walk(*values, into=lambda n: sure_parts(n) if n.holds & FOLDS else ())
            if isinstance(node, Fold)}


def in_range(load: Load, facts: Facts | None = None) -> bool:
    """Whether a load is provably in range, whatever conditions surround it except for ``facts``."""
    for i, n in zip(load.index, load.buffer.shape):
        low, high = bounds(i, facts)
        if low < 0 or high >= n:
            return False
    return True
