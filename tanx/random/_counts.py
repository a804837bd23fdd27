"""Distributions of counts: geometric, Poisson, binomial, multinomial.

Poisson and binomial counts are drawn for all elements at once: each round uses one key, and rounds
are repeated until every element has an accepted count.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import dtypes, lax
from .. import numpy as jnp
from .._api.meshes import by_out_sharding
from ..errors import explain
from ..numpy._promotion import broadcast_to_shape, typeof
from ._keys import single, split
from ._normal import normal
from ._sampler import floating, integer, repeat, sample_shape, sampler
from ._uniform import uniform

__all__ = ["binomial", "geometric", "multinomial", "poisson"]


@by_out_sharding
def geometric(key, p, shape: Sequence[int] | None = None, dtype=None, *, out_sharding=None):
    """The number of trials until the first success, of probability ``p``.

    Args:
      key: A key.
      p: Probabilities, numbers or arrays.
      shape: Of the result, to which ``p`` must broadcast; by default its shape.
      dtype: Of integers; by default ``int32``, or ``int64`` with ``enable_x64``.
      out_sharding: How the result is laid out over devices.

    >>> tanx.random.geometric(tanx.random.key(0), 0.3, (4,))
    Array([1, 1, 4, 3], dtype=int32)
    """
    dtype = dtypes.requested_dtype(dtypes.default_int() if dtype is None else dtype,
                                   "tanx.random.geometric")
    if not dtypes.issubdtype(dtype, np.integer):
        raise ValueError(explain("tanx.random.geometric", "gives integers.", f"dtype: {dtype}"))
    shape = sample_shape("geometric", shape, p=p)
    return _geometric(single("geometric", key), p, shape=shape, dtype=dtype)


@sampler
def _geometric(key, p, *, shape, dtype):
    p = jnp.asarray(p)
    p = p if dtypes.issubdtype(p.dtype, np.inexact) else p.astype(dtypes.default_float())
    u = uniform(key, shape, p.dtype)
    u = jnp.where(u == 0, 1, u)
    tries = lax.floor(lax.log(u) / broadcast_to_shape(lax.log1p(-p), shape)) + 1
    return lax.convert_element_type(tries, dtype)


# -- Poisson ---------------------------------------------------------------------------------------


@by_out_sharding
def poisson(key, lam, shape: Sequence[int] | None = None, dtype=None, *, method: str = "exact",
            out_sharding=None):
    """Counts of the Poisson distribution with mean ``lam``.

    Args:
      key: A key.
      lam: Means, numbers or arrays. What is negative or NaN gives -1.
      shape: Of the result, to which ``lam`` must broadcast; by default its shape.
      dtype: Of integers; by default ``int32``, or ``int64`` with ``enable_x64``.
      method: ``"exact"``, by rejection; or ``"approximate"``, a function of one normal number,
        which takes the same time for every element.
      out_sharding: How the result is laid out over devices.

    >>> tanx.random.poisson(tanx.random.key(0), 4.0, (4,))
    Array([0, 1, 5, 5], dtype=int32)
    """
    wrapped, dtype = single("poisson", key), integer("poisson", dtype)
    if method not in ("exact", "approximate"):
        raise ValueError(explain("tanx.random.poisson", "method is 'exact' or 'approximate'.",
                                 f"method: {method!r}"))
    if method == "exact" and wrapped.dtype.impl.name != "threefry2x32":
        raise NotImplementedError(explain(
            "tanx.random.poisson", "the exact method needs keys of threefry2x32.",
            f"key: {typeof(wrapped)}", hint="method='approximate' takes any."))
    shape = sample_shape("poisson", shape, lam=lam)
    exact = method == "exact"
    wide = np.dtype(np.float32) if exact else dtypes.default_float()
    lam = broadcast_to_shape(lax.convert_element_type(lam, wide), shape)
    return (_poisson if exact else _poisson_approx)(wrapped, lam, shape=shape, dtype=dtype)


@sampler
def _poisson(key, lam, *, shape, dtype):
    few = lax.ne(lam, lam) | (lam < 10)
    small = lax.select(few, lam, lax.full_like(lam, 0))
    large = lax.select(few, lax.full_like(lam, 1e5), lam)
    most = np.iinfo(np.int32).max if dtype.itemsize >= 4 else dtypes.iinfo(dtype).max
    counts = lax.select(few, _poisson_knuth(key, small, shape=shape, dtype=dtype, most=most),
                        _poisson_rejection(key, large, shape=shape, dtype=dtype, most=most))
    return lax.select(lam == 0, lax.full_like(counts, 0), counts)


@sampler
def _poisson_knuth(key, lam, *, shape, dtype, most):
    """Multiply uniform numbers until they are below exp(-lam) (Knuth): for few counts."""
    def goes_on(state):
        rounds, _, _, log_product = state
        return jnp.any(log_product > -lam) & (rounds < most)

    def step(state):
        rounds, counts, key, log_product = state
        key, uniform_key = split(key)
        counts = lax.select(log_product > -lam, counts + 1, counts)
        u = uniform(uniform_key, shape, np.float32)
        return rounds + 1, counts, key, log_product + lax.log(u)

    start = (0, lax.full(shape, 0, dtype), key, lax.full(shape, 0.0, np.float32))
    return repeat(goes_on, step, start)[1] - 1


@sampler
def _poisson_rejection(key, lam, *, shape, dtype, most):
    """Transformed rejection (Hoermann 1993, algorithm PTRS): for many counts."""
    log_lam = lax.log(lam)
    b = 0.931 + 2.53 * lax.sqrt(lam)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    quick = 0.9277 - 3.6224 / (b - 2)

    def goes_on(state):
        rounds, _, accepted, _ = state
        return jnp.any(~accepted) & (rounds < most)

    def step(state):
        rounds, counts, accepted, key = state
        key, u_key, v_key = split(key, 3)
        u = uniform(u_key, shape, lam.dtype) - 0.5
        v = uniform(v_key, shape, lam.dtype)
        room = 0.5 - jnp.abs(u)
        count = lax.floor((2 * a / room + b) * u + lam + 0.43)
        found = lax.log(v * inverse_alpha / (a / (room * room) + b))
        wanted = -lam + count * log_lam - lax.lgamma(count + 1)
        inside = (room >= 0.07) & (v <= quick)
        outside = (count < 0) | ((room < 0.013) & (v > room))
        takes = inside | (~outside & (found <= wanted))
        return rounds + 1, lax.select(takes, count, counts), accepted | takes, key

    start = (0, lax.full_like(lam, -1), lax.full_like(lam, False, bool), key)
    return lax.convert_element_type(repeat(goes_on, step, start)[1], dtype)


_SUMMED = 18  # up to this count, probabilities are summed
_TAYLOR = (-1 / 3, 1 / 6, -1 / 10, 1 / 15, -1 / 21, 1 / 28, -1 / 36, 1 / 45, -1 / 55)


@sampler
def _poisson_approx(key, lam, *, shape, dtype):
    """The count at the quantile of a normal number: exact for small means.

    For others a Cornish-Fisher expansion is off by at most one, and the normal approximation of
    Peizer and Pratt (1968) decides between neighbours.
    """
    x = normal(key, shape, lam.dtype)
    quantile = 0.5 * _twice_normal_cdf(x)
    probability = total = lax.exp(-lam)
    few = lax.convert_element_type(total < quantile, lam.dtype)
    for n in range(1, _SUMMED + 1):
        probability = probability * (lam / n)
        total = total + probability
        few = few + lax.convert_element_type(total < quantile, lam.dtype)
    root = lax.sqrt(lam)
    guess = lam + root * x - 2 / 3 + lax.square(x) / 6 + x * (1 - lax.square(x)) / (72 * root)
    guess = lax.ceil(guess + 0.6)
    many = guess + 1
    for count in (guess, guess - 1):
        many = many - lax.convert_element_type(_deviate(count, lam) >= x, lam.dtype)
    return lax.convert_element_type(jnp.where(lam < 7, few, jnp.maximum(many, 0)), dtype)


def _twice_normal_cdf(x):
    scaled = x * np.float32(np.sqrt(0.5)).astype(x.dtype)
    size = jnp.abs(scaled)
    far = lax.select(scaled > 0, 2 - lax.erfc(size), lax.erfc(size))
    return lax.select(size < np.sqrt(0.5), 1 + lax.erf(scaled), far)


def _deviate(count, lam):
    """The normal number whose quantile is that of a Poisson count."""
    held = jnp.maximum(count, 0)
    ratio = (held + 0.5) / lam
    change = ratio - 1
    near = jnp.abs(change) < 0.25
    series = jnp.zeros_like(change)
    for c in reversed(_TAYLOR):
        series = c + change * series
    series = change * series
    ratio, change = jnp.where(near, 2.0, ratio), jnp.where(near, 1.0, change)
    exact = (1 - lax.square(ratio) + 2 * ratio * lax.log(ratio)) / lax.square(change)
    correction = jnp.where(near, series, exact)
    out = (held - lam + 2 / 3 + 0.02 / (held + 1)) * lax.sqrt((1 + correction) / lam)
    return jnp.where(count < 0, -np.inf, out)


# -- binomial --------------------------------------------------------------------------------------


def binomial(key, n, p, shape: Sequence[int] | None = None, dtype=None):
    """Counts of the binomial distribution: how many of ``n`` trials succeed with chance ``p``.

    Args:
      key: A key.
      n: Numbers of trials, numbers or arrays.
      p: Probabilities, numbers or arrays.
      shape: Of the result, to which both must broadcast; by default theirs.
      dtype: Floating point, for counts may be large; by default ``float32``, or ``float64`` with
        ``enable_x64``.

    >>> tanx.random.binomial(tanx.random.key(0), 10, 0.3, (4,))
    Array([2., 2., 1., 2.], dtype=float32)
    """
    wrapped, dtype = single("binomial", key), floating("binomial", dtype)
    wide = np.dtype(np.float32) if dtype.itemsize < 4 else dtype
    counts = _binomial(wrapped, n, p, shape=sample_shape("binomial", shape, n=n, p=p), dtype=wide)
    return lax.convert_element_type(counts, dtype)


@sampler(inline=True)
def _binomial(key, n, p, *, shape, dtype):
    """By inversion if few successes are expected, else by rejection; for p or 1 - p."""
    n, p = (broadcast_to_shape(lax.convert_element_type(x, dtype), shape) for x in (n, p))
    rare = p < 0.5
    q = lax.select(rare, p, 1 - p)
    no_trials, endless = lax.ne(n, n) | (n < 0), jnp.isinf(n)
    not_a_number, negative = lax.ne(q, q), q < 0
    q = lax.select(not_a_number | negative, lax.full_like(q, 0.01), q)
    few = no_trials | (n * q <= 10)
    trials = lax.floor(n)
    most = float(dtypes.finfo(dtype).max)
    by_inversion = _inversion(key, lax.select(few, trials, lax.full_like(n, 0)), q, shape, most)
    by_rejection = _rejection(key, lax.select(few, lax.full_like(n, 1e4), trials),
                              lax.select(few, lax.full_like(q, 0.5), q), shape, most)
    counts = lax.select(few, by_inversion, by_rejection)
    invalid = negative | not_a_number | no_trials
    counts = lax.select(invalid, lax.full_like(counts, np.nan), counts)
    counts = lax.select(endless & ~invalid, lax.full_like(counts, np.inf), counts)
    return lax.select(rare | no_trials | not_a_number | endless, counts, trials - counts)


def _inversion(key, n, q, shape, most):
    """Add up distances between successes, which are geometric, until they exceed ``n``."""
    log_failure = lax.log1p(-q)

    def goes_on(state):
        rounds, _, reached, _ = state
        return jnp.any(reached <= n) & (rounds < most)

    def step(state):
        rounds, counts, reached, key = state
        uniform_key, key = split(key)
        counts = lax.select(reached <= n, counts + 1, counts)
        distance = lax.ceil(lax.log(uniform(uniform_key, shape, n.dtype)) / log_failure)
        return rounds + 1, counts, reached + distance, key

    zeros = lax.full_like(n, 0)
    return repeat(goes_on, step, (0, zeros, zeros, key))[1] - 1


def _rejection(key, n, q, shape, most):
    """Transformed rejection with squeeze (Hoermann 1993, algorithm BTRS)."""
    deviation = lax.sqrt(n * q * (1 - q))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * q
    c = n * q + 0.5
    quick = 0.92 - 4.2 / b
    odds = q / (1 - q)
    alpha = (2.83 + 5.1 / b) * deviation
    mode = lax.floor((n + 1) * q)

    def goes_on(state):
        rounds, _, accepted, _ = state
        return jnp.any(~accepted) & (rounds < most)

    def step(state):
        rounds, counts, accepted, key = state
        key, u_key, v_key = split(key, 3)
        u, v = uniform(u_key, shape, n.dtype), uniform(v_key, shape, n.dtype)
        u = u - 0.5
        room = 0.5 - jnp.abs(u)
        inside = (room >= 0.07) & (v <= quick)
        count = lax.floor((2 * a / room + b) * u + c)
        outside = (count < 0) | (count > n)
        found = lax.log(v * alpha / (a / (room * room) + b))
        wanted = ((mode + 0.5) * lax.log((mode + 1) / (odds * (n - mode + 1)))
                  + (n + 1) * lax.log((n - mode + 1) / (n - count + 1))
                  + (count + 0.5) * lax.log(odds * (n - count + 1) / (count + 1))
                  + _stirling(mode) + _stirling(n - mode) - _stirling(count)
                  - _stirling(n - count))
        takes = inside | (~outside & (found <= wanted))
        return rounds + 1, lax.select(takes, count, counts), accepted | takes, key

    start = (0, lax.full_like(n, -1), lax.full_like(n, False, bool), key)
    return repeat(goes_on, step, start)[1]


# log(k!) minus Stirling's formula, for k from 0 to 9.
_STIRLING = (0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.0207906721037650,
             0.0166446911898211, 0.0138761288230707, 0.0118967099458917, 0.0104112652619720,
             0.0092554621827127, 0.0083305634333594)


def _stirling(k):
    """The error of Stirling's formula; an approximation past the table: only differences matter."""
    held = lax.clamp(k.dtype.type(0), k, k.dtype.type(9))
    square = (held + 1) * (held + 1)
    series = (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (held + 1)
    table = jnp.array(_STIRLING, k.dtype)
    return lax.select(k <= 9, table[lax.floor(held).astype(np.int32)], series)


def _broadcasts(shape: tuple[int, ...], whole: tuple[int, ...]) -> bool:
    """Whether an array of a shape broadcasts to one of another."""
    return len(shape) <= len(whole) and all(
        n in (1, m) for n, m in zip(shape[::-1], whole[::-1]))


def multinomial(key, n, p, *, shape: Sequence[int] | None = None, dtype=None, unroll: int = 1):
    """Counts of the multinomial distribution: how many of ``n`` trials end in each category.

    Args:
      key: A key.
      n: Numbers of trials, numbers or arrays.
      p: Probabilities of the categories along the last dimension.
      shape: Of the result without its last dimension; by default that of ``p`` without it.
      dtype: Of numbers; by default ``float32``, or ``float64`` with ``enable_x64``.
      unroll: How many categories the loop over them takes at a time.

    >>> tanx.random.multinomial(tanx.random.key(0), 10, jnp.array([0.2, 0.3, 0.5]))
    Array([1., 1., 8.], dtype=float32)
    """
    wrapped = single("multinomial", key)
    p = jnp.asarray(p)
    if not p.ndim:
        raise ValueError(explain("tanx.random.multinomial", "p needs a dimension of categories.",
                                 f"p: {typeof(p)}"))
    p = p if dtypes.issubdtype(p.dtype, np.inexact) else p.astype(dtypes.default_float())
    dtype = dtypes.requested_dtype(dtypes.default_float() if dtype is None else dtype,
                                   "tanx.random.multinomial")
    lead = p.shape[:-1] if shape is None else tuple(shape)
    trials = lax.convert_element_type(n, p.dtype)
    if not all(_broadcasts(x, lead) for x in (trials.shape, p.shape[:-1])):
        raise ValueError(explain(
            "tanx.random.multinomial", "n, and p without its last dimension, must broadcast to "
            "the shape.", f"n: {typeof(trials)}", f"p: {typeof(p)}", f"shape: {lead}"))
    trials = broadcast_to_shape(trials, lead)
    p = broadcast_to_shape(p, (*lead, p.shape[-1]))
    left = lax.cumsum(p, p.ndim - 1, reverse=True)
    shares = jnp.moveaxis(p / jnp.where(left == 0, 1, left), -1, 0)

    def category(remaining, given):
        share, key = given
        count = binomial(key, remaining, jnp.clip(share, 0, 1), lead, p.dtype)
        return remaining - count, count

    keys = split(wrapped, p.shape[-1])
    _, counts = lax.scan(category, trials, (shares, keys), unroll=unroll)
    return lax.convert_element_type(jnp.moveaxis(counts, 0, -1), dtype)
