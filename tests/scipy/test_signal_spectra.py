"""Spectra of signals: SciPy's numbers, inverses, derivatives, batches, errors."""

import warnings

import numpy as np
import pytest
from scipy import signal as reference

import tanx
import tanx.numpy as jnp
from tanx.scipy import signal
from tests.numpy.agreement import adjoint, agree, batched
from tests.scipy.lives import check

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(3, 100)), RNG.normal(size=(3, 80))

def from_the_first(d):
    """A function for ``detrend``."""
    return d - d[..., :1]


CUTS = [dict(), dict(nperseg=15), dict(noverlap=0), dict(noverlap=15), dict(nfft=32),
        dict(nfft=33), dict(detrend="linear"), dict(detrend="constant"), dict(detrend=False),
        dict(detrend=from_the_first), dict(return_onesided=False), dict(fs=3.0),
        dict(window="hamming"), dict(window="blackman"), dict(window=("tukey", 0.3)),
        dict(window=np.hanning(16))]
EDGES = [dict(boundary=b) for b in ("even", "odd", "constant", None)] + [
    dict(padded=False), dict(padded=False, boundary=None), dict(axis=0, nperseg=3)]


def words(options) -> str:
    """Options as the name of a test, the same in every process."""
    return ", ".join(f"{name}={getattr(value, '__name__', value)}"
                     for name, value in options.items())


@pytest.fixture(autouse=True)
def wide():
    with tanx.enable_x64(True):
        yield


@pytest.mark.parametrize("options", CUTS + EDGES, ids=words)
def test_stft(options):
    options = {"nperseg": 16, **options}
    agree(signal.stft(X, **options), reference.stft(X, **options), 1e-12, 1e-12)
    if not options.get("return_onesided", True):
        agree(signal.stft(X + 1j, **options), reference.stft(X + 1j, **options), 1e-12, 1e-12)


@pytest.mark.parametrize("average", ["mean", "median"])
@pytest.mark.parametrize("scaling", ["density", "spectrum"])
@pytest.mark.parametrize("options", [*CUTS, dict(axis=0, nperseg=3)], ids=words)
def test_densities(options, scaling, average):
    options = {"nperseg": 16, **options, "scaling": scaling, "average": average}
    agree(signal.welch(X, **options), reference.welch(X, **options), 1e-11, 1e-12)
    y = Y if "axis" not in options else X[::-1]
    agree(signal.csd(X, y, **options), reference.csd(X, y, **options), 1e-11, 1e-12)


def test_spectra_use_one_segment_by_default():
    agree(signal.welch(X), reference.welch(X, nperseg=100), 1e-11, 1e-12)
    agree(signal.welch(X, window=np.ones(20)), reference.welch(X, window=np.ones(20)), 1e-11)
    agree(signal.csd(X, None), reference.welch(X, nperseg=100), 1e-11, 1e-12)
    assert signal.csd(X, X)[1].dtype == complex


@pytest.mark.parametrize("options", [
    dict(), dict(nperseg=15), dict(noverlap=12), dict(noverlap=11), dict(nfft=33), dict(nfft=32),
    dict(boundary=None, padded=False), dict(return_onesided=False), dict(window="hamming"),
    dict(window="boxcar", noverlap=0), dict(axis=0, nperseg=3)], ids=words)
def test_istft(options):
    """SciPy's numbers; times are those of the signal, while SciPy uses the first axis."""
    options = {"nperseg": 16, **options}
    spectrum = reference.stft(X, **options)[2]
    back = {k: v for k, v in options.items() if k in ("nperseg", "noverlap", "nfft", "window")}
    back |= dict(boundary=options.get("boundary", True) is not None,
                 input_onesided=options.get("return_onesided", True),
                 freq_axis=0 if "axis" in options else -2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy warns about windows that are zero at the ends
        want = reference.istft(spectrum, **back)[1]
    times, got = signal.istft(spectrum, **back)
    agree(got, want, 1e-12, 1e-12)
    agree(times, np.arange(got.shape[-1]))
    if back["boundary"]:
        size = 3 if "axis" in options else 100
        agree(np.moveaxis(got, -1, -2)[:size] if "axis" in options else got[:, :size],
              X.T[:, :size].T if "axis" not in options else np.asarray(X), 1e-9, 1e-9)


def test_axes_of_istft():
    spectrum = reference.stft(X, nperseg=16)[2]
    for time, freq in ((0, 1), (1, 0), (2, 0), (0, -1)):
        turned = np.moveaxis(spectrum, (-1, -2), (time, freq))
        agree(signal.istft(turned, time_axis=time, freq_axis=freq)[1],
              reference.istft(turned, time_axis=time, freq_axis=freq)[1], 1e-12, 1e-12)


@pytest.mark.parametrize("options", [
    dict(), dict(type="constant"), dict(bp=10), dict(bp=[10, 50]), dict(bp=np.array([99])),
    dict(axis=0), dict(axis=0, type="constant", bp=[1])], ids=str)
def test_detrend(options):
    agree(signal.detrend(X, **options), reference.detrend(X, **options), 1e-11, 1e-12)
    agree(signal.detrend(X + 1j * X[::-1], **options),
          reference.detrend(X + 1j * X[::-1], **options), 1e-11, 1e-12)


def test_detrend_of_little():
    agree(signal.detrend(jnp.ones(1)), [0])
    agree(signal.detrend([1.0, 3.0]), [0, 0])
    assert signal.detrend(jnp.arange(5)).dtype == jnp.arange(5.0).dtype
    assert signal.detrend(jnp.ones(5, "bfloat16")).dtype == "bfloat16"


@pytest.mark.parametrize("function, want", [
    (lambda x: signal.stft(x, nperseg=16), lambda x: reference.stft(x, nperseg=16)),
    (lambda x: signal.welch(x, nperseg=16), lambda x: reference.welch(x, nperseg=16)),
    (lambda x: signal.csd(x, x[::-1], nperseg=16), lambda x: reference.csd(x, x[::-1], nperseg=16)),
    (signal.detrend, reference.detrend),
    (lambda x: signal.istft(signal.stft(x, nperseg=16)[2])[1][..., :100], lambda x: x),
], ids=["stft", "welch", "csd", "detrend", "istft"])
def test_each_life(function, want):
    for dtype, near in ((np.float64, 1e-10), (np.float32, 1e-4)):
        x = X.astype(dtype)
        check(function, (x,), want(x), near, near)
    last = lambda x: tanx.tree.leaves(function(x))[-1]
    adjoint(lambda x: jnp.abs(last(x)) ** 2, X[:, :40])
    batched(last, X.astype(np.float32), atol=1e-5)


def test_rates_may_be_traced():
    rate = tanx.jit(lambda fs: signal.stft(X, fs, nperseg=16)[:2])(2.0)
    agree(rate, reference.stft(X, 2.0, nperseg=16)[:2])


def test_complex_and_short_signals_warn():
    with pytest.warns(UserWarning, match="two sides"):
        f, _, _ = signal.stft(X + 0j, nperseg=16)
    assert f.shape == (16,)
    with pytest.warns(UserWarning, match="nperseg exceeds the signal"):
        assert signal.welch(X, nperseg=200)[0].shape == (51,)


def test_nothing():
    for leaf in signal.stft(X[:, :0]):
        assert leaf.shape == (3, 0)
    assert [leaf.shape for leaf in signal.csd(X[:, :0], X)] == [(3, 0), (3, 0)]


@pytest.mark.parametrize("error, call", [
    (ValueError, lambda: signal.stft(X, nperseg=0)),
    (ValueError, lambda: signal.stft(X, nperseg=16, noverlap=16)),
    (ValueError, lambda: signal.stft(X, nperseg=16, nfft=15)),
    (ValueError, lambda: signal.stft(X, window=np.ones((2, 2)))),
    (ValueError, lambda: signal.stft(X, window=np.ones(20))),
    (ValueError, lambda: signal.welch(X, window=np.ones(200))),
    (ValueError, lambda: signal.stft(X, boundary="x")),
    (ValueError, lambda: signal.stft(X, detrend=True, nperseg=16)),
    (ValueError, lambda: signal.stft(X, axis=2)),
    (ValueError, lambda: signal.welch(X, scaling="x")),
    (ValueError, lambda: signal.welch(X, average="x")),
    (ValueError, lambda: signal.csd(X, Y[0])),
    (ValueError, lambda: signal.csd(X, Y[:2])),
    (ValueError, lambda: signal.istft(X[0])),
    (ValueError, lambda: signal.istft(X, time_axis=0, freq_axis=0)),
    (ValueError, lambda: signal.istft(X, noverlap=400)),
    (ValueError, lambda: signal.istft(X, nfft=3)),
    (ValueError, lambda: signal.istft(X, window=np.ones(5))),
    (ValueError, lambda: signal.istft(X[:, :0])),
    (ValueError, lambda: signal.detrend(X, type="x")),
    (ValueError, lambda: signal.detrend(X, bp=[101])),
    (ValueError, lambda: signal.detrend(X, bp=-1)),
    (NotImplementedError, lambda: signal.detrend(X, overwrite_data=False)),
])
def test_errors(error, call):
    with pytest.raises(error, match=r"^tanx\.scipy\.signal\."):
        call()
