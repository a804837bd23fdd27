"""Differential equations: closed forms, SciPy, JAX's numbers, adjoints, transformations, errors."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import tanx
import tanx.numpy as jnp
from tanx.experimental import ode
from tanx.experimental.ode import odeint
from tests.numpy.agreement import agree
from tests.scipy.lives import check

TIMES = np.linspace(0, 3, 7)


def pendulum(y, t, length=2.0):
    angle, speed = y
    return [speed, -9.81 / length * jnp.sin(angle) - 0.1 * speed * t]


def decay(y, t, rate):
    return -rate * y


@pytest.fixture
def x64():
    with tanx.enable_x64(True):
        yield


# -- solutions -------------------------------------------------------------------------------------


def test_closed_forms():
    check(lambda y, t: odeint(decay, y, t, 0.5, rtol=1e-6, atol=1e-6),
          (jnp.float32(2), np.float32(TIMES)), 2 * np.exp(-0.5 * TIMES), 1e-4)
    check(lambda y, t: odeint(lambda y, t: t * y, y, t, rtol=1e-6, atol=1e-6),
          (jnp.ones((2, 1)), np.float32(TIMES[:4])),
          np.exp(TIMES[:4] ** 2 / 2)[:, None, None] * np.ones((2, 1)), 1e-4)


def test_like_scipy(x64):
    want = solve_ivp(lambda t, y: np.array(pendulum(y, t)), (0, 3), [1.0, 0.5], t_eval=TIMES,
                     rtol=1e-11, atol=1e-11).y
    angle, speed = odeint(pendulum, [1.0, 0.5], TIMES)
    agree([angle, speed], list(want), 1e-6, 1e-6)


def test_steps_match_jax(x64):
    """Also if the limit of steps is reached, and the last polynomial is extrapolated."""
    def func(y, t):
        return jnp.sin(y) * t - y ** 2
    y0, times = jnp.array([1.0, 0.5]), jnp.linspace(0.0, 3, 4)
    agree(odeint(func, y0, times),
          [[1.0, 0.5], [0.72567804, 0.50804406], [1.10736813, 0.98389594],
           [1.61731021, 1.60370008]], 1e-7, 1e-7)
    agree(odeint(func, y0, times, mxstep=3),
          [[1.0, 0.5], [0.92779431, 0.52937563], [1.91304771, 1.14420101],
           [2.59598014, 2.46181231]], 1e-7, 1e-7)


def test_helper_functions_match_jax(x64):
    def func(y, t):
        return jnp.sin(y) * t - y ** 2
    y0 = jnp.array([1.0, 0.5])
    y, f, error, k = ode.runge_kutta_step(func, y0, func(y0, 0.2), 0.2, 0.3)
    agree([y, f, error], [[0.83531079, 0.47818357], [-0.32699158, 0.0014241],
                          [5.52162949e-06, -3.05987430e-07]], 1e-6, 1e-8)
    assert k.shape == (7, 2)
    agree(ode.fit_4th_order_polynomial(*map(jnp.float64, (1, 2, 1.4, 0.5, 0.7, 0.1))),
          (-1.56, 1.24, 1.27, 0.05, 1.0))
    agree(ode.interp_fit_dopri(jnp.ones(1), 2 * jnp.ones(1), jnp.arange(7.0)[:, None], 0.1)[:, 0],
          [-5.44247569, 9.48495137, -3.04247569, 0.0, 1.0])
    agree(ode.initial_step_size(decay_by_one, 0.0, jnp.ones(2), 4, 1e-6, 1e-6, -jnp.ones(2)),
          0.02692173)
    agree(ode.initial_step_size(lambda y, t: 0 * y, 0.0, jnp.ones(2), 4, 1e-6, 1e-6,
                                jnp.zeros(2)), 1e-6)
    agree(ode.mean_error_ratio(jnp.array([1e-6, 2e-6]), 1e-5, 1e-5, jnp.ones(2), -2 * jnp.ones(2)),
          0.05270463)
    agree(ode.optimal_step_size(0.1, jnp.array([0, 1e-9, 0.5, 0.95, 1, 5, 1e9])),
          [1, 1, 0.10338285, 0.1, 0.09, 0.06523017, 0.02])


def decay_by_one(y, t):
    return -y


def test_times():
    """One time, equal times, descending times; with the same compiled code for equal shapes."""
    compiled = tanx.jit(lambda t: odeint(decay_by_one, 1.0, t, rtol=1e-6, atol=1e-6))
    e = np.e
    for times, want in (([0.0], [1.0]), ([0.0, 0.0, 1.0], [1, 1, 1 / e]),
                        ([0.0, -1.0, -2.0], [1, e, e * e]), ([3.0, 2.0, 2.0], [1, e, e]),
                        ([3.0, 2.0, 1.0], [1, e, e * e])):
        agree(compiled(np.float32(times)), np.array(want), 1e-4)


def test_pytrees_and_dtypes():
    y0 = {"a": 1.0, "b": (jnp.zeros(2), jnp.ones((1, 2), jnp.float16))}
    got = odeint(lambda y, t: {"a": -y["b"][0].sum(), "b": (y["a"] * jnp.ones(2), -y["b"][1])},
                 y0, jnp.array([0.0, 0.5]))
    assert got["a"].shape == (2,) and got["b"][1].shape == (2, 1, 2)
    assert got["b"][1].dtype == jnp.float16 and got["a"].dtype == jnp.float32
    wave = odeint(lambda y, t: 1j * y, jnp.complex64(1), jnp.float32(TIMES), rtol=1e-6, atol=1e-6)
    agree(wave, np.exp(1j * TIMES), 1e-4, 1e-4)
    assert odeint(decay_by_one, jnp.ones(0), jnp.float32(TIMES)).shape == (7, 0)


def test_steps_are_not_longer_than_hmax():
    """Long steps would skip a short pulse."""
    def kick(y, t):
        return jnp.where(abs(t - 7.3) < 0.05, 1.0, 0.0)
    times = jnp.array([0.0, 10.0])
    assert odeint(kick, 0.0, times)[1] == 0
    agree(odeint(kick, 0.0, times, hmax=0.02, rtol=1e-4, atol=1e-4)[1], 0.1, 1e-2)


def test_odeint_ends_at_nan():
    assert not np.isfinite(odeint(lambda y, t: y * jnp.nan, 1.0, jnp.array([0.0, 1.0]))[1])


# -- transformations -------------------------------------------------------------------------------


def test_derivatives_against_differences(x64):
    @tanx.jit
    def loss(y0, times, length):
        angle, speed = odeint(pendulum, y0, times, length)
        return (angle ** 2).sum() + (speed * jnp.arange(7.0)).sum()
    args = [jnp.array(1.0), jnp.array(0.5)], jnp.asarray(TIMES), jnp.array(2.0)
    slopes = tanx.grad(loss, (0, 1, 2))(*args)
    leaves, tree = tanx.tree.flatten(args)
    for i, slope in enumerate(tanx.tree.leaves(slopes)):
        for place in np.ndindex(slope.shape):
            moved = [loss(*tanx.tree.unflatten(tree, [
                leaf.at[place].add(step) if i == j else leaf for j, leaf in enumerate(leaves)]))
                for step in (1e-5, -1e-5)]
            agree(slope[place], (moved[0] - moved[1]) / 2e-5, 1e-4, 1e-4)


def test_derivatives_of_derivatives(x64):
    def end(rate):
        return odeint(decay, 1.0, jnp.array([0.0, 2.0]), rate)[1]
    agree(tanx.grad(end)(0.5), -2 * np.exp(-1))
    agree(tanx.grad(tanx.grad(end))(0.5), 4 * np.exp(-1))


def test_values_closed_over_have_derivatives(x64):
    def end(rate):
        return odeint(lambda y, t: -rate * y, 1.0, jnp.array([0.0, 2.0]))[1]
    compiled = tanx.jit(tanx.grad(end))
    for _ in range(4):
        agree(compiled(0.5), -2 * np.exp(-1))


def test_backwards_in_time_has_derivatives(x64):
    def start(y, times):
        return odeint(decay, y, times, 0.5)[1]
    got = tanx.grad(start, (0, 1))(1.0, jnp.array([2.0, 0.0]))
    agree(got, (np.e, [0.5 * np.e, -0.5 * np.e]))


def test_integers_among_arguments():
    slope = tanx.grad(lambda y, n: odeint(lambda y, t, n: -y * n["n"], y, jnp.array([0.0, 1.0]), n,
                                          rtol=1e-5, atol=1e-5)[1])(1.0, {"n": 2})
    agree(slope, np.exp(-2), 1e-3)


def test_batches():
    rates = jnp.array([0.1, 1.0, 10.0])
    times = jnp.linspace(0.0, 1.0, 3)

    def end(rate):
        return odeint(decay, 1.0, times, rate, rtol=1e-5, atol=1e-5)[-1]
    mapped = tanx.jit(tanx.vmap(tanx.value_and_grad(end)))
    for _ in range(4):
        values, slopes = mapped(rates)
        agree(values, np.exp(-np.asarray(rates)), 1e-3, 1e-4)
        agree(slopes, -np.exp(-np.asarray(rates)), 1e-3, 1e-4)


def test_inside_of_a_loop():
    times = jnp.array([0.0, 0.5])

    def step(y, _):
        return odeint(decay_by_one, y, times, rtol=1e-6, atol=1e-6)[1], y
    compiled = tanx.jit(lambda y: tanx.lax.scan(step, y, None, 4))
    for _ in range(4):
        last, _ = compiled(1.0)
        agree(last, np.exp(-2), 1e-4)


@pytest.mark.parametrize("error, call", [
    (TypeError, lambda t: odeint(decay_by_one, 1, t)),
    (TypeError, lambda t: odeint(decay_by_one, 1.0, jnp.arange(3))),
    (TypeError, lambda t: odeint(decay, 1.0, t, "fast")),
    (TypeError, lambda t: odeint(decay_by_one, "a", t)),
    (TypeError, lambda t: odeint(lambda y, t: y[:1], jnp.ones(2), t)),
    (TypeError, lambda t: odeint(lambda y, t: 1j * y, 1.0, t)),
    (IndexError, lambda t: odeint(decay_by_one, 1.0, t[0])),
    (IndexError, lambda t: odeint(decay_by_one, 1.0, t[:0]))])
def test_errors(error, call):
    with pytest.raises(error, match=r"tanx\.experimental\.ode\.odeint: "):
        call(jnp.array([0.0, 1.0]))


def test_there_is_no_forward_mode():
    with pytest.raises(TypeError, match="forward"):
        tanx.jvp(lambda y: odeint(decay_by_one, y, jnp.array([0.0, 1.0])), (1.0,), (1.0,))
