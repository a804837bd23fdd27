"""Promise 21: signals, forks, threads and memory of the process are respected."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.skipif(not hasattr(os, "fork"), reason="needs POSIX"),
              pytest.mark.filterwarnings("ignore::DeprecationWarning")]


def run(script: str, **environment: str) -> list[str]:
    """The lines that a process prints."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], cwd=ROOT, capture_output=True, text=True,
        timeout=120, check=False, env=os.environ | environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_page():
    """Ctrl-C is pressed again after a while: Python drops one that arrives in a finalizer."""
    run("""
        import os, signal, threading
        signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
        from tests.gotchas import pages
        again = threading.Timer(60, os.kill, (os.getpid(), signal.SIGINT))
        again.daemon = True
        again.start()
        pages.run("21_good_citizen")
    """)


def test_ctrl_c_ends_every_kind_of_loop():
    """The shortest of several delays counts, because the machine may be busy."""
    lines = run("""
        import os, signal, threading, time
        signal.signal(signal.SIGINT, signal.default_int_handler)
        import tanx, tanx.numpy as jnp
        from tanx import lax
        X, FOREVER = jnp.ones((64, 64)), 1 << 60
        loops = {
            "scan": lambda x: lax.scan(lambda c, _: (jnp.cos(c), None), x, None, FOREVER)[0],
            "while": lambda x: lax.while_loop(lambda c: c[0, 0] < 9, jnp.cos, x),
            "threads": lambda x: lax.while_loop(
                lambda c: c[0, 0] < 9, lambda c: jnp.tanh(c @ c), x),
            "vmap": tanx.vmap(lambda x: lax.while_loop(lambda c: c[0] < 9, jnp.cos, x)),
        }
        def late(f):
            pressed, ended = [], threading.Event()
            def press():
                wait = 0.15
                while not ended.wait(wait):
                    pressed.append(time.perf_counter())
                    os.kill(os.getpid(), signal.SIGINT)
                    wait = 10  # Python drops one that arrives in a finalizer
            try:
                threading.Thread(target=press).start()
                f(X).block_until_ready()
            except KeyboardInterrupt:
                ended.set()
                return time.perf_counter() - pressed[-1]
        for name, loop in loops.items():
            f = tanx.jit(loop)
            print(name, min(late(f) for _ in range(4)) < 0.2)
        print(float(tanx.jit(jnp.sin)(0.0)))
    """)
    assert lines == ["scan True", "while True", "threads True", "vmap True", "0.0"]


def test_a_forked_child_computes():
    x = tanx.random.normal(tanx.random.key(0), (400, 400))
    f = tanx.jit(lambda x: jnp.tanh(x @ x) + jnp.sort(x, 1))
    g = tanx.jit(lambda x: jnp.linalg.solve(x + 400 * jnp.eye(400), x))
    long = tanx.jit(lambda x: tanx.lax.fori_loop(0, 20, lambda i, c: jnp.sin(c @ x), x))
    expected = [f(x), g(x), long(x), x + 1]
    for _ in range(4):
        pending = long(x)  # work may be running while the process forks
        child = os.fork()
        if child == 0:
            same = False
            try:
                for _ in range(4):
                    same = all(map(np.array_equal, expected, [f(x), g(x), long(x), x + 1]))
                same = same and float(tanx.jit(lambda x: x * 3)(2.0)) == 6.0  # new code
            finally:
                os._exit(0 if same else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        np.testing.assert_array_equal(pending, expected[2])


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="asks Linux for the threads")
@pytest.mark.parametrize("threads", [1, 3])
def test_thread_count_follows_omp_num_threads(threads):
    number, started, again = map(int, run("""
        import os
        import tanx, tanx.numpy as jnp
        x = jnp.ones((512, 512))
        f = tanx.jit(lambda x: jnp.tanh(x @ x))
        tanx.config.update("jax_cpu_enable_async_dispatch", False)
        before = len(os.listdir("/proc/self/task"))
        for _ in range(4):
            f(x)
        print(tanx.get_num_threads())
        print(len(os.listdir("/proc/self/task")) - before)
        tanx.set_num_threads(1)
        for _ in range(4):
            f(x)
        print(tanx.get_num_threads())
    """, OMP_NUM_THREADS=str(threads)))
    assert (number, again) == (threads, 1)
    assert started == threads - 1


def test_no_memory_is_taken_ahead():
    (taken,) = run("""
        import tanx, tanx.numpy as jnp
        tanx.jit(lambda x: x + 1)(jnp.ones(3))
        print(tanx.devices()[0].memory_stats()["bytes_reserved"])
    """)
    assert int(taken) < 1 << 20


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="asks Linux for the memory")
def test_out_of_memory_collects_retries_and_lists_live_arrays():
    lines = run("""
        import gc, resource
        import tanx, tanx.numpy as jnp
        class Node:
            def __init__(self, x):
                self.x, self.parent = x, self
        SIZE = 5 << 20  # 20 MiB
        staged = tanx.jit(lambda x: jnp.full(SIZE, x) + 1.0)
        makers = {
            "compiled": lambda: staged(1.0), "eager": lambda: jnp.ones(SIZE) * 2,
            "update": lambda: jnp.zeros(SIZE).at[0].set(1.0)}
        for make in makers.values():
            make()
        taken = int(open("/proc/self/statm").read().split()[0]) * 4096
        resource.setrlimit(resource.RLIMIT_AS, (taken + (150 << 20),) * 2)
        gc.disable()  # so that nothing is collected before memory runs out
        for name, make in makers.items():
            for _ in range(16):
                Node(make())
            print(name)
        kept = []
        for name, make in makers.items():
            try:
                for _ in range(20):
                    kept.append(make())
                print("there was room")
            except tanx.errors.OutOfMemoryError as error:
                text = str(error)
                print(text.count("MiB, made at <string>:"), "asked for: 20.0 MiB" in text)
        kept.clear()
        print(float(staged(1.0)[0]))
    """)
    assert lines[:3] == ["compiled", "eager", "update"]
    assert lines[3:] == ["5 True", "5 True", "5 True", "2.0"]
