"""Fusion: decide which arrays are stored, and which are computed where they are read.

Four steps, each one sweep over the statements:

1. *Inline layouts*: arrays that are only views of stored elements, or constants and counters,
   replace their reads.
2. *Group*: statements that can share loops go into one group, in program order. Elementwise
   neighbours share all loops. Statements over rows share the loops over rows: a row is then
   reduced, and used again, while it is in the cache (softmax, norms).
3. *Decide*, backwards: how often would the elements of an array be computed if it were not stored?
   If once, it is not stored; otherwise the cheaper way is taken.
4. *Write*: the expressions of arrays that are not stored replace their reads, and the remaining
   statements are grouped again.

No element of a sum, and no instruction such as ``exp`` or ``div``, is computed twice, and no sum is
computed inside another one. Matrix products stay as they are, so that the scheduler recognizes
them: see :func:`is_contraction`. Operands that such a product copies anyway are computed during the
copy (``prologue.py``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import pairwise
from math import prod

from .._base.records import record
from .._base.tuples import NamedTuple
from .._loops.expr import (
    Const,
    Expr,
    Facts,
    Fold,
    Index,
    Load,
    Op,
    Pick,
    Variable,
    linear_form,
)
from .._loops.nest import PARALLEL, Buffer, Call, Nest, Program, Statement, Store
from .._loops.traverse import (
    expressions,
    facts_at,
    has_effects,
    loads,
    statements_in,
    substitute,
    written,
)
from .cost import occurrences, repeating, work
from .machine import Machine
from .nest_tools import index_of, is_affine, loops_in, loops_of, mentioned, replace_loads
from .order import copied
from .prologue import evaluations, is_plain
from .tuning import USUAL, FuseTuning

__all__ = ["fuse", "is_contraction"]


def fuse(program: Program, machine: Machine) -> Program:
    """The same computation in fewer nests and with fewer arrays stored."""
    stages = _inline_layouts(program, machine.tuning.fuse)
    _group(stages, machine.tuning.fuse)
    _decide(stages, machine)
    return _write(program, stages, machine.tuning.fuse)


# -- stages ----------------------------------------------------------------------------------------


@record(frozen=False, eq=False)
class _Group:
    """Stages that share their outer loops, all of them or those over rows."""

    position: int
    outer: tuple[Index, ...]
    fixed: bool = False  # accepts no further stages
    uniform: bool = True  # all stages have exactly the outer loops
    contraction: bool = False  # a contraction and what follows it in the same loops
    nodes: int = 0
    ways: frozenset[str] = frozenset()  # the ways of its stages


class _Reading(NamedTuple):
    """How a stage reads: the load, how often, and whether inside a fold."""

    load: Load
    times: int  # in all iterations together
    taken: int  # the same if arms of a select that are not taken are not computed
    folded: bool
    hoisted: bool  # assumes that it is computed outside some of the loops
    full: int  # how often in all iterations if it is computed inside all loops
    ordered: bool  # the address changes with the outer loops first


class _Context(NamedTuple):
    """A place where the elements of an array are computed if it is not stored."""

    evaluations: float
    root: tuple
    folded: bool
    hoisted: bool
    ordered: bool = True  # visits the elements row by row
    product: Statement | None = None  # a contraction, whose operands are read from memory
    copied: bool = False  # computed where a contraction copies its operand


@record(frozen=False, eq=False)
class _Stage:
    """A statement of the program while it is being fused.

    ``stores`` are those of a nest that fills whole arrays in parallel over the elements; a stage
    without them only has its reads replaced.
    """

    statement: Statement
    stores: tuple[Store, ...]
    loops: tuple[Index, ...] = ()
    free: bool = False  # never stored
    virtual: bool = False  # not stored, by decision
    alone: bool = False  # everything computed from its elements is in one place
    group: _Group = field(default_factory=lambda: _Group(0, ()))
    phase: int = 0
    readings: list[_Reading] = field(default_factory=list)
    effort: float = 0.0
    heavy: bool = False
    nodes: int = 0
    folds: bool = False
    ways: frozenset[str] = frozenset()  # how its folds access memory
    contraction: bool = False
    dead: bool = False

    def __post_init__(self):
        self.elements = prod(i.extent for i in self.loops)

    def rewrite(self, statement: Statement) -> None:
        """Replace the statement by an equivalent one."""
        self.statement = statement
        if self.stores and isinstance(statement, Nest):
            self.stores = tuple(s for s in statement.body if isinstance(s, Store))

    @property
    def buffers(self) -> Iterable[Buffer]:
        return [s.buffer for s in self.stores] if self.stores else written((self.statement,))


def _stores_of(statement: Statement, writers: Mapping[Buffer, int]) -> tuple[Store, ...]:
    """The stores of a nest that only fills arrays in the usual loops, or none."""
    if not isinstance(statement, Nest) or any(k != PARALLEL for k in statement.kinds):
        return ()
    stores: list[Store] = []
    for store in statement.body:
        if not isinstance(store, Store) or store.combine or store.guard is not None or (
                writers[store.buffer] > 1 or store.index != index_of(store.buffer.shape)
                or loops_in(store.index) != statement.indices):
            return ()
        stores.append(store)
    return tuple(stores)


def _measure(stage: _Stage, tuning: FuseTuning) -> None:
    """Compute the cost of a stage and how it reads."""
    if not stage.stores:
        stage.readings = list(_readings_of_statement(stage.statement, 1))
        stage.nodes = tuning.nodes
        return
    total = work([s.value for s in stage.stores])
    stage.effort, stage.heavy = total.effort, total.heavy
    stage.nodes, stage.folds = total.nodes, bool(total.folds)
    ranges = facts_at(*(s.value for s in stage.stores)) if total.selects else {}
    loops = (*stage.loops, *(i for fold in total.folds for i in fold.indices))
    order: dict[Expr, int] = {i: depth for depth, i in enumerate(loops)}
    own, count = stage.stores[0].index, stage.elements
    stage.readings = [
        _Reading(load, count, count, False, False, count, True)
        if load.index == own and times == 1 and not ranges else
        _reading(load, times, stage.loops, ranges.get(load, {}), order)
        for load, times in total.loads]
    stage.contraction = stage.folds and any(
        is_contraction(s.value, stage.loops, tuning) for s in stage.stores)
    stage.ways = frozenset(way for fold in total.folds for way in _ways(fold, stage.loops[-1:]))


def _ways(fold: Fold, inner: tuple[Index, ...]) -> Iterator[str]:
    """Whether a fold runs along rows of memory, or across them while the inner loop runs along.

    The first needs lanes in the fold, the second in the loop, so they belong in separate nests.
    """
    for load in loads(*fold.body):
        if inner and inner[0] in load.free and not load.free.isdisjoint(fold.indices):
            last = [i for i, n in zip(load.index, load.buffer.shape) if n != 1][-1:]
            if last and not last[0].free.isdisjoint(fold.indices):
                yield "along"
            elif last and inner[0] in last[0].free:
                yield "across"


def _reading(load: Load, times: int, loops: Sequence[Index], ranges: Facts,
             order: Mapping[Expr, int]) -> _Reading:
    """How a load that runs ``times`` in each iteration of loops reads its buffer.

    It runs only where loop variables are in their ``ranges``; ``order`` has the depths of loops,
    including those of folds.
    """
    within = repeating(load, loops)
    total = taken = times * prod(i.extent for i in within)
    for i, (low, high) in ranges.items():
        if isinstance(i, Index) and i in within:
            taken = taken * max(high - low + 1, 0) // max(i.extent, 1)
    missing = [i.extent for i in loops if i not in load.free]
    if _injective(load):
        taken = min(taken, prod(load.buffer.shape) * prod(missing))
    depths = [order.get(i, -1) for i in load.index if i.free]
    ordered = all(a < b for a, b in pairwise([-1, *depths]))
    return _Reading(load, total, taken, not load.free <= frozenset(loops), bool(missing),
                    times * prod(i.extent for i in loops), ordered)


def _readings_of_statement(statement: Statement, trips: int) -> Iterable[_Reading]:
    if isinstance(statement, Nest):
        trips *= prod(i.extent for i in statement.indices)
        for inner in statement.body:
            yield from _readings_of_statement(inner, trips)
    elif isinstance(statement, Store):
        for node, times in occurrences(expressions(statement)):
            if isinstance(node, Load):
                total = trips * times
                yield _Reading(node, total, total, True, True, total, False)


def _injective(load: Load) -> bool:
    """Whether different values of the variables in an index always give different elements."""
    seen: set[Variable] = set()
    for i in load.index:
        if i.free and (len(i.free) > 1 or not seen.isdisjoint(i.free)
                       or not is_affine(linear_form(i))):
            return False
        seen |= i.free
    return True


def is_contraction(value: Expr, loops: Sequence[Index], tuning: FuseTuning = USUAL.fuse) -> bool:
    """Whether a value, in these loops, is a sum of products that reuses its factors many times.

    Such a sum is the whole value of its store, except for a conversion, and comes first in its
    nest: anything computed from it in the same loops follows in separate stores.
    """
    while isinstance(value, Op) and value.name == "convert":
        value = value.args[0]
    if not isinstance(value, Pick) or value.fold.combine != "add":
        return False
    (product,) = value.fold.body
    if not isinstance(product, Op) or product.name != "mul":
        return False
    steps = prod(i.extent for i in value.fold.indices)
    uses = [prod(i.extent for i in loops if i not in factor.free) for factor in product.args]
    return steps >= tuning.reuse and min(uses) >= tuning.reuse


# -- layouts ---------------------------------------------------------------------------------------


def _inline_layouts(program: Program, tuning: FuseTuning) -> list[_Stage]:
    """The stages of a program, with arrays that cost nothing inlined where they are read."""
    writers: Counter[Buffer] = Counter()
    passed: set[Buffer] = set()  # to library functions, which need memory
    for statement in statements_in(program.statements):
        if isinstance(statement, Call):
            passed.update(statement.inputs)
        if not isinstance(statement, Nest):
            writers.update(list(written((statement,))))
    views: dict[Buffer, _Stage] = {}
    changed = {x for x in map(copied, program.statements) if x is not None}
    stages = []
    for statement in program.statements:
        stores = _stores_of(statement, writers)
        loops = statement.indices if isinstance(statement, Nest) and stores else ()
        strict = any(is_contraction(s.value, loops, tuning) for s in stores)

        def element(load: Load, strict=strict) -> Expr | None:
            stage = views[load.buffer]
            view = _at(stage.stores[0], load.index)
            if strict and not _addressable(view):
                stage.free = False
                return None
            return view

        stage = _Stage(statement, stores, loops)
        _measure(stage, tuning)
        if any(r.load.buffer in views for r in stage.readings):
            stage.rewrite(replace_loads(statement, views, element))
            _measure(stage, tuning)
        stages.append(stage)
        if _is_free(stage) and stage.stores[0].buffer not in passed and not any(
                r.load.buffer in changed and _is_part(stage, r, tuning) for r in stage.readings):
            stage.free = True
            views[stage.stores[0].buffer] = stage
    return [stage for stage in stages if not stage.free]


def _is_part(stage: _Stage, reading: _Reading, tuning: FuseTuning) -> bool:
    """Whether a stage stores much less than the array that it reads has."""
    return stage.elements * tuning.part <= prod(reading.load.buffer.shape)


def _is_free(stage: _Stage) -> bool:
    """Whether a value is a constant, a counter, or an element that is stored elsewhere."""
    return (len(stage.stores) == 1 and stage.stores[0].buffer.role == "temp"
            and stage.effort == 0 and not stage.folds and len(stage.readings) <= 1)


def _addressable(view: Expr) -> bool:
    """Whether the elements of a view are at constant distances in memory along each loop."""
    return isinstance(view, Load) and is_affine(view.place)


def _at(store: Store, index: Sequence[Expr]) -> Expr:
    """The value stored at an index of its array."""
    moved: dict[Variable, Expr] = {
        i: place for i, place in zip(store.index, index) if isinstance(i, Index) and i is not place}
    return substitute(store.value, moved) if moved else store.value


# -- groups ----------------------------------------------------------------------------------------


def _group(stages: Sequence[_Stage], tuning: FuseTuning) -> None:
    """Assign each stage a group, and a phase in it that orders dependent stages."""
    makers: dict[Buffer, _Stage] = {}
    readers: dict[tuple, _Group] = {}
    count = 0
    for stage in stages:
        sources = {r.load.buffer: makers[r.load.buffer] for r in stage.readings
                   if r.load.buffer in makers}
        group = _home(stage, sources, readers, count, tuning)
        if group is None:
            group = _Group(count, stage.loops, not stage.stores)
            count += 1
        _join(stage, group, sources, tuning)
        for buffer in stage.buffers:
            makers[buffer] = stage
        for reading in stage.readings:
            if reading.load.free:
                readers[reading.load.buffer, stage.loops] = group


def _home(stage: _Stage, sources: dict[Buffer, _Stage], readers: dict[tuple, _Group],
          count: int, tuning: FuseTuning) -> _Group | None:
    """The group that a stage should join, or None; ``sources`` compute what it reads."""
    if not stage.stores or stage.contraction:
        return None
    last = max((s.group for s in sources.values()), key=lambda g: g.position, default=None)
    start = -1 if last is None else last.position
    if last is not None and _fits(stage, last, sources, tuning):
        return last
    near = [readers.get((r.load.buffer, stage.loops)) for r in stage.readings]
    for group in sorted(filter(None, near), key=lambda g: -g.position):
        if group.position > max(start, count - 1 - tuning.near) and not group.contraction and (
                _fits(stage, group, sources, tuning)):
            return group
    return None


def _fits(stage: _Stage, group: _Group, sources: dict[Buffer, _Stage], tuning: FuseTuning) -> bool:
    """Whether a stage whose other sources come before the group can share its loops."""
    if group.fixed or group.nodes + stage.nodes > tuning.nodes:
        return False
    depth = _shared_depth(stage, group, sources, tuning)
    if depth == len(stage.loops) and group.uniform and stage.loops == group.outer:
        return len(group.ways | stage.ways) < 2
    if group.contraction or not group.uniform and depth < len(group.outer):
        return False
    return _shares_rows(stage, group.outer[:depth], tuning)


def _shares_rows(stage: _Stage, outer: tuple[Index, ...], tuning: FuseTuning) -> bool:
    """Whether a stage can share exactly these loops: rows stay in cache, and there are enough."""
    if any(_goes_down(r.load, frozenset(outer)) for r in stage.readings):
        return False
    rows, widest = _rows(stage, outer)
    wide = widest * max(s.buffer.dtype.itemsize for s in stage.stores)
    return bool(outer) and wide <= tuning.row_bytes and (
        rows >= tuning.rows or rows * widest <= tuning.small)


def _rows(stage: _Stage, outer: tuple[Index, ...]) -> tuple[int, float]:
    """How many rows there are, and how many elements a stage computes or reads in one."""
    rows = max(1, prod(i.extent for i in outer))
    return rows, max([stage.elements / rows, *(r.times / rows for r in stage.readings)])


def _goes_down(load: Load, outer: frozenset[Index]) -> bool:
    """Whether a row reads a column of a buffer, so that adjacent rows share its cache lines."""
    last = [i for i, n in zip(load.index, load.buffer.shape) if n != 1][-1:]
    return bool(last) and bool(last[0].free) and last[0].free <= outer and not load.free <= outer


def _shared_depth(stage: _Stage, group: _Group, sources: dict[Buffer, _Stage],
                  tuning: FuseTuning) -> int:
    """How many outer loops a stage can share with a group."""
    depth = _common(stage.loops, group.outer)
    for reading in stage.readings:
        load = reading.load
        source = sources.get(load.buffer)
        if source is not None and source.group is group:
            index = index_of(load.buffer.shape)
            if load.index != index or source.loops != stage.loops:
                places = [place for i, place in zip(index, load.index) if isinstance(i, Index)]
                depth = min(depth, _common(places, source.loops))
    inner = prod(i.extent for i in group.outer[depth:])
    if 1 < depth < max(len(stage.loops), len(group.outer)) and (
            max(inner, _rows(stage, group.outer[:depth])[1]) < tuning.brief) and (
            _shares_rows(stage, group.outer[:depth - 1], tuning)):
        return depth - 1
    return depth


def _common(a: Sequence[Expr], b: Sequence[Expr]) -> int:
    """The length of the common prefix."""
    if a == b:
        return len(a)
    return next((n for n, (x, y) in enumerate(zip(a, b)) if x is not y), min(len(a), len(b)))


def _join(stage: _Stage, group: _Group, sources: dict[Buffer, _Stage], tuning: FuseTuning) -> None:
    within = {b: s for b, s in sources.items() if s.group is group}
    depth = _shared_depth(stage, group, sources, tuning)
    stage.group = group
    stage.phase = max((s.phase + (not _aligned(b, s.loops, stage)) for b, s in within.items()),
                      default=0)
    group.uniform &= depth == len(stage.loops) == len(group.outer)
    group.outer = group.outer[:depth]
    group.nodes += stage.nodes
    group.ways |= stage.ways
    group.fixed |= not stage.stores
    group.contraction |= stage.contraction


def _aligned(buffer: Buffer, loops: Sequence[Index], stage: _Stage) -> bool:
    """Whether a stage reads only the element of a buffer at its own iteration."""
    return loops == stage.loops and all(
        r.load.index == index_of(buffer.shape) for r in stage.readings if r.load.buffer is buffer)


# -- decisions -------------------------------------------------------------------------------------


def _decide(stages: Sequence[_Stage], machine: Machine) -> None:
    """Mark the stages that are not stored, from the last to the first."""
    contexts: dict[Buffer, dict[tuple, _Context]] = {}
    readers: dict[Buffer, list[_Stage]] = {}
    sizes: dict[tuple, int] = {}
    ways: dict[tuple, frozenset[str]] = {}
    passed: set[Buffer] = set()
    copies = {x: s.group.position for s in stages if (x := copied(s.statement)) is not None}
    for stage in reversed(stages):
        own: dict[tuple, _Context] = {}
        for buffer in stage.buffers:
            own.update(contexts.get(buffer, {}))
        kept = has_effects(stage.statement) or any(
            b.role == "output" or b in passed for b in stage.buffers)
        stage.dead = not own and not kept
        if stage.dead:
            continue
        if isinstance(stage.statement, Call):
            passed.update(stage.statement.inputs)
        found = [r for b in stage.buffers for r in readers.get(b, ())]
        stage.alone = len(found) == 1 and found[0].alone
        own = _copied_on_the_way(stage, own, machine)
        stage.virtual = not kept and not _before_update(
                stage, own, copies, machine.tuning.fuse) and (
            _is_virtual(stage, own, sizes, readers, machine.tuning.fuse)) and not (
            stage.ways and any(len(ways.get(c.root, stage.ways) | stage.ways) > 1
                               for c in own.values()))
        if not stage.virtual:
            stage.alone = True
            key = (stage.group.position, stage.loops, stage.phase)
            total = stage.elements if stage.stores else 1
            own = {key: _Context(total, key, not stage.stores, False)}
        for context in own.values():
            sizes[context.root] = sizes.get(context.root, 0) + stage.nodes
            ways[context.root] = ways.get(context.root, stage.ways) | stage.ways
        _pass_on(stage, own, contexts, readers)


def _before_update(stage: _Stage, own: dict[tuple, _Context], copies: Mapping[Buffer, int],
                   tuning: FuseTuning) -> bool:
    """Whether part of an array is read before a copy of the array is updated, and needed later.

    If the part is stored, the array is dead afterwards and can be updated in place.
    """
    return any(stage.group.position < copies.get(r.load.buffer, 0) <= c.root[0]
               and _is_part(stage, r, tuning) for r in stage.readings for c in own.values())


def _copied_on_the_way(stage: _Stage, own: dict[tuple, _Context], machine: Machine,
                       ) -> dict[tuple, _Context]:
    """Where elements are needed, if that is one product, which copies or computes its operands.

    The consumer of another product is computed there instead, while its sums are in registers.
    """
    if len(own) != 1 or len(stage.stores) != 1 or stage.folds or stage.group.contraction:
        return own
    key, context = next(iter(own.items()))
    if context.product is None or not is_plain(stage.stores[0].value):
        return own
    (store,) = stage.stores
    count = evaluations(context.product, replace_loads(
        context.product, [store.buffer], lambda load: _at(store, load.index)), machine)
    if count is None:
        return own
    if count <= stage.elements * machine.tuning.fuse.overlap:
        count = stage.elements
    return {key: context._replace(evaluations=count, ordered=False, product=None, copied=True)}


def _is_virtual(stage: _Stage, own: dict[tuple, _Context], sizes: dict[tuple, int],
                readers: dict[Buffer, list[_Stage]], tuning: FuseTuning) -> bool:
    """Whether not to store the array of a stage, given where its elements are needed."""
    if len(stage.stores) != 1 or len(own) > tuning.contexts:
        return False
    if any(c.product is not None or c.copied and not (
            len(own) == 1 and is_plain(stage.stores[0].value)) for c in own.values()):
        return False
    if any(sizes.get(c.root, 0) + stage.nodes > 2 * tuning.nodes for c in own.values()):
        return False
    count, total = stage.elements, sum(c.evaluations for c in own.values())
    if stage.contraction:
        return _only_moved(stage, readers)
    if stage.folds:
        (context, *others) = own.values()
        return stage.alone and not others and total <= count and not (
            context.folded or context.hoisted)
    if total <= count or stage.heavy:
        return total <= count
    reads = 0 if _is_mask(stage) else tuning.load * len(stage.readings)
    stored = count * (stage.effort + reads + tuning.store) + total * tuning.load + tuning.nest
    return total * (stage.effort + reads) <= stored


def _is_mask(stage: _Stage) -> bool:
    """Whether a stage compares elements of smaller arrays, such as those of rows with those of
    columns.

    They stay in registers or in the nearest cache. Bytes of a stored mask would be read and
    unpacked, one by one where lanes cross rows: causal attention of 2048 tokens takes 12.4 instead
    of 17.5 ms without them (Emerald Rapids, two cores).
    """
    return stage.stores[0].buffer.dtype == bool and all(
        prod(r.load.buffer.shape) < stage.elements
        and all(isinstance(place, Index | Const) for place in r.load.index)
        for r in stage.readings)


def _only_moved(stage: _Stage, readers: dict[Buffer, list[_Stage]]) -> bool:
    """Whether the only reader stores the elements unchanged, in another order of dimensions."""
    (store,) = stage.stores
    found = readers.get(store.buffer, [])
    if len(found) != 1 or found[0].virtual or len(found[0].stores) != 1:
        return False
    value = found[0].stores[0].value
    if not isinstance(value, Load):
        return False
    places = loops_in(value.index)
    return len(places) == len(stage.loops) and {*places} == {*found[0].loops}


def _pass_on(stage: _Stage, own: dict[tuple, _Context], contexts, readers) -> None:
    """Record where the elements of the arrays that a stage reads are needed."""
    for load, times, taken, folded, hoisted, full, ordered in stage.readings:
        wanted = contexts.setdefault(load.buffer, {})
        found = readers.setdefault(load.buffer, [])
        if not found or found[-1] is not stage:
            found.append(stage)
        shape = load.buffer.shape
        aligned = bool(stage.stores) and load.index == index_of(shape) and (
            loops_of(shape) == stage.loops)
        count = max(stage.elements, 1) if stage.stores else 1
        for key, context in own.items():
            if aligned:
                wanted.setdefault(key, context)
                continue
            inside = context.folded or folded
            # Loops are cut where the arms of a select change, but folds are not.
            steps = times if inside else taken
            if hoisted and not context.ordered:
                steps = full
            wanted.setdefault((key, load.index), _Context(
                context.evaluations * steps / count, context.root, inside,
                context.hoisted or hoisted, context.ordered and ordered,
                stage.statement if stage.contraction else None, context.copied))


# -- writing ---------------------------------------------------------------------------------------


def _write(program: Program, stages: Sequence[_Stage], tuning: FuseTuning) -> Program:
    """The program of the stages that are stored.

    Stages that are stored in the same loops at the same time stay together, because they may share
    values that are not stored. Otherwise stages are grouped again, now that their reads are final.
    """
    unstored: dict[Buffer, Store] = {}
    places: dict[tuple, list[_Stage]] = {}

    def element(load: Load) -> Expr:
        return _at(unstored[load.buffer], load.index)

    for stage in stages:
        if stage.dead:
            continue
        if any(r.load.buffer in unstored for r in stage.readings):
            stage.rewrite(replace_loads(stage.statement, unstored, element))
        if stage.virtual:
            unstored[stage.stores[0].buffer] = stage.stores[0]
        else:
            key = (stage.group.position, stage.phase, stage.loops)
            places.setdefault(key, []).append(stage)
    stored = [_together(places[key], tuning) for key in sorted(places, key=lambda key: key[:2])]
    _group(stored, tuning)
    members: dict[_Group, list[_Stage]] = {}
    for stage in stored:
        members.setdefault(stage.group, []).append(stage)
    statements = tuple(_nest(group, members[group])
                       for group in sorted(members, key=lambda g: g.position))
    used = {b for s in statements for b in mentioned(s)}
    return replace(program, statements=statements,
                   temps=tuple(b for b in program.temps if b in used))


def _together(stages: list[_Stage], tuning: FuseTuning) -> _Stage:
    """One stage with the stores of several."""
    (first, *_), stores = stages, [store for stage in stages for store in stage.stores]
    whole = _Stage(_parallel(first.loops, stores) if stores else first.statement, tuple(stores),
                   first.loops)
    _measure(whole, tuning)
    return whole


def _nest(group: _Group, stages: list[_Stage]) -> Statement:
    """The statement of a group."""
    if not stages[0].stores:
        return stages[0].statement
    places: dict[tuple, list[Store]] = {}
    for stage in sorted(stages, key=lambda s: s.phase):
        places.setdefault((stage.phase, stage.loops), []).extend(stage.stores)
    outer = stages[0].loops if len(places) == 1 else group.outer
    body: list[Statement] = []
    for (_, loops), stores in places.items():
        inner = loops[len(outer):]
        body += [_parallel(inner, stores)] if inner else stores
    return _parallel(outer, body)


def _parallel(loops: Sequence[Index], body: Sequence[Statement]) -> Nest:
    return Nest(tuple(loops), (PARALLEL,) * len(loops), tuple(body))
