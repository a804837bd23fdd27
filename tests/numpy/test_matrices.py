"""Diagonals and triangles."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tests.numpy.agreement import adjoint, agree, batched, fact, message

VECTOR = np.arange(1, 4.0)
MATRIX = np.arange(6.0).reshape(2, 3) + 1
CUBE = np.arange(24.0).reshape(2, 3, 4) + 1


@pytest.mark.parametrize("name", ["eye", "tri"])
@pytest.mark.parametrize("args", [
    (3,), (0,), (2, 4), (2, 4, 1), (3, 2, -1), (3, None, 5), (3, 3, -5)], ids=str)
def test_patterns(name, args):
    agree(getattr(jnp, name)(*args), getattr(np, name)(*args))
    agree(tanx.jit(lambda: getattr(jnp, name)(*args))(), getattr(np, name)(*args))


def test_dtypes_of_patterns():
    assert [fact(f) for f in (jnp.eye(2), jnp.eye(2, dtype=int), jnp.identity(2, "int8"),
                              jnp.tri(2, dtype=bool))] == [
        "float32[2,2]", "int32[2,2]", "int8[2,2]", "bool[2,2]"]
    agree(tanx.jit(lambda k: jnp.eye(3, k=k))(1), np.eye(3, k=1))
    with tanx.enable_x64(True):
        assert "i64[2,2]" in str(tanx.make_jaxpr(lambda: jnp.eye(2))())


@pytest.mark.parametrize("name, x, args", [
    ("tril", MATRIX, ()), ("tril", MATRIX, (1,)), ("tril", CUBE, (-1,)), ("triu", MATRIX, ()),
    ("triu", MATRIX, (1,)), ("triu", CUBE, (-1,)), ("triu", np.zeros((0, 2)), ()),
    ("diag", VECTOR, ()), ("diag", VECTOR, (2,)), ("diag", VECTOR, (-1,)), ("diag", MATRIX, ()),
    ("diag", MATRIX, (1,)), ("diag", MATRIX, (-1,)), ("diag", MATRIX, (5,)), ("diag", np.zeros(0),
    ()),
    ("diagflat", MATRIX, ()), ("diagflat", MATRIX, (-1,)), ("diagflat", np.float32(2), ()),
    ("diagonal", CUBE, ()), ("diagonal", CUBE, (1,)), ("diagonal", CUBE, (-1, 1, 2)),
    ("diagonal", CUBE, (0, 2, 0)), ("diagonal", MATRIX, (7,)), ("trace", MATRIX, ()),
    ("trace", CUBE, (1, 0, 2)), ("trace", CUBE, (-1, 1, 2)), ("vander", VECTOR, ()),
    ("vander", VECTOR, (2,)), ("vander", VECTOR, (4, True)), ("vander", VECTOR, (0,))],
    ids=lambda v: str(getattr(v, "shape", v)))
def test_matrices(name, x, args):
    function = lambda x: getattr(jnp, name)(x, *args)
    agree(function(x), getattr(np, name)(x, *args))
    batched(function, np.asarray(x, np.float32))
    if np.size(x):
        adjoint(function, x)


def test_dtypes_of_matrices():
    i8, weak = jnp.ones((2, 2), "int8"), jnp.reshape(jnp.array(2.5), 1)
    assert [fact(f(i8)) for f in (jnp.tril, jnp.triu, jnp.diag, jnp.diagflat, jnp.diagonal)] == [
        "int8[2,2]", "int8[2,2]", "int8[2]", "int8[4,4]", "int8[2]"]
    assert [fact(x) for x in (jnp.trace(i8), jnp.trace(i8 > 0), jnp.trace(i8, dtype=float))] == [
        "int32[]", "int32[]", "float32[]"]
    assert fact(jnp.diag(weak)) == "~float32[1,1]" and fact(jnp.vander(i8[0])) == "int8[2,2]"


def test_jaxprs():
    assert str(tanx.make_jaxpr(jnp.tril)(jnp.ones((2, 3)))) == """\
{ lambda ; a:f32[2,3]. let
    b:f32[2,3] = jit[
      name=tril
      jaxpr={ lambda ; a:f32[2,3]. let
          c:i32[2,3] = iota[dimension=0 dtype=int32 shape=(2, 3) sharding=None] 
          d:i32[2,3] = add c 0:i32[]
          e:i32[2,3] = iota[dimension=1 dtype=int32 shape=(2, 3) sharding=None] 
          f:bool[2,3] = ge d e
          g:f32[2,3] = broadcast_in_dim 0.0:f32[]
          b:f32[2,3] = select_n f g a
        in (b,) }
    ] a
  in (b,) }"""  # noqa: W291 - as JAX prints it


def test_mistakes():
    x = jnp.arange(3)
    message(ValueError, lambda: jnp.eye(-1), """\
tanx.numpy.eye: sizes must not be negative.
  shape: (-1, -1)""")
    message(TypeError, lambda: jnp.eye(2.5), """\
tanx.numpy.eye: a shape is a sequence of integers known while tracing.
  shape: (2.5, None)
  Hint: make sizes integers with int(...), or divide them with //.""")
    message(ValueError, lambda: jnp.tril(x), """\
tanx.numpy.tril: needs at least two dimensions.
  array: int32[3]""")
    message(ValueError, lambda: jnp.diag(jnp.ones((2, 2, 2))), """\
tanx.numpy.diag: needs a vector or a matrix.
  array: float32[2,2,2]""")
    message(ValueError, lambda: jnp.diagonal(jnp.eye(2), 0, 1, -1), """\
tanx.numpy.diagonal: axis1 and axis2 must differ.
  array: float32[2,2]
  axes:  1 and 1""")
    message(NotImplementedError, lambda: jnp.trace(jnp.eye(2), out=np.ones(())), """\
tanx.numpy.trace: arrays are immutable, so out is not supported.
  Hint: use the result.""")
    message(ValueError, lambda: jnp.vander(jnp.eye(2)), """\
tanx.numpy.vander: needs a vector.
  array: float32[2,2]""")
    message(ValueError, lambda: jnp.vander(x, -1), """\
tanx.numpy.vander: N must not be negative.
  N: -1""")
    for f in (jnp.tril, jnp.diag, jnp.diagflat, jnp.trace, jnp.vander):
        with pytest.raises(TypeError):
            f([[1, 2], [3, 4]])
