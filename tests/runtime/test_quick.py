"""Quickly compiled code: which programs have it, and how better code replaces it."""

import os

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._base.config import quick_code
from tanx._compiler.abi import ENTRY
from tanx._compiler.emit.cpu import module as cpu
from tanx._runtime import idle_work as later
from tanx._runtime import load
from tanx._runtime.executable import Executable


@pytest.fixture(autouse=True)
def quick():
    load.clear()
    with quick_code(True):
        yield
    later.idle()
    load.clear()


@pytest.fixture
def assembled(monkeypatch):
    """A list that gets an entry for each program that LLVM compiles: whether it does so quickly."""
    times = []
    original = cpu.assemble

    def assemble(text, *args, quick=False):
        if ENTRY in text:
            times.append(quick)
        return original(text, *args, quick=quick)
    monkeypatch.setattr(cpu, "assemble", assemble)
    return times


def softmax(x):
    e = jnp.exp(x - jnp.max(x, axis=1, keepdims=True))
    return e / jnp.sum(e, axis=1, keepdims=True)


X = np.random.default_rng(0).normal(size=(8, 33)).astype(np.float32)


def test_code_is_optimized_after_repeated_use(assembled):
    executable = Executable(tanx.make_jaxpr(softmax)(X))
    first, address = executable.run([X]), executable.code.address
    later.idle()
    assert assembled == [True]  # many programs run once
    for _ in range(3):
        executable.run([X])
    later.idle()
    assert assembled == [True, False]
    assert executable.code.address == address
    np.testing.assert_array_equal(executable.run([X])[0], first[0])


def test_calls_continue_while_code_is_replaced(assembled):
    f = tanx.jit(lambda x: softmax(x) + 1)
    expected = np.asarray(f(X))
    while len(assembled) < 2:
        np.testing.assert_array_equal(f(X), expected)
    later.idle()
    np.testing.assert_array_equal(f(X), expected)


@pytest.mark.parametrize("function", [
    lambda x: jnp.sort(x, axis=1), lambda x: jnp.fft.rfft(x), lambda x: jnp.linalg.inv(x.T @ x),
    lambda x: jnp.tanh(x @ x.T) @ x, lambda x: jnp.cumsum(x.astype(jnp.bfloat16), axis=0),
    lambda x: lax.scan(lambda c, row: (c * 0.5 + row, c.sum()), x[0], x)])
def test_quick_and_optimized_code_give_equal_bits(function, assembled):
    closed = tanx.make_jaxpr(function)(X)
    hasty = Executable(closed).run([X])
    load.clear()
    with quick_code(False):
        careful = Executable(closed).run([X])
    assert assembled == [True, False]
    for a, b in zip(hasty, careful, strict=True):
        np.testing.assert_array_equal(a, b)


def test_long_running_programs_are_optimized_at_once(assembled):
    tanx.jit(lambda x: jnp.sin(x).sum())(jnp.ones(1 << 22))
    tanx.jit(jnp.sort)(jnp.ones(1 << 20))
    assert assembled == [False, False]
    # The number of steps is not known.
    tanx.jit(lambda x: lax.while_loop(lambda y: y < 1e6, lambda y: y * 1.5, x))(2.0)
    assert assembled == [False, False, False]


def test_kernels_that_are_there_already_do_not_count(assembled):
    x = jnp.ones((1024, 1024))
    later.idle()
    assembled.clear()  # entries of earlier tests
    tanx.jit(lambda x, y: x @ y)(x, x)
    assert assembled[:1] == [True]


def test_ahead_of_time_compilation_is_optimized(assembled):
    tanx.jit(softmax).lower(X).compile()(X)
    assert assembled == [False]


def test_the_text_of_better_code_is_kept_on_disk(assembled, tmp_path):
    closed = tanx.make_jaxpr(softmax)(X)
    with tanx._base.config.enable_compilation_cache(True), tanx._base.config.compilation_cache_dir(
            str(tmp_path)):
        expected = Executable(closed).run([X])[0]
        load.clear()
        found = Executable(closed)
        found.run([X])  # the second run, counting the one before the cache was cleared
        later.idle()
        assert assembled == [True, False]
        load.clear()
        better = Executable(closed)
        np.testing.assert_array_equal(better.run([X])[0], expected)
        better.run([X])
        later.idle()
    assert assembled == [True, False]


def test_unreferenced_code_is_not_recompiled(assembled):
    executable = Executable(tanx.make_jaxpr(softmax)(X))
    with later._later.busy:  # the background thread waits
        later.do(executable, lambda _: None)
        executable.run([X]), executable.run([X])
        del executable
        load.clear()
    later.idle()
    assert assembled == [True]


def test_errors_of_idle_work_are_logged(caplog):
    class Something:
        pass

    def fail(_):
        raise ZeroDivisionError

    held = Something()
    later.do(held, fail)
    later.idle()
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_child_of_a_fork_has_a_thread_of_its_own(assembled):
    executable = Executable(tanx.make_jaxpr(softmax)(X))
    expected = executable.run([X])[0]
    later.do(executable, lambda _: None)
    child = os.fork()
    if child == 0:
        try:
            executable.run([X])
            later.idle()
            same = np.array_equal(executable.run([X])[0], expected)
            os._exit(0 if same and assembled == [True, False] else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
