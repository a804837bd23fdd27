"""Without native code tier 0 runs everything: by an option, and on systems that cannot load it."""

import os
import platform
import subprocess
import sys

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._runtime import availability

X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)


def newton(x):
    return lax.while_loop(lambda c: abs(c[0] ** 2 - x) > 1e-4,
                          lambda c: ((c[0] + x / c[0]) / 2, c[1] + 1), (x, 0))


PROGRAMS = {
    "elements": (lambda x: jnp.tanh(x) * 2 + jnp.exp(x), X),
    "product": (lambda x: tanx.nn.softmax(x @ x.T), X),
    "grad of scan": (tanx.grad(lambda x: lax.scan(
        lambda c, v: (jnp.sin(c) + v, c), x[0], x)[0].sum()), X),
    "while": (newton, np.float32(2)),
    "vmap of while": (tanx.vmap(newton), np.float32([2, 3, 10])),
    "vmap of cond": (tanx.vmap(lambda a: lax.cond(a > 0, jnp.sin, lambda a: a * 2, a)), X[0]),
    "sort": (lambda x: jnp.sort(x, axis=0)[::-1], X),
    "random": (lambda x: tanx.random.normal(tanx.random.key(3), x.shape) + x, X),
    "scatter": (lambda x: x.at[1].add(2).at[:, 0].set(0), X),
    "lapack": (lambda x: jnp.linalg.eigvalsh(x @ x.T), X),
    "fft": (jnp.fft.rfft, X),
    "custom": (tanx.grad(lambda x: checked(x).sum()), X),
    "empty": (lambda x: x[:0] + 1, X),
    "tree": (lambda t: {"a": t["b"] * 2, "c": (t["b"], 1)}, {"b": X}),
    "weak": (lambda x: x * 2, 3.0),
    "integers": (lambda x: (x // 3, x % 3, x << 1), np.arange(-5, 5, dtype=np.int8)),
    "narrow": (lambda x: jnp.exp(x), X.astype(tanx.dtypes.bfloat16)),
}


@tanx.custom_vjp
def checked(x):
    return jnp.sin(x)


checked.defvjp(lambda x: (jnp.sin(x), x), lambda x, t: (t * 2 * x,))


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_the_same(name):
    fun, arg = PROGRAMS[name]
    with_code = tanx.jit(fun)(arg)
    with tanx.native_code(False):
        without = tanx.jit(fun)
        for _ in range(4):
            found = without(arg)
            for got, want in zip(*map(tanx.tree.leaves, (found, with_code)), strict=True):
                got, want = jnp.asarray(got), jnp.asarray(want)
                assert (got.shape, got.dtype, got.weak_type) == (
                    want.shape, want.dtype, want.weak_type)
                coarse = got.dtype == tanx.dtypes.bfloat16
                np.testing.assert_allclose(np.asarray(got, np.complex64),
                                           np.asarray(want, np.complex64),
                                           rtol=1e-2 if coarse else 2e-5, atol=1e-5)
        assert tanx.tree.structure(found) == tanx.tree.structure(with_code)


def test_native_code_option_ends_with_its_block():
    f = tanx.jit(lambda x: jnp.exp(x) + 1)
    before = [np.asarray(f(X)) for _ in range(4)]
    with tanx.native_code(False):
        inside = np.asarray(f(X))
    np.testing.assert_allclose(inside, before[0], rtol=1e-6)
    np.testing.assert_array_equal(f(X), before[0])


@pytest.mark.parametrize("returned", [False, True])
def test_donated_arguments_end(returned):
    with tanx.native_code(False):
        f = tanx.jit(lambda x: x if returned else x + 1, donate_argnums=0)
        for _ in range(4):
            x = jnp.ones(3)
            y = f(x)
            assert x.is_deleted() and y.tolist() == [2 - returned] * 3


def test_memory_of_the_caller_is_not_shared():
    with tanx.native_code(False):
        mine = np.zeros((2, 3), np.float32)
        theirs = tanx.jit(lambda x: x.reshape(3, 2))(mine)
        mine[:] = 1
        assert not np.asarray(theirs).any()


def test_memory_analysis_without_native_code_raises():
    with tanx.native_code(False):
        compiled = tanx.jit(lambda x: x + 1).lower(1.0).compile()
        assert compiled(2.0) == 3 and compiled.cost_analysis()["flops"] == 1
        with pytest.raises(NotImplementedError, match="it takes native code"):
            compiled.memory_analysis()


def test_values_are_watched():
    with tanx.native_code(False), tanx.debug_nans(True), pytest.raises(FloatingPointError):
        tanx.jit(lambda x: jnp.log(x))(jnp.float32(-1))


@pytest.mark.parametrize("system, processor, reason", [
    ("win32", "AMD64", "tanx generates no code for win32 on amd64"),
    ("linux", "riscv64", "tanx generates no code for linux on riscv64"),
    ("emscripten", "", "tanx generates no code for emscripten on an unknown processor")])
def test_systems_without_code(system, processor, reason, monkeypatch):
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(platform, "machine", lambda: processor)
    assert availability.hindrance() == reason


def test_memory_that_cannot_be_executed(monkeypatch):
    from tanx._runtime import code_memory

    def refuse(*facts):
        raise OSError(13, "not permitted")
    assert availability.hindrance() is None
    monkeypatch.setattr(code_memory, "piece", refuse)
    assert availability.hindrance() == "memory cannot be executed ([Errno 13] not permitted)"


ELSEWHERE = """
import ctypes, mmap, os, sys, warnings
import numpy, ml_dtypes, opt_einsum, concurrent.futures, tempfile, subprocess, sysconfig
sysconfig.get_paths()
real = ctypes.CDLL
def only_named(name, *args, **options):
    if name is None:
        raise TypeError("bad argument type")
    return real(name, *args, **options)
ctypes.CDLL = only_named
for name in ("uname", "register_at_fork", "memfd_create", "sched_getaffinity", "sysconf"):
    delattr(os, name)
for name in ("MAP_PRIVATE", "MAP_SHARED", "MAP_ANONYMOUS", "PROT_READ", "PROT_WRITE", "PROT_EXEC"):
    delattr(mmap, name)
sys.platform = "win32"
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    import tanx, tanx.numpy as jnp
    f = tanx.jit(lambda x: tanx.lax.fori_loop(0, 3, lambda i, c: jnp.sin(c) + 1, x).sum())
    values = {float(f(jnp.arange(4.0))) for _ in range(4)}
    grad = tanx.jit(tanx.grad(f))(jnp.arange(4.0))
    large = float(jnp.exp(jnp.zeros(1 << 17)).sum())
print(len(values), grad.shape, large, len(told), str(told[0].message).splitlines()[0])
"""


def test_another_system():
    """On a system without POSIX functions, importing works and warns once, and programs run."""
    done = subprocess.run([sys.executable, "-c", ELSEWHERE], capture_output=True, text=True,
                          timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip() == (
        "1 (4,) 131072.0 1 tanx: native code cannot be loaded here, so programs are interpreted, "
        "which is slower.")


PART = ["tests/control/test_scan.py", "tests/control/test_custom_vjp.py", "tests/api/test_grad.py"]


@pytest.mark.parametrize("files", [
    pytest.param(["tests/api/test_vmap.py"], id="quick"),
    pytest.param(PART, id="more", marks=pytest.mark.slow)])
def test_a_part_of_the_suite_without_native_code(files):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", *files],
        env=os.environ | {"TANX_NATIVE_CODE": "0"}, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout[-3000:]
