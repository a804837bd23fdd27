"""Rows for references: functions that make, read and write references.

Programs have none any more when they are compiled, so there is nothing to lower.
"""

import numpy as np

import tanx
import tanx.numpy as jnp

from .case import Case, b, c, f, i

ROWS = np.array([2, 0])


def rewritten(x):
    """A reference made, read, written as a whole and in part, and frozen."""
    ref = tanx.new_ref(x)
    ref[...] = ref[...] * ref[...]
    ref[0] = ref[-1]
    return tanx.freeze(ref)


def added(x, y):
    ref = tanx.new_ref(x)
    tanx.ref.addupdate(ref, ROWS, y)
    ref.addupdate(x)
    return ref[...], ref[1:]


def swapped(x, y):
    ref = tanx.new_ref(x)
    old = tanx.ref.swap(ref, (slice(None, None, 2), 1), y)
    ref.at[1][0] = ref.at[2][1]
    return old, ref[...]


def moved(x, at):
    ref = tanx.new_ref(x)
    ref[at] = ref[0] + ref[at]
    return ref[...]


def filled(x):
    ref = tanx.empty_ref(x)
    ref[...] = x
    content = ref[...]
    tanx.free_ref(ref)
    return content


def copied(x):
    return tanx.new_ref(x)[...], jnp.sin(tanx.new_ref(x)[...])


CASES = [
    *(Case("new_ref", copied, arg, lower=False) for arg in (f(3), f(), f(0, 2), c(2))),
    *(Case("get", rewritten, arg, lower=False) for arg in (f(3), f(2, 2), i(3), c(2))),
    Case("freeze", rewritten, f(4), lower=False),
    Case("swap", swapped, f(3, 2), f(2), lower=False),
    Case("swap", moved, f(3), i(low=-3, high=3), lower=False),
    *(Case("addupdate", added, x, y, lower=False)
      for x, y in ((f(3), f(2)), (f(3, 2), f(2, 2)), (i(3), i(2)))),
    *(Case("empty_ref", filled, arg, lower=False) for arg in (f(3), b(2), i(0, 3))),
    Case("free_ref", filled, f(2), lower=False),
]
