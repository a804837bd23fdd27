"""The normal distribution and others that derive from it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import dtypes, lax
from .. import numpy as jnp
from .._api.meshes import by_out_sharding
from ..numpy._promotion import broadcast_to_shape, canonical_shape
from ._keys import single, split
from ._sampler import complex_or_float, floating, sample_shape, sampler
from ._uniform import uniform

__all__ = ["lognormal", "normal", "truncated_normal"]


@by_out_sharding
def normal(key, shape: Sequence[int] = (), dtype=None, *, out_sharding=None):
    """Numbers of the standard normal distribution: mean 0, variance 1.

    Args:
      key: A key.
      shape: Of the result.
      dtype: Floating point or complex; by default ``float32``, or ``float64`` with ``enable_x64``.
        Real and imaginary part of complex numbers have half of the variance each.
      out_sharding: How the result is laid out over devices.

    >>> tanx.random.normal(tanx.random.key(0), (3,))
    Array([ 1.6226422 ,  2.0252647 , -0.43359438], dtype=float32)
    """
    return _normal(single("normal", key), shape=canonical_shape(shape, "tanx.random.normal"),
                   dtype=complex_or_float("normal", dtype))


@sampler
def _normal(key, *, shape, dtype):
    if not dtypes.issubdtype(dtype, np.complexfloating):
        return _normal_real(key, shape=shape, dtype=dtype)
    part = np.dtype(f"f{dtype.itemsize // 2}")
    real, imaginary = (lax.convert_element_type(_normal_real(k, shape=shape, dtype=part), dtype)
                       for k in split(key))
    return (real + 1j * imaginary) / dtype.type(np.sqrt(2))


@sampler
def _normal_real(key, *, shape, dtype):
    """The inverse of the distribution function, at a uniform number."""
    low = np.nextafter(dtype.type(-1), dtype.type(0))
    return _spread(uniform(key, shape, dtype, low, dtype.type(1)))


def _spread(x):
    """Uniform numbers from -1 to 1 as normal ones."""
    return lax.mul(x.dtype.type(np.sqrt(2)), lax.erf_inv(x))


@by_out_sharding
def truncated_normal(key, lower, upper, shape: Sequence[int] | None = None, dtype=None, *,
                     out_sharding=None):
    """Numbers of the standard normal distribution, truncated to an interval.

    Args:
      key: A key.
      lower, upper: Bounds, numbers or arrays.
      shape: Of the result, to which the bounds must broadcast; by default theirs.
      dtype: Floating point; by default ``float32``, or ``float64`` with ``enable_x64``.
      out_sharding: How the result is laid out over devices.

    >>> tanx.random.truncated_normal(tanx.random.key(0), -1.0, 1.0, (3,))
    Array([ 0.8618594 ,  0.9412884 , -0.29104838], dtype=float32)
    """
    dtype = floating("truncated_normal", dtype)
    shape = sample_shape("truncated_normal", shape, lower=lower, upper=upper)
    return _truncated_normal(single("truncated_normal", key), lower, upper, shape=shape,
                             dtype=dtype)


@sampler
def _truncated_normal(key, lower, upper, *, shape, dtype):
    lower, upper = (lax.convert_element_type(x, dtype) for x in (lower, upper))
    root, infinity = dtype.type(np.sqrt(2)), dtype.type(np.inf)
    out = _spread(uniform(key, shape, dtype, lax.erf(lower / root), lax.erf(upper / root)))
    # Rounding may reach the bounds, which are excluded.
    return jnp.clip(out, lax.nextafter(lax.stop_gradient(lower), _filled(lower, infinity)),
                    lax.nextafter(lax.stop_gradient(upper), _filled(upper, -infinity)))


def _filled(like, value):
    return value if not like.shape else lax.full_like(like, value)


@by_out_sharding
def lognormal(key, sigma=1.0, shape: Sequence[int] | None = None, dtype=None, *,
              out_sharding=None):
    """Numbers whose logarithms are normal, with mean 0 and standard deviation ``sigma``.

    Args:
      key: A key.
      sigma: Numbers or arrays.
      shape: Of the result, to which ``sigma`` must broadcast; by default its shape.
      dtype: Floating point; by default ``float32``, or ``float64`` with ``enable_x64``.
      out_sharding: How the result is laid out over devices.

    >>> tanx.random.lognormal(tanx.random.key(0), 0.5, (2,))
    Array([2.2508795, 2.752838 ], dtype=float32)
    """
    dtype = floating("lognormal", dtype)
    shape = sample_shape("lognormal", shape, sigma=sigma)
    return _lognormal(single("lognormal", key), sigma, shape=shape, dtype=dtype)


@sampler
def _lognormal(key, sigma, *, shape, dtype):
    sigma = broadcast_to_shape(lax.convert_element_type(sigma, dtype), shape)
    return lax.exp(normal(key, shape, dtype) * sigma)
