"""Convolutions and correlations of arrays of any rank, by sums or by Fourier transforms.

All modes are parts of the full convolution, whose size along a dimension is the sum of the sizes
minus one. A correlation is the convolution with the other array reversed and conjugated.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from ... import dtypes, lax
from ... import numpy as jnp
from ..._api.jit import library_jit
from ..._base.axes import canonical_axis
from ...errors import explain
from ...numpy._promotion import as_operand, convert, typeof

__all__ = ["convolve", "convolve2d", "correlate", "correlate2d", "fftconvolve"]

_MODES = ("full", "same", "valid")


# -- sizes -----------------------------------------------------------------------------------------


def _operands(function: str, in1, in2, mode: str, axes=None) -> tuple:
    """Both arrays in one inexact dtype; raises if they cannot be convolved along ``axes``."""
    in1, in2 = as_operand(function, in1), as_operand(function, in2)
    facts = [f"in1: {typeof(in1)}", f"in2: {typeof(in2)}"]
    if mode not in _MODES:
        raise ValueError(explain(f"tanx.scipy.signal.{function}",
                                 "mode must be 'full', 'same' or 'valid'.", f"mode: {mode!r}"))
    if in1.ndim != in2.ndim:
        raise ValueError(explain(f"tanx.scipy.signal.{function}",
                                 "arrays must have the same number of dimensions.", *facts))
    if mode == "valid":
        sizes = [(in1.shape[d], in2.shape[d]) for d in (range(in1.ndim) if axes is None else axes)]
        if any(n < m for n, m in sizes) and any(n > m for n, m in sizes):
            raise ValueError(explain(
                f"tanx.scipy.signal.{function}",
                "for mode 'valid' one array must fit into the other in every dimension.", *facts))
    dtype, weak = dtypes.result_type(in1, in2, return_weak_type_flag=True)
    dtype = dtypes.to_inexact_dtype(dtype)
    return convert(in1, dtype, weak), convert(in2, dtype, weak)


def _part(n: int, m: int, mode: str) -> tuple[int, int]:
    """Start and size of the kept part of the full convolution of ``n`` and ``m`` elements."""
    if mode == "full":
        return 0, n + m - 1
    return ((m - 1) // 2, n) if mode == "same" else (min(n, m) - 1, max(n, m) - min(n, m) + 1)


def _turned(x):
    """``x`` reversed along all dimensions and conjugated."""
    return jnp.flip(x).conj()


# -- by sums ---------------------------------------------------------------------------------------


def _direct(function: str, in1, in2, mode: str, precision):
    if not in1.size or not in2.size:
        raise ValueError(explain(f"tanx.scipy.signal.{function}", "arrays must not be empty.",
                                 f"in1: {typeof(in1)}", f"in2: {typeof(in2)}"))
    return _by_sums(in1, in2, mode, precision)


@library_jit(name="convolve", static_argnums=(2, 3))
def _by_sums(in1, in2, mode: str, precision):
    if in1.ndim == 0:
        return in1 * in2
    if mode != "same" and in2.size > in1.size:  # convolution commutes; fewer sums this way
        in1, in2 = in2, in1
    padding = []
    for n, m in zip(in1.shape, in2.shape):
        start, size = _part(n, m, mode)
        padding.append((m - 1 - start, start + size - n))
    return lax.conv_general_dilated(in1[None, None], jnp.flip(in2)[None, None], (1,) * in1.ndim,
                                    padding, precision=precision)[0, 0]


# -- by Fourier transforms -------------------------------------------------------------------------


def _quick_length(n: int) -> int:
    """The least multiple of 8, of at least ``n``, whose prime factors are 2, 3 and 5.

    Lengths with fewer factors 2 take up to five times as long for each element.
    """
    if n <= 8:
        return n
    odd = (3 ** b * 5 ** c for b, c in product(range(12), range(8)))
    return min(m << max(3, (-(-n // m) - 1).bit_length()) for m in odd)


@library_jit(name="fftconvolve", static_argnums=(2, 3))
def _by_transforms(in1, in2, mode: str, axes: tuple[int, ...]):
    dtype = in1.dtype
    if dtype.itemsize < 4:
        in1, in2 = in1.astype("float32"), in2.astype("float32")
    lengths = [_quick_length(in1.shape[d] + in2.shape[d] - 1) for d in axes]
    if dtype.kind == "c":
        there, back = jnp.fft.fftn, jnp.fft.ifftn
    else:
        there, back = jnp.fft.rfftn, jnp.fft.irfftn
    out = back(there(in1, lengths, axes) * there(in2, lengths, axes), lengths, axes)
    kept = [slice(None)] * in1.ndim
    for d in axes:
        start, size = _part(in1.shape[d], in2.shape[d], mode)
        kept[d] = slice(start, start + size)
    return out[tuple(kept)].astype(dtype)


def fftconvolve(in1, in2, mode: str = "full", axes=None):
    """The convolution of two arrays by Fourier transforms: fast for large arrays.

    The error of an element is relative to the largest elements; :func:`convolve` is accurate for
    each element. ``mode`` is that of :func:`convolve`. With ``axes``, the arrays are convolved
    along these, and must have equal sizes along the others.

    >>> tanx.scipy.signal.fftconvolve(jnp.array([1., 2., 3.]), jnp.array([1., 10.])).round(3)
    Array([ 1., 12., 23., 30.], dtype=float32)
    """
    given = (axes,) if axes is not None and not isinstance(axes, Sequence) else axes
    in1, in2 = as_operand("fftconvolve", in1), as_operand("fftconvolve", in2)
    if given is not None:
        given = tuple(canonical_axis("scipy.signal.fftconvolve", axis, in1) for axis in given)
    in1, in2 = _operands("fftconvolve", in1, in2, mode, given)
    along = tuple(range(in1.ndim)) if given is None else given
    rest = [d for d in range(in1.ndim) if d not in along]
    if len(set(along)) < len(along) or any(in1.shape[d] != in2.shape[d] for d in rest):
        raise ValueError(explain(
            "tanx.scipy.signal.fftconvolve",
            "axes must be distinct, and shapes must be equal in the other dimensions.",
            f"in1: {typeof(in1)}", f"in2: {typeof(in2)}", f"axes: {axes}"))
    if not along:
        return in1 * in2
    if not in1.size or not in2.size:
        return jnp.zeros([_part(n, m, mode)[1] if d in along else n
                          for d, (n, m) in enumerate(zip(in1.shape, in2.shape))], in1.dtype)
    return _by_transforms(in1, in2, mode, along)


# -- functions of the module -----------------------------------------------------------------------


def _by(function: str, method: str, in1, in2, mode: str, precision):
    if method not in ("auto", "direct", "fft"):
        raise ValueError(explain(
            f"tanx.scipy.signal.{function}", "method must be 'auto', 'direct' or 'fft'.",
            f"method: {method!r}"))
    if method == "fft":
        return fftconvolve(in1, in2, mode)
    return _direct(function, in1, in2, mode, precision)


def convolve(in1, in2, mode: str = "full", method: str = "auto", precision=None):
    """The convolution of two arrays of one rank, ``sum(in1[k] * in2[n - k])`` for each ``n``.

    ``mode="full"`` gives all ``n`` at which the arrays overlap; ``"same"`` the middle ones, in the
    shape of ``in1``; ``"valid"`` only those where one array lies within the other. ``method`` is
    ``"direct"``, ``"auto"``, which means the same, or ``"fft"``, see :func:`fftconvolve`.
    Integers become floats. ``precision`` is that of :func:`tanx.lax.conv`.

    >>> tanx.scipy.signal.convolve(jnp.array([1., 2., 3.]), jnp.array([1., 10.]))
    Array([ 1., 12., 23., 30.], dtype=float32)
    """
    in1, in2 = _operands("convolve", in1, in2, mode)
    return _by("convolve", method, in1, in2, mode, precision)


def correlate(in1, in2, mode: str = "full", method: str = "auto", precision=None):
    """The correlation of two arrays of one rank, ``sum(in1[n + k] * conj(in2[k]))`` for each ``n``.

    The parameters are those of :func:`convolve`.

    >>> tanx.scipy.signal.correlate(jnp.array([1., 2., 3.]), jnp.array([1., 10.]), mode="valid")
    Array([21., 32.], dtype=float32)
    """
    in1, in2 = _operands("correlate", in1, in2, mode)
    return _by("correlate", method, in1, _turned(in2), mode, precision)


def _matrices(function: str, in1, in2, mode: str, boundary: str, fillvalue) -> tuple:
    if boundary != "fill" or not (isinstance(fillvalue, int | float) and fillvalue == 0):
        raise NotImplementedError(explain(
            f"tanx.scipy.signal.{function}", "only zeros beyond the border are supported.",
            f"boundary: {boundary!r}", f"fillvalue: {fillvalue!r}",
            hint="pad in1 with tanx.numpy.pad, and use mode='valid'."))
    in1, in2 = _operands(function, in1, in2, mode)
    if in1.ndim != 2:
        raise ValueError(explain(f"tanx.scipy.signal.{function}", "takes matrices.",
                                 f"in1: {typeof(in1)}", f"in2: {typeof(in2)}",
                                 hint=f"{function[:-2]} takes arrays of any rank."))
    return in1, in2


def convolve2d(in1, in2, mode: str = "full", boundary: str = "fill", fillvalue=0, precision=None):
    """The convolution of two matrices; see :func:`convolve`.

    Only zeros beyond the border are implemented: ``boundary="fill"`` with ``fillvalue=0``.

    >>> tanx.scipy.signal.convolve2d(jnp.eye(2), jnp.array([[1., 2.]]))
    Array([[1., 2., 0.],
           [0., 1., 2.]], dtype=float32)
    """
    in1, in2 = _matrices("convolve2d", in1, in2, mode, boundary, fillvalue)
    return _direct("convolve2d", in1, in2, mode, precision)


def correlate2d(in1, in2, mode: str = "full", boundary: str = "fill", fillvalue=0, precision=None):
    """The correlation of two matrices; see :func:`correlate` and, for borders, :func:`convolve2d`.

    >>> tanx.scipy.signal.correlate2d(jnp.eye(2), jnp.array([[1., 2.]]))
    Array([[2., 1., 0.],
           [0., 2., 1.]], dtype=float32)
    """
    in1, in2 = _matrices("correlate2d", in1, in2, mode, boundary, fillvalue)
    # As in SciPy, mode "valid" conjugates the smaller matrix, and "same" takes the later middle of
    # an even size: hence the reversal of in1 and of the result, and not of in2.
    if mode == "valid" and in2.size > in1.size:
        in1 = in1.conj()
    else:
        in2 = in2.conj()
    return jnp.flip(_direct("correlate2d", jnp.flip(in1), in2, mode, precision))
