"""Layout: values against NumPy, errors in full, and jaxprs as JAX prints them."""

import gc
import weakref

import numpy as np
import pytest

import tanx
from tanx import lax
from tanx._core.array import Array
from tanx._loops import build, show


def numbers(*shape, dtype=np.float32):
    return Array(np.arange(np.prod(shape, dtype=int)).astype(dtype).reshape(shape))


def error(kind, call) -> str:
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


def equations(fun, *args) -> list[str]:
    """The equations of a jaxpr as text."""
    return [str(eqn) for eqn in tanx.make_jaxpr(fun)(*args).eqns]


# -- values ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape, dims", [
    ((3, 2), (1, 0)), ((3, 5, 2), (2, 0)), ((2, 3, 4), (0, 1))])
def test_broadcast_dimensions_may_come_in_any_order(shape, dims):
    x = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    out = np.asarray(lax.broadcast_in_dim(x, shape, dims))
    for index in np.ndindex(*shape):
        assert out[index] == x[tuple(index[d] for d in dims)]


def test_large_broadcasts_are_views():
    x = Array(np.ones(64, np.float32))
    assert lax.broadcast_in_dim(x, (1000, 64), (1,))._value.strides[0] == 0


def test_reshape_reads_in_the_order_of_its_dimensions():
    x = numbers(2, 3)
    np.testing.assert_array_equal(lax.reshape(x, (6,), (1, 0)), np.asarray(x).T.reshape(-1))


@pytest.mark.parametrize("call", [
    lambda x: lax.reshape(x, (2, 3)), lambda x: lax.transpose(x, (0, 1)),
    lambda x: lax.broadcast_in_dim(x, (2, 3), (0, 1)), lambda x: lax.broadcast(x, ()),
    lambda x: lax.broadcast_to_rank(x, 1), lambda x: lax.broadcast_like(x, x),
    lambda x: lax.squeeze(x, ()), lambda x: lax.expand_dims(x, ()),
    lambda x: lax.collapse(x, 1, 2)])
def test_no_ops_return_their_operand(call):
    x = numbers(2, 3)
    assert call(x) is x
    assert equations(call, x) == []
    converted = call(np.zeros((2, 3)))
    assert type(converted) is Array and converted.dtype == np.float32


def test_python_scalars_come_back_as_weak_arrays():
    out = lax.reshape(2.0, ())
    assert type(out) is Array and out.weak_type and out.dtype == np.float32


@pytest.mark.parametrize("shapes, expected", [
    ((), ()), (((),), ()), (((2, 1), (1, 3)), (2, 3)), (((2, 3), (3,)), (2, 3)),
    (((0,), (1,)), (0,)), (((4, 1, 2), (3, 1)), (4, 3, 2))])
def test_broadcast_shapes(shapes, expected):
    assert lax.broadcast_shapes(*shapes) == expected


@pytest.mark.parametrize("start, stop, shape", [
    (0, None, (24,)), (0, 2, (6, 4)), (1, 1, (2, 1, 3, 4)), (-2, None, (2, 12)),
    (3, None, (2, 3, 4, 1)), (0, 9, (24,))])
def test_collapse_takes_the_range_that_a_slice_would(start, stop, shape):
    assert lax.collapse(numbers(2, 3, 4), start, stop).shape == shape


def test_weak_types():
    weak = lax.broadcast(1.0, (2,))
    strong = numbers(2)
    assert weak.weak_type
    assert lax.stack([weak, weak]).weak_type and not lax.stack([weak, strong]).weak_type
    for out in (lax.reshape(weak, (2, 1)), lax.tile(weak, (2,)), lax.rev(weak, (0,)),
                lax.unstack(weak)[0]):
        assert out.weak_type


def test_a_piece_does_not_keep_the_whole():
    whole = np.zeros((100, 100), np.float32)
    alive = weakref.ref(whole)
    piece = lax.unstack(Array(whole))[0]
    del whole
    gc.collect()
    assert alive() is None and piece.shape == (100,)


# -- compiled --------------------------------------------------------------------------------------


def lowered(primitive, in_type, out_type, params) -> str:
    program = build.element_program(primitive.lower, [in_type], out_type, params)
    return show.show_expr(program.statements[0].body[0].value)


@pytest.mark.parametrize("old, new, element", [
    ((8, 3, 4), (8, 12), "x[i, j // 4, j % 4]"), ((8, 12), (8, 3, 4), "x[i, j * 4 + k]"),
    ((8, 3), (8, 1, 3), "x[i, j]"), ((1, 8), (8,), "x[0, i]")])
def test_reshape_divides_indices_only_where_it_must(old, new, element):
    assert lowered(lax.reshape_p, np.empty(old), np.empty(new),
                   dict(new_sizes=new, dimensions=None)) == element


# -- jaxprs ----------------------------------------------------------------------------------------


def test_jaxpr_of_layout_functions():
    def fun(x):
        y = lax.expand_dims(lax.rev(x, (1,)), (0, -1))
        z = lax.squeeze(y, (0, -1))
        return lax.stack([lax.reshape(z, (3, 2)), lax.transpose(x, (1, 0))], -1)
    assert str(tanx.make_jaxpr(fun)(numbers(2, 3))) == """\
{ lambda ; a:f32[2,3]. let
    b:f32[2,3] = rev[dimensions=(1,)] a
    c:f32[1,2,3,1] = broadcast_in_dim[broadcast_dimensions=(1, 2)] b
    d:f32[2,3] = squeeze[dimensions=(0, 3)] c
    e:f32[3,2] = reshape[dimensions=None new_sizes=(3, 2) sharding=None] d
    f:f32[3,2] = transpose[permutation=(1, 0)] a
    g:f32[3,2,2] = stack[axis=2] e f
  in (g,) }"""


def test_jaxpr_of_the_cotangent_of_a_broadcast():
    def fun(ct, x):
        return tanx.vjp(lambda x: lax.broadcast_in_dim(x, (2, 4, 3), (0, 2)), x)[1](ct)
    assert str(tanx.make_jaxpr(fun)(numbers(2, 4, 3), numbers(1, 3))) == """\
{ lambda ; a:f32[2,4,3] b:f32[1,3]. let
    _:f32[2,4,3] = broadcast_in_dim[broadcast_dimensions=(0, 2)] b
    c:f32[3] = reduce_sum[axes=(0, 1) out_sharding=None] a
    d:f32[1,3] = broadcast_in_dim[broadcast_dimensions=(1,)] c
  in (d,) }"""


def test_jaxpr_of_a_batched_tile():
    batched = tanx.vmap(lambda x: lax.tile(x, (2, 3)), in_axes=1)
    assert equations(batched, numbers(2, 5, 3))[0] == "a:f32[4,5,9] = tile[reps=(2, 1, 3)] b"


# -- errors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind, call, text", [
    (TypeError, lambda x: lax.broadcast_in_dim(x, (2, 4), (0, 1)), """\
tanx.lax.broadcast_in_dim: operand dimensions must be 1 or equal the distinct ones they map to.
  operand:              float32[2,3]
  shape:                (2, 4)
  broadcast_dimensions: (0, 1)"""),
    (TypeError, lambda x: lax.broadcast_in_dim(x, (-1, 3), (0, 1)), """\
tanx.lax.broadcast_in_dim: sizes must not be negative.
  shape: (-1, 3)"""),
    (ValueError, lambda x: lax.broadcast_like(x, 1.0), """\
tanx.lax.broadcast_like: the array does not broadcast to the requested shape.
  arr:      float32[2,3]
  like_arr: ~float32[]"""),
    (ValueError, lambda x: lax.broadcast_shapes((2, 3), (2,)), """\
tanx.lax.broadcast_shapes: Incompatible shapes for broadcasting.
  shapes: (2, 3), (2,)
  Hint: sizes must be equal or 1, counted from the last dimension."""),
    (TypeError, lambda x: lax.reshape(x, (4,)), """\
tanx.lax.reshape: the number of elements must stay the same.
  operand:   float32[2,3], 6 elements
  new_sizes: (4,), 4 elements"""),
    (TypeError, lambda x: lax.reshape(x, (6,), (0, 0)), """\
tanx.lax.reshape: dimensions must hold each dimension of the operand once.
  operand:    float32[2,3]
  dimensions: (0, 0)"""),
    (ValueError, lambda x: lax.collapse(x, 2, 1), """\
tanx.lax.collapse: start_dimension must not come after stop_dimension.
  operand:    float32[2,3]
  dimensions: 2 to 1"""),
    (TypeError, lambda x: lax.transpose(x, (0, 0)), """\
tanx.lax.transpose: permutation must hold each dimension once.
  operand:     float32[2,3]
  permutation: (0, 0)"""),
    (TypeError, lambda x: lax.rev(x, (-1,)), """\
tanx.lax.rev: dimensions must be distinct axes of the operand.
  operand:    float32[2,3]
  dimensions: (-1,)
  Hint: tanx.numpy.flip takes negative axes."""),
    (ValueError, lambda x: lax.squeeze(x, (1,)), """\
tanx.lax.squeeze: only dimensions of size 1 can be dropped.
  operand:    float32[2,3]
  dimensions: (1,)"""),
    (ValueError, lambda x: lax.expand_dims(x, (7,)), """\
tanx.lax.expand_dims: axis 7 is out of bounds for 3 dimensions of the result.
  operand: float32[2,3]
  Hint: axes go from -3 to 2."""),
    (ValueError, lambda x: lax.expand_dims(x, (0, 0)), """\
tanx.lax.expand_dims: axes must be distinct.
  axes: (0, 0)"""),
    (TypeError, lambda x: lax.tile(x, (2,)), """\
tanx.lax.tile: reps must hold a number for each dimension of the operand.
  operand: float32[2,3]
  reps:    (2,)
  Hint: tanx.numpy.tile adds dimensions."""),
    (ValueError, lambda x: lax.stack([]), """\
tanx.lax.stack: there must be at least one operand."""),
    (ValueError, lambda x: lax.stack([x, lax.transpose(x, (1, 0))]), """\
tanx.lax.stack: operands must have the same shape.
  operand 0: float32[2,3]
  operand 1: float32[3,2]"""),
    (TypeError, lambda x: lax.stack([x, numbers(2, 3, dtype=np.int32)]), """\
tanx.lax.stack: operands must have the same dtype.
  operand 0: float32[2,3]
  operand 1: int32[2,3]
  Hint: tanx.numpy's functions promote; or use x.astype(...)."""),
    (ValueError, lambda x: lax.unstack(1.0), """\
tanx.lax.unstack: axis 0 is out of bounds for 0 dimensions.
  operand: ~float32[]"""),
    (TypeError, lambda x: lax.reshape("no", (2,)), """\
tanx.lax.reshape: needs arrays or numbers, but argument 0 is a str.
  argument 0: 'no'
  Hint: convert it with tanx.numpy.asarray(...)."""),
])
def test_errors(kind, call, text):
    assert error(kind, lambda: call(numbers(2, 3))) == text
