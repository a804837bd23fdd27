"""Native functions: the translation has the same results as Python."""

import ctypes
import types
from functools import partial

import numpy as np
import pytest

from tanx._runtime.machine_code import permanent
from tanx._runtime.native import translate
from tests.runtime import native_examples as examples

NAMES = ["gcd", "total", "classify", "bits", "factorial", "copies", "flips", "on_stack",
         "length_of", "tallied", "zeros_before", "through_its_address"]


@pytest.fixture(scope="module")
def native():
    """The examples as functions of integers, translated."""
    addresses = permanent("tests", partial(translate, [examples], NAMES), tidy=True)
    return {name: lambda *args, at=at: ctypes.PYFUNCTYPE(
        ctypes.c_int64, *[ctypes.c_int64] * len(args))(at)(*args) for name, at in addresses.items()}


@pytest.mark.parametrize("name, cases", [
    ("gcd", [(12, 18), (7, 0), (0, 5), (1 << 12, 96)]),
    ("classify", [(x,) for x in (-2, -1, 0, 9, 10, 55, 99, 100, 101, -(1 << 62))]),
    ("bits", [(0, 0), (5, 3), (-7, 12), (1 << 50, -(1 << 40))]),
    ("factorial", [(n,) for n in (0, 1, 5, 20)]),
    ("tallied", [(n,) for n in (0, 7, 99)]),
    ("zeros_before", [(n,) for n in (0, 1, 255, 1 << 62, -1)]),
])
def test_numbers(native, name, cases):
    for case in cases:
        assert native[name](*case) == getattr(examples, name)(*case)


def test_a_native_function_by_its_address(native):
    assert [native["through_its_address"](n) for n in (0, 1, -1)] == [64, 63, 0]


@pytest.mark.parametrize("numbers", [[], [1], [1, -2, 3], [4, 0, 5], [0], [-1, -1]])
def test_loops(native, numbers):
    memory = (ctypes.c_int64 * max(1, len(numbers)))(*numbers)
    arguments = ctypes.addressof(memory), len(numbers)
    assert native["total"](*arguments) == examples.total(*arguments)


def test_memory(native):
    source = np.zeros(2, np.int64)
    source.view(np.int32)[1] = -5
    source.view(np.float64)[1] = 0.1
    results = []
    for copies in (native["copies"], examples.copies):
        to = np.zeros(3, np.int64)
        copies(to.ctypes.data, source.ctypes.data)
        results.append(to.tolist())
    assert results[0] == results[1] and results[0][:2] == [-5, 255]
    assert np.array(results[0]).view(np.float32)[4] == np.float32(0.1)


def test_bits_of_memory(native):
    source = np.array([5 << 32 | 7, -2])
    for flips in (native["flips"], examples.flips):
        to = np.zeros(3, np.int64)
        flips(to.ctypes.data, source.ctypes.data, -(1 << 63))
        assert to.tolist() == [*(source ^ -(1 << 63)), 7 << 32]


def test_stack_is_aligned(native):
    assert [native["on_stack"](n) for n in (1, 2, 100)] == [0, 1, 99 * 99]


def test_functions_of_python(native):
    text = "twelve chars"
    assert native["length_of"](id(text)) == 12


def test_unsupported_python_syntax_raises(monkeypatch):
    module = types.ModuleType("foreign")
    for line in ("return [x]", "for i in x: pass", "return x / 2", "x.y = 3", "return UNKNOWN"):
        source = f"def f(x):\n    {line}\n"
        monkeypatch.setattr("inspect.getsource", lambda _, source=source: source)
        with pytest.raises(NotImplementedError, match="is not in the language"):
            translate([module])
