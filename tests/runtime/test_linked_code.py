"""Object code that tanx links and places in memory."""

import ctypes
import gc
import os
from dataclasses import replace

import pytest

from tanx._compiler.emit.cpu.module import assemble, instructions
from tanx._compiler.machine import Machine, host
from tanx._runtime import code_memory
from tanx._runtime.linked_code import Placed, link
from tanx._runtime.machine_code import address_of

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
    assert other(0, 10) == 16  # it has its own variables


def lines_of_memory():
    """The start, end and permissions of each mapping."""
    with open("/proc/self/maps") as maps:
        parts = [line.split()[:2] for line in maps]
    return [(*(int(x, 16) for x in place.split("-")), use) for place, use in parts]


def uses(address):
    return [use for start, end, use in lines_of_memory() if start <= address < end]


def test_memory_is_freed_with_the_object():
    code = placed()
    address = code.addresses["step"]
    assert uses(address) == ["r-xp"]
    del code
    gc.collect()
    assert not uses(address)


PLAIN = "define i64 @number() { ret i64 NUMBER }"


@pytest.fixture
def rooms(monkeypatch):
    monkeypatch.setattr(code_memory, "_rooms", code_memory._Rooms())
    return code_memory._rooms


def plain(number):
    code = placed(PLAIN.replace("NUMBER", str(number)))
    return code, function(code, "number", ctypes.c_int64)


def test_shared_code_pages_are_freed_with_their_last_function(rooms):
    codes = [plain(n) for n in range(100)]  # more than fit in a room
    assert [number() for _, number in codes] == list(range(100))
    first, last = (codes[n][0].addresses["number"] for n in (0, -1))
    assert uses(first) == uses(last) == ["r-xs"]
    assert uses(codes[0][0]._piece.written) == ["rw-s"]
    kept = codes[99]
    del codes
    gc.collect()
    assert not uses(first) and uses(last) == ["r-xs"]
    assert kept[1]() == 99


def test_a_fork_does_not_write_to_shared_code_pages(rooms):
    before = plain(1)
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        rooms.forked()  # the hook does this for the real rooms
        made = plain(2)
        os.write(writer, bytes([before[1](), made[1](), made[0]._piece.room is rooms.room]))
        os._exit(0)
    os.waitpid(child, 0)
    after = plain(3)
    assert list(os.read(reader, 3)) == [1, 2, 1] and (before[1](), after[1]()) == (1, 3)


def test_code_without_memfd_is_private(rooms, monkeypatch):
    def refused(*_):
        raise PermissionError
    monkeypatch.setattr(os, "memfd_create", refused)
    code, number = plain(5)
    assert number() == 5 and not rooms.possible
    assert uses(code.addresses["number"]) == ["r-xp"]


def test_linking_undefined_symbols_and_invalid_files_raises():
    text = "declare void @nowhere()\ndefine void @f() { call void @nowhere() ret void }"
    with pytest.raises(NotImplementedError, match="nowhere"):
        placed(text)
    with pytest.raises(NotImplementedError, match="ELF"):
        link(bytes(1000))


# -- macOS on Apple silicon, as far as it can be tested elsewhere ----------------------------------


def test_guarded_memory(monkeypatch):
    """Code is copied while the thread may write to code memory, and runs after that ends."""
    modes = []
    library = code_memory._libc()
    monkeypatch.setattr(library, "pthread_jit_write_protect_np", modes.append, raising=False)
    monkeypatch.setattr(library, "sys_icache_invalidate", lambda start, size: None, raising=False)
    monkeypatch.setattr("tanx._runtime.linked_code.piece", code_memory.Guarded)
    code = placed()
    step = function(code, "step", ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
    assert [step(0, 10), step(1, 10)] == [11 + 5, 70 + 11] and modes == [0, 1]
    assert gc.isenabled()
    del step, code


def test_object_code_for_apple_silicon():
    """It is an ELF file that tanx can link, and does not use the system's register x18."""
    apple = Machine("aarch64-none-elf", "apple-m1", "+neon,+dotprod,+reserve-x18", 128)
    image = link(assemble(TEXT, apple, True))
    assert {"add", "step", "shifted_sine"} <= {name for name, _ in image.exports}
    assert {name for name, _ in image.imports} == {"sin"}
    many = "\n".join(f"%v{n} = load volatile i64, ptr %p" for n in range(40))
    sums = "\n".join(f"%s{n + 1} = add i64 %{'s' if n else 'v'}{n}, %v{n + 1}" for n in range(39))
    text = f"define i64 @busy(ptr %p) {{\n{many}\n{sums}\nret i64 %s39\n}}"
    free = replace(apple, features="+neon,+dotprod")
    assert "x18" in instructions(text, free) and "x18" not in instructions(text, apple)
