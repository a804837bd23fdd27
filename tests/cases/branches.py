"""Rows for branches and ``while`` loops."""

import tanx
from tanx import lax

from .case import Case, b, f, i, pos


def chosen(p, x, y):
    return lax.cond(p, lambda x, y: lax.mul(lax.sin(x), y), lambda x, y: lax.sub(y, x), x, y)


def switched(n, x):
    return lax.switch(n, [lax.sin, lambda x: lax.mul(x, x), lax.exp], x)


def some_results(p, x, n):
    return lax.cond(p, lambda: (lax.sin(x), n), lambda: (x, lax.add(n, n)))


def halved(x, y):
    """Halves x until it is small, and sums the values on the way, times y."""
    return lax.while_loop(
        lambda c: lax.gt(c[0], 0.3),
        lambda c: (lax.mul(c[0], 0.5), lax.add(c[1], lax.mul(lax.mul(c[0], c[0]), y))),
        (x, y))[1]


def powers(n, x):
    """x times sin(x), n times."""
    return lax.while_loop(lambda c: c[0] > 0,
                          lambda c: (c[0] - 1, lax.mul(c[1], lax.sin(x))), (n, x))


def linear(x, n):
    """The power of a matrix, applied to x."""
    return lax.while_loop(lambda c: c[1] > 0,
                          lambda c: (lax.rev(lax.mul(c[0], 0.7), (0,)), c[1] - 1), (x, n))[0]


CASES = [
    Case("cond", chosen, b(), f(3), f(3), lower=False),
    Case("cond", switched, i(low=-1, high=4), f(2, 3), lower=False, name="switch"),
    Case("cond", some_results, b(), f(3), i(3), lower=False, name="closure"),
    Case("while", halved, pos(), f(), lower=False),
    Case("while", linear, f(3), i(low=0, high=5), lower=False, name="linear"),
    Case("while", powers, i(low=0, high=5), f(3), lower=False, name="closure"),
    # Those appear in reverse mode only: the last two where values are known, else the others.
    Case("repeat", halved, pos(), f(), lower=False, rewritten=True),
    Case("unwind", lambda x, y: tanx.grad(halved)(x, y), pos(), f(), lower=False),
    Case("unwind", tanx.grad(lambda x, n: lax.reduce_sum(powers(n, x)[1], (0,))), f(3),
         i(low=0, high=5), lower=False, name="closure"),
    Case("record", halved, pos(), f(), lower=False, rewritten=True),
    Case("replay", lambda x, y: tanx.linearize(halved, x, y)[1](y, x), pos(), f(), lower=False,
         rewritten=True),
]
