"""Functions of whole rows: softmax, standardisation, one-hot codes."""

from __future__ import annotations

from math import prod

import numpy as np

from .. import dtypes, lax
from .. import numpy as jnp
from .._api.jit import library_jit
from .._base import config
from .._base.axes import canonical_axis
from .._control.custom_jvp import custom_jvp
from ..errors import explain
from ..numpy._promotion import inexact

__all__ = ["log_softmax", "logmeanexp", "logsumexp", "one_hot", "softmax", "standardize"]


def _largest(x, axis, where):
    """The greatest element of each row, for scaling; it has no derivative."""
    return lax.stop_gradient(jnp.max(x, axis, where=where, initial=-np.inf, keepdims=True))


def softmax(x, axis=-1, where=None):
    """``exp(x)`` divided by its sum along ``axis``, so that each row adds up to 1.

    Args:
      x: Input.
      axis: One dimension, several, or None for all.
      where: Which elements count; the others become 0.

    >>> tanx.nn.softmax(jnp.array([0.0, 1.0, 2.0]))
    Array([0.09003057, 0.24472848, 0.66524094], dtype=float32)
    """
    x = inexact("softmax", x)
    if config.softmax_custom_jvp.value:
        return _ruled_softmax(x, where, axis)
    return _softmax(x, where, axis)


def _softmax(x, where, axis):
    """The softmax of floats."""
    largest = _largest(x, axis, where)
    held = x if where is None else jnp.where(where, x, -np.inf)
    powers = jnp.exp(held - largest)
    out = powers / jnp.sum(powers, axis, where=where, keepdims=True)
    return out if where is None else jnp.where(where, out, 0)


_ruled_softmax = custom_jvp(_softmax, nondiff_argnums=(2,))


@_ruled_softmax.defjvp
def _softmax_jvp(axis, primals, tangents):
    """From the weights ``y``: ``y (t - Σ y t)``, without division."""
    (x, where), (t, _) = primals, tangents
    y = _ruled_softmax(x, where, axis)
    return y, y * (t - jnp.sum(y * t, axis, where=where, keepdims=True))


@library_jit(static_argnames="axis")
def log_softmax(x, axis=-1, where=None):
    """The logarithm of :func:`softmax`, without underflow.

    Args:
      x: Input.
      axis: One dimension, several, or None for all.
      where: Which elements count; the others become ``-inf``.

    >>> tanx.nn.log_softmax(jnp.array([0.0, 1.0, 2.0]))
    Array([-2.407606  , -1.4076059 , -0.40760595], dtype=float32)
    """
    x = inexact("log_softmax", x)
    largest = _largest(x, axis, where)
    held = x if where is None else jnp.where(where, x, -np.inf)
    shifted = held - largest
    out = shifted - jnp.log(jnp.sum(jnp.exp(shifted), axis, where=where, keepdims=True))
    return out if where is None else jnp.where(where, out, -np.inf)


def logsumexp(a, axis=None, b=None, keepdims: bool = False, return_sign: bool = False, where=None):
    """``log(sum(b * exp(a)))``, without overflow.

    Args:
      a: Input.
      axis: One dimension, several, or None for all.
      b: Factors, which broadcast with ``a``; by default 1.
      keepdims: Whether the dimensions stay, with size 1.
      return_sign: Whether to return the logarithm of the absolute value of the sum, and its sign;
        otherwise the logarithm of a negative sum is NaN.
      where: Which elements count.

    >>> tanx.nn.logsumexp(jnp.array([1000.0, 1000.0]))
    Array(1000.6932, dtype=float32)
    """
    if b is not None:
        a, b = _together(a, b)
        a = jnp.where(b != 0, a, -np.inf)
    else:
        a = inexact("logsumexp", a)
    if where is not None:
        a = jnp.where(where, a, 0)
    real = lax.real(a) if dtypes.issubdtype(a.dtype, np.complexfloating) else a
    largest = jnp.max(real, axis, where=where, initial=-np.inf, keepdims=keepdims)
    largest = lax.stop_gradient(
        lax.select(jnp.isfinite(largest), largest, lax.full_like(largest, 0)))
    spread = largest if keepdims else jnp.expand_dims(
        largest, tuple(range(a.ndim)) if axis is None else axis)
    powers = jnp.exp(a - spread.astype(a.dtype))
    total = jnp.sum(powers if b is None else powers * b, axis, where=where, keepdims=keepdims)
    sign = jnp.sign(total)
    if return_sign or not dtypes.issubdtype(a.dtype, np.complexfloating):
        logarithm = jnp.log(jnp.abs(total))
    else:
        logarithm = jnp.log(total)
    out = logarithm + largest
    if return_sign:
        return out, sign
    if b is not None and not dtypes.issubdtype(out.dtype, np.complexfloating):
        out = jnp.where(sign < 0, jnp.array(np.nan, out.dtype), out)
    return out


def _together(a, b):
    """Operands as inexact numbers of one dtype."""
    a, b = inexact("logsumexp", a), inexact("logsumexp", b)
    dtype = dtypes.result_type(a, b)
    return a.astype(dtype), b.astype(dtype)


@library_jit(static_argnames=("axis", "keepdims"))
def logmeanexp(x, axis=None, where=None, keepdims: bool = False):
    """``log(mean(exp(x)))``, without overflow.

    Args:
      x: Input.
      axis: One dimension, several, or None for all.
      where: Which elements count.
      keepdims: Whether the dimensions stay, with size 1.

    >>> tanx.nn.logmeanexp(jnp.array([1000.0, 1000.0]))
    Array(1000., dtype=float32)
    """
    x = inexact("logmeanexp", x)
    total = logsumexp(x, axis, where=where, keepdims=keepdims)
    if where is None:
        axes = range(x.ndim) if axis is None else np.atleast_1d(axis)
        count = prod(x.shape[d] for d in axes)
        return total - jnp.log(jnp.asarray(count, total.dtype))
    counted = jnp.broadcast_to(where, x.shape).astype(total.dtype)
    return total - jnp.log(jnp.sum(counted, axis, keepdims=keepdims))


@library_jit(static_argnames=("axis", "algorithm"))
def standardize(x, axis=-1, mean=None, variance=None, epsilon=1e-5, where=None, *,
                algorithm: str = "fast"):
    """``x`` shifted and scaled so that rows have mean 0 and variance 1.

    Args:
      x: Input.
      axis: One dimension, several, or None for all.
      mean, variance: To use instead of those of the rows.
      epsilon: Added to the variance, which may be 0.
      where: Which elements count for mean and variance.
      algorithm: ``"fast"`` computes the variance as the mean of squares minus the square of the
        mean; ``"stable"`` as the mean of squared differences, more accurate for large means.

    >>> tanx.nn.standardize(jnp.array([1.0, 2.0, 3.0]))
    Array([-1.2247359,  0.       ,  1.2247359], dtype=float32)
    """
    if algorithm not in ("fast", "stable"):
        raise ValueError(explain("tanx.nn.standardize", "algorithm is 'fast' or 'stable'.",
                                 f"algorithm: {algorithm!r}"))
    x = inexact("standardize", x)
    if mean is None:
        mean = jnp.mean(x, axis, keepdims=True, where=where)
    if variance is None:
        if algorithm == "stable":
            variance = jnp.mean(jnp.square(x - mean), axis, keepdims=True, where=where)
        else:
            squares = jnp.mean(jnp.square(x), axis, keepdims=True, where=where)
            variance = jnp.clip(squares - jnp.square(mean), 0)
    return (x - mean) * lax.rsqrt(jnp.asarray(variance + epsilon))


def one_hot(x, num_classes: int, *, dtype=None, axis: int = -1, out_sharding=None):
    """Class numbers as vectors of zeros with a one at that place.

    Args:
      x: Numbers of classes; those out of range give zeros.
      num_classes: How many classes there are.
      dtype: Of the result; by default ``float32``, or ``float64`` with ``enable_x64``.
      axis: Where the new dimension goes.
      out_sharding: How the result is laid out over devices.

    >>> tanx.nn.one_hot(jnp.array([0, 2]), 3)
    Array([[1., 0., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    dtype = dtypes.requested_dtype(dtypes.default_float() if dtype is None else dtype,
                                   "tanx.nn.one_hot")
    return _one_hot(jnp.asarray(x), num_classes=int(num_classes), dtype=dtype, axis=axis)


@library_jit(static_argnames=("num_classes", "dtype", "axis"))
def _one_hot(x, *, num_classes, dtype, axis):
    axis = canonical_axis("tanx.nn.one_hot", axis, x, 1)
    shape = tuple(num_classes if d == axis else 1 for d in range(x.ndim + 1))
    given, classes = lax.expand_dims(x, (axis,)), lax.broadcasted_iota(x.dtype, shape, axis)
    return lax.convert_element_type(given == classes, dtype)
