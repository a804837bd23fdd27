"""Every generator returns JAX's bits, eagerly and compiled, in both of JAX's orders."""

import json

import numpy as np
import pytest

import tanx

from .schemes import DATA, every, label, run

RECORDED = json.loads(DATA.read_text(encoding="utf-8"))
COMPILED = ("split(k, 3)", "split(k, (2, 2))", "bits(k, (5,), \"uint8\")", "bits(k, (3, 5))",
            "bits(k, (5,), 'uint64')", "randint(k, (7,), 0, 100)")


def agree(got, want, call: str) -> None:
    assert got.shape == np.shape(want)
    if got.dtype.kind in "iub":
        assert got.tolist() == np.asarray(want, object).astype(got.dtype).tolist(), call
    else:
        np.testing.assert_allclose(got.astype(np.float64), want, rtol=2e-6, err_msg=call)


@pytest.mark.parametrize("case", every(), ids=lambda case: label(*case))
def test_numbers_match_jax(case):
    agree(run(tanx, *case), RECORDED[label(*case)], label(*case))


@pytest.mark.parametrize("case", [case for case in every() if case[0] in COMPILED],
                         ids=lambda case: label(*case))
def test_compiled_numbers_match_jax(case):
    agree(run(tanx, *case, compiled=True), RECORDED[label(*case)], label(*case))


def test_compiled_code_is_cached_per_scheme():
    draw = tanx.jit(lambda key: tanx.random.bits(key, (4,)))
    key = tanx.random.key(0)
    newer = [draw(key) for _ in range(4)]
    with tanx.threefry_partitionable(False):
        older = [draw(key) for _ in range(4)]
        assert (older[0] == tanx.random.bits(key, (4,))).all()
    for draws in (newer, older):
        assert all((x == draws[0]).all() for x in draws)
    assert (newer[0] != older[0]).any() and (draw(key) == newer[0]).all()


def test_names():
    for impl in ("threefry2x32", "threefry4x32", "rbg", "unsafe_rbg", "philox2x32", "philox4x32"):
        key = tanx.random.key(1, impl=impl)
        assert tanx.random.key_impl(key) == impl
        words = tanx.random.key_data(key)
        assert tanx.random.wrap_key_data(words, impl=impl).dtype == key.dtype
        with tanx.default_prng_impl(impl):
            assert (tanx.random.key_data(tanx.random.key(1)) == words).all()
    with pytest.raises(ValueError, match="there is no such generator"):
        tanx.random.key(0, impl="threefry")
