"""Products with groups and with scaled blocks: values, derivatives and errors."""

import ml_dtypes
import numpy as np
import pytest

import tanx
from tanx import lax

F32 = np.float32


def numbers(*shape):
    return np.random.default_rng(0).integers(-3, 4, shape).astype(F32)


def message(error, fun, *args, **options) -> str:
    with pytest.raises(error) as caught:
        fun(*args, **options)
    return str(caught.value)


def test_rows_are_multiplied_by_the_matrix_of_their_group():
    x, y, sizes = numbers(6, 4), numbers(3, 4, 2), np.array([2, 0, 3])
    expected = np.concatenate([x[:2] @ y[0], x[2:5] @ y[2], np.zeros((1, 2))])
    np.testing.assert_array_equal(lax.ragged_dot(x, y, sizes), expected)
    np.testing.assert_array_equal(tanx.jit(lax.ragged_dot)(x, y, sizes), expected)


def test_derivatives_stay_in_their_groups():
    x, y, sizes = numbers(5, 4), numbers(3, 4, 2), np.array([2, 0, 3])
    out, pullback = tanx.vjp(lambda x, y: lax.ragged_dot(x, y, sizes), x, y)
    ct = numbers(5, 2)
    dx, dy = pullback(ct)
    np.testing.assert_array_equal(dx, np.concatenate([ct[:2] @ y[0].T, ct[2:] @ y[2].T]))
    np.testing.assert_array_equal(
        dy, [x[:2].T @ ct[:2], np.zeros((4, 2)), x[2:].T @ ct[2:]])


def test_a_ragged_batch_is_an_ordinary_product():
    ragged = lax.RaggedDotDimensionNumbers((((2,), (1,)), ((0,), (0,))), (0,), ())
    x, y = numbers(5, 4, 3), numbers(5, 3, 2)
    out = lax.ragged_dot_general(x, y, np.array([2, 3]), ragged)
    np.testing.assert_array_equal(out, x @ y)


def test_blocks_are_scaled():
    x, y = numbers(2, 6), numbers(6, 3)
    scale = np.array([[1, 2, 4], [8, 1, 2]], F32)
    out = lax.scaled_dot(x, y, lhs_scale=scale, preferred_element_type=F32)
    np.testing.assert_array_equal(out, (x * np.repeat(scale, 2, 1)) @ y)
    assert lax.scaled_dot(x, y).dtype == ml_dtypes.bfloat16


def test_errors():
    x, y = numbers(5, 4), numbers(3, 4, 2)
    assert message(TypeError, lax.ragged_dot, x, y, np.array([2, 3], np.int32)) == """\
tanx.lax.ragged_dot: the group dimension of rhs must have an entry for each group.
  lhs: float32[5,4]
  rhs: float32[3,4,2]
  group_sizes: int32[2]
  dimension numbers: RaggedDotDimensionNumbers(dot_dimension_numbers=(((1,), (1,)), ((), ())), \
lhs_ragged_dimensions=(0,), rhs_group_dimensions=(0,))"""
    assert message(TypeError, lax.scaled_dot, x, y[0], lhs_scale=numbers(5, 3)) == """\
tanx.lax.scaled_dot: a scale has the sizes of its operand, or divisors of those summed over.
  lhs:       bfloat16[5,4]
  lhs_scale: float32[5,3]"""
    with pytest.raises(NotImplementedError, match="group_offset is not supported"):
        lax.ragged_dot(x, y, np.array([2, 0, 3]), group_offset=np.array([1]))
