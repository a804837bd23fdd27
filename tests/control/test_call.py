"""Calls: one jaxpr as the body, transformed once and shared."""

import gc
import weakref

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._control.call import batched_body, forward_body, jit_p
from tanx._core.rewrite import dce
from tanx._transforms.vmap import Axis

X = np.arange(3, dtype=np.float32)


def jaxpr(fun, *args):
    return tanx.make_jaxpr(fun)(*args)


def calls(closed):
    return [eqn for eqn in closed.eqns if eqn.primitive is jit_p]


def test_a_call_is_an_equation():
    inner = tanx.jit(lambda x, y: (x + y, 2))
    assert str(jaxpr(lambda x: inner(x, x), 1.0)) == """\
{ lambda ; a:f32[]. let
    b:f32[] c:i32[] = jit[
      name=<lambda>
      jaxpr={ lambda ; a:f32[] d:f32[]. let b:f32[] = add a d in (b, 2:i32[]) }
    ] a a
  in (b, c) }"""


def test_options_are_shown():
    kept = tanx.jit(lambda x: x, keep_unused=True)
    assert "keep_unused=True" in str(jaxpr(kept, 1.0))
    assert "keep_unused" not in str(jaxpr(tanx.jit(lambda x: x), 1.0))


def test_inlined_functions_leave_their_equations():
    inlined = tanx.jit(lambda x: x * 2, inline=True)
    assert str(jaxpr(inlined, 1.0)) == (
        "{ lambda ; a:f32[]. let b:f32[] = mul a 2.0:f32[] in (b,) }")
    assert inlined(3.0) == 6.0


def test_the_same_body_in_every_call():
    inner = tanx.jit(lambda x: lax.sin(x))
    both = calls(jaxpr(lambda x: inner(inner(x)), 1.0))
    assert both[0].params["jaxpr"] is both[1].params["jaxpr"]


def test_traced_values_of_the_surrounding_function_become_operands():
    def outer(x):
        y = lax.exp(x)
        return tanx.jit(lambda z: z * y + x)(2.0)

    closed = jaxpr(outer, 1.0)
    (call,) = calls(closed)
    assert len(call.invars) == 3 and call.params["jaxpr"].consts == []
    np.testing.assert_allclose(tanx.jit(outer)(1.0), 2 * np.e + 1, rtol=1e-6)
    np.testing.assert_allclose(tanx.grad(outer)(1.0), 2 * np.e + 1, rtol=1e-6)
    np.testing.assert_allclose(tanx.vmap(outer)(X), 2 * np.exp(X) + X, rtol=1e-6)


def test_constants_stay_in_the_body():
    table = jnp.arange(3.0)
    (call,) = calls(jaxpr(tanx.jit(lambda x: x * table), X))
    assert [c is table for c in call.params["jaxpr"].consts] == [True]


def test_gradients_are_two_calls():
    inner = tanx.jit(lambda x: jnp.sin(x) * 2)
    assert [len(call.outvars) for call in calls(jaxpr(tanx.grad(inner), 1.0))] == [2, 1]


def test_zeros_do_not_enter_calls():
    inner = tanx.jit(lambda x, y: (x * 2, y * 3))
    forward = calls(jaxpr(lambda x: tanx.jvp(lambda x: inner(x, 1.0), (x,), (x,)), 1.0))
    assert [len(c.invars) for c in forward] == [3] and [len(c.outvars) for c in forward] == [3]
    assert tanx.jvp(lambda x: inner(x, 1.0), (1.0,), (1.0,))[1] == (2.0, 0.0)


def test_lanes_that_are_not_mapped_stay_so():
    inner = tanx.jit(lambda x, y: (x * y, y + 1))
    (call,) = calls(jaxpr(tanx.vmap(inner, (0, None)), X, 1.0))
    assert [str(v.aval) for v in call.outvars] == ["float32[3]", "~float32[]"]


def test_dce_removes_dead_results_from_bodies():
    inner = tanx.jit(lambda x, y: (lax.sin(x), lax.cos(y)))
    closed = jaxpr(lambda x, y: inner(x, y), 1.0, 2.0)
    smaller, used = dce(closed.jaxpr, [True, False])
    assert used == [True, False]
    (call,) = smaller.eqns
    assert len(call.invars) == 1
    assert [e.primitive.name for e in call.params["jaxpr"].eqns] == ["sin"]


def test_transformed_bodies_are_remembered_as_long_as_the_body_lives():
    closed = jaxpr(lambda x: lax.sin(x), X)
    first = forward_body(closed, (True,))
    assert forward_body(closed, (True,)) is first
    assert forward_body(closed, (False,)) is not first
    axis = Axis(None, 3)
    assert batched_body(closed, axis, (0,)) is batched_body(closed, Axis(None, 3), (0,))
    gone = weakref.ref(first[0])
    del first, closed
    gc.collect()
    assert gone() is None


def test_configurations_have_bodies_of_their_own():
    closed = jaxpr(lambda x: lax.sin(x), X)
    first = forward_body(closed, (True,))
    with tanx.numpy_rank_promotion("raise"):
        assert forward_body(closed, (True,)) is not first


def test_integers_and_booleans_pass_through():
    inner = tanx.jit(lambda x, n, b: (jnp.where(b, x * n, x), n + 1, ~b))
    value = lambda x: inner(x, 3, True)
    y, dy = tanx.jvp(value, (2.0,), (1.0,))
    assert y == (6.0, 4, False) and dy[0] == 3.0
    assert [t.dtype for t in dy[1:]] == [tanx.float0] * 2
    _, pull = tanx.vjp(value, 2.0)
    zeros = [np.zeros((), tanx.float0)] * 2
    assert pull((1.0, *zeros))[0] == 3.0


def test_no_arguments_and_no_results():
    assert tanx.jit(lambda: 3)() == 3
    assert tanx.jit(lambda x: None)(1.0) is None
    assert tanx.jit(lambda x: ())(1.0) == ()
    assert tanx.grad(lambda x: tanx.jit(lambda y: y * 2)(1.0) * x)(1.0) == 2.0


@pytest.mark.parametrize("depth", [1, 10, 60])
def test_calls_nest(depth):
    fun = lambda x: x * 1.0
    for _ in range(depth):
        fun = tanx.jit(lambda x, fun=fun: fun(x) + 1)
    assert fun(0.0) == depth
    assert tanx.grad(fun)(0.0) == 1.0
    np.testing.assert_array_equal(tanx.vmap(fun)(X), X + depth)
