"""Functions of tanx.nn and tanx.ops return the same numbers as JAX's."""

import json

import numpy as np
import pytest

import tanx
from tests.random.calls import agree, read

from .calls import ACTIVATIONS, CALLS, DATA, names

RECORDED = json.loads(DATA.read_text(encoding="utf-8"))["calls"]


@pytest.mark.parametrize("call", CALLS)
def test_results_match_jax(call):
    agree(np.asarray(eval(call, names(tanx))), read(RECORDED[call]), 16)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_compiled_and_batched_activations_are_the_same(name):
    x, call = names(tanx)["x"], getattr(tanx.nn, name)
    expected = read(RECORDED[f"{name}(x)"])
    agree(np.asarray(tanx.jit(call)(x)), expected, 16)
    rows = np.stack([x, x[::-1]])
    agree(np.asarray(tanx.vmap(call)(rows))[0], expected, 16)
