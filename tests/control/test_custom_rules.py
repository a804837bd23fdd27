"""What rules of ``custom_vjp`` may return, and when ``optimize_remat`` runs the function."""

import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx.custom_derivatives import CustomVJPPrimal, SymbolicZero, zero_from_primal


def ruled(bwd, fun=lambda x: 2 * x, fwd=None, **options):
    custom = tanx.custom_vjp(fun)
    custom.defvjp(fwd or (lambda x: (fun(x), None)), bwd, **options)
    return custom


ONE = jnp.float32(1)
SMALL = ruled(lambda _, ct: (ct.astype("bfloat16"),))


@pytest.mark.parametrize("fun, dtype, value", [
    (SMALL, "bfloat16", 1), (lambda x: SMALL(x) + SMALL(x), "bfloat16", 2),
    (lambda x: SMALL(x) + x, "float32", 2), (lambda x: SMALL(3 * x), "float32", 3),
    (lambda x: lax.scan(lambda c, _: (SMALL(c), None), x, None, length=2)[0], "float32", 1),
    (lambda x: lax.while_loop(lambda c: c < 3, SMALL, x), "float32", 1),
    (tanx.checkpoint(lambda x: SMALL(3 * x)), "float32", 3),
    (tanx.jit(lambda x: SMALL(3 * x)), "float32", 3),
])
def test_cotangents_of_another_dtype(fun, dtype, value):
    """They are returned unchanged at the end, and converted if another operation follows."""
    gradient = tanx.jit(tanx.grad(fun))
    for found in (tanx.grad(fun)(ONE), *(gradient(ONE) for _ in range(4))):
        assert found.dtype == dtype and found == value


def test_a_branch_with_cotangents_of_another_dtype():
    gradient = tanx.jit(tanx.grad(lambda x: lax.cond(x > 0, SMALL, lambda x: x, x)))
    for _ in range(4):
        assert gradient(ONE).dtype == "float32" and gradient(ONE) == 1


def test_a_bare_array_for_a_node():
    fun = ruled(lambda _, ct: (3 * ct,), lambda tree: 2 * tanx.tree.leaves(tree)[0])
    assert tanx.grad(fun)((1.0,)) == (3.0,)
    assert tanx.grad(fun)({"a": [1.0]}) == {"a": [3.0]}
    assert tanx.grad(fun)((1.0, 2.0)) == (3.0, 3.0)


def test_checks_can_be_left_out():
    fun = ruled(lambda _, ct: (jnp.ones(3),), lambda x: jnp.sum(x))
    with pytest.raises(ValueError, match="cotangent of the wrong type"):
        tanx.grad(fun)(jnp.ones(2))
    tanx.config.update("jax_disable_bwd_checks", True)
    try:
        assert tanx.grad(fun)(jnp.ones(2)).shape == (3,)
    finally:
        tanx.config.update("jax_disable_bwd_checks", False)


def scaled(optimize_remat, saved=lambda x: x):
    """A function whose forward rule can be recognised: its result is 100 times as large."""
    return ruled(lambda r, ct: (ct * r,), lambda x: x * 1.0, lambda x: (x * 100.0, saved(x)),
                 optimize_remat=optimize_remat)


@pytest.mark.parametrize("saved", [lambda x: x, lambda x: x + 0.0])
def test_optimize_remat_runs_the_function_where_residuals_are_not_needed(saved):
    def values(optimize_remat):
        fun = scaled(optimize_remat, saved)
        under = tanx.checkpoint(lambda x: fun(x) + 0.0)
        compiled = tanx.jit(tanx.value_and_grad(under))
        lanes = tanx.jit(tanx.vmap(tanx.value_and_grad(under)))
        return [tanx.value_and_grad(fun)(3.0), tanx.value_and_grad(under)(3.0),
                *(compiled(3.0) for _ in range(4)),
                *(tuple(y[0] for y in lanes(jnp.array([3.0, 1.0]))) for _ in range(4))]

    assert values(False) == [(300.0, 3.0)] * 10
    assert values(True) == [(300.0, 3.0)] + [(3.0, 3.0)] * 9


def test_optimize_remat_in_a_loop():
    fun = scaled(True)
    step = tanx.checkpoint(lambda c, _: (fun(c), None))
    loop = tanx.value_and_grad(lambda x: lax.scan(step, x, None, length=2)[0])
    assert loop(3.0) == (3.0, 9.0)


def test_optimize_remat_with_values_from_around():
    def outer(y, x):
        fun = tanx.custom_vjp(lambda x: x * y)
        fun.defvjp(lambda x: (x * y, (x, jnp.sin(y))), lambda r, ct: (ct * r[1],),
                   optimize_remat=True)
        return tanx.checkpoint(fun)(x)

    value, gradient = tanx.value_and_grad(outer, 1)(2.0, 3.0)
    assert value == 6.0 and gradient == pytest.approx(0.9092974)


def test_primals_of_symbolic_zeros_are_leaves():
    seen = []

    def fwd(x, y):
        seen.append((tanx.tree.leaves((x, y)), isinstance(x, tuple), x.perturbed, y.perturbed))
        return x.value * y.value, (x.value, y.value)

    fun = tanx.custom_vjp(lambda x, y: x * y)
    fun.defvjp(fwd, lambda r, ct: (ct * r[1], ct * r[0]), symbolic_zeros=True)
    assert tanx.grad(fun)(2.0, 3.0) == 3.0
    (leaves, is_tuple, *perturbed), = seen
    assert [type(x) for x in leaves] == [CustomVJPPrimal] * 2
    assert not is_tuple and perturbed == [True, False]


def test_zeros_of_pytrees():
    zeros = zero_from_primal({"a": jnp.ones(3), "b": [2.0, jnp.arange(3)]})
    assert zeros["a"].tolist() == [0, 0, 0] and zeros["b"][1].dtype == tanx.float0
    symbolic = zero_from_primal((1.0, jnp.ones(2)), symbolic_zeros=True)
    assert [type(z) for z in symbolic] == [SymbolicZero] * 2 and symbolic[1].shape == (2,)
