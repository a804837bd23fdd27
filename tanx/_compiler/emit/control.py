"""Loops and joins: the basic blocks of a function, and the values that merge in them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

from ..._loops.nest import Buffer
from ..schedule.lanes import Loop
from .complex import Pair
from .polling import poll
from .scalars import Scalar, flat, from_registers, in_registers, renamed
from .scopes import Lanes, Scope
from .values import I64, Value, Writer, any_lane, intrinsic

__all__ = ["Control", "Step"]

Step = Callable[[Scope, Sequence[Scalar]], Sequence[Scalar]]
"""Writes a step of a loop: takes its scope and the states before it, returns the states after
it."""


class Control:
    """Writes loops into one function; ``top`` is the scope of the function itself."""

    def __init__(self, writer: Writer):
        self.writer, self.top = writer, Scope(None, "entry")
        writer.place = self.top

    def at(self, scope: Scope, write: Callable[[], Any]) -> Any:
        """Write code into a scope."""
        before, self.writer.place = self.writer.place, scope.place
        result = write()
        self.writer.place = before
        return result

    def known(self, scope: Scope, key: Hashable, make: Callable[[], Any]) -> Any:
        """The value that a scope has for a key, such as an address; it is computed there if
        missing."""
        if key not in scope.values:
            scope.values[key] = self.at(scope, make)
        return scope.values[key]

    def index(self, number: int) -> Value:
        """A constant int64."""
        return Value(self.writer, str(number), I64)

    def allocate(self, type: str, hint: str = "room") -> str:
        """The name of memory on the stack, which the function allocates at its start."""
        name = "%" + self.writer.fresh(hint)
        self.top.lines.insert(0, f"{name} = alloca {type}")
        return name

    def loop(self, scope: Scope, loop: Loop, first: int, last: int | Value,
             states: Sequence[Scalar], body: Step, bound: Iterable = (),
             writes: frozenset[Buffer] = frozenset(), base: Value | None = None,
             polled: bool = False) -> list[Scalar]:
        """Write a loop that carries states; ``body`` writes a step and returns the next states.

        Steps are numbered from ``first`` up to ``last``, and counted from ``base`` if there is one;
        in lanes, each step is ``width`` iterations. A ``last`` that is not a constant is not 0. If
        steps are ``polled``, each of them checks at its end whether the program should stop.
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
        end = last.text if isinstance(last, Value) else str(last)
        place.lines += [f"br label %{head}", f"{head}:", *phis, *inner.lines,
                        f"{following} = add nuw nsw i64 {counter.text}, 1",
                        f"{more} = icmp ult i64 {following}, {end}", *look,
                        f"br i1 {more}, label %{head}, label %{done}"]
        place.start(done)
        return after

    def once(self, scope: Scope, loop: Loop, number: int, states: Sequence[Scalar], body: Step,
             bound: Iterable = (), writes: frozenset[Buffer] = frozenset(),
             base: Value | None = None) -> list[Scalar]:
        """Write a single step of a loop, by its number; counted from ``base`` if there is one."""
        inner = scope.within((*loop.covers, loop.index, *bound), writes)

        def write() -> list[Scalar]:
            counter = self.index(number)
            self.bind(inner, loop, counter if base is None else base + counter)
            return list(body(inner, states))
        return self.at(inner, write)

    def bind(self, inner: Scope, loop: Loop, counter: Value) -> None:
        """Define the index of a loop inside it."""
        inner.rename(loop)
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
        if inner.mask is not None:  # a mask of outer lanes is true if any of them is active
            inner.mask = any_lane(inner.mask).of(loop.width)

    def joined(self, ways: Sequence[tuple[Scalar, str]]) -> Scalar:
        """The value that arrives from one of several blocks."""
        def phi(parts: Iterable[Value]) -> Value:
            pairs = [(part, block) for part, (_, block) in zip(parts, ways)]
            texts = ", ".join([f"[ {part.text}, %{block} ]" for part, block in pairs])
            return self.writer.write(pairs[0][0].type, f"phi {pairs[0][0].type.text} {texts}")

        parts = [phi(part) for part in zip(*(flat(value) for value, _ in ways))]
        return Pair(*parts) if len(parts) == 2 else parts[0]
