"""Whole numbers: common divisors and multiples, and the bits of bytes."""

from __future__ import annotations

import numpy as np

from .._api.batching import vmap
from .._api.jit import library_jit
from .._base.axes import canonical_axis
from ..errors import explain
from ..lax import _functions as lax
from ._logic import where
from ._math import absolute, is_dtype
from ._promotion import (
    as_operand,
    broadcast_to_shape,
    check_arraylike,
    common_shape,
    convert,
    like,
    promote,
    typeof,
)
from ._shape import moveaxis, ravel, reshape

__all__ = ["gcd", "lcm", "packbits", "unpackbits"]

_UINT8 = np.dtype(np.uint8)


# -- divisors and multiples ------------------------------------------------------------------------


def _whole_numbers(function: str, x, y) -> tuple:
    """Integers of one dtype and one shape; weak only where all are scalars."""
    x, y = promote(function, x, y)
    if not is_dtype(x, np.integer):
        raise ValueError(explain(f"tanx.numpy.{function}", "takes integers.",
                                 f"x1: {typeof(x)}", f"x2: {typeof(y)}"))
    shape = common_shape(x.shape, y.shape)
    if shape:
        x, y = convert(x, x.dtype), convert(y, y.dtype)
    return broadcast_to_shape(x, shape), broadcast_to_shape(y, shape)


def _common_divisor(a, b):
    """Euclid's algorithm on two numbers."""
    return lax.while_loop(lambda pair: lax.ne(pair[1], like(pair[1], 0)),
                          lambda pair: (pair[1], lax.rem(*pair)), (a, b))[0]


@library_jit
def gcd(x1, x2):
    """The greatest number that divides both ``x1`` and ``x2``; 0 where both are 0.

    >>> jnp.gcd(jnp.array([12, 7, 0]), 18)
    Array([ 6,  1, 18], dtype=int32)
    """
    x1, x2 = _whole_numbers("gcd", x1, x2)
    if not x1.shape:
        return _common_divisor(absolute(x1), absolute(x2))
    return reshape(vmap(_common_divisor)(ravel(absolute(x1)), ravel(absolute(x2))), x1.shape)


@library_jit
def lcm(x1, x2):
    """The least positive number that both ``x1`` and ``x2`` divide; 0 where either is 0.

    >>> jnp.lcm(jnp.array([4, 7, 0]), 6)
    Array([12, 42,  0], dtype=int32)
    """
    x1, x2 = map(absolute, _whole_numbers("lcm", x1, x2))
    divisor = gcd(x1, x2)
    nothing = lax.eq(divisor, like(divisor, 0))
    return where(nothing, 0, lax.mul(x1, lax.div(x2, where(nothing, 1, divisor))))


# -- bits ------------------------------------------------------------------------------------------


def _shifts(function: str, bitorder: str):
    """The shift of each bit of a byte, in the requested order."""
    if bitorder not in ("big", "little"):
        raise ValueError(explain(f"tanx.numpy.{function}", "bitorder is 'big' or 'little'.",
                                 f"bitorder: {bitorder!r}"))
    order = lax.iota(np.uint8, 8)
    return order if bitorder == "little" else lax.rev(order, (0,))


def _last(function: str, a, axis) -> tuple:
    """The array with an axis last, and that axis; raveled if the axis is None."""
    if axis is None:
        return ravel(a), -1
    axis = canonical_axis(function, axis, a)
    return moveaxis(a, axis, -1), axis


@library_jit(static_argnames=("axis", "bitorder"))
def packbits(a, axis=None, bitorder="big"):
    """Bytes made of groups of eight elements along ``axis``; a bit is set for a nonzero element.

    Zeros fill up the last byte. The first element of a group is the highest bit of its byte, or
    the lowest with ``bitorder="little"``.

    >>> jnp.packbits(jnp.array([1, 0, 1, 1]))
    Array([176], dtype=uint8)
    """
    a = as_operand("packbits", a)
    if not (is_dtype(a, np.integer) or a.dtype == np.bool_):
        raise TypeError(explain("tanx.numpy.packbits", "takes integers and booleans.",
                                f"a: {typeof(a)}"))
    shifts = _shifts("packbits", bitorder)
    bits, axis = _last("packbits", convert(lax.ne(a, like(a, 0)), _UINT8), axis)
    *lead, count = bits.shape
    bits = lax.pad(bits, convert(0, _UINT8), [(0, 0, 0)] * len(lead) + [(0, -count % 8, 0)])
    bits = reshape(bits, (*lead, -(-count // 8), 8))
    packed = lax.reduce_or(lax.shift_left(bits, broadcast_to_shape(shifts, bits.shape)),
                           (bits.ndim - 1,))
    return moveaxis(packed, -1, axis)


@library_jit(static_argnames=("axis", "count", "bitorder"))
def unpackbits(a, axis=None, count=None, bitorder="big"):
    """The bits of bytes along ``axis``, an element each.

    ``count`` is the number of results: zeros are added if it exceeds the number of bits; if it is
    negative, that many bits are dropped. ``bitorder`` is that of :func:`packbits`.

    >>> jnp.unpackbits(jnp.array([5], dtype="uint8"))
    Array([0, 0, 0, 0, 0, 1, 0, 1], dtype=uint8)
    """
    check_arraylike("unpackbits", a)
    a = as_operand("unpackbits", a)
    if a.dtype != np.uint8:
        raise TypeError(explain("tanx.numpy.unpackbits", "takes uint8.", f"a: {typeof(a)}"))
    shifts = _shifts("unpackbits", bitorder)
    whole, axis = _last("unpackbits", a, axis)
    shape = (*whole.shape, 8)
    # A bit is tested without shifting it: x86-64 cannot shift bytes of a vector by different
    # amounts, and 1M bytes took 1.8 times as long that way.
    masks = broadcast_to_shape(lax.shift_left(like(shifts, 1), shifts), shape)
    bytes_ = lax.broadcast_in_dim(whole, shape, range(whole.ndim))
    bits = convert(lax.ne(lax.bitwise_and(bytes_, masks), like(bytes_, 0)), _UINT8)
    bits = reshape(bits, (*shape[:-2], shape[-2] * 8))
    if count is not None:
        size = bits.shape[-1]
        wanted = count if count >= 0 else max(0, size + count)
        bits = lax.pad(bits, convert(0, _UINT8),
                       [(0, 0, 0)] * (bits.ndim - 1) + [(0, wanted - size, 0)])
    return moveaxis(bits, -1, axis)
