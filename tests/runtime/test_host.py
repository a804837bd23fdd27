"""The allocator: aligned blocks that are reused, counted and released."""

import contextvars
import ctypes
import gc
import os
import subprocess
import sys
import textwrap
import threading

import ml_dtypes
import numpy as np
import pytest

from tanx._runtime import host

F4 = np.dtype("f4")


def counts() -> dict:
    gc.collect()
    return host.statistics()


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 4), (2, 0, 5), (1 << 20,), (7,) * 6])
@pytest.mark.parametrize("dtype", ["f4", "c16", "?", ml_dtypes.bfloat16, ml_dtypes.int4])
def test_arrays_are_ordinary_and_aligned(shape, dtype):
    x = host.empty(shape, np.dtype(dtype))
    assert x.shape == shape and x.dtype == dtype and x.base is None
    assert x.flags.c_contiguous and x.flags.owndata and x.flags.writeable and x.flags.aligned
    assert x.ctypes.data % host.ALIGNMENT == 0
    x[...] = 1
    assert (x == np.ones(shape, dtype)).all()


def test_a_block_given_back_is_used_again():
    x = host.empty((12345,), F4)
    where = x.ctypes.data
    del x
    assert host.empty((12346,), F4).ctypes.data == where


def test_a_view_keeps_the_block():
    before = counts()["bytes_in_use"]
    view = host.empty((1000,), F4)[10:20]
    assert counts()["bytes_in_use"] == before + 4000
    del view
    assert counts()["bytes_in_use"] == before


def test_counts():
    host.trim()
    before = counts()
    assert before["bytes_cached"] == 0
    xs = [host.empty((n,), F4) for n in (10, 1000, 1 << 20)]
    during = counts()
    asked = 4 * (10 + 1000 + (1 << 20))
    assert during["bytes_in_use"] == before["bytes_in_use"] + asked
    assert during["num_blocks"] == before["num_blocks"] + 3
    assert during["num_allocs"] == before["num_allocs"] + 3
    assert during["peak_bytes_in_use"] >= during["bytes_in_use"]
    assert during["largest_alloc_size"] >= 4 << 20
    assert asked <= during["bytes_reserved"] - before["bytes_reserved"] <= 1.25 * asked + 64
    del xs
    after = counts()
    assert after["bytes_in_use"] == before["bytes_in_use"]
    assert after["bytes_reserved"] == during["bytes_reserved"]  # cached
    assert after["bytes_cached"] == during["bytes_reserved"] - before["bytes_reserved"]
    host.trim()
    assert counts()["bytes_reserved"] == before["bytes_reserved"]


def test_trim_keeps_the_requested_bytes():
    host.trim()
    xs = [host.empty((1 << 20,), np.dtype("u1")) for _ in range(8)]
    del xs
    host.trim(3 << 20)
    assert counts()["bytes_cached"] == 3 << 20


def test_memory_above_the_cache_limit_is_released():
    allocator = host.allocator()
    limit = counts()["bytes_limit"]
    host.trim()
    allocator.call("tanx_limit", limit, 4 << 20)
    try:
        xs = [host.empty((1 << 20,), np.dtype("u1")) for _ in range(16)]
        del xs
        assert counts()["bytes_cached"] <= 4 << 20
    finally:
        allocator.call("tanx_limit", limit, limit // 4)


@pytest.mark.parametrize("shape", [(1 << 50,), (1 << 40, 1 << 40)])
def test_too_large(shape):
    before = counts()
    with pytest.raises(MemoryError):
        host.empty(shape, F4)
    after = counts()
    assert after["bytes_in_use"] == before["bytes_in_use"]
    assert after["bytes_reserved"] <= before["bytes_reserved"]


def test_sizes_of_all_classes():
    """Blocks have the requested length: bytes at both ends belong to no other block."""
    sizes = [s + d for k in range(18) for s in (1 << k, 3 << k) for d in (-1, 0, 1)]
    xs = [host.empty((n,), np.dtype("u1")) for n in sizes]
    for n, x in enumerate(xs):
        x[...] = n % 251
    for n, x in enumerate(xs):
        assert (x == n % 251).all()


def test_dtypes_keep_their_reference_counts():
    dtype = np.dtype([("a", "f4"), ("b", "i8")])
    before = sys.getrefcount(dtype)
    xs = [host.empty((2,), dtype) for _ in range(10)]
    assert sys.getrefcount(dtype) == before + 10
    del xs
    assert sys.getrefcount(dtype) == before


@pytest.mark.parametrize("shape", [(1.5,), ("a",), [3], 3])
def test_shapes_are_tuples_of_ints(shape):
    with pytest.raises((TypeError, SystemError)):
        host.empty(shape, F4)


def test_numpy_uses_the_allocator_through_its_handler():
    """NumPy calls the functions of the allocator in a context with its handler."""
    set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(host.numpy_function(304))
    inside = contextvars.copy_context()
    inside.run(set_handler, host.allocator().handler)
    before = counts()["bytes_in_use"]
    x = inside.run(np.arange, 1000.0)
    y = np.arange(1000.0)
    assert counts()["bytes_in_use"] == before + 8000
    np.testing.assert_array_equal(x, y)
    for n in (10, 1 << 20):  # new memory, then reused memory
        for _ in range(2):
            zeros = inside.run(np.zeros, n)
            assert not zeros.any()
            zeros += 1
            del zeros
    assert inside.run(np.fromiter, range(100_000), float).sum() == 4999950000  # the array grows
    del x, y
    assert counts()["bytes_in_use"] == before


def test_many_threads():
    allocate = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64)(host.address("tanx_alloc"))
    free = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(host.address("tanx_free"))
    before = counts()
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        held = {}
        for n in rng.integers(1, 200_000, 400):
            place = allocate(int(n))
            ctypes.memset(place, seed, int(n))
            held[place] = int(n)
            if len(held) > 8:
                place, n = held.popitem()
                if set(ctypes.string_at(place, n)) != {seed}:
                    wrong.append(place)
                free(place)
        for place in held:
            free(place)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    after = counts()
    assert after["bytes_in_use"] == before["bytes_in_use"]
    assert after["num_blocks"] == before["num_blocks"]
    assert after["num_allocs"] == before["num_allocs"] + 1600


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_has_its_own_memory():
    x = host.empty((1000,), F4)
    x[...] = 1
    child = os.fork()
    if not child:
        y = host.empty((1000,), F4)
        y[...] = 2
        x[...] = 3
        os._exit(0 if y.sum() == 2000 and x.sum() == 3000 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert x.sum() == 1000


@pytest.mark.parametrize("megabytes", [1, 1.5, 2, 3.25, 7, 64])
def test_large_blocks_begin_where_a_huge_page_may(megabytes):
    n = int(megabytes * (1 << 20))
    arrays = [host.empty((n,), np.dtype(np.uint8)) for _ in range(3)]
    for k, array in enumerate(arrays):
        assert array.ctypes.data % (1 << 21) < 5 * 4096
        array[:] = k
    assert [(int(a.min()), int(a.max())) for a in arrays] == [(0, 0), (1, 1), (2, 2)]


def test_native_functions_outlive_cleared_modules():
    """At exit, Python clears modules first and then visits remaining functions."""
    script = """
        import ctypes, gc
        from tanx._runtime import host
        functions = [host.allocator().empty, host.allocator().run]
        vars(host).clear()
        gc.collect()
        others = [ctypes.create_string_buffer(n % 40 + 1) for n in range(20000)]
        assert [f.__name__ for f in functions] == ["empty", "run"]
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True, timeout=120)
