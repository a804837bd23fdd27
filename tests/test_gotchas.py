"""Traps that tanx removes: code as its users would write it, and the result that was promised."""

import dataclasses

import numpy as np
import pytest

import tanx as jax
import tanx.numpy as jnp


def test_what_was_staged_can_be_forgotten():
    f = jax.jit(lambda x: x * 2)
    f(1.0), f(jnp.ones(3))
    assert f._cache_size() == 2
    f.clear_cache()
    assert f._cache_size() == 0
    f(1.0)
    jax.clear_caches()
    assert f._cache_size() == 0


def test_a_branch_that_no_lane_takes_costs_nothing():
    lax = jax.lax
    forever = lambda x: lax.while_loop(lambda x: True, lambda x: x + 1, x)
    f = jax.vmap(lambda x: lax.cond(x < 10, lambda x: 2 * x, forever, x))
    g = jax.vmap(lambda i, x: lax.switch(i, [jnp.log, forever, lambda x: -x], x))
    x = jnp.array([-1.0, 0.0, 3.0])
    for run in (lambda f: f, jax.jit):
        assert run(f)(x).tolist() == [-2.0, 0.0, 6.0]
        assert run(g)(jnp.array([2, 2, 5]), x).tolist() == [1.0, 0.0, -3.0]
    with jax.debug_nans(True):
        assert g(jnp.array([2, 2, 2]), x).tolist() == [1.0, 0.0, -3.0]


def test_a_lane_that_has_finished_its_loop_is_left_alone():
    f = jax.vmap(lambda x: jax.lax.while_loop(lambda x: x > 1, lambda x: jnp.log(x - 1), x))
    np.testing.assert_allclose(f(jnp.array([0.5, 30.0])), [0.5, np.log(np.log(29) - 1)], rtol=1e-5)


def test_reverse_mode_through_loops_of_unknown_length():
    lax = jax.lax
    halve = lambda x: lax.while_loop(lambda c: c > 1, lambda c: c / 2, x)
    power = lambda x, n: lax.fori_loop(0, n, lambda i, y: y * x, 1.0)
    bounded = lambda x: lax.bounded_while_loop(lambda c: c > 1, lambda c: c / 2, x, max_steps=99)
    for run in (lambda f: f, jax.jit):
        assert run(jax.grad(halve))(10.0) == 1 / 16
        assert run(jax.grad(power))(3.0, 4) == 108.0
        assert run(jax.grad(jax.grad(power)))(3.0, 4) == 108.0
        assert run(jax.grad(jax.checkpoint(halve)))(10.0) == 1 / 16
        assert run(jax.grad(bounded))(10.0) == 1 / 16
        assert run(jax.vmap(jax.grad(power)))(jnp.array([2.0, 3.0]), jnp.array([3, 0])).tolist() \
            == [12.0, 0.0]


def test_arrays_have_no_hash_and_say_what_to_use():
    with pytest.raises(TypeError, match="pass arrays to jit as ordinary arguments"):
        hash(jnp.ones(3))
    with pytest.raises(ValueError, match="static argument .* must be hashable"):
        jax.jit(lambda x: x, static_argnums=0)(jnp.ones(3))


def test_your_own_classes_in_one_line():
    @jax.tree.dataclass
    class Model:
        weight: jax.Array
        bias: jax.Array
        name: str = dataclasses.field(default="linear", metadata=dict(static=True))

        def __call__(self, x):
            return x * self.weight + self.bias

    model = Model(jnp.float32(2.0), jnp.float32(1.0))
    gradient = jax.jit(jax.grad(lambda m: m(3.0)))(model)
    assert (float(gradient.weight), float(gradient.bias), gradient.name) == (3.0, 1.0, "linear")


def test_wrong_classes_are_found_when_registered():
    with pytest.raises(AttributeError, match="must have a method tree_flatten"):
        @jax.tree_util.register_pytree_node_class
        class Missing:
            pass


def test_a_masked_update_works_under_jit():
    x = jnp.array([-1.0, 2.0, -3.0])
    assert jax.jit(lambda x: x.at[x < 0].set(0))(x).tolist() == [0.0, 2.0, 0.0]
    assert jax.jit(jax.grad(lambda x: x.at[x < 0].set(0).sum()))(x).tolist() == [0.0, 1.0, 0.0]


def test_eager_operations_compile_nothing_for_new_shapes():
    for n in range(1, 50):
        assert jnp.sin(jnp.ones(n)).shape == (n,)
