"""Elementary functions as loops over elements, in the form of NumPy's ufuncs: eager code runs them.

Such a function takes addresses, the number of elements, and the bytes from one element to the next,
for each operand and then the result. One function serves arrays of any shape, and applies the same
formulas as compiled programs, in vectors: so the bits are the same.
"""

from __future__ import annotations

import numpy as np

from ...machine import Machine
from ..operations import apply
from ..storage import register_type
from ..values import Value, Writer

__all__ = ["LOOP", "loop_text"]

LOOP = "tanx_loop"
"""The symbol of the function."""


def loop_text(name: str, dtype: np.dtype, operands: int, machine: Machine) -> str:
    """The LLVM code of the loop of one instruction on floats of a dtype."""
    element = register_type(dtype)
    lanes = machine.vector_bits // element.bits
    vector, size = element.of(lanes), element.bits // 8
    module = Writer(machine=machine)
    writer = Writer(module)
    given = [Value(writer, f"%x{n}", vector) for n in range(operands)]
    result = apply(name, given, [dtype] * operands, dtype, {})
    compute = [f"define internal {vector} @compute({', '.join(map(repr, given))}) {{", "entry:",
               *writer.place.lines, f"ret {result!r}", "}"]
    return "\n".join([
        *compute, *module.helpers.values(), *module.declared.values(),
        _around(element.text, vector.text, lanes, size, operands), ""])


def _around(element: str, vector: str, lanes: int, size: int, operands: int) -> str:
    """The loop around ``compute``: vectors of adjacent elements, and others through the stack.

    An operand whose step is 0 is one number: a vector of copies of it, which does not advance.
    """
    every = range(operands + 1)
    loads = [f"%v{n} = load {vector}, ptr %q{n}, align {size}" for n in range(operands)]
    inputs = ", ".join(f"{vector} %v{n}" for n in range(operands))
    fetched = [f"%w{n} = load {vector}, ptr %b{n}" for n in range(operands)]
    buffered = ", ".join(f"{vector} %w{n}" for n in range(operands))
    together = " ".join(f"\n%near{n + 1} = and i1 %near{n}, %ok{n}" for n in every)
    return "\n".join([
        f"define void @{LOOP}(ptr %args, ptr %dims, ptr %steps, ptr %data) {{", "entry:",
        "%count = load i64, ptr %dims",
        *(f"%b{n} = alloca {vector}, align 64\n"
          f"%a{n} = getelementptr ptr, ptr %args, i64 {n}\n%p{n} = load ptr, ptr %a{n}\n"
          f"%t{n} = getelementptr i64, ptr %steps, i64 {n}\n%s{n} = load i64, ptr %t{n}\n"
          f"%is{n} = icmp eq i64 %s{n}, {size}" for n in every),
        "%none = icmp eq i64 %count, 0", "br i1 %none, label %end, label %begin", "begin:",
        *(f"%one{n} = icmp eq i64 %s{n}, 0\n%x{n} = load {element}, ptr %p{n}, align {size}\n"
          f"%l{n} = insertelement {vector} poison, {element} %x{n}, i64 0\n"
          f"%c{n} = shufflevector {vector} %l{n}, {vector} poison, <{lanes} x i32> zeroinitializer"
          f"\nstore {vector} %c{n}, ptr %b{n}\n"
          f"%base{n} = select i1 %one{n}, ptr %b{n}, ptr %p{n}\n"
          f"%move{n} = select i1 %one{n}, i64 0, i64 {lanes * size}\n"
          f"%ok{n} = or i1 %is{n}, %one{n}" for n in range(operands)),
        f"%base{operands} = getelementptr i8, ptr %p{operands}, i64 0",
        f"%move{operands} = add i64 {lanes * size}, 0",
        f"%ok{operands} = or i1 %is{operands}, false",
        f"%near0 = icmp uge i64 %count, {lanes}{together}",
        f"%wholes = udiv i64 %count, {lanes}",
        f"%vectors = select i1 %near{operands + 1}, i64 %wholes, i64 0",
        f"%first = mul i64 %vectors, {lanes}",
        "%some = icmp ne i64 %vectors, 0", "br i1 %some, label %main, label %others",
        "main:", "%i = phi i64 [ 0, %begin ], [ %i.next, %main ]",
        *(f"%d{n} = mul i64 %i, %move{n}\n%q{n} = getelementptr i8, ptr %base{n}, i64 %d{n}"
          for n in every), *loads,
        f"%y = call {vector} @compute({inputs})",
        f"store {vector} %y, ptr %q{operands}, align {size}",
        "%i.next = add i64 %i, 1", "%more = icmp ult i64 %i.next, %vectors",
        "br i1 %more, label %main, label %others",
        "others:", "%k = phi i64 [ %first, %begin ], [ %first, %main ], [ %k.next, %written ]",
        "%left = sub i64 %count, %k", "%any = icmp ne i64 %left, 0",
        "br i1 %any, label %chunk, label %end",
        f"chunk:\n%few = icmp ult i64 %left, {lanes}",
        f"%here = select i1 %few, i64 %left, i64 {lanes}", "br label %gather",
        "gather:", "%j = phi i64 [ 0, %chunk ], [ %j.next, %gather ]", "%at = add i64 %k, %j",
        *(f"%o{n} = mul i64 %at, %s{n}\n%e{n} = getelementptr i8, ptr %p{n}, i64 %o{n}\n"
          f"%z{n} = load {element}, ptr %e{n}, align {size}\n"
          f"%f{n} = getelementptr {element}, ptr %b{n}, i64 %j\n"
          f"store {element} %z{n}, ptr %f{n}" for n in range(operands)),
        "%j.next = add i64 %j, 1", "%j.more = icmp ult i64 %j.next, %here",
        "br i1 %j.more, label %gather, label %work", "work:", *fetched,
        f"%made = call {vector} @compute({buffered})",
        f"store {vector} %made, ptr %b{operands}", "br label %scatter",
        "scatter:", "%m = phi i64 [ 0, %work ], [ %m.next, %scatter ]", "%to = add i64 %k, %m",
        f"%g = getelementptr {element}, ptr %b{operands}, i64 %m", f"%h = load {element}, ptr %g",
        f"%o{operands} = mul i64 %to, %s{operands}",
        f"%e{operands} = getelementptr i8, ptr %p{operands}, i64 %o{operands}",
        f"store {element} %h, ptr %e{operands}, align {size}",
        "%m.next = add i64 %m, 1", "%m.more = icmp ult i64 %m.next, %here",
        "br i1 %m.more, label %scatter, label %written",
        "written:", "%k.next = add i64 %k, %here", "br label %others", "end:", "ret void", "}"])
