"""Rows for the exchange of parts of unequal size; a ``vmap`` around it binds the axis."""

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


CASES = [
    Case("ragged_all_to_all", exchanged(STARTS, SIZES, FIRSTS, RECEIVED), f(2, 6), f(2, 7),
         rewritten=True),
    Case("ragged_all_to_all", exchanged(STARTS, SIZES, FIRSTS, RECEIVED), f(2, 6, 2), f(2, 7, 2),
         rewritten=True, name="rows"),
    Case("ragged_all_to_all", exchanged(STARTS, SIZES, FIRSTS, RECEIVED), i(2, 6), i(2, 7),
         rewritten=True),
    Case("ragged_all_to_all", exchanged(*TWO_EACH), f(2, 6), f(2, 7), rewritten=True,
         name="two to each"),
]
