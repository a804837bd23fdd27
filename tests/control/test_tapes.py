"""Tapes of loops with known values, in jitted functions and batches: steps run once."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._control import tape
from tanx._runtime.executable import Executable
from tanx.experimental import io_callback
from tests.control.ways import error


class Cosine:
    """The cosine, by a callback with side effects, which records its arguments."""

    def __init__(self):
        self.seen = []

    def __call__(self, x):
        return io_callback(self._called, tanx.ShapeDtypeStruct(x.shape, x.dtype),
                           lax.stop_gradient(x))

    def _called(self, x):
        self.seen.append(float(x))
        return np.cos(x)

    def asked(self) -> int:
        """The number of calls since the last time."""
        count = len(self.seen)
        self.seen.clear()
        return count


@pytest.fixture
def cosine():
    return Cosine()


def waves(weight, n):
    """A loop of n steps as a function of a number; weights are constants."""
    return lambda x: lax.while_loop(
        lambda c: c[0] < n, lambda c: (c[0] + 1, jnp.sin(c[1]) * weight(c[1])), (0, x))[1]


def plain_waves(x, n):
    """The same and its derivative, in Python."""
    slope = 1.0
    for _ in range(n):
        slope, x = slope * np.cos(x) * np.cos(x), np.sin(x) * np.cos(x)
    return x, slope


def fixed_cosine(x):
    return lax.stop_gradient(jnp.cos(x))


# -- jitted functions ------------------------------------------------------------------------------


def around(weight):
    """Operations before, between and after two loops."""
    def fun(x):
        y = waves(weight, 2)(jnp.sin(x) * 2.0)
        return waves(weight, 3)(jnp.exp(y) - 1.0) * 3.0 + x
    return fun


def called(weight):
    """A loop in a call in a call."""
    inner = tanx.jit(waves(weight, 3))
    return tanx.jit(lambda x: inner(x * 2.0) + 1.0)


def chosen(weight):
    """A loop in a branch."""
    return lambda x: lax.cond(x > 0, waves(weight, 3), lambda x: x, x * 2.0)


def switched(weight):
    """Loops in branches, one of which contains a switch."""
    inner = lambda x: lax.switch((x > 0).astype(int), [lambda x: x, waves(weight, 2)], x)
    return lambda x: lax.switch((x > 0) + 1, [lambda x: x, waves(weight, 5), inner], x)


def ruled(weight):
    """A loop in a function with a custom rule."""
    @tanx.custom_jvp
    def fun(x):
        return waves(weight, 3)(x)

    fun.defjvp(lambda primals, tangents: tanx.jvp(waves(weight, 3), primals, tangents))
    return lambda x: fun(x) * 2.0


each_function = pytest.mark.parametrize("make, steps", [
    (lambda weight: waves(weight, 3), 3), (around, 5), (called, 3), (chosen, 3), (switched, 2),
    (ruled, 3)], ids=["alone", "around", "called", "chosen", "switched", "ruled"])


@each_function
def test_jitted_functions_run_each_step_once(make, steps, cosine):
    expected, slope = tanx.jvp(make(fixed_cosine), (0.7,), (1.0,))
    fun = tanx.jit(make(cosine))
    y, pushed = tanx.linearize(fun, 0.7)
    assert cosine.asked() == steps
    np.testing.assert_allclose([y, pushed(1.0)], [expected, slope], rtol=1e-5)
    y, pull = tanx.vjp(fun, 0.7)
    assert cosine.asked() == steps
    np.testing.assert_allclose([y, *pull(1.0)], [expected, slope], rtol=1e-5)
    np.testing.assert_allclose(tanx.grad(fun)(0.7), slope, rtol=1e-5)
    assert cosine.asked() == steps


@each_function
def test_derivatives_of_derivatives_of_jitted_functions(make, steps, cosine):
    fun, expected = tanx.jit(make(cosine)), tanx.grad(make(fixed_cosine))
    np.testing.assert_allclose(tanx.jvp(tanx.grad(fun), (0.7,), (2.0,))[1],
                               tanx.jvp(expected, (0.7,), (2.0,))[1], rtol=1e-4)
    assert cosine.asked() == steps
    np.testing.assert_allclose(tanx.grad(tanx.grad(fun))(0.7), tanx.grad(expected)(0.7), rtol=1e-4)
    assert cosine.asked() == steps


def test_stretches_are_traced_and_compiled_once(monkeypatch):
    made, traced = [], []
    create = Executable.__init__
    monkeypatch.setattr(Executable, "__init__",
                        lambda self, *args: (made.append(self), create(self, *args))[1])

    def fun(x, n):
        traced.append(1)
        y = waves(fixed_cosine, n)(jnp.sin(x) * 2.0)
        return jnp.exp(y) * x

    gradient = tanx.grad(tanx.jit(fun))
    gradient(0.7, 3)
    assert made and len(traced) == 1
    made.clear()
    for n in (3, 0, 40):
        y, slope = plain_waves(np.sin(0.6) * 2.0, n)
        np.testing.assert_allclose(gradient(0.6, n), np.exp(y) * (
            1 + 0.6 * slope * 2 * np.cos(0.6)), rtol=1e-4)
    assert not made and len(traced) == 1


def test_loops_without_tapes_do_not_split_the_function():
    """Loops that do not depend on unknown values, and scans, do not split a function."""
    def fun(x, n):
        y = lax.fori_loop(0, 3, lambda _, y: jnp.sin(y), x)
        return y * lax.while_loop(lambda k: k < n, lambda k: k * 2, 1) * jnp.sin(y)

    _, pushed = tanx.linearize(lambda x: tanx.jit(fun)(x, 7), 0.5)
    calls = [e.primitive.name for e in tanx.make_jaxpr(pushed)(1.0).eqns]
    assert calls == ["jit"]


def test_effects_keep_their_order(capsys):
    def step(c):
        tanx.debug.print("step {}", c[0])
        return c[0] + 1, jnp.sin(c[1])

    @tanx.jit
    def fun(x):
        tanx.debug.print("before")
        y = lax.while_loop(lambda c: c[0] < 2, step, (0, x * 2))[1]
        tanx.debug.print("after")
        return y * x

    tanx.grad(fun)(0.5)
    tanx.effects_barrier()
    assert capsys.readouterr().out.splitlines() == ["before", "step 0", "step 1", "after"]


@pytest.mark.parametrize("derivative", [
    lambda f: tanx.jit(tanx.grad(f)), lambda f: tanx.grad(tanx.checkpoint(f)),
    lambda f: tanx.grad(lambda x: lax.scan(lambda c, _: (f(c), None), x, length=2)[0]),
], ids=["jit of grad", "checkpoint", "scan"])
def test_repeated_callbacks_in_derivatives_raise(cosine, derivative):
    assert error(NotImplementedError, derivative(waves(cosine, 3)), 0.7) == """\
tanx.lax.while_loop: in compiled derivatives, other loops and checkpoint, the derivative of a loop \
runs its steps again, which is not possible for a callback with \
effects.
  effects: IO
  Hint: grad(jit(f)), unlike jit(grad(f)), runs the loop once; tanx.lax.scan and \
tanx.lax.bounded_while_loop always do so."""


# -- batches ---------------------------------------------------------------------------------------

XS, STEPS = jnp.array([0.7, 0.2, -1.1, 0.9]), jnp.array([3, 0, 70, 1])


def lanes(x, n):
    return waves(fixed_cosine, n)(x)


@pytest.mark.parametrize("tapes", [tape.TAPES, (1, 1), ()], ids=["one", "two", "none"])
@pytest.mark.parametrize("fun", [lanes, tanx.jit(lanes)], ids=["eager", "jit"])
def test_each_lane_has_a_tape(fun, tapes, monkeypatch):
    """With two tapes, each has room for 64 steps, and one lane has more steps."""
    monkeypatch.setattr(tape, "TAPES", tapes)
    both = [plain_waves(x, n) for x, n in zip(XS, STEPS.tolist())]
    got = tanx.vmap(tanx.value_and_grad(fun))(XS, STEPS)
    np.testing.assert_allclose(np.stack(got, 1), both, rtol=1e-4)
    pushed = tanx.vmap(lambda x, n, v: tanx.linearize(lambda x: fun(x, n), x)[1](v))
    np.testing.assert_allclose(pushed(XS, STEPS, XS), [x * slope for x, (_, slope)
                                                       in zip(XS, both)], rtol=1e-4)


def test_lanes_run_each_step_once():
    count = []

    @tanx.custom_jvp
    def sine(x):
        return tanx.pure_callback(lambda x: (count.append(1), np.sin(x))[1], x, x,
                                  vmap_method="sequential")

    sine.defjvps(lambda dx, out, x: dx * jnp.cos(x))
    loop = lambda x, n: lax.while_loop(
        lambda c: c[0] < n, lambda c: (c[0] + 1, sine(c[1]) * 1.5), (0, x))[1]
    both = tanx.vmap(tanx.value_and_grad(loop))(XS, STEPS)
    assert len(count) == STEPS.sum()
    plain = lambda x, n: lax.fori_loop(0, n, lambda _, x: jnp.sin(x) * 1.5, x)
    expected = [tanx.value_and_grad(plain)(x, int(n)) for x, n in zip(XS, STEPS)]
    np.testing.assert_allclose(np.stack(both, 1), expected, rtol=1e-4)
    count.clear()
    tanx.vmap(tanx.grad(loop), (0, None))(XS, 5)  # all lanes in one loop
    assert len(count) == 5 * len(XS)


@pytest.mark.parametrize("derivative", [
    lambda f: tanx.vmap(tanx.grad(f)), lambda f: tanx.grad(lambda xs: tanx.vmap(f)(xs).sum()),
    lambda f: lambda xs: tanx.jacrev(tanx.jit(tanx.vmap(f)))(xs).sum(0)],
    ids=["vmap of grad", "grad of vmap", "jacrev of jit of vmap"])
def test_callbacks_in_steps_that_all_lanes_take(cosine, derivative):
    got = derivative(waves(cosine, 3))(XS)
    assert cosine.asked() == 3 * len(XS)
    np.testing.assert_allclose(got, [plain_waves(x, 3)[1] for x in XS], rtol=1e-5)


def test_derivatives_in_batches_in_batches():
    """Two maps, one outside and one inside a second derivative."""
    f = lambda x, n: waves(lambda y: y, n)(x)
    plain = lambda x, n: tanx.grad(tanx.grad(lambda x: lax.fori_loop(
        0, n, lambda _, y: jnp.sin(y) * y, x)))(x)
    ours = tanx.vmap(tanx.vmap(tanx.grad(tanx.grad(f)), (0, None)), (None, 0))
    expected = [[plain(x, n) for x in XS] for n in (0, 2)]
    np.testing.assert_allclose(ours(XS, jnp.array([0, 2])), expected, rtol=1e-4)
    total = lambda x: tanx.vmap(tanx.grad(f), (None, 0))(x, jnp.array([0, 2])).sum()
    np.testing.assert_allclose(tanx.grad(total)(XS[0]), sum(np.array(expected)[:, 0]), rtol=1e-4)


def test_lanes_that_communicate_write_no_tapes():
    def fun(x):
        return lax.while_loop(lambda c: c[0] < 3, lambda c: (
            c[0] + 1, jnp.sin(c[1]) * lax.pmax(lax.stop_gradient(c[1]), "lanes")), (0, x))[1]

    xs, slopes = np.asarray(XS), np.ones(4)
    for _ in range(3):
        xs, slopes = np.sin(xs) * xs.max(), slopes * np.cos(xs) * xs.max()
    np.testing.assert_allclose(tanx.vmap(tanx.grad(fun), axis_name="lanes")(XS), slopes, rtol=1e-5)


def test_many_lanes_have_no_tapes(monkeypatch):
    """Tapes of all lanes at once would be large: lanes are run again one by one."""
    step = tanx.make_jaxpr(lambda x: (x, jnp.cos(x)))(jnp.zeros(1000))
    assert tape.rooms(step, 1, 1)[0] == tape.FEWEST + 1
    assert tape.rooms(step, 1, 100)[0] == tape.FEWEST
    assert tape.rooms(step, 1, 10000) == []
    monkeypatch.setattr(tape, "LARGEST", 1 << 6)
    got = tanx.vmap(tanx.grad(lanes))(XS, STEPS)
    np.testing.assert_allclose(got, [plain_waves(x, n)[1] for x, n in zip(XS, STEPS.tolist())],
                               rtol=1e-4)
