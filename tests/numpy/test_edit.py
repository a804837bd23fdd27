"""Insert, delete and trim slices; apply functions along dimensions."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tests.numpy.agreement import adjoint, agree, batched, fact, message

VECTOR = np.arange(5.0)
MATRIX = np.arange(6.0).reshape(2, 3)
CUBE = np.arange(24.0).reshape(2, 3, 4)

INSERTIONS = [
    (VECTOR, 1, 9.0, None), (VECTOR, 1, np.array([7.0, 8]), None), (VECTOR, -1, 9.0, None),
    (VECTOR, np.array([1, 3]), np.array([7.0, 8]), None), (VECTOR, np.array([3, 1]), 9.0, None),
    (VECTOR, np.array([1, 1]), np.array([7.0, 8]), None), (VECTOR, slice(1, 3), 9.0, None),
    (VECTOR, np.array([-1, 0]), 9.0, 0), (VECTOR, np.array([], int), 9.0, None),
    (VECTOR, np.array([2]), np.array([7.0, 8]), None), (MATRIX, 1, 9.0, None),
    (MATRIX, 1, 9.0, 0), (MATRIX, 1, np.array([7.0, 8, 9]), 0), (MATRIX, 1, np.array([7.0, 8]), 1),
    (MATRIX, np.array([0, 2]), np.array([[7.0], [8]]), 1), (MATRIX, np.array([0, 2]), 5.0, -1),
    (MATRIX, np.array([1]), np.array([7.0, 8, 9]), 0), (np.zeros(0), 0, 1.0, None)]


@pytest.mark.parametrize("x, obj, values, axis", INSERTIONS, ids=lambda v: str(v).replace("\n", ""))
def test_insert(x, obj, values, axis):
    want = np.insert(x, obj, values, axis)
    function = lambda x, values: jnp.insert(x, obj, values, axis)
    agree(function(x, values), want)
    adjoint(function, x, values)
    if not isinstance(obj, slice):
        agree(tanx.jit(lambda x, obj, v: jnp.insert(x, obj, v, axis))(x, obj, values), want)


def test_insert_beyond_the_ends_and_types():
    agree(jnp.insert(VECTOR, 7, 9.0), [*VECTOR, 9])
    agree(jnp.insert(VECTOR, jnp.array([-9, 7]), 9.0), [9, *VECTOR, 9])
    assert fact(jnp.insert(jnp.arange(2), 0, 2.5)) == "int32[3]"
    batched(lambda x: jnp.insert(x, jnp.array([1, 3]), 2.5), VECTOR.astype(np.float32))


DELETIONS = [
    (VECTOR, 1, None), (VECTOR, -1, None), (VECTOR, np.array([1, 3]), None),
    (VECTOR, np.array([1, 1, -1]), None), (VECTOR, slice(1, 4), None),
    (VECTOR, slice(None, None, 2), 0),
    (VECTOR, np.array([True, False, True, False, False]), None), (VECTOR, np.array([], int), None),
    (MATRIX, 1, None), (MATRIX, 1, 1), (MATRIX, np.array([0, 2]), 1), (CUBE, np.array([0, -1]), -1)]


@pytest.mark.parametrize("x, obj, axis", DELETIONS, ids=lambda v: str(v).replace("\n", ""))
def test_delete(x, obj, axis):
    function = lambda x: jnp.delete(x, obj, axis)
    agree(function(x), np.delete(x, obj, axis))
    batched(function, x.astype(np.float32))
    adjoint(function, x)


def test_delete_at_traced_indices():
    agree(tanx.jit(jnp.delete)(VECTOR, 2), np.delete(VECTOR, 2))
    agree(tanx.vmap(jnp.delete, (None, 0))(VECTOR, jnp.arange(5)),
          [np.delete(VECTOR, i) for i in range(5)])
    unique = lambda x, obj: jnp.delete(x, obj, 1, assume_unique_indices=True)
    agree(tanx.jit(unique)(MATRIX, np.array([2, 0])), MATRIX[:, 1:2])
    agree(tanx.jit(unique)(MATRIX, np.array([-1])), MATRIX[:, :2])
    with pytest.raises(tanx.errors.ConcretizationTypeError, match="assume_unique_indices"):
        tanx.jit(jnp.delete)(VECTOR, np.array([0, 1]))


def test_trim_zeros():
    x = np.array([0, 0, 1, 2, 0, 3, 0])
    for trim in ("fb", "f", "b", "FB"):
        agree(jnp.trim_zeros(x, trim), np.trim_zeros(x, trim))
    agree(jnp.trim_zeros(jnp.zeros(3)), [])
    block = np.zeros((3, 4))
    block[1, 2] = 1
    agree(jnp.trim_zeros(block), [[1]])
    agree(jnp.trim_zeros(block, axis=0), block[1:2])
    agree(jnp.trim_zeros(block, "f", axis=(0, 1)), block[1:, 2:])


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_apply_along_an_axis(axis):
    for jax_function, reference in (
            (jnp.sum, np.sum), (lambda v: v[:2], lambda v: v[:2]), (jnp.flip, np.flip),
            (lambda v: jnp.stack([v, v]), lambda v: np.stack([v, v]))):
        function = lambda x, f=jax_function: jnp.apply_along_axis(f, axis, x)
        agree(function(CUBE), np.apply_along_axis(reference, axis, CUBE))
        adjoint(function, CUBE)
    agree(jnp.apply_along_axis(lambda v, a, *, b: v * a + b, axis, CUBE, 2, b=3), CUBE * 2 + 3)


def test_apply_over_axes():
    for axes in ((0, 2), (0, -1), [1], 1):
        agree(jnp.apply_over_axes(jnp.sum, CUBE, axes), np.apply_over_axes(np.sum, CUBE, axes))
    agree(jnp.apply_over_axes(lambda x, axis: jnp.flip(x, axis), CUBE, (0, 1)), CUBE[::-1, ::-1])


def test_mistakes():
    x = jnp.asarray(VECTOR)
    message(ValueError, lambda: jnp.insert(x, x > 2, 1), """\
tanx.numpy.insert: obj must be an integer, a slice, or a vector of integers.
  obj: bool[5]""")
    message(ValueError, lambda: jnp.delete(x, 1.5), """\
tanx.numpy.delete: obj must hold integers, or be a mask as long as the axis.
  array: float32[5]
  axis:  0
  obj:   ~float32[]""")
    message(ValueError, lambda: jnp.delete(x, jnp.array([True])), """\
tanx.numpy.delete: obj must hold integers, or be a mask as long as the axis.
  array: float32[5]
  axis:  0
  obj:   bool[1]""")
    message(IndexError, lambda: jnp.delete(x, jnp.array([1, 7])), """\
tanx.numpy.delete: an index is out of bounds.
  array: float32[5]
  axis:  0
  obj:   [1, 7]""")
    message(ValueError, lambda: jnp.delete(x, 7), """\
tanx.numpy.delete: an index is out of bounds.
  array: float32[5]
  axis:  0
  obj:   7""")
    total = lambda x, axis: x.sum()
    message(ValueError, lambda: jnp.apply_over_axes(total, jnp.ones((2, 3, 4)), 1), """\
tanx.numpy.apply_over_axes: the function must keep the dimensions of its operand, or remove the \
given one.
  operand: float32[2,3,4]
  axis:    1
  result:  float32[]""")
    for call in (lambda: jnp.insert(x, [1], 2), lambda: jnp.delete(x, [1]),
                 lambda: jnp.trim_zeros([0, 1]), lambda: tanx.jit(jnp.trim_zeros)(x)):
        with pytest.raises(TypeError):
            call()
