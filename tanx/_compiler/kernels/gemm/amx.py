"""Kernels of matrix products in the matrix registers of x86-64 (``matrix_registers.py``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...emit.values import I64, Value, Writer, repeat, type_of
from ...matrix_registers import INSTRUCTIONS, SIZE

if TYPE_CHECKING:
    from ...._loops.tiles import Tile

__all__ = ["write_kernel"]





_SETTINGS = bytes([1, *[0] * 15, *[64, 0] * 8, *[0] * 16, *[SIZE] * 8, *[0] * 8])
"""Eight registers with all their rows and bytes, as ``ldtilecfg`` reads them."""


def write_kernel(writer: Writer, tile: Tile, times: str, adds: bool) -> None:
    """Write the body of a kernel; see ``micro.py``. Terms are a multiple of 16 words."""
    _Kernel(writer, tile, INSTRUCTIONS[times]).write(adds)


class _Kernel:
    """Writes one kernel: sums are in registers 0 to 3, rows in 4 and 5, columns in 6 and 7."""

    def __init__(self, writer: Writer, tile: Tile, multiply: str):
        self.writer, self.multiply = writer, multiply
        self.rows, self.columns = range(tile.rows // SIZE), range(tile.vectors)

    def write(self, adds: bool) -> None:
        """The whole kernel."""
        settings = "".join(f"\\{byte:02x}" for byte in _SETTINGS)
        self.writer.declared["registers"] = (
            f'@registers = private constant [64 x i8] c"{settings}", align 64')
        self.call("ldtilecfg", "ptr @registers")
        a, a_step, b, b_step = (self.given(name) for name in ("a", "a_step", "b", "b_step"))
        for row in self.rows:
            for column in self.columns:
                if adds:
                    self.load(2 * row + column, *self.sums(row, column))
                else:
                    self.call("tilezero", f"i8 {2 * row + column}")

        def step(_: Value, places: list[Value]) -> list[Value]:
            a, b = places
            for row in self.rows:
                self.load(4 + row, self.at(a, a_step * (SIZE * row)), a_step)
            for column in self.columns:
                self.load(6 + column, self.at(b, SIZE * column), b_step)
            for row in self.rows:
                for column in self.columns:
                    self.call(self.multiply, f"i8 {2 * row + column}, i8 {4 + row}, "
                                             f"i8 {6 + column}")
            return [self.at(a, SIZE), self.at(b, b_step * SIZE)]

        count = self.writer.write(I64, f"udiv {self.given('terms')!r}, {SIZE}")
        repeat(count, [a, b], step)
        for row in self.rows:
            for column in self.columns:
                self.move("tilestored64", 2 * row + column, *self.sums(row, column))
        self.call("tilerelease", "")

    def sums(self, row: int, column: int) -> tuple[Value, Value]:
        """Where some sums are, and how far apart their rows."""
        step = self.given("out_step")
        return self.at(self.given("out"), step * (SIZE * row) + SIZE * column), step

    def given(self, name: str) -> Value:
        """An argument of the kernel."""
        return Value(self.writer, f"%{name}", I64 if "step" in name or name == "terms"
                     else type_of("ptr"))

    def at(self, place: Value, by: Value | int) -> Value:
        by = Value(self.writer, str(by), I64) if isinstance(by, int) else by
        return self.writer.write(type_of("ptr"), f"getelementptr i32, {place!r}, {by!r}")

    def load(self, register: int, place: Value, step: Value) -> None:
        self.move("tileloadd64", register, place, step)

    def move(self, name: str, register: int, place: Value, step: Value) -> None:
        """Move a register from or to memory, whose rows are ``step`` words apart."""
        self.call(name, f"i8 {register}, {place!r}, {step * 4!r}")

    def call(self, name: str, arguments: str) -> None:
        types = ", ".join(part.split()[0] for part in arguments.split(", ") if part)
        name = f"llvm.x86.{name}"
        self.writer.declared[name] = f"declare void @{name}({types})"
        self.writer.place.lines.append(f"call void @{name}({arguments})")
