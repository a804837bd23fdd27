"""Work in the background: arrays without data, waiting, errors, order, forks and threads."""

import asyncio
import contextlib
import copy
import ctypes
import gc
import os
import pickle
import subprocess
import sys
import threading
import types
import weakref

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx._runtime import background, executable, host

ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


@pytest.fixture(autouse=True)
def everything_is_long(monkeypatch):
    monkeypatch.setattr(executable, "LONG", 0.0)
    monkeypatch.setattr(executable, "SHORT", 0.0)
    yield
    background.barrier()


@contextlib.contextmanager
def busy_queue():
    """Keep the queue of this thread busy until the block ends or ``go`` is set."""
    go, begun = threading.Event(), threading.Event()

    @ENTRY
    def program(addresses):
        begun.set()
        go.wait(60)

    code = types.SimpleNamespace(address=ctypes.cast(program, ctypes.c_void_p).value)
    background.queue_of_thread().submit(code, 0, [], (), 0)
    begun.wait(60)
    try:
        yield go
    finally:
        go.set()
        background.barrier()


def after(seconds: float, action) -> threading.Timer:
    timer = threading.Timer(seconds, action)
    timer.start()
    return timer


def double(x):
    return tanx.jit(lambda x: 2 * x)(x)


def test_programs_that_have_run_quickly_stay_in_the_foreground(monkeypatch):
    monkeypatch.setattr(executable, "SHORT", 1e9)
    double, x = tanx.jit(lambda x: 2 * x), jnp.arange(3.0)
    with busy_queue():
        first = double(x)
        assert not first.is_ready()
        assert not double(x).is_ready()  # nothing is known of the first run yet
    first.block_until_ready()
    with busy_queue():
        for _ in range(4):
            assert double(x).is_ready()


def test_results_are_there_before_their_data():
    x = jnp.arange(4.0)
    f = tanx.jit(lambda x: 2 * x)
    with busy_queue() as go:
        y = f(x)
        assert type(y) is tanx.Array and y.shape == (4,) and y.dtype == np.float32
        assert not y.is_ready() and not y.is_deleted()
        assert any(y is z for z in tanx.live_arrays())
        assert y.copy_to_host_async() is None and not y.is_ready()
        go.set()
        assert y.block_until_ready() is y and y.is_ready()
    np.testing.assert_array_equal(y, [0, 2, 4, 6])


READS = {
    "numpy": np.asarray, "repr": repr, "str": str, "list": lambda y: y.tolist(),
    "format": lambda y: f"{y.sum():.1f}", "bytes": lambda y: y.tobytes(),
    "item": lambda y: y.item(0),
    "index": lambda y: y[1], "eager": lambda y: y + 1, "copy": copy.copy,
    "deepcopy": copy.deepcopy, "pickle": lambda y: pickle.loads(pickle.dumps(y)),
    "dlpack": lambda y: np.from_dlpack(y), "iter": list, "bool": lambda y: bool(y.all()),
    "jit": lambda y: double(y), "grad": lambda y: tanx.grad(lambda x: (x * y).sum())(y),
    "vmap": lambda y: tanx.vmap(double)(y), "at": lambda y: y.at[0].set(5),
    "equal": lambda y: y == y, "device_put": tanx.device_put, "tree": tanx.block_until_ready,
}


@pytest.mark.parametrize("name", READS)
def test_reads_wait_for_the_result(name):
    read = READS[name]
    x = jnp.arange(4.0)
    expected = read(jnp.arange(4.0) * 2)
    f = tanx.jit(lambda x: 2 * x)
    f(x).block_until_ready()
    with busy_queue() as go:
        y = f(x)
        assert not y.is_ready()
        timer = after(0.01, go.set)
        found = read(y)
        timer.join()
    assert str(found) == str(expected)


def test_await():
    async def main(y, go):
        asyncio.get_running_loop().call_later(0.01, go.set)  # runs only if await does not block
        return await y

    with busy_queue() as go:
        y = double(jnp.arange(4.0))
        assert asyncio.run(main(y, go)) is y
    assert y.is_ready()
    assert asyncio.run(main(y, threading.Event())) is y


def test_asyncio_waits_for_several():
    f = tanx.jit(lambda x: x @ x)
    x, y = f(jnp.ones((400, 400))), f(jnp.full((400, 400), 2.0))

    async def main():
        first, second, third = await asyncio.gather(x, y, x)
        assert first is x and second is y and third is x
        seen = [await ready for ready in asyncio.as_completed([x, y])]
        assert {id(z) for z in seen} == {id(x), id(y)}
        done, _ = await asyncio.wait([asyncio.ensure_future(z) for z in (x, y)])
        assert len(done) == 2
        assert await asyncio.wait_for(x, 60) is x
        with pytest.raises(TypeError, match="asyncio.wait: needs tasks"):
            await asyncio.wait([x, y])

    asyncio.run(main())
    with pytest.raises(TypeError, match="arrays have no hash"):
        hash(x)


def test_queued_work_reads_earlier_results():
    x = jnp.ones(1000)
    with busy_queue():
        for _ in range(10):
            x = double(x)
        assert not x.is_ready()
    np.testing.assert_array_equal(x, np.full(1000, 1024.0))


def test_short_work_on_pending_data_does_not_wait(monkeypatch):
    with busy_queue():
        y = double(jnp.ones(3))
        monkeypatch.setattr(executable, "LONG", 1e9)
        z = tanx.jit(lambda y: y + 1)(y)
        assert not z.is_ready()
    np.testing.assert_array_equal(z, [3, 3, 3])


def test_arguments_that_are_results():
    f = tanx.jit(lambda x, y: (x, 2 * y, jnp.float32(3), y))
    x, mine = jnp.ones(3), np.ones(3, np.float32)
    with busy_queue():
        a, b, c, d = f(x, mine)
        mine[:] = 7  # the function has been called with ones
        assert a is x and not b.is_ready()
    assert [np.asarray(v).tolist() for v in (b, c, d)] == [[2, 2, 2], 3, [1, 1, 1]]


def test_dropped_pending_arrays_free_their_memory():
    held = host.statistics()["bytes_in_use"]
    with busy_queue():
        y = double(jnp.ones(1000))
        gone = weakref.ref(y)
        del y
        assert gone() is None
    gc.collect()
    assert host.statistics()["bytes_in_use"] <= held


def test_deleted_while_pending():
    with busy_queue():
        y = double(jnp.ones(3))
        y.delete()
        assert y.is_deleted() and repr(y) == "Array(deleted, float32[3])"
        with pytest.raises(RuntimeError, match="deleted"):
            y.is_ready()
    with pytest.raises(RuntimeError, match="deleted"):
        np.asarray(y)


def test_backlog_is_limited():
    f = tanx.jit(lambda x: x + 1)
    with busy_queue() as go:
        timer = after(0.05, go.set)
        x = jnp.zeros(10)
        for _ in range(3 * background.MOST_PENDING):
            x = f(x)
            assert len(background.queue_of_thread().records) <= background.MOST_PENDING
        timer.join()
    assert x[0] == 3 * background.MOST_PENDING


def test_backlog_is_limited_in_bytes(monkeypatch):
    monkeypatch.setattr(background, "_most_bytes", lambda: 10_000)
    f = tanx.jit(lambda x: x + 1)
    with busy_queue() as go:
        timer = after(0.05, go.set)
        for _ in range(10):
            y = f(jnp.zeros(1000))
            assert background.queue_of_thread().nbytes <= 10_000
        timer.join()
    assert y[0] == 1


def test_failures_surface_where_somebody_waits(monkeypatch):
    x = jnp.ones((64, 64))
    f = tanx.jit(lambda x: jnp.sort(x.sum(0)) + jnp.sort(x.sum(1)))
    f(x).block_until_ready()
    with busy_queue():
        submit = background.Queue.submit
        monkeypatch.setattr(background.Queue, "submit", lambda queue, code, arena, *rest: submit(
            queue, code, 1 << 60, *rest))
        y = f(x)  # the line in the message
        monkeypatch.undo()
        z = double(y)
        later = double(x)
    for broken in (y, z, y):
        assert broken.is_ready() and not broken.is_deleted()
        with pytest.raises(MemoryError, match=r"(?s)not enough memory.*between.*test_async\.py:"):
            broken.block_until_ready()
    assert later[0, 0] == 2


def test_work_can_be_made_synchronous():
    with busy_queue() as go:
        after(0.01, go.set)
        previous = tanx.config.jax_cpu_enable_async_dispatch
        tanx.config.update("jax_cpu_enable_async_dispatch", False)
        try:
            assert double(jnp.ones(3)).is_ready()
        finally:
            tanx.config.update("jax_cpu_enable_async_dispatch", previous)


def test_barrier():
    with busy_queue() as go:
        y = double(jnp.ones(3))
        after(0.01, go.set)
        tanx.effects_barrier()
        assert y.is_ready()


def test_block_until_ready_of_trees():
    with busy_queue() as go:
        y = double(jnp.ones(3))
        after(0.01, go.set)
        tree = {"a": y, "b": [3, "text", None, np.ones(2)]}
        assert tanx.block_until_ready(tree) is tree and y.is_ready()


def test_threads_have_queues_of_their_own():
    x = jnp.ones(1000)
    f = tanx.jit(lambda x: 2 * x)
    results = {}

    def work(n):
        y = x
        for _ in range(20):
            y = f(y)
        results[n] = y  # may be pending when the thread ends

    with busy_queue():
        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for y in results.values():  # while the queue of this thread is busy
            assert y[0] == 2.0 ** 20


def test_data_of_another_thread():
    ready = threading.Event()
    found = []

    def work(y):
        found.append(np.asarray(double(y)).tolist())
        ready.set()

    with busy_queue() as go:
        y = double(jnp.ones(2))
        thread = threading.Thread(target=work, args=(y,))
        thread.start()
        assert not ready.wait(0.02)
        go.set()
        thread.join()
    assert found == [[4, 4]]


def test_two_threads_run_at_once():
    """Each program waits for the other: neither Python's lock nor a queue blocks them."""
    meet = threading.Barrier(2, timeout=60)
    ran = []

    @ENTRY
    def program(addresses):
        meet.wait()
        ran.append(1)

    code = types.SimpleNamespace(address=ctypes.cast(program, ctypes.c_void_p).value)

    def work():
        queue = background.queue_of_thread()
        queue.wait(queue.submit(code, 0, [], (), 0).number)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ran) == 2


def run_python(text: str) -> str:
    path = os.pathsep.join(filter(None, (os.getcwd(), os.environ.get("PYTHONPATH"))))
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": path}, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_the_interpreter_ends_while_work_is_pending():
    assert run_python("""
import tanx, tanx.numpy as jnp
from tanx._runtime import executable
executable.LONG = 0.0
f = tanx.jit(lambda x: jnp.sin(x) * 2)
y = jnp.ones(1 << 16)
for _ in range(40):
    y = f(y)
print("end")
""") == "end\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fork_with_pending_work():
    f = tanx.jit(lambda x: 2 * x)
    x = f(f(jnp.ones(1000)))
    child = os.fork()
    if not child:
        with contextlib.suppress(BaseException):
            os._exit(0 if x[0] == 4 and f(f(x))[5] == 16 else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert f(x)[0] == 8


def test_calls_are_native_up_to_the_program():
    fun = tanx.jit(lambda x, n: {"a": x + n, "b": (x, 2 * x)})
    x, mine = jnp.arange(3.0), np.arange(3, dtype=np.float32)
    for arguments in ((x, 1.0), (mine, 1.0), (x, np.float32(1)), (x, jnp.ones(3)), (mine, x)):
        for _ in range(4):
            with busy_queue():
                y = fun(*arguments)
                z = fun(y["a"], 1.0)  # pending, with a known signature
                assert not z["a"].is_ready() and (y["b"][0] is x) == (arguments[0] is x)
            np.testing.assert_array_equal(y["a"], np.arange(3) + np.asarray(arguments[1]))
            np.testing.assert_array_equal(z["a"], np.asarray(y["a"]) + 1)
            np.testing.assert_array_equal(y["b"][1], [0, 2, 4])
    assert fun(jnp.ones((2, 2)), 1.0)["a"].shape == (2, 2)
    assert fun(jnp.ones(3, "int32"), 1)["a"].dtype == np.int32
    with pytest.raises(RuntimeError, match="deleted"):
        x.delete()
        fun(x, 1.0)
