"""Updates by index: agreement with NumPy, bounds, types, transformations, messages, jaxprs."""

import warnings

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

# Methods that combine, with the functions that NumPy applies in place.
COMBINING = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "mul": np.multiply,
             "divide": np.divide, "min": np.minimum, "max": np.maximum, "power": np.power}


def values_for(index, seed=0) -> np.ndarray:
    """One value for each element of an index, none of them zero."""
    shape = X[index].shape
    return np.random.default_rng(seed).uniform(0.5, 2, shape).astype(np.float32)


def updated(method: str, x, index, values) -> np.ndarray:
    """An array after NumPy's update."""
    out = np.array(x)
    if method == "set":
        out[index] = values
    else:
        COMBINING[method].at(out, index, values)
    return out


# -- agreement with NumPy --------------------------------------------------------------------------


@every_index
def test_set(index):
    x, values = jnp.asarray(X), values_for(index)
    agree(x.at[index].set(7), updated("set", X, index, 7))
    agree(x.at[index].set(values), updated("set", X, index, values))
    agree(tanx.jit(lambda x, v: x.at[index].set(v))(x, values), updated("set", X, index, values))


@every_index
@pytest.mark.parametrize("method", COMBINING)
def test_combining_methods(method, index):
    values = values_for(index)
    x = X / 8 + 0.5
    got = getattr(jnp.asarray(x).at[index], method)(values)
    agree(got, updated(method, x, index, values), 1e-5)


@every_index
def test_combining_methods_under_jit(index):
    values = values_for(index)
    for method in ("add", "multiply", "max"):
        got = tanx.jit(lambda x, v, m=method: getattr(x.at[index], m)(v))(X, values)
        agree(got, updated(method, X, index, values), 1e-5)


@every_index
def test_apply(index):
    want = np.array(X)
    times = np.zeros(X.shape, int)
    np.add.at(times, index, 1)
    for _ in range(times.max()):
        want = np.where(times > 0, want * 2 + 1, want)
        times -= times > 0
    agree(jnp.asarray(X).at[index].apply(lambda x: x * 2 + 1), want)
    agree(tanx.jit(lambda x: x.at[index].apply(lambda x: x * 2 + 1))(X), want)


@every_index
def test_gradients(index):
    values = values_for(index)
    weights = np.random.default_rng(1).normal(size=X.shape).astype(np.float32)
    kept = updated("set", np.ones_like(X), index, 0)
    _, back = tanx.vjp(lambda x, v: x.at[index].set(v), X, values)
    to_x, _ = back(weights)
    agree(to_x, weights * kept)
    _, back = tanx.vjp(lambda x, v: x.at[index].add(v), X, values)
    agree(back(weights), (weights, weights[index]))
    _, back = tanx.vjp(lambda x: x.at[index].multiply(2.0), X)
    agree(back(weights), (weights * updated("multiply", np.ones_like(X), index, 2.0),))


@every_index
def test_vmap(index):
    rows = np.stack([X, X + 100, -X])
    values = np.stack([values_for(index, seed) for seed in range(3)])
    for method in ("set", "add"):
        update = lambda x, v, m=method: getattr(x.at[index], m)(v)
        want = np.stack([updated(method, x, index, v) for x, v in zip(rows, values)])
        agree(tanx.vmap(update)(rows, values), want)
        want = np.stack([updated(method, X, index, v) for v in values])
        agree(tanx.vmap(update, in_axes=(None, 0))(X, values), want)
        want = np.stack([updated(method, x, index, values[0]) for x in rows])
        agree(tanx.vmap(update, in_axes=(0, None))(rows, values[0]), want)


@given(index_and_shape())
@settings(max_examples=80)
def test_random_updates(case):
    index, shape = case
    x = elements(shape)
    try:
        values = elements(x[index].shape) * 2 - 7
    except IndexError:
        return
    for method in ("set", "add"):
        want = updated(method, x, index, values)
        agree(getattr(jnp.asarray(x).at[index], method)(values), want)
        agree(tanx.jit(lambda x, v, m=method: getattr(x.at[index], m)(v))(x, values), want)


# -- values ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("values", [
    3, 2.5, True, np.float32(4), np.arange(4.0), np.ones((2, 4)), np.ones((2, 1)), [1.0, 2, 3, 4],
    (1, 2, 3, 4), np.ones((1, 1, 2, 4)), np.float64(1.5), np.ones((1, 4), np.int8)],
    ids=lambda v: f"{type(v).__name__}{list(np.shape(v))}")
def test_values_broadcast(values):
    want = np.array(X)
    want[1, 1:] = np.reshape(values, np.shape(values)[-2:])
    agree(jnp.asarray(X).at[1, 1:].set(values), want)


def test_values_in_new_axes_and_backwards():
    want = np.array(X)
    want[0, 1:, None, ::-2] = [[5.0, 6.0]]
    agree(jnp.asarray(X).at[0, 1:, None, ::-2].set(jnp.array([[5.0, 6.0]])), want)


def test_the_last_of_several_values_stays_and_all_are_added():
    x, i, values = jnp.asarray(V), jnp.array([1, 1, 1]), jnp.array([2.0, 3.0, 4.0])
    agree(x.at[i].set(values), [0, 4, 2, 3, 4])
    agree(x.at[i].add(values), [0, 10, 2, 3, 4])
    agree(x.at[i].subtract(values), [0, -8, 2, 3, 4])
    agree(x.at[i].multiply(values), [0, 24, 2, 3, 4])
    agree(x.at[i].divide(values), [0, 1 / 24, 2, 3, 4])
    agree(x.at[i + 1].power(values), [0, 1, 2**24, 3, 4])
    agree(x.at[i].min(values - 3), [0, -1, 2, 3, 4])
    agree(x.at[i].max(values), [0, 4, 2, 3, 4])
    agree(x.at[i].apply(lambda x: 2 * x + 1), [0, 15, 2, 3, 4])
    back = tanx.vjp(lambda v: x.at[i].set(v), values)[1]
    agree(back(jnp.arange(5.0) + 1), ([0, 0, 2],))


def test_nothing_to_update():
    x = jnp.asarray(V)
    agree(x.at[2:2].set(1.0), V)
    agree(x.at[jnp.array([], int)].add(1.0), V)
    agree(jnp.zeros(0).at[jnp.array([0])].set(1.0), [])
    agree(jnp.zeros((2, 0)).at[0].set(1.0), np.zeros((2, 0)))
    message(IndexError, lambda: jnp.zeros(0).at[0].set(1.0), """\
x[...]: axis 0 has size zero, so it has no elements to index.
  shape: (0,)""")


# -- types -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "float16", "bfloat16", "complex64"])
def test_the_dtype_of_the_array_stays(dtype):
    x = jnp.zeros(3, dtype)
    assert x.at[1].set(True).dtype == x.dtype
    assert x.at[jnp.array([1])].max(x[:1]).dtype == x.dtype


def test_weak_types_stay():
    weak = jnp.asarray(2.0)
    assert fact(weak.at[()].set(3)) == fact(weak.at[()].add(jnp.float32(3))) == "~float32[]"
    assert fact(jnp.ones(2).at[0].set(weak)) == "float32[2]"
    with pytest.warns(FutureWarning):
        assert fact(jnp.asarray(2).at[()].set(3.5)) == "~int32[]"


FITTING = [("float32", np.int32(1)), ("float32", 1), ("float16", 1.5), ("complex64", np.float32(1)),
           ("int32", True), ("int32", np.int8(1)), ("float32", np.float64(1)),
           ("int32", np.int64(1)), ("bool", True)]
ROUNDED = [("int32", 1.5, 1), ("float16", np.float32(1.5), 1.5), ("int8", np.int32(7), 7),
           ("bool", 1, True), ("float32", 1j, 0), ("int32", np.float64(2.5), 2)]


@pytest.mark.parametrize("dtype, value", FITTING, ids=str)
def test_values_that_fit(dtype, value):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        agree(jnp.zeros(3, dtype).at[1].set(value), np.array([0, value, 0], dtype))


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")  # another one, for 1j
@pytest.mark.parametrize("dtype, value, want", ROUNDED, ids=str)
def test_values_that_do_not_fit_are_rounded_with_a_warning(dtype, value, want):
    with pytest.warns(FutureWarning, match="do not fit the dtype"):
        got = jnp.zeros(3, dtype).at[1].set(value)
    assert got.dtype == dtype
    agree(got, np.array([0, want, 0], dtype))


def test_the_warning():
    with pytest.warns(FutureWarning) as caught:
        jnp.zeros(3, int).at[1].add(1.5)
    (warning,) = caught
    assert warning.filename == __file__
    assert str(warning.message) == """\
x.at[...].add: the values do not fit the dtype of the array, and are rounded to it.
  array:  int32[3]
  values: ~float32[]
  Hint: convert one of them with .astype(...)."""


def test_division_and_powers_change_types_as_operators_do():
    x, i = jnp.arange(5), jnp.array([2, 2])
    assert fact(x.at[i].divide(2)) == "float32[5]"
    agree(x.at[i].divide(2), [0, 1, 0.5, 3, 4])
    assert fact(x.at[i].power(2)) == "int32[5]"
    agree(x.at[i].power(2), [0, 1, 16, 3, 4])


# -- out of bounds ---------------------------------------------------------------------------------


def test_modes():
    x, i = jnp.asarray(V), jnp.array([1, 7, -1, -9])
    for mode in (None, "drop", "fill", "promise_in_bounds", lax.GatherScatterMode.FILL_OR_DROP):
        agree(x.at[i].set(9.0, mode=mode), [0, 9, 2, 3, 9])
        agree(x.at[i].add(1.0, mode=mode), [0, 2, 2, 3, 5])
        agree(x.at[9].set(9.0, mode=mode), V)
        agree(x.at[-9].set(9.0, mode=mode), V)
    agree(x.at[i].set(9.0, mode="clip"), [9, 9, 2, 3, 9])
    agree(x.at[9].add(1.0, mode="clip"), [0, 1, 2, 3, 5])
    agree(x.at[-9].add(1.0, mode="clip"), [1, 1, 2, 3, 4])
    agree(x.at[i].set(9.0, wrap_negative_indices=False), [0, 9, 2, 3, 4])
    agree(x.at[-1].set(9.0, wrap_negative_indices=False), V)
    agree(x.at[9].apply(jnp.negative), V)
    agree(x.at[9].apply(jnp.negative, mode="clip"), [0, 1, 2, 3, -4])


@pytest.mark.parametrize("i", [5, 2**31 - 1, 2**31, 2**40, -6, -2**31, -2**40])
def test_updates_far_outside_are_dropped(i):
    agree(jnp.asarray(V).at[i].set(9.0), V)
    agree(jnp.asarray(V).at[np.array([i])].set(9.0), V)
    agree(tanx.jit(lambda x: x.at[i].set(9.0))(V), V)


@pytest.mark.parametrize("start, want", [(0, [9, 9, 2, 3, 4]), (3, [0, 1, 2, 9, 9]), (4, V),
                                         (-2, V), (9, V)])
def test_slices_of_fixed_size(start, want):
    agree(jnp.asarray(V).at[tanx.ds(start, 2)].set(9.0), want)
    agree(tanx.jit(lambda x, i: x.at[tanx.ds(i, 2)].set(9.0))(V, start), want)
    agree(tanx.vmap(lambda i: jnp.asarray(V).at[tanx.ds(i, 2)].set(9.0))(jnp.array([start])),
          [want])


def test_slices_of_fixed_size_with_strides():
    agree(jnp.asarray(V).at[tanx.ds(1, 2, 2)].set(9.0), [0, 9, 2, 9, 4])
    agree(tanx.jit(lambda x, i: x.at[tanx.ds(i, 2, 2)].add(9.0))(V, 1), [0, 10, 2, 12, 4])


def test_computed_places():
    update = tanx.jit(lambda x, i, v: x.at[i].set(v))
    agree(update(V, -2, 9.0), [0, 1, 2, 9, 4])
    agree(update(V, 7, 9.0), V)
    agree(update(V, np.int8(-1), 9.0), [0, 1, 2, 3, 9])
    agree(update(V, np.uint8(255), 9.0), V)
    agree(update(V, np.array([-1, 0, 1], np.int8), np.arange(3) + 7.0), [8, 9, 2, 3, 7])
    agree(tanx.vmap(update, (None, 0, 0))(V, jnp.array([0, 3]), jnp.array([7.0, 8.0])),
          [[7, 1, 2, 3, 4], [0, 1, 2, 8, 4]])
    agree(tanx.vmap(update, (None, 0, None))(V, jnp.array([0, 9]), 7.0), [[7, 1, 2, 3, 4], V])


# -- masks -----------------------------------------------------------------------------------------

MASKED = {"set": [0, 9, 9], "add": [0, 10, 11], "subtract": [0, -8, -7], "multiply": [0, 9, 18],
          "divide": [0, 1 / 9, 2 / 9], "power": [0, 1, 512], "min": [0, 1, 2], "max": [0, 9, 9]}


@pytest.mark.parametrize("method", MASKED)
def test_masks_computed_under_jit(method):
    x = np.arange(3, dtype=np.float32)
    update = lambda x: getattr(x.at[x > 0], method)(9.0)
    agree(update(jnp.asarray(x)), MASKED[method])
    agree(tanx.jit(update)(x), MASKED[method])
    agree(tanx.vmap(update)(np.stack([x, x - 9])), [MASKED[method], x - 9])


def test_masks_of_fewer_dimensions_and_values_for_each_row():
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    mask = np.array([True, False, True])
    update = lambda x, m, v: x.at[m].set(v)
    for values in (7.0, np.array([7.0, 8.0])):
        want = updated("set", x, mask, values)
        agree(update(jnp.asarray(x), mask, values), want)
        agree(update(jnp.asarray(x), jnp.asarray(mask), values), want)
        agree(tanx.jit(update)(x, mask, values), want)
        agree(tanx.jit(lambda x, v: update(x, mask, v))(x, values), want)
        agree(tanx.vmap(update, (None, 0, None))(x, np.stack([mask, ~mask]), values),
              [want, updated("set", x, ~mask, values)])
    values = np.arange(4.0).reshape(2, 2)
    agree(update(jnp.asarray(x), mask, values), updated("set", x, mask, values))
    agree(jnp.asarray(x).at[mask].set(np.ones((1, 2))), updated("set", x, mask, 1))


def test_masks_of_no_dimensions():
    update = lambda x, m: x.at[m].add(1.0)
    for m in (True, False):
        agree(update(jnp.asarray(V), m), V + m)
        agree(update(jnp.asarray(V), jnp.array(m)), V + m)
        agree(tanx.jit(update)(V, m), V + m)


def test_functions_applied_under_a_mask():
    update = lambda x, m: x.at[m].apply(lambda x: x * x)
    mask = V > 2
    want = np.where(mask, V * V, V)
    agree(update(jnp.asarray(V), mask), want)
    agree(tanx.jit(update)(V, mask), want)


def test_gradients_through_masks():
    adjoint(lambda x, v: x.at[x > 1.5].set(v), V, 2.0)
    adjoint(lambda x, v: x.at[x > 1.5].multiply(v), V, 2.0)
    grad = tanx.grad(lambda x: jnp.sum(x.at[x > 1.5].set(0.0) ** 2))
    agree(grad(V), [0, 2, 0, 0, 0])
    agree(tanx.jit(grad)(V), [0, 2, 0, 0, 0])


def test_messages_about_masks():
    text = """\
x[mask]: a mask must have the shape of the axes that it indexes.
  mask: bool[3]
  axes: (5,), from axis 0 of shape (5,)"""
    mask = np.ones(3, bool)
    message(IndexError, lambda: jnp.asarray(V).at[mask].set(0.0), text)
    message(IndexError, lambda: tanx.jit(lambda x, m: x.at[m].set(0.0))(V, mask), text)
    message(IndexError, lambda: jnp.asarray(V).at[mask].apply(jnp.sin), text)
    with pytest.raises(tanx.errors.NonConcreteBooleanIndexError):
        tanx.jit(lambda x, m, v: x.at[m].set(v))(V, V > 1, np.ones(3))


# -- derivatives -----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["set", "add", "subtract", "multiply", "divide", "min", "max"])
def test_derivatives(method):
    i = jnp.array([[0, 2], [3, -1]])
    values = np.array([[0.7, 1.6], [2.9, 4.5]])
    adjoint(lambda x, v: getattr(x.at[i], method)(v, unique_indices=True), V + 0.25, values)
    batched(lambda x, v: getattr(jnp.asarray(x).at[i], method)(v), V, values.astype(np.float32))


def test_derivatives_of_powers():
    adjoint(lambda x: x.at[jnp.array([0, 2])].power(3.0), V + 0.5)


# -- jaxprs and messages ---------------------------------------------------------------------------


def test_jaxprs():
    assert str(tanx.make_jaxpr(lambda x: x.at[1:3].set(0.0))(V)) == """\
{ lambda ; a:f32[5]. let
    b:i32[1] = broadcast_in_dim 1:i32[]
    c:f32[2] = broadcast_in_dim 0.0:f32[]
    d:f32[5] = scatter[
      dimension_numbers=ScatterDimensionNumbers(update_window_dims=(0,), inserted_window_dims=(), \
scatter_dims_to_operand_dims=(0,), operand_batching_dims=(), scatter_indices_batching_dims=())
      indices_are_sorted=True
      mode=GatherScatterMode.FILL_OR_DROP
      unique_indices=True
      update_consts=()
      update_jaxpr=None
    ] a b c
  in (d,) }"""
    assert str(tanx.make_jaxpr(lambda x, i: x.at[i].add(2))(V, np.array([0, 2]))) == """\
{ lambda ; a:f32[5] b:i32[2]. let
    c:bool[2] = lt b 0:i32[]
    d:i32[2] = add b 5:i32[]
    e:i32[2] = select_n c b d
    f:i32[2,1] = broadcast_in_dim[broadcast_dimensions=(0,)] e
    g:f32[2] = broadcast_in_dim 2.0:f32[]
    h:f32[5] = scatter-add[
      dimension_numbers=ScatterDimensionNumbers(update_window_dims=(), inserted_window_dims=(0,), \
scatter_dims_to_operand_dims=(0,), operand_batching_dims=(), scatter_indices_batching_dims=())
      indices_are_sorted=False
      mode=GatherScatterMode.FILL_OR_DROP
      unique_indices=False
      update_consts=()
      update_jaxpr={ lambda ; i:f32[] j:f32[]. let k:f32[] = add i j in (k,) }
    ] a f g
  in (h,) }"""
    assert str(tanx.make_jaxpr(lambda x: x.at[2:2].set(0.0))(V)).endswith("in (a,) }")
    text = str(tanx.make_jaxpr(lambda x: x.at[::2].set(0.0))(V))
    assert "iota" in text and "unique_indices=True" in text


def test_the_promises_are_passed_on():
    text = str(tanx.make_jaxpr(lambda x, i: x.at[i].set(
        0.0, indices_are_sorted=True, unique_indices=True, mode="clip"))(V, np.array([0, 2])))
    assert "indices_are_sorted=True" in text and "unique_indices=True" in text
    assert "GatherScatterMode.CLIP" in text


def test_messages():
    x = jnp.asarray(V)
    message(ValueError, lambda: x.at[0:2].set(jnp.ones(3)), """\
x.at[...].set: values must broadcast to the shape of the indexed elements.
  values:  float32[3]
  indexed: (2,)""")
    message(ValueError, lambda: x.at[0].add(np.ones(3)), """\
x.at[...].add: values must broadcast to the shape of the indexed elements.
  values:  float32[3]
  indexed: ()""")
    message(ValueError, lambda: x.at[jnp.array([0])].set(0.0, mode="wrap"), """\
x.at[...].set: there is no mode 'wrap'.
  modes: 'clip', 'fill', 'drop', 'promise_in_bounds', 'one_hot'""")
    message(TypeError, lambda: x.at[[0, 1]].set(0.0), """\
x[...]: a list as an index is ambiguous.
  index: [0, 1]
  Hint: write x[tanx.numpy.array([...])] to take several elements, or x[i, j] for two axes.""")
    message(TypeError, lambda: jnp.array([True]).at[0].add(True), """\
x.at[...].add: does not take bool operands.
  operand: bool[]
  takes:   signed integer, unsigned integer, floating point, complex""")


def test_repr_and_attributes_of_at():
    x = jnp.arange(2)
    assert repr(x.at) == "At(Array([0, 1], dtype=int32))"
    assert repr(x.at[1:]) == "AtIndex(Array([0, 1], dtype=int32), slice(1, None, None))"
    assert x.at.array is x and x.at[1].array is x and x.at[1].index == 1
