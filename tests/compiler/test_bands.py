"""Products and functions of their rows, one band of rows at a time."""

import threading
from dataclasses import replace

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx._compiler.emit.cpu.module import generate
from tanx._compiler.machine import host
from tanx._compiler.pipeline import build
from tanx._loops.nest import TASKS, Nest, Own
from tests.compiler.agreement import check_function

SMALL = replace(host(), caches=(1 << 15, 1 << 16, 1 << 20))


@pytest.fixture(autouse=True)
def small_caches(monkeypatch):
    """Small caches: a hundred tokens need as large a share of them as a thousand usually do."""
    for room in ("machine", "pipeline"):
        monkeypatch.setattr(f"tanx._compiler.{room}.host", lambda: SMALL)


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def heads(tokens=128, count=4, width=16):
    return [numbers(count, tokens, width, seed=n) for n in range(3)]


def attend(q, k, v, causal=False):
    scores = q @ jnp.swapaxes(k, -1, -2) * q.shape[-1] ** -0.5
    if causal:
        place = jnp.arange(q.shape[-2])
        scores = jnp.where(place[:, None] >= place, scores, -1e9)
    share = jnp.exp(scores - scores.max(axis=-1, keepdims=True))
    return share @ v / share.sum(axis=-1, keepdims=True)


def bands(module):
    """The statements of each task, for the loops that have several."""
    return [s.body for s in module.program.statements if isinstance(s, Nest)
            and TASKS in s.kinds and len(s.body) > 1]


def own(module):
    """The elements of temporaries that each task has."""
    return [place.size for place in module.plan.offsets.values() if isinstance(place, Own)]


def generate_one(fun):
    module = build(tanx.make_jaxpr(fun)(*heads()))
    return generate(module.program, SMALL, module.plan.offsets, module.plan.shared).text


@pytest.mark.parametrize("causal", [False, True])
def test_attention_keeps_its_scores_near(causal):
    module = check_function(lambda *args: attend(*args, causal=causal), *heads())
    (body,) = bands(module)
    assert len(body) == 3
    assert own(module) == [64 * 128]
    assert module.plan.size < 4 * 128 * 128 * 4


def test_the_gradient_of_attention():
    q, k, v = heads()
    module = check_function(tanx.grad(lambda *args: (attend(*args) ** 2).sum(), (0, 1, 2)), q, k, v)
    assert bands(module) and own(module)


def test_layers_follow_each_other_while_rows_need_no_others():
    module = check_function(lambda q, k, v: attend(attend(q, k, v), k, v), *heads())
    (body,) = bands(module)
    assert len(body) == 6


def test_layers_that_are_alike_share_code():
    module = check_function(lambda q, k, v: attend(q, attend(q, k, v), v), *heads())
    first, second = bands(module)
    assert len(first) == len(second) == 3
    text = generate(module.program, SMALL, module.plan.offsets, module.plan.shared).text
    assert text.count("fadd <") < 2 * generate_one(attend).count("fadd <")


def test_scores_used_again_are_stored_in_memory():
    def both(q, k, v):
        scores = jnp.exp(q @ jnp.swapaxes(k, -1, -2) * 0.1)
        return scores @ v, scores.sum(1)
    module = check_function(both, *heads())
    assert not own(module)


def test_rows_of_one_matrix():
    def layer(x, w, u):
        y = x @ w
        y = (y - y.mean(1, keepdims=True)) / jnp.sqrt(y.var(1, keepdims=True) + 1e-5)
        return jnp.tanh(y) @ u
    module = check_function(layer, numbers(512, 24), numbers(24, 96), numbers(96, 40))
    assert bands(module)


@pytest.mark.parametrize("tokens", [127, 130])
def test_bands_with_partial_rows(tokens):
    check_function(attend, *heads(tokens))


def test_rows_that_depend_on_others_stay_apart():
    def columns(q, k, v):
        scores = q @ jnp.swapaxes(k, -1, -2)
        return (scores - scores.max(axis=1, keepdims=True)) @ v
    assert not own(check_function(columns, *heads()))


def test_a_thread_with_a_small_stack():
    args, found = heads(), []
    run = tanx.jit(attend)
    want = run(*args)
    before = threading.stack_size(1 << 17)
    try:
        thread = threading.Thread(target=lambda: found.append(run(*args)))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    np.testing.assert_array_equal(found[0], want)


def test_compiled_attention_is_the_same_each_time():
    args = heads()
    q, k, v = (x.astype(np.float64) for x in args)
    share = np.exp(q @ k.swapaxes(1, 2) / 4)
    want = share @ v / share.sum(-1, keepdims=True)
    run = tanx.jit(attend)
    for _ in range(4):
        got = run(*args)
        assert got.dtype == np.float32 and got.shape == want.shape and not got.weak_type
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
