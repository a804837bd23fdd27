"""Sign, size and order of numbers, remainders, and rounding to integers."""

from __future__ import annotations

import enum

import numpy as np

from .. import dtypes
from .._core.linear import Zero, never
from .._core.primitive import parameter
from .._core.types import typeof
from .._loops import build
from .arith import div, mul, neg
from .compare import eq, ge, gt, select
from .complex_parts import complex, conj, imag, real, real_dtype
from .convert import convert
from .create import full_like
from .derive import partials
from .extremes import maximum, minimum
from .families import Elementwise, grow, keeping_dtype
from .operands import ANY, FLOAT, INEXACT, NUMBER, REAL, like, widened

__all__ = ["RoundingMethod", "abs", "abs_p", "ceil", "ceil_p", "floor", "floor_p", "is_finite",
           "is_finite_p", "max", "max_p", "min", "min_p", "nextafter", "nextafter_p", "rem",
           "rem_p", "round", "round_p", "sign", "sign_p"]


# -- sign, size, order, remainders -----------------------------------------------------------------


def replace_zero(x):
    """``x`` with ones in place of zeros: a safe divisor, or a safe argument of the logarithm."""
    return select(eq(x, like(x, 0)), full_like(x, 1), x)


class Rem(Elementwise):
    """The remainder of a division, with the sign of the dividend."""

    name = "rem"
    accepts = REAL

    def eval(self, x, y):
        out = np.fmod(x, y)
        if dtypes.issubdtype(x.dtype, np.floating):
            return out
        return np.where(y == 0, x, out.astype(x.dtype))

    jvp = partials(
        lambda t, out, x, y: grow(t, out),
        lambda t, out, x, y: mul(neg(t), mul(sign(div(x, y)), floor(abs(div(x, y))))))


class Sign(Elementwise):
    """-1, 0 or 1; for complex numbers, the unit number in the same direction."""

    name = "sign"
    accepts = NUMBER

    def eval(self, x):
        out = np.sign(x)
        if dtypes.issubdtype(x.dtype, np.floating):
            return np.where(x == 0, x, out)  # NumPy drops the sign of -0.0
        return out if out.dtype == x.dtype else out.astype(x.dtype)

    def jvp(self, primals, tangents):
        (x,), (dx,) = primals, tangents
        out = sign(x)
        if not dtypes.issubdtype(typeof(x).dtype, np.complexfloating):
            return out, Zero.tangent_of(out)
        turn = div(imag(mul(conj(out), dx)), replace_zero(abs(x)))
        return out, mul(out, complex(full_like(turn, 0), turn))


class Abs(Elementwise):
    """The absolute value; real also for complex numbers."""

    name = "abs"
    accepts = INEXACT | frozenset("i")
    result = staticmethod(real_dtype)
    ufunc_alone = np.absolute

    def eval(self, x):
        out, dtype = np.absolute(x), real_dtype(x.dtype)
        return out if out.dtype == dtype else out.astype(dtype)

    def jvp(self, primals, tangents):
        """The slope at zero is 1, as above zero; for complex numbers it is 0."""
        (x,), (dx,) = primals, tangents
        out, dtype = abs(x), typeof(x).dtype
        if dtypes.issubdtype(dtype, np.complexfloating):
            return out, real(mul(dx, div(conj(x), replace_zero(convert(out, dtype)))))
        return out, select(ge(x, like(x, 0)), dx, neg(dx))


def _share(x, y, out):
    """1 where ``x`` is greater than ``y``, 0 where it is less, and one half where they tie."""
    greater, same = gt(x, y), eq(x, y)
    one, none, half = (full_like(out, value, out.dtype) for value in (1, 0, 0.5))
    return select(greater, one, select(same, half, none))


class Max(Elementwise):
    """The greater of two operands; NaN wins. Tied operands share the tangent equally."""

    name = "max"
    accepts = ANY
    own_loop = True
    eval = keeping_dtype(maximum)
    jvp = partials(lambda t, out, x, y: mul(t, _share(x, y, out)),
                   lambda t, out, x, y: mul(t, _share(y, x, out)))


class Min(Elementwise):
    """The lesser of two operands; NaN wins. Tied operands share the tangent equally."""

    name = "min"
    accepts = ANY
    own_loop = True
    eval = keeping_dtype(minimum)
    jvp = partials(lambda t, out, x, y: mul(t, _share(y, x, out)),
                   lambda t, out, x, y: mul(t, _share(x, y, out)))


class Nextafter(Elementwise):
    """The next floating-point number from the first operand towards the second."""

    name = "nextafter"
    accepts = FLOAT
    eval = staticmethod(np.nextafter)
    jvp = partials(lambda t, out, x, y: grow(t, out), None)


class IsFinite(Elementwise):
    """Whether numbers are neither infinite nor NaN."""

    name = "is_finite"
    accepts = FLOAT
    eval = staticmethod(np.isfinite)
    result = staticmethod(lambda dtype: np.dtype(bool))
    jvp = never("it gives booleans")


# -- rounding --------------------------------------------------------------------------------------


@parameter
class RoundingMethod(enum.IntEnum):
    """What :func:`round` does with numbers halfway between two integers."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


class Floor(Elementwise):
    """The greatest integer that is not above the operand."""

    name = "floor"
    accepts = FLOAT
    eval = staticmethod(np.floor)
    jvp = partials(None)


class Ceil(Elementwise):
    """The least integer that is not below the operand."""

    name = "ceil"
    accepts = FLOAT
    eval = staticmethod(np.ceil)
    jvp = partials(None)


class Round(Elementwise):
    """The nearest integer; ``rounding_method`` decides for halves."""

    name = "round"
    accepts = FLOAT
    jvp = partials(None)

    def eval(self, x, *, rounding_method):
        if rounding_method == RoundingMethod.TO_NEAREST_EVEN:
            return np.rint(x)
        wide = widened(x)
        whole = np.trunc(wide)
        up = np.copysign(np.abs(wide - whole) >= 0.5, wide).astype(wide.dtype)
        return np.asarray(np.copysign(whole + up, wide)).astype(x.dtype, copy=False)

    def lower(self, at, x, *, rounding_method):
        even = rounding_method == RoundingMethod.TO_NEAREST_EVEN
        return build.op("round_even" if even else "round_away", x[at])

    def show_params(self, params):
        return {"rounding_method": int(params["rounding_method"])}


rem_p, sign_p, abs_p, max_p, min_p = Rem(), Sign(), Abs(), Max(), Min()
nextafter_p, is_finite_p = Nextafter(), IsFinite()
floor_p, ceil_p, round_p = Floor(), Ceil(), Round()


# -- functions of tanx.lax -------------------------------------------------------------------------


def rem(x, y):
    """The remainder of ``x / y``, with the sign of ``x``.

    >>> lax.rem(-7, 2)
    Array(-1, dtype=int32, weak_type=True)
    """
    return rem_p.bind(x, y)


def sign(x):
    """-1, 0 or 1 by the sign of ``x``; for complex numbers, ``x / abs(x)``.

    >>> lax.sign(jnp.array([-2.5, 0.0, 3.0]))
    Array([-1.,  0.,  1.], dtype=float32)
    """
    return sign_p.bind(x)


def abs(x):
    """The absolute value of ``x``. The slope at zero is 1, as above it.

    >>> lax.abs(jnp.array([-2, 3]))
    Array([2, 3], dtype=int32)
    """
    return abs_p.bind(x)


def max(x, y):
    """The greater of ``x`` and ``y``; NaN if either is NaN. Ties share the gradient equally.

    >>> lax.max(jnp.array([1, 5]), jnp.array([4, 2]))
    Array([4, 5], dtype=int32)
    """
    return max_p.bind(x, y)


def min(x, y):
    """The lesser of ``x`` and ``y``; NaN if either is NaN. Ties share the gradient equally.

    >>> lax.min(jnp.array([1, 5]), jnp.array([4, 2]))
    Array([1, 2], dtype=int32)
    """
    return min_p.bind(x, y)


def nextafter(x1, x2):
    """The next floating-point number after ``x1`` in the direction of ``x2``.

    >>> lax.nextafter(1.0, 2.0) - 1
    Array(1.1920929e-07, dtype=float32, weak_type=True)
    """
    return nextafter_p.bind(x1, x2)


def is_finite(x):
    """Whether each element is neither infinite nor NaN.

    >>> lax.is_finite(jnp.array([1.0, jnp.inf, jnp.nan]))
    Array([ True, False, False], dtype=bool)
    """
    return is_finite_p.bind(x)


def floor(x):
    """The greatest integer not above ``x``, as a floating-point number.

    >>> lax.floor(jnp.array([-1.5, 1.5]))
    Array([-2.,  1.], dtype=float32)
    """
    return floor_p.bind(x)


def ceil(x):
    """The least integer not below ``x``, as a floating-point number.

    >>> lax.ceil(jnp.array([-1.5, 1.5]))
    Array([-1.,  2.], dtype=float32)
    """
    return ceil_p.bind(x)


def round(x, rounding_method=RoundingMethod.AWAY_FROM_ZERO):
    """The nearest integer, as a floating-point number; by default, halves go away from zero.

    >>> lax.round(2.5), lax.round(2.5, lax.RoundingMethod.TO_NEAREST_EVEN)
    (Array(3., dtype=float32, weak_type=True), Array(2., dtype=float32, weak_type=True))
    """
    return round_p.bind(x, rounding_method=RoundingMethod(rounding_method))
