"""Uniform numbers, and samples computed from them and from bits directly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import dtypes, lax
from .. import numpy as jnp
from .._api.meshes import by_out_sharding
from ..errors import explain
from ..numpy._promotion import broadcast_to_shape, canonical_shape, promote_shapes, typeof
from ._keys import random_bits, single, split
from ._sampler import floating, integer, sample_shape, sampler

__all__ = ["bernoulli", "rademacher", "randint", "uniform"]


@by_out_sharding
def uniform(key, shape: Sequence[int] = (), dtype=None, minval=0.0, maxval=1.0, *,
            out_sharding=None):
    """Uniformly distributed numbers from ``minval`` up to, but not including, ``maxval``.

    Args:
      key: A key.
      shape: Of the result; ``minval`` and ``maxval`` must broadcast to it.
      dtype: Floating point; by default ``float32``, or ``float64`` with ``enable_x64``.
      minval, maxval: Numbers or arrays.
      out_sharding: How the result is laid out over devices.

    >>> tanx.random.uniform(tanx.random.key(0), (3,))
    Array([0.947667  , 0.9785799 , 0.33229148], dtype=float32)
    """
    return _uniform(single("uniform", key), minval, maxval,
                    shape=canonical_shape(shape, "tanx.random.uniform"),
                    dtype=floating("uniform", dtype))


@sampler
def _uniform(key, minval, maxval, *, shape, dtype):
    """Random bits as the fraction of numbers from 1 to 2, which are then scaled and shifted."""
    bounds = [lax.convert_element_type(x, dtype) for x in (minval, maxval)]
    low, high = (_to_rank(x, shape) for x in bounds)
    info = dtypes.finfo(dtype)
    width = 8 if info.nmant < 8 else info.bits
    words, one = np.dtype(f"uint{info.bits}"), dtype.type(1)
    bits = random_bits(key, width, shape)
    if width != info.bits:
        bits = lax.convert_element_type(bits, words)
    bits = lax.shift_right_logical(bits, words.type(width - info.nmant))
    bits = lax.bitwise_or(bits, np.asarray(one).view(words)[()])
    unit = lax.sub(lax.bitcast_convert_type(bits, dtype), one)
    return lax.max(low, lax.reshape(lax.add(lax.mul(unit, lax.sub(high, low)), low), shape))


def _to_rank(x, shape: tuple[int, ...]):
    """A parameter with as many dimensions as the result has."""
    lead = len(shape) - x.ndim
    if lead <= 0:
        return x
    return lax.broadcast_in_dim(x, (1,) * lead + x.shape, range(lead, len(shape)))


@by_out_sharding
def bernoulli(key, p=0.5, shape: Sequence[int] | None = None, mode: str = "low", *,
              out_sharding=None):
    """True with probability ``p``, else False.

    Args:
      key: A key.
      p: Probabilities, floating point.
      shape: Of the result, to which ``p`` must broadcast; by default that of ``p``.
      mode: ``"low"`` compares with one uniform number; ``"high"`` takes another one for digits
        behind those, so that probabilities near 0 come out right.
      out_sharding: How the result is laid out over devices.

    >>> tanx.random.bernoulli(tanx.random.key(0), 0.5, (4,))
    Array([False, False,  True,  True], dtype=bool)
    """
    dtype = dtypes.canonicalize_dtype(typeof(p).dtype)
    if mode not in ("low", "high"):
        raise ValueError(explain("tanx.random.bernoulli", "mode is 'low' or 'high'.",
                                 f"mode: {mode!r}"))
    if not dtypes.issubdtype(dtype, np.floating):
        raise TypeError(explain("tanx.random.bernoulli", "probabilities are floating point.",
                                f"p: {typeof(p)}"))
    shape = sample_shape("bernoulli", shape, p=p)
    return _bernoulli(single("bernoulli", key), lax.convert_element_type(p, dtype), shape=shape,
                      mode=mode)


@sampler
def _bernoulli(key, p, *, shape, mode):
    dtype = p.dtype
    if mode == "low":
        return lax.lt(*promote_shapes("less", uniform(key, shape, dtype), p))
    high, low = jnp.unstack(uniform(key, (2, *shape), dtype))
    return lax.lt(low * dtypes.finfo(dtype).eps, *promote_shapes("subtract", p - high))


@by_out_sharding
def randint(key, shape: Sequence[int], minval, maxval, dtype=None, *, out_sharding=None):
    """Uniformly distributed integers from ``minval`` up to, but not including, ``maxval``.

    Args:
      key: A key.
      shape: Of the result; ``minval`` and ``maxval`` must broadcast to it.
      minval, maxval: Numbers or arrays.
      dtype: Of integers; by default ``int32``, or ``int64`` with ``enable_x64``.
      out_sharding: How the result is laid out over devices.

    >>> tanx.random.randint(tanx.random.key(0), (4,), 0, 10)
    Array([9, 0, 2, 3], dtype=int32)
    """
    dtype = integer("randint", dtype)
    shape = canonical_shape(shape, "tanx.random.randint")
    wrapped = single("randint", key)
    sample_shape("randint", shape, minval=minval, maxval=maxval)
    minval, maxval = (x if dtypes.issubdtype(typeof(x).dtype, np.integer)
                      else jnp.asarray(x, dtypes.default_int()) for x in (minval, maxval))
    info = dtypes.iinfo(dtype)
    if info.bits in (8, 16):
        # Narrow integers come from wider ones: few bits would be biased.
        minval = jnp.clip(minval, max=info.max, min=info.min)
        maxval = jnp.clip(maxval, max=info.max + 1, min=info.min)
        wide = _randint(wrapped, minval, maxval, shape=shape, dtype=np.dtype(np.int32))
        return lax.convert_element_type(wide, dtype)
    return _randint(wrapped, minval, maxval, shape=shape, dtype=dtype)


@sampler
def _randint(key, minval, maxval, *, shape, dtype):
    """Two words per element, because the span may not divide the range of one."""
    info = dtypes.iinfo(dtype)

    def fit(x, like):
        held = dtypes.iinfo(typeof(like).dtype)
        return jnp.clip(x, max(info.min, held.min), min(info.max, held.max))

    # If ``maxval`` exceeds the dtype, the greatest number is included.
    greatest = fit(jnp.asarray(info.max, dtype), maxval)
    past = lax.gt(maxval, lax.convert_element_type(greatest, typeof(maxval).dtype))
    bounds = [lax.convert_element_type(fit(x, x), dtype) for x in (minval, maxval)]
    low, high = (_to_rank(x, shape) for x in bounds)
    words = np.dtype(f"uint{info.bits}")
    upper, lower = (random_bits(k, info.bits, shape) for k in split(key))
    span = lax.convert_element_type(high - low, words)
    span = lax.select(high <= low, lax.full_like(span, 1), span)
    span = lax.select(*_alike(past & (high > low), span + 1, span))
    factor = lax.rem(words.type(1 << info.bits // 2), span)
    factor = lax.rem(factor * factor, span)
    offset = lax.rem(lax.rem(upper, span) * factor + lax.rem(lower, span), span)
    return low + lax.convert_element_type(offset, dtype)


def _alike(condition, *cases):
    """A condition in the shape of the cases."""
    return broadcast_to_shape(condition, cases[0].shape), *cases


@by_out_sharding
def rademacher(key, shape: Sequence[int] = (), dtype=None, *, out_sharding=None):
    """-1 or 1, equally likely.

    Args:
      key: A key.
      shape: Of the result.
      dtype: Of numbers; by default ``int32``, or ``int64`` with ``enable_x64``.
      out_sharding: How the result is laid out over devices.

    >>> tanx.random.rademacher(tanx.random.key(0), (4,))
    Array([-1, -1,  1,  1], dtype=int32)
    """
    dtype = dtypes.requested_dtype(dtypes.default_int() if dtype is None else dtype,
                                   "tanx.random.rademacher")
    return _rademacher(single("rademacher", key),
                       shape=canonical_shape(shape, "tanx.random.rademacher"), dtype=dtype)


@sampler
def _rademacher(key, *, shape, dtype):
    up = bernoulli(key, np.float32(0.5), shape)
    return 2 * lax.convert_element_type(up, dtype) - dtype.type(1)
