"""``while_loop``: a body runs for as long as a condition holds."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import tree_util
from .._base.config import jit_disabled
from .._core.effects import IOEffect, NamedAxisEffect, OrderedIOEffect
from .._core.flow import WhileLoop
from .._core.jaxpr import (
    ClosedJaxpr,
    DropVar,
    Var,
    cached_by_jaxpr,
    eval_jaxpr,
    jaxpr_as_fun,
    one_equation,
)
from .._core.linear import Linear, Zero, expansion, instantiate, never
from .._core.primitive import Kind, Primitive
from .._core.rewrite import dce, prune_constants, silent
from .._core.stage import captured_by, stage
from .._core.trace import Tracer, data_of, running
from .._core.types import ShapedArray, typeof
from .._ops.base import as_array, broadcast_in_dim, in_front, materialize
from .._ops.compare import gt, select
from .._ops.derive import zeros_of
from .._ops.operands import like
from .._ops.reduce import reduce_or
from .._transforms.jvp import jvp_jaxpr
from .._transforms.linearize import partial_eval, partial_eval_jaxpr
from .._transforms.transpose import backward
from .._transforms.vmap import Axis, batch, batch_jaxpr, lanes_of
from ..errors import explain
from .call import Call, batched_body, known_now
from .carry import Body, check_carry, check_structure, settled, stage_body, unshared
from .custom import flat_leaves
from .loop_bodies import backward_step, batched_step, check_mapping, parts_of
from .scan import map_lanes
from .sequences import kept, merged, paired, parted, reordered, split, typed
from .stateful import RunsFunctions
from .tape import carried_along, recording, replaying, rooms, unwound

__all__ = ["record_p", "repeat_p", "replay_p", "unwind_p", "while_loop", "while_p"]

_BOOL = np.dtype(bool)
_INDEX = ShapedArray((), np.dtype(np.int32))


class While(RunsFunctions):
    """Runs its body on the carry while its condition on the carry holds.

    Operands are the values that the condition closes over, those of the body, and the carry.
    """

    name = "while"
    kind = Kind.CALL
    multiple_results = True
    unit = True

    def infer(self, *types, cond_jaxpr, cond_nconsts, body_jaxpr, body_nconsts):
        carry = types[cond_nconsts + body_nconsts:]
        tested = [*types[:cond_nconsts], *carry]
        for what, taken, given in (("condition takes", cond_jaxpr.in_avals, tested),
                                   ("body takes", body_jaxpr.in_avals, types[cond_nconsts:]),
                                   ("body gives", body_jaxpr.out_avals, carry)):
            if len(taken) != len(given) or not all(
                    a.matches(b) for a, b in zip(taken, given)):
                raise TypeError(explain(
                    "tanx.lax.while_loop", "operands must have the types of the loop.",
                    f"the {what}: {', '.join(map(str, taken))}",
                    f"operands: {', '.join(map(str, given))}"))
        return [a.update_weak_type(a.weak_type and b.weak_type)
                for a, b in zip(carry, body_jaxpr.out_avals)]

    def effects(self, *types, cond_jaxpr, body_jaxpr, **params):
        return cond_jaxpr.effects | body_jaxpr.effects

    def flow(self, params):
        return WhileLoop(params["cond_jaxpr"], params["cond_nconsts"], params["body_jaxpr"],
                         params["body_nconsts"])

    def with_flow(self, params, flow):
        return dict(params, cond_jaxpr=flow.condition, cond_nconsts=flow.condition_constants,
                    body_jaxpr=flow.body, body_nconsts=flow.body_constants)

    def writes_tapes(self, params):
        return not self.named_axes(params)  # lanes that communicate take steps together

    def named_axes(self, params):
        return tuple(e.name for e in self.effects(**params) if isinstance(e, NamedAxisEffect))

    def check_refs(self, args):
        """Condition and body may share references."""

    def eval(self, *args, cond_jaxpr, cond_nconsts, body_jaxpr, body_nconsts):
        avals = cond_jaxpr.in_avals[:cond_nconsts] + body_jaxpr.in_avals
        types = self.infer(*avals, cond_jaxpr=cond_jaxpr, cond_nconsts=cond_nconsts,
                           body_jaxpr=body_jaxpr, body_nconsts=body_nconsts)
        tested, consts, carry = _parts(typed(args, avals), cond_nconsts, body_nconsts)
        while eval_jaxpr(cond_jaxpr.jaxpr, cond_jaxpr.consts, *tested, *carry)[0]:
            carry = eval_jaxpr(body_jaxpr.jaxpr, body_jaxpr.consts, *consts, *carry)
        return typed(carry, types)

    def bind(self, *args, cond_nconsts: int, body_jaxpr: ClosedJaxpr, body_nconsts: int, **params):
        # Values that a user's rule in a transformed body closes over are operands.
        body_jaxpr, captured = captured_by(body_jaxpr)
        return super().bind(*args[:cond_nconsts], *captured, *args[cond_nconsts:],
                            cond_nconsts=cond_nconsts, body_jaxpr=body_jaxpr,
                            body_nconsts=body_nconsts + len(captured), **params)

    def jvp(self, primals, tangents, *, cond_jaxpr, cond_nconsts, body_jaxpr, body_nconsts):
        """One loop over primals, and over the tangents of the carry that may be nonzero."""
        tested, consts, carry = _parts(primals, cond_nconsts, body_nconsts)
        _, *both = _parts(tangents, cond_nconsts, body_nconsts)
        const_tangents, carry_tangents = both
        given, moving = (tuple(type(t) is not Zero for t in ts) for ts in both)
        body, moving = _forward_loop(body_jaxpr, given, moving)
        moved = [instantiate(t) for t, m in zip(carry_tangents, moving) if m]
        outs = self.bind(
            *tested, *consts, *(t for t in const_tangents if type(t) is not Zero), *carry, *moved,
            cond_jaxpr=_ignoring(cond_jaxpr, tuple(typeof(t) for t in moved)),
            cond_nconsts=cond_nconsts, body_jaxpr=body, body_nconsts=body_nconsts + sum(given))
        out_tangents = iter(outs[len(carry):])
        return outs[:len(carry)], [next(out_tangents) if m else Zero.tangent_of(x)
                                   for x, m in zip(carry, moving)]

    def batch_axis(self, axis, args, dims, *, cond_jaxpr, cond_nconsts, body_jaxpr, body_nconsts):
        """One loop over the batch if all lanes take the same steps, otherwise one per lane."""
        tested, given, moving = map(tuple, _parts([*map(in_front, dims)], cond_nconsts,
                                                  body_nconsts))
        body, condition, moving, truth = _batched_loop(body_jaxpr, cond_jaxpr, Axis(*axis), tested,
                                                       given, moving)
        if not truth:
            operands = [x if place is None else materialize(x, d, axis.size)
                        for x, d, place in zip(args, dims, tested + given + moving)]
            outs = self.bind(*operands, cond_jaxpr=condition, cond_nconsts=cond_nconsts,
                             body_jaxpr=body, body_nconsts=body_nconsts)
            return outs, moving
        if NamedAxisEffect(axis.name) in cond_jaxpr.effects | body_jaxpr.effects:
            body, condition = _lockstep(body_jaxpr, cond_jaxpr, cond_nconsts, Axis(*axis))
            operands = [materialize(x, d, axis.size) for x, d in zip(args, dims)]
            asked, rest = operands[:cond_nconsts], operands[cond_nconsts:]
            outs = self.bind(*asked, *asked, *rest, cond_jaxpr=condition,
                             cond_nconsts=cond_nconsts, body_jaxpr=body,
                             body_nconsts=cond_nconsts + body_nconsts)
            return outs, [0] * len(outs)
        return map_lanes(_lane(body_jaxpr, cond_jaxpr, cond_nconsts), axis.size, args, dims)

    def partial_eval(self, trace, args, params):
        """Run the known part of the loop now, and record an equally long loop for the rest.

        If values are concrete, the residuals of each step are stored now. A value that no step
        changes is not stored with them.
        """
        fixed = tuple(_unchanged(**params))
        if any(fixed):
            carry = args[params["cond_nconsts"] + params["body_nconsts"]:]
            args, params = _hoist(args, fixed, **params)
            outs = iter(self.partial_eval(trace, args, params))
            return [x if f else next(outs) for x, f in zip(carry, fixed)]
        tested, given, moving = map(tuple, _parts(
            [trace.unknown(x) for x in args], params["cond_nconsts"], params["body_nconsts"]))
        known = None if any(tested) else _known_loop(params["body_jaxpr"], params["cond_jaxpr"],
                                                     len(tested), given, moving)
        if known is None:  # its number of steps is not known
            return trace.record(self, args, params)
        body, condition, moving, again = known
        tests, consts, carry = _parts(args, len(tested), len(given))
        found, late = parted(carry, moving)
        sure = kept(consts, [not g for g in given])
        going = True
        if self.writes_tapes(params) and known_now(trace, (*tests, *sure, *found)):
            going, found, late = _recorded(trace, params["body_jaxpr"], condition, given, moving,
                                           tests, consts, found, late)
        if going:
            with running(trace.below):
                steps, *outs = self.bind(
                    *tests, *sure, zeros_of(_INDEX), *found, cond_jaxpr=condition,
                    cond_nconsts=len(tests), body_jaxpr=body, body_nconsts=len(sure))
            both = merged(found, late, moving)
            late = kept(trace.record(repeat_p, [steps, *consts, *both], dict(
                body=_repeatable(again or params["body_jaxpr"]))), moving)
            found = outs
        return merged(found, late, moving)

    def transpose(self, cts, *args, **params):
        """Find the number of steps from known values, then run them backwards."""
        unknown = [x.aval if type(x) is Linear else None for x in args]
        _, which, jaxpr, residuals = partial_eval(lambda *xs: self.bind(*xs, **params), unknown,
                                                  args)
        answers = iter(backward(jaxpr, residuals, [Linear(v.aval) for v in jaxpr.invars],
                                kept(cts, which)))
        return [None if aval is None else next(answers) for aval in unknown]

    batch = never("loops are batched by batch_axis, which gets the mapped axis")
    lower = never("the compiler makes a loop of it")

    def dce(self, used_outs, eqn):
        """Drop carries that neither the condition nor a used result depends on."""
        smaller = _pruned_loop(eqn.params["body_jaxpr"], eqn.params["cond_jaxpr"],
                               eqn.params["cond_nconsts"], tuple(used_outs))
        if smaller is None:
            return [True] * len(eqn.invars), eqn
        params, used_ins, used_carry = smaller
        return used_ins, eqn.replace(
            invars=kept(eqn.invars, used_ins),
            outvars=[v if used else DropVar(v.aval) for v, used, needed
                     in zip(eqn.outvars, used_outs, used_carry) if needed],
            params=params, effects=self.effects(**params))


class Repeat(Primitive):
    """Runs a body on a carry a given number of times: the rerun of a loop.

    Operands are the number of steps, the values that the body closes over, and the carry. It is an
    ordinary loop; the known number of steps matters only in reverse mode.
    """

    name = "repeat"
    kind = Kind.CALL
    multiple_results = True
    unit = True

    def infer(self, steps, *types, body: ClosedJaxpr):
        return body.out_avals

    def effects(self, *types, body: ClosedJaxpr):
        return body.effects

    def named_axes(self, params):
        return tuple(e.name for e in params["body"].effects if isinstance(e, NamedAxisEffect))

    def called(self, params):
        return _as_while(params["body"])

    def eval(self, *args, body: ClosedJaxpr):
        return jaxpr_as_fun(_as_while(body))(*args)

    @expansion
    def jvp(self, *args, body):
        return jaxpr_as_fun(_as_while(body))(*args)

    def partial_eval(self, trace, args, params):
        return self.eval(*args, **params)

    def transpose(self, cts, steps, *args, body: ClosedJaxpr):
        body = silent(body)  # forward mode has the effects of the linear part
        # A tangent that is zero initially is known then, but not later.
        linear = carried_along(body, tuple(type(x) is Linear for x in args))
        nonzero = tuple(type(ct) is not Zero for ct in cts)
        back = unwound(body, while_loop, linear, nonzero)
        outs = iter(unwind_p.bind(
            steps, *(x for x, is_linear in zip(args, linear) if not is_linear),
            *(ct for ct, is_linear in zip(cts, linear[-len(cts):])
              if is_linear and type(ct) is not Zero),
            jaxpr=back.closed, origin=(body, linear, nonzero)))
        found = iter(back.nonzero)
        answers = [None if not is_linear else next(outs) if next(found)
                   else Zero(a.to_tangent()) for a, is_linear in zip(body.in_avals, linear)]
        return [None, *(ct if type(x) is Linear else None for x, ct in zip(args, answers))]

    def batch_axis(self, axis, args, dims, *, body):
        return batch(jaxpr_as_fun(_as_while(body)), axis, args, dims)

    batch = never("loops are batched by batch_axis, which gets the mapped axis")
    lower = never("the compiler makes a loop of it")


class Unwind(Call):
    """Runs a loop backwards: a call with much memory for states, which each lane uses separately.

    ``origin`` is what :func:`unwound` made the program from, or None after a transformation.
    """

    name = "unwind"
    unit = True

    def bind(self, *args, jaxpr: ClosedJaxpr, origin):
        jaxpr, captured = captured_by(jaxpr)
        return super().bind(*captured, *args, jaxpr=jaxpr, origin=None if captured else origin)

    def for_operands(self, params, more=()):
        return {**params, "origin": None}

    def batch_axis(self, axis, args, dims, *, jaxpr, origin):
        if dims[0] is not None or origin is None:
            return map_lanes(jaxpr, axis.size, args, dims)
        body, linear, nonzero = origin
        known = map(in_front, dims[1:])
        places = tuple(0 if is_linear else next(known) for is_linear in linear)
        given, moving = split(places, len(places) - len(nonzero))
        body, moving = _batched_body(body, axis, tuple(given), tuple(moving))
        wanted = [d is not None for d, is_linear in zip((*given, *moving), linear)
                  if not is_linear]
        operands = [materialize(x, d, axis.size) if w else x for x, d, w in itertools.zip_longest(
            args[1:], dims[1:], wanted, fillvalue=True)]
        closed = unwound(body, while_loop, linear, nonzero).closed
        outs = self.bind(args[0], *operands, jaxpr=closed, origin=(body, linear, nonzero))
        return outs, [0] * len(outs)

    def show_params(self, params):
        return {"jaxpr": params["jaxpr"]}


class Record(Call):
    """Runs a loop, and stores what its derivative needs of each step, until the tape is full.

    See :func:`recording` for its operands and results.
    """

    name = "record"
    unit = True

    def partial_eval(self, trace, args, params):
        return jaxpr_as_fun(params["jaxpr"])(*args)

    def batch_axis(self, axis, args, dims, *, jaxpr):
        """One loop over the batch if all lanes take the same number of steps, else one per lane."""
        body, out_dims = batched_body(jaxpr, axis, tuple(dims))
        if out_dims[0] is None:
            return self.bind(*args, jaxpr=body), out_dims
        return map_lanes(jaxpr, axis.size, args, dims)


class Replay(Primitive):
    """Runs steps along a tape: a scan that may end early.

    Operands are the number of steps, constants, the carry, and tapes of ``room`` steps; the results
    are the carry.
    """

    name = "replay"
    kind = Kind.CALL
    multiple_results = True
    unit = True

    def bind(self, steps, *args, jaxpr: ClosedJaxpr, num_consts: int, **params):
        jaxpr, captured = captured_by(jaxpr)
        return super().bind(steps, *captured, *args, jaxpr=jaxpr,
                            num_consts=num_consts + len(captured), **params)

    def infer(self, *types, **params):
        return self.called(params).out_avals

    def effects(self, *types, jaxpr: ClosedJaxpr, **params):
        return jaxpr.effects

    def named_axes(self, params):
        return tuple(e.name for e in params["jaxpr"].effects if isinstance(e, NamedAxisEffect))

    def called(self, params):
        return replaying(params["jaxpr"], while_loop, params["num_consts"], params["num_carry"],
                         params["room"], params["reverse"])

    def eval(self, *args, **params):
        return jaxpr_as_fun(self.called(params))(*args)

    @expansion
    def jvp(self, *args, **params):
        return self.eval(*args, **params)

    def partial_eval(self, trace, args, params):
        """Keep a linear use; turn any other into an ordinary loop."""
        tapes = args[1 + params["num_consts"] + params["num_carry"]:]
        if any(trace.unknown(x) for x in (args[0], *tapes)):
            return self.eval(*args, **params)
        return trace.record(self, args, params)

    def transpose(self, cts, count, *args, jaxpr, num_consts, num_carry, reverse, room):
        consts, carry, tapes = split(args, num_consts, num_carry)
        linear = (*(type(x) is Linear for x in consts), *[True] * num_carry, *[False] * len(tapes))
        body, found = backward_step(
            jaxpr, num_consts, num_carry, linear, tuple(type(ct) is not Zero for ct in cts),
            tuple(typeof(ct).weak_type for ct in map(instantiate, cts)))
        known, linear_consts = parted(consts, linear[:num_consts])
        sums, moving = split(found, len(linear_consts))
        totals = [zeros_of(x.aval.to_tangent()) for x in kept(linear_consts, sums)]
        start = [instantiate(ct) for ct in kept(cts, moving)]
        outs = iter(self.bind(
            count, *known, *totals, *start, *tapes, jaxpr=body, num_consts=len(known),
            num_carry=len(totals) + len(start), reverse=not reverse, room=room))
        answers = iter([next(outs) if nz else None for nz in found])
        return [None, *(next(answers) if x else None for x in linear)]

    def batch_axis(self, axis, args, dims, *, jaxpr, num_consts, num_carry, **params):
        """One loop over the batch if all lanes took the same number of steps, else one per lane."""
        if dims[0] is not None:
            return map_lanes(self.called(dict(params, jaxpr=jaxpr, num_consts=num_consts,
                                              num_carry=num_carry)), axis.size, args, dims)
        body, out = batched_step(jaxpr, num_consts, num_carry, axis, tuple(map(in_front, dims[1:])))
        batched = [d is not None for d in (*dims[1:1 + num_consts], *out)]
        operands = [args[0]]
        for n, (x, d) in enumerate(zip(args[1:], dims[1:])):
            place = 0 if n < len(batched) else 1
            wanted = batched[n] if n < len(batched) else d is not None
            operands.append(materialize(x, d, axis.size, place) if wanted else x)
        return self.bind(*operands, jaxpr=body, num_consts=num_consts, num_carry=num_carry,
                         **params), out

    batch = never("loops are batched by batch_axis, which gets the mapped axis")
    lower = never("the compiler makes a loop of it")


while_p, repeat_p, unwind_p = While(), Repeat(), Unwind()
record_p, replay_p = Record(), Replay()


def _recorded(trace, body: ClosedJaxpr, condition: ClosedJaxpr, given: tuple[bool, ...],
              moving: tuple[bool, ...], tests: list, consts: list, carry: list, late: list,
              ) -> tuple[bool, list, list]:
    """Run a loop as far as tapes allow; ``late`` is the carry that is not known yet.

    Returns whether steps are left, and both parts of the carry.
    """
    parts = parts_of(body, len(given), len(moving), given + moving)
    sure, late_consts = parted(consts, given)
    with running(trace.below):
        fixed = [*sure, *jaxpr_as_fun(parts.before)(*sure)]
        (going,) = jaxpr_as_fun(condition)(*tests, zeros_of(_INDEX), *carry)
    taken = kept(fixed, parts.used[:len(fixed)])
    late_consts = [*(fixed[i] for i in parts.fixed), *late_consts]
    for room in rooms(parts.now, len(carry), lanes_of(trace)):
        closed = recording(parts.now, condition, while_loop, len(tests), len(taken), room)
        with running(trace.below):
            steps, going, *outs = record_p.bind(*tests, *taken, going, *carry, jaxpr=closed)
        carry, tapes = split(outs, len(carry))
        late = trace.record(
            replay_p, [steps, *late_consts, *late, *(tapes[i] for i in parts.read)],
            dict(jaxpr=parts.later, num_consts=len(late_consts), num_carry=len(late), room=room,
                 reverse=False))
        if not np.asarray(data_of(going)).any():
            return False, carry, late
    return True, carry, late


def _parts(args, cond_nconsts: int, body_nconsts: int) -> list[list]:
    """Operands of the condition alone, those of the body alone, and the carry."""
    return split(args, cond_nconsts, body_nconsts)


@cached_by_jaxpr
def _forward_loop(body: ClosedJaxpr, given: tuple[bool, ...], moving: tuple[bool, ...],
                  ) -> tuple[ClosedJaxpr, tuple[bool, ...]]:
    """The forward-mode body of a loop, and which tangents its carry has.

    A tangent that the body computes from others is in the carry from the start.
    """
    while True:
        forward, found = jvp_jaxpr(body, given + moving, moving)
        if tuple(found) == moving:
            order = paired(given + moving, len(given))
            return reordered(forward, order, range(len(forward.out_avals))), moving
        moving = tuple(found)


@cached_by_jaxpr
def _known_loop(body: ClosedJaxpr, condition: ClosedJaxpr, cond_nconsts: int,
                given: tuple[bool, ...], moving: tuple[bool, ...],
                ) -> tuple[ClosedJaxpr, ClosedJaxpr, tuple[bool, ...], ClosedJaxpr | None] | None:
    """Body and condition of a loop that counts its steps, and which carries are unknown.

    It carries the count, then the known values. The last result is the whole body for running it
    again, without effects that have happened; None if there are none. None for all if the condition
    depends on unknown values.
    """
    while True:
        known, later, which, forwarded = partial_eval_jaxpr(body, given + moving, moving)
        if tuple(which) == moving:
            break
        moving = tuple(which)
    sure = [not m for m in moving]
    _, read = dce(condition.jaxpr, [True])
    if any(r and m for r, m in zip(read[cond_nconsts:], moving)):
        return None
    nconsts = given.count(False)

    def counted(*args):
        consts, (count, *carry) = split(args, nconsts)
        outs = jaxpr_as_fun(known)(*consts, *carry)
        return [count + 1, *outs[:len(carry)]]

    def tested(*args):
        consts, (_, *carry) = split(args, cond_nconsts)
        found = iter(carry)
        return jaxpr_as_fun(condition)(*consts, *(
            next(found) if s else zeros_of(a)
            for a, s in zip(condition.in_avals[cond_nconsts:], sure)))

    def again(*args):
        sure, late = parted(args, given + moving)
        outs, made = split(jaxpr_as_fun(silent(known))(*sure), moving.count(False))
        found = iter(made)
        residuals = [next(found) if i is None else sure[i] for i in forwarded]
        return merged(outs, jaxpr_as_fun(later)(*residuals, *late), moving)

    consts, carry = split(known.in_avals, nconsts)
    tests = condition.in_avals[:cond_nconsts]
    happened = any(effect.observable for effect in known.effects)
    return (_without_waste(ClosedJaxpr(*stage(counted, [*consts, _INDEX, *carry]))),
            _without_waste(ClosedJaxpr(*stage(tested, [*tests, _INDEX, *carry]))), moving,
            ClosedJaxpr(*stage(again, body.in_avals)) if happened else None)


def _repeatable(body: ClosedJaxpr) -> ClosedJaxpr:
    """A body that may be run again; raises if it has callbacks with effects and results."""
    calls = [str(e) for e in body.effects if isinstance(e, (IOEffect, OrderedIOEffect))]
    if calls:
        raise NotImplementedError(explain(
            "tanx.lax.while_loop", "in compiled derivatives, other loops and checkpoint, the "
            "derivative of a loop runs its steps again, which is not possible for a callback with "
            "effects.",
            f"effects: {', '.join(calls)}",
            hint="grad(jit(f)), unlike jit(grad(f)), runs the loop once; tanx.lax.scan and "
                 "tanx.lax.bounded_while_loop always do so."))
    return body


def _without_waste(closed: ClosedJaxpr) -> ClosedJaxpr:
    jaxpr, _ = dce(closed.jaxpr, [True] * len(closed.out_avals))
    return prune_constants(ClosedJaxpr(jaxpr, closed.consts))


@cached_by_jaxpr
def _pruned_loop(body: ClosedJaxpr, condition: ClosedJaxpr, cond_nconsts: int,
                 used: tuple[bool, ...]) -> tuple[dict, list[bool], list[bool]] | None:
    """The parameters of a smaller loop, which operands it takes, and which carries it has."""
    nconsts = len(body.in_avals) - len(body.out_avals)
    test, tested = dce(condition.jaxpr, [True])
    carried = [u or t for u, t in zip(used, tested[cond_nconsts:])]
    while True:
        step, taken = dce(body.jaxpr, carried)
        wider = [c or t for c, t in zip(carried, taken[nconsts:])]
        if wider == carried:
            break
        carried = wider
    used_ins = tested[:cond_nconsts] + taken[:nconsts] + carried
    if all(used_ins) and step is body.jaxpr and test is condition.jaxpr:
        return None
    test = test.replace(invars=kept(test.invars, tested[:cond_nconsts] + carried))
    step = step.replace(invars=kept(step.invars, taken[:nconsts] + carried))
    return dict(
        cond_jaxpr=prune_constants(ClosedJaxpr(test, condition.consts)),
        cond_nconsts=sum(tested[:cond_nconsts]),
        body_jaxpr=prune_constants(ClosedJaxpr(step, body.consts)),
        body_nconsts=sum(taken[:nconsts])), used_ins, carried


@cached_by_jaxpr
def _as_while(body: ClosedJaxpr) -> ClosedJaxpr:
    """A loop of a given number of steps as a ``while_loop``."""
    nconsts = len(body.in_avals) - len(body.out_avals)

    def step(*args):
        consts, (left, *carry) = split(args, nconsts)
        return [left - 1, *jaxpr_as_fun(body)(*consts, *carry)]

    def fun(steps, *args):
        consts, carry = split(args, nconsts)
        return while_p.bind(*consts, steps, *carry, cond_jaxpr=condition, cond_nconsts=0,
                            body_jaxpr=loop, body_nconsts=nconsts)[1:]

    types, carried = split(body.in_avals, nconsts)
    loop = ClosedJaxpr(*stage(step, [*types, _INDEX, *carried]))
    condition = ClosedJaxpr(*stage(lambda left, *_: [gt(left, like(left, 0))],
                                   [_INDEX, *carried]))
    return ClosedJaxpr(*stage(fun, [_INDEX, *body.in_avals]))


@cached_by_jaxpr
def _batched_loop(body: ClosedJaxpr, condition: ClosedJaxpr, axis, tested: tuple, given: tuple,
                  moving: tuple) -> tuple[ClosedJaxpr, ClosedJaxpr, tuple, bool]:
    """Body and condition over a batch, the batch axes of carries, and if the condition has one."""
    batched, moving = _batched_body(body, axis, given, moving)
    test, (truth,) = batch_jaxpr(condition, axis, tested + moving)
    return batched, test, moving, truth is not None


@cached_by_jaxpr
def _batched_body(body: ClosedJaxpr, axis, given: tuple, moving: tuple,
                  ) -> tuple[ClosedJaxpr, tuple]:
    """The body of a loop over a batch, and the batch axis of each carry: in front, or none.

    A carry that gets one in a step has it from the start. High types define how they are mapped.
    """
    start = moving
    while True:
        batched, found = batch_jaxpr(body, axis, given + moving, [d is not None for d in moving])
        if tuple(found) == moving:
            return batched, moving
        check_mapping(start, found)
        moving = tuple(found)


@cached_by_jaxpr
def _lane(body: ClosedJaxpr, condition: ClosedJaxpr, cond_nconsts: int) -> ClosedJaxpr:
    """A function that consists of one loop."""
    types = condition.in_avals[:cond_nconsts] + body.in_avals
    return one_equation(while_p, types, dict(
        cond_jaxpr=condition, cond_nconsts=cond_nconsts, body_jaxpr=body,
        body_nconsts=len(body.in_avals) - len(body.out_avals)))


@cached_by_jaxpr
def _lockstep(body: ClosedJaxpr, condition: ClosedJaxpr, cond_nconsts: int,
              axis) -> tuple[ClosedJaxpr, ClosedJaxpr]:
    """Body and condition of a loop over all lanes; a finished lane does not change.

    For lanes that communicate, and so must take every step together. All carries have the batch
    axis.
    """
    nconsts = len(body.in_avals) - len(body.out_avals)
    test, _ = batch_jaxpr(condition, axis, [0] * len(condition.in_avals), True)
    step, _ = batch_jaxpr(body, axis, [0] * len(body.in_avals), True)

    def chosen(*args):
        tested, consts, carry = _parts(args, cond_nconsts, nconsts)
        (going,) = jaxpr_as_fun(test)(*tested, *carry)
        return [select(broadcast_in_dim(going, new.shape, (0,)), new, old)
                for old, new in zip(carry, jaxpr_as_fun(step)(*consts, *carry))]

    def any_left(*args):
        return [reduce_or(jaxpr_as_fun(test)(*args)[0], (0,))]

    types = test.in_avals[:cond_nconsts] + step.in_avals
    return (ClosedJaxpr(*stage(chosen, types)), ClosedJaxpr(*stage(any_left, test.in_avals)))


@cached_by_jaxpr
def _ignoring(condition: ClosedJaxpr, more: tuple[ShapedArray, ...]) -> ClosedJaxpr:
    """The condition of a loop whose carry is extended by ``more``."""
    jaxpr = condition.jaxpr
    return ClosedJaxpr(jaxpr.replace(invars=[*jaxpr.invars, *map(Var, more)]), condition.consts)


# -- the public function ---------------------------------------------------------------------------


def while_loop(cond_fun: Callable, body_fun: Callable, init_val):
    """Replace the value by ``body_fun(value)`` while ``cond_fun(value)`` holds.

    The value, a pytree, keeps its structure and types. The loop can be differentiated, in reverse
    too: see :func:`bounded_while_loop` for loops whose number of steps has a known limit.

    >>> lax.while_loop(lambda x: x < 100, lambda x: 2 * x, 1)
    Array(128, dtype=int32, weak_type=True)
    """
    function = "tanx.lax.while_loop"
    if jit_disabled.value and not any(
            isinstance(x, Tracer) for x in tree_util.tree_leaves(init_val)):
        init_val = unshared(init_val)
        while cond_fun(init_val):
            init_val = body_fun(init_val)
        return init_val
    condition, body, leaves = staged_loop(function, cond_fun, body_fun, init_val)
    return tree_util.tree_unflatten(body.out_tree, bind_hoisted(condition, body, leaves))


def staged_loop(function: str, cond_fun: Callable, body_fun: Callable, init_val,
                ) -> tuple[Body, Body, list]:
    """Condition and body, staged and checked against each other, and the initial carry."""
    if not (callable(cond_fun) and callable(body_fun)):
        raise TypeError(explain(
            function, "cond_fun and body_fun must be functions.",
            f"cond_fun: {cond_fun!r:.100}", f"body_fun: {body_fun!r:.100}"))
    leaves, tree = flat_leaves(function, init_val, keep_numbers=True)

    def staged(avals):
        body = stage_body(function, body_fun, (tree_util.tree_unflatten(tree, avals),))
        check_structure(function, body_fun, (init_val,), tree, body.out_tree)
        return body, body.out_avals

    leaves, body = settled(leaves, staged)
    types = [typeof(x) for x in leaves]
    check_carry(function, body_fun, (init_val,), types, body.out_avals)
    condition = stage_body(function, cond_fun, (tree_util.tree_unflatten(tree, types),))
    _check_condition(function, condition)
    return condition, body, leaves


def _check_condition(function: str, condition: Body) -> None:
    avals = condition.out_avals
    if not tree_util.treedef_is_leaf(condition.out_tree):
        raise TypeError(explain(function, "cond_fun must return one boolean.",
                                f"it gave: {condition.out_tree}"))
    if not avals[0].matches(ShapedArray((), _BOOL)):
        raise TypeError(explain(
            function, "cond_fun must return one boolean.", f"it gave: {avals[0]}",
            hint="combine many with .any() or .all(); compare numbers, as in x != 0."))


def bind_hoisted(condition: Body, body: Body, leaves: list) -> list:
    """Apply the primitive; a value that no step changes or tests is not part of the carry."""
    _, read = dce(condition.closed.jaxpr, [True])
    params: dict[str, Any] = dict(
        cond_jaxpr=condition.closed, cond_nconsts=len(condition.captured),
        body_jaxpr=body.closed, body_nconsts=len(body.captured))
    fixed = [same and not tested for same, tested in zip(
        _unchanged(**params), read[len(condition.captured):])]
    args, params = _hoist(
        [*condition.captured, *body.captured, *map(as_array, leaves)], tuple(fixed), **params)
    outs = iter(while_p.bind(*args, **params))
    return [x if f else next(outs) for x, f in zip(leaves, fixed)]


def _unchanged(body_jaxpr: ClosedJaxpr, body_nconsts: int, **_) -> list[bool]:
    """Which carries a step returns as they are."""
    jaxpr = body_jaxpr.jaxpr
    return [v is w for v, w in zip(jaxpr.invars[body_nconsts:], jaxpr.outvars)]


def _hoist(args: Sequence, fixed: tuple[bool, ...], *, cond_jaxpr: ClosedJaxpr, cond_nconsts: int,
           body_jaxpr: ClosedJaxpr, body_nconsts: int) -> tuple[list, dict[str, Any]]:
    """Operands and parameters of a loop that takes ``fixed`` carries as constants."""
    tested, given, carry = _parts(args, cond_nconsts, body_nconsts)
    read: list[bool] = []
    if any(fixed):
        body_jaxpr, cond_jaxpr, read = _hoisted(body_jaxpr, cond_jaxpr, fixed)
    known = kept(carry, fixed)
    tested, given = [*kept(known, read), *tested], [*known, *given]
    return ([*tested, *given, *(x for x, f in zip(carry, fixed) if not f)],
            dict(cond_jaxpr=cond_jaxpr, cond_nconsts=len(tested), body_jaxpr=body_jaxpr,
                 body_nconsts=len(given)))


@cached_by_jaxpr
def _hoisted(body: ClosedJaxpr, condition: ClosedJaxpr, fixed: tuple[bool, ...],
             ) -> tuple[ClosedJaxpr, ClosedJaxpr, list[bool]]:
    """Body and condition that take ``fixed`` values first; which of them the condition reads."""
    _, used = dce(condition.jaxpr, [True])

    def apart(items: list) -> tuple[list, list, list]:
        """The fixed part of the carry, the captured values, and the rest of the carry."""
        others, carry = split(items, len(items) - len(fixed))
        return kept(carry, fixed), others, [x for x, f in zip(carry, fixed) if not f]

    same, others, carry = apart(condition.jaxpr.invars)
    read = apart(used)[0]
    test = condition.jaxpr.replace(invars=[*kept(same, read), *others, *carry])
    same, others, carry = apart(body.jaxpr.invars)
    step = body.jaxpr.replace(invars=[*same, *others, *carry],
                              outvars=apart(body.jaxpr.outvars)[2])
    return ClosedJaxpr(step, body.consts), ClosedJaxpr(test, condition.consts), read
