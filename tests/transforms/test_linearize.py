"""Linearization: known values are computed at once, operations on tangents are recorded."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._core.array import Array
from tanx._core.types import ShapedArray
from tanx._transforms.linearize import linearize, partial_eval, partial_eval_jaxpr
from tests.core.fakes import Fake

F32 = ShapedArray((), np.float32)
TWO, THREE = (Array(np.asarray(n, np.float32)) for n in (2, 3))


class Counted(Fake):
    """The identity, which counts its evaluations; its derivative is itself."""

    runs = 0

    def infer(self, x):
        return x

    def eval(self, x):
        self.runs += 1
        return x

    def jvp(self, primals, tangents):
        return self.bind(*primals), lax.mul(tangents[0], self.bind(*primals))


# --- Linear jaxprs --------------------------------------------------------------------------------


def test_only_tangent_operations_are_recorded():
    outs, nonzero, jaxpr, residuals = linearize(
        lambda x, y: [lax.mul(lax.sin(x), y), lax.neg(y), lax.cos(2.0)], [TWO, THREE],
        [True, False])
    assert nonzero == [True, False, False]
    np.testing.assert_allclose([float(y) for y in outs], [3 * np.sin(2), -3, np.cos(2)], rtol=1e-6)
    assert str(jaxpr) == """\
{ lambda a:f32[] b:f32[]; c:f32[]. let
    d:f32[] = mul c a
    e:f32[] = mul d b
  in (e,) }"""
    np.testing.assert_allclose([float(r) for r in residuals], [np.cos(2), 3], rtol=1e-6)


def test_an_argument_that_is_a_result():
    _, nonzero, jaxpr, residuals = linearize(lambda x: [x, x], [TWO])
    assert nonzero == [True, True] and residuals == []
    assert str(jaxpr) == "{ lambda ; a:f32[]. let  in (a, a) }"


def test_nothing_to_differentiate():
    outs, nonzero, jaxpr, residuals = linearize(lambda x: [lax.stop_gradient(x), 1.0], [TWO])
    assert nonzero == [False, False] and residuals == [] and jaxpr.outvars == []


def test_the_primal_computation_runs_once():
    counted = Counted("counted")
    y, derivative = tanx.linearize(lambda x: counted.bind(x) * 2, 3.0)
    runs = counted.runs
    for t in (1.0, 2.0, 3.0):
        assert derivative(t) == 6.0 * t
    assert counted.runs == runs
    _, pull = tanx.vjp(lambda x: counted.bind(x) * 2, 3.0)
    runs = counted.runs
    assert pull(1.0)[0] == 6.0 and counted.runs == runs


def test_under_jit_both_parts_are_staged():
    fun = lambda x, t: tanx.linearize(jnp.sin, x)[1](t)
    assert str(tanx.make_jaxpr(fun)(1.0, 2.0)) == """\
{ lambda ; a:f32[] b:f32[]. let
    _:f32[] = sin a
    c:f32[] = cos a
    d:f32[] = mul b c
  in (d,) }"""


def test_derivatives_of_the_linear_function():
    # d/dx (J(x) t) and the second derivative differentiate the residuals.
    fun = lambda x, t: tanx.linearize(lambda x: x ** 3, x)[1](t)
    assert tanx.grad(fun)(2.0, 5.0) == 60.0
    assert tanx.grad(fun, 1)(2.0, 5.0) == 12.0
    assert tanx.grad(tanx.grad(fun))(2.0, 5.0) == 30.0
    np.testing.assert_array_equal(
        tanx.vmap(fun, (0, None))(jnp.arange(3.0), 1.0), [0.0, 3.0, 12.0])


# --- Partial evaluation ---------------------------------------------------------------------------


def test_known_and_unknown_arguments():
    fun = lambda x, y: [lax.mul(x, x), lax.add(lax.sin(x), y), 7.0, y]
    outs, which, jaxpr, residuals = partial_eval(fun, [None, F32], [TWO, None])
    assert which == [False, True, False, True]
    assert float(outs[0]) == 4.0 and outs[1] is None and outs[2] == 7.0
    assert str(jaxpr) == "{ lambda a:f32[]; b:f32[]. let c:f32[] = add a b in (c, b) }"
    np.testing.assert_allclose(float(residuals[0]), np.sin(2), rtol=1e-6)


def test_all_known_and_all_unknown():
    outs, which, jaxpr, residuals = partial_eval(lambda x: [lax.neg(x)], [None], [TWO])
    assert (float(outs[0]), which, jaxpr.eqns, residuals) == (-2.0, [False], [], [])
    outs, which, jaxpr, residuals = partial_eval(lambda x: [lax.neg(x)], [F32], [None])
    assert (outs, which, residuals) == ([None], [True], []) and len(jaxpr.eqns) == 1


def test_numbers_in_the_unknown_part_stay_literals():
    _, _, jaxpr, residuals = partial_eval(lambda x, y: [lax.mul(y, 2.0)], [None, F32], [TWO, None])
    assert residuals == [] and str(jaxpr.eqns[0]) == "a:f32[] = mul b 2.0:f32[]"


def split(fun, unknown, *args):
    return partial_eval_jaxpr(tanx.make_jaxpr(fun)(*args), unknown)


def test_a_jaxpr_in_two():
    known, unknown, which, forwarded = split(
        lambda x, y: (lax.sin(x), lax.mul(lax.cos(x), y), lax.add(x, y)), [False, True], 2.0, 3.0)
    assert which == [False, True, True]
    assert str(known) == """\
{ lambda ; a:f32[]. let b:f32[] = sin a; c:f32[] = cos a in (b, c) }"""
    assert str(unknown) == """\
{ lambda ; a:f32[] b:f32[] c:f32[]. let
    d:f32[] = mul a c
    e:f32[] = add b c
  in (d, e) }"""
    # The second residual is the known argument itself, so the known part need not return it.
    assert forwarded == [None, 0]


def test_calls_are_split_too():
    inner = tanx.jit(lambda x, y: (lax.sin(x), lax.mul(x, y)))
    known, unknown, which, _ = split(lambda x, y: inner(x, y), [False, True], 2.0, 3.0)
    assert which == [False, True]
    assert [e.primitive.name for e in known.eqns] == ["jit"]
    assert [e.primitive.name for e in unknown.eqns] == ["jit"]
    inner_known, inner_unknown = (p.eqns[0].params["jaxpr"] for p in (known, unknown))
    assert [e.primitive.name for e in inner_known.eqns] == ["sin"]
    assert [e.primitive.name for e in inner_unknown.eqns] == ["mul"]


def test_gradients_through_calls_share_the_split():
    inner = tanx.jit(lambda x: lax.mul(lax.sin(x), x))
    both = tanx.make_jaxpr(tanx.grad(lambda x: lax.add(inner(x), inner(x))))(2.0)
    bodies = [e.params["jaxpr"] for e in both.eqns if e.primitive.name == "jit"]
    assert len(bodies) == 4 and len(set(map(id, bodies))) == 2


@pytest.mark.parametrize("wrap", [tanx.jit, tanx.checkpoint, lambda f: f],
                         ids=["jit", "checkpoint", "plain"])
def test_value_and_gradient_agree_through_calls(wrap):
    inner = wrap(lambda x, n: (jnp.tanh(x).sum() * n, n + 1, jnp.zeros(3)))
    fun = lambda x: (lambda y, n, _: (y * n, n))(*inner(x, 2))
    x = jnp.arange(3.0)
    (value, n), gradient = tanx.value_and_grad(fun, has_aux=True)(x)
    np.testing.assert_allclose(value, 6 * np.tanh(np.arange(3)).sum(), rtol=1e-6)
    np.testing.assert_allclose(gradient, 6 / np.cosh(np.arange(3)) ** 2, rtol=1e-6)
    assert n == 3
