"""Reverse mode of loops whose number of steps is known only after running them.

If values are known, :func:`recording` runs the loop once and stores what the derivative of each
step needs: a tape. It stops when the loop ends or when the tape is full; then a larger tape
continues. :func:`replaying` runs the derivative along a tape.

In a staged program all sizes are fixed. There a backward pass recomputes the states of the loop,
last one first. Starting from the first state, as many evenly spaced states as fit are stored; the
states between two of them are recomputed in the same way, in the memory of the next level. With S
slots per level, loops of S steps run once more, loops of S * S steps twice, and so on. Memory has a
bound that does not depend on the number of steps, and everything consists of ordinary loops, which
can be transformed. Nothing is kept between the passes, so surrounding loops have nothing to store.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._base.tuples import NamedTuple
from .._core.jaxpr import ClosedJaxpr, Jaxpr, cached_by_jaxpr, jaxpr_as_fun
from .._core.linear import Linear, Zero, instantiate
from .._core.rewrite import dce, prune_constants
from .._core.stage import stage
from .._core.types import ShapedArray
from .._ops.arith import div
from .._ops.bits import bitwise_and
from .._ops.compare import eq, lt, select
from .._ops.convert import convert
from .._ops.create import scratch
from .._ops.derive import sum_cotangents, zeros_of
from .._ops.dynamic import dynamic_index_in_dim, dynamic_update_index_in_dim
from .._ops.magnitude import max, min
from .._transforms.linearize import partial_eval, partial_eval_jaxpr
from .._transforms.transpose import backward as run_backward
from .sequences import kept, split

__all__ = ["Unwound", "carried_along", "recording", "replaying", "rooms", "unwound"]

ROOM = 1 << 22  # bytes for the states stored at each level, if these are enough slots
FEWEST, MOST = 64, 1 << 16  # slots per level
LEVELS = 3  # at most; if they do not suffice, steps of the last one are repeated more often
LONGEST = 1 << 31  # limit of the step counter
LARGEST = 1 << 28  # bytes of a tape
TAPES = *(1 << n for n in (18, 20, 22, 24, 26)), *[LARGEST] * 3  # bytes of consecutive tapes
_INDEX = ShapedArray((), np.dtype(np.int32))


# -- tapes -----------------------------------------------------------------------------------------


def rooms(now: ClosedJaxpr, num_carry: int, lanes: int) -> list[int]:
    """The steps that fit on consecutive tapes; loops may have more.

    ``now`` is a step as :func:`recording` takes it; each of the ``lanes`` has its own tapes.
    """
    size = lanes * sum(a.nbytes for a in now.out_avals[num_carry:])
    if not size:
        return [LONGEST - 1]
    if lanes > 1 and FEWEST * size > LARGEST:
        return []  # lanes rerun one by one instead of all having tapes at once
    return [room // size if FEWEST * size < room else FEWEST for room in TAPES]


@cached_by_jaxpr
def recording(now: ClosedJaxpr, condition: ClosedJaxpr, loop: Callable, tests: int,
              num_consts: int, room: int) -> ClosedJaxpr:
    """A loop of at most ``room`` steps that stacks what its steps return besides the carry.

    It takes ``tests`` constants of the condition, constants of the steps, whether there is a first
    step, and the carry. It returns the number of steps, whether more follow, the carry, and the
    stacks. The condition is evaluated once after each step; it gets the carry after a count.
    """
    count = len(now.in_avals) - num_consts
    start, stacked = now.in_avals[num_consts:], now.out_avals[count:]

    def fun(*args):
        tested, consts, (going, *carry) = split(args, tests, num_consts)

        def step(state):
            i, _, carry, tapes = state
            carry, found = split(jaxpr_as_fun(now)(*consts, *carry), count)
            (going,) = jaxpr_as_fun(condition)(*tested, i, *carry)
            return i + 1, going, carry, [_written(t, x, i) for t, x in zip(tapes, found)]

        tapes = [scratch((room, *a.shape), a.dtype) for a in stacked]
        steps, going, carry, tapes = loop(
            lambda state: bitwise_and(state[1], lt(state[0], np.int32(room))), step,
            (np.int32(0), going, carry, tapes))
        return [steps, going, *carry, *tapes]

    return ClosedJaxpr(*stage(fun, [
        *condition.in_avals[:tests], *now.in_avals[:num_consts],
        ShapedArray((), np.dtype(bool)), *start]))


@cached_by_jaxpr
def replaying(step: ClosedJaxpr, loop: Callable, num_consts: int, num_carry: int, room: int,
              reverse: bool) -> ClosedJaxpr:
    """A loop along tapes: from their number of steps, constants, carry and tapes to the carry."""
    consts, carry, rows = split(step.in_avals, num_consts, num_carry)

    def fun(count, *args):
        consts, carry, tapes = split(args, num_consts, num_carry)

        def one(state):
            i, carry = state
            place = count - 1 - i if reverse else i
            return i + 1, jaxpr_as_fun(step)(*consts, *carry, *(_read(t, place) for t in tapes))

        return loop(lambda state: lt(state[0], count), one, (np.int32(0), carry))[1]

    return ClosedJaxpr(*stage(fun, [
        _INDEX, *consts, *carry, *(a.inc_rank(room, 0) for a in rows)]))


# -- recomputed states -----------------------------------------------------------------------------


class Unwound(NamedTuple):
    """The transpose of a loop of n steps."""

    # From n, the known consts, the known carry and the nonzero cotangents of the carry to
    # the nonzero cotangents of linear consts and of the linear carry.
    closed: ClosedJaxpr
    nonzero: list[bool]


class _Steps(NamedTuple):
    """One step of a loop, as the backward pass needs it."""

    forward: ClosedJaxpr  # from known consts and the needed state to the next one
    back: ClosedJaxpr  # from known consts, the needed state and cotangents to earlier ones
    needed: list[bool]  # which of the known carry is needed for that
    moving: tuple[bool, ...]  # which of the linear carry has a cotangent
    consts: list[bool]  # which of the linear consts gets one


@cached_by_jaxpr
def carried_along(body: ClosedJaxpr, linear: tuple[bool, ...]) -> tuple[bool, ...]:
    """Which consts and carries are linear, including carries that become linear in a step."""
    num_consts = len(body.in_avals) - len(body.out_avals)
    consts, carry = linear[:num_consts], linear[num_consts:]
    while True:
        which = partial_eval_jaxpr(body, consts + carry, carry)[2]
        if tuple(which) == carry:
            return consts + carry
        carry = tuple(which)


@cached_by_jaxpr
def unwound(body: ClosedJaxpr, loop: Callable, linear: tuple[bool, ...], nonzero: tuple[bool, ...],
            ) -> Unwound:
    """The transpose of a loop of ``body``, as a function.

    ``linear`` says which of the consts and of the carry are linear, ``nonzero`` which results
    have a cotangent. ``loop`` runs loops: it is ``while_loop``.
    """
    num_consts = len(body.in_avals) - len(body.out_avals)
    steps = _steps(body, num_consts, linear, kept(nonzero, linear[num_consts:]))
    const_avals, carry_avals = split(body.in_avals, num_consts)
    const_linear, carry_linear = split(linear, num_consts)
    known_consts = kept(const_avals, [not is_linear for is_linear in const_linear])
    known_carry = kept(carry_avals, [not is_linear for is_linear in carry_linear])
    ct_avals = [a.to_tangent() for a in kept(carry_avals, carry_linear)]
    given = kept(nonzero, carry_linear)
    sum_avals = kept([a.to_tangent() for a in kept(const_avals, const_linear)], steps.consts)

    def fun(count, *args):
        consts, carry, cts = split(args, len(known_consts), len(known_carry))
        found = iter(cts)
        cts = [next(found) if nz else Zero(a) for a, nz in zip(ct_avals, given)]
        state = [instantiate(ct) for ct in kept(cts, steps.moving)]
        state += [zeros_of(a) for a in sum_avals]
        return _Unwinding(loop, steps, consts).run(kept(carry, steps.needed), count, state)

    jaxpr, captured = stage(fun, [_INDEX, *known_consts, *known_carry, *kept(ct_avals, given)])
    return Unwound(ClosedJaxpr(jaxpr, captured), [*steps.consts, *steps.moving])


def _steps(body: ClosedJaxpr, num_consts: int, linear: tuple[bool, ...],
           moving: Sequence[bool]) -> _Steps:
    """A step forward and a step back; cotangents that a step back creates exist from the start."""
    count = sum(not is_linear for is_linear in linear[:num_consts])
    moving = tuple(moving)
    while True:
        back, consts, found = _step_back(body, num_consts, linear, moving)
        if found == moving:
            break
        moving = found
    forward = _step_forward(body, num_consts, linear)
    backward, used = dce(back.jaxpr, [True] * len(back.out_avals))
    needed = used[count:len(forward.in_avals)]
    while True:
        onward, used = dce(forward.jaxpr, needed)
        wider = [a or b for a, b in zip(used[count:], needed)]
        if wider == needed:
            break
        needed = wider
    taken = [True] * count + needed
    return _Steps(_taking(onward, forward.consts, taken),
                  _taking(backward, back.consts, taken + [True] * sum(moving)),
                  needed, moving, consts)


def _taking(jaxpr: Jaxpr, consts: list, taken: Sequence[bool]) -> ClosedJaxpr:
    """A closed jaxpr without the arguments, and the constants, that it does not use."""
    return prune_constants(ClosedJaxpr(jaxpr.replace(invars=kept(jaxpr.invars, taken)), consts))


def _step_forward(body: ClosedJaxpr, num_consts: int, linear: tuple[bool, ...]) -> ClosedJaxpr:
    """The part of a step on known values."""
    known = [not is_linear for is_linear in linear]
    jaxpr, _ = dce(body.jaxpr, known[num_consts:])
    return _taking(jaxpr, body.consts, known)


def _step_back(body: ClosedJaxpr, num_consts: int, linear: tuple[bool, ...],
               moving: tuple[bool, ...]) -> tuple[ClosedJaxpr, list[bool], tuple[bool, ...]]:
    """A function that linearizes a step and runs it backwards.

    From known arguments and cotangents of the linear carry to those of the linear carry before,
    then those of the linear consts that have any.
    """
    in_avals = body.in_avals
    known_avals = [a for a, is_linear in zip(in_avals, linear) if not is_linear]
    ct_avals = [a.to_tangent() for a in kept(body.out_avals, linear[num_consts:])]
    found: list[Any] = []

    def fun(*args):
        known, given = map(iter, split(args, len(known_avals)))
        values = [None if is_linear else next(known) for is_linear in linear]
        unknown = [a if is_linear else None for a, is_linear in zip(in_avals, linear)]
        _, _, jaxpr, residuals = partial_eval(jaxpr_as_fun(body), unknown, values,
                                              linear[num_consts:])
        cts = [next(given) if m else Zero(a) for a, m in zip(ct_avals, moving)]
        answers = run_backward(jaxpr, residuals, [Linear(v.aval) for v in jaxpr.invars], cts)
        consts, carry = split(answers, sum(linear[:num_consts]))
        found[:] = ([type(ct) is not Zero for ct in consts],
                    tuple(m or type(ct) is not Zero for ct, m in zip(carry, moving)))
        return [instantiate(ct) for ct in (*kept(carry, found[1]), *kept(consts, found[0]))]

    jaxpr, consts = stage(fun, [*known_avals, *kept(ct_avals, moving)])
    return ClosedJaxpr(jaxpr, consts), *found


class _Unwinding:
    """Runs a loop backwards; its parts are traced when they are called."""

    def __init__(self, loop: Callable, steps: _Steps, consts: list):
        self.loop, self.steps, self.consts = loop, steps, consts
        self.count = sum(steps.moving)
        types = steps.forward.in_avals[len(consts):]
        size = sum(a.nbytes for a in types)
        self.slots = sorted((FEWEST, ROOM // (size or 1), MOST))[1]
        self.levels = 1
        while self.levels < LEVELS and self.slots ** self.levels < LONGEST:
            self.levels += 1

    def run(self, carry: list, count, state: list) -> list:
        """The state (cotangents and sums) before ``count`` steps, given the state after them."""
        state = self.unwind(self.levels, carry, count, state)
        cts, sums = split(state, self.count)
        return [*sums, *cts]

    def unwind(self, level: int, carry: list, count, state: list) -> list:
        """As :meth:`run`, with ``slots`` states stored at each level."""
        if not carry:  # all steps are the same
            return self.repeat(count, state, lambda i, state: self.back(carry, state))
        gap = div(count + (self.slots - 1), np.int32(self.slots))
        parts = div(count + (gap - 1), max(gap, np.int32(1)))
        written = self.written(carry, count, gap)

        def part(i, state):
            place = parts - 1 - i
            start = [_read(x, place) for x in written]
            size = min(gap, count - place * gap)
            if level > 1:
                return self.unwind(level - 1, start, size, state)
            if self.slots ** self.levels >= LONGEST:  # there is only one step left
                return self.back(start, state)
            return self.repeat(size, state, lambda k, state: self.back(
                self.repeat(size - 1 - k, start, self.forward), state))
        return self.repeat(parts, state, part)

    def written(self, carry: list, count, gap) -> list:
        """The states before the first step, and after every ``gap`` others, in slots."""
        def step(i, given):
            left, place, carry, slots = given
            carry = self.forward(i, carry)
            full = eq(left, np.int32(1))
            target = select(full, place, np.int32(self.slots))  # dropped values go past the end
            slots = [_written(s, x, target) for s, x in zip(slots, carry)]
            return select(full, gap, left - 1), place + convert(full, place.dtype), carry, slots

        slots = [_written(scratch((self.slots + 1, *x.shape), x.dtype), x, np.int32(0))
                 for x in carry]
        start = gap, np.int32(1), carry, slots
        return self.repeat(count - 1, start, step)[3]

    def forward(self, _, carry: list) -> list:
        """The state one step later."""
        return jaxpr_as_fun(self.steps.forward)(*self.consts, *carry)

    def back(self, carry: list, state: list) -> list:
        """One step back from the state after it, given the carry before it."""
        cts, sums = split(state, self.count)
        outs = jaxpr_as_fun(self.steps.back)(*self.consts, *carry, *cts)
        cts, more = split(outs, self.count)
        return [*cts, *map(sum_cotangents, sums, more)]

    def repeat(self, count, state, step: Callable):
        """``step(i, state)`` for i from 0 up to ``count``."""
        return self.loop(lambda both: lt(both[0], count),
                         lambda both: (both[0] + 1, step(*both)), (np.int32(0), state))[1]


def _read(slots, place):
    return dynamic_index_in_dim(slots, place, keepdims=False, allow_negative_indices=False)


def _written(slots, x, place):
    return dynamic_update_index_in_dim(slots, x, place, 0, allow_negative_indices=False)
