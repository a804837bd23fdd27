"""Kernels for small triangular systems with many right-hand sides.

``solve`` is a function ``void(ptr x, i64 step, ptr a, i64 rows, i64 columns, i64 n, i64 unit)``. By
substitution it replaces right-hand sides by the solutions of ``a x = b``. A row of x is contiguous
and has as many elements as :func:`sides` says, rows are ``step`` apart; elements of the lower
triangle ``a`` are ``rows`` and ``columns`` apart, and its diagonal counts as ones with ``unit``. An
upper triangle is a lower one that starts at its last row and has negative steps.

``turn`` is a function ``void(ptr to, i64 to_step, ptr from, i64 step)`` that transposes a square of
as many rows as a vector has lanes.

A product with the inverse of a triangle would be as quick, but its errors grow with the condition
of the triangle: for Cholesky factors of smooth covariances they were 20 to 40 times as large in
float32, and factorisations failed.
"""

from __future__ import annotations

import numpy as np

from ..emit.shuffles import transposed
from ..emit.values import I64, Value, Writer, type_of
from ..machine import Machine

__all__ = ["SOLVE", "TURN", "lanes", "sides", "triangle_text"]

SOLVE, TURN = "tanx.solve.", "tanx.turn."
"""The prefixes of the symbols, before the name of the dtype."""

_SOLVE = """\
define void @"{symbol}"(ptr %x, i64 %step, ptr %a, i64 %rows, i64 %columns, i64 %n, i64 %unit) {{
entry:
  %is_unit = icmp ne i64 %unit, 0
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %row, label %end
row:
  %k = phi i64 [ 0, %entry ], [ %next, %found ]
  %to_k = mul i64 %k, %step
  %x_k_at = getelementptr {element}, ptr %x, i64 %to_k
  %given = load {vector}, ptr %x_k_at, align {align}
  %a_row = mul i64 %k, %rows
  %a_k = getelementptr {element}, ptr %a, i64 %a_row
  %a_diagonal = mul i64 %k, %columns
  %divisor_at = getelementptr {element}, ptr %a_k, i64 %a_diagonal
  %stored = load {element}, ptr %divisor_at
  %divisor = select i1 %is_unit, {element} 1.0, {element} %stored
  %scale = fdiv {element} 1.0, %divisor
  %any = icmp sgt i64 %k, 0
  br i1 %any, label %term, label %found
term:
  %m = phi i64 [ 0, %row ], [ %m1, %term ]
  %sum = phi {vector} [ %given, %row ], [ %less, %term ]
  %to_m = mul i64 %m, %step
  %x_m_at = getelementptr {element}, ptr %x, i64 %to_m
  %x_m = load {vector}, ptr %x_m_at, align {align}
  %a_m = mul i64 %m, %columns
  %factor_at = getelementptr {element}, ptr %a_k, i64 %a_m
  %factor = load {element}, ptr %factor_at
  %negative = fneg {element} %factor
  %one = insertelement {vector} poison, {element} %negative, i64 0
  %each = shufflevector {vector} %one, {vector} poison, <{count} x i32> zeroinitializer
  %less = call {vector} @llvm.fmuladd.v{count}{suffix}({vector} %x_m, {vector} %each, {vector} %sum)
  %m1 = add i64 %m, 1
  %again = icmp slt i64 %m1, %k
  br i1 %again, label %term, label %found
found:
  %total = phi {vector} [ %given, %row ], [ %less, %term ]
  %scale_0 = insertelement {vector} poison, {element} %scale, i64 0
  %scales = shufflevector {vector} %scale_0, {vector} poison, <{count} x i32> zeroinitializer
  %solution = fmul {vector} %total, %scales
  store {vector} %solution, ptr %x_k_at, align {align}
  %next = add i64 %k, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %row, label %end
end:
  ret void
}}
declare {vector} @llvm.fmuladd.v{count}{suffix}({vector}, {vector}, {vector})
"""


def lanes(dtype: np.dtype, machine: Machine) -> int:
    """The rows and columns of a square that ``turn`` transposes."""
    return machine.vector_bits // (8 * dtype.itemsize)


def sides(dtype: np.dtype, machine: Machine) -> int:
    """The right-hand sides that ``solve`` handles at a time."""
    return machine.tuning.kernels.sides * lanes(dtype, machine)


def triangle_text(dtype: np.dtype, machine: Machine) -> str:
    """The LLVM code of both kernels for float32 or float64."""
    element, suffix = {4: ("float", "f32"), 8: ("double", "f64")}[dtype.itemsize]
    count = sides(dtype, machine)
    return _SOLVE.format(
        symbol=SOLVE + dtype.name, element=element, suffix=suffix, count=count,
        vector=f"<{count} x {element}>", align=dtype.itemsize) + _turn_text(dtype, machine)


def _turn_text(dtype: np.dtype, machine: Machine) -> str:
    """The code that transposes a square."""
    writer, count = Writer(machine=machine), lanes(dtype, machine)
    element = type_of("float" if dtype.itemsize == 4 else "double")
    pointer, vector = type_of("ptr"), element.of(count)

    def row(start: str, step: str, n: int) -> Value:
        far = writer.write(I64, f"mul i64 {step}, {n}")
        return writer.write(pointer, f"getelementptr {element.text}, ptr {start}, {far!r}")

    given = [writer.write(vector, f"load {vector.text}, {row('%from', '%step', n)!r}, "
                                  f"align {dtype.itemsize}") for n in range(count)]
    for n, value in enumerate(transposed(given)):
        place = row("%to", "%to_step", n)
        writer.place.lines.append(f"store {value!r}, {place!r}, align {dtype.itemsize}")
    lines = "\n  ".join(writer.place.lines)
    return (f'define void @"{TURN}{dtype.name}"(ptr %to, i64 %to_step, ptr %from, i64 %step) {{\n'
            f"  {lines}\n  ret void\n}}\n")
