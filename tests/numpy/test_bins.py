"""Counting in bins, and interpolating between points."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tests.numpy.agreement import adjoint, agree, batched, fact, message

V = np.array([0.5, 1.25, 1.5, 3.0, 3.75, 4.0], np.float32)
W = np.array([1.0, 2.0, 0.5, 1.5, 3.0, 1.0], np.float32)
N = np.array([0, 1, 1, 3, 7, 3])


# -- bincount --------------------------------------------------------------------------------------


@pytest.mark.parametrize("x", [N, N.astype(np.uint8), np.array([], int), np.array([5])], ids=str)
@pytest.mark.parametrize("minlength", [0, 4, 12])
def test_bincount(x, minlength):
    got = jnp.bincount(x, minlength=minlength)
    agree(got, np.bincount(x, minlength=minlength))
    assert got.dtype == np.int32
    weights = np.arange(x.size, dtype=np.float32)
    agree(jnp.bincount(x, weights, minlength), np.bincount(x, weights, minlength))


def test_bincount_of_fixed_length():
    for length in (0, 3, 8, 20):
        want = np.pad(np.bincount(N), (0, 20))[:length]
        count = lambda x, n=length: jnp.bincount(x, length=n)
        agree(count(N), want)
        agree(tanx.jit(count)(N), want)
        agree(tanx.vmap(count)(np.stack([N, N])), np.stack([want, want]))
    adjoint(lambda w: jnp.bincount(N, w, length=5), W)


def test_types_and_edges_of_bincount():
    agree(jnp.bincount(np.array([True, False, True])), [1, 2])
    agree(jnp.bincount(np.array([-5, 0, 2])), [2, 0, 1])
    assert fact(jnp.bincount(N, np.arange(6))) == "int32[8]"
    assert fact(jnp.bincount(N, W.astype(np.float16))) == "float16[8]"
    message(TypeError, lambda: jnp.bincount(V), """\
tanx.numpy.bincount: x must hold integers.
  x: float32[6]""")
    message(ValueError, lambda: jnp.bincount(N[None]), """\
tanx.numpy.bincount: x must be a vector.
  x: int32[1,6]""")
    message(ValueError, lambda: jnp.bincount(N, W[:2]), """\
tanx.numpy.bincount: there must be a weight for each element.
  elements: int32[6]
  weights:  float32[2]""")
    with pytest.raises(tanx.errors.ConcretizationTypeError, match="give length="):
        tanx.jit(jnp.bincount)(N)


# -- histograms ------------------------------------------------------------------------------------

BINS = [(10, None), (3, None), (1, None), (3, (0, 2)), (4, (-1.0, 9.0)),
        (np.array([0.0, 1.0, 3.0]), None), (np.array([1, 2, 4]), None),
        (np.array([1.5, 4.0]), None)]


@pytest.mark.parametrize("bins, range", BINS, ids=str)
@pytest.mark.parametrize("a", [V, N, V.reshape(2, 3), np.array([2.0, 2.0]), np.array([])],
                         ids=lambda a: f"{a.dtype}{list(a.shape)}")
def test_histogram(a, bins, range):
    want, edges = np.histogram(a, bins, range)
    got = jnp.histogram(a, bins, range)
    agree(got, (want, edges), 1e-5)
    assert [x.dtype for x in got] == [np.float32, np.float32]
    agree(jnp.histogram_bin_edges(a, bins, range), edges, 1e-5)
    agree(tanx.jit(lambda a: jnp.histogram(a, bins, range))(a), (want, edges), 1e-5)
    weights = np.arange(a.size, dtype=np.float32).reshape(a.shape)
    for density in (False, True):
        with np.errstate(all="ignore"):
            want, _ = np.histogram(a, bins, range, density, weights)
        agree(jnp.histogram(a, bins, range, weights, density)[0], want, 1e-5)


def test_histograms_of_lanes_and_their_derivatives():
    rows = np.stack([V, V * 2])
    got = tanx.vmap(lambda a: jnp.histogram(a, 3)[0])(rows)
    agree(got, [np.histogram(row, 3)[0] for row in rows])
    adjoint(lambda w: jnp.histogram(V, 3, weights=w)[0], W)
    agree(jnp.histogram(np.array([1.0, np.nan]), np.array([0.0, 2.0]))[0], [1])


PLANE = [2, [2, 3], [np.array([0.0, 1.0, 4.0]), 3], np.array([0.0, 1.0, 4.0])]


@pytest.mark.parametrize("bins", PLANE, ids=str)
@pytest.mark.parametrize("range", [None, [[0, 2], [0, 3]]])
def test_histogram2d(bins, range):
    x, y = V, V[::-1].copy()
    want = np.histogram2d(x, y, bins, range)
    agree(jnp.histogram2d(x, y, bins, range), want, 1e-5)
    assert jnp.histogram2d(x, y, bins)[0].dtype == np.int32
    for density in (False, True):
        want = np.histogram2d(x, y, bins, range, density, W)
        agree(jnp.histogram2d(x, y, bins, range, W, density), want, 1e-5)


def test_histogramdd():
    sample = np.stack([V, W, V[::-1]], 1)
    for bins, range in [(2, None), ([2, 3, np.array([0.0, 1.0, 4.0])], None),
                        (2, [None, (0, 2), None])]:
        counts, edges = np.histogramdd(sample, bins, range)
        got = tanx.jit(lambda s, b=bins, r=range: jnp.histogramdd(s, b, r))(sample)
        agree(got[0], counts)
        agree(got[1], tuple(edges), 1e-5)
        want, _ = np.histogramdd(sample, bins, range, True, W)
        agree(jnp.histogramdd(sample, bins, range, W, True)[0], want, 1e-5)
    adjoint(lambda w: jnp.histogramdd(sample, 2, weights=w)[0], W)


def test_messages_of_histograms():
    message(NotImplementedError, lambda: jnp.histogram(V, "auto"), """\
tanx.numpy.histogram: bins must be a number or an array of edges; rules by name are not supported.
  bins: 'auto'""")
    message(ValueError, lambda: jnp.histogram(V, 3, weights=W[:2]), """\
tanx.numpy.histogram: there must be a weight for each element.
  elements: float32[6]
  weights:  float32[2]""")
    message(ValueError, lambda: jnp.histogram2d(V, V[:3]), """\
tanx.numpy.histogram2d: x and y must be vectors of one size.
  x: float32[6]
  y: float32[3]""")
    message(ValueError, lambda: jnp.histogramdd(V), """\
tanx.numpy.histogramdd: a sample has two dimensions: points and their coordinates.
  sample: float32[6]""")
    message(ValueError, lambda: jnp.histogramdd(np.stack([V, V], 1), [2]), """\
tanx.numpy.histogramdd: bins must hold an item for each dimension.
  sample: float32[6,2]
  bins: 1 of them""")
    with pytest.raises(TypeError):
        jnp.histogram(V, [0.0, 1.0])


# -- interpolation ---------------------------------------------------------------------------------

XP = np.array([0.0, 1.0, 2.5, 4.0])
FP = np.array([1.0, 3.0, 2.0, -1.0])
AT = np.array([-1.0, 0.0, 0.25, 1.0, 2.0, 3.5, 4.0, 9.0])


@pytest.mark.parametrize("ends", [{}, {"left": -7.0}, {"right": 7}, {"left": 0, "right": np.nan}],
                         ids=str)
def test_interp(ends):
    want = np.interp(AT, XP, FP, **ends)
    agree(jnp.interp(AT, XP, FP, **ends), want)
    agree(tanx.jit(lambda x, xp, fp: jnp.interp(x, xp, fp, **ends))(AT, XP, FP), want)
    agree(jnp.interp(AT.reshape(2, 4), XP, FP, **ends), want.reshape(2, 4))
    batched(lambda x, fp: jnp.interp(x, XP, fp, **ends), AT.astype(np.float32),
            FP.astype(np.float32))


@pytest.mark.parametrize("period", [4.5, 5.0, -5.0])
def test_periodic_functions(period):
    at = np.array([-6.0, -0.3, 0.0, 1.7, 4.2, 11.0])
    shuffled = np.array([2, 0, 3, 1])
    want = np.interp(at, XP, FP, period=period)
    agree(jnp.interp(at, XP, FP, period=period), want, 1e-5)
    agree(jnp.interp(at, XP[shuffled], FP[shuffled], period=period), want, 1e-5)


def test_interp_extrapolates():
    agree(jnp.interp(AT, XP, FP, left="extrapolate", right="extrapolate")[np.array([0, -1])],
          [-1, -11])
    agree(jnp.interp(AT, XP, FP, right="extrapolate")[np.array([0, -1])], [1, -11])


def test_values_of_other_types():
    assert fact(jnp.interp(1, np.arange(3), np.arange(3))) == "float32[]"
    assert fact(jnp.interp(0.5, XP.astype(np.float16), FP.astype(np.float16))) == "float16[]"
    agree(jnp.interp(AT, XP, FP * 1j), np.interp(AT, XP, FP * 1j))
    agree(jnp.interp(np.nan, XP, FP), np.nan)
    agree(jnp.interp(np.array([0.5, 2.0]), np.array([1.0]), np.array([2.0])), [2, 2])


def test_jumps():
    xp, fp = np.array([0.0, 1.0, 1.0, 2.0]), np.array([0.0, 1.0, 5.0, 6.0])
    agree(jnp.interp(np.array([0.5, 1.0, 1.5]), xp, fp), [0.5, 5, 5.5])
    agree(tanx.grad(lambda x: jnp.interp(x, xp, fp))(1.5), 1)


def test_derivatives_of_interp():
    inside = np.array([0.25, 1.75, 3.0, 3.9])
    adjoint(lambda x, xp, fp: jnp.interp(x, xp, fp), inside, XP, FP)
    adjoint(lambda x, xp, fp: jnp.interp(x, xp, fp, period=5.0), inside + 3.1, XP + 0.5, FP)
    adjoint(lambda x, fp: jnp.interp(x, XP, fp, left="extrapolate"), AT[::7] - 0.5, FP)


def test_tables_of_lanes():
    tables = np.stack([FP, FP * 2, -FP])
    got = tanx.vmap(lambda fp, x: jnp.interp(x, XP, fp))(tables, AT[1:4])
    agree(got, [np.interp(x, XP, fp) for x, fp in zip(AT[1:4], tables)])
    grids = np.stack([XP, XP + 1])
    got = tanx.vmap(lambda xp: jnp.interp(AT, xp, FP))(grids)
    agree(got, [np.interp(AT, xp, FP) for xp in grids])


def test_messages_of_interp():
    message(ValueError, lambda: jnp.interp(AT, XP, FP[:2]), """\
tanx.numpy.interp: xp and fp must be vectors of one size, and not empty.
  xp: float32[4]
  fp: float32[2]""")
    message(ValueError, lambda: jnp.interp(AT, XP, FP, left="foo"), """\
tanx.numpy.interp: left must be a number or 'extrapolate'.
  left: 'foo'""")
    with pytest.raises(TypeError):
        jnp.interp([0.5], XP, FP)
