"""Continuous distributions that are functions of uniform or normal numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import dtypes, lax
from .. import numpy as jnp
from .._api.meshes import by_out_sharding
from .._base import config
from ..errors import explain
from ..numpy._promotion import broadcast_to_shape, canonical_shape
from ._keys import single, split
from ._normal import normal
from ._sampler import floating, sample_shape, sampler
from ._uniform import rademacher, uniform

__all__ = ["cauchy", "double_sided_maxwell", "exponential", "gumbel", "laplace", "logistic",
           "maxwell", "pareto", "rayleigh", "triangular", "wald", "weibull_min"]


def _full(x, shape, dtype):
    """A parameter as an array of the shape and dtype of the result."""
    return broadcast_to_shape(lax.convert_element_type(x, dtype), shape)


@by_out_sharding
def exponential(key, shape: Sequence[int] = (), dtype=None, *, out_sharding=None):
    """Numbers of the exponential distribution with density ``exp(-x)`` for ``x >= 0``.

    Args:
      key: A key.
      shape: Of the result.
      dtype: Floating point; by default ``float32``, or ``float64`` with ``enable_x64``.
      out_sharding: How the result is laid out over devices.

    >>> tanx.random.exponential(tanx.random.key(0), (3,))
    Array([2.950128  , 3.8434246 , 0.40390354], dtype=float32)
    """
    return _exponential(single("exponential", key),
                        shape=canonical_shape(shape, "tanx.random.exponential"),
                        dtype=floating("exponential", dtype))


@sampler
def _exponential(key, *, shape, dtype):
    return lax.neg(lax.log1p(lax.neg(uniform(key, shape, dtype))))


@by_out_sharding
def laplace(key, shape: Sequence[int] = (), dtype=None, *, out_sharding=None):
    """Numbers of the Laplace distribution with density ``exp(-|x|) / 2``.

    Args:
      key: A key.
      shape: Of the result.
      dtype: Floating point; by default ``float32``, or ``float64`` with ``enable_x64``.
      out_sharding: How the result is laid out over devices.

    >>> tanx.random.laplace(tanx.random.key(0), (3,))
    Array([-2.2569816 , -3.1502788 ,  0.40859547], dtype=float32)
    """
    return _laplace(single("laplace", key), shape=canonical_shape(shape, "tanx.random.laplace"),
                    dtype=floating("laplace", dtype))


@sampler
def _laplace(key, *, shape, dtype):
    low = dtype.type(-1 + float(dtypes.finfo(dtype).epsneg))
    spread = uniform(key, shape, dtype, low, 1.0)
    return lax.mul(lax.sign(spread), lax.log1p(lax.neg(lax.abs(spread))))


@by_out_sharding
def logistic(key, shape: Sequence[int] = (), dtype=None, *, out_sharding=None):
    """Numbers of the logistic distribution, whose distribution function is the logistic one.

    Args:
      key: A key.
      shape: Of the result.
      dtype: Floating point; by default ``float32``, or ``float64`` with ``enable_x64``.
      out_sharding: How the result is laid out over devices.

    >>> tanx.random.logistic(tanx.random.key(0), (3,))
    Array([ 2.896376 ,  3.8217716, -0.6978392], dtype=float32)
    """
    return _logistic(single("logistic", key),
                     shape=canonical_shape(shape, "tanx.random.logistic"),
                     dtype=floating("logistic", dtype))


@sampler
def _logistic(key, *, shape, dtype):
    u = uniform(key, shape, dtype, dtypes.finfo(dtype).tiny, 1.0)
    return lax.sub(lax.log(u), lax.log1p(lax.neg(u)))


@by_out_sharding
def gumbel(key, shape: Sequence[int] = (), dtype=None, mode: str | None = None, *,
           out_sharding=None):
    """Numbers of the Gumbel distribution with density ``exp(-(x + exp(-x)))``.

    Args:
      key: A key.
      shape: Of the result.
      dtype: Floating point; by default ``float32``, or ``float64`` with ``enable_x64``.
      mode: ``"low"``, the default, makes each of one uniform number; ``"high"`` takes another one
        for the digits behind it, so that large results come out as rarely as they should.
      out_sharding: How the result is laid out over devices.

    >>> tanx.random.gumbel(tanx.random.key(0), (3,))
    Array([ 2.9233725 ,  3.8326178 , -0.09689324], dtype=float32)
    """
    if mode is None:
        mode = "high" if config.high_dynamic_range_gumbel.value else "low"
    if mode not in ("low", "high"):
        raise ValueError(explain("tanx.random.gumbel", "mode is 'low' or 'high'.",
                                 f"mode: {mode!r}"))
    return _gumbel(single("gumbel", key), shape=canonical_shape(shape, "tanx.random.gumbel"),
                   dtype=floating("gumbel", dtype), mode=mode)


@sampler
def _gumbel(key, *, shape, dtype, mode):
    info = dtypes.finfo(dtype)
    if mode == "low":
        u = uniform(key, shape, dtype, minval=info.tiny, maxval=1.0)
        return lax.neg(lax.log(lax.neg(lax.log(u))))
    high, low = jnp.unstack(uniform(key, (2, *shape), dtype, minval=0.0, maxval=1.0))
    fine = (high + dtype.type(2.0 ** -info.nmant) * low) + dtype.type(2.0 ** (-2 * info.nmant - 1))
    u = jnp.where(high >= 0.5, high, fine)
    return lax.neg(lax.log(lax.neg(lax.log1p(lax.neg(u)))))


@by_out_sharding
def cauchy(key, shape: Sequence[int] = (), dtype=None, *, out_sharding=None):
    """Numbers of the Cauchy distribution with density ``1 / (pi * (x**2 + 1))``.

    Args:
      key: A key.
      shape: Of the result.
      dtype: Floating point; by default ``float32``, or ``float64`` with ``enable_x64``.
      out_sharding: How the result is laid out over devices.

    >>> tanx.random.cauchy(tanx.random.key(0), (3,))
    Array([ 6.0274944 , 14.837895  , -0.58172226], dtype=float32)
    """
    return _cauchy(single("cauchy", key), shape=canonical_shape(shape, "tanx.random.cauchy"),
                   dtype=floating("cauchy", dtype))


@sampler
def _cauchy(key, *, shape, dtype):
    u = uniform(key, shape, dtype, minval=dtype.type(dtypes.finfo(dtype).eps), maxval=1.0)
    return lax.tan(lax.mul(dtype.type(np.pi), lax.sub(u, dtype.type(0.5))))


@by_out_sharding
def rayleigh(key, scale, shape: Sequence[int] | None = None, dtype=None, *, out_sharding=None):
    """Numbers of the Rayleigh distribution: lengths of normal vectors in the plane.

    Args:
      key: A key.
      scale: Standard deviation of the vectors' coordinates, numbers or arrays.
      shape: Of the result, to which ``scale`` must broadcast; by default its shape.
      dtype: Floating point; by default ``float32``, or ``float64`` with ``enable_x64``.
      out_sharding: How the result is laid out over devices.

    >>> tanx.random.rayleigh(tanx.random.key(0), 2.0, (3,))
    Array([0.65575665, 0.41620055, 2.9688284 ], dtype=float32)
    """
    shape = sample_shape("rayleigh", shape, scale=scale)
    return _rayleigh(single("rayleigh", key), scale, shape=shape, dtype=floating("rayleigh", dtype))


@sampler
def _rayleigh(key, scale, *, shape, dtype):
    u = uniform(key, shape, dtype)
    scale = _full(scale, shape, dtype)
    return lax.mul(scale, lax.sqrt(lax.mul(lax.log(u), dtype.type(-2))))


@by_out_sharding
def pareto(key, b, shape: Sequence[int] | None = None, dtype=None, *, out_sharding=None):
    """Numbers of the Pareto distribution with density ``b / x**(b + 1)`` for ``x >= 1``.

    Args:
      key: A key.
      b: Parameter, numbers or arrays.
      shape: Of the result, to which ``b`` must broadcast; by default its shape.
      dtype: Floating point; by default ``float32``, or ``float64`` with ``enable_x64``.
      out_sharding: How the result is laid out over devices.

    >>> tanx.random.pareto(tanx.random.key(0), 2.0, (3,))
    Array([4.3713155, 6.832648 , 1.223789 ], dtype=float32)
    """
    shape = sample_shape("pareto", shape, b=b)
    return _pareto(single("pareto", key), b, shape=shape, dtype=floating("pareto", dtype))


@sampler
def _pareto(key, b, *, shape, dtype):
    b = lax.convert_element_type(b, dtype)
    return lax.exp(exponential(key, shape, dtype) / b)


def weibull_min(key, scale, concentration, shape: Sequence[int] = (), dtype=None):
    """Numbers of the Weibull distribution for minima.

    The density is ``c / s * (x / s)**(c - 1) * exp(-(x / s)**c)`` for ``x >= 0``.

    Args:
      key: A key.
      scale: ``s``, numbers or arrays.
      concentration: ``c``, numbers or arrays.
      shape: Of the result, to which both must broadcast.
      dtype: Floating point; by default ``float32``, or ``float64`` with ``enable_x64``.

    >>> tanx.random.weibull_min(tanx.random.key(0), 1.0, 2.0, (3,))
    Array([1.7175937 , 1.9604654 , 0.63553405], dtype=float32)
    """
    shape = canonical_shape(shape, "tanx.random.weibull_min")
    return _weibull_min(single("weibull_min", key), scale, concentration, shape=shape,
                        dtype=floating("weibull_min", dtype))


@sampler
def _weibull_min(key, scale, concentration, *, shape, dtype):
    u = uniform(key, shape, dtype, minval=0, maxval=1)
    return jnp.power(-lax.log1p(-u), 1.0 / concentration) * scale


@by_out_sharding
def maxwell(key, shape: Sequence[int] = (), dtype=None, *, out_sharding=None):
    """Numbers of the Maxwell distribution: lengths of normal vectors in space.

    Args:
      key: A key.
      shape: Of the result.
      dtype: Floating point; by default ``float32``, or ``float64`` with ``enable_x64``.
      out_sharding: How the result is laid out over devices.

    >>> tanx.random.maxwell(tanx.random.key(0), (2,))
    Array([2.6310966 , 0.99103296], dtype=float32)
    """
    return _maxwell(single("maxwell", key), shape=canonical_shape(shape, "tanx.random.maxwell"),
                    dtype=floating("maxwell", dtype))


@sampler(sums=True)
def _maxwell(key, *, shape, dtype):
    return jnp.linalg.norm(normal(key, (*shape, 3), dtype), axis=-1)


def double_sided_maxwell(key, loc, scale, shape: Sequence[int] = (), dtype=None):
    """Numbers of the Maxwell distribution with a random sign, scaled and moved.

    Args:
      key: A key.
      loc: Where the middle is, numbers or arrays.
      scale: Numbers or arrays.
      shape: Of the result in front of the shape of ``loc`` and ``scale`` together.
      dtype: Floating point; by default ``float32``, or ``float64`` with ``enable_x64``.

    >>> tanx.random.double_sided_maxwell(tanx.random.key(0), 0.0, 1.0, (2,))
    Array([1.5457212, 1.5741276], dtype=float32)
    """
    dtype = floating("double_sided_maxwell", dtype)
    shape = canonical_shape(shape, "tanx.random.double_sided_maxwell")
    return _double_sided_maxwell(single("double_sided_maxwell", key), loc, scale, shape=shape,
                                 dtype=dtype)


@sampler(sums=True)
def _double_sided_maxwell(key, loc, scale, *, shape, dtype):
    together = sample_shape("double_sided_maxwell", None, loc=loc, scale=scale)
    shape = (shape or together) + together
    length_key, sign_key = split(key)
    lengths = maxwell(length_key, shape, dtype)
    scale, loc = (jnp.broadcast_to(jnp.asarray(x), shape) for x in (scale, loc))
    return rademacher(sign_key, shape, dtype) * lengths * scale + loc


@by_out_sharding
def triangular(key, left, mode, right, shape: Sequence[int] | None = None, dtype=None, *,
               out_sharding=None):
    """Numbers whose density is a triangle: zero at ``left`` and ``right``, greatest at ``mode``.

    Args:
      key: A key.
      left, mode, right: Numbers or arrays, in that order on the line.
      shape: Of the result, to which they must broadcast; by default theirs.
      dtype: Floating point; by default ``float32``, or ``float64`` with ``enable_x64``.
      out_sharding: How the result is laid out over devices.

    >>> tanx.random.triangular(tanx.random.key(0), 0.0, 0.5, 1.0, (3,))
    Array([0.8382394, 0.8965106, 0.4076098], dtype=float32)
    """
    shape = sample_shape("triangular", shape, left=left, mode=mode, right=right)
    dtype, wrapped = floating("triangular", dtype), single("triangular", key)
    left, right, mode = (_full(x, shape, dtype) for x in (left, right, mode))
    middle = (mode - left) / (right - left)
    u = uniform(wrapped, shape, dtype)
    rising = left + lax.sqrt(u * (right - left) * (mode - left))
    falling = right - lax.sqrt((1 - u) * (right - left) * (right - mode))
    return lax.select(lax.lt(u, middle), rising, falling)


@by_out_sharding
def wald(key, mean, shape: Sequence[int] | None = None, dtype=None, *, out_sharding=None):
    """Numbers of the Wald (inverse normal) distribution with scale 1.

    They are the times at which a Brownian motion with drift ``1 / mean`` first reaches 1.

    Args:
      key: A key.
      mean: Numbers or arrays.
      shape: Of the result, to which ``mean`` must broadcast; by default its shape.
      dtype: Floating point; by default ``float32``, or ``float64`` with ``enable_x64``.
      out_sharding: How the result is laid out over devices.

    >>> tanx.random.wald(tanx.random.key(0), 1.0, (2,))
    Array([0.38059747, 0.41566533], dtype=float32)
    """
    shape = sample_shape("wald", shape, mean=mean)
    return _wald(single("wald", key), mean, shape=shape, dtype=floating("wald", dtype))


@sampler
def _wald(key, mean, *, shape, dtype):
    """Michael, Schucany and Haas (1976): a root of a quadratic equation, or the other one."""
    normal_key, choice_key = split(key)
    mean = _full(mean, shape, dtype)
    v = normal(normal_key, shape, dtype)
    z = uniform(choice_key, shape, dtype)
    square = v ** 2
    fourth = square ** 2
    mean_square = mean ** 2
    root = lax.sqrt(4 * mean * square + mean_square * fourth)
    x = mean + mean_square * square / 2 - mean / 2 * root
    return lax.select(lax.le(z, mean / (mean + x)), x, mean_square / x)
