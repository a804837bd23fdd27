"""Forward mode: run a function on pairs of a primal and a tangent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes, errors
from .._core.cells import holds, too_high
from .._core.jaxpr import ClosedJaxpr, jaxpr_as_fun
from .._core.leaks import check_leaks
from .._core.linear import Expansion, Never, Zero, instantiate
from .._core.opaque import Opaque
from .._core.refs import Reference
from .._core.stage import stage
from .._core.trace import Trace, Tracer, context, data_of, running
from .._core.types import high_classes, typeof

__all__ = ["JVPTrace", "JVPTracer", "jvp", "jvp_jaxpr"]


class JVPTracer(Tracer):
    """A primal with its tangent."""

    __module__ = "tanx.interpreters.ad"  # its public place, even if not imported
    __slots__ = ("primal", "tangent")

    def __init__(self, trace: JVPTrace, primal, tangent):
        self._trace = trace
        self.primal = primal
        self.tangent = tangent

    @property
    def aval(self):
        return typeof(self.primal)

    def concrete(self):
        primal = self.primal
        return primal.concrete() if isinstance(primal, Tracer) else primal

    def data(self):
        return data_of(self.primal)

    def describe_origin(self) -> str:
        primal = self.primal
        return primal.describe_origin() if isinstance(primal, Tracer) else ""

    def type_state(self):
        """The state that a type has for values that change in place: no state."""
        return None

    def __array__(self, dtype=None, copy=None):
        # The primal is known, but NumPy would lose the tangent silently.
        raise errors.TracerArrayConversionError(self)

    def __float__(self) -> float:
        raise self._lossy("float(x)")

    def __complex__(self) -> complex:
        raise self._lossy("complex(x)")

    def tolist(self):
        raise self._lossy("x.tolist()")

    def _lossy(self, attempt: str) -> errors.ConcretizationTypeError:
        return errors.ConcretizationTypeError(errors.explain(
            attempt, "a value that is being differentiated would lose its derivative.",
            f"value: {self.aval}", hint="keep computing with tanx.numpy; where no derivative is "
            "needed, write tanx.lax.stop_gradient(x)."))

    def __repr__(self) -> str:
        return f"JVPTracer(primal={self.primal}, tangent={self.tangent})"


class HighJVPTracer(Opaque, JVPTracer):
    """A primal of a high type with its tangent."""

    __slots__ = ()


class LinearizeTracer(JVPTracer):
    """A primal with an unknown tangent: a value in a function that ``grad`` differentiates."""

    __slots__ = ()

    def __repr__(self) -> str:
        kind = typeof(self.tangent).str_short(short_dtypes=True)
        return f"GradTracer(primal={self.primal}, typeof(tangent)={kind})"


class HighLinearizeTracer(Opaque, LinearizeTracer):
    """A primal of a high type with an unknown tangent."""

    __slots__ = ()


_PAIRS = frozenset((JVPTracer, HighJVPTracer, LinearizeTracer, HighLinearizeTracer))


class PairedRef(Reference, Tracer):
    """A reference to primals, with one to their tangents."""

    __slots__ = ("primal", "tangent")
    _trace: JVPTrace

    def __init__(self, trace: JVPTrace, primal: Reference, tangent: Reference):
        self._trace, self.primal, self.tangent = trace, primal, tangent

    @property
    def aval(self):
        return self.primal.aval

    def load(self):
        with running(self._trace.underneath):
            return self._trace.pair(self.primal[...], self.tangent[...])

    def store(self, value) -> None:
        if not holds(self._trace, value):
            raise too_high(self, value)
        primal, tangent = self._trace.split(value)
        with running(self._trace.underneath):
            self.primal[...] = primal
            self.tangent[...] = instantiate(tangent)


class PrimalRef(Reference, Tracer):
    """A reference of the trace below, to the primals of written values."""

    __slots__ = ("ref",)
    _trace: JVPTrace

    def __init__(self, trace: JVPTrace, ref: Reference):
        self._trace, self.ref = trace, ref

    @property
    def aval(self):
        return self.ref.aval

    def load(self):
        with running(self._trace.underneath):
            return self.ref[...]

    def store(self, value) -> None:
        primal, _ = self._trace.split(value)
        with running(self._trace.underneath):
            self.ref[...] = primal


class JVPTrace(Trace):
    """Applies the ``jvp`` rule of every primitive with one of its tracers as an operand."""

    __slots__ = ()
    below: Trace
    tracers: tuple[type[JVPTracer], type[JVPTracer]] = JVPTracer, HighJVPTracer

    def process(self, primitive, args, params):
        primals, tangents, active = [], [], False
        for x in args:
            if type(x) in _PAIRS and x._trace is self:
                primals.append(x.primal)
                tangents.append(x.tangent)
                active = active or type(x.tangent) is not Zero
            else:
                primals.append(x)
                tangents.append(None)
        if active and type(primitive.jvp) is Expansion:
            return primitive.jvp.function(primitive, *args, **params)
        context.trace = self.below
        try:
            if not active:
                return self.below.process(primitive, primals, params)
            tangents = [Zero.tangent_of(p) if t is None else t
                        for p, t in zip(primals, tangents)]
            if type(primitive.jvp) is Never:
                return self._without_tangent(primitive, primals, params)
            out, tangent = primitive.jvp(primals, tangents, **params)
        finally:
            context.trace = self
        if primitive.multiple_results:
            return [self.pair(y, t) for y, t in zip(out, tangent, strict=True)]
        return self.pair(out, tangent)

    def _without_tangent(self, primitive, primals, params):
        """The result of a primitive that returns integers; others raise why they have no rule."""
        out = self.below.process(primitive, primals, params)
        for y in out if primitive.multiple_results else [out]:
            if dtypes.issubdtype(typeof(y).dtype, np.inexact):
                primitive.jvp(primals)
        return out

    def pair(self, primal, tangent):
        """A tracer, or the bare primal if the tangent is zero."""
        if isinstance(tangent, Reference):
            return PairedRef(self, primal, tangent)
        if type(tangent) is Zero:
            return primal
        plain, high = self.tracers
        if high_classes and typeof(primal).is_high:
            return high(self, primal, tangent)
        return plain(self, primal, tangent)

    def split(self, x) -> tuple[Any, Any]:
        """Primal and tangent of any value."""
        if type(x) in _PAIRS and x._trace is self:
            return x.primal, x.tangent
        return x, Zero.tangent_of(x)

    to_primal_tangent_pair = split

    def process_shard_map(self, shard_map_p, f, tracers, mesh, in_specs, check_vma,
                          newly_manual_axes, debug_info):
        """Run a function that ``shard_map`` maps over a mesh of one device, on its one part."""
        with running(self):
            return f.call_wrapped(*tracers)


class LinearizeTrace(JVPTrace):
    """As :class:`JVPTrace`, where the trace below records operations on tangents."""

    __slots__ = ()
    tracers = LinearizeTracer, HighLinearizeTracer


def jvp(fun: Callable, primals: Sequence[Any], tangents: Sequence[Any],
        recorder: Trace | None = None) -> tuple[list, list]:
    """Run a function of flat arguments that returns a list; primals out and tangents out.

    Tangents may be symbolic zeros, in and out. ``recorder`` is a trace on top of the running one to
    which the tangents belong, if they are unknown.
    """
    outer = context.trace
    trace = JVPTrace(outer) if recorder is None else LinearizeTrace(recorder)
    args = [trace.pair(p, t) for p, t in zip(primals, tangents, strict=True)]
    context.trace = trace
    try:
        outs = fun(*args)
        pairs = [trace.split(x) for x in outs]
    finally:
        context.trace = outer
    del args, outs
    check_leaks(trace)
    return [p for p, _ in pairs], [t for _, t in pairs]


def jvp_jaxpr(closed: ClosedJaxpr, nonzero: Sequence[bool],
              instantiate_outs: bool | Sequence[bool] = False,
              ) -> tuple[ClosedJaxpr, list[bool]]:
    """The forward-mode derivative of a closed jaxpr, as a closed jaxpr.

    It takes the primals, then the tangents of the arguments that are ``nonzero``; it returns the
    primals, then the nonzero tangents. The second result says which those are. With
    ``instantiate_outs`` zero tangents are returned, too.
    """
    count = len(closed.jaxpr.invars)
    wanted = ([instantiate_outs] * len(closed.jaxpr.outvars)
              if isinstance(instantiate_outs, bool) else list(instantiate_outs))
    nonzero_out: list[bool] = []

    def fun(*args):
        primals, given = args[:count], iter(args[count:])
        tangents = [next(given) if nz else Zero.tangent_of(p) for p, nz in zip(primals, nonzero)]
        outs, out_tangents = jvp(jaxpr_as_fun(closed), primals, tangents)
        nonzero_out[:] = [w or type(t) is not Zero for t, w in zip(out_tangents, wanted)]
        return outs + [instantiate(t) for t, nz in zip(out_tangents, nonzero_out) if nz]

    in_avals = closed.in_avals
    tangent_avals = [a.to_tangent() for a, nz in zip(in_avals, nonzero) if nz]
    jaxpr, consts = stage(fun, [*in_avals, *tangent_avals])
    return ClosedJaxpr(jaxpr, consts), nonzero_out
