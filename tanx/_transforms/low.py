"""Lowering: functions on values of high types as functions on their parts.
A jaxpr is run once more in a :class:`LowTrace`. Values of high types are then Python objects that
hold tracers of arrays; a primitive that takes or returns one is expanded into the operations of its
implementation, and loops, branches and calls get lowered bodies. The recorded jaxpr has no high
types.

This happens after differentiation, for which types and primitives have their own rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core.flow import Choice, Flow, ForLoop, WhileLoop
from .._core.high import is_high, is_high_use, lower_all, raise_all
from .._core.jaxpr import ClosedJaxpr, cached_by_jaxpr, eval_jaxpr
from .._core.stage import stage
from .._core.trace import Trace, context, running
from .._core.types import AbstractValue, typeof
from ..errors import explain

__all__ = ["LowTrace", "low_types", "lowered", "run_low"]


class LowTrace(Trace):
    """Expands equations on high types; passes all others to the trace below."""

    __slots__ = ()
    below: Trace

    requires_low = True

    def process(self, primitive, args, params):
        if primitive.expand is not None:
            return primitive.expand(*args, **params)
        with running(self.below):
            if is_high_use(args, params):
                return run_low(primitive, args, params)
            return self.below.process(primitive, args, params)


def low_types(avals: Sequence[AbstractValue]) -> list[AbstractValue]:
    """The types of the parts of values of some types."""
    return [lo for aval in avals for lo in (aval.lo_ty() if aval.is_high else (aval,))]


@cached_by_jaxpr
def lowered(closed: ClosedJaxpr) -> ClosedJaxpr:
    """A function without high types."""
    if not is_high(closed):
        return closed

    def fun(*values):
        with running(LowTrace(context.trace)):
            outs = eval_jaxpr(closed.jaxpr, closed.consts, *raise_all(closed.in_avals, values))
        return lower_all(closed.out_avals, outs)

    jaxpr, consts = stage(fun, low_types(closed.in_avals), closed.jaxpr.debug_info)
    return ClosedJaxpr(jaxpr, consts)


def run_low(primitive, args: Sequence, params: dict[str, Any]) -> list:
    """Apply a primitive that runs functions to the parts of values of high types."""
    types = [typeof(x) for x in args]
    flow = primitive.flow(params)
    if flow is not None:
        low = primitive.with_flow(params, _low_flow(flow, [len(low_types([t])) for t in types]))
    elif isinstance(params.get("jaxpr"), ClosedJaxpr):
        low = {**primitive.for_contents(params), "jaxpr": lowered(params["jaxpr"])}
    else:
        return _expanded(primitive, args, params)
    outs = primitive.bind(*lower_all(types, args), **low)
    return raise_all(primitive.infer(*types, **params), outs)


def _expanded(primitive, args: Sequence, params: dict[str, Any]) -> list:
    """Run the body of a use in its place; its rules are dropped."""
    body = primitive.called(params) or params.get("call_jaxpr")
    if body is None:
        raise NotImplementedError(explain(
            f"tanx.lax.{primitive.name}", "does not take values of high types.",
            *(f"operand: {typeof(x)}" for x in args)))
    with running(LowTrace(context.trace)):
        if isinstance(body, ClosedJaxpr):
            return eval_jaxpr(body.jaxpr, body.consts, *args)
        return list(body(*args))


def _low_flow(flow: Flow, counts: Sequence[int]) -> Flow:
    """A loop or a choice with lowered bodies; ``counts`` says how many parts operands have."""
    if isinstance(flow, ForLoop):
        constants, carries, _ = flow.split(counts)
        return flow._replace(body=lowered(flow.body), constants=sum(constants),
                             carries=sum(carries))
    if isinstance(flow, WhileLoop):
        tested, constants, _ = flow.split(counts)
        return WhileLoop(lowered(flow.condition), sum(tested), lowered(flow.body), sum(constants))
    return Choice(tuple(map(lowered, flow.branches)))
