"""Interpreters that libraries write over jaxprs, and the tools that they use."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx.core import eval_jaxpr
from tanx.extend import linear_util as lu
from tanx.extend.core import Literal, primitives
from tanx.interpreters import ad, partial_eval


def invert(closed, *outs):
    """Run an invertible function backwards, as JAX's tutorial on interpreters does."""
    inverses = {primitives.exp_p: jnp.log, primitives.tanh_p: jnp.arctanh,
                primitives.neg_p: lambda y: -y}
    jaxpr = closed.jaxpr
    values = dict(zip(jaxpr.outvars, outs))
    for eqn in reversed(jaxpr.eqns):
        if eqn.primitive is primitives.jit_p:
            inner = invert(eqn.params["jaxpr"], *(values[v] for v in eqn.outvars))
            values.update(zip(eqn.invars, inner))
        else:
            values[eqn.invars[0]] = inverses[eqn.primitive](values[eqn.outvars[0]])
    return [values[v] for v in jaxpr.invars]


def test_the_inverse_of_a_function():
    fun = lambda x: jnp.exp(tanx.jit(lambda y: -jnp.tanh(y))(x))
    closed = tanx.make_jaxpr(fun)(1.0)
    jitted = tanx.jit(lambda y: invert(closed, y)[0])
    for x in (0.1, 0.5, 1.0, 0.3):
        np.testing.assert_allclose(jitted(fun(x)), x, rtol=1e-4)


def counted(closed, args, counts):
    """Bind every equation again and count primitives, also inside loops and branches."""
    values = dict(zip(closed.jaxpr.constvars, closed.consts))
    values.update(zip(closed.jaxpr.invars, args))
    read = lambda atom: atom.val if isinstance(atom, Literal) else values[atom]
    for eqn in closed.eqns:
        counts[eqn.primitive.name] = counts.get(eqn.primitive.name, 0) + 1
        for name in ("jaxpr", "call_jaxpr", "cond_jaxpr", "body_jaxpr"):
            if name in eqn.params:
                list(eqn.params[name].eqns)
        params = eqn.primitive.get_bind_params(eqn.params)
        out = eqn.primitive.bind(*map(read, eqn.invars), **params)
        values.update(zip(eqn.outvars, out if eqn.primitive.multiple_results else [out]))
    return [read(v) for v in closed.jaxpr.outvars]


@tanx.custom_jvp
def ruled(x):
    return x * 2


ruled.defjvp(lambda primals, tangents: (ruled(*primals), 3.0 * tangents[0]))


@pytest.mark.parametrize("fun", [
    lambda x: jnp.sort(x)[::-1].cumsum(),
    lambda x: lax.scan(lambda c, y: (c + y, c * y), 0.0, x)[1],
    lambda x: lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * 2), (0, x))[1],
    lambda x: lax.cond(x[0] > 0, jnp.sin, jnp.cos, x),
    lambda x: ruled(tanx.jit(jnp.tanh)(x)),
    lambda x: tanx.checkpoint(lambda y: jnp.exp(jnp.sin(y)))(x),
], ids=["arrays", "scan", "while", "cond", "calls", "checkpoint"])
def test_equations_are_bound_again(fun):
    x = jnp.asarray([0.5, 2.0, -1.0])
    closed, counts = tanx.make_jaxpr(fun)(x), {}
    again = tanx.jit(lambda x: counted(closed, [x], counts)[0])
    for _ in range(4):
        np.testing.assert_allclose(again(x), fun(x), rtol=1e-6)
    gradient = tanx.grad(lambda x: counted(closed, [x], {})[0].sum())
    np.testing.assert_allclose(gradient(x), tanx.grad(lambda x: fun(x).sum())(x), rtol=1e-5)
    assert sum(counts.values()) == len(closed.eqns)


@tanx.custom_vjp
def reversed_rule(x):
    return x * 2


reversed_rule.defvjp(lambda x: (x * 2, x), lambda x, ct: (x * ct,))


@pytest.mark.parametrize("fun, slope", [(ruled, 3.0), (reversed_rule, 5.0)], ids=["jvp", "vjp"])
def test_functions_with_rules_are_bound_by_subfuns(fun, slope):
    """The functions are objects that libraries call by ``call_wrapped``."""
    (eqn,) = tanx.make_jaxpr(fun)(1.0).eqns
    params = eqn.primitive.get_bind_params(eqn.params)
    assert params["subfuns"][0].call_wrapped(5.0) == [10.0]
    rewritten = {**eqn.params, "call_jaxpr": eqn.params["call_jaxpr"].jaxpr}
    assert eqn.primitive.get_bind_params(rewritten)["subfuns"][0].call_wrapped(5.0) == [10.0]
    again = lambda x: eqn.primitive.bind(x, **params)[0]
    value, gradient = again(5.0), tanx.jit(tanx.grad(again))
    assert value == 10.0 and str(tanx.typeof(value)) == "~float32[]"
    for _ in range(4):
        assert gradient(5.0) == slope


def test_nested_jvps_have_distinct_traces():
    def inner(y, x):
        top = tanx.extend.core.find_top_trace((y,))
        assert y._trace.main is top.main and x._trace.main is not top.main
        return y

    tanx.jvp(lambda x: tanx.jvp(lambda y: inner(y, x), (x,), (1.0,))[0], (1.0,), (1.0,))


def test_a_function_is_staged_and_taken_apart():
    fun = lu.wrap_init(lambda x, y: [jnp.sin(x) * y, x + 1], debug_info=None)
    jaxpr, types, consts = partial_eval.trace_to_jaxpr_dynamic(fun, [tanx.typeof(1.0)] * 2)
    assert [str(t) for t in types] == ["~float32[]"] * 2 and consts == []
    smaller, used = partial_eval.dce_jaxpr(jaxpr, [False, True])
    assert used == [True, False] and len(smaller.eqns) == 1
    kept, used = partial_eval.dce_jaxpr(jaxpr, [False, True], instantiate=True)
    assert used == [True, True] and len(kept.invars) == 2
    assert eval_jaxpr(smaller, consts, 2.0)[0] == 3.0
    closed = partial_eval.close_jaxpr(jaxpr)
    known, unknown, which, residuals = partial_eval.partial_eval_jaxpr_nounits(
        closed, [False, True], False)
    assert which == [True, False] and len(residuals) == 1
    *outs, residual = eval_jaxpr(known.jaxpr, known.consts, 2.0)
    assert outs == [3.0]
    (y,) = eval_jaxpr(unknown.jaxpr, unknown.consts, residual, 5.0)
    np.testing.assert_allclose(y, 5 * np.sin(2.0), rtol=1e-6)


def test_linear_transformations():
    @lu.transformation_with_aux2
    def remembered(f, store, key, *args):
        out = f(*args)
        store.store({key: out})
        return out

    fun, aux = remembered(lu.wrap_init(lambda x, *, k: x * k, {"k": 3}), "y")
    with pytest.raises(lu.StoreException):
        aux()
    assert fun.call_wrapped(2) == 6 and aux() == {"y": 6}
    with pytest.raises(lu.StoreException):
        fun.call_wrapped(2)
    with pytest.raises(TypeError, match="a transformation takes a wrapped function"):
        remembered(lambda x: x, "y")
    calls = []
    run = lu.cache(lambda fun, x: calls.append(x) or fun.call_wrapped(x))
    one = lu.wrap_init(abs)
    assert run(one, -2) == run(lu.wrap_init(abs), -2) == 2 and calls == [-2]


def test_derivatives_of_jaxprs():
    closed = tanx.make_jaxpr(lambda x, y: x * y)(1.0, 1.0)
    forward, nonzero = ad.jvp_jaxpr(closed, [True, False], False)
    assert nonzero == [True]
    assert eval_jaxpr(forward.jaxpr, forward.consts, 2.0, 3.0, 1.0) == [6.0, 3.0]
    linear = tanx.make_jaxpr(lambda x: x * 3.0)(1.0)
    (ct,) = ad.backward_pass(linear.jaxpr, True, linear.consts, [
        ad.UndefinedPrimal(tanx.typeof(1.0))], [jnp.asarray(2.0)])
    assert ct == 6.0
    assert ad.add_tangents(ad.Zero(tanx.typeof(1.0)), 2.0) == 2.0
