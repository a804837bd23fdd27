"""Linearization: separate known values from values that depend on unknown ones.

:class:`PartialTrace` runs on top of another trace. An operation on known values goes to the trace
below; one with an unknown operand is recorded, and the known values it uses become constants of the
recorded jaxpr: the residuals. Linearization is forward mode with unknown tangents: the primals are
computed immediately, and the recorded equations are linear in the tangents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any

from .._core.jaxpr import ClosedJaxpr, Jaxpr, jaxpr_as_fun
from .._core.linear import Zero
from .._core.opaque import Opaque
from .._core.stage import StageTrace, StageTracer, stage
from .._core.trace import Trace, context, running
from .._core.types import AbstractValue, typeof
from .jvp import jvp

__all__ = ["JaxprTracer", "PartialTrace", "PartialVal", "linearize", "partial_eval",
           "partial_eval_jaxpr"]


class PartialVal(tuple):
    """A known value, ``(None, value)``, or the type of an unknown one, ``(type, None)``."""

    __slots__ = ()

    def __new__(cls, xs: Sequence[Any]):
        return super().__new__(cls, xs)

    @classmethod
    def known(cls, const) -> PartialVal:
        """A known value.

        >>> tanx.interpreters.partial_eval.PartialVal.known(3.0)
        (None, 3.0)
        """
        return cls((None, const))

    @classmethod
    def unknown(cls, aval: AbstractValue) -> PartialVal:
        """An unknown value of a type."""
        return cls((aval, None))

    def is_known(self) -> bool:
        """Whether the value is known."""
        return self[0] is None

    def get_known(self):
        """The value, or None."""
        return self[1] if self.is_known() else None

    def get_aval(self) -> AbstractValue:
        """The type."""
        return typeof(self[1]) if self.is_known() else self[0]


class JaxprTracer(StageTracer):
    """An unknown value of partial evaluation; the trace records its equations."""

    __module__ = "tanx.interpreters.partial_eval"  # its public place, even if not imported
    __slots__ = ()

    # Attributes that programs for JAX use.

    @property
    def pval(self) -> PartialVal:
        """The type of the value."""
        return PartialVal.unknown(self.aval)

    @property
    def recipe(self) -> None:
        """How to compute the value: None, because the trace keeps the equations."""
        return None

    @property
    def parents(self) -> list:
        """The operands of the equation in ``recipe``: none."""
        return []

    def is_known(self) -> bool:
        """Whether the value is known."""
        return False


class HighJaxprTracer(Opaque, JaxprTracer):
    """An unknown value of a high type."""

    __slots__ = ()


_UNKNOWN = frozenset((JaxprTracer, HighJaxprTracer))


class PartialTrace(StageTrace):
    """Records only operations that depend on its own arguments."""

    __slots__ = ()
    plain = JaxprTracer
    high = HighJaxprTracer
    below: Trace

    def __init__(self, below, debug=None):
        super().__init__(below, debug)
        self.staging = below.staging

    def literal(self, value, aval, written=None):
        return self.below.literal(value, aval, written)

    def shown(self, tracer) -> str:
        return f"Traced<{tracer.aval}:JaxprTrace>"

    def unknown(self, x) -> bool:
        """Whether a value depends on arguments of this trace."""
        return type(x) in _UNKNOWN and x._trace is self

    def process(self, primitive, args, params):
        for x in args:
            if type(x) in _UNKNOWN and x._trace is self:
                break
        else:
            context.trace = self.below
            try:
                return self.below.process(primitive, args, params)
            finally:
                context.trace = self
        if primitive.partial_eval is not None:
            return primitive.partial_eval(self, args, params)
        return super().process(primitive, args, params)


def partial_eval(fun: Callable, unknown: Sequence[AbstractValue | None], args: Sequence[Any],
                 forget: Sequence[bool] = (),
                 ) -> tuple[list, list[bool], Jaxpr, list[Any]]:
    """Run a function whose arguments are partly unknown.

    ``unknown`` holds a type for each unknown argument and None for the known ones, whose values
    are in ``args``. Returns the outputs (None if unknown), which of them are unknown, and the jaxpr
    of the unknown part with its residuals. ``forget`` says which outputs to treat as unknown in any
    case.
    """
    trace = PartialTrace(context.trace)
    values = [x if aval is None else trace.argument(aval) for x, aval in zip(args, unknown)]
    with running(trace):
        outs = fun(*values)
    which = [trace.unknown(x) or f for x, f in zip_longest(outs, forget, fillvalue=False)]
    jaxpr, residuals = trace.finish([x for x, u in zip(outs, which) if u])
    return [None if u else x for x, u in zip(outs, which)], which, jaxpr, residuals


def linearize(fun: Callable, primals: Sequence[Any],
              active: Sequence[bool] | None = None) -> tuple[list, list[bool], Jaxpr, list[Any]]:
    """The value of a function and its derivative there, as a linear jaxpr.

    ``fun`` takes flat arguments and returns a list. Returns the primal outputs, which outputs have
    a nonzero tangent, the jaxpr from tangents of the ``active`` arguments (by default all) to those
    tangents, and its residuals.
    """
    active = [True] * len(primals) if active is None else active
    trace = PartialTrace(context.trace)
    tangents = []
    for x, is_active in zip(primals, active):
        aval = typeof(x).to_tangent()
        tangents.append(trace.argument(aval) if is_active else Zero(aval))
    outs, out_tangents = jvp(fun, primals, tangents, recorder=trace)
    nonzero = [type(t) is not Zero for t in out_tangents]
    with running(trace):
        jaxpr, residuals = trace.finish([t for t in out_tangents if type(t) is not Zero])
    return outs, nonzero, jaxpr, residuals


def partial_eval_jaxpr(closed: ClosedJaxpr, unknown: Sequence[bool], forget: Sequence[bool] = (),
                       ) -> tuple[ClosedJaxpr, ClosedJaxpr, list[bool], list[int | None]]:
    """Split a closed jaxpr into a known part and an unknown part.

    The known part takes the known arguments and returns the known outputs, then residuals. The
    unknown part takes the residuals, then the unknown arguments, and returns the unknown outputs.
    The third result says which outputs are unknown; the fourth, for each residual, which known
    argument it is, or None if the known part computes it (only those are among its outputs).
    ``forget`` says which outputs to treat as unknown in any case.
    """
    in_avals = closed.in_avals
    found: dict[str, Any] = {}

    def known_part(*known_args):
        given = iter(known_args)
        args = [None if u else next(given) for u in unknown]
        outs, which, jaxpr, residuals = partial_eval(
            jaxpr_as_fun(closed), [a if u else None for a, u in zip(in_avals, unknown)], args,
            forget)
        position = {id(x): i for i, x in enumerate(known_args)}
        forwarded = [position.get(id(x)) for x in residuals]
        found.update(which=which, jaxpr=jaxpr, forwarded=forwarded)
        return ([x for x, u in zip(outs, which) if not u]
                + [x for x, f in zip(residuals, forwarded) if f is None])

    known_jaxpr, known_consts = stage(
        known_part, [a for a, u in zip(in_avals, unknown) if not u], closed.jaxpr.debug_info)
    recorded: Jaxpr = found["jaxpr"]
    unknown_jaxpr = recorded.replace(constvars=[], invars=recorded.constvars + recorded.invars)
    return (ClosedJaxpr(known_jaxpr, known_consts), ClosedJaxpr(unknown_jaxpr), found["which"],
            found["forwarded"])
