"""Taylor mode: every row of the table of cases, against nested forward mode and against itself."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._core.array import Array
from tanx._core.linear import Zero, instantiate, never, zero_series
from tanx._transforms.jvp import jvp
from tanx._transforms.taylor import taylor
from tests.cases import CASES
from tests.core.fakes import Fake
from tests.test_rules import arrays, coarse, flat

DIFFERENTIABLE = [case for case in CASES if case.grad and not any(
    coarse(case.args[k].dtype) for k in case.grad)]

# Cases without second derivatives, or with wrong ones by forward mode: for numbers whose square
# overflows, intermediate products underflow.
ONCE = ("eig-values", "igamma", "igammac", "asinh-huge")
FIRST = {case.primitive: case for case in reversed(DIFFERENTIABLE)}


@pytest.fixture(autouse=True)
def wide_types():
    with tanx.enable_x64(True):
        yield


def curve(case, order):
    """Operands, and small coefficients for the differentiable ones."""
    args = arrays(case.arguments())
    draws = [case.arguments(seed=k) for k in range(1, order + 1)]
    series = [[Array(np.asarray(draw[i] * 0.3 ** (k + 1))) for k, draw in enumerate(draws)]
              if i in case.grad else zero_series for i in range(len(args))]
    return args, series


def at(args, series, t):
    """The point of the curve at ``t``."""
    return [x if ts is zero_series else sum((c * t ** k for k, c in enumerate(ts, 1)), x)
            for x, ts in zip(args, series)]


def nested(fun, order):
    """The coefficients of a function of one number at 0, by nested forward mode."""
    zero, one, found, scale = Array(np.asarray(0.0)), Array(np.asarray(1.0)), [], 1.0
    for k in range(1, order + 1):
        fun = lambda t, fun=fun: [instantiate(d) for d in jvp(fun, [t], [one])[1]]
        scale *= k
        found.append([np.asarray(y) / scale if y.dtype.kind in "fc" else None
                      for y in fun(zero)])
    return list(zip(*found))


def agrees_with_nested(case, order):
    args, series = curve(case, order)
    outs, found = taylor(flat(case), args, series, order)
    plain = flat(case)(*args)
    expected = nested(lambda t: flat(case)(*at(args, series, t)), order)
    for y, ts, want, value in zip(outs, found, expected, plain, strict=True):
        np.testing.assert_allclose(y, value, rtol=1e-12, atol=1e-12)
        if want[0] is None:
            assert ts is zero_series
            continue
        ts = [np.zeros(y.shape, y.dtype)] * order if ts is zero_series else ts
        for k, (a, b) in enumerate(zip(ts, want), 1):
            assert a.shape == y.shape and a.dtype == y.dtype
            size = max(1.0, np.abs(b).max(initial=0.0)) if np.isfinite(b).all() else 1.0
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7 * size, err_msg=f"order {k}")


def coefficients(case, order):
    """A function from operands and coefficients to results and all their coefficients."""
    def fun(*given):
        rest, args, series = iter(given), [], []
        for i in range(len(case.args)):
            args.append(next(rest))
            series.append([next(rest) for _ in range(order)] if i in case.grad else zero_series)
        outs, found = taylor(flat(case), args, series, order)
        return [t for y, ts in zip(outs, found) if y.dtype.kind in "fc" for t in (
            y, *(ts if ts is not zero_series else [jnp.zeros_like(y)] * order))]
    return fun


def moving(args, series):
    """Operands with their coefficients, and the derivatives of these along the curve."""
    values, changes = [], []
    for x, ts in zip(args, series):
        every = [x] if ts is zero_series else [x, *ts]
        values += every[:1] if ts is zero_series else every[:-1]
        changes += [Zero.tangent_of(x)] if ts is zero_series else [
            Array(np.asarray(k * c)) for k, c in enumerate(ts, 1)]
    return values, changes


def highest(case, order):
    return 1 if case.id.startswith(ONCE) else order


@pytest.mark.parametrize("case", DIFFERENTIABLE, ids=repr)
def test_each_order_is_the_derivative_of_the_one_before(case):
    each_order_follows(case, highest(case, 6 if FIRST[case.primitive] is case else 2))


@pytest.mark.slow
@pytest.mark.parametrize("case", DIFFERENTIABLE, ids=repr)
def test_high_orders_are_derivatives_of_lower_orders(case):
    each_order_follows(case, highest(case, 6))


def each_order_follows(case, order):
    """Check all orders: along the curve, coefficient k has k + 1 times the next as derivative."""
    args, series = curve(case, order)
    whole = coefficients(case, order)(*[
        c for x, ts in zip(args, series) for c in ([x] if ts is zero_series else [x, *ts])])
    values, changes = jvp(coefficients(case, order - 1), *moving(args, series))
    for start in range(0, len(whole), order + 1):
        for k in range(order):
            n = start // (order + 1) * order + k
            expected = np.asarray(instantiate(changes[n])) / (k + 1)
            found = np.asarray(whole[start + k + 1])
            assert found.shape == whole[start].shape and found.dtype == whole[start].dtype
            size = max(1.0, np.abs(expected).max(initial=0.0))
            tolerance = 2e-2 if found.dtype.itemsize < 4 else 1e-7
            np.testing.assert_allclose(found.astype(expected.dtype), expected, rtol=1e-6,
                                       atol=tolerance * size, err_msg=f"order {k + 1}")
            np.testing.assert_allclose(whole[start + k], values[n], rtol=1e-9, atol=1e-9 * size)


@pytest.mark.slow
@pytest.mark.parametrize("case", DIFFERENTIABLE, ids=repr)
def test_series_agree_with_nested_forward_mode(case):
    agrees_with_nested(case, highest(case, 4))


# -- rules -----------------------------------------------------------------------------------------


def at_zero(fun, order):
    """Coefficients of a function of one number at 0.4 by series, and by nested forward mode."""
    zeros = [Array(np.asarray(0.0))] * (order - 1)
    _, (found,) = taylor(lambda x: [fun(x)], [Array(np.asarray(0.4))],
                         [[Array(np.asarray(1.0)), *zeros]], order)
    expected = nested(lambda t: [fun(t + 0.4)], order)
    return np.asarray(found), np.asarray(expected[0])


@tanx.custom_jvp
def own_slope(x):
    return x * x


@own_slope.defjvp
def own_slope_rule(primals, tangents):
    return own_slope(*primals), 3 * primals[0] ** 2 * tangents[0]


def swinging(x):
    """A pendulum: a loop with a carry that depends on x only after a step."""
    def step(c, f):
        angle, speed = c
        return (angle + 0.1 * speed, speed - 0.1 * jnp.sin(angle) * f), angle
    (angle, _), path = lax.scan(step, (x, jnp.zeros(())), jnp.arange(4.0) + x)
    return angle * path.sum()


FUNCTIONS = {
    "a rule of the user's": own_slope,
    "relu": tanx.nn.relu,
    "jit": tanx.jit(lambda x: jnp.sin(x) * jnp.exp(x)),
    "scan": swinging,
    "scan of unrolled steps": lambda x: lax.scan(
        lambda c, _: (jnp.tanh(c * x), None), x, None, length=4, unroll=2)[0],
    "while_loop": lambda x: lax.while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * jnp.sin(c[1] + x)), (0, 1.0))[1],
    "fori_loop": lambda x: lax.fori_loop(0, 3, lambda i, c: c * x + jnp.cos(c), x),
    "cond": lambda x: lax.cond(x < 1, jnp.sin, lambda x: 1.0, x),
    "switch": lambda x: lax.switch(1, [jnp.sin, jnp.exp, lambda x: 2.0], x),
    "solve": lambda x: jnp.linalg.solve(
        jnp.array([[2.0, x], [x * x, 1.0]]), jnp.stack([x, jnp.ones(())])).sum(),
    "a fixed system": lambda x: jnp.linalg.solve(jnp.array([[2.0, 1.0], [0.0, 1.0]]),
                                                 jnp.stack([x, x * x]))[0],
    "custom_root": lambda x: lax.custom_root(
        lambda y: y ** 3 - x, 1.0,
        lambda f, y: lax.fori_loop(0, 30, lambda _, y: y - f(y) / tanx.grad(f)(y), y),
        lambda g, y: y / g(1.0)),
    "checkpoint": tanx.checkpoint(lambda x: jnp.sin(jnp.sin(x))),
    "gradient": tanx.grad(lambda x: jnp.sin(x) * x),
    "powers": lambda x: x ** x + 2.0 ** x + x ** 2.5 + x ** 3,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_agree_with_nested_forward_mode(name):
    found, expected = at_zero(FUNCTIONS[name], 4)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


def test_fixed_powers_at_zero():
    one, zero = Array(np.asarray(1.0)), Array(np.asarray(0.0))
    _, (found,) = taylor(lambda x: [x ** 3.0], [zero], [[one, zero, zero, zero]], 4)
    np.testing.assert_array_equal(np.asarray(found[:3]), [0.0, 0.0, 1.0])


def test_operations_with_zero_series_are_not_traced():
    seen = []

    def fun(x, y):
        seen.append(lax.mul(y, y))
        return [lax.mul(x, seen[0]), seen[0], lax.gt(x, x)]
    two, one = Array(np.asarray(2.0)), Array(np.asarray(1.0))
    outs, found = taylor(fun, [two, two], [[one, one], zero_series], 2)
    assert [float(t) for t in found[0]] == [4.0, 4.0]
    assert found[1] is zero_series and found[2] is zero_series
    assert type(seen[0]) is Array


class Rough(Fake):
    """Nowhere differentiable."""

    name = "rough"
    jvp = never("it is nowhere smooth")

    def eval(self, x):
        return x


def test_a_missing_rule_says_why():
    one = Array(np.asarray(1.0))
    with pytest.raises(NotImplementedError, match="it is nowhere smooth"):
        taylor(lambda x: [Rough("rough").bind(x)], [one], [[one]], 1)
