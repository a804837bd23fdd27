"""Bodies of loops that are callable objects: traced once if changes to them are detected."""

import gc
import weakref

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax

XS = jnp.arange(3.0)
traces = 0


def count():
    global traces
    traces += 1


class Step:
    """The body of a scan, as an object and as a method."""

    offset = 0.0

    def __init__(self, factor=2.0):
        self.factor = factor

    def __call__(self, carry, x):
        count()
        return carry + self.factor * x + self.offset, carry

    def method(self, carry, x):
        return self(carry, x)


class Twice:
    """The body of other loops and of branches, and the condition of a loop."""

    def __init__(self, limit=20.0):
        self.limit = limit

    def __call__(self, x):
        count()
        return x * 2

    def below(self, x):
        count()
        return x < self.limit

    def counted(self, i, x):
        return self(x)


def repeated(run, times=4):
    """The results of some runs, and the number of traces."""
    global traces
    traces = 0
    return [float(run()) for _ in range(times)], traces


@pytest.mark.parametrize("body", [lambda step: step, lambda step: step.method])
def test_scan(body):
    step = Step()
    def run():
        return lax.scan(body(step), 0.0, XS)[0]
    assert repeated(run) == ([6.0] * 4, 1)
    step.factor = 3.0  # a change is detected
    assert repeated(run) == ([9.0] * 4, 1)
    step.factor = 2.0  # the first trace is still cached
    assert repeated(run) == ([6.0] * 4, 0)
    step.offset = 1.0
    assert repeated(run) == ([9.0] * 4, 1)
    del step.offset
    Step.offset = 2.0
    try:
        assert repeated(run) == ([12.0] * 4, 1)
    finally:
        Step.offset = 0.0
    assert repeated(lambda: lax.scan(body(Step(4.0)), 0.0, XS)[0], 1) == ([12.0], 1)


def test_other_loops_and_branches():
    twice = Twice()
    for run, want, once in (
            (lambda: lax.fori_loop(0, 3, twice.counted, 1.0), 8.0, 1),
            (lambda: lax.while_loop(twice.below, twice, 1.0), 32.0, 2),
            (lambda: lax.cond(True, twice, twice, 3.0), 6.0, 1),
            (lambda: lax.map(twice, XS).sum(), 6.0, 1)):
        assert repeated(run) == ([want] * 4, once)
    twice.limit = 5.0
    assert repeated(lambda: lax.while_loop(twice.below, twice, 1.0))[0] == [8.0] * 4


def test_inside_of_transformations():
    step = Step()
    run = tanx.jit(lambda x: lax.scan(step.method, x, XS)[0])
    assert repeated(lambda: run(1.0))[0] == [7.0] * 4
    step.factor = 3.0
    assert repeated(lambda: run(1.0))[0] == [10.0] * 4
    slope = tanx.grad(lambda f: lax.scan(Step(f), 0.0, XS)[0])  # the object has a traced value
    assert repeated(lambda: slope(2.0))[0] == [3.0] * 4
    assert tanx.vmap(lambda f: lax.scan(Step(f).method, 0.0, XS)[0])(XS).tolist() == [0, 3, 6]


def test_unguardable_state_is_traced_each_time():
    table = np.array([1.0, 2.0, 3.0], np.float32)
    by_table = Step(table)
    def run():
        return lax.scan(by_table.method, jnp.zeros(3), XS)[0].sum()
    assert repeated(run) == ([18.0] * 4, 4)
    table[:] = 0
    assert repeated(run)[0] == [0.0] * 4

    class Slots:
        __slots__ = ("factor",)

        def __call__(self, carry, x):
            count()
            return carry + self.factor * x, carry

    slots = Slots()
    for factor in (1.0, 2.0):
        slots.factor = factor
        assert repeated(lambda: lax.scan(slots, 0.0, XS)[0])[0] == [3 * factor] * 4


def test_bodies_that_change_their_own_state_are_traced_each_time():
    class Counting(Step):
        calls = 0

        def __call__(self, carry, x):
            self.calls += 1
            return super().__call__(carry, x)

    step = Counting()
    assert repeated(lambda: lax.scan(step, 0.0, XS)[0]) == ([6.0] * 4, 4)
    assert step.calls == 4


def test_class_methods_see_their_class():
    class Owner:
        factor = 2.0

        @classmethod
        def body(cls, carry, x):
            return carry + cls.factor * x, None

    assert lax.scan(Owner.body, 0.0, XS)[0] == 6
    Owner.factor = 3.0
    assert lax.scan(Owner.body, 0.0, XS)[0] == 9


def test_callable_bodies_are_freed_when_unreferenced():
    step = Step(jnp.ones(3))
    lax.scan(step, jnp.zeros(3), XS)
    lax.scan(step.method, jnp.zeros(3), XS)
    gone = weakref.ref(step)
    del step
    gc.collect()
    assert gone() is None
