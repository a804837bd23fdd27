"""Windows: values against plain loops, second derivatives, and messages."""

import itertools

import ml_dtypes
import numpy as np
import pytest

import tanx
from tanx import lax
from tanx import numpy as jnp

F32 = np.float32


def plain(x, init, combine, dimensions, strides, padding, bases, steps):
    """The definition, by loops over windows and their elements."""
    spread = {tuple(i * b + low for i, b, (low, _) in zip(at, bases, padding)): x[at]
              for at in np.ndindex(x.shape)}
    sizes = [max(0, ((n - 1) * b + 1 + low + high - (w - 1) * d - 1) // s + 1)
             for n, w, s, (low, high), b, d in zip(x.shape, dimensions, strides, padding, bases,
                                                   steps)]
    out = np.empty(sizes, x.dtype)
    for at in np.ndindex(out.shape):
        value = init
        for k in np.ndindex(tuple(dimensions)):
            place = tuple(i * s + j * d for i, s, j, d in zip(at, strides, k, steps))
            if place in spread:
                value = combine(value, spread[place])
        out[at] = value
    return out


@pytest.mark.parametrize("dimensions, strides, padding, bases, steps", [
    ((2, 3), (1, 2), ((0, 0), (1, 1)), (1, 1), (1, 1)),
    ((3, 2), (2, 1), ((1, 2), (0, 3)), (2, 3), (1, 2)),
    ((2, 2), (2, 2), ((-1, 0), (1, -2)), (1, 1), (1, 1)),
    ((1, 11), (1, 1), ((0, 0), (4, 9)), (1, 2), (1, 1)),
    ((1, 10), (1, 3), ((0, 0), (4, 9)), (1, 2), (1, 1))])
def test_windows_match_a_plain_loop(dimensions, strides, padding, bases, steps):
    x = np.random.default_rng(0).integers(-9, 9, (5, 9)).astype(F32)
    window = dimensions, strides, padding, bases, steps

    def agree(init, ufunc, *functions):
        expected = plain(x, init, ufunc, *window)
        for combine, run in itertools.product(functions, (tanx.jit, lambda f: f)):
            out = run(lambda x, combine=combine: lax.reduce_window(x, init, combine, *window))(x)
            np.testing.assert_array_equal(out, expected)

    agree(F32(0), np.add, lax.add, lambda a, b: a + b)
    agree(F32(-np.inf), np.maximum, lax.max, lambda a, b: jnp.maximum(a, b))
    agree(F32(np.inf), np.minimum, lax.min, lambda a, b: jnp.minimum(a, b))


@pytest.mark.parametrize("size, stride, step", [
    (1, 1, 1), (8, 1, 1), (9, 1, 1), (64, 1, 1), (77, 1, 1), (130, 1, 2), (33, 4, 1), (40, 7, 1),
    (20, 9, 1), (20, 2, 3), (16, 16, 1)])
def test_big_windows_are_made_of_smaller_ones(size, stride, step):
    x = np.random.default_rng(1).integers(-99, 99, (3, 300)).astype(np.int32)
    window = (1, size), (1, stride), ((0, 0), (5, 3)), (1, 1), (1, step)
    expected = plain(x[:1], 0, lambda a, b: a + b, *window)
    fun = lambda x: lax.reduce_window(x, 0, lax.add, *window)
    for out in (fun(x), tanx.jit(fun)(x)):
        np.testing.assert_array_equal(out[:1], expected)


def test_narrow_floats_are_summed_in_float32():
    x = np.ones(3000, ml_dtypes.bfloat16)
    for run in (lambda f: f, tanx.jit):
        out = run(lambda x: lax.reduce_window(x, 0, lax.add, (2999,)))(x)
        assert out.dtype == x.dtype and float(out[0]) == ml_dtypes.bfloat16(2999)


def test_initial_values_come_in_once_and_padding_not_at_all():
    out = lax.reduce_window(np.array([1, 2, 3], F32), F32(10), lambda a, b: a + b, (2,),
                            padding=((1, 1),))
    assert out.tolist() == [11, 13, 15, 13]


@pytest.mark.parametrize("combine, init, pooled, whole", [
    (lax.max, -np.inf, [1, 2, 3], 3), (lax.min, np.inf, [0, 1, 2], 0)])
def test_infinity_is_beyond_all_integers(combine, init, pooled, whole):
    x = np.arange(4, dtype=np.int32)
    windows = tanx.jit(lambda x: lax.reduce_window(x, init, combine, (2,)))
    for out in (lax.reduce_window(x, init, combine, (2,)), *(windows(x) for _ in range(4))):
        assert out.tolist() == pooled and out.dtype == np.int32 and not out.weak_type
    assert lax.reduce(x, init, combine, (0,)).tolist() == whole


def test_the_first_of_equals_is_selected():
    x = np.ones((4, 4), F32)
    pooled = lambda x: lax.reduce_window(x, -np.inf, lax.max, (2, 2), (2, 2)).sum()
    for run in (lambda f: f, tanx.jit):
        out = np.asarray(run(tanx.grad(pooled))(x))
        assert out.sum() == 4 and (out[::2, ::2] == 1).all()


def test_infinite_elements_are_selected_before_padding():
    x = np.full(2, -np.inf, F32)
    pooled = lambda x: lax.reduce_window(x, -np.inf, lax.max, (2,), padding=((1, 1),))
    assert tanx.vjp(pooled, x)[1](np.array([5, 7, 9], F32))[0].tolist() == [12, 9]
    assert tanx.jvp(pooled, (x,), (np.array([5, 7], F32),))[1].tolist() == [5, 5, 7]


@pytest.mark.parametrize("combine, init", [(lax.add, 0.0), (lax.min, np.inf), (lax.max, -np.inf)])
@pytest.mark.parametrize("shape", [(1, 1), (4, 0), (2, 9)])
def test_gradients_where_no_window_fits(combine, init, shape):
    def f(x):
        return lax.reduce_window(x, init, combine, (1, 5), (1, 2), "VALID", None, (2, 3)).sum()
    x = np.ones(shape, F32)
    assert (np.asarray(tanx.grad(f)(x)) == 0).all()
    assert (np.asarray(tanx.jit(tanx.hessian(f))(x)) == 0).all()


@pytest.mark.parametrize("window", [
    ((2, 2), (2, 2), "VALID"), ((3, 3), (2, 2), "SAME"), ((2, 2), (1, 1), "VALID", (1, 1), (2, 1))])
def test_gradients_of_gradients(window):
    """The second derivative of a smooth function of maxima, against differences of gradients."""
    x = np.random.default_rng(2).permutation(36).reshape(6, 6).astype(F32) / 8

    def energy(x):
        return (lax.reduce_window(x, -np.inf, lax.max, *window) ** 3).sum()

    along = np.random.default_rng(3).normal(size=(6, 6)).astype(F32)
    exact = tanx.jvp(tanx.grad(energy), (x,), (along,))[1]
    backwards = tanx.grad(lambda x: (tanx.grad(energy)(x) * along).sum())(x)
    h = F32(2 ** -8)
    numeric = (tanx.grad(energy)(x + h * along) - tanx.grad(energy)(x - h * along)) / (2 * h)
    for run in (exact, backwards, tanx.jit(tanx.grad(
            lambda x: (tanx.grad(energy)(x) * along).sum()))(x)):
        np.testing.assert_allclose(run, numeric, rtol=2e-3, atol=2e-2)


def test_jaxprs_show_the_window():
    text = str(tanx.make_jaxpr(lambda x: lax.reduce_window(
        x, -np.inf, lax.max, (2, 2), (2, 2), "SAME"))(np.zeros((4, 5), F32)))
    assert text == """\
{ lambda ; a:f32[4,5]. let
    b:f32[2,3] = reduce_window_max[
      base_dilation=(1, 1)
      padding=((0, 0), (0, 1))
      window_dilation=(1, 1)
      window_dimensions=(2, 2)
      window_strides=(2, 2)
    ] a
  in (b,) }"""


def test_shapes_without_arrays():
    assert lax.reduce_window_shape_tuple((4, 5), (2, 2), (1, 2), ((0, 1), (1, 0)), (2, 1),
                                         (1, 2)) == (7, 2)


@pytest.mark.parametrize("error, call, text", [
    (TypeError, lambda x: lax.reduce_window(x, 0, lax.add, (2, 2)), """\
tanx.lax.reduce_window: a window needs an entry for each operand dimension.
  operand: float32[3]
  window_dimensions: (2, 2)
  window_strides: (1,)
  padding: ((0, 0),)
  base_dilation: (1,)
  window_dilation: (1,)"""),
    (TypeError, lambda x: lax.reduce_window(x, 0, lax.add, (2,), (0,)), """\
tanx.lax.reduce_window: sizes, strides and dilations must be positive.
  operand: float32[3]
  window_dimensions: (2,)
  window_strides: (0,)
  padding: ((0, 0),)
  base_dilation: (1,)
  window_dilation: (1,)"""),
    (RuntimeError, lambda x: lax.reduce_window(x, 0, lax.add, (2,), None, "FULL"), """\
tanx.lax.padtype_to_pads: padding must be 'VALID', 'SAME' or 'SAME_LOWER'.
  padding: 'FULL'"""),
    (TypeError, lambda x: lax.reduce_window(x > 1, False, lax.add, (2,)), """\
tanx.lax.reduce_window: does not sum bool operands.
  operand: bool[3]"""),
    (TypeError, lambda x: lax.reduce_window(x, np.int32(0), lambda a, b: a + b, (2,)), """\
tanx.lax.reduce_window: initial values must have their operands' dtypes.
  operand 0: float32[3], initial value: int32[]"""),
    (ValueError, lambda x: lax.reduce_window((), (), lax.add, (2,)), """\
tanx.lax.reduce_window: needs at least one operand."""),
    (TypeError, lambda x: lax.reduce_window(x, F32(0), lambda a, b: a > b, (2,)), """\
tanx.lax.reduce_window: the computation must return scalars like those it takes.
  takes: float32[]
  gives: bool[]"""),
])
def test_invalid_windows_raise(error, call, text):
    with pytest.raises(error) as caught:
        call(np.arange(3, dtype=F32))
    assert str(caught.value) == text
