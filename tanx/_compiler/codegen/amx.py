"""Matrix registers of x86-64 processors (AMX): the permission to use them, and kernels in them.

A register holds 16 rows of 16 words. One instruction adds the products of 16 rows by 16 columns, of
16 words of terms each, to 16 x 16 sums. A word holds two terms of bfloat16 (``dot2``) or four bytes
with signs (``dot4``). The system saves these registers for those processes only that have asked for
it.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import TYPE_CHECKING

from .values import I64, Value, Writer, repeat, type_of

if TYPE_CHECKING:
    from .tiles import Tile

__all__ = ["INSTRUCTIONS", "PERMISSION", "SIZE", "is_permitted", "write_kernel"]

INSTRUCTIONS = {"dot2": "tdpbf16ps", "dot4": "tdpbssd"}
"""By the instruction on words, that on registers."""

SIZE = 16
"""Rows of a register, and words of each."""

_SYSCALL, _ASK, _TILES = 158, 0x1023, 18
"""On Linux: the system call ``arch_prctl``, its request for a part of the state of a processor, and
the number of that part."""

PERMISSION = f"""\
declare i64 @syscall(i64, ...)
@llvm.global_ctors = appending global [1 x {{ i32, ptr, ptr }}] [
  {{ i32, ptr, ptr }} {{ i32 65535, ptr @ask, ptr null }}]
define internal void @ask() {{
  %got = call i64 (i64, ...) @syscall(i64 {_SYSCALL}, i64 {_ASK}, i64 {_TILES})
  ret void
}}
"""
"""LLVM code of a library that asks for the permission when it is loaded."""

_SETTINGS = bytes([1, *[0] * 15, *[64, 0] * 8, *[0] * 16, *[SIZE] * 8, *[0] * 8])
"""Eight registers of all their rows and bytes, as ``ldtilecfg`` reads them."""


@cache
def is_permitted() -> bool:
    """Whether this process may use the registers; asks the system for it, once."""
    if not sys.platform.startswith("linux"):
        return False
    return ctypes.CDLL(None).syscall(
        *(ctypes.c_long(n) for n in (_SYSCALL, _ASK, _TILES))) == 0


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
        """Move a register from or to memory, whose rows are so many words apart."""
        self.call(name, f"i8 {register}, {place!r}, {step * 4!r}")

    def call(self, name: str, arguments: str) -> None:
        types = ", ".join(part.split()[0] for part in arguments.split(", ") if part)
        name = f"llvm.x86.{name}"
        self.writer.declared[name] = f"declare void @{name}({types})"
        self.writer.place.lines.append(f"call void @{name}({arguments})")
