"""Fourier transforms in the cache: a sequence of passes, through scratch memory.

A :class:`Chain` is a function being written: of an operand, a result, scratch memory, and a number.
It has two pairs of planes and alternates between them.
"""

from __future__ import annotations

from ...._loops.fourier import STACK, Way, radices
from ...emit.values import Value
from .bluestein import waves
from .butterflies import times
from .radix_passes import PLANES, Function, Memory, Passes, Side, lanes_for, loop, vectors

__all__ = ["Chain", "Place"]


class Place:
    """Numbers that a transform begins or ends with.

    ``stride`` is that from row to row. The parts of numbers are ``swapped`` for inverse transforms.
    """

    def __init__(self, address: str, form: str, stride: int = 1, swapped: bool = False,
                 second: str | None = None):
        self.address, self.form, self.stride, self.swapped = address, form, stride, swapped
        self.second = second or address

    @property
    def addresses(self) -> tuple[str, str]:
        """The addresses of both planes, if there are two."""
        return self.address, self.second

    def side(self, row: int, step: int = 0, lane: int = 1) -> Side:
        """How a pass sees it."""
        return Side(self.form, row, step, lane, self.swapped)

    def turned(self) -> Place:
        """The same numbers with their parts swapped."""
        return Place(self.address, self.form, self.stride, not self.swapped, self.second)


class Chain:
    """Passes one after the other, over some columns at a time."""

    def __init__(self, passes: Passes, f: Function, way: Way):
        self.passes, self.f, self.way = passes, f, way
        size, element = 4 * way.plane, passes.element
        if size * element.bits // 8 <= STACK:
            f.lines.append(f"%scratch = alloca [{size} x {element}], align 64")
            base = "%scratch"
        else:
            base = "%spare"
        for n, name in enumerate(("a", "a.im", "b", "b.im")):
            f.lines.append(f"%{name} = getelementptr {element}, ptr {base}, i64 {n * way.plane}")
        self.planes = [Place(f"%{name}", PLANES, way.columns, second=f"%{name}.im")
                       for name in "ab"]
        # Before anything is in the planes, which may be needed for them.
        self.waves = waves(self, way.core) if radices(way.core) is None else ("", "")

    def other(self, place: Place | None = None) -> Place:
        """Planes that do not contain some numbers."""
        return self.planes[place is not None and place.address == self.planes[0].address]

    def through(self, length: int, target: Place) -> None:
        """Use the memory of the result for planes that the last pass does not read."""
        second = self.f.offset(target.address, self.passes.element, length)
        there = Place(target.address, PLANES, second=second)
        even = len(radices(length) or ()) % 2 == 0
        self.planes = [self.planes[0], there] if even else [there, self.planes[0]]

    def run(self, function: str, source: Place, target: Place, *numbers: Value | int) -> None:
        """Call a pass."""
        self.f.call(function, (*source.addresses, *target.addresses), *numbers)

    def transform(self, length: int, source: Place, target: Place | None = None,
                  scale: float = 1.0) -> Place:
        """The complex transforms of a length; returns where the result is, if any place will do."""
        if radices(length) is None:
            return self.convolution(length, source, target, scale)
        *others, last = radices(length) or ()
        done, left = 1, length
        for radix in others:
            left //= radix
            there = self.other(source)
            self.run(self.first(radix, left, source, there) if done == 1 else
                     self.middle(radix, left, done, source, there), source, there)
            source, done = there, done * radix
        target = target or self.other(source)
        self.run(self.last(last, done, source, target, scale), source, target)
        return target

    def first(self, radix: int, left: int, source: Place, target: Place) -> str:
        """The pass that reads numbers in order."""
        if self.way.columns == 1:
            return self.passes.step(radix, 1, left, source.side(left),
                                    target.side(1, lane=radix), "lanes")
        return self.passes.step(
            radix, left, self.way.columns, source.side(left * source.stride, source.stride),
            target.side(target.stride, radix * target.stride), "steps")

    def middle(self, radix: int, left: int, done: int, source: Place, target: Place) -> str:
        """A pass from planes to planes."""
        done *= self.way.columns
        return self.passes.step(radix, left, done, source.side(left * done, done),
                                target.side(done, radix * done), "steps")

    def last(self, radix: int, done: int, source: Place, target: Place, scale: float) -> str:
        """The pass that writes results, without twiddle factors; possibly the only one."""
        columns = self.way.columns
        if columns == source.stride == target.stride:
            return self.passes.step(radix, 1, done * columns, source.side(done * columns),
                                    target.side(done * columns), scale=scale)
        return self.passes.step(
            radix, done, columns, source.side(done * source.stride, source.stride),
            target.side(done * target.stride, target.stride), scale=scale)

    # -- convolutions ------------------------------------------------------------------------------

    def convolution(self, length: int, source: Place, target: Place | None, scale: float) -> Place:
        """A transform by a convolution; see ``bluestein.py``."""
        wave, spectrum = self.waves
        first = self.other(source)
        self.clear(first, length)
        self.product(wave, length, source, first)
        there = self.transform(self.way.cyclic, first)
        turned = self.other(there)
        self.product(spectrum, self.way.cyclic, there, turned)
        back = self.transform(self.way.cyclic, turned.turned()).turned()
        target = target or self.other(back)
        self.product(wave, length, back, target, scale)
        return target

    def clear(self, place: Place, start: int) -> None:
        """Store zeros in all rows from one on."""
        f, element = self.f, self.passes.element
        size = (self.way.cyclic - start) * self.way.columns
        name = "llvm.memset.p0.i64"
        f.module.declared[name] = f"declare void @{name}(ptr, i8, i64, i1)"
        for address in place.addresses:
            at = f.offset(address, element, start * self.way.columns)
            f.lines.append(f"call void @{name}(ptr {at}, i8 0, i64 {size * element.bits // 8}, "
                           "i1 false)")

    def product(self, table: str, rows: int, source: Place, target: Place,
                scale: float = 1.0) -> None:
        """Multiply numbers by those of a table, one for each row."""
        passes, columns = self.passes, self.way.columns
        if columns == 1:
            outer, count, along = 1, rows, 0
            given, made = source.side(0), target.side(0)
        else:
            outer, count, along = rows, columns, 1
            given, made = source.side(0, source.stride), target.side(0, target.stride)
        lanes = lanes_for(count, passes.lanes)

        def one(f: Function, j: Value, k: Value) -> None:
            (x,) = passes.read(f, given, lanes, j, k, 1)
            (by,) = Memory(f.writer, passes.element, 1 if along else lanes, Side(PLANES, 0), table,
                           f"getelementptr ({passes.element}, ptr {table}, i64 {rows})",
                           j if along else k).read(1)
            passes.write(f, made, lanes, j, k, [times(x, by.re.of(lanes), by.im.of(lanes))],
                         scale)
        self.run(passes.function(
            f"product {table[2:-1]} {rows} {count} {tuple(given)} {tuple(made)} {scale}",
            ("from", "from.im", "to", "to.im"), lambda f: loop(f.writer, outer, lambda j: vectors(
                f.writer, count, lanes, lambda k: one(f, j, k)))), source, target)
