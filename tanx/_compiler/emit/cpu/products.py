"""Code around the kernels of tiles: units of rows and columns, strips of tiles, and what follows.

A task processes some units. In a unit, tiles of the same rows form a strip. The part of an operand
that is not stored is computed first, as much as the unit needs. Sums that are only stored go
directly to their place; others stay in strips of their own until everything computed from them is
stored, row by row. Many terms are added in several passes, each of which adds to the strips of the
whole unit. The last rows and columns are computed by tiles that begin earlier, and so overlap
others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, prod

from ...._base.digest import digest
from ...._loops.expr import Variable, fresh_index
from ...._loops.nest import Buffer
from ...._loops.tiles import Operand, Tiled
from ...kernels.gemm.micro import kernel_symbol
from ...schedule.lanes import Loop
from ..scopes import Lanes, Scope
from ..storage import register_type
from ..values import I64, Value, intrinsic, select, type_of
from .parts import Parts

__all__ = ["write_task", "write_within"]

_POINTER = type_of("ptr")


def write_task(nest: Tiled, parts: Parts) -> None:
    """Write the function of a task, whose number is ``%task``."""
    _Task(nest, parts).write()


def write_within(nest: Tiled, parts: Parts, scope: Scope) -> None:
    """Write a product that is one of several statements of a task."""
    _Task(nest, parts).write_units(scope)


class _Task:
    """Writes the function of a task."""

    def __init__(self, nest: Tiled, parts: Parts):
        tiling = nest.tiling
        self.tiling, self.lanes = tiling, nest.lanes
        self.parts, self.writer = parts, parts.writer
        self.element = register_type(tiling.total.dtype)
        self.passes = tiling.passes
        self.symbol = kernel_symbol(tiling.tile, tiling.total.dtype, self.passes > 1,
                                    tiling.times, tiling.in_runs)
        self.rows_apart = tiling.in_runs and tiling.tile.form == "k"
        self.row_slots, self.strips = (
            Value(self.writer, f"%{self.writer.fresh(name)}", _POINTER) for name in (
                "rows", "strip"))
        if self.rows_apart:
            self.allocate(self.row_slots.text, f"[{tiling.tile.rows} x ptr], align 8")
        self.firsts: dict[Buffer, Value] = {}  # where the current contents of rooms begin
        for operand in (tiling.left, tiling.right):
            if operand.room is not None:
                name = parts.addresses.pointers[operand.buffer] = (
                    f"%{self.writer.fresh(operand.buffer.name)}")
                self.allocate(name, f"[{prod(operand.buffer.shape)} x {self.element.text}], "
                                    f"align 64")
        if tiling.result is None:
            self.step_of_strip = ceil(tiling.block / tiling.tile.columns) * tiling.tile.columns
            rows = ceil(tiling.chunk / tiling.tile.rows) if self.passes > 1 else 1
            self.size_of_strips = rows * tiling.tile.rows * self.step_of_strip
            self.allocate(self.strips.text,
                          f"[{self.size_of_strips} x {self.element.text}], align 64")

    def allocate(self, name: str, type: str) -> None:
        """Memory on the stack, allocated at the start of the function."""
        self.parts.top.lines.insert(0, f"{name} = alloca {type}")

    def write(self) -> None:
        """All units of a task."""
        tiling, top = self.tiling, self.parts.top
        first = self.parts.control.at(top, lambda: Value(self.writer, "%task", I64) * tiling.group)
        if tiling.group == 1:
            self.parts.control.at(top, lambda: self.unit(top, first))
            return
        count = self.parts.control.at(top, lambda: intrinsic(
            "smin", tiling.units - first, tiling.group))
        self.loop(top, count, lambda scope, n: self.unit(scope, first + n))

    def write_units(self, scope: Scope) -> None:
        """All units, one after the other."""
        self.loop(scope, self.number(self.tiling.units), self.unit)

    def loop(self, scope: Scope, count: Value, body: Callable[[Scope, Value], None],
             bound: Sequence[Variable] = ()) -> None:
        """A loop of at least one step; the body gets the number of the step."""
        index = fresh_index(1)

        def step(inner: Scope, states) -> list:
            body(inner, inner.values[index])
            return []
        self.parts.control.loop(scope, Loop(index, (index,), False), 0, count, [], step,
                                bound=bound)

    # -- units -------------------------------------------------------------------------------------

    def unit(self, scope: Scope, number: Value) -> None:
        """A chunk of rows of a block of columns."""
        tiling, tile = self.tiling, self.tiling.tile
        *outer, block, chunk = self.digits(number, tiling.pieces)
        scope.values.update(zip(tiling.outer, outer))
        column, row = block * tiling.block, chunk * tiling.chunk
        columns = intrinsic("smin", tiling.column.extent - column, tiling.block)
        rows = intrinsic("smin", tiling.row.extent - row, tiling.chunk)
        left, right = (self.base(operand, scope) for operand in (tiling.left, tiling.right))
        self.compute(tiling.left, scope, row, self.number(0))
        if self.passes == 1:
            self.compute(tiling.right, scope, column, self.number(0))
        strips = self.pieces(rows, tile.rows)
        if self.passes > 1:
            self.passes_over(scope, left, right, strips, row, column, columns)
        elif tiling.result is None:
            def strip(inner: Scope, n: Value) -> None:
                here = row + n * tile.rows
                self.tiles(inner, left, right, self.strips, here, column, columns,
                           self.number(tiling.term.extent))
                self.finish(inner, self.strips, here, column, columns)
            self.loop(scope, strips, strip, tiling.outer)
        else:
            result = self.base(tiling.result, scope)
            self.loop(scope, strips, lambda inner, n: self.tiles(
                inner, left, right, result, row + n * tile.rows, column, columns,
                self.number(tiling.term.extent)), tiling.outer)

    def passes_over(self, scope: Scope, left: Value, right: Value, strips: Value, row: Value,
                    column: Value, columns: Value) -> None:
        """All terms in several passes, and then what is computed from their sums."""
        tiling, tile = self.tiling, self.tiling.tile

        def strip_at(n: Value) -> Value:
            return self.step(self.strips, n * (tile.rows * self.step_of_strip))

        def one_pass(inner: Scope, n: Value) -> None:
            terms = intrinsic("smin", tiling.term.extent - n * tiling.depth, tiling.depth)
            apart = [operand.across * tiling.depth for operand in (tiling.left, tiling.right)]
            if tiling.in_runs:
                terms = self.number(tiling.term.extent)
                apart = [operand.runs[0] for operand in (tiling.left, tiling.right)]
            self.compute(tiling.right, inner, column, n * tiling.depth)
            a, b = (place if operand.room else self.step(place, n * step) for place, step, operand
                    in zip((left, right), apart, (tiling.left, tiling.right)))
            self.loop(inner, strips, lambda deep, m: self.tiles(
                deep, a, b, strip_at(m), row + m * tile.rows, column, columns, terms))

        size = self.size_of_strips * self.element.bits // 8
        name = "llvm.memset.p0.i64"
        self.writer.declared[name] = f"declare void @{name}(ptr, i8, i64, i1)"
        self.writer.place.lines.append(
            f"call void @{name}(ptr align 64 {self.strips.text}, i8 0, i64 {size}, i1 false)")
        self.loop(scope, self.number(self.passes), one_pass, tiling.outer)
        self.parts.control.at(scope, lambda: self.loop(scope, strips, lambda inner, n: self.finish(
            inner, strip_at(n), row + n * tile.rows, column, columns), tiling.outer))

    def digits(self, number: Value, sizes: Sequence[int]) -> list[Value]:
        """A number by its digits, the last one fastest."""
        found = []
        for size, above in zip(sizes[::-1], [prod(sizes[:n]) for n in range(len(sizes))][::-1]):
            if size == 1:
                found.append(self.number(0))
            elif above == 1:
                found.append(number)
            else:
                found.append(self.writer.write(I64, f"urem {number!r}, {size}"))
                number = self.writer.write(I64, f"udiv {number!r}, {size}")
        return found[::-1]

    def pieces(self, size: Value, unit: int) -> Value:
        return self.writer.write(I64, f"udiv {size + (unit - 1)!r}, {unit}")

    # -- places ------------------------------------------------------------------------------------

    def number(self, number: int) -> Value:
        return Value(self.writer, str(number), I64)

    def base(self, operand: Operand, scope: Scope) -> Value:
        """Where an operand begins in the outer loops."""
        place = Value(self.writer, self.parts.addresses.pointers[operand.buffer], _POINTER)
        for index, distance in operand.outer.items():
            place = self.step(place, scope.find(index) * distance)
        return self.step(place, operand.first) if operand.first else place

    def compute(self, operand: Operand, scope: Scope, begin: Value, term: Value) -> None:
        """Fill the room of an operand, if it has one, from a row (or column) and a term on.

        The last rows are always filled completely, even if some of them were in the room before."""
        room = operand.room
        if room is None:
            return
        inner = scope.within((*self.tiling.outer, room.first, room.start))
        inner.values.update({i: scope.find(i) for i in self.tiling.outer})
        self.firsts[operand.buffer] = inner.values[room.first] = intrinsic(
            "smin", begin, room.first.extent - 1)
        inner.values[room.start] = term
        for statement in room.fill:
            self.parts.statements.write(statement, inner)

    def step(self, place: Value, by: Value | int) -> Value:
        by = self.number(by) if isinstance(by, int) else by
        return self.writer.write(_POINTER, f"getelementptr {self.element.text}, {place!r}, {by!r}")

    def before_end(self, start: Value, extent: int, size: int) -> Value:
        """Where a tile begins so that it does not reach beyond the end, if possible."""
        return intrinsic("smin", start, max(extent - size, 0)) if extent % size else start

    def within(self, operand: Operand, start: Value, begin: Value, size: int) -> Value:
        """The offset of a tile in an operand, given where it would start and where it begins."""
        if operand.room is not None:
            return (begin - self.firsts[operand.buffer]) * operand.along
        if not operand.panel:
            return begin * operand.along
        return self.writer.write(I64, f"udiv {start!r}, {size}") * operand.along

    # -- tiles -------------------------------------------------------------------------------------

    def tiles(self, scope: Scope, left: Value, right: Value, out: Value, row: Value, column: Value,
              columns: Value, terms: Value) -> None:
        """Tiles of the same rows, from a row and a column on; a strip has adjacent tiles."""
        tiling, tile = self.tiling, self.tiling.tile
        begin = self.before_end(row, tiling.row.extent, tile.rows)
        if self.rows_apart:
            place = self.row_places(scope, left, begin)
        else:
            place = self.step(left, self.within(tiling.left, row, begin, tile.rows))
        a_step = tiling.left.along if tile.form == "k" else tiling.left.across
        runs = self.runs()
        more = ", ptr, i64" if runs else ""
        out_step = self.step_of_strip if tiling.result is None else tiling.result.along
        if tiling.result is not None:
            out = self.step(out, begin * tiling.result.along)
        self.writer.declared[self.symbol] = (
            f'declare void @"{self.symbol}"(ptr, i64, ptr, i64, i64, ptr, i64{more})')

        def one(inner: Scope, n: Value) -> None:
            start = column + n * tile.columns
            begin = self.before_end(start, tiling.column.extent, tile.columns)
            b = self.step(right, self.within(tiling.right, start, begin, tile.columns))
            to = self.step(out, n * tile.columns if tiling.result is None else begin)
            self.writer.place.lines.append(
                f'call void @"{self.symbol}"({place!r}, i64 {a_step}, {b!r}, '
                f"i64 {tiling.right.across}, {terms!r}, {to!r}, i64 {out_step}{runs})")
        self.loop(scope, self.pieces(columns, tile.columns), one)

    def row_places(self, scope: Scope, left: Value, begin: Value) -> Value:
        """An array of the addresses of the rows of a tile."""
        tiling, rows = self.tiling, self.row_slots
        operand = tiling.left
        within = operand.place if operand.place is not None else tiling.row * operand.along

        def one(inner: Scope, n: Value) -> None:
            inner.values[tiling.row] = begin + n
            place = self.step(left, self.parts.expressions.value(within, inner))
            slot = self.writer.write(_POINTER, f"getelementptr ptr, {rows!r}, {n!r}")
            self.writer.place.lines.append(f"store {place!r}, {slot!r}")
        self.loop(scope, self.number(tiling.tile.rows), one, (tiling.row,))
        return rows

    def runs(self) -> str:
        """The arguments of a kernel that say where runs of terms begin."""
        if not self.tiling.in_runs:
            return ""
        starts = self.tiling.starts
        numbers = ", ".join(f"i64 {n}" for pair in starts for n in pair)
        name = f"runs.{digest(numbers.encode()).hex()[:16]}"
        self.writer.helpers[name] = (
            f"@{name} = private constant [{2 * len(starts)} x i64] [{numbers}]")
        return f", ptr @{name}, i64 {len(starts)}"

    # -- what follows ------------------------------------------------------------------------------

    def finish(self, scope: Scope, strip: Value, row: Value, column: Value, columns: Value) -> None:
        """What is computed from a strip, row by row; its last tile may have begun earlier, too."""
        tiling, tile = self.tiling, self.tiling.tile
        rows = intrinsic("smin", tiling.row.extent - row, tile.rows)
        begin = self.before_end(row, tiling.row.extent, tile.rows)
        first = self.step(strip, (row - begin) * self.step_of_strip)

        def one(inner: Scope, n: Value) -> None:
            inner.values[tiling.row] = row + n
            self.row(inner, self.step(first, n * self.step_of_strip), column, columns)
        self.loop(scope, rows, one, (tiling.row,))

    def row(self, scope: Scope, sums: Value, column: Value, columns: Value) -> None:
        """One row of a strip: whole tiles, and the last one if it is partial."""
        tiling, size = self.tiling, self.tiling.tile.columns
        if tiling.column.extent % size == 0:
            self.stretch(scope, sums, column, columns)
            return
        rest = self.writer.write(I64, f"urem {columns!r}, {size}")
        whole = columns - rest
        start = column + whole
        begin = self.before_end(start, tiling.column.extent, size)

        def part(inner: Scope, n: Value) -> None:
            first = n.eq(0)
            shift = select(first, 0, whole + (start - begin))
            self.stretch(inner, self.step(sums, shift), select(first, column, start),
                         select(first, whole, rest))
        self.loop(scope, self.number(2), part)

    def stretch(self, scope: Scope, sums: Value, column: Value, columns: Value) -> None:
        """Some columns of a row, possibly none: in vectors, and the remainder one by one."""
        tiling, parts, width = self.tiling, self.parts, self.lanes
        bound = (tiling.column, tiling.total)
        whole = self.writer.write(I64, f"udiv {columns!r}, {width}")
        parts.conditions.when(whole > 0, scope, lambda arm: self.loop(
            arm, whole, lambda inner, n: self.elements(inner, sums, column, n * width, width),
            bound))
        if width > 1 and tiling.column.extent % width:
            done = whole * width
            parts.conditions.when(columns > done, scope, lambda arm: self.loop(
                arm, columns - done, lambda inner, n: self.elements(
                    inner, sums, column, done + n, 1), bound))

    def elements(self, scope: Scope, sums: Value, column: Value, at: Value, width: int) -> None:
        """The stores of some adjacent columns."""
        tiling = self.tiling
        type = self.element.of(width)
        place, first = self.step(sums, at), column + at
        if width == 1:
            scope.values[tiling.column] = first
        else:
            scope.lanes = Lanes(Loop(tiling.column, (tiling.column,), True, width), first)
            scope.varying = scope.bound
            scope.values[scope.lanes] = first
        scope.values[tiling.total] = self.writer.write(
            type, f"load {type.text}, {place!r}, align {self.element.bits // 8}")
        for store in tiling.stores:
            self.parts.statements.store(store, scope)
