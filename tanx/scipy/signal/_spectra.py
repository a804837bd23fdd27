"""Spectra of signals cut into overlapping segments: of each segment, or averaged over them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtypes, lax
from ... import numpy as jnp
from ..._api.batching import vmap
from ..._api.jit import library_jit
from ..._base.axes import canonical_axis
from ..._base.tuples import NamedTuple
from ...errors import explain, warn_user
from ...numpy._promotion import as_operand, check_arraylike, promote_dtypes, typeof
from ._detrend import without_mean, without_trend
from ._windows import window_of

__all__ = ["csd", "istft", "stft", "welch"]


# -- segments --------------------------------------------------------------------------------------


class Segments(NamedTuple):
    """How a signal is cut: sizes of a segment, of the overlap, and of a segment's transform."""

    window: Any
    size: int
    overlap: int
    nfft: int


def _segments(function: str, x, window, nperseg, noverlap, nfft) -> Segments:
    """The given sizes, with defaults from the window and the signal, the last axis of ``x``."""
    name, length = f"tanx.scipy.signal.{function}", x.shape[-1]
    size = None if nperseg is None else operator.index(nperseg)
    if size is not None and size < 1:
        raise ValueError(explain(name, "nperseg must be positive.", f"nperseg: {nperseg}"))
    if isinstance(window, str | tuple):
        if size is not None and size > length:
            warn_user(explain(name, "nperseg exceeds the signal's length, which is used.",
                              f"nperseg: {nperseg}", f"length:  {length}"))
        size = length if size is None else min(size, length)
        window = window_of(function, window, size, x.real.dtype)
    else:
        window = window_of(function, window, 0, x.real.dtype)
        given, size = size, window.shape[0]
        if size > length:
            raise ValueError(explain(name, "the window must not be longer than the signal.",
                                     f"window: {typeof(window)}", f"length: {length}"))
        if given not in (None, size):
            raise ValueError(explain(name, "the window must be as long as a segment.",
                                     f"window:  {typeof(window)}", f"nperseg: {nperseg}"))
    return Segments(window, size, _overlap(name, noverlap, size), _transformed(name, nfft, size))


def _overlap(name: str, noverlap, size: int) -> int:
    overlap = size // 2 if noverlap is None else operator.index(noverlap)
    if overlap >= size:
        raise ValueError(explain(name, "noverlap must be less than nperseg.",
                                 f"noverlap: {overlap}", f"nperseg:  {size}"))
    return overlap


def _transformed(name: str, nfft, size: int) -> int:
    length = size if nfft is None else operator.index(nfft)
    if length < size:
        raise ValueError(explain(name, "nfft must not be less than nperseg.",
                                 f"nfft:    {length}", f"nperseg: {size}"))
    return length


def _trend(function: str, detrend, axis: int) -> Callable | None:
    """The function that removes the trend from segments, which are along the last axis."""
    if detrend is False:
        return None
    if detrend == "constant":
        return _level
    if detrend == "linear":
        return _straight
    if not callable(detrend):
        raise ValueError(explain(f"tanx.scipy.signal.{function}",
                                 "detrend must be 'constant', 'linear', a function or False.",
                                 f"detrend: {detrend!r}"))
    if axis == -1:
        return detrend
    return lambda x: jnp.moveaxis(detrend(jnp.moveaxis(x, -1, axis)), axis, -1)


def _level(x):
    return without_mean(x, x.ndim - 1)


def _straight(x):
    return without_trend(x, x.ndim - 1)


@library_jit(name="segments", static_argnums=(2, 3, 4, 5))
def _spectra(x, window, step: int, nfft: int, trend, onesided: bool):
    """Transforms of the segments of the last axis: new axes for segments and frequencies."""
    size = window.shape[0]
    starts = step * jnp.arange((x.shape[-1] - size) // step + 1)
    cut = vmap(lambda start: lax.dynamic_slice_in_dim(x, start, size, x.ndim - 1), out_axes=-2)
    segments = cut(starts)
    if trend is not None:
        segments = trend(segments)
    return (jnp.fft.rfft if onesided else jnp.fft.fft)(
        segments * jnp.broadcast_to(window, segments.shape), nfft)


def _signal(function: str, x, axis) -> tuple[Any, int]:
    """``x`` as inexact numbers with the signal along the last axis, and the original axis."""
    x = as_operand(function, x)
    axis = canonical_axis(f"scipy.signal.{function}", axis, x)
    x = x.astype(dtypes.to_inexact_dtype(x.dtype))
    return jnp.moveaxis(x, axis, -1), axis


def _one_sided(function: str, wanted: bool, *signals) -> bool:
    """Whether only nonnegative frequencies are returned; real signals have conjugate others."""
    if wanted and any(x.dtype.kind == "c" for x in signals):
        warn_user(explain(f"tanx.scipy.signal.{function}",
                          "spectra of complex signals have two sides.",
                          hint="return_onesided=False avoids this warning."))
        return False
    return wanted


def _frequencies(nfft: int, fs, onesided: bool, dtype):
    numbers = np.fft.rfftfreq(nfft) if onesided else np.fft.fftfreq(nfft)
    return jnp.asarray(numbers.astype(dtype)) * fs


# -- spectra over time -----------------------------------------------------------------------------

_EDGES: dict[Any, dict] = {
    "even": dict(mode="reflect"), "odd": dict(mode="reflect", reflect_type="odd"),
    "constant": dict(mode="edge"), "zeros": dict(mode="constant")}


def stft(x, fs=1.0, window="hann", nperseg: int = 256, noverlap: int | None = None,
         nfft: int | None = None, detrend=False, return_onesided: bool = True,
         boundary: str | None = "zeros", padded: bool = True, axis: int = -1):
    """The short-time Fourier transform: frequencies, times, and the spectrum at each of the times.

    The signal ``x``, ``fs`` samples a second along ``axis``, is cut into segments of ``nperseg``
    samples; neighbours overlap by ``noverlap`` samples, half a segment by default. Segments are
    multiplied by ``window``, a vector or a name for :func:`scipy.signal.get_window`, padded with
    zeros to ``nfft`` samples, and transformed. ``detrend`` is ``"constant"``, ``"linear"``, or a
    function of segments along ``axis``. Frequencies replace ``axis``; times come last.

    ``boundary`` continues the signal beyond its ends, so that the first and the last segment are
    centred there: ``"zeros"``, ``"constant"``, ``"even"``, ``"odd"``, or None for no such segments.
    ``padded`` adds zeros to complete the last segment.

    >>> f, t, spectrum = tanx.scipy.signal.stft(jnp.ones(8), nperseg=4)
    >>> abs(spectrum[0])
    Array([0.75, 1.  , 1.  , 1.  , 0.25], dtype=float32)
    """
    if boundary is not None and boundary not in _EDGES:
        raise ValueError(explain(
            "tanx.scipy.signal.stft",
            "boundary must be 'even', 'odd', 'constant', 'zeros' or None.",
            f"boundary: {boundary!r}"))
    given = axis
    x, axis = _signal("stft", x, axis)
    trend = _trend("stft", detrend, given)
    if not x.size:
        nothing = jnp.moveaxis(jnp.zeros_like(x), -1, axis)
        return nothing.real, nothing.real, nothing.astype(dtypes.to_complex_dtype(x.dtype))
    onesided = _one_sided("stft", return_onesided, x)
    cut = _segments("stft", x, window, nperseg, noverlap, nfft)
    step = cut.size - cut.overlap
    lead = [(0, 0)] * (x.ndim - 1)
    if boundary is not None:
        x = jnp.pad(x, [*lead, (cut.size // 2,) * 2], **_EDGES[boundary])
    if padded:
        x = jnp.pad(x, [*lead, (0, (cut.size - x.shape[-1]) % step % cut.size)])
    spectra = _spectra(x, cut.window / cut.window.sum(), step, cut.nfft, trend, onesided)
    first = 0 if boundary is not None else cut.size / 2
    times = (step * np.arange(spectra.shape[-2]) + first).astype(x.real.dtype)
    return (_frequencies(cut.nfft, fs, onesided, x.real.dtype), jnp.asarray(times) / fs,
            jnp.moveaxis(spectra, -1, axis))


def istft(Zxx, fs=1.0, window="hann", nperseg: int | None = None, noverlap: int | None = None,
          nfft: int | None = None, input_onesided: bool = True, boundary: bool = True,
          time_axis: int = -1, freq_axis: int = -2):
    """Times and the signal whose short-time Fourier transform is ``Zxx``.

    The parameters are those passed to :func:`stft`; ``boundary`` says whether it was not None
    there. Overlapping segments are weighted so that weights sum to one wherever a window is
    nonzero.

    >>> _, _, spectrum = tanx.scipy.signal.stft(jnp.arange(8.), nperseg=4)
    >>> times, signal = tanx.scipy.signal.istft(spectrum)
    >>> signal.round(3)
    Array([0., 1., 2., 3., 4., 5., 6., 7.], dtype=float32)
    """
    Z = as_operand("istft", Zxx)
    name, fact = "tanx.scipy.signal.istft", f"Zxx: {typeof(Z)}"
    if Z.ndim < 2:
        raise ValueError(explain(name, "needs dimensions for frequencies and times.", fact))
    time_axis = canonical_axis("scipy.signal.istft", time_axis, Z)
    freq_axis = canonical_axis("scipy.signal.istft", freq_axis, Z)
    if time_axis == freq_axis:
        raise ValueError(explain(name, "time_axis and freq_axis must differ.", fact,
                                 f"both: {time_axis}"))
    Z = jnp.moveaxis(Z, (time_axis, freq_axis), (-2, -1))
    Z = Z.astype(dtypes.to_complex_dtype(dtypes.to_inexact_dtype(Z.dtype)))
    cut = _inverse_segments(Z, window, nperseg, noverlap, nfft, input_onesided)
    x = _overlapped(Z, cut.window, cut.size - cut.overlap, cut.nfft, input_onesided)
    if boundary:
        x = x[..., cut.size // 2:x.shape[-1] - cut.size // 2]
    times = jnp.arange(x.shape[-1], dtype=x.real.dtype) / fs
    return times, jnp.moveaxis(x, -1, time_axis - (freq_axis < time_axis))


def _inverse_segments(Z, window, nperseg, noverlap, nfft, onesided: bool) -> Segments:
    """How the signal was cut whose times and frequencies are the last axes of ``Z``."""
    name, count = "tanx.scipy.signal.istft", Z.shape[-1]
    if not Z.shape[-2]:
        raise ValueError(explain(name, "there must be at least one segment.",
                                 f"segments: {Z.shape[-2]}"))
    default = 2 * (count - 1) if onesided else count
    size = default if nperseg is None else operator.index(nperseg)
    if size < 1:
        raise ValueError(explain(name, "nperseg must be positive.", f"nperseg: {nperseg}"))
    if nfft is None and not (onesided and size == default + 1):  # an odd size has the same number
        nfft = max(default, size) if size > default else default
    length = _transformed(name, nfft, size)
    window = window_of("istft", window, size, Z.real.dtype)
    if window.shape[0] != size:
        raise ValueError(explain(name, "the window must be as long as a segment.",
                                 f"window:  {typeof(window)}", f"nperseg: {size}"))
    return Segments(window, size, _overlap(name, noverlap, size), length)


@library_jit(name="overlapped", static_argnums=(2, 3, 4))
def _overlapped(Z, window, step: int, nfft: int, onesided: bool):
    """The weighted sum of overlapping segments."""
    segments = (jnp.fft.irfft if onesided else jnp.fft.ifft)(Z, nfft)[..., :window.shape[0]]
    weights = jnp.broadcast_to(window * window.sum(), segments.shape)
    total = _added_up(segments * weights, step)
    weight = _added_up(jnp.broadcast_to(window ** 2, segments.shape[-2:]), step)
    return total / jnp.where(weight > 1e-10, weight, 1)


def _added_up(segments, step: int):
    """The sum of segments, each of which begins ``step`` after the one before.

    They are cut into pieces of that size; piece ``k`` of each is moved by ``k`` places, which is a
    reshape: with rows one longer, each row begins one place later.
    """
    *lead, count, size = segments.shape
    pieces = -(-size // step)
    blank = [(0, 0)] * len(lead)
    segments = jnp.pad(segments, [*blank, (0, 0), (0, pieces * step - size)])
    rows = jnp.moveaxis(segments.reshape(*lead, count, pieces, step), -2, -3)
    rows = jnp.pad(rows, [*blank, (0, 0), (0, pieces), (0, 0)])
    rows = rows.reshape(*lead, pieces * (count + pieces), step)[..., :-pieces, :]
    rows = rows.reshape(*lead, pieces, count + pieces - 1, step)
    out = rows.sum(-3).reshape(*lead, (count + pieces - 1) * step)
    return out[..., :(count - 1) * step + size]


# -- averaged spectra ------------------------------------------------------------------------------


def csd(x, y, fs=1.0, window="hann", nperseg: int | None = None, noverlap: int | None = None,
        nfft: int | None = None, detrend="constant", return_onesided: bool = True,
        scaling: str = "density", axis: int = -1, average: str = "mean"):
    """Frequencies and the cross power spectral density of two signals, by Welch's method.

    Signals are cut into segments, which are transformed as in :func:`stft`; the products of the
    spectra of ``y`` with the conjugate spectra of ``x`` are averaged over segments, by ``"mean"``
    or ``"median"``. Without ``nperseg`` there is one segment, the whole signal; if ``window`` is a
    vector, segments have its length. ``scaling`` is ``"density"`` for power per unit of frequency,
    or ``"spectrum"`` for power. The shorter signal is padded with zeros; None for ``y`` means
    ``x``, and makes the result real.

    >>> x = jnp.array([1., -1., 1., -1.])
    >>> f, power = tanx.scipy.signal.csd(x, 2 * x, window="boxcar")
    >>> power
    Array([0.+0.j, 0.+0.j, 8.+0.j], dtype=complex64)
    """
    return _density("csd", x, y, fs, window, nperseg, noverlap, nfft, detrend, return_onesided,
                    scaling, axis, average)


def welch(x, fs=1.0, window="hann", nperseg: int | None = None, noverlap: int | None = None,
          nfft: int | None = None, detrend="constant", return_onesided: bool = True,
          scaling: str = "density", axis: int = -1, average: str = "mean"):
    """Frequencies and the power spectral density of a signal, by Welch's method.

    The parameters are those of :func:`csd`.

    >>> f, power = tanx.scipy.signal.welch(jnp.array([1., -1., 1., -1.]), window="boxcar")
    >>> f, power
    (Array([0.  , 0.25, 0.5 ], dtype=float32), Array([0., 0., 4.], dtype=float32))
    """
    return _density("welch", x, None, fs, window, nperseg, noverlap, nfft, detrend, return_onesided,
                    scaling, axis, average)


def _density(function: str, x, y, fs, window, nperseg, noverlap, nfft, detrend, onesided, scaling,
             axis, average):
    name = f"tanx.scipy.signal.{function}"
    if scaling not in ("density", "spectrum"):
        raise ValueError(explain(name, "scaling must be 'density' or 'spectrum'.",
                                 f"scaling: {scaling!r}"))
    if average not in ("mean", "median"):
        raise ValueError(explain(name, "average must be 'mean' or 'median'.",
                                 f"average: {average!r}"))
    trend = _trend(function, detrend, axis)
    x, y, axis = _signals(function, x, y, axis)
    if not x.size or (y is not None and not y.size):
        nothing = jnp.moveaxis(jnp.zeros(x.shape[:-1] + (0,), x.real.dtype), -1, axis)
        return nothing, nothing if y is None else nothing.astype(dtypes.to_complex_dtype(x.dtype))
    onesided = _one_sided(function, onesided, *(x,) if y is None else (x, y))
    longest = x if y is None or x.shape[-1] >= y.shape[-1] else y
    cut = _segments(function, longest, window, nperseg, noverlap, nfft)
    step = cut.size - cut.overlap
    first = _spectra(_filled(x, longest), cut.window, step, cut.nfft, trend, onesided)
    if y is None:
        power = first.real ** 2 + first.imag ** 2
    else:
        power = first.conj() * _spectra(_filled(y, longest), cut.window, step, cut.nfft, trend,
                                        onesided)
    if scaling == "density":
        total = fs * (cut.window ** 2).sum()
    else:
        total = cut.window.sum() ** 2
    power = power / total.astype(power.dtype)
    power = _averaged(_folded(power, cut.nfft) if onesided else power, average)
    return (_frequencies(cut.nfft, fs, onesided, x.real.dtype), jnp.moveaxis(power, -1, axis))


def _signals(function: str, x, y, axis) -> tuple:
    """Both signals in one dtype, along the last axis; ``y`` may be None."""
    x, place = _signal(function, x, axis)
    if y is None:
        return x, None, place
    check_arraylike(function, y)
    facts = f"x: {typeof(x)}", f"y: {typeof(y)}"
    if np.ndim(y) != x.ndim:
        raise ValueError(explain(f"tanx.scipy.signal.{function}",
                                 "signals must have the same number of dimensions.", *facts))
    y, _ = _signal(function, y, axis)
    try:
        np.broadcast_shapes(x.shape[:-1], y.shape[:-1])
    except ValueError:
        raise ValueError(explain(f"tanx.scipy.signal.{function}",
                                 "signals must broadcast along the other axes.", *facts)) from None
    return *promote_dtypes(x, y), place


def _filled(x, longest):
    """``x`` padded with zeros to the length of the longest signal."""
    return jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, longest.shape[-1] - x.shape[-1])])


def _folded(power, nfft: int):
    """Power with that of negative frequencies added; 0 and the middle of an even size have none."""
    twice = np.full(power.shape[-1], 2, power.real.dtype)
    twice[0] = 1
    if nfft % 2 == 0:
        twice[-1] = 1
    return power * jnp.broadcast_to(twice.astype(power.dtype), power.shape)


def _averaged(power, average: str):
    """The average over segments, the axis before the last."""
    if power.shape[-2] == 1 or average == "mean":
        return power.mean(-2)
    # The power of noise is distributed exponentially: its median is less than its mean by this
    # factor, an alternating harmonic sum.
    odd = 2 * np.arange(1, (power.shape[-2] - 1) // 2 + 1)
    bias = 1 + np.sum(1 / (odd + 1) - 1 / odd)
    if power.dtype.kind == "c":
        return lax.complex(jnp.median(power.real, -2), jnp.median(power.imag, -2)) / bias
    return jnp.median(power, -2) / bias
