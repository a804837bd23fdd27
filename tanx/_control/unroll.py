"""Unrolling of a ``scan``: several steps in a row, so fewer iterations of a longer body.

The remaining steps, if the length is not a multiple, run after the loop, or before it in reverse.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core.jaxpr import ClosedJaxpr, Jaxpr, cached_by_jaxpr, jaxpr_as_fun, jaxprs_in_params
from .._core.primitive import Primitive
from .._core.stage import stage
from .._core.types import ShapedArray
from .._ops.base import reshape
from .._ops.layout import collapse, stack
from .._ops.slicing import concatenate, index_in_dim, slice_in_dim

__all__ = ["unrolled"]

LONGEST = 128  # limit of equations in a row
MOST = 16  # limit of steps in a row; more are not faster, and slow to compile


@cached_by_jaxpr
def unrolled(body: ClosedJaxpr, scan: Primitive, length: int, num_consts: int, num_carry: int,
             reverse: bool, unroll: int) -> ClosedJaxpr | None:
    """The steps of a scan, ``unroll`` of them in a row unless that is too much code.

    Returns a function of the operands of the scan; None if it takes one step at a time.
    """
    steps = min(unroll, length, LONGEST // max(1, _equations(body.jaxpr)))
    steps = steps if steps == length else min(steps, MOST)
    if steps <= 1:
        return None
    rounds, rest = divmod(length, steps)
    consts, start, rows = (body.in_avals[:num_consts], body.in_avals[num_consts:][:num_carry],
                           body.in_avals[num_consts + num_carry:])

    def row_by_row(consts: Sequence, carry: Sequence, xs: Sequence, count: int) -> list:
        """The carry after some steps, and the stacks that they fill."""
        ys: list[list[Any]] = [[]] * count
        for i in reversed(range(count)) if reverse else range(count):
            outs = jaxpr_as_fun(body)(
                *consts, *carry, *(index_in_dim(x, i, keepdims=False) for x in xs))
            carry, ys[i] = outs[:num_carry], outs[num_carry:]
        return [*carry, *map(stack, zip(*ys))]

    def block(*args):
        return row_by_row(args[:num_consts], args[num_consts:][:num_carry],
                          args[num_consts + num_carry:], steps)

    def blocks(consts: Sequence, carry: Sequence, xs: Sequence) -> list:
        if rounds == 1:
            return row_by_row(consts, carry, xs, steps)
        blocked = [reshape(x, (rounds, steps, *x.shape[1:])) for x in xs]
        jaxpr = ClosedJaxpr(*stage(block, [*consts_avals, *(_stacked(a, steps) for a in rows)]))
        outs = scan.bind(*consts, *carry, *blocked, jaxpr=jaxpr, length=rounds, reverse=reverse,
                         num_consts=num_consts, num_carry=num_carry, unroll=1)
        return [*outs[:num_carry], *(collapse(y, 0, 2) for y in outs[num_carry:])]

    def end(consts: Sequence, carry: Sequence, xs: Sequence) -> list:
        return row_by_row(consts, carry, xs, rest)

    def fun(*args):
        consts: Sequence = args[:num_consts]
        carry: Sequence = args[num_consts:][:num_carry]
        xs = args[num_consts + num_carry:]
        if not rest:
            return blocks(consts, carry, xs)
        whole, last = ([slice_in_dim(x, *stretch) for x in xs]
                       for stretch in ((0, length - rest), (length - rest, length)))
        turns = [(blocks, whole), (end, last)]
        found = []
        for run, part in turns[::-1] if reverse else turns:
            outs = run(consts, carry, part)
            carry = outs[:num_carry]
            found.append(outs[num_carry:])
        return [*carry, *(concatenate(y, 0) for y in zip(*(found[::-1] if reverse else found)))]

    consts_avals = [*consts, *start]
    return ClosedJaxpr(*stage(fun, [*consts_avals, *(_stacked(a, length) for a in rows)]))


def _equations(jaxpr: Jaxpr) -> int:
    """The number of equations of a jaxpr, including inner ones."""
    return sum(1 + sum(map(_equations, jaxprs_in_params(eqn.params))) for eqn in jaxpr.eqns)


def _stacked(aval: ShapedArray, length: int) -> ShapedArray:
    return aval.inc_rank(length, 0)
