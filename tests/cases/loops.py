"""Rows for loops: scans with carries, slices and constants, forwards and backwards."""

import tanx
from tanx import lax

from .case import Case, f, i


def step(carry, x):
    """A carry of floats and integers; stacked values of both."""
    y, n = carry
    return (lax.sin(y) * x + y, n + 1), (y * x, n)


def with_constant(c, y, xs):
    return lax.scan(lambda y, x: (lax.sin(y) * lax.exp(c) + x, lax.cos(y * c)), y, xs)


def without_slices(y):
    return lax.scan(lambda y, _: (lax.sin(y), None), y, length=3)[0]


def flat(fun):
    return lambda *args: tanx.tree.leaves(fun(*args))


CASES = [
    Case("scan", flat(lambda y, n, xs: lax.scan(step, (y, n), xs)), f(3), i(), f(4, 3),
         lower=False),
    Case("scan", flat(lambda y, n, xs: lax.scan(step, (y, n), xs, reverse=True, unroll=2)), f(2),
         i(2), f(5, 2), lower=False, name="reverse"),
    Case("scan", flat(with_constant), f(2), f(2), f(4, 2), lower=False, name="constant"),
    Case("scan", flat(lambda y, n, xs: lax.scan(step, (y, n), xs)), f(), i(), f(0), lower=False,
         name="no-steps"),
    Case("scan", without_slices, f(2), lower=False, name="no-slices"),
    Case("scan", flat(lambda y, z, xs: lax.scan(
        lambda c, x: ((c[1], c[0] * x), None), (y, z), xs)), f(), f(), f(3), lower=False,
        name="exchange"),
    Case("scan", flat(lambda w, xs: lax.scan(lambda _, x: (None, lax.dot(w, x)), None, xs)),
         f(2, 3), f(4, 3), lower=False, name="no-carry"),
    Case("scan", flat(lambda xs: lax.scan(lambda s, x: (s + x, s), 0.0, xs)), f(4), lower=False,
         name="constant-start"),
]
