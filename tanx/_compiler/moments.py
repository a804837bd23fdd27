"""Sums of squares around a mean, for arrays larger than the caches: read memory once, not twice.

A variance needs the mean of the same elements first, and so reads them a second time. But if the
elements are divided in groups, and each group has the sum ``d`` of its elements' distances from
some point ``o``, and the sum of squares ``q`` around its own mean, then for any ``m`` ::

    add(k: square(x[k] - m)) = add(g: q[g] + size * square(o[g] - m + d[g] / size))

So one pass over the elements is enough, and one over the groups. ::

    for i in 512 parallel:                    for g in 64, i in 512 parallel:
        m[i] = add(k in 4096: x[k, i]) / n        d[g, i] = add(k in 64: x[g * 64 + k, i] - o)
        v[i] = add(k in 4096:                     q[g, i] = add(k in 64: square(
            square(x[k, i] - m[i]))                   x[g * 64 + k, i] - o)) - d * d / 64

The point ``o`` is the first element of the group. The only subtraction is that of ``d * d / size``:
nothing is lost where the mean is large and the variance small. Cancellation needs a first element
that is an outlier, and is then limited by the size of the group.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import prod

import numpy as np

from .._base.records import record
from .._loops.build import convert, fold, reduce, temp, unflatten_index
from .._loops.expr import FOLDS, Const, Expr, Fold, Index, Load, Op, Pick, Variable, fresh_index, op
from .._loops.instructions import kind_of
from .._loops.nest import PARALLEL, Buffer, Nest, Program, Statement, Store
from .._loops.traverse import (
    expressions,
    folds,
    loads,
    map_expressions,
    rewrite,
    substitute,
    walk,
    written,
)
from .tuning import USUAL, MomentsTuning

__all__ = ["in_one_pass"]


def in_one_pass(program: Program, tuning: MomentsTuning = USUAL.moments) -> Program:
    """Compute sums of squares around a mean from groups of elements, where that saves a pass."""
    rooms: list[Buffer] = []
    statements: list[Statement] = []
    for statement in program.statements:
        while isinstance(statement, Nest) and (found := _pair(statement, tuning)) is not None:
            own = found.rooms(*(f"{letter}{len(rooms)}" for letter in "dq"))
            rooms += own
            statements.append(found.parts(*own))
            statement = found.whole(statement, *own)
        statements.append(statement)
    return replace(program, temps=(*program.temps, *rooms), statements=tuple(statements))


@record
class _Groups:
    """A sum of elements, and a sum of squares around a value that depends on it, in groups.

    ``loops`` are those of the nest. The last loop of the sums, ``along``, iterates over groups:
    ``outer`` and ``number`` say which group, ``side`` its position among adjacent ones.
    """

    plain: Fold
    squares: Fold
    element: Expr
    around: Expr
    loops: tuple[Index, ...]
    outer: tuple[Index, ...]
    along: Index
    number: Index
    size: int
    side: tuple[Index, ...]

    @property
    def across(self) -> int:
        """How many groups are adjacent."""
        return prod(i.extent for i in self.side)

    @property
    def done(self) -> int:
        """The steps of the last loop that belong to groups."""
        return self.number.extent * self.size * self.across

    @property
    def indices(self) -> tuple[Index, ...]:
        """The loops over groups, in the order of memory."""
        groups = (*self.outer, self.number)
        return (*self.loops, *groups, *self.side) if self.side else (*groups, *self.loops)

    def rooms(self, *names: str) -> list[Buffer]:
        """Buffers for sums and squares."""
        return [temp(name, [i.extent for i in self.indices], self.element.dtype) for name in names]

    def at(self, step: Expr | int) -> Expr:
        """The element at a step of a group."""
        place: Expr = (self.number * self.size + step) * self.across
        return substitute(self.element, {self.along: place + self.side[0] if self.side else place})

    def parts(self, distances: Buffer, squares: Buffer) -> Nest:
        """The statement that computes the groups: a line in one loop, columns in parallel loops."""
        first, zero = self.at(0), Const(0, self.element.dtype)

        def total(term: Callable[[Expr], Expr]) -> Expr:
            return reduce("add", (self.size,), lambda k: term(self.at(k[0]) - first))

        def step(k: Sequence[Expr], states: Sequence[Expr]) -> Sequence[Expr]:
            apart = self.at(k[0]) - first
            return states[0] + apart, states[1] + op("square", apart)

        distance, around = fold((self.size,), (zero, zero), step) if self.side else (
            total(lambda e: e), total(lambda e: op("square", e)))
        own = around - op("square", distance) / self.size
        return Nest(self.indices, (PARALLEL,) * len(self.indices), (
            Store(distances, self.indices, distance),
            Store(squares, self.indices, op("max", own, zero))))

    def whole(self, nest: Nest, distances: Buffer, squares: Buffer) -> Nest:
        """The nest that computes both sums from those of the groups.

        Sums of groups are similar, and would be rounded in the same direction each time: they are
        added in twice the precision.
        """
        groups = (*self.outer, self.number, *self.side)
        first, d, q = self.at(0), distances[self.indices], squares[self.indices]
        size, left = self.size, self.along.extent - self.done

        def total(fold: Fold, of_group: Expr, of_element: Callable[[Expr], Expr]) -> Expr:
            found = reduce("add", [i.extent for i in groups], lambda k: _wide(substitute(
                of_group, dict(zip(groups, k)))))
            if left:
                extents = (*(i.extent for i in self.outer), left)
                found = found + reduce("add", extents, lambda k: _wide(of_element(substitute(
                    self.element, {**dict(zip(self.outer, k)), self.along: k[-1] + self.done}))))
            return fold.init[0] + convert(found, self.element.dtype)

        def apart(e: Expr) -> Expr:
            return op("square", e - self.around)

        apart_of_group = op("square", first - self.around + d / size) * size
        results: list[dict[Expr, Expr]] = [
            {Pick(self.squares, 0): total(self.squares, q + apart_of_group, apart)},
            {Pick(self.plain, 0): total(self.plain, _wide(d) + _wide(first) * size, lambda e: e)}]
        for result in results:  # the squares may be around the plain sum
            change = partial(rewrite, replacement=result.get)
            nest = replace(nest, body=tuple(map_expressions(s, change) for s in nest.body))
        return nest


def _wide(value: Expr) -> Expr:
    return convert(value, np.float64)


def _pair(nest: Nest, tuning: MomentsTuning) -> _Groups | None:
    """A sum and a sum of squares in a nest that are worth computing in groups, or None."""
    if any(kind != PARALLEL for kind in nest.kinds) or not all(
            isinstance(s, Store) and s.guard is None and s.combine is None for s in nest.body):
        return None
    found = [fold for fold in folds(*(e for s in nest.body for e in expressions(s)))
             if fold.reducer == "add" and kind_of(fold.states[0].dtype) == "f"]
    for squares in found:
        inside = _around(squares)
        if inside is None:
            continue
        element, around = inside
        for plain in found:
            if plain is not squares and _is_sum(plain, squares, element) and _waits(
                    nest, around, plain):
                return _grouped(nest, plain, squares, element, around, tuning)
    return None


def _around(fold: Fold) -> tuple[Expr, Expr] | None:
    """The elements that a sum squares, minus a value that is the same for all of them."""
    (value,) = fold.body
    if not (isinstance(value, Op) and value.name == "square"):
        return None
    inside = value.args[0]
    if not (isinstance(inside, Op) and inside.name == "sub"):
        return None
    element, around = inside.args
    return (element, around) if element.dtype == fold.states[0].dtype and (
        around.free.isdisjoint(fold.indices) and not element.holds & FOLDS) else None


def _is_sum(fold: Fold, other: Fold, element: Expr) -> bool:
    """Whether a fold sums the same elements as another one."""
    if [i.extent for i in fold.indices] != [i.extent for i in other.indices]:
        return False
    names: Mapping[Variable, Expr] = dict(zip(fold.indices, other.indices))
    return substitute(fold.body[0], names) is element


def _waits(nest: Nest, value: Expr, fold: Fold) -> bool:
    """Whether a value depends on a fold, directly or through what is stored."""
    made: set[Buffer] = set()
    for store in nest.body:
        assert isinstance(store, Store)
        if fold in walk(store.value) or any(
                load.buffer in made for load in loads(*expressions(store))):
            made.add(store.buffer)
    return fold in walk(value) or any(load.buffer in made for load in loads(value))


def _grouped(nest: Nest, plain: Fold, squares: Fold, element: Expr,
             around: Expr, tuning: MomentsTuning) -> _Groups | None:
    """A pair in groups, if its elements are not in cache, and read in a suitable order."""
    read = list(loads(element))
    writes = written(nest.body)
    loops = tuple(i for i in nest.indices if i in element.free)
    line = _line(squares.indices, read)
    each = prod(i.extent for i in squares.indices) * sum(load.dtype.itemsize for load in read)
    if not read or any(load.buffer in writes for load in read) or each * prod(
            i.extent for i in loops) < tuning.far:
        return None
    *outer, along = squares.indices
    if len(line) > 1:  # adjacent loops over one line of elements
        whole = fresh_index(prod(i.extent for i in line), "k")
        places = unflatten_index(whole, [i.extent for i in line])
        element = substitute(element, dict(zip(line, places)))
        outer, along = outer[:len(outer) + 1 - len(line)], whole
    side = (fresh_index(tuning.lanes, "l"),) if line else ()
    across = tuning.lanes if line else 1
    suits = each > tuning.near if line else bool(loops) and all(
        load.place[0].get(loops[-1]) == 1 for load in read) and loops[-1].extent >= tuning.lanes
    steps = along.extent // across
    size = max((n for n in range(tuning.size // 2, tuning.size + 1) if steps % n == 0),
               default=tuning.size)
    return _Groups(plain, squares, element, around, loops, tuple(outer), along, fresh_index(
        steps // size, "g"), size, side) if suits and steps >= 2 * size else None


def _line(indices: Sequence[Index], read: Sequence[Load]) -> list[Index]:
    """The last loops of a sum that access contiguous memory, as one."""
    step, found = 1, list[Index]()
    for index in reversed(indices):
        if any(load.place[0].get(index) != step for load in read):
            break
        found.insert(0, index)
        step *= index.extent
    return found
