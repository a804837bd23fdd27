"""Squares and roots."""

from __future__ import annotations

import numpy as np

from .arith import div, integer_pow, mul
from .derive import partials
from .families import Accurate, Elementwise, keeping_dtype
from .operands import FLOAT, NUMBER, like, widened
from .series import power

__all__ = ["cbrt", "cbrt_p", "one_minus_square", "one_minus_square_p", "rsqrt", "rsqrt_p", "sqrt",
           "sqrt_p", "square", "square_p"]


class Square(Elementwise):
    """The product of the operand with itself."""

    name = "square"
    accepts = NUMBER
    eval = keeping_dtype(np.square)
    jvp = partials(lambda t, out, x: mul(t, mul(like(x, 2), x)))


class OneMinusSquare(Elementwise):
    """1 - x², without the cancellation near ±1."""

    name = "one_minus_square"
    accepts = NUMBER
    jvp = partials(lambda t, out, x: mul(t, mul(like(x, -2), x)))

    def eval(self, x):
        wide = widened(x)
        return np.asarray((1 - wide) * (1 + wide)).astype(x.dtype, copy=False)


class Sqrt(Accurate):
    """The square root."""

    name = "sqrt"
    own_loop = False  # NumPy's roots are correctly rounded, too
    ufunc = np.sqrt
    jvp = partials(lambda t, out, x, accuracy=None: mul(t, div(like(x, 0.5), out)))
    taylor = power(1 / 2)


class Rsqrt(Accurate):
    """The reciprocal of the square root."""

    name = "rsqrt"
    own_loop = False
    jvp = partials(
        lambda t, out, x, accuracy=None: mul(t, mul(like(x, -0.5), div(out, x))))
    taylor = power(-1 / 2)

    def ufunc(self, x):
        root = np.sqrt(widened(x))
        return np.asarray(root.dtype.type(1) / root).astype(x.dtype, copy=False)


class Cbrt(Accurate):
    """The cube root."""

    name = "cbrt"
    accepts = FLOAT
    jvp = partials(lambda t, out, x, accuracy=None:
                   mul(t, mul(like(x, 1 / 3), integer_pow(out, -2))))
    taylor = power(1 / 3)

    def ufunc(self, x):
        """In twice the precision: NumPy's cube root of 27 is exactly 3 on some processors only."""
        if x.dtype.itemsize == 8:
            return np.cbrt(x)
        return np.cbrt(x.astype(np.float64)).astype(x.dtype)


square_p, one_minus_square_p = Square(), OneMinusSquare()
sqrt_p, rsqrt_p, cbrt_p = Sqrt(), Rsqrt(), Cbrt()


def square(x):
    """The square ``x * x``.

    >>> lax.square(jnp.array([2, 3]))
    Array([4, 9], dtype=int32)
    """
    return square_p.bind(x)


def one_minus_square(x):
    """``1 - x * x``, exact to rounding also near ±1.

    >>> lax.one_minus_square(0.5)
    Array(0.75, dtype=float32, weak_type=True)
    """
    return one_minus_square_p.bind(x)


def sqrt(x, *, accuracy=None):
    """The square root.

    >>> lax.sqrt(2.0)
    Array(1.4142135, dtype=float32, weak_type=True)
    """
    return sqrt_p.bind(x, accuracy=accuracy)


def rsqrt(x, *, accuracy=None):
    """The reciprocal of the square root, ``1 / sqrt(x)``.

    >>> lax.rsqrt(4.0)
    Array(0.5, dtype=float32, weak_type=True)
    """
    return rsqrt_p.bind(x, accuracy=accuracy)


def cbrt(x, *, accuracy=None):
    """The cube root, also of negative numbers.

    >>> lax.cbrt(27.0)
    Array(3., dtype=float32, weak_type=True)
    """
    return cbrt_p.bind(x, accuracy=accuracy)
