"""Loops over arrays and over numbers: ``scan``, ``map`` and ``fori_loop``."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from .. import tree_util
from .._core.naming import name_of
from .._core.types import ShapedArray, typeof
from ..errors import explain
from .carry import Body, check_carry, check_structure, settled, stage_body
from .custom import flat_leaves
from .scan import scan_p

__all__ = ["scan"]


def scan(f: Callable, init, xs=None, length: int | None = None, reverse: bool = False,
         unroll: int | bool = 1, _split_transpose: bool = False):
    """Run ``f`` over the leading axis of ``xs``, carrying a value from step to step.

    ``f(carry, x)`` gives a pair: the next carry, and what is to be stacked. The result is the last
    carry and the stack, as if written::

        carry, ys = init, []
        for x in xs:
            carry, y = f(carry, x)
            ys.append(y)
        return carry, stack(ys)

    ``init``, ``xs`` and what ``f`` gives are pytrees of arrays. The carry keeps its structure,
    shapes and dtypes. Without ``xs``, ``length`` says how often to run; ``f`` then gets None.

    Args:
      f: The body. It is traced once, however long the loop.
      init: The first carry.
      xs: Arrays with a common size of their first axes.
      length: The number of steps; needed only where ``xs`` has no arrays.
      reverse: Start with the last slice; what is stacked keeps the order of ``xs``.
      unroll: How many steps to compile in a row; True for all.

    >>> scan(lambda total, x: (total + x, total), 0.0, jnp.arange(4.0))
    (Array(6., dtype=float32), Array([0., 0., 1., 3.], dtype=float32, weak_type=True))
    >>> scan(lambda n, _: (2 * n, None), 1, length=10)[0]
    Array(1024, dtype=int32, weak_type=True)
    """
    return run_scan("tanx.lax.scan", f, init, xs, length, reverse, unroll, pair_of)


def pair_of(f: Callable, carry, x) -> tuple[Any, Any]:
    """Run the body of a scan; it gives two things."""
    result = f(carry, x)
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise TypeError(explain(
            "tanx.lax.scan", "the body must give a pair: the next carry, and what is stacked.",
            f"{name_of(f)} gave: {_summary(result)}",
            hint="return carry, None to stack nothing."))
    return result[0], result[1]


def _summary(result) -> str:
    leaves = tree_util.tree_map(lambda x: _Typed(typeof(x)) if hasattr(x, "aval") else x, result)
    return f"{leaves!r:.200}"


class _Typed:
    """Shows an array by its type."""

    def __init__(self, aval):
        self.aval = aval

    def __repr__(self) -> str:
        return str(self.aval)


def run_scan(function: str, f: Callable, init, xs, length, reverse, unroll, run: Callable,
             several: bool = False) -> tuple[Any, Any]:
    """A scan of ``run(f, carry, x)``; messages name ``function`` and the parameters of ``f``.

    With ``several``, the carry is a tuple of the arguments of ``f``.
    """
    if not callable(f):
        raise TypeError(explain(function, "needs a function.", f"given: {f!r:.100}"))
    start, carry_tree = flat_leaves(f"{function}: init", init)
    slices, xs_tree = flat_leaves(f"{function}: xs", xs)
    steps = _length(function, xs, slices, length)
    x = tree_util.tree_unflatten(xs_tree, [typeof(s).update(shape=s.shape[1:]) for s in slices])

    def trace(avals: list[ShapedArray]) -> tuple[Body, list]:
        carry = tree_util.tree_unflatten(carry_tree, avals)
        body = stage_body(function, f, (carry, x), run)
        end = tree_util.treedef_children(body.out_tree)[0]
        check_structure(function, f, carry if several else (carry,), carry_tree, end)
        return body, body.out_avals[:len(avals)]

    start, body = settled(start, trace)
    avals = [typeof(leaf) for leaf in start]
    carry = tree_util.tree_unflatten(carry_tree, avals)
    check_carry(function, f, carry if several else (carry,), avals, body.out_avals[:len(avals)])
    outs = scan_p.bind(*body.captured, *start, *slices, jaxpr=body.closed, length=steps,
                       num_consts=len(body.captured), num_carry=len(start),
                       reverse=bool(reverse), unroll=_unrolled(function, unroll, steps))
    return tree_util.tree_unflatten(body.out_tree, outs)


def _length(function: str, xs, slices, length) -> int:
    """The number of steps, on which the leaves of ``xs`` must agree."""
    sizes = [(path, leaf.shape[:1]) for (path, _), leaf in zip(
        tree_util.tree_flatten_with_path(xs)[0], slices, strict=True)]
    facts = [f"xs{tree_util.keystr(path)}: {typeof(leaf)}"
             for (path, _), leaf in zip(sizes, slices)]
    if any(not size for _, size in sizes):
        raise ValueError(explain(function, "each array of xs needs an axis to go along.", *facts))
    found = {size[0] for _, size in sizes}
    if length is not None:
        try:
            found.add(operator.index(length))
        except TypeError:
            raise TypeError(explain(
                function, "length must be an integer that is known while tracing.",
                f"length: {length!r:.100}")) from None
        facts.append(f"length: {length}")
        if length < 0:
            raise ValueError(explain(function, "length must not be negative.", *facts))
    if not found:
        raise ValueError(explain(
            function, "the number of steps is unknown.", "xs: no arrays",
            hint="give length, or arrays to go along in xs."))
    if len(found) > 1:
        raise ValueError(explain(
            function, "the leading axes of xs, and length if given, must agree.", *facts))
    return found.pop()


def _unrolled(function: str, unroll, steps: int) -> int:
    if isinstance(unroll, bool):
        return max(steps, 1) if unroll else 1
    try:
        count = operator.index(unroll)
    except TypeError:
        count = -1
    if count < 0:
        raise ValueError(explain(
            function, "unroll must be a bool or an integer that is not negative.",
            f"unroll: {unroll!r}"))
    return count
