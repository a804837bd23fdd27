"""Rows for composite functions."""

from tanx import lax
from tanx.experimental.custom_partitioning import custom_partitioning

from .case import Case, f, i

scaled_tangent = lax.composite(lambda x, *, by: lax.sin(x) / lax.cos(x) * by, "tests.tangent", 2)
divided = custom_partitioning(lambda x: lax.sin(x) * x)
divided.def_partition(lambda *_: None, sharding_rule="i -> i")
swapped = lax.composite(lambda x, y: (y, x * 2), "tests.swapped")

CASES = [
    Case("composite", lambda x: scaled_tangent(x, by=2.0), f(3, low=-1, high=1), lower=False),
    Case("custom_partitioning", divided, f(3), lower=False),
    Case("composite", swapped, f(2, 2), i(3), lower=False),
]
