"""Grids of coordinates and of indices."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tests.numpy.agreement import adjoint, agree, batched, fact, message

VECTORS = [np.arange(3.0), np.arange(2.0), np.arange(4.0)]


@pytest.mark.parametrize("count", [0, 1, 2, 3])
@pytest.mark.parametrize("indexing", ["xy", "ij"])
@pytest.mark.parametrize("sparse", [False, True])
def test_meshgrid(count, indexing, sparse):
    function = lambda *xs: jnp.meshgrid(*xs, indexing=indexing, sparse=sparse)
    xs = VECTORS[:count]
    agree(function(*xs), np.meshgrid(*xs, indexing=indexing, sparse=sparse))
    if count > 1:
        batched(function, *(x.astype(np.float32) for x in xs))
        adjoint(lambda *xs: jnp.concatenate([x.ravel() for x in function(*xs)]), *xs)


@pytest.mark.parametrize("key", [
    np.s_[0:3], np.s_[0:3:0.5], np.s_[0:1:5j], np.s_[0:3, 0:2], np.s_[0:1:3j, 1:5:2],
    np.s_[:3, 1:2],
    np.s_[0:2, 0:2, 0:2]], ids=str)
def test_grids_by_slices(key):
    agree(jnp.mgrid[key], np.mgrid[key])
    got = jnp.ogrid[key]
    agree(got, np.ogrid[key])
    assert isinstance(got, list) is isinstance(key, tuple)


def test_dtypes_of_grids():
    assert [fact(jnp.mgrid[key]) for key in (np.s_[0:2], np.s_[0:2.0], np.s_[0:2:3j, 0:2])] == [
        "int32[2]", "float32[2]", "float32[2,3,2]"]
    assert str((jnp.mgrid, jnp.r_, jnp.s_)) == "(tanx.numpy.mgrid, tanx.numpy.r_, tanx.numpy.s_)"


V, M = VECTORS[0], np.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize("key", [
    np.s_[1, 2, 3], np.s_[1:4], np.s_[0:1:3j], np.s_[V, 1, 0:3], np.s_[M, M], np.s_["-1", M, M],
    np.s_["0,2", V, V], np.s_["0,2,0", V, V], np.s_["1,2,0", V, V], np.s_["0,3,1", V, V],
    np.s_["0,3,-1", M, M], np.s_["0,3,0", M, M], np.s_[[1, 2], 3]], ids=lambda k: str(k)[:30])
def test_joining_by_index(key):
    agree(jnp.r_[key], np.r_[key])


def test_joining_columns():
    agree(jnp.c_[V, V], np.c_[V, V])
    agree(jnp.c_[M, M], np.c_[M, M])
    agree(jnp.c_[1:3, 3:5], np.c_[1:3, 3:5])
    agree(jnp.r_["r", V, V], [np.r_[V, V]])
    agree(jnp.r_["c", V, V], np.r_[V, V][:, None])
    assert [fact(jnp.r_[key]) for key in (np.s_[1, 2], np.s_[1, 2.5], np.s_[jnp.int8(1), 2])] == [
        "~int32[2]", "~float32[2]", "int8[2]"]
    batched(lambda x: jnp.r_[x, 1.0, x], V.astype(np.float32))


def test_indices_as_written():
    assert jnp.s_[1:, None] == np.s_[1:, None] and jnp.s_[1] == 1
    assert jnp.index_exp[1] == (1,) and jnp.index_exp[1, ...] == (1, ...)


def test_fromfunction():
    agree(jnp.fromfunction(lambda i, j: 10 * i + j, (2, 3), dtype=int),
          np.fromfunction(lambda i, j: 10 * i + j, (2, 3), dtype=int))
    agree(jnp.fromfunction(lambda i: 1.5, 2), [1.5, 1.5])
    agree(jnp.fromfunction(lambda i: (i, 2 * i), (3,)), ([0, 1, 2], [0, 2, 4]))
    agree(jnp.fromfunction(lambda i, a: i + a, (2,), a=3), [3, 4])
    agree(jnp.fromfunction(lambda i: jnp.stack([i, i]), (3,)), [[0, 0], [1, 1], [2, 2]])
    assert jnp.fromfunction(lambda: 1.5, ()) == 1.5


@pytest.mark.parametrize("dimensions", [(), (2,), (2, 3), (0, 2)], ids=str)
def test_indices(dimensions):
    agree(jnp.indices(dimensions), np.indices(dimensions))
    agree(jnp.indices(dimensions, sparse=True), np.indices(dimensions, sparse=True))
    assert jnp.indices(dimensions).dtype == "int32"
    assert jnp.indices(dimensions, float).dtype == "float32"


def test_selecting_a_grid():
    x = np.arange(12).reshape(3, 4)
    rows, columns = np.array([0, 2]), np.array([1, 3, 2])
    agree(jnp.asarray(x)[jnp.ix_(rows, columns)], x[np.ix_(rows, columns)])
    assert jnp.ix_() == ()


def test_indices_of_diagonals_and_triangles():
    x = jnp.asarray(M)
    for n, k, m in ((3, 0, None), (3, 1, None), (3, -1, 2), (2, 0, 4), (0, 0, None)):
        agree(jnp.tril_indices(n, k, m), np.tril_indices(n, k, m))
        agree(jnp.triu_indices(n, k, m), np.triu_indices(n, k, m))
    agree(jnp.tril_indices_from(x, 1), np.tril_indices_from(M, 1))
    agree(jnp.triu_indices_from(x), np.triu_indices_from(M))
    agree(jnp.diag_indices(3, 3), np.diag_indices(3, 3))
    agree(jnp.diag_indices_from(jnp.ones((2, 2, 2))), np.diag_indices(2, 3))
    agree(jnp.mask_indices(3, jnp.triu, 1), np.mask_indices(3, np.triu, 1))
    agree(jnp.mask_indices(3, jnp.triu, 1, size=5), ([0, 0, 1, 0, 0], [1, 2, 2, 0, 0]))
    agree(jnp.mask_indices(3, jnp.triu, 1, size=2), ([0, 0], [1, 2]))
    assert {fact(i) for i in jnp.tril_indices(3)} == {"int32[6]"}
    agree(tanx.jit(lambda x: x[jnp.triu_indices(2)])(M[:, :2]), [0, 1, 4])
    agree(tanx.jit(lambda x: x[jnp.mask_indices(2, jnp.tril)])(M[:, :2]), [0, 3, 4])


def test_mistakes():
    v, m = jnp.asarray(V), jnp.asarray(M)
    message(ValueError, lambda: jnp.meshgrid(v, m), """\
tanx.numpy.meshgrid: needs vectors.
  argument 0: float32[3]
  argument 1: float32[2,3]""")
    message(ValueError, lambda: jnp.meshgrid(v, indexing="yx"), """\
tanx.numpy.meshgrid: indexing must be 'xy' or 'ij'.
  indexing: 'yx'""")
    message(ValueError, lambda: jnp.meshgrid(v, copy=False), """\
tanx.numpy.meshgrid: copy must be True.
  copy: False""")
    message(TypeError, lambda: jnp.mgrid[3], """\
tanx.numpy.mgrid: takes slices.
  index: 3
  Hint: write tanx.numpy.mgrid[0:3, 0:1:5j].""")
    message(ValueError, lambda: jnp.r_["x", v], """\
tanx.numpy.r_: the directive must be 'r', 'c', or one to three integers with commas between them.
  directive: 'x'""")
    message(ValueError, lambda: jnp.ix_(m), """\
tanx.numpy.ix_: needs vectors.
  argument: float32[2,3]""")
    message(NotImplementedError, lambda: jnp.ix_(v > 1), """\
tanx.numpy.ix_: masks are not supported: their number of indices is not known while tracing.
  argument: bool[3]
  Hint: pass tanx.numpy.nonzero(mask, size=...)[0].""")
    message(ValueError, lambda: jnp.diag_indices(-1), """\
tanx.numpy.diag_indices: n and ndim must not be negative.
  n:    -1
  ndim: 2""")
    message(ValueError, lambda: jnp.diag_indices_from(m), """\
tanx.numpy.diag_indices_from: needs two or more dimensions of one size.
  array: float32[2,3]""")
    message(ValueError, lambda: jnp.tril_indices_from(v), """\
tanx.numpy.tril_indices_from: needs a matrix.
  array: float32[3]""")
