"""``Array``: immutable data, its protocols, its conversions and its printed forms."""

import copy
import gc
import operator
import pickle
import subprocess
import sys
import weakref

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx._core.array import Array
from tanx._core.types import ShapedArray

X = jnp.arange(6.0).reshape(2, 3)
HALF, THREE, YES, COMPLEX = jnp.float32(1.5), jnp.int32(3), jnp.bool_(True), jnp.complex64(1j)


def error(call, kind=TypeError) -> str:
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


# --- Immutability ---------------------------------------------------------------------------------


def test_elements_cannot_be_set():
    assert error(lambda: operator.setitem(X, (0, 0), 5.0)) == (
        "tanx.Array: arrays are immutable: elements cannot be assigned.\n"
        "  array: float32[2,3]\n"
        "  Hint: x = x.at[i].set(v) gives an updated array; under jit it is done in place.")
    with pytest.raises(AttributeError):
        del X[0]
    assert X[0, 0] == 0.0


@pytest.mark.parametrize("name", ["shape", "dtype", "size", "anything"])
def test_attributes_cannot_be_set(name):
    with pytest.raises(AttributeError):
        setattr(X, name, 3)


def test_operators_in_place_make_new_arrays():
    x = y = jnp.arange(3)
    x += 1
    assert x.tolist() == [1, 2, 3] and y.tolist() == [0, 1, 2]


def test_numpy_sees_a_view_that_it_cannot_write():
    view = np.asarray(X)
    assert not view.flags.writeable and np.shares_memory(view, np.asarray(X))
    with pytest.raises(ValueError):
        view[0] = 1
    assert np.array(X).flags.writeable  # a copy may be changed
    np.array(X)[:] = 7
    assert X[0, 0] == 0.0


def test_asarray_copies_numpy_arrays():
    data = np.arange(3)
    x = jnp.asarray(data)
    data[:] = 7
    assert x.tolist() == [0, 1, 2]


# --- What an array knows --------------------------------------------------------------------------


def test_attributes():
    assert (X.shape, X.ndim, X.size, X.nbytes, X.itemsize) == ((2, 3), 2, 6, 24, 4)
    assert X.dtype == np.float32 and X.aval == ShapedArray((2, 3), np.float32)
    assert not X.weak_type and jnp.asarray(1.5).weak_type
    assert isinstance(X, tanx.Array) and not isinstance(np.ones(2), tanx.Array)
    assert not isinstance(1.0, tanx.Array)
    assert tanx.Array.__module__ == "tanx"


def test_tracers_are_arrays_to_isinstance():
    seen = []
    tanx.jit(lambda x: seen.append(isinstance(x, tanx.Array)) or x)(1.0)
    tanx.vmap(lambda x: seen.append(isinstance(x, tanx.Array)) or x)(X)
    tanx.grad(lambda x: seen.append(isinstance(x, tanx.Array)) or x)(1.0)
    assert seen == [True] * 3 and not issubclass(np.ndarray, tanx.Array)


def test_arrays_can_be_referred_to_weakly():
    x = jnp.ones(3)
    gone = weakref.ref(x)
    del x
    gc.collect()
    assert gone() is None


# --- Conversions ----------------------------------------------------------------------------------


@pytest.mark.parametrize("x, expected", [
    (HALF, {"bool": True, "int": 1, "float": 1.5, "complex": 1.5 + 0j}),
    (THREE, {"bool": True, "int": 3, "float": 3.0, "complex": 3 + 0j, "index": 3}),
    (YES, {"bool": True, "int": 1, "float": 1.0, "complex": 1 + 0j}),
    (COMPLEX, {"bool": True, "complex": 1j}),
    (jnp.bfloat16(2), {"bool": True, "int": 2, "float": 2.0, "complex": 2 + 0j}),
    (jnp.uint8(0), {"bool": False, "int": 0, "float": 0.0, "complex": 0j, "index": 0}),
    (jnp.ones(1), {"bool": True}),
    (jnp.ones((1, 1), int), {"bool": True}),
    (jnp.ones(2), {}),
    (jnp.zeros(0), {}),
], ids=str)
def test_python_numbers(x, expected):
    for convert in (bool, int, float, complex, operator.index):
        if convert.__name__ in expected:
            value = convert(x)
            assert value == expected[convert.__name__]
            assert type(value) is (int if convert is operator.index else convert)
        else:
            with pytest.raises((TypeError, ValueError)):
                convert(x)


@pytest.mark.parametrize("call, kind, text", [
    (lambda: int(X), TypeError,
     "int: only arrays of zero dimensions convert to Python scalars.\n"
     "  array: float32[2,3]\n"
     "  Hint: take one element first, as x[0] or x.item()."),
    (lambda: float(jnp.ones(1)), TypeError,
     "float: only arrays of zero dimensions convert to Python scalars.\n"
     "  array: float32[1]\n"
     "  Hint: take one element first, as x[0] or x.item()."),
    (lambda: bool(X), ValueError,
     "bool: the truth value of an array with other than one element is ambiguous.\n"
     "  array: float32[2,3]\n"
     "  Hint: use x.any() or x.all()."),
    (lambda: bool(jnp.zeros(0)), ValueError,
     "bool: the truth value of an array with other than one element is ambiguous.\n"
     "  array: float32[0]\n"
     "  Hint: use x.any() or x.all()."),
    (lambda: operator.index(HALF), TypeError,
     "index: only integer arrays of zero dimensions can be used as an index.\n"
     "  array: float32[]"),
    (lambda: [1, 2][jnp.ones(1, int)], TypeError,
     "index: only integer arrays of zero dimensions can be used as an index.\n"
     "  array: int32[1]"),
])
def test_conversion_mistakes(call, kind, text):
    assert error(call, kind) == text


def test_hash():
    assert error(lambda: hash(X)) == (
        "hash: arrays have no hash: equality of arrays is an array.\n"
        "  array: float32[2,3]\n"
        "  Hint: hash x.tobytes() or x.item() for its value, id(x) for the object; pass arrays to "
        "jit as ordinary arguments, not as static ones.")
    for use in (lambda: {X: 1}, lambda: {X}, lambda: X in {}, lambda: hash(HALF)):
        assert error(use).startswith("hash: arrays have no hash")


def test_elements():
    assert HALF.item() == 1.5 and type(HALF.item()) is float
    assert X.item(0, 1) == X.item((0, 1)) == X.item(1) == 1.0
    assert jnp.arange(3).tolist() == [0, 1, 2] and X.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert jnp.arange(2, dtype="int16").tobytes() == b"\x00\x00\x01\x00"


def test_length_and_iteration():
    assert len(X) == 2 and len(jnp.zeros((0, 3))) == 0
    rows = list(X)
    assert [r.tolist() for r in rows] == [[0, 1, 2], [3, 4, 5]]
    assert all(isinstance(r, tanx.Array) for r in rows)
    assert [int(n) for n in reversed(jnp.arange(3))] == [2, 1, 0]
    a, b, c = jnp.arange(3)
    assert (a, b, c) == (0, 1, 2)
    assert 2.0 in X and 9.0 not in X
    assert error(lambda: len(HALF)) == (
        "len: an array of zero dimensions has no length.\n"
        "  array: float32[]\n"
        "  Hint: x.size counts elements.")
    assert error(lambda: iter(HALF)) == (
        "iter: an array of zero dimensions cannot be iterated over.\n"
        "  array: float32[]")


# --- Protocols ------------------------------------------------------------------------------------


def test_numpy():
    assert np.asarray(X).dtype == np.float32 and np.asarray(X, int).dtype == int
    assert np.asarray(jnp.bfloat16(2)).dtype == jnp.bfloat16
    assert type(np.add(X, 1)) is np.ndarray
    assert isinstance(np.ones((2, 3)) + X, tanx.Array) and isinstance(np.float32(2) * X, tanx.Array)
    np.testing.assert_array_equal(np.concatenate([X, X]), np.tile(np.arange(6.0).reshape(2, 3),
                                                                  (2, 1)))
    error(lambda: np.array(X, dtype=int, copy=False), ValueError)  # or NumPy's message
    assert error(lambda: X.__array__(int, copy=False), ValueError).startswith(
        "numpy.asarray: a change of dtype needs a copy, and copy=False forbids it.\n"
        "  array: float32[2,3]\n")
    assert np.shares_memory(np.array(X, copy=False), np.asarray(X))


@pytest.mark.skipif(sys.version_info < (3, 12), reason="classes have buffers from 3.12 on")
def test_buffers():
    view = memoryview(X)
    assert view.readonly and view.shape == (2, 3) and view.tolist() == X.tolist()


def test_dlpack():
    there = np.from_dlpack(X)
    np.testing.assert_array_equal(there, X)
    assert X.__dlpack_device__() == (1, 0)
    back = jnp.from_dlpack(np.arange(3, dtype=np.float32))
    assert isinstance(back, tanx.Array) and back.tolist() == [0, 1, 2]
    assert jnp.from_dlpack(X).tolist() == X.tolist()
    with pytest.raises(BufferError):
        X.__dlpack__(dl_device=(2, 0))


@pytest.mark.parametrize("x", [
    HALF, jnp.asarray(1.5), jnp.ones((2, 2), "bfloat16"), jnp.array([1, 2], "int4"),
    jnp.zeros((0, 3)), YES, COMPLEX], ids=str)
def test_copies(x):
    for other in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x), x.copy()):
        assert other is not x and other.aval == x.aval
        np.testing.assert_array_equal(np.asarray(other), np.asarray(x))
        assert not x.size or not np.shares_memory(np.asarray(other), np.asarray(x))
    assert copy.deepcopy({"a": [x]})["a"][0].aval == x.aval


# --- The end of an array --------------------------------------------------------------------------


@pytest.mark.parametrize("use", [
    lambda x: x + 1, np.asarray, lambda x: x.tolist(), lambda x: x[0], lambda x: jnp.sin(x),
    lambda x: tanx.jit(lambda y: y)(x), lambda x: x.block_until_ready(), lambda x: x.is_ready(),
    lambda x: x.copy(), lambda x: tanx.grad(lambda y: (y * x).sum())(jnp.ones(3)),
    lambda x: tanx.vmap(jnp.sin)(x), pickle.dumps],
    ids=["add", "numpy", "tolist", "index", "sin", "jit", "block", "ready", "copy", "grad", "vmap",
         "pickle"])
def test_deleted_arrays(use, request):
    x = jnp.ones(3)
    x.delete()
    assert x.is_deleted() and x.shape == (3,) and x.dtype == jnp.float32
    functions = {"add": "add", "grad": "multiply", "sin": "sin", "vmap": "sin"}
    function = functions.get(request.node.callspec.id)
    name = f"tanx.numpy.{function}" if function else "tanx.Array"
    assert error(lambda: use(x), RuntimeError) == (
        f"{name}: the array was deleted or donated, its data is gone.\n"
        "  array: float32[3]\n"
        "  Hint: keep a copy with x.copy() before donating or deleting it.")


def test_deleted_arrays_print():
    x = jnp.ones(3)
    x.delete()
    x.delete()
    assert repr(x) == str(x) == "Array(deleted, float32[3])"


# --- Printed forms, as JAX has them ---------------------------------------------------------------


@pytest.mark.parametrize("x, text", [
    (HALF, "Array(1.5, dtype=float32)"),
    (jnp.asarray(1.5), "Array(1.5, dtype=float32, weak_type=True)"),
    (jnp.asarray(3), "Array(3, dtype=int32, weak_type=True)"),
    (YES, "Array(True, dtype=bool)"),
    (jnp.float16(0.1), "Array(0.1, dtype=float16)"),
    (jnp.bfloat16(0.1), "Array(0.100098, dtype=bfloat16)"),
    (jnp.complex64(1 + 2j), "Array(1.+2.j, dtype=complex64)"),
    (jnp.array([]), "Array([], shape=(0,), dtype=float32)"),
    (jnp.zeros((2, 0), int), "Array([], shape=(2, 0), dtype=int32)"),
    (jnp.arange(3), "Array([0, 1, 2], dtype=int32)"),
    (X, "Array([[0., 1., 2.],\n       [3., 4., 5.]], dtype=float32)"),
    (jnp.array([1e-10, 1, 1e10]), "Array([1.e-10, 1.e+00, 1.e+10], dtype=float32)"),
    (jnp.array([np.nan, np.inf, -np.inf]), "Array([ nan,  inf, -inf], dtype=float32)"),
    (jnp.array([True, False]), "Array([ True, False], dtype=bool)"),
    (jnp.array([1.5, 2.5], "bfloat16"), "Array([1.5, 2.5], dtype=bfloat16)"),
    (jnp.array([1, 2], "int4"), "Array([1, 2], dtype=int4)"),
    (jnp.array([1, 2], "float8_e4m3fn"), "Array([1, 2], dtype=float8_e4m3fn)"),
    (jnp.array([1 + 2j, 3 - 4j]), "Array([1.+2.j, 3.-4.j], dtype=complex64)"),
    (jnp.arange(2000), "Array([   0,    1,    2, ..., 1997, 1998, 1999], dtype=int32)"),
    (jnp.arange(17) * 1.5, "Array([ 0. ,  1.5,  3. ,  4.5,  6. ,  7.5,  9. , 10.5, 12. , 13.5, "
                           "15. ,\n       16.5, 18. , 19.5, 21. , 22.5, 24. ], dtype=float32, "
                           "weak_type=True)"),
    (jnp.arange(16), "Array([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15], "
                     "     dtype=int32)"),
])
def test_repr(x, text):
    assert repr(x) == text


@pytest.mark.parametrize("x, text", [
    (jnp.zeros((512, 512)), "Array(shape=(512, 512), dtype=float32)"),
    (tanx.lax.full((2**18,), 1.0), "Array(shape=(262144,), dtype=float32, weak_type=True)"),
    (jnp.zeros(2**20, jnp.int8), "Array(shape=(1048576,), dtype=int8)"),
    (jnp.zeros(2**20 - 1, jnp.int8), "Array([0, 0, 0, ..., 0, 0, 0], dtype=int8)"),
])
def test_large_arrays_print_their_type(x, text):
    """From one MiB on; format shows elements."""
    assert repr(x) == text
    assert str(x) == (text if "shape" in text else "[0 0 0 ... 0 0 0]")
    assert f"{x}" == str(np.asarray(x))



def test_str_and_format():
    assert str(X) == "[[0. 1. 2.]\n [3. 4. 5.]]" and str(HALF) == "1.5" and str(THREE) == "3"
    assert f"{X}" == str(X) and f"{HALF}" == "1.5"
    assert f"{HALF:.2f} {THREE:5} {THREE:x} {HALF:>6}" == "1.50     3 3    1.5"
    assert error(lambda: format(X, ".2f")) == (
        "format: only arrays of zero dimensions take a format.\n"
        "  array:  float32[2,3]\n"
        "  format: .2f\n"
        "  Hint: tanx.numpy.array_str and tanx.numpy.printoptions set the precision.")


def test_numpy_print_options_are_used():
    with np.printoptions(precision=2, linewidth=40, threshold=5):
        assert repr(jnp.arange(12.0) / 7) == (
            "Array([0.  , 0.14, 0.29, ..., 1.29,\n       1.43, 1.57], dtype=float32)")


# --- Made by tanx ---------------------------------------------------------------------------------


def test_the_constructor_takes_a_buffer_as_it_is():
    data = np.arange(3)
    x = Array(data, weak_type=True)
    assert x._value is data and x.weak_type and x.aval == ShapedArray((3,), data.dtype, True)


def test_the_class_answers_for_its_methods_before_any_array_was_made():
    code = ("import tanx; assert hasattr(tanx.Array, 'T') and 'sum' in dir(tanx.Array); "
            "assert not hasattr(tanx.Array, 'nonsense')")
    subprocess.run([sys.executable, "-c", code], check=True)


def test_arrays_are_not_made_by_their_class():
    with pytest.raises(TypeError, match="made by functions"):
        jnp.ndarray((1, 1))
