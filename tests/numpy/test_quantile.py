"""Quantiles, percentiles and medians."""

import warnings

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tests.numpy.agreement import adjoint, agree, batched, fact, message

X = np.random.default_rng(0).normal(size=(3, 4, 5)).astype(np.float32)
HOLES = np.where(np.abs(X) > 1, np.nan, X)
Q = np.array([0.0, 0.1, 0.33, 0.5, 0.77, 1.0], np.float32)
WEIGHTS = np.array([1.0, 0.0, 2.0, 3.0, 0.5])

METHODS = ["linear", "lower", "higher", "midpoint", "inverted_cdf", "averaged_inverted_cdf",
           "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull",
           "median_unbiased", "normal_unbiased"]


@pytest.mark.parametrize("options", [
    {"axis": 0}, {"axis": -1, "keepdims": True}, {"axis": None, "keepdims": True}, {"axis": (0, 2)},
    {"axis": (2, 1), "keepdims": True}], ids=str)
def test_shapes(options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for x in (X, HOLES, np.arange(60).reshape(X.shape)):
            for name in ("quantile", "nanquantile"):
                agree(getattr(jnp, name)(x, Q, **options), getattr(np, name)(x, Q, **options), 1e-4,
                      1e-5)
                agree(getattr(jnp, name)(x, 0.3, **options), getattr(np, name)(x, 0.3, **options),
                      1e-4, 1e-5)
            for name in ("median", "nanmedian"):
                agree(getattr(jnp, name)(x, **options), getattr(np, name)(x, **options), 1e-5)
            for name in ("percentile", "nanpercentile"):
                agree(getattr(jnp, name)(x, 30, **options), getattr(np, name)(x, 30, **options),
                      1e-4, 1e-5)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 10])
@pytest.mark.parametrize("method", METHODS)
def test_methods(method, n):
    x, q = X.ravel()[:n], np.linspace(0, 1, 21).astype(np.float32)
    want = np.quantile(x, q, method=method)
    agree(jnp.quantile(x, q, method=method), want, 1e-4, 1e-5)
    agree(jnp.nanquantile(np.append(x, np.nan), q, method=method), want, 1e-4, 1e-5)


def test_the_nearest_of_two_is_the_lower():
    agree(jnp.quantile(np.arange(4.0), np.array([0.5, 0.49, 0.51]), method="nearest"), [1, 1, 2])


def test_weights():
    ask = {"method": "inverted_cdf"}
    for q in (Q, 0.4):
        agree(jnp.quantile(X, q, 2, weights=WEIGHTS, **ask),
              np.quantile(X, q, 2, weights=WEIGHTS, **ask))
        agree(jnp.quantile(X, q, weights=np.abs(X), **ask),
              np.quantile(X, q, weights=np.abs(X), **ask))
        agree(jnp.quantile(X, q, (0, 1), weights=np.abs(X), keepdims=True, **ask),
              np.quantile(X, q, (0, 1), weights=np.abs(X), keepdims=True, **ask))
    holes = np.append(X[0, 0], np.nan)
    weights = np.append(WEIGHTS, 1)
    assert np.isnan(jnp.quantile(holes, 0.5, weights=weights, **ask))
    agree(jnp.nanquantile(holes, Q, weights=weights, **ask),
          np.quantile(X[0, 0], Q, weights=WEIGHTS, **ask))


def test_types_of_results():
    assert fact(jnp.median(jnp.arange(4))) == "float32[]"
    assert fact(jnp.quantile(jnp.ones(3, bool), 0.5)) == "float32[]"
    assert fact(jnp.quantile(jnp.ones(3, "bfloat16"), jnp.float32(0.3))) == "bfloat16[]"
    assert fact(jnp.percentile(3.0, jnp.arange(2))) == "float32[2]"


@pytest.mark.parametrize("function", [
    lambda x: jnp.median(x, 1), lambda x: jnp.quantile(x, Q, (0, 2)),
    lambda x: jnp.nanquantile(x, 0.3, 1, keepdims=True), lambda x: jnp.percentile(x, 40)])
def test_derivatives_and_batches(function):
    adjoint(function, X)
    batched(function, X)


def test_shares_may_be_traced():
    agree(tanx.vmap(lambda q: jnp.quantile(X, q))(Q), np.quantile(X, Q), 1e-4, 1e-5)


MISTAKES = [
    (ValueError, lambda: jnp.quantile(X, 0.5, out=X), """\
tanx.numpy.quantile: arrays are immutable, so out is not supported.
  Hint: use the result."""),
    (ValueError, lambda: jnp.quantile(X + 1j, 0.5), """\
tanx.numpy.quantile: complex numbers have no order.
  array: complex64[3,4,5]"""),
    (ValueError, lambda: jnp.quantile(X, X), """\
tanx.numpy.quantile: q must be a scalar or a vector.
  q: float32[3,4,5]"""),
    (ValueError, lambda: jnp.nanquantile(X, 0.5, method="guess"), f"""\
tanx.numpy.nanquantile: there is no such method.
  method: 'guess'
  known:  linear, lower, higher, nearest, midpoint, {', '.join(METHODS[4:])}"""),
    (ValueError, lambda: jnp.median(jnp.zeros((0, 3)), 0), """\
tanx.numpy.median: there are no elements over the axis.
  array: float32[0,3]
  axis:  0"""),
    (NotImplementedError, lambda: jnp.quantile(X, 0.5, weights=X), """\
tanx.numpy.quantile: weights need method='inverted_cdf'.
  method: 'linear'"""),
    (ValueError, lambda: jnp.quantile(X, 0.5, weights=WEIGHTS, method="inverted_cdf"), """\
tanx.numpy.quantile: weights have the shape of the array, or that of one axis.
  array:   float32[3,4,5]
  weights: float32[5]
  axis:    None"""),
]


@pytest.mark.parametrize("error, call, text", MISTAKES)
def test_mistakes(error, call, text):
    message(error, call, text)
