"""Optimizers: against plain NumPy, compiled, on pytrees; schedules, states, errors."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx.example_libraries import optimizers

START = np.array([[1.0, -2.0, 0.5], [0.0, 3.0, -1.0]])


def sgd(x, slope):
    for _ in range(5):
        x = x - 0.1 * slope(x)
    return x


def momentum(x, slope, ahead=False):
    v = 0.0
    for _ in range(5):
        g = slope(x)
        v = 0.9 * v + g
        x = x - 0.1 * (0.9 * v + g if ahead else v)
    return x


def adagrad(x, slope):
    s = m = 0.0
    for _ in range(5):
        g = slope(x)
        s = s + g * g
        m = 0.1 * g / np.sqrt(np.where(s > 0, s, 1.0)) + 0.9 * m
        x = x - 0.1 * m
    return x


def rmsprop(x, slope, mass=0.0):
    s = change = 0.0
    for _ in range(5):
        g = slope(x)
        s = 0.9 * s + 0.1 * g * g
        change = mass * change + 0.1 * g / np.sqrt(s + 1e-8)
        x = x - change
    return x


def adam(x, slope):
    m = v = 0.0
    for i in range(1, 6):
        g = slope(x)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        x = x - 0.1 * (m / (1 - 0.9 ** i)) / (np.sqrt(v / (1 - 0.999 ** i)) + 1e-8)
    return x


def adamax(x, slope):
    m = u = 0.0
    for i in range(1, 6):
        g = slope(x)
        m, u = 0.9 * m + 0.1 * g, np.maximum(0.999 * u, np.abs(g))
        x = x - 0.1 / (1 - 0.9 ** i) * m / (u + 1e-8)
    return x


def sm3(x, slope):
    rows, columns, m = np.zeros(x.shape[0]), np.zeros(x.shape[1]), 0.0
    for _ in range(5):
        g = slope(x)
        total = np.minimum(rows[:, None], columns) + g * g
        rows, columns = total.max(1), total.max(0)
        m = 0.1 * g / np.sqrt(np.where(total > 0, total, 1.0)) + 0.9 * m
        x = x - 0.1 * m
    return x


METHODS = {
    "sgd": (optimizers.sgd(0.1), sgd),
    "momentum": (optimizers.momentum(0.1, 0.9), momentum),
    "nesterov": (optimizers.nesterov(0.1, 0.9), lambda x, s: momentum(x, s, ahead=True)),
    "adagrad": (optimizers.adagrad(0.1), adagrad),
    "rmsprop": (optimizers.rmsprop(0.1), rmsprop),
    "rmsprop_momentum": (optimizers.rmsprop_momentum(0.1), lambda x, s: rmsprop(x, s, 0.9)),
    "adam": (optimizers.adam(0.1), adam),
    "adamax": (optimizers.adamax(0.1), adamax),
    "sm3": (optimizers.sm3(0.1), sm3),
}


def slope(x):
    """The gradient of half a sum of squares; one component is zero."""
    return x * np.array([1.0, 2.0, 0.0], x.dtype)


@pytest.mark.parametrize("name", METHODS)
def test_steps_match_the_formula(name):
    (init, update, params_of), reference = METHODS[name]
    step = tanx.jit(lambda i, state: update(
        i, {k: slope(x) for k, x in params_of(state).items()}, state))
    state = init({"w": jnp.asarray(START, jnp.float32)})
    structure = tanx.tree.structure(state)
    for i in range(5):
        state = step(i, state)
    assert tanx.tree.structure(state) == structure
    out = params_of(state)["w"]
    assert out.dtype == jnp.float32 and not out.weak_type
    np.testing.assert_allclose(out, reference(START, slope), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", METHODS)
def test_scalars_batches_and_derivatives(name):
    init, update, params_of = METHODS[name][0]

    def after(x):
        state = init((x, jnp.ones(2)))
        for i in range(3):
            state = update(i, params_of(state), state)
        return params_of(state)[0]
    x = jnp.array([1.0, 2.0])
    np.testing.assert_allclose(tanx.vmap(after)(x), [after(v) for v in x], rtol=1e-5)
    assert np.isfinite(tanx.grad(after)(2.0))
    assert after(x[0]).shape == ()


def test_states_are_packed_and_unpacked():
    init, update, _ = optimizers.adam(0.1)
    params = {"a": jnp.ones(3), "b": (jnp.zeros(2),)}
    state = update(0, params, init(params))
    shown = optimizers.unpack_optimizer_state(state)
    assert [x.shape for x in shown["b"][0].subtree] == [(2,)] * 3
    packed = optimizers.pack_optimizer_state(shown)
    assert tanx.tree.structure(packed) == tanx.tree.structure(state)
    for a, b in zip(tanx.tree.leaves(packed), tanx.tree.leaves(state)):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("schedule, values", [
    (optimizers.constant(0.1), [0.1, 0.1, 0.1]),
    (optimizers.exponential_decay(1.0, 10, 0.5), [1.0, 0.5 ** 0.5, 0.25]),
    (optimizers.inverse_time_decay(1.0, 10, 2.0), [1.0, 0.5, 0.2]),
    (optimizers.inverse_time_decay(1.0, 10, 2.0, staircase=True), [1.0, 1.0, 0.2]),
    (optimizers.polynomial_decay(1.0, 10, 0.2, power=2.0), [1.0, 0.4, 0.2]),
    (optimizers.piecewise_constant([4, 5], [3.0, 2.0, 1.0]), [3.0, 2.0, 1.0]),
    (optimizers.make_schedule(0.3), [0.3, 0.3, 0.3]),
    (optimizers.make_schedule(lambda i: i + 1), [1, 6, 21]),
])
def test_schedules(schedule, values):
    compiled = tanx.jit(schedule)
    for i, value in zip((0, 5, 20), values):
        np.testing.assert_allclose(schedule(i), value, rtol=1e-6)
        np.testing.assert_allclose(compiled(i), value, rtol=1e-6)
    np.testing.assert_allclose(compiled(20), values[-1], rtol=1e-6)


def test_gradients_are_clipped():
    tree = {"a": jnp.array([3.0, 0.0]), "b": jnp.array([[4.0]])}
    assert float(optimizers.l2_norm(tree)) == 5.0
    small, same = optimizers.clip_grads(tree, 1.0), optimizers.clip_grads(tree, 6.0)
    np.testing.assert_allclose(small["a"], [0.6, 0.0], rtol=1e-6)
    np.testing.assert_array_equal(same["b"], tree["b"])


@optimizers.optimizer
def unsteady():
    return lambda x: x, lambda i, g, x: (x, x), lambda x: x


@pytest.mark.parametrize("call, error, words", [
    (lambda: optimizers.sgd(0.1).update_fn(
        0, (jnp.ones(1),), optimizers.sgd(0.1).init_fn([jnp.ones(1)])), TypeError, "structure"),
    (lambda: unsteady().update_fn(0, 1.0, unsteady().init_fn(1.0)), TypeError, "keep"),
    (lambda: optimizers.make_schedule(jnp.ones(3)), TypeError, "number"),
    (lambda: optimizers.piecewise_constant([1, 2], [3, 4]), ValueError, "one value more"),
    (lambda: optimizers.piecewise_constant([[1, 2]], [3, 4]), ValueError, "sequences"),
    (lambda: optimizers.pack_optimizer_state({"a": 1}), AssertionError, "JoinPoint"),
])
def test_mistakes(call, error, words):
    with pytest.raises(error, match=words):
        call()
