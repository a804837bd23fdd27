"""Promise 13: tables are read and interpolated, with derivatives and batches, without copies."""

import numpy as np
import pytest
import scipy.interpolate

import tanx as jax
import tanx.numpy as jnp
from tanx.scipy.interpolate import RegularGridInterpolator, lookup
from tests.gotchas import pages


def test_the_page():
    pages.run("13_interpolation")


GRID = (np.linspace(0, 1, 6), np.linspace(-1, 2, 7), np.linspace(0, 4, 5))
VALUES = np.random.default_rng(0).normal(size=(6, 7, 5))
PLACES = np.random.default_rng(1).uniform((0, -1, 0), (1, 2, 4), size=(9, 3))


# SciPy computes cubic splines by iteration, with an error of about 1e-5.
@pytest.mark.parametrize("method, atol", [("linear", 1e-12), ("nearest", 1e-12), ("cubic", 1e-4)])
def test_grids_agree_with_scipy(method, atol):
    with jax.enable_x64(True):
        ours = RegularGridInterpolator(GRID, VALUES, method=method)
        theirs = scipy.interpolate.RegularGridInterpolator(GRID, VALUES, method=method)
        compiled, batched = jax.jit(ours), jax.jit(jax.vmap(ours))
        for _ in range(4):
            out = compiled(PLACES)
            assert (out.shape, out.dtype) == ((9,), jnp.float64)
            np.testing.assert_allclose(out, theirs(PLACES), rtol=1e-9, atol=atol)
            np.testing.assert_allclose(batched(PLACES)[:, 0], out, rtol=1e-9, atol=1e-12)


def test_interp_agrees_with_numpy_and_has_slopes():
    x, y = np.array([0.0, 1.0, 3.0]), np.array([0.0, 2.0, -2.0])
    slope = jax.jit(jax.vmap(jax.grad(lambda p: jnp.interp(p, x, y))))
    for _ in range(4):
        assert slope(jnp.array([0.5, 2.0])).tolist() == [2.0, -2.0]
    np.testing.assert_allclose(jnp.interp(PLACES, x, y), np.interp(PLACES, x, y), rtol=1e-5,
                               atol=1e-6)


@pytest.mark.parametrize("method", ["linear", "cubic"])
def test_lookup_has_derivatives_of_everything(method):
    with jax.enable_x64(True):
        table = jnp.asarray(VALUES[0, 0].cumsum())
        f = lambda table, at, start, step: lookup(
            table, at, start=start, step=step, method=method).sum()
        gradient = jax.jit(jax.grad(f, (0, 1, 2, 3)))
        operands = (table, jnp.array([0.7, 1.9]), 0.25, 0.5)
        for _ in range(4):
            gradients = gradient(*operands)
        for n, g in enumerate(gradients):
            for place in np.ndindex(g.shape):
                moved = [list(operands), list(operands)]
                for side, sign in zip(moved, (1e-6, -1e-6)):
                    side[n] = jnp.asarray(side[n]).at[place].add(sign)
                difference = (f(*moved[0]) - f(*moved[1])) / 2e-6
                np.testing.assert_allclose(g[place], difference, rtol=1e-6, atol=1e-8)


def test_lookup_copies_no_table():
    table = jnp.zeros((1 << 20,))
    compiled = jax.jit(lookup).lower(table, jnp.ones(8)).compile()
    assert compiled.memory_analysis().temp_size_in_bytes < 4096
    assert compiled.cost_analysis()["bytes accessed"] < 4096
    for _ in range(4):
        assert compiled(table, jnp.ones(8)).tolist() == [0.0] * 8
