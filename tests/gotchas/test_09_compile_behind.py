"""Promise 9: code is compiled ahead, or while Python goes on."""

import asyncio
import concurrent.futures
import threading
import time

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx._base.config import enable_compilation_cache
from tanx._runtime import background_compile as behind
from tanx._runtime import idle_work as later
from tests.gotchas import pages

X = jnp.linspace(0.1, 1.0, 64)


def test_the_page():
    pages.run("09_compile_behind")


@pytest.fixture
def slow_compiler(monkeypatch):
    """Let the compiler wait for an event, which is returned."""
    go, compiled = threading.Event(), behind.compiled

    def wait_and_compile(*args):
        assert go.wait(60)
        return compiled(*args)
    monkeypatch.setattr(behind, "compiled", wait_and_compile)
    yield go
    go.set()
    later.idle()


PROGRAMS = {
    "numbers": (lambda x: jnp.sin(x) * 2 + 1, (1.0,)),
    "arrays": (lambda x: {"sum": x.sum(), "same": x, "product": x @ jnp.outer(x, x)}, (X,)),
    "integers": (lambda x: (x // 3, x > 2), (jnp.arange(6),)),
    "nothing": (lambda x: x, (jnp.zeros((0, 3)),)),
    "loop": (lambda x: tanx.lax.scan(lambda c, y: (c * y, c + y), x, X)[0], (2.0,)),
    "branch": (lambda x: tanx.lax.cond(x > 0, jnp.sin, jnp.cos, x), (2.0,)),
    "gradient": (tanx.grad(lambda x: tanx.jit(jnp.tanh)(x).sum()), (X,)),
    "key": (lambda key: tanx.random.uniform(key, (3,)), (tanx.random.key(0),)),
    "callback": (lambda x: tanx.pure_callback(np.sin, x, x), (X,))}


@pytest.mark.parametrize("name", PROGRAMS)
def test_calls_before_and_after_the_code_is_there_agree(slow_compiler, name):
    function, args = PROGRAMS[name]
    f = tanx.jit(function, background=True)
    before = [f(*args) for _ in range(2)]
    slow_compiler.set()
    later.idle()
    after = [f(*args) for _ in range(4)]
    for result in (*before, *after):
        for x, y in zip(tanx.tree.leaves(result), tanx.tree.leaves(function(*args)), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-5)
            assert (x.shape, x.dtype, x.weak_type) == (y.shape, y.dtype, y.weak_type)


def test_each_signature_has_its_code_made_in_a_thread(slow_compiler):
    f = tanx.jit(lambda x: x * 2, background=True)
    assert [float(f(3.0)), f(X).shape] == [6.0, (64,)]
    slow_compiler.set()
    later.idle()
    assert [float(f(3.0)) for _ in range(4)] == [6.0] * 4
    assert f._cache_size() == 2
    assert f._native  # later calls run native code


def test_options_of_the_thread_that_calls_hold(slow_compiler):
    with tanx.enable_x64(True):
        f = tanx.jit(lambda x: x + 0.1, background=True)
        first = f(1.0)
        slow_compiler.set()
        later.idle()
        assert [f(1.0).dtype for _ in range(4)] == [first.dtype] * 4 == [jnp.float64] * 4


def test_long_loops_wait_for_their_code():
    f = tanx.jit(lambda x: tanx.lax.while_loop(lambda x: x < 1e6, lambda x: x + 1, x),
                 background=True)
    assert [float(f(0.0)) for _ in range(4)] == [1e6] * 4


def test_under_other_transformations_it_is_jit():
    f = tanx.jit(lambda x: x * x, background=True)
    assert [float(tanx.grad(f)(3.0)) for _ in range(4)] == [6.0] * 4
    assert tanx.vmap(f)(X).shape == X.shape
    assert [float(tanx.jit(f)(3.0)) for _ in range(4)] == [9.0] * 4
    later.idle()


def test_errors_of_the_compiler_are_raised_by_the_next_call(monkeypatch):
    def fail(*_):
        raise RuntimeError("no code today")

    monkeypatch.setattr(behind, "compiled", fail)
    f = tanx.jit(lambda x: x + 1, background=True)
    assert float(f(1.0)) == 2.0
    later.idle()
    for _ in range(4):
        with pytest.raises(RuntimeError, match="no code today"):
            f(1.0)


def test_ahead_of_time_in_a_thread():
    lowered = tanx.jit(lambda x: jnp.sin(x) + 1).lower(X)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        compiled = pool.submit(lowered.compile).result()
    for _ in range(4):
        np.testing.assert_allclose(compiled(X), np.sin(X) + 1, rtol=1e-6)


def long_program(salt, size):
    def f(x):
        for i in range(size):
            x = jnp.sin(x) * jnp.cos(x + i + salt) + 1e-3 * jnp.cumsum(x)[i % 7]
        return x
    return tanx.jit(f, background=True)


async def lateness(f):
    """The delay of each tick of 5 ms while a program was compiled, and the time of compilation.

    The compiler may finish before the loop is notified, but not the other way round.
    """
    late = []
    f(X)
    done = threading.Event()
    later.do(done, lambda event: event.set())
    start = time.perf_counter()
    while not done.is_set():
        begin = time.perf_counter()
        await asyncio.sleep(0.005)
        late.append(time.perf_counter() - begin - 0.005)
    return late, time.perf_counter() - start


def test_the_event_loop_runs_while_a_program_is_compiled():
    """No tick waits for most of the compilation. A slow test checks the delay in milliseconds."""
    with enable_compilation_cache(False):
        late, seconds = asyncio.run(lateness(long_program(0, 60)))
    assert len(late) > 5 and max(late) < seconds / 2


@pytest.mark.slow
def test_a_ticker_is_not_late_by_more_than_50_ms():
    with enable_compilation_cache(False):
        latest = min(max(asyncio.run(lateness(long_program(salt, 120)))[0]) for salt in range(4))
    assert latest < 0.05
