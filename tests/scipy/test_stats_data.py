"""Statistics of data and densities estimated from it: SciPy's numbers, JAX's samples, errors."""

import warnings

import ml_dtypes
import numpy as np
import pytest
from scipy import stats as reference

import tanx
import tanx.numpy as jnp
from tanx.scipy.stats import gaussian_kde, mode, rankdata, sem
from tests.numpy.agreement import adjoint, agree, batched
from tests.scipy.lives import check

RNG = np.random.default_rng(0)
COUNTS = RNG.integers(0, 4, (5, 6))
FLOATS = (COUNTS / 2).astype(np.float32)
WITH_NAN = np.where(COUNTS == 3, np.nan, FLOATS).astype(np.float32)


# -- mode ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [0, 1, -1, None])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("data", [COUNTS, FLOATS, COUNTS > 1, FLOATS.reshape(5, 3, 2)])
def test_mode(data, axis, keepdims):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = reference.mode(data.astype(float), axis=axis, keepdims=keepdims)
    got = mode(data, axis, keepdims=keepdims)
    assert got.mode.dtype == jnp.asarray(data).dtype and got.count.dtype == "int32"
    check(lambda x: mode(x, axis, keepdims=keepdims), (data,), tuple(want))


def test_mode_of_little():
    assert mode(jnp.float32(3)) == (3, 1)
    agree(mode(jnp.array([np.nan, np.nan, 1.0])), (np.nan, 2))
    agree(mode(jnp.array([np.nan, 1.0])), (1, 1))
    agree(mode(jnp.zeros((0, 2))), ([np.nan] * 2, [0, 0]))
    assert [x.shape for x in mode(jnp.zeros((0, 2)), axis=1)] == [(0,), (0,)]
    batched(lambda x: mode(x), FLOATS)


# -- ranks -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("method", ["average", "min", "max", "dense", "ordinal"])
@pytest.mark.parametrize("data", [COUNTS, FLOATS, COUNTS > 1, WITH_NAN, FLOATS[:0]])
def test_ranks(data, method, axis):
    want = reference.rankdata(data, method, axis=axis)
    if data is WITH_NAN and axis is None:
        want = np.full(data.size, np.nan)
    assert rankdata(data, method, axis=axis).dtype == "float32"
    check(lambda x: rankdata(x, method, axis=axis), (data,), want)
    batched(lambda x: rankdata(x, method, axis=axis), FLOATS)


# -- standard errors -------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["propagate", "omit"])
@pytest.mark.parametrize("options", [
    dict(), dict(axis=1), dict(axis=None), dict(ddof=0), dict(axis=1, keepdims=True),
    dict(axis=None, keepdims=True)], ids=str)
def test_standard_errors(options, policy):
    for data in (FLOATS, COUNTS, WITH_NAN):
        want = np.asarray(reference.sem(np.asarray(data, float), nan_policy=policy, **options))
        check(lambda x: sem(x, nan_policy=policy, **options), (data,), want)
    adjoint(lambda x: sem(x, nan_policy=policy, **options), FLOATS)


def test_dtypes_of_standard_errors():
    for dtype in (np.float16, ml_dtypes.bfloat16, np.float32, np.complex64):
        assert sem(FLOATS.astype(dtype)).dtype == dtype
    assert np.isnan(sem(jnp.zeros((0, 2)))).all() and np.isnan(sem(jnp.ones((1, 2)))).all()


@pytest.mark.parametrize("error, call", [
    (ValueError, lambda: mode(FLOATS, nan_policy="x")),
    (NotImplementedError, lambda: mode(FLOATS, nan_policy="omit")),
    (ValueError, lambda: mode(FLOATS, axis=2)),
    (TypeError, lambda: mode([1, 2])),
    (ValueError, lambda: rankdata(FLOATS, "best")),
    (NotImplementedError, lambda: rankdata(FLOATS, nan_policy="raise")),
    (ValueError, lambda: rankdata(FLOATS, axis=2)),
    (ValueError, lambda: sem(FLOATS, nan_policy="raise")),
    (IndexError, lambda: sem(jnp.float32(3))),
])
def test_errors(error, call):
    with pytest.raises(error, match=r"^tanx\.scipy\.stats\.\w+: "):
        call()


# -- estimates of densities ------------------------------------------------------------------------

LINE, PLANE = RNG.normal(size=20), RNG.normal(size=(2, 20))
WEIGHTS = RNG.uniform(0.1, 1, 20)
GRID = np.linspace(-3, 3, 7)


@pytest.fixture(params=["line", "plane", "weighted", "weighted plane"])
def samples(request):
    """Samples, weights, and points of evaluation."""
    data = PLANE if "plane" in request.param else LINE
    points = RNG.normal(size=(2, 5)) if "plane" in request.param else GRID
    return data, WEIGHTS if "weighted" in request.param else None, points


@pytest.mark.parametrize("method", [None, "scott", "silverman", 0.4, lambda kde: 0.3])
def test_estimates(samples, method):
    data, weights, points = samples
    theirs = reference.gaussian_kde(data, method, weights)
    with tanx.enable_x64(True):
        ours = gaussian_kde(data, method, weights)
        assert (ours.d, ours.n) == (theirs.d, theirs.n)
        for name in ("neff", "dataset", "weights", "covariance", "inv_cov"):
            agree(getattr(ours, name), getattr(theirs, name), 1e-10, 1e-12)
        for way in (ours, ours.pdf, ours.evaluate):
            agree(way(points), theirs(points), 1e-10)
        agree(ours.logpdf(points), theirs.logpdf(points), 1e-10)


def test_tails_of_estimates():
    """The logarithm of a density that underflows."""
    estimate = gaussian_kde(np.float32(LINE))
    agree(estimate.logpdf(jnp.array([100.0])), reference.gaussian_kde(LINE).logpdf([100.0]), 1e-4)


def test_integrals(samples):
    data, weights, _ = samples
    ours, theirs = gaussian_kde(data, None, weights), reference.gaussian_kde(data, None, weights)
    mean, cov = np.full(theirs.d, 0.3), np.eye(theirs.d) * 1.5
    agree(ours.integrate_gaussian(mean, cov), theirs.integrate_gaussian(mean, cov), 1e-5)
    other = np.atleast_2d(data)[:, :7] + 1
    agree(ours.integrate_kde(gaussian_kde(other)),
          theirs.integrate_kde(reference.gaussian_kde(other)), 1e-5)
    if theirs.d == 1:
        agree(ours.integrate_box_1d(-1, 0.5), theirs.integrate_box_1d(-1, 0.5), 1e-5)
        agree(ours.integrate_box_1d(-np.inf, np.inf), 1.0, 1e-5)


def test_estimates_are_trees(samples):
    data, weights, points = (None if x is None else np.float32(x) for x in samples)
    estimate = gaussian_kde(data, None, weights)
    want = reference.gaussian_kde(data, None, weights)(points)
    check(lambda kde, points: kde(points), (estimate, points), want, 1e-4)
    check(lambda data, points: gaussian_kde(data, None, weights)(points), (data, points), want,
          1e-4)
    again = tanx.jit(lambda kde: kde)(estimate)
    assert isinstance(again, gaussian_kde) and again.n == 20
    agree(tanx.vmap(lambda kde, p: kde(p), (None, -1))(estimate, points)[:, 0], want, 1e-4)
    adjoint(lambda data, points: gaussian_kde(data, None, weights).logpdf(points), data, points)


def test_samples_of_estimates():
    """JAX's numbers for the same key, and the moments of the estimate."""
    data = jnp.asarray(np.random.default_rng(0).normal(size=20).astype("f"))
    got = gaussian_kde(data).resample(tanx.random.key(0), (3,))
    agree(got, [[-1.0662837, -1.5203897, -0.6337067]], 1e-5)
    estimate = gaussian_kde(np.float32(PLANE))
    assert estimate.resample(tanx.random.key(1)).shape == (2,)
    many = estimate.resample(tanx.random.key(1), (100, 200))
    assert many.shape == (2, 100, 200)
    agree(many.mean((1, 2)), PLANE.mean(1), 0.1, 0.03)
    agree(np.cov(many.reshape(2, -1)), np.cov(PLANE, bias=True) + np.asarray(estimate.covariance),
          0.1, 0.03)


@pytest.mark.parametrize("error, call", [
    (ValueError, lambda k: gaussian_kde(LINE[:1])),
    (ValueError, lambda k: gaussian_kde(np.ones((2, 3, 4)))),
    (ValueError, lambda k: gaussian_kde(LINE, "best")),
    (ValueError, lambda k: gaussian_kde(LINE, weights=WEIGHTS[:3])),
    (ValueError, lambda k: gaussian_kde(LINE, weights=np.ones((2, 20)))),
    (NotImplementedError, lambda k: gaussian_kde(LINE + 1j)),
    (TypeError, lambda k: gaussian_kde([1.0, 2.0])),
    (ValueError, lambda k: k(np.ones((3, 2)))),
    (ValueError, lambda k: k.integrate_gaussian(np.zeros(3), np.eye(2))),
    (ValueError, lambda k: k.integrate_gaussian(np.zeros(2), 1.0)),
    (ValueError, lambda k: k.integrate_box_1d(0, 1)),
    (ValueError, lambda k: gaussian_kde(LINE).integrate_box_1d(GRID, GRID)),
    (ValueError, lambda k: k.integrate_kde(gaussian_kde(LINE))),
    (NotImplementedError, lambda k: k.integrate_box([0, 0], [1, 1])),
    (NotImplementedError, lambda k: k.set_bandwidth()),
    (AttributeError, lambda k: setattr(k, "neff", 3)),
])
def test_errors_of_estimates(error, call):
    with pytest.raises(error, match=r"^tanx\.scipy\.stats\.gaussian_kde"):
        call(gaussian_kde(PLANE))
