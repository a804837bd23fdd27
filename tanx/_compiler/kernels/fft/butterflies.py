"""Discrete Fourier transforms of a few numbers in registers: the steps of longer ones.

Everything is written once for lists of :class:`~.complex.Pair`, with any number of lanes. Lengths
are divided into factors down to primes; odd primes use sums and differences of opposite numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, pi, sin, sqrt

from ...emit.complex import Pair
from ...emit.values import muladd

__all__ = ["times", "transform"]

_HALF_ROOT = sqrt(0.5)


def transform(x: Sequence[Pair]) -> list[Pair]:
    """The transform of some numbers: ``sum(x[q] * exp(-2 pi i p q / n))`` for each ``p``."""
    n = len(x)
    if n == 1:
        return list(x)
    if n == 2:
        return [x[0] + x[1], x[0] - x[1]]
    if n == 4:
        return _four(*x)
    if n % 2 == 0:
        return _halves(x)
    first = next((p for p in (3, 5, 7) if n % p == 0 and n > p), n)
    return _prime(x) if first == n else _factors(x, first)


def times(x: Pair, re, im) -> Pair:
    """The product with a complex number."""
    return Pair(muladd(-x.im, im, x.re * re), muladd(x.im, re, x.re * im))


def _four(a: Pair, b: Pair, c: Pair, d: Pair) -> list[Pair]:
    even, odd, other, turned = a + c, b + d, a - c, (b - d).turned_back()
    return [even + odd, other + turned, even - odd, other - turned]


def _halves(x: Sequence[Pair]) -> list[Pair]:
    """By the transforms of every second number; factors of an eighth turn are products with a root
    that are merged into the sums."""
    n = len(x)
    even, odd = transform(x[::2]), transform(x[1::2])
    first, second = [], []
    for p, (a, b) in enumerate(zip(even, odd)):
        eighths, rest = divmod(8 * p, n)
        if rest:
            b = _turned(b, p, n)
        elif eighths == 2:
            b = b.turned_back()
        elif eighths:
            b = Pair(b.re + b.im, b.im - b.re) if eighths == 1 else Pair(b.im - b.re, -b.re - b.im)
            root = _HALF_ROOT
            first.append(Pair(muladd(b.re, root, a.re), muladd(b.im, root, a.im)))
            second.append(Pair(muladd(b.re, -root, a.re), muladd(b.im, -root, a.im)))
            continue
        first.append(a + b)
        second.append(a - b)
    return first + second


def _factors(x: Sequence[Pair], count: int) -> list[Pair]:
    """By ``count`` transforms, each of every ``count``-th number."""
    n, size = len(x), len(x) // count
    parts = [transform(x[k::count]) for k in range(count)]
    out = [x[0]] * n
    for p in range(size):
        out[p::size] = transform([_turned(part[p], k * p, n) for k, part in enumerate(parts)])
    return out


def _turned(x: Pair, p: int, n: int) -> Pair:
    """The product with ``exp(-2 pi i p / n)``."""
    if p % n == 0:
        return x
    angle = -2 * pi * (p % n) / n
    return times(x, cos(angle), sin(angle))


def _prime(x: Sequence[Pair]) -> list[Pair]:
    """An odd length, by sums and differences of opposite numbers."""
    n, first = len(x), x[0]
    half = range(1, n // 2 + 1)
    sums = [x[q] + x[n - q] for q in half]
    differences = [x[q] - x[n - q] for q in half]
    total = first
    for term in sums:
        total = total + term
    out = [total] * n
    for p in half:
        re, im, across, along = first.re, first.im, None, None
        for q, plus, minus in zip(half, sums, differences):
            angle = 2 * pi * (p * q % n) / n
            re, im = muladd(plus.re, cos(angle), re), muladd(plus.im, cos(angle), im)
            factor = sin(angle)
            across = minus.im * factor if across is None else muladd(minus.im, factor, across)
            along = minus.re * factor if along is None else muladd(minus.re, factor, along)
        out[p], out[n - p] = Pair(re + across, im - along), Pair(re - across, im + along)
    return out
