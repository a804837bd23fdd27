"""Promise 19: what depends on known arguments alone runs once."""

import inspect

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tests.gotchas import pages

RUNS = []  # one item for each run of the known part


def test_the_page():
    pages.run("19_specialize")


@pytest.fixture(autouse=True)
def fresh():
    RUNS.clear()


def costly(x):
    """A function whose runs are counted, under all transformations."""
    return tanx.pure_callback(lambda x: RUNS.append(1) or np.sin(x), tanx.ShapeDtypeStruct(
        jnp.shape(x), jnp.float32), x, vmap_method="sequential")


def model(a, b, scale=1.0):
    return costly(a) * b * scale, a + 1


A = jnp.float32(0.5)
SIN = float(np.sin(np.float32(0.5)))


def test_the_known_part_runs_once_for_each_kind_of_the_other_arguments():
    f = tanx.specialize(model, A)
    for b in (2.0, 3.0, 4.0, 5.0, 6.0):
        product, known = f(b)
        np.testing.assert_allclose(product, SIN * b, rtol=1e-6)
        assert product.dtype == jnp.float32 and float(known) == 1.5
    assert len(RUNS) == 1
    for _ in range(4):
        np.testing.assert_allclose(f(jnp.arange(3.0), scale=2.0)[0], SIN * 2 * np.arange(3.0),
                                   rtol=1e-6)
    assert len(RUNS) == 2


def test_under_jit_grad_and_vmap():
    f = tanx.specialize(model, A)
    first = lambda b: f(b)[0]
    ways = {"jit": (tanx.jit(first), SIN * 2), "grad": (tanx.grad(first), SIN),
            "jit grad": (tanx.jit(tanx.grad(first)), SIN),
            "vmap": (lambda b: tanx.vmap(first)(jnp.full(3, b))[1], SIN * 2),
            "scan": (lambda b: tanx.lax.scan(lambda c, _: (first(c), None), b, length=2)[0],
                     SIN * SIN * 2),
            "jvp": (lambda b: tanx.jvp(first, (b,), (1.0,))[1], SIN)}
    for call, expected in ways.values():
        for _ in range(4):
            np.testing.assert_allclose(call(2.0), expected, rtol=1e-6)
    assert len(RUNS) <= 2  # weakly typed numbers, and arrays


def test_inside_of_transformations_the_known_argument_may_be_traced():
    square = lambda a, b: (a * a) * b
    inside = lambda a: tanx.specialize(square, a)(3.0) + tanx.specialize(square, a)(1.0)
    for call, expected in ((tanx.grad(inside), 16.0), (tanx.jit(inside), 16.0),
                           (tanx.jit(tanx.grad(inside)), 16.0),
                           (lambda a: tanx.vmap(inside)(jnp.full(2, a))[0], 16.0)):
        assert [float(call(2.0)) for _ in range(4)] == [expected] * 4


def test_known_arguments_may_be_several_named_and_of_any_kind():
    def f(kind, tree, x, *, power):
        assert kind == "product"
        if tree["b"] > 1:  # Python may read known values
            return tree["a"] * x ** power
        return x

    known = tanx.specialize(f, "product", {"a": jnp.arange(2.0), "b": 2.0}, power=2)
    assert [known(jnp.float32(3.0)).tolist() for _ in range(4)] == [[0.0, 9.0]] * 4
    assert str(inspect.signature(known)) == "(x)"
    assert tanx.jit(known, static_argnames=())(3.0).tolist() == [0.0, 9.0]


def test_control_flow_is_split():
    def f(a, b):
        def step(carry, _):
            known, unknown = carry
            return (jnp.cos(known), unknown + known), None
        return tanx.lax.scan(step, (a, b), length=3)[0]

    g = tanx.specialize(f, A)
    for b in (1.0, 2.0, 3.0, 4.0):
        for x, y in zip(g(b), f(A, b), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-6)
    jaxpr = tanx.make_jaxpr(g)(1.0)
    assert "cos" not in str(jaxpr)


def test_specialized_functions_follow_changes_of_state():
    rate = 2.0
    g = tanx.specialize(lambda a, b: a * rate * b, A)
    compiled = tanx.jit(g)
    assert [float(g(2.0)) for _ in range(4)] == [2.0] * 4
    assert [float(compiled(2.0)) for _ in range(4)] == [2.0] * 4
    rate = 4.0
    assert [float(g(2.0)) for _ in range(4)] == [4.0] * 4
    assert [float(compiled(2.0)) for _ in range(4)] == [4.0] * 4


def test_errors():
    with pytest.raises(TypeError, match="tanx.specialize"):
        tanx.specialize(3, 1.0)
    with pytest.raises(TypeError, match="known argument"):
        tanx.specialize(lambda a, b: a, 1.0)("text")
