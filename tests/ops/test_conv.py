"""Convolutions against a plain sum over windows, the functions around them, and their errors."""

import itertools

import ml_dtypes
import numpy as np
import pytest
from scipy import signal

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._ops import conv


def plain(x, w, strides, padding, lhs_dilation, rhs_dilation, feature_groups=1, batch_groups=1):
    """The definition, for arrays with batch and features first."""
    (images, features, *space), (kernels, depth, *window) = x.shape, w.shape
    big = [(n - 1) * d + 1 for n, d in zip(space, lhs_dilation)]
    spread = np.zeros((images, features, *big), x.dtype)
    spread[(..., *(slice(None, None, d) for d in lhs_dilation))] = x
    low, high = np.maximum(np.array(padding), 0).T
    cut = tuple(slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(big, padding))
    spread = np.pad(spread[(..., *cut)], [(0, 0), (0, 0), *zip(low, high)])
    counts = [(n - (k - 1) * d - 1) // s + 1
              for n, k, d, s in zip(spread.shape[2:], window, rhs_dilation, strides)]
    groups = max(feature_groups, batch_groups)
    out = np.zeros((images // batch_groups, kernels, *counts), x.dtype)
    for tap in itertools.product(*map(range, window)):
        part = spread[(..., *(slice(t * d, t * d + (n - 1) * s + 1, s)
                              for t, d, n, s in zip(tap, rhs_dilation, counts, strides)))]
        for group in range(groups):
            own = slice(group * kernels // groups, (group + 1) * kernels // groups)
            if batch_groups > 1:
                piece = part[group * out.shape[0]:(group + 1) * out.shape[0]]
            else:
                piece = part[:, group * depth:(group + 1) * depth]
            out[:, own] += np.einsum("nc...,oc->no...", piece, w[(own, slice(None), *tap)])
    return out


OPTIONS = [
    dict(strides=s, padding=p, lhs_dilation=ld, rhs_dilation=rd)
    for s in ((1, 1), (2, 3)) for p in (((0, 0), (0, 0)), ((1, 2), (2, -1)))
    for ld in ((1, 1), (2, 3), (4, 2)) for rd in ((1, 1), (2, 3))
]


def data(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("groups", [(1, 1), (2, 1), (1, 2)], ids=str)
def test_all_options_agree_with_the_definition_eagerly_and_compiled(groups):
    feature_groups, batch_groups = groups
    x, w = data(4, 4, 7, 8), data(6, 4 // feature_groups, 3, 2)
    for options in OPTIONS:
        expected = plain(x, w, *options.values(), *groups)
        names = dict(zip(("window_strides", "padding", "lhs_dilation", "rhs_dilation"),
                         options.values()))

        def f(x, w, names=names):
            return lax.conv_general_dilated(x, w, feature_group_count=feature_groups,
                                            batch_group_count=batch_groups, **names)
        for result in (f(x, w), tanx.jit(f)(x, w)):
            np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("groups", [(1, 1), (2, 1), (1, 2)], ids=str)
@pytest.mark.parametrize("rank", [0, 1, 3])
def test_windows_in_parts(groups, rank, monkeypatch):
    """If the matrix of windows would be large, images and positions are processed in parts."""
    feature_groups, batch_groups = groups
    x, w = data(4, 4, *(7, 6, 5)[:rank]), data(6, 4 // feature_groups, *(3, 2, 2)[:rank])
    options = dict(window_strides=(2, 1, 1)[:rank], padding=((1, 0), (0, 1), (1, 1))[:rank],
                   feature_group_count=feature_groups, batch_group_count=batch_groups)
    whole = lax.conv_general_dilated(x, w, **options)
    monkeypatch.setattr(conv, "WINDOWS", 64)
    parts = lax.conv_general_dilated(x, w, **options)
    assert parts.shape == whole.shape and parts.dtype == whole.dtype
    np.testing.assert_allclose(parts, whole, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("padding", [(0, 0), (2, -1), (3, 4), (-2, 5)])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_holes_are_not_multiplied(padding, stride):
    """A kernel's NaN, where it meets a hole, is in no result."""
    x, kernel = jnp.arange(1.0, 6.0).reshape(1, 1, 5), jnp.array([[[jnp.nan, 2.0, 3.0]]])

    def convolved(x, kernel):
        return lax.conv_general_dilated(x, kernel, (stride,), [padding], lhs_dilation=(3,))
    elements = np.zeros(13) * np.nan  # holes are NaN here
    elements[::3] = x.ravel()
    low, high = padding
    # In padding, zeros at the places of elements are multiplied.
    around = [np.where(np.arange(max(n, 0)) % 3 == 2, 0, np.nan) for n in padding]
    elements = np.concatenate([around[0][::-1], elements, around[1]])
    elements = elements[max(-low, 0):len(elements) - max(-high, 0)]
    expected = []
    for start in range(0, len(elements) - 2, stride):
        window = elements[start:start + 3]
        met = ~np.isnan(window)
        expected.append((window[met] * np.array([np.nan, 2, 3])[met]).sum())
    f = tanx.jit(convolved)
    for got in [convolved(x, kernel), *(f(x, kernel) for _ in range(4))]:
        np.testing.assert_array_equal(got.ravel(), np.array(expected, np.float32))


@pytest.mark.parametrize("numbers", [("NHWC", "HWIO", "NHWC"), ("NCHW", "OIHW", "NCHW"),
                                     ("HWNC", "IHWO", "CNHW"), ("NCHW", "HWIO", "NHWC")], ids=str)
def test_layouts(numbers):
    x, w = data(2, 3, 9, 8), data(5, 3, 3, 2)
    expected = plain(x, w, (2, 1), ((1, 1), (0, 1)), (1, 1), (1, 2))
    placed = [a.transpose(["NCHW".index(c) for c in spec] if "C" in spec else
                          ["OIHW".index(c) for c in spec]) for a, spec in zip((x, w), numbers)]

    def f(x, w):
        return lax.conv_general_dilated(x, w, (2, 1), [(1, 1), (0, 1)], rhs_dilation=(1, 2),
                                        dimension_numbers=numbers)
    for result in (f(*placed), tanx.jit(f)(*placed)):
        np.testing.assert_allclose(np.transpose(result, [numbers[2].index(c) for c in "NCHW"]),
                                   expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint8", "bool", "complex64", "float16",
                                   ml_dtypes.bfloat16, "float64"])
def test_dtypes(dtype):
    with tanx.enable_x64(True):
        x, w = (np.round(4 * data(*shape)).astype(np.int8).astype(dtype)
                for shape in ((2, 3, 9), (4, 3, 3)))
        result = tanx.jit(lambda x, w: lax.conv(x, w, (1,), "SAME"))(x, w)
        assert result.dtype == dtype
        wide = np.complex128 if np.dtype(dtype).kind == "c" else np.int64
        expected = plain(x.astype(wide), w.astype(wide), (1,), ((1, 1),), (1,), (1,))
        np.testing.assert_allclose(result.astype(wide), expected.astype(dtype).astype(wide),
                                   rtol=0.02 if np.dtype(dtype).itemsize == 2 else 1e-6)


@pytest.mark.parametrize("padding", ["SAME", "VALID", [(1, 0), (2, 1)]])
def test_shape_functions_match_convolutions(padding):
    x, w = np.ones((2, 4, 8, 9), np.float32), np.ones((6, 4, 3, 2), np.float32)
    result = lax.conv_general_dilated(x, w, (2, 1), padding)
    assert lax.conv_shape_tuple(x.shape, w.shape, (2, 1), padding) == result.shape
    layout = ("NHWC", "HWIO", "NWHC")
    to_x, to_w, to_y = lax.conv_general_permutations(layout)
    shapes = [np.empty_like(a).transpose(np.argsort(p)).shape for a, p in ((x, to_x), (w, to_w))]
    told = lax.conv_general_shape_tuple(*shapes, (2, 1), padding, layout)
    assert told == lax.conv_general_dilated(
        *map(np.ones, shapes), (2, 1), padding, dimension_numbers=layout).shape
    assert tuple(told[d] for d in to_y) == result.shape


def test_convolution_without_groups():
    x, w = np.arange(12.0).reshape(1, 2, 6), np.arange(12.0).reshape(3, 2, 2)
    np.testing.assert_allclose(
        lax.conv_with_general_padding(x, w, (1,), [(1, 0)], (2,), (3,)),
        plain(x, w, (1,), [(1, 0)], (2,), (3,)))


def test_patches_are_windows_by_feature():
    x = data(2, 3, 5, 6)
    patches = lax.conv_general_dilated_patches(x, (2, 3), (1, 2), "VALID")
    windows = np.lib.stride_tricks.sliding_window_view(x, (2, 3), (2, 3))[:, :, :, ::2]
    np.testing.assert_array_equal(
        patches, windows.transpose(0, 1, 4, 5, 2, 3).reshape(2, 18, 4, 2))


def test_local_kernels_differ_by_place():
    x, w = data(2, 3, 6), data(4, 6, 5)
    result = lax.conv_general_dilated_local(x, w, (1,), "VALID", (2,))
    windows = np.lib.stride_tricks.sliding_window_view(x, 2, 2)
    np.testing.assert_allclose(result, np.einsum("nipk,oikp->nop", windows,
                                                 w.reshape(4, 3, 2, 5)), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_transposed_convolution_is_the_gradient_of_the_convolution(padding, stride):
    w, y = data(3, 4, 5), data(2, 7, 5)
    big = lax.conv_transpose(y, w, (stride,), padding, transpose_kernel=True)

    def forward(x):
        return lax.conv_general_dilated(x, w, (stride,), padding,
                                        dimension_numbers=("NHC", "HIO", "NHC"))
    _, back = tanx.vjp(forward, jnp.zeros(big.shape))
    np.testing.assert_allclose(big, back(y)[0], rtol=1e-5, atol=1e-5)
    assert big.shape == lax.conv_transpose_shape_tuple(
        y.shape, (3, 5, 4), (stride,), padding, ("NHC", "HIO", "NHC"))


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolution_of_images_agrees_with_scipy(mode):
    x, w = data(20, 17), data(5, 4)
    pads = {"full": [(4, 4), (3, 3)], "same": [(2, 2), (2, 1)], "valid": [(0, 0), (0, 0)]}[mode]
    result = tanx.jit(lambda x, w: lax.conv_general_dilated(
        x[None, None], w[::-1, ::-1][None, None], (1, 1), pads))(x, w)[0, 0]
    np.testing.assert_allclose(result, signal.convolve2d(x, w, mode), rtol=1e-4, atol=1e-4)


X, W = np.zeros((2, 4, 8, 9), np.float32), np.zeros((6, 4, 3, 3), np.float32)
MISTAKES = [
    (TypeError, lambda: lax.conv(X.astype(np.float16), W, (1, 1), "SAME"), """\
tanx.lax.conv: operands must have the same dtype.
  lhs: float16[2,4,8,9]
  rhs: float32[6,4,3,3]"""),
    (ValueError, lambda: lax.conv(X, W, (1,), "SAME"), """\
tanx.lax.conv: window_strides must have a number for each dimension of space.
  lhs: float32[2,4,8,9]
  rhs: float32[6,4,3,3]
  window_strides: (1,)"""),
    (ValueError, lambda: lax.conv(X, W, (0, 1), "SAME"), """\
tanx.lax.conv: window_strides must be above zero.
  lhs: float32[2,4,8,9]
  rhs: float32[6,4,3,3]
  window_strides: (0, 1)"""),
    (ValueError, lambda: lax.conv(X, W[:, :3], (1, 1), "SAME"), """\
tanx.lax.conv: the kernel must have the input features of a group of the \
operand.
  lhs: float32[2,4,8,9]
  rhs: float32[6,3,3,3]
  feature_group_count: 1
  batch_group_count:   1"""),
    (ValueError, lambda: lax.conv(X, W[..., :0], (1, 1), "SAME"), """\
tanx.lax.conv: the window must have elements.
  lhs: float32[2,4,8,9]
  rhs: float32[6,4,3,0]"""),
    (RuntimeError, lambda: lax.conv(X, W, (1, 1), "EQUAL"), """\
tanx.lax.conv: padding must be 'VALID', 'SAME' or 'SAME_LOWER'.
  padding: 'EQUAL'"""),
    (ValueError, lambda: lax.conv_general_dilated(X, W, (1, 1), "SAME", (2, 2)), """\
tanx.lax.conv_general_dilated: padding must be given in numbers if lhs_dilation is not 1.
  padding: 'SAME'
  lhs_dilation: (2, 2)
  Hint: tanx.lax.conv_transpose computes the padding."""),
    (TypeError, lambda: lax.conv_dimension_numbers(X.shape, W.shape, ("NCHW", "OIHW", "NCHX")), """\
tanx.lax.conv_dimension_numbers: the three strings must have the same letters for space.
  dimension_numbers: ('NCHW', 'OIHW', 'NCHX')"""),
    (TypeError, lambda: lax.conv(X, W, (1, 1), "SAME", preferred_element_type=np.int32), """\
tanx.lax.conv: cannot have a result of that kind.
  lhs: float32[2,4,8,9]
  rhs: float32[6,4,3,3]
  preferred_element_type: int32"""),
]


@pytest.mark.parametrize("error, mistake, text", MISTAKES, ids=range(len(MISTAKES)))
def test_mistakes_are_explained(error, mistake, text):
    with pytest.raises(error) as caught:
        mistake()
    assert str(caught.value) == text


def test_jaxpr_of_a_gradient():
    def f(x, w):
        return lax.conv_general_dilated(x, w, (2,), "SAME", dimension_numbers=("NHC", "HIO", "NHC"))

    def back(x, w, ct):
        return tanx.vjp(f, x, w)[1](ct)
    jaxpr = tanx.make_jaxpr(back)(data(2, 8, 4), data(3, 4, 6), data(2, 4, 6))
    to_w, _, to_x = jaxpr.eqns[-3:]
    assert (to_w.params["padding"], to_w.params["rhs_dilation"]) == (((0, 1),), (2,))
    assert (to_x.params["padding"], to_x.params["lhs_dilation"]) == (((2, 1),), (2,))
    assert to_x.params["dimension_numbers"] == lax.ConvDimensionNumbers(
        (0, 2, 1), (1, 2, 0), (0, 2, 1))
