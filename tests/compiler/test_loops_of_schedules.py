"""Schedules decide which loops check for interrupts, which sums are cut into blocks, and which bits
are packed."""

from dataclasses import replace

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._compiler.machine import host
from tanx._compiler.pipeline import build
from tanx._loops.show import show_plan
from tanx.experimental import sparse

DENSE = np.diag(np.arange(100, dtype=np.float32))
ROWS = sparse.BCSR.fromdense(jnp.asarray(DENSE))


def recurrence(x):
    return lax.scan(lambda c, r: (c * 0.5 + r, c), np.float32(1), x)


def halved(x):
    """A loop whose number of steps is not known."""
    return lax.while_loop(lambda c: c > 1.0, lambda c: c * 0.5, x)


def sparse_product(x):
    """The loop over the entries of a row has at most as many steps as there are entries."""
    return ROWS @ x


@pytest.mark.parametrize("function, shape, words, missing", [
    (recurrence, (1 << 16,), "; polled along", "brief"),
    (recurrence, (100,), "sequential", "polled"),
    (jnp.cumsum, (1 << 12,), "scan along", "polled"),
    (tanx.vmap(halved), (8,), "while(", "brief"),
    (sparse_product, (100,), "brief while ", "polled"),
], ids=["scan", "short-scan", "cumsum", "while", "sparse"])
def test_schedules_say_which_loops_are_polled(function, shape, words, missing):
    text = tanx.jit(function).lower(tanx.ShapeDtypeStruct(shape, "float32")).as_text("schedule")
    assert words in text and missing not in text, text


def test_blocks_of_a_scan_are_steps():
    """A step of a running sum is a block of vectors: 4096 elements are 64 steps, or 256."""
    closed = tanx.make_jaxpr(jnp.cumsum)(jnp.ones(1 << 12))
    for long, polled in ((32, True), (1 << 11, False)):
        machine = replace(host(), tuning=host().tuning.varied({"polls.long": long}))
        assert ("polled along" in show_plan(build(closed, machine=machine).schedule)) is polled


def test_code_follows_the_schedule():
    """A short loop has no check between its steps."""
    x = np.arange(100, dtype=np.float32)
    assert "load atomic" in tanx.jit(tanx.vmap(halved)).lower(x).as_text("llvm")
    assert "load atomic" not in tanx.jit(sparse_product).lower(x).as_text("llvm")
    function = tanx.jit(sparse_product)
    for _ in range(4):
        y = function(x)
        np.testing.assert_array_equal(y, x * x)
        assert (y.shape, y.dtype, y.weak_type) == ((100,), np.float32, False)


@pytest.mark.parametrize("dtype, size, partial", [
    ("float32", 1 << 17, True), ("complex64", 1 << 17, True), ("float32", 1 << 10, False),
    ("int32", 1 << 17, False)])
def test_schedules_say_which_sums_have_partial_sums(dtype, size, partial):
    """Long sums of floats do, which keeps errors small; integers are exact."""
    machine = replace(host(), tuning=host().tuning.varied({"tasks.grain": 1.0}))
    x = tanx.ShapeDtypeStruct((size,), dtype)
    module = build(tanx.make_jaxpr(jnp.sum)(x), machine=machine)
    assert ("in partial sums of 256" in show_plan(module.schedule)) is partial


@pytest.mark.parametrize("function, shape, packed", [
    (jnp.packbits, (8000,), True),
    (lambda x: jnp.packbits(x, 1, "little"), (100, 64), True),
    (lambda x: jnp.packbits(x, 0), (64, 100), False),  # its bytes are not adjacent
    (lambda x: jnp.packbits(x[::-1]), (8000,), False),
])
def test_schedules_say_which_bits_are_packed(function, shape, packed):
    x = np.random.default_rng(0).integers(0, 2, shape).astype(bool)
    compiled = tanx.jit(function)
    assert ("unrolled(8) packed" in compiled.lower(x).as_text("schedule")) is packed
    with tanx.disable_jit():
        expected = function(x)
    for _ in range(4):
        np.testing.assert_array_equal(compiled(x), expected)
