"""Reductions: edge values, jaxprs and messages."""

import ml_dtypes
import numpy as np
import pytest

import tanx
from tanx import lax

F32 = np.float32


def message(error, fun, *args) -> str:
    with pytest.raises(error) as caught:
        fun(*args)
    return str(caught.value)


def test_narrow_floats_are_summed_in_float32():
    for dtype in (ml_dtypes.bfloat16, np.float16):
        x = np.ones(3000, dtype)
        assert float(lax.reduce_sum(x, (0,))) == dtype(3000)
        assert lax.reduce_sum(x, (0,)).dtype == dtype


@pytest.mark.parametrize("shape, axes", [
    ((10_000, 3), (0,)), ((2, 5_001, 3), (1,)), ((40, 50, 3), (0, 1)), ((100_000, 1), (0,)),
    ((2, 600, 0), (1,)), ((0, 600, 3), (1,))])
def test_sums_of_many_rows_keep_their_digits(shape, axes):
    x = np.random.default_rng(0).uniform(1, 2, shape).astype(np.float32)
    want = x.sum(axes, dtype=np.float64)
    eager = lambda x: lax.reduce_sum(x, axes)
    for total in (eager, tanx.jit(eager)):
        for _ in range(4):
            got = total(x)
            assert got.shape == want.shape and got.dtype == np.float32
            np.testing.assert_allclose(got, want, rtol=2e-6)


def test_integers_wrap_around():
    assert int(lax.reduce_sum(np.full(200, 100, np.int8), (0,))) == 32
    assert int(lax.reduce_sum(np.full(3, 7, ml_dtypes.int4), (0,))) == 5
    assert int(lax.reduce_prod(np.full(3, 200, np.uint8), (0,))) == 200**3 % 256


@pytest.mark.parametrize("name, dtype, value", [
    ("sum", "float32", 0), ("prod", "int8", 1), ("max", "float32", -np.inf), ("min", "int8", 127),
    ("max", "uint8", 0), ("max", "int4", -8), ("min", "bool", True), ("max", "bfloat16", -np.inf),
    ("max", "complex64", complex(-np.inf, 0)), ("and", "uint8", 255), ("and", "int32", -1),
    ("or", "bool", False), ("xor", "int32", 0)])
def test_empty_reductions_give_the_identity(name, dtype, value):
    out = getattr(lax, f"reduce_{name}")(np.zeros((2, 0), np.dtype(dtype)), (1,))
    assert out.dtype == dtype and out.shape == (2,)
    assert np.asarray(out)[0] == value


def test_nan_wins():
    x = np.array([1, np.nan, 3, np.nan], F32)
    for dtype in (F32, ml_dtypes.bfloat16):
        assert np.isnan(float(lax.reduce_max(x.astype(dtype), (0,))))
        assert np.isnan(float(lax.reduce_min(x.astype(dtype), (0,))))
        assert int(lax.argmax(x.astype(dtype), 0, np.int32)) == 1
        assert int(lax.argmin(x.astype(dtype), 0, np.int32)) == 1


def test_of_equal_extrema_the_first_is_found():
    x = np.array([2, 3, 1, 3, 1], F32)
    assert int(lax.argmax(x, 0, np.int32)) == 1
    assert int(lax.argmin(x, 0, np.int32)) == 2
    assert int(lax.argmax(np.array([-0.0, 0.0], F32), 0, np.int32)) == 0


def test_positions_wrap_in_a_narrow_index_type():
    assert int(lax.argmax(np.arange(300), 0, np.int8)) == 43


def test_tied_extrema_share_the_derivative():
    x = np.array([1, 3, 3, 2], F32)
    np.testing.assert_array_equal(tanx.grad(lambda v: lax.reduce_max(v, (0,)))(x), [0, .5, .5, 0])


def test_the_derivative_of_a_product_survives_zeros():
    x = np.array([2, 0, 3], F32)
    np.testing.assert_array_equal(tanx.grad(lambda v: lax.reduce_prod(v, (0,)))(x), [0, 6, 0])


def test_weak_types():
    weak = lax.broadcast(3.0, (2,))
    assert lax.reduce_sum(weak, (0,)).weak_type
    assert not lax.reduce_and(lax.broadcast(3, (2,)), (0,)).weak_type
    assert not lax.argmax(weak, 0, np.int32).weak_type


def test_named_functions_become_their_reductions():
    x = np.arange(6, dtype=F32).reshape(2, 3)

    def primitive(fun, init, x=x):
        jaxpr = tanx.make_jaxpr(lambda v: lax.reduce(v, init, fun, (0,)))(x)
        return jaxpr.eqns[0].primitive.name

    assert primitive(lax.add, 0) == "reduce_sum"
    assert primitive(lax.mul, 1.0) == "reduce_prod"
    assert primitive(lax.max, -np.inf) == "reduce_max"
    assert primitive(lax.min, np.inf) == "reduce_min"
    assert primitive(lax.bitwise_or, False, x > 2) == "reduce_or"
    assert primitive(lax.bitwise_and, True, x > 2) == "reduce_and"
    assert primitive(lax.bitwise_xor, 0, x.astype(np.int32)) == "reduce_xor"
    assert primitive(lax.add, 1.0) == "reduce"
    assert primitive(lambda a, b: lax.add(a, b), 0.0) == "reduce"


def test_a_reducer_in_a_jaxpr():
    def total(x):
        return lax.reduce((x, x), (0.0, 1.0), combine, (1,))

    def combine(a, b):
        return lax.add(a[0], b[0]), lax.mul(a[1], b[1])

    text = str(tanx.make_jaxpr(total)(np.ones((2, 3), F32)))
    assert text == """\
{ lambda ; a:f32[2,3]. let
    b:f32[2] c:f32[2] = reduce[
      computation=<function test_a_reducer_in_a_jaxpr.<locals>.combine at 0xXXXXXXXXXXXX>
      dimensions=(1,)
      jaxpr={ lambda ; d:f32[] e:f32[] f:f32[] g:f32[]. let
          h:f32[] = add d f
          i:f32[] = mul e g
        in (h, i) }
    ] a a 0.0:f32[] 1.0:f32[]
  in (b, c) }"""


@pytest.mark.parametrize("wrap", [lambda f: f, tanx.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("combine", [
    lambda x, y: lax.fori_loop(0, 3, lambda _, s: s + 1, x) + y - 3,
    lambda x, y: lax.while_loop(lambda s: s[0] > 0, lambda s: (s[0] - 1, s[1] + 1),
                                (np.int32(2), x))[1] + y - 2,
    lambda x, y: lax.switch((x > y).astype(np.int32), [lambda x, y: x + y, lambda x, y: y + x],
                            x, y),
], ids=["for", "while", "cond"])
def test_reducers_with_loops_and_branches(wrap, combine):
    x = np.arange(12, dtype=F32).reshape(3, 4)
    out = wrap(lambda x: lax.reduce(x, F32(0), combine, (1,)))(x)
    np.testing.assert_array_equal(out, x.sum(1))


def test_reducers_of_trees_with_calls_inside():
    """The maximum of each row and its index; the choice is a jitted function."""
    choose = tanx.jit(lambda first, a, b: lax.select(first, a, b))

    def better(a, b):
        first = lax.gt(a["x"], b["x"])
        return {name: choose(first, a[name], b[name]) for name in a}

    x = np.random.default_rng(0).normal(size=(3, 9)).astype(F32)
    at = np.tile(np.arange(9, dtype=np.int32), (3, 1))
    out = lax.reduce({"x": x, "at": at}, {"x": -np.inf, "at": -1}, better, (1,))
    np.testing.assert_array_equal(out["x"], x.max(1))
    np.testing.assert_array_equal(out["at"], x.argmax(1))


def test_initial_values_count_once():
    """Also in derivatives: ``jvp`` returns the value of the function itself."""
    def total(x):
        return lax.reduce(x, 10.0, lambda a, b: lax.add(a, b), (0,))

    for size in range(6):
        x = np.ones(size, F32)
        assert float(total(x)) == 10 + size
        value, slope = tanx.jvp(total, (x,), (x,))
        assert (float(value), float(slope)) == (10 + size, size)


def test_initial_values_may_be_batched():
    x = np.arange(6, dtype=F32).reshape(2, 3)
    total = tanx.vmap(lambda row, init: lax.reduce(row, init, lambda a, b: lax.add(a, b), (0,)))
    np.testing.assert_array_equal(total(x, np.array([10, 20], F32)), [13, 32])


def test_errors():
    x = np.zeros((2, 3), F32)
    assert message(ValueError, lax.reduce_sum, x, (-1,)) == """\
tanx.lax.reduce_sum: axes must be distinct dimensions of the operand.
  operand: float32[2,3]
  axes:    (-1,)
  Hint: tanx.numpy's functions take negative axes."""
    assert message(TypeError, lax.reduce_sum, x > 0, (0,)) == """\
tanx.lax.reduce_sum: does not take bool operands.
  operand: bool[2,3]
  takes:   signed integer, unsigned integer, floating point, complex"""
    assert message(ValueError, lax.argmax, x[:, :0], 1, np.int32) == """\
tanx.lax.argmax: the dimension searched must not be empty.
  operand: float32[2,0]
  axis:    1"""
    assert message(TypeError, lax.argmin, x, 1, np.float32) == """\
tanx.lax.argmin: index_dtype must be an integer type.
  index_dtype: float32"""
    assert message(TypeError, lax.argmax, x.astype(np.complex64), 1, np.int32) == """\
tanx.lax.argmax: does not take complex64 operands.
  operand: complex64[2,3]
  takes:   bool, signed integer, unsigned integer, floating point"""
    assert message(TypeError, lax.reduce, x, 0, lax.sub, (0,)) == """\
tanx.lax.reduce: initial values must have their operands' dtypes.
  operand 0: float32[2,3], initial value: ~int32[]"""
    assert message(ValueError, lax.reduce, x, np.zeros(3, F32), lax.sub, (0,)) == """\
tanx.lax.reduce: operands must have equal shapes, initial values be scalars.
  operand 0: float32[2,3], initial value: float32[3]"""
    assert message(TypeError, lax.reduce, x, 0.0, lax.gt, (0,)) == """\
tanx.lax.reduce: the computation must return scalars like those it takes.
  takes: float32[]
  gives: bool[]"""
    assert message(ValueError, lax.reduce, (x, x), (0.0,), lax.add, (0,)) == """\
tanx.lax.reduce: init_values must have the tree structure of operands.
  operands:    PyTreeDef((*, *))
  init_values: PyTreeDef((*,))"""


def test_a_reducer_must_not_use_traced_values():
    def scaled(x, factor):
        return lax.reduce(x, 0.0, lambda a, b: lax.add(a, lax.mul(b, factor)), (0,))

    with pytest.raises(NotImplementedError, match="must not use traced values"):
        tanx.make_jaxpr(scaled)(np.ones(3, F32), np.float32(2))
