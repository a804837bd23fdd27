"""Arrays in other shapes."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tests.numpy.agreement import adjoint, agree, batched, fact, message

VECTOR = np.arange(5.0)
MATRIX = np.arange(6.0).reshape(2, 3)
CUBE = np.arange(24.0).reshape(2, 3, 4)
THIN = np.arange(3.0).reshape(1, 3, 1)

# Name, array, arguments: NumPy takes the same ones.
CASES = [
    ("reshape", CUBE, ((4, 6),)), ("reshape", CUBE, ((-1, 4),)), ("reshape", CUBE, (-1,)),
    ("reshape", CUBE, ([3, -1, 2],)), ("reshape", CUBE, ((4, 6), "F")), ("reshape", CUBE, (24,)),
    ("reshape", np.float32(2), ((1, 1),)), ("reshape", np.zeros((0, 3)), (-1,)),
    ("ravel", CUBE, ()), ("ravel", CUBE, ("F",)), ("ravel", np.float32(2), ()),
    ("transpose", CUBE, ()), ("transpose", CUBE, ((0, -1, 1),)), ("transpose", VECTOR, ()),
    ("permute_dims", CUBE, ((2, 0, 1),)), ("matrix_transpose", CUBE, ()),
    ("swapaxes", CUBE, (0, -1)), ("moveaxis", CUBE, (0, -1)), ("moveaxis", CUBE, ((0, 1), (-1, 0))),
    ("moveaxis", CUBE, ([2, 0], [0, 1])), ("rollaxis", CUBE, (2,)), ("rollaxis", CUBE, (0, 3)),
    ("rollaxis", CUBE, (-1, -3)),
    ("squeeze", THIN, ()), ("squeeze", THIN, (0,)), ("squeeze", THIN, ((0, -1),)),
    ("squeeze", MATRIX, ()), ("expand_dims", MATRIX, (0,)), ("expand_dims", MATRIX, ((0, -1),)),
    ("expand_dims", MATRIX, ([1, 2],)), ("broadcast_to", VECTOR, ((3, 5),)),
    ("broadcast_to", THIN, ((2, 4, 3, 5),)), ("broadcast_to", THIN, ((0, 3, 1),)),
    ("atleast_1d", np.float32(1), ()), ("atleast_2d", VECTOR, ()), ("atleast_2d", np.float32(1),
    ()),
    ("atleast_3d", VECTOR, ()), ("atleast_3d", MATRIX, ()), ("atleast_3d", CUBE, ()),
]


@pytest.mark.parametrize("name, x, args", CASES, ids=lambda v: str(getattr(v, "shape", v)))
def test_shapes(name, x, args):
    function = lambda x: getattr(jnp, name)(x, *args)
    agree(function(x), getattr(np, name)(x, *args))
    assert fact(function(jnp.asarray(x, "int8"))).startswith("int8")
    batched(function, np.asarray(x, np.float32))
    if np.size(x):
        adjoint(function, x)


def test_functions_of_several_arrays():
    arrays = MATRIX, VECTOR[:3], 1.0
    agree(jnp.broadcast_arrays(*arrays), np.broadcast_arrays(*arrays))
    assert [*map(fact, jnp.broadcast_arrays(jnp.arange(2), 1.0))] == ["int32[2]", "~float32[2]"]
    assert jnp.broadcast_arrays() == () == jnp.atleast_1d()
    assert jnp.broadcast_shapes((2, 1), 3, ()) == (2, 3) and jnp.broadcast_shapes() == ()
    agree(jnp.atleast_2d(VECTOR, 1.0), np.atleast_2d(VECTOR, 1.0))


def test_sizes():
    assert [f(CUBE) for f in (jnp.ndim, jnp.shape, jnp.size)] == [3, (2, 3, 4), 24]
    assert [f(1.5) for f in (jnp.ndim, jnp.shape, jnp.size)] == [0, (), 1]
    assert [f([[1, 2]]) for f in (jnp.ndim, jnp.shape, jnp.size)] == [2, (1, 2), 2]
    assert jnp.size(CUBE, 1) == 3 and jnp.size(CUBE, (0, -1)) == 8
    assert tanx.jit(lambda x: jnp.size(x) * x)(jnp.ones(3)).shape == (3,)


def test_weak_types_stay():
    weak = jnp.array(2.5)
    assert {fact(f(weak)) for f in (jnp.ravel, jnp.atleast_1d, lambda x: jnp.reshape(x, 1),
                                    lambda x: jnp.expand_dims(x, 0),
                                    lambda x: jnp.broadcast_to(x, 1))} == {"~float32[1]"}
    assert fact(jnp.reshape(2, (1, 1))) == "~int32[1,1]"


def test_sizes_may_come_from_arrays_known_while_tracing():
    agree(tanx.jit(lambda x: jnp.reshape(x, jnp.array(x.shape).prod()))(MATRIX), MATRIX.ravel())
    agree(tanx.jit(lambda x: jnp.reshape(x, (jnp.array(3), -1)))(MATRIX), MATRIX.reshape(3, 2))


def test_no_ops_return_their_operand():
    x = jnp.asarray(MATRIX)
    assert all(same is x for same in (
        jnp.reshape(x, (2, -1)), jnp.squeeze(x), jnp.broadcast_to(x, (2, 3)), jnp.moveaxis(x, 0, 0),
        jnp.atleast_2d(x), jnp.transpose(x, (0, 1)), jnp.swapaxes(x, 0, -2)))


def test_jaxprs():
    assert str(tanx.make_jaxpr(lambda x: jnp.reshape(x, (3, 2), "F"))(jnp.asarray(MATRIX))) == """\
{ lambda ; a:f32[2,3]. let
    b:f32[2,3] = reshape[dimensions=(1, 0) new_sizes=(2, 3) sharding=None] a
    c:f32[3,2] = transpose[permutation=(1, 0)] b
  in (c,) }"""
    assert str(tanx.make_jaxpr(jnp.atleast_2d)(jnp.arange(3))) == """\
{ lambda ; a:i32[3]. let
    b:i32[1,3] = jit[
      name=atleast_2d
      jaxpr={ lambda ; a:i32[3]. let
          b:i32[1,3] = broadcast_in_dim[broadcast_dimensions=(1,)] a
        in (b,) }
    ] a
  in (b,) }"""


MISTAKES = [
    (TypeError, lambda x: jnp.reshape(x, (4, 2)), """\
tanx.numpy.reshape: the number of elements must stay the same.
  array: float32[2,3], 6 elements
  shape: (4, 2), 8 elements"""),
    (TypeError, lambda x: jnp.reshape(x, (4, -1)), """\
tanx.numpy.reshape: the number of elements must stay the same.
  array: float32[2,3], 6 elements
  shape: (4, -1)"""),
    (TypeError, lambda x: jnp.reshape(x, (-1, -1)), """\
tanx.numpy.reshape: only one size may be -1.
  shape: (-1, -1)"""),
    (ValueError, lambda x: jnp.reshape(x, 6, "X"), """\
tanx.numpy.reshape: order must be 'C' or 'F'.
  order: 'X'"""),
    (NotImplementedError, lambda x: jnp.ravel(x, "K"), """\
tanx.numpy.ravel: arrays have no order in memory to follow.
  order: 'K'
  Hint: use order='C' or order='F'."""),
    (TypeError, lambda x: jnp.ravel([1, 2]), """\
tanx.numpy.ravel: needs arrays or numbers, but argument 0 is a list.
  argument 0: [1, 2]
  Hint: wrap it in tanx.numpy.array(...); lists are not converted implicitly."""),
    (TypeError, lambda x: jnp.transpose(x, (0,)), """\
tanx.numpy.transpose: axes must hold each dimension once.
  array: float32[2,3]
  axes:  (0,)"""),
    (ValueError, lambda x: jnp.transpose(x, (0, 2)), """\
tanx.numpy.transpose: axis 2 is out of bounds for 2 dimensions.
  operand: float32[2,3]
  Hint: axes go from -2 to 1."""),
    (ValueError, lambda x: jnp.matrix_transpose(x[0]), """\
tanx.numpy.matrix_transpose: needs at least two dimensions.
  array: float32[3]"""),
    (ValueError, lambda x: jnp.squeeze(x, 0), """\
tanx.numpy.squeeze: only dimensions of size 1 can be dropped.
  array: float32[2,3]
  axis:  0"""),
    (ValueError, lambda x: jnp.expand_dims(x, (0, 0)), """\
tanx.numpy.expand_dims: axes must be distinct.
  axes: (0, 0)"""),
    (ValueError, lambda x: jnp.moveaxis(x, (0, 1), 0), """\
tanx.numpy.moveaxis: source and destination must have the same length.
  source:      (0, 1)
  destination: (0,)"""),
    (ValueError, lambda x: jnp.rollaxis(x, 0, 3), """\
tanx.numpy.rollaxis: start is out of bounds.
  array: float32[2,3]
  start: 3
  Hint: it goes from -2 to 2."""),
    (ValueError, lambda x: jnp.broadcast_to(x, (4, 4)), """\
tanx.numpy.broadcast_to: the array does not broadcast to the shape.
  array: float32[2,3]
  shape: (4, 4)
  Hint: sizes must be equal or 1, counted from the last dimension."""),
    (ValueError, lambda x: jnp.broadcast_shapes((2,), (3,)), """\
tanx.numpy.broadcast_shapes: Incompatible shapes for broadcasting.
  shapes: (2,), (3,)
  Hint: sizes must be equal or 1, counted from the last dimension."""),
]


@pytest.mark.parametrize("error, call, text", MISTAKES)
def test_mistakes(error, call, text):
    message(error, lambda: call(jnp.asarray(MATRIX)), text)
