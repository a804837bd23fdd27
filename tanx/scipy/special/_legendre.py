"""Associated Legendre functions."""

from __future__ import annotations

import operator

import numpy as np

from ... import lax
from ... import numpy as jnp
from ..._api.jit import library_jit
from ...errors import explain
from ...numpy._promotion import check_arraylike, typeof
from ._operands import in_float64, single_or_double

__all__ = ["lpmn", "lpmn_values"]


def lpmn(m: int, n: int, z):
    """The associated Legendre functions of the first kind, and their derivatives.

    Both results have an entry for each order up to ``m``, each degree up to ``n`` and each element
    of ``z``. JAX has this function as well, but has announced to remove it.

    Args:
      m: The greatest order.
      n: The greatest degree.
      z: A vector of numbers from -1 to 1, of float32 or float64.

    >>> values, slopes = tanx.scipy.special.lpmn(1, 2, jnp.array([0.5]))
    >>> values[:, :, 0]
    Array([[ 1.        ,  0.5       , -0.125     ],
           [ 0.        , -0.8660254 , -1.299038  ]], dtype=float32)
    >>> slopes[0, :, 0]
    Array([0. , 1. , 1.5], dtype=float32)
    """
    return _values_and_slopes(_points("lpmn", z), *_sizes("lpmn", m, n))


def lpmn_values(m: int, n: int, z, is_normalized: bool):
    """The associated Legendre functions of the first kind.

    The result has an entry for each order up to ``m``, each degree up to ``n`` and each element of
    ``z``. JAX has this function as well, but has announced to remove it.

    Args:
      m: The greatest order.
      n: The greatest degree.
      z: A vector of numbers from -1 to 1, of float32 or float64.
      is_normalized: Whether to multiply by the factors with which spherical harmonics are
        orthonormal. Values of large degrees only stay in range with them.

    >>> tanx.scipy.special.lpmn_values(1, 1, jnp.array([0.5]), True)[:, :, 0]
    Array([[ 0.2820948 ,  0.24430126],
           [ 0.        , -0.29920673]], dtype=float32)
    """
    z, (m, n) = _points("lpmn_values", z), _sizes("lpmn_values", m, n)
    return _normalized(z, m, n) if is_normalized else _values_and_slopes(z, m, n)[0]


def _points(function: str, z):
    """``z``, which must be a vector."""
    check_arraylike(f"scipy.special.{function}", z)
    z = single_or_double(function, z)
    if z.ndim != 1:
        raise ValueError(explain(f"tanx.scipy.special.{function}", "takes a vector.",
                                 f"z: {typeof(z)}", hint="tanx.vmap adds dimensions."))
    return z


def _sizes(function: str, m, n) -> tuple[int, int]:
    """The greatest order and degree as integers of at least 0."""
    m, n = operator.index(m), operator.index(n)
    if m < 0 or n < 0:
        raise ValueError(explain(f"tanx.scipy.special.{function}",
                                 "order and degree must not be negative.", f"m: {m}", f"n: {n}"))
    return m, n


@library_jit(name="lpmn", static_argnums=(1, 2))
def _values_and_slopes(z, m, n):
    return in_float64(lambda z: _from_polynomials(z, m, n))(z)


@library_jit(name="lpmn_values", static_argnums=(1, 2))
def _normalized(z, m, n):
    order, degree = np.arange(m + 1.0), np.arange(1, n + 1.0)[:, None]
    with np.errstate(all="ignore"):
        factor = np.sqrt((4 * degree**2 - 1) / (degree**2 - order**2))
        before = np.sqrt(((degree - 1) ** 2 - order**2) / (4 * (degree - 1) ** 2 - 1))
    below = order < degree
    factor = np.where(below, factor, 0)
    before = np.where(order < degree - 1, before * factor, 0)
    diagonal = np.where(order == degree, -np.sqrt(1 + 0.5 / degree), 0)

    def run(z):
        sine = jnp.sqrt(1 - z * z)
        return _by_degree(z, diagonal[:, :, None] * sine, factor, before,
                          np.sqrt(0.25 / np.pi))
    return in_float64(run)(z)


def _from_polynomials(z, m, n):
    """Values and derivatives by the derivatives of the Legendre polynomials.

    With s = √(1 - z²) and Q the k-th derivative, the function of order k is (-s)^k Q. Dividing it
    by s would lose its derivative at the ends, where that is finite for all orders but the first.
    """
    order, degree = np.arange(m + 2.0), np.arange(1, n + 1.0)[:, None]
    below = order < degree
    divisor = np.where(below, degree - order, 1)
    factor = np.where(below, 2 * degree - 1, 0) / divisor
    before = np.where(order < degree - 1, degree + order - 1, 0) / divisor
    diagonal = np.where(order == degree, 2 * degree - 1, 0)
    table = _by_degree(z, diagonal[:, :, None], factor, before, 1.0)
    here, above = table[:-1], table[1:]

    k = np.arange(m + 1)[:, None, None]
    sign, exists = np.where(k % 2, -1.0, 1.0), k <= np.arange(n + 1)[:, None]
    sine = jnp.sqrt(1 - z * z)
    power = sine ** k.astype(np.int32)
    # The power of s that remains when its own derivative, -z / s, is multiplied by it.
    less = jnp.where(k == 1, 1 / jnp.where(k == 1, sine, 1), sine ** np.maximum(k - 2, 0))
    slopes = power * above - jnp.where(k > 0, k * z * less * here, 0)
    return tuple(jnp.where(exists, sign * x, 0) for x in (power * here, slopes))


def _by_degree(z, diagonal, factor, before, first: float):
    """A table of orders and degrees by the recurrence in the degree, given its coefficients.

    Each row is ``factor`` times ``z`` times the one before, less ``before`` times the one before
    that; a new order is ``diagonal`` times the order below.
    """
    orders = factor.shape[1]
    start = jnp.zeros((orders, *z.shape), z.dtype).at[0].set(first)

    def step(rows, coefficients):
        last, earlier = rows
        diagonal, factor, before = coefficients
        lower = jnp.concatenate([jnp.zeros_like(last[:1]), last[:-1]])
        row = factor * z * last - before * earlier + diagonal * lower
        return (row, last), row

    tables = [jnp.asarray(t, z.dtype) for t in (diagonal, factor[:, :, None], before[:, :, None])]
    _, rows = lax.scan(step, (start, jnp.zeros_like(start)), tuple(tables))
    return jnp.moveaxis(jnp.concatenate([start[None], rows]), 0, 1)
