"""Arrays from values, of constants, and of ranges."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tests.numpy.agreement import adjoint, agree, batched, fact, message


class SharesTanx:
    def __jax_array__(self):
        return jnp.arange(3.0)


class SharesNumPy:
    def __array__(self, dtype=None, copy=None):
        return np.arange(3.0)


class SharesDLPack:
    def __init__(self, data):
        self.data = data

    def __dlpack__(self, **options):
        return self.data.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.data.__dlpack_device__()


# -- arrays from values ----------------------------------------------------------------------------

VALUES = [
    (1, "~int32[]"), (1.5, "~float32[]"), (1j, "~complex64[]"), (True, "bool[]"),
    ([1, 2], "int32[2]"), ([1, 2.5], "float32[2]"), ([True, 2], "int32[2]"),
    ([True, 1j], "complex64[2]"),
    ([], "float32[0]"), ([[]], "float32[1,0]"), (((1, 2), [3, 4]), "int32[2,2]"),
    (range(3), "int32[3]"),
    (np.float64(1), "float32[]"), (np.int8(1), "int8[]"), (np.arange(3.0), "float32[3]"),
    ([np.int8(1), 2], "int8[2]"), ([np.int8(1), np.int16(2)], "int16[2]"),
    ([np.int8(1), 2.0], "float32[2]"),
    ([np.arange(2), [1, 2]], "int32[2,2]"), (memoryview(b"ab"), "uint8[2]"),
    (bytearray(b"ab"), "uint8[2]"), (SharesTanx(), "float32[3]"), (SharesNumPy(), "float32[3]"),
    ([SharesTanx()] * 2, "float32[2,3]"),
    ([SharesNumPy()] * 2, "float32[2,3]"), (SharesDLPack(np.arange(3)), "int32[3]"),
    (np.ones(2, ml_dtypes.bfloat16), "bfloat16[2]"),
]


@pytest.mark.parametrize("value, type_", VALUES)
def test_array_of_a_value(value, type_):
    for make in (jnp.array, jnp.asarray):
        x = make(value)
        assert fact(x) == type_
        if not isinstance(value, SharesDLPack | SharesTanx) and "Tanx" not in str(value):
            agree(x, np.asarray(value))


def of_arrays(x):
    """Lists that contain ``x``, which may be an array or a traced value."""
    return [
        [x, x], [x, 1.0], [[x, 1], [2.5, x]], [[x], [x]], (x, x), [np.float32(1), x], [True, x],
        [jnp.stack([x, x]), jnp.ones(2)], [[jnp.stack([x, x])], [[3, 4]]]]


@pytest.mark.parametrize("case", range(len(of_arrays(1.5))))
def test_lists_of_arrays_are_stacked(case):
    plain = tanx.tree.map(np.asarray, of_arrays(np.float32(1.5))[case])
    want = np.array(plain, np.float32)
    make = lambda x: jnp.array(of_arrays(x)[case])
    agree(make(jnp.float32(1.5)), want)
    agree(tanx.jit(make)(1.5), want)
    agree(tanx.vmap(make)(jnp.full(3, 1.5)), np.stack([want] * 3))
    assert fact(make(jnp.float32(1.5)))[0] != "~"
    adjoint(make, 1.5)


def test_promotion_in_lists():
    one, weak = jnp.int8(1), jnp.array(2.5)
    facts = {"[int8, 2.0]": jnp.array([one, 2.0]), "[int8, f64]": jnp.array([one, np.float64(2)]),
             "[weak, int8]": jnp.array([weak, one]), "[weak, weak]": jnp.array([weak, weak]),
             "[f16, 1]": jnp.array([jnp.float16(2), 1]),
             "[bf16, f16]": jnp.array([jnp.bfloat16(1), jnp.float16(1)])}
    assert {name: fact(x) for name, x in facts.items()} == {
        "[int8, 2.0]": "float32[2]", "[int8, f64]": "float32[2]", "[weak, int8]": "float32[2]",
        "[weak, weak]": "float32[2]", "[f16, 1]": "float16[2]", "[bf16, f16]": "float32[2]"}


def test_a_dtype_asked_for():
    assert fact(jnp.array([1, 2], float)) == "float32[2]"
    assert fact(jnp.array(1.5, "float16")) == "float16[]"
    assert fact(jnp.array(jnp.sin(1.0), float)) == "float32[]"
    agree(jnp.array([1.5, 2.5], int), [1, 2])
    agree(jnp.array(np.array([300]), "int8"), [44])
    agree(jnp.array(jnp.array([300.7, -5]), "uint8"), [255, 0])
    with pytest.warns(UserWarning, match="64-bit types are not enabled"):
        assert jnp.array([1, 2], "float64").dtype == "float32"
    with pytest.warns(np.exceptions.ComplexWarning):
        agree(jnp.array(np.array([1 + 2j]), float), [1])
    with tanx.enable_x64(True):
        assert [fact(jnp.array(v)) for v in (1, [1], 2**40, [0.5])] == [
            "~int64[]", "int64[1]", "~int64[]", "float64[1]"]


def test_scalar_types_make_arrays():
    assert fact(jnp.float32(3)) == "float32[]"
    assert fact(jnp.int8([1, 2])) == "int8[2]"
    assert fact(jnp.bfloat16(jnp.arange(2))) == "bfloat16[2]"


def test_copies():
    x = jnp.arange(3)
    assert jnp.asarray(x) is x and jnp.asarray(x, copy=False) is x
    assert jnp.array(x) is not x and jnp.asarray(x, copy=True) is not x and jnp.copy(x) is not x
    data = np.arange(3, dtype="int32")
    y = jnp.asarray(data)
    data[0] = 7
    agree(y, [0, 1, 2])
    assert str(tanx.make_jaxpr(lambda x: (jnp.array(x), jnp.asarray(x)))(1.0)) == """\
{ lambda ; a:f32[]. let b:f32[] = copy a in (b, a) }"""


def test_literals_and_constants_in_jaxprs():
    assert str(tanx.make_jaxpr(lambda x: (x + jnp.array(1.0), jnp.array(2)))(np.float32(1))) == """\
{ lambda ; a:f32[]. let b:f32[] = add a 1.0:f32[] in (b, 2:i32[]) }"""
    assert str(tanx.make_jaxpr(lambda x: jnp.array([x, 1.0]))(np.float32(1))) == """\
{ lambda ; a:f32[]. let
    b:f32[1] = broadcast_in_dim a
    c:f32[1] = broadcast_in_dim 1.0:f32[]
    d:f32[2] = concatenate[dimension=0] b c
  in (d,) }"""


def test_ndmin_and_device():
    assert fact(jnp.array(1, ndmin=2)) == "~int32[1,1]"
    assert jnp.array([1, 2], ndmin=3).shape == (1, 1, 2)
    device = tanx.devices()[0]
    for x in (jnp.array([1], device=device), jnp.zeros(2, device=device),
              jnp.arange(3, device=device), jnp.eye(2, device=device)):
        assert x.devices() == {device}


def test_text_and_objects_become_numbers_of_a_requested_dtype():
    assert fact(jnp.int32("4")) == "int32[]" and jnp.int32("4") == 4
    assert tanx.jit(lambda: jnp.array("-2.5", float))() == -2.5
    for value in (["1", "2"], (b"1", "2"), np.array(["1", "2"]), [jnp.ones(()), "2"],
                  np.array([1, "2"], object), np.array([1, 2], "timedelta64[s]")):
        assert jnp.array(value, "int32").tolist() == [1, 2]
    assert jnp.asarray([["1", "nan"], ["inf", "4"]], "float16").shape == (2, 2)
    assert jnp.float32(Fraction(1, 4)) == 0.25
    for value, dtype in (("1.5", int), ("x", float), (["1", "x"], float)):
        with pytest.raises(ValueError, match="invalid literal|could not convert"):
            jnp.array(value, dtype)
    for value, dtype in (({1}, float), (object(), int), ("1", tanx.random.key(0).dtype),
                         (["1"], tanx.random.key(0).dtype)):
        with pytest.raises(TypeError):
            jnp.array(value, dtype)
    with pytest.raises(OverflowError):
        jnp.uint8("300")


def test_values_that_are_no_arrays():
    message(ValueError, lambda: jnp.array(None),
            "tanx.numpy.array: None is not a value of an array.")
    message(ValueError, lambda: jnp.array([1, None]),
            "tanx.numpy.array: None is not a value of an array.")
    message(TypeError, lambda: jnp.array("a"), """\
tanx.numpy.array: arrays hold booleans, numbers or keys.
  dtype: <U1""")
    message(TypeError, lambda: jnp.array([jnp.ones(()), jnp.ones(2)]), """\
tanx.numpy.array: the items of a list must have one shape.
  item 0: float32[]
  item 1: float32[2]""")
    message(NotImplementedError, lambda: jnp.array(1, order="F"), """\
tanx.numpy.array: arrays have no order in memory to choose.
  order: 'F'
  Hint: leave order out.""")
    for value in ({1}, ["a"], [object()], np.array(["a"]), np.datetime64("2020"), lambda: 1, b"ab",
                  np.arange(2, dtype=">i4" if np.little_endian else "<i4")):
        with pytest.raises(TypeError):
            jnp.array(value)
    for value, dtype in ((2**40, None), ([2**40], None), (300, "int8"), ([300], "int8"),
                         (-1, "uint8")):
        with pytest.raises(OverflowError):
            jnp.array(value, dtype)
    with pytest.raises(ValueError):
        jnp.array([[1], [2, 3]])
    with pytest.raises(TypeError):
        jnp.array(1j, float)


# -- arrays of one value ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["zeros", "ones", "empty"])
def test_constants(name):
    make, reference = getattr(jnp, name), getattr(np, "zeros" if name == "empty" else name)
    for shape in ((), 3, (2, 3), [2, 0], (np.int64(2),), jnp.array(2)):
        agree(make(shape), reference(np.asarray(shape) if np.ndim(shape) == 0 else shape))
    for dtype in (bool, int, "int8", "bfloat16", complex, jnp.float16):
        assert make(2, dtype).dtype == jnp.zeros((), dtype).dtype
    assert fact(make(2)) == "float32[2]"


def test_full():
    agree(jnp.full((2, 2), 7), np.full((2, 2), 7))
    agree(jnp.full((2, 3), jnp.arange(3)), np.full((2, 3), np.arange(3)))
    assert [fact(jnp.full(2, v)) for v in (1, 1.5, True, np.int8(1), jnp.float16(1))] == [
        "~int32[2]", "~float32[2]", "bool[2]", "int8[2]", "float16[2]"]
    assert fact(jnp.full(2, 1, "float16")) == "float16[2]"
    agree(jnp.full(2, np.nan, int), [0, 0])
    adjoint(lambda x: jnp.full((2, 3), x), np.arange(3.0))
    batched(lambda x: jnp.full((2, 3), x), np.arange(3.0))


def test_constants_like_an_array():
    x, weak = jnp.arange(3, dtype="int8"), jnp.array(2.5)
    for like in (jnp.zeros_like, jnp.ones_like, jnp.empty_like):
        assert fact(like(x)) == "int8[3]" and fact(like(weak)) == "~float32[]"
    assert fact(jnp.zeros_like(weak, "float32")) == "float32[]"
    assert fact(jnp.full_like(x, 2.5, shape=(2, 2))) == "int8[2,2]"
    assert fact(jnp.ones_like(1)) == "~int32[]"
    agree(jnp.full_like(x, 2.5), [2, 2, 2])
    agree(jnp.full_like(jnp.zeros((2, 3)), jnp.arange(3)), [[0, 1, 2]] * 2)


def test_tangents_of_integers_stay_with_numpy():
    for x in (jnp.zeros(2, tanx.dtypes.float0), jnp.zeros_like(jnp.arange(2), tanx.dtypes.float0)):
        assert isinstance(x, np.ndarray) and x.dtype == tanx.dtypes.float0


def test_bad_constants():
    message(TypeError, lambda: jnp.zeros((2.5,)), """\
tanx.numpy.zeros: a shape is a sequence of integers known while tracing.
  shape: (2.5,)
  Hint: make sizes integers with int(...), or divide them with //.""")
    message(TypeError, lambda: jnp.ones(-1), """\
tanx.numpy.ones: sizes must not be negative.
  shape: (-1,)""")
    message(TypeError, lambda: jnp.full(2, [1, 2]), """\
tanx.numpy.full: needs arrays or numbers, but argument 0 is a list.
  argument 0: [1, 2]
  Hint: wrap it in tanx.numpy.array(...); lists are not converted implicitly.""")
    message(ValueError, lambda: jnp.full((2,), jnp.zeros(3)), """\
tanx.numpy.full: the array does not broadcast to the shape.
  array: float32[3]
  shape: (2,)
  Hint: sizes must be equal or 1, counted from the last dimension.""")
    with pytest.raises(TypeError):
        tanx.jit(jnp.zeros)(3)
    with pytest.raises(TypeError):
        jnp.zeros_like([1, 2])


# -- numbers counted off ---------------------------------------------------------------------------


@pytest.mark.parametrize("args", [
    (3,), (0,), (-3,), (2.5,), (1, 4), (1, 10, 2), (10, 0, -1), (1, 10, -1), (0.5, 3), (0, 1, 0.25),
    (np.int8(3),), (np.float32(2.5),), (1, 9, np.int16(3)), (5, None, 2)], ids=str)
def test_arange(args):
    start, stop, step = (*args, None, None)[:3]
    start, stop = (0, start) if stop is None else (start, stop)
    agree(jnp.arange(*args), np.arange(start, stop, step))


def test_dtypes_of_arange():
    assert [fact(jnp.arange(*args)) for args in (
        (3,), (3.0,), (0, 1, 0.5), (np.int8(3),), (jnp.int8(3),), (0, jnp.float16(2)))] == [
        "int32[3]", "float32[3]", "float32[2]", "int8[3]", "int8[3]", "float16[2]"]
    assert fact(jnp.arange(3, dtype="complex64")) == "complex64[3]"
    agree(jnp.arange(0, 6, 1.5, dtype=int), [0, 1, 2, 3])
    agree(tanx.jit(lambda x: x + jnp.arange(jnp.int32(3)))(1), [1, 2, 3])
    assert str(tanx.make_jaxpr(lambda: jnp.arange(1, 10, 2))()) == """\
{ lambda ; . let
    a:i32[5] = iota[dimension=0 dtype=int32 shape=(5,) sharding=None] 
    b:i32[5] = mul 2:i32[] a
    c:i32[5] = add 1:i32[] b
  in (c,) }"""  # noqa: W291 - as JAX prints it


def test_bad_arange():
    message(ValueError, lambda: jnp.arange(jnp.arange(2)), """\
tanx.numpy.arange: the arguments are numbers, not arrays.
  stop: int32[2]""")
    message(ValueError, lambda: jnp.arange(3j), """\
tanx.numpy.arange: the arguments must not be complex.
  stop: 3j""")
    with pytest.raises(tanx.errors.ConcretizationTypeError):
        tanx.jit(jnp.arange)(3)
    with pytest.raises(ZeroDivisionError):
        jnp.arange(0, 3, 0)
    for args in ((None,), ("word",), (True,)):
        with pytest.raises(TypeError):
            jnp.arange(*args)


SPACED = [
    ("linspace", (0, 1), {}), ("linspace", (0, 1, 5), {}),
    ("linspace", (5, 1, 4), {"endpoint": False}),
    ("linspace", (0, 1, 1), {}), ("linspace", (0, 1, 0), {}),
    ("linspace", (0, 10, 4), {"dtype": int}),
    ("linspace", (-5, 1, 4), {"dtype": int}), ("linspace", (0, 1j, 4), {}),
    ("linspace", (0, np.arange(3.0), 4), {}), ("linspace", (np.arange(3.0), 1, 4), {"axis": -1}),
    ("linspace", (np.arange(3.0), np.ones((2, 3)), 4), {"axis": 1, "endpoint": False}),
    ("logspace", (0, 2, 5), {}), ("logspace", (0, 2, 5), {"base": 2}),
    ("logspace", (0, 2, 3), {"dtype": int}),
    ("logspace", (0, np.arange(3.0), 4), {"axis": 1, "endpoint": False}),
    ("geomspace", (1, 8, 4), {}), ("geomspace", (-1, -8, 4), {}),
    ("geomspace", (2, 64, 5), {"endpoint": False}),
    ("geomspace", (1, np.arange(1, 4), 4), {"axis": 1}), ("geomspace", (1j, 8j, 4), {})]


@pytest.mark.parametrize("name, args, options", SPACED, ids=str)
def test_spaced_numbers(name, args, options):
    got, want = getattr(jnp, name)(*args, **options), getattr(np, name)(*args, **options)
    agree(got, want, 1e-5)
    agree(tanx.jit(lambda *a: getattr(jnp, name)(*a, *args[2:], **options))(*args[:2]), want, 1e-5)


def test_spacing():
    for num, endpoint in ((5, True), (5, False), (1, False), (1, True), (0, True)):
        got, step = jnp.linspace(1, 3, num, endpoint, retstep=True)
        want, want_step = np.linspace(1, 3, num, endpoint, retstep=True)
        agree(got, want)
        agree(step, want_step)
    assert [fact(jnp.linspace(0, 1, 2, dtype=d)) for d in (None, "float16", "bfloat16", int)] == [
        "float32[2]", "float16[2]", "bfloat16[2]", "int32[2]"]
    agree(jnp.linspace(0, 1, 3, dtype=bool), [False, True, True])
    adjoint(lambda a, b: jnp.linspace(a, b, 5), 1.0, np.arange(3.0))
    adjoint(lambda a, b: jnp.geomspace(a, b, 4), 1.5, np.arange(1, 4.0))
    batched(lambda a, b: jnp.linspace(a, b, 4, axis=-1), np.arange(3.0), np.ones(3))
    assert "name=_linspace" in str(tanx.make_jaxpr(lambda x: jnp.linspace(0, x, 3))(1.0))


def test_bad_spacing():
    message(ValueError, lambda: jnp.linspace(0, 1, -1), """\
tanx.numpy.linspace: the number of elements must not be negative.
  num: -1""")
    message(ValueError, lambda: jnp.linspace(0, 1, 3, axis=2), """\
tanx.numpy.linspace: axis 2 is out of bounds for 1 dimensions.
  Hint: axes go from -1 to 0.""")
    with pytest.raises(TypeError):
        jnp.linspace([0, 1], 1, 3)
    with pytest.raises(TypeError):
        jnp.linspace(0, 1, 2.5)


@pytest.mark.parametrize("name", ["bartlett", "blackman", "hamming", "hanning"])
@pytest.mark.parametrize("m", [0, 1, 2, 7])
def test_windows(name, m):
    agree(getattr(jnp, name)(m), getattr(np, name)(m))


# -- conversion and buffers ------------------------------------------------------------------------


def test_astype():
    x = jnp.array([0.5, -1.5, 0])
    agree(jnp.astype(x, int), [0, -1, 0])
    agree(jnp.astype(x, bool), [True, True, False])
    assert jnp.astype(x, "float32") is x and jnp.astype(x, "float32", copy=True) is not x
    assert [fact(jnp.astype(v, d)) for v, d in ((1.5, int), (jnp.arange(2), None))] == [
        "int32[]", "float32[2]"]
    with pytest.warns(np.exceptions.ComplexWarning):
        agree(jnp.astype(jnp.array([1 + 2j]), float), [1])
    adjoint(lambda x: jnp.astype(x, "complex128").real, np.arange(3.0))
    with pytest.raises(TypeError):
        jnp.astype([1], int)


def test_buffers():
    agree(jnp.frombuffer(b"abcdefgh", "int16", 2, 2), np.frombuffer(b"abcdefgh", "int16", 2, 2))
    agree(jnp.fromstring("1, 2, 3", dtype=int, sep=","), [1, 2, 3])
    agree(jnp.fromiter((i * 0.5 for i in range(3)), float), [0, 0.5, 1])


def test_dlpack():
    data = np.arange(3, dtype="float32")
    shared = jnp.from_dlpack(data)
    data[0] = 7
    agree(shared, [7, 1, 2])
    agree(jnp.from_dlpack(SharesDLPack(data), copy=True), [7, 1, 2])
    assert fact(jnp.from_dlpack(np.arange(3.0))) == "float32[3]"
    x = jnp.arange(3)
    assert jnp.from_dlpack(x) is x
    agree(np.from_dlpack(x), [0, 1, 2])
    message(TypeError, lambda: jnp.from_dlpack(3), """\
tanx.numpy.from_dlpack: needs an object with __dlpack__ and __dlpack_device__.
  object: 3
  Hint: tanx.numpy.asarray takes lists and numbers.""")
    message(ValueError, lambda: jnp.from_dlpack(np.arange(3.0), copy=False), """\
tanx.numpy.from_dlpack: a change of dtype needs a copy, and copy=False forbids it.
  object: float64[3]
  dtype:  float32""")


BIG = 2 ** 40


@pytest.mark.parametrize("call", [
    lambda i: i + BIG, lambda i: i < BIG, lambda i: jnp.maximum(i, -BIG),
    lambda i: jnp.clip(i, 0, BIG), lambda i: jnp.where(i > 0, BIG, i), lambda i: i.at[0].set(BIG),
    lambda i: i & 0xFFFFFFFF, lambda i: i.astype("uint8") + BIG, lambda i: jnp.sin(BIG),
    lambda i: tanx.lax.scan(lambda c, x: (c, x), BIG, i)])
def test_integers_that_do_not_fit_int32_raise(call):
    for f in (call, tanx.jit(call)):
        with pytest.raises(OverflowError, match="a Python integer does not fit into i32"):
            f(jnp.arange(3))


def test_integers_that_fit_are_taken():
    bits = jnp.arange(3, dtype="uint32")
    assert (bits ^ 0xDEADBEEF).tolist() == [0xDEADBEEF, 0xDEADBEEE, 0xDEADBEED]
    assert (jnp.arange(3, dtype="uint8") + 300).tolist() == [44, 45, 46]  # 300 alone is an int32
    message(OverflowError, lambda: jnp.array([1, BIG]), """\
int: a Python integer does not fit into i32.
  value: [1, 1099511627776]
  Hint: use a wider dtype, or a float; tanx.config.update('jax_enable_x64', True) gives Python \
integers 64 bits.""")
