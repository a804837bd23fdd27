"""``custom_vjp`` with accumulators, logs, and rules by parts."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax


def product():
    seen = []

    @tanx.custom_vjp
    def f(x, y):
        return x["a"] * y

    def bwd(residuals, ct, x, y):
        seen.append((type(x["a"]).__name__, type(y).__name__))
        x["a"].accum(ct * residuals[1])
        y.accum(ct)
        y.accum(ct * (residuals[0] - 1))

    f.defvjp_with_accums(lambda x, y: (f(x, y), (x["a"], y)), bwd)
    return f, seen


def test_accumulators():
    f, seen = product()
    x, y = {"a": jnp.float32(2)}, jnp.float32(3)
    assert tanx.grad(f)(x, y) == {"a": 3.0} and seen.pop() == ("ValAccum", "NullAccum")
    assert tanx.grad(f, argnums=(0, 1))(x, y) == ({"a": 3.0}, 2.0)
    compiled = tanx.jit(tanx.grad(f, argnums=1))
    for _ in range(4):
        got = compiled(x, y)
        assert got == 2.0 and got.dtype == np.float32 and not got.weak_type
    batched = tanx.vmap(tanx.grad(f, argnums=1), in_axes=(None, 0))(x, jnp.arange(3.0))
    assert batched.tolist() == [2.0] * 3


def test_logs():
    f = tanx.custom_vjp(lambda name, x: jnp.sin(x), nondiff_argnums=(0,))
    f.defvjp_with_logs(lambda name, x: (jnp.sin(x), x),
                       lambda name, x, ct: ((ct * jnp.cos(x),), {name: ct}))
    _, pull = tanx.vjp(lambda x: f("outer", f("inner", x)), 1.0)
    cts, logs = pull.with_logs(2.0)
    assert np.allclose(cts[0], 2 * np.cos(np.sin(1.0)) * np.cos(1.0))
    assert logs["outer"] == 2.0 and np.allclose(logs["inner"], 2 * np.cos(np.sin(1.0)))
    assert np.array_equal(pull(2.0)[0], cts[0])
    leaves, tree = tanx.tree.flatten(pull)
    assert np.array_equal(tanx.tree.unflatten(tree, leaves).with_logs(2.0)[0][0], cts[0])
    both = tanx.jit(lambda x: tanx.vjp(lambda x: f("a", x), x)[1].with_logs(1.0))
    for _ in range(4):
        cts, logs = both(1.0)
        assert np.allclose(cts[0], np.cos(1.0)) and logs["a"] == 1.0
    for run in (lambda: tanx.vjp(lambda x: f("a", f("a", x)), 1.0)[1](1.0),
                lambda: tanx.grad(lambda x: f("a", f("a", x)))(1.0)):
        with pytest.raises(ValueError, match="once"):
            run()
    f.defvjp_with_logs(lambda name, x: (jnp.sin(x), x), lambda name, x, ct: (ct,))
    with pytest.raises(TypeError, match="pair"):
        tanx.grad(lambda x: f("a", x))(1.0)


@pytest.mark.parametrize("with_logs", [False, True])
def test_rules_by_parts(with_logs):
    f = tanx.custom_vjp(jnp.sin)
    rules = (lambda x: (jnp.sin(x), 3.0), lambda stored, x: (jnp.sin(x), stored * jnp.cos(x)))
    if with_logs:
        f.defremat_with_logs(*rules, lambda slope, ct: ((slope * ct,), {"slope": slope}))
        assert np.allclose(tanx.vjp(f, 1.0)[1].with_logs(1.0)[1]["slope"], 3 * np.cos(1.0))
    else:
        f.defremat(*rules, lambda slope, ct: (slope * ct,))
    for transform in (tanx.grad, lambda f: tanx.grad(tanx.checkpoint(f)),
                      lambda f: tanx.jit(tanx.grad(f))):
        assert np.allclose(transform(f)(1.0), 3 * np.cos(1.0))


def _passing_on(seen):
    """A function ``2 * x`` whose rule returns the cotangent that it gets, and records its type."""
    f = tanx.custom_vjp(lambda x: 2 * x)
    f.defvjp(lambda x: (f(x), None), lambda _, ct: seen.append(type(ct)) or (ct,))
    return f


@pytest.mark.parametrize("ct, kind", [(2.0, float), (jnp.float32(2.0), tanx.Array),
                                      (np.float32(2.0), tanx.Array)])
def test_a_rule_gets_the_python_number_that_is_given(ct, kind):
    seen = []
    f = _passing_on(seen)
    assert tanx.vjp(f, 1.0)[1](ct) == (2.0,) and seen == [kind]
    assert tanx.vjp(lambda x: (x, f(f(x))), 1.0)[1]((ct, ct)) == (4.0,) and seen == [kind] * 3
    assert tanx.vjp(lambda x: -f(x), 1.0)[1](ct) == (-2.0,) and seen[3:] == [tanx.Array]


@pytest.mark.parametrize("before", [
    jnp.sum, jnp.prod, lambda x: x[1], lambda x: x @ x, lambda x: jnp.where(x[0] > 0, x[0], x[2]),
    lambda x: lax.scan(lambda c, y: (c * y, None), 1.0, x)[0],
    lambda x: lax.cond(x[0] > 0, jnp.max, jnp.min, x), tanx.jit(jnp.sum),
    tanx.checkpoint(lambda x: jnp.sin(x).sum())])
def test_python_numbers_from_rules_go_through_other_rules(before):
    f = _passing_on([])
    x = jnp.arange(1.0, 4.0)
    expected = tanx.grad(before)(x) * 3.0
    pull = tanx.vjp(lambda x: f(before(x)), x)[1]
    compiled = tanx.jit(lambda x: tanx.vjp(lambda x: f(before(x)), x)[1](3.0)[0])
    for _ in range(4):
        for found in (pull(3.0)[0], compiled(x)):
            np.testing.assert_allclose(found, expected, rtol=1e-6)
            assert tanx.typeof(found).strip_weak_type() == tanx.typeof(x)
