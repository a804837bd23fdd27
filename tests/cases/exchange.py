"""Rows for the exchange of parts of unequal size, and for types in ``shard_map``.

A ``vmap`` or a ``shard_map`` around them binds the axis.
"""

import numpy as np

import tanx
from tanx import lax

from .case import Case, f, i

STARTS = np.array([[0, 2], [3, 1]])
SIZES = np.array([[2, 3], [1, 2]])
FIRSTS = np.array([[1, 0], [3, 3]])
RECEIVED = np.array([[2, 1], [3, 2]])
TWO_EACH = [np.array(x) for x in ([[0, 1, 2, 3], [0, 0, 1, 4]], [[1, 1, 1, 1], [1, 0, 2, 1]],
                                  [[0, 1, 0, 1], [2, 3, 2, 4]], [[1, 1, 1, 0], [1, 1, 2, 1]])]


def exchanged(*integers):
    return lambda x, y: tanx.vmap(lambda *args: lax.ragged_all_to_all(*args, axis_name="i"),
                                  axis_name="i")(x, y, *integers)


def on_one_device(body, count=1):
    mesh = tanx.sharding.Mesh(tanx.devices()[:1], "i")
    return tanx.shard_map(body, mesh=mesh, in_specs=(tanx.P(),) * count, out_specs=tanx.P("i"))


CASES = [
    Case("pvary", on_one_device(lambda x: 2 * lax.pcast(x, "i", to="varying")), f(2, 3),
         rewritten=True),
    Case("differentiated", on_one_device(lambda x: tanx.vjp(lambda y: y ** 3, x)[0]), f(2, 3),
         rewritten=True),
    Case("summed_cotangent",
         on_one_device(lambda x, y: tanx.grad(lambda z: (z ** 3 * y).sum())(x), 2),
         f(2, 3), f(2, 3), rewritten=True),
    Case("ragged_all_to_all", exchanged(STARTS, SIZES, FIRSTS, RECEIVED), f(2, 6), f(2, 7),
         rewritten=True),
    Case("ragged_all_to_all", exchanged(STARTS, SIZES, FIRSTS, RECEIVED), f(2, 6, 2), f(2, 7, 2),
         rewritten=True, name="rows"),
    Case("ragged_all_to_all", exchanged(STARTS, SIZES, FIRSTS, RECEIVED), i(2, 6), i(2, 7),
         rewritten=True),
    Case("ragged_all_to_all", exchanged(*TWO_EACH), f(2, 6), f(2, 7), rewritten=True,
         name="two to each"),
]
