"""Scatter: against a loop, equal indices, errors in full, jaxprs as JAX prints them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tanx
from tanx import lax
from tanx._core.array import Array
from tests.ops.windows import gathers, outside, window_starts

COMBINE = {"scatter": lambda x, u: u, "scatter_add": np.add, "scatter_sub": np.subtract,
           "scatter_mul": np.multiply, "scatter_min": np.minimum, "scatter_max": np.maximum}
POINTS = lax.ScatterDimensionNumbers((), (0,), (0,))


def index_array(values, dtype=np.int32):
    return Array(np.array(values, dtype))


def floats(*values):
    return Array(np.array(values, np.float32))


def by_loop(combine, x, indices, updates, numbers, sizes, mode):
    """The definition, by a loop over updates."""
    out = x.copy()
    batch_dims = [p for p in range(updates.ndim) if p not in numbers.offset_dims]
    updates = updates.transpose(batch_dims + list(numbers.offset_dims))
    for batch in np.ndindex(*indices.shape[:-1]):
        starts = window_starts(batch, indices, x.ndim, numbers)
        if mode != "clip" and outside(starts, x.shape, sizes):
            continue
        window = tuple(slice(min(max(s, 0), n - m), min(max(s, 0), n - m) + m)
                       for s, n, m in zip(starts, x.shape, sizes))
        out[window] = combine(out[window], updates[batch].reshape(sizes))
    return out


@given(gathers(), st.sampled_from(sorted(COMBINE)),
       st.sampled_from(["clip", "drop", "one_hot", "promise_in_bounds"]))
def test_scatter_is_an_update_at_a_time(example, name, mode):
    x, indices, numbers, sizes = example
    shape = lax.gather(x, indices, numbers, sizes).shape
    updates = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    out = getattr(lax, name)(x, indices, updates, lax.ScatterDimensionNumbers(*numbers), mode=mode)
    np.testing.assert_allclose(
        out, by_loop(COMBINE[name], x, indices, updates, numbers, sizes, mode), rtol=1e-5,
        atol=1e-6)


@pytest.mark.parametrize("name, expected", [
    ("scatter_add", [-53, 3]), ("scatter_sub", [-3, 1]), ("scatter_mul", [48, 2])])
def test_integers_wrap_around(name, expected):
    x, u = Array(np.array([100, 2], np.int8)), Array(np.array([100, 3, 1], np.int8))
    np.testing.assert_array_equal(
        getattr(lax, name)(x, index_array([[0], [0], [1]]), u, POINTS), expected)


@pytest.mark.parametrize("name", ["scatter_min", "scatter_max"])
def test_nan_wins(name):
    out = getattr(lax, name)(floats(1, np.nan, 3), index_array([[0], [1], [2]]),
                             floats(np.nan, 2, 3), POINTS)
    np.testing.assert_array_equal(out, [np.nan, np.nan, 3])


def test_where_updates_meet_the_last_one_stays():
    out = lax.scatter(floats(0, 0), index_array([[1], [1], [0], [1]]), floats(1, 2, 3, 4), POINTS)
    np.testing.assert_array_equal(out, [3, 4])


def test_the_operand_stays_as_it_is():
    x = np.zeros(3, np.float32)
    for name in COMBINE:
        getattr(lax, name)(Array(x), index_array([[1]]), floats(5), POINTS)
    assert not x.any()


# -- functions applied -----------------------------------------------------------------------------


def test_a_function_is_applied_once_for_each_window():
    x, index = floats(1, 2, 3, 4), index_array([[0], [3], [0], [9], [0]])
    out = lax.scatter_apply(x, index, lambda x: lax.mul(x, 2.0), POINTS, update_shape=(5,))
    np.testing.assert_array_equal(out, [8, 2, 3, 8])


def test_functions_may_use_scalars_from_outside_and_call_others():
    two = Array(np.array(2, np.float32))
    inner = tanx.jit(lambda x: lax.add(x, two))
    out = lax.scatter_apply(floats(1, 2), index_array([[1]]), inner, POINTS, update_shape=(1,))
    np.testing.assert_array_equal(out, [1, 4])


def test_functions_of_other_kinds_of_operations():
    def fun(x):
        return lax.squeeze(lax.rev(lax.reshape(x, (1,)), (0,)), (0,))
    out = lax.scatter_apply(floats(1, 2), index_array([[1], [1]]), fun, POINTS, update_shape=(2,))
    np.testing.assert_array_equal(out, [1, 2])


@pytest.mark.parametrize("wrap", [lambda f: f, tanx.jit], ids=["eager", "jit"])
def test_functions_with_loops_and_branches(wrap):
    def fun(x):
        y = lax.fori_loop(0, 3, lambda _, s: s * 2, x)
        return lax.cond(y > 9, lambda y: y - 1, lambda y: y, y)
    out = wrap(lambda x: lax.scatter_apply(x, index_array([[0], [1]]), fun, POINTS,
                                           update_shape=(2,)))(floats(1, 2, 3))
    np.testing.assert_array_equal(out, [8, 15, 3])


def test_scatter_apply_rejects_unsupported_functions():
    x, index = floats(1, 2), index_array([[1]])
    for fun, kind, text in [
            (lambda e: lax.reduce_sum(lax.mul(e, x), [0]), NotImplementedError, """\
tanx.lax.scatter_apply: the function must not use arrays from outside.
  constant: float32[2]
  Hint: gather the elements, apply the function, and scatter the results."""),
            (lambda e: lax.gt(e, 0.0), TypeError, """\
tanx.lax.scatter_apply: the function must return a scalar of the operand's dtype.
  element: float32[]
  result:  bool[]""")]:
        with pytest.raises(kind) as caught:
            lax.scatter_apply(x, index, fun, POINTS, update_shape=(1,))
        assert str(caught.value) == text
    with pytest.raises(NotImplementedError) as caught:
        tanx.jvp(lambda x: lax.scatter_apply(x, index, lax.sin, POINTS, update_shape=(1,)),
                 (x,), (x,))
    assert str(caught.value) == """\
tanx.lax.scatter_apply: has no jvp rule: the function may be applied to an element several times.
  Hint: gather the elements, apply the function, and scatter the results."""


# -- derivatives -----------------------------------------------------------------------------------


def cotangents(fun, ct, *args):
    return [np.asarray(a) for a in tanx.vjp(fun, *args)[1](ct)]


def test_cotangents_go_to_the_update_that_stayed():
    index = index_array([[1], [0], [1], [7]])
    to_x, to_updates = cotangents(lambda x, u: lax.scatter(x, index, u, POINTS),
                                  floats(1, 2, 3), floats(0, 0, 0), floats(1, 2, 3, 4))
    np.testing.assert_array_equal(to_x, [0, 0, 3])
    np.testing.assert_array_equal(to_updates, [0, 1, 2, 0])


@pytest.mark.parametrize("name, sign", [("scatter_max", 1), ("scatter_min", -1)])
def test_extrema_that_tie_share_the_tangent(name, sign):
    index = index_array([[0], [0], [1], [2], [2], [9]])
    x, u = sign * np.array([5.0, 1.0, 2.0, 7.0]), sign * np.array([5.0, 5.0, 3.0, 4.0, 4.0, 8.0])
    to_x, to_updates = cotangents(
        lambda x, u: getattr(lax, name)(x, index, u, POINTS), floats(6, 12, 24, 48),
        x.astype(np.float32), u.astype(np.float32))
    np.testing.assert_allclose(to_x, [2, 0, 0, 48], rtol=1e-6)
    np.testing.assert_allclose(to_updates, [2, 2, 12, 12, 12, 0], rtol=1e-6)


def test_dropped_nan_updates_do_not_affect_cotangents():
    to_x, to_updates = cotangents(
        lambda x, u: lax.scatter_max(x, index_array([[0], [9]]), u, POINTS), floats(1, 2),
        floats(1, np.nan), floats(3, np.nan))
    np.testing.assert_array_equal(to_x, [0, 2])
    np.testing.assert_array_equal(to_updates, [1, 0])


def test_products_where_updates_may_meet():
    with pytest.raises(NotImplementedError) as caught:
        tanx.jvp(lambda u: lax.scatter_mul(floats(1, 2), index_array([[0]]), u, POINTS),
                 (floats(3),), (floats(1),))
    assert str(caught.value) == """\
tanx.lax.scatter_mul: has a derivative with respect to its updates only if no two of them overlap.
  updates: float32[1]
  Hint: pass unique_indices=True if none do."""


# -- jaxprs ----------------------------------------------------------------------------------------


def test_jaxpr():
    def fun(x, i, u):
        return lax.scatter_sub(lax.scatter(x, i, u, POINTS, mode="clip"), i, u, POINTS,
                               unique_indices=True)
    assert str(tanx.make_jaxpr(fun)(floats(1, 2), index_array([[0]]), floats(3))) == """\
{ lambda ; a:f32[2] b:i32[1,1] c:f32[1]. let
    d:f32[2] = scatter[
      dimension_numbers=ScatterDimensionNumbers(update_window_dims=(), \
inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), operand_batching_dims=(), \
scatter_indices_batching_dims=())
      indices_are_sorted=False
      mode=GatherScatterMode.CLIP
      unique_indices=False
      update_consts=()
      update_jaxpr=None
    ] a b c
    e:f32[2] = scatter-sub[
      dimension_numbers=ScatterDimensionNumbers(update_window_dims=(), \
inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), operand_batching_dims=(), \
scatter_indices_batching_dims=())
      indices_are_sorted=False
      mode=GatherScatterMode.FILL_OR_DROP
      unique_indices=True
      update_consts=()
      update_jaxpr={ lambda ; f:f32[] g:f32[]. let h:f32[] = sub f g in (h,) }
    ] d b c
  in (e,) }"""


def test_jaxpr_of_a_function_applied():
    fun = tanx.make_jaxpr(
        lambda x, i: lax.scatter_apply(x, i, lax.sin, POINTS, update_shape=(1,)))
    assert str(fun(floats(1, 2), index_array([[0]])).eqns[-1].params["update_jaxpr"]) == (
        "{ lambda ; a:f32[] b:f32[]. let c:f32[] = sin a in (c,) }")


@pytest.mark.parametrize("in_axes, numbers", [
    ((0, None, None), ((0, 2), (1,), (1,), (), ())),
    ((None, None, 0), ((0, 2), (1,), (1,), (), ())),
    ((None, 0, None), ((2,), (1,), (1,), (0,), (0,))),
    ((0, 0, 0), ((2,), (1,), (1,), (0,), (0,)))])
def test_batches_become_dimensions(in_axes, numbers):
    rows = lax.ScatterDimensionNumbers((1,), (0,), (0,))
    fun = tanx.vmap(lambda x, i, u: lax.scatter_add(x, i, u, rows, unique_indices=True), in_axes)
    args = [np.zeros((5, *shape) if axis == 0 else shape, dtype) for axis, shape, dtype in
            zip(in_axes, ((2, 3), (4, 1), (4, 3)), (np.float32, np.int32, np.float32))]
    eqn = tanx.make_jaxpr(fun)(*args).eqns[-1]
    assert eqn.params["dimension_numbers"] == lax.ScatterDimensionNumbers(*numbers)
    assert eqn.params["unique_indices"] is True


# -- errors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind, call, text", [
    (TypeError, lambda: lax.scatter_add(floats(1, 2), index_array([[0]]), index_array([1]),
                                        POINTS), """\
tanx.lax.scatter_add: operands must have the same dtype.
  operand 0: float32[2]
  operand 1: int32[1]
  Hint: tanx.numpy's functions promote; or use x.astype(...)."""),
    (ValueError, lambda: lax.scatter(floats(1, 2), floats([0]), floats(1), POINTS), """\
tanx.lax.scatter: indices must be integers.
  operand: float32[2]
  indices: float32[1,1]"""),
    (TypeError, lambda: lax.scatter_max(floats(1, 2), index_array([[0]]), floats(1, 2), POINTS),
     """\
tanx.lax.scatter_max: updates must have the dimensions of the indices and of a window.
  operand:           float32[2]
  indices:           int32[1,1]
  updates:           float32[2]
  dimension_numbers: ScatterDimensionNumbers(update_window_dims=(), inserted_window_dims=(0,), \
scatter_dims_to_operand_dims=(0,), operand_batching_dims=(), scatter_indices_batching_dims=())"""),
    (TypeError, lambda: lax.scatter(floats(1, 2), index_array([[0]]), floats([1, 2, 3]),
                                    lax.ScatterDimensionNumbers((1,), (), (0,))), """\
tanx.lax.scatter: a window must have a size for each dimension of the operand and fit into it.
  operand:           float32[2]
  indices:           int32[1,1]
  updates:           float32[1,3]
  dimension_numbers: ScatterDimensionNumbers(update_window_dims=(1,), inserted_window_dims=(), \
scatter_dims_to_operand_dims=(0,), operand_batching_dims=(), scatter_indices_batching_dims=())"""),
])
def test_errors(kind, call, text):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == text
