"""Compiled sorts agree with ``eval``: all dtypes and sizes, ties, signed zeros and NaN."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._compiler.pipeline import build
from tanx._loops.interpret import run as interpret

from .agreement import check_function, evaluated
from .compiled import run
from .programs import settings

DTYPES = ["float32", "float64", "float16", "bfloat16", "float8_e4m3fn", "int8", "uint8", "int16",
          "uint16", "int32", "uint32", "int64", "uint64", "bool", "int4", "complex64"]


def numbers(dtype, shape, seed=0):
    """Few distinct numbers, so that many are equal; floats with signed zeros, NaN and infinity."""
    rng, dtype = np.random.default_rng(seed), np.dtype(dtype)
    x = rng.integers(-5, 6, shape).astype(np.float64)
    if dtype.kind == "c":
        return (x + 1j * rng.integers(-2, 3, shape)).astype(dtype)
    if dtype.kind == "f" or dtype.name.startswith(("bfloat", "float")):
        x[rng.random(shape) < 0.1] = np.nan
        x[rng.random(shape) < 0.1] = -0.0
        x[rng.random(shape) < 0.05] = np.inf if dtype.itemsize > 1 else 7
        x = np.where(rng.random(shape) < 0.3, x * rng.random(shape), x)
        return x.astype(dtype)
    if dtype.itemsize > 1:
        x = x * rng.integers(1, np.iinfo(dtype).max // 8, shape)
    return np.abs(x).astype(dtype) if dtype.name.startswith(("u", "b")) else x.astype(dtype)


def agree(fun, *args):
    with tanx.enable_x64(True):
        closed = tanx.make_jaxpr(fun)(*args)
        module = build(closed)
        given = [*map(np.asarray, module.constants), *args]
        wanted = evaluated(closed, args)
        for results in (run(module.program, *given), interpret(module.program, *given)):
            held = dict(zip(module.program.outputs, results))
            for buffer, want in zip(module.results, wanted, strict=True):
                got = held[buffer].reshape(want.shape)
                assert got.dtype == want.dtype
                np.testing.assert_array_equal(bits(got), bits(want))


def bits(x):
    """The bits of an array; all NaN have equal bits."""
    if x.dtype.kind in "fcV":
        x = np.where(x != x, x.dtype.type(1), x)
    return np.ascontiguousarray(x).view(np.uint8)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [5, 17, 70])
def test_sorting_of_lines(dtype, size):
    x = numbers(dtype, (3, size))
    agree(lax.sort, x)
    agree(lambda x: lax.sort((x, lax.broadcasted_iota(np.int32, x.shape, 1))), x)
    if x.dtype.kind != "c":
        agree(lambda x: (lax.top_k(x, size), lax.top_k(x, 1 + size // 40)), x)


@pytest.mark.parametrize("dtype", ["float32", "int32", "float64", "bfloat16", "uint8"])
def test_long_lines(dtype):
    x = numbers(dtype, 9001)
    agree(lambda x: (lax.sort(x), lax.sort_key_val(x, x), lax.top_k(x, 50), lax.top_k(x, 3)), x)
    agree(lax.sort, np.zeros_like(x))
    agree(lambda x: lax.top_k(x, 5), np.zeros_like(x))


@pytest.mark.parametrize("dtype", ["float32", "int32", "bfloat16", "float16", "int8", "uint8"])
def test_the_greatest_few(dtype):
    """With ties, NaN, and rows in which most elements are the least number of the dtype."""
    x = numbers(dtype, (4, 79))
    worst = -np.inf if x.dtype.kind in "fV" else np.iinfo(x.dtype).min
    x[1], x[2] = worst, np.sort(x[2])
    x[3, 2:] = worst
    agree(lambda x: [lax.top_k(x, k) for k in (1, 3, 8, 16, 17)], x)


@pytest.mark.parametrize("shape, axis", [((40, 5), 0), ((3, 70, 2), 1), ((2, 9, 4), 1), ((4, 1), 1),
                                         ((0, 5), 1), ((5, 0), 1), ((5, 0), 0)])
def test_other_axes(shape, axis):
    x = numbers("float32", shape)
    agree(lambda x: (lax.sort(x, axis), *lax.sort((x, -x), axis)), x)
    if shape[axis]:
        agree(lambda x: lax.top_k(x, 1, axis=axis), x)


@pytest.mark.parametrize("size", [9, 60, 10000])
def test_several_keys(size):
    x, y = (numbers(d, size, seed) for seed, d in enumerate(["int8", "float32"]))
    z = numbers("float64", size, 2)
    agree(lambda *a: lax.sort(a, num_keys=3), x, y, z)
    agree(lambda *a: lax.sort(a, num_keys=2), y, x, z)


def test_worst_order_for_the_greatest():
    x = np.arange(5000, dtype=np.float32)
    agree(lambda x: (lax.top_k(x, 7), lax.top_k(-x, 7), lax.top_k(x, 700)), x)


def test_every_order_of_few_elements():
    from itertools import permutations
    x = np.array(list(permutations(range(7))), np.int8)
    agree(lax.sort, x)


@pytest.mark.parametrize("size", [5, 6, 7, 8])
def test_places_of_least_keys_are_taken_without_their_numbers(size):
    """LLVM drops the mask of a place in an address, so that the number in a key's high bits counts
    as well; the process died."""
    x = np.random.default_rng(size).normal(size=size).astype(np.float32)
    with settings({"fuse.store": -1000.0}):
        check_function(lambda x: lax.map(
            lambda row: lax.top_k(row, 1)[0], jnp.stack([x, -x, x + 1])), x)
