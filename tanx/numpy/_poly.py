"""Polynomials, as vectors of coefficients, the highest power first."""

from __future__ import annotations

import operator

import numpy as np

from .. import dtypes
from .._api.jit import library_jit
from ..errors import ConcretizationTypeError, explain
from ..lax import _functions as lax
from ._assemble import atleast_1d, concatenate, roll
from ._complex import conj
from ._contract import convolve, matmul, outer
from ._creation import arange, ones, zeros
from ._edit import trim_zeros
from ._logic import where
from ._math import divide, multiply, negative, sqrt
from ._matrices import diag, vander
from ._nonzero import known_value
from ._promotion import (
    as_operand,
    check_arraylike,
    convert,
    inexact,
    promote_dtypes,
    typeof,
)
from ._reduce import prod, sum
from ._shape import expand_dims

__all__ = ["poly", "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub",
           "polyval", "roots"]


def _vectors(function: str, *args) -> list:
    """Operands with at least one dimension, in one dtype."""
    check_arraylike(function, *args)
    vectors = promote_dtypes(*args)
    for i, x in enumerate(vectors):
        if not x.shape:
            raise TypeError(explain(
                f"tanx.numpy.{function}", "polynomials are vectors of coefficients.",
                f"argument {i}: {typeof(x)}", hint="a constant is a vector of one: x[None]."))
    return vectors


def _order(function: str, m) -> int:
    """How often to differentiate or integrate."""
    m = operator.index(m)
    if m < 0:
        raise ValueError(explain(f"tanx.numpy.{function}", "the order must not be negative.",
                                 f"m: {m}"))
    return m


# -- values, sums and products ---------------------------------------------------------------------


@library_jit(static_argnames=("unroll",))
def polyval(p, x, *, unroll=None):
    """The values of the polynomial with the coefficients ``p`` at ``x``.

    ``unroll`` has no effect: polynomials are always compiled to straight-line code.

    >>> jnp.polyval(jnp.array([1, 2, 3]), jnp.array([0, 1, 2]))
    Array([ 3,  6, 11], dtype=int32)
    """
    check_arraylike("polyval", p, x)
    dtype = dtypes.result_type(p, x)
    p, x = convert(p, dtype), convert(x, dtype)
    coefficients = [p[k] for k in range(p.shape[0] - 1, -1, -1)]
    if p.ndim > 1:
        shape = np.broadcast_shapes(p.shape[1:], x.shape)
        x = lax.broadcast_in_dim(x, shape, range(len(shape) - x.ndim, len(shape)))
        coefficients = [lax.broadcast_in_dim(c, shape, range(len(shape) - c.ndim, len(shape)))
                        for c in coefficients]
    return lax.polynomial(x, coefficients, unroll=unroll)


def _longer_first(a, b) -> tuple:
    return (a, b) if a.shape[0] >= b.shape[0] else (b, a)


@library_jit
def polyadd(a1, a2):
    """The sum of two polynomials.

    >>> jnp.polyadd(jnp.array([1, 2, 3]), jnp.array([10, 20]))
    Array([ 1, 12, 23], dtype=int32)
    """
    long, short = _longer_first(*_vectors("polyadd", a1, a2))
    return long.at[long.shape[0] - short.shape[0]:].add(short)


@library_jit
def polysub(a1, a2):
    """The difference of two polynomials.

    >>> jnp.polysub(jnp.array([1, 2, 3]), jnp.array([10, 20]))
    Array([  1,  -8, -17], dtype=int32)
    """
    a1, a2 = _vectors("polysub", a1, a2)
    return polyadd(a1, negative(a2))


def polymul(a1, a2, *, trim_leading_zeros=False):
    """The product of two polynomials; integers become floats.

    ``trim_leading_zeros`` drops leading zeros of the operands; their values must then be known.

    >>> jnp.polymul(jnp.array([1., 2.]), jnp.array([1., -2.]))
    Array([ 1.,  0., -4.], dtype=float32)
    """
    factors = _vectors("polymul", a1, a2)
    if trim_leading_zeros and factors[0].shape[0] > 1 and factors[1].shape[0] > 1:
        factors = [trim_zeros(x, "f") for x in factors]
    a1, a2 = (x if x.shape[0] else zeros((1,), x.dtype) for x in factors)
    return convolve(a1, a2)


def polydiv(u, v, *, trim_leading_zeros=False):
    """The quotient and the remainder of two polynomials.

    The remainder has the length of ``u`` unless ``trim_leading_zeros`` drops its leading zeros; its
    values must then be known.

    >>> jnp.polydiv(jnp.array([1., 3., 5.]), jnp.array([1., 1.]))
    (Array([1., 2.], dtype=float32), Array([0., 0., 3.], dtype=float32))
    """
    check_arraylike("polydiv", u, v)
    dtype = dtypes.to_inexact_dtype(dtypes.result_type(u, v))
    u, v = (convert(x, dtype) for x in _vectors("polydiv", u, v))
    steps = u.shape[0] - v.shape[0] + 1
    scale = divide(1, v[0])
    digits, rest = [], u
    for k in range(steps):
        digits.append(multiply(scale, rest[k]))
        rest = rest.at[k:k + v.shape[0]].add(multiply(negative(digits[-1]), v))
    quotient = lax.stack(digits) if digits else zeros((1,), dtype)
    return quotient, trim_zeros(rest, "f") if trim_leading_zeros else rest


# -- derivatives and integrals ---------------------------------------------------------------------


def _falling(first: int, count: int, m: int, dtype):
    """For the powers from ``first`` on, the product of each with the ``m - 1`` below it."""
    powers = lax.add(convert(first, dtype), lax.iota(dtype, count))
    return prod(expand_dims(powers, 0) - expand_dims(lax.iota(dtype, m), 1), 0)


@library_jit(static_argnames=("m",))
def polyder(p, m=1):
    """The ``m``-th derivative of a polynomial.

    >>> jnp.polyder(jnp.array([1., 2., 3.]))
    Array([2., 2.], dtype=float32)
    """
    p, m = inexact("polyder", p), _order("polyder", m)
    if m == 0:
        return p
    (p,) = _vectors("polyder", p)
    count = max(0, p.shape[0] - m)
    factors = _falling(m, count, m, p.dtype)
    return lax.mul(p[:count], lax.rev(factors, (0,)))


@library_jit(static_argnames=("m",))
def polyint(p, m=1, k=None):
    """The ``m``-th integral of a polynomial; ``k`` holds its ``m`` constants, which are 0 if None.

    >>> jnp.polyint(jnp.array([2., 2.]), k=3)
    Array([1., 2., 3.], dtype=float32)
    """
    k = 0 if k is None else k
    check_arraylike("polyint", p, k)
    dtype, weak = dtypes.result_type(p, k, return_weak_type_flag=True)
    dtype = dtypes.to_inexact_dtype(dtype)
    p, m = convert(p, dtype, weak), _order("polyint", m)
    if m == 0:
        return p
    (p,) = _vectors("polyint", p)
    constants = atleast_1d(convert(k, dtype, weak))
    if constants.shape == (1,):
        constants = lax.broadcast_in_dim(constants[0], (m,), ())
    if constants.shape != (m,):
        raise ValueError(explain(
            "tanx.numpy.polyint", "k must be a number, or a vector of m numbers.",
            f"k: {typeof(k)}", f"m: {m}"))
    divisors = _divisors(p.shape[0] + m, m, dtype)
    return lax.div(concatenate([p, constants]), divisors)


def _divisors(count: int, m: int, dtype):
    """The divisors of the coefficients of an ``m``-fold integral."""
    powers = lax.iota(dtype, count)
    steps = expand_dims(powers, 0) - expand_dims(lax.iota(dtype, m), 1)
    return lax.rev(prod(lax.max(convert(1, dtype), steps), 0), (0,))


# -- zeros -----------------------------------------------------------------------------------------


@library_jit
def poly(seq_of_zeros):
    """The coefficients of the polynomial with given zeros, or of the polynomial of a square matrix.

    The zeros of the latter are the eigenvalues of the matrix.

    >>> jnp.poly(jnp.array([1., 2.]))
    Array([ 1., -3.,  2.], dtype=float32)
    """
    zeros_ = inexact("poly", seq_of_zeros)
    if zeros_.ndim == 2 and zeros_.shape[0] == zeros_.shape[1] and zeros_.shape[0]:
        from .linalg import eigvals  # late, here and below: slow to import
        zeros_ = eigvals(zeros_)
    zeros_ = atleast_1d(zeros_)
    if zeros_.ndim != 1:
        raise ValueError(explain("tanx.numpy.poly", "needs a vector or a square matrix.",
                                 f"seq_of_zeros: {typeof(seq_of_zeros)}"))
    if not zeros_.shape[0]:
        return convert(1, zeros_.dtype)
    product = ones((1,), zeros_.dtype)
    for k in range(zeros_.shape[0]):
        product = convolve(product, lax.stack([convert(1, zeros_.dtype), -zeros_[k]]))
    return product


def roots(p, *, strip_zeros=True):
    """The zeros of a polynomial, as complex numbers.

    With ``strip_zeros``, leading coefficients that are zero are dropped first; their values must be
    known. Without it, as needed under ``jit``, each of them gives a NaN at the end of the result.

    >>> jnp.roots(jnp.array([1., -3., 2.]))
    Array([2.+0.j, 1.+0.j], dtype=complex64)
    """
    p = atleast_1d(inexact("roots", p))
    if p.ndim != 1:
        raise ValueError(explain("tanx.numpy.roots", "needs a vector of coefficients.",
                                 f"p: {typeof(p)}"))
    if not strip_zeros:
        return _roots_behind_zeros(p) if p.shape[0] > 1 else _none(p)
    if known_value(p) is None:
        raise ConcretizationTypeError.of(
            "tanx.numpy.roots", "the number of zeros at the ends", p, "give strip_zeros=False.")
    given = trim_zeros(p, "f")
    trimmed = trim_zeros(given, "b")
    found = _roots_of(trimmed) if trimmed.shape[0] > 1 else _none(p)
    return concatenate([zeros((given.shape[0] - trimmed.shape[0],), found.dtype), found])


def _none(p):
    return zeros((0,), dtypes.to_complex_dtype(p.dtype))


@library_jit
def _roots_of(p):
    """The zeros of a polynomial whose first coefficient is not 0: eigenvalues of its companion."""
    from .linalg import eigvals
    n = p.shape[0] - 1
    companion = diag(ones((n - 1,), p.dtype), -1)
    return eigvals(companion.at[0].set(-p[1:] / p[0]))


@library_jit
def _roots_behind_zeros(p):
    """The zeros of a polynomial, with NaN at the end for each leading coefficient that is 0."""
    n = p.shape[0]
    nothing = lax.eq(p, convert(0, p.dtype))
    lead = where(nothing.all(), n, lax.argmin(nothing, 0, np.int32))
    # Coefficients moved to the end add zeros of the polynomial, which come last.
    shifted = roll(where(lax.eq(lead, convert(n, lead.dtype)), convert(1, p.dtype), p), -lead)
    found = _roots_of(shifted)
    last = lax.eq(found, convert(0, found.dtype))
    _, found = lax.sort((last, found), dimension=0, num_keys=1)
    return where(arange(n - 1) < n - 1 - lead, found, np.nan * (1 + 1j))


# -- fits ------------------------------------------------------------------------------------------


@library_jit(static_argnames=("deg", "rcond", "full", "cov"))
def polyfit(x, y, deg, rcond=None, full=False, w=None, cov=False):
    """The polynomial of degree ``deg`` through points ``x``, ``y``, by least squares.

    Each column of ``y`` is fitted separately. ``w`` holds a weight for each point. Singular values
    of at most ``rcond`` times the greatest count as zero. ``full`` adds the residuals, the rank,
    the singular values and ``rcond`` to the result; ``cov`` adds the covariance of the
    coefficients, scaled by the sum of squares unless ``cov="unscaled"``.

    >>> jnp.polyfit(jnp.array([0., 1., 2.]), jnp.array([1., 3., 5.]), 1).round(3)
    Array([2., 1.], dtype=float32)
    """
    from .linalg import inv, lstsq
    check_arraylike("polyfit", x, y)
    deg = int(deg)
    x, y = inexact("polyfit", x), inexact("polyfit", y)
    _check_points(x, y, w, deg)
    if rcond is None:
        rcond = x.shape[0] * float(dtypes.finfo(x.dtype).eps)
    powers, values = vander(x, deg + 1), y
    if w is not None:
        w = as_operand("polyfit", w)
        powers = powers * w[:, None]
        values = values * (w[:, None] if y.ndim == 2 else w)
    scale = sqrt(sum(multiply(powers, conj(powers)).real, 0))
    powers = powers / scale[None]
    found, residuals, rank, s = lstsq(powers, values, rcond)
    found = found / (scale[:, None] if y.ndim == 2 else scale)
    if full:
        return found, residuals, rank, s, rcond
    if not cov:
        return found
    spread = inv(matmul(powers.T, powers)) / outer(scale, scale)
    spread = spread if y.ndim == 1 else spread[:, :, None]
    if cov == "unscaled":
        return found, spread
    freedom = x.shape[0] - (deg + 1)
    if freedom <= 0:
        raise ValueError(explain(
            "tanx.numpy.polyfit", "a scaled covariance needs more points than coefficients.",
            f"points: {x.shape[0]}", f"deg:    {deg}", hint="ask for cov='unscaled'."))
    residuals = residuals[0] if y.ndim == 1 else residuals[None, None]
    return found, spread * (residuals / freedom)


def _check_points(x, y, w, deg: int) -> None:
    """Check that each point has a value, and a weight if weights are given."""
    facts = [f"x: {typeof(x)}", f"y: {typeof(y)}"]
    if deg < 0:
        raise ValueError(explain("tanx.numpy.polyfit", "deg must not be negative.", f"deg: {deg}"))
    if x.ndim != 1 or not x.shape[0]:
        raise TypeError(explain("tanx.numpy.polyfit", "x must be a vector that is not empty.",
                                *facts))
    if y.ndim not in (1, 2) or y.shape[0] != x.shape[0]:
        raise TypeError(explain(
            "tanx.numpy.polyfit", "y must have a value, or a row of them, for each x.", *facts))
    if w is not None and np.shape(w) != y.shape[:1]:
        raise TypeError(explain("tanx.numpy.polyfit", "w must have a weight for each x.", *facts,
                                f"w: {typeof(w)}"))
