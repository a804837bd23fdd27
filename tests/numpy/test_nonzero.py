"""Positions of elements that are not zero."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tests.numpy.agreement import agree, fact, message

ARRAYS = [np.array([0, 3, 0, 4, 5]), np.array([[1, 0], [0, 5], [0, 0]]), np.zeros(3), np.zeros(0),
          np.zeros((2, 0, 3)), np.array([True, False]), np.array([0.0, np.nan, -0.0, -1.0]),
          np.array([0, 1j, 0], np.complex64), np.arange(24).reshape(2, 3, 4) % 5,
          np.array([1, 0, 7], np.uint8)]
every_array = pytest.mark.parametrize("x", ARRAYS, ids=lambda x: f"{x.dtype}{list(x.shape)}")


@every_array
def test_nonzero(x):
    got = jnp.nonzero(x)
    agree(got, np.nonzero(x))
    assert all(fact(i) == f"int32[{len(np.nonzero(x)[0])}]" for i in got)
    agree(jnp.asarray(x).nonzero(), np.nonzero(x))
    agree(jnp.where(x), np.nonzero(x))
    agree(jnp.flatnonzero(x), np.flatnonzero(x))
    agree(jnp.argwhere(x), np.argwhere(x))


def padded(i: np.ndarray, size: int, fill) -> np.ndarray:
    return np.concatenate([i, np.full(max(size - len(i), 0), fill)])[:size]


@every_array
@pytest.mark.parametrize("size", [0, 1, 3, 20])
@pytest.mark.parametrize("fill", [None, -1])
def test_fixed_sizes(x, size, fill):
    want = tuple(padded(i, size, fill or 0) for i in np.nonzero(x))
    function = lambda x: jnp.nonzero(x, size=size, fill_value=fill)
    agree(function(x), want)
    agree(tanx.jit(function)(x), want)
    agree(tanx.vmap(function)(np.stack([x, x])), tuple(np.stack([i, i]) for i in want))
    agree(tanx.jit(lambda x: jnp.argwhere(x, size=size, fill_value=fill))(x), np.stack(want, 1))
    (flat,) = np.nonzero(x.ravel())
    agree(tanx.jit(lambda x: jnp.flatnonzero(x, size=size, fill_value=fill))(x),
          padded(flat, size, fill or 0))
    agree(tanx.jit(lambda x: jnp.where(x, size=size, fill_value=fill))(x), want)


def test_lanes_find_different_numbers():
    rows = np.array([[True, False], [False, True], [False, False], [True, True]])
    function = lambda row: jnp.nonzero(row, size=2, fill_value=-1)[0]
    agree(tanx.vmap(function)(rows), [[0, -1], [1, -1], [-1, -1], [0, 1]])


def test_fill_values():
    x = np.array([[0, 1], [0, 0]])
    for function in (jnp.nonzero, tanx.jit(jnp.nonzero, static_argnames=("size", "fill_value"))):
        agree(function(x, size=2, fill_value=(7, 8)), ([0, 7], [1, 8]))
        assert fact(function(x, size=2, fill_value=1.5)[0]) == "float32[2]"
    agree(tanx.jit(lambda x, f: jnp.flatnonzero(x, size=2, fill_value=f))(x, 9), [1, 9])


def test_scalars_have_no_position():
    agree(jnp.argwhere(3.0), np.argwhere(3.0))
    agree(jnp.argwhere(0.0), np.argwhere(0.0))
    agree(jnp.flatnonzero(3.0), [0])
    assert jnp.argwhere(3.0, size=2).shape == (2, 0)
    message(ValueError, lambda: jnp.nonzero(3), """\
tanx.numpy.nonzero: the array must have at least one dimension.
  array: ~int32[]
  Hint: use tanx.numpy.atleast_1d(a).nonzero().""")


def test_constant_arrays_have_known_nonzeros_under_jit():
    agree(tanx.jit(lambda: jnp.nonzero(jnp.arange(4) > 1)[0])(), [2, 3])


def test_wide_positions():
    with tanx.enable_x64(True):
        assert fact(jnp.nonzero(np.ones(2))[0]) == "int64[2]"
        assert fact(tanx.jit(lambda x: jnp.nonzero(x, size=1)[0])(np.ones(2))) == "int64[1]"


def test_messages():
    x = np.ones((2, 2))
    message(ValueError, lambda: jnp.nonzero(x, size=-1), """\
tanx.numpy.nonzero: size must not be negative.
  size: -1""")
    message(ValueError, lambda: jnp.nonzero(x, size=2, fill_value=(1, 2, 3)), """\
tanx.numpy.nonzero: fill_value must hold a number for each dimension.
  fill_value: (1, 2, 3)
  dimensions: 2""")
    message(ValueError, lambda: jnp.nonzero(x, size=2, fill_value=np.array([1, 2])), """\
tanx.numpy.nonzero: fill_value must be a number, or a tuple of them.
  fill_value: array([1, 2])""")
    with pytest.raises(tanx.errors.ConcretizationTypeError, match="give size="):
        tanx.jit(jnp.nonzero)(x)
    with pytest.raises(TypeError):
        jnp.nonzero([1, 0])
