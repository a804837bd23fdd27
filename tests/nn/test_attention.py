"""Attention in blocks equals attention on whole sequences; errors."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx.nn import _attention, dot_product_attention


def normal(*shape, seed=0):
    rng = np.random.default_rng([seed, *shape])
    return jnp.asarray(rng.normal(size=shape).astype(np.float32))


Q, K, V = normal(2, 20, 4, 8), normal(2, 27, 2, 8, seed=1), normal(2, 27, 2, 8, seed=2)
MASK = np.random.default_rng(3).random((2, 1, 20, 27)) < 0.7

OPTIONS = {
    "plain": {}, "causal": {"is_causal": True}, "scale": {"scale": 0.2},
    "window": {"local_window_size": (5, 2)}, "mask": {"mask": jnp.asarray(MASK)},
    "mask of heads": {"mask": jnp.asarray(np.broadcast_to(MASK, (2, 4, 20, 27)))},
    "mask of queries": {"mask": jnp.asarray(MASK[:, :, :, :1] | True)},
    "lengths": {"query_seq_lengths": jnp.array([20, 9]),
                "key_value_seq_lengths": jnp.array([27, 11])},
}


@pytest.fixture
def in_blocks(monkeypatch):
    """Use blocks for sequences of any length."""
    def start():
        monkeypatch.setattr(_attention, "LONG", 1)
        monkeypatch.setattr(_attention, "BLOCK", 8)
    return start


@pytest.mark.parametrize("name", OPTIONS)
def test_blocks_change_nothing(name, in_blocks):
    options = OPTIONS[name]

    def everything():
        def run(q, k, v):
            out, residual = dot_product_attention(q, k, v, **options, return_residual=True)
            return (out ** 2).sum() + residual[:, :5].sum(), (out, residual)
        return tanx.value_and_grad(run, (0, 1, 2), has_aux=True)(Q, K, V)

    expected = everything()
    in_blocks()
    for a, b in zip(tanx.tree.leaves(everything()), tanx.tree.leaves(expected)):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5)


def test_blocks_under_jit_and_vmap(in_blocks):
    expected = dot_product_attention(Q, K, V, is_causal=True)
    in_blocks()
    compiled = tanx.jit(lambda q, k, v: dot_product_attention(q, k, v, is_causal=True))(Q, K, V)
    np.testing.assert_allclose(compiled, expected, rtol=1e-4, atol=1e-5)
    mapped = tanx.vmap(lambda q, k, v: dot_product_attention(q, k, v, is_causal=True))(Q, K, V)
    np.testing.assert_allclose(mapped, expected, rtol=1e-4, atol=1e-5)


def test_long_sequences_need_memory_in_proportion():
    """No array of the program holds a score for each pair of tokens."""
    tokens = 2048

    def run(x):
        return dot_product_attention(x, x, x, is_causal=True).sum()

    text = str(tanx.make_jaxpr(tanx.grad(run))(jnp.zeros((tokens, 1, 8))))
    assert f"{tokens},{tokens}]" not in text


@pytest.mark.parametrize("arguments, options, words", [
    ((Q, K, V[:, :5]), {}, r"\[B, S, K, H\]"),
    ((Q, K.astype(jnp.bfloat16), V), {}, "one dtype"),
    ((Q[:, :, :3], K, V), {}, "must divide"),
    ((Q, K, V), {"mask": jnp.ones((1, 1, 1, 27))}, "booleans"),
    ((Q, K, V), {"key_value_seq_lengths": jnp.array([3])}, "length for each batch"),
    ((Q, K, V), {"implementation": "foo"}, "no such implementation"),
])
def test_mistakes(arguments, options, words):
    with pytest.raises(ValueError, match=words):
        dot_product_attention(*arguments, **options)
