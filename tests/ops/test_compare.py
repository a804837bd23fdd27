"""Comparisons, choices and bits: edge values, messages, printed forms."""

import ml_dtypes
import numpy as np
import pytest

import tanx
from tanx import lax

nan, inf = np.nan, np.inf
f32, i32 = np.float32, np.int32


def test_nan_in_comparisons():
    x, y = np.array([nan, 1, nan], f32), np.array([nan, nan, 1], f32)
    for name in ("eq", "lt", "le", "gt", "ge"):
        np.testing.assert_array_equal(getattr(lax, name)(x, y), False)
    np.testing.assert_array_equal(lax.ne(x, y), True)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ml_dtypes.bfloat16])
def test_total_order(dtype):
    ordered = np.array([-nan, -inf, -1, -0.0, 0.0, 1, inf, nan], dtype)
    ordered[0] = np.copysign(dtype(nan), dtype(-1))
    with tanx.enable_x64(True):
        x, y = (a.ravel() for a in np.meshgrid(ordered, ordered, indexing="ij"))
        i, j = (a.ravel() for a in np.indices((8, 8)))
        np.testing.assert_array_equal(lax.eq_to_p.bind(x, y), i == j)
        np.testing.assert_array_equal(lax.lt_to_p.bind(x, y), i < j)
        np.testing.assert_array_equal(lax.le_to_p.bind(x, y), i <= j)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint16, ml_dtypes.int4,
                                   ml_dtypes.uint4])
def test_shifts_by_any_distance(dtype):
    info = ml_dtypes.iinfo(dtype)
    values = np.array([0, 1, 5, int(info.max), int(info.min)]).astype(dtype)
    places = np.array([0, 1, info.bits - 1, min(info.bits, int(info.max)), int(info.max)])
    x, y = (a.ravel() for a in np.meshgrid(values, places.astype(dtype), indexing="ij"))
    size = 2**info.bits
    bits, far = [int(v) % size for v in x], [int(v) % size for v in y]
    signed = [b - size if b >= size // 2 else b for b in bits]

    def check(got, want):
        got = [int(v) % size for v in np.asarray(got)]
        assert got == [w % size for w in want]

    check(lax.shift_left(x, y), [b << n if n < info.bits else 0 for b, n in zip(bits, far)])
    check(lax.shift_right_logical(x, y), [b >> n for b, n in zip(bits, far)])
    check(lax.shift_right_arithmetic(x, y), [s >> n for s, n in zip(signed, far)])


def test_negative_distances_are_large():
    x, y = np.array([1, -1, -5], i32), np.array([-1, -1, -1], i32)
    np.testing.assert_array_equal(lax.shift_left(x, y), [0, 0, 0])
    np.testing.assert_array_equal(lax.shift_right_logical(x, y), [0, 0, 0])
    np.testing.assert_array_equal(lax.shift_right_arithmetic(x, y), [0, -1, -1])


def test_bits_of_booleans():
    x, y = np.array([True, True, False, False]), np.array([True, False, True, False])
    np.testing.assert_array_equal(lax.bitwise_and(x, y), x & y)
    np.testing.assert_array_equal(lax.bitwise_xor(x, y), x ^ y)
    np.testing.assert_array_equal(lax.bitwise_not(x), ~x)


def test_choice_out_of_range_takes_the_nearest_case():
    cases = [np.full(5, k, f32) for k in range(3)]
    which = np.array([-1, 0, 1, 2, 5], i32)
    np.testing.assert_array_equal(lax.select_n(which, *cases), [0, 0, 1, 2, 2])
    weights = np.arange(1, 6, dtype=f32)
    grads = tanx.vjp(lambda *cases: lax.select_n(which, *cases), *cases)[1](weights)
    np.testing.assert_array_equal(grads, [[1, 2, 0, 0, 0], [0, 0, 3, 0, 0], [0, 0, 0, 4, 5]])


def test_clamp_nan_and_crossed_bounds():
    np.testing.assert_array_equal(
        lax.clamp(np.array([0, nan, 0], f32), np.array([nan, 1, 5], f32),
                  np.array([1, 1, nan], f32)), [nan, nan, nan])
    np.testing.assert_array_equal(lax.clamp(3.0, 2.0, 1.0), 1.0)


def test_gradients_of_clamp_with_scalar_bounds():
    x = np.array([-2, 0.5, 3], f32)
    grads = tanx.grad(lambda low, x, high: lax.reduce_sum(lax.clamp(low, x, high), (0,)),
                      argnums=(0, 1, 2))(0.0, x, 1.0)
    for got, want in zip(grads, (1, [0, 1, 0], 1)):
        np.testing.assert_array_equal(got, want)


def message(error, function, *args):
    with pytest.raises(error) as info:
        function(*args)
    return str(info.value)


def test_messages():
    x, y, b = np.ones(3, f32), np.ones(2, f32), np.ones(3, bool)
    assert message(TypeError, lax.select_n, b, x, y) == """\
tanx.lax.select_n: cases must have the same shape and dtype.
  which:  bool[3]
  case 0: float32[3]
  case 1: float32[2]
  Hint: tanx.numpy.where broadcasts and promotes."""
    assert "must be a scalar or shaped like" in message(TypeError, lax.select_n, b[:2], x, x)
    assert "at most two cases" in message(TypeError, lax.select_n, b, x, x, x)
    assert "booleans or integers" in message(TypeError, lax.select_n, x, x, x)
    assert message(ValueError, lax.select_n, b) == """\
tanx.lax.select_n: needs at least one case.
  which: bool[3]"""
    assert message(TypeError, lax.clamp, y, x, x) == """\
tanx.lax.clamp: bounds must be scalars or have the shape of x.
  min: float32[2]
  x:   float32[3]
  max: float32[3]
  Hint: tanx.numpy.clip broadcasts and promotes."""
    assert "same dtype" in message(TypeError, lax.clamp, i32(0), x, f32(1))
    assert message(TypeError, lax.lt, np.complex64(1), np.complex64(1)) == """\
tanx.lax.lt: does not take complex64 operands.
  operand: complex64[]
  takes:   bool, signed integer, unsigned integer, floating point"""
    assert message(TypeError, lax.bitwise_and, x, x) == """\
tanx.lax.bitwise_and: does not take float32 operands.
  operand: float32[3]
  takes:   bool, signed integer, unsigned integer"""


def test_forms():
    def shown(function, *args):
        return str(tanx.make_jaxpr(function)(*args))

    b, m, row = np.ones(3, bool), np.ones((3, 4), f32), np.ones(4, f32)
    assert shown(tanx.vmap(lax.select_n, in_axes=(0, None, None)), b, row, row) == """\
{ lambda ; a:bool[3] b:f32[4] c:f32[4]. let
    d:f32[3,4] = broadcast_in_dim[broadcast_dimensions=(1,)] b
    e:f32[3,4] = broadcast_in_dim[broadcast_dimensions=(1,)] c
    f:bool[3,4] = broadcast_in_dim[broadcast_dimensions=(0,)] a
    g:f32[3,4] = select_n f d e
  in (g,) }"""
    assert shown(tanx.vmap(lambda x: lax.clamp(0.0, x, 1.0)), m) == (
        "{ lambda ; a:f32[3,4]. let b:f32[3,4] = clamp 0.0:f32[] a 1.0:f32[] in (b,) }")
    assert shown(lax.select, b, row[:3], row[:3]) == (
        "{ lambda ; a:bool[3] b:f32[3] c:f32[3]. let d:f32[3] = select_n a c b in (d,) }")
