"""Exponentials, logarithms, and the trigonometric and hyperbolic functions."""

from __future__ import annotations

import enum

import ml_dtypes
import numpy as np

from .._base.tuples import NamedTuple
from .._core.primitive import parameter
from .._core.types import typeof
from .arith import add, div, integer_pow, mul, neg, sub
from .compare import clamp, eq, select
from .complex_parts import complex, imag, real, real_dtype
from .convert import stop_gradient
from .create import full_like
from .derive import partials
from .families import Accurate, Elementwise, by_own_loop, own_or
from .magnitude import abs, max
from .operands import INEXACT, like, widened
from .roots import one_minus_square, rsqrt, square
from .series import oscillating, riccati

__all__ = ["AccuracyMode", "Tolerance", "acos", "acos_p", "acosh", "acosh_p", "asin", "asin_p",
           "asinh", "asinh_p", "atan", "atan2", "atan2_p", "atan_p", "atanh", "atanh_p", "cos",
           "cos_p", "cosh", "cosh_p", "exp", "exp2", "exp2_p", "exp_p", "expm1", "expm1_p", "log",
           "log1p", "log1p_p", "log2", "log2_p", "log_p", "logistic", "logistic_p",
           "sin", "sin_p", "sinh", "sinh_p", "tan", "tan_p", "tanh", "tanh_p"]


@parameter
class AccuracyMode(enum.Enum):
    """The values of ``accuracy``. tanx has one implementation, which meets both."""

    HIGHEST = 1
    DEFAULT = 2


@parameter
class Tolerance(NamedTuple):
    """A requested accuracy: absolute, relative, and in units in the last place."""

    atol: float = 0.0
    rtol: float = 0.0
    ulps: int = 0


# -- exponentials and logarithms -------------------------------------------------------------------


class Exp(Accurate):
    """e to the power of the operand."""

    name = "exp"
    ufunc = np.exp
    jvp = partials(lambda t, out, x, accuracy: mul(t, out))
    taylor = riccati(0, 1, 0)


class Exp2(Accurate):
    """2 to the power of the operand."""

    name = "exp2"
    ufunc = np.exp2
    jvp = partials(lambda t, out, x, accuracy: mul(log(like(x, 2)), mul(t, out)))
    taylor = riccati(0, np.log(2), 0)


class Expm1(Accurate):
    """e to the power of the operand, minus 1; exact to rounding near 0."""

    name = "expm1"
    jvp = partials(lambda t, out, x, accuracy: mul(t, exp(x, accuracy=accuracy)))
    taylor = riccati(1, 1, 0)

    def ufunc(self, x):
        return np.expm1(x) if x.dtype.kind != "c" else _complex_expm1(x)


def _complex_expm1(x: np.ndarray) -> np.ndarray:
    """exp(x) - 1 of complex numbers; NumPy's version overflows before its parts do."""
    out = np.asarray(np.expm1(x))
    great = x.real > np.log(np.finfo(x.real.dtype).max) - 1  # there, subtracting 1 has no effect
    out[great] = np.exp(x)[great]
    out.imag = np.where(x.imag == 0, x.imag, out.imag)
    return out


class Log(Accurate):
    """The natural logarithm."""

    name = "log"
    ufunc = np.log
    jvp = partials(lambda t, out, x, accuracy: div(t, x))


class Log2(Accurate):
    """The logarithm to base 2."""

    name = "log2"
    ufunc = np.log2
    jvp = partials(lambda t, out, x, accuracy: div(t, mul(x, log(like(x, 2)))))


class Log1p(Accurate):
    """The natural logarithm of 1 plus the operand; exact to rounding near 0."""

    name = "log1p"
    jvp = partials(lambda t, out, x, accuracy: div(t, add(x, like(x, 1))))

    def ufunc(self, x):
        return np.log1p(x) if x.dtype.kind != "c" else _complex_log1p(x)


def _complex_log1p(x: np.ndarray) -> np.ndarray:
    """log(1 + x) of complex numbers; NumPy's version is inexact near 0."""
    a, b, one = x.real, x.imag, x.real.dtype.type(1)
    near = np.log1p(a * (one + one + a) + b * b) / (one + one)
    far = np.log(np.hypot(one + a, b))
    out = np.empty_like(x)
    out.real = np.where(np.maximum(np.abs(a), np.abs(b)) < 0.5, near, far)
    out.imag = np.arctan2(b, one + a)
    return out


class Logistic(Accurate):
    """1 / (1 + e^-x)"""

    name = "logistic"
    jvp = partials(lambda t, out, x, accuracy: mul(t, mul(out, sub(like(out, 1), out))))
    taylor = riccati(0, 1, -1)

    def ufunc(self, x):
        wide = widened(x)
        one = wide.dtype.type(1)
        return np.asarray(one / (one + np.exp(-wide))).astype(x.dtype, copy=False)


# -- trigonometric functions -----------------------------------------------------------------------


class Sin(Accurate):
    """The sine."""

    name = "sin"
    ufunc = np.sin
    jvp = partials(lambda t, out, x, accuracy: mul(t, cos(x, accuracy=accuracy)))
    taylor = oscillating(lambda x: cos(x), -1)


class Cos(Accurate):
    """The cosine."""

    name = "cos"
    ufunc = np.cos
    jvp = partials(lambda t, out, x, accuracy: neg(mul(t, sin(x, accuracy=accuracy))))
    taylor = oscillating(lambda x: neg(sin(x)), -1)


class Tan(Accurate):
    """The tangent."""

    name = "tan"
    ufunc = np.tan
    jvp = partials(lambda t, out, x, accuracy: mul(t, add(like(out, 1), square(out))))
    taylor = riccati(1, 0, 1)


class Asin(Elementwise):
    """The inverse of the sine."""

    name = "asin"
    accepts = INEXACT
    own_loop = True
    eval = own_or(np.arcsin)
    jvp = partials(lambda t, out, x: mul(t, rsqrt(one_minus_square(x))))


class Acos(Elementwise):
    """The inverse of the cosine."""

    name = "acos"
    accepts = INEXACT
    own_loop = True
    eval = own_or(np.arccos)
    jvp = partials(lambda t, out, x: mul(t, neg(rsqrt(one_minus_square(x)))))


class Atan(Elementwise):
    """The inverse of the tangent."""

    name = "atan"
    accepts = INEXACT
    own_loop = True
    eval = own_or(np.arctan)
    jvp = partials(lambda t, out, x: div(t, add(like(x, 1), square(x))))


class Atan2(Elementwise):
    """The angle of the point with the second operand as abscissa and the first as ordinate."""

    name = "atan2"
    accepts = INEXACT
    jvp = partials(
        lambda t, out, x, y: mul(t, div(y, add(square(x), square(y)))),
        lambda t, out, x, y: mul(t, div(neg(x), add(square(x), square(y)))))

    own_loop = True

    def eval(self, x, y):
        if x.dtype.kind != "c":
            out = by_own_loop("atan2", x, y)
            return np.arctan2(x, y) if out is None else out
        one = x.dtype.type(1j)
        return (-one * np.log((y + one * x) / np.sqrt(np.square(x) + np.square(y)))).astype(x.dtype)


# -- hyperbolic functions --------------------------------------------------------------------------


class Sinh(Elementwise):
    """The hyperbolic sine."""

    name = "sinh"
    accepts = INEXACT
    own_loop = True
    eval = own_or(np.sinh)
    jvp = partials(lambda t, out, x: mul(t, cosh(x)))
    taylor = oscillating(lambda x: cosh(x), 1)


class Cosh(Elementwise):
    """The hyperbolic cosine."""

    name = "cosh"
    accepts = INEXACT
    own_loop = True
    eval = own_or(np.cosh)
    jvp = partials(lambda t, out, x: mul(t, sinh(x)))
    taylor = oscillating(lambda x: sinh(x), 1)


class Tanh(Accurate):
    """The hyperbolic tangent."""

    name = "tanh"
    ufunc = np.tanh
    jvp = partials(lambda t, out, x, accuracy: mul(t, one_minus_square(out)))
    taylor = riccati(1, 0, -1)


class Asinh(Elementwise):
    """The inverse of the hyperbolic sine."""

    name = "asinh"
    accepts = INEXACT
    own_loop = True
    eval = own_or(np.arcsinh)
    jvp = partials(lambda t, out, x: mul(t, _asinh_slope(x)))


def _asinh_slope(x):
    """1 / sqrt(x² + 1), with x scaled so that its square does not overflow.

    The scale is piecewise constant in x, so it has no derivative.
    """
    if typeof(x).dtype.kind != "c":
        shrink = _shrink(abs(x))
        return mul(shrink, rsqrt(add(square(mul(x, shrink)), square(shrink))))
    a, b = real(x), imag(x)
    size = max(abs(a), abs(b))
    shrink = _shrink(size)
    a, b = mul(a, shrink), mul(b, shrink)
    # If x is scaled, 1 is negligible against its square.
    root = rsqrt(complex(add(square(a), one_minus_square(b)), mul(like(a, 2), mul(a, b))))
    infinite = eq(size, like(size, np.inf))
    none = full_like(x, 0)
    return select(infinite, none, complex(mul(real(root), shrink), mul(imag(root), shrink)))


def _shrink(size):
    """The scale for numbers of this size before squaring: 1 for all but huge ones."""
    limit = 2.0 ** ((ml_dtypes.finfo(real_dtype(typeof(size).dtype)).maxexp - 4) // 2)
    scaled = mul(size, like(size, 1 / limit))
    return integer_pow(stop_gradient(clamp(like(size, 1), scaled, like(size, 16 * limit))), -1)


class Acosh(Elementwise):
    """The inverse of the hyperbolic cosine."""

    name = "acosh"
    accepts = INEXACT
    own_loop = True
    eval = own_or(np.arccosh)
    jvp = partials(lambda t, out, x: mul(
        t, mul(rsqrt(sub(x, like(x, 1))), rsqrt(add(x, like(x, 1))))))


class Atanh(Elementwise):
    """The inverse of the hyperbolic tangent."""

    name = "atanh"
    accepts = INEXACT
    own_loop = True
    eval = own_or(np.arctanh)
    jvp = partials(lambda t, out, x: div(t, one_minus_square(x)))


exp_p, exp2_p, expm1_p = Exp(), Exp2(), Expm1()
log_p, log2_p, log1p_p, logistic_p = Log(), Log2(), Log1p(), Logistic()
sin_p, cos_p, tan_p = Sin(), Cos(), Tan()
asin_p, acos_p, atan_p, atan2_p = Asin(), Acos(), Atan(), Atan2()
sinh_p, cosh_p, tanh_p = Sinh(), Cosh(), Tanh()
asinh_p, acosh_p, atanh_p = Asinh(), Acosh(), Atanh()


# -- functions of tanx.lax -------------------------------------------------------------------------


def exp(x, *, accuracy=None):
    """The exponential, e to the power of ``x``.

    ``accuracy`` (an :class:`AccuracyMode` or a :class:`Tolerance`), here and below, appears in
    jaxprs and has no other effect.

    >>> lax.exp(1.0)
    Array(2.7182817, dtype=float32, weak_type=True)
    """
    return exp_p.bind(x, accuracy=accuracy)


def exp2(x, *, accuracy=None):
    """2 to the power of ``x``.

    >>> lax.exp2(3.0)
    Array(8., dtype=float32, weak_type=True)
    """
    return exp2_p.bind(x, accuracy=accuracy)


def expm1(x, *, accuracy=None):
    """``exp(x) - 1``, exact to rounding near 0.

    >>> lax.expm1(1e-5)
    Array(1.000005e-05, dtype=float32, weak_type=True)
    """
    return expm1_p.bind(x, accuracy=accuracy)


def log(x, *, accuracy=None):
    """The natural logarithm.

    >>> lax.log(jnp.array([1.0, 10.0]))
    Array([0.       , 2.3025851], dtype=float32)
    """
    return log_p.bind(x, accuracy=accuracy)


def log2(x, *, accuracy=None):
    """The logarithm to base 2.

    >>> lax.log2(8.0)
    Array(3., dtype=float32, weak_type=True)
    """
    return log2_p.bind(x, accuracy=accuracy)


def log1p(x, *, accuracy=None):
    """``log(1 + x)``, exact to rounding near 0.

    >>> lax.log1p(1e-5)
    Array(9.99995e-06, dtype=float32, weak_type=True)
    """
    return log1p_p.bind(x, accuracy=accuracy)


def logistic(x, *, accuracy=None):
    """The logistic function ``1 / (1 + exp(-x))``, also known as the sigmoid.

    >>> lax.logistic(jnp.array([-1.0, 0.0]))
    Array([0.26894143, 0.5       ], dtype=float32)
    """
    return logistic_p.bind(x, accuracy=accuracy)


def sin(x, *, accuracy=None):
    """The sine.

    >>> lax.sin(1.0)
    Array(0.841471, dtype=float32, weak_type=True)
    """
    return sin_p.bind(x, accuracy=accuracy)


def cos(x, *, accuracy=None):
    """The cosine.

    >>> lax.cos(0.0)
    Array(1., dtype=float32, weak_type=True)
    """
    return cos_p.bind(x, accuracy=accuracy)


def tan(x, *, accuracy=None):
    """The tangent.

    >>> lax.tan(1.0)
    Array(1.5574077, dtype=float32, weak_type=True)
    """
    return tan_p.bind(x, accuracy=accuracy)


def asin(x):
    """The angle whose sine is ``x``.

    >>> lax.asin(1.0)
    Array(1.5707964, dtype=float32, weak_type=True)
    """
    return asin_p.bind(x)


def acos(x):
    """The angle whose cosine is ``x``.

    >>> lax.acos(0.0)
    Array(1.5707964, dtype=float32, weak_type=True)
    """
    return acos_p.bind(x)


def atan(x):
    """The angle whose tangent is ``x``.

    >>> lax.atan(1.0)
    Array(0.7853982, dtype=float32, weak_type=True)
    """
    return atan_p.bind(x)


def atan2(x, y):
    """The angle, from -π to π, of the point with ordinate ``x`` and abscissa ``y``.

    >>> lax.atan2(1.0, 0.0)
    Array(1.5707964, dtype=float32, weak_type=True)
    """
    return atan2_p.bind(x, y)


def sinh(x):
    """The hyperbolic sine.

    >>> lax.sinh(1.0)
    Array(1.1752012, dtype=float32, weak_type=True)
    """
    return sinh_p.bind(x)


def cosh(x):
    """The hyperbolic cosine.

    >>> lax.cosh(1.0)
    Array(1.5430806, dtype=float32, weak_type=True)
    """
    return cosh_p.bind(x)


def tanh(x, *, accuracy=None):
    """The hyperbolic tangent.

    >>> lax.tanh(1.0)
    Array(0.7615942, dtype=float32, weak_type=True)
    """
    return tanh_p.bind(x, accuracy=accuracy)


def asinh(x):
    """The number whose hyperbolic sine is ``x``.

    >>> lax.asinh(1.0)
    Array(0.8813736, dtype=float32, weak_type=True)
    """
    return asinh_p.bind(x)


def acosh(x):
    """The number at least 0 whose hyperbolic cosine is ``x``.

    >>> lax.acosh(2.0)
    Array(1.316958, dtype=float32, weak_type=True)
    """
    return acosh_p.bind(x)


def atanh(x):
    """The number whose hyperbolic tangent is ``x``.

    >>> lax.atanh(0.5)
    Array(0.54930615, dtype=float32, weak_type=True)
    """
    return atanh_p.bind(x)
