"""``custom_vmap``, ``sequential_vmap`` and ``linear_call``."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx.custom_batching import custom_vmap, sequential_vmap
from tanx.custom_derivatives import linear_call

X = jnp.arange(3.0)


def ruled():
    """A sum whose batching rule is a product, to show whether the rule ran; and its arguments."""
    seen = []

    @custom_vmap
    def fun(tree, y):
        return {"a": tree["p"] + y, "b": y}

    @fun.def_vmap
    def rule(axis_size, in_batched, tree, y):
        seen.append((axis_size, in_batched, tree["p"].shape, jnp.shape(y)))
        return {"a": tree["p"] * y, "b": y}, {"a": True, "b": in_batched[1]}
    return fun, seen


def test_the_rule_runs_under_vmap():
    fun, seen = ruled()
    assert fun({"p": 1.0}, 2.0) == {"a": 3.0, "b": 2.0} and not seen
    mapped = tanx.jit(tanx.vmap(fun, in_axes=(0, None)))
    for _ in range(4):
        found = mapped({"p": X}, 2.0)
        assert found["a"].tolist() == [0.0, 2.0, 4.0] and found["b"].tolist() == [2.0] * 3
    assert seen == [(3, [{"p": True}, False], (3,), ())]
    other = tanx.vmap(fun, in_axes=({"p": 1}, 0))({"p": jnp.ones((1, 3))}, jnp.ones(3)[:, None])
    assert other["a"].shape == (3, 1)
    compiled = tanx.jit(lambda x: fun({"p": x}, 2.0)["a"])
    for _ in range(4):
        assert compiled(1.0) == 3.0
    assert "custom_vmap_call" in str(tanx.make_jaxpr(compiled)(1.0))


def test_jvp_uses_the_custom_vmap_rule():
    fun, _ = ruled()

    def tangent(x):
        return tanx.jvp(lambda z: fun({"p": z}, 2.0)["a"], (x,), (1.0,))

    for mapped in (tanx.vmap(tangent), tanx.jit(tanx.vmap(tangent))):
        for _ in range(4):
            value, slope = mapped(X)
            assert value.tolist() == [0.0, 2.0, 4.0] and slope.tolist() == [2.0] * 3
    assert tangent(1.0) == (3.0, 1.0)
    assert tanx.grad(lambda x: fun({"p": x}, 2.0)["a"])(1.0) == 1.0


@pytest.mark.parametrize("error, text, rule", [
    (ValueError, "must return a pair", lambda n, b, x: x),
    (ValueError, "must return booleans of the structure", lambda n, b, x: (x, (True,))),
    (ValueError, "must return a result of the structure", lambda n, b, x: ((x,), (True,))),
    (ValueError, "has no such leading axis", lambda n, b, x: (x.sum(), True)),
])
def test_mistakes(error, text, rule):
    fun = custom_vmap(lambda x: x)
    fun.def_vmap(rule)
    with pytest.raises(error, match=text):
        tanx.vmap(fun)(X)


def test_a_rule_is_needed():
    with pytest.raises(AttributeError, match="has no rule for vmap yet"):
        custom_vmap(lambda x: x)(1.0)


def test_sequential_vmap(capsys):
    @sequential_vmap
    def fun(x, y):
        tanx.debug.print("{}", x)
        return x + y, y

    mapped = tanx.jit(tanx.vmap(fun, in_axes=(0, None)))
    for _ in range(4):
        total, same = mapped(jnp.arange(3), 1)
        assert total.tolist() == [1, 2, 3] and same.tolist() == [1, 1, 1]
    tanx.effects_barrier()
    assert capsys.readouterr().out.split() == ["0", "1", "2"] * 4


def halved(x):
    return linear_call(lambda r, x: {"y": x / r}, lambda r, ct: 7 * ct["y"], 2.0, x)["y"]


def test_linear_call():
    compiled = tanx.jit(halved)
    for _ in range(4):
        assert compiled(3.0) == 1.5
    (back,) = tanx.linear_transpose(halved, 1.0)(1.0)
    assert back == 7.0 and tanx.grad(halved)(1.0) == 7.0
    assert tanx.vmap(tanx.grad(halved))(X).tolist() == [7.0] * 3
    assert tanx.grad(lambda x: tanx.vmap(halved)(x).sum())(X).tolist() == [7.0] * 3

    def twice(ct):
        return tanx.linear_transpose(halved, 1.0)(ct)[0]

    assert tanx.linear_transpose(twice, 1.0)(3.0) == (1.5,)
    assert tanx.jvp(halved, (1.0,), (4.0,)) == (0.5, 2.0)


def test_linear_call_differentiated_by_its_residuals():
    def fun(r, x):
        return linear_call(lambda r, x: x * r, lambda r, ct: ct * r, r, x)

    assert tanx.jvp(fun, (3.0, 2.0), (1.0, 0.0)) == (6.0, 2.0)
    assert tanx.grad(fun, argnums=(0, 1))(3.0, 2.0) == (2.0, 3.0)
    loop = tanx.grad(lambda x: lax.scan(lambda c, _: (fun(2.0, c), None), x, None, length=3)[0])
    assert loop(1.0) == 8.0


def test_derivative_rules_go_to_the_function_inside():
    @custom_vmap
    @tanx.custom_jvp
    def fun(x):
        return jnp.sin(x)

    fun.defjvp(lambda primals, tangents: (fun(*primals), 7 * tangents[0]))
    fun.def_vmap(lambda size, batched, x: (10 * jnp.sin(x), batched[0]))
    for _ in range(4):
        assert tanx.jit(tanx.grad(fun))(1.0) == 7.0
        assert tanx.jvp(fun, (0.0,), (2.0,)) == (0.0, 14.0)
    with pytest.raises(AttributeError):
        fun.defvjp  # noqa: B018


def test_the_rule_receives_in_batched_of_primals():
    """If only tangents are mapped, the derivative of the rule is mapped."""
    seen = []

    @custom_vmap
    def f(x, y):
        return jnp.sin(x) * y

    @f.def_vmap
    def rule(axis_size, in_batched, x, y):
        seen.append(tuple(in_batched))
        return jnp.cos(x) * y, any(in_batched)

    def pushed(x, y, tx, ty):
        return tanx.jvp(f, (x, y), (tx, ty))

    x = jnp.arange(3.0) + 0.5
    for jit in (lambda f: f, tanx.jit):
        for axes, expected in [((None, None, 0, None), (False, False)),
                               ((0, None, None, 0), (True, False)),
                               ((None, 0, 0, 0), (False, True)), ((0, 0, 0, 0), (True, True))]:
            args = [x if axis == 0 else 2.0 for axis in axes]
            seen.clear()
            run = jit(tanx.vmap(pushed, axes))
            for _ in range(4):
                y, ty = run(*args)
            assert set(seen) == {expected}
            lanes = [jnp.broadcast_to(a, (3,)) for a in args]
            np.testing.assert_allclose(y, jnp.cos(lanes[0]) * lanes[1], rtol=1e-5)
            np.testing.assert_allclose(
                ty, jnp.cos(lanes[0]) * lanes[3] - jnp.sin(lanes[0]) * lanes[1] * lanes[2],
                rtol=1e-5)
    seen.clear()
    np.testing.assert_allclose(tanx.jacfwd(f)(x, 1.0), -jnp.diag(jnp.sin(x)), atol=1e-6)
    assert seen == [(False, False)]


@pytest.mark.parametrize("outer", [tanx.custom_jvp, tanx.custom_vjp])
def test_rules_are_given_through_wrappers(outer):
    f = outer(tanx.custom_batching.custom_vmap(lambda x: x * 2))
    f.def_vmap(lambda axis_size, in_batched, x: (x * 3, True))
    if outer is tanx.custom_jvp:
        f.defjvp(lambda primals, tangents: (f(*primals), 5 * tangents[0]))
    else:
        f.defvjp(lambda x: (f(x), None), lambda _, ct: (5 * ct,))
    mapped = tanx.jit(tanx.vmap(f))
    for _ in range(4):
        assert mapped(jnp.arange(3.0)).tolist() == [0, 3, 6]
    assert f(1.0) == 2 and tanx.grad(f)(1.0) == 5
    with pytest.raises(AttributeError, match="no attribute 'rule'"):
        f.rule  # noqa: B018
