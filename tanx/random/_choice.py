"""Samples of finite sets: categories, elements, orders."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log, prod

import numpy as np

from .. import dtypes, lax
from .. import numpy as jnp
from .._api.meshes import by_out_sharding
from .._base.axes import canonical_axis
from ..errors import explain
from ..numpy._promotion import canonical_shape, is_arraylike, typeof
from ._continuous import gumbel
from ._keys import bits, single, split
from ._sampler import sampler
from ._uniform import randint, uniform

__all__ = ["categorical", "choice", "permutation"]


@by_out_sharding
def categorical(key, logits, axis: int = -1, shape: Sequence[int] | None = None,
                replace: bool = True, mode: str | None = None, *, out_sharding=None):
    """Numbers of categories, drawn by the logarithms of their probabilities.

    Args:
      key: A key.
      logits: Logarithms of probabilities, up to a constant, along ``axis``.
      axis: The dimension of categories.
      shape: Of the result; it ends with the shape of ``logits`` without ``axis``, which is the
        default. Without ``replace``, the elements along the dimensions in front of it differ.
      replace: Whether a category may be drawn more than once.
      mode: See :func:`gumbel`.
      out_sharding: How the result is laid out over devices.

    >>> tanx.random.categorical(tanx.random.key(0), jnp.log(jnp.array([0.1, 0.2, 0.7])), shape=(5,))
    Array([1, 2, 2, 1, 2], dtype=int32)
    """
    wrapped, logits = single("categorical", key), jnp.asarray(logits)
    axis = canonical_axis("tanx.random.categorical", axis, logits)
    rest = tuple(n for d, n in enumerate(logits.shape) if d != axis)
    shape = rest if shape is None else canonical_shape(shape, "tanx.random.categorical")
    count = len(shape) - len(rest)
    lead, tail = shape[:max(count, 0)], shape[max(count, 0):]
    fits = tail == rest or replace and len(tail) == len(rest) and all(
        n in (m, 1) for n, m in zip(rest, tail))
    if not fits:
        raise ValueError(explain(
            "tanx.random.categorical", "shape must end with that of logits without its axis, or "
            "a shape that this broadcasts to.",
            f"logits: {typeof(logits)}", f"axis:   {axis}", f"shape:  {shape}"))
    if replace:
        each = (*tail[:axis], logits.shape[axis], *tail[axis:])
        noise = gumbel(wrapped, (*lead, *each), logits.dtype, mode)
        return lax.argmax(noise + lax.expand_dims(logits, range(len(lead))), axis + len(lead),
                          dtypes.default_int())
    count = prod(lead)
    if count > logits.shape[axis]:
        raise ValueError(explain(
            "tanx.random.categorical", "there are fewer categories than draws.",
            f"categories: {logits.shape[axis]}", f"drawn:      {count}"))
    noisy = logits + gumbel(wrapped, logits.shape, logits.dtype, mode)
    _, drawn = lax.top_k(noisy, count, axis=axis)
    order = (axis, *(d for d in range(logits.ndim) if d != axis))
    return lax.reshape(drawn, shape, order)


def choice(key, a, shape: Sequence[int] = (), replace: bool = True, p=None, axis: int = 0,
           mode: str | None = None):
    """Elements of an array, drawn at random.

    Args:
      key: A key.
      a: An array to draw slices of along ``axis``; or a number, which means ``arange(a)``.
      shape: How many, in place of ``axis``.
      replace: Whether an element may come more than once.
      p: Probabilities of the elements; equal ones by default.
      axis: The dimension to draw along.
      mode: See :func:`gumbel`.

    >>> tanx.random.choice(tanx.random.key(0), jnp.array([2, 3, 5, 7]), (3,), replace=False)
    Array([2, 3, 7], dtype=int32)
    """
    wrapped = single("choice", key)
    for x in (a,) if p is None else (a, p):
        if not is_arraylike(x):
            raise TypeError(explain("tanx.random.choice", "needs arrays or numbers.",
                                    f"argument: {x!r:.100}"))
    if not isinstance(shape, Sequence):
        raise TypeError(explain("tanx.random.choice", "shape must be a sequence of integers.",
                                f"shape: {shape!r:.100}", hint="shape=(n,) draws n elements."))
    shape, array = canonical_shape(shape, "tanx.random.choice"), jnp.asarray(a)
    axis = 0 if not array.ndim else canonical_axis("tanx.random.choice", axis, array)
    size = array.shape[axis] if array.ndim else int(array)
    count = prod(shape)
    if not count:
        return jnp.zeros(shape, array.dtype)
    if size <= 0:
        raise ValueError(explain("tanx.random.choice", "there are no elements to draw from.",
                                 f"a: {typeof(a)}"))
    if not replace and count > size:
        raise ValueError(explain("tanx.random.choice", "there are fewer elements than draws.",
                                 f"elements: {size}", f"drawn:    {count}",
                                 hint="with replace=True, elements may be drawn more than once."))
    if p is None and not replace:
        shuffled = permutation(wrapped, array if array.ndim else size, axis)
        drawn = shuffled[(slice(None),) * axis + (slice(count),)]
        return drawn.reshape(array.shape[:axis] + shape + array.shape[axis + 1:])
    places = (randint(wrapped, shape, 0, size) if p is None
              else _drawn_places(wrapped, size, shape, replace, p, mode))
    return jnp.take(array, places, axis) if array.ndim else places


def _drawn_places(key, size: int, shape, replace: bool, p, mode):
    """Places drawn by probabilities: by inversion of uniform numbers, or by Gumbel noise."""
    p = jnp.asarray(p)
    p = p if dtypes.issubdtype(p.dtype, np.inexact) else p.astype(dtypes.default_float())
    if p.shape != (size,):
        raise ValueError(explain(
            "tanx.random.choice", "p must be a vector with a probability for each element.",
            f"p: {typeof(p)}", f"elements: {size}"))
    if not replace:
        noisy = gumbel(key, (size,), p.dtype, mode) + jnp.log(p)
        return lax.top_k(noisy, prod(shape))[1].reshape(shape)
    total = jnp.cumsum(p)
    return jnp.searchsorted(total, total[-1] * (1 - uniform(key, shape, total.dtype)))


@by_out_sharding
def permutation(key, x, axis: int = 0, independent: bool = False, *, out_sharding=None):
    """An array in random order along an axis.

    Args:
      key: A key.
      x: An array; or an integer, which means ``arange(x)``.
      axis: The dimension to shuffle.
      independent: Whether every row along ``axis`` is shuffled by itself.
      out_sharding: How the result is laid out over devices.

    >>> tanx.random.permutation(tanx.random.key(0), 5)
    Array([0, 1, 4, 3, 2], dtype=int32)
    """
    wrapped = single("permutation", key)
    if not is_arraylike(x):
        raise TypeError(explain("tanx.random.permutation", "needs an array or an integer.",
                                f"x: {x!r:.100}"))
    aval = typeof(x)
    if not aval.shape:
        if not dtypes.issubdtype(aval.dtype, np.integer):
            raise TypeError(explain("tanx.random.permutation", "needs an array or an integer.",
                                    f"x: {aval}"))
        x = jnp.arange(x)
        return _shuffled(wrapped, x, canonical_axis("tanx.random.permutation", axis, x))
    axis, x = canonical_axis("tanx.random.permutation", axis, aval), jnp.asarray(x)
    if independent or x.ndim == 1 and not dtypes.is_extended(x.dtype):
        return _shuffled(wrapped, x, axis)
    order = _shuffled(wrapped, jnp.arange(x.shape[axis]), 0)
    return jnp.take(x, order, axis, unique_indices=True)


def _shuffled(key, x, axis: int):
    return _shuffle(key, x, shape=x.shape, axis=axis)


@sampler
def _shuffle(key, x, *, shape, axis):
    """Sort by random words, repeatedly, so that ties are negligible."""
    rounds = ceil(3 * log(max(1, x.size)) / log(np.iinfo(np.uint32).max))
    for _ in range(rounds):
        key, word_key = split(key)
        words = bits(word_key, shape, np.uint32)
        _, x = lax.sort_key_val(words, x, axis)
    return x
