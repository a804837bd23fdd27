"""Promise 1: a jitted function sees the state of static objects, globals and closures."""

import argparse
import dataclasses
import functools
import logging
import types

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tests.gotchas import pages

TRACES = []  # one item for each trace of a function below
RATE = 2.0
SETTINGS = types.SimpleNamespace(rate=2.0)
TABLE = {"rate": 2.0, "more": [1.0, 2.0]}


def test_the_page():
    pages.run("01_static_state")


def often(call, times=5):
    """The results of some calls in a row: native code runs from the third call on."""
    results = [call() for _ in range(times)]
    assert all(np.asarray(x).tobytes() == np.asarray(results[0]).tobytes() for x in results)
    assert all(x.dtype == results[0].dtype and x.weak_type == results[0].weak_type for x in results)
    return float(results[0])


@pytest.fixture(autouse=True)
def fresh():
    TRACES.clear()


class Model:
    scale = 1.0

    def __init__(self, x, **rest):
        self.x = x
        vars(self).update(rest)

    @functools.partial(tanx.jit, static_argnums=0)
    def times(self, y):
        TRACES.append("times")
        return self.x * self.scale * y

    def plain(self, y):
        TRACES.append("plain")
        return self.x * self.scale * y

    @functools.partial(tanx.jit, static_argnames="self")
    def inner(self, y):
        return self.part.x + self.items["a"] + self.more[0] + sum(self.kinds) + y


def test_a_member_that_changes_is_seen_and_old_states_are_kept():
    model = Model(3.0)
    assert often(lambda: model.times(2.0)) == 6.0
    model.x = 4.0
    assert often(lambda: model.times(2.0)) == 8.0
    model.x = 3.0
    assert often(lambda: model.times(2.0)) == 6.0
    assert len(TRACES) == 2


def test_an_equal_value_does_not_retrace():
    model = Model(1000.5)
    often(lambda: model.times(2.0))
    model.x = float("1000.5")
    assert often(lambda: model.times(2.0)) == 2001.0
    assert len(TRACES) == 1


def test_a_type_that_changes_is_seen():
    model = Model(1)
    first = [model.times(2) for _ in range(4)]
    model.x = True
    second = [model.times(2) for _ in range(4)]
    model.scale = 2
    assert first[3].dtype == second[3].dtype == jnp.float32
    assert [model.times(2).dtype for _ in range(4)] == [jnp.int32] * 4
    assert len(TRACES) == 3


def test_members_that_were_not_read_do_not_count():
    model = Model(3.0)
    for step in range(6):
        model.step = step
        model.history = [step]
        assert float(model.times(2.0)) == 6.0
    assert len(TRACES) == 1


def test_class_attributes():
    class Child(Model):
        pass

    model = Child(3.0)
    assert often(lambda: model.times(2.0)) == 6.0
    Child.scale = 2.0
    assert often(lambda: model.times(2.0)) == 12.0
    model.scale = 3.0
    assert often(lambda: model.times(2.0)) == 18.0
    del model.scale
    assert often(lambda: model.times(2.0)) == 12.0
    assert len(TRACES) == 3


def test_methods_that_are_replaced():
    class Child(Model):
        def step(self):
            return 1.0

        @functools.partial(tanx.jit, static_argnums=0)
        def stepped(self, y):
            return self.step() * y

    model = Child(3.0)
    assert often(lambda: model.stepped(2.0)) == 2.0
    Child.step = lambda self: 5.0
    assert often(lambda: model.stepped(2.0)) == 10.0


def test_changes_reachable_from_objects_are_seen():
    model = Model(0.0, part=Model(1.0), items={"a": 10.0}, more=[100.0], kinds={1000.0})
    call = lambda: model.inner(0.0)
    assert often(call) == 1111.0
    model.part.x = 2.0
    assert often(call) == 1112.0
    model.items["a"] = 20.0
    assert often(call) == 1122.0
    model.more[0] = 200.0
    assert often(call) == 1222.0
    model.kinds.add(2000.0)
    assert often(call) == 3222.0
    model.part = Model(7.0)
    assert often(call) == 3227.0


def test_jit_of_a_bound_method():
    model = Model(3.0)
    method = tanx.jit(model.plain)
    assert often(lambda: method(2.0)) == 6.0
    model.x = 4.0
    assert often(lambda: method(2.0)) == 8.0
    assert len(TRACES) == 2


def test_jit_of_an_object_that_is_called_and_of_a_partial():
    class Called(Model):
        def __call__(self, y):
            return self.x * y

    model = Called(3.0)
    for function in (tanx.jit(model), tanx.jit(functools.partial(Called.__call__, model))):
        call = functools.partial(function, 2.0)
        model.x = 3.0
        assert often(call) == 6.0
        model.x = 4.0
        assert often(call) == 8.0


@dataclasses.dataclass(eq=False)
class Plain:
    x: float
    parts: list


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: float


class Slotted:
    __slots__ = ("x",)


class Own:
    def __init__(self, x):
        self.x = x

    def __eq__(self, other):
        return type(other) is Own and self.x == other.x

    def __hash__(self):
        return hash(self.x)


@functools.partial(tanx.jit, static_argnums=0)
def read_x(thing, y):
    TRACES.append(thing)
    return thing.x * y


@pytest.mark.parametrize("make", [lambda: Plain(2.0, []), Slotted, lambda: Own(2.0)])
def test_kinds_of_classes(make):
    thing = make()
    for x in (3.0, 4.0, 3.0):
        thing.x = x
        assert often(lambda: read_x(thing, 2.0)) == 2 * x
    assert len(TRACES) <= 3


@pytest.mark.parametrize("make", [Frozen, Own])
def test_objects_that_are_equal_share_a_trace(make):
    for x in (5.0, 6.0, 5.0):
        assert often(functools.partial(lambda x: read_x(make(x), 2.0), x)) == 2 * x
    assert len(TRACES) == 2


def test_properties_and_attributes_that_are_computed():
    class Computed:
        def __init__(self):
            self.low, self.table = 1.0, {"high": 10.0}

        @property
        def both(self):
            return self.low + self.high

        def __getattr__(self, name):
            return self.table[name]

    thing = Computed()
    f = tanx.jit(lambda thing, y: thing.both * y, static_argnums=0)
    assert often(lambda: f(thing, 1.0)) == 11.0
    thing.low = 2.0
    assert often(lambda: f(thing, 1.0)) == 12.0
    thing.table["high"] = 20.0
    assert often(lambda: f(thing, 1.0)) == 22.0
    thing.high = 30.0
    assert often(lambda: f(thing, 1.0)) == 32.0


def test_arrays_are_compared_by_identity():
    model = Model(jnp.arange(2.0))
    first = [model.times(1.0) for _ in range(4)]
    model.x = jnp.arange(2.0) + 1
    assert first[3].tolist() == [0.0, 1.0]
    assert [model.times(1.0).tolist() for _ in range(4)] == [[1.0, 2.0]] * 4
    assert len(TRACES) == 2


def test_globals(monkeypatch):
    helper = lambda y: y * RATE

    @tanx.jit
    def f(y):
        TRACES.append("f")
        return helper(y) + RATE + SETTINGS.rate + TABLE["rate"]

    assert often(lambda: f(1.0)) == 8.0
    monkeypatch.setitem(globals(), "RATE", 3.0)
    assert often(lambda: f(1.0)) == 10.0
    monkeypatch.setattr(SETTINGS, "rate", 4.0)
    assert often(lambda: f(1.0)) == 12.0
    monkeypatch.setitem(TABLE, "rate", 5.0)
    assert often(lambda: f(1.0)) == 15.0
    assert len(TRACES) == 4


def test_namespaces_count_and_objects_of_the_standard_library_do_not():
    args, log = argparse.Namespace(rate=2.0), logging.getLogger("tests.state")

    @tanx.jit
    def f(y):
        TRACES.append("f")
        log.debug("traced")
        return y * args.rate

    assert often(lambda: f(1.0)) == 2.0
    log.info("this is a level that the logger has not met")
    args.other = 1
    assert often(lambda: f(1.0)) == 2.0 and len(TRACES) == 1
    args.rate = 3.0
    assert often(lambda: f(1.0)) == 3.0


@pytest.mark.parametrize("pick, first, second", [
    (lambda rate: rate, 0.0, -0.0), (lambda rate: rate.imag, 0j, complex(0, -0.0)),
    (lambda rate: rate, np.float32(0), np.float32(-0.0)),
    (lambda rate: rate[1], (1, 0.0), (1, -0.0))])
def test_zeros_of_different_signs_differ(monkeypatch, pick, first, second):
    quotient = tanx.jit(lambda x: x / pick(RATE))
    for rate, expected in (first, np.inf), (second, -np.inf), (first, np.inf):
        monkeypatch.setitem(globals(), "RATE", rate)
        assert often(lambda: quotient(jnp.float32(1))) == expected


def test_sets_differ_by_the_types_of_their_items():
    settings = {1}
    kind = tanx.jit(lambda x: x + (10 if any(type(s) is bool for s in settings) else 0))
    assert often(lambda: kind(jnp.float32(1))) == 1
    settings.clear()
    settings.add(True)
    assert often(lambda: kind(jnp.float32(1))) == 11


class Tag:
    """A hashable value; if its model is armed, comparing the value changes the model."""

    def __init__(self, model):
        self.model = model

    def __hash__(self):
        return 0

    def __eq__(self, other):
        if self.model.armed:
            self.model.armed, self.model.rate = False, 7.0
        return isinstance(other, Tag)


class Tagged:
    def __init__(self):
        self.rate, self.armed, self.tag = 2.0, False, Tag(self)

    @functools.partial(tanx.jit, static_argnums=0)
    def __call__(self, x):
        return x * self.rate if self.tag else x


def test_changes_while_guards_are_compared_are_seen():
    """Simulates another thread: ``rate`` changes after its guard was compared, before others."""
    model = Tagged()
    assert often(lambda: model(jnp.float32(1))) == 2
    model.tag, model.armed = Tag(model), True
    model(jnp.float32(1))
    assert model.rate == 7
    assert often(lambda: model(jnp.float32(1))) == 7


def test_large_containers_are_compared_by_identity():
    table = [0.0] * 20_000
    f = tanx.jit(lambda y: y + table[0] + TABLE["rate"])
    assert often(lambda: f(1.0)) == 3.0
    table = [1.0] * 20_000
    assert often(lambda: f(1.0)) == 4.0


def test_closures_and_functions_that_are_replaced():
    rate = 2.0
    loss = lambda y: rate * y * y

    @tanx.jit
    def f(y):
        return tanx.grad(lambda y: loss(y))(y)

    assert often(lambda: f(1.0)) == 4.0
    rate = 3.0
    assert often(lambda: f(1.0)) == 6.0
    loss = lambda y: y
    assert often(lambda: f(1.0)) == 1.0


def test_bodies_of_loops_and_checkpoints(monkeypatch):
    def body(i, y):
        return y * RATE

    f = tanx.jit(lambda y: tanx.lax.fori_loop(0, 2, body, y))
    saved = tanx.jit(lambda y: tanx.grad(tanx.checkpoint(lambda y: RATE * jnp.sin(y)))(y))
    assert often(lambda: f(1.0)) == 4.0
    assert often(lambda: saved(0.0)) == 2.0
    assert often(lambda: tanx.lax.fori_loop(0, 2, body, 1.0)) == 4.0
    monkeypatch.setitem(globals(), "RATE", 3.0)
    assert often(lambda: f(1.0)) == 9.0
    assert often(lambda: saved(0.0)) == 3.0
    assert often(lambda: tanx.lax.fori_loop(0, 2, body, 1.0)) == 9.0


def test_state_read_by_callees_is_guarded():
    model = Model(3.0)
    outer = tanx.jit(lambda y: model.times(y) + 1)
    model.times(2.0)
    assert often(lambda: outer(2.0)) == 7.0
    model.x = 4.0
    assert often(lambda: outer(2.0)) == 9.0
    assert often(lambda: tanx.vmap(outer)(jnp.full(1, 2.0))[0]) == 9.0
    assert often(lambda: tanx.grad(outer)(2.0)) == 4.0


def test_state_changed_by_the_trace_is_not_guarded():
    count = 0
    seen = []
    model = Model(3.0, traces=0)

    @tanx.jit
    def f(y):
        nonlocal count
        count += 1
        seen.append(y)
        model.traces += 1
        model.latest = y
        return y * model.x

    for step in range(6):
        assert float(f(2.0)) == 6.0
        seen.append(step)
    seen.clear()
    count = 100
    f(2.0)
    assert count == 100 and model.traces == 1


def test_state_read_by_callbacks_is_not_guarded():
    losses, step = [], 0

    @tanx.jit
    def f(y):
        TRACES.append("f")
        tanx.debug.callback(lambda y: losses.append((step, float(y))), y)
        return y * 2

    for step in range(5):  # noqa: B007 - the callback reads it
        assert float(f(1.0)) == 2.0
    tanx.effects_barrier()
    assert losses == [(i, 1.0) for i in range(5)]
    assert len(TRACES) == 1


def test_the_class_is_left_as_it_was():
    class Watched(Model):
        def __getattribute__(self, name):
            return super().__getattribute__(name)

    before = Watched.__dict__["__getattribute__"]
    thing = Watched(3.0)
    assert often(lambda: thing.times(2.0)) == 6.0
    thing.x = 4.0
    assert often(lambda: thing.times(2.0)) == 8.0
    assert Watched.__dict__["__getattribute__"] is before
    assert "__getattribute__" not in Model.__dict__
    with pytest.raises(AttributeError, match="nothing"):
        tanx.jit(lambda m: m.nothing, static_argnums=0)(Model(1.0))
    assert "__getattribute__" not in Model.__dict__


def test_a_state_that_changes_at_each_call_is_reported():
    model = Model(0.0)
    with pytest.warns(UserWarning, match="attribute x of Model"):
        for x in range(20):
            model.x = float(x)
            assert float(model.times(1.0)) == x
    assert Model.times._cache_size() <= 40


def test_a_flag_of_an_enclosing_function_does_not_count():
    """Tests that were written for JAX set such a flag when no trace is expected."""
    may_trace = True

    @tanx.jit
    def f(x):
        assert may_trace
        return x + 1

    f(1.0)
    may_trace = False
    assert [float(f(1.0)) for _ in range(4)] == [2.0] * 4
