"""Gather: each mode and pattern against a loop, errors in full, jaxprs as JAX prints them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tanx
from tanx import lax
from tanx._core.array import Array
from tests.ops.windows import gathers, outside, window_starts


def index_array(values, dtype=np.int32):
    return Array(np.array(values, dtype))


def by_loop(x, indices, numbers, sizes, mode, fill):
    """The definition, by a loop over windows."""
    kept = [d for d in range(x.ndim) if d not in numbers.collapsed_slice_dims
            and d not in numbers.operand_batching_dims]
    windows = np.empty(indices.shape[:-1] + tuple(sizes[d] for d in kept), x.dtype)
    for batch in np.ndindex(*indices.shape[:-1]):
        starts = window_starts(batch, indices, x.ndim, numbers)
        if mode in ("fill", "one_hot") and outside(starts, x.shape, sizes):
            windows[batch] = fill
            continue
        window = tuple(slice(min(max(s, 0), n - m), min(max(s, 0), n - m) + m)
                       for s, n, m in zip(starts, x.shape, sizes))
        windows[batch] = x[window].reshape([sizes[d] for d in kept])
    batch_dims = [p for p in range(windows.ndim) if p not in numbers.offset_dims]
    return np.moveaxis(windows, range(windows.ndim), [*batch_dims, *numbers.offset_dims])


@given(gathers(), st.sampled_from(["clip", "fill", "one_hot", "promise_in_bounds"]))
def test_gather_is_a_window_at_a_time(example, mode):
    x, indices, numbers, sizes = example
    fill = 0 if mode == "one_hot" else np.nan
    np.testing.assert_array_equal(
        lax.gather(x, indices, lax.GatherDimensionNumbers(*numbers), sizes, mode=mode),
        by_loop(x, indices, numbers, sizes, mode, fill))


ROWS = lax.GatherDimensionNumbers((1,), (0,), (0,))


@pytest.mark.parametrize("dtype, fill", [
    ("float32", np.nan), ("bfloat16", np.nan), ("complex64", np.nan), ("int8", -128),
    ("uint8", 255), ("int4", -8), ("uint4", 15), ("bool", True)])
def test_default_fill_values_out_of_bounds(dtype, fill):
    x = Array(np.zeros((2, 3), np.dtype(dtype)))
    out = lax.gather(x, index_array([[0], [2], [-1]]), ROWS, (1, 3), mode="fill")
    assert out.dtype == dtype
    expected = np.array([[0] * 3, [fill] * 3, [fill] * 3], np.complex64)
    np.testing.assert_array_equal(np.asarray(out).astype(np.complex64), expected)


@pytest.mark.parametrize("dtype, given, read", [
    ("int32", 1.5, 1), ("int32", np.nan, 0), ("uint8", -1, 255), ("bfloat16", 1.5, 1.5)])
def test_fill_values_are_converted(dtype, given, read):
    x = Array(np.zeros((2, 3), np.dtype(dtype)))
    out = lax.gather(x, index_array([[2]]), ROWS, (1, 3), mode="fill", fill_value=given)
    assert out.dtype == dtype and (np.asarray(out) == read).all()


def test_a_fill_never_reaches_the_operand():
    x = np.ones((1, 3), np.float32)
    out = lax.gather(Array(x), index_array([4]), lax.GatherDimensionNumbers((0,), (0,), (0,)),
                     (1, 3), mode="fill")
    assert np.isnan(out).all() and (x == 1).all()


@pytest.mark.parametrize("value, last", [(2**64 - 1, 2), (2**63, 2), (1, 1)])
def test_unsigned_indices_beyond_int64(value, last):
    x, index = np.arange(3.0, dtype=np.float32), index_array([[value]], np.uint64)
    numbers = lax.GatherDimensionNumbers((), (0,), (0,))
    assert lax.gather(x, index, numbers, (1,), mode="clip")[0] == last
    filled = lax.gather(x, index, numbers, (1,), mode="fill", fill_value=-1)
    assert filled[0] == (last if value < 3 else -1)


def test_operands_that_are_not_contiguous():
    x = np.arange(24.0, dtype=np.float32).reshape(4, 6)
    columns = lax.GatherDimensionNumbers((0,), (1,), (1,))
    np.testing.assert_array_equal(
        lax.gather(Array(x.T), index_array([[3], [0]]), columns, (6, 1)), x.T[:, [3, 0]])


def test_index_take_wraps_around():
    x = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    rows, columns = index_array([0, -1, 5]), index_array([-2, 7, 1])
    np.testing.assert_array_equal(lax.index_take(x, (rows,), (0,)), x[[0, 2, 2]])
    np.testing.assert_array_equal(lax.index_take(x, (columns, rows), (1, 0)),
                                  x[[0, 2, 2], [2, 3, 1]])


def test_modes_by_name():
    mode = lax.GatherScatterMode
    assert [mode.from_any(name) for name in (None, "clip", "fill", "drop", "promise_in_bounds",
                                             "one_hot", mode.CLIP)] == [
        mode.FILL_OR_DROP, mode.CLIP, mode.FILL_OR_DROP, mode.FILL_OR_DROP,
        mode.PROMISE_IN_BOUNDS, mode.ONE_HOT, mode.CLIP]
    assert [m.value for m in mode] == [1, 2, 3, 4]


# -- derivatives and batches -----------------------------------------------------------------------


def test_the_cotangent_of_a_gather_counts_readings():
    x, index = np.zeros((3, 2), np.float32), index_array([[2], [2], [7], [0]])
    _, backward = tanx.vjp(lambda x: lax.gather(x, index, ROWS, (1, 2), mode="fill"), x)
    (ct,) = backward(Array(np.ones((4, 2), np.float32)))
    np.testing.assert_array_equal(ct, [[1, 1], [0, 0], [2, 2]])


def test_jaxpr_of_the_tangent_and_the_cotangent():
    def fun(ct, x, i):
        def rows(x):
            return lax.gather(x, i, ROWS, (1, 3), mode="fill")
        return tanx.jvp(rows, (x,), (x,))[1], tanx.vjp(rows, x)[1](ct)
    x, i = np.zeros((2, 3), np.float32), index_array([[0]])
    text = str(tanx.make_jaxpr(fun)(np.zeros((1, 3), np.float32), x, i))
    assert text == """\
{ lambda ; a:f32[1,3] b:f32[2,3] c:i32[1,1]. let
    _:f32[1,3] = gather[
      dimension_numbers=GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), \
start_index_map=(0,), operand_batching_dims=(), start_indices_batching_dims=())
      fill_value=nan
      indices_are_sorted=False
      mode=GatherScatterMode.FILL_OR_DROP
      slice_sizes=(1, 3)
      unique_indices=False
    ] b c
    d:f32[1,3] = gather[
      dimension_numbers=GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), \
start_index_map=(0,), operand_batching_dims=(), start_indices_batching_dims=())
      fill_value=0
      indices_are_sorted=False
      mode=GatherScatterMode.FILL_OR_DROP
      slice_sizes=(1, 3)
      unique_indices=False
    ] b c
    _:f32[1,3] = gather[
      dimension_numbers=GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), \
start_index_map=(0,), operand_batching_dims=(), start_indices_batching_dims=())
      fill_value=nan
      indices_are_sorted=False
      mode=GatherScatterMode.FILL_OR_DROP
      slice_sizes=(1, 3)
      unique_indices=False
    ] b c
    e:f32[2,3] = broadcast_in_dim 0.0:f32[]
    f:f32[2,3] = scatter-add[
      dimension_numbers=ScatterDimensionNumbers(update_window_dims=(1,), \
inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), operand_batching_dims=(), \
scatter_indices_batching_dims=())
      indices_are_sorted=False
      mode=GatherScatterMode.FILL_OR_DROP
      unique_indices=False
      update_consts=()
      update_jaxpr={ lambda ; g:f32[] h:f32[]. let i:f32[] = add g h in (i,) }
    ] e c a
  in (d, f) }"""


@pytest.mark.parametrize("in_axes, numbers, sizes, promised", [
    ((0, None), ((0, 2), (1,), (1,), (), ()), (5, 1, 3), True),
    ((None, 0), ((2,), (0,), (0,), (), ()), (1, 3), False),
    ((0, 0), ((2,), (1,), (1,), (0,), (0,)), (1, 1, 3), True)])
def test_batches_become_dimensions(in_axes, numbers, sizes, promised):
    fun = tanx.vmap(lambda x, i: lax.gather(x, i, ROWS, (1, 3), unique_indices=True), in_axes)
    args = [np.zeros((5, *shape) if axis == 0 else shape, dtype) for axis, shape, dtype in
            zip(in_axes, ((2, 3), (4, 1)), (np.float32, np.int32))]
    (eqn,) = tanx.make_jaxpr(fun)(*args).eqns
    assert eqn.params["dimension_numbers"] == lax.GatherDimensionNumbers(*numbers)
    assert eqn.params["slice_sizes"] == sizes
    assert eqn.params["unique_indices"] is promised


# -- errors ----------------------------------------------------------------------------------------


X = np.zeros((4, 6), np.float32)


def attempt(numbers, sizes, indices=((0,),)):
    return lambda: lax.gather(X, index_array(indices), lax.GatherDimensionNumbers(*numbers), sizes)


@pytest.mark.parametrize("call, rule", [
    (attempt(((0, 1), (), (0,)), (1, 1), 0),
     "indices must have a last dimension that holds the components of an index."),
    (attempt(((1, 2), (), (0, 1)), (1, 1)),
     "indices must have one component for each of 2 mapped dimensions."),
    (attempt(((1, 2), (), (2,)), (1, 1)),
     "operand dimensions that indices map to must be distinct and below 2."),
    (attempt(((1,), (3,), (0,)), (1, 1)),
     "collapsed and batching dimensions of the operand must be distinct and below 2."),
    (attempt(((), (1,), (1,), (0,), (1,)), (1, 1)),
     "batching dimensions of the indices must be distinct and below 1."),
    (attempt(((), (1,), (0,), (0,), (0,)), (1, 1)),
     "indices must not map to batching dimensions of the operand."),
    (attempt(((), (1,), (1,), (0,), (0,)), (1, 1)),
     "batching dimensions of operand and indices must have the same sizes."),
    (attempt(((1, 2), (), (0,)), (1, 7)),
     "a window must have a size for each dimension of the operand and fit into it."),
    (attempt(((1,), (0,), (0,)), (2, 6)),
     "windows must have size 1 along collapsed and batching dimensions."),
    (attempt(((1,), (), (0,)), (1, 6)),
     "there must be an offset dimension for each dimension that a window keeps."),
    (attempt(((1, 1), (), (0,)), (1, 6)), "offset dimensions must be distinct and below 3."),
    (attempt(((2, 1), (), (0,)), (1, 6)), "offset and collapsed dimensions must be sorted."),
])
def test_rules(call, rule):
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value).splitlines()[0] == f"tanx.lax.gather: {rule}"


def test_errors_in_full():
    with pytest.raises(TypeError) as caught:
        attempt(((1,), (0,), (0,)), (2, 6))()
    assert str(caught.value) == """\
tanx.lax.gather: windows must have size 1 along collapsed and batching dimensions.
  operand:           float32[4,6]
  indices:           int32[1,1]
  slice_sizes:       (2, 6)
  dimension_numbers: GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), \
start_index_map=(0,), operand_batching_dims=(), start_indices_batching_dims=())"""
    with pytest.raises(ValueError) as caught:
        lax.gather(X, np.zeros((1, 1), np.float32), ROWS, (1, 6))
    assert str(caught.value) == """\
tanx.lax.gather: indices must be integers.
  operand: float32[4,6]
  indices: float32[1,1]"""
    with pytest.raises(ValueError) as caught:
        lax.gather(X, index_array([[0]]), ROWS, (1, 6), mode="wrap")
    assert str(caught.value) == """\
tanx.lax.gather: there is no mode 'wrap'.
  modes: 'clip', 'fill', 'drop', 'promise_in_bounds', 'one_hot'"""


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "int8", "complex64"])
def test_vectors_are_gathered(dtype):
    with tanx.enable_x64(True):
        table = np.arange(400).reshape(20, 20).astype(dtype)
        rows, columns = np.arange(203) * 7 % 20, np.arange(203, dtype=np.int32) * 11 % 20
        compiled = tanx.jit(lambda table, i, j: table[i, j] + table[i, 19 - j])
        for _ in range(4):
            got = compiled(table, rows, columns)
            assert got.dtype == dtype
            np.testing.assert_array_equal(got, table[rows, columns] + table[rows, 19 - columns])
