"""Joining, splitting, repeating and rolling of arrays."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tests.numpy.agreement import adjoint, agree, batched, fact, message

VECTOR = np.arange(5.0)
MATRIX = np.arange(6.0).reshape(2, 3)
CUBE = np.arange(24.0).reshape(2, 3, 4)

# -- joining ---------------------------------------------------------------------------------------

JOINS = [
    ("concatenate", [VECTOR, VECTOR], {}), ("concatenate", [MATRIX, MATRIX[:1]], {}),
    ("concatenate", [MATRIX, MATRIX[:, :1], MATRIX], {"axis": -1}),
    ("concatenate", [MATRIX, VECTOR], {"axis": None}), ("concatenate", [MATRIX], {}),
    ("concatenate", MATRIX, {}), ("concatenate", CUBE, {"axis": 1}),
    ("concat", [VECTOR, VECTOR], {}), ("concat", [MATRIX, MATRIX], {"axis": 1}),
    ("stack", [MATRIX, MATRIX], {}), ("stack", [MATRIX, MATRIX], {"axis": 1}),
    ("stack", [MATRIX, MATRIX], {"axis": -1}), ("stack", MATRIX, {}), ("stack", CUBE, {"axis": 1}),
    ("stack", [1.0, 2.0], {}), ("hstack", [VECTOR, VECTOR[:2]], {}),
    ("hstack", [MATRIX, MATRIX], {}),
    ("hstack", [1.0, 2.0], {}), ("hstack", MATRIX, {}), ("hstack", CUBE, {}),
    ("hstack", VECTOR, {}),
    ("vstack", [VECTOR, VECTOR], {}), ("vstack", [MATRIX, MATRIX[0]], {}), ("vstack", MATRIX, {}),
    ("vstack", CUBE, {}), ("dstack", [VECTOR, VECTOR], {}), ("dstack", [MATRIX, MATRIX], {}),
    ("dstack", CUBE, {}), ("column_stack", [VECTOR, VECTOR], {}), ("column_stack", MATRIX, {}),
    ("column_stack", [MATRIX, MATRIX[:, 0]], {}), ("column_stack", CUBE, {}),
    ("block", [[MATRIX, MATRIX], [MATRIX, MATRIX]], {}), ("block", [VECTOR, 1.0], {}),
    ("block", [[np.ones(2), np.zeros(3)], [np.arange(5.0)]], {}), ("block", 3.0, {}),
]


@pytest.mark.parametrize("name, arrays, options", JOINS, ids=lambda v: str(v)[:30])
def test_joining(name, arrays, options):
    leaves, tree = tanx.tree.flatten(arrays)
    function = lambda *leaves: getattr(jnp, name)(tanx.tree.unflatten(tree, leaves), **options)
    agree(function(*map(jnp.asarray, leaves)), getattr(np, name)(arrays, **options))
    batched(function, *(np.asarray(x, np.float32) for x in leaves))
    adjoint(function, *leaves)


def test_promotion_when_joining():
    i8, f32, weak = jnp.ones(1, "int8"), jnp.ones(1), jnp.reshape(jnp.array(1.5), 1)
    assert [fact(jnp.concatenate(xs)) for xs in (
        [i8, f32], [i8, jnp.ones(1, "uint8")], [weak, i8], [weak, weak], [np.ones(1), i8],
        [f32, jnp.ones(1, "complex64")])] == [
        "float32[2]", "int16[2]", "~float32[2]", "~float32[2]", "float32[2]", "complex64[2]"]
    assert fact(jnp.stack([1, 2.5])) == "~float32[2]" and fact(jnp.hstack([1, 2])) == "~int32[2]"
    assert fact(jnp.concatenate([f32, f32], dtype="int8")) == "int8[2]"
    assert fact(jnp.concatenate(jnp.ones((2, 2)), dtype="int8")) == "int8[4]"
    assert fact(jnp.vstack([i8, i8], dtype=float)) == "float32[2,1]"


def test_append():
    agree(jnp.append(MATRIX, VECTOR), np.append(MATRIX, VECTOR))
    agree(jnp.append(MATRIX, MATRIX, axis=1), np.append(MATRIX, MATRIX, axis=1))
    agree(jnp.append(jnp.arange(2), 1), [0, 1, 1])
    adjoint(jnp.append, VECTOR, MATRIX)


def test_bad_joins():
    message(ValueError, lambda: jnp.concatenate([]),
            "tanx.numpy.concatenate: there must be at least one array.")
    message(ValueError, lambda: jnp.concatenate([1, 2]), """\
tanx.numpy.concatenate: zero-dimensional arrays cannot be joined.
  array 0: ~int32[]
  array 1: ~int32[]
  Hint: tanx.numpy.stack makes a dimension.""")
    message(TypeError, lambda: jnp.concatenate([jnp.ones((2, 3)), jnp.ones(3)]), """\
tanx.numpy.concatenate: shapes must agree in all dimensions but the one joined.
  array 0: float32[2,3]
  array 1: float32[3]
  axis:    0
  Hint: x[None] adds a dimension; tanx.numpy.stack joins along a new one.""")
    message(TypeError, lambda: jnp.concatenate([jnp.ones((2, 3)), jnp.ones((2, 4))]), """\
tanx.numpy.concatenate: shapes must agree in all dimensions but the one joined.
  array 0: float32[2,3]
  array 1: float32[2,4]
  axis:    0
  Hint: pad or slice them to one size.""")
    message(TypeError, lambda: jnp.concatenate([jnp.ones(2), [1, 2]]), """\
tanx.numpy.concatenate: needs arrays or numbers, but argument 1 is a list.
  argument 1: [1, 2]
  Hint: wrap it in tanx.numpy.array(...); lists are not converted implicitly.""")
    message(ValueError, lambda: jnp.stack([jnp.ones(2), jnp.ones(3)]), """\
tanx.numpy.stack: arrays must have the same shape.
  array 0: float32[2]
  array 1: float32[3]
  Hint: tanx.numpy.concatenate joins along an existing axis.""")
    message(NotImplementedError, lambda: jnp.stack([jnp.ones(2)], out=np.ones(2)), """\
tanx.numpy.stack: arrays are immutable, so out is not supported.
  Hint: use the result.""")
    message(ValueError, lambda: jnp.block([[1], 2]), """\
tanx.numpy.block: lists must not be empty, and all equally deep.
  depths: [1, 0]""")
    message(ValueError, lambda: jnp.block((1, 2)), """\
tanx.numpy.block: takes nested lists, not tuples.
  given: a tuple of 2""")
    with pytest.raises(ValueError):
        jnp.concatenate([jnp.ones(2)], axis=1)
    with pytest.raises(ValueError):
        jnp.hstack([])


# -- splitting -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name, x, args", [
    ("split", VECTOR, (5,)), ("split", VECTOR, ([1, 3],)), ("split", VECTOR, ([1, 7],)),
    ("split", VECTOR, ([-1],)), ("split", VECTOR, (np.array([1, 2]),)), ("split", CUBE, (2, -1)),
    ("split", CUBE, ([], 1)), ("array_split", VECTOR, (3,)), ("array_split", VECTOR, (7,)),
    ("array_split", CUBE, (2, 1)), ("array_split", VECTOR, ((1, 1),)), ("hsplit", VECTOR, (5,)),
    ("hsplit", MATRIX, (3,)), ("vsplit", MATRIX, ([1],)), ("dsplit", CUBE, (2,)),
    ("unstack", CUBE, ())], ids=lambda v: str(getattr(v, "shape", v)))
def test_splitting(name, x, args):
    function = lambda x: getattr(jnp, name)(x, *args)
    agree(function(x), getattr(np, name, lambda x: tuple(x))(x, *args))
    batched(function, x.astype(np.float32))
    adjoint(lambda x: jnp.concatenate([2 * p.ravel() for p in function(x)]), x)


def test_unstack_along_an_axis():
    agree(jnp.unstack(CUBE, axis=-1), [CUBE[..., i] for i in range(4)])


def test_bad_splits():
    message(ValueError, lambda: jnp.split(jnp.arange(5), 2), """\
tanx.numpy.split: the dimension does not divide into equal sections.
  array:    int32[5]
  axis:     0
  sections: 2
  Hint: tanx.numpy.array_split allows sections that differ by one.""")
    message(ValueError, lambda: jnp.split(jnp.arange(5), [3, 1]), """\
tanx.numpy.split: indices must not decrease.
  indices: (3, 1)""")
    for call in (lambda: jnp.split(jnp.arange(5), 0), lambda: jnp.vsplit(jnp.float32(1), 1),
                 lambda: jnp.dsplit(MATRIX, 1), lambda: jnp.unstack(jnp.float32(1))):
        with pytest.raises(ValueError):
            call()


# -- repeating -------------------------------------------------------------------------------------

COUNTS = np.array([1, 0, 2, 0, 1])


@pytest.mark.parametrize("name, x, args, options", [
    ("tile", VECTOR, (2,), {}), ("tile", VECTOR, ((2, 3),), {}), ("tile", MATRIX, (2,), {}),
    ("tile", MATRIX, ((),), {}), ("tile", np.float32(1), (3,), {}), ("tile", VECTOR, (0,), {}),
    ("repeat", VECTOR, (2,), {}), ("repeat", VECTOR, (0,), {}), ("repeat", VECTOR, (COUNTS,), {}),
    ("repeat", MATRIX, (2,), {}), ("repeat", MATRIX, (2,), {"axis": 1}),
    ("repeat", MATRIX, (np.array([1, 2]),), {"axis": 0}),
    ("repeat", MATRIX, (COUNTS[:3],), {"axis": -1}),
    ("repeat", MATRIX, (np.array([3]),), {"axis": 0}), ("repeat", np.float32(2), (3,), {}),
    ("repeat", np.zeros(0), (2,), {}), ("resize", VECTOR, ((2, 4),), {}),
    ("resize", VECTOR, (3,), {}),
    ("resize", MATRIX, ((),), {}), ("resize", VECTOR, (0,), {}), ("resize", np.zeros(0), (2,), {}),
    ("roll", VECTOR, (2,), {}), ("roll", VECTOR, (-7,), {}), ("roll", MATRIX, (1,), {}),
    ("roll", MATRIX, (1,), {"axis": 1}), ("roll", MATRIX, ((1, 2),), {"axis": (0, 1)}),
    ("roll", MATRIX, (1,), {"axis": (0, 1)}), ("roll", MATRIX, ((1, 1),), {"axis": 0}),
    ("roll", MATRIX, (np.array([1, 2]),), {"axis": (-1, 0)}), ("roll", np.zeros((0, 3)),
    (1,), {"axis": 0}),
    ("roll", np.float32(1), (1,), {}), ("flip", CUBE, (), {}), ("flip", CUBE, ((0, -1),), {}),
    ("flip", MATRIX, (), {"axis": 1}), ("flip", np.float32(1), (), {}), ("fliplr", MATRIX, (), {}),
    ("flipud", MATRIX, (), {}), *[("rot90", CUBE, (k,), {"axes": (0, 2)}) for k in range(-1, 5)],
    ("rot90", MATRIX, (), {}), ("rot90", MATRIX, (3,), {"axes": (1, 0)})],
    ids=lambda v: str(getattr(v, "shape", v)))
def test_repeating_and_turning(name, x, args, options):
    function = lambda x: getattr(jnp, name)(x, *args, **options)
    agree(function(x), getattr(np, name)(x, *args, **options))
    assert fact(function(jnp.asarray(x, "int8"))).startswith("int8")
    batched(function, np.asarray(x, np.float32))
    if np.size(x):
        adjoint(function, x)


@pytest.mark.parametrize("total", [3, 4, 6])
def test_repeat_to_a_length(total):
    want = np.concatenate([np.repeat(VECTOR, COUNTS), [4.0] * total])[:total]
    function = lambda x, n: jnp.repeat(x, n, total_repeat_length=total)
    agree(function(VECTOR, COUNTS), want)
    agree(tanx.jit(function)(VECTOR, COUNTS), want)
    agree(tanx.vmap(function, (None, 0))(VECTOR, np.stack([COUNTS, COUNTS])), [want, want])
    adjoint(lambda x: function(x, COUNTS), VECTOR)
    agree(jnp.repeat(MATRIX, 2, 1, total_repeat_length=total), np.repeat(
        MATRIX, 2, 1)[:, :total])


def test_repeats_must_be_known():
    with pytest.raises(tanx.errors.ConcretizationTypeError, match="total_repeat_length"):
        tanx.jit(jnp.repeat)(VECTOR, COUNTS)
    agree(tanx.jit(lambda x: jnp.repeat(x, jnp.array(COUNTS) + 1))(VECTOR),
          np.repeat(VECTOR, COUNTS + 1))
    message(ValueError, lambda: jnp.repeat(jnp.arange(5), np.array([1, 2])), """\
tanx.numpy.repeat: repeats must be one number or one for each element.
  array:   int32[5]
  axis:    0
  repeats: int32[2]""")
    for repeats, error in ((2.0, TypeError), (-1, TypeError), ([1] * 5, TypeError)):
        with pytest.raises(error):
            jnp.repeat(VECTOR, repeats)


def test_roll_by_traced_amounts():
    for shift, axis in ((1, 1), (-4, 0), (np.array([1, 2]), (0, 1)), (7, (0, 1))):
        want = np.roll(MATRIX, shift, axis)
        function = lambda x, s, axis=axis: jnp.roll(x, s, axis)
        agree(tanx.jit(function)(MATRIX, shift), want)
        agree(function(MATRIX, jnp.asarray(shift)), want)
    agree(tanx.jit(jnp.roll)(MATRIX, 4), np.roll(MATRIX, 4))
    agree(tanx.vmap(jnp.roll, (None, 0))(VECTOR, jnp.arange(3)),
          [np.roll(VECTOR, k) for k in range(3)])
    adjoint(lambda x: jnp.roll(x, jnp.array(2), 0), VECTOR)


def test_bad_repeats():
    message(TypeError, lambda: jnp.tile(jnp.arange(2), -1), """\
tanx.numpy.tile: sizes must not be negative.
  shape: (-1,)""")
    message(ValueError, lambda: jnp.resize(jnp.arange(2), (2, -1)), """\
tanx.numpy.resize: sizes must not be negative.
  new_shape: (2, -1)""")
    message(ValueError, lambda: jnp.roll(jnp.ones((2, 3)), (1, 2, 3), (0, 1)), """\
tanx.numpy.roll: shift and axis must have one length, or one of them a single item.
  shift: (1, 2, 3)
  axis:  (0, 1)""")
    message(ValueError, lambda: jnp.rot90(jnp.arange(3)), """\
tanx.numpy.rot90: needs two axes of at least two dimensions.
  array: int32[3]
  axes:  (0, 1)""")
    message(ValueError, lambda: jnp.fliplr(jnp.arange(3)), """\
tanx.numpy.fliplr: axis 1 is out of bounds for 1 dimensions.
  operand: int32[3]
  Hint: axes go from -1 to 0.""")


def test_jaxprs():
    x = jnp.asarray(MATRIX)
    assert str(tanx.make_jaxpr(lambda x: jnp.stack([x, x], 1))(x)) == """\
{ lambda ; a:f32[2,3]. let b:f32[2,2,3] = stack[axis=1] a a in (b,) }"""
    assert str(tanx.make_jaxpr(lambda x: jnp.roll(x, 1, 0))(jnp.arange(3))) == """\
{ lambda ; a:i32[3]. let
    b:i32[3] = jit[
      name=_roll_static
      jaxpr={ lambda ; a:i32[3]. let
          c:i32[1] = slice[limit_indices=(3,) start_indices=(2,) strides=(1,)] a
          d:i32[2] = slice[limit_indices=(2,) start_indices=(0,) strides=(1,)] a
          b:i32[3] = concatenate[dimension=0] c d
        in (b,) }
    ] a
  in (b,) }"""
