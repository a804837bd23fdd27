"""Code around the kernels of tiles: units of rows and columns, strips of tiles, and what follows.

The function of a nest hands tasks to the thread pool, and a task goes through some units. In a
unit, tiles of the same rows make a strip. Sums that are just stored go to where they belong;
others stay in a strip of their own until all that is computed from them is stored, row by row.
The last rows and columns are computed by tiles that begin earlier and overlap others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from ..._loops.expr import Variable, fresh_index
from .lanes import Loop
from .llvm import Kernel
from .micro import kernel_symbol
from .scopes import Lanes, Scope
from .storage import register_type
from .tiles import Operand, Tiling
from .values import I64, Value, intrinsic, type_of

__all__ = ["write_task"]

_POINTER = type_of("ptr")


def write_task(tiling: Tiling, kernel: Kernel) -> None:
    """Write the function of a task, whose number is ``%task``."""
    _Task(tiling, kernel).write()


class _Task:
    """Writes the function of a task."""

    def __init__(self, tiling: Tiling, kernel: Kernel):
        self.tiling, self.kernel, self.writer = tiling, kernel, kernel.writer
        self.element = register_type(tiling.total.dtype)
        self.symbol = kernel_symbol(tiling.tile, tiling.total.dtype)
        if tiling.result is None:
            # Tiles may begin before a strip, or end behind it.
            self.strip_step = tiling.block + 2 * tiling.tile.columns
            size = tiling.tile.rows * self.strip_step
            kernel.top.lines.append(f"%strip = alloca [{size} x {self.element.text}], align 64")

    def write(self) -> None:
        """All units of a task."""
        tiling, top = self.tiling, self.kernel.top
        first = self.kernel.at(top, lambda: Value(self.writer, "%task", I64) * tiling.group)
        if tiling.group == 1:
            self.kernel.at(top, lambda: self.unit(top, first))
            return
        count = self.kernel.at(top, lambda: intrinsic(
            "smin", tiling.units - first, tiling.group))
        self.loop(top, count, lambda scope, n: self.unit(scope, first + n))

    def loop(self, scope: Scope, count: Value, body: Callable[[Scope, Value], None],
             bound: Sequence[Variable] = ()) -> None:
        """A loop of at least one step; the body is given the number of the step."""
        index = fresh_index(1)

        def step(inner: Scope, states) -> list:
            body(inner, inner.values[index])
            return []
        self.kernel.loop(scope, Loop(index, (index,), False), 0, count, [], step, bound=bound)

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
        result = None if tiling.result is None else self.base(tiling.result, scope)
        strips = self.pieces(rows, tile.rows)
        self.loop(scope, strips, lambda inner, n: self.strip(
            inner, left, right, result, row + n * tile.rows, column, columns), tiling.outer)

    def digits(self, number: Value, sizes: Sequence[int]) -> list[Value]:
        """A number by its digits, the last one fastest."""
        found = []
        for size, above in zip(sizes[::-1], [prod(sizes[:n]) for n in range(len(sizes))][::-1]):
            if size == 1:
                found.append(Value(self.writer, "0", I64))
            elif above == 1:
                found.append(number)
            else:
                found.append(self.writer.write(I64, f"urem {number!r}, {size}"))
                number = self.writer.write(I64, f"udiv {number!r}, {size}")
        return found[::-1]

    def pieces(self, size: Value, unit: int) -> Value:
        return self.writer.write(I64, f"udiv {size + (unit - 1)!r}, {unit}")

    def base(self, operand: Operand, scope: Scope) -> Value:
        """Where an operand begins in the outer loops."""
        place = Value(self.writer, self.kernel.pointers[operand.buffer], _POINTER)
        for index, distance in operand.outer.items():
            place = self.step(place, scope.values[index] * distance)
        return self.step(place, operand.first) if operand.first else place

    def step(self, place: Value, by: Value | int) -> Value:
        by = Value(self.writer, str(by), I64) if isinstance(by, int) else by
        return self.writer.write(_POINTER, f"getelementptr {self.element.text}, {place!r}, {by!r}")

    # -- strips ------------------------------------------------------------------------------------

    def strip(self, scope: Scope, left: Value, right: Value, result: Value | None, row: Value,
              column: Value, columns: Value) -> None:
        """Tiles of the same rows, from a row and a column on, and what is computed from them."""
        tiling, tile = self.tiling, self.tiling.tile
        begin = self.before_end(row, tiling.row.extent, tile.rows)
        place = self.step(left, self.at(tiling.left, row, begin, tile.rows))
        if result is None or tiling.result is None:
            # The strip has room for a tile on its left.
            out, step = Value(self.writer, "%strip", _POINTER), self.strip_step
            out = self.step(out, tile.columns - column)
        else:
            out, step = self.step(result, begin * tiling.result.along), tiling.result.along
        self.loop(scope, self.pieces(columns, tile.columns), lambda inner, n: self.tile(
            place, right, out, step, column + n * tile.columns))
        if result is None:
            rows = intrinsic("smin", tiling.row.extent - row, tile.rows)
            first = self.step(Value(self.writer, "%strip", _POINTER), tile.columns)
            first = self.step(first, (row - begin) * self.strip_step)
            self.loop(scope, rows, lambda inner, n: self.row(
                inner, self.step(first, n * self.strip_step), row + n, column, columns),
                (tiling.row,))

    def before_end(self, start: Value, extent: int, size: int) -> Value:
        """Where a tile begins so that it does not reach beyond the end, if it can."""
        return intrinsic("smin", start, max(extent - size, 0)) if extent % size else start

    def at(self, operand: Operand, start: Value, begin: Value, size: int) -> Value:
        """The distance of a tile in an operand, given where it would start and where it begins."""
        if not operand.panel:
            return begin * operand.along
        return self.writer.write(I64, f"udiv {start!r}, {size}") * operand.along

    def tile(self, left: Value, right: Value, out: Value, out_step: int, column: Value) -> None:
        """One tile, by its kernel."""
        tiling, tile = self.tiling, self.tiling.tile
        begin = self.before_end(column, tiling.column.extent, tile.columns)
        place = self.step(right, self.at(tiling.right, column, begin, tile.columns))
        out = self.step(out, begin)
        a_step = tiling.left.along if tile.form == "k" else tiling.left.across
        self.writer.declared[self.symbol] = (
            f'declare void @"{self.symbol}"(ptr, i64, ptr, i64, i64, ptr, i64)')
        self.writer.place.lines.append(
            f'call void @"{self.symbol}"({left!r}, i64 {a_step}, {place!r}, '
            f"i64 {tiling.right.across}, i64 {tiling.term.extent}, {out!r}, i64 {out_step})")

    # -- what follows ------------------------------------------------------------------------------

    def row(self, scope: Scope, sums: Value, row: Value, column: Value, columns: Value) -> None:
        """What is computed from one row of sums: in vectors, and the rest one by one."""
        tiling, kernel = self.tiling, self.kernel
        scope.values[tiling.row] = row
        bound = (tiling.column, tiling.total)
        width = kernel.planner.width(tiling.stores, tiling.column)
        if width == 1:
            self.loop(scope, columns, lambda inner, n: self.elements(
                inner, sums, column, n, 1), bound)
            return
        whole = self.writer.write(I64, f"udiv {columns!r}, {width}")
        rest = self.writer.write(I64, f"urem {columns!r}, {width}")
        kernel.when(whole > 0, scope, lambda arm: self.loop(
            arm, whole, lambda inner, n: self.elements(inner, sums, column, n * width, width),
            bound))
        if tiling.column.extent % width or tiling.block % width:
            done = whole * width
            kernel.when(rest > 0, scope, lambda arm: self.loop(
                arm, rest, lambda inner, n: self.elements(inner, sums, column, done + n, 1),
                bound))

    def elements(self, scope: Scope, sums: Value, column: Value, at: Value, width: int) -> None:
        """The stores of some columns that are side by side."""
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
            self.kernel.store(store, scope)
