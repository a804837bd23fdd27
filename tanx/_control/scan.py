"""``scan``: a loop of known length that carries values and stacks the results of its steps.

The operands are constants (*consts*), values that are carried (*carry*) and arrays that are read
one slice per step (*xs*); the results are the last carry and the stacked *ys*. The body takes
consts, carry and one slice of each of the xs, and returns carry and ys. Every transformation of a
scan is a scan of a transformed body (``loop_bodies.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core.effects import NamedAxisEffect
from .._core.explicit import sharding_of_lanes
from .._core.flow import ForLoop
from .._core.high import MappingSpec
from .._core.jaxpr import ClosedJaxpr, cached_by_jaxpr, eval_jaxpr
from .._core.linear import Linear, Zero, instantiate, never
from .._core.primitive import Kind
from .._core.stage import captured_by
from .._core.trace import EvalTrace, running
from .._core.types import ShapedArray, typeof
from .._ops.annotations import reshard_p
from .._ops.base import as_array, in_front, materialize, to_front
from .._ops.derive import zeros_of
from .._transforms.linearize import partial_eval
from .._transforms.transpose import backward
from ..dtypes import stored
from ..errors import explain
from .call import NO_TARGETS, Targets
from .flat_tree import FlatTree, nones, pack
from .loop_bodies import backward_step, batched_step, forward_step, forwarding, parts_of, pruned
from .sequences import kept, parted, reordered, split, typed
from .stateful import RunsFunctions
from .unroll import unrolled

__all__ = ["scan_p"]  # for the window tanx.lax; rules of other loops use more


class Scan(RunsFunctions):
    """Runs a body ``length`` times, from the first slice of the xs to the last or in reverse."""

    name = "scan"
    kind = Kind.CALL
    multiple_results = True
    unit = True

    def infer(self, *types, jaxpr: ClosedJaxpr, length: int, num_consts: int, num_carry: int,
              **params):
        ins = jaxpr.in_avals
        count = num_consts + num_carry
        expected = ins[:count] + [_stacked(a, length) for a in ins[count:]]
        wrong = [(i, a, b) for i, (a, b) in enumerate(zip(expected, types, strict=True))
                 if not a.matches(b)]
        if wrong:
            raise TypeError(explain(
                "tanx.lax.scan", "the operands must have the types that the body takes.",
                *(f"operand {i}: {b}, expected {a}" for i, a, b in wrong)))
        outs = jaxpr.out_avals
        return outs[:num_carry] + [_stacked(a, length) for a in outs[num_carry:]]

    def effects(self, *types, jaxpr: ClosedJaxpr, **params):
        return jaxpr.effects

    def named_axes(self, params):
        return tuple(e.name for e in params["jaxpr"].effects if isinstance(e, NamedAxisEffect))

    def called(self, params):
        if params["unroll"] <= 1:
            return None
        return unrolled(params["jaxpr"], self, params["length"], params["num_consts"],
                        params["num_carry"], params["reverse"], params["unroll"])

    def flow(self, params):
        return ForLoop(params["jaxpr"], params["length"], params["num_consts"],
                       params["num_carry"], params["reverse"])

    def with_flow(self, params, flow):
        return dict(params, jaxpr=flow.body, num_consts=flow.constants, num_carry=flow.carries,
                    linear=(False,) * len(flow.body.jaxpr.invars))

    def eval(self, *args, jaxpr: ClosedJaxpr, length, num_consts, num_carry, reverse, **params):
        fixed, rows = split(jaxpr.in_avals, num_consts + num_carry)
        consts, carry, xs = split(typed(args, [*fixed, *(_stacked(a, length) for a in rows)]),
                                  num_consts, num_carry)
        avals = [*jaxpr.out_avals[:num_carry],
                 *(_stacked(a, length) for a in jaxpr.out_avals[num_carry:])]
        stacks = [np.empty(a.shape, stored(a.dtype)) for a in avals[num_carry:]]
        with running(EvalTrace(None)):
            for i in reversed(range(length)) if reverse else range(length):
                outs = eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *consts, *carry,
                                  *typed([x._value[i] for x in xs], rows))
                carry, ys = split(outs, num_carry)
                for stack, y in zip(stacks, typed(ys, jaxpr.out_avals[num_carry:]), strict=True):
                    stack[i] = y._value
        return typed([*carry, *stacks], avals)

    def spelled(self, params):
        consts, carry, xs = split([None] * len(params["jaxpr"].in_avals), params["num_consts"],
                                  params["num_carry"])
        ys = len(params["jaxpr"].out_avals) - len(carry)
        return {"ft_in": pack((nones(len(consts)), nones(len(carry)), nones(len(xs)))),
                "ft_out": pack((nones(len(carry)), nones(ys))),
                **{name: params[name] for name in ("jaxpr", "length", "reverse", "unroll")}}

    def bind(self, *args, jaxpr: ClosedJaxpr, num_consts: int = 0, ft_in: FlatTree | None = None,
             ft_out: FlatTree | None = None, **params):
        if ft_in is not None:
            num_consts, params["num_carry"], _ = map(len, ft_in.unpack())
        # Values that a user's rule in a transformed body closes over are operands.
        jaxpr, captured = captured_by(jaxpr)
        return super().bind(*captured, *args, jaxpr=jaxpr, num_consts=num_consts + len(captured),
                            **params)

    def jvp(self, primals, tangents, *, jaxpr, num_consts, num_carry, **params):
        nonzero = tuple(type(t) is not Zero for t in tangents)
        body, found = forward_step(jaxpr, num_consts, num_carry, nonzero)
        (consts, carry, xs), (dconsts, dcarry, dxs) = (
            split(values, num_consts, num_carry) for values in (primals, tangents))
        dconsts, dxs = ([t for t in part if type(t) is not Zero] for part in (dconsts, dxs))
        # A tangent that is zero at first may be nonzero after a step.
        dcarry = [instantiate(t) for t, nz in zip(dcarry, found) if nz]
        outs = self.bind(*consts, *dconsts, *carry, *dcarry, *xs, *dxs, jaxpr=body,
                         num_consts=len(consts) + len(dconsts),
                         num_carry=len(carry) + len(dcarry), **params)
        carry, dcarry, ys, dys = split(outs, num_carry, len(dcarry), len(found) - num_carry)
        out, given = [*carry, *ys], iter([*dcarry, *dys])
        return out, [next(given) if nz else Zero.tangent_of(x) for x, nz in zip(out, found)]

    def partial_eval(self, trace, args, params):
        """Run the known part as one scan now, and record another for the rest."""
        rest = {name: params[name] for name in ("length", "reverse", "unroll")}
        num_consts, num_carry = params["num_consts"], params["num_carry"]
        unknown = tuple(trace.unknown(x) for x in args)
        parts = parts_of(params["jaxpr"], num_consts, num_carry, unknown)
        consts, carry, xs = split(args, num_consts, num_carry)
        consts, late_consts = parted(consts, unknown[:num_consts])
        carry, late_carry = parted(carry, parts.carry)
        xs, late_xs = parted(xs, unknown[num_consts + num_carry:])
        with running(trace.below):
            hoisted = eval_jaxpr(parts.before.jaxpr, parts.before.consts, *consts)
            fixed = [*consts, *hoisted]
            outs = [] if not (parts.now.out_avals or parts.now.effects) else self.bind(
                *kept([*fixed, *carry, *xs], parts.used), jaxpr=parts.now, num_carry=len(carry),
                num_consts=sum(parts.used[:len(fixed)]), **rest)
        last, stacks = split(outs, len(carry))
        read = [*xs, *stacks]
        late_consts = [*(fixed[i] for i in parts.fixed), *late_consts]
        recorded = iter(trace.record(
            self, [*late_consts, *late_carry, *late_xs, *(read[i] for i in parts.read)],
            dict(jaxpr=parts.later, num_consts=len(late_consts), num_carry=len(late_carry),
                 **rest)))
        known = iter([*last, *stacks])
        return [next(recorded) if u else next(known) for u in (*parts.carry, *parts.ys)]

    def transpose(self, cts, *args, **params):
        return self.transpose_into((), cts, *args, **params)

    def transpose_into(self, refs, cts, *args, jaxpr, num_consts, num_carry, reverse, **params):
        # Cotangents of carries and xs are whole arrays: only those of consts are added in steps.
        targets = Targets.of(refs[:num_consts]) if refs else NO_TARGETS
        linear = tuple(type(x) is Linear for x in args)
        starts = linear[num_consts:num_consts + num_carry]
        if not all(starts) and not all(parts_of(jaxpr, num_consts, num_carry, linear).carry):
            # Some of the carry, such as a counter, does not depend on anything linear.
            return _apart(cts, args, dict(params, jaxpr=jaxpr, num_consts=num_consts,
                                          num_carry=num_carry, reverse=reverse), refs)
        nonzero = tuple(type(ct) is not Zero for ct in cts)
        weak = tuple((ct.aval if type(ct) is Zero else typeof(ct)).weak_type for ct in cts)
        body, found = backward_step(jaxpr, num_consts, num_carry, linear, nonzero, weak,
                                    *targets.key)
        if targets.are_kept(args, body):
            return None
        consts, _, xs = split(args, num_consts, num_carry)
        known_consts, linear_consts = parted(consts, linear[:num_consts])
        known_xs, linear_xs = parted(xs, linear[num_consts + num_carry:])
        sums, carry, _ = split(found, len(linear_consts), num_carry)
        totals = [zeros_of(x.aval.to_tangent()) for x in kept(linear_consts, sums)]
        start = [instantiate(ct) for ct in kept(cts[:num_carry], carry)]
        stacked = [ct for ct in cts[num_carry:] if type(ct) is not Zero]
        outs = iter(self.bind(
            *known_consts, *targets.refs, *totals, *start, *stacked, *known_xs, jaxpr=body,
            num_consts=len(known_consts) + len(targets.refs), reverse=not reverse,
            num_carry=len(totals) + len(start), **params))
        answers = iter([next(outs) if nz else None for nz in found])
        asked = (*linear[:num_consts], *[True] * num_carry, *linear[num_consts + num_carry:])
        return [next(answers) if a else None for a in asked]

    def batch_axis(self, axis, args, dims, *, jaxpr, num_consts, num_carry, length, **params):
        body, out = batched_step(jaxpr, num_consts, num_carry, axis, tuple(map(in_front, dims)))
        count = num_consts + num_carry
        for spec in (*dims[count:], *out[num_carry:]):
            if isinstance(spec, MappingSpec):
                raise NotImplementedError(explain(
                    "tanx.vmap", "does not map a scan along a second axis of values of high types.",
                    f"spec: {spec}", hint="use vmap inside of the scan."))
        moving = {num_consts + i for i, d in enumerate(out[:num_carry]) if d is not None}
        operands = [materialize(x, d, axis.size) if i in moving
                    else materialize(x, d, axis.size, 1) if i >= count and d is not None
                    else to_front(x, d) for i, (x, d) in enumerate(zip(args, dims))]
        outs = self.bind(*operands, jaxpr=body, num_consts=num_consts, num_carry=num_carry,
                         length=length, **params)
        return outs, [d if i < num_carry or d is None else 1 for i, d in enumerate(out)]

    batch = never("a loop is batched by batch_axis, which gets the mapped axis")
    lower = never("the compiler turns it into a native loop")

    def dce(self, used_outs, eqn):
        """Drop carries, ys and operands that no used result depends on."""
        params = eqn.params
        num_consts, num_carry = params["num_consts"], params["num_carry"]
        body, ins, outs = pruned(params["jaxpr"], num_consts, num_carry, tuple(used_outs))
        if body is None:
            return ins, eqn
        return ins, eqn.replace(
            invars=kept(eqn.invars, ins), outvars=kept(eqn.outvars, outs), effects=body.effects,
            params={**params, "jaxpr": body, "num_consts": sum(ins[:num_consts]),
                    "num_carry": sum(outs[:num_carry])})

    def show_params(self, params):
        consts, carry, xs = split(["None"] * len(params["jaxpr"].in_avals),
                                  params["num_consts"], params["num_carry"])
        ys = len(params["jaxpr"].out_avals) - len(carry)
        shown = {name: params[name] for name in ("jaxpr", "length", "reverse", "unroll")}
        return {"ft_in": _grouped(consts, carry, xs),
                "ft_out": _grouped(carry, ["RightsOnly(Right(None))"] * ys), **shown}


scan_p = Scan()


def bind_forwarding(consts: Sequence[Any], carry: Sequence[Any], xs: Sequence[Any],
                    closed: ClosedJaxpr, **params) -> list[Any]:
    """Apply the primitive; carries that never change and ys that are xs are not part of it."""
    smaller, stays, sources = forwarding(closed, len(consts), len(carry))
    body = closed if smaller is None else smaller
    moving, fixed = parted(carry, stays)
    outs = [] if not (body.out_avals or body.effects) else scan_p.bind(
        *map(as_array, fixed), *consts, *map(as_array, moving), *xs, jaxpr=body,
        num_consts=len(fixed) + len(consts), num_carry=len(moving), **params)
    made = iter(outs)
    return [*(x if s else next(made) for x, s in zip(carry, stays)),
            *(next(made) if i is None else xs[i] for i in sources)]


def _apart(cts, args, params, refs) -> list:
    """Transpose a scan that first has to be split into a known and a linear part."""
    unknown = [x.aval if type(x) is Linear else None for x in args]
    _, which, jaxpr, residuals = partial_eval(lambda *xs: scan_p.bind(*xs, **params), unknown, args)
    answers = iter(backward(jaxpr, residuals, [Linear(v.aval) for v in jaxpr.invars],
                            kept(cts, which), refs=[
                                ref for ref, aval in zip(refs, unknown) if aval is not None]))
    return [None if aval is None else next(answers) for aval in unknown]


def _stacked(aval: ShapedArray, length: int) -> ShapedArray:
    if aval.is_high:
        return aval.inc_rank(length, aval.leading_axis_spec())
    return aval.inc_rank(length, 0)


def _grouped(*groups: Sequence[str]) -> str:
    """Groups of words, formatted as tuples."""
    words = [f"({', '.join(group)}{',' if len(group) == 1 else ''})" for group in groups]
    return f"({', '.join(words)})"


@cached_by_jaxpr
def _lanes(closed: ClosedJaxpr, batched: tuple[bool, ...]) -> ClosedJaxpr:
    """The same function with the arguments that differ between lanes after the others."""
    order = sorted(range(len(batched)), key=lambda i: batched[i])
    return reordered(closed, order, range(len(closed.jaxpr.outvars)))


def map_lanes(closed: ClosedJaxpr, axis_size: int, args: Sequence[Any],
              dims: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Run a function for each lane of a batch separately; results, and that their axis is in front.

    A scan without a carry: its steps are independent, so that the compiler may run them in any
    order, in threads and in vector lanes.
    """
    batched = tuple(d is not None for d in dims)
    consts = kept(args, [not b for b in batched])
    lanes = [to_front(x, d) for x, d in zip(args, dims) if d is not None]
    for x, d in zip(args, dims):
        if isinstance(d, MappingSpec) and d != typeof(x).leading_axis_spec():
            raise NotImplementedError(explain(
                "tanx.vmap", "lanes that branch or stop independently need values of high types "
                "mapped along their first axis.", f"operand: {typeof(x)}", f"mapped:  {d}"))
    outs = scan_p.bind(*consts, *lanes, jaxpr=_lanes(closed, batched), length=axis_size,
                       num_consts=len(consts), num_carry=0, reverse=False, unroll=1)
    outs = [y if (sharding := sharding_of_lanes(a, 0)) is None
            else reshard_p.bind(y, dst_sharding=sharding) for y, a in zip(outs, closed.out_avals)]
    return outs, [typeof(y).leading_axis_spec() if a.is_high else 0
                  for y, a in zip(outs, closed.out_avals)]
