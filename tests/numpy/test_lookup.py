"""Reading and writing by arrays of positions."""

import warnings

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tests.numpy.agreement import adjoint, agree, batched, fact, message

V = np.arange(5, dtype=np.float32)
M = np.arange(12, dtype=np.float32).reshape(3, 4)
X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
OUTSIDE = np.array([[0, 7], [-1, -9]])


def jitted(function, *args):
    """The result with and without jit, which must be equal."""
    got = function(*args)
    agree(tanx.jit(function)(*args), tanx.tree.map(np.asarray, got))
    return got


# -- take ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [None, 0, 1, 2, -1])
@pytest.mark.parametrize("indices", [
    np.array([0, 1]), np.array([[1, 0], [0, 0]]), np.array(1), 0, np.array([], int), np.array([-1]),
    np.array([1, 0], np.int8), np.array([1], np.uint8)], ids=str)
def test_take(indices, axis):
    agree(jitted(lambda x, i: jnp.take(x, i, axis), X, indices), np.take(X, indices, axis))
    agree(jnp.asarray(X).take(indices, axis), np.take(X, indices, axis))


@pytest.mark.parametrize("mode, want", [
    (None, [[0, np.nan], [4, np.nan]]), ("fill", [[0, np.nan], [4, np.nan]]),
    ("clip", [[0, 4], [0, 0]]), ("wrap", [[0, 2], [4, 1]])])
def test_modes_of_take(mode, want):
    agree(jitted(lambda x, i: jnp.take(x, i, mode=mode), V, OUTSIDE), want)
    agree(tanx.vmap(lambda i: jnp.take(V, i, mode=mode))(OUTSIDE), want)


def test_fill_values_of_take():
    agree(jnp.take(V, OUTSIDE, fill_value=-1), [[0, -1], [4, -1]])
    agree(jnp.take(V, OUTSIDE, fill_value=jnp.float32(-1)), [[0, -1], [4, -1]])
    agree(jnp.take(np.arange(3), OUTSIDE[0]), [0, -2**31])
    agree(jnp.take(np.array([True, False]), OUTSIDE[0]), [True, True])


def test_narrow_indices_reach_all_elements():
    x = np.arange(200.0)
    for dtype, i in [("int8", [100, -100]), ("uint8", [199, 0])]:
        agree(jitted(jnp.take, x, np.array(i).astype(dtype)), x[i])


def test_types_of_take():
    assert fact(jnp.take(2.0, 0)) == "~float32[]"
    assert fact(jnp.take(jnp.zeros(2, "bfloat16"), np.array([1]))) == "bfloat16[1]"
    agree(jnp.take(V, np.array([True, False])), [1, 0])


def test_derivatives_of_take():
    i = jnp.array([[0, 2], [2, -1]])
    adjoint(lambda x: jnp.take(x, i, 1), X)
    adjoint(lambda x: jnp.take(x, i, mode="wrap"), X)
    batched(lambda x: jnp.take(x, i, 1), X)
    agree(tanx.grad(lambda x: jnp.take(x, OUTSIDE, fill_value=0.0).sum())(V), [1, 0, 0, 0, 1])


def test_messages_of_take():
    message(ValueError, lambda: jnp.take(V, 0, mode="foo"), """\
tanx.numpy.take: there is no mode 'foo'.
  modes: 'fill', 'clip', 'wrap'""")
    message(NotImplementedError, lambda: jnp.take(V, 0, mode="raise"), """\
tanx.numpy.take: mode='raise' is not supported: positions are not known under jit.
  Hint: mode='fill' gives NaN for positions outside.""")
    message(ValueError, lambda: jnp.take(V, 1.5), """\
tanx.numpy.take: indices must be integers.
  indices: ~float32[]""")
    message(IndexError, lambda: jnp.take(np.zeros((2, 0)), np.array([0]), 1), """\
tanx.numpy.take: an empty axis has no elements to take.
  array: float32[2,0]
  axis:  1""")
    assert jnp.take(np.zeros((2, 0)), np.array([], int), 1).shape == (2, 0)
    for call in (lambda: jnp.take([1, 2], 0), lambda: jnp.take(V, [0])):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(ValueError, match="axis 3 is out of bounds"):
        jnp.take(X, 0, 3)
    with pytest.raises(NotImplementedError):
        jnp.take(V, 0, out=V)


# -- along an axis ---------------------------------------------------------------------------------

ALONG = [
    (V, np.array([0, 4, -1]), 0), (M, np.array([[0], [1], [2]]), 1),
    (M, np.array([[2, 1, 0, 0]]), 0), (M, np.array([[0, 3]]), 1),
    (X, np.zeros((2, 1, 4), int), 1), (X, np.ones((1, 1, 2), int), -1),
    (X[:1], np.ones((2, 3, 2), int), 2), (M, np.array([5, 6]), None), (M, np.zeros((3, 0), int), 1),
    (M, np.array([[1], [2], [-1]], np.int8), 1), (M, np.array([[1], [2], [3]], np.uint8), 1)]
each_along = pytest.mark.parametrize("x, i, axis", ALONG, ids=lambda v: str(np.shape(v)))


@each_along
def test_take_along_axis(x, i, axis):
    if axis is None:
        want = np.take_along_axis(x, i, axis)
    else:  # NumPy does not broadcast the array
        shape = [max(n, m) for n, m in zip(x.shape, i.shape)]
        shape[axis] = x.shape[axis]
        want = np.take_along_axis(np.broadcast_to(x, shape), i, axis)
    function = lambda x, i: jnp.take_along_axis(x, i, axis)
    agree(jitted(function, x, i), want)
    agree(tanx.vmap(function)(np.stack([x, x + 1]), np.stack([i, i])), np.stack([want, want + 1]))
    agree(tanx.vmap(function, (None, 0))(x, np.stack([i, i])), np.stack([want, want]))
    adjoint(lambda x: function(x, i), x)


def test_modes_of_take_along_axis():
    i = np.array([[0, 9], [1, -1], [-9, 2]])
    nan = np.nan
    agree(jitted(lambda x: jnp.take_along_axis(x, i, 1), M), [[0, nan], [5, 7], [nan, 10]])
    for mode in ("clip", "promise_in_bounds"):
        agree(jnp.take_along_axis(M, i, 1, mode), [[0, 3], [5, 7], [8, 10]])
    agree(jnp.take_along_axis(M, i, 1, "fill", -5), [[0, -5], [5, 7], [-5, 10]])
    agree(jnp.take_along_axis(M, i, 1, wrap_negative_indices=False),
          [[0, nan], [5, nan], [nan, 10]])


@pytest.mark.parametrize("x, i, axis", [row for row in ALONG if row[0].shape[0] != 1],
                         ids=lambda v: str(np.shape(v)))
def test_put_along_axis(x, i, axis):
    values = np.arange(i.size, dtype=np.float32).reshape(i.shape) + 50
    want = np.array(x)
    np.put_along_axis(want, i, values, axis)
    function = lambda x, i, v: jnp.put_along_axis(x, i, v, axis, inplace=False)
    agree(jitted(function, x, i, values), want)
    agree(tanx.vmap(function, (0, None, None))(np.stack([x, x]), i, values),
          np.stack([want, want]))
    adjoint(lambda x, v: function(x, i, v), x, values)


def test_puts_outside():
    i = np.array([[3], [4], [-1]])
    put = lambda mode: jnp.put_along_axis(M, i, 7.0, 1, inplace=False, mode=mode)
    agree(put(None), [[0, 1, 2, 7], [4, 5, 6, 7], [8, 9, 10, 7]])
    agree(put("clip"), [[0, 1, 2, 7], [4, 5, 6, 7], [8, 9, 10, 7]])


def test_messages_along_an_axis():
    message(ValueError, lambda: jnp.take_along_axis(M, np.array([0]), 1), """\
tanx.numpy.take_along_axis: array and indices must have the same rank.
  array:   float32[3,4]
  indices: int32[1]""")
    message(TypeError, lambda: jnp.take_along_axis(V, V), """\
tanx.numpy.take_along_axis: indices must be integers.
  indices: float32[5]""")
    message(ValueError, lambda: jnp.take_along_axis(M, np.array([[0], [1]]), 1), """\
tanx.numpy.take_along_axis: array and indices must broadcast along the other axes.
  array:   float32[3,4]
  indices: int32[2,1]
  axis:    1""")
    message(ValueError, lambda: jnp.put_along_axis(M, np.array([0]), 1.0, 1, inplace=False), """\
tanx.numpy.put_along_axis: array and indices must have the same rank.
  array:   float32[3,4]
  indices: int32[1]""")
    message(ValueError, lambda: jnp.put_along_axis(V, np.array([0]), V, 0, inplace=False), """\
tanx.numpy.put_along_axis: values must broadcast to the shape of the indices.
  values:  float32[5]
  indices: int32[1]""")


# -- choose, compress, extract ---------------------------------------------------------------------

CHOICES = [
    (np.array([0, 1, 2, 0, 1]), [V, V + 10, V * 2]), (np.array([0, 1, 1, 0, 1]), [V, 10]),
    (1, [V, 10.0]), (np.array([[0], [1]]), [V, -V]), (np.array([0, 0, 1], np.uint8), [1, 2]),
    (np.array([0, 2, 0, 1]), M), (np.array([0, 0]), [np.array([5, 6])])]


@pytest.mark.parametrize("a, choices", CHOICES, ids=str)
def test_choose(a, choices):
    want = np.choose(a, choices)
    agree(jnp.choose(a, choices), want)
    agree(jnp.asarray(a).choose(choices), want)
    for mode in ("wrap", "clip"):
        got = tanx.jit(lambda a, c, m=mode: jnp.choose(a, c, mode=m))(np.asarray(a) + 1, choices)
        agree(got, np.choose(np.asarray(a) + 1, choices, mode=mode))


def test_modes_of_choose():
    a, choices = np.array([0, 1, 3, -1, -5]), (V, 10.0, 20.0)
    for mode in ("wrap", "clip"):
        agree(jnp.choose(a, choices, mode=mode), np.choose(a, choices, mode=mode))
    adjoint(lambda *c: jnp.choose(a, c, mode="wrap"), V, V + 1, V * 2)
    assert fact(jnp.choose(np.array([0]), [1, 2])) == "int32[1]"
    assert fact(jnp.choose(np.array([0]), [1, jnp.float16(2)])) == "float16[1]"


def test_messages_of_choose():
    message(ValueError, lambda: jnp.choose(np.array([0, 3]), [1, 2]), """\
tanx.numpy.choose: entries of a must be numbers of choices.
  from 0 to 3
  must be below 2
  Hint: mode='wrap' or mode='clip' brings them inside.""")
    message(ValueError, lambda: jnp.choose(V, [1, 2]), """\
tanx.numpy.choose: a must hold integers.
  a: float32[5]""")
    message(ValueError, lambda: jnp.choose(np.array([0]), [], mode="clip"), """\
tanx.numpy.choose: there must be at least one choice.""")
    message(ValueError, lambda: jnp.choose(np.array([0, 1]), [V, 1]), """\
tanx.numpy.choose: operands have incompatible shapes for broadcasting.
  operand 0: int32[2]
  operand 1: float32[5]
  operand 2: float32[]""")
    message(ValueError, lambda: jnp.choose(np.array([0]), [1], mode="foo"), """\
tanx.numpy.choose: there is no mode 'foo'.
  modes: 'raise', 'wrap', 'clip'""")
    with pytest.raises(tanx.errors.ConcretizationTypeError, match="mode='wrap'"):
        tanx.jit(lambda a: jnp.choose(a, [1, 2]))(np.array([0]))


@pytest.mark.parametrize("condition, x, axis", [
    (np.array([True, False, True]), X, 1), (np.array([True, False]), X, 1),
    (np.array([True, False, True]), V, None), (np.array([1, 0, 2]), V, 0),
    (np.array([False, True]), X, None), (np.array([], bool), V, None), (np.array([False]), X, -1),
    (np.array([True, True, True, False, False]), M, 0)], ids=lambda v: str(np.shape(v)))
def test_compress(condition, x, axis):
    want = np.compress(condition, x, axis)
    agree(jnp.compress(condition, x, axis), want)
    agree(jnp.asarray(x).compress(condition, axis), want)
    agree(tanx.jit(lambda x: jnp.compress(condition, x, axis))(x), want)
    size = int(np.count_nonzero(condition))
    sized = lambda c, x, n: jnp.compress(c, x, axis, size=n, fill_value=-1)
    agree(tanx.jit(sized, static_argnums=2)(condition, x, size), want)
    where = 0 if axis is None else axis
    filled = np.concatenate([want, np.full_like(np.take(want, [], where), -1, shape=[
        1 if d == where % want.ndim else n for d, n in enumerate(want.shape)])], where)
    agree(tanx.jit(sized, static_argnums=2)(condition, x, size + 1), filled)
    adjoint(lambda x: jnp.compress(condition, x, axis), x)


def test_extract():
    agree(jnp.extract(X > 15, X), X[X > 15])
    agree(jnp.extract(np.array([True, False]), V), [0])
    extract = tanx.jit(lambda c, x: jnp.extract(c, x, size=12, fill_value=-2))
    agree(extract(X > 15, X), [*X[X > 15], -2, -2, -2, -2])
    agree(tanx.vmap(lambda x: jnp.extract(x > 2, x, size=2))(M), [[3, 0], [4, 5], [8, 9]])


def test_messages_of_compress():
    message(ValueError, lambda: jnp.compress(M > 1, V), """\
tanx.numpy.compress: condition must have one dimension.
  condition: bool[3,4]""")
    message(ValueError, lambda: jnp.compress(V > 2, M, 0), """\
tanx.numpy.compress: condition holds beyond the end of the axis.
  condition: bool[5]
  array:     float32[3,4]
  axis:      0""")
    with pytest.raises(tanx.errors.ConcretizationTypeError, match="extract: the number of"):
        tanx.jit(jnp.extract)(V > 1, V)


# -- put, place, fill_diagonal ---------------------------------------------------------------------


@pytest.mark.parametrize("x, ind, v", [
    (V, np.array([0, 2]), np.array([7.0, 8.0])), (V, np.array([0, -1]), 7.0), (V, 1, 9.0),
    (X, np.array([[0, 7], [3, 4]]), np.array([7.0, 8, 9])), (V, np.array([], int), V),
    (V, np.array([0]), V)], ids=lambda v: str(np.shape(v)))
def test_put(x, ind, v):
    want = np.array(x)
    np.put(want, ind, v)
    function = lambda x, i, v: jnp.put(x, i, v, inplace=False)
    agree(jitted(function, x, ind, v), want)
    adjoint(lambda x, v: function(x, ind, v), x, v)


@pytest.mark.parametrize("mode", ["wrap", "clip"])
def test_modes_of_put(mode):
    want = np.array(V)
    np.put(want, OUTSIDE, [7, 8, 9], mode)
    agree(jnp.put(V, OUTSIDE, np.array([7, 8, 9]), mode, inplace=False), want)


def test_put_outside():
    agree(jnp.put(V, OUTSIDE, np.array([7.0, 8.0]), inplace=False), [8, 1, 2, 3, 7])
    agree(jnp.put(V, np.array([0]), np.array([]), inplace=False), V)


@pytest.mark.parametrize("x, mask, vals", [
    (V, V > 1, np.array([7.0, 8.0])), (X, X % 5 == 1, np.array([1.0])), (V, V, np.arange(9.0)),
    (V, V < 0, np.array([1.0])), (M, (M > 6).ravel(), np.arange(3.0))],
    ids=lambda v: str(np.shape(v)))
def test_place(x, mask, vals):
    want = np.array(x)
    np.place(want, mask.reshape(x.shape), vals.astype(np.float32))
    function = lambda x, m, v: jnp.place(x, m, v, inplace=False)
    agree(jitted(function, x, mask, vals), want)
    agree(tanx.vmap(function, (0, None, None))(np.stack([x, x]), mask, vals), [want, want])
    adjoint(lambda x, v: function(x, mask, v), x, vals)


@pytest.mark.parametrize("shape", [(2, 3), (3, 2), (3, 3), (2, 2, 2), (5, 2), (0, 2)], ids=str)
@pytest.mark.parametrize("val", [
    7.0, np.array([7.0, 8.0]), np.arange(9.0), np.array([[1.0, 2.0], [3.0, 4.0]])],
    ids=lambda v: str(np.shape(v)))
def test_fill_diagonal(shape, val):
    for wrap in (False, True):
        want = np.zeros(shape, np.float32)
        np.fill_diagonal(want, val, wrap)
        function = lambda a, v, w=wrap: jnp.fill_diagonal(a, v, w, inplace=False)
        agree(jitted(function, np.zeros(shape, np.float32), val), want)
    adjoint(lambda a, v: jnp.fill_diagonal(a, v, inplace=False), np.zeros(shape), val)


def test_values_that_do_not_fit_are_rounded_with_a_warning():
    x, i = np.arange(4), np.array([1])
    calls = [lambda: jnp.put(x, i, 1.5, inplace=False),
             lambda: jnp.put_along_axis(x, i, 1.5, 0, inplace=False),
             lambda: jnp.place(x, x == 1, 1.5, inplace=False),
             lambda: jnp.fill_diagonal(x.reshape(2, 2), 1.5, inplace=False)]
    for call in calls:
        with pytest.warns(FutureWarning):
            assert call().dtype == np.int32
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jnp.put(V, i, 1, inplace=False)


def test_messages_of_writing():
    text = """\
tanx.numpy.{}: arrays are immutable, so they cannot be written into.
  Hint: pass inplace=False, and use the array that is returned."""
    i = np.array([0])
    message(ValueError, lambda: jnp.put(V, i, 1.0), text.format("put"))
    message(ValueError, lambda: jnp.place(V, V > 1, 1.0), text.format("place"))
    message(ValueError, lambda: jnp.put_along_axis(V, i, 1.0, 0), text.format("put_along_axis"))
    message(NotImplementedError, lambda: jnp.fill_diagonal(M, 1.0), text.format("fill_diagonal"))
    message(ValueError, lambda: jnp.put(V, i, 1.0, "foo", inplace=False), """\
tanx.numpy.put: there is no mode 'foo'.
  modes: 'clip', 'wrap'""")
    message(NotImplementedError, lambda: jnp.put(V, i, 1.0, "raise", inplace=False), """\
tanx.numpy.put: mode='raise' is not supported: positions are not known under jit.
  Hint: use mode='clip' or mode='wrap'.""")
    message(ValueError, lambda: jnp.place(V, M > 1, 1.0, inplace=False), """\
tanx.numpy.place: array and mask must have the same size.
  array: float32[5]
  mask:  bool[12]""")
    message(ValueError, lambda: jnp.place(V, V > 1, np.array([]), inplace=False), """\
tanx.numpy.place: there must be at least one value.""")
    message(ValueError, lambda: jnp.fill_diagonal(V, 1.0, inplace=False), """\
tanx.numpy.fill_diagonal: the array must be a matrix, or have equal sizes along all of its \
dimensions.
  array: float32[5]""")


# -- positions by number ---------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(3, 4), (12,), 12, (2, 3, 4), [3, 4]], ids=str)
@pytest.mark.parametrize("indices", [np.array([0, 5, 11]), 7, np.array([[1, 2], [3, 4]]),
                                     np.array([5], np.uint8), np.array([], int)], ids=str)
def test_unravel_index(indices, shape):
    want = np.unravel_index(indices, shape if isinstance(shape, int) else tuple(shape))
    agree(jitted(lambda i: jnp.unravel_index(i, shape), indices), want)
    if isinstance(indices, np.ndarray):
        assert all(i.dtype == jnp.asarray(indices).dtype for i in jnp.unravel_index(indices, shape))


def test_positions_outside_are_moved_inside():
    got = jnp.unravel_index(np.array([12, -1, -12, -13, 100]), (3, 4))
    agree(got, ([2, 2, 0, 0, 2], [3, 3, 0, 0, 3]))
    assert jnp.unravel_index(5, ()) == ()
    agree(jnp.unravel_index(np.array([5]), jnp.array([3, 4])), ([1], [1]))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("index, dims", [
    ((np.array([0, 1]), np.array([2, 3])), (3, 4)), ((1, 2), (3, 4)), ((1,), (3,)),
    ((np.array([1, 2]), np.array([[1], [2]])), (3, 4)), (np.array([[1, 2], [2, 3]]), (3, 4)),
    ((np.array([1]), np.array([0]), np.array([3])), (2, 3, 4))], ids=str)
def test_ravel_multi_index(index, dims, order):
    want = np.ravel_multi_index(tuple(index), dims, order=order)
    agree(jnp.ravel_multi_index(index, dims, order=order), want)
    for mode in ("clip", "wrap"):
        moved = tuple(np.asarray(i) * 3 - 2 for i in index)
        got = tanx.jit(lambda i, m=mode: jnp.ravel_multi_index(i, dims, m, order))(moved)
        agree(got, np.ravel_multi_index(moved, dims, mode, order))


def test_types_of_ravel_multi_index():
    assert fact(jnp.ravel_multi_index((1, 2), (3, 4))) == "int32[]"
    assert fact(jnp.ravel_multi_index((np.int8([1]), np.uint8([2])), (3, 4))) == "int16[1]"
    assert fact(jnp.ravel_multi_index((1, 2), (3, 4), dtype="int16")) == "int16[]"


def test_messages_of_ravel_multi_index():
    message(ValueError, lambda: jnp.ravel_multi_index((np.array([0, 3]), 2), (3, 4)), """\
tanx.numpy.ravel_multi_index: positions must be inside of dims.
  from 0 to 3
  must be below 3
  Hint: mode='wrap' or mode='clip' brings them inside.""")
    message(ValueError, lambda: jnp.ravel_multi_index((1, 2, 3), (3, 4)), """\
tanx.numpy.ravel_multi_index: there must be positions for each dimension.
  multi_index: 3 of them
  dims:        (3, 4)""")
    message(ValueError, lambda: jnp.ravel_multi_index((1.0, 2), (3, 4)), """\
tanx.numpy.ravel_multi_index: positions must be integers.
  positions: ~float32[]""")
    message(ValueError, lambda: jnp.ravel_multi_index((1, 2), (3, 4), order="X"), """\
tanx.numpy.ravel_multi_index: there is no order 'X'.
  orders: 'C', 'F'""")
    message(ValueError, lambda: jnp.ravel_multi_index((1, 2), (3, 4), "foo"), """\
tanx.numpy.ravel_multi_index: there is no mode 'foo'.
  modes: 'raise', 'wrap', 'clip', 'ignore'""")
    with pytest.raises(tanx.errors.ConcretizationTypeError, match="ravel_multi_index"):
        tanx.jit(lambda i: jnp.ravel_multi_index((i, 2), (3, 4)))(1)


# -- jaxprs ----------------------------------------------------------------------------------------


def test_jaxprs():
    text = str(tanx.make_jaxpr(lambda x, i: jnp.take(x, i, 1))(X, np.array([0, 2])))
    assert text == """\
{ lambda ; a:f32[2,3,4] b:i32[2]. let
    c:f32[2,2,4] = jit[
      name=_take
      jaxpr={ lambda ; a:f32[2,3,4] b:i32[2]. let
          d:bool[2] = lt b 0:i32[]
          e:i32[2] = add b 3:i32[]
          f:i32[2] = jit[
            name=_where
            jaxpr={ lambda ; d:bool[2] e:i32[2] b:i32[2]. let
                f:i32[2] = select_n d b e
              in (f,) }
          ] d e b
          g:i32[2,1] = broadcast_in_dim[broadcast_dimensions=(0,)] f
          c:f32[2,2,4] = gather[
            dimension_numbers=GatherDimensionNumbers(offset_dims=(0, 2), \
collapsed_slice_dims=(1,), start_index_map=(1,), operand_batching_dims=(), \
start_indices_batching_dims=())
            fill_value=nan
            indices_are_sorted=False
            mode=GatherScatterMode.FILL_OR_DROP
            slice_sizes=(2, 1, 4)
            unique_indices=False
          ] a g
        in (c,) }
    ] a b
  in (c,) }"""
    text = str(tanx.make_jaxpr(lambda x, i: jnp.take_along_axis(x, i, 1))(M, np.zeros((3, 2), int)))
    assert "name=take_along_axis" in text
    assert "operand_batching_dims=(0,), start_indices_batching_dims=(0,)" in text
