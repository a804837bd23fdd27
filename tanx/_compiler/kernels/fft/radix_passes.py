"""Passes of Fourier transforms: a short transform, repeated over numbers in memory.

A pass reads ``radix`` numbers, transforms them in registers, multiplies the results by twiddle
factors, and writes them: in lanes for several at a time, ``count`` in all, and that ``outer``
times. A :class:`Side` each says where numbers are read and written. Numbers are pairs of their
parts, as users have them, or in two planes, where they need no shuffling. If adjacent lanes are
apart in memory, numbers that are adjacent there are moved together and transposed in registers. The
last lanes may be computed twice, to avoid partial vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...._base.tuples import NamedTuple
from ...._loops.fourier import SHORT, roots, spectrum_size
from ...emit.complex import Pair
from ...emit.shuffles import transposed
from ...emit.values import I64, Type, Value, Writer, constant, intrinsic, muladd, repeat, type_of
from .butterflies import times, transform

__all__ = ["PAIRS", "PLANES", "REALS", "Function", "Memory", "Passes", "Side", "lanes_for", "loop",
           "parts_of", "vectors"]

PAIRS, PLANES, REALS = "pairs", "planes", "reals"
_SIDES = ("from", "from.im", "to", "to.im")


class Side(NamedTuple):
    """Where a pass reads or writes: elements between its numbers, its steps, and its lanes.

    Numbers whose parts are ``swapped`` are those of the inverse transform.
    """

    form: str
    row: int
    step: int = 0
    lane: int = 1
    swapped: bool = False

    def at(self, j: Value, k: Value) -> Value:
        """The elements before a vector, from the numbers of its step and of its first lane."""
        along = k if self.lane == 1 else k * self.lane
        return along if self.step == 0 else j * self.step + along


class Function:
    """A function being written; parameters are addresses, or integers if they say so."""

    def __init__(self, module: Writer, name: str, params: Sequence[str]):
        self.module, self.name = module, name
        self.params = [p if " " in p else f"ptr %{p}" for p in params]
        self.writer = Writer(module)
        self.rooms: list[str] = []  # lines that allocate its own memory

    @property
    def lines(self) -> list[str]:
        """The lines written so far."""
        return self.writer.place.lines

    def number(self, name: str) -> Value:
        """A parameter that is an integer."""
        return Value(self.writer, f"%{name}", I64)

    def offset(self, base: str, element: Type, start: Value | int) -> str:
        """The address of a later element."""
        text = start.text if isinstance(start, Value) else str(start)
        return self.writer.write(type_of("ptr"), f"getelementptr {element.element}, ptr {base}, "
                                                 f"i64 {text}").text

    def call(self, name: str, addresses: Sequence[str], *numbers: Value | int) -> None:
        """Call a function."""
        texts = [f"ptr {a}" for a in addresses]
        texts += [f"i64 {n.text if isinstance(n, Value) else n}" for n in numbers]
        self.lines.append(f"call void @{name}({', '.join(texts)})")

    def finish(self) -> None:
        """Add it to the module."""
        self.module.helpers[self.name] = "\n".join([
            f"define internal void @{self.name}({', '.join(self.params)}) {{", "entry:",
            *self.rooms, *self.lines, "ret void", "}"])


def lanes_for(count: int, most: int) -> int:
    """Lanes of a vector for ``count`` numbers."""
    return min(most, 1 << max(0, count.bit_length() - 1))


def loop(writer: Writer, count: int | Value, body: Callable[[Value], None]) -> None:
    """A loop of at least one step; the body gets its number."""
    if count == 1:
        body(Value(writer, "0", I64))
        return
    place = writer.place
    before, label = place.block, writer.fresh("loop")
    k = Value(writer, "%" + writer.fresh("k"), I64)
    place.lines.append(f"br label %{label}")
    place.start(label)
    at = len(place.lines)
    body(k)
    following, done = k + 1, writer.fresh("done")
    place.lines.insert(at, f"{k.text} = phi i64 [ 0, %{before} ], "
                           f"[ {following.text}, %{place.block} ]")
    place.lines.append(f"br {following.compare('lt', count)!r}, label %{label}, label %{done}")
    place.start(done)


def vectors(writer: Writer, count: int, lanes: int, body: Callable[[Value], None]) -> None:
    """A loop over numbers by vectors of them; the last one begins earlier if necessary."""
    steps = -(-count // lanes)
    loop(writer, steps, lambda k: body(
        k * lanes if count % lanes == 0 else intrinsic("smin", k * lanes, count - lanes)))


class Memory:
    """Numbers in memory, near some address."""

    def __init__(self, writer: Writer, element: Type, lanes: int, side: Side, re: str, im: str,
                 at: Value):
        self.writer, self.side = writer, side
        self.type = element.of(lanes)
        factor = 2 if side.form == PAIRS else 1
        self.bases = [self.place(base, at * factor) for base in (
            (re, im) if side.form == PLANES else (re,))]

    def place(self, base: str, offset: Value | int) -> str:
        """The address of a later element."""
        number = offset.text if isinstance(offset, Value) else str(offset)
        return self.writer.write(type_of("ptr"), f"getelementptr {self.type.element}, ptr {base}, "
                                                 f"i64 {number}").text

    def load(self, base: str, offset: int, lanes: int) -> Value:
        """Adjacent elements."""
        type = self.type.of(lanes)
        return self.writer.write(type, f"load {type}, ptr {self.place(base, offset)}, "
                                       f"align {type.bits // 8}")

    def store(self, value: Value, base: str, offset: int) -> None:
        """Store adjacent elements."""
        self.writer.place.lines.append(f"store {value!r}, ptr {self.place(base, offset)}, "
                                       f"align {value.type.bits // 8}")

    def read(self, count: int) -> list[Pair]:
        """Numbers, a vector of each."""
        form, row, lanes = self.side.form, self.side.row, self.type.lanes
        if self.side.lane != 1:
            rows = [self.transposed(base, 2 * count if form == PAIRS else count)
                    for base in self.bases]
            parts = (rows[0][::2], rows[0][1::2]) if form == PAIRS else rows
        elif form == PAIRS:
            both = [self.load(self.bases[0], 2 * q * row, 2 * lanes) for q in range(count)]
            parts = [[v.shuffled(range(part, 2 * lanes, 2)) for v in both] for part in (0, 1)]
        else:
            parts = [[self.load(base, q * row, lanes) for q in range(count)]
                     for base in self.bases]
        if form == REALS:
            parts = [parts[0], [constant(v, 0.0) for v in parts[0]]]
        re, im = reversed(parts) if self.side.swapped else parts
        return [Pair(*both) for both in zip(re, im)]

    def read_back(self) -> Pair:
        """Numbers from the last lane to the first."""
        lanes = self.type.lanes
        if self.side.form == PAIRS:
            both = self.load(self.bases[0], 0, 2 * lanes)
            return Pair(*(both.shuffled(range(2 * lanes - 2 + part, -1, -2)) for part in (0, 1)))
        parts = [self.load(base, 0, lanes) for base in self.bases]
        return Pair(*(v.shuffled(range(lanes - 1, -1, -1)) if lanes > 1 else v for v in parts))

    def write(self, numbers: Sequence[Pair]) -> None:
        """Store numbers, a vector of each."""
        form, row, lanes = self.side.form, self.side.row, self.type.lanes
        parts = [(x.im, x.re) if self.side.swapped else (x.re, x.im) for x in numbers]
        planes = list(zip(*parts)) if form == PLANES else [[x for x, _ in parts]]
        if form == PAIRS and self.side.lane != 1:
            planes = [[x for both in parts for x in both]]
        elif form == PAIRS:
            planes, row = [[interleaved(*both) if lanes > 1 else _joined(*both)
                            for both in parts]], 2 * row
        for base, values in zip(self.bases, planes):
            if self.side.lane == 1:
                for p, value in enumerate(values):
                    self.store(value, base, p * row)
            else:
                self.store_transposed(base, values)

    def apart(self, base: str) -> list[str]:
        """The addresses of lanes."""
        step = self.side.lane * (2 if self.side.form == PAIRS else 1)
        return [self.place(base, n * step) for n in range(self.type.lanes)]

    def transposed(self, base: str, count: int) -> list[Value]:
        """Rows of lanes, of elements that are adjacent in each of the lanes."""
        lanes = self.type.lanes
        bases, rows = self.apart(base), []
        for start in range(0, count, lanes):
            size = min(lanes, count - start)
            pieces = [self.load(at, start, size) for at in bases]
            if lanes == 1:
                rows += pieces
                continue
            wide = [p if size == lanes else _resized(p, lanes) for p in pieces]
            rows += transposed(wide)[:size]
        return rows

    def store_transposed(self, base: str, rows: Sequence[Value]) -> None:
        """Store rows of lanes so that they are adjacent in each of the lanes."""
        lanes = self.type.lanes
        bases = self.apart(base)
        for start in range(0, len(rows), lanes):
            block = list(rows[start:start + lanes])
            size = len(block)
            columns = transposed(block + block[-1:] * (lanes - size)) if lanes > 1 else block
            for at, column in zip(bases, columns):
                self.store(column if size == lanes else _resized(column, size), at, start)


def _zipped(a: Value, b: Value, start: int, count: int) -> Value:
    """Interleave the lanes of two vectors, as far as one is long."""
    lanes = a.type.lanes
    mask = ", ".join(f"i32 {n + lanes * side}" for n in range(start, start + count // 2)
                     for side in (0, 1))
    return a.writer.write(a.type.of(count), f"shufflevector {a!r}, {b!r}, <{count} x i32> <{mask}>")


def interleaved(a: Value, b: Value) -> Value:
    """Interleave all lanes of two vectors."""
    return _zipped(a, b, 0, 2 * a.type.lanes)


def _joined(a: Value, b: Value) -> Value:
    """A vector of two scalars."""
    return Value(a.writer, "poison", a.type.of(2)).with_lane(0, a).with_lane(1, b)


def _resized(x: Value, lanes: int) -> Value:
    """The first lanes of a vector, or a vector with more lanes, which are undefined."""
    if x.type.lanes == 1:
        return Value(x.writer, "poison", x.type.of(lanes)).with_lane(0, x)
    return x.shuffled([min(n, x.type.lanes - 1) for n in range(lanes)])


class Passes:
    """Writes passes into a module, each once."""

    def __init__(self, module: Writer, element: Type):
        self.module, self.element = module, element
        self.by_lane = not module.spares_addends  # whether factors may be lanes of vectors
        self.lanes = max(1, module.machine.vector_bits // element.bits)

    def function(self, name: str, params: Sequence[str],
                 body: Callable[[Function], None]) -> str:
        """The name of a function, which is written at its first use."""
        name = f'"{name}.{self.element}"'
        if name not in self.module.helpers:
            self.module.helpers[name] = ""  # before the helpers that it needs itself
            function = Function(self.module, name, params)
            body(function)
            function.finish()
        return name

    def table(self, name: str, values: Callable[[], np.ndarray],
              element: Type | None = None) -> str:
        """The name of a table of floats."""
        element = element or self.element
        name = f'"{name}.{element}"'
        if name not in self.module.helpers:
            dtype = np.dtype(np.float32 if element.bits == 32 else np.float64)
            data = np.ascontiguousarray(values(), dtype).tobytes()
            text = "\\" + data.hex("\\")
            self.module.helpers[name] = (f"@{name} = internal constant [{len(data)} x i8] "
                                         f'c"{text}", align 64')
        return f"@{name}"

    def step(self, radix: int, outer: int, count: int, source: Side, target: Side,
             turns: str | None = None, scale: float = 1.0) -> str:
        """A pass; ``turns`` says whether results get twiddle factors by "steps" or by "lanes"."""
        lanes = lanes_for(count, self.lanes)
        name = f"pass {radix} {outer} {count} {tuple(source)} {tuple(target)} {turns} {scale}"

        def one(f: Function, j: Value, k: Value, by: Sequence[Sequence[Value]]) -> None:
            given = self.read(f, source, lanes, j, k, radix)
            made = transform(given) if radix <= SHORT else self.of_prime(f, given)
            if turns == "lanes":
                by = self._by_lanes(f.writer, radix, count, lanes, k)
            made[1:] = [times(x, *turn) for x, turn in zip(made[1:], by)] if by else made[1:]
            self.write(f, target, lanes, j, k, made, scale)

        def step(f: Function, j: Value) -> None:
            by = self._by_steps(f.writer, radix, outer, lanes, j) if turns == "steps" else ()
            vectors(f.writer, count, lanes, lambda k: one(f, j, k, by))
        return self.function(name, _SIDES, lambda f: loop(
            f.writer, outer, lambda j: step(f, j)))

    def short(self, kind: str, length: int, count: int, scale: float) -> str:
        """Transform lines in registers, a line in each lane."""
        lanes, half = lanes_for(count, self.lanes), spectrum_size(length)
        size = {"rfft": (length, half), "irfft": (half, length)}.get(kind, (length, length))
        swapped = kind in ("ifft", "irfft")
        source = Side(REALS if kind == "rfft" else PAIRS, 1, lane=size[0], swapped=swapped)
        target = Side(REALS if kind == "irfft" else PAIRS, 1, lane=size[1], swapped=swapped)

        def one(f: Function, k: Value) -> None:
            zero = Value(f.writer, "0", I64)
            given = self.read(f, source, lanes, zero, k, size[0])
            if kind == "irfft":  # parts are swapped, so that the real ones are in im
                nothing = constant(given[0].re, 0.0)
                for q in (0,) if length % 2 else (0, length // 2):
                    given[q] = Pair(nothing, given[q].im)
                given += [Pair(-given[length - q].re, given[length - q].im)
                          for q in range(half, length)]
            made = transform(given) if length <= SHORT else self.of_prime(f, given)
            self.write(f, target, lanes, zero, k, made[:size[1]], scale)
        return self.function(f"short {kind} {length} {count} {scale}", _SIDES, lambda f: vectors(
            f.writer, count, lanes, lambda k: one(f, k)))

    def of_prime(self, f: Function, x: Sequence[Pair]) -> list[Pair]:
        """The transform of an odd length, as in ``butterflies.py`` but in a loop.

        It computes two results at a time, together with their opposites.
        """
        n, half, type, write = len(x), len(x) // 2, x[0].re.type, f.writer.write
        pairs = -(-half // 2)
        room = "%" + f.writer.fresh("room")
        f.rooms.append(f"{room} = alloca [{4 * half + 2 * n} x {type}], align 64")
        sums = [x[q] + x[n - q] for q in range(1, half + 1)]
        differences = [x[q] - x[n - q] for q in range(1, half + 1)]

        def place(number: Value | int) -> str:
            text = number.text if isinstance(number, Value) else number
            return write(type_of("ptr"), f"getelementptr {type}, ptr {room}, i64 {text}").text

        def put(number: Value | int, *values: Value) -> None:
            for offset, value in enumerate(values):
                f.lines.append(f"store {value!r}, ptr {place(number + offset)}")

        def get(number: Value | int, count: int) -> list[Value]:
            return [write(type, f"load {type}, ptr {place(number + offset)}")
                    for offset in range(count)]

        def factors() -> np.ndarray:
            p = np.minimum(np.arange(1, 2 * pairs + 1), half).reshape(pairs, 1, 2)
            turns = roots(p * np.arange(1, half + 1)[:, None], n)
            return np.stack([turns.real, -turns.imag], -1)
        table = self.table(f"waves {n}", factors)

        def two(i: Value) -> None:
            def step(q: Value, sums: Sequence[Value]) -> list[Value]:
                by = self._spread(f.writer, table, (i * half + q) * 4, 4, type.lanes)
                re, im, along, across = get(q * 4, 4)
                return [muladd(*terms) for terms in zip(
                    (re, im, along, across) * 2, (by[0], by[0], by[1], by[1], by[2], by[2], by[3],
                                                  by[3]), sums)]
            zero = constant(x[0].re, 0.0)
            done = repeat(half, [x[0].re, x[0].im, zero, zero] * 2, step)
            for p, (re, im, along, across) in ((i * 2 + 1, done[:4]), (intrinsic(
                    "smin", i * 2 + 2, half), done[4:])):
                put(p * 2 + 4 * half, re + across, im - along)
                put((n - p) * 2 + 4 * half, re - across, im + along)

        for q, (plus, minus) in enumerate(zip(sums, differences)):
            put(4 * q, plus.re, plus.im, minus.re, minus.im)
        loop(f.writer, pairs, two)
        total = x[0]
        for term in sums:
            total = total + term
        return [total, *(Pair(*get(4 * half + 2 * p, 2)) for p in range(1, n))]

    def read(self, f: Function, side: Side, lanes: int, j: Value, k: Value,
             count: int) -> list[Pair]:
        """The numbers of a vector's lanes."""
        return Memory(f.writer, self.element, lanes, side, "%from", "%from.im",
                      side.at(j, k)).read(count)

    def write(self, f: Function, side: Side, lanes: int, j: Value, k: Value,
              made: Sequence[Pair], scale: float = 1.0) -> None:
        """Store the numbers of a vector's lanes."""
        made = [x.times(scale) for x in made] if scale != 1 else made
        Memory(f.writer, self.element, lanes, side, "%to", "%to.im", side.at(j, k)).write(made)

    def _by_lanes(self, writer: Writer, radix: int, count: int, lanes: int, k: Value):
        """Twiddle factors of the results, one per lane."""
        table = self.table(f"turns of lanes {radix} {count}", lambda: parts_of(
            roots(np.outer(np.arange(1, radix), np.arange(count)), radix * count), 1))
        rows = Memory(writer, self.element, lanes, Side(PLANES, 2 * count), table,
                      f"getelementptr ({self.element}, ptr {table}, i64 {count})", k)
        return [(x.re, x.im) for x in rows.read(radix - 1)]

    def _by_steps(self, writer: Writer, radix: int, outer: int, lanes: int, j: Value):
        """Twiddle factors of the results in a step, one for all lanes."""
        size = 2 * (radix - 1)
        width = self.lanes if self.by_lane and lanes > 1 else 1
        stride = -(-size // width) * width

        def values() -> np.ndarray:
            turns = roots(np.outer(np.arange(outer), np.arange(1, radix)), radix * outer)
            table = np.zeros((outer, stride))
            table[:, :size] = parts_of(turns[..., None], 2).reshape(outer, size)
            return table
        table = self.table(f"turns of steps {radix} {outer} {stride}", values)
        parts = self._spread(writer, table, j * stride, size, lanes)
        return list(zip(parts[::2], parts[1::2]))

    def _spread(self, writer: Writer, table: str, at: Value, count: int, lanes: int) -> list[Value]:
        """Numbers of a table, each in all lanes; there may be more of them than needed."""
        width = self.lanes if self.by_lane and lanes > 1 else 1
        rows = Memory(writer, self.element, width, Side(REALS, 0), table, table, at)
        loaded = [rows.load(rows.bases[0], n, width) for n in range(0, count, width)]
        return [loaded[n // width].shuffled([n % width] * lanes) if width > 1 else
                loaded[n].of(lanes) for n in range(count)]


def parts_of(numbers: np.ndarray, axis: int) -> np.ndarray:
    """Real parts, then imaginary ones, along a separate axis."""
    return np.stack([numbers.real, numbers.imag], axis)
