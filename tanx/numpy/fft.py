"""tanx.numpy.fft: Fourier transforms with NumPy's interface.

A forward transform is ``sum(x[k] * exp(-2j * pi * k * f / n))`` for each frequency ``f``; the
inverse has the opposite sign in the exponent. ``norm`` selects the scaling: ``"backward"`` divides
the inverse by ``n``, ``"forward"`` the forward transform, ``"ortho"`` both by the square root of
``n``. Results are complex64 unless the operand is float64 or complex128. All transforms have
derivatives of any order.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from math import prod, sqrt

import numpy as np

from .. import dtypes
from .._api.jit import library_jit
from .._base.axes import canonical_axis
from .._base.traceback import shown
from .._base.window import publish
from ..errors import explain
from ..lax import _functions as lax
from ..lax._functions import FftType as _FftType
from ._assemble import roll
from ._complex import conj
from ._creation import placed
from ._math import remainder
from ._pad import pad
from ._promotion import as_operand, convert, like
from ._shape import transpose

__all__ = ["fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn",
           "ifftshift", "ihfft", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn"]

_OPPOSITE = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


@library_jit(name="fft", static_argnums=(1, 2))
def _transform(x, kind, lengths):
    return lax.fft(x, kind, lengths)


def _scale(function: str, kind, norm, count: int) -> float:
    """The factor by which a norm multiplies the result of a transform."""
    if norm not in _OPPOSITE:
        raise ValueError(explain(f"tanx.numpy.fft.{function}",
                                 'norm must be "backward", "ortho" or "forward".',
                                 f"norm: {norm!r}"))
    power = {"ortho": 0.5, "forward": 1.0}.get(norm, 0.0)
    scale = sqrt(count) if power == 0.5 else float(count) if power else 1.0
    return scale if kind in (_FftType.IFFT, _FftType.IRFFT) else 1 / scale if scale else 1.0


def _axes(function: str, axes, lengths, a) -> tuple[int, ...]:
    """The dimensions to transform; by default the last ones, one for each length."""
    rank = a.ndim
    if axes is None:
        axes = range(rank) if lengths is None else range(rank - len(lengths), rank)
        if len(axes) > rank:
            raise ValueError(explain(f"tanx.numpy.fft.{function}",
                                     "there are more lengths than dimensions.",
                                     f"s: {tuple(lengths)}", f"dimensions: {rank}"))
    found = tuple([canonical_axis(f"fft.{function}", axis, a) for axis in axes])
    if len(set(found)) < len(found):
        raise ValueError(explain(f"tanx.numpy.fft.{function}", "axes must be distinct.",
                                 f"axes: {tuple(axes)}"))
    if lengths is not None and len(lengths) != len(found):
        raise ValueError(explain(f"tanx.numpy.fft.{function}",
                                 "there must be as many lengths as axes.",
                                 f"s:    {tuple(lengths)}", f"axes: {tuple(axes)}"))
    return found


def _along(function: str, kind, a, lengths, axes, norm):
    """A transform of any kind along some dimensions."""
    a = as_operand(f"fft.{function}", a)
    if kind == _FftType.RFFT and a.dtype.kind == "c":
        raise ValueError(explain(f"tanx.numpy.fft.{function}", "takes real numbers.",
                                 f"operand: {a.aval}", hint="fft takes complex ones."))
    axes = _axes(function, axes, lengths, a)
    back = sorted(range(a.ndim), key=lambda d: (d in axes, axes.index(d) if d in axes else d))
    moved = back != list(range(a.ndim))
    a = transpose(a, back) if moved else a
    if lengths is None:
        lengths = a.shape[a.ndim - len(axes):]
        if kind == _FftType.IRFFT and lengths:
            lengths = (*lengths[:-1], max(0, 2 * (lengths[-1] - 1)))
    else:
        lengths = tuple(map(operator.index, lengths))
        a = _resized(function, a, lengths, kind)
    scale = _scale(function, kind, norm, prod(lengths))
    out = _transform(a, kind, lengths)
    if scale != 1:
        out = lax.mul(out, like(out, scale))
    return transpose(out, np.argsort(back)) if moved else out


def _resized(function: str, a, lengths: tuple[int, ...], kind):
    """``a`` with its last dimensions cut or padded with zeros to these lengths."""
    if any(n < 1 for n in lengths):
        raise ValueError(explain(f"tanx.numpy.fft.{function}", "lengths must be positive.",
                                 f"lengths: {lengths}"))
    if kind == _FftType.IRFFT:
        lengths = (*lengths[:-1], lengths[-1] // 2 + 1)
    lead = a.ndim - len(lengths)
    if any(n < m for n, m in zip(lengths, a.shape[lead:])):
        limits = (*a.shape[:lead], *map(min, lengths, a.shape[lead:]))
        a = lax.slice(a, (0,) * a.ndim, limits)
    widths = [(0, 0)] * lead + [(0, n - m) for n, m in zip(lengths, a.shape[lead:])]
    return pad(a, widths)


def _one(function: str, kind, a, n, axis, norm):
    """A transform along one dimension."""
    if isinstance(axis, Sequence):
        raise ValueError(explain(f"tanx.numpy.fft.{function}", "transforms along one axis.",
                                 f"axis: {axis}", hint=f"{function}n takes several."))
    return _along(function, kind, a, None if n is None else (n,), (axis,), norm)


def _two(function: str, kind, a, s, axes, norm):
    """A transform along two dimensions."""
    if len(axes) != 2:
        raise ValueError(explain(f"tanx.numpy.fft.{function}", "transforms along two axes.",
                                 f"axes: {tuple(axes)}", hint=f"{function[:-1]}n takes others."))
    return _along(function, kind, a, s, axes, norm)


# -- complex numbers -------------------------------------------------------------------------------


def fft(a, n=None, axis=-1, norm=None):
    """The Fourier transform of ``a`` along ``axis``.

    ``n`` is the length of the transform: ``a`` is cut or padded with zeros to it. For
    ``norm`` see :mod:`tanx.numpy.fft`.

    >>> jnp.fft.fft(jnp.array([1., 0., -1., 0.]))
    Array([0.+0.j, 2.+0.j, 0.+0.j, 2.+0.j], dtype=complex64)
    """
    return _one("fft", _FftType.FFT, a, n, axis, norm)


def ifft(a, n=None, axis=-1, norm=None):
    """The inverse of :func:`fft`, with the same parameters.

    >>> jnp.fft.ifft(jnp.array([0., 2., 0., 2.]))
    Array([ 1.+0.j,  0.+0.j, -1.+0.j,  0.+0.j], dtype=complex64)
    """
    return _one("ifft", _FftType.IFFT, a, n, axis, norm)


def fft2(a, s=None, axes=(-2, -1), norm=None):
    """The Fourier transform of ``a`` along two ``axes``; ``s`` gives other lengths than the sizes.

    >>> jnp.fft.fft2(jnp.array([[1., 1.], [0., 0.]]))
    Array([[2.+0.j, 0.+0.j],
           [2.+0.j, 0.+0.j]], dtype=complex64)
    """
    return _two("fft2", _FftType.FFT, a, s, axes, norm)


def ifft2(a, s=None, axes=(-2, -1), norm=None):
    """The inverse of :func:`fft2`, with the same parameters.

    >>> jnp.fft.ifft2(jnp.array([[2., 0.], [2., 0.]]))
    Array([[1.+0.j, 1.+0.j],
           [0.+0.j, 0.+0.j]], dtype=complex64)
    """
    return _two("ifft2", _FftType.IFFT, a, s, axes, norm)


def fftn(a, s=None, axes=None, norm=None):
    """The Fourier transform of ``a`` along several ``axes``, all by default.

    ``s`` holds the lengths of the transforms; without ``axes``, they are for the last axes.

    >>> jnp.fft.fftn(jnp.ones((2, 2, 2)))[0]
    Array([[8.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]], dtype=complex64)
    """
    return _along("fftn", _FftType.FFT, a, s, axes, norm)


def ifftn(a, s=None, axes=None, norm=None):
    """The inverse of :func:`fftn`, with the same parameters.

    >>> jnp.fft.ifftn(jnp.ones((2, 2)))
    Array([[1.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]], dtype=complex64)
    """
    return _along("ifftn", _FftType.IFFT, a, s, axes, norm)


# -- real numbers ----------------------------------------------------------------------------------


def rfft(a, n=None, axis=-1, norm=None):
    """The Fourier transform of real numbers: the ``n // 2 + 1`` frequencies starting at 0.

    The values at the other frequencies are the conjugates. Parameters are as in :func:`fft`.

    >>> jnp.fft.rfft(jnp.array([1., 2., 3., 4.]))
    Array([10.+0.j, -2.+2.j, -2.+0.j], dtype=complex64)
    """
    return _one("rfft", _FftType.RFFT, a, n, axis, norm)


def irfft(a, n=None, axis=-1, norm=None):
    """The inverse of :func:`rfft`: real numbers.

    ``n`` is the length of the result, an even number by default.

    >>> jnp.fft.irfft(jnp.array([10., -2. + 2.j, -2.]))
    Array([1., 2., 3., 4.], dtype=float32)
    """
    return _one("irfft", _FftType.IRFFT, a, n, axis, norm)


def rfft2(a, s=None, axes=(-2, -1), norm=None):
    """The Fourier transform of real numbers along two axes; half of the last one is kept.

    >>> jnp.fft.rfft2(jnp.ones((2, 4)))
    Array([[8.+0.j, 0.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j, 0.+0.j]], dtype=complex64)
    """
    return _two("rfft2", _FftType.RFFT, a, s, axes, norm)


def irfft2(a, s=None, axes=(-2, -1), norm=None):
    """The inverse of :func:`rfft2`; ``s`` holds the lengths of the result.

    >>> jnp.fft.irfft2(jnp.array([[8., 0., 0.], [0., 0., 0.]]))
    Array([[1., 1., 1., 1.],
           [1., 1., 1., 1.]], dtype=float32)
    """
    return _two("irfft2", _FftType.IRFFT, a, s, axes, norm)


def rfftn(a, s=None, axes=None, norm=None):
    """The Fourier transform of real numbers along several axes; half of the last one is kept.

    >>> jnp.fft.rfftn(jnp.ones((2, 3, 4))).shape
    (2, 3, 3)
    """
    return _along("rfftn", _FftType.RFFT, a, s, axes, norm)


def irfftn(a, s=None, axes=None, norm=None):
    """The inverse of :func:`rfftn`; ``s`` holds the lengths of the result.

    >>> jnp.fft.irfftn(jnp.ones((2, 3, 3)), s=(2, 3, 5)).shape
    (2, 3, 5)
    """
    return _along("irfftn", _FftType.IRFFT, a, s, axes, norm)


def hfft(a, n=None, axis=-1, norm=None):
    """The real Fourier transform of a Hermitian-symmetric signal, given its first half.

    ``n`` is the length of the result, an even number by default.

    >>> jnp.fft.hfft(jnp.array([1., 2., 3.]))
    Array([ 8., -2.,  0., -2.], dtype=float32)
    """
    a = as_operand("fft.hfft", a)
    return _one("hfft", _FftType.IRFFT, conj(a), n, axis, _OPPOSITE.get(norm, norm))


def ihfft(a, n=None, axis=-1, norm=None):
    """The inverse of :func:`hfft`; takes real numbers.

    >>> jnp.fft.ihfft(jnp.array([8., -2., 0., -2.]))
    Array([1.-0.j, 2.-0.j, 3.-0.j], dtype=complex64)
    """
    a = as_operand("fft.ihfft", a)
    made = conj(_one("ihfft", _FftType.RFFT, a, n, axis, None))
    scale = _scale("ihfft", _FftType.RFFT, _OPPOSITE.get(norm, norm),
                   a.shape[axis] if n is None else n)
    return made if scale == 1 else lax.mul(made, like(made, scale))


# -- frequencies -----------------------------------------------------------------------------------


def _spacing(function: str, n, d):
    """The number of frequencies, and the total time of all samples."""
    for name, value in (("n", n), ("d", d)):
        if isinstance(value, list | tuple) or np.ndim(value):
            raise ValueError(explain(f"tanx.numpy.fft.{function}", f"{name} is a single number.",
                                     f"{name}: {value!r}"))
    if isinstance(d, complex):
        raise TypeError(explain(f"tanx.numpy.fft.{function}", "steps are real numbers.",
                                f"d: {d!r}"))
    return operator.index(n), d * n


def _real(dtype: np.dtype) -> np.dtype:
    """The real dtype of frequencies."""
    return dtypes.to_floating_dtype(dtypes.to_inexact_dtype(dtype))


def _dtype(function: str, dtype):
    return dtypes.default_float() if dtype is None else dtypes.requested_dtype(
        dtype, f"tanx.numpy.fft.{function}")


def fftfreq(n, d=1.0, *, dtype=None, device=None):
    """The frequencies that :func:`fft` gives for ``n`` samples in steps of ``d``, in its order.

    >>> jnp.fft.fftfreq(4, 0.5)
    Array([ 0. ,  0.5, -1. , -0.5], dtype=float32)
    """
    n, time = _spacing("fftfreq", n, d)
    dtype = _dtype("fftfreq", dtype)
    k = lax.iota(_real(dtype), n)
    return placed(convert((remainder(k + n // 2, n) - n // 2) / time, dtype), device)


def rfftfreq(n, d=1.0, *, dtype=None, device=None):
    """The frequencies that :func:`rfft` gives for ``n`` samples in steps of ``d``.

    >>> jnp.fft.rfftfreq(4, 0.5)
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    n, time = _spacing("rfftfreq", n, d)
    dtype = _dtype("rfftfreq", dtype)
    k = lax.iota(_real(dtype), n // 2 + 1)
    return placed(convert(k / time, dtypes.to_inexact_dtype(dtype)), device)


def fftshift(x, axes=None):
    """``x`` with frequency 0 moved to the middle, along ``axes``; all of them by default.

    >>> jnp.fft.fftshift(jnp.array([0, 1, 2, -2, -1]))
    Array([-2, -1,  0,  1,  2], dtype=int32)
    """
    return _shifted("fftshift", x, axes, 1)


def ifftshift(x, axes=None):
    """The inverse of :func:`fftshift`.

    >>> jnp.fft.ifftshift(jnp.array([-2, -1,  0,  1,  2]))
    Array([ 0,  1,  2, -2, -1], dtype=int32)
    """
    return _shifted("ifftshift", x, axes, -1)


def _shifted(function: str, x, axes, sign: int):
    x = as_operand(f"fft.{function}", x)
    axes = tuple(range(x.ndim)) if axes is None else axes
    axes = tuple(axes) if isinstance(axes, Sequence | np.ndarray) else (axes,)
    axes = tuple([canonical_axis(f"fft.{function}", axis, x) for axis in axes])
    return roll(x, tuple([sign * (x.shape[axis] // 2) for axis in axes]), axes)


publish(__name__, shown)
