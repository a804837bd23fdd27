"""Promise 6: reverse mode goes through loops whose number of steps depends on data."""

import pytest

import tanx as jax
import tanx.numpy as jnp
from tanx import lax
from tests.gotchas import pages


def test_the_page():
    pages.run("06_loops_backwards")


def halve(x):
    return lax.while_loop(lambda c: c > 1, lambda c: c / 2, x)


def power(x, n):
    return lax.fori_loop(0, n, lambda i, y: y * x, 1.0)


def bounded(x):
    return lax.bounded_while_loop(lambda c: c > 1, lambda c: c / 2, x, max_steps=99)


def tree(x):
    return lax.while_loop(lambda c: c["n"] < 3, lambda c: {"n": c["n"] + 1, "y": c["y"] ** 2},
                          {"n": 0, "y": x})["y"]


@pytest.mark.parametrize("run", [lambda f: f, jax.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("f, args, expected", [
    (jax.grad(halve), (10.0,), 1 / 16),
    (jax.grad(halve), (0.5,), 1.0),
    (jax.grad(power), (3.0, 4), 108.0),
    (jax.grad(power), (3.0, 0), 0.0),
    (jax.grad(jax.grad(power)), (3.0, 4), 108.0),
    (jax.grad(jax.checkpoint(halve)), (10.0,), 1 / 16),
    (jax.grad(bounded), (10.0,), 1 / 16),
    (jax.grad(tree), (1.5,), 8 * 1.5 ** 7),
    (jax.vmap(jax.grad(power)), (jnp.array([2.0, 3.0]), jnp.array([3, 0])), [12.0, 0.0]),
    (jax.grad(lambda x: lax.scan(lambda c, n: (power(c, n), None), x, jnp.arange(3))[0]), (2.0,),
     0.0),
], ids=["while", "no step", "fori", "no times", "twice", "checkpoint", "bounded", "tree", "vmap",
        "in scan"])
def test_gradients(f, args, expected, run):
    gradient = run(f)
    for _ in range(4):
        out = gradient(*args)
        assert out.dtype == jnp.float32
        assert out.tolist() == expected
