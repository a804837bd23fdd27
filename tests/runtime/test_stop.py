"""Programs are stopped by Ctrl-C, in any thread, and by exceptions in callbacks."""

import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._runtime import stop
from tanx.errors import JaxRuntimeError

ROOT = Path(__file__).parents[2]
START = """
import os, signal, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # it is ignored in the background
import numpy as np
import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._base import config

ENDLESS = 1 << 60
X = jnp.ones(3)

def step(c, _):
    return jnp.sin(c) * 1.01, None

endless = tanx.jit(lambda x: lax.scan(step, x, None, length=ENDLESS)[0])
short = tanx.jit(lambda x: lax.scan(step, x, None, length=100)[0])
expected = np.asarray(short(X))

def pressed(fun, *args):
    "Call a function, press Ctrl-C meanwhile, and tell what comes of it."
    def press():
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGINT)
    thread = threading.Thread(target=press)
    thread.start()
    try:
        fun(*args)
        time.sleep(5)
        print("went on")
    except KeyboardInterrupt as error:
        print("stopped", error, sep="|")
    thread.join()
    assert np.array_equal(short(X), expected)
"""


def run(script: str) -> list[str]:
    """The lines that a process prints; it must end in time."""
    done = subprocess.run([sys.executable, "-c", START + textwrap.dedent(script)], cwd=ROOT,
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout.splitlines()


pytestmark = pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs POSIX signals")


def test_in_the_calling_thread():
    """Calls run by Python, and native calls, which begin with the third."""
    assert run("""
        with config.async_dispatch(False):
            for _ in range(4):
                pressed(endless, X)
    """) == ["stopped|"] * 4


def test_in_the_background():
    lines = run("""
        pressed(lambda: endless(X).block_until_ready())
        y = endless(X)
        z = tanx.jit(lambda y: y + 1)(y)
        time.sleep(0.1)
        pressed(lambda: np.asarray(z))
        for later in (y, z):
            try:
                later.block_until_ready()
            except KeyboardInterrupt as error:
                print(error)
    """)
    # The second wait may end by the signal, or by the error of the work that it waits for.
    assert sum(line.startswith("stopped|") for line in lines) == 2
    assert lines[-4::2] == ["tanx.jit: the computation was stopped before it was done."] * 2
    assert all(line.startswith("  started at: <string>:") for line in lines[-3::2])


def test_in_several_threads():
    assert run("""
        from tanx._control.scan import map_lanes
        tanx.set_num_threads(2)
        lane = tanx.make_jaxpr(lambda x: lax.scan(step, x, None, length=ENDLESS)[0])(1.0)
        lanes = tanx.jit(lambda x: map_lanes(lane, 8, [x], [0])[0])
        for _ in range(3):
            pressed(lambda: tanx.block_until_ready(lanes(jnp.arange(8.0))))
    """) == ["stopped|"] * 3


def test_an_interrupt_does_not_stop_other_threads():
    assert run("""
        long = tanx.jit(lambda x: lax.scan(step, x, None, length=3_000_000)[0])
        results = []
        thread = threading.Thread(target=lambda: results.append(np.asarray(long(X))))
        thread.start()
        pressed(lambda: endless(X).block_until_ready())
        thread.join()
        print(np.array_equal(results[0], np.asarray(long(X))))
    """) == ["stopped|", "True"]


def test_handlers_of_users_run_while_loops_do():
    assert run("""
        seen = []
        signal.signal(signal.SIGINT, lambda *_: seen.append(1) if len(seen) < 2 else 1 / 0)
        fresh = tanx.jit(lambda x: lax.scan(step, x + 1, None, length=ENDLESS)[0])
        def press():
            for n in range(3):
                time.sleep(0.2)
                os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=press).start()
        try:
            with config.async_dispatch(False):
                fresh(X)
        except ZeroDivisionError:
            print(len(seen))
    """) == ["2"]


def test_loops_are_interrupted_after_the_python_handler_runs():
    """A loop that stopped before Python has the signal would find no exception, and continue."""
    assert run("""
        import ctypes
        from tanx._runtime import stop
        stop.addresses()  # compiles it, which puts Python's handler in its place
        seen = []
        note = lambda _: seen.append(stop.words.interrupted)
        handler = ctypes.CFUNCTYPE(None, ctypes.c_int)(note)
        ctypes.CDLL(None).signal(signal.SIGINT, handler)
        stop._listen()
        os.kill(os.getpid(), signal.SIGINT)
        print(seen, stop.words.interrupted)
    """) == ["[0] 1"]


def test_interrupts_during_and_between_callbacks():
    assert run("""
        def wait(x):
            time.sleep(0.5)
            return x
        waiting = lambda c, _: (tanx.pure_callback(wait, c, c), None)
        loop = tanx.jit(lambda x: lax.scan(waiting, x, None, length=ENDLESS)[0])
        pressed(loop, X)
        quick = lambda c, _: (tanx.pure_callback(lambda c: c, c, c), None)
        loop = tanx.jit(lambda x: lax.scan(quick, x, None, length=ENDLESS)[0])
        pressed(loop, X)
    """) == ["stopped|"] * 2


def test_interrupts_wait_for_the_end_of_compilation():
    """Ctrl-C during compilation by LLVM is delayed until its end; loops can still be stopped."""
    assert run("""
        from tanx._compiler.emit.cpu import module as cpu
        assemble = cpu.assemble
        def slow(*args, **options):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.1)
            print("assembled")
            return assemble(*args, **options)
        cpu.assemble = slow
        try:
            tanx.jit(lambda x: lax.scan(step, x + 2, None, length=7)[0])(X)
        except KeyboardInterrupt:
            print("stopped")
        cpu.assemble = assemble
        signal.signal(signal.SIGINT, signal.default_int_handler)
        tanx.jit(jnp.cos)(X)
        with config.async_dispatch(False):
            pressed(endless, X)
    """) == ["assembled", "stopped", "stopped|"]


def test_exceptions_end_loops():
    calls = []

    def fail(x):
        calls.append(float(x))
        if x > 2:
            raise LookupError(float(x))
        return x + 1
    step = lambda c, _: (tanx.pure_callback(fail, c, c), None)
    inner = lambda c, _: lax.scan(step, c, None, length=1 << 50)
    fun = tanx.jit(lambda x: lax.scan(inner, x, None, length=1 << 50)[0])
    for _ in range(2):
        with pytest.raises(JaxRuntimeError, match=r"LookupError: 3\.0"):
            fun(0.0)
    assert calls == [0.0, 1.0, 2.0, 3.0] * 2
    assert stop.words.failing == 0
    assert float(tanx.jit(lambda x: lax.scan(lambda c, _: (c + 1, None), x, None, length=10)[0])(
        jnp.float32(0))) == 10.0


def test_loops_of_unknown_length_release_the_gil():
    """A loop of unknown length does not hold Python's lock."""
    assert run("""
        waiting = tanx.jit(lambda x: lax.while_loop(lambda c: c < 1, lambda c: c * 0.5, x))
        waiting(2.0), waiting(2.0), waiting(2.0)  # native calls from here on
        pressed(waiting, 0.5)  # by another thread
    """) == ["stopped|"]


def test_in_a_library():
    """An SVD takes seconds; Ctrl-C does not wait for its end."""
    lines = run("""
        import sys
        matrix = jnp.asarray(np.random.default_rng(0).normal(size=(1500, 1500)), "float32")
        many = jnp.broadcast_to(matrix[:100, :100], (9000, 100, 100))
        svd = tanx.jit(jnp.linalg.svd)
        programs = [svd.lower(x).compile() for x in (matrix, many)]

        def soon(fun):
            start = time.monotonic()
            pressed(fun)
            print(time.monotonic() - start < 5)

        soon(lambda: jnp.linalg.svd(matrix))
        soon(lambda: tanx.block_until_ready(svd(matrix)))
        soon(lambda: tanx.block_until_ready(svd(many)))
        with config.async_dispatch(False):
            for _ in range(4):
                soon(lambda: svd(matrix))
        values = svd(matrix[:40, :40])[1]
        print(np.allclose(values, np.linalg.svd(matrix[:40, :40])[1], rtol=1e-4))
    """)
    assert lines == ["stopped|", "True"] * 7 + ["True"]


def test_routines_apart_give_the_same_results(monkeypatch):
    """Routines in a separate thread, on copies, have the same results."""
    from tanx._loops import lapack
    x = jnp.asarray(np.random.default_rng(1).normal(size=(3, 40, 40)), "float32")
    functions = (jnp.linalg.svd, jnp.linalg.eigvals, jnp.linalg.inv,
                 lambda x: jnp.linalg.eigh(x + x.mT), jnp.linalg.qr)
    expected = [tanx.jit(f)(x) for f in functions]
    monkeypatch.setattr(lapack, "takes_long", lambda *_: True)
    for f, wanted in zip(functions, expected):
        again = tanx.jit(lambda x, f=f: tanx.tree.map(lambda y: y + 0, f(x)))
        for _ in range(4):
            tanx.tree.map(np.testing.assert_array_equal, again(x), wanted)
