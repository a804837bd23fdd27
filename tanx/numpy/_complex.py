"""Complex numbers: their parts, conjugates and angles."""

from __future__ import annotations

import math

import numpy as np

from .. import dtypes
from .._api.jit import library_jit
from .._base.axes import canonical_axis
from ..lax import _functions as lax
from ._logic import less, where
from ._math import absolute, divide, floor_divide, is_dtype, refuse_complex, remainder, renamed
from ._promotion import as_operand, convert, like, promote
from ._transcendental import arctan2, rad2deg

__all__ = ["angle", "conj", "conjugate", "imag", "iscomplex", "isreal", "real", "unwrap"]


def real(val, /):
    """The real part; real numbers as they are.

    >>> jnp.real(jnp.array([1 + 2j]))
    Array([1.], dtype=float32)
    """
    val = as_operand("real", val)
    return lax.real(val) if val.dtype.kind == "c" else val


def imag(val, /):
    """The imaginary part; zeros for real numbers.

    >>> jnp.imag(jnp.array([1 + 2j]))
    Array([2.], dtype=float32)
    """
    val = as_operand("imag", val)
    return lax.imag(val) if val.dtype.kind == "c" else lax.full_like(val, 0)


def conjugate(x, /):
    """The complex conjugate; real numbers as they are.

    >>> jnp.conjugate(jnp.array([1 + 2j]))
    Array([1.-2.j], dtype=complex64)
    """
    x = as_operand("conjugate", x)
    return lax.conj(x) if x.dtype.kind == "c" else x


@library_jit(static_argnames=("deg",))
def angle(z, deg=False):
    """The angle of complex numbers, in radians or, with ``deg``, in degrees.

    >>> jnp.angle(jnp.array([1 + 1j, -1]), deg=True)
    Array([ 45., 180.], dtype=float32)
    """
    z = as_operand("angle", z)
    if z.dtype.kind == "c":
        part = lax.real(z)
        out = lax.atan2(lax.imag(z), part)
    else:
        z = z if is_dtype(z, np.inexact) else convert(z, dtypes.default_float())
        out = arctan2(lax.full_like(z, 0, z.dtype), z)
    return rad2deg(out) if deg else out


@library_jit(static_argnames=("axis",))
def unwrap(p, discont=None, axis=-1, period=2 * math.pi):
    """Angles along ``axis`` without jumps: whole periods are added where steps are too large.

    A step of ``discont`` or more is too large; the default is half a period.

    >>> jnp.unwrap(jnp.array([0, 3, 7, 10]), period=6)
    Array([0, 3, 1, 4], dtype=int32)
    """
    p = as_operand("unwrap", p)
    refuse_complex("unwrap", p, error=ValueError)
    axis = canonical_axis("unwrap", axis, p)
    p, period = promote("unwrap", p, period)
    if not p.shape[axis]:
        return p
    before, after = (lax.slice_in_dim(p, start, start + p.shape[axis] - 1, axis=axis)
                     for start in (0, 1))
    step = lax.sub(after, before)
    half = floor_divide(period, 2) if is_dtype(p, np.integer) else divide(period, 2)
    small = lax.sub(remainder(lax.add(step, half), period), half)
    upwards = lax.bitwise_and(lax.eq(small, lax.neg(half)), lax.gt(step, like(step, 0)))
    limit = divide(period, 2) if discont is None else discont
    change = where(less(absolute(step), limit), like(step, 0),
                   lax.sub(where(upwards, half, small), step))
    first = lax.slice_in_dim(p, 0, 1, axis=axis)
    moved = lax.add(after, lax.cumsum(change, axis))
    return lax.concatenate([convert(x, p.dtype) for x in (first, moved)], axis)


@library_jit
def isreal(x):
    """Whether the imaginary part is zero.

    >>> jnp.isreal(jnp.array([1, 1j]))
    Array([ True, False], dtype=bool)
    """
    part = imag(x)
    return lax.eq(part, like(part, 0))


@library_jit
def iscomplex(x):
    """Whether the imaginary part is other than zero.

    >>> jnp.iscomplex(jnp.array([1, 1j]))
    Array([False,  True], dtype=bool)
    """
    part = imag(x)
    return lax.ne(part, like(part, 0))


conj = renamed(conjugate, "conj")
