"""Nests as LLVM code: loops, stores, and expressions with choices that evaluate what they take.

A :class:`Kernel` writes one function. Loops may run in lanes (``schedule/lanes.py``): then values
that differ between lanes are vectors, and all others stay scalars, outside of the loop where they
can. Loads and stores are written by ``access.py``, folds by ``folds.py``, instructions by
``emit/operations.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import prod
from typing import Any

import numpy as np

from ...._loops.build import unflatten_index
from ...._loops.expr import Const, Expr, Fold, Index, Load, Node, Op, Pick, bounds
from ...._loops.instructions import INDEX
from ...._loops.loop_kinds import PARALLEL, Crossing, Unrolled, Vector
from ...._loops.names import FOURIER, MATRICES
from ...._loops.nest import Buffer, Extern, Nest, Statement, Store
from ...._loops.scheduled import Columns, Rows, ScanLine, TransposedTile, plain
from ...._loops.tiles import Tiled
from ...._loops.traverse import expressions, loads, statements_in, walk
from ...kernels.fft.transform import write_fourier
from ...kernels.small_matrices import write_matrices
from ...kernels.sort import CALLS as SORTING
from ...schedule.analysis import (
    QUICK,
    Analysis,
    asks_for_bounds,
    seen_as_bits,
    span,
    turning_index,
)
from ...schedule.lanes import Loop, loops_of
from ..complex import Pair
from ..operations import Reciprocal, apply, choose, has_reciprocals, number
from ..polling import poll
from ..values import (
    I64,
    Value,
    Writer,
    any_lane,
    convert,
    integer,
    intrinsic,
    lane_numbers,
    resized,
)
from .access import Scalar
from .columns import write_columns, write_side_by_side
from .folds import Folds, flat, from_registers, in_registers, mapped, renamed, whole
from .rows import write_rows
from .scans import write_scan
from .scopes import Ahead, Lanes, Scope, Way
from .transposes import write_in_order, write_tiles, write_together

__all__ = ["CALLS", "Kernel"]

_DEAR = 64
"""Instructions that make it worth asking whether any lane needs them."""
_SCATTERED_BYTES = 1 << 19
"""Size of memory that is too large for all of it to be near the processor."""
_STEPS_AHEAD = 16
"""How many steps before it is updated an element is asked for."""
_LONG = 1 << 14
"""Steps of a loop, each of which waits for the one before, that may take too long to sit out."""
CALLS = {**SORTING, FOURIER: write_fourier, MATRICES: write_matrices}
"""What writes library calls that are functions of the module; by name."""
_NOWHERE: Way = ()
_LIKELY = ', !prof !{!"branch_weights", i32 1000, i32 1}'
"""Behind a branch whose first way is nearly always taken: that way is laid out without jumps."""


class Kernel(Folds):
    """Writes statements into one function.

    ``pointers`` names the address of each buffer, ``same`` maps buffers to others whose memory
    they are, ``symbol`` gives the symbol of a library call, ``product`` writes a nest by tiles.
    """

    def __init__(self, writer: Writer, pointers: Mapping[Buffer, str],
                 same: Mapping[Buffer, Buffer], symbol: Callable[[Extern], str],
                 product: Callable[[Tiled, Kernel, Scope], None]):
        self.write_product = product
        self.writer, self.machine, self.symbol = writer, writer.machine, symbol
        self.pointers = dict(pointers)
        self.analysis = Analysis(dict(same))
        self.top = Scope(None, "entry")
        writer.place = self.top

    # -- statements --------------------------------------------------------------------------------

    def task(self, indices: Sequence[Index], number: Value) -> None:
        """Make the indices of loops over tasks known, of which the function runs one iteration."""
        extents = [index.extent for index in indices]
        task = Index("task", prod(extents))
        self.top.values[task] = number
        for index, place in zip(indices, unflatten_index(task, extents)):
            self.top.values[index] = self.value(place, self.top)

    def statement(self, statement: Statement, scope: Scope) -> None:
        """Write a statement into a scope."""
        if isinstance(statement, Store):
            self.store(statement, scope)
        elif isinstance(statement, Extern):
            self.extern(statement, scope)
        elif isinstance(statement, Nest) and all(i.extent for i in statement.indices):
            if isinstance(statement, Tiled):
                self.write_product(statement, self, scope)
                for memory in self.written(statement.body):
                    scope.forget(memory, self.analysis)
            else:
                self.nest(statement, scope)

    def nest(self, nest: Nest, scope: Scope) -> None:
        """Write a nest of loops that all have iterations."""
        nest = self.moved_as_bits(nest)
        if any(index.extent > 1 for index in nest.indices):
            # What is known of memory that a step writes holds in the first step only.
            for memory in self.written(nest.body):
                scope.forget(memory, self.analysis)
        inner = scope.within(nest.indices, self.written(nest.body))
        inner.values.update({i: self.index(0) for i in nest.indices if i.extent == 1})
        if isinstance(nest, ScanLine):
            write_scan(self, nest, inner)
        else:
            self.loops(loops_of(nest.indices, nest.kinds), nest, inner)

    def moved_as_bits(self, nest: Nest) -> Nest:
        """The nest with integers in place of elements that are stored as they were loaded."""
        body = self.analysis.moved_as_bits(nest.body)
        for old, new in zip(nest.body, body):
            if new is not old and isinstance(old, Store) and isinstance(old.value, Load):
                for buffer in (old.buffer, old.value.buffer):
                    self.pointers[seen_as_bits(buffer)] = self.pointers[buffer]
        return replace(nest, body=body)

    def loops(self, loops: Sequence[Loop], nest: Nest, scope: Scope) -> None:
        """Write loops of a nest around its body."""
        if not loops:
            self.statements(nest.body, scope)
            return
        loop, rest = loops[0], loops[1:]
        if isinstance(nest, TransposedTile) and len(rest) == 1:
            write_tiles(self, loop, rest[0], nest, scope)
        elif isinstance(nest, Rows) and not rest:
            write_rows(self, loop, nest, scope)
        elif isinstance(nest, Columns) and not rest and not nest.rows:
            write_side_by_side(self, loop, nest, scope)
        else:
            self.vectors(loop, rest, nest, scope)

    def vectors(self, loop: Loop, rest: Sequence[Loop], nest: Nest, scope: Scope) -> None:
        """Write a loop in steps as wide as its lanes, and then what these leave."""
        steps, left = divmod(loop.extent, loop.width)
        narrower = loop.kind.rest if isinstance(loop.kind, Vector) else ()
        if isinstance(nest, Columns) and not rest:
            write_columns(self, loop, nest, scope, steps + (left > 0 and not narrower))
        else:
            self.nest_loop(loop, rest, nest, scope, 0, steps + (left > 0 and not narrower))
        done = loop.extent - left
        for width in narrower:
            first, last = done // width, loop.extent // width
            body = nest.rest if width == 1 and nest.rest else nest.body
            self.nest_loop(replace(loop, width=width, kind=PARALLEL), rest, plain(nest, body),
                           scope, first, last)
            done = last * width

    def statements(self, body: Sequence[Statement], scope: Scope) -> None:
        """Write statements, inside of all loops around them."""
        if self.fill(body, scope):
            return
        for n, statement in enumerate(body):
            if scope.outer is not None and len(body) > 1:
                scope.outer = scope.outer._replace(again=self.read_again(body, n))
            self.statement(statement, scope)

    def nest_loop(self, loop: Loop, rest: Sequence[Loop], nest: Nest, scope: Scope,
                  first: int, last: int) -> None:
        """Write one loop of a nest, in steps from ``first`` up to ``last``."""
        body, kind = nest.body, loop.kind
        kept = self.kept_elements(loop, body) if not rest and not loop.parallel else []
        elements = [self.value(load, scope) for load in kept]

        def step(inner: Scope, states: Sequence[Scalar]) -> list[Scalar]:
            if not rest and loop.width == 1:
                self.fetch_ahead(loop, body, inner)
            inner.carried = frozenset(kept)
            inner.values.update(zip(kept, states))
            inner.outer = Ahead(loop, rest[0].extent) if rest else (
                Ahead(loop) if loop.width == 1 else scope.outer)
            self.loops(rest, nest, inner)
            return [inner.values[load] for load in kept]

        if isinstance(kind, Crossing) and scope.lanes is not None:
            first, elements = write_in_order(self, loop, body, scope, kept, elements)
        elif isinstance(kind, Unrolled):
            first = write_together(self, loop, rest[0], body, scope, kind.count)
        writes = self.written(body)
        if isinstance(kind, Vector) and kind.unrolled and not rest:
            for n in range(first, last):
                self.once(scope, loop, n, elements, step, (), writes, None)
        elif first < last:
            elements = self.loop(scope, loop, first, last, elements, step, writes=writes,
                                 polled=not loop.parallel and loop.extent >= _LONG)
        for load, element in zip(kept, elements):
            self.put(load, element, scope)

    def fetch_ahead(self, loop: Loop, body: Sequence[Statement], inner: Scope) -> None:
        """Ask for the elements that later steps update, where only data tell which those are.

        They are far apart in a large buffer, and each would be waited for. It is written before
        the step itself: what it computes belongs to another step, and is of no use to this one.
        """
        stores = [s for s in body if isinstance(s, Store) and self.is_scattered(s, loop)]
        if not stores or loop.extent < 2 * _STEPS_AHEAD:
            return
        later = inner.within((*loop.covers, loop.index), inner.writes)
        later.values[loop.index] = self.at(inner, lambda: intrinsic(
            "umin", inner.values[loop.index] + _STEPS_AHEAD, loop.extent - 1))
        for store in stores:
            self.at(later, lambda s=store: self.prefetch(Load(s.buffer, s.index), later))

    def is_scattered(self, store: Store, loop: Loop) -> bool:
        """Whether steps of a loop store far apart, at places that are no trouble to find out."""
        target = Load(store.buffer, store.index)
        reached = prod([size for size, place in zip(store.buffer.shape, store.index)
                        if not place.free.isdisjoint(loop.covers)])
        return reached * store.buffer.dtype.itemsize >= _SCATTERED_BYTES and (
            loop.stride(self.analysis.offset(target)[0]) is None
            and all(self.analysis.is_safe(place) and self.analysis.length(place) < QUICK
                    for place in store.index))

    def read_again(self, body: Sequence[Statement], number: int) -> frozenset[Buffer]:
        """The memory that a statement reads after others, and before none that reads it too."""
        before, here, after = (
            {self.analysis.memory(load.buffer) for inner in statements_in(statements)
             for load in loads(*expressions(inner))}
            for statements in (body[:number], body[number:number + 1], body[number + 1:]))
        return frozenset((before & here) - after)

    def written(self, body: Iterable[Statement]) -> frozenset[Buffer]:
        """The memory that statements write."""
        return self.analysis.written(body)

    def kept_elements(self, loop: Loop, body: Iterable[Statement]) -> list[Load]:
        """Elements that each step of a loop overwrites, and that it can keep in registers."""
        found: dict[Buffer, Load | None] = {}
        for statement in body:
            if not isinstance(statement, Store):
                return []
            target = Load(statement.buffer, statement.index)
            touched = [target, *loads(*expressions(statement))]
            for load in touched:
                memory = self.analysis.memory(load.buffer)
                fits = found.setdefault(memory, load) is load and (
                    load.free.isdisjoint(loop.covers) and statement.guard is None)
                found[memory] = load if fits else None
        writes = self.written(body)
        return [load for memory, load in found.items() if load is not None and memory in writes]

    def store(self, store: Store, scope: Scope) -> None:
        """Write a store: where the guard holds, and combined with what is there."""
        if store.guard is not None:
            self.when(store.guard, scope, lambda arm: self.store(replace(store, guard=None), arm))
            return
        target, value = Load(store.buffer, store.index), self.value(store.value, scope)
        combine = store.combine
        if combine is not None:
            if scope.lanes is not None and not scope.varies(target) and scope.varies(store.value):
                value = self.across_lanes(combine, value, store.value.dtype)
            dtypes = (store.value.dtype,) * 2
            value = self.at(scope, lambda: apply(
                combine, (self.value(target, scope), value), dtypes, dtypes[0], {}))
        self.put(target, value, scope)

    def fill(self, body: Sequence[Statement], scope: Scope) -> bool:
        """Write stores at once that fill each other's gaps, if that is what they do."""
        stores = [s for s in body if isinstance(s, Store) and s.guard is None and s.combine is None]
        targets = [Load(store.buffer, store.index) for store in stores]
        if len(stores) < len(body) or not self.analysis.repeatable(body) or (
                not self.fills_gaps(targets, scope)):
            return False
        values = [self.value(store.value, scope) for store in stores]
        self.at(scope, lambda: self.write_filled(
            targets[0], [whole(value, targets[0].dtype) for value in values], scope))
        scope.forget(self.analysis.memory(targets[0].buffer), self.analysis)
        return True

    def put(self, target: Load, value: Scalar, scope: Scope) -> None:
        """Store a value, and remember it as what a load finds there."""
        if target not in scope.carried:
            self.at(scope, lambda: self.write(target, whole(value, target.dtype), scope))
        else:
            width = scope.lanes.width if scope.varies(target) else 1
            value = self.at(scope, lambda: whole(value, target.dtype).of(width))
        scope.forget(self.analysis.memory(target.buffer), self.analysis)
        scope.values[target] = value

    def extern(self, call: Extern, scope: Scope) -> None:
        """Call a function of the runtime's library with the addresses of buffers."""
        buffers = (*call.outputs, *call.inputs)
        writer, lines = self.writer, scope.place.lines
        if call.name in CALLS:
            lines.append(CALLS[call.name](call, self.pointers, writer))
            for buffer in call.outputs:
                scope.forget(self.analysis.memory(buffer), self.analysis)
            return
        room = "%" + writer.fresh("room")
        self.top.lines.insert(0, f"{room} = alloca [{max(1, len(buffers))} x ptr]")
        for n, buffer in enumerate(buffers):
            place = "%" + writer.fresh("arg")
            lines.append(f"{place} = getelementptr ptr, ptr {room}, i64 {n}")
            lines.append(f"store ptr {self.pointers[buffer]}, ptr {place}")
        name = self.symbol(call)
        writer.declared[name] = f"declare void @{name}(ptr, ptr)"
        writer.declared[f"{name}.context"] = f"@{name}.context = external global i8"
        lines.append(f"call void @{name}(ptr @{name}.context, ptr {room})")
        for buffer in call.outputs:
            scope.forget(self.analysis.memory(buffer), self.analysis)

    # -- control -----------------------------------------------------------------------------------

    def loop(self, scope: Scope, loop: Loop, first: int, last: int | Value,
             states: Sequence[Scalar],
             body: Callable[[Scope, Sequence[Scalar]], Sequence[Scalar]], bound: Iterable = (),
             writes: frozenset[Buffer] = frozenset(), base: Value | None = None,
             polled: bool = False) -> list[Scalar]:
        """Write a loop that carries states; ``body`` writes a step and gives the next states.

        Steps are numbered from ``first`` up to ``last``, and counted from ``base`` if there is one;
        in lanes, each step is ``width`` iterations. A ``last`` that is not known yet is not 0.
        Where steps are ``polled``, the program may be stopped behind each of them.
        """
        if isinstance(last, int) and last - first == 1:
            return self.once(scope, loop, first, states, body, bound, writes, base)
        writer, place = self.writer, scope.place
        head, done, following = writer.fresh("loop"), writer.fresh("done"), writer.fresh("%n")
        inner = Scope(scope, head, bound=(*loop.covers, loop.index, *bound), writes=writes)
        counter = Value(writer, writer.fresh("%i"), I64)
        given = self.at(scope, lambda: [in_registers(state, state) for state in states])
        inside = [renamed(writer, state) for state in given]

        def write() -> tuple[list[Scalar], list[Scalar]]:
            self.bind(inner, loop, counter if base is None else counter + base)
            after = list(body(inner, [from_registers(value, state)
                                      for value, state in zip(inside, states)]))
            return after, [in_registers(value, state) for value, state in zip(after, states)]

        after, kept = self.at(inner, write)
        more, again, look = writer.fresh("%c"), inner.block, list[str]()
        if polled:
            again = writer.fresh("again")
            look = [*poll(writer, again, done)[0], f"{again}:"]
        phis = [f"{counter.text} = phi i64 [ {first}, %{place.block} ], "
                f"[ {following}, %{again} ]"]
        for old, start, new in zip(inside, given, kept):
            phis += [f"{a.text} = phi {a.type.text} [ {b.text}, %{place.block} ], "
                     f"[ {c.text}, %{again} ]"
                     for a, b, c in zip(flat(old), flat(start), flat(new))]
        place.lines += [f"br label %{head}", f"{head}:", *phis, *inner.lines,
                        f"{following} = add nuw nsw i64 {counter.text}, 1",
                        f"{more} = icmp ult i64 {following}, {_text(last)}", *look,
                        f"br i1 {more}, label %{head}, label %{done}"]
        place.start(done)
        return after

    def once(self, scope: Scope, loop: Loop, number: int, states: Sequence[Scalar], body,
             bound: Iterable, writes: frozenset[Buffer], base: Value | None) -> list[Scalar]:
        """A loop of a single step."""
        inner = scope.within((*loop.covers, loop.index, *bound), writes)

        def write() -> list[Scalar]:
            counter = self.index(number)
            self.bind(inner, loop, counter if base is None else base + counter)
            return list(body(inner, states))
        return self.at(inner, write)

    def bind(self, inner: Scope, loop: Loop, counter: Value) -> None:
        """Make the index of a loop known inside it."""
        if len(loop.covers) > 1:
            inner.names = {**inner.names, **dict.fromkeys(loop.covers[:-1]),
                           loop.covers[-1]: loop.index}
        if loop.width == 1:
            inner.values[loop.index] = counter
            return
        last = loop.extent - loop.width
        if counter.is_constant:
            start = self.index(min(int(counter.text) * loop.width, last))
        else:
            start = counter * loop.width
            if loop.extent % loop.width and not loop.whole:  # the last step may overlap others
                start = intrinsic("umin", start, last)
        inner.lanes = Lanes(loop, start)
        inner.varying = inner.bound
        inner.values[inner.lanes] = start
        if inner.mask is not None:  # of other lanes around these, which are for any of them
            inner.mask = any_lane(inner.mask).of(loop.width)

    def when(self, condition: Value | Expr, scope: Scope, write: Callable[[Scope], None]) -> None:
        """Write code that runs where a condition holds."""
        arm, after = Scope(scope, self.writer.fresh("then"), conditional=True), (
            self.writer.fresh("after"))
        enter = self.entrance(condition, scope, arm)
        self.at(arm, lambda: write(arm))
        scope.place.lines += [*enter(after), f"{arm.label}:", *arm.lines, f"br label %{after}"]
        scope.place.start(after)

    def entrance(self, condition: Value | Expr, scope: Scope, arm: Scope) -> Callable[
            [str], list[str]]:
        """Ask for a condition; the result writes the jump to an arm, or to the label it is given.

        A negative index counts from the end of an array, and few are negative: those that are
        inside of it anyway are asked for first, with one jump instead of two. (A processor has 48
        jumps under way: with 5 for each entry, a product with 100,000 sparse rows of 3 entries
        takes 1.4 of SciPy's time, with 3 it takes 0.95; Cascade Lake.)
        """
        if isinstance(condition, Value):
            return lambda other: [f"br {condition!r}, label %{arm.label}, label %{other}"]
        index = turning_index(condition)
        if index is None or scope.home(condition, self.analysis) is not scope or (
                number := self.value(index.number, scope)).type.lanes > 1:
            asked, likely = self.value(condition, scope), asks_for_bounds(condition)
            return lambda other: [
                f"br {asked!r}, label %{arm.label}, label %{other}" + _LIKELY * likely]
        aside = Scope(scope, self.writer.fresh("aside"), conditional=True)
        place = Value(self.writer, f"%{self.writer.fresh('place')}", I64, arm)
        arm.values[index.place] = place
        inside, start = self.at(scope, lambda: (
            number.compare("lt", index.size, signed=False), convert(number, "zext", I64)))
        turned = self.at(aside, lambda: convert(number + index.shift, "zext", I64))
        also = self.at(aside, lambda: turned.compare("lt", index.size, signed=False))

        def enter(other: str) -> list[str]:
            arm.lines.insert(0, f"{place.text} = phi i64 [ {start.text}, %{scope.place.block} ], "
                                f"[ {turned.text}, %{aside.block} ]")
            return [f"br {inside!r}, label %{arm.label}, label %{aside.label}{_LIKELY}",
                    f"{aside.label}:", *aside.lines,
                    f"br {also!r}, label %{arm.label}, label %{other}"]
        return enter

    def joined(self, ways: Sequence[tuple[Scalar, str]]) -> Scalar:
        """The value that came along one of several ways, each with the block that it ends in."""
        def phi(parts: Iterable[Value]) -> Value:
            pairs = [(part, block) for part, (_, block) in zip(parts, ways)]
            texts = ", ".join([f"[ {part.text}, %{block} ]" for part, block in pairs])
            return self.writer.write(pairs[0][0].type, f"phi {pairs[0][0].type.text} {texts}")

        parts = [phi(part) for part in zip(*(flat(value) for value, _ in ways))]
        return Pair(*parts) if len(parts) == 2 else parts[0]

    # -- expressions -------------------------------------------------------------------------------

    def value(self, expr: Expr, scope: Scope) -> Any:
        """The value of an expression in a scope, computed as far out as it can be."""
        found = scope.find(expr)
        if found is not None:
            return found
        parts, find = self.analysis.parts, scope.find
        for node in walk(expr, into=lambda n: () if find(n) is not None else parts(n)):
            if find(node) is None:
                home = scope.home(node, self.analysis)
                if home is not scope:  # what loops carried may be known on this way only
                    home = max([home, *(scope.locate(part)[0] for part in parts(node))],
                               key=lambda s: s.depth)
                home.values[node] = self.at(home, lambda: self.evaluate(node, home))  # noqa: B023
        return find(expr)

    def evaluate(self, node: Node, scope: Scope):
        """One node whose parts are known."""
        if isinstance(node, Op):
            if node.name == "select" and not self.analysis.is_quick(node):
                return self.select(node, scope)
            if inside := span(node):  # a negative number is a great one without its sign
                return scope.find(inside[0]).compare("lt", inside[1], signed=False)
            args = [scope.find(arg) for arg in node.args]
            dtypes = [arg.dtype for arg in node.args]
            if node.name == "div" and has_reciprocals(node.dtype):
                args = [args[0], self.divisor(node.args[1], scope)]
            if node.dtype == INDEX or INDEX in dtypes:
                return self.index_operation(node, args, dtypes)
            return apply(node.name, args, dtypes, node.dtype, dict(node.attrs))
        if isinstance(node, Load):
            return self.read(node, scope)
        if isinstance(node, Const):
            return number(self.writer, node.value, node.dtype)
        if isinstance(node, Pick):
            return scope.find(node.fold)[node.position]
        if isinstance(node, Fold):
            return self.fold(node, scope)
        if isinstance(node, Index) and scope.lanes and node is scope.lanes.loop.index:
            bits = 32 if _is_small(node) else 64
            numbers = lane_numbers(self.writer, integer(bits, scope.lanes.width))
            return resized(scope.lanes.first, bits) + numbers
        raise NameError(f"{node!r} is used outside of its loop.")

    def index_operation(self, node: Op, args: Sequence[Value], dtypes: Sequence[np.dtype]) -> Any:
        """An instruction on int64, which takes 32 bits in lanes where all numbers are small."""
        narrow = any(flat(arg)[0].type.lanes > 1 for arg in args) and all(
            _is_small(expr) for expr in (node, *node.args) if expr.dtype == INDEX)
        small = np.dtype(np.int32) if narrow else INDEX
        given = [resized(arg, 32 if narrow else 64) if dtype == INDEX else arg
                 for arg, dtype in zip(args, dtypes)]
        return apply(node.name, given, [small if d == INDEX else d for d in dtypes],
                     small if node.dtype == INDEX else node.dtype, dict(node.attrs))

    def divisor(self, expr: Expr, scope: Scope) -> Value | Reciprocal:
        """What to divide by: the same number in all lanes is inverted once, outside of the loop."""
        home, value = scope.locate(expr)
        if scope.lanes is None or value.type.lanes > 1 or home.depth >= scope.depth:
            return value
        return self._known(home, (Reciprocal, value.text), lambda: Reciprocal.of(value))

    # -- choices -----------------------------------------------------------------------------------

    def select(self, node: Op, scope: Scope) -> Scalar:
        """A choice whose arms are long, or must not be evaluated where they are not taken."""
        condition = scope.find(node.args[0])
        if condition.type.lanes > 1:
            return self.choose_in_lanes(node, scope)
        if all(self.is_quick(arm, scope) for arm in node.args[1:]):
            return choose(condition, *self.alike([self.value(arm, scope) for arm in node.args[1:]]))
        return self.branch(node, scope)

    def is_quick(self, arm: Expr, scope: Scope) -> bool:
        """Whether an arm does no harm, and what is not known of it is soon computed."""
        return self.analysis.is_safe(arm) and self.length_left(arm, scope) < QUICK

    def length_left(self, expr: Expr, scope: Scope) -> int:
        """The length of the code for what is not known yet, as far as it matters."""
        parts, find, length = self.analysis.parts, scope.find, 0
        for node in walk(expr, into=lambda n: () if find(n) is not None else parts(n)):
            if find(node) is None:
                length += _DEAR if isinstance(node, Fold) else self.analysis.own_length(node)
                if length >= _DEAR:
                    break
        return length

    def is_chained(self, node: Expr, scope: Scope) -> bool:
        """Whether the second arm of a choice is itself one, to be written with it."""
        return isinstance(node, Op) and node.name == "select" and scope.find(node) is None and (
            not self.analysis.is_quick(node))

    def branch(self, node: Op, scope: Scope) -> Scalar:
        """A choice by scalars: one condition after the other is asked, and one arm executed."""
        writer, join = self.writer, self.writer.fresh("join")
        results: list[tuple[Scalar, Scope, Way]] = []
        ends: list[tuple[Scope, Callable[[], list[str]]]] = []
        here, way = scope, _NOWHERE
        last: Any = node

        def leave() -> list[str]:
            return [f"br label %{join}"]
        while self.is_chained(last, here):
            if self.value(last.args[0], here).type.lanes > 1:
                break
            taken, other = (*way, (last.args[0], True)), (*way, (last.args[0], False))
            yes = here.arm(writer.fresh("then"), scope.found_on(taken))
            no = here.arm(writer.fresh("else"), scope.found_on(other))
            enter = self.entrance(last.args[0], here, yes)
            results.append((self.value(last.args[1], yes), yes, taken))
            ends += [(here, partial(enter, no.label)), (yes, leave)]
            here, way, last = no, other, last.args[2]
        results.append((self.value(last, here), here, way))
        ends.append((here, leave))
        types = [flat(value)[0].type for value, _, _ in results]
        width, bits = max(t.lanes for t in types), max(t.bits for t in types)
        ways = [(self.at(arm, lambda v=value: _fitted(v, bits).of(width)), arm)
                for value, arm, _ in results]
        place = scope.place
        place.lines += ends[0][1]()
        for arm, end in ends[1:]:
            place.lines += [f"{arm.label}:", *arm.lines, *end()]
        place.start(join)
        blocks = [arm.block for _, arm in ways]
        chosen = self.joined([(value, arm.block) for value, arm in ways])
        for _, arm, way in results:
            self.remember(scope, way, arm, blocks)
        return chosen

    def remember(self, scope: Scope, way: Way, arm: Scope, blocks: Sequence[str]) -> None:
        """Let other arms on the same way know what loops in this one have carried last.

        The ways come together where ``scope`` is now; each has its last block among ``blocks``.
        """
        def join(value: Scalar) -> Scalar:
            return self.joined([(value if block == arm.block else mapped(lambda part: Value(
                self.writer, "poison", part.type), value), block) for block in blocks])

        found = scope.found.setdefault(way, {})
        loops = [node for node in arm.values if isinstance(node, Fold) and node not in found]
        found.update({node: tuple(map(join, arm.values[node])) for node in loops})

    def choose_in_lanes(self, node: Op, scope: Scope) -> Scalar:
        """A choice that lanes make by themselves: all arms are computed, each for its lanes."""
        chosen: list[tuple[Value, Scalar]] = []
        mask, here, way = scope.mask, scope, _NOWHERE
        last: Any = node
        while last is node or self.is_chained(last, here):
            condition = self.value(last.args[0], here)
            yes, no = condition, ~condition
            if mask is not None:
                yes, no = yes & mask, no & mask
            chosen.append((condition, self.arm(last.args[1], yes, scope,
                                               (*way, (last.args[0], True)))))
            way = (*way, (last.args[0], False))
            mask, here, last = no, scope.beside(no), last.args[2]
        result = self.arm(last, mask, scope, way)
        for condition, value in reversed(chosen):
            result = choose(condition, *self.alike([value, result]))
        return result

    def alike(self, values: Sequence[Scalar]) -> list[Scalar]:
        """Values of one dtype in one width: of int64, some may have 32 bits."""
        bits = max(flat(value)[0].type.bits for value in values)
        return [_fitted(value, bits) for value in values]

    def arm(self, expr: Expr, mask: Value, scope: Scope, way: Way) -> Scalar:
        """The value of an arm in the lanes that need it; if it is long, only if some do."""
        beside = scope.beside(mask)
        beside.values.update(scope.found_on(way))
        if mask.type.lanes == 1 or self.length_left(expr, beside) < _DEAR:
            return self.value(expr, beside)
        writer, place, width = self.writer, scope.place, mask.type.lanes
        some = scope.arm(writer.fresh("some"), beside.values)
        some.mask = mask
        value = self.at(some, lambda: self.value(expr, some).of(width))
        after, before = writer.fresh("after"), place.block
        place.lines += [f"br {any_lane(mask)!r}, label %{some.label}, label %{after}",
                        f"{some.label}:", *some.lines, f"br label %{after}"]
        place.start(after)
        result = self.joined([(value, some.block), (mapped(lambda part: Value(
            writer, "poison", part.type), value), before)])
        self.remember(scope, way, some, [some.block, before])
        return result


def _fitted(value: Scalar, bits: int) -> Scalar:
    """An int64 in the width that it has elsewhere."""
    return value if flat(value)[0].type.bits == bits else mapped(lambda v: resized(v, bits), value)


def _is_small(expr: Expr) -> bool:
    """Whether an int64 surely fits into 32 bits."""
    low, high = bounds(expr)
    return -(1 << 31) <= low and high < 1 << 31


def _text(number: int | Value) -> str:
    return number.text if isinstance(number, Value) else str(number)
