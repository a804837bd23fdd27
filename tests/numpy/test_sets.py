"""Distinct elements, and set operations of two arrays."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tanx
import tanx.numpy as jnp
from tests.numpy.agreement import agree, fact, message

nan = np.nan
ARRAYS = [
    np.array([3, 1, 2, 3, 1]), np.array([[3, 1], [2, 3]]), np.array([5]), np.array([], np.int32),
    np.array([1.0, nan, 2.0, nan, -1.0]), np.array([True, False, True]), np.array(3.0),
    np.array([1j, 0, 1j, -1], np.complex64), np.array([0, 255, 7, 0], np.uint8),
    np.zeros((2, 0)), np.array([0.5, -np.inf, np.inf, 0.5], np.float16)]
every_array = pytest.mark.parametrize("x", ARRAYS, ids=lambda x: f"{x.dtype}{list(x.shape)}")
ROWS = [(np.array([[3, 1], [2, 3], [3, 1]]), 0), (np.array([[3, 1, 3], [2, 3, 2]]), 1),
        (np.array([[3, 1, 3], [2, 3, 2]]), -1), (np.zeros((0, 3)), 0), (np.zeros((3, 0)), 0),
        (np.arange(24).reshape(2, 3, 4) % 4, 1), (np.arange(24).reshape(2, 3, 4) % 4, 2)]


# -- unique ----------------------------------------------------------------------------------------


@every_array
@pytest.mark.parametrize("equal_nan", [True, False])
def test_unique(x, equal_nan):
    want = np.unique(x, True, True, True, equal_nan=equal_nan)
    got = jnp.unique(x, True, True, True, equal_nan=equal_nan)
    agree(got, want)
    assert got[0].dtype == jnp.asarray(x).dtype
    assert all(i.dtype == np.int32 for i in got[1:])
    agree(jnp.unique(x, equal_nan=equal_nan), want[0])
    agree(jnp.unique(x, return_counts=True, equal_nan=equal_nan), (want[0], want[3]))


@pytest.mark.parametrize("x, axis", ROWS, ids=lambda v: str(np.shape(v)))
def test_unique_slices(x, axis):
    agree(jnp.unique(x, True, True, True, axis), np.unique(x, True, True, True, axis))
    agree(jnp.unique(x, axis=axis), np.unique(x, axis=axis))


def resized(values: np.ndarray, size: int, fill) -> np.ndarray:
    return np.concatenate([values, np.full((max(size - len(values), 0), *values.shape[1:]), fill,
                                           values.dtype)])[:size]


@every_array
@pytest.mark.parametrize("size", [0, 2, 5])
def test_fixed_sizes(x, size):
    function = lambda x: jnp.unique(x, True, True, True, size=size, fill_value=1)
    values, index, inverse, counts = np.unique(x, True, True, True)
    want = (resized(values, size, 1), resized(index, size, index[0] if index.size else 0), inverse,
            resized(counts, size, 0))
    agree(function(x), want)
    agree(tanx.jit(function)(x), want)
    agree(tanx.vmap(function)(np.stack([x, x])), tuple(np.stack([y, y]) for y in want))
    if x.size:
        agree(jnp.unique(x, size=size), resized(values, size, values[0]))


def test_fixed_sizes_of_slices():
    x = np.array([[3, 1], [2, 3], [3, 1]])
    unique = tanx.jit(jnp.unique, static_argnames=("axis", "size"))
    agree(unique(x, axis=0, size=3), [[2, 3], [3, 1], [2, 3]])
    agree(unique(x, axis=0, size=1), [[2, 3]])
    agree(unique(x, axis=0, size=3, fill_value=9), [[2, 3], [3, 1], [9, 9]])
    agree(unique(x, axis=0, size=3, fill_value=np.array([7, 8])), [[2, 3], [3, 1], [7, 8]])
    agree(unique(x, axis=1, size=3, fill_value=np.array([7, 8, 9])),
          [[1, 3, 7], [3, 2, 8], [1, 3, 9]])


def test_types():
    assert fact(jnp.unique(2.0)) == "~float32[1]"
    assert fact(jnp.unique(np.array([1, 2]), size=3, fill_value=1.5)) == "int32[3]"
    with tanx.enable_x64(True):
        assert fact(jnp.unique(np.arange(3), return_index=True)[1]) == "int64[3]"


def test_functions_of_the_array_api():
    x = np.array([[3.0, nan], [3.0, nan]])
    got = jnp.unique_all(x)
    agree(got.values, [3, nan, nan])
    agree(got.indices, [0, 1, 3])
    agree(got.inverse_indices, [[0, 1], [0, 2]])
    agree(got.counts, [2, 1, 1])
    agree(jnp.unique_values(x), got.values)
    values, counts = jnp.unique_counts(x)
    agree(counts, got.counts)
    inverse = tanx.jit(lambda x: jnp.unique_inverse(x, size=3))(x)
    agree(inverse.values[inverse.inverse_indices], x)
    agree(jnp.unique_counts(np.array([3, 1, 3]), size=3, fill_value=9).values, [1, 3, 9])


def test_constant_arrays_have_known_unique_elements_under_jit():
    agree(tanx.jit(lambda: jnp.unique(jnp.arange(4) % 2))(), [0, 1])


# -- two arrays ------------------------------------------------------------------------------------

PAIRS = [
    (np.array([3, 1, 1, 5]), np.array([5, 2, 3])), (np.array([3]), np.array([3])),
    (np.array([], np.int32), np.array([1, 2])), (np.array([1, 2]), np.array([], np.int32)),
    (np.array([], np.int32), np.array([], np.int32)),
    (np.array([[3, 1], [1, 5]]), np.array([5.0, 2])),
    (np.array([1.5, 2.5]), np.array([2.5, 2.5, 1.0])), (np.array([1, 2]), np.array([3, 4])),
    (np.array([True, False]), np.array([True]))]
FUNCTIONS = [(jnp.union1d, np.union1d), (jnp.intersect1d, np.intersect1d),
             (jnp.setdiff1d, np.setdiff1d), (jnp.setxor1d, np.setxor1d)]


@pytest.mark.parametrize("x, y", PAIRS, ids=lambda v: f"{v.dtype}{list(v.shape)}")
@pytest.mark.parametrize("function, numpys", FUNCTIONS, ids=lambda f: f.__name__)
def test_sets(function, numpys, x, y):
    want = numpys(x, y)
    agree(function(x, y), want)
    sized = lambda x, y: function(x, y, size=5, fill_value=9)
    fill = resized(want, 5, 9)
    agree(sized(x, y), fill)
    agree(tanx.jit(sized)(x, y), fill)
    agree(tanx.vmap(sized, (0, None))(np.stack([x, x]), y), np.stack([fill, fill]))
    agree(function(x, y, size=1, fill_value=9), fill[:1])


@pytest.mark.parametrize("x, y", PAIRS, ids=lambda v: f"{v.dtype}{list(v.shape)}")
def test_places_of_common_elements(x, y):
    want = np.intersect1d(x, y, return_indices=True)
    agree(jnp.intersect1d(x, y, return_indices=True), want)
    got = tanx.jit(lambda x, y: jnp.intersect1d(x, y, False, True, size=4, fill_value=-1))(x, y)
    agree(got, (resized(want[0], 4, -1), resized(want[1], 4, x.size), resized(want[2], 4, y.size)))


def test_default_fill_values_of_sets():
    x, y = np.array([3, 1, 1, 5]), np.array([5, 2, 3])
    agree(jnp.union1d(x, y, size=6), [1, 2, 3, 5, 1, 1])
    agree(jnp.intersect1d(x, y, size=3), [3, 5, 3])
    agree(jnp.setxor1d(x, y, size=3), [1, 2, 1])
    agree(jnp.setdiff1d(x, y, size=3), [1, 0, 0])
    agree(jnp.setxor1d(x, x, size=2), [0, 0])
    agree(jnp.intersect1d(x, np.array([7]), size=2), [0, 0])


def test_setdiff1d_of_unique_arrays_keeps_their_order():
    x, y = np.array([5, 3, 1, 3]), np.array([1])
    agree(jnp.setdiff1d(x, y, True), [5, 3, 3])
    agree(tanx.jit(lambda x, y: jnp.setdiff1d(x, y, True, size=5, fill_value=-1))(x, y),
          [5, 3, 3, -1, -1])


@given(hnp.arrays(np.int32, st.integers(0, 12), elements=st.integers(-3, 3)),
       hnp.arrays(np.int32, st.integers(0, 12), elements=st.integers(-3, 3)))
@settings(max_examples=30)
def test_random_sets(x, y):
    for function, numpys in FUNCTIONS:
        agree(function(x, y), numpys(x, y))
    agree(jnp.intersect1d(x, y, return_indices=True), np.intersect1d(x, y, return_indices=True))
    agree(jnp.unique(x, True, True, True), np.unique(x, True, True, True))


@pytest.mark.parametrize("method", ["auto", "compare_all", "binary_search", "sort"])
@pytest.mark.parametrize("x, y", [
    *PAIRS, (3, np.array([5, 3])), (np.array([1.0, nan, np.inf]), np.array([nan, np.inf])),
    (np.arange(5), 3), (np.arange(400), np.arange(0, 900, 3)),
    (np.array([1j, 2], np.complex64), np.array([1j], np.complex64))],
    ids=lambda v: str(np.shape(v)))
def test_isin(x, y, method):
    agree(jnp.isin(x, y, method=method), np.isin(x, y))
    agree(tanx.jit(lambda x, y: jnp.isin(x, y, invert=True, method=method))(x, y),
          np.isin(x, y, invert=True))


# -- jaxprs and messages ---------------------------------------------------------------------------


def test_jaxpr_of_isin():
    text = str(tanx.make_jaxpr(jnp.isin)(np.arange(5), np.arange(2)))
    assert text == """\
{ lambda ; a:i32[5] b:i32[2]. let
    c:bool[5] = jit[
      name=_in1d
      jaxpr={ lambda ; a:i32[5] b:i32[2]. let
          d:i32[5,1] = broadcast_in_dim[broadcast_dimensions=(0,)] a
          e:i32[1,2] = broadcast_in_dim[broadcast_dimensions=(1,)] b
          f:bool[5,2] = eq d e
          c:bool[5] = reduce_or[axes=(1,)] f
        in (c,) }
    ] a b
  in (c,) }"""


def test_messages():
    x = np.arange(3)
    message(ValueError, lambda: jnp.unique(x, size=-1), """\
tanx.numpy.unique: size must not be negative.
  size: -1""")
    message(ValueError, lambda: jnp.unique(np.zeros(0), size=2), """\
tanx.numpy.unique: without elements, fill_value must be given.
  array: float32[0]
  size:  2""")
    message(ValueError, lambda: jnp.isin(x, x, method="foo"), """\
tanx.numpy.isin: there is no method 'foo'.
  methods: 'auto', 'compare_all', 'binary_search', 'sort'""")
    for function in (jnp.unique, jnp.unique_values):
        with pytest.raises(tanx.errors.ConcretizationTypeError, match=function.__name__):
            tanx.jit(function)(x)
    for function, _ in FUNCTIONS[1:]:
        with pytest.raises(tanx.errors.ConcretizationTypeError, match=function.__name__):
            tanx.jit(function)(x, x)
    for call in (lambda: jnp.unique([1]), lambda: jnp.isin([1], x), lambda: jnp.union1d([1], x)):
        with pytest.raises(TypeError):
            call()
