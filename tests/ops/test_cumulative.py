"""Cumulative reductions: edge values, precision, and messages."""

import ml_dtypes
import numpy as np
import pytest

import tanx
from tanx import lax

F32 = np.float32


def test_sums_stay_precise_however_long():
    x = np.full(1_000_000, 0.1, F32)
    exact = np.cumsum(x.astype(np.float64))
    np.testing.assert_allclose(lax.cumsum(x), exact, rtol=1e-7)


def test_narrow_floats_accumulate_in_float32():
    out = lax.cumsum(np.ones(1000, ml_dtypes.bfloat16))
    assert out.dtype == ml_dtypes.bfloat16
    assert float(np.asarray(out)[-1]) == 1000


def test_integers_wrap_around():
    np.testing.assert_array_equal(lax.cumsum(np.full(3, 100, np.int8)), [100, -56, 44])
    out = lax.cumsum(np.full(3, 7, ml_dtypes.int4))
    np.testing.assert_array_equal(np.asarray(out).astype(int), [7, -2, 5])


def test_after_a_nan_all_is_nan():
    x = np.array([1, np.nan, 3, np.inf], F32)
    for fun in (lax.cumsum, lax.cumprod, lax.cummax, lax.cummin, lax.cumlogsumexp):
        np.testing.assert_array_equal(np.isnan(fun(x)), [False, True, True, True])
        np.testing.assert_array_equal(np.isnan(fun(x, reverse=True)), [True, True, False, False])


def test_infinities_in_log_sum_exp():
    x = np.array([-np.inf, -np.inf, 3, np.inf, -np.inf], F32)
    np.testing.assert_array_equal(lax.cumlogsumexp(x), [-np.inf, -np.inf, 3, np.inf, np.inf])
    _, slope = tanx.jvp(lax.cumlogsumexp, (x[1:],), (np.ones(4, F32),))
    assert np.isfinite(np.asarray(slope)[:2]).all()


def test_log_sum_exp_does_not_overflow():
    x = np.array([1000, 1000, 999], F32)
    expected = 1000 + np.log(np.cumsum(np.exp(x.astype(float) - 1000)))
    np.testing.assert_allclose(lax.cumlogsumexp(x), expected, rtol=1e-7)


def test_the_derivative_of_products_survives_zeros():
    x = np.array([2, 0, 3], F32)
    jacobian = tanx.jacfwd(lax.cumprod)(x)
    np.testing.assert_array_equal(jacobian, [[1, 0, 0], [0, 2, 0], [0, 6, 0]])


def test_jaxprs():
    x = np.ones(3, F32)
    assert str(tanx.make_jaxpr(lambda v: lax.cumsum(v, 0, True))(x)) == (
        "{ lambda ; a:f32[3]. let b:f32[3] = cumsum[axis=0 reverse=True] a in (b,) }")
    assert str(tanx.make_jaxpr(lambda v: tanx.vjp(lax.cumsum, v)[1](v))(x)) == """\
{ lambda ; a:f32[3]. let
    _:f32[3] = cumsum[axis=0 reverse=False] a
    b:f32[3] = cumsum[axis=0 reverse=True] a
  in (b,) }"""
    assert str(tanx.make_jaxpr(lambda v: tanx.jvp(lax.cummax, (v,), (v,)))(x[:1])) == (
        "{ lambda ; a:f32[1]. let  in (a, a) }")


@pytest.mark.parametrize("axis", [-1, 1])
def test_the_axis_must_exist(axis):
    with pytest.raises(ValueError) as caught:
        lax.cummax(np.zeros(3, F32), axis)
    assert str(caught.value) == f"""\
tanx.lax.cummax: axis must be a dimension of the operand.
  operand: float32[3]
  axis:    {axis}
  Hint: tanx.numpy's functions take negative axes."""


def test_dtypes_that_are_not_taken():
    with pytest.raises(TypeError, match="tanx.lax.cumsum: does not take bool operands."):
        lax.cumsum(np.zeros(3, bool))
    with pytest.raises(TypeError, match="tanx.lax.cumlogsumexp: does not take int32 operands."):
        lax.cumlogsumexp(np.zeros(3, np.int32))
