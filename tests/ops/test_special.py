"""Special functions: edge values, accuracy, derivatives with respect to the order."""

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
    ("digamma", scipy.special.digamma, 2, 50), ("bessel_i0e", scipy.special.i0e, -60, 60),
    ("bessel_i1e", scipy.special.i1e, -60, 60)])
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
  m: ~float32[]
  Hint: hold the order constant, as with tanx.lax.stop_gradient."""


def test_second_derivative_of_lgamma():
    np.testing.assert_allclose(tanx.grad(tanx.grad(lax.lgamma))(1.0), np.pi**2 / 6, rtol=1e-6)


COMPILED = [lambda f: f, tanx.jit]


@pytest.mark.parametrize("way", COMPILED)
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
def test_incomplete_functions_are_exact_to_rounding(way, dtype):
    rng = np.random.default_rng(1)
    with tanx.enable_x64(True):
        a, b = rng.uniform(0.05, 30, (2, 400)).astype(dtype)
        x = (a.astype(float) * rng.uniform(0.05, 3, 400)).astype(dtype)
        unit = rng.uniform(0.01, 0.99, 400).astype(dtype)
        wide_a, wide_b, wide_x, wide_unit = (v.astype(np.float64) for v in (a, b, x, unit))
        for name, args, want in [
                ("igamma", (a, x), scipy.special.gammainc(wide_a, wide_x)),
                ("igammac", (a, x), scipy.special.gammaincc(wide_a, wide_x)),
                ("betainc", (a, b, unit), scipy.special.betainc(wide_a, wide_b, wide_unit))]:
            got = np.asarray(way(getattr(lax, name))(*args))
            assert got.dtype == dtype
            eps = float(ml_dtypes.finfo(dtype).eps)
            small = float(ml_dtypes.finfo(dtype).tiny)
            np.testing.assert_allclose(got.astype(np.float64), want,
                                       rtol=max(2 * eps, 2e-11), atol=small)


@pytest.mark.parametrize("way", COMPILED)
def test_derivative_of_igamma_by_its_parameter(way):
    rng = np.random.default_rng(2)
    a = rng.uniform(0.05, 30, 300)
    x = a * rng.uniform(0.05, 3, 300)
    step = 1e-4 * np.maximum(1, a)
    p = scipy.special.gammainc
    want = (8 * (p(a + step, x) - p(a - step, x)) - p(a + 2 * step, x) + p(a - 2 * step, x)) / (
        12 * step)
    with tanx.enable_x64(True):
        np.testing.assert_allclose(way(lax.igamma_grad_a)(a, x), want, rtol=1e-6, atol=1e-10)
        got = way(lax.igamma_grad_a)(a.astype(np.float32), x.astype(np.float32))
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("way", COMPILED)
def test_edges_of_incomplete_functions(way):
    a = np.array([1, 1, -1, 1, inf, 1, nan, 1, 0, 0, 0.5], np.float32)
    x = np.array([0, inf, 1, -1, 1, nan, 1, 1e30, 0, 1, 0], np.float32)
    np.testing.assert_array_equal(
        way(lax.igamma)(a, x), [0, 1, nan, nan, 0, nan, nan, 1, nan, 1, 0])
    np.testing.assert_array_equal(
        way(lax.igammac)(a, x), [1, 0, nan, nan, 1, nan, nan, 0, nan, 0, 1])
    a, x = (np.array(v, np.float32) for v in ([1, 1, 0, -1, 1, inf, nan, 1, 2],
                                              [inf, 0, 1, 1, -1, 1, 1, nan, 300]))
    np.testing.assert_array_equal(way(lax.igamma_grad_a)(a, x), [nan, 0] + [nan] * 6 + [0])
    a, b, x = (np.array(v, np.float32) for v in (
        [1, 1, 1, -1, 1, nan, 0, 1], [2, 2, 2, 1, 1, 1, 1, 0],
        [0, 1, 1.5, 0.5, nan, 0.5, 0.5, 0.5]))
    np.testing.assert_array_equal(
        way(lax.betainc)(a, b, x), scipy.special.betainc(a, b, x))
    x = np.array([0, -0.0, inf, -inf, nan], np.float32)
    np.testing.assert_allclose(way(lax.bessel_i0e)(x), [1, 1, 0, 0, nan], rtol=1.2e-7)
    i1e = np.asarray(way(lax.bessel_i1e)(x))
    np.testing.assert_array_equal(i1e, [0, -0.0, 0, -0.0, nan])
    np.testing.assert_array_equal(np.signbit(i1e[:4]), [False, True, False, True])


def test_missing_derivatives_raise():
    with pytest.raises(ValueError) as info:
        tanx.grad(lax.betainc)(1.0, 2.0, 0.5)
    assert str(info.value) == """\
tanx.lax.betainc: has derivatives by its last operand only.
  a: ~float32[]
  b: ~float32[]
  Hint: hold the parameters constant, as with tanx.lax.stop_gradient."""
    with pytest.raises(NotImplementedError) as missing:
        tanx.grad(tanx.grad(lax.igamma))(1.0, 2.0)
    assert str(missing.value) == """\
tanx.lax.igamma: has no second derivative by its first operand.
  a: ~float32[]
  Hint: hold it constant, as with tanx.lax.stop_gradient."""


def test_mixed_second_derivative_of_igamma():
    mixed = tanx.grad(tanx.grad(lax.igamma), 1)(2.0, 1.5)
    density = 1.5 * np.exp(-1.5)
    np.testing.assert_allclose(mixed, density * (np.log(1.5) - scipy.special.psi(2.0)), rtol=1e-5)


def test_slope_of_bessel_at_zero():
    assert tanx.grad(lax.bessel_i1e)(0.0) == 0.5
    assert tanx.grad(lax.bessel_i0e)(0.0) == 0.0
