"""Fourier transforms."""

from __future__ import annotations

from math import prod

import numpy as np

from ..._ops.fft import FftType
from .block import Block, Type, Value
from .rules import rule
from .text import listed

__all__: list[str] = []

_MOST = 3
"""The most dimensions that one operation of StableHLO transforms."""


@rule("fft")
def _fft(block: Block, out: Type, x: Value, *, fft_lengths, fft_type, axes=None):
    if not prod(x.shape) or not prod(out.shape):
        return block.constant(0, out)
    kind, lengths = FftType(fft_type), list(fft_lengths)
    if not lengths:
        return block.convert(x, out.dtype)
    if axes is not None:
        order = [d for d in range(x.ndim) if d not in axes] + list(axes)
        moved = _transformed(block, block.transpose(x, order), kind, lengths)
        return block.transpose(moved, np.argsort(order).tolist())
    return _transformed(block, x, kind, lengths)


def _transformed(block: Block, x: Value, kind: FftType, lengths: list[int]) -> Value:
    """The transform of the last dimensions, a few at a time; the real one is along the last."""
    if len(lengths) <= _MOST:
        return _operation(block, x, kind, lengths)
    early, late = lengths[:-_MOST], lengths[-_MOST:]
    inverse = kind in (FftType.IFFT, FftType.IRFFT)
    if kind is FftType.RFFT:
        x = _operation(block, x, kind, late)
    first = x.ndim - len(lengths)
    order = [*range(first), *range(x.ndim - _MOST, x.ndim), *range(first, x.ndim - _MOST)]
    x = _transformed(block, block.transpose(x, order),
                     FftType.IFFT if inverse else FftType.FFT, early)
    x = block.transpose(x, np.argsort(order).tolist())
    return x if kind is FftType.RFFT else _operation(block, x, kind, late)


def _operation(block: Block, x: Value, kind: FftType, lengths: list[int]) -> Value:
    shape, dtype = list(x.shape), x.dtype
    if kind is FftType.RFFT:
        shape[-1], dtype = lengths[-1] // 2 + 1, np.result_type(x.dtype, np.complex64)
    elif kind is FftType.IRFFT:
        shape[-1], dtype = lengths[-1], np.zeros((), x.dtype).real.dtype
    return block.apply("fft", [x], Type(tuple(shape), dtype),
                       f", type = {kind.name}, length = {listed(lengths)}")
