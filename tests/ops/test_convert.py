"""Casts, bitcasts and precision: edge values, literals, messages."""

import ml_dtypes
import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._ops.convert import convert

nan, inf = np.nan, np.inf
f32 = np.float32
BF16, INT4, UINT4 = ml_dtypes.bfloat16, ml_dtypes.int4, ml_dtypes.uint4


@pytest.mark.parametrize("source", [np.float32, np.float64, BF16, np.float16])
@pytest.mark.parametrize("target", [np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64,
                                    INT4, UINT4])
def test_floats_to_integers_saturate(source, target):
    x = np.array([nan, inf, -inf, 300, -300, -1.7, 1.7, 0, 1e4, -1e4]).astype(source)
    if source in (np.float32, np.float64):
        x = np.concatenate([x, np.array([1e20, -1e20, 2**31, 2**63, -2**63], source)])
    info = ml_dtypes.iinfo(target)

    def exact(value):
        if value != value:
            return 0
        return int(min(max(value, float(info.min)), float(info.max)))

    want = [min(max(exact(float(v)), int(info.min)), int(info.max)) for v in x]
    with tanx.enable_x64(True):
        got = lax.convert_element_type(tanx.numpy.asarray(x), target)
    assert [int(v) for v in np.asarray(got)] == want


def test_integers_wrap():
    x = tanx.numpy.array([300, -300, 9, -9])
    np.testing.assert_array_equal(lax.convert_element_type(x, np.int8), [44, -44, 9, -9])
    np.testing.assert_array_equal(lax.convert_element_type(x, np.uint8), [44, 212, 9, 247])
    assert np.asarray(lax.convert_element_type(x, INT4)).astype(int).tolist() == [-4, 4, -7, 7]
    assert np.asarray(lax.convert_element_type(x, UINT4)).astype(int).tolist() == [12, 4, 9, 7]


def test_to_booleans():
    x = tanx.numpy.array([0.0, -0.0, nan, 0.1])
    np.testing.assert_array_equal(lax.convert_element_type(x, bool), [False, False, True, True])


def test_complex_to_real_warns_and_drops():
    with pytest.warns(np.exceptions.ComplexWarning):
        out = lax.convert_element_type(tanx.numpy.array([1 + 2j]), f32)
    np.testing.assert_array_equal(out, [1])


@pytest.mark.parametrize("value, dtype, want", [
    (300, np.int8, 44), (-1, np.uint8, 255), (2**30 + 7, np.int16, 7), (True, f32, 1.0),
    (1.9, np.int32, 1), (1e30, np.int32, 2**31 - 1), (nan, np.int32, 0), (-0.0, f32, -0.0),
    (2, np.complex64, 2 + 0j), (np.float64(0.1), f32, f32(0.1)), (1.0, bool, True)])
def test_scalars_become_literals(value, dtype, want):
    dtype = np.dtype(dtype)
    got = np.asarray(convert(value, dtype))
    assert got.dtype == dtype and got == want
    assert np.signbit(got.real) == np.signbit(np.real(want))
    jaxpr = tanx.make_jaxpr(lambda: convert(value, dtype))()
    assert not jaxpr.eqns and not jaxpr.consts


def test_zeros_keep_their_signs_in_any_order():
    for value in (0.0, -0.0, 0.0):
        assert np.signbit(np.asarray(convert(value, np.dtype(f32)))) == np.signbit(value)


def test_arrays_of_the_right_type_come_back():
    x = tanx.numpy.ones(3)
    assert convert(x, np.dtype(f32)) is x
    assert lax.convert_element_type(x, f32) is x
    jaxpr = tanx.make_jaxpr(lambda x: lax.convert_element_type(x, float))(x)
    assert not jaxpr.eqns


def test_numpy_arrays_are_copied():
    data = np.ones(3, f32)
    x = convert(data, np.dtype(f32))
    data[0] = 7
    np.testing.assert_array_equal(x, [1, 1, 1])


def test_weak_types_are_made_strong():
    jaxpr = tanx.make_jaxpr(lambda x: lax.convert_element_type(x, f32))(1.0)
    assert str(jaxpr) == """\
{ lambda ; a:f32[]. let
    b:f32[] = convert_element_type[new_dtype=float32 weak_type=False] a
  in (b,) }"""


def test_lists_are_refused():
    with pytest.raises(TypeError):
        lax.convert_element_type([1, 2], f32)
    with pytest.raises(ValueError, match="new_dtype must be given"):
        lax.convert_element_type(1, None)


def test_bitcasts_agree_with_views():
    x = np.array([1.5, -2, nan], f32)
    np.testing.assert_array_equal(lax.bitcast_convert_type(x, np.uint32), x.view(np.uint32))
    np.testing.assert_array_equal(lax.bitcast_convert_type(x, np.uint16),
                                  x.view(np.uint16).reshape(3, 2))
    halves = x.view(np.uint16).reshape(3, 2)
    np.testing.assert_array_equal(lax.bitcast_convert_type(halves, f32), x)
    bytes_ = np.array([0x12, 0xF7], np.uint8)
    nibbles = lax.bitcast_convert_type(bytes_, UINT4)
    assert np.asarray(nibbles).astype(int).tolist() == [[2, 1], [7, 15]]
    np.testing.assert_array_equal(lax.bitcast_convert_type(nibbles, np.uint8), bytes_)


def test_messages_of_bitcasts():
    with pytest.raises(TypeError) as info:
        lax.bitcast_convert_type(np.ones(3, bool), np.uint8)
    assert str(info.value) == """\
tanx.lax.bitcast_convert_type: booleans and complex numbers have no bits to cast.
  operand:   bool[3]
  new_dtype: uint8
  Hint: x.view(dtype) splits them."""
    with pytest.raises(ValueError) as info:
        lax.bitcast_convert_type(np.ones(3, np.int16), np.int32)
    assert str(info.value) == """\
tanx.lax.bitcast_convert_type: the last dimension must hold exactly the bits of one element.
  operand:   int16[3] (16 bits each)
  new_dtype: int32 (32 bits)"""


def test_reduce_precision_matches_narrow_types():
    rng = np.random.default_rng(0)
    x = (rng.normal(size=1000) * 10.0 ** rng.integers(-4, 4, 1000)).astype(f32)
    np.testing.assert_array_equal(lax.reduce_precision(x, 8, 7), x.astype(BF16).astype(f32))
    normal = np.abs(x) >= 2.0**-14
    np.testing.assert_array_equal(np.asarray(lax.reduce_precision(x, 5, 10))[normal],
                                  x[normal].astype(np.float16).astype(f32))


def test_reduced_precision_at_the_edges():
    x = np.array([1 + 2**-11, 70000, 1e-8, nan, inf, -65519.99, 65520, 6e-8, -0.0], f32)
    np.testing.assert_array_equal(lax.reduce_precision(x, 5, 10),
                                  [1, inf, 0, nan, inf, -65504, inf, 0, -0.0])
    np.testing.assert_array_equal(lax.reduce_precision(np.array([1.75, 3, 100], f32), 8, 0),
                                  [2, 2, 128])
    for bits in ((0, 10), (5, -1)):
        with pytest.raises(ValueError, match="at least one exponent bit"):
            lax.reduce_precision(x, *bits)


def test_gradients_stop():
    np.testing.assert_array_equal(tanx.grad(lambda x: x * lax.stop_gradient(x))(3.0), 3.0)
    out = lax.stop_gradient({"a": tanx.numpy.ones(2), "b": [1.0, None]})
    assert out["b"][1] is None and out["b"][0] == 1.0


def test_barrier_keeps_the_tree_and_has_derivatives():
    out = lax.optimization_barrier({"a": tanx.numpy.ones(2), "b": 1.0})
    assert set(out) == {"a", "b"}
    np.testing.assert_array_equal(
        tanx.grad(lambda x: lax.optimization_barrier((x, 2.0))[0] ** 2)(3.0), 6.0)
    jaxpr = tanx.make_jaxpr(lambda x: lax.optimization_barrier((x, 1.0)))(np.ones(3, f32))
    assert str(jaxpr) == """\
{ lambda ; a:f32[3]. let
    b:f32[3] c:f32[] = optimization_barrier a 1.0:f32[]
  in (b, c) }"""


def test_casts_and_their_transposes():
    x = np.ones(3, f32)
    jaxpr = tanx.make_jaxpr(lambda x, c: tanx.vjp(
        lambda x: lax.convert_element_type(x, BF16), x)[1](c))(x, np.ones(3, BF16))
    assert str(jaxpr) == """\
{ lambda ; a:f32[3] b:bf16[3]. let
    _:bf16[3] = convert_element_type[new_dtype=bfloat16 weak_type=False] a
    c:f32[3] = convert_element_type[new_dtype=float32 weak_type=False] b
  in (c,) }"""


LIMITS = [0.0, -0.0, 0.5, -0.5, 0.99, -1.5, 127.5, 128, -128.5, -129, 255.5, 256, 32767.9, 32768,
          -32769, 65536, 2**31 - 1, 2**31, -2.0**31, -2.0**31 - 1000, 2.0**32, 2.0**63, -2.0**63,
          2.0**64, 1e30, -1e30, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("source", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("target", [
    "int4", "int8", "int16", "int32", "int64", "uint4", "uint8", "uint16", "uint32", "uint64"])
def test_vectors_of_floats_saturate(source, target):
    """In every lane, including those of the last, partial vector."""
    with tanx.enable_x64(True):
        x = jnp.asarray(np.resize(LIMITS, 203)).astype(source)
        with tanx.disable_jit():
            want = np.asarray(x.astype(target)).tolist()
        compiled = tanx.jit(lambda x: x.astype(target))
        for _ in range(4):
            got = compiled(x)
            assert got.dtype == target and np.asarray(got).tolist() == want
