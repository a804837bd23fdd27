"""Resampled images: recorded values, a plain reference, derivatives, batches, errors."""

import ml_dtypes
import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx.image import ResizeMethod, resize, scale_and_translate
from tests.numpy.agreement import adjoint, agree, batched, message

RNG = np.random.default_rng(0)
LINE = np.array([1, 4, 2, 8, 5, 7], np.float32)
IMAGE = RNG.normal(size=(5, 8, 3)).astype(np.float32)

# JAX's numbers for LINE: to 4 pixels, to 9, and scaled by 0.8 and moved by -0.7 into 5.
RECORDED = {
    ("LINEAR", True): (
        [2.125, 3.33333, 6.33333, 6.25],
        [1.0, 2.5, 3.66667, 2.33333, 5.0, 7.5, 5.5, 6.0, 7.0],
        [3.28571, 4.0, 6.5, 6.33333, 0.0]),
    ("LINEAR", False): (
        [1.75, 2.5, 7.25, 6.5], [1.0, 2.5, 3.66667, 2.33333, 5.0, 7.5, 5.5, 6.0, 7.0],
        [4.0, 3.5, 6.5, 6.5, 0.0]),
    ("LANCZOS3", True): (
        [2.05838, 3.35417, 6.43888, 6.17676],
        [0.66668, 2.68215, 3.80773, 1.82177, 5.08696, 8.07023, 5.4286, 5.66748, 7.26973],
        [2.90623, 4.10059, 6.86006, 6.0418, 0.0]),
    ("LANCZOS3", False): (
        [1.72218, 1.89997, 7.93368, 6.41359],
        [0.66668, 2.68215, 3.80773, 1.82177, 5.08696, 8.07023, 5.4286, 5.66748, 7.26973],
        [4.0, 3.1623, 6.99443, 6.41359, 0.0]),
    ("LANCZOS5", True): (
        [2.00964, 3.45147, 6.34921, 6.21232],
        [0.47652, 2.93359, 3.71887, 1.72158, 5.01909, 8.22562, 5.54071, 5.41338, 7.45668],
        [2.69903, 4.28515, 6.78837, 5.91453, 0.0]),
    ("LANCZOS5", False): (
        [1.92875, 1.75847, 8.14755, 6.21165],
        [0.47652, 2.93359, 3.71887, 1.72158, 5.01909, 8.22562, 5.54071, 5.41338, 7.45668],
        [4.0, 3.21793, 7.2588, 6.21165, 0.0]),
    ("CUBIC", True): (
        [2.08252, 3.18224, 6.56355, 6.21359],
        [0.80263, 2.52941, 3.86343, 1.92824, 5.0625, 7.96296, 5.31481, 5.88235, 7.13158],
        [3.19876, 3.87821, 6.70253, 6.27215, 0.0]),
    ("CUBIC", False): (
        [1.61314, 2.05469, 7.76562, 6.55474],
        [0.80263, 2.52941, 3.86343, 1.92824, 5.0625, 7.96296, 5.31481, 5.88235, 7.13158],
        [4.0, 3.14844, 6.75, 6.55474, 0.0]),
    ("CUBIC_PYTORCH", False): (
        [1.75, 1.92578, 7.88281, 6.44141],
        [0.73958, 2.6875, 3.86921, 1.81829, 5.09375, 8.05556, 5.36111, 5.71875, 7.17361],
        [4.0, 3.25391, 6.875, 6.44141, 7.0]),
    ("AREA", True): (
        [2.0, 2.66667, 7.0, 6.33333], [1.0, 2.5, 4.0, 2.0, 5.0, 8.0, 5.0, 6.0, 7.0],
        [3.5, 3.8, 6.5, 6.4, 0.0]),
}
RECORDED["CUBIC_PYTORCH", True] = RECORDED["CUBIC", True]
RECORDED["AREA", False] = RECORDED["AREA", True]
SAMPLED = [method for method in ResizeMethod if method is not ResizeMethod.NEAREST]
each_method = pytest.mark.parametrize("method", SAMPLED, ids=lambda m: m.name)


@pytest.mark.parametrize("antialias", [True, False])
@each_method
def test_values(method, antialias):
    smaller, greater, moved = RECORDED[method.name, antialias]
    agree(resize(LINE, (4,), method, antialias), smaller, 1e-5, 1e-5)
    agree(resize(LINE, (9,), method, antialias), greater, 1e-5, 1e-5)
    function = lambda image, scale, shift: scale_and_translate(
        image, (5,), (0,), scale, shift, method, antialias)
    for way in (function, tanx.jit(function)):  # a known scale, and a traced one
        agree(way(LINE, jnp.array([0.8]), jnp.array([-0.7])), moved, 1e-5, 1e-5)


@pytest.mark.parametrize("method", ["linear", "cubic"])
def test_large_images(method):
    """Tiled products whose factors are gathered by indices from memory."""
    image = jnp.asarray(np.random.default_rng(0).normal(size=(256, 256)), jnp.float32)
    rows = np.stack([resize(image[:, k], (512,), method) for k in range(256)], 1)
    wanted = np.stack([resize(jnp.asarray(row), (512,), method) for row in rows])
    larger = tanx.jit(lambda image: resize(image, (512, 512), method))
    for _ in range(4):
        agree(larger(image), wanted, 1e-5, 1e-5)


def test_nearest():
    agree(resize(LINE, (4,), "nearest"), [1, 2, 8, 7])
    agree(resize(LINE.astype(int), (9,), "nearest"), [1, 4, 4, 2, 8, 8, 5, 7, 7])
    assert resize(LINE.astype(np.int8), (4,), "nearest").dtype == np.int8


@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize("shape", [(5, 8, 3), (3, 11, 3), (7, 4, 1), (1, 1, 3), (0, 8, 3)])
@each_method
def test_dimensions_are_resampled_one_by_one(method, shape, antialias):
    want = IMAGE
    for axis in np.random.default_rng(1).permutation(3):
        step = list(want.shape)
        step[axis] = shape[axis]
        want = np.asarray(resize(want, step, method, antialias))
    for way in (resize, tanx.jit(resize, static_argnums=(1, 2, 3))):
        agree(way(IMAGE, shape, method, antialias), want, 1e-4, 1e-5)


@each_method
def test_under_transformations(method):
    function = lambda image: resize(image, (4, 11, 3), method)
    adjoint(function, IMAGE)
    batched(function, IMAGE)
    matrix = tanx.jit(lambda image, scale: scale_and_translate(
        image, (4, 11, 3), (0, 1), scale, jnp.zeros(2), method))
    agree(matrix(IMAGE, jnp.array([4 / 5, 11 / 8])), function(IMAGE), 1e-4, 1e-5)


@each_method
def test_derivatives_by_scale_and_translation(method):
    adjoint(lambda image, scale, shift: scale_and_translate(
        image, (4, 9, 3), (1, 0), scale, shift, method), IMAGE, [1.13, 0.87], [0.31, -0.23])


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.complex64, np.int16])
def test_dtypes(dtype):
    image = (8 * IMAGE).astype(dtype)
    got = resize(image, (7, 4, 3), "cubic")
    assert got.dtype == (np.float32 if dtype == np.int16 else dtype)
    wide = image.astype(np.complex64 if dtype == np.complex64 else np.float32)
    np.testing.assert_array_equal(got, np.asarray(resize(wide, (7, 4, 3), "cubic")).astype(
        got.dtype))


def test_constant_images_stay():
    for method in ResizeMethod:
        agree(resize(jnp.ones((6, 7)), (13, 3), method), np.ones((13, 3)))


def test_names_of_methods():
    assert ResizeMethod.from_string("bilinear") is ResizeMethod.LINEAR
    assert ResizeMethod.from_string("tricubic") is ResizeMethod.CUBIC
    agree(resize(LINE, (4,), "triangle"), resize(LINE, (4,), ResizeMethod.LINEAR))


def test_work_is_proportional_to_pixels():
    """Four taps for any size: a matrix product would have a thousand terms."""
    jaxpr = tanx.make_jaxpr(lambda x: resize(x, (2000,), "cubic"))(jnp.zeros(1000))
    assert "dot_general" not in str(jaxpr) and "f32[2000,5]" in str(jaxpr)


MISTAKES = [
    (ValueError, lambda: resize(LINE, (4, 1), "linear"), """\
tanx.image.resize: shape must have a size for each dimension of the image.
  image: float32[6]
  shape: (4, 1)"""),
    (ValueError, lambda: resize(jnp.zeros(0), (4,), "linear"), """\
tanx.image.resize: the image has no pixels.
  image: float32[0]
  shape: (4,)"""),
    (ValueError, lambda: resize(LINE, (4,), "best"), """\
tanx.image.resize: there is no such method.
  name:  'best'
  names: nearest, linear, bilinear, trilinear, triangle, lanczos3, lanczos5, cubic, bicubic, \
tricubic, cubic-pytorch, bicubic-pytorch, area"""),
    (TypeError, lambda: resize(LINE, (4,), 3), """\
tanx.image.resize: method is a name or a ResizeMethod.
  method: 3"""),
    (ValueError, lambda: scale_and_translate(LINE, (4,), (0,), 1.0, jnp.ones(1), "linear"), """\
tanx.image.scale_and_translate: spatial_dims must be distinct, with a scale and a translation for \
each.
  spatial_dims: (0,)
  scale:        ~float32[]
  translation:  float32[1]"""),
    (ValueError, lambda: scale_and_translate(
        LINE, (4,), (0,), jnp.ones(1), jnp.ones(1), "nearest"), """\
tanx.image.scale_and_translate: 'nearest' is not supported.
  Hint: tanx.image.resize supports it; other methods work here."""),
]


@pytest.mark.parametrize("error, call, text", MISTAKES)
def test_mistakes(error, call, text):
    message(error, call, text)
