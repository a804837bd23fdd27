"""Convolutions and correlations: SciPy's numbers, dtypes, derivatives, batches, errors."""

import ml_dtypes
import numpy as np
import pytest
from scipy import signal as reference

import tanx
import tanx.numpy as jnp
from tanx.scipy import signal
from tests.numpy.agreement import adjoint, agree, batched
from tests.scipy.lives import check

RNG = np.random.default_rng(0)
MODES = ("full", "same", "valid")
SHAPES = [((9,), (4,)), ((4,), (9,)), ((5,), (5,)), ((1,), (1,)), ((5, 6), (2, 3)),
          ((2, 3), (5, 6)), ((4, 5, 6), (2, 2, 3))]


def numbers(shape, kind):
    x = RNG.normal(size=shape)
    return x + 1j * RNG.normal(size=shape) if kind == "complex" else x


@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_values(shapes, mode, kind):
    a, b = (numbers(shape, kind) for shape in shapes)
    with tanx.enable_x64(True):
        for name in ("convolve", "correlate"):
            want = getattr(reference, name)(a, b, mode)
            for method in ("auto", "direct", "fft"):
                agree(getattr(signal, name)(a, b, mode, method), want, 1e-12, 1e-12)
        agree(signal.fftconvolve(a, b, mode), reference.fftconvolve(a, b, mode), 1e-12, 1e-12)
        if a.ndim == 2:
            for name in ("convolve2d", "correlate2d"):
                agree(getattr(signal, name)(a, b, mode), getattr(reference, name)(a, b, mode),
                      1e-12, 1e-12)


@pytest.mark.parametrize("name", ["convolve", "correlate", "convolve2d", "correlate2d",
                                  "fftconvolve"])
def test_each_life(name):
    a, b = RNG.normal(size=(5, 6)).astype(np.float32), RNG.normal(size=(2, 3)).astype(np.float32)
    for mode in MODES:
        check(lambda a, b, mode=mode: getattr(signal, name)(a, b, mode), (a, b),
              getattr(reference, name)(a, b, mode), 1e-5, 1e-5)
    adjoint(lambda a, b: getattr(signal, name)(a, b, "same"), a, b)
    batched(lambda a: getattr(signal, name)(a, b), a)


@pytest.mark.parametrize("size", [3, 100, 1000, 4097])
def test_long_signals(size):
    """Lengths of transforms are rounded up to fast ones."""
    a, b = RNG.normal(size=size).astype(np.float32), RNG.normal(size=71).astype(np.float32)
    agree(signal.fftconvolve(a, b), reference.fftconvolve(a, b), 1e-4, 1e-4)


@pytest.mark.parametrize("axes", [1, [1], (-1,), None])
def test_axes(axes):
    a = RNG.normal(size=(3, 9)).astype(np.float32)
    b = RNG.normal(size=(3, 4)).astype(np.float32)
    for mode in ("full", "same", "valid"):
        agree(signal.fftconvolve(a, b, mode, axes), reference.fftconvolve(a, b, mode, axes), 1e-5,
              1e-5)


@pytest.mark.parametrize("dtype, result", [
    (bool, "float32"), (np.int32, "float32"), (np.float16, "float16"),
    (ml_dtypes.bfloat16, "bfloat16"), (np.complex64, "complex64")])
def test_dtypes(dtype, result):
    a, b = np.array([1, 0, 3, 1]).astype(dtype), np.array([1, 1]).astype(dtype)
    want = np.convolve(a.astype(result if result == "complex64" else "float32"),
                       b.astype(result if result == "complex64" else "float32"))
    for got in (signal.convolve(a, b), signal.fftconvolve(a, b), signal.correlate(a, b)):
        assert got.dtype == result
        agree(got, want, 1e-2 if "16" in result else 1e-5, 1e-2 if "16" in result else 1e-5)


def test_convolutions_of_scalars_and_empty_arrays():
    assert signal.convolve(jnp.float32(2), jnp.float32(3)) == 6
    assert signal.fftconvolve(jnp.float32(2), jnp.float32(3)) == 6
    agree(signal.fftconvolve(jnp.ones(0), jnp.ones(8)), np.zeros(7))


@pytest.mark.parametrize("error, call", [
    (ValueError, lambda x, m: signal.convolve(x, m)),
    (ValueError, lambda x, m: signal.convolve(x, x, "most")),
    (ValueError, lambda x, m: signal.correlate(x, x, method="quick")),
    (ValueError, lambda x, m: signal.convolve(x[:0], x)),
    (ValueError, lambda x, m: signal.convolve(m[:, :1], m[:1], "valid")),
    (ValueError, lambda x, m: signal.fftconvolve(m[:, :1], m[:1], "valid")),
    (ValueError, lambda x, m: signal.fftconvolve(m, m[:1], axes=1)),
    (ValueError, lambda x, m: signal.fftconvolve(m, m, axes=(0, 0))),
    (ValueError, lambda x, m: signal.fftconvolve(m, m, axes=2)),
    (ValueError, lambda x, m: signal.convolve2d(x, x)),
    (NotImplementedError, lambda x, m: signal.convolve2d(m, m, boundary="wrap")),
    (NotImplementedError, lambda x, m: signal.correlate2d(m, m, fillvalue=1)),
    (TypeError, lambda x, m: signal.fftconvolve([1.0], x)),
])
def test_errors(error, call):
    with pytest.raises(error, match=r"^tanx\.scipy\.signal\."):
        call(jnp.ones(4), jnp.ones((3, 2)))
