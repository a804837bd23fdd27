"""Rows for calls of Python functions, and for checks."""

import numpy as np

import tanx
from tanx import lax
from tanx.experimental import checkify, io_callback

from .case import Case, f, i


def silent(*args, **kwargs):
    pass


def shown(show):
    """A function that lets another one look at its argument."""
    def fun(x):
        show(x)
        return lax.sin(x)
    return fun


def cube_root(method):
    return lambda x, y: tanx.pure_callback(lambda a, b: np.cbrt(a) + b, x, x, y,
                                           vmap_method=method)


CASES = [
    *[Case("pure_callback", cube_root(method), f(3), f(3), grad=(), lower=False, name=method)
      for method in ("sequential", "sequential_unrolled", "expand_dims", "broadcast_all")],
    Case("pure_callback", lambda x, n: tanx.pure_callback(
        lambda x, n: (n, x), (n, x), x, n, vmap_method="broadcast_all"), f(3), i(2), grad=(),
        lower=False, name="two-results"),
    Case("pure_callback", lambda x: tanx.pure_callback(
        np.cbrt, x, x, vmap_method="legacy_vectorized"), f(3), grad=(), lower=False, name="legacy"),
    Case("io_callback", lambda x: io_callback(np.cbrt, x, x), f(3), grad=(), lower=False,
         rewritten=True),
    Case("debug_callback", shown(lambda x: tanx.debug.callback(silent, x)), f(3), lower=False,
         rewritten=True),
    Case("check", shown(lambda x: checkify.check(lax.reduce_max(x, (0,)) < 9, "{x}", x=x)), f(3),
         lower=False, rewritten=True),
    Case("debug_print", shown(lambda x: tanx.debug.print("{}", x)), f(3), lower=False,
         rewritten=True),
]
