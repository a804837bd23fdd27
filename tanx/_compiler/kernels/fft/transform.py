"""Library calls that are Fourier transforms, written into the module that needs them.

A transform is a chain of passes (``radix_passes.py``) after Stockham, which keeps the order.
Numbers go from the operand to scratch memory that stays in the cache, and from there to the result.

- Lines, whose numbers are adjacent, are transformed one at a time, the shortest in lanes.
- Columns are transformed several at a time, in lanes.
- Long lines become columns of shorter ones: those of a matrix, multiplied by twiddle factors and
  transposed, and then those of the resulting matrix.
- Real lines are half as many complex numbers, or as many if their number is odd.
- A length with a large prime factor is a convolution of a convenient length, after Bluestein.

``_loops/fourier.py`` defines what a call means.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import log2

import numpy as np

from ...._loops.fourier import ROOMS, radices, roots, spectrum_size, way
from ...._loops.nest import Buffer, Extern
from ...abi import PARALLEL
from ...emit.storage import register_type
from ...emit.values import Value, Writer, intrinsic, shift_right
from . import real as spectra
from .butterflies import times
from .in_cache import Chain, Place
from .radix_passes import (
    PAIRS,
    PLANES,
    REALS,
    Function,
    Memory,
    Passes,
    Side,
    lanes_for,
    loop,
    parts_of,
    vectors,
)

__all__ = ["write_fourier"]

_PARAMS = ("in", "out", "spare")
_UNIT = (*_PARAMS, "i64 %unit")


def write_fourier(call: Extern, pointers: Mapping[Buffer, str], writer: Writer) -> str:
    """Call a function, which is written here, that computes all of the transforms."""
    (x,), (out, *spare) = call.inputs, call.outputs
    parts = out.dtype if out.dtype.kind == "f" else np.dtype(f"f{out.dtype.itemsize // 2}")
    passes = Passes(writer, register_type(parts))
    name = _Transforms(passes, **dict(call.params)).all()
    addresses = [pointers[b] for b in (x, out, *(spare or [out]))]
    return f"call void @{name}(ptr {', ptr '.join(addresses)})"


class _Transforms:
    """The transforms of a call, as functions; elements are parts of numbers."""

    def __init__(self, passes: Passes, kind: str, length: int, outer: int, inner: int,
                 scale: float):
        self.passes, self.kind, self.length = passes, kind, length
        self.tuning = passes.module.machine.tuning.fourier
        self.outer, self.inner, self.scale = outer, inner, scale
        self.name = f"{kind} {length} {outer} {inner} {scale}"
        self.way = way(kind, length, inner, passes.element.bits // 8)
        self.inverse = kind in ("ifft", "irfft")
        numbers = 2 * spectrum_size(length)
        self.elements = {"rfft": (length, numbers), "irfft": (numbers, length)}.get(
            kind, (2 * length, 2 * length))  # in a line of the operand, and of the result

    def all(self) -> str:
        """The name of a function of the operand, the result, and scratch memory."""
        if self.inner > 1:
            return self.columns()
        if len(radices(self.length) or ()) == 1:
            return self.short_lines()
        if self.way.halves is not None:
            return self.long_lines()
        alone = self.kind in ("fft", "ifft") or self.way.core < self.length or self.outer == 1
        return self.lines() if alone else self.pairs_of_lines()

    # -- many of a kind ----------------------------------------------------------------------------

    def units(self, run: str, count: int, numbers: int, apart: bool) -> str:
        """A function that runs another for each of some units, in tasks if that pays.

        A unit has ``numbers`` complex numbers. If units are not ``apart``, the last one repeats
        part of the one before, maybe rounded differently: one task runs both.
        """
        tuning = self.tuning
        seconds = numbers * (log2(self.length) + 2) * tuning.seconds
        most = ROOMS if self.way.spare and self.way.halves is None else tuning.tasks
        tasks = max(1, min(most, count, int(count * seconds / tuning.grain)))
        chunk = -(-count // tasks)
        while not apart and chunk < count and (chunk == 1 or count % chunk == 1):
            chunk += 1
        tasks = -(-count // chunk)
        title, element = f"{run[1:-1]} {count}", self.passes.element

        def task(f: Function) -> None:
            for n, name in enumerate(_PARAMS):
                f.lines.append(f"%at.{name} = getelementptr ptr, ptr %context, i64 {n}")
                f.lines.append(f"%{name} = load ptr, ptr %at.{name}")
            number, spare = f.number("task"), "%spare"
            if most == ROOMS:
                spare = f.offset(spare, element, number * (self.way.spare // ROOMS))
            first = number * chunk
            own = intrinsic("smin", count - first, chunk)
            loop(f.writer, own, lambda k: f.call(run, ("%in", "%out", spare), first + k))

        def everything(f: Function) -> None:
            if tasks == 1:
                loop(f.writer, count, lambda k: f.call(run, ("%in", "%out", "%spare"), k))
                return
            name = self.passes.function(f"task {title}", ("context", "i64 %task"), task)
            f.module.declared[PARALLEL] = f"declare void @{PARALLEL}(ptr, ptr, i64)"
            f.lines.append("%context = alloca [3 x ptr]")
            for n, param in enumerate(_PARAMS):
                f.lines.append(f"%at.{param} = getelementptr ptr, ptr %context, i64 {n}")
                f.lines.append(f"store ptr %{param}, ptr %at.{param}")
            f.lines.append(f"call void @{PARALLEL}(ptr @{name}, ptr %context, i64 {tasks})")
        return self.passes.function(f"all {title}", _PARAMS, everything)

    def unit(self, title: str, numbers: int, count: int,
             body: Callable[[Function, Value], None], apart: bool = False) -> str:
        """A function of all units, given a function that writes one from its number."""
        run = self.passes.function(f"{title} {self.name}", _UNIT,
                                   lambda f: body(f, f.number("unit")))
        return self.units(run, count, numbers, apart)

    def places(self, f: Function, before: tuple[Value, Value], stride: int = 1) -> list[Place]:
        """The operand and the result of a unit, given the elements before."""
        element = self.passes.element
        forms = (REALS if self.kind == "rfft" else PAIRS, REALS if self.kind == "irfft" else PAIRS)
        return [Place(f.offset(f"%{name}", element, start), form, stride, self.inverse)
                for name, start, form in zip(("in", "out"), before, forms)]

    def starts(self, line: Value) -> tuple[Value, Value]:
        """The elements before a line, in the operand and in the result."""
        return line * self.elements[0], line * self.elements[1]

    # -- lines -------------------------------------------------------------------------------------

    def short_lines(self) -> str:
        """Lines in lanes, which pays if there are many."""
        count = min(self.outer, self.tuning.group)

        def body(f: Function, unit: Value) -> None:
            first = intrinsic("smin", unit * count, self.outer - count)
            source, target = self.places(f, self.starts(first))
            f.call(self.passes.short(self.kind, self.length, count, self.scale),
                   (*source.addresses, *target.addresses))
        return self.unit("short", count * self.length, -(-self.outer // count), body)

    def lines(self) -> str:
        """Line by line."""
        def body(f: Function, unit: Value) -> None:
            source, target = self.places(f, self.starts(unit))
            chain = Chain(self.passes, f, self.way)
            if self.way.core < self.length:
                self.halved(chain, source, target)
            elif self.kind == "irfft":
                there = chain.other()
                chain.run(spectra.mirrored(self.passes, self.length), source, there)
                chain.transform(self.length, there.turned(), target, self.scale)
            elif self.kind == "rfft":
                there = chain.transform(self.length, source)
                chain.run(self.passes.step(
                    1, 1, spectrum_size(self.length), there.side(0), target.side(0),
                    scale=self.scale), there, target)
            else:
                if radices(self.length):
                    chain.through(self.length, target)
                chain.transform(self.length, source, target, self.scale)
        return self.unit("line", self.length, self.outer, body, apart=True)

    def pairs_of_lines(self) -> str:
        """Two real lines at a time, as the parts of complex numbers."""
        def body(f: Function, unit: Value) -> None:
            first = intrinsic("smin", unit * 2, self.outer - 2)
            lines = zip(self.places(f, self.starts(first)), self.places(f, self.starts(first + 1)))
            source, target = (Place(a.address, PLANES, 1, a.swapped, b.address) for a, b in lines)
            chain, passes = Chain(self.passes, f, self.way), self.passes
            if self.kind == "irfft":
                there = chain.other()
                chain.run(spectra.joined(passes, self.length), source, there)
                chain.transform(self.length, there.turned(), target, self.scale)
            else:
                there = chain.transform(self.length, source)
                chain.run(spectra.wraps(passes, self.length, PLANES), there, there)
                chain.run(spectra.parted(passes, self.length, self.scale), there, target)
        return self.unit("pair", self.length, -(-self.outer // 2), body)

    def halved(self, chain: Chain, source: Place, target: Place) -> None:
        """A line of real numbers as half as many complex ones."""
        passes, half = self.passes, self.way.core
        if self.kind == "rfft":
            there = chain.transform(half, Place(source.address, PAIRS))
            chain.run(spectra.wraps(passes, half, PLANES), there, there)
            chain.run(spectra.unfolded(passes, half, half + 1, PLANES, self.scale), there, target,
                      0)
            return
        there = chain.other()
        chain.run(spectra.folded(passes, half, half, PLANES), source, there, 0)
        chain.run(spectra.starts_real(passes, half, PLANES), source, there)
        chain.transform(half, there.turned(), Place(target.address, PAIRS, swapped=True),
                        self.scale)

    # -- columns -----------------------------------------------------------------------------------

    def columns(self) -> str:
        """Columns of matrices, some of them at a time."""
        inner, columns = self.inner, self.way.columns
        blocks = -(-inner // columns)

        def body(f: Function, unit: Value) -> None:
            matrix = _quotient(unit, blocks)
            first = intrinsic("smin", (unit - matrix * blocks) * columns, inner - columns)
            start = (matrix * (self.length * inner) + first) * 2
            source, target = self.places(f, (start, start), stride=inner)
            Chain(self.passes, f, self.way).transform(self.length, source, target, self.scale)
        return self.unit("columns", self.length * columns, self.outer * blocks, body)

    # -- long lines --------------------------------------------------------------------------------

    def long_lines(self) -> str:
        """Lines one by one, each in several steps of many units."""
        element, core = self.passes.element, self.way.core

        def steps(f: Function, line: Value) -> None:
            before = self.starts(line)
            source, target = (f.offset(f"%{name}", element, start)
                              for name, start in zip(("in", "out"), before))
            middle = "%spare"
            if core == self.length:
                self.matrix(f, source, target, middle, self.scale)
                return
            half = f.offset(middle, element, 2 * core)
            if self.kind == "rfft":
                self.matrix(f, source, half, middle, 1.0)
                f.call(spectra.wraps(self.passes, core, PAIRS), (half,) * 4)
                self.pieces(f, partial(spectra.unfolded, scale=self.scale), core + 1, half, target)
            else:
                self.pieces(f, spectra.folded, core, source, half)
                f.call(spectra.starts_real(self.passes, core, PAIRS), (source, source, half, half))
                self.matrix(f, half, target, middle, self.scale)
        return self.passes.function(f"long {self.name}", _PARAMS, lambda f: loop(
            f.writer, self.outer, lambda line: steps(f, line)))

    def pieces(self, f: Function, write: Callable[..., str], size: int, source: str,
               target: str) -> None:
        """Frequencies piece by piece."""
        piece = self.tuning.piece

        def body(inner: Function, unit: Value) -> None:
            first = intrinsic("smin", unit * piece, size - piece)
            inner.call(write(self.passes, self.way.core, piece, PAIRS),
                       ("%in", "%in", "%out", "%out"), first)
        f.call(self.unit("pieces", piece // 4, -(-size // piece), body),
               (source, target, "%spare"))

    def matrix(self, f: Function, source: str, target: str, middle: str, scale: float) -> None:
        """A long line as a matrix: columns, twiddle factors and a transpose, and columns again."""
        assert self.way.halves is not None
        first, second = self.way.halves
        columns = min(self.way.columns, first, second)
        chain_way = self.way._replace(columns=columns)

        def start(unit: Value, size: int) -> Value:
            return intrinsic("smin", unit * columns, size - columns)

        def one(f: Function, unit: Value) -> None:
            at = start(unit, second)
            chain = Chain(self.passes, f, chain_way)
            place = Place(f.offset("%in", self.passes.element, at * 2), PAIRS, second, self.inverse)
            there = chain.transform(first, place)
            chain.run(self.twisted(first, second, columns), there, Place("%out", PAIRS), at)

        def two(f: Function, unit: Value) -> None:
            at = start(unit, first) * 2
            chain = Chain(self.passes, f, chain_way)
            source, target = (Place(f.offset(f"%{name}", self.passes.element, at), PAIRS, first,
                                    name == "out" and self.inverse) for name in ("in", "out"))
            chain.transform(second, source, target, scale)
        f.call(self.unit("first", first * columns, -(-second // columns), one),
               (source, middle, "%spare"))
        f.call(self.unit("second", second * columns, -(-first // columns), two),
               (middle, target, "%spare"))

    def twisted(self, first: int, second: int, columns: int) -> str:
        """A function that multiplies columns by twiddle factors and stores them as rows, given the
        number of the first.

        Number ``k`` of column ``c + d`` is multiplied by ``exp(-2 pi i k (c + d) / n)``, the
        product of a factor that depends on ``d``, in lanes, and one that depends on ``c``: two
        factors, from the lower and the upper bits of ``k c``.
        """
        passes, n = self.passes, first * second
        lanes = lanes_for(columns, passes.lanes)
        together = next(size for size in (8, 4, 2, 1) if first % size == 0)
        low = 1 << (n.bit_length() // 2)
        near = passes.table(f"near turns {first} {second} {columns}", lambda: parts_of(roots(
            np.outer(np.arange(first), np.arange(columns)), n), 1))
        fine = passes.table(f"fine turns {n}", lambda: parts_of(
            roots(np.arange(low), n), 1))
        coarse = passes.table(f"coarse turns {n}", lambda: parts_of(
            roots(np.arange(-(-n // low)) * low, n), 1))
        target = Side(PAIRS, 1, lane=first)

        def turn(f: Function, row: Value):
            exponent = row * f.number("first")
            high = shift_right(exponent, low.bit_length() - 1)
            (a,), (b,) = (Memory(f.writer, passes.element, 1, Side(PAIRS, 0), table, "", at).read(1)
                          for table, at in ((fine, exponent & (low - 1)), (coarse, high)))
            return times(a, b.re, b.im)

        def block(f: Function, j: Value) -> None:
            turns = [turn(f, j * together + n) for n in range(together)]

            def one(k: Value) -> None:
                numbers = passes.read(f, Side(PLANES, columns, together * columns), lanes, j, k,
                                      together)
                nearby = Memory(f.writer, passes.element, lanes, Side(PLANES, 2 * columns), near,
                                f"getelementptr ({passes.element}, ptr {near}, i64 {columns})",
                                j * (2 * together * columns) + k).read(together)
                made = []
                for x, by, also in zip(numbers, turns, nearby):
                    both = times(also, by.re.of(lanes), by.im.of(lanes))
                    made.append(times(x, both.re, both.im))
                Memory(f.writer, passes.element, lanes, target, "%to", "", (
                    f.number("first") + k) * first + j * together).write(made)
            vectors(f.writer, columns, lanes, one)
        return passes.function(
            f"twisted {first} {second} {columns}", ("from", "from.im", "to", "to.im", "i64 %first"),
            lambda f: loop(f.writer, first // together, lambda j: block(f, j)))


def _quotient(x: Value, by: int) -> Value:
    """A quotient of integers that are not negative."""
    return x if by == 1 else x.writer.write(x.type, f"udiv {x!r}, {by}")
