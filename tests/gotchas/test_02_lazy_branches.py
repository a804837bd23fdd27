"""Promise 2: under vmap, a lane runs the branch it takes, and stops when its loop is done."""

import numpy as np
import pytest

import tanx as jax
import tanx.numpy as jnp
from tanx import lax
from tests.gotchas import pages


def test_the_page():
    pages.run("02_lazy_branches")


def forever(x):
    return lax.while_loop(lambda x: True, lambda x: x + 1, x)


X = jnp.array([-1.0, 0.0, 3.0])


@pytest.mark.parametrize("run", [lambda f: f, jax.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("f, args, expected", [
    (lambda x: lax.cond(x < 10, lambda x: 2 * x, forever, x), (X,), [-2.0, 0.0, 6.0]),
    (lambda i, x: lax.switch(i, [jnp.log, forever, jnp.negative], x), (jnp.array([2, 2, 5]), X),
     [1.0, 0.0, -3.0]),
    (lambda x: lax.while_loop(lambda x: x > 1, lambda x: x / 2, x), (X,), [-1.0, 0.0, 0.75]),
    (lambda x: lax.scan(lambda c, _: (lax.cond(c < 9, lambda c: c + 1, forever, c), None), x,
                        None, length=3)[0], (X,), [2.0, 3.0, 6.0]),
], ids=["cond", "switch", "while", "in scan"])
def test_a_branch_that_no_lane_takes_costs_nothing(f, args, expected, run):
    batched = run(jax.vmap(f))
    for _ in range(4):
        out = batched(*args)
        assert (out.shape, out.dtype, out.weak_type) == ((3,), jnp.float32, False)
        assert out.tolist() == expected


@pytest.mark.parametrize("run", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_a_branch_that_is_not_taken_does_not_divide_by_zero(run):
    f = run(jax.vmap(lambda x: lax.cond(x > 0, lambda x: 1 / x, lambda x: x, x)))
    with jax.debug_nans(True), jax.debug_infs(True):
        for _ in range(4):
            assert f(jnp.array([-2.0, 0.0, 4.0])).tolist() == [-2.0, 0.0, 0.25]


def test_finished_lanes_do_not_run_the_body():
    f = jax.jit(jax.vmap(lambda x: lax.while_loop(
        lambda x: x > 1, lambda x: jnp.log(x - 1), x)))
    for _ in range(4):
        np.testing.assert_allclose(f(jnp.array([0.5, 30.0])), [0.5, np.log(np.log(29) - 1)],
                                   rtol=1e-5)


def test_effects_and_gradients_of_branches():
    ran = []

    def noted(x):
        jax.debug.callback(lambda x: ran.append(float(x)), x)
        return jnp.sqrt(x)

    f = jax.jit(jax.vmap(jax.grad(lambda x: lax.cond(x > 0, noted, lambda x: 3 * x, x))))
    for _ in range(4):
        ran.clear()
        assert f(jnp.array([0.0, 4.0])).tolist() == [3.0, 0.25]
        jax.effects_barrier()
        assert ran == [4.0]
