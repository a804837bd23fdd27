"""Rows for random numbers without a key: the interval holds only one number."""

from tanx import lax

from .case import Case, i

CASES = [
    Case("rng_uniform", lambda a: lax.rng_uniform(a, a + 1, (3, 2)), i(), grad=(), lower=False),
    Case("rng_uniform", lambda a, b: lax.rng_uniform(a, b, ()), i(low=3, high=4),
         i(low=4, high=5), grad=(), lower=False),
]
