"""Calls: primitives whose body is one jaxpr, and ``jit`` inside other functions.

:class:`Call` is their base. Each transformation of a call is a call of the transformed body, made
once for each body and cached.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._base.tuples import NamedTuple
from .._core.effects import NamedAxisEffect
from .._core.jaxpr import (
    Atom,
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Var,
    cached_by_jaxpr,
    eval_jaxpr,
    one_equation,
)
from .._core.linear import Linear, Zero, never, zero_series
from .._core.primitive import Kind, Name
from .._core.refs import AbstractRef, Reference, is_ref
from .._core.rewrite import dce_closed, prune_constants
from .._core.stage import captured_by
from .._core.trace import EvalTrace, context, data_of, running
from .._transforms.discharge import discharge
from .._transforms.jvp import JVPTrace, jvp_jaxpr
from .._transforms.linearize import partial_eval_jaxpr
from .._transforms.taylor import flattened, gathered, taylor_jaxpr
from .._transforms.transpose import transpose_jaxpr
from .._transforms.vmap import BatchTrace, batch_jaxpr
from .contents import run_on_contents
from .late import rules_keep_refs
from .stateful import RunsFunctions

__all__ = ["NO_TARGETS", "Call", "Targets", "as_unit", "has_tapes", "jit_p", "known_now"]

forward_body = cached_by_jaxpr(jvp_jaxpr)
split_body = cached_by_jaxpr(partial_eval_jaxpr)
backward_body = cached_by_jaxpr(transpose_jaxpr)
batched_body = cached_by_jaxpr(batch_jaxpr)


class Targets(NamedTuple):
    """References to which a transposed body adds cotangents, each of them once."""

    refs: list[Reference]
    places: tuple[int | None, ...]  # for each operand, which of the references
    avals: tuple[AbstractRef, ...]

    @classmethod
    def of(cls, given: Sequence[Reference | None]) -> Targets:
        refs = list(dict.fromkeys(ref for ref in given if ref is not None))
        return cls(refs, tuple(None if ref is None else refs.index(ref) for ref in given),
                   tuple(ref.aval for ref in refs))

    @property
    def key(self) -> tuple:
        """What a transposed body depends on."""
        return self.places, self.avals

    def are_kept(self, known: Sequence, *bodies: ClosedJaxpr) -> bool:
        """Whether a user's rule keeps one of them, too: a call must not get one twice."""
        return bool(self.refs) and any(
            is_ref(x) and x in self.refs
            for values in (known, *(body.consts for body in bodies)) for x in values)

    def answers(self, args: Sequence, outs: Sequence, nonzero: Sequence[bool]) -> list:
        """The cotangents of operands, from those that the body returns."""
        left, found, added = iter(outs), iter(nonzero), self.places or [None] * len(args)
        return [None if type(x) is not Linear or at is not None else next(left) if next(found)
                else Zero(x.aval.to_tangent()) for x, at in zip(args, added)]


NO_TARGETS = Targets([], (), ())


class Call(RunsFunctions):
    """Runs the closed jaxpr in its parameter ``jaxpr`` on its operands."""

    kind = Kind.CALL
    multiple_results = True

    def bind(self, *args, **params):
        # Values that a user's rule in a transformed body closes over are operands.
        params["jaxpr"], captured = captured_by(params["jaxpr"])
        return super().bind(*captured, *args, **params)

    def infer(self, *types, jaxpr: ClosedJaxpr, **params):
        return jaxpr.out_avals

    def effects(self, *types, jaxpr: ClosedJaxpr, **params):
        return jaxpr.effects

    def called(self, params):
        return params["jaxpr"]

    def named_axes(self, params):
        return tuple(e.name for e in params["jaxpr"].effects if isinstance(e, NamedAxisEffect))

    def eval(self, *args, jaxpr: ClosedJaxpr, **params):
        return eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args)

    def jvp(self, primals, tangents, *, jaxpr, **params):
        nonzero = tuple(type(t) is not Zero for t in tangents)
        body, nonzero_out = forward_body(jaxpr, nonzero)
        given = [t for t in tangents if type(t) is not Zero]
        outs = self.bind(*primals, *given, jaxpr=body, **self.for_operands(params, nonzero))
        count = len(nonzero_out)
        out_tangents = iter(outs[count:])
        return outs[:count], [next(out_tangents) if nz else Zero(a.to_tangent())
                              for a, nz in zip(jaxpr.out_avals, nonzero_out)]

    def taylor(self, primals, series, *, jaxpr, **params):
        moving = tuple(ts is not zero_series for ts in series)
        terms = flattened(series)
        order = len(terms) // sum(moving)
        body, found = taylor_jaxpr(jaxpr, order, moving)
        outs = self.bind(*primals, *terms, jaxpr=body, **self.for_operands(params))
        return outs[:len(found)], gathered(outs[len(found):], found, order)

    def partial_eval(self, trace, args, params):
        """Run the known part as one call now, and record another for the rest."""
        params = dict(params)
        unknown = tuple(trace.unknown(x) for x in args)
        known_body, unknown_body, which, forwarded = split_body(params.pop("jaxpr"), unknown)
        known_args = [x for x, u in zip(args, unknown) if not u]
        with running(trace.below):
            if known_body.eqns:
                known = self.bind(*known_args, jaxpr=known_body, **self.for_operands(params))
            else:
                known = eval_jaxpr(known_body.jaxpr, known_body.consts, *known_args)
        count = len(which) - sum(which)
        computed = iter(known[count:])
        residuals = [next(computed) if i is None else known_args[i] for i in forwarded]
        unknown_args = [x for x, u in zip(args, unknown) if u]
        recorded = iter(trace.record(self, residuals + unknown_args,
                                     dict(jaxpr=unknown_body, **self.for_operands(params))))
        known_outs = iter(known[:count])
        return [next(recorded) if u else next(known_outs) for u in which]

    def transpose(self, cts, *args, **params):
        return self._backward(NO_TARGETS, cts, args, **params)

    def _backward(self, targets: Targets, cts, args, *, jaxpr, **params):
        linear = tuple(type(x) is Linear for x in args)
        nonzero = tuple(type(ct) is not Zero for ct in cts)
        body, nonzero_out = backward_body(jaxpr, linear, nonzero, *targets.key)
        known = [x for x in args if type(x) is not Linear]
        if targets.are_kept(known, body):
            return None
        outs = self.bind(*known, *targets.refs, *(ct for ct in cts if type(ct) is not Zero),
                         jaxpr=body, **self.for_operands(params))
        return targets.answers(args, outs, nonzero_out)

    def batch_axis(self, axis, args, dims, *, jaxpr, **params):
        body, out_dims = batched_body(jaxpr, axis, tuple(dims))
        return self.bind(*args, jaxpr=body, **params), out_dims

    batch = never("a call is batched by batch_axis, which gets the mapped axis")
    lower = never("the compiler gives calls their own function or inlines them")

    def for_operands(self, params: dict, more: tuple[bool, ...] = ()) -> dict:
        """Parameters for a transformed body, whose operands differ."""
        return params

    def dce(self, used_outs, eqn):
        """Drop parts of the body that only unused results need, and operands used only there."""
        body, used_ins = dce_closed(eqn.params["jaxpr"], used_outs)
        if body is eqn.params["jaxpr"]:
            return used_ins, eqn
        return used_ins, eqn.replace(
            invars=[x for x, used in zip(eqn.invars, used_ins) if used],
            outvars=[v for v, used in zip(eqn.outvars, used_outs) if used],
            params={**self.for_operands(eqn.params), "jaxpr": body}, effects=body.effects)


class Jit(Call):
    """A function compiled as a unit; inside another function, a call of it."""

    name = "jit"
    unit = True
    name_first = shares_names = True

    def show_params(self, params):
        shown = {"name": params["name"], "jaxpr": params["jaxpr"]}
        if any(params.get("donated_invars", ())):
            shown["donated_invars"] = params["donated_invars"]
        shown.update((name, True) for name in ("inline", "keep_unused") if params.get(name))
        return shown

    def written(self, params):
        flags = {key: value for key, value in params.items()
                 if key not in ("jaxpr", "name") and value}  # others have their defaults
        return self.name, {"jaxpr": params["jaxpr"], "name": Name(params["name"]), **flags}

    def restored(self, params):
        return {"inline": False, "keep_unused": False, "donated_invars": (), **params}

    def for_operands(self, params, more=()):
        # Donation was promised for the original operands only.
        return {**params, "donated_invars": ()}

    for_contents = for_operands

    def discharge(self, args, params):
        if isinstance(context.trace, JVPTrace | BatchTrace) and rules_keep_refs(params["jaxpr"]):
            # Users' rules may keep references for the backward pass: they get the references
            # themselves.
            return eval_jaxpr(params["jaxpr"].jaxpr, params["jaxpr"].consts, *args)
        if type(context.trace) is EvalTrace:
            return self._in_place(args, params)
        return super().discharge(args, params)

    def _in_place(self, args, params):
        """Apply it in eager code: contents are donated, so that they are updated in place."""
        self.check_refs(args)
        closed, written = discharge(params["jaxpr"])
        donated = tuple([i in written for i in range(len(args))])
        return run_on_contents(lambda *values: self.bind(
            *values, **{**params, "jaxpr": closed, "donated_invars": donated}), args, written)

    def writes_tapes(self, params):
        return has_tapes(params["jaxpr"])

    def transpose_into(self, refs, cts, *args, **params):
        return self._backward(Targets.of(refs), cts, args, **params)

    def partial_eval(self, trace, args, params):
        """As one call if possible; as several if loops between them write tapes."""
        parts = None
        if known_now(trace, args):
            unknown = tuple(trace.unknown(x) for x in args)
            parts = _in_stretches(params["jaxpr"], unknown, params["name"])
        if parts is None:
            return super().partial_eval(trace, args, params)
        return eval_jaxpr(parts.jaxpr, parts.consts, *args)


jit_p = Jit()


def as_unit(closed: ClosedJaxpr, name: str) -> ClosedJaxpr:
    """The function that is a call of ``closed``, which is compiled as a unit."""
    return one_equation(jit_p, closed.in_avals, dict(
        jaxpr=closed, name=name, inline=False, keep_unused=False, donated_invars=()))


# -- tapes of loops inside -------------------------------------------------------------------------


def known_now(trace, args: Sequence) -> bool:
    """Whether operands that a partial evaluation treats as known are concrete, in all lanes."""
    return not trace.below.staging and all(
        trace.unknown(x) or data_of(x) is not None for x in args)


def has_tapes(closed: ClosedJaxpr) -> bool:
    """Whether an equation of a body writes tapes if its values are known."""
    return any(eqn.primitive.writes_tapes(eqn.params) for eqn in closed.eqns)


@cached_by_jaxpr
def _in_stretches(closed: ClosedJaxpr, unknown: tuple[bool, ...], name: str) -> ClosedJaxpr | None:
    """The same function as a sequence of calls and equations that write tapes.

    Only equations that depend on unknown operands count; None if there are no such equations.
    """
    jaxpr = closed.jaxpr
    late: set[Atom] = {v for v, u in zip(jaxpr.invars, unknown) if u}
    stretches: list[list[JaxprEqn]] = [[]]
    for eqn in jaxpr.eqns:
        if not late.isdisjoint(eqn.invars):
            late.update(eqn.outvars)
            if eqn.primitive.writes_tapes(eqn.params):
                stretches += [eqn], []
                continue
        stretches[-1].append(eqn)
    if len(stretches) == 1:
        return None
    needed: set[Atom] = set(jaxpr.outvars)
    eqns: list[JaxprEqn] = []
    for stretch in reversed(stretches):
        if len(stretch) > 1:
            stretch = [_call_of(stretch, needed, closed, name)]
        eqns += stretch
        needed.update(a for eqn in stretch for a in eqn.invars)
    return prune_constants(ClosedJaxpr(jaxpr.replace(eqns=eqns[::-1]), closed.consts))


def _call_of(stretch: list[JaxprEqn], needed: set[Atom], closed: ClosedJaxpr,
             name: str) -> JaxprEqn:
    """An equation that calls a part of a body, for the results that are needed."""
    made = [v for eqn in stretch for v in eqn.outvars]
    given = {*made, *closed.jaxpr.constvars}
    read = [v for v in dict.fromkeys(a for eqn in stretch for a in eqn.invars)
            if isinstance(v, Var) and v not in given]
    outs = [v for v in made if v in needed]
    body = prune_constants(ClosedJaxpr(
        Jaxpr(closed.jaxpr.constvars, read, outs, stretch), closed.consts))
    (call,) = as_unit(body, name).eqns
    return call.replace(invars=read, outvars=outs)
