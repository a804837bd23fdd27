"""Products of matrices: dtypes, precision, forms of derivatives and batches, errors."""

import ml_dtypes
import numpy as np
import pytest

import tanx
from tanx import lax

F32, BF16 = np.float32, ml_dtypes.bfloat16
MATRICES = (((1,), (0,)), ((), ()))


def numbers(*shape, dtype=F32):
    return np.random.default_rng(0).integers(-3, 4, shape).astype(dtype)


def message(error, fun, *args, **options) -> str:
    with pytest.raises(error) as caught:
        fun(*args, **options)
    return str(caught.value)


@pytest.mark.parametrize("numbering, letters", [
    ((((1, 2), (2, 0)), ((0,), (3,))), "abcd,ceba->ade"),
    ((((2,), (0,)), ((1, 0), (2, 3))), "abcd,ceba->bade"),
    ((((), ()), ((), ())), "abcd,efgh->abcdefgh"),
    ((((3,), (1,)), ((), ())), "abcd,edgh->abcegh")])
def test_general_products_agree_with_einsum(numbering, letters):
    sizes = dict(zip("abcdefgh", (2, 3, 4, 5, 4, 2, 3, 2)))
    left, right = letters.split("->")[0].split(",")
    x, y = (numbers(*(sizes[c] for c in operand)) for operand in (left, right))
    np.testing.assert_array_equal(lax.dot_general(x, y, numbering), np.einsum(letters, x, y))


def test_transposed_and_strided_batches():
    x, y = numbers(7, 3, 6), numbers(6, 7, 2)
    out = lax.dot_general(x, y, (((0,), (1,)), ((2,), (0,))))
    np.testing.assert_array_equal(out, np.einsum("kmb,bkn->bmn", x, y))


def test_narrow_floats_accumulate_in_float32():
    for dtype in (BF16, np.float16):
        x = np.ones(3000, dtype)
        assert float(lax.dot(x, x)) == float(dtype(3000))
        assert lax.dot(x, x).dtype == dtype
        assert float(lax.dot(x, x, preferred_element_type=F32)) == 3000


def test_integers_wrap_around():
    x = np.full(3, 100, np.int8)
    assert int(lax.dot(x, x)) == 48
    assert int(lax.dot(x, x, preferred_element_type=np.int32)) == 30000
    big = np.full(3, 2**30 + 1, np.int32)
    assert int(lax.dot(big, np.full(3, 100, np.int32))) == 300


@pytest.mark.parametrize("size", [2**19 + 1, 2**20 + 1])
def test_long_sums_of_narrow_integers_wrap_too(size):
    x = np.full(size, -128, np.int8)
    assert int(lax.dot(x, x, preferred_element_type=np.int32)) == size * 2**14 % 2**32


def test_bools_are_combined_by_or():
    x = np.array([[True, True], [False, True], [False, False]])
    y = np.array([True, False])
    np.testing.assert_array_equal(lax.dot(x, y), [True, False, False])


@pytest.mark.parametrize("left, right, result", [
    ("float32", "bfloat16", "float32"), ("float16", "bfloat16", "bfloat16"),
    ("uint8", "int8", "int8"), ("int8", "uint16", "uint16"), ("int32", "float16", "float16"),
    ("bool", "int8", "int8"), ("float32", "complex64", "complex64"),
    ("float8_e4m3fn", "float8_e5m2", "float8_e5m2")])
def test_the_dtype_of_mixed_operands(left, right, result):
    x, y = numbers(2, 3, dtype=np.dtype(left)), numbers(3, dtype=np.dtype(right))
    assert lax.dot(x, y).dtype == result
    assert lax.dot(np.ones((2, 3), np.dtype(right)), np.ones(3, np.dtype(left))).dtype == result


def jaxpr_of(fun, *args) -> list[str]:
    lines = str(tanx.make_jaxpr(fun)(*args)).splitlines()
    return [line.strip() for line in lines[1:-1]]


def test_derivatives_are_products_with_the_cotangent_on_the_left():
    x, y, ct = numbers(2, 3), numbers(3, 4), numbers(2, 4)
    assert jaxpr_of(lambda x, y, ct: tanx.vjp(lax.dot, x, y)[1](ct), x, y, ct) == [
        "_:f32[2,4] = dot_general[dimension_numbers=(([1], [0]), ([], []))] a b",
        "d:f32[4,3] = dot_general[dimension_numbers=(([0], [0]), ([], []))] c a",
        "e:f32[3,4] = transpose[permutation=(1, 0)] d",
        "f:f32[2,3] = dot_general[dimension_numbers=(([1], [1]), ([], []))] c b"]


def test_batches():
    x, y = numbers(6, 2, 3), numbers(6, 3, 4)
    assert jaxpr_of(tanx.vmap(lax.dot), x, y) == [
        "c:f32[6,2,4] = dot_general[dimension_numbers=(([2], [1]), ([0], [0]))] a b"]
    assert jaxpr_of(tanx.vmap(lax.dot, (0, None)), x, y[0]) == [
        "c:f32[6,2,4] = dot_general[dimension_numbers=(([2], [0]), ([], []))] a b"]
    assert jaxpr_of(tanx.vmap(lax.dot, (None, 0)), x[0], y) == [
        "c:f32[2,6,4] = dot_general[dimension_numbers=(([1], [1]), ([], []))] a b",
        "d:f32[6,2,4] = transpose[permutation=(1, 0, 2)] c"]
    assert jaxpr_of(tanx.vmap(lax.dot), x[:, 0], y[:, :, 0]) == [
        "c:f32[6] = dot_general[dimension_numbers=(([1], [1]), ([0], [0]))] a b"]


def test_parameters_print_when_given():
    x = numbers(2, 2)
    text = str(tanx.make_jaxpr(lambda x: lax.dot(
        x, x, precision=("high", lax.Precision.HIGHEST), preferred_element_type=F32))(x))
    assert text == """\
{ lambda ; a:f32[2,2]. let
    b:f32[2,2] = dot_general[
      dimension_numbers=(([1], [0]), ([], []))
      precision=(Precision.HIGH, Precision.HIGHEST)
      preferred_element_type=float32
    ] a a
  in (b,) }"""


@pytest.mark.parametrize("asked, meant", [
    (None, None), ("float32", (lax.Precision.HIGHEST,) * 2),
    ("fastest", (lax.Precision.DEFAULT,) * 2),
    (lax.Precision.HIGH, (lax.Precision.HIGH,) * 2),
    ("TF32_TF32_F32", lax.DotAlgorithmPreset.TF32_TF32_F32),
    (lax.DotAlgorithm(F32, F32, F32), lax.DotAlgorithm(F32, F32, F32, 1, 1, 1, False))])
def test_precisions(asked, meant):
    jaxpr = tanx.make_jaxpr(lambda x: lax.dot(x, x, precision=asked))(numbers(2, 2))
    assert jaxpr.eqns[0].params["precision"] == meant


def test_the_default_precision_is_an_option():
    with tanx.default_matmul_precision("float32"):
        jaxpr = tanx.make_jaxpr(lambda x: lax.dot(x, x))(numbers(2, 2))
    assert jaxpr.eqns[0].params["precision"] == (lax.Precision.HIGHEST, lax.Precision.HIGHEST)


def test_dot_presets_have_operand_and_accumulation_types():
    preset = lax.DotAlgorithmPreset
    assert preset.BF16_BF16_F32.supported_lhs_types == (BF16, F32)
    assert preset.BF16_BF16_F32_X3.supported_rhs_types == (F32,)
    assert preset.F16_F16_F16.accumulation_type == np.float16
    assert preset.ANY_F8_ANY_F8_F32_FAST_ACCUM.accumulation_type == F32
    assert preset.DEFAULT.supported_lhs_types is None
    assert preset.ANY_F8_ANY_F8_ANY.accumulation_type is None


def test_weak_types():
    weak = lax.broadcast(2.0, (3,))
    assert lax.dot(weak, weak).weak_type
    assert not lax.dot(weak, numbers(3)).weak_type


def test_errors():
    x, y = numbers(2, 3), numbers(3, 4)
    assert message(TypeError, lax.dot_general, x, y, (((1,), (1,)), ((), ()))) == """\
tanx.lax.dot_general: contracted dimensions must have the same sizes on both sides.
  lhs: float32[2,3]
  rhs: float32[3,4]
  contracted: (1,) with (1,)
  batch:      () with ()"""
    assert message(TypeError, lax.dot_general, x, y, (((-1,), (0,)), ((), ()))).startswith(
        "tanx.lax.dot_general: dimension numbers must be dimensions of lhs, counted from 0.\n")
    assert message(TypeError, lax.dot_general, x, y, (((1,), (0,)), ((1,), (0,)))).startswith(
        "tanx.lax.dot_general: a dimension of lhs can be contracted or a batch only once.\n")
    assert message(ValueError, lax.dot, x, x) == """\
tanx.lax.dot: takes vectors and matrices whose inner sizes agree.
  lhs: float32[2,3]
  rhs: float32[2,3]
  Hint: dimension_numbers selects dimensions to sum."""
    assert message(ValueError, lax.batch_matmul, x, y[0]) == """\
tanx.lax.batch_matmul: operands must have the same rank, of 2 or more.
  lhs: float32[2,3]
  rhs: float32[4]"""
    assert message(TypeError, lax.dot, x.astype(np.int32), y.astype(np.int32),
                   preferred_element_type=np.int8) == """\
tanx.lax.dot: preferred_element_type must not be narrower than the natural type of the \
result.
  lhs: int32[2,3]
  rhs: int32[3,4]
  natural type:           int32
  preferred_element_type: int8"""
    assert message(ValueError, lax.dot, x, y, precision="best") == """\
tanx.lax.dot: precision must be None, a Precision or its name, a pair of them, a DotAlgorithm, or \
a DotAlgorithmPreset or its name.
  precision: 'best'
  names:     default, bfloat16, fastest, high, bfloat16_3x, tensorfloat32, highest, float32"""
