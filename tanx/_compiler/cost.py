"""Cost of loop nests: operations and bytes, counted without running anything.

:func:`cost` serves users (``cost_analysis``). ``Cost.seconds`` estimates the time from it and from
the rates of a machine: it decides how many tasks a statement becomes, whether a call releases
Python's lock, and whether it returns before the work is done. :func:`work` is what fusion compares,
in units of one addition on a vector.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from functools import reduce
from math import prod
from operator import or_

from .._base.records import record
from .._base.tuples import NamedTuple
from .._loops.expr import WHILES, Const, Fold, Index, Load, Node, Op, While
from .._loops.instructions import BOOL, INDEX, INSTRUCTIONS, kind_of
from .._loops.nest import (
    SEQUENTIAL,
    Branch,
    Buffer,
    Loop,
    Nest,
    Program,
    Statement,
    Store,
)
from .._loops.traverse import children, expressions, programs_in, statements_in
from .machine import Rates

__all__ = ["STEPS", "Cost", "Work", "cost", "costs", "is_open", "nbytes", "occurrences",
           "repeating", "repeats", "work"]

_HEAVY = 4.0
"""Effort from which an instruction counts as heavy: that of a division."""

STEPS = 100
"""Assumed steps of a loop whose length depends on data."""


@record
class Cost:
    """Operations of a program, functions such as ``exp`` counted separately, and bytes moved."""

    flops: int = 0
    transcendentals: int = 0
    bytes_read: int = 0
    bytes_written: int = 0

    def seconds(self, rates: Rates) -> float:
        """A rough estimate of the time on one core, right within a factor of a few."""
        compute = self.flops / rates.flops + self.transcendentals / rates.functions
        return rates.start + max(compute, (self.bytes_read + self.bytes_written) / rates.bytes)

    @property
    def analysis(self) -> dict[str, float]:
        """The figures by their public names."""
        return {"flops": float(self.flops), "transcendentals": float(self.transcendentals),
                "bytes accessed": float(self.bytes_read + self.bytes_written)}

    def times(self, count: int) -> Cost:
        """The cost of doing it ``count`` times."""
        return Cost(count * self.flops, count * self.transcendentals, count * self.bytes_read,
                    count * self.bytes_written)

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.flops + other.flops, self.transcendentals + other.transcendentals,
                    self.bytes_read + other.bytes_read, self.bytes_written + other.bytes_written)

    def __or__(self, other: Cost) -> Cost:
        """The cost of one or the other: the larger of each figure."""
        return Cost(max(self.flops, other.flops), max(self.transcendentals, other.transcendentals),
                    max(self.bytes_read, other.bytes_read),
                    max(self.bytes_written, other.bytes_written))


def nbytes(buffer: Buffer) -> int:
    """The size of a buffer; elements of less than a byte take a whole one."""
    return prod(buffer.shape) * buffer.dtype.itemsize


def cost(program: Program) -> Cost:
    """The cost of running a program once; what library functions do is not counted.

    >>> from tanx._loops.build import element_program, op
    >>> x = np.zeros((8, 4), np.float32)
    >>> cost(element_program(lambda at, x: op("exp", x[at]) + 1, [x], x))
    Cost(flops=32, transcendentals=32, bytes_read=128, bytes_written=128)
    """
    return sum(costs(program), Cost())


def costs(program: Program) -> list[Cost]:
    """The cost of each statement of a program."""
    return [_cost_of([statement], (), {}) for statement in program.statements]


def is_open(program: Program) -> bool:
    """Whether a program has loops whose number of steps depends on data."""
    return any(isinstance(s, Loop) and s.condition is not None
               or any(map(is_open, programs_in(s)))
               or any(e.holds & WHILES for e in expressions(s))
               for s in statements_in(program.statements))


def _cost_of(body: Iterable[Statement], loops: tuple[Index, ...], read: dict[Buffer, int],
             in_order: bool = False) -> Cost:
    """The cost of statements in loops.

    Stores side by side share what they compute. What is read of each buffer, at most all of it,
    counts once in a statement of the program, for the rest comes from cache: ``read`` has it.
    Where steps are ``in_order``, one may depend on what another has stored, and all is computed in
    each of them.
    """
    total, stores = Cost(), []
    for statement in body:
        if isinstance(statement, Nest):
            if not all(i.extent for i in statement.indices):
                continue  # what never runs costs nothing
            total += _cost_of(statement.body, (*loops, *statement.indices), read,
                              in_order or SEQUENTIAL in statement.kinds)
        elif isinstance(statement, Store):
            stores.append(statement)
        elif isinstance(statement, Loop):
            total += cost(statement.body.program).times(
                STEPS if statement.count is None else statement.count)
        elif isinstance(statement, Branch):
            total += reduce(or_, (cost(body.program) for body in statement.bodies))
        else:
            total += Cost(0, 0, sum(map(nbytes, statement.inputs)),
                          sum(map(nbytes, statement.outputs)))
    flops = special = moved = 0
    trips = prod(i.extent for i in loops)
    for node, steps in occurrences([e for store in stores for e in expressions(store)]):
        if not _counts(node):
            continue
        times = steps * (trips if in_order else repeats(node, loops))
        if isinstance(node, Op):
            if INSTRUCTIONS[node.name].is_function:
                special += times
            else:
                flops += times
        elif isinstance(node, Fold):
            flops += times * _length(node) * len(node.states)
        elif isinstance(node, Load):
            whole, before = nbytes(node.buffer), read.get(node.buffer, 0)
            read[node.buffer] = min(whole, before + times * node.dtype.itemsize)
            moved += read[node.buffer] - before
    written = sum(min(nbytes(s.buffer), trips * s.buffer.dtype.itemsize) for s in stores)
    return total + Cost(flops, special, moved, written)


def _counts(node: Node) -> bool:
    """Whether a node has a cost: index arithmetic, constants and choices have none."""
    if isinstance(node, Op):
        return node.dtype != INDEX and node.name not in ("convert", "bitcast", "select")
    return isinstance(node, (Fold, Load))


def repeats(node: Node, loops: Sequence[Index]) -> int:
    """How often a node is computed in loops, if not in those inside all that it depends on."""
    return prod(i.extent for i in repeating(node, loops))


def repeating(node: Node, loops: Sequence[Index]) -> Sequence[Index]:
    """The loops that a node is computed in: not those inside all that it depends on."""
    inside = [n for n, i in enumerate(loops) if i in node.free]
    if len(inside) < len(node.free):  # it changes in a fold inside of all of them
        return loops
    return loops[:inside[-1] + 1 if inside else 0]


def occurrences(roots: Iterable[Node]) -> list[tuple[Node, int]]:
    """Each node under ``roots`` and how often it is computed in one evaluation of all of them.

    Inside of a fold that is once a step of the loops in which it changes.
    """
    found: list[tuple[Node, int]] = []
    seen: set[Node] = set()
    stack = list(roots)
    later: list[tuple[Node, _Frame]] = []
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            found.append((node, 1))
            if isinstance(node, Fold):
                # Bodies come last: a node that is also outside is computed there, less often.
                later += [(value, _Frame(1, node, node.bound, _OUTSIDE))
                          for value in node.parts[len(node.init):]]
                stack += node.init
            else:
                stack += children(node)
    if later:
        _inside_folds(later, found, seen)
    return found


def _inside_folds(later: list[tuple[Node, _Frame]], found: list[tuple[Node, int]],
                  seen: set[Node]) -> None:
    """Add what occurs in folds, given their bodies."""
    now: list[tuple[Node, _Frame]] = []
    while now or later:
        node, frame = now.pop() if now else later.pop()
        while frame.outer is not None and frame.bound.isdisjoint(node.free):
            frame = frame.outer
        if node in seen:
            continue
        seen.add(node)
        times = frame.times
        if frame.outer is not None:
            times *= _steps(node, frame)
        found.append((node, times))
        if isinstance(node, Fold):
            now += [(value, frame) for value in node.init]
            later += [(value, _Frame(times, node, node.bound, frame))
                      for value in node.parts[len(node.init):]]
        else:
            now += [(child, frame) for child in children(node)]


class _Frame(NamedTuple):
    """The inside of a fold that runs so many times, or of none."""

    times: int = 1
    fold: Fold | None = None
    bound: frozenset = frozenset()
    outer: _Frame | None = None


_OUTSIDE = _Frame()


def _steps(node: Node, frame: _Frame) -> int:
    """In how many steps of a fold a node inside it is computed."""
    assert frame.fold is not None
    indices = frame.fold.indices
    if isinstance(frame.fold, While):
        return STEPS
    depth = len(indices)
    if node.free.isdisjoint(frame.fold.states):
        depth = max(n + 1 for n, i in enumerate(indices) if i in node.free)
    return prod(i.extent for i in indices[:depth])


def _length(fold: Fold) -> int:
    """The steps of a fold."""
    return STEPS if isinstance(fold, While) else prod(i.extent for i in fold.indices)


@record(frozen=False)
class Work:
    """The work of computing expressions once.

    ``effort`` counts neither index arithmetic nor loads; loads are listed, with how often they run.
    """

    effort: float = 0.0
    heavy: bool = False  # has an instruction that takes as long as several additions
    nodes: int = 0
    selects: bool = False
    folds: list[Fold] = field(default_factory=list)  # from the outside to the inside
    loads: list[tuple[Load, int]] = field(default_factory=list)


def work(roots: Iterable[Node]) -> Work:
    """The work of computing ``roots`` once."""
    total = Work()
    for node, times in occurrences(roots):
        total.nodes += 1
        if isinstance(node, Load):
            total.loads.append((node, times))
        elif isinstance(node, Op) and not _is_index_work(node):
            size = 0.5 if node.dtype.itemsize < 4 else 2.0 if kind_of(node.dtype) == "c" else 1.0
            each = INSTRUCTIONS[node.name].effort
            total.effort += times * size * each
            total.heavy |= each >= _HEAVY
            total.selects |= node.name == "select"
        elif isinstance(node, Fold):
            total.folds.append(node)
            total.effort += times * prod(i.extent for i in node.indices) if node.reducer else 0
    return total


def _is_index_work(node: Op) -> bool:
    """Whether an instruction only computes an address, from loop variables alone."""
    if node.dtype == INDEX or node.dtype == BOOL and all(a.dtype == INDEX for a in node.args):
        return True
    if node.name == "convert":
        return node.args[0].dtype == INDEX or isinstance(node.args[0], Const)
    return False
