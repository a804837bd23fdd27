"""Transformations nest to any depth in any order: every chain equals a plain one."""

import functools
import importlib
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tanx
from tests.transforms.chains import Chains, Step

CHAINS = Chains(tanx)
NAMES = list(CHAINS.steps)


@pytest.fixture(autouse=True)
def wide_types():
    with tanx.enable_x64(True):
        yield


def rows_of_jvp(fun):
    """``u J`` without reverse mode: a forward derivative for each element of the argument."""
    tree = tanx.tree_util

    def wrapped(x, n):
        leaves, structure = tree.tree_flatten(x)
        u = CHAINS.direction(x, 0.3)

        def along(k, index):
            basis = [np.zeros(leaf.shape) for leaf in leaves]
            basis[k][index] = 1.0
            tangent = tree.tree_unflatten(structure, list(map(tanx.numpy.asarray, basis)))
            return CHAINS.inner(u, tanx.jvp(lambda x: fun(x, n), (x,), (tangent,))[1])

        return tree.tree_unflatten(structure, [
            tanx.numpy.stack([along(k, index) for index in np.ndindex(leaf.shape)]
                             ).reshape(leaf.shape) for k, leaf in enumerate(leaves)])
    return wrapped


CHAINS.steps["rows of jvp"] = Step("rows of jvp", rows_of_jvp, "u J", forward=True)


@functools.cache
def expected(function, plain):
    return CHAINS.run(function, plain)


def agree(actual, wanted, rtol=1e-9):
    assert tanx.tree_util.tree_structure(actual) == tanx.tree_util.tree_structure(wanted)
    for a, w in zip(*map(tanx.tree_util.tree_leaves, (actual, wanted))):
        assert a.shape == w.shape and a.dtype == w.dtype
        np.testing.assert_allclose(a, w, rtol=rtol, atol=1e-12)


def check(function, names):
    agree(CHAINS.run(function, names), expected(function, CHAINS.plain(names)))


@pytest.mark.parametrize("function", CHAINS.functions)
@pytest.mark.parametrize("name", NAMES)
def test_each_step(function, name):
    check(function, (name,))


@pytest.mark.parametrize("outer", NAMES)
def test_each_pair(outer):
    for inner in NAMES:
        if CHAINS.sound((inner, outer)):
            check("vector", (inner, outer))


chains = st.lists(st.sampled_from(NAMES), min_size=3, max_size=5).map(tuple).filter(
    lambda names: CHAINS.sound(names) and len(CHAINS.plain(names)) <= 3)


@given(st.sampled_from(list(CHAINS.functions)), chains)
@settings(max_examples=60)
def test_long_chains(function, names):
    with tanx.enable_x64(True):
        check(function, names)


@pytest.mark.parametrize("function", ["scalar", "vector", "pytree", "constant"])
def test_plain_derivatives_are_limits_of_differences(function):
    fun, x, n = CHAINS.functions[function]
    tree = tanx.tree_util
    x = tree.tree_map(tanx.numpy.asarray, x)
    v, h = CHAINS.direction(x, 1.7), 1e-5

    def difference(fun):
        shift = lambda s: fun(tree.tree_map(lambda a, t: a + s * t, x, v), n)
        return tree.tree_map(lambda p, m: np.asarray((p - m) / (2 * h)), shift(h), shift(-h))

    agree(expected(function, ("jvp",)), difference(fun), rtol=1e-7)
    once = CHAINS.steps["jvp"].wrap(fun)
    agree(expected(function, ("jvp", "jvp")), difference(once), rtol=1e-7)
    rows = CHAINS.steps["rows of jvp"].wrap(fun)
    agree(expected(function, ("rows of jvp", "jvp")), difference(rows), rtol=1e-7)


@pytest.mark.oracle
@pytest.mark.parametrize("names", [
    *((name,) for name in NAMES),
    *itertools.islice(filter(CHAINS.sound, itertools.permutations(NAMES, 2)), 0, None, 7)])
def test_chains_on_jax_give_the_same(names):
    jax = importlib.import_module("jax")
    with jax.enable_x64(True):
        wanted = Chains(jax).run("pytree", names)
    agree(CHAINS.run("pytree", names), wanted)
