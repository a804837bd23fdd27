"""Weighted means, covariances, correlations."""

import warnings

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tests.numpy.agreement import adjoint, agree, batched, fact, message

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 6)).astype(np.float32)
Y = RNG.normal(size=(2, 6)).astype(np.float32)
OFTEN, WEIGHTS = np.arange(6), np.abs(Y[0]) + 0.1


@pytest.mark.parametrize("options", [
    {}, {"axis": 0}, {"axis": 1, "weights": WEIGHTS}, {"weights": X ** 2}, {"axis": (0, 1)},
    {"axis": 1, "weights": WEIGHTS, "keepdims": True}, {"axis": 0, "weights": X ** 2},
    {"axis": (0, 1), "weights": X ** 2}, {"axis": (1, 0), "weights": X.T ** 2},
    {"axis": (1,), "weights": WEIGHTS}],
    ids=lambda v: str(list(v)))
def test_averages(options):
    function = lambda x: jnp.average(x, **options)
    for x in (X, OFTEN * np.ones((3, 1), int)):
        agree(function(x), np.average(x, **options), 1e-5, 1e-5)
        agree(jnp.average(x, returned=True, **options), np.average(x, returned=True, **options),
              1e-5, 1e-5)
    adjoint(function, X)
    batched(function, X)


@pytest.mark.parametrize("options", [
    {}, {"rowvar": False}, {"bias": True}, {"ddof": 2}, {"fweights": OFTEN}, {"aweights": WEIGHTS},
    {"fweights": OFTEN, "aweights": WEIGHTS}, {"bias": True, "aweights": WEIGHTS}, {"y": Y},
    {"y": Y * (1 + 2j)}], ids=lambda v: str(list(v)))
def test_covariances(options):
    for x in (X, X[0], np.round(3 * X).astype(int), X * (1 + 1j)):
        agree(jnp.cov(x, **options), np.cov(x, **options), 1e-4, 1e-4)
    if np.isrealobj(options.get("y", X)):
        adjoint(lambda x: jnp.cov(x, **options), X)
        batched(lambda x: jnp.cov(x, **options), X)


def test_correlations():
    for x in (X, X[0], np.round(3 * X).astype(int), X * (1 + 1j), X + 1j * X[::-1]):
        agree(jnp.corrcoef(x), np.corrcoef(x), 1e-4, 1e-4)
    agree(jnp.corrcoef(X, Y), np.corrcoef(X, Y), 1e-4, 1e-4)
    agree(jnp.corrcoef(X[:, :3], rowvar=False), np.corrcoef(X[:, :3], rowvar=False), 1e-4, 1e-4)
    batched(jnp.corrcoef, X)


def test_one_case_has_no_covariance():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        agree(jnp.cov(3.0), np.nan)
        agree(jnp.corrcoef(3.0), np.nan)


def test_types_of_results():
    x = jnp.ones((2, 3), "int8")
    assert fact(jnp.average(x, 0)) == "float32[3]" and fact(jnp.cov(x)) == "float32[2,2]"
    assert fact(jnp.average(jnp.ones(3, "bfloat16"), weights=jnp.ones(3))) == "float32[]"
    assert fact(jnp.cov(x, dtype="bfloat16")) == "bfloat16[2,2]"


def test_jaxprs():
    jaxpr = tanx.make_jaxpr(lambda x, w: jnp.average(x, 1, w))(jnp.ones((2, 3)), jnp.ones(3))
    assert str(jaxpr) == """\
{ lambda ; a:f32[2,3] b:f32[3]. let
    c:f32[1,3] = reshape[dimensions=None new_sizes=(1, 3) sharding=None] b
    d:f32[1] = reduce_sum[axes=(1,) out_sharding=None] c
    e:f32[2,3] = mul a c
    f:f32[2] = reduce_sum[axes=(1,) out_sharding=None] e
    g:f32[2] = div f d
  in (g,) }"""


MISTAKES = [
    (ValueError, lambda: jnp.average(X, weights=WEIGHTS), """\
tanx.numpy.average: weights of another shape than the array need an axis.
  array:   float32[3,6]
  weights: float32[6]
  axis:    None"""),
    (ValueError, lambda: jnp.average(X, 0, WEIGHTS), """\
tanx.numpy.average: weights must have the shape of the array, or that of its axes.
  array:   float32[3,6]
  weights: float32[6]
  axis:    0
  Hint: weights.shape is tuple(a.shape[d] for d in axis)."""),
    (ValueError, lambda: jnp.cov(X[None]), """\
tanx.numpy.cov: takes vectors and matrices.
  array: float32[1,3,6]"""),
    (ValueError, lambda: jnp.cov(X, dtype=int), """\
tanx.numpy.cov: dtype must be a subclass of float or complex.
  dtype: int32"""),
    (TypeError, lambda: jnp.cov(X, fweights=WEIGHTS), """\
tanx.numpy.cov: fweights must be integers.
  fweights: float32[6]"""),
    (RuntimeError, lambda: jnp.cov(X, aweights=WEIGHTS[:2]), """\
tanx.numpy.cov: aweights must be a vector with one number for each case.
  aweights: float32[2]
  cases:    6"""),
]


@pytest.mark.parametrize("error, call, text", MISTAKES)
def test_mistakes(error, call, text):
    message(error, call, text)
