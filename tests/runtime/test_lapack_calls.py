"""The number of threads of the library that computes decompositions."""

import ctypes
import threading

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx._loops import lapack
from tanx._runtime import lapack_calls
from tanx._runtime.lapack_native import HOLDERS, SET


@pytest.fixture
def threads():
    """Functions that get and set the number of threads."""
    functions = lapack.thread_functions()
    if functions is None:
        pytest.skip("this SciPy computes with something else than OpenBLAS")
    get = ctypes.CFUNCTYPE(ctypes.c_int)(functions[0])
    put = ctypes.CFUNCTYPE(None, ctypes.c_int)(functions[1])
    before = get()
    put(2)
    yield get, put
    put(before)


def symmetric(n):
    x = np.random.default_rng(n).standard_normal((n, n)).astype(np.float32)
    return jnp.asarray(x + x.T)


def run_eigh(n):
    tanx.block_until_ready(tanx.jit(jnp.linalg.eigh)(symmetric(n)))


def test_small_matrices_are_done_in_the_calling_thread(threads):
    get, put = threads
    told = []
    words = (ctypes.c_int64 * 20).from_address(lapack_calls._threads())
    spy = ctypes.CFUNCTYPE(None, ctypes.c_int)(lambda n: (told.append(n), put(n))[0])
    real, words[SET // 8] = words[SET // 8], ctypes.cast(spy, ctypes.c_void_p).value
    try:
        run_eigh(40)
        assert told == [1, 2]
        run_eigh(200)
        assert told == [1, 2]
    finally:
        words[SET // 8] = real


def test_concurrent_calls_restore_the_thread_count(threads):
    get, put = threads
    workers = [threading.Thread(target=lambda: [run_eigh(n) for n in range(8, 40, 4)])
               for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert get() == 2
    words = (ctypes.c_int64 * 20).from_address(lapack_calls._threads())
    assert words[HOLDERS // 8] == 0
    put(1)
    run_eigh(20)
    assert get() == 1


def test_no_matrices_at_all():
    assert tanx.jit(jnp.linalg.cholesky)(np.zeros((0, 2, 2), np.float32)).shape == (0, 2, 2)
