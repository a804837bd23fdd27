"""Cumulative sums and products, differences, derivatives, integrals."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tests.numpy.agreement import adjoint, agree, batched, fact, message

X = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
HOLES = np.where(X > 0.5, np.nan, X)
INTS = np.arange(12).reshape(3, 4) ** 2
POINTS = np.array([0.0, 1.0, 3.0, 3.5])


@pytest.mark.parametrize("axis", [None, 0, -1])
@pytest.mark.parametrize("name", ["cumsum", "cumprod", "nancumsum", "nancumprod"])
def test_running(name, axis):
    function = lambda x: getattr(jnp, name)(x, axis)
    for x in (X, INTS + 1, INTS > 20, X * 1j, HOLES):
        agree(function(x), getattr(np, name)(x, axis), 1e-5, 1e-5)
    batched(function, X)
    adjoint(function, X)


def test_running_with_a_start():
    agree(jnp.cumulative_sum(X, axis=1), np.cumsum(X, 1), 1e-5)
    agree(jnp.cumulative_prod(X, axis=0), np.cumprod(X, 0), 1e-5)
    agree(jnp.cumulative_sum(INTS, axis=0, include_initial=True),
          np.vstack([np.zeros(4), np.cumsum(INTS, 0)]))
    agree(jnp.cumulative_prod(POINTS + 1, include_initial=True), [1, *np.cumprod(POINTS + 1)])


def test_types_of_results():
    x = jnp.ones(3, "int8")
    assert fact(jnp.cumsum(x)) == "int8[3]" and fact(jnp.cumulative_sum(x)) == "int32[3]"
    assert fact(jnp.cumsum(x > 0)) == "int32[3]" and fact(jnp.cumsum(x, dtype=bool)) == "bool[3]"
    assert fact(jnp.cumsum(x, dtype="float32")) == "float32[3]"
    assert fact(jnp.cumprod(jnp.ones(3, "bfloat16"))) == "bfloat16[3]"
    assert fact(jnp.cumsum(jnp.broadcast_to(1.5, 3))) == "float32[3]"
    assert fact(jnp.diff(x)) == "int8[2]" and fact(jnp.diff(x > 0)) == "bool[2]"
    assert fact(jnp.gradient(x)) == fact(jnp.trapezoid(x)).replace("[]", "[3]") == "float32[3]"


@pytest.mark.parametrize("options", [
    {}, {"n": 2}, {"axis": 0}, {"n": 3, "axis": 1}, {"n": 0}, {"n": 6}, {"prepend": 1},
    {"append": X}, {"prepend": X[:1], "append": 2, "axis": 0}], ids=str)
def test_differences(options):
    function = lambda x: jnp.diff(x, **options)
    agree(function(X), np.diff(X, **options), 1e-5)
    agree(jnp.diff(INTS > 5), np.diff(INTS > 5))
    batched(function, X)
    adjoint(function, X)


def test_differences_of_the_flattened_array():
    agree(jnp.ediff1d(X), np.ediff1d(X), 1e-5)
    agree(jnp.ediff1d(INTS, to_end=jnp.arange(2), to_begin=-1),
          np.ediff1d(INTS, to_end=np.arange(2), to_begin=-1))


@pytest.mark.parametrize("spacing, axis", [
    ((), None), ((), 0), ((), (1, 0)), ((2.0,), None), ((2.0, 0.5), None), ((2.0,), 1),
    ((POINTS,), 1), ((0.5, POINTS), None), ((POINTS,), -1), ((POINTS[:3], POINTS), (0, 1))],
    ids=str)
def test_gradients(spacing, axis):
    function = lambda x: jnp.gradient(x, *spacing, axis=axis)
    agree(function(X), np.gradient(X, *spacing, axis=axis), 1e-5, 1e-5)
    agree(function(INTS), np.gradient(INTS, *spacing, axis=axis), 1e-5, 1e-5)
    batched(function, X)
    if isinstance(axis, int):
        adjoint(function, X)


@pytest.mark.parametrize("options", [
    {}, {"dx": 2.0}, {"x": POINTS}, {"x": X}, {"axis": 0}, {"x": POINTS[:3], "axis": 0},
    {"x": X, "axis": 0}], ids=lambda v: str(list(v)))
def test_integrals(options):
    function = lambda y: jnp.trapezoid(y, **options)
    agree(function(X), np.trapezoid(X, **options), 1e-5)
    agree(function(INTS), np.trapezoid(INTS, **options), 1e-5)
    batched(function, X)
    adjoint(function, X)


def test_jaxprs():
    assert str(tanx.make_jaxpr(lambda x: jnp.cumsum(x))(jnp.ones((2, 3)))) == """\
{ lambda ; a:f32[2,3]. let
    b:f32[6] = jit[
      name=cumsum
      jaxpr={ lambda ; a:f32[2,3]. let
          c:f32[6] = reshape[dimensions=None new_sizes=(6,) sharding=None] a
          b:f32[6] = cumsum[axis=0 reverse=False] c
        in (b,) }
    ] a
  in (b,) }"""


MISTAKES = [
    (ValueError, lambda: jnp.cumsum(X, 2), """\
tanx.numpy.cumsum: axis 2 is out of bounds for 2 dimensions.
  operand: float32[3,4]
  Hint: axes go from -2 to 1."""),
    (ValueError, lambda: jnp.cumulative_sum(X), """\
tanx.numpy.cumulative_sum: axis may be left out for vectors only.
  array: float32[3,4]"""),
    (ValueError, lambda: jnp.cumulative_prod(2.0), """\
tanx.numpy.cumulative_prod: needs at least one dimension.
  array: ~float32[]"""),
    (ValueError, lambda: jnp.diff(X, -1), """\
tanx.numpy.diff: needs at least one dimension, and n >= 0.
  array: float32[3,4]
  n:     -1"""),
    (NotImplementedError, lambda: jnp.gradient(X, edge_order=2), """\
tanx.numpy.gradient: edges are of first order only.
  edge_order: 2
  Hint: leave edge_order out."""),
    (TypeError, lambda: jnp.gradient(X, 1, 2, 3), """\
tanx.numpy.gradient: needs no spacing, one, or one for each dimension.
  array:    float32[3,4]
  axis:     None
  spacings: 3"""),
    (ValueError, lambda: jnp.gradient(X[:, :1], axis=1), """\
tanx.numpy.gradient: a derivative needs at least two points.
  array: float32[3,1]
  axis:  1"""),
    (ValueError, lambda: jnp.gradient(X, POINTS, axis=0), """\
tanx.numpy.gradient: a spacing is a scalar, or a vector with one number per point.
  array:   float32[3,4]
  axis:    0
  spacing: float32[4]"""),
]


@pytest.mark.parametrize("error, call, text", MISTAKES)
def test_mistakes(error, call, text):
    message(error, call, text)
