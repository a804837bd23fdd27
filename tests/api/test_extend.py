"""Users read, run, rewrite and build jaxprs through the public names."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import core
from tanx.extend.core import (
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    JaxprTypeError,
    Literal,
    Var,
    check_jaxpr,
    jaxpr_as_fun,
    jaxprs_in_params,
    subjaxprs,
)

CLOSED = tanx.make_jaxpr(lambda x: tanx.jit(lambda y: jnp.sin(y) * 2)(x) + 1.0)(1.0)


def test_reading():
    assert isinstance(CLOSED, ClosedJaxpr) and isinstance(CLOSED.jaxpr, Jaxpr)
    call, add = CLOSED.eqns
    assert isinstance(call, JaxprEqn) and call.primitive.name == "jit"
    assert [type(a) for a in add.invars] == [Var, Literal] and add.invars[1].val == 1.0
    assert add.invars[0].aval == core.ShapedArray((), np.float32, weak_type=True)
    (inner,) = jaxprs_in_params(call.params)
    assert list(subjaxprs(CLOSED.jaxpr)) == [inner]
    assert [e.primitive.name for e in inner.eqns] == ["sin", "mul"]


def test_running():
    expected = 2 * np.sin(3.0) + 1
    np.testing.assert_allclose(core.eval_jaxpr(CLOSED.jaxpr, CLOSED.consts, 3.0)[0], expected,
                               rtol=1e-6)
    fun = jaxpr_as_fun(CLOSED)
    np.testing.assert_allclose(fun(3.0)[0], expected, rtol=1e-6)
    np.testing.assert_allclose(tanx.grad(lambda x: fun(x)[0])(3.0), 2 * np.cos(3), rtol=1e-6)
    assert tanx.vmap(lambda x: fun(x)[0])(jnp.arange(3.0)).shape == (3,)


def test_an_interpreter_of_the_users_own():
    """The tutorial's example: invert a function equation by equation, from the last."""
    inverse = {"exp": jnp.log, "tanh": jnp.arctanh}

    def inverted(fun):
        closed = tanx.make_jaxpr(fun)(1.0)

        def run(y):
            values = {closed.jaxpr.outvars[0]: y}
            for eqn in reversed(closed.eqns):
                values[eqn.invars[0]] = inverse[eqn.primitive.name](values[eqn.outvars[0]])
            return values[closed.jaxpr.invars[0]]
        return run

    fun = lambda x: jnp.exp(jnp.tanh(x))
    np.testing.assert_allclose(inverted(fun)(fun(0.5)), 0.5, rtol=1e-5)
    np.testing.assert_allclose(tanx.grad(inverted(fun))(fun(0.5)), 1 / tanx.grad(fun)(0.5),
                               rtol=1e-4)


def test_rewriting():
    closed = tanx.make_jaxpr(lambda x: jnp.sin(x))(1.0)
    cos = tanx.make_jaxpr(lambda x: jnp.cos(x))(1.0).eqns[0].primitive
    (eqn,) = closed.eqns
    changed = closed.replace(jaxpr=closed.jaxpr.replace(eqns=[eqn.replace(primitive=cos)]))
    check_jaxpr(changed)
    assert jaxpr_as_fun(changed)(0.0) == [1.0]
    assert jaxpr_as_fun(closed)(0.0) == [0.0]


def test_building():
    x, y = Var(core.ShapedArray((3,), np.float32)), Var(core.ShapedArray((3,), np.float32))
    neg = tanx.make_jaxpr(lambda x: -x)(jnp.ones(3)).eqns[0].primitive
    jaxpr = Jaxpr([], [x], [y], [JaxprEqn([x], [y], neg, {})])
    check_jaxpr(jaxpr)
    assert str(jaxpr) == "{ lambda ; a:f32[3]. let b:f32[3] = neg a in (b,) }"
    assert core.eval_jaxpr(jaxpr, [], jnp.ones(3))[0].tolist() == [-1, -1, -1]
    wrong = Jaxpr([], [x], [y], [])
    with pytest.raises(JaxprTypeError):
        check_jaxpr(wrong)


def test_tracers():
    seen = []
    tanx.jit(lambda x: seen.append(isinstance(x, core.Tracer)) or x)(1.0)
    assert seen == [True] and not isinstance(jnp.ones(3), core.Tracer)
