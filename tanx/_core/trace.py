"""Traces and tracers: how operations of a running Python function are intercepted.

At each moment one trace is *running* in a thread; every primitive applied goes to it. A trace
handles primitives with its own tracers and passes the others to the trace ``below``; at the bottom
:class:`EvalTrace` computes. A transformation runs a function with a new trace on top::

    with running(JVPTrace(below=context.trace)) as trace: ...

The runtime executes on real data, through the hook ``EvalTrace.process``.
"""

from __future__ import annotations

import threading
from typing import Any

from .. import errors
from .._base.thread_state import STAGING, situation
from .._base.traceback import boundary
from .operators import Operators
from .types import AbstractValue, ambiguous_truth, without_length

__all__ = ["EvalTrace", "Trace", "Tracer", "context", "data_of", "leaked", "running"]


class Trace:
    """Receives the primitives applied while it is running.

    A library's trace may follow JAX's protocol: it sets ``parent_trace``, the trace below, and
    defines ``process_primitive``.
    """

    __slots__ = ("below", "staging", "ended", "__weakref__")

    def __init__(self, below: Trace | None = None):
        if below is None and type(self) is not Trace and "parent_trace" in vars(type(self)):
            below = self.parent_trace  # set by the library
        self._stand_on(below)

    @property
    def parent_trace(self) -> Trace | None:
        """The trace below."""
        return self.below

    @parent_trace.setter
    def parent_trace(self, below: Trace | None) -> None:
        self._stand_on(below)

    def _stand_on(self, below: Trace | None) -> None:
        self.below = below
        # Whether results are equations rather than data, here or below.
        self.staging: bool = below is not None and below.staging

    @property
    def underneath(self) -> Trace:
        """The trace below this one."""
        assert self.below is not None
        return self.below

    def process(self, primitive, args, params):
        """Apply ``primitive``; ``args`` are tracers of any trace, arrays, or Python scalars."""
        rule = primitive.custom_call  # this trace may process it in another way
        if rule is not None and getattr(type(self), rule.__name__) is not getattr(
                Trace, rule.__name__):
            return rule(primitive, self, args, params)
        return self.process_primitive(primitive, args, primitive.spelled(params))

    def process_primitive(self, primitive, tracers, params):
        """Apply a primitive in this trace."""
        if type(self).process is Trace.process:
            raise NotImplementedError(errors.explain(
                f"{type(self).__module__}.{type(self).__name__}",
                "a trace must define process_primitive.", f"primitive: {primitive}"))
        with running(self):
            return self.process(primitive, tracers, params)

    def process_custom_jvp_call(self, primitive, fun, jvp, tracers, *, symbolic_zeros: bool):
        """Apply a function that has a rule for forward mode, both of flat arguments.

        A library's trace that defines this method receives such functions by it;
        ``fun.call_wrapped`` runs the function. Others get an equation of ``custom_jvp_call``.
        """
        return self.process_primitive(primitive, tracers, {
            "call_jaxpr": fun.call_wrapped, "jvp": jvp.call_wrapped, "num_consts": 0,
            "name": "function", "symbolic_zeros": symbolic_zeros})

    def process_custom_vjp_call(self, primitive, fun, fwd, bwd, tracers, *, out_trees,
                                symbolic_zeros: bool):
        """As :meth:`process_custom_jvp_call`, for a function with rules for reverse mode.

        ``fwd.call_wrapped(perturbed, *args)`` returns results, residuals, and the function from
        residuals and cotangents to cotangents; ``bwd`` is the user's own.
        """
        return self.process_primitive(primitive, tracers, {
            "call_jaxpr": fun.call_wrapped, "fwd": fwd.call_wrapped, "bwd": bwd, "num_consts": 0,
            "name": "function", "symbolic_zeros": symbolic_zeros, "optimize_remat": False})

    def full_raise(self, x):
        """``x`` as a value that primitives in this trace take: itself."""
        return x

    def stage_value(self, val):
        """``val`` as a value of this trace."""
        return val

    def invalidate(self) -> None:
        """Record that the function behind the trace has returned."""
        self.ended = True

    def is_valid(self) -> bool:
        """Whether the function behind the trace still runs."""
        return not getattr(self, "ended", False)

    requires_low = False  # whether values of high types must be split into parts first

    @property
    def main(self) -> Trace:
        """The identity of the trace for libraries: the trace itself."""
        return self

    def literal(self, value, aval, written=None):
        """A scalar constant made while this trace runs; staging writes it as a literal.

        ``written`` is the Python number it came from, if jaxprs should show that.
        """
        return self.underneath.literal(value, aval, written)

    def captured(self, x):
        """A NumPy array as a constant of the staged function; the same one at each use."""
        return self.underneath.captured(x)

    def owns(self, tracer: Tracer) -> bool:
        """Whether a tracer belongs to this trace."""
        return tracer._trace is self

    @property
    def maps(self) -> bool:
        """Whether the function runs for several lanes at once."""
        return False

    def stands_on(self, tracer: Tracer) -> bool:
        """Whether a tracer belongs to a trace below, so that its value is known there."""
        below = self.below
        while below is not None and not below.owns(tracer):
            below = below.below
        return below is not None


def _not_plugged(*_):
    raise RuntimeError("tanx is not initialised: import tanx")


class EvalTrace(Trace):
    """The bottom: primitives run on real data immediately."""

    __slots__ = ()

    # Hook: run one primitive on concrete values. Set by ``tanx/__init__``.
    process = staticmethod(_not_plugged)
    # An array of one scalar; set by :mod:`tanx._core.array`, which imports this module.
    literal = staticmethod(_not_plugged)


class _Context(threading.local):
    trace: Trace = EvalTrace(None)


context = _Context()


class running:
    """Make ``trace`` the running one for a block."""

    __slots__ = ("trace", "outer")

    def __init__(self, trace: Trace):
        self.trace = trace

    def __enter__(self) -> Any:
        self.outer = context.trace
        _switch(self.trace)
        return self.trace

    def __exit__(self, *_) -> None:
        _switch(self.outer)


def _switch(trace: Trace) -> None:
    context.trace = trace
    situation.words[STAGING] = trace.staging


class Tracer(Operators):
    """A value that a trace follows through a function.

    A library's class may pass the type to the constructor, or define ``aval``.
    """

    __slots__ = ("_trace", "_aval", "__weakref__")
    __array_priority__ = 1000

    def __init__(self, trace: Trace, aval: AbstractValue | None = None):
        self._trace = trace
        self._aval = aval

    @property
    def aval(self):
        if self._aval is None:
            raise NotImplementedError(f"{type(self).__name__}.aval")
        return self._aval

    def concrete(self):
        """The data behind the tracer as an ``Array``, or None if it is not known."""
        return None

    def data(self):
        """As :meth:`concrete`; for a batch, the data of all lanes."""
        return self.concrete()

    def describe_origin(self) -> str:
        """Which argument or operation the value came from, for messages."""
        return ""

    # Attributes that programs for JAX use.

    def full_lower(self):
        """The value without unnecessary tracers around it: itself."""
        return self

    def get_referent(self):
        """The identity of the value: the tracer itself."""
        return self

    def to_concrete_value(self):
        """As :meth:`concrete`."""
        return self.concrete()

    @property
    def memory_space(self):
        """Raises: only types have it, as ``tanx.typeof(x).memory_space``."""
        raise ValueError(errors.explain(
            "tanx.core.Tracer.memory_space", "a traced value has no memory space.",
            f"value: {self.aval}", hint="use tanx.typeof(x).memory_space."))

    @property
    def dimension_as_value(self):
        """Raises: a traced value cannot be the size of a dimension."""
        raise TypeError(errors.explain(
            "tanx.core.Tracer.dimension_as_value", "sizes are integers known while tracing.",
            f"value: {self.aval}", hint="take sizes from x.shape."))

    def __len__(self) -> int:
        if not self.aval.shape:
            raise without_length(self.aval)
        return self.aval.shape[0]

    def _known(self, error, attempt: str = ""):
        data = self.concrete()
        if data is None:
            raise error(self, attempt=attempt)
        return data

    def __bool__(self) -> bool:
        if self.aval.size != 1:
            raise ambiguous_truth(self.aval)
        return bool(self._known(errors.TracerBoolConversionError))

    def __index__(self) -> int:
        return self._known(errors.TracerIntegerConversionError).__index__()

    def __int__(self) -> int:
        return int(self._known(errors.ConcretizationTypeError, "int(x)"))

    def __float__(self) -> float:
        return float(self._known(errors.ConcretizationTypeError, "float(x)"))

    def __complex__(self) -> complex:
        return complex(self._known(errors.ConcretizationTypeError, "complex(x)"))

    @boundary  # NumPy may convert a leaked tracer outside of any function of tanx
    def __array__(self, dtype=None, copy=None):
        return self._known(errors.TracerArrayConversionError).__array__(dtype)

    def tolist(self):
        return self._known(errors.ConcretizationTypeError, "x.tolist()").tolist()

    def item(self, *args):
        return self._known(errors.ConcretizationTypeError, "x.item()").item(*args)

    def __format__(self, spec: str) -> str:
        if not spec:
            return repr(self)
        return format(self._known(errors.ConcretizationTypeError, f"format(x, {spec!r})"), spec)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.aval})"


def data_of(x):
    """The data of a value, of all lanes if it is batched; None if it is not known yet."""
    return x.data() if isinstance(x, Tracer) else x


def leaked(tracer: Tracer) -> errors.UnexpectedTracerError:
    """The error for a tracer used after the function it belongs to has returned."""
    origin = tracer.describe_origin()
    facts = [f"value:  {tracer.aval}"] + ([f"origin: {origin}"] if origin else [])
    return errors.UnexpectedTracerError(errors.explain(
        "tanx", "a traced value escaped from the function that was being transformed.", *facts,
        hint="return the value from the function instead of storing it in a global, an attribute "
             "or a list; tanx.checking_leaks() finds the place."))
