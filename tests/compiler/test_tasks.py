"""Loops over tasks that are merged, and loops that must not be merged."""

from dataclasses import replace

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._compiler.machine import host
from tanx._compiler.pipeline import build
from tanx._compiler.schedule.merge_tasks import in_one_loop
from tanx._loops.build import nest, op, reduce, temp
from tanx._loops.expr import fresh_index
from tanx._loops.nest import (
    PARALLEL,
    SEQUENTIAL,
    TASKS,
    Buffer,
    Nest,
    Program,
    Store,
)
from tanx._loops.tiles import Tiled
from tests.compiler.agreement import check_function
from tests.compiler.compiled import run
from tests.compiler.programs import settings


def tasks(function, *shapes):
    """The statements of a function that run in tasks."""
    types = [tanx.ShapeDtypeStruct(shape, "float32") for shape in shapes]
    program = build(tanx.make_jaxpr(function)(*types)).program
    return [s for s in program.statements if isinstance(s, Nest) and TASKS in s.kinds]


def test_scans_of_the_same_rows_are_one_loop():
    (both,) = tasks(lambda x: lax.cumsum(2 * lax.cumsum(x, 1), 1, reverse=True), (1024, 4096))
    assert len(both.body) == 2 and all(SEQUENTIAL in inner.kinds for inner in both.body)


def test_scans_of_rows_and_columns_are_two():
    assert len(tasks(lambda x: lax.cumsum(lax.cumsum(x, 1), 0), (1024, 4096))) == 2


@pytest.mark.parametrize("reverse", [False, True])
def test_results_are_the_same(reverse):
    x = np.random.default_rng(0).integers(-9, 9, (640, 1024)).astype(np.int32)
    run = tanx.jit(lambda x: lax.cummax(lax.cumsum(x, 1) * 2, 1, reverse=reverse))
    y = np.cumsum(x, axis=1, dtype=np.int32) * 2
    flip = (slice(None), slice(None, None, -1 if reverse else 1))
    np.testing.assert_array_equal(run(x), np.maximum.accumulate(y[flip], axis=1)[flip])


X, Y, T, Z = (Buffer("x", (64, 8), "float32"), Buffer("y", (64, 8), "float32", "output"),
              temp("t", (64, 8), "float32"), Buffer("z", (64, 8), "float32", "output"))


def loop(target, value, count=8):
    """A loop over tasks, each of which has fewer than 64 rows."""
    t, i, j = fresh_index(count, "t"), fresh_index(64 // count, "i"), fresh_index(8, "j")
    row = t * (64 // count) + i
    return Nest((t, i, j), (TASKS, PARALLEL, PARALLEL),
                (Store(target, (row, j), value(row, j)),))


def joined(*statements, shared=None):
    program = Program((X,), (Y, Z), (T,), statements)
    return in_one_loop(program, shared or {}).statements


FIRST = loop(T, lambda i, j: X[i, j] * 2)


def test_tasks_continue_with_their_own_results():
    (both,) = joined(FIRST, loop(Y, lambda i, j: op("exp", T[i, 7 - j])))
    assert both.kinds == (TASKS,) and len(both.body) == 2


@pytest.mark.parametrize("later", [
    loop(Y, lambda i, j: T[63 - i, j]),                            # reads rows of other tasks
    loop(Y, lambda i, j: T[op("clamp", 0, i + 1, 63), j]),         # reads some of them
    loop(Y, lambda i, j: reduce("add", (64,), lambda k: T[k[0], j])),
    loop(Y, lambda i, j: T[i, j], count=4),                        # has another number of tasks
    loop(Y, lambda i, j: X[i, j])])                                # does not depend on it
def test_other_loops_stay_as_they_are(later):
    assert joined(FIRST, later) == (FIRST, later)


def test_loops_that_overwrite_shared_memory_are_not_merged():
    later = loop(Y, lambda i, j: T[i, j])
    first = loop(T, lambda i, j: X[63 - i, j])
    assert len(joined(first, later)) == 1
    assert len(joined(first, later, shared={Y: X})) == 2


def test_statements_between_merged_loops_move_before_or_after():
    before = nest(Z.shape, lambda at: [Store(Z, at, X[at])])
    after = nest(Z.shape, lambda at: [Store(Z, at, T[at])])
    later = loop(Y, lambda i, j: T[i, j])
    assert joined(FIRST, before, later)[0] is before and len(joined(FIRST, before, later)) == 2
    assert joined(FIRST, after, later)[1] is after
    needs = loop(Y, lambda i, j: T[i, j] + Z[i, j])
    assert len(joined(FIRST, after, needs)) == 3
    assert len(joined(FIRST, before, needs)) == 2


@pytest.mark.parametrize("shapes, least", [
    (((4096,), (4096, 4096)), 16), (((256, 256), (256, 256)), 16), (((64, 64), (64, 64)), 1)])
def test_products_have_tasks_for_all_cores(shapes, least):
    """If there is enough work; the bits of results do not depend on the number of cores."""
    arrays = [np.random.default_rng(n).standard_normal(s).astype(np.float32)
              for n, s in enumerate(shapes)]
    closed = tanx.make_jaxpr(lambda x, y: x @ y)(*arrays)
    results = []
    for cores in (2, 16):
        module = build(closed, machine=replace(host(), cores=cores))
        tilings = [s.tiling for s in module.schedule.program.statements if isinstance(s, Tiled)]
        assert all(least <= t.tasks for t in tilings if cores == 16)
        results += run(module.program, *arrays)
    np.testing.assert_array_equal(*results)


def test_copies_of_operands_have_tasks_like_their_padding():
    """Statements that write the same copy run in one loop over tasks, or none of them in tasks."""
    machine = replace(host(), triple="x86_64-unknown-linux-gnu", features="+avx512f,+fma",
                      vector_bits=512, cores=2)
    for count, split in ((1000, True), (200, False)):
        x = tanx.ShapeDtypeStruct((count, 8, 8), "float32")
        closed = tanx.make_jaxpr(lambda x, y: x @ y.mT)(x, x)
        *copies, product = build(closed, machine=machine).schedule.program.statements
        assert isinstance(product, Tiled) and len(copies) == (1 if split else 2)
        assert all((TASKS in nest.kinds) == split for nest in copies)


def test_factors_of_an_element_are_not_multiplied_first():
    """Their product overflows, and zero times infinity is NaN."""
    places = np.zeros(4000, np.int32)
    times = tanx.jit(lambda x: x.at[places].multiply(2.0))
    with settings({"tasks.grain": 1e-9, "tasks.enough": 2, "tasks.many_each": 1}):
        for _ in range(4):
            np.testing.assert_array_equal(times(jnp.zeros(3)), np.zeros(3))
            np.testing.assert_array_equal(times(jnp.ones(3)), [np.inf, 1, 1])
        check_function(lambda x, y: x.at[places].multiply(y), np.ones(3, np.int32),
                       np.arange(1, 4001, dtype=np.int32))
