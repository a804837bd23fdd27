"""Layers: JAX's shapes, parameters and numbers for the same keys; compiled, trained, batched."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx.example_libraries import stax

# A network, the shape of its inputs, and JAX's numbers for the keys 0 and 1: the shape of the
# outputs, the sum of each parameter, and the outputs weighted by 1, 2, 3...
NETS = {
    "dense": (stax.serial(stax.Dense(4), stax.Tanh, stax.Dense(3), stax.LogSoftmax), (2, 5),
              (2, 3), [0.030482, -0.023794, 0.633598, -0.01117], -23.853449),
    "images": (stax.serial(
        stax.Conv(3, (3, 3), padding="SAME"), stax.BatchNorm(), stax.Relu,
        stax.MaxPool((2, 2), (2, 2)), stax.Conv(2, (2, 2), (2, 2)),
        stax.AvgPool((2, 2), padding="SAME"), stax.Flatten, stax.Dense(2)), (2, 8, 8, 1),
        (2, 2), [-0.293344, -1e-06, 0.0, 3.0, 1.550972, 0.0, 2.708601, 0.001481], 3.656063),
    "transposed": (stax.serial(
        stax.ConvTranspose(3, (3, 3), (2, 2), "SAME"), stax.Gelu,
        stax.SumPool((2, 2), spec="NHWC"), stax.ConvTranspose(1, (2, 2))), (1, 3, 3, 2),
        (1, 6, 6, 1), [1.509202, -1e-06, -1.148387, 0.0], 10.301893),
    "sequences": (stax.serial(
        stax.Conv1DTranspose(3, (3,), (2,)), stax.Softplus,
        stax.GeneralConv(("NHC", "HIO", "NHC"), 2, (3,))), (1, 4, 2),
        (1, 7, 2), [-0.568427, -1e-06, 1.610381, -2e-06], 56.03167),
    "branches": (stax.serial(
        stax.FanOut(3),
        stax.parallel(stax.Dense(4), stax.serial(stax.Dense(4), stax.Dropout(0.7)),
                      stax.shape_dependent(lambda shape: stax.Dense(shape[-1] - 1))),
        stax.FanInSum, stax.FanOut(2), stax.parallel(stax.Elu, stax.Selu), stax.FanInConcat(0),
        stax.Sigmoid), (2, 5),
        (4, 4), [2.284646, 0.001044, 2.067508, 0.009876, 1.781506, -0.006246], 78.499925),
}


def inputs_of(shape):
    return jnp.asarray(np.linspace(-1, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape))


@pytest.mark.parametrize("name", NETS)
def test_networks_match_jax(name):
    (init, apply), shape, out_shape, sums, weighted = NETS[name]
    declared, params = init(tanx.random.key(0), shape)
    assert declared == out_shape
    np.testing.assert_allclose([x.sum() for x in tanx.tree.leaves(params)], sums, atol=3e-6)
    compiled = tanx.jit(lambda p, x, rng: apply(p, x, rng=rng))
    for _ in range(4):
        out = compiled(params, inputs_of(shape), tanx.random.key(1))
        assert out.shape == out_shape and out.dtype == jnp.float32
        np.testing.assert_allclose((np.ravel(out) * np.arange(1, out.size + 1)).sum(), weighted,
                                   rtol=2e-5)


@pytest.mark.parametrize("name", NETS)
def test_networks_have_gradients_and_batches(name):
    (init, apply), shape, *_ = NETS[name]
    _, params = init(tanx.random.key(0), shape)
    x, rng = inputs_of(shape), tanx.random.key(1)
    slopes = tanx.grad(lambda p: apply(p, x, rng=rng).sum())(params)
    assert tanx.tree.structure(slopes) == tanx.tree.structure(params)
    assert all(np.isfinite(g).all() for g in tanx.tree.leaves(slopes))
    both = tanx.vmap(lambda x: apply(params, x, rng=rng))(jnp.stack([x, 2 * x]))
    np.testing.assert_allclose(both[1], apply(params, 2 * x, rng=rng), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("layer, x, expected", [
    (stax.Identity, [1.0, 2.0], [1.0, 2.0]),
    (stax.Exp, [0.0, 1.0], [1.0, np.e]),
    (stax.Softmax, [0.0, 0.0], [0.5, 0.5]),
    (stax.LeakyRelu, [-1.0, 1.0], [-0.01, 1.0]),
    (stax.elementwise(jnp.clip, min=0.5), [0.0, 1.0], [0.5, 1.0]),
    (stax.AvgPool((2,), padding="SAME", spec="NCH"), [[[1.0, 3.0, 5.0]]], [[[2.0, 4.0, 5.0]]]),
    (stax.MaxPool((2, 1), (2, 1), spec="NCHW"), np.arange(8.0).reshape(1, 1, 4, 2),
     [[[[2.0, 3.0], [6.0, 7.0]]]]),
    (stax.BatchNorm(axis=0, center=False), [[1.0], [3.0]], [[-1.0], [1.0]]),
    (stax.BatchNorm(axis=(0,), scale=False, beta_init=tanx.nn.initializers.ones), [[1.0], [3.0]],
     [[0.0], [2.0]]),
    (stax.Dropout(0.5, mode="test"), [1.0, 2.0], [1.0, 2.0]),
])
def test_layers(layer, x, expected):
    init, apply = layer
    x = jnp.asarray(x, jnp.float32)
    shape, params = init(tanx.random.key(0), x.shape)
    out = apply(params, x, rng=tanx.random.key(1))
    assert out.shape == shape == np.shape(expected)
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("call, error, words", [
    (lambda: stax.Dropout(0.5)[1]((), jnp.ones(3)), ValueError, "needs a random key"),
    (lambda: stax.serial(), ValueError, "at least one layer"),
    (lambda: stax.parallel(), ValueError, "at least one layer"),
])
def test_mistakes(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_layers_are_written_with_functions_and_initializers_of_this_module():
    assert stax.randn is stax.normal and stax.glorot is stax.glorot_normal
    assert stax.logsoftmax is stax.log_softmax is tanx.nn.log_softmax
    init, apply = stax.serial(
        stax.Dense(4, W_init=stax.randn(), b_init=stax.zeros), stax.elementwise(stax.softplus))
    _, params = init(tanx.random.key(0), (3, 5))
    (weights, bias), _ = params
    assert not bias.any()
    compiled, x = tanx.jit(apply), inputs_of((3, 5))
    for _ in range(4):
        np.testing.assert_allclose(
            compiled(params, x), np.logaddexp(0, np.asarray(x) @ np.asarray(weights)), rtol=1e-5)
