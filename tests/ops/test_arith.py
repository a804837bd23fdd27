"""Arithmetic: edge values, derivatives at kinks, messages, printed forms."""

import ml_dtypes
import numpy as np
import pytest

import tanx
from tanx import lax

nan, inf = np.nan, np.inf
f32, i32, c64 = np.float32, np.int32, np.complex64
BF16, INT4, UINT4 = ml_dtypes.bfloat16, ml_dtypes.int4, ml_dtypes.uint4


def same(got, want, dtype=None):
    """Check equality to the last bit, including signs of zeros."""
    got = np.asarray(got)
    want = np.asarray(want).astype(got.dtype if dtype is None else dtype)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)
    if got.dtype.kind == "f":
        number = ~np.isnan(want)  # the sign of a NaN differs between processors
        np.testing.assert_array_equal(np.signbit(got)[number], np.signbit(want)[number])


# -- values ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32])
def test_integer_division_matches_xla(dtype):
    least = np.iinfo(dtype).min
    x, y = np.array([7, -7, 7, -7, 5, 0, least], dtype), np.array([2, 2, -2, -2, 0, 0, -1], dtype)
    same(lax.div(x, y), [3, -3, -3, 3, -1, -1, least])
    same(lax.rem(x, y), [1, -1, 1, -1, 5, 0, 0])


def test_unsigned_and_narrow_integer_division():
    same(lax.div(np.array([7, 5], np.uint8), np.array([2, 0], np.uint8)), [3, 255])
    same(lax.div(np.array([7, -8, -8], INT4), np.array([-2, -1, 0], INT4)), [-3, -8, -1])
    same(lax.div(np.array([15, 15], UINT4), np.array([2, 0], UINT4)), [7, 15])
    same(lax.rem(np.array([15, 15], UINT4), np.array([4, 0], UINT4)), [3, 15])


def test_integers_wrap():
    same(lax.add(np.array([127], np.int8), np.array([1], np.int8)), [-128])
    same(lax.mul(np.array([7], INT4), np.array([7], INT4)), [1])
    same(lax.neg(np.array([1, 0], np.uint8)), [255, 0])
    same(lax.abs(np.array([-128], np.int8)), [-128])
    same(lax.integer_pow(np.array([7, -2], np.int8), 5), [-89, -32])


def test_remainder_of_floats_has_the_sign_of_the_dividend():
    same(lax.rem(np.array([7, -7, 7, -0.0, 5, inf, 1], f32),
                 np.array([-2, 2, 2, 2, 0, 1, inf], f32)), [1, -1, 1, -0.0, nan, nan, 1])


def test_sign_keeps_zeros_and_nan():
    same(lax.sign(np.array([-0.0, 0.0, nan, inf, -3], f32)), [-0.0, 0.0, nan, 1, -1])
    same(lax.sign(np.array([0, 200], np.uint8)), [0, 1])
    same(lax.sign(np.array([3 + 4j, 0], np.complex128)), [0.6 + 0.8j, 0])


def test_maxima_propagate_nan_and_order_complex_numbers():
    x, y = np.array([nan, 1, 2], f32), np.array([1, nan, 1], f32)
    same(lax.max(x, y), [nan, nan, 2])
    same(lax.min(x, y), [nan, nan, 1])
    same(lax.max(np.array([1 + 2j, 1 + 5j], c64), np.array([1 + 1j, 2], c64)), [1 + 2j, 2])
    same(lax.max(np.array([-8, 3], INT4), np.array([7, -1], INT4)), [7, 3])


def test_powers():
    x = np.array([0, 0, -8, -2, nan, 1, -1], f32)
    y = np.array([0, -1, 1 / 3, 3, 0, nan, inf], f32)
    same(lax.pow(x, y), [1, inf, nan, -8, 1, 1, 1])
    same(lax.pow(np.array([2, 0, -2], f32), np.array([-2, 0, 3], i32)), [0.25, 1, -8])
    same(lax.integer_pow(np.array([0, -2, nan, inf], f32), -3), [inf, -0.125, nan, 0])
    same(lax.integer_pow(np.array([0, nan], f32), 0), [1, 1])


def test_integer_powers_of_narrow_floats_are_rounded_once():
    x = np.array([1.1, 2.3, 3.7], BF16)
    same(lax.integer_pow(x, 7), (x.astype(np.float64) ** 7).astype(BF16))


def test_roots_at_zero_and_below():
    same(lax.sqrt(np.array([0, -0.0, -1, inf], f32)), [0, -0.0, nan, inf])
    same(lax.rsqrt(np.array([0, -0.0, inf, -1, 4], f32)), [inf, -inf, 0, nan, 0.5])
    same(lax.cbrt(np.array([-8, 27, 0], f32)), [-2, 3, 0])


def test_one_minus_square_does_not_cancel():
    x = np.float32(0.99999)
    np.testing.assert_allclose(lax.one_minus_square(x), 1 - np.float64(x) ** 2, rtol=2e-7)


def test_rounding_of_halves():
    x = np.array([-0.5, 0.5, 1.5, 2.5, 0.49999997, -0.3, nan, inf, 8388609], f32)
    same(lax.round(x), [-1, 1, 2, 3, 0, -0.0, nan, inf, 8388609])
    same(lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN),
         [-0.0, 0, 2, 2, 0, -0.0, nan, inf, 8388609])
    same(lax.floor(np.array([-0.5, 2.5], BF16)), [-1, 2])
    same(lax.ceil(np.array([-0.5, 2.5], BF16)), [-0.0, 3])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64,
                                   np.uint64])
def test_upper_halves_of_products(dtype):
    info = np.iinfo(dtype)
    values = [info.min, info.max, info.max // 3, 1, 7, info.max - 1]
    x, y = np.meshgrid(np.array(values, dtype), np.array(values, dtype))
    want = [int(a) * int(b) >> info.bits for a, b in zip(x.ravel(), y.ravel())]
    with tanx.enable_x64(True):
        same(lax.mulhi(x, y), np.array(want, dtype).reshape(x.shape))


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32, np.int64, INT4, UINT4])
def test_counting_bits(dtype):
    info = ml_dtypes.iinfo(dtype)
    values = [0, 1, 3, 5, int(info.max), int(info.max) // 2, int(info.min)]
    strings = [f"{v % 2**info.bits:0{info.bits}b}" for v in values]
    with tanx.enable_x64(True):
        x = np.array(values, np.int64).astype(dtype)
        same(lax.population_count(x), np.array([s.count("1") for s in strings]).astype(dtype))
        same(lax.clz(x), np.array([len(s) - len(s.lstrip("0")) for s in strings]).astype(dtype))


def test_next_numbers():
    same(lax.nextafter(f32(1), f32(2)), np.nextafter(f32(1), f32(2)))
    same(lax.nextafter(np.array([0, 1], BF16), np.array([1, 2], BF16)),
         np.array([9.183549615799121e-41, 1.0078125], BF16))


def test_products_in_another_dtype():
    x = np.array([100, -100], np.int8)
    same(lax.mul(x, x, out_dtype=np.int32), [10000, 10000], np.int32)
    x = np.array([1.5, 3], BF16)
    same(lax.mul(x, np.array([1.1, 2], f32), out_dtype=np.float32),
         np.array([1.5, 3], f32) * np.array([1.1, 2], f32))


# -- derivatives -----------------------------------------------------------------------------------


def test_slopes_at_kinks():
    grad = tanx.grad
    same(grad(lax.abs)(0.0), 1)
    same(grad(lax.sqrt)(0.0), inf)
    same(grad(lax.sign)(0.0), 0)
    same(grad(lambda x: lax.integer_pow(x, 0))(0.0), 0)
    same(grad(lambda x: lax.pow(x, 2.0))(0.0), 0)
    same(grad(lambda x: lax.pow(x, 0))(0.0), 0)
    same(grad(lambda x: lax.pow(x, 1))(0.0), 1)
    same(grad(lambda y: lax.pow(0.0, y))(0.0), 0)


@pytest.mark.parametrize("function", [lax.max, lax.min])
def test_ties_share_the_gradient(function):
    same(tanx.grad(function, argnums=(0, 1))(1.0, 1.0), [0.5, 0.5])


def test_absolute_value_of_complex_zero_has_slope_zero():
    same(tanx.grad(lax.abs)(np.complex64(0)), 0)


def test_slope_of_abs_of_complex_numbers_is_the_conjugate_direction():
    np.testing.assert_allclose(tanx.grad(lax.abs)(np.complex64(3 + 4j)), 0.6 - 0.8j, rtol=1e-6)


# -- types and messages ----------------------------------------------------------------------------


def test_weak_types():
    assert lax.add(1.0, 2.0).weak_type
    assert not lax.add(1.0, f32(2.0)).weak_type
    assert lax.real(1j).weak_type and lax.abs(1j).weak_type
    assert lax.pow(2.0, 3).weak_type
    assert tanx.grad(lambda x: x * x)(3.0).weak_type
    assert not tanx.grad(lambda x: x ** 0.5)(3.0).weak_type


def message(error, function, *args, **params):
    with pytest.raises(error) as info:
        function(*args, **params)
    return str(info.value)


def test_messages():
    assert message(TypeError, lax.add, f32(1), i32(1)) == """\
tanx.lax.add: operands must have the same dtype.
  operand 0: float32[]
  operand 1: int32[]
  Hint: tanx.numpy's functions promote; or use x.astype(...)."""
    assert message(TypeError, lax.add, np.zeros(2, f32), np.zeros((1, 2), f32)) == """\
tanx.lax.add: operands must have equal shapes, or be scalars.
  operand 0: float32[2]
  operand 1: float32[1,2]
  Hint: tanx.numpy's functions broadcast as NumPy does."""
    assert message(TypeError, lax.floor, i32(1)) == """\
tanx.lax.floor: does not take int32 operands.
  operand: int32[]
  takes:   floating point"""
    assert message(TypeError, lax.abs, np.zeros(2, np.uint8)) == """\
tanx.lax.abs: does not take uint8 operands.
  operand: uint8[2]
  takes:   signed integer, floating point, complex"""
    assert message(TypeError, lax.integer_pow, i32(2), -1) == """\
tanx.lax.integer_pow: Integers cannot be raised to negative powers.
  operand: int32[]
  power:   -1
  Hint: convert the operand to floating point."""
    assert message(TypeError, lax.complex, np.zeros(2, BF16), np.zeros(2, BF16)) == """\
tanx.lax.complex: parts of complex numbers are float32 or float64.
  operand 0: bfloat16[2]
  operand 1: bfloat16[2]"""


def test_a_power_wants_an_exponent_of_the_same_dtype_or_of_integers():
    assert "same dtype" in message(TypeError, lax.pow, f32(1), np.array(1, BF16))
    assert "does not take int32" in message(TypeError, lax.pow, i32(1), i32(1))


def test_transposing_floor_raises():
    with pytest.raises(NotImplementedError, match=r"tanx\.lax\.floor: has no transpose rule"):
        lax.floor_p.transpose(1.0, 1.0)


# -- printed forms ---------------------------------------------------------------------------------


def shown(function, *args):
    return str(tanx.make_jaxpr(function)(*args))


def test_forms_of_derivatives():
    x = np.ones(3, f32)
    assert shown(lambda x: tanx.jvp(lax.square, (x,), (x,)), x) == """\
{ lambda ; a:f32[3]. let
    b:f32[3] = square a
    c:f32[3] = mul 2.0:f32[] a
    d:f32[3] = mul a c
  in (b, d) }"""
    assert shown(lambda x, y: tanx.jvp(lax.max, (x, y), (x, y)), x, x) == """\
{ lambda ; a:f32[3] b:f32[3]. let
    c:f32[3] = max a b
    d:bool[3] = gt a b
    e:bool[3] = eq a b
    f:f32[3] = broadcast_in_dim 1.0:f32[]
    g:f32[3] = broadcast_in_dim 0.0:f32[]
    h:f32[3] = broadcast_in_dim 0.5:f32[]
    i:f32[3] = select_n e g h
    j:f32[3] = select_n d i f
    k:f32[3] = mul a j
    l:bool[3] = gt b a
    m:bool[3] = eq b a
    n:f32[3] = broadcast_in_dim 1.0:f32[]
    o:f32[3] = broadcast_in_dim 0.0:f32[]
    p:f32[3] = broadcast_in_dim 0.5:f32[]
    q:f32[3] = select_n m o p
    r:f32[3] = select_n l q n
    s:f32[3] = mul b r
    t:f32[3] = add_any k s
  in (c, t) }"""
    assert shown(lambda x, y: tanx.vjp(lax.div, x, y)[1](y), x, x) == """\
{ lambda ; a:f32[3] b:f32[3]. let
    _:f32[3] = div a b
    c:f32[3] = integer_pow[y=-2] b
    d:f32[3] = mul b c
    e:f32[3] = mul d a
    f:f32[3] = neg e
    g:f32[3] = div b b
  in (g, f) }"""


def test_forms_with_parameters():
    assert shown(lax.round, f32(1)) == (
        "{ lambda ; a:f32[]. let b:f32[] = round[rounding_method=0] a in (b,) }")
    assert shown(lax.sqrt, f32(1)) == "{ lambda ; a:f32[]. let b:f32[] = sqrt a in (b,) }"
    assert shown(lax.conj, c64(1)) == (
        "{ lambda ; a:c64[]. let b:c64[] = conj[input_dtype=complex64] a in (b,) }")
    assert shown(lax.mul, f32(1), 2.0) == (
        "{ lambda ; a:f32[] b:f32[]. let c:f32[] = mul a b in (c,) }")
