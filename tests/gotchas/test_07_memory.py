"""Promise 7: bytes are counted, garbage goes when they grow, and batches stay within a budget."""

import gc
import gzip

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx._base.collector import growth
from tests.gotchas import pages

CPU = tanx.devices()[0]
MIB = 1 << 20


def in_use() -> int:
    return CPU.memory_stats()["bytes_in_use"]


def test_the_page():
    pages.run("07_memory")


def test_live_arrays_are_listed():
    x = jnp.full(7, 3.0)
    assert any(y is x for y in tanx.live_arrays())


# -- cycles that hold arrays -----------------------------------------------------------------------


class Node:
    def __init__(self, x):
        self.x, self.parent = x, self


@pytest.fixture
def step(monkeypatch):
    """Run the collector each time the bytes of arrays have grown by a step."""
    gc.collect()
    monkeypatch.setattr(growth, "step", 32 * MIB)
    monkeypatch.setattr(growth, "base", in_use())
    monkeypatch.setattr(growth, "next", in_use() + 32 * MIB)
    return 32 * MIB


staged = tanx.jit(lambda i: jnp.full(MIB, i) + 1.0)
MAKERS = {
    "eager": lambda i: jnp.ones(MIB) * i,
    "from NumPy": lambda i: jnp.asarray(np.full(MIB, i, np.float32)),
    "compiled": lambda i: staged(float(i)),
    "an update": lambda i: jnp.zeros(MIB).at[0].set(i),
    "in the background": lambda i: tanx.random.uniform(tanx.random.key(i), (MIB,)),
}


@pytest.mark.parametrize("name", MAKERS)
def test_cycles_never_hold_more_than_the_limit(step, name):
    before, most = in_use(), 0
    for i in range(24):  # 96 MiB
        Node(tanx.block_until_ready(MAKERS[name](i)))
        most = max(most, in_use() - before)
    assert most <= step + 16 * MIB  # the last array and its operands


def test_live_arrays_stay_and_cost_few_collections(step):
    runs = []
    gc.callbacks.append(count := lambda phase, facts: runs.append(facts["generation"])
                        if phase == "start" and facts["generation"] == 2 else None)
    try:
        kept = [staged(float(i)) for i in range(40)]
        for _ in range(4):  # as much again, which is freed without a collection
            for i in range(10):
                staged(float(i))
    finally:
        gc.callbacks.remove(count)
    assert [float(x[0]) for x in kept] == [i + 1.0 for i in range(40)]
    assert len(runs) <= 160 // 32 + 1


def test_a_collector_that_was_switched_off_stays_off(step):
    gc.disable()
    try:
        before = in_use()
        for i in range(20):
            Node(staged(float(i)))
        assert in_use() - before >= 80 * MIB
    finally:
        gc.enable()
        gc.collect()


def test_the_limit_is_a_part_of_the_machine():
    asked = type(growth)()
    asked.memory = growth.memory
    sizes = iter([1, asked.FLOOR + 1, 0])
    asked.look(lambda: next(sizes))
    assert asked.next == asked.FLOOR
    asked.look(lambda: next(sizes))
    assert asked.next == asked.step == CPU.memory_stats()["bytes_limit"] // 16


# -- counting --------------------------------------------------------------------------------------


def test_bytes_in_use_and_their_peak_count_every_array():
    gc.collect()
    start = in_use()
    for make in (lambda: jnp.ones(MIB) + 1, lambda: staged(2.0),
                 lambda: jnp.asarray(np.ones(MIB, np.float32)), lambda: jnp.ones(100)):
        for _ in range(4):
            x = make()
            assert in_use() - start == x.nbytes
        assert CPU.memory_stats()["peak_bytes_in_use"] >= start + x.nbytes
        del x
    assert in_use() == start


def test_a_profile_has_the_line_of_each_large_array():
    x = jnp.ones(2 * MIB)
    assert b"test_07_memory.py" in gzip.decompress(tanx.profiler.device_memory_profile())
    assert b"test_a_profile_has_the_line_of_each_large_array" in gzip.decompress(
        tanx.profiler.device_memory_profile())
    del x


# -- chunks ----------------------------------------------------------------------------------------


def wide(x, y):
    grid = jnp.cos(x * jnp.arange(32.0)[:, None] + jnp.arange(32.0) * y)
    return {"max": (grid @ grid).max(), "same": x}


@pytest.mark.parametrize("options", [
    {"chunk_size": 3}, {"chunk_size": 11}, {"memory_budget": 20_000}], ids=str)
def test_chunks_give_the_results_of_the_batch(options):
    x, y = jnp.arange(10.0), jnp.ones((2, 10))
    for axes, out_axes, args in (((0, None), 0, (x, 2.0)), ((0, 1), -1, (x, y[0][None]))):
        whole = tanx.vmap(wide, axes, out_axes)(*args)
        chunked = tanx.vmap(wide, axes, out_axes, **options)
        for run in (chunked, tanx.jit(chunked)):
            for _ in range(4):
                tanx.tree.map(_assert_same, run(*args), whole)


def _assert_same(found, expected):
    assert (found.shape, found.dtype, found.weak_type) == (
        expected.shape, expected.dtype, expected.weak_type)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_chunks_bound_temporary_memory():
    x = jnp.arange(64.0)

    def temporaries(**options):
        f = tanx.jit(tanx.vmap(lambda x: wide(x, x)["max"], **options))
        return f.lower(x).compile().memory_analysis().temp_size_in_bytes

    whole = temporaries()
    assert temporaries(chunk_size=8) < whole / 4
    for budget in (whole, whole // 10):
        assert temporaries(memory_budget=budget) <= budget


def test_chunks_under_transformations():
    f = lambda x: jnp.sin(x * jnp.arange(3.0)).sum()
    chunked, whole = tanx.vmap(f, chunk_size=2), tanx.vmap(f)
    x = jnp.linspace(0.0, 1.0, 5)
    pairs = [
        (tanx.grad(lambda x: chunked(x).sum()), tanx.grad(lambda x: whole(x).sum())),
        (lambda x: tanx.jvp(chunked, (x,), (x,))[1], lambda x: tanx.jvp(whole, (x,), (x,))[1]),
        (lambda x: tanx.vmap(chunked, chunk_size=3)(x + jnp.ones((4, 1))),
         lambda x: tanx.vmap(whole)(x + jnp.ones((4, 1)))),
        (lambda x: tanx.lax.scan(lambda c, _: (chunked(c), None), x, length=2)[0],
         lambda x: whole(whole(x)))]
    for mine, theirs in pairs:
        mine, expected = tanx.jit(mine), theirs(x)
        for _ in range(4):
            np.testing.assert_allclose(mine(x), expected, rtol=1e-5)


def test_chunks_of_empty_and_unmapped_arrays():
    f = tanx.vmap(lambda x: (x, 3, jnp.ones(2)), out_axes=(0, None, 0), chunk_size=2)
    for size in (0, 1, 2, 5):
        x, three, ones = f(jnp.arange(size))
        assert x.tolist() == list(range(size)) and three == 3 and ones.shape == (size, 2)
    assert tanx.vmap(lambda: jnp.ones(3), axis_size=5, chunk_size=2)().shape == (5, 3)
    with pytest.raises(ValueError, match="got axis spec None but output was batched on axis 0"):
        tanx.vmap(lambda x: x, out_axes=None, chunk_size=2)(jnp.arange(5))


@pytest.mark.parametrize("options, text", [
    ({"chunk_size": 0}, "chunk_size must be a positive int"),
    ({"memory_budget": 1.5}, "memory_budget must be a positive int"),
    ({"chunk_size": 2, "memory_budget": 9}, "exclude each other"),
    ({"chunk_size": 2, "axis_name": "i"}, "collectives need all lanes at once"),
    ({"memory_budget": 100}, "of a single lane exceed the budget")])
def test_mistakes(options, text):
    with pytest.raises(ValueError, match=text):
        tanx.vmap(lambda x: wide(x, x), **options)(jnp.arange(4.0))
