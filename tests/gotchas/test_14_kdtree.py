"""Promise 14: SciPy's KD-tree, under jit and vmap, with static shapes."""

import numpy as np
import pytest
import scipy.spatial

import tanx as jax
import tanx.numpy as jnp
from tanx.scipy.spatial import KDTree
from tests.gotchas import pages


def test_the_page():
    pages.run("14_kdtree")


POINTS = np.random.default_rng(0).normal(size=(300, 3)).astype(np.float32)
PLACES = np.random.default_rng(1).normal(size=(20, 3)).astype(np.float32)


@pytest.mark.parametrize("k, p", [(1, 2), (5, 1), (300, np.inf)])
def test_the_nearest_agree_with_scipy(k, p):
    expected, places = scipy.spatial.KDTree(POINTS).query(PLACES, k=k, p=p)
    query = jax.jit(lambda tree, x: tree.query(x, k=k, p=p))
    tree = KDTree(POINTS)
    for _ in range(4):
        distances, indices = query(tree, PLACES)
        assert (distances.dtype, indices.dtype) == (jnp.float32, jnp.int32)
        assert distances.shape == indices.shape == places.shape
        np.testing.assert_allclose(distances, expected, rtol=1e-5)
    np.testing.assert_array_equal(indices, places)


def test_trees_are_built_and_queried_under_vmap():
    clouds = POINTS.reshape(3, 100, 3)
    query = jax.jit(jax.vmap(lambda points, x: KDTree(points).query(x, k=2), (0, None)))
    for _ in range(4):
        distances, indices = query(clouds, PLACES)
    for n, cloud in enumerate(clouds):
        expected, places = scipy.spatial.KDTree(cloud).query(PLACES, k=2)
        np.testing.assert_allclose(distances[n], expected, rtol=1e-5)
        np.testing.assert_array_equal(indices[n], places)


def test_a_radius_agrees_with_scipy():
    theirs = scipy.spatial.KDTree(POINTS).query_ball_point(PLACES, 0.8)
    tree = KDTree(POINTS)
    size = max(map(len, theirs)) + 1
    query = jax.jit(lambda x: tree.query_ball_point(x, 0.8, size=size))
    for _ in range(4):
        found = np.asarray(query(PLACES))
        assert found.shape == (len(PLACES), size)
    assert [sorted(row[row < len(POINTS)].tolist()) for row in found] == list(map(sorted, theirs))
