"""Indices from data: within bounds, negative, or out of bounds."""

import re

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tests.compiler.agreement import check_function
from tests.compiler.assembly import MACHINES, code_of

SIZE = 7
PLACES = np.array([0, 3, 3, SIZE - 1, -1, -SIZE, SIZE, -SIZE - 1, 2 ** 31 - 1, -2 ** 31, 2 ** 30,
                   2 ** 31 - SIZE, -3, 3, 1], np.int32)
TERMS = np.arange(1, len(PLACES) + 1, dtype=np.float32)
X = np.linspace(1, 2, SIZE, dtype=np.float32)


def turned(i, size=SIZE):
    return jnp.where(i < 0, i + size, i)


FUNCTIONS = {
    "scatter": lambda i, t, x: x.at[i].add(t, mode="drop"),
    "scatter of what is gathered": lambda i, t, x: jnp.zeros(SIZE).at[i].add(
        t * x.at[i[::-1]].get(mode="fill", fill_value=5), mode="drop"),
    "rows": lambda i, t, x: jnp.zeros((SIZE, 20)).at[i].add(t[:, None] * x[2], mode="drop"),
    "two places": lambda i, t, x: jnp.zeros((SIZE, SIZE)).at[i, i[::-1]].add(t, mode="drop"),
    "last one wins": lambda i, t, x: x.at[i].set(t, mode="drop"),
    "another shift": lambda i, t, x: x.at[turned(i, 5)].add(
        t, mode="drop", wrap_negative_indices=False),
    "numbers": lambda i, t, x: (turned(i) > 3, turned(i), x.at[i].add(t, mode="drop")),
    "in a loop": lambda i, t, x: tanx.lax.fori_loop(
        0, len(PLACES), lambda k, y: y.at[i[k]].add(t[k], mode="drop"), x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_places(name):
    check_function(FUNCTIONS[name], PLACES, TERMS, X)


def test_places_as_wide_numbers():
    """A choice that has the form of such an index, but is the result."""
    with tanx.enable_x64(True):
        check_function(lambda i: turned(i).astype("int64"), PLACES)


def test_native_calls():
    function = tanx.jit(FUNCTIONS["scatter"])
    want = X.copy()
    for i, term in zip(PLACES.tolist(), TERMS):
        if -SIZE <= i < SIZE:
            want[i] += term
    for _ in range(4):
        out = function(PLACES, TERMS, X)
        np.testing.assert_array_equal(out, want)
        assert out.dtype == np.float32 and not out.weak_type


@pytest.mark.parametrize("name", ["sse4.2", "avx512", "neon"])
def test_places_from_the_end_are_aside(name):
    """Indices within bounds need no select: one comparison each, and a jump that is not taken."""
    code = code_of(MACHINES[name], FUNCTIONS["scatter of what is gathered"], PLACES, TERMS, X)
    assert not re.search(r"\t(cmov|csel)", code.texts["program"])
