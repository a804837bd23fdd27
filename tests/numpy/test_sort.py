"""Sorting and searching."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tests.numpy.agreement import adjoint, agree, batched, fact, message

RNG = np.random.default_rng(0)
X = RNG.normal(size=(4, 5)).astype(np.float32)
TIES = RNG.integers(0, 4, (4, 5))
WITH_NAN = np.where(X > 0.7, np.nan, X)
COMPLEX = (TIES + 1j * TIES[::-1]).astype(np.complex64)


@pytest.mark.parametrize("axis", [0, -1, None])
@pytest.mark.parametrize("x", [X, TIES, WITH_NAN, COMPLEX, TIES > 1], ids=lambda x: str(x.dtype))
def test_order(x, axis):
    agree(jnp.sort(x, axis), np.sort(x, axis))
    agree(jnp.argsort(x, axis), np.argsort(x, axis, stable=True))
    down = jnp.sort(x, axis, descending=True)
    agree(down, np.flip(np.sort(x, axis), -1 if axis is None else axis))
    # Equal elements keep their order in descending order, too.
    if x.dtype.kind == "i":
        agree(jnp.argsort(x, axis, descending=True), np.argsort(-x, axis, stable=True))
    batched(lambda x: jnp.sort(x, axis), x)
    batched(lambda x: jnp.argsort(x, axis), x)


def test_keys():
    keys = TIES[0], TIES[1], TIES[2]
    agree(jnp.lexsort(keys), np.lexsort(keys))
    agree(jnp.lexsort(TIES), np.lexsort(TIES))
    agree(jnp.lexsort((X, TIES), axis=0), np.lexsort((X, TIES), axis=0))
    assert jnp.lexsort((1.0, 2.0)) == 0
    agree(jnp.sort_complex(TIES), np.sort(TIES).astype(np.complex64))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("kth", [0, 2, -1])
def test_partitions(kth, axis):
    for x in (X, TIES, WITH_NAN):
        got = np.asarray(jnp.partition(x, kth, axis))
        place = kth % x.shape[axis]
        agree(np.sort(got, axis), np.sort(x, axis))
        agree(got.take(range(place + 1), axis), np.sort(x, axis).take(range(place + 1), axis))
        order = np.asarray(jnp.argpartition(x, kth, axis))
        agree(np.take_along_axis(x, order, axis).take(place, axis), got.take(place, axis))
        agree(np.sort(order, axis), np.sort(np.argsort(x, axis), axis))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("x", [X, TIES, TIES.astype(np.uint8), TIES > 1],
                         ids=lambda x: str(x.dtype))
def test_the_greatest_and_least(x, axis):
    values, positions = jnp.top_k(x, 3, axis=axis)
    agree(values, np.flip(np.sort(x, axis), axis).take(range(3), axis))
    agree(np.take_along_axis(x, np.asarray(positions), axis), values)
    values, positions = jnp.top_k(x, 3, axis=axis, mode="smallest")
    agree(values, np.sort(x, axis).take(range(3), axis))
    agree(positions, np.argsort(x, axis, stable=True).take(range(3), axis))


SEARCHED = [np.sort(RNG.integers(0, 50, n)).astype(dtype)
            for n in (0, 1, 2, 15, 17, 31, 32, 100) for dtype in (np.float32, np.int32)]


@pytest.mark.parametrize("method", ["scan", "scan_unrolled", "sort", "compare_all"])
@pytest.mark.parametrize("a", SEARCHED, ids=lambda a: f"{a.size} {a.dtype}")
def test_places(a, method):
    v = RNG.integers(-3, 54, (3, 11))
    for side in ("left", "right"):
        agree(jnp.searchsorted(a, v, side, method=method), np.searchsorted(a, v, side))
    for bins in (a, a[::-1]):
        for right in (False, True):
            agree(jnp.digitize(v, bins, right, method=method), np.digitize(v, bins, right))
    batched(lambda v: jnp.searchsorted(a, v, method=method), v)


def test_places_among_nan_and_complex_numbers():
    a = np.concatenate([np.sort(X.ravel()), [np.nan, np.nan]])
    v = np.concatenate([X[0], [np.nan]])
    for method in ("scan", "compare_all"):
        for side in ("left", "right"):
            agree(jnp.searchsorted(a, v, side, method=method), np.searchsorted(a, v, side))
            c = np.sort(COMPLEX.ravel())
            agree(jnp.searchsorted(c, COMPLEX, side, method=method),
                  np.searchsorted(c, COMPLEX, side))
    order = np.argsort(X.ravel())
    agree(jnp.searchsorted(X.ravel(), v[:-1], sorter=order),
          np.searchsorted(X.ravel(), v[:-1], sorter=order))
    agree(tanx.vmap(jnp.searchsorted)(np.sort(X), X),
          [np.searchsorted(*pair) for pair in zip(np.sort(X), X)])


def test_types_of_results():
    x = jnp.ones(3, "int8")
    assert fact(jnp.sort(jnp.broadcast_to(1.5, 3))) == "~float32[3]"
    assert fact(jnp.argsort(x)) == fact(jnp.lexsort((x,))) == "int32[3]"
    assert fact(jnp.argsort(x, dtype="uint8")) == "uint8[3]"
    assert fact(jnp.sort_complex(x)) == "complex64[3]"
    with tanx.enable_x64(True):
        assert fact(jnp.argsort(x)) == "int64[3]"
        assert fact(jnp.searchsorted(x, x)) == fact(jnp.digitize(x, x)) == "int32[3]"
        assert fact(jnp.argpartition(x, 1)) == "int32[3]"


def test_methods():
    x = jnp.asarray(X)
    agree(x.sort(0), np.sort(X, 0))
    agree(x.argsort(), np.argsort(X))
    agree(x[0].sort().searchsorted(0.0), np.searchsorted(np.sort(X[0]), 0.0))
    agree(x.argpartition(1)[:, :2], np.argsort(X)[:, :2])


@pytest.mark.parametrize("function", [
    lambda x: jnp.sort(x, 0, descending=True), lambda x: jnp.partition(x, 2),
    lambda x: jnp.top_k(x, 2)[0], lambda x: jnp.top_k(x, 2, mode="smallest")[0]])
def test_derivatives(function):
    adjoint(function, X)
    batched(function, X)


def test_jaxprs():
    x = jnp.ones((2, 3))
    assert str(tanx.make_jaxpr(lambda x: jnp.sort(x, 0, descending=True))(x)) == """\
{ lambda ; a:f32[2,3]. let
    b:f32[2,3] = jit[
      name=sort
      jaxpr={ lambda ; a:f32[2,3]. let
          c:f32[2,3] = sort[dimension=0 is_stable=True num_keys=1] a
          b:f32[2,3] = rev[dimensions=(0,)] c
        in (b,) }
    ] a
  in (b,) }"""
    assert str(tanx.make_jaxpr(jnp.argsort)(x)).replace(" \n", "\n") == """\
{ lambda ; a:f32[2,3]. let
    b:i32[2,3] = jit[
      name=argsort
      jaxpr={ lambda ; a:f32[2,3]. let
          c:i32[2,3] = iota[dimension=1 dtype=int32 shape=(2, 3) sharding=None]
          d:f32[2,3] b:i32[2,3] = sort[dimension=1 is_stable=True num_keys=1] a c
        in (b,) }
    ] a
  in (b,) }"""


MISTAKES = [
    (TypeError, lambda: jnp.sort(X, kind="heapsort"), """\
tanx.numpy.sort: kind and order are not supported.
  kind:  'heapsort'
  order: None
  Hint: use stable=True or stable=False; arrays have no fields to sort by."""),
    (ValueError, lambda: jnp.argsort(1.0), """\
tanx.numpy.argsort: axis -1 is out of bounds for 0 dimensions.
  operand: ~float32[]"""),
    (TypeError, lambda: jnp.lexsort(()), """\
tanx.numpy.lexsort: there must be at least one key."""),
    (ValueError, lambda: jnp.lexsort((X[0], X)), """\
tanx.numpy.lexsort: keys must have one shape.
  key 0: float32[5]
  key 1: float32[4,5]"""),
    (ValueError, lambda: jnp.partition(X, 5), """\
tanx.numpy.partition: kth is out of bounds.
  array: float32[4,5]
  axis:  1
  kth:   5"""),
    (NotImplementedError, lambda: jnp.argpartition(COMPLEX, 0), """\
tanx.numpy.argpartition: complex numbers are not partitioned.
  array: complex64[4,5]
  Hint: use tanx.numpy.sort."""),
    (ValueError, lambda: jnp.top_k(X, 6), """\
tanx.numpy.top_k: takes real numbers, and at least k of them.
  array: float32[4,5]
  axis:  1
  k:     6"""),
    (ValueError, lambda: jnp.top_k(X, 1, mode="best"), """\
tanx.numpy.top_k: mode is 'largest' or 'smallest'.
  mode: 'best'"""),
    (ValueError, lambda: jnp.searchsorted(X, 1), """\
tanx.numpy.searchsorted: a must be a vector.
  a: float32[4,5]
  Hint: use tanx.vmap for several."""),
    (ValueError, lambda: jnp.searchsorted(X[0], 1, "middle"), """\
tanx.numpy.searchsorted: side must be one of 'left', 'right'.
  side: 'middle'"""),
    (ValueError, lambda: jnp.searchsorted(X[0], 1, method="guess"), """\
tanx.numpy.searchsorted: method must be one of 'scan', 'scan_unrolled', 'sort', 'compare_all'.
  method: 'guess'"""),
    (ValueError, lambda: jnp.digitize(X, X), """\
tanx.numpy.digitize: bins must be a vector.
  bins: float32[4,5]"""),
]


@pytest.mark.parametrize("error, call, text", MISTAKES)
def test_mistakes(error, call, text):
    message(error, call, text)
