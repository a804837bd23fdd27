"""Bits and samples are JAX's."""

import json

import numpy as np
import pytest

import tanx

from .calls import CALLS, DATA, WIDE, agree, names, read, run

RECORDED = json.loads(DATA.read_text(encoding="utf-8"))
# Expressions whose floating-point results may differ by more than a few units in the last place.
LOOSE: dict[str, float] = {}


@pytest.mark.parametrize("call", CALLS)
def test_results_match_jax(call):
    agree(run(tanx, call), read(RECORDED["calls"][call]), LOOSE.get(call, 8))


@pytest.mark.parametrize("call", WIDE)
def test_64_bit_results_match_jax(call):
    with tanx.enable_x64(True):
        agree(run(tanx, call), read(RECORDED["wide"][call]), LOOSE.get(call, 8))


COMPILED = ("key", "split", "fold_in", "bits", "uniform", "normal", "randint", "gamma", "poisson",
            "categorical", "permutation")


def some_of_each(calls):
    """The first two calls of functions whose compiled code differs most."""
    by_name = {name: [c for c in calls if c.startswith(f"{name}(")][:2] for name in COMPILED}
    return [call for group in by_name.values() for call in group]


@pytest.mark.parametrize("call", some_of_each(CALLS))
def test_compiled_results_match_jax(call):
    """The same calls inside jit, where generated code makes the bits."""
    compiled = tanx.jit(lambda k, ks, rbg, urbg, raw: eval(
        call, names(tanx) | {"k": k, "ks": ks, "rbg": rbg, "urbg": urbg, "raw": raw}))
    known = names(tanx)
    out = compiled(*(known[name] for name in ("k", "ks", "rbg", "urbg", "raw")))
    if tanx.dtypes.issubdtype(out.dtype, tanx.dtypes.prng_key):
        out = tanx.random.key_data(out)
    agree(np.asarray(out), read(RECORDED["calls"][call]), LOOSE.get(call, 8))
