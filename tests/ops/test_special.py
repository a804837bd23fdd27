"""Special functions: values at the edges, accuracy, derivatives by order."""

import ml_dtypes
import numpy as np
import pytest
import scipy.special

import tanx
from tanx import lax

nan, inf = np.nan, np.inf


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
@pytest.mark.parametrize("name, reference, low, high", [
    ("erf", scipy.special.erf, -4, 4), ("erfc", scipy.special.erfc, -4, 8),
    ("erf_inv", scipy.special.erfinv, -0.99, 0.99), ("lgamma", scipy.special.gammaln, 3, 50),
    ("digamma", scipy.special.digamma, 2, 50)])
def test_accuracy_against_float64(name, reference, low, high, dtype):
    x = np.random.default_rng(0).uniform(low, high, 500).astype(dtype)
    got = np.asarray(getattr(lax, name)(x)).astype(np.float64)
    np.testing.assert_allclose(got, reference(x.astype(np.float64)),
                               rtol=8 * float(ml_dtypes.finfo(dtype).eps))


def test_edge_values():
    x = np.array([0, -0.0, -1, inf, -inf, nan], np.float32)
    np.testing.assert_array_equal(lax.lgamma(x), [inf, inf, inf, inf, inf, nan])
    np.testing.assert_array_equal(lax.digamma(x), [-inf, -inf, nan, inf, nan, nan])
    np.testing.assert_array_equal(lax.erf(x[3:]), [1, -1, nan])
    np.testing.assert_array_equal(lax.erf_inv(np.array([-1, 1, 2], np.float32)), [-inf, inf, nan])


def test_polygamma():
    x = np.array([0.5, 1, 4.5], np.float32)
    for order in range(4):
        np.testing.assert_allclose(lax.polygamma(np.float32(order), x),
                                   scipy.special.polygamma(order, np.float64(x)), rtol=2e-6)
    np.testing.assert_array_equal(lax.polygamma(np.array([0.5, -1], np.float32), x[:2]), nan)
    with pytest.raises(ValueError) as info:
        tanx.grad(lax.polygamma)(1.0, 2.0)
    assert str(info.value) == """\
tanx.lax.polygamma: has no derivative by its order.
  m: f32[]
  Hint: hold the order constant, as with tanx.lax.stop_gradient."""


def test_second_derivative_of_lgamma():
    np.testing.assert_allclose(tanx.grad(tanx.grad(lax.lgamma))(1.0), np.pi**2 / 6, rtol=1e-6)
