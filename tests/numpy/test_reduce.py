"""Reductions: sums, extrema, means, variances, logic, positions."""

import tracemalloc
import warnings

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tests.numpy.agreement import adjoint, agree, batched, fact, message

RNG = np.random.default_rng(0)
CUBE = RNG.normal(size=(2, 3, 4)).astype(np.float32)
INTS = RNG.integers(-9, 9, (3, 4))
MASK = np.array([[True, False, True, True]] * 3)
COMPLEX = (CUBE[0] + 1j * CUBE[1]).astype(np.complex64)
AXES = [None, 0, -1, (0, 2), (), (-1, 0, 1), [1]]

NAMES = ["sum", "prod", "max", "min", "mean", "var", "std", "all", "any", "ptp"]


def axes_of(axis):
    return tuple(axis) if isinstance(axis, list) else axis


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_axes(name, axis, keepdims):
    if name == "ptp" and axis == ():  # NumPy treats it as all axes
        return
    want = getattr(np, name)(CUBE, axis=axes_of(axis), keepdims=keepdims)
    agree(getattr(jnp, name)(CUBE, axis=axis, keepdims=keepdims), want, 1e-5)
    agree(getattr(jnp.asarray(CUBE), name)(axis=axis, keepdims=keepdims), want, 1e-5)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_positions(name, axis):
    ties = np.round(CUBE)
    for x in (ties, np.where(CUBE > 1, np.nan, ties)):
        agree(getattr(jnp, name)(x, axis), getattr(np, name)(x, axis))
        agree(getattr(jnp, name)(x, axis, keepdims=True),
              getattr(np, name)(x, axis, keepdims=True))
    assert fact(getattr(jnp, name)(2.0)) == "int32[]"


@pytest.mark.parametrize("x", [INTS.astype(np.int8), INTS > 0, COMPLEX, np.float32(2)],
                         ids=["int8", "bool", "complex", "scalar"])
@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "std", "all", "any"])
def test_dtypes(name, x):
    agree(getattr(jnp, name)(x), getattr(np, name)(x), 1e-4, 1e-4)


def test_other_ways_to_ask():
    agree(jnp.sum(CUBE, initial=3, where=CUBE > 0), np.sum(CUBE, initial=3, where=CUBE > 0))
    agree(jnp.prod(INTS, 0, initial=2), np.prod(INTS, 0, initial=2))
    agree(jnp.max(INTS, 1, initial=3, where=MASK), np.max(INTS, 1, initial=3, where=MASK))
    agree(jnp.min(INTS, 1, initial=3, where=MASK[0]), np.min(INTS, 1, initial=3, where=MASK))
    agree(jnp.max(INTS > 5, 1, initial=False, where=MASK), np.max(INTS > 5, 1, initial=False,
                                                                  where=MASK))
    agree(jnp.mean(INTS, 1, where=MASK), np.mean(INTS, 1, where=MASK))
    agree(jnp.var(INTS, 1, ddof=1, where=MASK), np.var(INTS, 1, ddof=1, where=MASK))
    agree(jnp.std(CUBE, 0, correction=1), np.std(CUBE, 0, ddof=1), 1e-5)
    center = CUBE.mean(0, keepdims=True)
    agree(jnp.var(CUBE, 0, mean=center), np.var(CUBE, 0), 1e-5)
    agree(jnp.any(INTS, 0, where=MASK), np.any(INTS, 0, where=MASK))
    agree(jnp.all(INTS, 0, where=MASK, keepdims=True), np.all(INTS, 0, where=MASK, keepdims=True))
    agree(jnp.count_nonzero(INTS, 0, keepdims=True), np.count_nonzero(INTS, 0, keepdims=True))
    agree(jnp.minmax(INTS, 1), (INTS.min(1), INTS.max(1)))
    agree(jnp.minmax(INTS, initial=(-50, 2), where=MASK), (-50, max(2, INTS[MASK].max())))
    small = jnp.array([1, 2], "float8_e4m3fn")
    assert jnp.max(small, initial=0, where=small < 2) == 1
    assert jnp.amax(INTS) == INTS.max() and jnp.amin(INTS) == INTS.min()


def test_no_elements():
    empty = np.zeros((0, 3))
    agree(jnp.sum(empty, 0), np.zeros(3))
    agree(jnp.prod(empty, 0), np.ones(3))
    agree(jnp.max(empty, 1), np.zeros(0))
    agree(jnp.max(empty, 0, initial=1), np.ones(3))
    assert np.isnan(jnp.mean(empty)) and np.isnan(jnp.var(empty)) and np.isnan(jnp.std(1., ddof=1))
    assert jnp.all(empty) and not jnp.any(empty)


FACTS = {
    "sum": "bool->i32 i8->i32 u8->u32 i32->i32 bf16->bf16 f16->f16 f32->f32 c64->c64 "
           "f8_e4m3fn->f8_e4m3fn",
    "prod": "bool->i32 i8->i32 u8->u32 i32->i32 bf16->bf16 f16->f16 f32->f32 c64->c64",
    "max": "bool->bool i8->i8 u8->u8 i32->i32 bf16->bf16 f16->f16 f32->f32",
    "mean": "bool->f32 i8->f32 u8->f32 i32->f32 bf16->bf16 f16->f16 f32->f32 c64->c64",
    "var": "bool->f32 i8->f32 u8->f32 i32->f32 bf16->bf16 f16->f16 f32->f32 c64->f32",
    "ptp": "i8->i8 u8->u8 i32->i32 bf16->bf16 f16->f16 f32->f32",
}
LONG = {"bool": "bool", "i8": "int8", "u8": "uint8", "i32": "int32", "bf16": "bfloat16",
        "f16": "float16", "f32": "float32", "c64": "complex64", "u32": "uint32",
        "f8_e4m3fn": "float8_e4m3fn"}


@pytest.mark.parametrize("name", FACTS)
def test_types_of_results(name):
    for row in FACTS[name].split():
        given, result = row.split("->")
        assert fact(getattr(jnp, name)(jnp.ones(3, LONG[given]))) == f"{LONG[result]}[]"
    weak = jnp.broadcast_to(1.5, 3)
    assert weak.weak_type and fact(getattr(jnp, name)(weak)) == "float32[]"


def test_dtypes_asked_for():
    x = jnp.ones((2, 3), "int8")
    assert fact(jnp.sum(x, promote_integers=False)) == "int8[]"
    assert fact(jnp.sum(x, dtype=float)) == fact(jnp.mean(x, dtype="float32")) == "float32[]"
    assert fact(jnp.sum(x, dtype=bool)) == fact(jnp.prod(x, dtype=bool)) == "bool[]"
    assert fact(jnp.var(x, dtype="float16")) == "float16[]"
    assert fact(jnp.var(x, dtype="complex64")) == "complex64[]"
    assert jnp.mean(jnp.array([1.9, 2.9]), dtype=int) == 1
    with tanx.enable_x64(True):
        assert fact(jnp.sum(x)) == "int64[]" and fact(jnp.mean(x)) == "float32[]"


def test_narrow_floats_are_summed_in_wide_ones():
    x = jnp.full(4096, 1.001, "bfloat16")
    assert float(jnp.sum(x)) == 4096 and float(jnp.mean(x)) == 1
    assert float(jnp.var(jnp.full(4096, 3, "float16"))) == 0


@pytest.mark.parametrize("function", [
    jnp.sum, lambda x: jnp.prod(x, 1), lambda x: jnp.max(x, (0, 2)), lambda x: jnp.mean(x, 1),
    lambda x: jnp.var(x, 1, ddof=1), lambda x: jnp.std(x, 0, keepdims=True), jnp.ptp,
    lambda x: jnp.sum(x, 1, where=x > 0, initial=2), lambda x: jnp.mean(x, where=x > 0),
    lambda x: jnp.minmax(x, 2)[0]])
def test_derivatives_and_batches(function):
    adjoint(function, CUBE)
    batched(function, CUBE)


@pytest.mark.parametrize("function", [
    lambda x: jnp.argmax(x, 1), lambda x: jnp.argmin(x, keepdims=True), lambda x: jnp.any(x > 0, 1),
    lambda x: jnp.count_nonzero(x > 0, 0)])
def test_batches(function):
    batched(function, CUBE)


def test_variance_of_equal_elements_has_a_derivative():
    agree(tanx.grad(lambda x: jnp.var(x))(jnp.ones(3)), np.zeros(3))


def test_jaxprs():
    x = jnp.ones((2, 3))
    assert str(tanx.make_jaxpr(lambda x: x.sum(1, keepdims=True))(x.astype("bfloat16"))) == """\
{ lambda ; a:bf16[2,3]. let
    b:f32[2,3] = convert_element_type[new_dtype=float32 weak_type=False] a
    c:f32[2] = reduce_sum[axes=(1,) out_sharding=None] b
    d:f32[2,1] = broadcast_in_dim[broadcast_dimensions=(0,)] c
    e:bf16[2,1] = convert_element_type[new_dtype=bfloat16 weak_type=False] d
  in (e,) }"""
    assert str(tanx.make_jaxpr(lambda x: x.mean())(x)) == """\
{ lambda ; a:f32[2,3]. let
    b:f32[] = reduce_sum[axes=(0, 1) out_sharding=None] a
    c:f32[] = div b 6.0:f32[]
  in (c,) }"""
    assert str(tanx.make_jaxpr(lambda x: x.max(0, initial=2))(x)) == """\
{ lambda ; a:f32[2,3]. let
    b:f32[3] = reduce_max[axes=(0,) out_sharding=None] a
    c:f32[3] = max 2.0:f32[] b
  in (c,) }"""
    assert str(tanx.make_jaxpr(lambda x: x.argmax())(x)) == """\
{ lambda ; a:f32[2,3]. let
    b:f32[6] = reshape[dimensions=None new_sizes=(6,) sharding=None] a
    c:i32[] = argmax[axes=(0,) index_dtype=int32] b
  in (c,) }"""
    assert str(tanx.make_jaxpr(lambda x: x.std(1))(x)) == STD


STD = """\
let _var = { lambda ; a:f32[2,3] b:i32[]. let
    c:f32[2] = reduce_sum[axes=(1,) out_sharding=None] a
    d:f32[2,1] = broadcast_in_dim[broadcast_dimensions=(0,)] c
    e:f32[2,1] = div d 3.0:f32[]
    f:f32[2,3] = sub a e
    g:f32[2,3] = square f
    h:f32[] = convert_element_type[new_dtype=float32 weak_type=False] b
    i:f32[] = sub 3.0:f32[] h
    j:f32[2] = reduce_sum[axes=(1,) out_sharding=None] g
    k:f32[2] = div j i
    l:bool[] = gt i 0.0:f32[]
    m:f32[2] = jit[
      name=_where
      jaxpr={ lambda ; l:bool[] k:f32[2] n:f32[]. let
          o:f32[] = convert_element_type[new_dtype=float32 weak_type=False] n
          p:f32[2] = broadcast_in_dim o
          m:f32[2] = select_n l p k
        in (m,) }
    ] l k nan:f32[]
  in (m,) } in
{ lambda ; q:f32[2,3]. let
    r:f32[2] = jit[
      name=_std
      jaxpr={ lambda ; q:f32[2,3] s:i32[]. let
          t:f32[2] = jit[name=_var jaxpr=_var] q s
          r:f32[2] = sqrt t
        in (r,) }
    ] q 0:i32[]
  in (r,) }"""


MISTAKES = [
    (TypeError, lambda x: jnp.sum([1, 2]), """\
tanx.numpy.sum: needs arrays or numbers, but argument 0 is a list.
  argument 0: [1, 2]
  Hint: wrap it in tanx.numpy.array(...); lists are not converted implicitly."""),
    (NotImplementedError, lambda x: jnp.sum(x, out=x), """\
tanx.numpy.sum: arrays are immutable, so out is not supported.
  Hint: use the result."""),
    (ValueError, lambda x: jnp.sum(x, 2), """\
tanx.numpy.sum: axis 2 is out of bounds for 2 dimensions.
  operand: float32[2,3]
  Hint: axes go from -2 to 1."""),
    (ValueError, lambda x: jnp.max(x, (0, -2)), """\
tanx.numpy.max: axes must be distinct.
  axes: (0, -2)"""),
    (ValueError, lambda x: jnp.sum(x, where=1.0), """\
tanx.numpy.sum: where must hold booleans.
  where: ~float32[]
  Hint: compare, as in where=mask != 0."""),
    (ValueError, lambda x: jnp.sum(x, where=jnp.ones((2, 2, 3), bool)), """\
tanx.numpy.sum: where must broadcast to the array.
  array: float32[2,3]
  where: bool[2,2,3]"""),
    (ValueError, lambda x: jnp.sum(x, initial=jnp.ones(3)), """\
tanx.numpy.sum: initial must be a scalar.
  initial: float32[3]"""),
    (ValueError, lambda x: jnp.max(x, where=x > 0), """\
tanx.numpy.max: where may leave no elements, so initial must be given.
  Hint: give initial=... the value for no elements."""),
    (ValueError, lambda x: jnp.min(jnp.zeros((0, 3)), 0), """\
tanx.numpy.min: an empty array has no extremum.
  array: float32[0,3]
  axis:  0
  Hint: give initial=... the value for no elements."""),
    (ValueError, lambda x: jnp.argmax(jnp.zeros((0, 3))), """\
tanx.numpy.argmax: an empty array has no extremum.
  array: float32[0,3]
  axis:  None"""),
    (ValueError, lambda x: jnp.var(x, ddof=1, correction=1), """\
tanx.numpy.var: ddof and correction are the same parameter.
  ddof:       1
  correction: 1
  Hint: pass one of them."""),
    (ValueError, lambda x: jnp.var(x + 1j, dtype="float32"), """\
tanx.numpy.var: of complex numbers, dtype must be a complex one.
  array: complex64
  dtype: float32"""),
]


@pytest.mark.parametrize("error, call, text", MISTAKES)
def test_mistakes(error, call, text):
    message(error, lambda: call(jnp.ones((2, 3))), text)


REDUCTIONS = ["sum", "prod", "max", "min", "mean", "var", "std", "median", "cumsum", "cumprod",
              "ptp"]


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_of_64_bit_arrays_give_32_bits_without_x64(name):
    function = getattr(jnp, name)
    with tanx.enable_x64(True):
        numbers, integers = jnp.arange(3.0, dtype="float64"), jnp.arange(3, dtype="int64")
    counted = function(jnp.arange(3)).dtype
    compiled = tanx.jit(function)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for f in (function, *[compiled] * 4):
            got = f(numbers)
            assert (got.dtype, f(integers).dtype) == (np.float32, counted)
            np.testing.assert_allclose(got, getattr(np, name)(np.arange(3.0)), rtol=1e-6)


@pytest.mark.parametrize("name", ["mean", "sum"])
def test_eager_reductions_of_narrow_numbers_make_no_copy(name):
    """The copy would be four times the array."""
    x = jnp.full((1 << 24,), 3, "int8")
    tracemalloc.start()
    try:
        got = [getattr(jnp, name)(x) for _ in range(4)]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert got == [3 if name == "mean" else 3 << 24] * 4
    assert peak < 2 * x.nbytes
