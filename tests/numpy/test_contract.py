"""Products of vectors, matrices and tensors."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tests.numpy.agreement import adjoint, agree, batched, fact, message


def values(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


A, B, V, W = values(2, 3), values(3, 4), values(3), values(5)

# Name, operands, options: NumPy takes the same ones.
CASES = [
    ("dot", (A, B), {}), ("dot", (A, V), {}), ("dot", (V, V), {}), ("dot", (A, 2.0), {}),
    ("dot", (3.0, 2.0), {}), ("dot", (A, values(5, 3, 4)), {}), ("dot", (values(2, 5, 3), V), {}),
    ("matmul", (A, B), {}), ("matmul", (A, V), {}), ("matmul", (V, B), {}), ("matmul", (V, V), {}),
    ("matmul", (values(5, 2, 3), B), {}), ("matmul", (A, values(5, 3, 4)), {}),
    ("matmul", (values(5, 2, 3), values(5, 3, 4)), {}),
    ("matmul", (values(5, 1, 2, 3), values(7, 3, 4)), {}),
    ("matmul", (values(6, 1, 7, 2, 3), values(1, 5, 7, 3, 4)), {}),
    ("matmul", (values(1, 1, 2, 3), values(1, 3, 4)), {}),
    ("matmul", (values(1, 2, 3), values(5, 6, 3, 4)), {}),
    ("matmul", (values(6, 5, 2, 3), values(5, 3, 4)), {}), ("matmul", (V, values(7, 3, 4)), {}),
    ("matmul", (values(7, 2, 3), V), {}), ("matmul", (values(2, 0), values(0, 3)), {}),
    ("matmul", (values(0, 2, 3), values(1, 3, 4)), {}),
    ("vdot", (A, A), {}), ("vdot", (2.0, 3.0), {}), ("inner", (A, values(4, 3)), {}),
    ("inner", (V, V), {}), ("inner", (A, 2.0), {}), ("outer", (V, A), {}), ("outer", (2.0, V), {}),
    ("tensordot", (values(2, 3, 4), values(3, 4, 5)), {}),
    ("tensordot", (V, W), {"axes": 0}), ("tensordot", (A, B), {"axes": 1}),
    ("tensordot", (A, values(4, 2)), {"axes": (0, 1)}),
    ("tensordot", (values(2, 3, 4), values(4, 3, 5)), {"axes": ([1, -1], [1, 0])}),
    ("vecdot", (A, A), {}), ("vecdot", (A, V), {}), ("vecdot", (A, A), {"axis": 0}),
    ("vecdot", (values(4, 1, 3), A), {}), ("vecdot", (values(3, 2), values(4, 3, 2)), {"axis": -2}),
    ("matvec", (A, V), {}), ("matvec", (values(5, 2, 3), values(1, 3)), {}),
    ("vecmat", (V, B), {}), ("vecmat", (values(4, 3), values(4, 3, 5)), {}),
    ("kron", (A, B), {}), ("kron", (V, B), {}), ("kron", (A, V), {}), ("kron", (2.0, A), {}),
    ("cross", (V, V[::-1]), {}), ("cross", (values(5, 3), V), {}),
    ("cross", (values(3, 5), values(3, 5)), {"axis": 0}),
    ("cross", (values(3, 5), values(5, 3)), {"axisa": 0, "axisc": 0}),
]
SLIDING = [(name, sizes, mode) for name in ("convolve", "correlate")
           for sizes in ((5, 3), (3, 5), (4, 4), (6, 1), (7, 2), (2, 7))
           for mode in ("full", "same", "valid")]


@pytest.mark.parametrize("name, operands, options", CASES, ids=lambda v: str(
    [np.shape(x) for x in v] if isinstance(v, tuple) else v))
def test_products(name, operands, options):
    function = lambda *xs: getattr(jnp, name)(*xs, **options)
    reference = getattr(np, name)
    agree(function(*operands), reference(*operands, **options), 1e-5, 1e-5)
    turned = [np.asarray(x) * (1 + 2j) for x in operands]
    agree(function(*turned), reference(*turned, **options), 1e-4, 1e-4)
    batched(function, *map(np.asarray, operands))
    if all(np.size(x) for x in operands):
        adjoint(function, *operands)


@pytest.mark.parametrize("name, sizes, mode", SLIDING, ids=str)
def test_convolutions(name, sizes, mode):
    a, v = values(sizes[0]), values(sizes[1] + 10)[:sizes[1]]
    function = lambda a, v: getattr(jnp, name)(a, v, mode=mode)
    agree(function(a, v), getattr(np, name)(a, v, mode), 1e-5, 1e-5)
    agree(function(a * 1j, v * (2 + 1j)), getattr(np, name)(a * 1j, v * (2 + 1j), mode), 1e-5, 1e-5)
    agree(function(np.arange(4), np.arange(3)), getattr(np, name)(np.arange(4), np.arange(3), mode))
    batched(function, a, v)
    adjoint(function, a, v)


def test_operators_and_methods():
    x, y = jnp.asarray(A), jnp.asarray(B)
    agree(x @ y, A @ B, 1e-5)
    agree(A @ y, A @ B, 1e-5)
    agree(x @ B, A @ B, 1e-5)
    agree(x.dot(y), A @ B, 1e-5)


def ones(*pairs):
    return [jnp.ones(3, dtype) for dtype in pairs]


def test_types_of_results():
    facts = {fact(jnp.dot(*ones(*row.split()[:2]))): row.split()[2] for row in [
        "bfloat16 float16 float32[]", "int8 uint8 int16[]", "bool bool bool[]", "int8 int8 int8[]",
        "bfloat16 bfloat16 bfloat16[]", "float32 complex64 complex64[]", "uint32 int32 int32[]"]}
    assert all(got == want for got, want in facts.items())
    exact = jnp.dot(*ones("bfloat16", "bfloat16"), preferred_element_type="float32")
    assert fact(exact) == "float32[]"
    weak = jnp.broadcast_to(1.5, 3)
    assert fact(jnp.dot(weak, weak)) == fact(jnp.matmul(jnp.arange(3), weak)) == "~float32[]"
    assert fact(jnp.dot(jnp.ones(3, "int8"), 2)) == "int8[3]"
    assert fact(jnp.outer(weak, weak)) == "~float32[3,3]"
    assert fact(jnp.convolve(jnp.arange(3), jnp.arange(2))) == "float32[4]"


def test_sums_of_narrow_floats_are_wide():
    x = jnp.full(4096, 1.0, "bfloat16")
    assert float(jnp.dot(x, x)) == 4096
    assert int(jnp.dot(jnp.full(100, 100, "int8"), jnp.ones(100, "int8"),
                       preferred_element_type="int32")) == 10000


def test_jaxprs():
    x, y = jnp.ones((5, 1, 2, 3)), jnp.ones((7, 3, 4))
    assert str(tanx.make_jaxpr(jnp.matmul)(x, y)) == """\
{ lambda ; a:f32[5,1,2,3] b:f32[7,3,4]. let
    c:f32[5,2,3] = squeeze[dimensions=(1,)] a
    d:f32[5,2,7,4] = dot_general[
      dimension_numbers=(([2], [1]), ([], []))
      preferred_element_type=float32
    ] c b
    e:f32[5,7,2,4] = transpose[permutation=(0, 2, 1, 3)] d
  in (e,) }"""
    assert str(tanx.make_jaxpr(lambda x, y: x @ y)(y, y.mT)) == """\
{ lambda ; a:f32[7,3,4] b:f32[7,4,3]. let
    c:f32[7,3,3] = dot_general[
      dimension_numbers=(([2], [1]), ([0], [0]))
      preferred_element_type=float32
    ] a b
  in (c,) }"""
    assert str(tanx.make_jaxpr(lambda x: jnp.dot(x, x, precision="highest"))(x[0, 0, 0])) == """\
{ lambda ; a:f32[3]. let
    b:f32[] = dot_general[
      dimension_numbers=(([0], [0]), ([], []))
      precision=(Precision.HIGHEST, Precision.HIGHEST)
      preferred_element_type=float32
    ] a a
  in (b,) }"""


MISTAKES = [
    (TypeError, lambda: jnp.dot(A, A), """\
tanx.numpy.dot: dimensions summed over must have the same sizes.
  a: float32[2,3], dimensions (1,)
  b: float32[2,3], dimensions (0,)
  Hint: x.mT swaps the last two dimensions; tanx.numpy.einsum names them all."""),
    (TypeError, lambda: jnp.dot([1], A), """\
tanx.numpy.dot: needs arrays or numbers, but argument 0 is a list.
  argument 0: [1]
  Hint: wrap it in tanx.numpy.array(...); lists are not converted implicitly."""),
    (ValueError, lambda: jnp.matmul(A, 2), """\
tanx.numpy.matmul: b must have at least one dimension.
  b: ~int32[]"""),
    (ValueError, lambda: jnp.matmul(values(2, 2, 3), values(5, 3, 4)), """\
tanx.numpy.matmul: the leading dimensions do not broadcast together.
  a: float32[2,2,3]
  b: float32[5,3,4]
  Hint: sizes must be equal or 1, counted from the last of them."""),
    (TypeError, lambda: jnp.tensordot(A, B, 3), """\
tanx.numpy.tensordot: there are fewer dimensions than axes says.
  a: float32[2,3]
  b: float32[3,4]
  axes: 3"""),
    (TypeError, lambda: jnp.tensordot(A, B, ((0, 1), (0,))), """\
tanx.numpy.tensordot: both sides must sum over the same number of dimensions.
  a: float32[2,3]
  b: float32[3,4]
  axes: ((0, 1), (0,))"""),
    (TypeError, lambda: jnp.tensordot(A, B, "ij"), """\
tanx.numpy.tensordot: axes must be a number or a pair.
  a: float32[2,3]
  b: float32[3,4]
  axes: 'ij'"""),
    (ValueError, lambda: jnp.vecdot(V, W), """\
tanx.numpy.vecdot: vectors must have the same size.
  x1:   float32[3]
  x2:   float32[5]
  axis: -1"""),
    (ValueError, lambda: jnp.matvec(V, V), """\
tanx.numpy.matvec: x1 must have at least two dimensions.
  x1: float32[3]"""),
    (ValueError, lambda: jnp.vecmat(W, A), """\
tanx.numpy.vecmat: the vector and the matrix do not fit together.
  x1: float32[5]
  x2: float32[2,3]"""),
    (ValueError, lambda: jnp.cross(W, W), """\
tanx.numpy.cross: vectors must have two or three components.
  a: float32[5]
  b: float32[5]"""),
    (ValueError, lambda: jnp.convolve(A, V), """\
tanx.numpy.convolve: needs two vectors that are not empty.
  a: float32[2,3]
  v: float32[3]"""),
    (ValueError, lambda: jnp.correlate(V, V, "some"), """\
tanx.numpy.correlate: mode must be 'full', 'same' or 'valid'.
  mode: 'some'"""),
    (NotImplementedError, lambda: jnp.outer(V, V, out=V), """\
tanx.numpy.outer: arrays are immutable, so out is not supported.
  Hint: use the result."""),
]


@pytest.mark.parametrize("error, call, text", MISTAKES)
def test_mistakes(error, call, text):
    message(error, call, text)
