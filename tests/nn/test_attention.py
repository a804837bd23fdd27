"""Attention in parts and in blocks equals attention on whole sequences; errors."""

import numpy as np
import pytest

import tanx
import tanx.export
import tanx.numpy as jnp
from tanx.nn import _attention, dot_product_attention


def normal(*shape, seed=0):
    rng = np.random.default_rng([seed, *shape])
    return jnp.asarray(rng.normal(size=shape).astype(np.float32))


Q, K, V = normal(2, 20, 4, 8), normal(2, 27, 2, 8, seed=1), normal(2, 27, 2, 8, seed=2)
MASK = np.random.default_rng(3).random((2, 1, 20, 27)) < 0.7

OPTIONS = {
    "plain": {}, "causal": {"is_causal": True}, "scale": {"scale": 0.2},
    "window": {"local_window_size": (5, 2)}, "window without width": {"local_window_size": 0},
    "causal window": {"is_causal": True, "local_window_size": (3, 0)},
    "wide causal window": {"is_causal": True, "local_window_size": (2, 9)},
    "window beside the query": {"local_window_size": (-1, 3)},
    "window around all": {"local_window_size": 30},
    "mask": {"mask": jnp.asarray(MASK)},
    "mask of heads": {"mask": jnp.asarray(np.broadcast_to(MASK, (2, 4, 20, 27)))},
    "mask of queries": {"mask": jnp.asarray(MASK[:, :, :, :1] | True)},
    "mask of all keys": {"mask": jnp.asarray(MASK & (np.arange(20) % 7 > 2)[:, None])},
    "lengths": {"query_seq_lengths": jnp.array([20, 9]),
                "key_value_seq_lengths": jnp.array([27, 11])},
    "causal lengths": {"is_causal": True, "query_seq_lengths": jnp.array([20, 9])},
}
FORMS = {
    "blocks": {"LONG": 1, "BLOCK": 8}, "two parts": {"DIVIDED": 1},
    "parts of 7": {"DIVIDED": 1, "PART": 7}, "single queries": {"DIVIDED": 1, "PART": 1},
}
each_form = pytest.mark.parametrize("form", FORMS)


@pytest.fixture
def change(monkeypatch):
    """Compute sequences of any length in some form."""
    def start(form):
        for name, value in FORMS[form].items():
            monkeypatch.setattr(_attention, name, value)
    return start


@each_form
@pytest.mark.parametrize("name, swap", [
    *((name, False) for name in OPTIONS),
    *((name, True) for name in OPTIONS if "mask" not in name and name != "lengths")])
def test_forms_change_nothing(name, form, swap, change):
    """Also for queries that see no key: they get the mean of all values, whose scores do not count.
    """
    options, (q, k, v) = OPTIONS[name], (Q, K, V)
    if swap:  # more queries than keys
        q, k, v = normal(2, 27, 4, 8), K[:, :20], V[:, :20]

    def everything():
        def run(q, k, v):
            out, residual = dot_product_attention(q, k, v, **options, return_residual=True)
            return (out ** 2).sum() + residual[:, :5].sum(), (out, residual)
        return tanx.value_and_grad(run, (0, 1, 2), has_aux=True)(q, k, v)

    expected = everything()
    change(form)
    for a, b in zip(tanx.tree.leaves(everything()), tanx.tree.leaves(expected)):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5)


@each_form
def test_forms_under_jit_and_vmap(form, change):
    expected = dot_product_attention(Q, K, V, is_causal=True)
    change(form)
    compiled = tanx.jit(lambda q, k, v: dot_product_attention(q, k, v, is_causal=True))
    for _ in range(4):
        np.testing.assert_allclose(compiled(Q, K, V), expected, rtol=1e-4, atol=1e-5)
    mapped = tanx.vmap(lambda q, k, v: dot_product_attention(q, k, v, is_causal=True))(Q, K, V)
    np.testing.assert_allclose(mapped, expected, rtol=1e-4, atol=1e-5)


def test_blocks_out_of_sight_are_skipped(monkeypatch):
    """Long sequences with a window take time in proportion to the window."""
    monkeypatch.setattr(_attention, "LONG", 1)
    monkeypatch.setattr(_attention, "BLOCK", 8)
    seen = []
    scores = _attention._Blocks.scores

    def counted(self, query, row, column):
        tanx.debug.callback(lambda *place: seen.append(tuple(map(int, place))), row, column)
        return scores(self, query, row, column)

    monkeypatch.setattr(_attention._Blocks, "scores", counted)
    x = normal(1, 64, 1, 8)
    dot_product_attention(x, x, x, local_window_size=(9, 4)).block_until_ready()
    tanx.effects_barrier()
    assert sorted(seen) == [(row, column) for row in range(8) for column in range(8)
                            if -2 <= column - row <= 1]


@pytest.mark.parametrize("constraints", [(), ("t >= 2048",)])
def test_lengths_that_are_not_known(constraints):
    (t,) = tanx.export.symbolic_shape("t", constraints=constraints)

    def run(x):
        return tanx.grad(lambda x: dot_product_attention(x, x, x, is_causal=True)[:, 0, 0].sum())(x)
    exported = tanx.export.export(tanx.jit(run))(tanx.ShapeDtypeStruct((t, 1, 4), "float32"))
    x = normal(2048, 1, 4)
    expected = run(x)
    for _ in range(4):
        np.testing.assert_allclose(exported.call(x), expected, rtol=1e-3, atol=1e-4)


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
