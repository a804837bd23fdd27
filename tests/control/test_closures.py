"""Users' rules that close over traced values, in functions that are transformed later."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx.custom_derivatives import linear_call


def by_fwd(y):
    @tanx.custom_vjp
    def fun(z):
        return z * y

    fun.defvjp(lambda z: (z * y, None), lambda _, ct: (ct * 3,))
    return fun, 3


def by_bwd(y):
    @tanx.custom_vjp
    def fun(z):
        return z * y

    fun.defvjp(lambda z: (z * y, None), lambda _, ct: (ct * y,))
    return fun, y


def by_residual(y):
    @tanx.custom_vjp
    def fun(z):
        return z * y

    fun.defvjp(lambda z: (z * y, y + 1), lambda more, ct: (ct * more,))
    return fun, y + 1


def by_jvp(y):
    @tanx.custom_jvp
    def fun(z):
        return z * y

    fun.defjvp(lambda primals, tangents: (primals[0] * y, tangents[0] * y * 3))
    return fun, y * 3


def by_linear_call(y):
    return lambda z: linear_call(lambda r, z: z * y * r, lambda r, ct: ct * (y + 1) * r,
                                 2.0, z), 2 * (y + 1)


WRAPS = {
    "checkpoint": tanx.checkpoint,
    "checkpoint that saves": lambda fun: tanx.checkpoint(
        fun, policy=tanx.checkpoint_policies.everything_saveable),
    "checkpoint of jit": lambda fun: tanx.checkpoint(tanx.jit(fun)),
    "jit": tanx.jit,
    "scan": lambda fun: lambda z: lax.scan(lambda c, _: (fun(c), None), z, None, length=1)[0],
    "scan in checkpoint": lambda fun: tanx.checkpoint(
        lambda z: lax.scan(lambda c, _: (fun(c), None), z, None, length=1)[0]),
    "cond": lambda fun: lambda z: lax.cond(z.sum() > 0, fun, lambda z: z, z),
    "switch": lambda fun: lambda z: lax.switch(
        1 + (z.sum() < 0), [lambda z: z, fun, lambda z: fun(z) + 1], z),
    "while_loop": lambda fun: lambda z: lax.fori_loop(0, jnp.int32(1), lambda _, c: fun(c), z),
    "vmap": lambda fun: lambda z: tanx.vmap(fun)(z[None])[0],
}


@pytest.mark.parametrize("make", [by_fwd, by_bwd, by_residual, by_jvp, by_linear_call])
@pytest.mark.parametrize("wrap", WRAPS.values(), ids=WRAPS)
def test_rules_close_over_arguments_of_a_jitted_function(make, wrap):
    def gradient(x, y):
        return tanx.grad(lambda x: (wrap(make(y)[0])(x) * 2).sum())(x)

    x, y = jnp.array([1.0, 2.0, 3.0]), jnp.array([2.0, 3.0, 4.0])
    compiled = tanx.jit(gradient)
    for call in range(4):
        expected = np.broadcast_to(2 * make(y + call)[1], (3,))
        found = compiled(x, y + call)
        assert found.dtype == jnp.float32 and not found.weak_type
        np.testing.assert_array_equal(found, expected)
    lanes = tanx.vmap(gradient, (None, 0))(x, jnp.stack([y, y + 1]))
    np.testing.assert_array_equal(lanes[1], np.broadcast_to(2 * make(y + 1)[1], (3,)))


def test_custom_rules_cannot_close_over_differentiated_values():
    """The derivative with respect to a value that a rule closes over is not defined."""
    def fun(x, y):
        return tanx.checkpoint(by_fwd(y)[0])(x)

    with pytest.raises(tanx.errors.UnexpectedTracerError):
        tanx.jit(tanx.grad(fun, 1))(1.0, 2.0)


def test_linear_call_may_close_over_differentiated_values():
    fun = tanx.jit(tanx.grad(lambda x, y: by_linear_call(y)[0](x) ** 2, (0, 1)))
    for _ in range(4):
        assert fun(3.0, 5.0) == (2 * 30.0 * 12, 2 * 30.0 * 6)
