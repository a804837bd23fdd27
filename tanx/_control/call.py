"""Calls: primitives whose body is one jaxpr, and ``jit`` inside other functions.

:class:`Call` holds what every call shares. Each transformation of a call is a call of the
transformed body, made once for each body and remembered.
"""

from __future__ import annotations

from .._core.effects import NamedAxisEffect
from .._core.jaxpr import ClosedJaxpr, cached_by_jaxpr, eval_jaxpr
from .._core.linear import Linear, Zero, never
from .._core.primitive import Kind, Primitive
from .._core.rewrite import dce_closed
from .._core.trace import running
from .._transforms.jvp import jvp_jaxpr
from .._transforms.linearize import partial_eval_jaxpr
from .._transforms.transpose import transpose_jaxpr
from .._transforms.vmap import batch_jaxpr

__all__ = ["Call", "jit_p"]

forward_body = cached_by_jaxpr(jvp_jaxpr)
split_body = cached_by_jaxpr(partial_eval_jaxpr)
backward_body = cached_by_jaxpr(transpose_jaxpr)
batched_body = cached_by_jaxpr(batch_jaxpr)


class Call(Primitive):
    """Runs the closed jaxpr in its parameter ``jaxpr`` on its operands."""

    kind = Kind.CALL
    multiple_results = True

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

    def partial_eval(self, trace, args, params):
        """Run what is known as one call now, and record another for the rest."""
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

    def transpose(self, cts, *args, jaxpr, **params):
        linear = tuple(type(x) is Linear for x in args)
        nonzero = tuple(type(ct) is not Zero for ct in cts)
        body, nonzero_out = backward_body(jaxpr, linear, nonzero)
        outs = iter(self.bind(*(x for x in args if type(x) is not Linear),
                              *(ct for ct in cts if type(ct) is not Zero),
                              jaxpr=body, **self.for_operands(params)))
        found = iter(nonzero_out)
        return [None if not is_linear else next(outs) if next(found)
                else Zero(x.aval.to_tangent()) for x, is_linear in zip(args, linear)]

    def batch_axis(self, axis, args, dims, *, jaxpr, **params):
        body, out_dims = batched_body(jaxpr, axis, tuple(dims))
        return self.bind(*args, jaxpr=body, **params), out_dims

    batch = never("a call is batched by batch_axis, which knows the mapped axis")
    lower = never("the compiler gives calls their own function or inlines them")

    def for_operands(self, params: dict, more: tuple[bool, ...] = ()) -> dict:
        """Parameters fit for a transformed body, whose operands differ."""
        return params

    def dce(self, used_outs, eqn):
        """Drop the parts of the body behind unused results; also the operands it then needs not."""
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

    def show_params(self, params):
        shown = {"name": params["name"], "jaxpr": params["jaxpr"]}
        if any(params.get("donated_invars", ())):
            shown["donated_invars"] = params["donated_invars"]
        shown.update((name, True) for name in ("inline", "keep_unused") if params.get(name))
        return shown

    def for_operands(self, params, more=()):
        # Donation was promised for the original operands only.
        return {**params, "donated_invars": ()}


jit_p = Jit()
