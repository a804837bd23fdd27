"""Padding, by all modes."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tests.numpy.agreement import adjoint, agree, batched, fact, message

VECTOR = np.array([3.0, 1, 4, 1.5, 9])
MATRIX = np.array([[3.0, 1, 4], [1, 5, 9]])

WIDTHS = [(VECTOR, 2), (VECTOR, (3, 1)), (VECTOR, (7, 12)), (VECTOR, 0), (VECTOR, (0, 2)),
          (MATRIX, 1), (MATRIX, (2, 1)), (MATRIX, ((1, 2), (3, 4))), (MATRIX, ((0, 0), (5, 0))),
          (np.array([2.0]), 3)]
MODES = [
    ("constant", {}), ("constant", {"constant_values": 7}),
    ("constant", {"constant_values": (7, 8)}),
    ("edge", {}), ("reflect", {}), ("reflect", {"reflect_type": "odd"}), ("symmetric", {}),
    ("symmetric", {"reflect_type": "odd"}), ("wrap", {}), ("linear_ramp", {}),
    ("linear_ramp", {"end_values": (5, -5)}), ("maximum", {}), ("maximum", {"stat_length": 2}),
    ("minimum", {"stat_length": (2, 1)}), ("mean", {}), ("mean", {"stat_length": 2}),
    ("median", {}),
    ("median", {"stat_length": (3, 2)})]


@pytest.mark.parametrize("mode, options", MODES, ids=str)
@pytest.mark.parametrize("x, width", WIDTHS, ids=lambda v: str(getattr(v, "shape", v)))
def test_modes(x, width, mode, options):
    function = lambda x: jnp.pad(x, width, mode, **options)
    agree(function(x), np.pad(x, width, mode, **options), 1e-5)
    agree(tanx.jit(function)(x), np.pad(x, width, mode, **options), 1e-5)


@pytest.mark.parametrize("mode, options", MODES, ids=str)
def test_transformations(mode, options):
    function = lambda x: jnp.pad(x, ((2, 1), (1, 4)), mode, **options)
    batched(function, MATRIX.astype(np.float32))
    adjoint(function, MATRIX)


def test_integers():
    x = np.array([[0, 1, 2], [3, 4, 6]])
    for mode in ("mean", "median", "maximum", "reflect", "wrap"):
        agree(jnp.pad(x, 1, mode), np.pad(x, 1, mode))
    agree(jnp.pad(x, 2, "linear_ramp", end_values=7), np.pad(x, 2, "linear_ramp", end_values=7))
    assert [fact(jnp.pad(jnp.ones(3, d), 1, m)) for d, m in (
        ("int8", "mean"), ("bool", "maximum"), ("bfloat16", "linear_ramp"),
        ("complex64", "edge"))] == [
        "int8[5]", "bool[5]", "bfloat16[5]", "complex64[5]"]
    agree(jnp.pad(jnp.arange(2), 1, constant_values=2.5), [2, 0, 1, 2])


def test_values_may_be_traced():
    pad = lambda a, b: jnp.pad(VECTOR, 1, constant_values=(a, b))
    agree(tanx.jit(pad)(7.0, 8.0), np.pad(VECTOR, 1, constant_values=(7, 8)))
    agree(tanx.grad(lambda a: jnp.pad(MATRIX, 1, constant_values=a).sum())(1.0), 14)
    agree(tanx.grad(lambda a: jnp.pad(VECTOR, (2, 0), "linear_ramp", end_values=a).sum())(1.0), 1.5)


def test_nan_in_a_median():
    assert np.isnan(jnp.pad(jnp.array([1.0, np.nan, 2.0]), 1, "median")[0])


def test_weak_types_and_scalars():
    weak = jnp.reshape(jnp.array(2.5), 1)
    assert fact(jnp.pad(weak, 1)) == "~float32[3]" and fact(jnp.pad(3.0, 0)) == "~float32[]"


def test_nothing_to_pad_with():
    agree(jnp.pad(np.zeros(0), 2), np.zeros(4))
    assert jnp.pad(np.zeros((0, 3)), ((0, 0), (1, 1)), "edge").shape == (0, 5)
    assert jnp.pad(VECTOR, 2, "empty").shape == (9,)
    message(ValueError, lambda: jnp.pad(jnp.zeros(0), 1, "wrap"), """\
tanx.numpy.pad: mode 'wrap' needs elements along the dimension to pad.
  array: float32[0]
  axis:  0
  Hint: mode='constant' needs none.""")


def test_functions_as_modes():
    def front(vector, width, axis, kwargs):
        return vector.at[:width[0]].set(kwargs.get("value", axis + 5))

    agree(jnp.pad(VECTOR, 2, front, value=7), [7, 7, *VECTOR, 0, 0])
    agree(jnp.pad(MATRIX, ((1, 1), (0, 2)), front)[0], [5.0] * 5)
    message(TypeError, lambda: jnp.pad(VECTOR, 1, lambda *_: None), """\
tanx.numpy.pad: the function must return the vector it is given, padded.
  returned: None
  Hint: arrays are immutable: use x.at[...].set(...).""")


def test_mistakes():
    x = jnp.asarray(MATRIX)
    message(ValueError, lambda: jnp.pad(x, -1), """\
tanx.numpy.pad: pad_width must not be negative.
  pad_width: -1""")
    message(TypeError, lambda: jnp.pad(x, 1.5), """\
tanx.numpy.pad: pad_width must hold integers, pairs of one shape.
  pad_width: 1.5""")
    message(TypeError, lambda: jnp.pad(x, ((1, 2), 3)), """\
tanx.numpy.pad: pad_width must hold integers, pairs of one shape.
  pad_width: ((1, 2), 3)""")
    message(ValueError, lambda: jnp.pad(x, ((1, 2),) * 3), """\
tanx.numpy.pad: pad_width must be a number, a pair, or a pair for each dimension.
  pad_width: ((1, 2), (1, 2), (1, 2))
  dimensions: 2""")
    message(NotImplementedError, lambda: jnp.pad(x, 1, "mirror"), """\
tanx.numpy.pad: there is no such mode.
  mode:  'mirror'
  modes: constant, edge, empty, linear_ramp, maximum, mean, median, minimum, reflect, symmetric, \
wrap""")
    message(ValueError, lambda: jnp.pad(x, 1, "edge", constant_values=1), """\
tanx.numpy.pad: mode 'edge' does not take these options.
  given:   constant_values
  options: none""")
    message(ValueError, lambda: jnp.pad(x, 1, "reflect", reflect_type="x"), """\
tanx.numpy.pad: reflect_type must be 'even' or 'odd'.
  reflect_type: 'x'""")
    message(ValueError, lambda: jnp.pad(x, 1, "mean", stat_length=0), """\
tanx.numpy.pad: stat_length must be positive.
  stat_length: (0, 0)""")
    with pytest.raises(TypeError):
        jnp.pad([1, 2], 1)
