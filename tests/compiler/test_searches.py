"""Searches by blocks: the form of programs, and results with ties and NaN."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx._compiler.pipeline import build
from tanx._loops.show import show


def shown(function, *shape):
    return show(build(tanx.make_jaxpr(function)(tanx.ShapeDtypeStruct(shape, "float32"))).program)


def test_lines_are_searched_by_blocks_of_neighbours():
    text = shown(lambda x: jnp.argmax(x, axis=1), 3, 2048)
    assert "%0 = max(l in 128: x0[i, k * 128 + l])" in text
    assert "%0 = clamp(0, i64(y0[i]), 15) * 128" in text and "x0[i, %0 + k]" in text


def test_columns_are_searched_by_rows_together():
    text = shown(lambda x: jnp.argmin(x, axis=0), 64, 80)
    assert "argmin k in 16" in text and "argmin k in 4" in text
    assert text.count("x0[k * 4 + 3, i]") == 1


@pytest.mark.parametrize("shape, axis", [((100, 16), 1), ((67, 80), 0), ((64, 8), 0)])
def test_few_elements_are_searched_at_once(shape, axis):
    assert "max(" not in shown(lambda x: jnp.argmax(x, axis=axis), *shape).replace("argmax(", "")


def test_argmax_in_a_branch_is_not_hoisted():
    """An argmax in a branch of a choice is not computed before the choice."""
    def first(x, i):
        return jnp.where(x[:, 0] > 0, jnp.argmax(x, axis=1), i)

    x = np.random.default_rng(0).standard_normal((5, 2048)).astype(np.float32)
    found = tanx.jit(first)(x, jnp.arange(5))
    np.testing.assert_array_equal(found, np.where(x[:, 0] > 0, x.argmax(axis=1), np.arange(5)))


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64", "int8", "uint32"])
@pytest.mark.parametrize("shape, axis", [
    ((3, 2048), 1), ((3, 1031), 1), ((1500,), 0), ((96, 80), 0), ((99, 67), 0), ((6, 100, 70), 1)])
def test_the_first_of_the_best_is_found(name, dtype, shape, axis):
    generator = np.random.default_rng(len(shape))
    with tanx.enable_x64(dtype == "float64"):
        for scale in 3, 1000:
            x = np.abs(generator.standard_normal(shape) * scale).astype(dtype).astype(dtype)
            expected = getattr(np, name)(x.astype(np.float64), axis=axis)
            find = tanx.jit(lambda x: getattr(jnp, name)(x, axis=axis))
            np.testing.assert_array_equal(find(x), expected)


@pytest.mark.parametrize("shape, axis", [((4, 2048), 1), ((96, 80), 0)])
def test_nan_is_best_and_zeros_are_equal(shape, axis):
    x = -np.ones(shape, np.float32)
    x[np.random.default_rng(1).random(shape) < 0.05] = -0.0
    x[np.random.default_rng(2).random(shape) < 0.05] = 0.0
    find = tanx.jit(lambda x: (jnp.argmax(x, axis=axis), jnp.argmin(-x, axis=axis)))
    for found in find(x):
        np.testing.assert_array_equal(found, x.argmax(axis=axis))
    x[np.random.default_rng(3).random(shape) < 0.01] = np.nan
    for found in find(x):
        np.testing.assert_array_equal(found, x.argmax(axis=axis))


def test_a_search_is_not_repeated_in_loops_that_it_does_not_depend_on():
    @tanx.jit
    def twice(x):
        return tanx.vmap(lambda v: jnp.max(jnp.argmax(v, axis=1) * 0.5))(jnp.stack([x, x]))

    x = np.random.default_rng(2).standard_normal((4, 2048)).astype(np.float32)
    np.testing.assert_array_equal(twice(x), [x.argmax(axis=1).max() * 0.5] * 2)


def test_the_place_among_one_element_is_the_same_in_all_lanes():
    x, numbers = np.ones((5, 5, 1), np.float32), np.arange(25, dtype=np.float32) + 3
    found = tanx.jit(lambda x, v: v[jnp.argmax(x, axis=2)])(x, numbers)
    np.testing.assert_array_equal(found, np.full((5, 5), 3))
