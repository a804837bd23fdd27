"""Code for batches of small matrices: the algorithms of ``_loops/small``, one matrix in each lane.

A block of matrices, as many as lanes, is read into private memory in which one vector holds the
same element of all of them, factorised there, and written back. For the smallest matrices, all
elements are in registers and the algorithm is unrolled. The last block may have fewer matrices than
lanes: the other lanes hold the last matrix again, and write the same values to the same place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from ..._loops.nest import Buffer, Extern
from ..._loops.small.lanes import ALGORITHMS
from ..emit import values
from ..emit.polling import poll
from ..emit.shuffles import transposed
from ..emit.storage import register_type
from ..emit.values import (
    I64,
    Type,
    Value,
    Writer,
    constant,
    in_parallel,
    integer,
    muladd,
    resized,
    type_of,
)
from ..schedule.small_matrices import is_written_out, matrix_shape

__all__ = ["write_matrices"]

_POINTER = type_of("ptr")

Number = int | Value


# -- matrices in lanes -----------------------------------------------------------------------------


class _Registers:
    """A matrix whose elements are values; all indices are known."""

    def __init__(self, shape: tuple[int, int], elements: dict | None = None, swap: bool = False):
        self.shape = shape
        self.elements: dict[tuple[int, int], Value] = {} if elements is None else elements
        self.swap = swap

    @property
    def T(self) -> _Registers:
        return _Registers(self.shape[::-1], self.elements, not self.swap)

    def __getitem__(self, index):
        return self.elements[index[::-1] if self.swap else index]

    def __setitem__(self, index, value):
        self.elements[index[::-1] if self.swap else index] = value


class _Memory:
    """A matrix in memory: one vector per element; those of a row are adjacent."""

    def __init__(self, base: Value, type: Type, shape: tuple[int, int], steps: tuple[int, int]):
        self.base, self.type, self.shape, self.steps = base, type, shape, steps

    @property
    def T(self) -> _Memory:
        return _Memory(self.base, self.type, self.shape[::-1], self.steps[::-1])

    def place(self, index: Sequence[Number], scalars: bool = False) -> Value:
        """The address of a vector, or of a scalar in the first lane of one.

        Indices of outer loops are added first, so that this is computed there.
        """
        unit = self.type.of(1) if scalars else self.type
        steps = [step * (self.type.lanes if scalars else 1) for step in self.steps]
        parts = sorted(zip(index, steps), key=lambda part: _age(part[0]))
        place, known = self.base, 0
        for i, step in parts:
            if isinstance(i, int):
                known += i * step
            else:
                i = resized(i, 64)
                place = _moved(place, i * step if step != 1 else i, unit)
        return _moved(place, known, unit) if known else place

    def lane_places(self, index: Sequence[Number]) -> list[Value]:
        """The addresses of a scalar in each lane, where one index is a vector."""
        return [_moved(self.place([_lane(i, n) for i in index], scalars=True), n, self.type.of(1))
                for n in range(self.type.lanes)]

    def __getitem__(self, index):
        if not any(_in_lanes(i) for i in index):
            return _load(self.place(index), self.type)
        result = Value(self.base.writer, "poison", self.type)
        for n, place in enumerate(self.lane_places(index)):
            result = result.with_lane(n, _load(place, self.type.of(1)))
        return result

    def __setitem__(self, index, value):
        if not any(_in_lanes(i) for i in index):
            _store(value, self.place(index))
            return
        for n, place in enumerate(self.lane_places(index)):
            _store(value.lane(n), place)


def _in_lanes(i: Number) -> bool:
    return isinstance(i, Value) and i.type.lanes > 1


def _lane(i: Number, n: int) -> Number:
    """An index in one lane."""
    return resized(i.lane(n), 64) if isinstance(i, Value) and i.type.lanes > 1 else i


def _age(i: Number) -> int:
    """Values are numbered as they are written, so those of outer loops come first."""
    found = re.search(r"\d+$", i.text) if isinstance(i, Value) else None
    return int(found.group()) if found else -1


def _moved(place: Value, by: Number, unit: Type) -> Value:
    step = _as_value(place.writer, by)
    return place.writer.write(_POINTER, f"getelementptr {unit.text}, {place!r}, {step!r}")


def _load(place: Value, type: Type) -> Value:
    return place.writer.write(type, f"load {type.text}, {place!r}, align {_align(type)}")


def _store(value: Value, place: Value) -> None:
    value.writer.place.lines.append(f"store {value!r}, {place!r}, align {_align(value.type)}")


def _align(type: Type) -> int:
    return type.bits // 8


# -- the machine -----------------------------------------------------------------------------------


class _Machine:
    """Writes the operations of algorithms; see ``Arrays`` in ``_loops/small/lanes.py``."""

    def __init__(self, writer: Writer, dtype: np.dtype, lanes: int, written_out: bool):
        self.writer, self.dtype, self.written_out = writer, dtype, written_out
        self.numbers = register_type(dtype).of(lanes)
        self.whole = integer(self.numbers.bits, lanes)
        self.rooms: list[str] = []

    def matrix(self, rows: int, columns: int = 1) -> Any:
        return self.room(self.numbers, rows, columns)

    def integers(self, rows: int, columns: int = 1) -> Any:
        return self.room(self.whole, rows, columns)

    def room(self, type: Type, rows: int, columns: int) -> Any:
        if self.written_out:
            return _Registers((rows, columns))
        base = Value(self.writer, "%" + self.writer.fresh("room"), _POINTER)
        self.rooms.append(f"{base.text} = alloca [{rows * columns} x {type.text}], align 64")
        return _Memory(base, type, (rows, columns), (columns, 1))

    def number(self, x: float) -> Value:
        return constant(Value(self.writer, "poison", self.numbers), x)

    def integer(self, index: Number) -> Value:
        if isinstance(index, int):
            return constant(Value(self.writer, "poison", self.whole), index)
        return resized(index, self.whole.bits).of(self.whole.lanes)

    # -- control

    def each(self, start: Number, stop: Number, body: Callable[[Any], None],
             backwards: bool = False) -> None:
        def step(k):
            body(k)
            return ()
        self.fold(start, stop, (), step, backwards)

    def strips(self, start: Number, stop: Number, body: Callable[[Sequence], None]) -> None:
        count, size = stop - start, self.writer.machine.tuning.matrices.strip
        whole = (count // size if isinstance(count, int)
                 else self.writer.write(I64, f"ashr {count!r}, {size.bit_length() - 1}"))

        def strip(n):
            first = start + n * size
            body([first + k for k in range(size)])
        self.each(0, whole, strip)
        self.each(start + whole * size, stop, lambda i: body([i]))

    def fold(self, start: Number, stop: Number, states: Sequence[Value], step: Callable,
             backwards: bool = False) -> list[Value]:
        states = list(states)
        if isinstance(start, int) and isinstance(stop, int):
            if self.written_out or stop - start < 2:
                for k in (reversed(range(start, stop)) if backwards else range(start, stop)):
                    states = list(step(k, *states))
                return states
            return self.loop(start, stop, states, step, backwards)
        writer, place = self.writer, self.writer.place
        some, after, before = writer.fresh("some"), writer.fresh("after"), place.block
        more = _as_value(writer, stop) > start
        place.lines.append(f"br {more!r}, label %{some}, label %{after}")
        place.start(some)
        last = self.loop(start, stop, states, step, backwards)
        inner = place.block
        place.lines.append(f"br label %{after}")
        place.start(after)
        return [writer.write(new.type, f"phi {new.type.text} [ {new.text}, %{inner} ], "
                                       f"[ {old.text}, %{before} ]")
                for new, old in zip(last, states)]

    def loop(self, start: Number, stop: Number, states: Sequence[Value], step: Callable,
             backwards: bool) -> list[Value]:
        """A loop of at least one step."""
        writer, place = self.writer, self.writer.place
        before, loop, done = place.block, writer.fresh("loop"), writer.fresh("done")
        first, end = (_as_value(writer, stop - 1), start) if backwards else (
            _as_value(writer, start), stop)
        place.lines.append(f"br label %{loop}")
        place.start(loop)
        at = len(place.lines)
        k = Value(writer, "%" + writer.fresh("k"), I64)
        current = [Value(writer, "%" + writer.fresh("s"), value.type) for value in states]
        after = list(step(k, *current))
        following = k + (-1 if backwards else 1)
        place.lines[at:at] = [
            f"{old.text} = phi {old.type.text} [ {new.text}, %{before} ], "
            f"[ {next.text}, %{place.block} ]"
            for old, new, next in zip([k, *current], [first, *states], [following, *after])]
        more = following >= end if backwards else following < end
        place.lines.append(f"br {more!r}, label %{loop}, label %{done}")
        place.start(done)
        return after

    def until_none(self, body: Callable[[], Value], most: int) -> None:
        writer, place = self.writer, self.writer.place
        before, loop, done = place.block, writer.fresh("loop"), writer.fresh("done")
        place.lines.append(f"br label %{loop}")
        place.start(loop)
        at, times = len(place.lines), Value(writer, "%" + writer.fresh("times"), I64)
        more = self.any(body())
        following = times + 1
        place.lines.insert(at, f"{times.text} = phi i64 [ 0, %{before} ], "
                               f"[ {following.text}, %{place.block} ]")
        place.lines.append(f"br {(more & (following < most))!r}, label %{loop}, label %{done}")
        place.start(done)

    def when(self, some: Value, body: Callable[[], None]) -> None:
        if self.written_out:
            body()
            return
        writer, place = self.writer, self.writer.place
        then, after = writer.fresh("then"), writer.fresh("after")
        place.lines.append(f"br {self.any(some)!r}, label %{then}, label %{after}")
        place.start(then)
        body()
        place.lines.append(f"br label %{after}")
        place.start(after)

    def any(self, mask: Value) -> Value:
        """Whether a mask holds in some lane."""
        lanes = mask.type.lanes
        if lanes == 1:
            return mask
        return self.writer.call(f"llvm.vector.reduce.or.v{lanes}i1", values.I1, [mask])

    # -- numbers

    def fma(self, a: Value, b: Value, c: Value) -> Value:
        return muladd(a, b, c)

    def sqrt(self, x: Value) -> Value:
        return values.sqrt(x)

    def abs(self, x: Value) -> Value:
        return values.absolute(x)

    def larger(self, a: Value, b: Value) -> Value:
        return values.maximum(a, b)

    def copysign(self, size: Value, sign: Value) -> Value:
        return values.copysign(size, sign)

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        return values.select(condition, a, b)

    def same(self, a: Value, b: Value) -> Value:
        return a.eq(b)

    def least(self, integers: Value) -> Value:
        return self.over_lanes("smin", integers)

    def greatest(self, integers: Value) -> Value:
        return self.over_lanes("smax", integers)

    def over_lanes(self, name: str, integers: Value) -> Value:
        """One integer from those in lanes, as an index."""
        kind = integers.type
        if kind.lanes > 1:
            integers = self.writer.call(f"llvm.vector.reduce.{name}.v{kind.lanes}i{kind.bits}",
                                        kind.of(1), [integers])
        return resized(integers, 64)

    def is_nan(self, x: Value) -> Value:
        return x.ne(x)

    def exchange(self, a: Any, i: Number, other: Value, columns: int) -> None:
        def swap(j):
            x = a[i, j]
            a[i, j] = a[other, j]
            a[other, j] = x
        if not self.written_out:
            self.each(0, columns, swap)
            return
        for row in range(i + 1, a.shape[0]):
            takes = other.eq(self.integer(row))
            for j in range(columns):
                x, y = a[i, j], a[row, j]
                a[i, j], a[row, j] = self.select(takes, y, x), self.select(takes, x, y)


def _as_value(writer: Writer, index: Number) -> Value:
    return Value(writer, str(index), I64) if isinstance(index, int) else index


# -- blocks of matrices ----------------------------------------------------------------------------


class _Array:
    """Matrices in a buffer, and where those of each lane begin."""

    def __init__(self, buffer: Buffer, rank: int, lanes: int):
        self.rows, self.columns = matrix_shape(buffer, rank)
        self.size = self.rows * self.columns
        self.element = register_type(buffer.dtype)
        self.type = self.element.of(lanes)
        self.places: list[Value] = []

    def find(self, base: Value, numbers: Sequence[Value]) -> None:
        """Compute the addresses of the matrices with these numbers."""
        self.places = [_moved(base, number * self.size, self.element) for number in numbers]

    def read(self, machine: _Machine) -> Any:
        """Read the matrices into lanes."""
        matrix = machine.room(self.type, self.rows, self.columns)

        def chunk(n):
            first = n * self.type.lanes
            rows = [_load(_moved(place, first, self.element), self.type) for place in self.places]
            for k, vector in enumerate(transposed(rows)):
                self.put(matrix, first + k, vector)
        whole = self.size // self.type.lanes
        machine.each(0, whole, chunk)
        for n in range(whole * self.type.lanes, self.size):
            vector = Value(machine.writer, "poison", self.type)
            for lane, place in enumerate(self.places):
                scalar = _load(_moved(place, n, self.element), self.element)
                vector = vector.with_lane(lane, scalar) if self.type.lanes > 1 else scalar
            self.put(matrix, n, vector)
        return matrix

    def write(self, machine: _Machine, matrix: Any) -> None:
        """Write matrices back."""
        def chunk(n):
            first = n * self.type.lanes
            vectors = [self.get(matrix, first + k) for k in range(self.type.lanes)]
            for place, row in zip(self.places, transposed(vectors)):
                _store(row, _moved(place, first, self.element))
        whole = self.size // self.type.lanes
        machine.each(0, whole, chunk)
        for n in range(whole * self.type.lanes, self.size):
            vector = self.get(matrix, n)
            for lane, place in enumerate(self.places):
                _store(vector.lane(lane) if self.type.lanes > 1 else vector,
                       _moved(place, n, self.element))

    def index(self, n: Number) -> tuple[Number, Number]:
        """The index of an element by its position."""
        return (0, n) if isinstance(n, Value) else divmod(n, self.columns)

    def put(self, matrix: Any, n: Number, value: Value) -> None:
        matrix[self.index(n)] = value

    def get(self, matrix: Any, n: Number) -> Value:
        value = matrix[self.index(n)]
        return value if value.type.is_float else resized(value, self.type.bits)


def write_matrices(call: Extern, pointers: Mapping[Buffer, str], writer: Writer) -> str:
    """Call the function for a batch of matrices, which is written into the module."""
    params = dict(call.params)
    count, lanes = prod(call.inputs[0].shape[:params["rank"]]), params["lanes"]
    name = _function(call, writer)
    buffers = (*call.outputs, *call.inputs)
    addresses = ", ".join([f"ptr {pointers[b]}" for b in buffers])
    blocks = -(-count // lanes)
    tasks = min(params["tasks"], blocks)
    if tasks < 2:
        return f"call void @{name}({addresses}, i64 {count}, i64 0, i64 {blocks})"
    each = -(-blocks // tasks)
    tasks = -(-blocks // each)
    task = f'"{tasks} of {count} {name[1:]}'
    if task not in writer.helpers:
        inner = Writer(writer)
        args = [inner.write(_POINTER, f"load ptr, ptr {place.text}") for place in (
            inner.write(_POINTER, f"getelementptr ptr, ptr %context, i64 {n}")
            for n in range(len(buffers)))]
        first = Value(inner, "%task", I64) * each
        last = values.intrinsic("smin", first + each, blocks)
        given = ", ".join(map(repr, args))
        writer.helpers[task] = "\n".join([
            f"define internal void @{task}(ptr %context, i64 %task) {{", "entry:",
            *inner.place.lines,
            f"call void @{name}({given}, i64 {count}, {first!r}, {last!r})", "ret void", "}"])
    return in_parallel(writer, task, [pointers[buffer] for buffer in buffers], tasks)


def _function(call: Extern, writer: Writer) -> str:
    """The name of the function for some of the blocks."""
    params = dict(call.params)
    rank, lanes, algorithm = params["rank"], params["lanes"], params["algorithm"]
    dtype = call.inputs[0].dtype
    buffers = (*call.outputs, *call.inputs)
    shapes = ", ".join("x".join(map(str, matrix_shape(b, rank))) for b in buffers)
    name = f'"{algorithm} {dtype.name} {lanes}: {shapes} {params["options"]}"'
    if name in writer.helpers:
        return name
    writer.helpers[name] = ""
    inner = Writer(writer)
    machine = _Machine(inner, dtype, lanes, is_written_out(call, inner.machine.tuning.matrices))
    arrays = [_Array(b, rank, lanes) for b in buffers]
    bases = [Value(inner, f"%base{n}", _POINTER) for n in range(len(buffers))]
    place, block = inner.place, Value(inner, "%block", I64)
    place.lines.append("%some = icmp slt i64 %first, %last")
    place.lines.append("br i1 %some, label %blocks, label %end")
    place.start("blocks")
    place.lines.append("%block = phi i64 [ %first, %entry ], [ %following, %next ]")
    last = Value(inner, "%count", I64) - 1
    numbers = [values.intrinsic("smin", block * lanes + n, last) for n in range(lanes)]
    for array, base in zip(arrays, bases):
        array.find(base, numbers)
    outs, ins = arrays[:len(call.outputs)], arrays[len(call.outputs):]
    results = ALGORITHMS[algorithm](machine, *(a.read(machine) for a in ins),
                                    **dict(params["options"]))
    for array, matrix in zip(outs, results, strict=True):
        array.write(machine, matrix)
    lines, _ = poll(inner, "again", "end")
    place.lines += [
        *lines, "again:", "%following = add i64 %block, 1",
        "%more = icmp slt i64 %following, %last", "br i1 %more, label %next, label %end",
        "next:", "br label %blocks", "end:", "ret void"]
    given = ", ".join([*map(repr, bases), "i64 %count", "i64 %first", "i64 %last"])
    writer.helpers[name] = "\n".join([
        f"define internal void @{name}({given}) {{", "entry:", *machine.rooms, *place.lines, "}"])
    return name
