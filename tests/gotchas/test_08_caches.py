"""Promise 8: caches are limited by bytes, can be emptied, and report their content and reasons."""

import gc
import logging

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx._base.config import program_bytes
from tanx._runtime.ledger import ledger
from tests.gotchas import pages


def test_the_page():
    pages.run("08_caches")


def test_caches_can_be_cleared():
    f = tanx.jit(lambda x: x * 2)
    for x in (1.0, jnp.ones(3)):
        assert [(f(x) == 2 * x).all() for _ in range(4)]
    assert f._cache_size() == 2
    f.clear_cache()
    assert f._cache_size() == 0
    assert [float(f(1.0)) for _ in range(4)] == [2.0] * 4
    tanx.clear_caches()
    assert f._cache_size() == 0
    assert [float(f(1.0)) for _ in range(4)] == [2.0] * 4


def test_programs_are_limited_by_bytes():
    f = tanx.jit(lambda x: x * 2 + 1)
    room = 6 << 16
    before = ledger.dropped
    with program_bytes(room):
        for n in range(1, 15):
            for _ in range(4):  # native calls hold programs, too
                assert f(np.ones(n, np.float32)).tolist() == [3.0] * n
            assert ledger.nbytes <= room
    assert ledger.dropped > before
    assert f._cache_size() <= 6 and len(f._native) <= 6
    gc.collect()
    assert len(ledger.rows()) <= 6


def test_a_dropped_program_is_made_again():
    f = tanx.jit(lambda x: x + 1)
    with program_bytes(3 << 16):
        for _ in range(3):
            for n in (1, 2, 3, 4, 5):
                assert [f(jnp.ones(n)).tolist() for _ in range(4)] == [[2.0] * n] * 4


def test_one_program_may_be_larger_than_the_room():
    f = tanx.jit(lambda x: x - 1)
    with program_bytes(0):
        assert [float(f(3.0)) for _ in range(4)] == [2.0] * 4
    assert f._cache_size() == 1


def test_the_ledger_drops_freed_functions():
    f = tanx.jit(lambda x: x - 5)
    f(jnp.ones(3))
    rows = len(ledger.rows())
    del f
    gc.collect()
    assert len(ledger.rows()) < rows
    tanx.clear_caches()
    assert ledger.nbytes == sum(row.nbytes for row in ledger.rows())


def traced_function():
    def scaled(x, n=1):
        return tanx.tree.map(lambda y: y * n * rate, x)

    rate = 1.0

    def change():
        nonlocal rate
        rate = 2.0

    return tanx.jit(scaled, static_argnames="n"), change


def test_the_report_says_what_was_traced_and_why():
    f, change = traced_function()
    for x, n in ((jnp.ones(3), 1), (jnp.ones(4), 1), (jnp.ones(4), 2), ((jnp.ones(4),), 2)):
        for _ in range(4):
            f(x, n=n)
    change()
    f(jnp.ones(3), n=1)
    f(jnp.ones(3), n=1)
    report = tanx.cache_report()
    mine = [trace for trace in report.traces if trace.function == "scaled"][-5:]
    assert [trace.reasons for trace in mine] == [
        (), ("x: now f32[4], before f32[3]",), ("static argument n: now 2, before 1",),
        (f"arguments are other containers: now {TREE_PAIR}, before {TREE_ONE}",),
        ("variable rate of the enclosing function: now 2.0, before 1.0",)]
    assert mine[1].types == ("float32[4]",) and all(trace.seconds > 0 for trace in mine)
    text = str(report)
    assert f"scaled at {__file__}" in text
    assert "static argument n: now 2, before 1" in text and "first call" in text
    programs = [row for row in report.programs if row.name == "scaled"]
    assert len(programs) >= 4 and all(row.nbytes > 0 and row.seconds > 0 for row in programs)
    assert report.nbytes == sum(row.nbytes for row in report.programs) <= report.limit


TREE_ONE = tanx.tree.structure(([0], {}))
TREE_PAIR = tanx.tree.structure(([(0,)], {}))


@pytest.mark.parametrize("option, words", [
    (tanx.log_compiles, ["traced scaled for (f32[3]) in ", " scaled for (f32[3]) in "]),
    (tanx.explain_cache_misses, ["x: now f32[3], before f32[2]"])])
def test_the_log(option, words, caplog):
    f, change = traced_function()
    f(jnp.ones(2))
    with option(True), caplog.at_level(logging.WARNING, "tanx"):
        for _ in range(4):
            f(jnp.ones(3))
        assert all(word in caplog.text for word in words)
        caplog.clear()
        change()
        f(jnp.ones(3))
    assert ("variable rate of the enclosing function: now 2.0, before 1.0" in caplog.text) == (
        option is tanx.explain_cache_misses)
