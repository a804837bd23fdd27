"""Reading by index: agreement with NumPy, bounds, types, transformations, messages, jaxprs."""

import numpy as np
import pytest
from hypothesis import given, settings

import tanx
import tanx.numpy as jnp
from tanx import lax
from tests.numpy.agreement import adjoint, agree, batched, fact, message
from tests.numpy.indices import ADVANCED, BASIC, X, elements, index_and_shape, label

V = np.arange(5, dtype=np.float32)
every_index = pytest.mark.parametrize("index", BASIC + ADVANCED, ids=label)


def selected(index):
    """The elements that NumPy reads."""
    return X[index]


# -- agreement with NumPy --------------------------------------------------------------------------


@every_index
def test_indexing_matches_numpy(index):
    got = jnp.asarray(X)[index]
    assert fact(got) == f"float32[{','.join(map(str, selected(index).shape))}]"
    np.testing.assert_array_equal(got, selected(index))


@pytest.mark.parametrize("step", [-1, -2, 3])
def test_nothing_read_backwards(step):
    """The end of an empty axis is at -1."""
    for x in (V[:0], X[:0], X[:, :0]):
        assert jnp.asarray(x)[..., ::step].shape == x[..., ::step].shape
        assert jnp.asarray(x)[::step].shape == x[::step].shape
        assert jnp.asarray(x)[-9::step].shape == x[-9::step].shape


@every_index
def test_jit_reads_the_same(index):
    np.testing.assert_array_equal(tanx.jit(lambda x: x[index])(X), selected(index))


@every_index
def test_gradients_scatter_to_the_indexed_elements(index):
    weights = np.random.default_rng(0).normal(size=selected(index).shape).astype(np.float32)
    want = np.zeros_like(X)
    np.add.at(want, index, weights)
    function = lambda x: jnp.sum(x[index] * weights)
    agree(tanx.grad(function)(X), want)
    agree(tanx.jit(tanx.grad(function))(X), want)
    _, tangent = tanx.jvp(lambda x: x[index], (X,), (X + 1,))
    agree(tangent, selected(index) + 1)


@every_index
def test_vmap_reads_each_row(index):
    rows = np.stack([X, X + 100, -X])
    want = np.stack([row[index] for row in rows])
    np.testing.assert_array_equal(tanx.vmap(lambda x: x[index])(rows), want)
    got = tanx.vmap(lambda x: x[index], in_axes=1, out_axes=-1)(np.moveaxis(rows, 0, 1))
    np.testing.assert_array_equal(got, np.moveaxis(want, 0, -1))


def arrays_of(index):
    """The positions of arrays of integers in an index, and a function from arrays to the index."""
    parts = index if isinstance(index, tuple) else (index,)
    places = [k for k, p in enumerate(parts)
              if isinstance(p, np.ndarray) and p.dtype != bool or isinstance(p, int | np.integer)
              and not isinstance(p, bool)]

    def filled(arrays):
        given = dict(zip(places, arrays))
        return tuple(given.get(k, p) for k, p in enumerate(parts))
    return [parts[k] for k in places], filled


@every_index
def test_traced_indices_read_the_same(index):
    arrays, filled = arrays_of(index)
    np.testing.assert_array_equal(
        tanx.jit(lambda x, arrays: x[filled(arrays)])(X, arrays), selected(index))


@every_index
def test_mapped_indices_read_the_same(index):
    arrays, filled = arrays_of(index)
    if not arrays:
        return
    several = [np.stack([a, a]) for a in map(np.asarray, arrays)]
    want = np.stack([selected(index)] * 2)
    got = tanx.vmap(lambda x, arrays: x[filled(arrays)], in_axes=(None, 0))(X, several)
    np.testing.assert_array_equal(got, want)
    got = tanx.vmap(lambda x, arrays: x[filled(arrays)])(np.stack([X, X]), several)
    np.testing.assert_array_equal(got, want)


@given(index_and_shape())
@settings(max_examples=150)
def test_random_indices_match_numpy(case):
    index, shape = case
    x = elements(shape)
    try:
        want = x[index]
    except IndexError:
        with pytest.raises((IndexError, ValueError)):
            jnp.asarray(x)[index]
        return
    np.testing.assert_array_equal(jnp.asarray(x)[index], want)
    np.testing.assert_array_equal(tanx.jit(lambda x: x[index])(x), want)


# -- types -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("index", [0, slice(1, 3), np.array([0, 2]), np.array([True, False, True])],
                         ids=label)
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "float16", "bfloat16", "complex64"])
def test_dtypes_stay(index, dtype):
    x = jnp.arange(3).astype(dtype)
    assert x[index].dtype == x.dtype
    assert not x[index].weak_type
    np.testing.assert_array_equal(x[index], np.asarray(x)[index])


def test_weak_types_stay():
    x = jnp.asarray(2.0)
    assert [fact(x[...]), fact(x[()]), fact(x[None]), fact(x[True])] == [
        "~float32[]", "~float32[]", "~float32[1]", "~float32[1]"]
    assert fact(lax.broadcast(x, (3,))[jnp.array([0, 1])]) == "~float32[2]"


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32"])
@pytest.mark.parametrize("traced", [False, True])
def test_indices_of_narrow_dtypes_reach_all_elements(dtype, traced):
    x = np.arange(200, dtype=np.float32)
    signed = not dtype.startswith("u")
    i = np.array([100, 3, -100 if signed else 199]).astype(dtype)
    read = lambda x, i: x[i]
    got = tanx.jit(read)(x, i) if traced else read(jnp.asarray(x), jnp.asarray(i))
    agree(got, x[i])
    for k in i:
        got = tanx.jit(read)(x, k) if traced else read(jnp.asarray(x), jnp.asarray(k))
        agree(got, x[k])


def test_single_indices_of_different_dtypes():
    read = tanx.jit(lambda x, i, j, k: x[i, j, k])
    agree(read(X, np.int8(-1), np.uint8(2), 3), X[-1, 2, 3])
    agree(tanx.jit(lambda x, i, j: x[i, :, j])(X, np.int8(-1), np.array([0, 1], np.uint8)),
          X[-1][:, [0, 1]].T)


def test_wide_indices():
    with tanx.enable_x64(True):
        i = jnp.array([-1, 0])
        assert i.dtype == np.int64
        agree(jnp.asarray(V)[i], V[[-1, 0]])
        agree(tanx.jit(lambda x, i: x[i])(V, i), V[[-1, 0]])
        agree(tanx.jit(lambda x, i, j: x[i, j])(X, i[0], np.int8(1)), X[-1, 1])
    agree(jnp.asarray(V)[np.array([-1, 0], np.int64)], V[[-1, 0]])


# -- out of bounds ---------------------------------------------------------------------------------


@pytest.mark.parametrize("i, want", [(5, 4), (99, 4), (-6, 0), (-99, 0), (2**40, 4), (-2**40, 0)])
def test_positions_outside_are_moved_inside(i, want):
    x = jnp.asarray(V)
    assert x[i] == want
    if abs(i) < 2**31:
        assert x[jnp.array(i)] == want
        assert tanx.jit(lambda x, i: x[i])(x, i) == want
        agree(x[jnp.array([i, 1])], [want, 1])
        agree(tanx.jit(lambda x, i: x[i])(x, jnp.array([i, 1])), [want, 1])
    agree(x[np.array([i, 1])], [want, 1])


def test_modes_of_get():
    x, i = jnp.asarray(V), jnp.array([1, 7, -1, -9])
    agree(x.at[i].get(), [1, 4, 4, 0])
    agree(x.at[i].get(mode="clip"), [1, 4, 4, 0])
    agree(x.at[i].get(mode="promise_in_bounds"), [1, 4, 4, 0])
    agree(x.at[i].get(mode=lax.GatherScatterMode.CLIP), [1, 4, 4, 0])
    agree(x.at[i].get(mode="fill"), [1, np.nan, 4, np.nan])
    agree(x.at[i].get(mode="drop"), [1, np.nan, 4, np.nan])
    agree(x.at[i].get(mode="fill", fill_value=-1), [1, -1, 4, -1])
    agree(x.at[i].get(mode="fill", fill_value=jnp.float32(7)), [1, 7, 4, 7])
    agree(x.at[i].get(mode="fill", wrap_negative_indices=False), [1, np.nan, np.nan, np.nan])
    agree(x.at[i].get(wrap_negative_indices=False), [1, 4, 0, 0])
    agree(x.at[i].get(fill_value=3.0), [1, 4, 4, 0])  # only mode="fill" fills
    agree(x.at[9].get(mode="fill"), np.nan)
    agree(x.at[3:].get(mode="fill"), [3, 4])
    agree(x.at[-1].get(wrap_negative_indices=False), 0)
    agree(tanx.jit(lambda x, i: x.at[i].get(mode="fill"))(x, 9), np.nan)
    agree(tanx.vmap(lambda i: x.at[i].get(mode="fill", fill_value=0.0))(i), [1, 0, 4, 0])


@pytest.mark.parametrize("dtype, value", [
    ("int32", -2**31), ("int8", -128), ("uint8", 255), ("bool", True), ("float16", np.nan)])
def test_default_fill_values(dtype, value):
    got = jnp.zeros(3, dtype).at[jnp.array([5])].get(mode="fill")
    np.testing.assert_array_equal(got, np.array([value], dtype))


def test_gradients_skip_filled_elements():
    i = jnp.array([1, 7, 1, -9])
    agree(tanx.grad(lambda x: x.at[i].get(mode="fill", fill_value=2.0).sum())(V), [0, 2, 0, 0, 0])
    agree(tanx.grad(lambda x: x.at[i].get(mode="clip").sum())(V), [1, 2, 0, 0, 1])


def test_strategies():
    x, i = jnp.asarray(V), jnp.array([0, 2])
    for strategy in ("auto", "static_slice", "dynamic_slice", "gather"):
        agree(x.at[1:3].get(strategy=strategy), V[1:3])
    agree(x.at[i].get(strategy="gather"), V[[0, 2]])
    text = str(tanx.make_jaxpr(lambda x: x.at[1].get(strategy="gather"))(x))
    assert "gather" in text
    message(TypeError, lambda: x.at[i].get(strategy="static_slice"), """\
x.at[...].get: the index is not a static slice.
  array: float32[5]
  Hint: leave the choice to strategy='auto'.""")
    message(ValueError, lambda: x.at[i].get(strategy="fast"), """\
x.at[...].get: there is no strategy 'fast'.
  strategies: 'auto', 'static_slice', 'dynamic_slice', 'gather'""")


# -- slices of fixed size --------------------------------------------------------------------------


@pytest.mark.parametrize("start, want", [(0, 0), (1, 1), (3, 3), (4, 3), (9, 3), (-1, 3), (-2, 3),
                                         (-4, 1), (-9, 0)])
def test_slices_of_fixed_size(start, want):
    x = jnp.asarray(V)
    agree(x[tanx.ds(start, 2)], V[want:want + 2])
    agree(x[tanx.ds(jnp.array(start), 2)], V[want:want + 2])
    agree(tanx.jit(lambda x, i: x[tanx.ds(i, 2)])(x, start), V[want:want + 2])
    agree(tanx.jit(lambda x, i: x[tanx.ds(i, 2), None])(x, start), V[want:want + 2, None])
    agree(tanx.vmap(lambda i: x[tanx.ds(i, 2)])(jnp.array([start])), V[None, want:want + 2])


def test_slices_of_fixed_size_next_to_other_indices():
    x, i = jnp.asarray(X), np.array([0, 1])
    agree(x[:, tanx.ds(1, 2)], X[:, 1:3])
    agree(x[i, tanx.ds(1, 2)], X[i, 1:3])
    agree(x[1, tanx.ds(1, 2), ::2], X[1, 1:3, ::2])
    agree(tanx.jit(lambda x, j: x[tanx.ds(j, 1), i])(x, 1), X[1:2, i])
    agree(tanx.jit(lambda x, j: x[i, None, tanx.ds(j, 2), ::-1])(x, 1), X[i, None, 1:3, ::-1])
    agree(tanx.jit(lambda x, j: x[j, tanx.ds(j, 2), ::2])(x, 1), X[1, 1:3, ::2])
    agree(tanx.jit(lambda x, j: x[j, ::-1, j])(x, 1), X[1, ::-1, 1])


def test_slices_of_fixed_size_with_strides():
    x = jnp.asarray(V)
    assert tanx.ds(2) == slice(0, 2)
    agree(x[tanx.ds(2)], V[:2])
    agree(x[tanx.ds(1, 2, 2)], V[1:4:2])
    agree(x[tanx.ds(1, 0)], [])
    agree(tanx.jit(lambda x, i: x[tanx.ds(i, 2, 3)])(x, 1), V[1:5:3])
    message(TypeError, lambda: x[tanx.ds(0, 9)], """\
tanx.ds: a slice of fixed size must fit into the array.
  slice: Slice(start=0, size=9, stride=1)
  size:  5, of axis 0""")
    message(TypeError, lambda: x[tanx.ds(1.5, 2)], """\
x[...]: indices must be integers or booleans.
  index: ~float32[]
  Hint: use i.astype(int).""")
    message(TypeError, lambda: x[tanx.ds(jnp.array([1]), 2)], """\
tanx.ds: a slice starts at one integer.
  slice: Slice(start=Array([1], dtype=int32), size=2, stride=1)""")


# -- empty arrays ----------------------------------------------------------------------------------


def test_arrays_without_elements():
    z = jnp.zeros((2, 0, 3))
    for index in [0, (0, slice(None), 1), np.array([1, 0]), (slice(None), np.array([], int)),
                  (slice(None), slice(0, 1)), (..., np.array([0])), (slice(None), slice(None), 0),
                  np.zeros((2, 0), bool)]:
        assert z[index].shape == np.zeros((2, 0, 3))[index].shape
        assert tanx.jit(lambda x, i=index: x[i])(z).shape == np.zeros((2, 0, 3))[index].shape
    text = """\
x[...]: axis 1 has size zero, so it has no elements to index.
  shape: (2, 0, 3)"""
    message(IndexError, lambda: z[:, 0], text)
    message(IndexError, lambda: z[:, jnp.array(0)], text)
    message(IndexError, lambda: tanx.jit(lambda z, i: z[:, i])(z, 0), text)
    message(IndexError, lambda: jnp.zeros(0)[jnp.array([0])], """\
x[...]: an array without elements has nothing to index.
  array: float32[0]""")


# -- transformations of indexing -------------------------------------------------------------------


def test_derivatives_and_maps_of_computed_places():
    function = lambda x: x[jnp.argmax(x)] * x[jnp.array([1, 1, 0])]
    adjoint(function, V)
    batched(function, V)
    adjoint(lambda x: x[::-1, jnp.array([0, 2]), tanx.ds(1, 2)], X)
    hessian = tanx.hessian(lambda x: x[jnp.array([0, 0, 1])].prod())(jnp.array([2.0, 3.0]))
    agree(hessian, [[6, 4], [4, 0]])


def test_iteration_ends():
    x = jnp.asarray(X)
    agree(list(x), list(X))
    agree([*tanx.jit(lambda x: [*x[0, 0]])(x)], [*X[0, 0]])


def test_indices_that_are_static_facts():
    """A mask or a bound that depends on no argument is known while tracing."""
    agree(tanx.jit(lambda x: x[jnp.arange(5) > 2])(V), V[3:])
    agree(tanx.jit(lambda x: x[:jnp.array(2)])(V), V[:2])
    agree(tanx.jit(lambda x: x[jnp.arange(3)])(V), V[:3])


# -- jaxprs ----------------------------------------------------------------------------------------


def jaxpr(function, *args) -> str:
    return str(tanx.make_jaxpr(function)(*args))


@pytest.mark.parametrize("index, body", [
    (..., "{ lambda ; a:f32[5]. let  in (a,) }"),
    (0, """{ lambda ; a:f32[5]. let
    b:f32[1] = slice[limit_indices=(1,) start_indices=(0,) strides=None] a
    c:f32[] = squeeze[dimensions=(0,)] b
  in (c,) }"""),
    (slice(1, 3), """{ lambda ; a:f32[5]. let
    b:f32[2] = slice[limit_indices=(3,) start_indices=(1,) strides=None] a
  in (b,) }"""),
    (slice(None, None, -2), """{ lambda ; a:f32[5]. let
    b:f32[3] = slice[limit_indices=(5,) start_indices=(0,) strides=(2,)] a
    c:f32[3] = rev[dimensions=(0,)] b
  in (c,) }"""),
    (None, """{ lambda ; a:f32[5]. let
    b:f32[1,5] = broadcast_in_dim[broadcast_dimensions=(1,)] a
  in (b,) }"""),
    (tanx.ds(1, 2), """{ lambda ; a:f32[5]. let
    b:f32[2] = slice[limit_indices=(3,) start_indices=(1,) strides=None] a
  in (b,) }"""),
], ids=label)
def test_jaxprs_of_known_indices(index, body):
    assert jaxpr(lambda x: x[index], V) == body


def test_jaxprs_of_computed_indices():
    assert jaxpr(lambda x, i: x[i], V, np.int32(1)) == """\
{ lambda ; a:f32[5] b:i32[]. let
    c:bool[] = lt b 0:i32[]
    d:i32[] = add b 5:i32[]
    e:i32[] = select_n c b d
    f:f32[1] = dynamic_slice[slice_sizes=(1,)] a e
    g:f32[] = squeeze[dimensions=(0,)] f
  in (g,) }"""
    assert jaxpr(lambda x, i: x[:, i], X, np.array([0, 2])) == """\
{ lambda ; a:f32[2,3,4] b:i32[2]. let
    c:bool[2] = lt b 0:i32[]
    d:i32[2] = add b 3:i32[]
    e:i32[2] = select_n c b d
    f:i32[2,1] = broadcast_in_dim[broadcast_dimensions=(0,)] e
    g:f32[2,2,4] = gather[
      dimension_numbers=GatherDimensionNumbers(offset_dims=(0, 2), collapsed_slice_dims=(1,), \
start_index_map=(1,), operand_batching_dims=(), start_indices_batching_dims=())
      fill_value=None
      indices_are_sorted=False
      mode=GatherScatterMode.PROMISE_IN_BOUNDS
      slice_sizes=(2, 1, 4)
      unique_indices=False
    ] a f
  in (g,) }"""
    text = jaxpr(lambda x, i: x[0, 1:3, i], X, np.array([0, 2]))
    assert "collapsed_slice_dims=(0, 2), start_index_map=(0, 2, 1)" in text
    text = jaxpr(lambda x, i: x.at[i].get(indices_are_sorted=True, unique_indices=True), V,
                 np.array([0, 2]))
    assert "indices_are_sorted=True" in text and "unique_indices=True" in text


# -- messages --------------------------------------------------------------------------------------


@pytest.mark.parametrize("index, error, text", [
    ("a", TypeError, """\
x[...]: a str does not index arrays.
  index: 'a'
  Hint: indices are integers, slices, None, ..., and arrays of integers or booleans."""),
    ({1}, IndexError, """\
x[...]: a set does not index arrays.
  index: {1}
  Hint: indices are integers, slices, None, ..., and arrays of integers or booleans."""),
    (1.0, TypeError, """\
x[...]: indices must be integers or booleans.
  index: ~float32[]
  Hint: use i.astype(int)."""),
    (np.array([1.5]), TypeError, """\
x[...]: indices must be integers or booleans.
  index: float32[1]
  Hint: use i.astype(int)."""),
    ([0, 1], TypeError, """\
x[...]: a list as an index is ambiguous.
  index: [0, 1]
  Hint: write x[tanx.numpy.array([...])] to take several elements, or x[i, j] for two axes."""),
    (range(2), TypeError, """\
x[...]: a range as an index is ambiguous.
  index: range(0, 2)
  Hint: write x[tanx.numpy.array([...])] to take several elements, or x[i, j] for two axes."""),
    ((0, 0, 0, 0), IndexError, """\
x[...]: too many indices: the array has 3 dimensions, and 4 are indexed.
  shape: (2, 3, 4)"""),
    ((0, np.zeros((3, 4, 1), bool)), IndexError, """\
x[...]: too many indices: the array has 3 dimensions, and 4 are indexed.
  shape: (2, 3, 4)"""),
    ((..., ...), IndexError, "x[...]: an index may hold one ellipsis only."),
    (np.array([True]), IndexError, """\
x[mask]: a mask must have the shape of the axes that it indexes.
  mask: bool[1]
  axes: (2,), from axis 0 of shape (2, 3, 4)"""),
    ((0, np.zeros((3, 3), bool)), IndexError, """\
x[mask]: a mask must have the shape of the axes that it indexes.
  mask: bool[3,3]
  axes: (3, 4), from axis 1 of shape (2, 3, 4)"""),
    (slice(None, None, 0), ValueError, "x[start:stop:step]: the step of a slice must not be zero."),
    (slice(1.0, 3), TypeError, """\
x[start:stop:step]: the bounds of a slice must be integers known while tracing.
  slice: 1.0:3
  Hint: with a fixed size, write x[tanx.ds(start, size)] or tanx.lax.dynamic_slice; else mask \
with tanx.numpy.where."""),
    ((np.array([0, 1]), np.array([0, 1, 2])), ValueError, """\
x[...]: arrays of indices must broadcast with each other.
  shapes: (2,), (3,)"""),
], ids=str)
def test_messages(index, error, text):
    message(error, lambda: jnp.asarray(X)[index], text)


def test_messages_about_traced_values():
    message(IndexError, lambda: tanx.jit(lambda x, i: x[i:i + 2])(V, 1), """\
x[start:stop:step]: the bounds of a slice must be integers known while tracing.
  slice: ~int32[]:~int32[]
  Hint: with a fixed size, write x[tanx.ds(start, size)] or tanx.lax.dynamic_slice; else mask \
with tanx.numpy.where.""")
    for mask in (V > 1, True):
        with pytest.raises(tanx.errors.NonConcreteBooleanIndexError):
            tanx.jit(lambda x, m: x[m])(V, mask)


def test_arrays_are_not_assigned_to():
    with pytest.raises(TypeError, match="immutable"):
        jnp.asarray(V)[0] = 1.0
