"""Derivatives of high order as users call them: pytrees, factorials, transformations, rules."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx.experimental import jet as module
from tanx.experimental.jet import jet
from tanx.extend.core import find_top_trace
from tests.core.fakes import Fake

LINE = ((1.0, 0.0, 0.0),)


def test_derivatives_of_sine():
    y, found = jet(jnp.sin, (0.5,), LINE)
    expected = [np.cos(0.5), -np.sin(0.5), -np.cos(0.5)]
    np.testing.assert_allclose(y, np.sin(0.5), rtol=1e-6)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert type(found) is list and all(t.weak_type for t in found)


def test_coefficients_without_factorials():
    _, found = jet(jnp.exp, (0.0,), ((1.0, 0.0, 0.0, 0.0),), factorial_scaled=False)
    np.testing.assert_allclose(found, [1, 1 / 2, 1 / 6, 1 / 24], rtol=1e-6)
    _, curved = jet(lambda x: x * x, (jnp.ones(2),), ((jnp.ones(2), jnp.full(2, 3.0)),),
                    factorial_scaled=False)
    np.testing.assert_allclose(curved, [[2, 2], [7, 7]])


def test_high_orders_do_not_overflow():
    order = 60
    series = ((1.0,) + (0.0,) * (order - 1),)
    _, found = jet(lambda x: 1 / (1 - x), (0.0,), series, factorial_scaled=False)
    np.testing.assert_allclose(found, np.ones(order), rtol=1e-5)
    _, found = jet(lambda x: jnp.exp(-x), (0.0,), (series[0][:30],))
    np.testing.assert_allclose(found, (-1.0) ** np.arange(1, 31), rtol=1e-4)


def test_pytrees_in_and_out():
    def fun(d, i):
        return {"sum": d["a"] + d["b"][0], "power": d["a"] ** 3, "count": i, "fixed": 2.0}
    out, found = jet(fun, ({"a": 2.0, "b": [jnp.ones(2)]}, 7),
                     ({"a": (1.0, 0.0), "b": [(jnp.ones(2), jnp.ones(2))]}, (0, 0)))
    assert out["count"] == 7 and float(out["power"]) == 8.0
    np.testing.assert_allclose(found["sum"], [[2, 2], [1, 1]])
    np.testing.assert_allclose(found["power"], [12, 12])
    np.testing.assert_allclose(found["fixed"], [0, 0])
    np.testing.assert_allclose(found["count"], [0, 0])


def three(x):
    """The third derivative along a line of a function with a loop and a linear solve."""
    def fun(x):
        y = lax.fori_loop(0, 3, lambda i, c: jnp.sin(c) * x, x)
        return jnp.linalg.solve(jnp.array([[2.0, y], [0.0, 1.0]]), jnp.stack([y, x]))[0]
    return jet(fun, (x,), LINE)[1][2]


def nested(x):
    def fun(x):
        y = x
        for _ in range(3):
            y = jnp.sin(y) * x
        return (y - y * x) / 2
    for _ in range(3):
        fun = lambda x, fun=fun: tanx.jvp(fun, (x,), (1.0,))[1]
    return fun(x)


WEIGHTS = np.linspace(-1, 1, 9, dtype=np.float32).reshape(3, 3)
KNOWN_ZEROS = {
    "layers": lambda x: jnp.tanh(jnp.tanh(x @ WEIGHTS) @ WEIGHTS),
    "elementwise": lambda x: jnp.sin(x) * jnp.exp(-x * x) / (1 + x * x) - x[..., ::-1] ** 2.5,
    "exponents": lambda x: 2.0 ** x + x ** x,
    "linear": lambda x: 3 * jnp.cumsum(-x[::-1].reshape(3, 1)).sum(),
    "loop": lambda x: lax.fori_loop(0, 3, lambda _, y: y * x + y, x),
    "branch": lambda x: lax.cond(x[0] > 0, jnp.sin, lambda y: y * y, x),
    "call": lambda x: tanx.jit(lambda y: jnp.linalg.norm(y) * y)(x),
    "integers": lambda x: jnp.floor(x) + x.astype(int),
}


@pytest.mark.parametrize("name", KNOWN_ZEROS)
@pytest.mark.parametrize("known", [(1, 2), (0, 2)])
def test_zeros_that_are_known(name, known):
    """They have the same results, in value and type, as zeros that are arguments."""
    fun, x = KNOWN_ZEROS[name], jnp.array([0.3, 0.7, 1.2])
    terms = [jnp.zeros(3) if k in known else jnp.array([0.5, -1.0, 2.0]) / (k + 1)
             for k in range(3)]
    want = tanx.jit(lambda x, *ts: jet(fun, (x,), (ts,)))(x, *terms)
    given = tanx.jit(lambda x, *ts: jet(fun, (x,), (
        [jnp.zeros_like(x) if k in known else t for k, t in enumerate(ts)],)))
    for found in [jet(fun, (x,), (terms,)), *(given(x, *terms) for _ in range(4))]:
        assert tanx.tree.structure(found) == tanx.tree.structure(want)
        for a, b in zip(tanx.tree.leaves(found), tanx.tree.leaves(want)):
            assert (a.shape, a.dtype, a.weak_type) == (b.shape, b.dtype, b.weak_type)
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-5)


def test_zeros_that_are_known_take_no_products():
    def last(x, v):
        return jet(lambda x: x @ WEIGHTS, (x,), ((v, jnp.zeros(3), jnp.zeros(3)),))[1]
    text = str(tanx.make_jaxpr(last)(jnp.ones(3), jnp.ones(3)))
    assert text.count("dot_general") == 2, text


def test_zeros_that_move_are_not_known():
    def second(t):  # its derivative at 0 is cos(1)
        return jet(jnp.sin, (1.0,), ((1.0, t),))[1][1]
    for slope in (tanx.grad(second), tanx.jit(tanx.grad(second)), tanx.jacfwd(second)):
        for _ in range(4):
            np.testing.assert_allclose(slope(0.0), np.cos(1.0), rtol=1e-6)
    batch = tanx.vmap(second)(jnp.array([0.0, 1.0]))
    np.testing.assert_allclose(batch, [-np.sin(1), np.cos(1) - np.sin(1)], rtol=1e-6)


def test_compiled_batched_and_differentiated():
    compiled = tanx.jit(three)
    for _ in range(4):
        out = compiled(0.5)
        assert out.shape == () and out.dtype == jnp.float32
        np.testing.assert_allclose(out, nested(0.5), rtol=1e-4)
    x = jnp.array([0.2, 0.5, 0.7])
    np.testing.assert_allclose(tanx.vmap(three)(x), [nested(v) for v in x], rtol=2e-4)
    np.testing.assert_allclose(tanx.grad(three)(0.5), tanx.jvp(nested, (0.5,), (1.0,))[1],
                               rtol=1e-3)
    np.testing.assert_allclose(tanx.jvp(three, (0.5,), (1.0,))[1], tanx.grad(nested)(0.5),
                               rtol=1e-3)


@pytest.mark.slow
def test_order_six_through_scan_and_solve():
    """All derivatives up to the sixth, against forward mode nested six times."""
    def step(c, k):
        return jnp.sin(c) * k + c * c, c

    def fun(x):
        y, _ = lax.scan(step, x, jnp.array([0.5, 1.5]))
        return jnp.linalg.solve(jnp.array([[2.0, 0.0], [0.0, 1.0]]) + y * jnp.eye(2),
                                jnp.stack([y, x]))[0]

    def plainly(x):
        y = x
        for k in (0.5, 1.5):
            y, _ = step(y, k)
        return y / (2 + y)
    with tanx.enable_x64(True):
        found = tanx.jit(lambda x: jet(fun, (x,), ((1.0,) + (0.0,) * 5,)))
        expected, slopes = [], plainly
        for _ in range(6):
            slopes = lambda x, fun=slopes: tanx.jvp(fun, (x,), (1.0,))[1]
            expected.append(slopes)
        expected = tanx.jit(lambda x: [slope(x) for slope in expected])(0.3)
        for _ in range(4):
            y, series = found(0.3)
            np.testing.assert_allclose(y, plainly(0.3), rtol=1e-12)
            np.testing.assert_allclose(series, expected, rtol=1e-9)


def test_series_of_series():
    inner = lambda x: jet(lambda y: jnp.sin(x * y), (x,), LINE)[1][1]
    found = jet(inner, (0.5,), ((1.0, 0.0),))[1]
    direct = lambda x: -x * x * jnp.sin(x * x)
    expected = [tanx.grad(direct)(0.5), tanx.grad(tanx.grad(direct))(0.5)]
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_jet_of_custom_vjp_differentiates_the_body():
    square = tanx.custom_vjp(lambda x: x * x)
    square.defvjp(lambda x: (x * x, x), lambda x, ct: (5 * ct,))
    np.testing.assert_allclose(jet(square, (3.0,), LINE)[1], [6, 2, 0])
    np.testing.assert_allclose(jet(tanx.jit(square), (3.0,), LINE)[1], [6, 2, 0])


@pytest.mark.parametrize("dtype, tolerance", [
    ("bfloat16", 5e-2), ("float16", 1e-2), ("float32", 1e-5), ("complex64", 1e-5)])
def test_dtypes(dtype, tolerance):
    x, one = jnp.full((2,), 0.5, dtype), jnp.ones((2,), dtype)
    y, found = jet(lambda x: jnp.exp(x) / x, (x,), ((one, one),))
    assert all(t.dtype == dtype for t in (y, *found))
    np.testing.assert_allclose(np.asarray(found[0]).astype("complex64"),
                               np.full(2, np.exp(0.5) * (2 - 4)), rtol=tolerance)


@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
def test_shapes(shape):
    x = jnp.ones(shape)
    y, found = jet(lambda x: (x * x).sum(), (x,), ((x, x),))
    assert y.shape == found[1].shape == ()
    assert float(found[0]) == 2 * x.size


def test_order_zero():
    y, found = jet(lambda x: x * x, (3.0,), ((),))
    assert float(y) == 9.0 and found == []


class Own(Fake):
    """A user's primitive."""

    def __init__(self, impl):
        super().__init__("own")
        self.eval = impl


@pytest.mark.parametrize("define, impl, expected", [
    (lambda p: module.deflinear(p), lambda x: 2 * x, [2, 4]),
    (lambda p: module.defzero(p), lambda x: x, [0, 0]),
    (lambda p: module.def_deriv(p, lambda x: 2 * x), lambda x: x * x, [6, 14]),
    (lambda p: module.def_comp(p, lambda x: x * x), lambda x: x * x, [6, 14]),
])
def test_rules_of_the_user(define, impl, expected):
    prim = Own(impl)
    define(prim)
    np.testing.assert_allclose(jet(prim.bind, (jnp.float32(3.0),), ((1.0, 2.0),))[1], expected)


def test_factorials():
    np.testing.assert_array_equal(module.fact(jnp.arange(6)), [1, 1, 2, 6, 24, 120])
    assert module.fact(10) == 3628800


@pytest.mark.parametrize("call, error, words", [
    (lambda: jet(3, (1.0,), LINE), TypeError, "needs a function"),
    (lambda: jet(jnp.add, (1.0, 1.0), ((1.0,), (1.0, 2.0))), ValueError, "same length"),
    (lambda: jet(lambda: 1.0, (), ()), ValueError, "same length"),
    (lambda: jet(jnp.sin, (jnp.ones(3),), ((jnp.ones(2),),)), TypeError, "type of their argument"),
    (lambda: jet(jnp.sin, (jnp.ones(3),), ((jnp.ones(3, "float16"),),)), TypeError, "type of"),
    (lambda: jet(jnp.sin, (1.0,), (1.0,)), TypeError, "iterable"),
    (lambda: jet(jnp.sin, ("a",), LINE), TypeError, "not an array"),
    (lambda: jet(lambda x: "a", (1.0,), LINE), TypeError, "must return arrays"),
])
def test_mistakes(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_a_trace_knows_the_tracers_of_its_tag():
    tag, below = object(), find_top_trace(())
    trace = module.JetTrace(tag, below, 2)
    x = module.JetTracer(trace, 1.0, [2.0, 3.0])
    assert trace.tag is tag and trace.order == 2 and trace.parent_trace is below
    assert module.JetTrace(tag, below, 2).to_primal_terms_pair(x) == (1.0, [2.0, 3.0])
    assert module.JetTrace(object(), below, 2).to_primal_terms_pair(x)[0] is x
