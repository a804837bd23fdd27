"""tanx.scipy.fft: cosine transforms, computed by real Fourier transforms of the same length.

With ``k`` the index of a result, ``j`` that of an element and ``n`` their number, the transforms
without a norm are::

    type 1   x[0] + (-1)**k * x[n-1] + 2 * sum(x[j] * cos(pi * k * j / (n - 1)) for 0 < j < n - 1)
    type 2   2 * sum(x[j] * cos(pi * k * (2*j + 1) / (2*n)))
    type 3   x[0] + 2 * sum(x[j] * cos(pi * j * (2*k + 1) / (2*n)) for 0 < j)
    type 4   2 * sum(x[j] * cos(pi * (2*k + 1) * (2*j + 1) / (4*n)))

Types 1 and 4 are their own inverses up to a factor; 2 and 3 are inverses of each other. The factor
is ``2 * n``, or ``2 * (n - 1)`` for type 1. The inverse divides by it (``norm="backward"`` or
None), or the transform does (``"forward"``), or both divide by its square root (``"ortho"``, which
also scales the first element, and for type 1 the last, so that the transform is orthogonal).
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from math import pi, sqrt
from typing import Any

import numpy as np

from .. import dtypes
from .. import numpy as jnp
from .._api.jit import library_jit
from .._base.axes import canonical_axis
from .._base.traceback import shown
from .._base.window import publish
from ..errors import explain
from ..lax import complex as complex_of
from ..numpy._promotion import as_operand, typeof

__all__ = ["dct", "dctn", "idct", "idctn"]

_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}
_OPPOSITE = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


# -- transforms of the last dimension, without a norm ----------------------------------------------


def _turns_like(x, parts: int, start: float = 0.0) -> np.ndarray:
    """``exp(-1j * pi * (k + start) / parts)`` for each ``k`` along the last axis of ``x``."""
    turns = np.exp(-1j * pi * (np.arange(x.shape[-1]) + start) / parts)
    return np.expand_dims(turns.astype(x.dtype), tuple(range(x.ndim - 1)))


def _dct1(x):
    """The real Fourier transform of ``x`` continued as an even function."""
    if x.shape[-1] == 2:  # no elements between the ends
        first, last = x[..., :1], x[..., 1:]
        return jnp.concatenate([first + last, first - last], -1)
    return jnp.fft.rfft(jnp.concatenate([x, x[..., -2:0:-1]], -1)).real


def _dct2(x):
    """Elements of even index in order, then those of odd index backwards; then a real transform.

    Frequencies above the middle are conjugates of those below: they come from the imaginary parts.
    """
    n = x.shape[-1]
    spectrum = jnp.fft.rfft(jnp.concatenate([x[..., ::2], x[..., 1::2][..., ::-1]], -1))
    turned = 2 * spectrum * _turns_like(spectrum, 2 * n)
    return jnp.concatenate([turned.real, -turned.imag[..., (n - 1) // 2:0:-1]], -1)


def _dct3(x):
    """The steps of :func:`_dct2` backwards; a real inverse transform divides by ``n``."""
    n = x.shape[-1]
    above = jnp.concatenate([jnp.zeros_like(x[..., :1]), x[..., :(n - 1) // 2:-1]], -1)
    spectrum = complex_of(x[..., :n // 2 + 1], -above)
    turned = spectrum * _turns_like(spectrum, 2 * n).conj()
    mixed = jnp.fft.irfft(turned, n) * n
    there = np.arange(n)
    return mixed[..., np.where(there % 2, n - 1 - there // 2, there // 2)]


def _dct4(x):
    """The odd frequencies of a type 2 transform of ``2 * n`` elements."""
    n = x.shape[-1]
    wide = jnp.concatenate([x, jnp.zeros_like(x)], -1).astype(dtypes.to_complex_dtype(x.dtype))
    spectrum = jnp.fft.fft(wide * _turns_like(wide, 2 * n))[..., :n]
    return 2 * (spectrum * _turns_like(spectrum, 2 * n, 0.5)).real


_TRANSFORMS = {1: _dct1, 2: _dct2, 3: _dct3, 4: _dct4}


# -- norms and axes --------------------------------------------------------------------------------


def _weights(type: int, n: int) -> tuple[Any, Any]:
    """The factors of an orthogonal transform, before and after; None for ones."""
    ends = np.ones(n)
    if type == 1:
        ends[[0, -1]] = sqrt(2)
        return ends, 1 / ends
    ends[0] = sqrt(2)
    return (None, 1 / ends) if type == 2 else (ends, None) if type == 3 else (None, None)


@library_jit(name="dct", static_argnums=(1, 2, 3, 4))
def _along(x, type: int, n: int | None, axis: int, norm):
    """A transform along one dimension; real and imaginary parts are transformed separately."""
    if x.dtype.kind == "c":
        return complex_of(_along(x.real, type, n, axis, norm), _along(x.imag, type, n, axis, norm))
    x = jnp.moveaxis(x, axis, -1)
    if n is not None:
        x = jnp.pad(x[..., :n], [(0, 0)] * (x.ndim - 1) + [(0, max(0, n - x.shape[-1]))])
    n = x.shape[-1]
    factor = 2 * (n - 1) if type == 1 else 2 * n
    before, after = _weights(type, n) if norm == "ortho" else (None, None)
    out = _TRANSFORMS[type](x if before is None else x * before.astype(x.dtype))
    scale = {"ortho": 1 / sqrt(factor), "forward": 1 / factor}.get(norm, 1.0)
    if after is not None:
        out = out * (after * scale).astype(x.dtype)
    elif scale != 1:
        out = out * scale
    return jnp.moveaxis(out, -1, axis)


def _operand(function: str, x, type, norm):
    """``x`` in a dtype that can be transformed: integers and narrow floats become float32."""
    if type not in _TRANSFORMS:
        raise NotImplementedError(explain(f"tanx.scipy.fft.{function}",
                                          "type must be 1, 2, 3 or 4.", f"type: {type!r}"))
    if norm not in _OPPOSITE:
        raise ValueError(explain(f"tanx.scipy.fft.{function}",
                                 'norm must be None, "backward", "ortho" or "forward".',
                                 f"norm: {norm!r}"))
    x = as_operand(function, x)
    dtype = dtypes.to_inexact_dtype(x.dtype)
    return x.astype(dtype if dtype.kind == "c" or dtype.itemsize > 2 else np.float32)


def _checked(function: str, x, type: int, lengths, axes) -> None:
    least = 2 if type == 1 else 1
    sizes = [x.shape[axis] if n is None else n for n, axis in zip(lengths, axes)]
    if any(size < least for size in sizes):
        raise ValueError(explain(
            f"tanx.scipy.fft.{function}", f"lengths of type {type} are at least {least}.",
            f"operand: {typeof(x)}", f"lengths: {tuple(sizes)}"))


def _one(function: str, x, type, n, axis, norm, inverse: bool):
    x = _operand(function, x, type, norm)
    axis = canonical_axis(f"scipy.fft.{function}", axis, x)
    n = None if n is None else operator.index(n)
    _checked(function, x, type, (n,), (axis,))
    if inverse:
        type, norm = _INVERSE[type], _OPPOSITE[norm]
    return _along(x, type, n, axis, norm)


def _several(function: str, x, type, s, axes, norm, inverse: bool):
    x = _operand(function, x, type, norm)
    if s is not None and not isinstance(s, Sequence):
        s = (s,)
    if axes is None:
        axes = range(x.ndim) if s is None else range(x.ndim - len(s), x.ndim)
    elif not isinstance(axes, Sequence):
        axes = (axes,)
    axes = [canonical_axis(f"scipy.fft.{function}", axis, x) for axis in axes]
    if len(set(axes)) < len(axes):
        raise ValueError(explain(f"tanx.scipy.fft.{function}", "axes must be distinct.",
                                 f"axes: {tuple(axes)}"))
    lengths = [None] * len(axes) if s is None else [operator.index(n) for n in s]
    if len(lengths) != len(axes):
        raise ValueError(explain(f"tanx.scipy.fft.{function}",
                                 "there must be as many lengths as axes.",
                                 f"s:    {tuple(lengths)}", f"axes: {tuple(axes)}"))
    _checked(function, x, type, lengths, axes)
    if inverse:
        type, norm = _INVERSE[type], _OPPOSITE[norm]
    for n, axis in zip(lengths, axes):
        x = _along(x, type, n, axis, norm)
    return x


# -- functions of the module -----------------------------------------------------------------------


def dct(x, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None):
    """The cosine transform of ``x`` along ``axis``.

    ``type`` is 1, 2, 3 or 4 and ``norm`` None, ``"backward"``, ``"ortho"`` or ``"forward"``; see
    :mod:`tanx.scipy.fft` for both. ``n`` is the length of the transform: ``x`` is cut or padded
    with zeros to it.

    >>> tanx.scipy.fft.dct(jnp.array([1., 2., 4.])).round(3)
    Array([14.   , -5.196,  1.   ], dtype=float32)
    """
    return _one("dct", x, type, n, axis, norm, False)


def idct(x, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None):
    """The inverse of :func:`dct`, with the same parameters.

    >>> tanx.scipy.fft.idct(jnp.array([12., 0., 0.]))
    Array([2., 2., 2.], dtype=float32)
    """
    return _one("idct", x, type, n, axis, norm, True)


def dctn(x, type: int = 2, s=None, axes=None, norm: str | None = None):
    """The cosine transform along several axes, of lengths ``s``; all of them by default.

    ``type`` and ``norm`` are those of :func:`dct`. Lengths without ``axes`` are for the last ones.

    >>> tanx.scipy.fft.dctn(jnp.ones((2, 2)))
    Array([[16.,  0.],
           [ 0.,  0.]], dtype=float32)
    """
    return _several("dctn", x, type, s, axes, norm, False)


def idctn(x, type: int = 2, s=None, axes=None, norm: str | None = None):
    """The inverse of :func:`dctn`, with the same parameters.

    >>> tanx.scipy.fft.idctn(jnp.array([[16., 0.], [0., 0.]]))
    Array([[1., 1.],
           [1., 1.]], dtype=float32)
    """
    return _several("idctn", x, type, s, axes, norm, True)


publish(__name__, shown)
