"""Transcendental functions: accuracy against higher precision, edge values, printed forms."""

import ml_dtypes
import numpy as np
import pytest

import tanx
from tanx import lax

nan, inf = np.nan, np.inf
f32 = np.float32

# The NumPy function, and an interval of interest.
FUNCTIONS = {
    "exp": (np.exp, -80, 80), "exp2": (np.exp2, -120, 120), "expm1": (np.expm1, -3, 80),
    "log": (np.log, 1e-30, 1e30), "log2": (np.log2, 1e-30, 1e30), "log1p": (np.log1p, -0.99, 1e6),
    "sin": (np.sin, -100, 100), "cos": (np.cos, -100, 100), "tan": (np.tan, -1.5, 1.5),
    "asin": (np.arcsin, -1, 1), "acos": (np.arccos, -1, 1), "atan": (np.arctan, -50, 50),
    "sinh": (np.sinh, -80, 80), "cosh": (np.cosh, -80, 80), "tanh": (np.tanh, -10, 10),
    "asinh": (np.arcsinh, -1e6, 1e6), "acosh": (np.arccosh, 1, 1e6),
    "atanh": (np.arctanh, -0.99, 0.99),
    "logistic": (lambda x: 1 / (1 + np.exp(-x)), -80, 80)}


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_accuracy_against_float64(name, dtype):
    reference, low, high = FUNCTIONS[name]
    if dtype == np.float16:
        low, high = max(low, -8), min(high, 8)
    x = np.random.default_rng(0).uniform(low, high, 1000).astype(dtype)
    with np.errstate(all="ignore"):
        want = reference(x.astype(np.float64)).astype(dtype).astype(np.float64)
    got = np.asarray(getattr(lax, name)(x)).astype(np.float64)
    ulps = 4 * float(ml_dtypes.finfo(dtype).eps)
    np.testing.assert_allclose(got, want, rtol=ulps, atol=ulps * 1e-3)


def test_edge_values():
    x = np.array([-inf, inf, nan], f32)
    np.testing.assert_array_equal(lax.exp(x), [0, inf, nan])
    np.testing.assert_array_equal(lax.log(x), [nan, inf, nan])
    np.testing.assert_array_equal(lax.tanh(x), [-1, 1, nan])
    np.testing.assert_array_equal(lax.logistic(x), [0, 1, nan])
    np.testing.assert_array_equal(lax.log(np.array([0, -1], f32)), [-inf, nan])
    np.testing.assert_array_equal(lax.acosh(np.array([0.5, 1], f32)), [nan, 0])
    np.testing.assert_array_equal(np.signbit(lax.sin(f32(-0.0))), True)
    np.testing.assert_allclose(lax.atan2(np.array([0, -0.0, 0, 1], f32),
                                         np.array([1, -1, -1, 0], f32)),
                               [0, -np.pi, np.pi, np.pi / 2], rtol=1e-6)


def test_small_complex_arguments_are_exact():
    x = np.complex64(1e-5 + 1e-5j)
    exact = np.complex128(x)
    want = exact - exact**2 / 2 + exact**3 / 3
    np.testing.assert_allclose(lax.log1p(x), want, rtol=1e-6)
    np.testing.assert_allclose(lax.expm1(x), exact + exact**2 / 2, rtol=1e-6)


def test_atan2_of_complex_numbers():
    x, y = np.complex64(1 + 1j), np.complex64(2 - 1j)
    np.testing.assert_allclose(np.tan(np.complex128(lax.atan2(x, y))), x / y, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_slope_of_asinh_of_huge_numbers_does_not_overflow(dtype):
    slope = tanx.grad(lax.asinh, holomorphic=dtype == np.complex64)
    np.testing.assert_allclose(slope(dtype(1e30)), 1e-30, rtol=1e-5)
    np.testing.assert_allclose(slope(dtype(inf)), 0)


def test_accuracy_is_kept_in_jaxprs():
    highest = lax.AccuracyMode.HIGHEST
    jaxpr = tanx.make_jaxpr(lambda x: tanx.jvp(
        lambda x: lax.sin(x, accuracy=highest), (x,), (x,)))(np.ones(3, f32))
    assert str(jaxpr) == """\
{ lambda ; a:f32[3]. let
    b:f32[3] = sin[accuracy=AccuracyMode.HIGHEST] a
    c:f32[3] = cos[accuracy=AccuracyMode.HIGHEST] a
    d:f32[3] = mul a c
  in (b, d) }"""


def test_form_of_a_gradient():
    x = np.ones(3, f32)
    assert str(tanx.make_jaxpr(lambda x, c: tanx.vjp(lax.tanh, x)[1](c))(x, x)) == """\
{ lambda ; a:f32[3] b:f32[3]. let
    c:f32[3] = tanh a
    d:f32[3] = one_minus_square c
    e:f32[3] = mul b d
  in (e,) }"""


def test_integers_are_refused():
    with pytest.raises(TypeError) as info:
        lax.exp(np.int32(1))
    assert str(info.value) == """\
tanx.lax.exp: does not take int32 operands.
  operand: int32[]
  takes:   floating point, complex"""
