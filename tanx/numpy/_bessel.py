"""The modified Bessel function of order 0, and the window built from it."""

from __future__ import annotations

from .. import dtypes
from .._api.jit import library_jit
from .._control.custom_jvp import custom_jvp
from ..errors import explain
from ..lax import _functions as lax
from ._creation import ones
from ._math import divide, multiply, sqrt, square, subtract
from ._promotion import as_operand, convert, inexact, typeof

__all__ = ["i0", "kaiser"]


@library_jit
def i0(x):
    """The modified Bessel function of order 0.

    >>> jnp.i0(jnp.array([0., 1.]))
    Array([1.       , 1.2660658], dtype=float32)
    """
    x = inexact("i0", x)
    if x.dtype.kind == "c":
        raise ValueError(explain("tanx.numpy.i0", "takes real numbers.", f"x: {typeof(x)}"))
    return i0_impl(x)


@custom_jvp
def i0_impl(x):
    size = lax.abs(x)
    return lax.mul(lax.exp(size), lax.bessel_i0e(size))


@i0_impl.defjvp
def i0_impl_jvp(primals, tangents):
    (x,), (dx,) = primals, tangents
    return i0_impl(x), lax.mul(dx, i1_impl(x))


@custom_jvp
def i1_impl(x):
    return lax.mul(lax.exp(lax.abs(x)), lax.bessel_i1e(x))


@i1_impl.defjvp
def _i1_jvp(primals, tangents):
    """The slope i0(x) - i1(x) / x, which is ½ at zero."""
    (x,), (dx,) = primals, tangents
    out = i1_impl(x)
    nowhere = lax.eq(x, lax.full_like(x, 0))
    ratio = lax.div(out, lax.select(nowhere, lax.full_like(x, 1), x))
    ratio = lax.select(nowhere, lax.full_like(x, 0.5), ratio)
    return out, lax.mul(dx, lax.sub(i0_impl(x), ratio))


def kaiser(M, beta):
    """The window of Kaiser with ``M`` points; greater ``beta`` make it narrower.

    >>> jnp.kaiser(3, 2.0)
    Array([0.43867627, 1.        , 0.43867627], dtype=float32)
    """
    dtype = dtypes.to_inexact_dtype(dtypes.result_type(float))
    beta = as_operand("kaiser", beta)
    M = int(M)
    if M <= 1:
        return ones((M,), dtype)
    middle = convert(0.5 * (M - 1), dtype)
    place = divide(subtract(lax.iota(dtype, M), middle), middle)
    return divide(i0(multiply(beta, sqrt(subtract(1, square(place))))), i0(beta))
