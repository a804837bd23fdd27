"""Object code linked by ourselves and placed in memory."""

import ctypes
import gc

import pytest

from tanx._compiler.codegen.cpu import assemble, host
from tanx._runtime.image import Placed, link
from tanx._runtime.machine import address_of

TEXT = """
declare double @sin(double)
@kept = global i64 5
@zeros = internal global [100 x i64] zeroinitializer
@table = internal constant [2 x ptr] [ptr @add, ptr @multiply]
define i64 @add(i64 %x) { %y = add i64 %x, 1 ret i64 %y }
define i64 @multiply(i64 %x) { %y = mul i64 %x, 7 ret i64 %y }
define i64 @step(i64 %k, i64 %x) {
  %place = getelementptr ptr, ptr @table, i64 %k
  %function = load ptr, ptr %place
  %result = call i64 %function(i64 %x)
  %before = load i64, ptr @kept
  store i64 %result, ptr @kept
  %zero = getelementptr i64, ptr @zeros, i64 %k
  %count = load i64, ptr %zero
  %more = add i64 %count, 100
  store i64 %more, ptr %zero
  %sum = add i64 %result, %before
  %total = add i64 %sum, %count
  ret i64 %total
}
define double @shifted_sine(double %x) {
  %y = call double @sin(double %x)
  %z = fadd double %y, 3.25
  ret double %z
}
"""


def placed(text=TEXT):
    return Placed(link(assemble(text, host(), True)), address_of)


def function(code, name, result, *types):
    return ctypes.CFUNCTYPE(result, *types)(code.addresses[name])


def test_functions_constants_and_variables():
    code = placed()
    step = function(code, "step", ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
    assert [step(0, 10), step(1, 10), step(1, 1)] == [11 + 5, 70 + 11, 7 + 70 + 100]
    assert function(code, "shifted_sine", ctypes.c_double, ctypes.c_double)(0.0) == 3.25
    second = placed()
    other = function(second, "step", ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
    assert other(0, 10) == 16  # its variables are its own


def test_memory_goes_with_the_object():
    code = placed()
    address = code.base
    with open("/proc/self/maps") as maps:
        assert f"{address:x}-" in maps.read()
    del code
    gc.collect()
    with open("/proc/self/maps") as maps:
        assert f"{address:x}-" not in maps.read()


def test_code_cannot_be_written_to():
    code = placed()
    with open("/proc/self/maps") as maps:
        (line,) = [line for line in maps if line.startswith(f"{code.base:x}-")]
    assert line.split()[1] == "r-xp"


def test_what_does_not_exist():
    text = "declare void @nowhere()\ndefine void @f() { call void @nowhere() ret void }"
    with pytest.raises(NotImplementedError, match="nowhere"):
        placed(text)
    with pytest.raises(NotImplementedError, match="ELF"):
        link(bytes(1000))
