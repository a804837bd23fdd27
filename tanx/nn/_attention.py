"""Attention: means of values, weighted by a softmax of products of queries and keys.

Short sequences use the matrix of scores. For long ones that matrix is never stored: keys and values
are processed in blocks, the softmax is updated from block to block (Milakov and Gimelshein 2018),
and derivatives recompute each block (Dao et al. 2022). Memory is then linear in the number of
tokens.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from .. import dtypes, lax
from .. import numpy as jnp
from .._base.tuples import NamedTuple
from .._control.custom_vjp import custom_vjp
from ..errors import explain
from ..numpy._promotion import typeof

__all__ = ["dot_product_attention"]

LONG = 1 << 21
"""From this many scores per head on, they are computed in blocks.

Compiled code keeps the scores of fewer near, band by band (``schedule/bands.py``), except for
gradients. Those of 1024 tokens take 3.9 ms instead of 10.4 in blocks on 16 cores, 20 instead of 38
on two (Emerald Rapids, 8 heads of 64).
"""

BLOCK = 512
"""The number of queries, and of keys, of one block.

Causal attention of 2048 tokens takes 6.1 ms on 16 cores and 27 on two, 9.8 and 30 with blocks of
256, 6.3 and 31 with 1024; its gradient 26 and 104, 39 and 105, 28 and 144.
"""

DIVIDED = 256
"""From this many queries on, those that are causal or have a window are divided into parts."""

PART = 256
"""The most queries of a part.

Causal attention of 1024 tokens in one part takes 12.4 ms, with parts of 512 10.6, of 256 8.9, of
128 8.8, and in blocks of 256 8.9; its gradient 48, 35, 30, 29 and 29. That of 256 tokens takes 0.84
ms in one part and 0.72 in two, its gradient 2.2 and 1.9; 128 tokens gain nothing. Each part costs
20 to 50 ms of compilation (two cores of Cascade Lake, 8 heads of 64).
"""

_MASKED = -0.7 * float(np.finfo(np.float32).max)  # adding a score does not overflow


class _Masks(NamedTuple):
    """The arguments that determine which keys a query sees; arrays or None."""

    mask: Any = None  # B or 1, heads of keys or 1, queries a key head or 1, T or 1, S or 1
    query_lengths: Any = None
    key_lengths: Any = None


class _Options(NamedTuple):
    """Facts about a call that are known before it runs."""

    scale: float
    causal: bool
    window: tuple[int, int] | None


def dot_product_attention(
        query, key, value, bias=None, mask=None, *, scale: float | None = None,
        is_causal: bool = False, query_seq_lengths=None, key_value_seq_lengths=None,
        local_window_size: int | tuple[int, int] | None = None,
        implementation: str | None = None, return_residual: bool = False):
    """Attention of queries to keys: the weighted means of values.

    There are B batches, T queries, S keys, N heads of queries, K heads of keys (K divides N: each
    is shared by N / K heads of queries) and vectors of H numbers. B may be omitted everywhere.

    Args:
      query: ``[B, T, N, H]``.
      key: ``[B, S, K, H]``.
      value: ``[B, S, K, H]``.
      bias: Added to the scores; broadcasts to ``[B, N, T, S]``.
      mask: Which keys a query sees, booleans; broadcasts to ``[B, N, T, S]``.
      scale: Factor of the scores; by default ``1 / sqrt(H)``.
      is_causal: Whether a query sees only keys up to its own position.
      query_seq_lengths: ``int32[B]``, the number of valid queries; the others give zeros.
      key_value_seq_lengths: ``int32[B]``, the number of valid keys.
      local_window_size: The number of visible keys before and after a query; one number for both.
      implementation: None or ``"xla"``; there is one implementation.
      return_residual: Whether to return the logarithms of the softmax's denominators as well.

    Returns:
      ``[B, T, N, H]``, of the dtype of the queries; with ``return_residual`` a pair with an array
      ``[B, T, N]``.

    >>> x = jnp.ones((4, 2, 8))
    >>> tanx.nn.dot_product_attention(x, x, x, is_causal=True).shape
    (4, 2, 8)
    """
    query, key, value = jnp.asarray(query), jnp.asarray(key), jnp.asarray(value)
    if implementation not in (None, "xla"):
        raise ValueError(explain("tanx.nn.dot_product_attention", "no such implementation.",
                                 f"implementation: {implementation!r}"))
    out_shape, lead = query.shape, query.ndim - 3
    query, key, value = (x if x.ndim == 4 else x[None] for x in (query, key, value))
    _check(query, key, value, mask, query_seq_lengths, key_value_seq_lengths)
    batch, count, heads, size = query.shape
    groups = heads // key.shape[2]
    query = query.reshape(batch, count, key.shape[2], groups, size)
    masks = _Masks(_by_group(mask, key.shape[2], groups), query_seq_lengths,
                   key_value_seq_lengths)
    bias = _by_group(bias, key.shape[2], groups)
    window = local_window_size
    window = (window, window) if isinstance(window, int) else window
    options = _Options(float(size ** -0.5 if scale is None else scale), bool(is_causal), window)
    keys = key.shape[1]
    known = bias is None and isinstance(count, int) and isinstance(keys, int)
    if known and count * keys >= LONG:
        out, residual = _blocked(options, query, key, value, masks)
    elif known and DIVIDED <= count <= keys and _skips(options, masks, count, keys):
        out, residual = _in_parts(options, query, key, value, masks)
    else:
        out, residual = _whole(options, query, key, value, bias, masks)
    if query_seq_lengths is not None:
        real = jnp.arange(count)[None] < jnp.asarray(query_seq_lengths)[:, None]
        out = out * real[:, :, None, None, None].astype(out.dtype)
    out = out.reshape(out_shape)
    if not return_residual:
        return out
    residual = residual.reshape(batch, count, heads).astype(query.dtype)
    return out, residual if lead else residual[0]


def _check(query, key, value, mask, *lengths) -> None:
    facts = [f"query: {typeof(query)}", f"key:   {typeof(key)}", f"value: {typeof(value)}"]
    if not query.ndim == key.ndim == value.ndim == 4 or key.shape != value.shape or (
            query.shape[0] != key.shape[0] or query.shape[-1] != key.shape[-1]):
        raise ValueError(explain(
            "tanx.nn.dot_product_attention", "needs a query [B, T, N, H], and a key and a value "
            "[B, S, K, H].", *facts))
    if not query.dtype == key.dtype == value.dtype:
        raise ValueError(explain("tanx.nn.dot_product_attention",
                                 "query, key and value must have one dtype.", *facts))
    if query.shape[2] % key.shape[2]:
        raise ValueError(explain("tanx.nn.dot_product_attention", "the heads of keys must divide "
                                 "those of queries.", *facts))
    if mask is not None and mask.dtype != np.bool_:
        raise ValueError(explain("tanx.nn.dot_product_attention", "a mask must hold booleans.",
                                 f"mask: {typeof(mask)}"))
    for given in lengths:
        if given is not None and jnp.shape(given) != query.shape[:1]:
            raise ValueError(explain(
                "tanx.nn.dot_product_attention", "there must be a length for each batch.",
                f"batches: {query.shape[0]}", f"lengths: {typeof(given)}"))


def _by_group(x, heads: int, groups: int):
    """``[B, N, T, S]`` with the heads of queries grouped by the heads of keys that they share."""
    if x is None:
        return None
    x = x.reshape((1,) * (4 - x.ndim) + x.shape)
    batch, count, *rest = x.shape
    return x.reshape((batch, *((1, 1) if count == 1 else (heads, groups)), *rest))


# -- scores ----------------------------------------------------------------------------------------


def _scores(options: _Options, query, key, firsts, masks: _Masks, bias=None):
    """Scores of some queries and keys, from the ``firsts`` on: ``[B, K, G, T, S]`` in float32.

    The mask must be of those.
    """
    wide = np.float64 if query.dtype == np.float64 else np.float32
    scores = jnp.einsum("btkgh,bskh->bkgts", query, key, preferred_element_type=wide)
    scores = scores * scores.dtype.type(options.scale)
    if bias is not None:
        scores = scores + bias.astype(scores.dtype)
    rows, columns = (first + jnp.arange(x.shape[1]) for first, x in zip(firsts, (query, key)))
    seen = _seen(options, jnp.expand_dims(rows, (0, 1, 2, 4)),
                 jnp.expand_dims(columns, (0, 1, 2, 3)), masks)
    return scores if seen is None else jnp.where(seen, scores, scores.dtype.type(_MASKED))


def _seen(options: _Options, rows, keys, masks: _Masks):
    """Which keys queries see, broadcasting to scores; None if they see all."""
    conditions = [] if masks.mask is None else [masks.mask]
    if options.causal:
        conditions.append(rows >= keys)
    if options.window is not None:
        before, behind = options.window
        conditions.append((rows <= keys + before) & (rows >= keys - behind))
    if masks.query_lengths is not None:
        conditions.append(rows < jnp.asarray(masks.query_lengths)[:, None, None, None, None])
    if masks.key_lengths is not None:
        conditions.append(keys < jnp.asarray(masks.key_lengths)[:, None, None, None, None])
    if not conditions:
        return None
    seen = conditions[0]
    for condition in conditions[1:]:
        seen = seen & condition
    return seen


def _whole(options: _Options, query, key, value, bias, masks: _Masks, firsts=(0, 0)):
    """Attention of queries to keys, from the ``firsts`` on, by the whole matrix of scores."""
    scores = _scores(options, query, key, firsts, masks, bias)
    largest = lax.stop_gradient(jnp.max(scores, -1, keepdims=True))
    powers = jnp.exp(scores - largest)
    total = jnp.sum(powers, -1, keepdims=True)
    weights = (powers / total).astype(key.dtype)
    out = jnp.einsum("bkgts,bskh->btkgh", weights, value, preferred_element_type=scores.dtype)
    residual = (jnp.log(total) + largest)[..., 0]
    return out.astype(query.dtype), jnp.transpose(residual, (0, 3, 1, 2))


# -- scores that no query needs --------------------------------------------------------------------


def _skips(options: _Options, masks: _Masks, queries: int, keys: int) -> bool:
    """Whether keys that some queries cannot see by their positions may be left out for them.

    A query that sees no key gets the mean of all values; here each one sees at least the first key
    or, within a window, its own.
    """
    if masks.mask is not None or masks.key_lengths is not None:
        return False
    if options.window is None:
        return options.causal
    return min(options.window) >= 0 and queries <= keys


def _in_sight(options: _Options, first, stop, keys, least=max, most=min):
    """The first of the keys that queries from ``first`` to ``stop`` see, and one past the last."""
    start, end = 0, keys
    if options.window is not None:
        before, behind = options.window
        start, end = least(first - before, 0), most(stop + behind, keys)
    return start, most(stop, keys) if options.causal else end


def _in_parts(options: _Options, query, key, value, masks: _Masks):
    """Attention in parts, each with the keys that its queries see."""
    count, keys = query.shape[1], key.shape[1]
    size = min(PART, -(-count // 2))
    parts = []
    for first in range(0, count, size):
        stop = min(first + size, count)
        start, end = _in_sight(options, first, stop, keys)
        parts.append(_whole(options, query[:, first:stop], key[:, start:end], value[:, start:end],
                            None, masks, (first, start)))
    return tuple(jnp.concatenate(of_all, 1) for of_all in zip(*parts))


# -- scores in blocks ------------------------------------------------------------------------------


def _padded(x, axis: int):
    """An array padded with zeros, so that blocks of keys are complete."""
    missing = -x.shape[axis] % BLOCK
    return x if not missing else jnp.pad(
        x, [(0, missing if d == axis else 0) for d in range(x.ndim)])


class _Blocks:
    """Queries, keys and values, processed in blocks; ``blind`` if a query may see no key."""

    def __init__(self, options: _Options, query, key, value, masks: _Masks):
        size = key.shape[1]
        self.options, self.mask = options, masks.mask
        self.query, self.key, self.value = (_padded(x, 1) for x in (query, key, value))
        self.rows, self.columns = self.query.shape[1] // BLOCK, self.key.shape[1] // BLOCK
        self.skips = _skips(options, masks, query.shape[1], size)
        self.size, self.lengths = size, masks._replace(mask=None)
        self.blind = masks.query_lengths is not None or not self.skips and (
            options.window is not None or any(x is not None for x in masks))
        if self.mask is not None:
            for axis in (3, 4):
                self.mask = _padded(self.mask, axis) if self.mask.shape[axis] > 1 else self.mask

    def in_sight(self, row) -> tuple[Any, Any]:
        """The first block of keys that a block of queries sees, and one past the last."""
        if not self.skips:
            return 0, self.columns
        start, end = _in_sight(self.options, row * BLOCK, (row + 1) * BLOCK, self.key.shape[1],
                               jnp.maximum, jnp.minimum)
        return start // BLOCK, -(-end // BLOCK)

    def scores(self, query, row, column):
        """The keys of a block, and the scores of a block of queries with them."""
        masks = self.lengths
        if self.mask is not None:
            mask = self.mask
            for axis, number in ((3, row), (4, column)):
                mask = _block(mask, number, axis) if mask.shape[axis] > 1 else mask
            masks = masks._replace(mask=mask)
        key, firsts = _block(self.key, column), (row * BLOCK, column * BLOCK)
        scores = _scores(self.options, query, key, firsts, masks)
        if self.key.shape[1] > self.size:  # padding counts less than keys that are not seen
            real = firsts[1] + jnp.arange(BLOCK) < self.size
            scores = jnp.where(real, scores, scores.dtype.type(-np.inf))
        return key, scores


def _block(x, number, axis: int = 1):
    return lax.dynamic_slice_in_dim(x, number * BLOCK, BLOCK, axis)


def _joined(blocks, size: int):
    """Blocks of queries, ``[blocks, B, BLOCK, ...]``, as one array of ``size`` queries."""
    whole = jnp.moveaxis(blocks, 0, 1)
    return whole.reshape(whole.shape[0], -1, *whole.shape[3:])[:, :size]


@partial(custom_vjp, nondiff_argnums=(0,))
def _blocked(options: _Options, query, key, value, masks: _Masks):
    """Attention by blocks: keeps the greatest score, the sum and the mean of the keys so far."""
    blocks = _Blocks(options, query, key, value, masks)
    batch, count, heads, groups, size = query.shape
    wide = np.float64 if query.dtype == np.float64 else np.float32

    def queries(row, _):
        some = _block(blocks.query, row)

        def step(column, state):
            largest, total, mean = state
            _, scores = blocks.scores(some, row, column)
            new = jnp.maximum(largest, jnp.max(scores, -1))
            shrink = jnp.exp(largest - new)
            powers = jnp.exp(scores - new[..., None])
            values = _block(blocks.value, column)
            part = jnp.einsum("bkgts,bskh->bkgth", powers.astype(values.dtype), values,
                              preferred_element_type=wide)
            return (new, total * shrink + jnp.sum(powers, -1), mean * shrink[..., None] + part)

        shape = (batch, heads, groups, BLOCK)
        start = (jnp.full(shape, -np.inf, wide), jnp.zeros(shape, wide),
                 jnp.zeros((*shape, size), wide))
        largest, total, mean = lax.fori_loop(*blocks.in_sight(row), step, start)
        out = jnp.transpose(mean / total[..., None], (0, 3, 1, 2, 4)).astype(query.dtype)
        return row + 1, (out, jnp.transpose(jnp.log(total) + largest, (0, 3, 1, 2)))

    _, (out, residual) = lax.scan(queries, 0, None, length=blocks.rows)
    return _joined(out, count), _joined(residual, count)


def _blocked_forward(options, query, key, value, masks):
    out, residual = _blocked(options, query, key, value, masks)
    return (out, residual), (query, key, value, masks, out, residual)


def _blocked_backward(options, kept, cotangents):
    """The derivative; each block's weights are recomputed from the residual."""
    query, key, value, masks, out, residual = kept
    dout, dresidual = cotangents
    blocks = _Blocks(options, query, key, value, masks)
    wide = residual.dtype
    # The term that all weights of a query share.
    common = jnp.sum(dout.astype(wide) * out.astype(wide), -1) - dresidual
    dout, common, residual = (_padded(x, 1) for x in (dout, common, residual))

    def queries(state, _):
        row, dkey, dvalue = state
        some, some_dout = _block(blocks.query, row), _block(dout, row)
        shared, spread = (jnp.transpose(_block(x, row), (0, 2, 3, 1))[..., None]
                          for x in (common, residual))

        if blocks.blind:  # residuals of queries that see no key have lost their number by rounding
            share = jnp.where(spread > wide.type(_MASKED / 2), wide.type(1),
                              wide.type(1 / key.shape[1]))

        def step(column, state):
            dquery, dkey, dvalue = state
            some_keys, scores = blocks.scores(some, row, column)
            weights = jnp.exp(scores - spread)
            if blocks.blind:
                weights = weights * share
            more = jnp.einsum("bkgts,btkgh->bskh", weights, some_dout, preferred_element_type=wide)
            dvalue = _added(dvalue, more, column)
            dweights = jnp.einsum("btkgh,bskh->bkgts", some_dout, _block(blocks.value, column),
                                  preferred_element_type=wide)
            dscores = weights * (dweights - shared) * weights.dtype.type(options.scale)
            if blocks.blind:  # means of all values do not depend on scores
                dscores = jnp.where(scores > scores.dtype.type(_MASKED), dscores, 0)
            dquery = dquery + jnp.einsum("bkgts,bskh->btkgh", dscores, some_keys,
                                         preferred_element_type=wide)
            more = jnp.einsum("bkgts,btkgh->bskh", dscores, some, preferred_element_type=wide)
            return dquery, _added(dkey, more, column), dvalue

        start = jnp.zeros(some.shape, wide), dkey, dvalue
        dquery, dkey, dvalue = lax.fori_loop(*blocks.in_sight(row), step, start)
        return (row + 1, dkey, dvalue), dquery

    zeros = jnp.zeros(blocks.key.shape, wide)
    (_, dkey, dvalue), dquery = lax.scan(queries, (0, zeros, zeros), None, length=blocks.rows)
    dkey, dvalue = (x[:, :key.shape[1]].astype(key.dtype) for x in (dkey, dvalue))
    dquery = _joined(dquery, query.shape[1]).astype(query.dtype)
    return dquery, dkey, dvalue, _no_cotangents(masks)


def _added(x, more, number):
    """An array with ``more`` added to one of its blocks."""
    return lax.dynamic_update_slice_in_dim(x, _block(x, number) + more, number * BLOCK, 1)


def _no_cotangents(masks: _Masks) -> _Masks:
    """Booleans and integers have cotangents without data."""
    return _Masks(*(None if x is None else np.zeros(jnp.shape(x), dtypes.float0) for x in masks))


_blocked.defvjp(_blocked_forward, _blocked_backward)
