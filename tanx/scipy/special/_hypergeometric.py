"""Hypergeometric functions of real numbers: series, transformed to where they converge well."""

from __future__ import annotations

import functools
import math

import numpy as np

from ... import lax
from ... import numpy as jnp
from ..._api.batching import vmap
from ..._api.jit import library_jit
from ..._control.custom_jvp import custom_jvp
from ...tree_util import tree_leaves, tree_map
from ._gamma import gamma
from ._operands import in_float64, real_operands

__all__ = ["hyp1f1", "hyp2f1"]

_EPS = 2.0 ** -54
_TERMS = 20000


# -- series ----------------------------------------------------------------------------------------


def _each(compute):
    """A function of scalars, mapped over arrays: each element runs its own loop."""
    @functools.wraps(compute)
    def run(*args):
        shape = tree_leaves(args)[0].shape
        flat = tree_map(jnp.ravel, args)
        return tree_map(lambda y: y.reshape(shape), vmap(compute)(*flat))
    return run


@custom_jvp
def _series(above, below, x):
    """The sum of terms with the ratios Π(above + k) x / (Π(below + k) (k + 1)); the first is 1."""
    return _sum(above, below, x)


@_each
def _sum(above, below, x):
    def goes_on(state):
        k, term, total = state
        return (jnp.abs(term) > _EPS * jnp.abs(total)) & (k < _TERMS)

    def step(state):
        k, term, total = state
        term = term * (_product(above, k) / (_product(below, k) * (k + 1)) * x)
        return k + 1, term, total + term

    one = jnp.ones_like(x)
    return lax.while_loop(goes_on, step, (0 * one, one, one))[2]


@_each
def _slopes(above, below, x):
    """The derivatives of the sum by each of its parameters."""
    def goes_on(state):
        k, _, slopes, totals = state
        return (k < 3) | (sum(map(jnp.abs, slopes)) > _EPS * sum(map(jnp.abs, totals))) & (
            k < _TERMS)

    def step(state):
        k, term, slopes, totals = state
        scale = x / (_product(below, k) * (k + 1))
        ratio = _product(above, k) * scale
        others = [_product(above[:i] + above[i + 1:], k) * scale for i in range(len(above))]
        moved = [*others, *(-ratio / (c + k) for c in below)]
        slopes = tuple(s * ratio + term * m for s, m in zip(slopes, moved, strict=True))
        return k + 1, term * ratio, slopes, tuple(map(jnp.add, totals, slopes))

    one = jnp.ones_like(x)
    none = (0 * one,) * (len(above) + len(below))
    return lax.while_loop(goes_on, step, (0 * one, one, none, none))[3]


def _product(parameters, k):
    return math.prod(p + k for p in parameters)


@_series.defjvp
def _series_jvp(primals, tangents):
    (above, below, x), (dabove, dbelow, dx) = primals, tangents
    slopes = _slopes(above, below, x)
    moved = sum(d * s for d, s in zip((*dabove, *dbelow), slopes, strict=True))
    ratio = math.prod(above) / math.prod(below)
    following = _series(tuple(p + 1 for p in above), tuple(p + 1 for p in below), x)
    return _series(above, below, x), moved + dx * ratio * following


def _ends(a):
    """Whether a series with the parameter ``a`` above is finite: ``a`` is an integer, at most 0."""
    return (a <= 0) & (jnp.floor(a) == a)


def _inverse_gamma(x):
    """1 / gamma(x), which is 0 at the poles."""
    pole = _ends(x)
    return jnp.where(pole, 0, 1 / gamma(jnp.where(pole, 1, x)))


# -- Kummer's function -----------------------------------------------------------------------------


def hyp1f1(a, b, x):
    """The confluent hypergeometric function ₁F₁, the sum of ``(a)_k / (b)_k * x**k / k!``

    It is infinite if ``b`` is an integer of at most 0, unless the sum ends before.

    >>> tanx.scipy.special.hyp1f1(1.0, 2.0, jnp.array([-1.0, 0.0, 1.0]))
    Array([0.63212055, 1.        , 1.7182819 ], dtype=float32)
    """
    a, b, x = (jnp.asarray(v) if isinstance(v, list | tuple) else v for v in (a, b, x))
    return _hyp1f1(*jnp.broadcast_arrays(*real_operands("hyp1f1", a, b, x, weak=False)))


@library_jit(name="hyp1f1")
@in_float64
def _hyp1f1(a, b, x):
    polynomial = _ends(a)
    turned = (x < 0) & ~polynomial  # e^x ₁F₁(b - a, b, -x) has positive terms
    top = jnp.where(turned, b - a, a)
    far = (x < -50) & ~polynomial & ~_ends(b - a) & (
        jnp.abs(a) * (jnp.abs(a - b) + 1) < -0.5 * x)
    infinite = _ends(b) & ~(polynomial & (a > b))
    series = _series((jnp.where(far, 1, top),), (jnp.where(infinite | far, 1, b),),
                     jnp.where(far, 0, jnp.where(turned, -x, x)))
    series = series * jnp.exp(jnp.where(turned, x, 0))
    value = jnp.where(far, _kummer_far(a, b, jnp.where(far, x, -50)), series)
    value = jnp.where(infinite, np.inf, value)
    value = jnp.where(a == b, jnp.where(a == 0, 1, jnp.exp(x)), value)
    return jnp.where(jnp.isnan(a + b + x), np.nan, value)


def _kummer_far(a, b, x):
    """The asymptotic series for x far below 0."""
    term = total = jnp.ones_like(x)
    going = jnp.ones_like(x, bool)
    for k in range(30):
        following = term * ((a + k) * (a - b + (k + 1)) / ((k + 1) * -x))
        going = going & (jnp.abs(following) < jnp.abs(term))
        term = jnp.where(going, following, term)
        total = jnp.where(going, total + following, total)
    return gamma(b) * _inverse_gamma(b - a) * (-x) ** -a * total


# -- Gauss' function -------------------------------------------------------------------------------


def hyp2f1(a, b, c, x):
    """Gauss' hypergeometric function ₂F₁, the sum of ``(a)_k * (b)_k / (c)_k * x**k / k!``

    It is infinite for ``x`` above 1, and if ``c`` is an integer of at most 0, unless the sum ends.

    >>> tanx.scipy.special.hyp2f1(1.0, 1.0, 2.0, jnp.array([-1.0, 0.0, 0.5]))  # -log(1 - x) / x
    Array([0.6931472, 1.       , 1.3862944], dtype=float32)
    """
    a, b, c, x = (jnp.asarray(v) if isinstance(v, list | tuple) else v for v in (a, b, c, x))
    return _hyp2f1(*jnp.broadcast_arrays(*real_operands("hyp2f1", a, b, c, x, weak=False)))


@library_jit(name="hyp2f1")
@in_float64
def _hyp2f1(a, b, c, x):
    polynomial = (_ends(a) & (~_ends(c) | (a > c))) | (_ends(b) & (~_ends(c) | (b > c)))
    inside = (x < 1) & ~_ends(c)
    usual = inside & ~polynomial
    low = jnp.where(usual, 1 - x, 1)
    # Below -1/2, Pfaff's transformation to x / (x - 1), which is between 1/3 and 1.
    left = usual & (x < -0.5)
    scale, second = jnp.where(left, low, 1) ** -a, jnp.where(left, c - b, b)
    place = jnp.where(left, x / -low, x)
    # Euler's transformation, if its series is finite.
    rest = c - a - second
    euler = usual & ~left & (_ends(c - a) | _ends(c - b))
    scale = scale * jnp.where(euler, low, 1) ** rest
    first, second = jnp.where(euler, c - a, a), jnp.where(euler, c - second, second)
    rest = jnp.where(euler, -rest, rest)
    value = scale * _gauss(first, second, c, rest, place, usual & ~euler, polynomial | euler)
    whole = jnp.where(c - a - b > 0, _at_one(a, b, c), np.inf)
    outside = jnp.where((x == 1) & ~_ends(c), whole, np.inf)
    value = jnp.where(inside | polynomial, value, outside)
    value = jnp.where((x == 0) | (a == 0) | (b == 0), 1, value)
    return jnp.where(jnp.isnan(a + b + c + x), np.nan, value)


def _gauss(a, b, c, rest, x, usual, ends):
    """The function for ``x`` up to 1; ``rest`` is c - a - b. Near 1, by a series in 1 - x."""
    near = usual & (x > 0.9) & (jnp.abs(rest - jnp.round(rest)) > 1e-3)
    far = 1 - jnp.where(near, x, 1)
    safe = jnp.where(near, rest, 0.5)
    summed = usual | ends
    first = _series((a, b), (jnp.where(near, 1 - rest, jnp.where(summed, c, 1)),),
                    jnp.where(near, far, jnp.where(summed, x, 0)))
    second = _series((jnp.where(near, c - a, 1), jnp.where(near, c - b, 1)),
                     (jnp.where(near, 1 + rest, 1),), far)
    top = gamma(jnp.where(near, c, 1))
    left = top * gamma(safe) * _inverse_gamma(c - a) * _inverse_gamma(c - b)
    right = top * gamma(-safe) * _inverse_gamma(a) * _inverse_gamma(b)
    both = left * first + right * jnp.where(near, far, 1) ** safe * second
    return jnp.where(near, both, first)


def _at_one(a, b, c):
    """The value at 1, by Gauss' formula."""
    rest = c - a - b
    good = (rest > 0) & ~_ends(c)
    return (gamma(jnp.where(good, c, 1)) * gamma(jnp.where(good, rest, 1))
            * _inverse_gamma(c - a) * _inverse_gamma(c - b))
