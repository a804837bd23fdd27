"""Comparisons, logic, tests of numbers, and choices between arrays."""

from __future__ import annotations

import numpy as np

from .. import lax
from .._api.jit import library_jit
from ._promotion import (
    as_operand,
    broadcast_to_shape,
    check_arraylike,
    like,
    promote,
    promote_dtypes,
)

__all__ = ["equal", "greater", "greater_equal", "less", "less_equal", "logical_not", "not_equal",
           "where"]


# -- comparisons -----------------------------------------------------------------------------------


def equal(x, y, /):
    """Whether elements are equal: ``x == y``."""
    return lax.eq(*promote("equal", x, y))


def not_equal(x, y, /):
    """Whether elements differ: ``x != y``."""
    return lax.ne(*promote("not_equal", x, y))


def less(x, y, /):
    """Whether ``x < y``; complex numbers are ordered by real part, then by imaginary part."""
    return _ordered(lax.lt, *promote("less", x, y))


def less_equal(x, y, /):
    """Whether ``x <= y``; complex numbers are ordered by real part, then by imaginary part."""
    return _ordered(lax.le, *promote("less_equal", x, y))


def greater(x, y, /):
    """Whether ``x > y``; complex numbers are ordered by real part, then by imaginary part."""
    return _ordered(lax.gt, *promote("greater", x, y))


def greater_equal(x, y, /):
    """Whether ``x >= y``; complex numbers are ordered by real part, then by imaginary part."""
    return _ordered(lax.ge, *promote("greater_equal", x, y))


def _ordered(compare, x, y):
    if x.dtype.kind != "c":
        return compare(x, y)
    tie = lax.eq(lax.real(x), lax.real(y))
    return lax.select(tie, compare(lax.imag(x), lax.imag(y)), compare(lax.real(x), lax.real(y)))


# -- logic -----------------------------------------------------------------------------------------


def as_bool(x):
    """``x`` as booleans: whether elements are not zero."""
    return x if x.dtype.kind == "b" else lax.ne(x, like(x, 0))


def logical_and(x, y, /):
    """Whether both ``x`` and ``y`` are other than zero."""
    return lax.bitwise_and(*map(as_bool, promote("logical_and", x, y)))


def logical_or(x, y, /):
    """Whether ``x`` or ``y`` is other than zero."""
    return lax.bitwise_or(*map(as_bool, promote("logical_or", x, y)))


def logical_xor(x, y, /):
    """Whether exactly one of ``x`` and ``y`` is other than zero."""
    return lax.bitwise_xor(*map(as_bool, promote("logical_xor", x, y)))


def logical_not(x, /):
    """Whether elements are zero."""
    return lax.bitwise_not(as_bool(as_operand("logical_not", x)))


# -- choices ---------------------------------------------------------------------------------------


def where(condition, x=None, y=None, /, *, size=None, fill_value=None):
    """Elements of ``x`` where ``condition`` holds, of ``y`` elsewhere.

    Both sides are computed. With a gradient, a NaN of the side not taken still spoils it: replace
    the argument before the function that cannot take it, not only the result after it.

    >>> jnp.where(jnp.arange(4) < 2, 10, 20)
    Array([10, 10, 20, 20], dtype=int32, weak_type=True)
    """
    check_arraylike("where", condition, x, y)
    return _where(condition, x, y)


@library_jit(name="_where")
def _where(condition, x, y):
    condition = as_bool(as_operand("where", condition))
    x, y = promote_dtypes(x, y)
    if condition.shape == x.shape == y.shape:
        return lax.select(condition, x, y)
    shape = np.broadcast_shapes(condition.shape, x.shape, y.shape)
    if condition.shape:
        condition = broadcast_to_shape(condition, shape)
    return lax.select(condition, broadcast_to_shape(x, shape), broadcast_to_shape(y, shape))
