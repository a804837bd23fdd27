"""Reductions that ignore NaN."""

import warnings

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tests.numpy.agreement import adjoint, agree, batched, fact, message

X = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)
HOLES = np.where(np.abs(X) > 1, np.nan, X)
FULL = np.nan_to_num(HOLES)
REDUCTIONS = ["nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd"]


@pytest.fixture(autouse=True)
def quiet():
    """Ignore NumPy's warnings about slices that contain only NaN."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2)], ids=str)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name, axis, keepdims):
    for x in (HOLES, np.full_like(X, np.nan), np.arange(24).reshape(X.shape)):
        agree(getattr(jnp, name)(x, axis, keepdims=keepdims),
              getattr(np, name)(x, axis, keepdims=keepdims), 1e-5, 1e-5)


@pytest.mark.parametrize("axis", [None, 0, -1])
@pytest.mark.parametrize("name", ["nanargmax", "nanargmin"])
def test_positions(name, axis):
    agree(getattr(jnp, name)(FULL, axis), getattr(np, name)(FULL, axis))
    x = HOLES.copy()
    x[..., 0, 0] = 0
    x[0] = 0
    agree(getattr(jnp, name)(x, axis, keepdims=True), getattr(np, name)(x, axis, keepdims=True))
    agree(getattr(jnp, name)(np.full((2, 3), np.nan), 1), [-1, -1])


def test_other_ways_to_ask():
    mask = X < 0.5
    agree(jnp.nansum(HOLES, 1, where=mask, initial=2), np.nansum(HOLES, 1, where=mask, initial=2),
          1e-5)
    agree(jnp.nanmax(HOLES, 1, where=mask, initial=-2), np.nanmax(HOLES, 1, where=mask, initial=-2))
    agree(jnp.nanmean(HOLES, 0, where=mask), np.nanmean(HOLES, 0, where=mask), 1e-5)
    agree(jnp.nanvar(HOLES, 2, ddof=1, where=mask), np.nanvar(HOLES, 2, ddof=1, where=mask), 1e-5)
    center = np.nanmean(HOLES, 0, keepdims=True)
    agree(jnp.nanstd(HOLES, 0, mean=center), np.nanstd(HOLES, 0), 1e-5)
    agree(jnp.nanvar(HOLES * (1 + 2j)), np.nanvar(HOLES * (1 + 2j)), 1e-5)


def test_types_of_results():
    narrow = jnp.ones(3, "bfloat16")
    assert {fact(getattr(jnp, name)(narrow)) for name in REDUCTIONS} == {"bfloat16[]"}
    ints = jnp.ones(3, "int8")
    assert fact(jnp.nansum(ints)) == "int32[]" and fact(jnp.nanmax(ints)) == "int8[]"
    assert fact(jnp.nanmean(ints)) == fact(jnp.nanvar(ints)) == "float32[]"
    assert fact(jnp.nanargmax(ints)) == "int32[]"


@pytest.mark.parametrize("name", REDUCTIONS)
def test_derivatives_and_batches(name):
    function = lambda x: getattr(jnp, name)(x, 1)
    adjoint(function, X)
    batched(function, HOLES)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_skipped_nans_have_zero_gradient(name):
    gradient = tanx.grad(lambda x: getattr(jnp, name)(x))(jnp.asarray(HOLES[0, 0]))
    agree(np.asarray(gradient)[np.isnan(HOLES[0, 0])], np.zeros(np.isnan(HOLES[0, 0]).sum()))


def test_mistakes():
    message(NotImplementedError, lambda: jnp.nansum(X, out=X), """\
tanx.numpy.nansum: arrays are immutable, so out is not supported.
  Hint: use the result.""")
