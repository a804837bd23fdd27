"""Fourier transforms, of complex or real numbers, along the last few dimensions.

``eval`` calls SciPy. Compiled code transforms one dimension after another: the last one by lines,
the others by columns, each with a library call whose code is generated for its length (see
``_compiler/kernels/fft/transform.py``).
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from math import prod

import numpy as np

from .. import dtypes
from .._core.explicit import like_operand
from .._core.linear import linear
from .._core.primitive import Kind, Primitive, parameter
from .._core.types import ShapedArray, typeof
from .._loops import build
from .._loops.fourier import spectrum_size, way
from .._loops.names import FOURIER
from ..errors import explain
from .arith import mul
from .base import broadcast_in_dim, to_front
from .complex_parts import conj
from .convert import convert
from .operands import letter

__all__ = ["FftType", "fft", "fft_p"]


@parameter
class FftType(enum.IntEnum):
    """The kinds of transforms: complex ones, and those of real numbers and back."""

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


class FFT(Primitive):
    """Transforms along the last dimensions; ``fft_lengths`` are the lengths of the real side.

    In the compiler, complex transforms may be along other ``axes``.
    """

    name = "fft"
    kind = Kind.STATEMENT
    jvp = linear

    divided = like_operand

    def infer(self, x, *, fft_lengths, fft_type, axes=None):
        if axes is not None:
            return x
        count = len(fft_lengths)
        if count > x.ndim:
            raise ValueError(explain(
                "tanx.lax.fft", "the operand must have a dimension for each length.",
                f"operand:     {x}", f"fft_lengths: {tuple(fft_lengths)}"))
        wanted = "float32 or float64" if fft_type == FftType.RFFT else "complex64 or complex128"
        if np.dtype(x.dtype).char not in ("fd" if fft_type == FftType.RFFT else "FD"):
            raise ValueError(explain(
                "tanx.lax.fft", f"{FftType(fft_type).name} takes {wanted}.", f"operand: {x}"))
        lead = x.shape[:x.ndim - count]
        shape, dtype = (*lead, *fft_lengths), x.dtype
        given = _half(shape) if fft_type == FftType.IRFFT else shape
        nothing = fft_type == FftType.IRFFT and shape[-1] == 0  # any operand will do
        if x.shape[:-1] != given[:-1] or x.shape[-1] != given[-1] and not nothing:
            raise ValueError(explain(
                "tanx.lax.fft", f"the last dimensions of the operand of {FftType(fft_type).name} "
                f"must be {tuple(given[len(lead):])} for these lengths.", f"operand:     {x}",
                f"fft_lengths: {tuple(fft_lengths)}"))
        if fft_type == FftType.RFFT:
            shape, dtype = _half(shape), np.result_type(x.dtype, np.complex64)
        elif fft_type == FftType.IRFFT:
            dtype = np.zeros((), x.dtype).real.dtype
        return ShapedArray(shape, dtype)

    def eval(self, x, *, fft_lengths, fft_type, axes=None):
        out = self.infer(typeof(x), fft_lengths=fft_lengths, fft_type=fft_type, axes=axes)
        if 0 in x.shape or 0 in out.shape:
            return np.zeros(out.shape, out.dtype)
        import scipy.fft  # late: slow to import
        function = getattr(scipy.fft, f"{FftType(fft_type).name.lower()}n")
        return function(x, fft_lengths, axes or range(x.ndim - len(fft_lengths), x.ndim))

    def transpose(self, ct, x, *, fft_lengths, fft_type):
        if fft_type == FftType.RFFT:  # scaling before the transform costs nothing
            scaled = mul(conj(ct), _weights(ct, fft_lengths, -1))
            return [fft(scaled, FftType.IRFFT, fft_lengths)]
        if fft_type == FftType.IRFFT:
            made = fft(ct, FftType.RFFT, fft_lengths)
            return [conj(mul(made, _weights(made, fft_lengths, 1)))]
        return [fft(ct, fft_type, fft_lengths)]

    def batch(self, args, dims, *, fft_lengths, fft_type):
        return self.bind(to_front(args[0], dims[0]), fft_lengths=fft_lengths,
                         fft_type=fft_type), 0

    def lower(self, into, x, *, fft_lengths, fft_type, axes=None):
        (out,), kind = into, FftType(fft_type).name.lower()
        if 0 in x.shape or 0 in out.shape:
            return [build.nest(out.shape, lambda k: [build.store(out, k, 0)])]
        axes = axes or range(x.ndim - len(fft_lengths), x.ndim)
        last, lengths = axes[-1], dict(zip(axes, fft_lengths))
        others = [d for d in sorted(axes, reverse=True) if d != last and lengths[d] > 1]
        order = [*others, last] if kind == "irfft" else [last, *others]
        statements, shape = [], list(x.shape)
        for axis in order:
            ends = axis == order[-1]
            shape[axis] = out.shape[axis]
            along = kind if axis == last else "ifft" if fft_type in _INVERSE else "fft"
            between = x.dtype if kind == "irfft" else out.dtype
            target = out if ends else build.temp(f"along{axis}", shape, between)
            scale = 1 / prod(fft_lengths) if ends and fft_type in _INVERSE else 1.0
            statements.append(_transforms(target, x, axis, along, lengths[axis], scale))
            x = target
        return statements


_INVERSE = (FftType.IFFT, FftType.IRFFT)
fft_p = FFT()


def _half(shape: Sequence[int]) -> tuple[int, ...]:
    """The shape of the spectrum of real numbers."""
    return (*shape[:-1], spectrum_size(shape[-1])) if shape else ()


def _transforms(out: build.Buffer, x: build.Buffer, axis: int, kind: str, length: int,
                scale: float):
    """A library call for transforms along one dimension."""
    outer, inner = prod(out.shape[:axis]), prod(out.shape[axis + 1:])
    part = np.zeros((), out.dtype).real.dtype
    spare = way(kind, length, inner, part.itemsize).spare
    outputs = [out, *([build.temp("spare", (spare,), part)] if spare else [])]
    return build.extern(FOURIER, outputs, [x], kind=kind, length=length, outer=outer, inner=inner,
                        scale=scale)


def _weights(spectrum, fft_lengths, power: int):
    """The multiplicity, one or two, of each number of a real transform's spectrum in the full one.

    It is divided by the number of elements to a power, and has the rank of the spectrum.
    """
    aval = typeof(spectrum)
    weights = np.full(aval.shape[-1:], 2.0)
    weights[0] = 1
    if fft_lengths[-1] % 2 == 0:
        weights[-1] = 1
    weights = convert((weights / prod(fft_lengths)) ** power, aval.dtype)
    shape = (*(1 for _ in aval.shape[1:]), typeof(weights).size)
    return broadcast_in_dim(weights, shape, (len(shape) - 1,))


def fft(x, fft_type: FftType | str, fft_lengths: Sequence[int]):
    """The Fourier transform of ``x`` along its last dimensions; see :mod:`tanx.numpy.fft`.

    ``fft_type`` is a :class:`FftType` or its name: ``"FFT"``, ``"IFFT"``, of real numbers
    ``"RFFT"``, which returns half of the spectrum, and ``"IRFFT"``, which takes it. ``fft_lengths``
    are the lengths of the transforms along the last dimensions of ``x``, on the real side if there
    is one. The inverse transforms divide by their product.

    >>> lax.fft(jnp.array([1., 2., 3., 4.]), "RFFT", (4,))
    Array([10.+0.j, -2.+2.j, -2.+0.j], dtype=complex64)
    """
    kind = _kind(fft_type)
    lengths = tuple(map(int, fft_lengths))
    aval = typeof(x)
    if kind == FftType.RFFT:
        if letter(aval.dtype) == "c":
            raise ValueError(explain("tanx.lax.fft", "RFFT takes real numbers.",
                                     f"operand: {aval}"))
        dtype = dtypes.to_inexact_dtype(aval.dtype)
    else:
        dtype = dtypes.to_complex_dtype(aval.dtype)
    if aval.dtype != dtype or aval.weak_type:
        x = convert(x, dtype)
    return fft_p.bind(x, fft_lengths=lengths, fft_type=kind) if lengths else x


def _kind(fft_type: FftType | str) -> FftType:
    if isinstance(fft_type, FftType):
        return fft_type
    names = FftType.__members__
    if not isinstance(fft_type, str) or fft_type.upper() not in names:
        error = ValueError if isinstance(fft_type, str) else TypeError
        raise error(explain("tanx.lax.fft", f"fft_type must be one of {', '.join(names)}.",
                            f"fft_type: {fft_type!r}"))
    return names[fft_type.upper()]
