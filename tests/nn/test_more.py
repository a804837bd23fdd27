"""Products of quantised numbers, initializers, and errors."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import nn, ops, random

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("mode, tolerance", [("mxfp8", 0.05), ("nvfp4", 0.25)])
def test_quantised_products_are_about_right(mode, tolerance):
    a = jnp.asarray(RNG.normal(size=(3, 8, 64)).astype(np.float32))
    b = jnp.asarray(RNG.normal(size=(3, 64, 5)).astype(np.float32))
    numbers = (((2,), (1,)), ((0,), (0,)))
    configs = [nn.get_scaled_dot_general_config(mode)] * 3
    exact = np.asarray(a) @ np.asarray(b)
    out = nn.scaled_dot_general(a, b, numbers, configs=configs)
    assert np.abs(out - exact).mean() < tolerance * np.abs(exact).mean()
    slope = tanx.grad(lambda a: nn.scaled_dot_general(a, b, numbers, configs=configs).sum())(a)
    np.testing.assert_allclose(slope, np.broadcast_to(np.asarray(b).sum(-1)[:, None], a.shape),
                               atol=1.0)


def test_scaled_products_of_matrices():
    a = jnp.asarray(RNG.normal(size=(2, 4, 64)).astype(np.float32)).astype(jnp.float8_e4m3fn)
    scales = jnp.asarray(2.0 ** RNG.integers(-2, 3, (2, 4, 2))).astype(jnp.float8_e8m0fnu)
    wide = np.asarray(a.astype(jnp.float32)) * np.repeat(
        np.asarray(scales.astype(jnp.float32)), 32, axis=2)
    out = nn.scaled_matmul(a, a, scales, scales)
    np.testing.assert_allclose(out, wide @ wide.swapaxes(1, 2), rtol=1e-5)


def test_initializers_of_arrays_without_elements():
    assert nn.initializers.he_normal()(random.key(1), (0, 3)).shape == (0, 3)


@pytest.mark.parametrize("name", ["glorot_normal", "glorot_uniform", "he_normal", "he_uniform",
                                  "lecun_normal", "lecun_uniform", "kaiming_normal",
                                  "kaiming_uniform", "xavier_normal", "xavier_uniform"])
def test_variances_of_initializers(name):
    weights = np.asarray(getattr(nn.initializers, name)()(random.key(1), (300, 100)))
    scale = 2.0 if name.startswith(("he", "kaiming")) else 1.0
    fan = 200 if name.startswith(("glorot", "xavier")) else 300
    assert abs(weights.mean()) < 1e-2
    np.testing.assert_allclose(weights.var(), scale / fan, rtol=0.05)


@pytest.mark.parametrize("call, error, words", [
    (lambda: nn.glu(jnp.ones(3)), ValueError, "even size"),
    (lambda: nn.standardize(jnp.ones(3), algorithm="foo"), ValueError, "'fast' or 'stable'"),
    (lambda: nn.softmax([1.0]), TypeError, "list"),
    (lambda: nn.initializers.glorot_normal()(random.key(0), (3,)), ValueError, "axis of inputs"),
    (lambda: nn.initializers.variance_scaling(1.0, "foo", "normal")(random.key(0), (3, 3)),
     ValueError, "no such mode"),
    (lambda: nn.initializers.variance_scaling(1.0, "fan_in", "foo")(random.key(0), (3, 3)),
     ValueError, "no such distribution"),
    (lambda: nn.get_scaled_dot_general_config("foo"), ValueError, "mxfp8"),
    (lambda: nn.scaled_matmul(*(jnp.ones((1, 2, 3)),) * 2, *(jnp.ones((1, 2, 2)),) * 2),
     ValueError, "scale for each block"),
    (lambda: ops.segment_sum(jnp.ones(3), jnp.arange(2)), ValueError, "number for each"),
    (lambda: ops.segment_sum(jnp.ones(3), jnp.arange(3), -1), ValueError, "negative"),
])
def test_mistakes(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_derivatives_at_the_corners():
    assert float(tanx.grad(nn.relu)(0.0)) == 0.0
    assert float(tanx.grad(nn.relu6)(6.0)) == 0.0
    assert np.isfinite(tanx.grad(nn.elu)(1000.0))
    assert float(tanx.grad(nn.softplus)(0.0)) == 0.5
    np.testing.assert_array_equal(tanx.grad(lambda x: nn.softmax(x, where=x > 0).sum())(
        jnp.array([-1.0, 2.0])), [0.0, 0.0])


@pytest.mark.parametrize("data, out", [
    (2.0, [2.0, 4.0]), (jnp.array([2.0]), [2.0, 4.0]), (jnp.ones((1, 1)), [[1.0], [2.0]])])
def test_one_element_counts_for_each_number(data, out):
    found = ops.segment_sum(data, jnp.array([0, 1, 1]), 2)
    assert found.tolist() == out and found.dtype == np.float32
    assert ops.segment_max(-1.0, jnp.array([0, 1]), 2).tolist() == [-1.0, -1.0]


def test_segments_of_traced_numbers_and_their_gradient():
    ids = jnp.array([0, 1, 0, 3])
    out = tanx.jit(lambda x, i: ops.segment_sum(x, i, 4))(jnp.arange(4.0), ids)
    np.testing.assert_array_equal(out, [2.0, 1.0, 0.0, 3.0])
    slope = tanx.grad(lambda x: (ops.segment_sum(x, ids, 4) ** 2).sum())(jnp.arange(4.0))
    np.testing.assert_array_equal(slope, [4.0, 2.0, 4.0, 6.0])
