"""Jaxprs as element expressions: how to compute one element of a result, through loops and
branches.

Nothing is stored on the way: an array is an :class:`Operand` that builds the expression of an
element when it is read. A loop carries only the elements that are needed, and the elements that
these depend on: one for a vector whose elements are independent, the coordinates for a point in
space. A loop that needs many elements at a time does not fit in registers, and raises
:class:`Inexpressible`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial, reduce
from itertools import product
from math import prod

import numpy as np

from .._base.records import record
from .._base.tuples import NamedTuple
from .._core.flow import Choice, Flow, ForLoop, WhileLoop
from .._core.jaxpr import Atom, Jaxpr, JaxprEqn, Literal, Var, jaxprs_in_params
from .._core.primitive import Kind
from .._loops import build
from .._loops.build import Operand
from .._loops.expr import (
    Const,
    Expr,
    Fold,
    Index,
    Load,
    Op,
    Pick,
    State,
    Variable,
    While,
    bounds,
    fresh_index,
    fresh_state,
)
from .._loops.instructions import identity, kind_of, value_range
from .._loops.nest import Buffer, Nest, Store
from .._loops.traverse import loads, rewrite, statements_in, substitute, walk
from ..dtypes import stored
from .bodies import is_control
from .tuning import RegisterTuning

__all__ = ["Array", "Around", "Body", "Inexpressible", "Key", "Recurrence", "Steps", "apart",
           "choice_of", "every", "for_loop_of", "number", "results_of", "row", "while_loop_of"]

Array = Buffer | Operand
At = tuple[Expr, ...]
Key = tuple[int, At]
"""An element of a carry: the number of the carry, and the index."""


class Inexpressible(Exception):
    """The elements cannot be computed separately, or not efficiently."""


class Around(NamedTuple):
    """The surroundings of a jaxpr: the variables in scope wherever its elements are, and limits."""

    known: frozenset[Variable]
    tuning: RegisterTuning

    def within(self, index: Expr) -> Around:
        """The same inside of loops that bind the variables of an index."""
        return self._replace(known=self.known | index.free)


def number(atom: Literal) -> Operand:
    """A literal as an array."""
    value = build.const(np.asarray(atom.val), stored(atom.aval.dtype))
    return Operand((), stored(atom.aval.dtype), lambda at: value)


def every(shape: Sequence[int]) -> Iterator[At]:
    """All indices into a small array."""
    return (tuple(map(build.const, place)) for place in product(*map(range, shape)))


class _TakenApart(Exception):
    """Raised when a loop turns out to need single elements of a carry, which is the argument."""


class Body:
    """The arrays in a jaxpr without constants, given its operands; each is built when it is read.
    """

    def __init__(self, jaxpr: Jaxpr, operands: Sequence[Array], outer: Around):
        if jaxpr.constvars or jaxpr.effects:
            raise Inexpressible
        self.jaxpr, self.outer = jaxpr, outer
        self.arrays: dict[Var, Array] = dict(zip(jaxpr.invars, operands, strict=True))
        self.read = {a for eqn in jaxpr.eqns for a in eqn.invars}.union(jaxpr.outvars)
        for eqn in jaxpr.eqns:
            self.arrays.update(zip(eqn.outvars, self.results(eqn), strict=True))

    def array(self, atom: Atom) -> Array:
        """The array of an atom."""
        return number(atom) if isinstance(atom, Literal) else self.arrays[atom]

    def results(self, eqn: JaxprEqn) -> list[Array]:
        """The results of an equation."""
        operands = [self.array(a) for a in eqn.invars]
        if is_control(eqn):
            used = [v in self.read for v in eqn.outvars]
            return _results_of_control(eqn.primitive.flow(eqn.params), operands, used, self.outer)
        return results_of(eqn, operands, self.outer.tuning)

    def out(self, n: int) -> Array:
        """A result; the scalars that it depends on are built now, in order."""
        wanted: set[Atom] = {self.jaxpr.outvars[n]}
        for eqn in reversed(self.jaxpr.eqns):
            if not wanted.isdisjoint(eqn.outvars):
                wanted.update(eqn.invars)
        for eqn in self.jaxpr.eqns:
            for v in eqn.outvars:
                if v in wanted and not v.aval.shape:
                    self.arrays[v][()]
        return self.array(self.jaxpr.outvars[n])


def results_of(eqn: JaxprEqn, operands: Sequence[Array], tuning: RegisterTuning) -> list[Array]:
    """The results of an equation that is neither a loop nor a branch."""
    if eqn.primitive.name == "optimization_barrier":
        return list(operands)
    if eqn.primitive.kind is Kind.CALL:
        raise Inexpressible
    if eqn.primitive.kind is Kind.STATEMENT:
        return _stored_results(eqn, operands, tuning.apart)
    known: dict[At, Sequence[Expr]] = {}

    def element(at: At, n: int) -> Expr:
        if at not in known:
            value = eqn.primitive.lower(at, *operands, **eqn.params)
            known[at] = value if eqn.primitive.multiple_results else (value,)
        return known[at][n]

    return [Operand(v.aval.shape, stored(v.aval.dtype), partial(element, n=n))
            for n, v in enumerate(eqn.outvars)]


def _stored_results(eqn: JaxprEqn, operands: Sequence[Array], most: int) -> list[Array]:
    """Small arrays that statements fill: an element selects the stores that write to it."""
    into = [build.temp(f"into{n}", v.aval.shape, stored(v.aval.dtype))
            for n, v in enumerate(eqn.outvars)]
    if any(prod(out.shape) > most for out in into):
        raise Inexpressible
    try:
        statements = eqn.primitive.lower(into, *operands, **eqn.params)
    except build.NotStored:
        raise Inexpressible from None
    stores = [(nest.indices, s) for nest in statements if isinstance(nest, Nest)
              for s in nest.body if isinstance(s, Store) and s.buffer in into]
    if len(stores) < sum(1 for s in statements_in(statements) if not isinstance(s, Nest)):
        raise Inexpressible

    def element(at: At, out: Buffer) -> Expr:
        value: Expr = build.const(0, out.dtype)  # before the first store
        for indices, store in stores:
            if store.buffer is not out:
                continue
            if prod(i.extent for i in indices) > most:
                raise Inexpressible
            for place in every([i.extent for i in indices]):
                value = _after(store, dict(zip(indices, place)), at, value)
        return value
    return [Operand(out.shape, out.dtype, partial(element, out=out)) for out in into]


def _after(store: Store, place: Mapping[Variable, Expr], at: At, before: Expr) -> Expr:
    """The element at an index after an iteration has stored something, there or elsewhere."""
    meets = build.all_of(*(build.eq(substitute(i, place), a) for i, a in zip(store.index, at)))
    if store.guard is not None:
        meets = meets & substitute(store.guard, place)
    was = fresh_state(before.dtype)  # a placeholder for the element until its index is known
    own = Load(store.buffer, store.index)
    value = rewrite(store.value, lambda e: was if e is own else None)
    if any(load.buffer is store.buffer for load in loads(value)):
        raise Inexpressible
    value = substitute(value, {**place, was: before})
    if store.combine is not None:
        value = Op(store.combine, (before, value), value.dtype)
    return build.select(meets, value, before)


# -- loops -----------------------------------------------------------------------------------------


@record(frozen=False)
class Steps:
    """A loop over some elements: the state of each, its initial value, and its value after a step.

    ``rows`` are other values of each step, ``counters`` elements that depend only on the number of
    the step: their value in a step, and after the last.
    """

    index: Index | None
    states: dict[Key, State]
    init: list[Expr] = field(default_factory=list)
    next: list[Expr] = field(default_factory=list)
    rows: list[Expr] = field(default_factory=list)
    condition: Expr | None = None
    counters: dict[Key, tuple[Expr, Expr]] = field(default_factory=dict)


def apart(shape: Sequence[int], split: Iterable[int], lanes: int) -> set[int]:
    """The dimensions along which an array is taken apart: all, if fewer than ``lanes`` elements
    remain."""
    found = set(split)
    left = prod(n for d, n in enumerate(shape) if d not in found)
    return found if left >= lanes else found.union(d for d, n in enumerate(shape) if n > 1)


class Recurrence:
    """A loop whose carries are arrays, of which single elements are requested.

    ``step`` returns the body for an index and arrays of carries; the loop has ``length`` steps, or
    runs while the result of ``condition`` holds. ``used`` says which carries are read after the
    loop. ``split`` has the dimensions of carries that are taken apart. ``bodies`` are the jaxprs
    behind it, for their size.
    """

    def __init__(self, init: Sequence[Array], step: Callable[[Expr, Sequence[Array]], Body],
                 condition: Callable[[Sequence[Array]], Body] | None, length: int | None,
                 used: Sequence[bool], outer: Around, *bodies: Jaxpr):
        self.bodies = bodies
        self.init, self.step, self.condition, self.length = init, step, condition, length
        self.used, self.outer, self.tuning = used, outer, outer.tuning
        self.split = [self.apart(x, ()) for x in init]
        self.chained: set[Expr] = set()  # indices that select an element
        self.built: list[tuple[Steps, Fold]] = []

    def apart(self, x: Array, split: Iterable[int]) -> set[int]:
        """The dimensions along which a carry is taken apart."""
        return apart(x.shape, split, self.tuning.lanes)

    def results(self) -> list[Array]:
        """The final carries."""
        return [Operand(x.shape, x.dtype, partial(self.element, n))
                for n, x in enumerate(self.init)]

    def element(self, n: int, at: At) -> Expr:
        """An element of a carry after the last step."""
        while True:
            apart = next((d for d in sorted(self.split[n]) if not isinstance(at[d], Const)), None)
            if apart is not None:
                return self.chosen(n, at, apart, self.element)
            found = self.find((n, at))
            if found is not None:
                return found
            steps = self.steps([(n, at), *self.beside(n, at)], ())
            if steps is not None:
                self.add(self.settled(steps))

    def beside(self, n: int, at: At) -> Iterator[Key]:
        """Other elements that are best computed in the same loop."""
        shape, fixed = self.init[n].shape, not any(i.free for i in at)
        for m, (x, used) in enumerate(zip(self.init, self.used)):
            if used and fixed and prod(x.shape) <= self.tuning.apart:
                yield from ((m, place) for place in every(x.shape))
            elif used and x.shape == shape and m != n:
                yield m, at

    def size(self, lanes: int) -> int:
        """Roughly how many operations a step takes in each lane."""
        return sum(_operations(jaxpr, lanes) for jaxpr in self.bodies)

    def limit(self) -> int:
        """How many operations a step may take: fewer where lanes could do several at a time."""
        widest = max(prod(x.shape[d] for d in dims) for x, dims in zip(self.init, self.split))
        most = self.tuning.scalars
        return most if widest < self.tuning.lanes else most // 3

    def find(self, key: Key) -> Expr | None:
        """An element of a loop that is already built, if it needs no more than its index."""
        known = self.outer.known.union(*(i.free for i in key[1]))
        for steps, loop in self.built:
            if key in steps.counters:
                return steps.counters[key][1]
            if key in steps.states and all(i.free <= known for _, at in steps.states for i in at):
                return Pick(loop, list(steps.states).index(key))
        return None

    def add(self, steps: Steps) -> None:
        """Build the loop for some elements."""
        if steps.condition is not None:
            loop: Fold = While(steps.init, steps.states.values(), steps.condition, steps.next)
        else:
            assert steps.index is not None
            loop = Fold((steps.index,), steps.init, tuple(steps.states.values()), steps.next)
        self.built.append((steps, loop))

    def steps(self, keys: Sequence[Key], rows: Sequence[Key]) -> Steps | None:
        """What each step computes for elements after the loop, and for elements of each step.

        None if carries had to be taken apart on the way: then the keys may change.
        """
        lanes = {i for _, at in (*keys, *rows) for place in at for i in place.free}
        if any(self.split) and self.size(prod(
                i.extent for i in lanes if isinstance(i, Index))) > self.limit():
            raise Inexpressible
        try:
            steps = self.closed(keys, rows, self.outer.known | lanes)
        except _TakenApart as found:
            if found.args != (self,):  # raised by a surrounding loop
                raise
            return None
        return steps

    def settled(self, steps: Steps) -> Steps:
        """The steps in their final form, when nothing more has to be taken apart."""
        return _counted(_written_out(steps, self.tuning), self.length)

    def closed(self, keys: Sequence[Key], rows: Sequence[Key], known: frozenset[Variable],
               ) -> Steps:
        """The steps with the requested elements and everything these depend on."""
        index = None if self.length is None else fresh_index(self.length, "k")
        steps = Steps(index, {})

        def read(n: int, at: At) -> Expr:
            if _outside(at, self.init[n].shape):
                return build.const(0, self.init[n].dtype)  # in an arm that is not taken
            for d, i in enumerate(at):
                if not self.stays_whole(n, d, i, known):
                    return self.chosen(n, at, d, read)
            if (n, at) not in steps.states:
                self.tell_apart(n, at, [other for m, other in steps.states if m == n])
                if len(steps.states) == self.tuning.states:
                    raise Inexpressible
                steps.states[n, at] = fresh_state(self.init[n].dtype)
            return steps.states[n, at]

        carries = [Operand(x.shape, x.dtype, partial(read, n)) for n, x in enumerate(self.init)]
        body = self.step(index if index is not None else build.const(0), carries)
        if self.condition is not None:
            steps.condition = self.condition(carries).out(0)[()]
        for n, at in keys:
            read(n, at)
        steps.rows = [body.out(len(self.init) + n)[at] for n, at in rows]
        while len(steps.next) < len(steps.states):
            n, at = list(steps.states)[len(steps.next)]
            steps.next.append(body.out(n)[at])
        steps.init = [self.init[n][at] for n, at in steps.states]
        return steps

    def stays_whole(self, n: int, d: int, i: Expr, known: frozenset[Variable]) -> bool:
        """Whether the index in a dimension identifies the element of a state."""
        if d in self.split[n]:
            return isinstance(i, Const)
        if not isinstance(i, Const) and i.free <= known:
            return True
        shape = self.init[n].shape
        small = prod([shape[e] for e in {d, *self.split[n]}]) <= self.tuning.apart
        if shape[d] > 1 and small or not isinstance(i, Const):
            if not small:
                raise Inexpressible
            self.split[n] = self.apart(self.init[n], {d, *self.split[n]})
            raise _TakenApart(self)
        return True

    def tell_apart(self, n: int, at: At, others: Sequence[At]) -> None:
        """Take a carry apart along a dimension in which several positions are needed."""
        for d, i in enumerate(at):
            extents = [self.init[n].shape[e] for e in {d, *self.split[n]}]
            if d not in self.split[n] and prod(extents) <= self.tuning.apart and any(
                    other[d] is not i for other in others):
                self.split[n] = self.apart(self.init[n], {d, *self.split[n]})
                raise _TakenApart(self)

    def chosen(self, n: int, at: At, d: int, element: Callable[[int, At], Expr]) -> Expr:
        """The element at an unknown index, selected from all along a dimension."""
        extent = self.init[n].shape[d]
        if extent > self.tuning.apart:
            raise Inexpressible
        self.chained.add(at[d])
        result = element(n, (*at[:d], build.const(extent - 1), *at[d + 1:]))
        for place in reversed(range(extent - 1)):
            result = build.select(build.eq(at[d], place), element(
                n, (*at[:d], build.const(place), *at[d + 1:])), result)
        return result


def _outside(at: At, shape: Sequence[int]) -> bool:
    """Whether an index is always out of bounds."""
    return any(high < 0 or low >= n for (low, high), n in zip(map(bounds, at), shape))


def _operations(jaxpr: Jaxpr, lanes: int) -> int:
    """Scalar operations in a jaxpr, in each of some lanes."""
    total = 0
    for eqn in jaxpr.eqns:
        sizes = [prod(a.aval.shape) for a in (*eqn.invars, *eqn.outvars)]
        total += -(-max(sizes) // max(1, lanes))
        total += sum(_operations(inner, lanes) for inner in jaxprs_in_params(eqn.params))
    return total


def _written_out(steps: Steps, tuning: RegisterTuning) -> Steps:
    """Unroll short reductions of states, so that each state occurs by itself."""
    states = frozenset(steps.states.values())

    def replacement(expr: Expr) -> Expr | None:
        if not isinstance(expr, Pick) or not expr.fold.reducer or expr.fold.free.isdisjoint(states):
            return None
        fold = expr.fold
        if prod(i.extent for i in fold.indices) > tuning.apart:
            return None
        (start,), (element,) = fold.init, fold.body
        dtype, reducer = start.dtype, str(fold.reducer)
        terms = [substitute(element, dict(zip(fold.indices, place)))
                 for place in every([i.extent for i in fold.indices])]
        if not terms or kind_of(dtype) == "c" or (
                start is not Const(identity(reducer, dtype), dtype)):
            terms.insert(0, start)
        return reduce(lambda a, b: Op(reducer, (a, b), dtype), terms)

    change = lambda exprs: [rewrite(e, replacement) for e in exprs]
    steps.next, steps.rows = change(steps.next), change(steps.rows)
    if steps.condition is not None:
        (steps.condition,) = change([steps.condition])
    roots = [*steps.next, *steps.rows]
    if sum(1 for _ in walk(*roots)) > tuning.nodes:
        raise Inexpressible
    return steps


def _counted(steps: Steps, length: int | None) -> Steps:
    """The loop without states that only count its steps."""
    if steps.index is None or length is None:
        return steps
    counts: dict[Variable, Expr] = {}
    kept = []
    for (key, state), init, after in zip(steps.states.items(), steps.init, steps.next):
        by = _increment(state, after)
        if by is None or not isinstance(init, Const) or not _fits(init, by * length):
            kept.append((key, state, init, after))
            continue
        counts[state] = build.convert(steps.index * by + init.value, state.dtype)
        steps.counters[key] = counts[state], build.const(init.value + by * length, state.dtype)
    if counts:
        steps.states = {key: state for key, state, _, _ in kept}
        steps.init = [init for _, _, init, _ in kept]
        steps.next = [substitute(after, counts) for _, _, _, after in kept]
        steps.rows = [substitute(row, counts) for row in steps.rows]
    return steps


def _increment(state: State, after: Expr) -> int | None:
    """The constant that each step adds to a state, if it does nothing else with it."""
    if not isinstance(after, Op) or after.name not in ("add", "sub") or (
            kind_of(state.dtype) not in "iu"):
        return None
    a, b = after.args
    if a is state and isinstance(b, Const):
        return b.value if after.name == "add" else -b.value
    return a.value if b is state and isinstance(a, Const) and after.name == "add" else None


def _fits(start: Const, more: int) -> bool:
    low, high = value_range(start.dtype)
    return low <= start.value + more <= high


def for_loop_of(flow: ForLoop, operands: Sequence[Array], used: Sequence[bool],
                outer: Around) -> Recurrence:
    """A loop with carries, and one step for each row of its arrays."""
    body, length = flow.body.jaxpr, flow.length
    constants, init, arrays = flow.split(operands)

    def step(k: Expr, carries: Sequence[Array]) -> Body:
        place = length - 1 - k if flow.reverse else k
        rows = [row(x, (place,)) for x in arrays]
        return Body(body, [*constants, *carries, *rows], outer.within(k))
    return Recurrence(init, step, None, length, used[:flow.carries], outer, body)


def while_loop_of(flow: WhileLoop, operands: Sequence[Array], used: Sequence[bool],
                  outer: Around) -> Recurrence:
    """A loop that ends by a condition."""
    asked, constants, init = flow.split(operands)

    def step(k: Expr, carries: Sequence[Array]) -> Body:
        return Body(flow.body.jaxpr, [*constants, *carries], outer)

    def condition(carries: Sequence[Array]) -> Body:
        return Body(flow.condition.jaxpr, [*asked, *carries], outer)
    return Recurrence(init, step, condition, None, used, outer, flow.condition.jaxpr,
                      flow.body.jaxpr)


def row(x: Array, place: At) -> Operand:
    """The part of an array at an index in its first dimensions."""
    return Operand(x.shape[len(place):], x.dtype, lambda at: x[[*place, *at]])


def _results_of_control(flow: Flow, operands: Sequence[Array], used: Sequence[bool],
                        outer: Around) -> list[Array]:
    """The results of a loop or branch."""
    match flow:
        case ForLoop():
            return _results_of_for(flow, operands, used, outer)
        case WhileLoop():
            return while_loop_of(flow, operands, used, outer).results()
        case Choice():
            return choice_of(flow, operands, outer)


def _results_of_for(flow: ForLoop, operands: Sequence[Array], used: Sequence[bool],
                    outer: Around) -> list[Array]:
    """The carries, if there are any, and then no rows, whose elements are not separate; otherwise
    the rows."""
    jaxpr, count, carried = flow.body.jaxpr, flow.constants, flow.carries

    def refuse(at: At) -> Expr:
        raise Inexpressible

    shapes = [((flow.length, *v.aval.shape), stored(v.aval.dtype))
              for v in jaxpr.outvars[carried:]]
    if carried:
        return [*for_loop_of(flow, operands, used, outer).results(),
                *(Operand(shape, dtype, refuse) for shape, dtype in shapes)]
    bodies: dict[Expr, Body] = {}

    def element(at: At, n: int) -> Expr:
        place = at[0]
        if place not in bodies:
            rows = [row(x, (place,)) for x in operands[count:]]
            bodies[place] = Body(jaxpr, [*operands[:count], *rows], outer.within(place))
        return bodies[place].out(n)[at[1:]]
    return [Operand(shape, dtype, partial(element, n=n)) for n, (shape, dtype) in enumerate(shapes)]


def choice_of(flow: Choice, operands: Sequence[Array],
              outer: Around) -> list[Array]:
    """The results of branches: only the selected branch is evaluated."""
    choice, *given = operands
    bodies = [Body(b.jaxpr, given, outer) for b in flow.branches]

    def element(at: At, n: int) -> Expr:
        which, (*others, result) = choice[()], [body.out(n)[at] for body in bodies]
        for number, value in reversed(list(enumerate(others))):
            result = build.select(build.eq(which, number), value, result)
        return result
    return [Operand(v.aval.shape, stored(v.aval.dtype), partial(element, n=n))
            for n, v in enumerate(flow.branches[0].jaxpr.outvars)]
