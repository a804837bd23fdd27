"""Traced values that outlive their function: found when used, or by ``checking_leaks``."""

import gc
import threading

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx.errors import UnexpectedTracerError

X = jnp.arange(3.0)
KEPT = []
TRANSFORMATIONS = {
    "jit": lambda f: tanx.jit(f)(1.0),
    "grad": lambda f: tanx.grad(f)(1.0),
    "jvp": lambda f: tanx.jvp(f, (1.0,), (1.0,)),
    "vjp": lambda f: tanx.vjp(f, 1.0),
    "vmap": lambda f: tanx.vmap(f)(X),
    "checkpoint": lambda f: tanx.checkpoint(f)(1.0),
    "make_jaxpr": lambda f: tanx.make_jaxpr(f)(1.0),
    "jit of grad": lambda f: tanx.jit(tanx.grad(f))(1.0),
    "vmap of jit": lambda f: tanx.vmap(tanx.jit(f))(X),
}
each = pytest.mark.parametrize("run", TRANSFORMATIONS.values(), ids=TRANSFORMATIONS)


@pytest.fixture(autouse=True)
def nothing_kept():
    KEPT.clear()
    tanx.clear_caches()
    yield
    KEPT.clear()


@pytest.fixture
def old_objects_too():
    """Let the collector, which finds holders, visit objects that are older than the tests."""
    gc.unfreeze()
    yield
    gc.freeze()


def keeps(x):
    KEPT.append(lax.sin(x))
    return x


# --- Used afterwards ------------------------------------------------------------------------------


@each
def test_a_value_that_is_used_after_its_function(run):
    run(keeps)
    for use in (lambda y: y + 1, lambda y: tanx.jit(lambda x: x * y)(2.0),
                lambda y: tanx.grad(lambda x: x * y)(2.0), lambda y: jnp.stack([y, y])):
        with pytest.raises(UnexpectedTracerError) as caught:
            use(KEPT[0])
        assert str(caught.value).startswith(
            "tanx: a traced value escaped from the function that was being transformed.\n"
            f"  value:  {KEPT[0].aval}\n")


@each
def test_a_value_of_one_run_used_in_the_next(run):
    run(keeps)

    def later(x):
        return x * KEPT[0]

    with pytest.raises(UnexpectedTracerError):
        run(later)


def test_the_message_names_argument_and_line():
    tanx.jit(keeps)(1.0)
    line = keeps.__code__.co_firstlineno + 1
    with pytest.raises(UnexpectedTracerError) as caught:
        KEPT[0] + 1
    assert str(caught.value) == (
        "tanx: a traced value escaped from the function that was being transformed.\n"
        "  value:  ~float32[]\n"
        "  origin: depends on argument x of keeps, traced for jit; made at "
        f"{__file__}:{line} (keeps): KEPT.append(lax.sin(x))\n"
        "  Hint: return the value from the function instead of storing it in a global, an "
        "attribute or a list; tanx.checking_leaks() finds the place.")


def test_inner_values_used_by_the_outer_function():
    def outer(x):
        tanx.jit(keeps)(x)
        return x + KEPT[0]

    for run in TRANSFORMATIONS.values():
        KEPT.clear()
        tanx.clear_caches()
        with pytest.raises(UnexpectedTracerError):
            run(outer)


def test_values_of_another_thread():
    def outer(x):
        problems = []

        def work():
            try:
                x + 1
            except UnexpectedTracerError as problem:
                problems.append(problem)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert len(problems) == 1
        return x

    tanx.jit(outer)(1.0)


# --- Looked for -----------------------------------------------------------------------------------


@each
def test_functions_without_leaks_pass(run):
    with tanx.checking_leaks():
        run(lambda x: jnp.sin(x) * 2)
        run(tanx.jit(lambda x: tanx.grad(lambda y: y * x)(x)))


@each
def test_leaks_are_found(run):
    with tanx.checking_leaks(), pytest.raises(Exception, match="tanx.checking_leaks: traced values "
                                              "outlive the function that was being transformed"):
        run(keeps)


def held_by(keep) -> str:
    """The part of the message about the holder."""
    with tanx.checking_leaks(), pytest.raises(Exception) as caught:
        tanx.jit(lambda x: keep(lax.sin(x)) or x)(1.0)
    lines = str(caught.value).splitlines()
    assert lines[0] == ("tanx.checking_leaks: traced values outlive the function that was being "
                        "transformed.")
    assert lines[-1] == "  Hint: return the value instead of storing it."
    return lines[1].split("; depends on")[0].strip()


class Holder:
    pass


class Slots:
    __slots__ = ("value",)


def test_holders_are_named(old_objects_too):
    holder, slots, table = Holder(), Slots(), {}
    assert held_by(KEPT.append) == "~float32[] held by a list"
    assert held_by(lambda y: table.__setitem__("key", y)) == (
        "~float32[] held by the key 'key' of a dict")
    assert held_by(lambda y: setattr(holder, "value", y)) == (
        "~float32[] held by the attribute value of a Holder")
    assert held_by(lambda y: globals().__setitem__("LEAKED", y)) == (
        f"~float32[] held by the global {__name__}.LEAKED")
    assert held_by(lambda y: setattr(slots, "value", y)) == "~float32[] held by a Slots"
    del globals()["LEAKED"]


def test_closures_are_named():
    functions = []

    def keep(y):
        functions.append(lambda: y)

    assert held_by(keep) == "~float32[] held by a closure"


def test_the_flag(old_objects_too):
    previous = tanx.config.values["jax_check_tracer_leaks"]
    with tanx.check_tracer_leaks(True):
        with pytest.raises(Exception, match="held by a list"):
            tanx.jit(keeps)(1.0)
    assert tanx.config.values["jax_check_tracer_leaks"] == previous
    np.testing.assert_array_equal(tanx.jit(lambda x: x)(X), X)


class Scaled:
    """An object whose factor is a descriptor that computes a traced value."""

    def __init__(self):
        self.exponent = 0.0

    class factor:
        def __get__(self, instance, kind=None):
            value = jnp.exp(instance.exponent)
            assert isinstance(value, tanx.core.Tracer)
            return value

    factor = factor()

    def times(self, x):
        return x * self.factor


def test_properties_of_static_objects_do_not_leak():
    scaled = Scaled()
    compiled = tanx.jit(scaled.times)
    with tanx.checking_leaks():
        for _ in range(4):
            out = compiled(2.0)
            assert out == 2.0 and out.shape == () and out.dtype == np.float32 and out.weak_type
    scaled.exponent = np.log(2.0)
    assert np.allclose(compiled(2.0), 4.0)  # a change that affects it is detected
