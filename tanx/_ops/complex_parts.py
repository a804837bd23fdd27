"""Complex numbers: construction, parts and conjugates."""

from __future__ import annotations

import numpy as np

from .._core.linear import is_linear, linear
from .._core.trace import context
from .._core.types import ShapedArray, typeof
from .._loops import build
from ..errors import explain
from .arith import neg
from .families import Elementwise, unbroadcast
from .operands import COMPLEX, FLOAT, INEXACT

__all__ = ["complex", "complex_p", "conj", "conj_p", "imag", "imag_p", "real", "real_p"]

_COMPLEX_OF: dict[np.dtype, np.dtype] = {
    np.dtype(np.float32): np.dtype(np.complex64), np.dtype(np.float64): np.dtype(np.complex128)}
_REAL_OF = {wide: narrow for narrow, wide in _COMPLEX_OF.items()}


def real_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype of the parts of complex numbers; other dtypes unchanged."""
    return _REAL_OF.get(dtype, dtype)


def complex_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype of complex numbers with parts of a dtype; other dtypes unchanged."""
    return _COMPLEX_OF.get(dtype, dtype)


def _strong_zero(x):
    """A strongly typed zero of the dtype of ``x``: as in JAX, gradients of parts are strong."""
    dtype = typeof(x).dtype
    return context.trace.literal(np.zeros((), dtype), ShapedArray((), dtype))


class Real(Elementwise):
    """The real part."""

    name = "real"
    accepts = COMPLEX
    eval = staticmethod(np.real)
    result = staticmethod(real_dtype)
    jvp = linear

    def transpose(self, ct, x):
        return [complex(ct, _strong_zero(ct))]


class Imag(Elementwise):
    """The imaginary part."""

    name = "imag"
    accepts = COMPLEX
    eval = staticmethod(np.imag)
    result = staticmethod(real_dtype)
    jvp = linear

    def transpose(self, ct, x):
        return [complex(_strong_zero(ct), neg(ct))]


class Complex(Elementwise):
    """Complex numbers from their real and imaginary parts."""

    name = "complex"
    accepts = FLOAT
    result = staticmethod(complex_dtype)

    def infer(self, x, y):
        if x.dtype not in _COMPLEX_OF:
            raise TypeError(explain(
                "tanx.lax.complex", "parts of complex numbers are float32 or float64.",
                f"operand 0: {x}", f"operand 1: {y}"))
        return super().infer(x, y)

    def eval(self, x, y):
        out = np.empty(np.broadcast_shapes(x.shape, y.shape), _COMPLEX_OF[x.dtype])
        out.real, out.imag = x, y
        return out

    jvp = linear

    def transpose(self, ct, x, y):
        return [unbroadcast(real(ct), x) if is_linear(x) else None,
                unbroadcast(imag(neg(ct)), y) if is_linear(y) else None]


class Conj(Elementwise):
    """The complex conjugate; also of real numbers, as complex ones."""

    name = "conj"
    accepts = INEXACT
    result = staticmethod(complex_dtype)
    jvp = linear

    def infer(self, x, *, input_dtype):
        if x.dtype not in _COMPLEX_OF and x.dtype not in _REAL_OF:
            raise self.refused(x)
        return super().infer(x)

    def eval(self, x, *, input_dtype):
        return np.conjugate(x) if x.dtype.kind == "c" else x.astype(_COMPLEX_OF[x.dtype])

    def transpose(self, ct, x, *, input_dtype):
        return [conj(ct) if input_dtype in _REAL_OF else real(ct)]

    def lower(self, at, x, *, input_dtype):
        if input_dtype in _REAL_OF:
            return build.op("conj", x[at])
        return build.op("complex", x[at], build.const(0, input_dtype))


real_p, imag_p, complex_p, conj_p = Real(), Imag(), Complex(), Conj()


def real(x):
    """The real part of complex numbers.

    >>> lax.real(lax.complex(1.0, 2.0))
    Array(1., dtype=float32, weak_type=True)
    """
    return real_p.bind(x)


def imag(x):
    """The imaginary part of complex numbers.

    >>> lax.imag(lax.complex(1.0, 2.0))
    Array(2., dtype=float32, weak_type=True)
    """
    return imag_p.bind(x)


def complex(x, y):
    """Complex numbers ``x + 1j * y`` from real ``x`` and ``y``.

    >>> lax.complex(1.0, 2.0)
    Array(1.+2.j, dtype=complex64, weak_type=True)
    """
    return complex_p.bind(x, y)


def conj(x):
    """The complex conjugate; real numbers become complex.

    >>> lax.conj(lax.complex(1.0, 2.0))
    Array(1.-2.j, dtype=complex64, weak_type=True)
    """
    return conj_p.bind(x, input_dtype=typeof(x).dtype)
