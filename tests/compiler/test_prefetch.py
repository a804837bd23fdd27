"""Prefetches in the schedule and in the code."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._compiler.machine import Machine, as_host, host
from tests.compiler.agreement import check_function
from tests.compiler.programs import settings

FAR = {"access.far": 0, "access.scattered": 0, "access.scattered_on_arm": 0, "access.ahead": 64,
       "access.foreseen": 1 << 14}
MACHINE = Machine("x86_64-unknown-linux-gnu", "x86-64-v4", "+avx512f,+avx512vl,+fma", 512)



def zeros(*shape, dtype=np.float32):
    return tanx.ShapeDtypeStruct(shape, dtype)


PROGRAMS = {
    "scatter": (lambda x, i: x.at[i].add(1.0), zeros(1 << 22), zeros(10_000, dtype=np.int32),
                "; prefetch y0 16 steps of i ahead"),
    "columns": (lambda x: x.sum(0), zeros(4096, 512), "; prefetch x0 "),
    "every other row": (lambda x: x[::2] * 2, zeros(4096, 400), "; prefetch x0 2 steps of i ahead"),
    "scan down": (lambda x: jnp.cumsum(x, 0), zeros(1000, 4096), "; prefetch x0 4 steps of i"),
    "rows in order": (lambda x: x.max(1), zeros(1024, 4096), "; prefetch x0 1024 steps of k ahead"),
    "pooling": (lambda x: lax.reduce_window(x, -np.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1),
                                            "VALID"),
                zeros(16, 56, 56, 64), "prefetch x0 1 steps of j ahead"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_distant_reads_are_prefetched(name):
    function, *args, wanted = PROGRAMS[name]
    with as_host(MACHINE):
        lowered = tanx.jit(function).lower(*args)
        assert wanted in lowered.as_text("schedule")
        assert "call void @llvm.prefetch.p0" in lowered.as_text("llvm")


@pytest.mark.parametrize("function, args", [
    (lambda x: x[::2] * 2, (zeros(64, 40),)), (lambda x: x + 1, (zeros(4096, 4096),)),
    (lambda x: x.max(1), (zeros(64, 4096),)),
    (lambda x, i: x.at[i].add(1.0), (zeros(1 << 20), zeros(10_000, dtype=np.int32))),
])
def test_near_and_regular_reads_are_not_prefetched(function, args):
    with as_host(MACHINE):
        lowered = tanx.jit(function).lower(*args)
        assert "prefetch" not in lowered.as_text("schedule") + lowered.as_text("llvm")


def test_code_prefetches_only_scheduled_reads():
    with as_host(MACHINE), settings({"access.far": 1 << 40, "access.scattered": 1 << 40}):
        for function, *args, _ in PROGRAMS.values():
            assert "prefetch" not in tanx.jit(function).lower(*args).as_text("llvm")


def four_times(compiled, x, wanted, atol):
    """The compiled function returns what is wanted, also by its native path."""
    for _ in range(4):
        result = compiled(x)
        assert result.dtype == wanted.dtype and not result.weak_type
        np.testing.assert_allclose(result, wanted, rtol=2e-5, atol=atol)


@pytest.mark.parametrize("name, shape", [
    ("every other row", (65, 130)), ("scan down", (41, 129))])
def test_results_are_the_same(name, shape):
    function, x = PROGRAMS[name][0], np.random.default_rng(0).normal(size=shape).astype("float32")
    wanted = np.asarray(function(jnp.asarray(x)))
    with settings(FAR):
        compiled = tanx.jit(function)
        assert "prefetch" in compiled.lower(x).as_text("schedule")
        four_times(compiled, x, wanted, atol=1e-5)
    assert host().tuning.access.far == 1 << 22


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "complex64"])
@pytest.mark.parametrize("function", [lambda x: x.sum(1), lambda x: x.sum(), lambda x: x.max(1)])
def test_folds_prefetch_what_follows(function, dtype):
    """Also beyond the end of the array."""
    x = (np.random.default_rng(0).normal(size=(33, 301)) * 9).astype(dtype)
    wanted = np.asarray(function(jnp.asarray(x)))
    with settings({"access.far": 0, "access.foreseen": 64, "access.in_order": 1 << 8}):
        compiled = tanx.jit(function)
        assert "prefetch x0" in compiled.lower(x).as_text("schedule")
        four_times(compiled, x, wanted, atol=1e-3)


def test_elements_that_are_loaded_and_stored():
    """The load is prefetched in lanes; the store at the same index is not."""
    def loss(p):
        return lax.scan(lambda c, r: (jnp.sin(c) * r, c), p[0], p)[1].sum()

    twice = tanx.vmap(tanx.grad(lambda p: tanx.grad(loss)(p).sum()))
    with settings(FAR):
        x = np.random.default_rng(0).normal(size=(2, 8, 8, 8)).astype("float32")
        assert "prefetch" in tanx.jit(twice).lower(x).as_text("schedule")
        check_function(twice, x)
