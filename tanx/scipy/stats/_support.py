"""Helpers of distributions: operands of one dtype, and logarithms at the borders of supports."""

from __future__ import annotations

from math import log

import numpy as np

from ... import dtypes
from ... import numpy as jnp
from ...numpy._promotion import check_arraylike, convert, promote_shapes

__all__ = ["log1p_square", "log_share", "operands", "probability", "standard",
           "times_log", "times_log1p"]


def operands(function: str, *args) -> tuple:
    """Arguments as arrays of one inexact dtype whose shapes broadcast together.

    The type is weak only if all of them are Python numbers.
    """
    check_arraylike(function, *args)
    dtype, weak = dtypes.result_type(*args, return_weak_type_flag=True)
    dtype = dtypes.to_inexact_dtype(dtype)
    weak = weak and not any(map(np.ndim, args))
    return promote_shapes(function, *[convert(x, dtype, weak) for x in args])


def standard(function: str, x, loc, scale):
    """``(x - loc) / scale``: the value for the standard distribution."""
    x, loc, scale = operands(function, x, loc, scale)
    return (x - loc) / scale


def times_log(n, y):
    """``n * log(y)``; at the border of a support, where both may be 0, it is 0 with slope 0.

    Elsewhere its derivative by ``n`` is ``log(y)``, also where ``n`` is 0.
    """
    return n * jnp.log(jnp.where((n == 0) & (y == 0), 1, y))


def times_log1p(n, y):
    """``n * log(1 + y)``, which is 0 where ``n`` is 0 and ``y`` is -1; see :func:`times_log`."""
    return n * jnp.log1p(jnp.where((n == 0) & (y == -1), 0, y))


def log1p_square(y):
    """``log(1 + y**2)``, also where the square overflows.

    There ``y`` is divided by a power of two, and the 1, which is negligible, is omitted.
    """
    half = dtypes.finfo(y.dtype).maxexp // 2
    far = jnp.abs(y) > 2.0 ** (half - 1)
    square = jnp.square(y * jnp.where(far, 2.0 ** -(half + 2), 1))
    left_out = jnp.where(far, 2 * (half + 2) * log(2), 0)
    return jnp.log1p(jnp.where(far, square - 1, square)) + left_out


def log_share(p, rest):
    """``log(p)`` of a probability ``p = 1 - rest``: from ``rest``, if that is smaller."""
    most = p > 0.5
    return jnp.where(most, jnp.log1p(0 - jnp.where(most, rest, 0)), jnp.log(jnp.where(most, 1, p)))


def probability(q):
    """``q`` where it is from 0 to 1, and NaN elsewhere: the operand of a quantile."""
    return jnp.where((q < 0) | (q > 1), jnp.nan, q)
