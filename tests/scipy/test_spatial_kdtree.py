"""Trees of points against SciPy's: neighbours, radii, pairs, under every transformation."""

import numpy as np
import pytest
from scipy.spatial import cKDTree

import tanx
import tanx.numpy as jnp
from tanx.errors import ConcretizationTypeError
from tanx.scipy.spatial import KDTree
from tests.numpy.agreement import adjoint, agree
from tests.scipy.lives import check

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(500, 3)).astype(np.float32)
PLACES = RNG.normal(size=(40, 3)).astype(np.float32)


def brute(data, x, k):
    """The nearest points by comparing all; ties in the order of indices."""
    distances = np.sqrt(((x[..., None, :] - data) ** 2).sum(-1))
    order = np.argsort(distances, -1, kind="stable")[..., :k]
    return np.take_along_axis(distances, order, -1), order


# -- nearest neighbours ----------------------------------------------------------------------------


@pytest.mark.parametrize("p, k", [(1, 2), (2, 1), (2, 8), (3.5, 2), (np.inf, 8)])
def test_nearest_neighbours(p, k):
    want = cKDTree(POINTS).query(PLACES, k, p=p)
    check(lambda data, x: KDTree(data).query(x, k, p=p), (POINTS, PLACES), want)


@pytest.mark.parametrize("count, dimensions, leafsize", [
    (1, 2, 16), (2, 2, 1), (3, 1, 1), (17, 4, 16), (100, 6, 3), (257, 2, 1000)])
def test_trees_of_any_size(count, dimensions, leafsize):
    data, x = RNG.normal(size=(count, dimensions)), RNG.normal(size=(7, dimensions))
    with tanx.enable_x64(True):
        tree = KDTree(data, leafsize)
        got = tree.query(x, 3)
        agree(got, cKDTree(data).query(x, 3), 1e-12, 1e-12)
        assert got[0].dtype == np.float64 and got[1].dtype == np.int64
        assert (tree.n, tree.m, tree.leafsize) == (count, dimensions, leafsize)
        agree(tree.mins, data.min(0))
        agree(tree.maxes, data.max(0))


def test_no_points():
    distances, indices = KDTree(np.zeros((0, 2))).query(np.ones((3, 2)), 2)
    assert (np.asarray(distances) == np.inf).all() and (np.asarray(indices) == 0).all()
    assert KDTree(np.zeros((0, 2))).query_ball_point(np.ones(2), 1) == []
    assert KDTree(np.zeros((0, 2))).query_pairs(1) == set()


@pytest.fixture(scope="module")
def tree():
    """One tree of the points, because building it takes as long as searching it."""
    return KDTree(POINTS)


@pytest.mark.parametrize("shape, k", [
    ((3,), 1), ((3,), [2, 4]), ((1, 3), [1]), ((0, 3), 1), ((0, 3), 4), ((2, 5, 3), 1),
    ((2, 5, 3), [2, 4])], ids=str)
def test_shapes(tree, shape, k):
    x = RNG.normal(size=shape).astype(np.float32)
    want = cKDTree(POINTS).query(x, k)
    agree(tree.query(x, k), want, 1e-5, 1e-5)


def test_ties_go_to_the_lower_index():
    """A lattice and copies of it: most distances occur many times."""
    lattice = np.stack(np.meshgrid(*[np.arange(5.0)] * 2), -1).reshape(-1, 2)
    data = RNG.permutation(np.concatenate([lattice, lattice, lattice])).astype(np.float32)
    for leafsize in (1, 16):
        agree(KDTree(data, leafsize).query(lattice, 9), brute(data, lattice, 9))


def test_points_along_a_line():
    """All coordinates but one are the same."""
    data = np.zeros((300, 3), np.float32)
    data[:, 1] = RNG.normal(size=300)
    agree(KDTree(data).query(PLACES, 5), cKDTree(data).query(PLACES, 5), 1e-5, 1e-5)


@pytest.mark.parametrize("bound", [0.0, 0.3, 2.0, -1.0])
def test_distance_upper_bound(tree, bound):
    got = tree.query(PLACES, 3, distance_upper_bound=bound)
    want = cKDTree(POINTS).query(PLACES, 3, distance_upper_bound=max(bound, 0))
    agree(got, want, 1e-5, 1e-5)
    bounds = np.linspace(0, 1, 40)
    distances = np.asarray(tree.query(PLACES, distance_upper_bound=bounds)[0])
    assert ((distances < bounds) | (distances == np.inf)).all()


def test_bounds_are_strict_for_neighbours():
    tree = KDTree(np.array([[0.0], [1.0]]))
    agree(tree.query(jnp.array([2.0]), 2, distance_upper_bound=2.0), ([1, np.inf], [1, 2]))
    assert tree.query_ball_point(jnp.array([2.0]), 2.0) == [0, 1]


def test_eps_bounds_the_error(tree):
    exact, _ = cKDTree(POINTS).query(PLACES, 4)
    got = np.asarray(tree.query(PLACES, 4, eps=0.5)[0])
    assert (got <= exact * 1.5 + 1e-6).all() and (got >= exact - 1e-6).all()


def test_queries_at_nan_find_no_neighbour(tree):
    distance, index = tree.query(jnp.array([jnp.nan, 0, 0]))
    assert distance == jnp.inf and index == 500


@pytest.mark.parametrize("data", [np.arange(30).reshape(10, 3), np.float16(POINTS)])
def test_dtypes(data):
    want = cKDTree(data).query(PLACES, 2)
    distances, indices = KDTree(data).query(PLACES, 2)
    assert distances.dtype == np.float32 and indices.dtype == np.int32
    agree(distances, want[0], 1e-5, 1e-5)


# -- transformations -------------------------------------------------------------------------------


def test_trees_are_pytrees(tree):
    want = cKDTree(POINTS).query(PLACES, 4)
    ask = tanx.jit(lambda tree, x: tree.query(x, 4))
    for _ in range(4):
        agree(ask(tree, PLACES), want, 1e-5, 1e-5)
    agree(tanx.vmap(lambda x: tree.query(x, 4))(PLACES), want, 1e-5, 1e-5)


def test_a_batch_of_trees():
    data = POINTS.reshape(5, 100, 3)
    trees = tanx.vmap(KDTree)(data)
    got = tanx.jit(tanx.vmap(lambda tree, x: tree.query(x, 3)))
    want = [cKDTree(d).query(PLACES, 3) for d in data]
    for _ in range(4):
        agree(got(trees, np.stack([PLACES] * 5)), tuple(map(np.stack, zip(*want))), 1e-5, 1e-5)


def test_inside_of_a_loop():
    def step(x, _):
        distance, index = KDTree(POINTS).query(x)
        return x + 0.1 * (POINTS[0] - x), (distance, index)
    x = PLACES[0]
    _, got = tanx.jit(lambda x: tanx.lax.scan(step, x, None, 5))(x)
    for distance in np.asarray(got[0]):
        agree(distance, cKDTree(POINTS).query(x)[0], 1e-4, 1e-5)
        x = x + 0.1 * (POINTS[0] - x)


@pytest.mark.parametrize("p", [2, 3.5])
def test_derivatives_of_distances(p):
    data, x = RNG.normal(size=(60, 2)), RNG.normal(size=(5, 2))
    adjoint(lambda data, x: KDTree(data).query(x, 3, p=p)[0], data, x)


def test_derivatives_where_the_distance_is_zero():
    slopes = tanx.grad(lambda x: KDTree(POINTS).query(x)[0].sum())(POINTS[:3])
    assert (np.asarray(slopes) == 0).all()
    slopes = tanx.grad(lambda tree: tree.query(PLACES, 600)[0][:, 0].sum(), allow_int=True)(
        KDTree(POINTS))
    assert np.isfinite(slopes.data).all() and np.any(slopes.data)


# -- within a radius -------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [2, np.inf])
@pytest.mark.parametrize("r", [0.0, 0.4, 10.0, -1.0])
def test_points_within_a_radius(tree, p, r):
    want = cKDTree(POINTS).query_ball_point(PLACES, max(r, 0), p=p)
    got = tree.query_ball_point(PLACES, r, p=p)
    assert got.shape == (40,) and [sorted(w) for w in want] == list(got)
    if r == 0.4:
        check(lambda x: tree.query_ball_point(x, r, p=p, return_length=True), (PLACES,),
              [len(w) for w in want])
    assert tree.query_ball_point(PLACES[0], r, p=p) == sorted(want[0])


def test_radii_of_places(tree):
    radii = np.linspace(0, 1, 40)
    want = cKDTree(POINTS).query_ball_point(PLACES, radii)
    assert list(tree.query_ball_point(PLACES, radii)) == [sorted(w) for w in want]


@pytest.mark.parametrize("size", [0, 7])
def test_a_radius_under_jit(tree, size):
    exact = cKDTree(POINTS).query_ball_point(PLACES, 0.5)
    ask = tanx.jit(lambda tree, x: tree.query_ball_point(x, 0.5, size=size))
    for _ in range(4):
        got = np.asarray(ask(tree, PLACES))
        assert got.shape == (40, size) and got.dtype == np.int32
        for row, want in zip(got, exact):
            found = row[row < 500]
            assert len(found) == min(size, len(want)) and set(found) <= set(want)
            assert (np.diff(row) >= 0).all()


def test_trees_around_trees(tree):
    ours = KDTree(PLACES).query_ball_tree(tree, 0.4)
    theirs = cKDTree(PLACES).query_ball_tree(cKDTree(POINTS), 0.4)
    assert ours == [sorted(w) for w in theirs]


# -- pairs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("r, p", [(0.0, 2), (0.1, 2), (0.3, 1), (0.3, np.inf), (20.0, 2)])
def test_pairs(r, p):
    tree, theirs = KDTree(POINTS[:200]), cKDTree(POINTS[:200])
    want = theirs.query_pairs(r, p=p)
    assert tree.query_pairs(r, p=p) == want
    rows = tree.query_pairs(r, p=p, output_type="ndarray")
    assert rows.shape == (len(want), 2) and set(map(tuple, rows.tolist())) == want


@pytest.mark.parametrize("size", [5, 200])
def test_pairs_under_jit(size):
    want = sorted(cKDTree(POINTS).query_pairs(0.15))[:size]
    want += [(500, 500)] * (size - len(want))
    ask = tanx.jit(lambda data: KDTree(data).query_pairs(0.15, size=size))
    for _ in range(4):
        got = np.asarray(ask(POINTS)).reshape(-1, 2)
        if len(got):
            assert set(map(tuple, got[:, :1].tolist())) == {w[:1] for w in want}
        assert size != 200 or got.tolist() == [list(w) for w in want]


@pytest.mark.parametrize("p", [1, 2])
def test_numbers_of_pairs(tree, p):
    ours, theirs = tree, cKDTree(POINTS)
    other, their_other = KDTree(PLACES), cKDTree(PLACES)
    radii = np.array([0.1, 0.4, 1.0, 30.0])
    assert ours.count_neighbors(other, 0.4, p=p) == theirs.count_neighbors(their_other, 0.4, p=p)
    for cumulative in (True, False):
        want = theirs.count_neighbors(their_other, radii, p=p, cumulative=cumulative)
        agree(ours.count_neighbors(other, radii, p=p, cumulative=cumulative), want)
        if p == 1:
            continue
        traced = tanx.jit(KDTree.count_neighbors, static_argnames=("p", "cumulative"))
        for _ in range(4):
            agree(traced(ours, other, radii, p=p, cumulative=cumulative), want)


# -- errors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("error, call", [
    (ValueError, lambda tree: KDTree(np.ones(3))),
    (ValueError, lambda tree: KDTree(np.ones((3, 2)) * 1j)),
    (ValueError, lambda tree: KDTree(np.full((3, 2), np.nan))),
    (ValueError, lambda tree: KDTree(np.ones((3, 2)), leafsize=0)),
    (ValueError, lambda tree: tree.query(np.ones(2))),
    (ValueError, lambda tree: tree.query(np.ones(3), 0)),
    (ValueError, lambda tree: tree.query(np.ones(3), [0, 1])),
    (ValueError, lambda tree: tree.query(np.ones(3), [])),
    (ValueError, lambda tree: tree.query(np.ones(3), p=0.5)),
    (ValueError, lambda tree: tree.query_pairs(1.0, output_type="list")),
    (ValueError, lambda tree: tree.query_ball_point(np.ones(3), 1.0, size=-1)),
    (ConcretizationTypeError,
     lambda tree: tanx.jit(lambda x: tree.query_ball_point(x, 1.0))(np.ones(3))),
    (ConcretizationTypeError, lambda tree: tanx.jit(lambda r: tree.query_pairs(r))(1.0))])
def test_errors(tree, error, call):
    with pytest.raises(error, match=r"tanx\.scipy\.spatial\.KDTree"):
        call(tree)
