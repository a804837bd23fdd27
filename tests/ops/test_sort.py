"""Sorting: order of edge values, stability, large arrays, and messages."""

import ml_dtypes
import numpy as np
import pytest

import tanx
from tanx import lax

F32 = np.float32
NAN, INF = np.nan, np.inf


def message(error, fun, *args, **options) -> str:
    with pytest.raises(error) as caught:
        fun(*args, **options)
    return str(caught.value)


def test_nan_comes_last_and_zeros_are_equal():
    x = np.array([NAN, 0.0, -0.0, -NAN, -INF, INF, 1], F32)
    expected = np.array([-INF, 0.0, -0.0, 1, INF, NAN, NAN], F32)
    out = np.asarray(lax.sort(x))
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(np.signbit(out[1:3]), [False, True])
    _, order = lax.sort((x, np.arange(7)))
    np.testing.assert_array_equal(order, [4, 1, 2, 6, 5, 0, 3])


def test_top_k_uses_the_total_order():
    x = np.array([0.0, -0.0, NAN, -NAN, INF, 0.0, -0.0], F32)
    values, order = lax.top_k(x, 7)
    np.testing.assert_array_equal(order, [2, 4, 0, 5, 1, 6, 3])
    np.testing.assert_array_equal(np.signbit(values)[-3:], [True, True, True])


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int8", "uint8",
                                   "int16", "uint32", "int32", "int64", "bool", "int4", "uint4"])
def test_sorting_is_stable_in_all_dtypes(dtype):
    rng = np.random.default_rng(0)
    with tanx.enable_x64(True):
        signed = dtype.startswith(("int", "float", "bfloat"))
        x = rng.integers(-4 if signed else 0, 4, (3, 500)).astype(np.dtype(dtype))
        order = np.argsort(x.astype(np.float64), 1, kind="stable")
        got, positions = lax.sort((x, np.tile(np.arange(500), (3, 1))))
        np.testing.assert_array_equal(positions, order)
        np.testing.assert_array_equal(got, np.take_along_axis(x, order, 1))
        np.testing.assert_array_equal(lax.sort(x), got)
        descending = np.argsort(-x.astype(np.float64), 1, kind="stable")
        for k in (5, 400):
            values, positions = lax.top_k(x, k)
            np.testing.assert_array_equal(positions, descending[:, :k])
            np.testing.assert_array_equal(values, np.take_along_axis(x, descending, 1)[:, :k])


def test_extreme_unsigned_keys():
    x = np.array([2**32 - 1, 0, 2**31, 2**31 - 1], np.uint32)
    np.testing.assert_array_equal(lax.top_k(x, 4)[1], [0, 2, 3, 1])
    np.testing.assert_array_equal(lax.sort((x, np.arange(4)))[1], [1, 3, 2, 0])


def test_several_keys():
    first = np.array([1, 0, 1, 0, 1], np.int32)
    second = np.array([NAN, 5, 2, 5, -0.0], F32)
    third = np.arange(5)
    _, _, order = lax.sort((first, second, third), num_keys=2)
    np.testing.assert_array_equal(order, [1, 3, 4, 2, 0])


def test_complex_numbers_are_sorted_by_real_part_first():
    x = np.array([1 + 2j, 1 + 1j, 0 + 5j, 1 - 1j], np.complex64)
    np.testing.assert_array_equal(lax.sort(x), [0 + 5j, 1 - 1j, 1 + 1j, 1 + 2j])


def test_results():
    x = np.array([2, 1], np.int32)
    assert isinstance(lax.sort((x,)), tuple)
    assert lax.top_k(x, 1)[1].dtype == np.int32
    keys, values = lax.sort_key_val(x, np.array([5.0, 6.0], F32))
    np.testing.assert_array_equal(values, [6, 5])


def test_jaxprs():
    x = np.ones((2, 3), F32)
    assert str(tanx.make_jaxpr(lambda v: lax.sort(v, 0, is_stable=False))(x)) == """\
{ lambda ; a:f32[2,3]. let
    b:f32[2,3] = sort[dimension=0 is_stable=False num_keys=1] a
  in (b,) }"""
    assert str(tanx.make_jaxpr(lambda v: lax.top_k(v, 2, axis=0))(x)) == """\
{ lambda ; a:f32[2,3]. let
    b:f32[2,3] c:i32[2,3] = top_k[axis=0 is_stable=True k=2] a
  in (b, c) }"""
    derivative = tanx.make_jaxpr(lambda v: tanx.jvp(lax.sort, (v,), (v,)))(x)
    assert [e.primitive.name for e in derivative.eqns] == [
        "iota", "sort", "broadcast_in_dim", "gather"]


def test_approximate_selection_is_exact():
    x = np.random.default_rng(0).normal(size=(2, 5000)).astype(F32)
    values, order = lax.approx_min_k(x, 3)
    np.testing.assert_array_equal(order, np.argsort(x, 1)[:, :3])
    assert lax.approx_max_k(x, 2, aggregate_to_topk=False)[0].shape == (2, 256)


def test_errors():
    x = np.zeros((2, 3), F32)
    assert message(TypeError, lax.sort, ()) == "tanx.lax.sort: needs at least one operand."
    assert message(ValueError, lax.sort, (x, x), num_keys=3) == """\
tanx.lax.sort: num_keys must be from 1 to the number of operands.
  num_keys: 3
  operands: 2"""
    assert message(TypeError, lax.sort, (x, x[0])) == """\
tanx.lax.sort: operands must have equal shapes.
  operand 0: float32[2,3]
  operand 1: float32[3]"""
    assert message(ValueError, lax.sort, x, 2) == """\
tanx.lax.sort: axis 2 is out of bounds for 2 dimensions.
  operand: float32[2,3]
  Hint: axes go from -2 to 1."""
    assert message(ValueError, lax.top_k, x, 4) == """\
tanx.lax.top_k: k must not be negative, nor exceed the size of the dimension.
  operand: float32[2,3]
  axis:    1
  k:       4"""
    assert message(ValueError, lax.top_k, x.astype(np.complex64), 1) == """\
tanx.lax.top_k: complex numbers have no greatest elements.
  operand: complex64[2,3]"""
    assert message(ValueError, lax.approx_max_k, x.astype(np.int32), 1) == """\
tanx.lax.approx_max_k: the operand must be floating point.
  operand: int32[2,3]"""
    assert message(ValueError, lax.approx_min_k, x, 0) == """\
tanx.lax.approx_min_k: k must be positive and not exceed the size of the dimension.
  operand: float32[2,3]
  k:       0"""


def test_narrow_floats_keep_their_bits():
    x = np.array([3, 1, 2], ml_dtypes.bfloat16)
    assert lax.sort(x).dtype == ml_dtypes.bfloat16
