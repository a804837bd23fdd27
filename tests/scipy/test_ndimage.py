"""Arrays sampled between their elements: SciPy's numbers, dtypes, derivatives, batches, errors."""

import ml_dtypes
import numpy as np
import pytest
from scipy import ndimage as reference

import tanx
import tanx.numpy as jnp
from tanx.scipy.ndimage import map_coordinates
from tests.numpy.agreement import adjoint, agree, batched
from tests.scipy.lives import check

MODES = {"constant": "grid-constant", "nearest": "nearest", "wrap": "grid-wrap",
         "mirror": "mirror", "reflect": "reflect"}


# Every mode in two dimensions, and some of them in others.
IMAGES = [((6, 7), order, mode) for order in (0, 1, 3) for mode in MODES] + [
    ((9,), 1, "wrap"), ((9,), 3, "mirror"), ((1, 4), 1, "reflect"), ((1, 4), 3, "wrap"),
    ((1, 4), 3, "mirror"), ((3, 4, 5), 0, "nearest"), ((3, 4, 5), 1, "constant"),
    ((3, 4, 5), 3, "reflect")]


@pytest.mark.parametrize("shape, order, mode", IMAGES, ids=str)
def test_values(shape, order, mode):
    rng = np.random.default_rng(shape)  # a new one: tests run in any order
    image = rng.normal(size=shape).astype(np.float32)
    places = [rng.uniform(-9, 15, (3, 4)).astype(np.float32) for _ in shape]
    want = reference.map_coordinates(image.astype(float), places, order=order, mode=MODES[mode],
                                     cval=0.5)
    check(lambda x, *c: map_coordinates(x, c, order, mode, 0.5), (image, *places), want, 1e-4, 2e-4
          if order == 3 else 1e-5)


@pytest.mark.parametrize("mode", MODES)
def test_cubic_splines_are_exact_to_rounding(mode):
    """In modes in which SciPy is exact: in two of them it extends by only twelve elements."""
    rng = np.random.default_rng(7)  # a new one: tests run in any order
    image, places = rng.normal(size=(30,)), [rng.uniform(-20, 50, 40)]
    want = reference.map_coordinates(image, places, order=3, mode=MODES[mode], cval=0.5)
    with tanx.enable_x64(True):
        exact = 1e-7 if mode in ("constant", "nearest") else 1e-13
        agree(map_coordinates(image, places, 3, mode, 0.5), want, exact, exact)


@pytest.mark.parametrize("dtype, want", [
    (np.int32, [-3, -7, 2, -2]), (np.int8, [-3, -7, 2, -2]), (np.uint8, [3, 7, 2, 2]),
    (bool, [True, True, True, True]), (np.float16, [-2.5, -6.5, 2.5, -1.75]),
    (ml_dtypes.bfloat16, [-2.5, -6.5, 2.5, -1.75]), (np.complex64, [-2.5, -6.5, 2.5, -1.75])])
def test_dtypes(dtype, want):
    """The result has the dtype of the array; integers are rounded, ties away from zero."""
    image = np.array([-1, -4, -9] if dtype is not np.uint8 else [1, 4, 9]).astype(dtype)
    got = map_coordinates(image, [np.float32([0.5, 1.5, 3, 0.25])], 1, cval=2.5)
    assert got.dtype == dtype and not got.weak_type
    agree(got, want)


def test_integer_coordinates_are_indices():
    image = jnp.arange(12.0).reshape(3, 4)
    got = map_coordinates(image, [np.array([[0], [2]]), np.array([1, 3])], 1)
    agree(got, [[1, 3], [9, 11]])


def test_not_a_number():
    got = map_coordinates(jnp.arange(3.0), [jnp.array([jnp.nan, jnp.inf, 0.5])], 1, "nearest")
    assert np.isnan(got[0]) and got[2] == 0.5


def test_empty_and_zero_dimensional():
    assert map_coordinates(jnp.arange(3.0), [jnp.zeros((0, 2))], 1).shape == (0, 2)
    assert map_coordinates(jnp.arange(3.0), [1.5], 1).shape == ()
    assert map_coordinates(jnp.float32(3), [], 1) == 3


@pytest.mark.parametrize("order", [1, 3])
@pytest.mark.parametrize("mode", MODES)
def test_derivatives_by_values_and_places(order, mode):
    rng = np.random.default_rng(1)
    image, rows, columns = rng.normal(size=(5, 6)), rng.uniform(-3, 8, 7), rng.uniform(-3, 8, 7)
    adjoint(lambda x, i, j: map_coordinates(x, [i, j], order, mode, 0.5), image, rows, columns)


@pytest.mark.parametrize("order", [0, 1, 3])
def test_batches(order):
    rng = np.random.default_rng(2)
    image, places = rng.normal(size=(5, 6)).astype("f"), rng.uniform(0, 4, (2, 7)).astype("f")
    batched(lambda x, c: map_coordinates(x, c, order, "mirror"), image, places, atol=2e-6)


@pytest.mark.parametrize("error, call", [
    (NotImplementedError, lambda x, c: map_coordinates(x, [c], 2)),
    (NotImplementedError, lambda x, c: map_coordinates(x, [c], "1")),
    (NotImplementedError, lambda x, c: map_coordinates(x, [c], 1, "bounce")),
    (ValueError, lambda x, c: map_coordinates(x, [c, c], 1)),
    (ValueError, lambda x, c: map_coordinates(x, c, 1)),
    (TypeError, lambda x, c: map_coordinates(x, [c * 1j], 1)),
    (TypeError, lambda x, c: map_coordinates(x[:0], [c], 1))])
def test_errors(error, call):
    with pytest.raises(error, match=r"^tanx\.scipy\.ndimage\.map_coordinates: "):
        call(jnp.arange(4.0), jnp.arange(3.0))
