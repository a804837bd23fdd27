"""Spherical harmonics."""

from __future__ import annotations

import math

import numpy as np

from ... import dtypes, lax
from ... import numpy as jnp
from ..._api.jit import library_jit
from ...errors import explain
from ...numpy._promotion import typeof
from ._operands import in_float64

__all__ = ["sph_harm_y"]


def sph_harm_y(n, m, theta, phi, diff_n=None, n_max=None):
    """The spherical harmonics of degree ``n`` and order ``m``, as complex numbers.

    Args:
      n: The degrees, integers of at least 0.
      m: The orders, integers from ``-n`` to ``n``; the value is 0 for others.
      theta: The angle from the pole, from 0 to π.
      phi: The angle around the pole, from 0 to 2π.
      diff_n: Not supported: derivatives come from ``tanx.grad``.
      n_max: The greatest degree, required if ``n`` is traced; larger degrees count as that.

    >>> tanx.scipy.special.sph_harm_y(jnp.array([1]), jnp.array([1]), jnp.array([0.5]),
    ...                               jnp.array([0.25]))
    Array([-0.16048941-0.04097968j], dtype=complex64)
    """
    if diff_n is not None:
        raise NotImplementedError(explain(
            "tanx.scipy.special.sph_harm_y", "diff_n is not supported.", f"diff_n: {diff_n!r}",
            hint="tanx.grad and tanx.jacfwd compute derivatives by the angles."))
    n, m, theta, phi = map(jnp.asarray, (n, m, theta, phi))
    for name, x in (("n", n), ("m", m)):
        if not dtypes.issubdtype(x.dtype, np.integer):
            raise TypeError(explain("tanx.scipy.special.sph_harm_y",
                                    "degrees and orders are integers.", f"{name}: {typeof(x)}"))
    if n_max is None:
        n_max = int(jnp.max(n))
    dtype = dtypes.to_inexact_dtype(dtypes.result_type(theta, phi))
    theta, phi = theta.astype(dtype), phi.astype(dtype)
    return _harmonics(*jnp.broadcast_arrays(n, m, theta, phi), n_max=int(n_max))


@library_jit(name="sph_harm_y", static_argnames="n_max")
def _harmonics(n, m, theta, phi, *, n_max):
    n, order = jnp.minimum(n, n_max), jnp.abs(m)

    def legendre(theta):
        return _legendre(n, order, jnp.cos(theta), jnp.sin(theta), n_max)

    size = in_float64(legendre)(theta)
    # Negative orders have the sign (-1)^m and the opposite direction.
    size = jnp.where((m < 0) & (order % 2 == 1), -size, size)
    angle = m.astype(phi.dtype) * phi
    wide = size.astype(np.float32) if size.dtype.itemsize < 4 else size
    return lax.complex(wide * jnp.cos(angle).astype(wide.dtype),
                       wide * jnp.sin(angle).astype(wide.dtype))


def _legendre(n, order, cosine, sine, n_max):
    """The normalised Legendre functions: by recurrence in the order, then in the degree."""
    square = (order * order).astype(cosine.dtype)
    value = jnp.full_like(cosine, math.sqrt(0.25 / math.pi))
    before = jnp.zeros_like(cosine)
    for k in range(1, n_max + 1):
        diagonal = -math.sqrt((2 * k + 1) / (2 * k)) * sine * value
        up, rising = (order < k) & (k <= n), order < k
        above = jnp.where(rising, k * k - square, 1)
        below = jnp.where(rising, (k - 1) ** 2 - square, 0) / (4 * (k - 1) ** 2 - 1)
        step = jnp.sqrt((4 * k * k - 1) / above) * (
            cosine * value - jnp.sqrt(jnp.where(below > 0, below, 0)) * before)
        before = jnp.where(up, value, before)
        value = jnp.where(k <= order, diagonal, jnp.where(up, step, value))
    return jnp.where(order <= n, value, 0)
