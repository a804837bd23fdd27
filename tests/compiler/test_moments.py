"""Variances from groups of elements: how programs change, and that precision stays."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx._compiler.moments import in_one_pass
from tanx._compiler.pipeline import build
from tanx._loops.show import show
from tests.compiler.programs import settings


@pytest.fixture
def any_size():
    """Groups pay for small arrays, too: groups are small."""
    with settings({"moments.far": 0, "moments.near": 0, "moments.size": 4}):
        yield


@pytest.fixture
def not_so_far():
    """Groups pay for arrays of some megabytes."""
    with settings({"moments.far": 1 << 22}):
        yield


def groups(function, *shape):
    """How many statements there are that compute groups."""
    program = build(tanx.make_jaxpr(function)(tanx.ShapeDtypeStruct(shape, "float32"))).program
    return sum(buffer.name[0] == "q" for buffer in program.temps)


def numbers(*shape, mean=0.0, seed=0):
    return (np.random.default_rng(seed).standard_normal(shape) + mean).astype(np.float32)


def test_columns_are_read_once(any_size):
    text = show(build(tanx.make_jaxpr(lambda x: jnp.var(x, axis=0))(
        tanx.ShapeDtypeStruct((8, 16), "float32"))).program)
    assert text.splitlines()[4:6] == [
        "for g in 2, i in 16 parallel:",
        "    d0[g, i] = add(k in 4: x0[g * 4 + k, i] - x0[g * 4, i])"]
    assert "add(k in 2: f64(d0[k, i]) + f64(x0[k * 4, i]) * 4.0:f64)" in text
    assert "f64(q0[k, i] + square(x0[k * 4, i] - t2[0, i] + d0[k, i] / 4.0:f32) * 4.0:f32)" in text


@pytest.mark.parametrize("shape, axis", [
    ((8, 16), 0), ((9, 17), 0), ((200,), None), ((3, 300), 1), ((5, 6, 7, 8), (0, 2, 3)),
    ((5, 6, 7, 33), (0, 3)), ((4, 12, 20), (0, 1)), ((4, 64, 16), 1)])
def test_grouped_mean_and_variance_match_numpy(any_size, shape, axis):
    x = numbers(*shape, mean=3.0)
    mean, variance = tanx.jit(lambda x: (x.mean(axis), x.var(axis, ddof=1)))(x)
    np.testing.assert_allclose(mean, x.mean(axis), rtol=1e-5)
    np.testing.assert_allclose(variance, x.var(axis, ddof=1), rtol=1e-5)


def test_variances_of_cached_arrays_are_not_grouped():
    assert groups(lambda x: jnp.var(x, axis=0), 100, 100) == 0
    assert groups(lambda x: jnp.var(x, axis=1), 4096, 4096) == 0
    assert groups(lambda x: jnp.var(x, axis=0), 4096, 4096) == 1
    assert groups(jnp.var, 4096, 4096) == 1
    assert groups(lambda x: ((x - 1) ** 2).sum() + x.sum(), 4096, 4096) == 0


@pytest.mark.parametrize("axis", [0, None])
@pytest.mark.parametrize("mean", [0.0, 1e4, -3e5])
def test_large_means_cost_no_more_than_two_passes(not_so_far, mean, axis):
    x = numbers(1100, 1030, mean=mean)
    exact = x.astype(np.float64).var(axis)
    # A mean that is off by some units in the last place adds their square.
    tolerance = 1e-5 + (4 * mean * 2.0 ** -24) ** 2
    np.testing.assert_allclose(tanx.jit(lambda x: jnp.var(x, axis))(x), exact, rtol=tolerance)


def test_outliers_cost_no_more_than_the_size_of_a_group(not_so_far):
    x = numbers(1100, 1030)
    x[::110] *= 1e6  # what squares are taken around, of each group
    for axis in (0, None):
        np.testing.assert_allclose(tanx.jit(lambda x, axis=axis: jnp.var(x, axis))(x),
                                   x.astype(np.float64).var(axis), rtol=110 * 2.0 ** -20)


def test_equal_elements_have_no_variance(not_so_far):
    x = np.full((1100, 1030), 0.1, np.float32)
    assert not np.any(tanx.jit(lambda x: x.var(0))(x) > 1e-15)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_nan_and_infinity_affect_only_their_column(not_so_far, value):
    x = numbers(1100, 1030)
    x[700, 5] = value
    found = tanx.jit(lambda x: x.var(0))(x)
    assert np.isnan(found[5]) and np.isnan(found).sum() == 1


def test_the_pass_leaves_other_programs_as_they_are():
    program = build(tanx.make_jaxpr(lambda x: x + x.sum())(np.ones(9, np.float32))).program
    assert in_one_pass(program) == program
