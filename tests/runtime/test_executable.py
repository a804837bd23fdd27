"""Executables: results, references they keep, and memory they release."""

import gc
import os
import threading

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx._runtime import background, host, load
from tanx._runtime.executable import Executable


def staged(fun, *args):
    return tanx.make_jaxpr(fun)(*args)


def test_results_own_their_memory():
    run = Executable(staged(lambda x: (x + 1, (x * 2).reshape(6), x.sum()), jnp.ones((2, 3)))).run
    for y in run([jnp.ones((2, 3))]):
        assert y._value.flags.owndata and y._value.ctypes.data % host.ALIGNMENT == 0


def test_arguments_and_constants_as_results():
    table = jnp.arange(3.0)
    run = Executable(staged(lambda x, y: (x, y, table, x + 1), jnp.ones(3), jnp.ones(3))).run
    x, mine = jnp.ones(3), np.ones(3, np.float32)
    a, b, c, d = run([x, mine])
    mine[:] = 7
    assert a is x
    assert [np.asarray(v).tolist() for v in (b, c, d)] == [[1, 1, 1], [0, 1, 2], [2, 2, 2]]


def test_strided_and_read_only_arguments():
    run = Executable(staged(lambda x: x + 1, jnp.ones((3, 2)))).run
    data = np.arange(6, dtype=np.float32).reshape(2, 3).T
    data.flags.writeable = False
    np.testing.assert_array_equal(run([data])[0], data + 1)
    np.testing.assert_array_equal(run([tanx.Array(data)])[0], data + 1)


def test_temporaries_are_used_again():
    f = tanx.jit(lambda x: jnp.sort(x @ x) + jnp.sort(x + 1))
    x = jnp.ones((100, 100))
    f(x).block_until_ready()
    before = host.statistics()
    for _ in range(20):
        f(x).block_until_ready()
    after = host.statistics()
    assert after["bytes_reserved"] == before["bytes_reserved"]
    assert after["bytes_in_use"] == before["bytes_in_use"]


def test_memory_statistics():
    device = tanx.devices()[0]
    f = tanx.jit(lambda x: x + 1)
    x = jnp.arange(1 << 18, dtype=np.float32)
    before = device.memory_stats()["bytes_in_use"]
    y = f(x)
    stats = device.memory_stats()
    assert stats["bytes_in_use"] == before + (1 << 20)
    assert stats["peak_bytes_in_use"] >= stats["bytes_in_use"]
    assert stats["bytes_reserved"] >= stats["bytes_in_use"]
    assert stats["largest_alloc_size"] >= 1 << 20
    del y
    assert device.memory_stats()["bytes_in_use"] == before
    tanx.clear_caches()
    assert device.memory_stats()["bytes_cached"] == 0


def test_repeated_calls_do_not_grow_memory():
    f = tanx.jit(lambda x, y: jnp.sin(x) @ y + 1)
    rng = np.random.default_rng(0)
    data = rng.normal(size=(2000, 16, 16)).astype("float32")

    def rounds(count):
        for n in range(count):
            f(jnp.asarray(data[n]), data[-n])
        gc.collect()
        background.barrier()
        return host.statistics()

    before, after = rounds(10), rounds(2000)
    assert after["bytes_in_use"] == before["bytes_in_use"]
    assert after["num_blocks"] == before["num_blocks"]
    assert after["bytes_reserved"] == before["bytes_reserved"]


def resident() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="asks Linux for the memory")
def test_code_of_dropped_functions_is_freed(monkeypatch):
    monkeypatch.setattr(load, "LIMIT", 1 << 16)

    def rounds(first, count):
        for n in range(first, first + count):
            tanx.jit(lambda x, n=n: jnp.sin(x) * n + n)(jnp.ones(16))
        gc.collect()
        return resident()

    before = rounds(0, 200)
    assert rounds(200, 1000) - before < 4 << 20


def test_many_threads_share_an_executable():
    f = tanx.jit(lambda x: jnp.sort(x * 2)[::-1] + x.sum())
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(50):
            x = rng.normal(size=100).astype("float32")
            y = np.sort(x * 2)[::-1] + x.sum()
            if not np.allclose(f(x), y, rtol=1e-4, atol=1e-4):
                wrong.append(x)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_arguments_returned_in_another_shape():
    fun = tanx.jit(lambda x: (x.reshape(6), x[None], x))
    x = jnp.ones((2, 3))
    for _ in range(4):
        flat, deeper, same = fun(x)
        assert (flat.shape, deeper.shape) == ((6,), (1, 2, 3)) and same is x


def test_results_without_data():
    def f(x):
        return tanx.jvp(lambda x: x > 0, (x,), (x,))[1], x + 1
    x = jnp.arange(3.0)
    for _ in range(3):  # by Python, and by native code
        nothing, more = tanx.jit(f)(x)
        assert nothing.dtype == np.asarray(nothing).dtype == tanx.dtypes.float0
        assert nothing.shape == (3,) and more[0] == 1
    again = tanx.jit(lambda nothing, x: (nothing, x))(nothing, x)[0]
    assert again.dtype == np.asarray(again).dtype == tanx.dtypes.float0
