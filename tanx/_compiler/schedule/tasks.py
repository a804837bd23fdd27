"""Which work is split over threads: loops cut into tasks, and long reductions into partial ones.

A statement that takes long enough gets an outermost loop over tasks, by cutting a loop with
independent iterations into ranges; the remainder becomes a separate statement. ::

    for i in 1000, j in 1000 parallel:        for t in 25 tasks, i in 40, j in 1000 parallel:
        y[i, j] = exp(x[i, j])                    y[t * 40 + i, j] = exp(x[t * 40 + i, j])

If there are too few such iterations but long folds, the folds are cut instead: partial results are
stored, and then combined. ::

    once:                                     for t in 25 tasks:
        y[] = add(k in 1000: x[k])                p0[t] = add(k in 40: x[t * 40 + k])
                                              once:
                                                  y[] = add(k in 25: p0[k])

Running sums along a line become those of several rows, each of which starts from the sum of the
rows before it. If many iterations update a few elements, each task gets its own copy of these. ::

    for i in 100000 parallel:                 for t in 5 tasks:
        y[x[i]] add= z[i]                         for j in 8 parallel:
                                                      p0[t, j] = -0
                                                  for i in 20000 parallel:
                                                      p0[t, x[t * 20000 + i]] add= z[t * 20000 + i]
                                              for j in 8 parallel:
                                                  y[j] add= add(k in 5: p0[k, j])

The cuts depend on the program alone, never on the number of threads, and so do the results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import prod
from typing import Any

from ..._base.records import record
from ..._loops.build import arg_reduce, clamp_index, convert, reduce, temp
from ..._loops.expr import (
    Const,
    Expr,
    Fold,
    Index,
    Load,
    Pick,
    Variable,
    const,
    fresh_index,
    linear_form,
    op,
)
from ..._loops.instructions import identity, kind_of
from ..._loops.names import LAPACK, LEAST_OF_LINES, MATRICES, SORT_LINES
from ..._loops.nest import (
    PARALLEL,
    SEQUENTIAL,
    TASKS,
    Buffer,
    Extern,
    Nest,
    Program,
    Statement,
    Store,
)
from ..._loops.traverse import (
    expressions,
    map_expressions,
    rewrite,
    statements_in,
    substitute,
    substitution,
    walk,
    written,
)
from ..cost import cost
from ..machine import Machine
from ..nest_tools import find_loads, is_affine, mentioned, sure_parts
from ..tuning import TaskTuning
from .scans import Scan, neutral, scan_of
from .small_matrices import in_lanes
from .tiles import is_tiled

__all__ = ["in_tasks"]

def in_tasks(program: Program, machine: Machine) -> Program:
    """Split statements into tasks where it pays; those by tiles have their own tasks."""
    scheduler = _Scheduler(program, machine)
    statements = tuple(part for s in program.statements for part in scheduler.parts(s))
    used = {buffer for statement in statements for buffer in mentioned(statement)}
    temps = (*program.temps, *scheduler.temps)
    return replace(program, temps=tuple(b for b in temps if b in used), statements=statements)


def _tasks_in(statement: Statement, machine: Machine, grain: float) -> int:
    """How many tasks a statement is worth, of that many seconds at least."""
    seconds = cost(Program((), (), (), (statement,))).seconds(machine.rates)
    return min(machine.tuning.tasks.most, round(seconds / grain))


def _even(tasks: int, tuning: TaskTuning) -> int:
    """More tasks where there are few, so that threads get equal shares."""
    return max(tasks, min(tuning.fine * tasks, tuning.enough))


class _Scheduler:
    """Splits statements; ``temps`` are the buffers that this needed."""

    def __init__(self, program: Program, machine: Machine):
        self.machine, self.tuning = machine, machine.tuning.tasks
        self.taken = set(program.buffers)
        self.temps: list[Buffer] = []
        read_by_tiles = {b for s in program.statements if is_tiled(s)
                         for b in mentioned(s) if b.role == "temp"}
        self.copies: dict[Buffer, list[Statement]] = {}
        for statement in program.statements:
            targets = [*written((statement,))]
            if not is_tiled(statement) and read_by_tiles.issuperset(targets):
                for buffer in targets:
                    self.copies.setdefault(buffer, []).append(statement)

    def parts(self, statement: Statement) -> Iterator[Statement]:
        """The statements that replace one."""
        if isinstance(statement, Extern) and statement.name in (SORT_LINES, LEAST_OF_LINES):
            statement = self.with_room(statement)
        if isinstance(statement, Extern) and statement.name == LAPACK:
            statement = self.with_work(statement)
        if isinstance(statement, Extern) and statement.name == MATRICES:
            statement = in_lanes(statement, self.machine)
        if not isinstance(statement, Nest) or TASKS in statement.kinds or any(
                isinstance(inner, Extern) for inner in statements_in(statement.body)) or (
                is_tiled(statement)):
            yield statement
            return
        wanted = self.wanted(statement)
        if wanted < 2:
            yield statement
            return
        loops, enough = _loops_to_cut(statement, self.tuning), self.tuning.enough
        near = partial(_neighbours, self.tuning, _accesses((statement,)),
                       in_order=SEQUENTIAL in statement.kinds)
        cut = _best_cut(loops, wanted, enough, near, self.tuning)
        if any(isinstance(inner, Nest) for inner in statement.body):
            enough = self.tuning.enough_rows  # inner nests share data in the cache
        finer = self.finer(statement) if cut is None or cut.gain < min(wanted // 2, enough) else []
        for part in finer:
            yield from self.parts(part)
        if not finer:  # short pieces are better than none
            cut = cut or _best_cut(loops, wanted, enough,
                                   lambda i: min(near(i), self.tuning.line), self.tuning)
            yield from [statement] if cut is None else _applied(cut, statement)

    def wanted(self, statement: Statement) -> int:
        """How many tasks a statement is worth: more if it copies operands, since the product after
        it needs the threads anyway.

        All statements that write a copy have as many, such as one that pads it. Lines that some of
        them write in several tasks and others in one move between the caches of cores: the gradient
        of the QR factors of 1000 x 8 x 8 takes 0.24 instead of 0.28 ms (Emerald Rapids, two cores).
        """
        targets = written((statement,))
        if not self.copies.keys() >= targets.keys():
            return _tasks_in(statement, self.machine, self.tuning.grain)
        return max([_tasks_in(s, self.machine, self.tuning.grain_of_copies)
                    for target in targets for s in self.copies[target]], default=0)

    def with_room(self, call: Extern) -> Extern:
        """A library call on lines with scratch memory for several tasks, if that pays."""
        (out, spare), (given,) = call.outputs, call.inputs
        lines = prod(given.shape[:-2 if dict(call.params).get("pairs") else -1])
        sort = self.machine.tuning.sort
        seconds = prod(given.shape) * (
            sort.seconds if call.name == SORT_LINES else sort.least_seconds)
        tasks = min(lines, self.tuning.most_calls, int(seconds / self.tuning.grain))
        if tasks < 2:
            return call
        return replace(call, outputs=(out, self.room((tasks, *spare.shape[1:]), spare.dtype)))

    def with_work(self, call: Extern) -> Extern:
        """A routine for many matrices with workspace for several tasks, if that pays."""
        params = dict(call.params)
        places = [arg for arg in params["args"] if isinstance(arg, tuple)]
        size = max(step for _, step in places)
        each = self.tuning.routine + self.tuning.routine_element * size ** 1.5
        seconds = params["count"] * each
        tasks = min(params["count"], self.tuning.most_calls, int(seconds / self.tuning.grain))
        if tasks < 2 or not size:
            return call
        tasks = -(-params["count"] // -(-params["count"] // tasks))
        shared = {number for number, step in places if not step}
        outputs = tuple(self.room((tasks, *b.shape), b.dtype) if n in shared else b
                        for n, b in enumerate(call.outputs))
        return replace(call, outputs=outputs, params=tuple(sorted(
            {**params, "tasks": tasks}.items())))

    def finer(self, nest: Nest) -> list[Statement]:
        """Statements equivalent to a nest that can be split further; empty if there are none."""
        if SEQUENTIAL in nest.kinds:
            return self.with_rows_of_scan(nest)
        if apart := self.with_own_elements(nest):
            return apart
        groups = _groups(nest)
        if len(groups) > 1 or isinstance(groups[0][0], Nest):
            return [_within(nest, group) for group in groups]
        return self.with_parts_of_folds(nest)

    # -- meetings ----------------------------------------------------------------------------------

    def with_own_elements(self, nest: Nest) -> list[Statement]:
        """A nest that combines many values into few elements, of which each task has its own
        copy."""
        store = _meeting(nest)
        if store is None or store.combine is None:
            return []
        few = prod(store.buffer.shape)
        most = prod(i.extent for i in nest.indices) // (self.tuning.many_each * max(few, 1))
        wanted = min(_even(_tasks_in(nest, self.machine, self.tuning.grain), self.tuning), most,
                     self.tuning.most_copies)
        cut = _cut(nest.indices[0], wanted, 1, self.tuning) if wanted > 1 else None
        if cut is None:
            return []
        room = self.room((cut.count, *store.buffer.shape), store.buffer.dtype)
        tasks, *rest = _applied(cut, nest)
        task, cells = tasks.indices[0], tuple(fresh_index(n, "j") for n in store.buffer.shape)
        kinds = (PARALLEL,) * len(cells)
        start = Const(neutral(store.combine, room.dtype), room.dtype)
        inside = Nest(tasks.indices[1:], tasks.kinds[1:], tuple(
            replace(s, buffer=room, index=(task, *s.index)) for s in tasks.body
            if isinstance(s, Store)))
        parts = reduce(store.combine, (cut.count,), lambda k: room[[*k, *cells]], start.value)
        return [Nest((task,), (TASKS,), (Nest(cells, kinds, (
            Store(room, (task, *cells), start),)), inside)), *rest,
            Nest(cells, kinds, (Store(store.buffer, cells, parts, store.combine),))]

    # -- scans -------------------------------------------------------------------------------------

    def with_rows_of_scan(self, nest: Nest) -> list[Statement]:
        """A running sum, maximum or minimum, by rows that start from the totals of those before."""
        scan = scan_of(nest)
        if scan is None or len(nest.indices) > 1 or not all(
                _tells(scan.along, [store.index]) for store in scan.stores):
            return []
        index, state, combine = scan.along, scan.state, scan.combine
        lanes = self.tuning.scan_lanes
        rows = min(self.tuning.scan_rows, index.extent // self.tuning.scan_length) // lanes * lanes
        length = index.extent // max(rows, 1) // self.tuning.line * self.tuning.line
        if rows < 2 * lanes:
            return []
        row, step, before = fresh_index(rows, "r"), fresh_index(length, "k"), fresh_index(rows, "r")
        sums, starts = (self.room((rows,), state.dtype) for _ in range(2))
        at: dict[Variable, Expr] = {index: row * length + step}

        def change(expr: Expr) -> Expr:
            return substitute(rewrite(expr, lambda e: starts[[row]] if e is state else None), at)

        def moved(store: Statement) -> Store:
            assert isinstance(store, Store)
            if store.buffer == state.buffer:
                return Store(starts, (row,), change(store.value))
            return Store(store.buffer, tuple(map(change, store.index)), change(store.value))

        rest = fresh_index(index.extent - rows * length, "i")
        left = substitution({index: rest + rows * length})
        return [
            Nest((row,), (PARALLEL,), (
                Store(sums, (row,), _of_row(scan, row * length, length, self.tuning)),)),
            Nest((before,), (SEQUENTIAL,), (
                Store(starts, (before,), state),
                Store(state.buffer, state.index, op(combine, state, sums[[before]])))),
            Nest((row, step), (PARALLEL, SEQUENTIAL), tuple(map(moved, nest.body))),
            *([Nest((rest,), (SEQUENTIAL,), tuple(map_expressions(s, left) for s in nest.body))]
              if rest.extent else [])]

    # -- folds -------------------------------------------------------------------------------------

    def with_parts_of_folds(self, nest: Nest) -> list[Statement]:
        """The nest, preceded by those that compute partial results of its long folds."""
        before: list[Statement] = []
        while (found := self.long_folds(nest)) is not None:
            results, statements = self.split_folds(*found)
            before += statements
            nest = replace(nest, body=tuple(map_expressions(s, lambda e: rewrite(
                e, results.get)) for s in nest.body))  # noqa: B023
        return [*before, nest] if before else []

    def long_folds(self, nest: Nest) -> tuple[list[Fold], _Cut, tuple[Index, ...]] | None:
        """Folds that are worth splitting together, how, and the loops that they depend on.

        They are always evaluated, have the same extents, and do not depend on each other.
        """
        if any(getattr(s, "guard", None) is not None for s in nest.body) or not prod(
                i.extent for i in nest.indices):
            return None
        groups: dict[tuple, list[Fold]] = {}
        for node in walk(*(e for s in nest.body for e in expressions(s)), into=sure_parts):
            if isinstance(node, Fold) and node.free <= {*nest.indices} and self.has_parts(node):
                loops = tuple(i for i in nest.indices if i in node.free)
                group = groups.setdefault((loops, *(i.extent for i in node.indices)), [])
                if not any(inner in group for inner in walk(*node.body)):
                    group.append(node)
        for (loops, *_), folds in groups.items():
            alone = temp("alone", [i.extent for i in loops], folds[0].states[0].dtype)
            stores = tuple(Store(alone, loops, Pick(fold, 0)) for fold in folds)
            wanted = _tasks_in(Nest(loops, (PARALLEL,) * len(loops), stores), self.machine,
                               self.tuning.grain)
            if wanted < 2:
                continue
            near, least = partial(_neighbours, self.tuning, _accesses(stores)), 1
            if loops:
                least = self.tuning.line
            cut = _best_cut(folds[0].indices, wanted, self.tuning.enough,
                            lambda i: max(near(i), least), self.tuning)  # noqa: B023
            if cut is not None and cut.gain >= 2:
                return folds, cut, loops
        return None

    def has_parts(self, fold: Fold) -> bool:
        """Whether partial results of a fold can be computed and then combined."""
        loads = find_loads(fold.body)
        if loads and all(load.buffer in self.temps for load in loads):
            return False  # it already combines partial results
        if not prod(i.extent for i in fold.indices):
            return False
        if fold.reducer:
            return fold.reducer not in ("max", "min") or kind_of(fold.states[0].dtype) != "c"
        return fold.combine is not None and len(fold.indices) == 1 and any(
            node is op("eq", fold.indices[0], 0) for node in walk(*fold.body))

    def split_folds(self, folds: Sequence[Fold], cut: _Cut, loops: tuple[Index, ...],
                    ) -> tuple[Mapping[Expr, Expr], list[Statement]]:
        """Replacements for the results of folds, and the statements that store partial results."""
        extents = (*(i.extent for i in cut.whole), cut.count + (cut.left > 0))
        shape = (*extents, *(i.extent for i in loops))
        rooms = [[self.room(shape, state.dtype) for state in fold.states] for fold in folds]

        def storing(size: int, start: Expr, number: Expr, outer: Sequence[Index],
                    kind: str) -> Nest:
            parts = [_part(_in_loops(fold, folds[0].indices), cut, size, start) for fold in folds]
            return Nest((*outer, *loops), (kind,) * len(outer) + (PARALLEL,) * len(loops), tuple(
                Store(room, (*cut.whole, number, *loops), Pick(part, n))
                for part, own in zip(parts, rooms) for n, room in enumerate(own)))

        task = fresh_index(cut.count, "t")
        statements: list[Statement] = [
            storing(cut.size, task * cut.size, task, (*cut.whole, task), TASKS)]
        if cut.left:
            statements.append(storing(cut.left, const(cut.done), const(cut.count), cut.whole,
                                      PARALLEL))
        results: dict[Expr, Expr] = {}
        for fold, own in zip(folds, rooms):
            part = lambda k, own=own: own[0][[*k, *loops]]
            if fold.reducer:
                results[Pick(fold, 0)] = reduce(fold.reducer, extents, part, fold.init[0])
                continue
            best, number = arg_reduce(str(fold.combine).removeprefix("arg"), extents[0], part)
            results[Pick(fold, 0)] = best
            results[Pick(fold, 1)] = own[1][[clamp_index(number, extents[0]), *loops]]
        return results, statements

    def room(self, shape: tuple[int, ...], dtype: Any) -> Buffer:
        """A new temporary."""
        number = next(n for n in range(len(self.taken) + 1) if f"p{n}" not in self.taken)
        self.taken.add(f"p{number}")
        self.temps.append(temp(f"p{number}", shape, dtype))
        return self.temps[-1]


# -- cuts ------------------------------------------------------------------------------------------


@record
class _Cut:
    """A loop in ``count`` ranges of ``size``, inside of loops that are tasks as they are."""

    whole: tuple[Index, ...]
    index: Index
    count: int
    size: int

    @property
    def done(self) -> int:
        """The iterations of the loop that belong to tasks."""
        return self.count * self.size

    @property
    def left(self) -> int:
        """The iterations of the remainder."""
        return self.index.extent - self.done

    @property
    def gain(self) -> float:
        """The speedup with as many threads as there are tasks."""
        return prod(i.extent for i in self.whole) * self.index.extent / (self.size + self.left)


def _best_cut(loops: Iterable[Index], wanted: int, enough: int,
              neighbours: Callable[[Index], int], tuning: TaskTuning) -> _Cut | None:
    """The outermost cut that gives enough tasks, or otherwise the one that gives most.

    ``neighbours`` says how many iterations of a loop stay together.
    """
    enough = min(wanted // 2, enough)
    best: _Cut | None = None
    whole: tuple[Index, ...] = ()
    for loop in loops:
        together = neighbours(loop)
        pieces = -(-_even(wanted, tuning) // prod(i.extent for i in whole))
        cut = _cut(loop, pieces, together, tuning)
        if cut is not None:
            cut = replace(cut, whole=whole)
            if best is None or cut.gain > best.gain:
                best = cut
            if cut.gain >= enough:
                break
        if together == 1:
            whole += (loop,)
    return best


def _cut(index: Index, wanted: int, together: int, tuning: TaskTuning) -> _Cut | None:
    """A loop in about ``wanted`` ranges, with a small remainder, which needs separate code."""
    extent, most = index.extent, index.extent // together
    if most < 2:
        return None

    def price(size: int) -> float:
        count, left = divmod(extent, size)
        return (left / extent + (0.03 if left else 0) + 0.02 * abs(count / wanted - 1)
                + (0.01 if together > 1 and size % tuning.line else 0))

    counts = range(min(most, max(2, wanted // tuning.fine)), min(most, 2 * wanted) + 1)
    sizes = [extent // count for count in counts]
    if together > 1:
        sizes += [whole for size in sizes
                  if (whole := size // tuning.line * tuning.line) >= together]
    size = min(sizes, key=price)
    return _Cut((), index, extent // size, size)


def _applied(cut: _Cut, nest: Nest) -> Iterator[Nest]:
    """The nest in tasks, and the remainder."""
    kinds = dict(zip(nest.indices, nest.kinds))
    task = fresh_index(cut.count, "t")
    tasks = (*cut.whole, task)

    def moved(size: int, start: Expr, outer: tuple[Index, ...]) -> Nest:
        inner = fresh_index(size, cut.index.name.split(".")[0])
        at = start if size == 1 else start + inner
        loops = [(inner if i is cut.index else i, kinds[i]) for i in nest.indices
                 if i not in outer and (i is not cut.index or size > 1)]
        loops = [*((i, TASKS) for i in outer), *loops]
        change = substitution({cut.index: at})
        return Nest(tuple(i for i, _ in loops), tuple(kind for _, kind in loops),
                    tuple(map_expressions(s, change) for s in nest.body))

    yield moved(cut.size, task * cut.size, tasks)
    if cut.left:
        yield moved(cut.left, const(cut.done), ())


# -- loops -----------------------------------------------------------------------------------------


def _loops_apart(nest: Nest) -> list[Index]:
    """The loops of a nest whose iterations are independent, whatever is inside."""
    leading = next((n for n, kind in enumerate(nest.kinds) if kind != PARALLEL), len(nest.kinds))
    if any(isinstance(s, Store) and s.combine for s in statements_in(nest.body)):
        leading = 0
    found = list(nest.indices[:leading])
    if PARALLEL in nest.kinds[leading:]:
        places = _places(nest)
        found += [i for i, kind in zip(nest.indices[leading:], nest.kinds[leading:])
                  if kind == PARALLEL and all(_tells(i, of) for of in places.values())]
    return [i for i in found if i.extent > 1]


def _loops_to_cut(nest: Nest, tuning: TaskTuning) -> list[Index]:
    """The loops whose iterations are independent, except for those that reread a large array: a
    task runs all iterations of these, with the array in its cache."""
    loops = _loops_apart(nest)
    read = {i for s in statements_in(nest.body) for load in find_loads(expressions(s))
            for i in load.free}
    own = [i for i in loops if i in read]
    return own if prod(i.extent for i in own) >= tuning.large else loops


def _places(nest: Nest) -> Mapping[Buffer, set[tuple[Expr, ...]]]:
    """The accesses of a nest to the buffers that it writes."""
    found: dict[Buffer, set[tuple[Expr, ...]]] = {buffer: set() for buffer in written(nest.body)}
    for inner in statements_in(nest.body):
        if isinstance(inner, Store):
            found[inner.buffer].add(inner.index)
            for load in find_loads(expressions(inner)):
                if load.buffer in found:
                    found[load.buffer].add(load.index)
    return found


def _tells(index: Index, places: Iterable[tuple[Expr, ...]]) -> bool:
    """Whether some dimension of all accesses is the index of a loop."""
    return any(len({*along}) == 1 and along[0].free == {index}
               and is_affine(linear_form(along[0])) for along in zip(*places))


def _neighbours(tuning: TaskTuning, accesses: Iterable[Load], index: Index,
                in_order: bool = False) -> int:
    """How many iterations of a loop stay together: more than one if they are adjacent in memory.

    If rows are read ``in_order``, only long rows let the hardware prefetch them.
    """
    accesses = list(accesses)
    near = [access for access in accesses if abs(access.place[0].get(index, 0)) == 1]
    if not near and (row := max([_row(access, index) for access in accesses], default=0)):
        return -(-tuning.long_piece // row)
    if not near or any(access.free == {index} for access in near):
        return tuning.line if near else 1
    return tuning.long_piece if index.extent >= tuning.enough_rows * tuning.long_piece else (
        2 * tuning.piece if in_order and index.extent >= 4 * tuning.piece else tuning.piece)


def _row(access: Load, index: Index) -> int:
    """The elements of a row along which a loop advances, if rows are contiguous and other accesses
    have larger strides; otherwise 0."""
    steps = {i: n for i, n in access.place[0].items() if isinstance(i, Index)}
    row = steps.get(index, 0)
    inner = [i for i, n in steps.items() if n == 1 and i.extent == row]
    return row if inner and any(n > row for n in steps.values()) else 0


def _accesses(statements: Iterable[Statement]) -> list[Load]:
    """The elements whose accesses take most of the time: those that vary in most loops."""
    stores = [s for s in statements_in(statements) if isinstance(s, Store)]
    accesses = find_loads(e for store in stores for e in expressions(store))
    accesses += [Load(store.buffer, store.index) for store in stores]
    most = max(len(access.free) for access in accesses)
    return [access for access in accesses if len(access.free) == most]


def _of_row(scan: Scan, start: Expr, length: int, tuning: TaskTuning) -> Expr:
    """The total of a row of a scan; narrow numbers are added in fours before they are widened."""
    first, dtype = neutral(scan.combine, scan.state.dtype), scan.state.dtype

    def at(element: Expr, step: Expr) -> Expr:
        return substitute(element, {scan.along: start + step})

    if (narrow := scan.narrow) is None:
        return reduce(scan.combine, (length,), lambda k: at(scan.element, k[0]), first)

    def four(k: Sequence[Expr]) -> Expr:
        a, b, c, d = (at(narrow, k[0] * tuning.line + (n * tuning.line // 4 + k[1]))
                      for n in range(4))
        return convert((a + b) + (c + d), dtype)

    return reduce("add", (length // tuning.line, tuning.line // 4), four, first)


def _meeting(nest: Nest) -> Store | None:
    """The store that combines values from several iterations, if copies may be combined first.

    Sums of narrow floats depend too much on their order for that; and the factors of an element may
    overflow by themselves.
    """
    store = nest.body[0]
    if len(nest.body) > 1 or not isinstance(store, Store) or not store.combine or any(
            load.buffer == store.buffer for load in find_loads(expressions(store))):
        return None
    kind = kind_of(store.buffer.dtype)
    return store if kind in "biu" or store.buffer.dtype.itemsize >= 4 and (
        store.combine == "add" or kind == "f" and store.combine != "mul") else None


# -- finer statements ------------------------------------------------------------------------------


def _groups(nest: Nest) -> list[list[Statement]]:
    """The body of a nest in parts that may run one after the other, each for all iterations."""
    groups: list[list[Statement]] = []
    made: set[Buffer] = set()
    for statement in nest.body:
        reads = {load.buffer for inner in statements_in((statement,))
                 for load in find_loads(expressions(inner))}
        targets = written((statement,))
        alone = isinstance(statement, Nest) or not made.isdisjoint((*reads, *targets))
        if alone or not groups or isinstance(groups[-1][0], Nest):
            groups.append([])
            made = set()
        groups[-1].append(statement)
        made.update(targets)
    return groups


def _within(nest: Nest, group: Sequence[Statement]) -> Nest:
    """A part of a nest in its loops, merged with those of a single inner nest."""
    first = group[0]
    if isinstance(first, Nest):
        return Nest(nest.indices + first.indices, nest.kinds + first.kinds, first.body)
    return replace(nest, body=tuple(group))


def _in_loops(fold: Fold, indices: tuple[Index, ...]) -> Fold:
    """A fold over other indices of the same extents."""
    moved: dict[Variable, Expr] = {i: j for i, j in zip(fold.indices, indices) if i is not j}
    return Fold(indices, fold.init, fold.states, [substitute(e, moved) for e in fold.body],
                fold.combine) if moved else fold


def _part(fold: Fold, cut: _Cut, size: int, start: Expr) -> Fold:
    """A fold on a range of the loop that is cut, and on single steps of the loops around it."""
    step = fresh_index(size, "k")
    indices = [step if i is cut.index else i for i in fold.indices if i not in cut.whole]
    body, init = fold.body, fold.init
    if fold.reducer:
        dtype = fold.states[0].dtype
        init = (Const(identity(fold.reducer, dtype), dtype),)
    else:  # a search starts with its first element
        first = op("eq", fold.indices[0], 0)
        body = tuple(rewrite(e, lambda e: op("eq", step, 0) if e is first else None) for e in body)
    moved: dict[Variable, Expr] = {cut.index: start + step}
    return Fold(indices, init, fold.states, [substitute(e, moved) for e in body], fold.combine)
