"""``bounded_while_loop``: a loop with a condition, and a limit on its number of steps."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

from .. import tree_util
from .._core.jaxpr import jaxpr_as_fun
from ..errors import explain
from .cond import cond
from .loops import scan
from .while_loop import staged_loop

__all__ = ["bounded_while_loop"]


def bounded_while_loop(cond_fun: Callable, body_fun: Callable, init_val, *, max_steps: int):
    """As :func:`while_loop`, but stop after at most ``max_steps`` steps.

    Because the limit is known, reverse mode stores what it needs during the loop and repeats no
    step; the memory for it is that of ``max_steps`` steps. :func:`while_loop` has no limit and
    allocates memory as it runs; in compiled programs it needs little memory instead, and reverse
    mode runs its steps once or twice more.

    >>> lax.bounded_while_loop(lambda x: x < 100, lambda x: 2 * x, 1, max_steps=20)
    Array(128, dtype=int32, weak_type=True)
    >>> lax.bounded_while_loop(lambda x: x < 100, lambda x: 2 * x, 1, max_steps=3)
    Array(8, dtype=int32, weak_type=True)
    """
    function = "tanx.lax.bounded_while_loop"
    try:
        limit = operator.index(max_steps)
    except TypeError:
        limit = -1
    if limit < 0:
        raise ValueError(explain(
            function, "max_steps must be an integer that is known while tracing, and not negative.",
            f"max_steps: {max_steps!r:.100}", hint="tanx.lax.while_loop needs no limit."))
    condition, body, leaves = staged_loop(function, cond_fun, body_fun, init_val)

    def unless_done(run: Callable) -> Callable:
        """One step of a scan that runs something only if the condition holds."""
        def step(carry, _):
            (going,) = jaxpr_as_fun(condition.closed)(*condition.captured, *carry)
            return cond(going, run, lambda carry: carry, carry), None
        return step

    def steps(count: int) -> Callable:
        return lambda carry: scan(one, carry, length=count)[0]

    one = unless_done(lambda carry: jaxpr_as_fun(body.closed)(*body.captured, *carry))
    # Steps are grouped in blocks: once the condition is false, only blocks are counted to the end.
    block = max(1, math.isqrt(limit))
    carry, _ = scan(unless_done(steps(block)), leaves, length=limit // block)
    carry, _ = scan(unless_done(steps(limit % block)), carry, length=1)
    return tree_util.tree_unflatten(body.out_tree, carry)
