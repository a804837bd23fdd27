"""Constants and iota: values, printed forms, messages."""

import ml_dtypes
import numpy as np
import pytest

import tanx
from tanx import lax

f32 = np.float32


def shown(function, *args):
    return str(tanx.make_jaxpr(function)(*args))


def test_counting():
    np.testing.assert_array_equal(lax.iota(np.int32, 4), [0, 1, 2, 3])
    np.testing.assert_array_equal(np.asarray(lax.iota(np.int8, 300))[-3:], [41, 42, 43])
    np.testing.assert_array_equal(lax.broadcasted_iota(f32, (2, 3), 0), [[0] * 3, [1] * 3])
    assert lax.iota(ml_dtypes.bfloat16, 300).dtype == ml_dtypes.bfloat16
    assert lax.iota(np.complex64, 2).dtype == np.complex64
    assert lax.iota(int, 0).shape == (0,)
    np.testing.assert_array_equal(lax.shape_as_value((3, 4)), [3, 4])


def test_constants():
    np.testing.assert_array_equal(lax.full((2, 2), 3, f32), [[3, 3], [3, 3]])
    assert lax.full((2,), 1.0).weak_type
    assert not lax.full((2,), 1.0, f32).weak_type
    assert not lax.full((2,), f32(1)).weak_type
    np.testing.assert_array_equal(lax.full((2,), -1, np.uint8), [255, 255])
    np.testing.assert_array_equal(lax.full_like(np.zeros(3, np.int32), 2.7), [2, 2, 2])
    assert lax.full_like(np.zeros(3), 1, shape=(4,)).shape == (4,)
    assert lax.empty((2, 3), f32).shape == (2, 3)


def test_forms():
    assert shown(lambda: lax.full((3,), 0.0, f32)) == (
        "{ lambda ; . let a:f32[3] = broadcast_in_dim 0.0:f32[] in (a,) }")
    assert shown(lambda: lax.full((), 1)) == "{ lambda ; . let  in (1:i32[],) }"
    assert shown(lambda x: lax.full((2,), x, ml_dtypes.bfloat16), f32(1)) == """\
{ lambda ; a:f32[]. let
    b:bf16[] = convert_element_type[new_dtype=bfloat16 weak_type=False] a
    c:bf16[2] = broadcast_in_dim b
  in (c,) }"""
    assert shown(lambda: lax.iota(np.int32, 3)) == """\
{ lambda ; . let
    a:i32[3] = iota[dimension=0 dtype=int32 shape=(3,) sharding=None] 
  in (a,) }"""  # noqa: W291 - as JAX prints it


def test_messages():
    def message(error, function, *args):
        with pytest.raises(error) as info:
            function(*args)
        return str(info.value)

    assert message(TypeError, lax.full, (2,), np.zeros(3, f32)) == """\
tanx.lax.full: fill_value must be a scalar.
  fill_value: float32[3]
  shape:      (2,)"""
    assert message(TypeError, lax.iota, bool, 3) == """\
tanx.lax.iota: dtype must be numeric.
  dtype: bool"""
    assert message(ValueError, lax.broadcasted_iota, np.int32, (3, 4), 2) == """\
tanx.lax.broadcasted_iota: dimension must be one of the shape.
  shape:     (3, 4)
  dimension: 2"""
