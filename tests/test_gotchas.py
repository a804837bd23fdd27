"""Traps that tanx removes: users' code, and the promised result."""


import tanx as jax
import tanx.numpy as jnp


def test_a_masked_update_works_under_jit():
    x = jnp.array([-1.0, 2.0, -3.0])
    assert jax.jit(lambda x: x.at[x < 0].set(0))(x).tolist() == [0.0, 2.0, 0.0]
    assert jax.jit(jax.grad(lambda x: x.at[x < 0].set(0).sum()))(x).tolist() == [0.0, 1.0, 0.0]


def test_eager_operations_compile_nothing_for_new_shapes():
    for n in range(1, 50):
        assert jnp.sin(jnp.ones(n)).shape == (n,)
